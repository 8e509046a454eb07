//! How far removals can push a unit: bounds of the sums of all rises and of all falls.

use super::number::Number;
use crate::directed::{Rough, Stored};

/// A node that sends to the one whose units are pushed.
pub struct Sender<'a, N> {
    /// What it sends.
    pub sent: &'a [N],
    /// The entry, if the edge between the two can be cut.
    pub cut: Option<Stored>,
    /// How much more the entry is after 1, 2, … removals elsewhere at the sender.
    pub gains: Vec<N>,
}

/// What a sender can do to a unit in one direction: the changes by 1, 2, … removals elsewhere.
struct Change<N> {
    by: Vec<N>,
    /// The largest per removal, and for how many removals.
    rate: Rough,
    count: usize,
}

/// `P` and `M` of a unit when exactly `cuts` edges to senders are cut, for each number of touches by other removals.
pub fn reach<N: Number>(senders: &[Sender<N>], unit: usize, cuts: usize, touches: &[usize]) -> Vec<[N; 2]> {
    let (mut by_cuts, mut changes) = ([Vec::new(), Vec::new()], [Vec::new(), Vec::new()]);
    for sender in senders {
        let sent = &sender.sent[unit];
        if sent.is_zero() {
            continue;
        }
        if let Some(entry) = sender.cut.filter(|_| cuts > 0) {
            let lost = sent.scaled(entry);
            by_cuts[0].push(lost.negated().positive_part());
            by_cuts[1].push(lost.positive_part());
        }
        if sender.gains.is_empty() {
            continue;
        }
        let more: Vec<N> = sender.gains.iter().map(|gain| gain.times(sent)).collect();
        changes[0].extend(change(more.iter().map(N::positive_part).collect()));
        changes[1].extend(change(more.iter().map(|x| x.negated().positive_part()).collect()));
    }
    changes.iter_mut().for_each(|list: &mut Vec<Change<N>>| {
        // Nothing depends on the order but how small the bound is.
        list.sort_by(|a, b| b.rate.stored().order(a.rate.stored()));
    });
    let by_cuts = by_cuts.map(|list| N::sum_of_largest(&list, cuts));
    let of = |&touches: &usize| [0, 1].map(|side| by_cuts[side].plus(&elsewhere(&changes[side], touches)));
    touches.iter().map(of).collect()
}

fn change<N: Number>(by: Vec<N>) -> Option<Change<N>> {
    if by.iter().all(N::is_zero) {
        return None;
    }
    let rates = by.iter().enumerate().map(|(at, x)| (x.rough().part(at + 1), at + 1));
    let (rate, count) = rates.fold((Rough::ZERO, 1), |best, next| if next.0 >= best.0 { next } else { best });
    Some(Change { by, rate, count })
}

/// `ν ρ + Σ_n max_k (x_nk − k ρ)` at a good `ρ`: the rate at which all touches are used up.
fn elsewhere<N: Number>(changes: &[Change<N>], touches: usize) -> N {
    if touches == 0 || changes.is_empty() {
        return N::zero();
    }
    let mut used = 0;
    let last = changes.iter().find(|change| {
        used += change.count;
        used >= touches
    });
    let price = N::stored(last.map_or(Rough::ZERO, |change| change.rate).price());
    let mut sum = N::count(touches).times(&price);
    for change in changes {
        let mut most = N::zero();
        let mut paid = N::zero();
        for x in &change.by {
            paid = paid.plus(&price);
            most = most.most(&x.minus(&paid));
        }
        sum = sum.plus(&most);
    }
    sum
}
