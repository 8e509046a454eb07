//! How far removals can push the units of a node: bounds of all rises and of all falls (docs/math.md (18.7)).

use crate::edges::messages::Messages;

/// What a sender can change: a cut takes `cut` of its message, each of up to `cap` removals elsewhere adds at most
/// `rate` of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Item {
    pub(crate) id: u32,
    pub(crate) cut: f64,
    pub(crate) rate: f64,
    pub(crate) cap: usize,
}

/// Of every unit: the sum of the largest changes by cuts, and the largest changes per removal elsewhere.
#[derive(Debug)]
pub(crate) struct Reach {
    /// Rises and falls of unit `i` by cuts at `2i` and `2i + 1`.
    cuts: Vec<f64>,
    /// The same, lists of changes per removal with how many removals they hold for, largest first.
    changes: Vec<(f64, u32)>,
    starts: Vec<usize>,
}

/// The largest elements, in falling order.
fn largest(list: &mut Vec<(f64, u32)>, count: usize) {
    if count == 0 {
        list.clear();
        return;
    }
    if list.len() > count {
        list.select_nth_unstable_by(count - 1, |x, y| y.0.total_cmp(&x.0));
        list.truncate(count);
    }
    list.sort_unstable_by(|x, y| y.0.total_cmp(&x.0));
}

/// For a product.
const UP: f64 = 1.0 + 1e-10;

/// For a sum of so many non-negative terms.
fn above(terms: usize) -> f64 {
    UP + terms as f64 * f64::EPSILON
}

impl Reach {
    /// Of exactly `cuts` cuts and at most `most` removals elsewhere.
    pub(crate) fn new(messages: &Messages, items: &[Item], cuts: usize, most: usize) -> Reach {
        let width = messages.width;
        let mut reach = Reach { cuts: Vec::with_capacity(2 * width), changes: Vec::new(), starts: vec![0] };
        let mut lists: [Vec<(f64, u32)>; 4] = Default::default();
        for i in 0..width {
            lists.iter_mut().for_each(Vec::clear);
            for item in items {
                let at = item.id as usize * width + i;
                let (y, error) = (messages.sent[at], messages.eps * messages.sent_size[at]);
                // With its error either sign is possible near zero.
                let (up, down) = ((y + error).max(0.0) * UP, (error - y).max(0.0) * UP);
                let cut = [item.cut * down, item.cut * up];
                let change = [item.rate * up, item.rate * down];
                for side in 0..2 {
                    if cut[side] > 0.0 && cuts > 0 {
                        lists[side].push((cut[side], 1));
                    }
                    if change[side] > 0.0 && item.cap > 0 {
                        lists[2 + side].push((change[side], item.cap.min(most) as u32));
                    }
                }
            }
            for side in 0..2 {
                largest(&mut lists[side], cuts);
                reach.cuts.push(lists[side].iter().map(|x| x.0).sum::<f64>() * above(lists[side].len()));
                largest(&mut lists[2 + side], most);
                reach.changes.extend(&lists[2 + side]);
                reach.starts.push(reach.changes.len());
            }
        }
        reach
    }

    /// `P` and `M` of a unit when up to `touches` removals elsewhere are counted.
    pub(crate) fn of(&self, unit: usize, touches: usize) -> [f64; 2] {
        [0, 1].map(|side| {
            let at = 2 * unit + side;
            let mut left = touches;
            let mut sum = 0.0;
            let changes = &self.changes[self.starts[at]..self.starts[at + 1]];
            for &(change, cap) in changes {
                let taken = left.min(cap as usize);
                sum += change * taken as f64;
                left -= taken;
                if left == 0 {
                    break;
                }
            }
            (self.cuts[at] + sum) * above(changes.len())
        })
    }
}
