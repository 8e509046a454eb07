//! Two changes of a whole graph: what each does beside any other settles most pairs, the others are looked at one by
//! one (docs/math.md §24.6).

use crate::edges::changes::beside::{SetBounds, beside};
use crate::edges::changes::menu::{ChangeMenu, EdgeFlip};
use crate::edges::changes::search::{ChangeJudge, EVALUATION, margin};
use crate::edges::changes::sets::{Head, Sets};
use crate::edges::changes::span::{Span, down};
use crate::edges::changes::trial::Floats;
use crate::edges::judge::Attack;
use crate::edges::search::Halt;
use crate::problem::pace::Pace;

/// What is known of the pairs of a class.
struct Class {
    class: usize,
    /// By open change: not above the margin after it alone.
    single: Vec<f64>,
    /// By open change: not above what it does beside any other that shares no end with it.
    beside: Vec<f64>,
    /// Not above the margin after any set.
    lower: f64,
}

impl Class {
    /// Not above the margin after two changes that share no end.
    fn both(&self, x: usize, y: usize) -> f64 {
        down(self.single[x] + self.beside[y]).max(down(self.single[y] + self.beside[x]))
    }
}

/// All sets of at most two open changes, the classes one after the other.
pub(crate) struct ChangePairs<'a> {
    menu: &'a ChangeMenu<'a>,
    reference: usize,
    pace: &'a Pace,
    classes: Vec<Class>,
    floats: Floats<'a>,
    heads: Vec<Head>,
    /// The largest messages of each layer after single changes.
    largest: Vec<f64>,
}

/// Sets in plain floats.
struct Quick<'a> {
    /// Margins of the graph as it is, rounded down.
    base: Vec<f64>,
    sets: Sets<'a>,
}

impl Quick<'_> {
    /// Not above the margins after a set, if all of these are positive.
    fn margins(&mut self, set: &[EdgeFlip]) -> Option<Vec<f64>> {
        let changes = self.sets.least(set)?;
        let margins: Vec<f64> = self.base.iter().zip(changes).map(|(base, change)| down(base + change)).collect();
        margins.iter().all(|&margin| margin > 0.0).then_some(margins)
    }
}

/// How it ended.
pub(crate) enum SetsOutcome {
    /// All margins are positive: by class, not above any of them.
    Robust(Vec<f64>),
    Attacked(usize, Attack),
    /// It is late.
    Late,
}

impl<'a> ChangePairs<'a> {
    /// `None` where nothing is known of changes beside others, or two changes are not what is left.
    pub(crate) fn new(
        menu: &'a ChangeMenu<'a>,
        reference: usize,
        others: &[usize],
        pace: &'a Pace,
    ) -> Option<ChangePairs<'a>> {
        if menu.budget != 2 || menu.flips.is_empty() {
            return None;
        }
        let floats = Floats::new(menu)?;
        let heads: Vec<Head> = others.iter().map(|&other| Head::new(menu, reference, other)).collect();
        let SetBounds { least, largest } = beside(&floats, &menu.flips, &heads, pace)?;
        let class = |(&class, beside)| Class { class, single: Vec::new(), beside, lower: f64::INFINITY };
        let classes = others.iter().zip(least).map(class).collect();
        Some(ChangePairs { menu, reference, pace, classes, floats, heads, largest })
    }

    pub(crate) fn decide(mut self) -> SetsOutcome {
        match self.look() {
            Ok(()) => SetsOutcome::Robust(self.classes.iter().map(|class| class.lower).collect()),
            Err((class, Halt::Attack(attack))) => SetsOutcome::Attacked(class, attack),
            Err((_, Halt::Limit)) => SetsOutcome::Late,
        }
    }

    fn look(&mut self) -> Result<(), (usize, Halt)> {
        let base = self.exactly(&[])?;
        let (floats, heads) = (self.floats.clone(), std::mem::take(&mut self.heads));
        let mut quick = Sets::new(&floats, &heads, &self.largest, 2).map(|sets| Quick { base, sets });
        for &flip in &self.menu.flips {
            let margins = self.set(&mut quick, &[flip])?;
            self.classes.iter_mut().zip(margins).for_each(|(class, margin)| class.single.push(margin));
        }
        self.with_shared_ends(&mut quick)?;
        for at in 0..self.classes.len() {
            self.apart(&mut quick, at)?;
        }
        Ok(())
    }

    /// One set of changes, for all classes.
    fn set(&mut self, quick: &mut Option<Quick>, set: &[EdgeFlip]) -> Result<Vec<f64>, (usize, Halt)> {
        if let Some(margins) = quick.as_mut().and_then(|quick| quick.margins(set)) {
            if self.pace.is_late_for(EVALUATION / 8) {
                return Err((self.reference, Halt::Limit));
            }
            for (class, margin) in self.classes.iter_mut().zip(&margins) {
                class.lower = class.lower.min(*margin);
            }
            return Ok(margins);
        }
        self.exactly(set)
    }

    /// The same where plain floats are too far off.
    fn exactly(&mut self, set: &[EdgeFlip]) -> Result<Vec<f64>, (usize, Halt)> {
        let ChangeMenu { setting, target, .. } = *self.menu;
        if self.pace.is_late_for(EVALUATION) {
            return Err((self.reference, Halt::Limit));
        }
        let edges = self.menu.with(set);
        let logits: Vec<Span> = setting.stack.spans(target, &edges);
        let mut margins = Vec::with_capacity(self.classes.len());
        for class in &mut self.classes {
            let found = margin(&logits, self.reference, class.class);
            let judge = ChangeJudge { setting, target, reference: self.reference, other: class.class };
            if let Some(attack) = judge.attack(&edges, found) {
                return Err((class.class, Halt::Attack(attack)));
            }
            // No attack: the exact margin is above 0, whatever floats say of it.
            class.lower = class.lower.min(found.lo.max(0.0));
            // Of an overflow nothing is known that could be added to.
            margins.push(if found.lo.is_nan() { f64::NEG_INFINITY } else { found.lo });
        }
        Ok(margins)
    }

    /// Two changes at one node.
    fn with_shared_ends(&mut self, quick: &mut Option<Quick>) -> Result<(), (usize, Halt)> {
        let flips = &self.menu.flips;
        let nodes = self.menu.setting.stack.graph.nodes_of(self.menu.target as usize);
        for node in nodes.map(|node| node as u32).filter(|&node| self.menu.cap(node) >= 2) {
            let here: Vec<EdgeFlip> =
                flips.iter().copied().filter(|of| of.edge.0 == node || of.edge.1 == node).collect();
            for (place, &x) in here.iter().enumerate() {
                for &y in &here[..place] {
                    if self.menu.admits(&[x, y]) {
                        self.set(quick, &[x, y])?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Pairs without a common end that bounds leave open for a class.
    fn apart(&mut self, quick: &mut Option<Quick>, at: usize) -> Result<(), (usize, Halt)> {
        let flips = &self.menu.flips;
        let class = &self.classes[at];
        let least = class.single.iter().copied().fold(f64::INFINITY, f64::min);
        let mut lower = class.lower;
        let mut open: Vec<usize> = Vec::new();
        for (place, &beside) in class.beside.iter().enumerate() {
            let all = down(least + beside);
            if all > 0.0 {
                lower = lower.min(all);
            } else {
                open.push(place);
            }
        }
        for (count, &x) in open.iter().enumerate() {
            if self.pace.is_late_for(count) {
                return Err((self.reference, Halt::Limit));
            }
            for &y in &open[..count] {
                let both = self.classes[at].both(x, y);
                if both > 0.0 {
                    lower = lower.min(both);
                    continue;
                }
                let [x, y] = [flips[x], flips[y]];
                let apart = ![y.edge.0, y.edge.1].iter().any(|&end| end == x.edge.0 || end == x.edge.1);
                if apart && self.menu.admits(&[x, y]) {
                    self.set(quick, &[x, y])?;
                }
            }
        }
        self.classes[at].lower = self.classes[at].lower.min(lower);
        Ok(())
    }
}
