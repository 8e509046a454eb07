//! Intervals enclose what exact numbers give, and comparisons that select a meaning are the same for both.

use super::*;

/// A linear congruential generator: small, and the same everywhere.
struct Random(u64);

impl Random {
    fn below(&mut self, count: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 20) % count
    }

    /// A number: eighths, sums of which cancel, and roundings of 0. And an interval around it.
    fn number(&mut self) -> (Dyadic, Interval) {
        let eighths = Dyadic::new((self.below(33) as i64 - 16).into(), -3);
        let (tiny, power) = (self.below(5) as i64 - 2, [-20, -30, -52, -60, -1074][self.below(5) as usize]);
        let tiny = Dyadic::new(tiny.into(), power);
        let x = match self.below(4) {
            0 => eighths,
            1 => tiny,
            2 => Dyadic::ZERO,
            _ => &eighths + &tiny,
        };
        let wide =
            |random: &mut Random| Dyadic::new(random.below(4).into(), [-1074, -52, -40][random.below(3) as usize]);
        let around = Interval {
            lower: Interval::around(&(&x - &wide(self))).lower,
            upper: Interval::around(&(&x + &wide(self))).upper,
        };
        (x, around)
    }

    fn positive(&mut self) -> (Dyadic, Interval) {
        let (x, around) = self.number();
        (x.positive_part(), around.positive_part())
    }
}

fn holds(interval: &Interval, x: &Dyadic) -> bool {
    let finite = |end: f64| Dyadic::from_bits(end.to_bits());
    finite(interval.lower.to_f64()).is_none_or(|end| end <= *x)
        && finite(interval.upper.to_f64()).is_none_or(|end| end >= *x)
}

#[test]
fn lines_of_intervals_enclose_exact_lines() {
    let mut random = Random(1);
    let mut open = 0;
    for round in 0..200_000 {
        let ((g, g_around), (z, z_around)) = (random.number(), random.number());
        let ((rise, rise_around), (fall, fall_around)) = (random.positive(), random.positive());
        let exactly = Dyadic::is_active(&z, [&rise, &fall]).unwrap();
        let shift = &(&Dyadic::from(128) * &fall) - &(&Dyadic::from(59) * &rise);
        assert_eq!(exactly, (&Dyadic::new(1.into(), 37) * &z) > shift, "{round}");
        match Interval::is_active(&z_around, [&rise_around, &fall_around]) {
            Some(active) => assert_eq!(active, exactly, "{round}: {z:?} {rise:?} {fall:?}"),
            None => open += 1,
        }
        for kind in [UnitKind::Linear, UnitKind::Active, UnitKind::Inactive] {
            let exact = Dyadic::line(&g, &z, [&rise, &fall], kind);
            let line = Interval::line(&g_around, &z_around, [&rise_around, &fall_around], kind);
            let all = [(&line.constant, &exact.constant), (&line.up, &exact.up), (&line.down, &exact.down)];
            assert!(all.iter().all(|(around, x)| holds(around, x)), "{round}: {line:?} {exact:?}");
            // The line is one: at the corners of the rectangle, and on its edges where the unit bends.
            let value = |p: &Dyadic, q: &Dyadic| {
                let z = &(&z + p) - q;
                let unit = if matches!(kind, UnitKind::Linear) { z } else { z.positive_part() };
                (&g * &unit, &(&exact.constant + &(&exact.up * p)) - &(&exact.down * q))
            };
            let bends = [z.clone(), -&z, &z + &rise, &fall - &z];
            let inside = |x: &Dyadic, most: &Dyadic| !x.is_negative() && x <= most;
            let none = Dyadic::ZERO;
            let mut points = vec![(&none, &none), (&rise, &none), (&none, &fall), (&rise, &fall)];
            points.extend([(&none, &bends[0]), (&bends[1], &none), (&rise, &bends[2]), (&bends[3], &fall)]);
            for (p, q) in points.into_iter().filter(|(p, q)| inside(p, &rise) && inside(q, &fall)) {
                let (unit, line) = value(p, q);
                assert!(line <= unit, "{round}: {kind:?} {g:?} {z:?} {rise:?} {fall:?} at {p:?} {q:?}");
            }
        }
    }
    assert!(open > 1_000, "{open}");
}

#[test]
fn the_largest_are_taken_as_often_as_they_may() {
    let mut random = Random(2);
    for round in 0..20_000 {
        let numbers: Vec<_> = (0..random.below(6)).map(|_| (random.positive(), random.below(4) as usize)).collect();
        let counts: Vec<usize> = (0..4).map(|_| random.below(12) as usize).chain([usize::MAX]).collect();
        let mut all: Vec<Dyadic> = numbers.iter().flat_map(|((x, _), times)| vec![x.clone(); *times]).collect();
        all.sort_by(|a, b| b.cmp(a));
        let exact = sums_of_largest(numbers.iter().map(|((x, _), times)| (x.clone(), *times)).collect(), &counts);
        let around = sums_of_largest(numbers.iter().map(|((_, x), times)| (*x, *times)).collect(), &counts);
        assert_eq!((exact.len(), around.len()), (counts.len(), counts.len()));
        for ((&count, exact), around) in counts.iter().zip(&exact).zip(&around) {
            let sum = all.iter().take(count).fold(Dyadic::ZERO, |sum, x| &sum + x);
            assert!(*exact == sum && holds(around, &sum), "{round}: {count} of {numbers:?}: {exact:?} {around:?}");
        }
    }
}

#[test]
fn sums_of_the_smallest_are_enclosed() {
    let mut random = Random(3);
    for round in 0..20_000 {
        let numbers: Vec<_> = (0..random.below(6)).map(|_| random.number()).collect();
        let count = random.below(7) as usize;
        let mut all: Vec<Dyadic> = numbers.iter().map(|(x, _)| x.clone()).collect();
        all.sort();
        let sum = all.iter().take(count).fold(Dyadic::ZERO, |sum, x| &sum + x);
        let exact = Dyadic::sum_of_smallest(numbers.iter().map(|(x, _)| x.clone()).collect(), count);
        let around = Interval::sum_of_smallest(numbers.iter().map(|(_, x)| *x).collect(), count);
        assert!(exact == sum && holds(&around, &sum), "{round}: {count} of {numbers:?}: {exact:?} {around:?}");
    }
}

#[test]
fn counts_are_enclosed_and_only_zero_is_zero() {
    for count in [0, 1, 3, (1 << 53) - 1, 1 << 53, (1 << 53) + 1, usize::MAX] {
        let (exact, around) = (<Dyadic as Scalar>::count(count), <Interval as Scalar>::count(count));
        assert!(exact == Dyadic::from(count) && holds(&around, &exact), "{count}: {around:?}");
        assert_eq!((Scalar::is_zero(&exact), Scalar::is_zero(&around)), (count == 0, count == 0));
    }
    let (zero, one) = (Interval::ZERO, <Interval as Scalar>::count(1));
    assert!(!Scalar::is_zero(&zero.hull(one)) && !Scalar::is_zero(&zero.hull(-one)));
}

/// The case that floats and exact numbers once saw differently: a unit that can only fall, at 2⁻⁵⁴.
#[test]
fn roundings_of_zero_decide_nothing() {
    let quarter = Dyadic::new(1.into(), -2);
    for z in [Dyadic::ZERO, Dyadic::new(1.into(), -54), Dyadic::new((-1).into(), -54)] {
        assert_eq!(Dyadic::is_active(&z, [&Dyadic::ZERO, &quarter]), Some(false));
        assert_eq!(Dyadic::is_active(&z, [&quarter, &Dyadic::ZERO]), Some(true));
        assert_eq!(Dyadic::is_active(&z, [&quarter, &quarter]), Some(false));
        assert_eq!(Dyadic::is_active(&z, [&Dyadic::from(3), &Dyadic::from(1)]), Some(true));
        let around = Interval::around(&z).hull(Interval::around(&-&z));
        let of = |x: &Dyadic| Interval::around(x);
        assert_eq!(Interval::is_active(&around, [&of(&Dyadic::ZERO), &of(&quarter)]), Some(false));
        assert_eq!(Interval::is_active(&around, [&of(&quarter), &of(&Dyadic::ZERO)]), Some(true));
    }
    for (z, active) in [(1, true), (-1, false)] {
        // Away from 0 the sign alone decides.
        let z = Dyadic::new(z.into(), -20);
        assert_eq!(Dyadic::is_active(&z, [&quarter, &Dyadic::from(8)]), Some(active));
        assert_eq!(Dyadic::is_active(&z, [&Dyadic::from(8), &quarter]), Some(active));
    }
}
