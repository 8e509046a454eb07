//! Checks one proof about ranges.

use std::cmp::Ordering;
use std::sync::Arc;

use super::bound::{LeafLines, RowScene};
use super::budget::RangeBudget;
use super::forward::Changed;
use super::path::{RangePath, UnitPlace};
use super::statement::RangeStatement;
use crate::accepted::{Accepted, Refused};
use crate::format::{
    Convention, Line, RangeClaim, RangeClassProof, RangeLines, RangeNodeProof, RangeStep, RangeWitness,
};
use crate::number::{Dyadic, Interval, Stored};
use crate::rounding::Rounding;
use crate::verdict::{Fault, Reason, Verdict};
use crate::work::{Meter, Work};

/// Judges the proofs of a statement. Shared by all threads.
pub struct RangeChecker<'a> {
    statement: &'a RangeStatement<'a>,
    exact_only: bool,
    work: Arc<Work>,
    rounding: Option<Rounding<'a, RangeBudget>>,
}

impl<'a> RangeChecker<'a> {
    /// With `exact_only` exact numbers alone judge witnesses; bounds are about floats rounded outward in any case.
    pub fn new(statement: &'a RangeStatement<'a>, exact_only: bool) -> RangeChecker<'a> {
        let executed = statement.executed.as_ref();
        let rounding = executed.and_then(|of| Rounding::new(&of.0, &statement.budget, &of.1).ok());
        RangeChecker { statement, exact_only, work: Work::lines(), rounding }
    }

    /// The same within other limits.
    #[must_use]
    pub fn within(self, work: Arc<Work>) -> RangeChecker<'a> {
        RangeChecker { work, ..self }
    }

    /// The line of a proof, if it is accepted; otherwise the proof comes back.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn accept(&self, proof: RangeNodeProof) -> Result<Accepted<Line>, Box<Refused<RangeNodeProof>>> {
        match self.check(&proof) {
            Ok(_) => Ok(Accepted::new(Line::Ranged(proof))),
            Err(fault) => Err(Box::new(Refused { proof, fault })),
        }
    }

    /// Accepts or rejects the proof of one node.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn check(&self, proof: &RangeNodeProof) -> Result<Verdict, Fault> {
        let RangeStatement { graph, network, classes, .. } = self.statement;
        if proof.id as usize >= graph.targets() {
            return Err(Reason::Node.into());
        }
        if proof.class as usize >= network.classes() {
            return Err(Reason::Class(proof.class).into());
        }
        let label = graph.labels.as_ref().and_then(|labels| labels[proof.id as usize]);
        if *classes == Convention::Labels && label != Some(proof.class) {
            return Err(Reason::Reference("label").into());
        }
        let meter = self.work.line();
        let scene = RowScene::new(self.statement, network.depth(), proof.id, &meter)?;
        meter.allow(network.classes(), scene.size());
        match &proof.claim {
            RangeClaim::Robust(trees) => self.robust(&scene, proof, trees, &meter),
            RangeClaim::NonRobust(witness) => self.witness(&scene, proof, witness, &meter),
        }
    }

    /// What a margin must exceed so that every execution keeps its sign; 0 for the exact network.
    fn rounded(&self, node: u32, reference: u32, class: u32, meter: &Meter) -> Result<Dyadic, Reason> {
        if self.statement.executed.is_none() {
            return Ok(Dyadic::ZERO);
        }
        let error = self.rounding.as_ref().and_then(|rounding| rounding.margin_error(node, reference, class));
        meter.look()?;
        error.ok_or(Reason::Rounding)
    }

    /// Every other class, ascending. That all margins are positive without a change is part of what is proved, so the
    /// reference class is the predicted one.
    fn robust(
        &self,
        scene: &RowScene,
        proof: &RangeNodeProof,
        trees: &[RangeClassProof],
        meter: &Meter,
    ) -> Result<Verdict, Fault> {
        let classes = self.statement.network.classes();
        let mut others = (0..classes as u32).filter(|&class| class != proof.class);
        for one in trees {
            if others.next() != Some(one.class) {
                return Err(Reason::Classes(one.class).into());
            }
            let at_class = |reason| Fault { class: Some(one.class), step: None, reason };
            let error = self.rounded(proof.id, proof.class, one.class, meter).map_err(at_class)?;
            let error = Interval::around(&error).upper;
            let judged = scene.walk(&one.tree, meter, |path, step| {
                let RangeStep::Lines(stated) = step else { return Err(Reason::Incomplete) };
                let lines = read_lines(scene, path, stated, meter)?;
                let mut top = vec![Interval::ZERO; classes];
                (top[proof.class as usize], top[one.class as usize]) = (Stored::ONE.into(), (-Stored::ONE).into());
                let lower = scene.bound(path, &lines, top, meter)?.minus(error);
                match lower.is_positive() {
                    true => Ok(()),
                    false => Err(Reason::Bound(Interval { lower, ..Interval::ANY })),
                }
            });
            judged.map_err(|(step, reason)| Fault { class: Some(one.class), step: Some(step), reason })?;
        }
        match others.next() {
            Some(missing) => Err(Reason::Classes(missing).into()),
            None => Ok(Verdict::Robust),
        }
    }

    fn witness(
        &self,
        scene: &RowScene,
        proof: &RangeNodeProof,
        witness: &RangeWitness,
        meter: &Meter,
    ) -> Result<Verdict, Fault> {
        let RangeStatement { graph, network, budget, classes, .. } = self.statement;
        let at_class = |reason| Fault { class: Some(witness.class), step: None, reason };
        if *classes == Convention::Predicted {
            let clean = Logits::new(scene, &[], self.exact_only, meter)?;
            for class in (0..network.classes() as u32).filter(|&class| class != proof.class) {
                // The smallest number among equals.
                let ahead = match clean.margin(proof.class, class, &Dyadic::ZERO, meter)?.0 {
                    Ordering::Greater => true,
                    Ordering::Equal => proof.class < class,
                    Ordering::Less => false,
                };
                if !ahead {
                    return Err(Reason::Reference("predicted class").into());
                }
            }
        }
        if witness.class as usize >= network.classes() || witness.class == proof.class {
            return Err(at_class(Reason::Class(witness.class)));
        }
        meter.spend(witness.entries.len() as u64 * 64)?;
        budget.require(graph, &witness.entries).map_err(at_class)?;
        if let Some((_, deployed)) = &self.statement.executed
            && let Some(of) = witness.entries.iter().find(|of| !is_in_format(&of.2.0, deployed.precision))
        {
            return Err(at_class(Reason::Entry((of.0, of.1))));
        }
        let error = self.rounded(proof.id, proof.class, witness.class, meter).map_err(at_class)?;
        // Others change nothing about the node.
        let place = |node: u32| scene.slice.place(1, node);
        let changes: Vec<Changed> = witness
            .entries
            .iter()
            .filter_map(|(node, attribute, value)| {
                Some(Changed { place: place(*node)?, attribute: *attribute, value: &value.0 })
            })
            .collect();
        let after = Logits::new(scene, &changes, self.exact_only, meter)?;
        match after.margin(proof.class, witness.class, &error, meter)? {
            (Ordering::Less, _) => Ok(Verdict::NonRobust),
            (Ordering::Equal, _) if self.statement.executed.is_none() => Ok(Verdict::Tie),
            (_, margin) => Err(at_class(Reason::Margin(margin))),
        }
    }
}

/// The logits after some changes: between floats, and exactly where these leave a sign open.
struct Logits<'a> {
    scene: &'a RowScene<'a>,
    changes: &'a [Changed<'a>],
    rounded: Option<Vec<Interval>>,
    exact: std::cell::OnceCell<Vec<Dyadic>>,
}

impl<'a> Logits<'a> {
    fn new(
        scene: &'a RowScene<'a>,
        changes: &'a [Changed<'a>],
        exact_only: bool,
        meter: &Meter,
    ) -> Result<Logits<'a>, Reason> {
        let rounded = if exact_only { None } else { Some(scene.forward(changes, meter)?) };
        Ok(Logits { scene, changes, rounded, exact: std::cell::OnceCell::new() })
    }

    /// The sign of the margin of a class over another plus an error, and floats around it.
    fn margin(
        &self,
        reference: u32,
        class: u32,
        error: &Dyadic,
        meter: &Meter,
    ) -> Result<(Ordering, Interval), Reason> {
        let (reference, class) = (reference as usize, class as usize);
        if let Some(logits) = &self.rounded {
            let margin = logits[reference].minus(logits[class]).plus(Interval::around(error));
            if let Some(sign) = margin.sign() {
                return Ok((sign, margin));
            }
        }
        if self.exact.get().is_none() {
            // Nobody else can have set it.
            let _ = self.exact.set(self.scene.forward(self.changes, meter)?);
        }
        let logits = self.exact.get().map_or(&[][..], Vec::as_slice);
        let margin = &(&logits[reference] - &logits[class]) + error;
        Ok((margin.sign(), Interval::around(&margin)))
    }
}

/// Has a number at most so many significant bits, and the exponents of binary32?
fn is_in_format(x: &Dyadic, precision: u32) -> bool {
    let x = x.reduced();
    let (bits, precision) = (x.bits() as i64, i64::from(precision));
    x.is_zero() || bits <= precision && x.parts().1 >= -125 - precision && x.parts().1 + bits <= 128
}

/// The lines that a leaf states.
fn read_lines(scene: &RowScene, path: &RangePath, stated: &RangeLines, meter: &Meter) -> Result<LeafLines, Reason> {
    meter.spend(256 * (stated.slopes.len() + stated.prices.len()) as u64)?;
    let mut lines = LeafLines::default();
    for (name, list, lines) in
        [("slopes", &stated.slopes, &mut lines.slopes), ("prices", &stated.prices, &mut lines.prices)]
    {
        let mut last: Option<UnitPlace> = None;
        for (l, node, unit, number) in list {
            let stated = (*l, *node, *unit);
            let at = scene.unit(stated)?;
            if last.is_some_and(|last| last >= at) {
                return Err(Reason::MultiplierOrder(name, stated));
            }
            let price = name == "prices";
            if number.0.is_negative() || !price && number.0 > Stored::ONE.exact() {
                return Err(Reason::MultiplierRange(name, stated));
            }
            if price && !path.signs.contains_key(&at) {
                return Err(Reason::Unsplit(stated));
            }
            lines.insert(at, Interval::around(&number.0));
            last = Some(at);
        }
    }
    Ok(lines)
}
