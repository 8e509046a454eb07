//! Tests of directed floats: every operation is compared with exact numbers, on floats from the smallest to the
//! largest.

use super::*;

/// A linear congruential generator: small, and the same everywhere.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 20
    }

    fn below(&mut self, count: usize) -> usize {
        (self.next() % count as u64) as usize
    }

    /// A finite float: small integers, halves and tenths, the ends of the range, anything.
    fn float(&mut self) -> f64 {
        let tiny = f64::from_bits(1);
        let ends =
            [0.0, 1.0, tiny, 3.0 * tiny, f64::MIN_POSITIVE, 1e-160, 1e-300, 1e160, 1e300, f64::MAX, 0.1, 1.0 / 3.0];
        let size = match self.below(5) {
            0 => ends[self.below(ends.len())],
            1 => self.below(9) as f64 / 2.0,
            2 => self.below(30) as f64 / 10.0,
            3 => (self.below(1 << 30) as f64 / (1 << 29) as f64) * 2f64.powi(self.below(2090) as i32 - 1070),
            _ => self.below(1 << 30) as f64 / (1 << 29) as f64,
        };
        let size = if size.is_finite() { size } else { f64::MAX };
        if self.below(2) == 0 { size } else { -size }
    }

    fn stored(&mut self) -> Stored {
        Stored::new(self.float())
    }

    /// An interval and a number in it.
    fn interval(&mut self) -> (Interval, Dyadic) {
        let (a, b) = (self.float(), self.float());
        let (low, high) = if a < b { (a, b) } else { (b, a) };
        let interval = Interval { lower: Down(low), upper: Up(high) };
        let inside = [low, high, low / 2.0 + high / 2.0][self.below(3)].clamp(low, high);
        (interval, exact(inside))
    }
}

fn exact(x: f64) -> Dyadic {
    Stored::new(x).exact()
}

fn is_above(bound: Up, number: &Dyadic) -> bool {
    bound.0 == f64::INFINITY || bound.0.is_finite() && exact(bound.0) >= *number
}

fn is_below(bound: Down, number: &Dyadic) -> bool {
    is_above(-bound, &-number)
}

fn holds(interval: Interval, number: &Dyadic) -> bool {
    is_below(interval.lower, number) && is_above(interval.upper, number)
}

#[test]
fn operations_round_outward() {
    let mut random = Random(1);
    for round in 0..400_000 {
        let ((a, x), (b, y)) = (random.interval(), random.interval());
        let w = random.stored();
        assert!(holds(a.plus(b), &(&x + &y)), "{round}: {a:?} + {b:?}");
        assert!(holds(a.minus(b), &(&x - &y)), "{round}: {a:?} − {b:?}");
        assert!(holds(a.times(b), &(&x * &y)), "{round}: {a:?} · {b:?}");
        assert!(holds(a.scaled(w), &(&x * &w.exact())), "{round}: {a:?} · {w:?}");
        assert!(holds(-a, &-&x) && holds(a.positive_part(), &x.positive_part()), "{round}: {a:?}");
        assert!(holds(a.least(b), &x.clone().min(y.clone())), "{round}: {a:?} {b:?}");
        assert!(holds(a.hull(b), &x) && holds(a.hull(b), &y), "{round}: {a:?} {b:?}");
        assert!(holds(a.times(b.positive_part()), &(&x * &y.positive_part())), "{round}: {a:?} · {b:?}");
        assert!(a.sign().is_none_or(|sign| sign == x.sign()), "{round}: {a:?} {x:?}");
        assert!(is_above(a.upper.plus(b.upper), &(&x + &y)) && is_below(a.lower.plus(b.lower), &(&x + &y)));
        assert!(is_above(a.upper.minus(b.lower), &(&x - &y)) && is_below(a.lower.minus(b.upper), &(&x - &y)));
        let size = w.size();
        assert!(is_above(a.upper.times(size), &(&x * &size.exact())), "{round}");
        assert!(is_below(a.lower.times(size), &(&x * &size.exact())), "{round}");
        assert!(is_above(a.upper.positive_part(), &x.positive_part()));
        assert!(is_above(a.upper.most(b.upper), &x.clone().max(y.clone())));
        assert!(is_above(a.upper.least(b.upper), &x.clone().min(y.clone())));
        assert!(is_below(a.lower.least(b.lower), &x.clone().min(y.clone())));
        let count = [0, 1, 2, 12, 1 << 20, (1 << 53) + 1, usize::MAX][random.below(7)];
        let (up, most) = (a.upper.positive_part(), x.positive_part());
        assert!(is_above(up.many(count), &(&most * &Dyadic::from(count))), "{round}: {count} · {up:?}");
        assert!(is_above(up.times_up(b.upper.positive_part()), &(&most * &y.positive_part())), "{round}");
        assert!(!a.upper.is_within(b.lower) || x <= y);
        assert!(!a.upper.is_below(b.lower) || x < y);
        assert!(!a.lower.is_positive() || x.is_positive());
        assert!(holds(Interval::around(&(&x * &y)), &(&x * &y)));
    }
}

#[test]
fn results_are_as_near_as_floats_allow() {
    let one = Interval::from(Stored::ONE);
    assert_eq!(one.plus(one), Interval { lower: Down(2.0), upper: Up(2.0) });
    assert_eq!(one.scaled(Stored(0.1)), Interval { lower: Down(0.1), upper: Up(0.1) });
    let third = Interval::from(Stored(1.0 / 3.0));
    let product = third.times(third);
    assert!(product.upper.0 - product.lower.0 < 1e-16);
    assert_eq!(Up(3.0).many(4), Up(12.0f64.next_up()));
    assert_eq!((Up(3.0).positive_part(), Up(-3.0).positive_part()), (Up(3.0), Up(0.0)));
    assert!(Up(1.0).is_within(Down(1.0)) && !Up(1.0).is_below(Down(1.0)) && Up(1.0).is_below(Down(2.0)));
    assert!(Up(0.0).is_zero() && Down(0.0).is_zero() && !Up(1.0).is_zero() && !Down(1.0).is_zero());
    assert!(Down(-1.0).is_negative() && !Down(0.0).is_negative() && Up(1.0).is_positive() && !Up(0.0).is_positive());
    assert!(Down(1.0).is_positive() && !Down(0.0).is_positive() && !Down(-1.0).is_positive());
    assert_eq!((Up(2.0).least(Up(1.0)), Up(1.0).least(Up(2.0))), (Up(1.0), Up(1.0)));
    assert_eq!((Up(2.0).most(Up(1.0)), Up(1.0).most(Up(2.0))), (Up(2.0), Up(2.0)));
    assert_eq!((Interval::ZERO.times(third), third.times(Interval::ZERO)), (Interval::ZERO, Interval::ZERO));
    assert_eq!(
        (Interval::ANY.scaled(Stored::ZERO), Interval::ZERO.scaled(Stored(0.1))),
        (Interval::ZERO, Interval::ZERO)
    );
    let between = |low: f64, high: f64| Interval { lower: Down(low), upper: Up(high) };
    let signs = [(1.0, 2.0), (-2.0, -1.0), (0.0, 0.0), (-1.0, 1.0), (0.0, 1.0), (-1.0, 0.0)];
    let expected = [Some(Ordering::Greater), Some(Ordering::Less), Some(Ordering::Equal), None, None, None];
    assert_eq!(signs.map(|(low, high)| between(low, high).sign()), expected);
    assert_eq!((Up(2.0).order(Up(1.0)), Stored(2.0).order(Stored(1.0))), (Ordering::Greater, Ordering::Greater));
    assert_eq!((Down(1.5).to_f64(), Up(1.5).to_f64()), (1.5, 1.5));
    assert_eq!(format!("{:e} {:e}", Down(1.5), Up(-2.0)), "1.5e0 -2e0");
    // A number on the edge of the range, and beyond it.
    let most = Interval::around(&(&exact(f64::MAX) + &exact(1.0)));
    assert_eq!((most.lower.0, most.upper.0), (f64::MAX, f64::INFINITY));
    let least = Interval::around(&(&exact(f64::from_bits(1)) * &exact(0.25)));
    assert_eq!((least.lower.0, least.upper.0), (0.0, f64::from_bits(1)));
    for x in [0.0, 1.0, -0.1, 1e300, -1e-300, f64::from_bits(1), f64::MAX, f64::MIN_POSITIVE, 4e-310, 1e16] {
        assert_eq!(Interval::around(&exact(x)), Interval { lower: Down(x), upper: Up(x) });
    }
}

#[test]
fn stored_numbers_are_what_they_say() {
    assert_eq!(Stored::scaled(3, -1), Some(Stored(1.5)));
    assert_eq!(Stored::scaled(-(1 << 53), 900), Some(Stored(-(2f64.powi(953)))));
    assert_eq!(Stored::scaled(1, -1074), Some(Stored(f64::from_bits(1))));
    assert_eq!(Stored::scaled(1, -1023), Some(Stored(2f64.powi(-1023))));
    assert_eq!(Stored::scaled(1, -1022), Some(Stored(f64::MIN_POSITIVE)));
    for (numerator, exponent) in [((1 << 53) + 1, 0), (1, 901), (1, -1075)] {
        assert_eq!(Stored::scaled(numerator, exponent), None);
    }
    assert!(Stored(1.0).is_share() && Stored(0.0).is_share() && !Stored(1.5).is_share() && !Stored(-0.5).is_share());
    assert!(Stored(2.0).is_positive() && !Stored(0.0).is_positive() && !Stored(-2.0).is_positive());
    assert!(Stored(-2.0).is_negative() && !Stored(0.0).is_negative() && !Stored(2.0).is_negative());
    assert!(Stored(0.0).is_zero() && !Stored(1.0).is_zero());
    assert_eq!((Stored(-2.0).size(), -Stored(2.0)), (Stored(2.0), Stored(-2.0)));
    assert!(Stored::are_finite(&[1.0, 2.0]) && !Stored::are_finite(&[1.0, f64::NAN]));
    assert_eq!(Stored::new(f64::INFINITY), Stored(0.0));
    assert_eq!(reciprocal(4), 0.25);
    assert_eq!(reciprocal_root(2, 8), 0.25);
    assert_eq!((numerator(0.75, -2), numerator(f64::NAN, -2), numerator(1e30, 0)), (3, 0, 1 << 53));
}

#[test]
fn norms_are_not_below_the_norm() {
    let mut random = Random(2);
    for round in 0..40_000 {
        let values: Vec<Stored> = (0..random.below(9)).map(|_| random.stored().size()).collect();
        let bound = norm(values.iter().map(|&x| Up::from(x)));
        let squares = values.iter().map(|x| &x.exact() * &x.exact()).fold(Dyadic::ZERO, |sum, x| &sum + &x);
        let fine = bound.0 == f64::INFINITY || &exact(bound.0) * &exact(bound.0) >= squares;
        assert!(fine, "{round}: {values:?} {bound:?}");
        assert_eq!(bound.0 == 0.0, values.iter().all(|x| x.is_zero()), "{round}");
        let sum: f64 = values.iter().map(|x| x.0).sum();
        assert!(bound.0 <= sum * (1.0 + 1e-12) + 1e-150 || sum > 1e150, "{round}: {values:?} {bound:?}");
    }
}

#[test]
fn sums_enclose_the_sum() {
    let mut random = Random(6);
    for round in 0..20_000 {
        let width = 1 + random.below(3);
        let tame = random.below(2) == 0;
        let row = |random: &mut Random| -> Vec<Stored> {
            (0..width)
                .map(|_| if tame { Stored(random.below(41) as f64 / 10.0 - 2.0) } else { random.stored() })
                .collect()
        };
        let start = row(&mut random);
        let mut truth: Vec<Dyadic> = start.iter().map(|x| x.exact()).collect();
        let mut terms = Vec::new();
        for _ in 0..random.below(4) {
            let rows: Vec<Vec<Stored>> = (0..random.below(5)).map(|_| row(&mut random)).collect();
            let entry = random.stored();
            for (unit, truth) in truth.iter_mut().enumerate() {
                rows.iter().for_each(|row| *truth += &(&entry.exact() * &row[unit].exact()));
            }
            terms.push((entry, Sums::of_rows(width, rows.iter().map(Vec::as_slice))));
        }
        let found = Sums::combined(start, terms.iter().map(|(entry, sums)| (*entry, sums, 0)));
        for (found, truth) in found.iter().zip(&truth) {
            assert!(holds(*found, truth), "{round}: {found:?} {truth:?} {terms:?}");
        }
        if tame && terms.iter().all(|(entry, _)| entry.0.abs() <= 4.0) {
            assert!(found.iter().all(|found| found.upper.0 - found.lower.0 < 1e-12), "{round}: {found:?}");
        }
    }
}

#[test]
fn inner_products_are_not_below_the_loss() {
    let mut random = Random(3);
    let mut close = 0;
    for round in 0..60_000 {
        let width = 1 + random.below(9);
        let tame = random.below(3) > 0;
        let number = |random: &mut Random| if tame { random.below(41) as f64 / 10.0 - 2.0 } else { random.float() };
        let plus: Vec<Down> = (0..width).map(|_| Down(number(&mut random))).collect();
        let minus: Vec<Up> = (0..width).map(|_| Up(number(&mut random))).collect();
        let weights: Vec<Stored> = (0..width).map(|_| Stored(number(&mut random))).collect();
        let weight_norm = norm(weights.iter().map(|w| Up::from(w.size())));
        let slopes = RowSlopes::new(&plus, &minus, weight_norm);
        for present in [false, true] {
            let loss = slopes.loss(&weights, weight_norm, present);
            let mut truth = Dyadic::ZERO;
            for (w, (plus, minus)) in weights.iter().zip(plus.iter().zip(&minus)) {
                let change = if present { -&w.exact() } else { w.exact() };
                let slope = if change.is_positive() { exact(plus.0) } else { exact(minus.0) };
                truth += &-&(&change * &slope);
            }
            assert!(is_above(loss, &truth), "{round}: {plus:?} {minus:?} {weights:?} {loss:?}");
            assert!(is_above(slopes.losing.times_up(weight_norm), &truth), "{round}: {plus:?} {minus:?} {weights:?}");
            let price = Down([loss.0, loss.0.next_down(), loss.0.next_up(), number(&mut random)][random.below(4)]);
            let above = slopes.loss_above(&weights, weight_norm, present, price);
            assert!(above == Some(loss) || above.is_none() && is_above(Up(price.0), &truth), "{loss:?} {price:?}");
            close += usize::from(tame && loss.0 - Interval::around(&truth).upper.0 < 1e-10);
        }
    }
    assert!(close > 70_000, "{close}");
}

#[test]
fn shares_cover_what_they_stand_for() {
    let mut random = Random(4);
    for round in 0..200_000 {
        let (threshold, largest) = (random.float().abs(), random.float().abs());
        let x = [largest, largest / 2.0, largest / 3.0, threshold][random.below(4)].min(largest);
        let (x, t) = (exact(x), exact(threshold));
        let share = excess_share(Down(threshold), Up(largest));
        assert!(share.is_share() && &share.exact() * &x >= (&x - &t).positive_part(), "{round}: {threshold} {largest}");
        let share = kept_share(Down(threshold), Up(largest));
        assert!(share.is_share() && &share.exact() * &x <= x.clone().min(t), "{round}: {threshold} {largest}");
    }
    assert_eq!(excess_share(Down(1.0), Up(4.0)), Stored(0.75f64.next_up().next_up()));
    assert_eq!((excess_share(Down(4.0), Up(4.0)), kept_share(Down(9.0), Up(4.0))), (Stored(0.0), Stored(1.0)));
    assert_eq!(kept_share(Down(1.0), Up(4.0)), Stored(0.25f64.next_down()));
}

/// `k·relu(z + u − v) − rise·u + fall·v`.
fn f(k: &Dyadic, z: &Dyadic, [rise, fall]: [Stored; 2], u: &Dyadic, v: &Dyadic) -> Dyadic {
    let relu = (&(z + u) - v).positive_part();
    &(&(k * &relu) - &(&rise.exact() * u)) + &(&fall.exact() * v)
}

#[test]
fn least_values_on_rectangles_and_segments() {
    let mut random = Random(5);
    for round in 0..60_000 {
        let tame = random.below(4) > 0;
        let number = |random: &mut Random| if tame { random.below(17) as f64 / 4.0 - 2.0 } else { random.float() };
        let (k, z) = (number(&mut random), number(&mut random));
        let line = [Stored(number(&mut random)), Stored(number(&mut random))];
        let line = if random.below(3) == 0 { [line[0]; 2] } else { line };
        let (up, down) = (number(&mut random).abs(), number(&mut random).abs());
        let point = |x: f64| Interval { lower: Down(x), upper: Up(x) };
        let least = Interval::least_on_rectangle(point(k), point(z), line, Up(up), Up(down));
        let (k, z) = (exact(k), exact(z));
        let mut lowest: Option<Dyadic> = None;
        for i in 0..=4 {
            for j in 0..=4 {
                let part = |of: f64, i: i32| &exact(of) * &exact(f64::from(i) / 4.0);
                let (u, v) = (part(up, i), part(down, j));
                // Where the kink is as well.
                let u_at_kink = (&v - &z).max(Dyadic::ZERO).min(exact(up));
                let v_at_kink = (&z + &u).max(Dyadic::ZERO).min(exact(down));
                for (u, v) in [(&u, &v), (&u_at_kink, &v), (&u, &v_at_kink)] {
                    let value = f(&k, &z, line, u, v);
                    assert!(is_below(least, &value), "{round}: {k:?} {z:?} {line:?} {up} {down}");
                    lowest = Some(lowest.map_or(value.clone(), |lowest| lowest.min(value)));
                }
            }
        }
        if tame {
            // All the numbers are multiples of 1/4: nothing is lost but a few roundings.
            let gap = Interval::around(&lowest.unwrap()).upper.0 - least.0;
            assert!(gap < 1e-9, "{round}: {gap} {k:?} {z:?} {line:?} {up} {down}");
        }
        let (lower, upper) = (-down, up);
        let slope = line[0];
        let least = Interval::least_on_segment(Interval::around(&k), slope, Down(lower), Up(upper));
        for x in [lower, lower / 2.0, 0.0, upper / 2.0, upper] {
            let x = exact(x);
            let value = &(&k * &x.positive_part()) - &(&slope.exact() * &x);
            assert!(is_below(least, &value), "{round}: {k:?} {slope:?} {lower} {upper}");
        }
    }
    // Attained, to the last bit where nothing is rounded.
    let point = |x: f64| Interval::from(Stored(x));
    let at = |k: f64, z: f64, line: [f64; 2], up: f64, down: f64| {
        Interval::least_on_rectangle(point(k), point(z), line.map(Stored), Up(up), Up(down)).0
    };
    let near = |found: f64, expected: f64| assert!(found <= expected && expected - found < 1e-12, "{found} {expected}");
    near(at(-2.0, 1.0, [-2.0, -1.0], 3.0, 2.0), -2.0);
    near(at(-1.0, -1.0, [-0.5, 0.0], 3.0, 2.0), -0.5);
    near(at(2.0, 1.0, [2.0, 2.0], 3.0, 2.0), 2.0);
    near(at(2.0, 1.0, [3.0, 3.0], 3.0, 2.0), -1.0);
    near(at(2.0, -1.0, [1.0, 0.5], 3.0, 2.0), -2.0);
    // Zero counts only if it is on the segment.
    let on = |lower: f64, upper: f64, k: f64, slope: f64| {
        Interval::least_on_segment(point(k), Stored(slope), Down(lower), Up(upper)).0
    };
    near(on(1.0, 2.0, 1.0, -1.0), 2.0);
    near(on(-2.0, -1.0, 1.0, 1.0), 1.0);
    near(on(-2.0, 1.0, 2.0, 1.0), 0.0);
    near(on(-2.0, 1.0, -1.0, 1.0), -2.0);
}

/// Numbers of very different sizes: what is allowed for rounding must come from the largest of them.
#[test]
fn least_values_allow_for_the_largest_rounding() {
    let mut random = Random(7);
    for round in 0..60_000 {
        let mut number = || {
            let size = (1.0 + random.below(1 << 30) as f64 / (1u64 << 30) as f64 / 3.0)
                * 2f64.powi(random.below(81) as i32 - 40);
            if random.below(2) == 0 { size } else { -size }
        };
        let (k, z, line) = (number(), number(), [Stored(number()), Stored(number())]);
        let (up, down) = (number().abs(), number().abs());
        let point = |x: f64| Interval::from(Stored(x));
        let least = Interval::least_on_rectangle(point(k), point(z), line, Up(up), Up(down));
        let (k, z, up, down) = (exact(k), exact(z), exact(up), exact(down));
        let zero = Dyadic::ZERO;
        let kink = |v: &Dyadic| (v - &z).max(Dyadic::ZERO).min(up.clone());
        let edge = |u: &Dyadic| (&z + u).max(Dyadic::ZERO).min(down.clone());
        let points = [
            (zero.clone(), zero.clone()),
            (up.clone(), zero.clone()),
            (zero.clone(), down.clone()),
            (up.clone(), down.clone()),
            (kink(&zero), zero.clone()),
            (kink(&down), down.clone()),
            (zero.clone(), edge(&zero)),
            (up.clone(), edge(&up)),
        ];
        for (u, v) in points {
            assert!(is_below(least, &f(&k, &z, line, &u, &v)), "{round}: {k:?} {z:?} {line:?} {up:?} {down:?}");
        }
    }
}

/// Sums in which every term but the first is rounded away: each term must be allowed for.
#[test]
fn many_lost_terms_are_allowed_for() {
    let lost = Stored(0.99 * 2f64.powi(-53));
    let row = [lost];
    let one = Sums::of_rows(1, [&row[..]].into_iter());
    for count in [1, 10, 100, 400] {
        let found = Sums::combined(vec![Stored::ONE], (0..count).map(|_| (Stored::ONE, &one, 0)));
        let truth = &exact(1.0) + &(&Dyadic::from(count) * &lost.exact());
        assert!(holds(found[0], &truth), "{count}: {found:?}");
        let rows: Vec<[Stored; 1]> = std::iter::once([Stored::ONE]).chain(std::iter::repeat_n(row, count)).collect();
        let all = Sums::of_rows(1, rows.iter().map(|row| &row[..]));
        let found = Sums::combined(vec![Stored::ZERO], [(Stored::ONE, &all, 0)].into_iter());
        assert!(holds(found[0], &truth), "{count}: {found:?}");
    }
    for scale in [0, 20, -20] {
        for width in [40, 400, 4000] {
            let size = 2f64.powi(scale);
            // The products of all but the first are 0.99·2⁻⁵³ of the first one.
            let weights: Vec<Stored> =
                (0..width).map(|at| Stored(if at == 0 { size } else { size * 2f64.powi(-26) })).collect();
            let slopes: Vec<f64> =
                (0..width).map(|at| if at == 0 { -size } else { -size * 0.99 * 2f64.powi(-27) }).collect();
            let (plus, minus): (Vec<Down>, Vec<Up>) = slopes.iter().map(|&x| (Down(x), Up(x))).unzip();
            let weight_norm = norm(weights.iter().map(|&w| Up::from(w)));
            let loss = RowSlopes::new(&plus, &minus, weight_norm).loss(&weights, weight_norm, false);
            let terms = weights.iter().zip(&slopes).map(|(w, &x)| -&(&w.exact() * &exact(x)));
            let truth = terms.fold(Dyadic::ZERO, |sum, x| &sum + &x);
            assert!(is_above(loss, &truth), "{scale} {width}: {loss:?}");
        }
    }
}

#[test]
fn slopes_above_relu_are_enclosed() {
    let mut random = Random(77);
    let relu = Dyadic::positive_part;
    for round in 0..200_000 {
        let ((a, z), (b, rise), (c, fall)) = (random.interval(), random.interval(), random.interval());
        let (b, rise, c, fall) = (b.positive_part(), relu(&rise), c.positive_part(), relu(&fall));
        let grid = [-40, -3][random.below(2)];
        let slopes = Interval::relu_slopes(a, b, c, grid);
        let share = |part: Dyadic, whole: &Dyadic, slope: Interval, upward: bool| {
            if whole.is_zero() {
                return holds(slope, &Dyadic::ZERO);
            }
            // The multiple of the grid next to `part / whole`: both ends of the interval are multiples, and none lies
            // between them and that.
            let unit = Dyadic::new(1.into(), i64::from(grid));
            let (lower, upper) = (exact(slope.lower.0), exact(slope.upper.0));
            let on_grid = [&lower, &upper].iter().all(|end| end.rounded_down(i64::from(grid)) == **end);
            let (most, least) = match upward {
                true => (&upper * whole, &(&lower - &unit) * whole),
                false => (&(&upper + &unit) * whole, &lower * whole),
            };
            // Where a slope is 1, less than a unit of the grid above is no slope.
            let top = !upward && upper == Dyadic::from(1) && part == *whole;
            let inside = if upward { least < part && part <= most } else { least <= part && (part < most || top) };
            on_grid && inside
        };
        let up = share(&relu(&(&z + &rise)) - &relu(&z), &rise, slopes[0], true);
        let down = share(&relu(&z) - &relu(&(&z - &fall)), &fall, slopes[1], false);
        assert!(up && down, "{round}: {a:?} {b:?} {c:?} {slopes:?}, {z:?} {rise:?} {fall:?}");
    }
    // As near as the grid allows: with one number in each, one multiple.
    let point = |x: f64| Interval::from(Stored(x));
    let [up, down] = Interval::relu_slopes(point(-1.0), point(3.0), point(1.0), -40);
    assert_eq!((up.lower.0, down), (up.upper.0, Interval::ZERO));
    let [up, down] = Interval::relu_slopes(point(1.0), point(3.0), point(3.0), -40);
    assert_eq!((up, down.lower.0), (point(1.0), down.upper.0));
    assert_eq!(Interval::relu_slopes(point(1.0), point(0.0), point(0.0), -40), [Interval::ZERO; 2]);
}

#[test]
fn rates_are_not_below_what_they_stand_for() {
    for size in [1usize, 2, 3, 7, 50, 1000, 100_003] {
        for sender in [2usize, 3, 10, 97, 5000, 1 << 20] {
            let before = Stored(reciprocal_root(size, sender));
            for count in [1, 2, 3, sender / 3, sender - 1].into_iter().filter(|count| (1..sender).contains(count)) {
                let after = Stored(reciprocal_root(size, sender - count));
                let (rate, gain) = (rate(after, before, count), &after.exact() - &before.exact());
                let many = &rate.exact() * &Dyadic::from(count);
                assert!(many >= gain, "{size} {sender} {count}");
                let near = &exact(rate.0 * (1.0 - 8.0 * f64::EPSILON)) * &Dyadic::from(count);
                assert!(near <= gain, "{size} {sender} {count}");
            }
        }
    }
    assert_eq!(rate(Stored(1.0), Stored(1.0), 3), Stored::ZERO);
}

#[test]
fn rough_numbers_make_admissible_hints() {
    assert_eq!(
        (Rough(-1.0).price(), Rough(f64::NAN).price(), Rough(2.0).price()),
        (Stored(0.0), Stored(0.0), Stored(2.0))
    );
    assert_eq!((Rough(f64::INFINITY).stored(), Rough(-2.0).stored()), (Stored(0.0), Stored(-2.0)));
    assert_eq!((Rough(6.0).exponent(), Rough(0.0).exponent(), Rough(f64::NAN).exponent()), (Some(2), None, None));
    assert_eq!(Rough(1.0).next(), Rough(1.0f64.next_up()));
    assert_eq!((Rough(3.0) + Rough(4.0), Rough(3.0) - Rough(4.0)), (Rough(7.0), Rough(-1.0)));
    assert_eq!(
        (Rough(3.0) * Rough(4.0), Rough(3.0) / Rough(4.0), -Rough(3.0)),
        (Rough(12.0), Rough(0.75), Rough(-3.0))
    );
    assert_eq!(
        (Rough(3.0).part(4), Rough(3.0).most(Rough(4.0)), Rough(3.0).least(Rough(4.0))),
        (Rough(0.75), Rough(4.0), Rough(3.0))
    );
    assert_eq!(Interval { lower: Down(3.0), upper: Up(4.0) }.rough(), Rough(3.5));
    assert!(Rough::NEARLY_ONE < Rough::ONE && Rough::NEARLY_ONE > Rough(1.0 - 1e-8));
}

#[test]
fn dyadic_numbers_are_exact() {
    let number = |mantissa: i64, exponent: i64| Dyadic::new(mantissa.into(), exponent);
    assert_eq!(exact(0.75), number(3, -2));
    assert_eq!(exact(-f64::from_bits(3)), number(-3, -1074));
    assert_eq!((Dyadic::from_bits(f64::NAN.to_bits()), Dyadic::from_bits(f64::INFINITY.to_bits())), (None, None));
    assert_eq!(&(&exact(1e300) + &exact(1e-300)) - &exact(1e300), exact(1e-300));
    assert_eq!(&number(3, 4) * &number(-5, -9), number(-15, -5));
    for (x, grid, down, up) in
        [(7, 1, 6, 8), (-7, 1, -8, -6), (8, 2, 8, 8), (-1, 9, -512, 0), (1, 9, 0, 512), (0, 3, 0, 0)]
    {
        let x = number(x, 0);
        assert_eq!((x.rounded_down(grid), x.rounded_up(grid)), (number(down, 0), number(up, 0)), "{x:?} {grid}");
    }
    assert_eq!(number(5, 3).rounded_down(2), number(40, 0));
    assert!(number(1, 5) > number(31, 0) && number(-1, 5) < number(-31, 0) && number(1, 0) > Dyadic::ZERO);
    assert!(number(-1, 0) < Dyadic::ZERO && number(-1, 0) < number(1, -90) && number(6, 0) == number(3, 1));
    assert_eq!((number(-3, 0).size(), number(3, 0).size()), (number(3, 0), number(3, 0)));
    assert_eq!((number(-3, 0).positive_part(), number(3, 0).positive_part()), (Dyadic::ZERO, number(3, 0)));
    assert_eq!((number(12, -2).at(-3), number(12, 0).bits()), (24.into(), 4));
    assert!(number(0, 77).is_zero() && !number(1, 0).is_zero() && Dyadic::from(7) == number(7, 0));
    assert_eq!(number(5, -3).parts(), (&5.into(), -3));
    let mut sum = number(1, 0);
    sum += &number(1, -2);
    assert_eq!(sum, number(5, -2));
}

#[test]
fn bends_take_at_least_what_they_take() {
    let mut random = Random(77);
    for round in 0..20_000 {
        let count = random.below(6);
        let plain = round % 2 == 0;
        let mut number = || {
            // Floats of one size, so that sums cancel and are not infinite.
            if plain { Stored::new(random.below(1 << 30) as f64 / (1 << 29) as f64 - 0.9) } else { random.stored() }
        };
        let entry = number();
        let bends: Vec<(usize, DirectedBend)> = (0..count)
            .map(|unit| (unit, DirectedBend::new(number().size(), number().size(), number().is_positive())))
            .collect();
        let weights: Vec<Stored> = (0..count).map(|_| number()).collect();
        let present = number().is_positive();
        let change = |w: Stored| if present { -&(&entry.exact() * &w.exact()) } else { &entry.exact() * &w.exact() };
        let taken = |bend: &DirectedBend, g: Dyadic| {
            let (weight, level) = (exact(bend.weight), exact(bend.level));
            let bent = if bend.below { (&g - &level).positive_part() } else { &(&g + &level).positive_part() - &level };
            &weight * &bent
        };
        let of_node = bends.iter().fold(Dyadic::ZERO, |sum, (unit, bend)| &sum + &taken(bend, change(weights[*unit])));
        let mut sum = BendSum::default();
        sum.add_node(&bends, &weights, entry, present);
        let upper = sum.upper();
        assert!(is_above(upper, &of_node), "{upper:?} {of_node:?}");
        if plain {
            let near = upper.0 - 1e-13;
            assert!(exact(near) <= of_node, "{upper:?} {of_node:?}");
        }
        // Changes that are off by as much as they may be.
        let error = number().size();
        let changed = NestedChanges { sums: weights.iter().map(|w| w.0).collect(), error: error.0 };
        let off = if random.below(2) == 0 { error.exact() } else { -&error.exact() };
        let exactly = |unit: usize| &weights[unit].exact() + &off;
        let above = bends.iter().fold(Dyadic::ZERO, |sum, (unit, bend)| &sum + &taken(bend, exactly(*unit)));
        assert!(is_above(changed.taken(&bends), &above), "{bends:?} {weights:?} {off:?}");
    }
}
