//! Splits leaves of proofs that the checker does not accept.

use gcnproof_check::edges::format::{ClassProof, Step as Element};

use crate::edges::bound::{Goal, anchors, bound, meets};
use crate::edges::budget::Edge;
use crate::edges::element::element;
use crate::edges::ground::{EdgeTarget, Ground, Path};
use crate::edges::judge::Judge;
use crate::edges::pair::Pair;
use crate::edges::problem::EdgeProblem;
use crate::edges::scene::Scene;
use crate::edges::search::{Branches, Step, children, prices};
use crate::edges::verdict::EdgeResult;
use crate::problem::pace::Pace;

/// Splits that may be added to the trees of a node: each is followed by a look of the checker at the whole proof.
const SPLITS: usize = 64;

/// Mends the trees of one node.
pub(crate) struct Mend<'a> {
    problem: &'a EdgeProblem,
    result: &'a EdgeResult,
    pace: Pace,
    target: Option<EdgeTarget>,
    /// How many more may be added.
    splits: usize,
}

impl<'a> Mend<'a> {
    /// Nothing is done before it is asked for.
    pub(crate) fn new(problem: &'a EdgeProblem, result: &'a EdgeResult, pace: Pace) -> Mend<'a> {
        Mend { problem, result, pace, target: None, splits: SPLITS }
    }

    /// Puts a split in place of the leaf at `step`, with leaves of its own below, or lists its sets. `false` if neither
    /// helps, or it is late.
    pub(crate) fn split(&mut self, tree: &mut ClassProof, step: usize) -> bool {
        self.try_split(tree, step).unwrap_or(false)
    }

    fn try_split(&mut self, tree: &mut ClassProof, step: usize) -> Option<bool> {
        let node = self.result.node as u32;
        let problem = self.problem;
        let target = self.target.get_or_insert_with(|| EdgeTarget::new(problem, node));
        self.splits = self.splits.checked_sub(1)?;
        let path = path(problem, target, &tree.tree[..step])?;
        let pair = Pair::new(problem, node, self.result.reference, tree.class as usize);
        let ground = Ground::new(target, problem.budget().global(), &path)?;
        if ground.budget < 2 {
            // All sets can be listed; where they are, no split says more.
            let listed = matches!(tree.tree[step], Element::Singles(_));
            tree.tree[step] = element(&Step::Singles);
            return Some(!listed);
        }
        let scene = Scene::new(problem, ground, &self.pace)?;
        let mut judge = Judge::new(&scene, &pair, &path);
        let singles = judge.singles()?;
        // Whatever the bound is, its minimiser is to be known.
        let bounded = bound(&scene, &pair, &anchors(&scene)?, f64::INFINITY)?;
        let branches = Branches { problem, target, pair: &pair, enough: 0.0, careful: true };
        let edge = branches.split(&judge, &singles, &bounded);
        let split = Step::Edge(target.edge(edge));
        let mut steps = vec![element(&split)];
        for below in children(&path, &scene.ground, edge) {
            steps.push(element(&leaf(problem, target, &pair, &below, &self.pace)?));
        }
        tree.tree.splice(step..=step, steps);
        Some(true)
    }
}

/// A leaf for a path: as tight as it gets.
fn leaf(problem: &EdgeProblem, target: &EdgeTarget, pair: &Pair, path: &Path, pace: &Pace) -> Option<Step> {
    let ground = Ground::new(target, problem.budget().global(), path)?;
    if ground.budget < 2 {
        return Some(Step::Singles);
    }
    let scene = Scene::new(problem, ground, pace)?;
    let anchors = anchors(&scene)?;
    let mut bounded = bound(&scene, pair, &anchors, f64::INFINITY)?;
    // Where rounding errors chose the prices, those that do in exact arithmetic.
    meets(&scene, pair, &anchors, &mut bounded, Goal::Positive)?;
    Some(Step::Prices(prices(&scene, &bounded)))
}

/// The path to the place behind the beginning of a tree: its splits whose subtrees are not over.
fn path(problem: &EdgeProblem, target: &EdgeTarget, before: &[Element]) -> Option<Path> {
    let mut open: Vec<(u32, bool)> = Vec::new();
    for step in before {
        if let &Element::Edge(i, j) = step {
            let edge = (0..target.edges.len() as u32).find(|&edge| target.edge(edge) == Edge(i, j))?;
            open.push((edge, false));
            continue;
        }
        while open.pop_if(|split| split.1).is_some() {}
        open.last_mut()?.1 = true;
    }
    let mut path = Path::default();
    for (edge, second) in open {
        let ground = Ground::new(target, problem.budget().global(), &path)?;
        let [kept, removed] = children(&path, &ground, edge);
        path = if second { removed } else { kept };
    }
    Some(path)
}
