//! The network after some changes, exactly and between floats.

use super::bound::RowScene;
use crate::number::{Dyadic, Interval, Stored};
use crate::verdict::Reason;
use crate::work::Meter;

/// What an evaluation needs of a number.
pub(super) trait Arithmetic: Clone {
    fn of(x: Stored) -> Self;
    fn exact(x: &Dyadic) -> Self;
    /// Adds `a x`.
    fn add(&mut self, x: &Self, a: Stored);
    fn activate(&mut self);
}

impl Arithmetic for Interval {
    fn of(x: Stored) -> Interval {
        x.into()
    }

    fn exact(x: &Dyadic) -> Interval {
        Interval::around(x)
    }

    fn add(&mut self, x: &Interval, a: Stored) {
        *self = self.plus(x.scaled(a));
    }

    fn activate(&mut self) {
        *self = self.positive_part();
    }
}

impl Arithmetic for Dyadic {
    fn of(x: Stored) -> Dyadic {
        x.exact()
    }

    fn exact(x: &Dyadic) -> Dyadic {
        x.clone()
    }

    fn add(&mut self, x: &Dyadic, a: Stored) {
        if !a.is_zero() && !x.is_zero() {
            *self = &*self + &(x * &a.exact());
        }
    }

    fn activate(&mut self) {
        *self = self.positive_part();
    }
}

/// An entry with another value, by the place of its node.
pub(super) struct Changed<'a> {
    pub(super) place: usize,
    pub(super) attribute: u32,
    pub(super) value: &'a Dyadic,
}

impl RowScene<'_> {
    /// The pre-activations of the target after some changes.
    pub(super) fn forward<N: Arithmetic>(&self, changes: &[Changed], meter: &Meter) -> Result<Vec<N>, Reason> {
        let network = &self.statement.network;
        let first = network.layer(1);
        let mut messages: Vec<Vec<N>> = Vec::with_capacity(self.rows.len());
        for (place, row) in self.rows.iter().enumerate() {
            let own = || changes.iter().filter(|change| change.place == place);
            let mut sums = vec![N::of(Stored::ZERO); first.width()];
            let kept = row.iter().filter(|entry| own().all(|change| change.attribute != entry.0));
            let values = kept.map(|&(attribute, x)| (attribute, N::of(x)));
            for (attribute, x) in values.chain(own().map(|change| (change.attribute, N::exact(change.value)))) {
                meter.spend(4 * first.width() as u64)?;
                sums.iter_mut().zip(first.row(attribute as usize)).for_each(|(sum, &w)| sum.add(&x, w));
            }
            messages.push(sums);
        }
        for l in 1..self.slice.top() {
            let layer = network.layer(l);
            let mut next = Vec::with_capacity(self.slice.nodes(l + 1).len());
            for (&node, links) in self.slice.nodes(l + 1).iter().zip(self.slice.passing(l)) {
                meter.spend(4 * (layer.outputs * (links.len() + 1)) as u64)?;
                let mut z: Vec<N> = layer.bias(node).iter().map(|&b| N::of(b)).collect();
                for link in links {
                    let part = &messages[link.place()][link.part(layer.outputs)];
                    z.iter_mut().zip(part).for_each(|(z, x)| z.add(x, link.entry));
                }
                next.push(z);
            }
            if l + 1 == self.slice.top() {
                return next.pop().ok_or(Reason::Node);
            }
            let behind = network.layer(l + 1);
            messages.clear();
            for mut z in next {
                meter.spend(4 * (z.len() * behind.width()) as u64)?;
                let mut sums = vec![N::of(Stored::ZERO); behind.width()];
                for (unit, z) in z.iter_mut().enumerate() {
                    if !layer.is_linear(unit) {
                        z.activate();
                    }
                    sums.iter_mut().zip(behind.row(unit)).for_each(|(sum, &w)| sum.add(z, w));
                }
                messages.push(sums);
            }
        }
        Err(Reason::Node)
    }
}
