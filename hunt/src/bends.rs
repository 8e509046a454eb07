//! Rule 5 of section 4 of `check/FORMAT.md` (version 2): bends by a level and by prices.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use crate::evaluate::Details;
use crate::exact::Exact;
use crate::hints::Hints;
use crate::rules::{Amounts, Left, Path, Rules, larger, positive, smaller, whole, zero};

impl Rules<'_> {
    /// Rule 5, and its part of rule 6.
    pub(crate) fn bends(
        &self,
        hints: &Hints,
        details: &Details,
        changes: &BTreeMap<(usize, usize), Amounts>,
        (rows, left, path): (&BTreeSet<usize>, &Left, &Path),
        constant: &mut Exact,
        losses: &mut [((usize, usize), Exact)],
    ) {
        for (key, bend) in &hints.levels {
            let z = &details.values[key];
            let below = z.sign() == Ordering::Less;
            let pays = |g: &Exact| smaller(positive(&if below { g.clone() } else { g.negated() }), bend.level.clone());
            let amounts: Vec<_> = changes[key].iter().map(|(flip, g)| (*flip, pays(g))).collect();
            let sum = self.select(&amounts, &bend.prices, left);
            let most = if below { larger(z.plus(&sum), zero()) } else { larger(z.clone(), sum) };
            *constant = constant.plus(&bend.weight.times(&most).negated());
            for (flip, loss) in losses.iter_mut() {
                if let Some((_, g)) = changes[key].iter().find(|(own, _)| own == flip) {
                    let paid = pays(g);
                    let bent =
                        if below { larger(g.plus(&paid.negated()), zero()) } else { larger(g.clone(), paid.negated()) };
                    *loss = loss.plus(&bend.weight.times(&bent));
                }
            }
        }
        for (key, bend) in &hints.envelopes {
            let parts = |x: &Exact| (positive(x), positive(&x.negated()));
            let (up, down) = parts(&bend.every);
            let (mut sum_up, mut sum_down) = (up.times(&whole(left.global)), down.times(&whole(left.global)));
            for (&node, price) in &bend.nodes {
                let (up, down) = parts(price);
                sum_up = sum_up.plus(&up.times(&whole(left.local[node])));
                sum_down = sum_down.plus(&down.times(&whole(left.local[node])));
            }
            for (flip, price) in &bend.flips {
                if rows.contains(&flip.0) && self.free(flip.0, left, path).contains(flip) {
                    let (up, down) = parts(price);
                    sum_up = sum_up.plus(&up);
                    sum_down = sum_down.plus(&down);
                }
            }
            let most = larger(details.values[key].plus(&sum_up), sum_down);
            *constant = constant.plus(&bend.weight.times(&most).negated());
            for (flip, loss) in losses.iter_mut() {
                let g = changes[key].iter().find(|(own, _)| own == flip).map_or_else(zero, |(_, g)| g.clone());
                let (mut u, mut v) = (up.clone(), down.clone());
                for price in [bend.nodes.get(&flip.0), bend.flips.get(flip)].into_iter().flatten() {
                    let (up, down) = parts(price);
                    u = u.plus(&up);
                    v = v.plus(&down);
                }
                let bent = larger(g.plus(&u.negated()), v.negated());
                *loss = loss.plus(&bend.weight.times(&bent));
            }
        }
    }
}
