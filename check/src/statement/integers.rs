//! Exact numbers as machine integers over one power of two, where they fit.

use dashu_int::IBig;

use crate::number::Dyadic;

/// Numbers as integers over one power of two.
pub struct Integers {
    /// Each number is its integer times `2^exponent`.
    pub exponent: i64,
    /// The integers, where all of them have at most 100 bits.
    pub small: Option<Vec<i128>>,
    /// Bits of the largest integer, whether they are small or not.
    pub bits: usize,
}

impl Integers {
    /// At the largest exponent at which all are integers.
    pub fn new(numbers: &[Dyadic]) -> Integers {
        let exponents = numbers.iter().filter(|x| !x.is_zero()).map(|x| x.parts().1);
        let exponent = exponents.min().unwrap_or(0);
        let integers: Vec<IBig> =
            numbers.iter().map(|x| if x.is_zero() { IBig::ZERO } else { x.at(exponent) }).collect();
        let bits = integers.iter().map(|x| Dyadic::new(x.clone(), 0).bits()).max().unwrap_or(0);
        let small = (bits <= 100).then(|| integers.iter().filter_map(|x| i128::try_from(x).ok()).collect());
        Integers { exponent, small, bits }
    }
}

/// `Σ_k factor_k · x_k` of some lists of numbers, place by place, where no such sum has more than 126 bits.
pub struct Combination<'a> {
    /// Each sum is its integer times `2^exponent`.
    pub exponent: i64,
    parts: Vec<(i128, &'a [i128])>,
}

impl<'a> Combination<'a> {
    /// `None` where a number is too long.
    pub fn new(lists: &[&'a Integers], factors: &[Dyadic]) -> Option<Combination<'a>> {
        let factors: Vec<Dyadic> = factors.iter().map(Dyadic::reduced).collect();
        // A product of numbers that are 0 has any exponent.
        let products = lists.iter().zip(&factors).filter(|(list, factor)| list.bits > 0 && !factor.is_zero());
        let exponent = products.clone().map(|(list, factor)| list.exponent + factor.parts().1).min().unwrap_or(0);
        let mut parts = Vec::new();
        for (list, factor) in products {
            let shift = list.exponent + factor.parts().1 - exponent;
            let bits = list.bits as i64 + factor.bits() as i64 + shift;
            if bits + i64::from(lists.len().ilog2()) + 1 > 126 {
                return None;
            }
            let factor = i128::try_from(&(factor.parts().0 << usize::try_from(shift).ok()?)).ok()?;
            parts.push((factor, list.small.as_deref()?));
        }
        Some(Combination { exponent, parts })
    }

    /// The sum at a place of the lists.
    pub fn sum(&self, at: usize) -> i128 {
        self.parts.iter().map(|(factor, list)| factor * list[at]).sum()
    }
}

/// Numbers rounded down to one power of two, so that inner products of them are quick: each number is less than
/// `2^exponent` above its integer times that.
fn shortened(numbers: &[Dyadic], bits: i64) -> (i64, Vec<i64>) {
    let leads = numbers.iter().filter(|x| !x.is_zero()).map(|x| x.parts().1 + x.bits() as i64);
    let exponent = leads.max().unwrap_or(0) - bits;
    let integer = |x: &Dyadic| match x.is_zero() {
        true => 0,
        // At most `bits` bits, or the power of two above that.
        false => i64::try_from(&x.rounded_down(exponent).at(exponent)).unwrap_or(0),
    };
    (exponent, numbers.iter().map(integer).collect())
}

/// Rows of numbers that are rounded down to one power of two.
pub struct ShortRows {
    exponent: i64,
    bits: i64,
    width: usize,
    values: Vec<i64>,
}

/// What rows are multiplied by, rounded: slopes for positive and for negative numbers, the first not above the second.
pub struct ShortSlopes {
    both: Vec<[i64; 2]>,
    /// No sum is further from the exact one, in units of the sum.
    pub error: i64,
    /// The unit of the sums is two to this.
    pub exponent: i64,
}

impl ShortRows {
    /// Of rows of the same length.
    pub fn new(rows: &[Vec<Dyadic>]) -> ShortRows {
        let width = rows.first().map_or(0, Vec::len);
        // Sums of `width` products, and twice the error, stay within 62 bits.
        let bits = ((58 - i64::from(width.max(1).ilog2())) / 2).min(26);
        let (exponent, values) = shortened(&rows.concat(), bits);
        ShortRows { exponent, bits, width, values }
    }

    /// Slopes for all rows: `plus` for positive numbers, `minus` for negative ones, nowhere below `plus`.
    pub fn slopes(&self, plus: &[Dyadic], minus: &[Dyadic]) -> ShortSlopes {
        let (exponent, values) = shortened(&[plus, minus].concat(), self.bits);
        let both: Vec<[i64; 2]> =
            values[..self.width].iter().zip(&values[self.width..]).map(|(p, m)| [*p, *m]).collect();
        // A product `p·w` of numbers less than 1 above their integers differs from theirs by less than `|p̃| + |w̃| +
        // 1`.
        let error = both.iter().map(|[p, m]| p.abs().max(m.abs()) + (1 << self.bits) + 1).sum();
        ShortSlopes { both, error, exponent: self.exponent + exponent }
    }

    /// About `−Σ w_j (plus_j if w_j > 0, else minus_j)` for a row `w`, which is `Σ max(−plus_j w_j, −minus_j w_j)`.
    pub fn loss(&self, row: usize, slopes: &ShortSlopes) -> i64 {
        let row = &self.values[row * self.width..][..self.width];
        row.iter().zip(&slopes.both).map(|(w, [plus, minus])| (-plus * w).max(-minus * w)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers of all lengths: a sum is exact, or there is none.
    #[test]
    fn combinations_are_exact() {
        let mut state = 1u64;
        let mut next = |below: u64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state % below
        };
        let (mut whole, mut none) = (0, 0);
        for _ in 0..3_000 {
            let spread = [4, 20, 60][next(3) as usize];
            let mut number = |bits: u64| {
                let mantissa = IBig::from(next(u64::MAX) >> (64 - bits)) * if next(2) == 0 { 1 } else { -1 };
                Dyadic::new(if next(8) == 0 { IBig::ZERO } else { mantissa }, next(spread) as i64 - 30)
            };
            let lists: Vec<Vec<Dyadic>> = (0..3).map(|_| (0..5).map(|_| number(53)).collect()).collect();
            let factors: Vec<Dyadic> = (0..3).map(|_| number(50)).collect();
            let integers: Vec<Integers> = lists.iter().map(|list| Integers::new(list)).collect();
            let Some(found) = Combination::new(&integers.iter().collect::<Vec<_>>(), &factors) else {
                none += 1;
                continue;
            };
            whole += 1;
            for at in 0..5 {
                let expected = lists.iter().zip(&factors).fold(Dyadic::ZERO, |sum, (list, a)| &sum + &(&list[at] * a));
                assert_eq!(Dyadic::new(IBig::from(found.sum(at)), found.exponent), expected);
            }
        }
        assert!(whole > 500 && none > 500, "{whole} {none}");
    }

    /// Products of rounded numbers are as near to the exact ones as they say.
    #[test]
    fn short_products_are_near() {
        let mut state = 7u64;
        let mut next = |below: u64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state % below
        };
        let mut furthest = 0.0f64;
        for _ in 0..2_000 {
            let (width, spread) = (1 + next(5) as usize, [1, 8, 60][next(3) as usize]);
            let mut number = || {
                let mantissa = IBig::from(next(1 << 53)) * if next(2) == 0 { 1 } else { -1 };
                Dyadic::new(if next(6) == 0 { IBig::ZERO } else { mantissa }, next(spread) as i64 - 60)
            };
            let rows: Vec<Vec<Dyadic>> = (0..4).map(|_| (0..width).map(|_| number()).collect()).collect();
            let plus: Vec<Dyadic> = (0..width).map(|_| number()).collect();
            let minus: Vec<Dyadic> = plus.iter().map(|plus| number().max(plus.clone())).collect();
            let short = ShortRows::new(&rows);
            let slopes = short.slopes(&plus, &minus);
            for (at, row) in rows.iter().enumerate() {
                let terms = row.iter().zip(plus.iter().zip(&minus));
                let exact = terms.fold(Dyadic::ZERO, |sum, (w, (plus, minus))| {
                    &sum - &(w * if w.is_positive() { plus } else { minus })
                });
                let short = Dyadic::new(IBig::from(short.loss(at, &slopes)), slopes.exponent);
                let error = Dyadic::new(IBig::from(slopes.error), slopes.exponent);
                let off = (&exact - &short).size();
                assert!(off <= error, "{off:?} {error:?}");
                let twice = Dyadic::new(IBig::from(slopes.error), slopes.exponent - 3);
                furthest = furthest.max(if off > twice { 1.0 } else { 0.0 });
            }
        }
        assert!(furthest > 0.0, "the bound of the error is far too large");
    }
}
