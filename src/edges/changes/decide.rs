//! The steps of a verdict about changed edges: single changes, beam search, lists and bounds, class pair by class pair.

use crate::certify::minimal::minimal;
use crate::certify::settings::Effort;
use crate::certify::verdict::Margin;
use crate::edges::budget::{Edge, EdgeBudget};
use crate::edges::changes::beam::beam;
use crate::edges::changes::carried::Carried;
use crate::edges::changes::climb::Climb;
use crate::edges::changes::insertions::Insertions;
use crate::edges::changes::matchings::Matchings;
use crate::edges::changes::menu::{ChangeMenu, ChangePath, EdgeFlip, Setting};
use crate::edges::changes::minimum::ChangeMinimum;
use crate::edges::changes::pairs::{ChangePairs, SetsOutcome};
use crate::edges::changes::search::{Beam, ChangeJudge, ChangeSearch, margin};
use crate::edges::changes::sets::{Head, Sets};
use crate::edges::changes::span::Span;
use crate::edges::changes::stack::Stack;
use crate::edges::changes::trial::Floats;
use crate::edges::judge::Attack;
use crate::edges::minimum::EdgeMinimum;
use crate::edges::search::Halt;
use crate::edges::search::Step;
use crate::edges::steps::{Course, Known};
use crate::number::dyadic::Dyadic;
use crate::problem::pace::Pace;

/// Sets that a proof lists, at most, where a search would take its time: a checker looks at each.
const PROVED: usize = 20_000;

/// What is asked about a node.
pub(crate) struct Asked<'a> {
    pub(crate) stack: &'a Stack,
    pub(crate) budget: &'a EdgeBudget,
    pub(crate) node: u32,
    pub(crate) reference: Option<usize>,
    pub(crate) effort: Effort,
    /// Are trees to be kept?
    pub(crate) proofs: bool,
    /// Nodes of a tree.
    pub(crate) nodes: usize,
    /// So many sets are listed rather than bounded.
    pub(crate) listed: usize,
    pub(crate) pace: &'a Pace,
}

/// What became of it.
pub(crate) struct ChangeDecision {
    pub(crate) reference: usize,
    pub(crate) predicted: usize,
    pub(crate) relevant: usize,
    pub(crate) known: Vec<Known>,
    pub(crate) course: Course,
}

/// The class with the largest exact logit; the smallest number among equals.
pub(crate) fn predicted(stack: &Stack, node: u32, logits: &[Span]) -> usize {
    let mut exact: Option<Vec<Dyadic>> = None;
    let mut best = 0;
    for class in 1..logits.len() {
        let margin = margin(logits, best, class);
        let loses = if margin.lo > 0.0 {
            false
        } else if margin.hi < 0.0 {
            true
        } else {
            let exact = exact.get_or_insert_with(|| stack.logits(node, &[]));
            exact[best] < exact[class]
        };
        if loses {
            best = class;
        }
    }
    best
}

/// Decides a node.
pub(crate) fn decide(asked: &Asked) -> ChangeDecision {
    let Asked { stack, budget, listed, node, pace, .. } = *asked;
    let setting = Setting::new(stack, budget, listed);
    let logits: Vec<Span> = stack.spans(node, &[]);
    let predicted = predicted(stack, node, &logits);
    let reference = asked.reference.unwrap_or(predicted);
    let mut course = Course::default();
    let judge = |other: usize| ChangeJudge { setting, target: node, reference, other };
    let others = (0..logits.len()).filter(|&class| class != reference);
    let mut known: Vec<Known> = Vec::new();
    for class in others {
        let base = margin(&logits, reference, class);
        let attack = judge(class).attack(&[], base);
        let upper = attack.as_ref().map_or(base.hi, |attack| attack.upper);
        let margin = Margin { class, lower: f64::NEG_INFINITY, upper };
        known.push(Known { margin, minimum: None, tree: None, open: true, listed: false });
        if let Some(attack) = attack {
            course.attack.get_or_insert((class, attack));
        }
    }
    let root = ChangePath::default();
    let one = budget.with_global(budget.global().min(1));
    let singles = ChangeMenu::new(Setting::new(stack, &one, listed), node, &root, pace);
    let relevant = singles.as_ref().map_or(usize::MAX >> 1, |menu| menu.flips.len());
    if let Effort::Minimize { gap, .. } = asked.effort {
        for pair in &mut known {
            by_minimum(asked, judge(pair.margin.class), gap, pair, &mut course);
        }
        if let Some(menu) = singles.filter(|_| course.attack.is_none() && known.iter().any(|pair| pair.open)) {
            // Minima that are not found leave the question whether there is an attack.
            by_singles(asked, &menu, reference, &mut known, &mut course);
        }
        if asked.proofs && course.attack.is_none() && known.iter().all(|pair| !pair.open) {
            // The signs are known, so that the search for them ends.
            by_search(asked, setting, reference, &mut known, &mut course);
        }
    } else {
        match singles.filter(|_| course.attack.is_none()) {
            Some(menu) => by_singles(asked, &menu, reference, &mut known, &mut course),
            // Too many changes are not a question of time.
            None => course.limit |= course.attack.is_none() && pace.is_late(),
        }
        if course.attack.is_none() && budget.global() > 1 {
            by_pairs(asked, setting, reference, &mut known, &mut course);
            by_matchings(asked, setting, reference, &mut known, &mut course);
            by_insertions(asked, setting, reference, &mut known, &mut course);
        }
        let open = known.iter().any(|pair| pair.open);
        if course.attack.is_none() && budget.global() > 1 && open {
            by_search(asked, setting, reference, &mut known, &mut course);
        } else if course.attack.is_none() && asked.proofs && known.iter().any(|pair| pair.tree.is_none()) {
            // What pairs have shown is no proof; a tree is, if there is time for one.
            let mut again = Course::default();
            by_search(asked, setting, reference, &mut known, &mut again);
            course.visited += again.visited;
            course.branched |= again.branched;
            if let Some((class, attack)) = again.attack {
                // All margins were shown to be above 0: with that bound the result contradicts itself, and is reported.
                let attacked = known.iter_mut().find(|pair| pair.margin.class == class);
                attacked.into_iter().for_each(|pair| pair.margin.lower = pair.margin.lower.max(f64::MIN_POSITIVE));
                course.attack = Some((class, attack));
            }
        }
    }
    if let Some((class, attack)) = course.attack.take() {
        let judges: Vec<ChangeJudge> = known.iter().map(|pair| judge(pair.margin.class)).collect();
        course.attack = Some(shortened(&judges, &attack).unwrap_or((class, attack)));
    }
    ChangeDecision { reference, predicted, relevant, known, course }
}

/// All single changes for all classes at once, and beam searches from there.
fn by_singles(asked: &Asked, menu: &ChangeMenu, reference: usize, known: &mut [Known], course: &mut Course) {
    let Asked { stack, budget, listed, node, pace, .. } = *asked;
    let setting = Setting::new(stack, budget, listed);
    let mut margins: Vec<Vec<(EdgeFlip, f64)>> = vec![Vec::with_capacity(menu.flips.len()); known.len()];
    let base: Vec<Span> = stack.spans(node, &[]);
    let mut least: Vec<f64> = known.iter().map(|pair| margin(&base, reference, pair.margin.class).lo).collect();
    for &flip in &menu.flips {
        if pace.is_late_for(1 << 12) {
            course.limit = true;
            return;
        }
        let logits: Vec<Span> = stack.spans(node, &[flip.edge]);
        for (at, pair) in known.iter_mut().enumerate() {
            let class = pair.margin.class;
            let found = margin(&logits, reference, class);
            if found.lo <= 0.0 || found.lo.is_nan() {
                let judge = ChangeJudge { setting, target: node, reference, other: class };
                if let Some(attack) = judge.attack(&[flip.edge], found) {
                    pair.margin.upper = pair.margin.upper.min(attack.upper);
                    course.attack = Some((class, attack));
                    return;
                }
            }
            pair.margin.upper = pair.margin.upper.min(found.hi);
            least[at] = least[at].min(found.lo);
            margins[at].push((flip, found.hi));
        }
    }
    if budget.global() <= 1 {
        for (pair, least) in known.iter_mut().zip(least) {
            pair.margin.lower = least.max(0.0);
            (pair.open, pair.listed, pair.tree) = (false, true, Some(vec![Step::Listed]));
        }
        return;
    }
    for list in &mut margins {
        list.sort_by(|x, y| x.1.total_cmp(&y.1).then(x.0.edge.cmp(&y.0.edge)));
    }
    if matches!(asked.effort, Effort::Complete(_)) && stack.graph.batch().is_some() {
        by_climbing(asked, menu, reference, known, course);
        if course.attack.is_none() && budget.global() > 2 {
            by_beam(asked, reference, &margins, known, course);
        }
        return;
    }
    let mut order: Vec<usize> = (0..known.len()).collect();
    order.sort_by(|&x, &y| known[x].margin.upper.total_cmp(&known[y].margin.upper));
    let root = ChangePath::default();
    let whole = ChangeMenu::bare(setting, node, &root);
    for at in order {
        let class = known[at].margin.class;
        let judge = ChangeJudge { setting, target: node, reference, other: class };
        let Beam { attack, best, .. } = judge.beam(&whole, &margins[at], pace);
        known[at].margin.upper = known[at].margin.upper.min(best);
        if let Some(attack) = attack {
            known[at].margin.upper = known[at].margin.upper.min(attack.upper);
            course.attack = Some((class, attack));
            return;
        }
    }
}

/// Two changes of a whole graph, by what each does beside any other.
fn by_pairs(asked: &Asked, setting: Setting, reference: usize, known: &mut [Known], course: &mut Course) {
    if !matches!(asked.effort, Effort::Complete(_)) || asked.budget.global() != 2 {
        return;
    }
    let start = ChangePath::default();
    let Some(menu) = ChangeMenu::new(setting, asked.node, &start, asked.pace).filter(|menu| !menu.is_listed()) else {
        return;
    };
    let others: Vec<usize> = known.iter().map(|pair| pair.margin.class).collect();
    let Some(pairs) = ChangePairs::new(&menu, reference, &others, asked.pace) else { return };
    match pairs.decide() {
        SetsOutcome::Robust(lower) => {
            for (pair, lower) in known.iter_mut().zip(lower) {
                (pair.open, pair.listed, pair.margin.lower) = (false, true, lower);
                pair.tree = (setting.listed > 0 && menu.sets() <= PROVED).then(|| vec![Step::Listed]);
            }
        }
        SetsOutcome::Attacked(class, attack) => course.attack = Some((class, attack)),
        SetsOutcome::Late => course.limit = true,
    }
}

/// Three or more changes of a whole graph, at most one at every node, by what each does among the others.
fn by_matchings(asked: &Asked, setting: Setting, reference: usize, known: &mut [Known], course: &mut Course) {
    if !matches!(asked.effort, Effort::Complete(_)) || asked.budget.global() < 3 {
        return;
    }
    let start = ChangePath::default();
    let Some(menu) = ChangeMenu::new(setting, asked.node, &start, asked.pace).filter(|menu| !menu.is_listed()) else {
        return;
    };
    let others: Vec<usize> = known.iter().map(|pair| pair.margin.class).collect();
    let Some(mut matchings) = Matchings::new(&menu, reference, &others, asked.pace) else { return };
    let outcome = matchings.decide(&menu.flips);
    course.visited += matchings.visited;
    match outcome {
        SetsOutcome::Robust(lower) => {
            for (pair, lower) in known.iter_mut().zip(lower) {
                (pair.open, pair.listed, pair.margin.lower) = (false, true, lower);
                pair.tree = (setting.listed > 0 && menu.sets() <= PROVED).then(|| vec![Step::Listed]);
            }
        }
        SetsOutcome::Attacked(class, attack) => course.attack = Some((class, attack)),
        SetsOutcome::Late => course.limit = true,
    }
}

/// Insertions of any pairs on a large graph.
fn by_insertions(asked: &Asked, setting: Setting, reference: usize, known: &mut [Known], course: &mut Course) {
    let Some(mut insertions) = Insertions::new(setting, asked.node, asked.pace) else { return };
    if !matches!(asked.effort, Effort::Complete(_)) {
        return;
    }
    let mut order: Vec<usize> = (0..known.len()).collect();
    order.sort_by(|&x, &y| known[x].margin.upper.total_cmp(&known[y].margin.upper));
    let others: Vec<usize> = order.iter().map(|&at| known[at].margin.class).collect();
    let found = insertions.least(reference, &others);
    course.visited += insertions.visited;
    course.branched |= insertions.visited > 0;
    for (at, found) in order.into_iter().zip(found) {
        let pair = &mut known[at];
        match found {
            Ok(lower) => (pair.open, pair.margin.lower) = (false, lower),
            Err(Halt::Attack(attack)) => {
                pair.margin.upper = pair.margin.upper.min(attack.upper);
                course.attack = Some((pair.margin.class, attack));
            }
            Err(Halt::Limit) => course.limit |= asked.pace.is_late(),
        }
    }
}

/// Several changes of a whole graph, by slopes and swaps.
fn by_climbing(asked: &Asked, menu: &ChangeMenu, reference: usize, known: &mut [Known], course: &mut Course) {
    let setting = Setting::new(asked.stack, asked.budget, asked.listed);
    let start = ChangePath::default();
    let whole = ChangeMenu::bare(setting, asked.node, &start);
    let others: Vec<usize> = known.iter().map(|pair| pair.margin.class).collect();
    let floats = Floats::new(&whole);
    let heads: Vec<Head> = others.iter().map(|&other| Head::new(&whole, reference, other)).collect();
    let sets = floats.as_ref().and_then(|floats| Sets::new(floats, &heads, &floats.largest(), whole.budget));
    for edges in Climb::new(menu, &whole, reference, &others, sets, asked.pace).sets() {
        let logits: Vec<Span> = asked.stack.spans(asked.node, &edges);
        for pair in known.iter_mut() {
            let class = pair.margin.class;
            let judge = ChangeJudge { setting, target: asked.node, reference, other: class };
            let found = margin(&logits, reference, class);
            pair.margin.upper = pair.margin.upper.min(found.hi);
            if let Some(attack) = judge.attack(&edges, found) {
                pair.margin.upper = pair.margin.upper.min(attack.upper);
                course.attack = Some((class, attack));
                return;
            }
        }
    }
}

/// Three or more changes of a whole graph, by a beam search over those that take most by themselves. `singles` are
/// their margins by class, ascending.
fn by_beam(
    asked: &Asked,
    reference: usize,
    singles: &[Vec<(EdgeFlip, f64)>],
    known: &mut [Known],
    course: &mut Course,
) {
    let setting = Setting::new(asked.stack, asked.budget, asked.listed);
    let start = ChangePath::default();
    let whole = ChangeMenu::bare(setting, asked.node, &start);
    let base: Vec<Span> = asked.stack.spans(asked.node, &[]);
    for (pair, singles) in known.iter_mut().zip(singles) {
        let class = pair.margin.class;
        let head = Head::new(&whole, reference, class);
        let Some(set) = beam(&whole, &head, margin(&base, reference, class).lo, singles, asked.pace) else { continue };
        let edges = whole.with(&set);
        let judge = ChangeJudge { setting, target: asked.node, reference, other: class };
        if let Some(attack) = judge.attack(&edges, judge.margin(&edges)) {
            pair.margin.upper = pair.margin.upper.min(attack.upper);
            course.attack = Some((class, attack));
            return;
        }
    }
}

/// A search for every class.
fn by_search(asked: &Asked, setting: Setting, reference: usize, known: &mut [Known], course: &mut Course) {
    let nodes = match asked.effort {
        Effort::Bounds | Effort::Optimal => 0,
        Effort::Minimize { .. } => usize::MAX,
        _ => asked.nodes,
    };
    let mut order: Vec<usize> = (0..known.len()).collect();
    order.sort_by(|&x, &y| known[x].margin.upper.total_cmp(&known[y].margin.upper));
    let start = ChangePath::default();
    let Some(menu) = ChangeMenu::new(setting, asked.node, &start, asked.pace) else {
        course.limit |= asked.pace.is_late();
        return;
    };
    let root = if menu.is_listed() { None } else { Carried::new(&menu, asked.pace) };
    for at in order {
        let pair = &mut known[at];
        if !pair.open && (pair.tree.is_some() || !asked.proofs) {
            continue;
        }
        let class = pair.margin.class;
        let judge = ChangeJudge { setting, target: asked.node, reference, other: class };
        let mut search = ChangeSearch {
            judge,
            pace: asked.pace,
            nodes,
            visited: 0,
            branched: false,
            lower: f64::INFINITY,
            root: root.as_ref(),
        };
        let outcome = search.explore(&start);
        course.visited += if nodes == 0 { 0 } else { search.visited };
        course.branched |= search.branched;
        match outcome {
            Ok(tree) => {
                pair.listed = matches!(tree.as_slice(), [Step::Listed]);
                pair.open = false;
                pair.tree = Some(tree);
                if pair.minimum.is_none() {
                    pair.margin.lower = search.lower.max(0.0);
                }
            }
            Err(Halt::Attack(attack)) => {
                pair.margin.upper = pair.margin.upper.min(attack.upper);
                course.attack = Some((class, attack));
                return;
            }
            Err(Halt::Limit) => {
                course.limit |= nodes > 0 || asked.pace.is_late();
                if !course.limit && search.lower.is_finite() {
                    pair.margin.lower = search.lower;
                }
            }
        }
    }
}

/// The exact minimum of a class pair.
fn by_minimum(asked: &Asked, judge: ChangeJudge, gap: f64, known: &mut Known, course: &mut Course) {
    let class = judge.other;
    let base = asked.stack.exact_margin(asked.node, judge.reference, class, &[]);
    let mut search = ChangeMinimum {
        judge,
        pace: asked.pace,
        nodes: asked.nodes,
        visited: 0,
        gap,
        scale: base.approximate().abs(),
        best: EdgeMinimum { margin: base, changes: Vec::new() },
        lower: f64::INFINITY,
        halted: false,
    };
    search.explore(&ChangePath::default(), f64::NEG_INFINITY);
    course.visited += search.visited;
    course.branched |= search.visited > 1;
    course.limit |= search.halted;
    let ChangeMinimum { best, lower, halted, .. } = search;
    known.margin.upper = best.margin.ceil_f64();
    // Nothing that was left can be below what was attained.
    let complete = !halted && lower >= known.margin.upper;
    known.margin.lower = if complete { best.margin.floor_f64() } else { lower.min(best.margin.floor_f64()) };
    known.open = !(best.margin.sign().is_gt() && (complete || known.margin.lower > 0.0));
    known.listed = true;
    let least = course.attack.as_ref().is_none_or(|attack| attack.1.upper > known.margin.upper);
    if best.margin.sign().is_le() && least {
        let (edges, tie) = (best.changes.clone(), best.margin.sign().is_eq());
        course.attack = Some((class, Attack { edges, tie, upper: known.margin.upper }));
    }
    known.minimum = complete.then_some(best);
}

/// An attack from which no change can be left out, and the class that it breaks: a negative margin stays negative, a
/// tie stays a tie.
fn shortened(judges: &[ChangeJudge], attack: &Attack) -> Option<(usize, Attack)> {
    let breaks = |edges: &[Edge]| {
        let mut edges = edges.to_vec();
        edges.sort_unstable();
        let attacks = judges.iter().filter_map(|judge| {
            let margin = judge.margin(&edges);
            Some((judge.other, judge.attack(&edges, margin)?))
        });
        attacks.min_by_key(|(_, attack)| attack.tie).filter(|(_, found)| found.tie == attack.tie)
    };
    minimal(&attack.edges, breaks).map(|(_, broken)| broken)
}
