//! Several changes of a whole graph, at most one at every node: what each does among the others shows which sets are
//! left, and these are made change by change (docs/math.md §24.8).

use crate::edges::changes::among::Among;
use crate::edges::changes::menu::{ChangeMenu, ChangePath, EdgeFlip, Setting};
use crate::edges::changes::pairs::SetsOutcome;
use crate::edges::changes::search::{ChangeJudge, EVALUATION, margin};
use crate::edges::changes::sets::{Head, Sets};
use crate::edges::changes::span::{down, up};
use crate::edges::changes::trial::Floats;
use crate::edges::search::Halt;
use crate::problem::pace::Pace;

/// Changes and nodes, at most.
const MOST_CHANGES: usize = 8;
const MOST_NODES: usize = 400;

/// Of the changes that are left, one in so many is made before all are bounded again.
const SHARE: usize = 8;

/// The search for a graph.
pub(crate) struct Matchings<'a> {
    setting: Setting<'a>,
    target: u32,
    reference: usize,
    classes: &'a [usize],
    pace: &'a Pace,
    /// By class: not above the margin of any set that was left out or looked at.
    lower: Vec<f64>,
    /// So many sets of changes were bounded.
    pub(crate) visited: usize,
}

/// A class that is open, with its margin on the path, rounded down.
#[derive(Clone, Copy)]
struct OpenClass {
    /// Its place among the classes.
    at: usize,
    margin: f64,
}

/// What the changes of a list can take from a margin together.
struct Taken {
    /// By number of changes: the most, rounded up.
    sums: Vec<f64>,
}

/// Do two changes share no end?
fn apart(x: EdgeFlip, y: EdgeFlip) -> bool {
    ![y.edge.0, y.edge.1].iter().any(|&end| end == x.edge.0 || end == x.edge.1)
}

impl Taken {
    /// Every change counts at one of its ends, and no node has two: the largest that count at different nodes, added
    /// up.
    fn new(effects: impl Iterator<Item = (EdgeFlip, f64)>, first: u32, nodes: usize, most: usize) -> Taken {
        let mut losses: Vec<(f64, [usize; 2])> = effects
            .filter(|(_, effect)| *effect < 0.0)
            .map(|(flip, effect)| (-effect, [flip.edge.0, flip.edge.1].map(|end| (end - first) as usize)))
            .collect();
        losses.sort_by(|x, y| y.0.total_cmp(&x.0));
        // Where neither end has as much yet, it counts at the one with more of the large ones.
        let mut count = vec![0usize; nodes];
        losses.iter().take(8 * nodes).flat_map(|of| of.1).for_each(|end| count[end] += 1);
        let mut credit = vec![0.0f64; nodes];
        for (loss, [a, b]) in losses {
            if credit[a] < loss && credit[b] < loss {
                credit[if count[a] >= count[b] { a } else { b }] = loss;
            }
        }
        credit.sort_by(|x, y| y.total_cmp(x));
        let mut sums = vec![0.0];
        for at in 0..most {
            let before = sums[at];
            sums.push(credit.get(at).map_or(before, |x| up(before + x)));
        }
        Taken { sums }
    }
}

impl<'a> Matchings<'a> {
    /// `None` where two changes may share an end, or the network is another than those that are bounded.
    pub(crate) fn new(
        menu: &ChangeMenu<'a>,
        reference: usize,
        classes: &'a [usize],
        pace: &'a Pace,
    ) -> Option<Matchings<'a>> {
        let setting = menu.setting;
        let mut nodes = setting.stack.graph.nodes_of(menu.target as usize);
        let fits = (2..=MOST_CHANGES).contains(&menu.budget)
            && nodes.len() <= MOST_NODES
            && setting.stack.graph.batch().is_some()
            && nodes.all(|node| setting.budget.local(node) <= 1);
        let lower = vec![f64::INFINITY; classes.len()];
        let found = Matchings { setting, target: menu.target, reference, classes, pace, lower, visited: 0 };
        fits.then(|| Floats::new(menu)).flatten().map(|_| found)
    }

    /// Looks at all sets of these changes.
    pub(crate) fn decide(&mut self, flips: &[EdgeFlip]) -> SetsOutcome {
        let all: Vec<usize> = (0..self.classes.len()).collect();
        match self.below(&ChangePath::default(), flips.to_vec(), &all) {
            Ok(()) => SetsOutcome::Robust(self.lower.clone()),
            Err((class, Halt::Attack(attack))) => SetsOutcome::Attacked(class, attack),
            Err((_, Halt::Limit)) => SetsOutcome::Late,
        }
    }

    fn halt(&self) -> (usize, Halt) {
        (self.reference, Halt::Limit)
    }

    /// Is the margin of some classes positive after some changes? By class, rounded down.
    fn margins(&mut self, path: &ChangePath, classes: &[usize]) -> Result<Vec<OpenClass>, (usize, Halt)> {
        if self.pace.is_late_for(EVALUATION) {
            return Err(self.halt());
        }
        let mut edges = path.changed.clone();
        edges.sort_unstable();
        let logits = self.setting.stack.spans(self.target, &edges);
        let mut open = Vec::with_capacity(classes.len());
        for &at in classes {
            let other = self.classes[at];
            let found = margin(&logits, self.reference, other);
            let judge = ChangeJudge { setting: self.setting, target: self.target, reference: self.reference, other };
            if let Some(attack) = judge.attack(&edges, found) {
                return Err((other, Halt::Attack(attack)));
            }
            // No attack: the exact margin is above 0, whatever floats say of it.
            let margin = if found.lo > 0.0 { found.lo } else { 0.0 };
            self.leave(at, margin);
            open.push(OpenClass { at, margin });
        }
        Ok(open)
    }

    /// Margins of a class are not below this.
    fn leave(&mut self, at: usize, margin: f64) {
        self.lower[at] = self.lower[at].min(margin);
    }

    /// All sets of some changes on a path, for some classes.
    fn below(&mut self, path: &ChangePath, flips: Vec<EdgeFlip>, classes: &[usize]) -> Result<(), (usize, Halt)> {
        let mut menu = ChangeMenu::bare(self.setting, self.target, path);
        let open = self.margins(path, classes)?;
        match menu.budget {
            0 => return Ok(()),
            1 => {
                return flips.iter().try_for_each(|flip| {
                    let mut path = path.clone();
                    path.changed.push(flip.edge);
                    self.margins(&path, classes).map(drop)
                });
            }
            _ => {}
        }
        menu.flips = flips;
        let floats = Floats::new(&menu).ok_or(self.halt())?;
        self.bounded(&mut menu, path, &floats, open)
    }

    /// The same with two changes or more.
    fn bounded(
        &mut self,
        menu: &mut ChangeMenu<'_>,
        path: &ChangePath,
        floats: &Floats,
        mut open: Vec<OpenClass>,
    ) -> Result<(), (usize, Halt)> {
        let (budget, nodes) = (menu.budget, floats.rows.len());
        let mut again = false;
        loop {
            self.visited += 1;
            let heads: Vec<Head> = open.iter().map(|of| Head::new(menu, self.reference, self.classes[of.at])).collect();
            let of: Vec<&Head> = heads.iter().collect();
            let effects = Among::new(floats, &menu.flips, &of, self.pace)
                .and_then(|among| among.averages(budget, self.pace))
                .ok_or(self.halt())?;
            // Which changes may be members of a set that is not shown to be positive, by class?
            let mut left = vec![false; menu.flips.len()];
            let mut classes: Vec<usize> = Vec::new();
            for (place, class) in open.iter().enumerate() {
                let taken = Taken::new(with(&menu.flips, &effects, place), floats.first, nodes, budget);
                let all = down(class.margin - taken.sums[budget]);
                if all > 0.0 {
                    self.leave(class.at, all);
                    continue;
                }
                let mut any = false;
                for (left, effects) in left.iter_mut().zip(&effects) {
                    let least = down(down(class.margin + effects[place]) - taken.sums[budget - 1]);
                    if least > 0.0 {
                        self.leave(class.at, least);
                    } else {
                        (*left, any) = (true, true);
                    }
                }
                if any {
                    classes.push(place);
                }
            }
            let before = menu.flips.len();
            let mut kept = left.iter();
            menu.flips.retain(|_| kept.next().copied().unwrap_or(true));
            if classes.is_empty() || menu.flips.is_empty() {
                return Ok(());
            }
            let effects: Vec<Vec<f64>> = effects
                .iter()
                .zip(&left)
                .filter(|(_, left)| **left)
                .map(|(effects, _)| classes.iter().map(|&place| effects[place]).collect())
                .collect();
            open = classes.iter().map(|&place| open[place]).collect();
            if budget == 2 {
                return self.pairs(menu, path, floats, &open, &effects);
            }
            // Fewer changes move numbers less.
            let fewer = 10 * menu.flips.len() <= 9 * before;
            if fewer && !again || 2 * menu.flips.len() <= before {
                again = true;
                continue;
            }
            again = false;
            self.made(menu, path, floats, &open, &effects)?;
            if menu.flips.is_empty() {
                return Ok(());
            }
        }
    }

    /// Two changes more: those that bounds leave open.
    fn pairs(
        &mut self,
        menu: &ChangeMenu<'_>,
        path: &ChangePath,
        floats: &Floats,
        open: &[OpenClass],
        effects: &[Vec<f64>],
    ) -> Result<(), (usize, Halt)> {
        let heads: Vec<Head> = open.iter().map(|of| Head::new(menu, self.reference, self.classes[of.at])).collect();
        let classes: Vec<usize> = open.iter().map(|of| of.at).collect();
        let seen: Vec<f64> =
            floats.sent.iter().map(|sent| sent.iter().fold(0.0, |most: f64, m| most.max(m.abs()))).collect();
        let mut sets = Sets::new(floats, &heads, &seen, 2);
        for x in 0..menu.flips.len() {
            if self.pace.is_late_for(4 * x) {
                return Err(self.halt());
            }
            // One change alone may take more than with another.
            let alone: Vec<f64> = open.iter().zip(&effects[x]).map(|(of, effect)| down(of.margin + effect)).collect();
            if alone.iter().all(|&least| least > 0.0) {
                open.iter().zip(alone).for_each(|(of, least)| self.leave(of.at, least));
            } else {
                let mut one = path.clone();
                one.changed.push(menu.flips[x].edge);
                self.margins(&one, &classes)?;
            }
            for y in 0..x {
                let pair = [menu.flips[y], menu.flips[x]];
                let least = |place: usize| {
                    let class: &OpenClass = &open[place];
                    down(down(class.margin + effects[x][place]) + effects[y][place])
                };
                if !apart(pair[0], pair[1]) {
                    continue;
                }
                if (0..open.len()).all(|place| least(place) > 0.0) {
                    (0..open.len()).for_each(|place| self.leave(open[place].at, least(place)));
                    continue;
                }
                let quick = sets.as_mut().and_then(|sets| sets.least(&pair));
                let found: Vec<f64> =
                    quick.into_iter().flatten().zip(open).map(|(change, of)| down(of.margin + change)).collect();
                if found.len() == open.len() && found.iter().all(|&margin| margin > 0.0) {
                    if self.pace.is_late_for(EVALUATION / 8) {
                        return Err(self.halt());
                    }
                    open.iter().zip(found).for_each(|(of, margin)| self.leave(of.at, margin));
                    continue;
                }
                let mut both = path.clone();
                both.changed.extend(pair.map(|flip| flip.edge));
                self.margins(&both, &classes)?;
            }
        }
        Ok(())
    }

    /// Makes those of the open changes that take most, each with all sets of the others; what is left of the list
    /// afterwards has none of them.
    fn made(
        &mut self,
        menu: &mut ChangeMenu<'_>,
        path: &ChangePath,
        floats: &Floats,
        open: &[OpenClass],
        effects: &[Vec<f64>],
    ) -> Result<(), (usize, Halt)> {
        let (budget, nodes) = (menu.budget, floats.rows.len());
        let share = |effects: &Vec<f64>| {
            let of = effects.iter().zip(open).map(|(effect, of)| effect / of.margin.max(f64::MIN_POSITIVE));
            of.fold(f64::INFINITY, f64::min)
        };
        let shares: Vec<f64> = effects.iter().map(share).collect();
        let mut order: Vec<usize> = (0..menu.flips.len()).collect();
        order.sort_by(|&x, &y| shares[x].total_cmp(&shares[y]).then(x.cmp(&y)));
        let mut gone = vec![false; menu.flips.len()];
        for &at in &order[..menu.flips.len().div_ceil(SHARE)] {
            gone[at] = true;
            let flip = menu.flips[at];
            let mut with_it = vec![false; menu.flips.len()];
            let mut classes: Vec<usize> = Vec::new();
            for (place, class) in open.iter().enumerate() {
                let rest = with(&menu.flips, effects, place).zip(&gone).filter(|(_, gone)| !**gone).map(|(of, _)| of);
                let taken = Taken::new(rest, floats.first, nodes, budget - 1);
                let start = down(class.margin + effects[at][place]);
                let all = down(start - taken.sums[budget - 1]);
                if all > 0.0 {
                    self.leave(class.at, all);
                    continue;
                }
                classes.push(class.at);
                for (other, slot) in with_it.iter_mut().enumerate().filter(|(other, _)| !gone[*other]) {
                    let least = down(down(start + effects[other][place]) - taken.sums[budget - 2]);
                    if least > 0.0 {
                        self.leave(class.at, least);
                    } else {
                        *slot |= apart(flip, menu.flips[other]);
                    }
                }
            }
            if !classes.is_empty() {
                let others = menu.flips.iter().zip(&with_it).filter(|(_, with_it)| **with_it).map(|(flip, _)| *flip);
                let mut path = path.clone();
                path.changed.push(flip.edge);
                self.below(&path, others.collect(), &classes)?;
            }
        }
        let mut kept = gone.iter();
        menu.flips.retain(|_| !kept.next().copied().unwrap_or(false));
        Ok(())
    }
}

/// Changes with what they do to the margin of a class.
fn with<'f>(
    flips: &'f [EdgeFlip],
    effects: &'f [Vec<f64>],
    place: usize,
) -> impl Iterator<Item = (EdgeFlip, f64)> + 'f {
    flips.iter().zip(effects).map(move |(flip, effects)| (*flip, effects[place]))
}

#[cfg(test)]
mod tests {
    use super::Matchings;
    use crate::edges::changes::beside::tests::problem;
    use crate::edges::changes::menu::{ChangeMenu, ChangePath, Setting};
    use crate::edges::changes::pairs::SetsOutcome;
    use crate::edges::changes::search::each_set;
    use crate::problem::pace::Pace;
    use gcnproof_verify::random::Stream;

    #[test]
    fn verdicts_are_those_of_a_list_of_all_sets() {
        let (mut robust, mut attacked, mut bounded) = (0, 0, 0);
        for seed in 0..250 {
            let random = &mut Stream::new(seed);
            let budget = 2 + random.below(3);
            let problem = problem(random, budget, 1);
            let Some(stack) = problem.stack() else { continue };
            let (path, pace) = (ChangePath::default(), Pace::endless());
            let menu = ChangeMenu::new(Setting::new(stack, problem.budget(), 1), 1, &path, &pace).unwrap();
            let reference = random.below(3);
            let classes: Vec<usize> = (0..3).filter(|&class| class != reference).collect();
            let mut least = [f64::INFINITY; 2];
            let listed = each_set(&menu, |set| {
                let logits = stack.spans(1, &menu.with(set));
                for (least, &class) in least.iter_mut().zip(&classes) {
                    *least = least.min(logits[reference].minus(logits[class]).hi);
                }
                Ok(())
            });
            assert!(listed.is_ok());
            let mut matchings = Matchings::new(&menu, reference, &classes, &pace).expect("a network of this kind");
            match matchings.decide(&menu.flips) {
                SetsOutcome::Robust(lower) => {
                    assert!(
                        lower.iter().zip(least).all(|(lower, least)| *lower <= least),
                        "{seed}: {lower:?} {least:?}"
                    );
                    assert!(least.iter().all(|&least| least > 0.0), "seed {seed}: {least:?}");
                    (robust, bounded) = (robust + 1, bounded + usize::from(matchings.visited > 0));
                }
                SetsOutcome::Attacked(class, attack) => {
                    let at = classes.iter().position(|&other| other == class).unwrap();
                    assert!(
                        attack.edges.len() <= budget && least[at] <= 1e-9 + attack.upper,
                        "seed {seed}: {attack:?}"
                    );
                    attacked += 1;
                }
                SetsOutcome::Late => panic!("no limit of time"),
            }
        }
        assert!(robust > 20 && attacked > 40 && bounded > 20, "{robust} {attacked} {bounded}");
    }
}
