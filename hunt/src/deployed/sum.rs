//! Sums of products in a floating-point format: any order, any grouping, fused or not.

use crate::deployed::format::Format;
use crate::random::Random;

/// How one execution adds up.
#[derive(Clone, Copy, Debug)]
pub struct Adder {
    pub format: Format,
}

/// An order of a sum.
#[derive(Clone, Copy, Debug)]
enum Order {
    /// As it comes.
    Given,
    /// By chance.
    Shuffled,
    /// The largest first: small summands get lost.
    Descending,
    /// The smallest first.
    Ascending,
    /// Two random ones are added until one is left.
    Tree,
    /// Always the summand whose rounding goes furthest in the wanted direction.
    Greedy,
    /// In float64, rounded at the end.
    Double,
}

const ORDERS: [Order; 7] =
    [Order::Given, Order::Shuffled, Order::Descending, Order::Ascending, Order::Tree, Order::Greedy, Order::Double];

impl Adder {
    /// One step of a sum.
    fn add(self, sum: f64, (a, b): (f64, f64), fused: bool) -> f64 {
        if fused { self.format.fused(a, b, sum) } else { self.format.sum(sum, self.format.product(a, b)) }
    }

    /// The sum of some products in some order; `wanted` is the direction (1 or −1) in which it is to be wrong, or 0.
    pub fn sum(self, products: &[(f64, f64)], wanted: f64, random: &mut Random) -> f64 {
        // Zeros are added exactly.
        let mut list: Vec<(f64, f64)> = products.iter().copied().filter(|(a, b)| *a != 0.0 && *b != 0.0).collect();
        match list.as_slice() {
            [] => return 0.0,
            &[(a, b)] => return self.format.product(a, b),
            _ => {}
        }
        if wanted == 0.0 {
            let order = random.pick(&ORDERS);
            let fused = random.percent(50);
            return self.ordered(&mut list, order, fused, wanted, random);
        }
        let mut best = f64::NAN;
        for order in [Order::Greedy, Order::Descending, Order::Shuffled, Order::Tree] {
            for fused in [false, true] {
                let sum = self.ordered(&mut list.clone(), order, fused, wanted, random);
                if best.is_nan() || (sum - best) * wanted > 0.0 {
                    best = sum;
                }
            }
        }
        best
    }

    fn ordered(self, list: &mut Vec<(f64, f64)>, order: Order, fused: bool, wanted: f64, random: &mut Random) -> f64 {
        let size = |product: &(f64, f64)| (product.0 * product.1).abs();
        match order {
            Order::Given => {}
            Order::Shuffled => shuffle(list, random),
            Order::Descending => list.sort_by(|x, y| size(y).total_cmp(&size(x))),
            Order::Ascending => list.sort_by(|x, y| size(x).total_cmp(&size(y))),
            Order::Tree => return self.tree(list, random),
            Order::Greedy => return self.greedy(list, fused, if wanted == 0.0 { 1.0 } else { wanted }),
            Order::Double => {
                return self.format.read(list.iter().map(|(a, b)| a * b).sum::<f64>());
            }
        }
        let first = self.format.product(list[0].0, list[0].1);
        list[1..].iter().fold(first, |sum, &product| self.add(sum, product, fused))
    }

    fn tree(self, list: &[(f64, f64)], random: &mut Random) -> f64 {
        let mut sums: Vec<f64> = list.iter().map(|&(a, b)| self.format.product(a, b)).collect();
        while sums.len() > 1 {
            let one = sums.swap_remove(random.below(sums.len()));
            let at = random.below(sums.len());
            sums[at] = self.format.sum(sums[at], one);
        }
        sums[0]
    }

    /// Begins with the largest, since errors are relative to what is there already.
    fn greedy(self, list: &mut Vec<(f64, f64)>, fused: bool, wanted: f64) -> f64 {
        let exact = |product: &(f64, f64)| product.0 * product.1;
        let largest = (0..list.len()).max_by(|&x, &y| exact(&list[x]).abs().total_cmp(&exact(&list[y]).abs()));
        let (a, b) = list.swap_remove(largest.unwrap_or(0));
        let mut sum = self.format.product(a, b);
        while !list.is_empty() {
            let error = |product: &(f64, f64)| {
                let next = self.add(sum, *product, fused);
                (next - (sum + exact(product))) * wanted
            };
            let at = (0..list.len()).max_by(|&x, &y| error(&list[x]).total_cmp(&error(&list[y]))).unwrap_or(0);
            sum = self.add(sum, list.swap_remove(at), fused);
        }
        sum
    }
}

fn shuffle<T>(list: &mut [T], random: &mut Random) {
    for at in (1..list.len()).rev() {
        list.swap(at, random.below(at + 1));
    }
}
