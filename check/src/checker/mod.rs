//! Checks one proof: by the fast path first, and by the core where that does not accept it.

mod changed;

use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock, RwLock};

use crate::accepted::{Accepted, Refused};
use crate::core::leaf::WholeBounds;
use crate::core::path::Path;
use crate::core::rows::Reaches;
use crate::core::scope::Scope;
use crate::core::tree::is_predicted;
use crate::core::{forward, leaf};
use crate::expand::{Length, Short, exact_hints, row_hints, whole_row_hints};
use crate::fast::{Attempt, Fast, FastTarget, FastWeights};
use crate::format::exact::ExactHints;
use crate::format::lines::LONGEST_LINE;
use crate::format::{BoundsLine, Claim, Convention, Leaf, Line, NodeProof, Step};
use crate::ids::Flip;
use crate::number::{Dyadic, Interval};
use crate::rounding::Rounding;
use crate::statement::{Decided, Slice, Statement};
use crate::verdict::{Fault, Reason, Verdict};
use crate::work::{Meter, Work};

/// Whole bounds of a layer and a node, once they were asked for.
type Lazy = OnceLock<Option<Arc<WholeBounds>>>;

/// Judges the proofs of a statement. Shared by all threads.
pub struct Checker<'a> {
    statement: &'a Statement<'a>,
    fast: Fast<'a>,
    exact_only: bool,
    /// What lines may cost.
    work: Arc<Work>,
    /// Where the statement is about the network as it runs.
    rounding: Option<Rounding<'a>>,
    /// From `bounds` lines.
    stated: RwLock<HashMap<(usize, u32), Arc<WholeBounds>>>,
    /// What short leaves expand to, by layer from 3 and node.
    expanded: Vec<Vec<Lazy>>,
}

impl<'a> Checker<'a> {
    /// With `exact_only` the core alone judges.
    pub fn new(statement: &'a Statement<'a>, exact_only: bool) -> Checker<'a> {
        let Statement { network, budget, .. } = statement;
        let layer = |_| (0..network.graph.attributes.rows).map(|_| OnceLock::new()).collect();
        let expanded = (3..network.depth()).map(layer).collect();
        let stated = RwLock::new(HashMap::new());
        // What a header states was looked at when the statement was made.
        let executed = |stated| Rounding::new(statement.executed(), budget, stated).ok();
        let rounding = statement.deployed.as_ref().and_then(executed);
        let work = Work::lines();
        let fast = Fast::new(network, budget, work.clone());
        Checker { statement, fast, exact_only, work, rounding, stated, expanded }
    }

    /// The same within other limits.
    #[must_use]
    pub fn within(self, work: Arc<Work>) -> Checker<'a> {
        let mut fast = self.fast;
        fast.work = work.clone();
        Checker { work, fast, ..self }
    }

    /// Accepts or rejects the proof of one node.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn check(&self, proof: &NodeProof) -> Result<Verdict, Fault> {
        self.judge(proof, &mut None)
    }

    /// The line of a proof, if it is accepted; otherwise the proof comes back.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn accept(&self, proof: NodeProof) -> Result<Accepted<Line>, Box<Refused<NodeProof>>> {
        match self.check(&proof) {
            Ok(_) => Ok(Accepted::new(Line::Node(proof))),
            Err(fault) => Err(Box::new(Refused { proof, fault })),
        }
    }

    /// The same proof with every short leaf written out as hints, if it is accepted.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn expand(&self, proof: &NodeProof) -> Result<NodeProof, Fault> {
        let mut expanded = proof.clone();
        let mut found = Vec::new();
        self.judge(proof, &mut Some(&mut found))?;
        if let Claim::Robust(trees) = &mut expanded.claim {
            for (class, at, hints) in found {
                if let Some(tree) = trees.iter_mut().find(|tree| tree.class == class) {
                    tree.tree[at] = Step::Hints(Box::new((&hints).into()));
                }
            }
        }
        Ok(expanded)
    }

    /// The weights of the first layer by falling norm.
    pub(crate) fn weights(&self) -> &FastWeights {
        &self.fast.network
    }

    /// What lines cost, and may cost.
    pub(crate) fn work(&self) -> &Work {
        &self.work
    }

    /// What the proofs are about.
    pub(crate) fn statement(&self) -> &Statement<'a> {
        self.statement
    }

    /// The same proof with every short leaf written out as hints, accepted or not.
    ///
    /// # Errors
    /// If that makes no sense: a tree that is none, or a leaf that is not admissible.
    pub(crate) fn expand_unjudged(&self, proof: &NodeProof) -> Result<NodeProof, Fault> {
        let Statement { network, budget, .. } = self.statement;
        let mut expanded = proof.clone();
        let Claim::Robust(trees) = &mut expanded.claim else { return Ok(expanded) };
        if proof.id as usize >= network.graph.targets() {
            return Err(Reason::Node.into());
        }
        let slice = Slice::new(network, network.depth(), proof.id);
        let scope = Scope { network, budget, slice: &slice };
        let mut target = FastTarget::new(&self.fast, &slice);
        let meter = self.work.line();
        for one in trees {
            let class = [proof.class, one.class].into_iter().find(|class| *class as usize >= network.classes());
            if let Some(class) = class {
                return Err(Reason::Class(class).into());
            }
            let objective = [(proof.class, 1), (one.class, -1)];
            let mut found = Vec::new();
            let seen = scope.tree(&one.tree, &meter, |at, path| {
                let Step::Leaf(leaf) = &one.tree[at] else { return Ok(()) };
                let short = scope.short(path, leaf)?;
                let hints = match path.decided.overspent(budget) {
                    true => ExactHints::default(),
                    false => match target.attempt(&objective, path, &short, true) {
                        Attempt::Empty(hints) | Attempt::Hints(hints, _) => hints.exact(&slice),
                    },
                };
                found.push((at, hints));
                Ok(())
            });
            seen.map_err(|(step, reason)| Fault { class: Some(one.class), step: Some(step), reason })?;
            for (at, hints) in found {
                one.tree[at] = Step::Hints(Box::new((&hints).into()));
            }
        }
        Ok(expanded)
    }

    fn judge(&self, proof: &NodeProof, keep: &mut Keep) -> Result<Verdict, Fault> {
        let network = &self.statement.network;
        if proof.id as usize >= network.graph.targets() {
            return Err(Reason::Node.into());
        }
        if proof.class as usize >= network.classes() {
            return Err(Reason::Class(proof.class).into());
        }
        let meter = self.work.line();
        let slice = Slice::new(network, network.depth(), proof.id);
        meter.spend(slice.steps())?;
        meter.hold(slice.bytes(network))?;
        meter.allow(network.classes(), slice.flips(network));
        if self.statement.classes == Convention::Labels {
            let label = network.graph.labels.as_ref().and_then(|labels| labels[proof.id as usize]);
            if label != Some(proof.class) {
                return Err(Reason::Reference("label").into());
            }
        }
        let target = FastTarget::new(&self.fast, &slice);
        let (node, error, reaches) = (proof.id, Dyadic::ZERO, Reaches::default());
        let above = Dyadic::ZERO;
        let mut problem = Session { checker: self, slice: &slice, target, reaches, above, error, node, meter: &meter };
        match &proof.claim {
            Claim::Robust(trees) => {
                // Every other class, ascending. That all margins are positive without a flip is part of what is proved,
                // so the reference class is the predicted one.
                let mut others = (0..network.classes() as u32).filter(|&class| class != proof.class);
                for one in trees {
                    if others.next() != Some(one.class) {
                        return Err(Reason::Classes(one.class).into());
                    }
                    let at_class = |reason| Fault { class: Some(one.class), step: None, reason };
                    problem.error = self.rounded(proof.id, proof.class, one.class).map_err(at_class)?;
                    meter.look()?;
                    problem.tree([proof.class, one.class], &one.tree, keep)?;
                }
                match others.next() {
                    Some(missing) => Err(Reason::Classes(missing).into()),
                    None => Ok(Verdict::Robust),
                }
            }
            Claim::NonRobust(witness) => {
                let at_class = |reason| Fault { class: Some(witness.class), step: None, reason };
                if self.statement.classes == Convention::Predicted && !problem.is_predicted(proof.class) {
                    return Err(Reason::Reference("predicted class").into());
                }
                if witness.class as usize >= network.classes() || witness.class == proof.class {
                    return Err(at_class(Reason::Class(witness.class)));
                }
                meter.spend(witness.flips.len() as u64 * 64)?;
                let made = problem.scope().witness(&witness.flips).map_err(at_class)?;
                let error = self.rounded_after(proof, witness.class, &made).map_err(at_class)?;
                match problem.margin(proof.class, witness.class, &made, &error) {
                    (Ordering::Less, _) => Ok(Verdict::NonRobust),
                    (Ordering::Equal, _) => Ok(Verdict::Tie),
                    (Ordering::Greater, margin) => Err(at_class(Reason::Margin(margin))),
                }
            }
        }
    }

    /// What a margin must exceed so that every execution keeps its sign; 0 for the exact network.
    fn rounded(&self, node: u32, reference: u32, class: u32) -> Result<Dyadic, Reason> {
        match (&self.statement.deployed, &self.rounding) {
            (None, _) => Ok(Dyadic::ZERO),
            (Some(_), None) => Err(Reason::Rounding),
            (Some(_), Some(rounding)) => rounding.margin_error(node, reference, class).ok_or(Reason::Rounding),
        }
    }

    /// The same for the flips of a witness.
    fn rounded_after(&self, proof: &NodeProof, class: u32, made: &Decided) -> Result<Dyadic, Reason> {
        match (&self.statement.deployed, &self.rounding) {
            (None, _) => Ok(Dyadic::ZERO),
            (Some(_), None) => Err(Reason::Rounding),
            (Some(_), Some(rounding)) => {
                rounding.after(made).margin_error(proof.id, proof.class, class).ok_or(Reason::Rounding)
            }
        }
    }

    /// Asks about the leaves of one node, which must exist.
    pub fn session<T>(&self, node: u32, ask: impl FnOnce(&mut Session) -> T) -> T {
        let network = &self.statement.network;
        let slice = Slice::new(network, network.depth(), node);
        let (target, meter, error) = (FastTarget::new(&self.fast, &slice), self.work.line(), Dyadic::ZERO);
        let (reaches, above) = (Reaches::default(), Dyadic::ZERO);
        ask(&mut Session { checker: self, slice: &slice, target, reaches, above, error, node, meter: &meter })
    }

    /// Takes the whole bounds that a line states.
    ///
    /// # Errors
    /// If they are not admissible, or stated before.
    pub fn bounds(&self, line: &BoundsLine) -> Result<(), Reason> {
        self.statement.since_version_2("lines of bounds")?;
        let network = &self.statement.network;
        let layer = line.layer as usize;
        if !(3..network.depth()).contains(&layer) {
            return Err(Reason::Layer(line.layer));
        }
        if line.node as usize >= network.graph.attributes.rows {
            return Err(Reason::Node);
        }
        if self.stated_bounds(layer, line.node).is_some() {
            return Err(Reason::Order("bounds of this layer and node were already stated".into()));
        }
        let hints = line.hints()?;
        let bounds = self.work.bounds(|meter| {
            let slice = Slice::new(network, layer, line.node);
            meter.spend(slice.steps())?;
            meter.allow(4 * network.widths[layer], slice.flips(network));
            let whole = |l: usize, node: u32| Ok(self.stated_bounds(l, node));
            let (budget, reaches) = (&self.statement.budget, &Reaches::default());
            let target = leaf::Target { network, budget, slice: &slice, whole: &whole, reaches, meter };
            let bounds = target.whole_bounds(&hints)?;
            meter.keep(bounds.bytes())?;
            Ok(bounds)
        })?;
        let mut stated = self.stated.write().unwrap_or_else(std::sync::PoisonError::into_inner);
        stated.insert((layer, line.node), Arc::new(bounds));
        Ok(())
    }

    pub(crate) fn has_stated_bounds(&self) -> bool {
        !self.stated.read().unwrap_or_else(std::sync::PoisonError::into_inner).is_empty()
    }

    pub(crate) fn stated_bounds(&self, l: usize, node: u32) -> Option<Arc<WholeBounds>> {
        let stated = self.stated.read().unwrap_or_else(std::sync::PoisonError::into_inner);
        stated.get(&(l, node)).cloned()
    }

    /// Whole bounds for short leaves: those stated, or what the expansion makes of the defaults.
    ///
    /// # Errors
    /// If too much was spent on what lines share.
    pub(crate) fn whole(&self, l: usize, node: u32, meter: &Meter) -> Result<Option<Arc<WholeBounds>>, Reason> {
        if let Some(stated) = self.stated_bounds(l, node) {
            return Ok(Some(stated));
        }
        let compute = || {
            let Statement { network, budget, .. } = self.statement;
            let slice = Slice::new(network, l, node);
            // All lines share it: it counts for the file, and for no line.
            let rest = self.work.rest();
            let (whole, reaches) = (|l: usize, node: u32| self.whole(l, node, meter), &Reaches::default());
            let target = leaf::Target { network, budget, slice: &slice, whole: &whole, reaches, meter: &rest.line() };
            let hints = match network.is_normalised() {
                true => whole_row_hints(&target).ok()?,
                false => self.fast.whole_hints(l, node, &slice),
            };
            target.whole_bounds(&hints).ok().map(Arc::new)
        };
        let whole = meter.shared(|| self.expanded[l - 3][node as usize].get_or_init(compute).clone())?;
        self.work.afforded().map(|()| whole)
    }

    /// The `bounds` lines that short leaves of a node expand to, lower layers first.
    pub fn expanded_bounds(&self, node: u32) -> Vec<BoundsLine> {
        let Statement { network, budget, .. } = self.statement;
        let (slice, meter) = (Slice::new(network, network.depth(), node), self.work.line());
        let mut lines = Vec::new();
        for l in 3..network.depth() {
            for &n in slice.nodes(l) {
                let slice = Slice::new(network, l, n);
                let hints = if network.is_normalised() {
                    let (whole, reaches) = (|l: usize, node: u32| self.whole(l, node, &meter), &Reaches::default());
                    let target = leaf::Target { network, budget, slice: &slice, whole: &whole, reaches, meter: &meter };
                    // Where hints are too expensive, propagation says what there is.
                    whole_row_hints(&target).unwrap_or_default()
                } else {
                    self.fast.whole_hints(l, n, &slice)
                };
                lines.push(BoundsLine::new(l as u32, n, &hints));
            }
        }
        lines
    }
}

/// Up to so many flips of a normalised row the fast path is asked.
const MOST_FLIPS: usize = 64;

/// Where the hints of accepted short leaves are kept, if they are asked for: class, place in the tree, hints.
type Keep<'k> = Option<&'k mut Vec<(u32, usize, ExactHints)>>;

/// One node, whose leaves can be asked about one by one.
pub struct Session<'a> {
    pub(crate) checker: &'a Checker<'a>,
    pub(crate) slice: &'a Slice,
    pub(crate) target: FastTarget<'a>,
    /// What is remembered of normalised rows.
    pub(crate) reaches: Reaches,
    node: u32,
    pub(crate) meter: &'a Meter<'a>,
    /// What all margins are to exceed: 0 where edges are not changed as well.
    above: Dyadic,
    /// What the bound of the class at hand must exceed: that and the error of a network as it runs.
    error: Dyadic,
}

impl Session<'_> {
    /// The path below a split.
    pub fn below(&self, path: &Path, split: &Step, second: bool) -> Path {
        let mut path = path.clone();
        path.follow(split, second, self.checker.statement().network.graph);
        path
    }

    /// Is this leaf accepted on this path, for one class against another?
    ///
    /// # Errors
    /// Why it is not.
    pub fn leaf(&mut self, reference: u32, class: u32, path: &Path, step: &Step) -> Result<(), Reason> {
        // Each counts as a line.
        self.meter.restart();
        path.units.iter().try_for_each(|split| self.scope().unit(split.0).map(|_| ()))?;
        self.error = &self.checker.rounded(self.node, reference, class)? + &self.above;
        self.judge_leaf(reference, class, path, step, false).map(|_| ())
    }

    /// A free flip on which to split a leaf that is not accepted: the one that loses most, or any that may change
    /// something.
    pub fn worst_flip(&mut self, reference: u32, class: u32, path: &Path, leaf: &Leaf) -> Option<Flip> {
        let Statement { network, budget, .. } = self.checker.statement;
        let short = self.scope().short(path, leaf).ok()?;
        if path.decided.overspent(budget) {
            return None;
        }
        // Of normalised rows the fast path names no flip.
        if !network.is_normalised()
            && let Attempt::Hints(hints, _) = self.target.attempt(&[(reference, 1), (class, -1)], path, &short, true)
            && hints.worst.is_some()
        {
            return hints.worst;
        }
        let decided = &path.decided;
        let flips = self.slice.nodes(1).iter().flat_map(|&n| (0..network.rows.len() as u32).map(move |d| (n, d)));
        let mut free = flips.filter(|flip| {
            decided.left(budget, flip.0).is_some_and(|left| left > 0)
                && budget.permits(*flip, network.has(flip.0, flip.1))
                && decided.fixed.binary_search(flip).is_err()
        });
        // In a normalised row an attribute without weights still changes what the others send.
        let matters =
            |d: u32| network.is_normalised() || network.layers[0].weight[d as usize].iter().any(|w| !w.is_zero());
        free.find(|flip| matters(flip.1))
    }

    pub(crate) fn scope(&self) -> Scope<'_> {
        let Statement { network, budget, .. } = self.checker.statement;
        Scope { network, budget, slice: self.slice }
    }

    /// An accepted tree with all short leaves written out as hints.
    ///
    /// # Errors
    /// If it is not accepted.
    pub(crate) fn written_out(&mut self, classes: [u32; 2], tree: &[Step]) -> Result<Vec<Step>, Reason> {
        let (mut written, mut found) = (tree.to_vec(), Vec::new());
        self.tree(classes, tree, &mut Some(&mut found)).map_err(|fault| fault.reason)?;
        for (_, at, hints) in found {
            written[at] = Step::Hints(Box::new((&hints).into()));
        }
        Ok(written)
    }

    fn tree(&mut self, [reference, class]: [u32; 2], tree: &[Step], keep: &mut Keep) -> Result<(), Fault> {
        let Statement { network, budget, .. } = self.checker.statement;
        let scope = Scope { network, budget, slice: self.slice };
        let result = scope.tree(tree, self.meter, |at, path| {
            let hints = self.judge_leaf(reference, class, path, &tree[at], keep.is_some())?;
            if let (Some(kept), Some(hints)) = (&mut *keep, hints) {
                let numbers = kept.iter().map(|(_, _, hints)| hints.numbers()).sum::<usize>() + hints.numbers();
                if numbers > LONGEST_LINE / 4 {
                    return Err(Reason::TooLarge(format!("written out, more than {LONGEST_LINE} bytes")));
                }
                kept.push((class, at, hints));
            }
            Ok(())
        });
        result.map_err(|(step, reason)| Fault { class: Some(class), step: Some(step), reason })
    }

    /// Accepts a leaf on its path, and returns the hints of a short one if they are wanted.
    fn judge_leaf(
        &mut self,
        reference: u32,
        class: u32,
        path: &Path,
        step: &Step,
        wanted: bool,
    ) -> Result<Option<ExactHints>, Reason> {
        let Statement { network, budget, .. } = self.checker.statement;
        let objective = [(reference, 1), (class, -1)];
        let short = match step {
            Step::Hints(stated) => {
                self.checker.statement.since_version_2("hints")?;
                let whole = |l: usize, node: u32| Ok(self.checker.stated_bounds(l, node));
                let (slice, reaches, meter) = (self.slice, &self.reaches, self.meter);
                let target = leaf::Target { network, budget, slice, whole: &whole, reaches, meter };
                let hints = stated.hints()?;
                let judge = || accepted(target.bound(&objective, path, &hints)?, &self.error).map(|()| None);
                return self.meter.leaf(self.slice.flips(network), judge);
            }
            Step::Leaf(leaf) => {
                if leaf.nested {
                    self.checker.statement.since_version_2("bends of layer 3")?;
                }
                let short = self.scope().short(path, leaf)?;
                if leaf.nested {
                    self.meter.spend(self.checker.fast.nested_steps(self.slice, &path.decided))?;
                }
                short
            }
            Step::Unit(..) | Step::Flip(..) | Step::Row(..) => return Err(Reason::Incomplete),
        };
        if path.decided.overspent(budget) {
            return Ok(Some(ExactHints::default()));
        }
        self.meter.spend(self.slice.steps())?;
        if network.is_normalised() {
            if !wanted && self.accepts_rows(&objective, path, &short)? {
                return Ok(None);
            }
            return self.judge_rows(&objective, path, &short).map(Some);
        }
        let error = Interval::around(&self.error).upper;
        let (hints, sooner) = match self.target.attempt(&objective, path, &short, self.error.is_zero()) {
            Attempt::Empty(hints) => (hints, true),
            Attempt::Hints(hints, bound) => (hints, bound.minus(error).is_positive()),
        };
        self.meter.look()?;
        self.checker.work.afforded()?;
        // The fast path knows only the bounds that the expansion makes.
        if sooner && !self.checker.exact_only && !self.checker.has_stated_bounds() {
            return Ok(wanted.then(|| hints.exact(self.slice)));
        }
        let hints = hints.exact(self.slice);
        let (checker, meter) = (self.checker, self.meter);
        let whole = |l: usize, node: u32| checker.whole(l, node, meter);
        let target = leaf::Target { network, budget, slice: self.slice, whole: &whole, reaches: &self.reaches, meter };
        meter.leaf(self.slice.flips(network), || {
            match accepted(target.bound(&objective, path, &hints)?, &self.error) {
                Err(Reason::Bound(_)) => {}
                judged => return judged.map(|()| Some(hints)),
            }
            // Floats may have been too coarse for the hints.
            let hints = meter.while_held(|| exact_hints(&target, &objective, path, &short, &hints.price))?;
            accepted(target.bound(&objective, path, &hints)?, &self.error).map(|()| Some(hints))
        })
    }

    /// Does the fast path accept a short leaf where rows of attributes are normalised?
    fn accepts_rows(&mut self, objective: &[(u32, i8)], path: &Path, short: &Short) -> Result<bool, Reason> {
        let budget = &self.checker.statement.budget;
        // The work for a row grows with the square of the number of its flips.
        let many = |&node: &u32| path.decided.left(budget, node).is_some_and(|left| left > MOST_FLIPS);
        // Bounds of units above layer 2 are those of other hints than the core's.
        if self.checker.statement.network.depth() > 3
            || self.checker.exact_only
            || self.checker.has_stated_bounds()
            || self.slice.nodes(1).iter().any(many)
        {
            return Ok(false);
        }
        let Attempt::Hints(_, bound) = self.target.attempt(objective, path, short, false) else { return Ok(false) };
        self.meter.look()?;
        self.checker.work.afforded()?;
        Ok(bound.minus(Interval::around(&self.error).upper).is_positive())
    }

    /// Accepts a short leaf where rows of attributes are normalised, by the core, and returns its hints.
    fn judge_rows(&self, objective: &[(u32, i8)], path: &Path, short: &Short) -> Result<ExactHints, Reason> {
        let Statement { network, budget, .. } = self.checker.statement;
        let (checker, slice, meter, reaches) = (self.checker, self.slice, self.meter, &self.reaches);
        let whole = |l: usize, node: u32| checker.whole(l, node, meter);
        let target = leaf::Target { network, budget, slice, whole: &whole, reaches, meter };
        let attempt = |length: Length| {
            let hints = meter.while_held(|| row_hints(&target, objective, path, short, length))?;
            accepted(target.bound(objective, path, &hints)?, &self.error).map(|()| hints)
        };
        meter.leaf(slice.flips(network), || match attempt(Length::Rounded) {
            // Rounding may have been too coarse.
            Err(Reason::Bound(_)) => attempt(Length::Whole),
            judged => judged,
        })
    }

    /// The sign of a margin with its error added, which is 0 for the exact network, and floats around it. As deployed,
    /// a margin that is only just as large as its error breaks nothing.
    fn margin(&self, reference: u32, class: u32, flips: &Decided, error: &Dyadic) -> (Ordering, Interval) {
        if !self.checker.exact_only {
            let logits = self.target.logits(flips);
            let margin = logits[reference as usize].minus(logits[class as usize]).plus(Interval::around(error));
            if let Some(sign) = margin.sign() {
                return (if error.is_zero() { sign } else { sign.then(Ordering::Greater) }, margin);
            }
        }
        let logits = forward::logits(&self.checker.statement.network, self.slice, flips);
        let margin = &(&logits[reference as usize] - &logits[class as usize]) + error;
        let sign = if error.is_zero() { margin.sign() } else { margin.sign().then(Ordering::Greater) };
        (sign, Interval::around(&margin))
    }

    pub(crate) fn is_predicted(&self, class: u32) -> bool {
        let none = Decided::default();
        if !self.checker.exact_only {
            let logits = self.target.logits(&none);
            let ahead = |(other, logit): (usize, &Interval)| {
                other == class as usize || logits[class as usize].minus(*logit).sign() == Some(Ordering::Greater)
            };
            if logits.iter().enumerate().all(ahead) {
                return true;
            }
        }
        is_predicted(&forward::logits(&self.checker.statement.network, self.slice, &none), class)
    }
}

/// Does the bound of a leaf exceed the error, or is the path empty?
fn accepted(bound: Option<Dyadic>, error: &Dyadic) -> Result<(), Reason> {
    match bound.map(|bound| &bound - error).filter(|bound| !bound.is_positive()) {
        None => Ok(()),
        Some(bound) => Err(Reason::Bound(Interval::around(&bound))),
    }
}
