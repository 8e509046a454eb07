//! Shows every proof to the checker before it is written, and splits leaves that the checker does not accept.

use gcnproof_check::format::{ClassProof, Leaf, Step};
use gcnproof_check::{Checker, Path, Reason, Session};

/// Splits that may be added to the tree of a class pair.
const SPLITS: usize = 4096;

/// The trees of a robust node so that the checker accepts them, class by class; a tree that is missing starts from the
/// default leaf.
///
/// # Errors
/// Why the checker does not accept them.
pub(super) fn mend(
    checker: &Checker,
    node: u32,
    reference: u32,
    trees: Vec<ClassProof>,
) -> Result<Vec<ClassProof>, Reason> {
    checker.session(node, |session| {
        let mended = trees.into_iter().map(|ClassProof { class, tree }| {
            Ok(ClassProof { class, tree: mended(session, [reference, class], tree)? })
        });
        mended.collect()
    })
}

/// One of these trees.
///
/// # Errors
/// Why the checker does not accept it.
pub(crate) fn mended(
    session: &mut Session,
    [reference, class]: [u32; 2],
    tree: Vec<Step>,
) -> Result<Vec<Step>, Reason> {
    let mut growth = Growth { session, reference, class, splits: SPLITS };
    let (mut steps, mut tree) = (tree.into_iter(), Vec::new());
    growth.walk(&mut steps, &mut Path::default(), &mut tree)?;
    Ok(tree)
}

/// A tree that is written again with splits where they are needed.
struct Growth<'g, 's> {
    session: &'g mut Session<'s>,
    reference: u32,
    class: u32,
    /// How many more may be added.
    splits: usize,
}

impl Growth<'_, '_> {
    /// One subtree of the old tree, in preorder.
    fn walk(
        &mut self,
        steps: &mut impl Iterator<Item = Step>,
        path: &mut Path,
        tree: &mut Vec<Step>,
    ) -> Result<(), Reason> {
        match steps.next() {
            Some(Step::Leaf(leaf)) => self.grow(*leaf, path, tree),
            Some(Step::Hints(hints)) => {
                let step = Step::Hints(hints);
                self.session.leaf(self.reference, self.class, path, &step)?;
                tree.push(step);
                Ok(())
            }
            Some(split) => {
                tree.push(split.clone());
                for second in [false, true] {
                    let mut below = self.session.below(path, &split, second);
                    self.walk(steps, &mut below, tree)?;
                }
                Ok(())
            }
            None => Err(Reason::Incomplete),
        }
    }

    /// A leaf, or splits on the flips that it loses most to until what is left is accepted.
    fn grow(&mut self, leaf: Leaf, path: &Path, tree: &mut Vec<Step>) -> Result<(), Reason> {
        let step = Step::Leaf(Box::new(leaf));
        let refused = match self.session.leaf(self.reference, self.class, path, &step) {
            Ok(()) => {
                tree.push(step);
                return Ok(());
            }
            Err(reason) => reason,
        };
        let Step::Leaf(leaf) = step else { return Err(refused) };
        let flip = if matches!(refused, Reason::Bound(_)) && self.splits > 0 {
            self.session.worst_flip(self.reference, self.class, path, &leaf)
        } else {
            None
        };
        let Some((node, attribute)) = flip else { return Err(refused) };
        self.splits -= 1;
        let split = Step::Flip(node, attribute);
        tree.push(split.clone());
        self.grow((*leaf).clone(), &self.session.below(path, &split, false), tree)?;
        self.grow(*leaf, &self.session.below(path, &split, true), tree)
    }
}
