//! Rule 5′ of section 4 of `check/FORMAT.md` (version 2): bends of units of layer 3.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use crate::evaluate::Details;
use crate::exact::Exact;
use crate::hints::Hints;
use crate::rules::{Amounts, Left, Rules, larger, positive, smaller, zero};

/// A bound of a unit that is affine in the flips: a constant, and what each flip adds.
#[derive(Clone)]
struct Affine {
    constant: Exact,
    changes: BTreeMap<(usize, usize), Exact>,
}

impl Affine {
    fn add(&mut self, weight: &Exact, other: &Affine) {
        self.constant = self.constant.plus(&weight.times(&other.constant));
        for (flip, change) in &other.changes {
            let sum = self.changes.entry(*flip).or_insert_with(zero);
            *sum = sum.plus(&weight.times(change));
        }
    }

    /// What is not below its positive part, by rule 5 with a level; `paid` bounds the sum of what flips pay.
    fn bent(&self, level: &Exact, paid: impl Fn(&Amounts) -> Exact) -> Affine {
        let below = self.constant.sign() == Ordering::Less;
        let pays = |g: &Exact| smaller(positive(&if below { g.clone() } else { g.negated() }), level.clone());
        let sum = paid(&self.changes.iter().map(|(flip, g)| (*flip, pays(g))).collect());
        let bend = |g: &Exact| match below {
            true => larger(g.plus(&pays(g).negated()), zero()),
            false => larger(g.clone(), pays(g).negated()),
        };
        Affine {
            constant: match below {
                true => larger(self.constant.plus(&sum), zero()),
                false => larger(self.constant.clone(), sum),
            },
            changes: self.changes.iter().map(|(flip, g)| (*flip, bend(g))).collect(),
        }
    }
}

impl Rules<'_> {
    /// Rule 5′, and its part of rule 6.
    pub(crate) fn nested(
        &self,
        hints: &Hints,
        details: &Details,
        changes: &BTreeMap<(usize, usize), Amounts>,
        left: &Left,
        constant: &mut Exact,
        losses: &mut [((usize, usize), Exact)],
    ) {
        for (&(m, j), bend) in &hints.nested {
            let mut bound = Affine { constant: self.biases[1][j].clone(), changes: BTreeMap::new() };
            for &(n, a) in &self.operators[1][m] {
                for i in 0..self.width(2) {
                    let w = Exact::from_f64(a).times(self.weight(2, i, j));
                    let own = changes[&(n, i)].iter().cloned().collect();
                    let unit = Affine { constant: details.values[&(n, i)].clone(), changes: own };
                    let support = hints.supports.get(&(n, i));
                    if w.sign() == Ordering::Greater {
                        let level = support.map_or_else(zero, |line| line.level.clone());
                        let none = Default::default();
                        let prices = support.map_or(&none, |line| &line.prices);
                        bound.add(&w, &unit.bent(&level, |amounts| self.select(amounts, prices, left)));
                    } else if let Some(line) = support {
                        bound.add(&w.times(&line.weight), &unit);
                    }
                }
            }
            let bent = bound.bent(&bend.level, |amounts| self.select(amounts, &bend.prices, left));
            *constant = constant.plus(&bend.weight.times(&bent.constant).negated());
            for (flip, loss) in losses.iter_mut() {
                if let Some(change) = bent.changes.get(flip) {
                    *loss = loss.plus(&bend.weight.times(change));
                }
            }
        }
    }
}
