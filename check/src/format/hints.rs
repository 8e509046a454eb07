//! Hints as JSON: reading, writing, and conversion to the hints of the core.

use dashu_int::IBig;
use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::exact::{ExactEnvelope, ExactHints, ExactPrices, Level, Support, UnitBoundHints, WholeHints};
use crate::number::Dyadic;
use crate::verdict::Reason;

/// Decimal digits of an integer in a number, at most.
const LONGEST: usize = 4096;

/// The size of an exponent, at most.
const LARGEST_EXPONENT: u64 = 20_000;

/// A number: an integer, or `"<integer>p<exponent>"`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Number(pub Dyadic);

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (mantissa, exponent) = self.0.parts();
        match i32::try_from(mantissa) {
            Ok(integer) if exponent == 0 => serializer.serialize_i32(integer),
            _ => serializer.serialize_str(&format!("{mantissa}p{exponent}")),
        }
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Number, D::Error> {
        deserializer.deserialize_any(NumberVisitor)
    }
}

struct NumberVisitor;

impl Visitor<'_> for NumberVisitor {
    type Value = Number;

    fn expecting(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "an integer, or a string \"<integer>p<exponent>\"")
    }

    fn visit_u64<E: de::Error>(self, x: u64) -> Result<Number, E> {
        Ok(Number(Dyadic::new(IBig::from(x), 0)))
    }

    fn visit_i64<E: de::Error>(self, x: i64) -> Result<Number, E> {
        Ok(Number(Dyadic::new(IBig::from(x), 0)))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Number, E> {
        let number = text.split_once('p').and_then(|(integer, exponent)| {
            let mantissa = IBig::from_str_radix(plain(integer, LONGEST)?, 10).ok()?;
            let exponent: i64 = plain(exponent, 6)?.parse().ok()?;
            (exponent.unsigned_abs() <= LARGEST_EXPONENT).then(|| Number(Dyadic::new(mantissa, exponent)))
        });
        number.ok_or_else(|| E::custom("a number is not of the form \"<integer>p<exponent>\", or out of range"))
    }
}

/// A decimal integer without superfluous characters.
fn plain(text: &str, longest: usize) -> Option<&str> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let superfluous = digits.len() > 1 && digits.starts_with('0') || text == "-0";
    let fine = !digits.is_empty() && digits.len() <= longest && digits.bytes().all(|byte| byte.is_ascii_digit());
    (fine && !superfluous).then_some(text)
}

/// `[ρ, [[node, η], …]]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prices(pub Number, pub Vec<(u32, Number)>);

impl Default for Prices {
    fn default() -> Prices {
        Prices(Number(Dyadic::ZERO), Vec::new())
    }
}

impl Prices {
    fn is_none(&self) -> bool {
        self.0.0.is_zero() && self.1.is_empty()
    }

    fn hints(&self) -> ExactPrices {
        ExactPrices { every: self.0.0.clone(), nodes: self.1.iter().map(|(node, x)| (*node, x.0.clone())).collect() }
    }
}

impl From<&ExactPrices> for Prices {
    fn from(prices: &ExactPrices) -> Prices {
        let nodes = prices.nodes.iter().map(|(node, x)| (*node, Number(x.clone()))).collect();
        Prices(Number(prices.every.clone()), nodes)
    }
}

/// `[node, unit, weight, τ, [[node, ν], …], [[node, attribute, ρ], …]]`.
pub type EnvelopeEntry = (u32, u32, Number, Number, Vec<(u32, Number)>, Vec<(u32, u32, Number)>);

/// The hints of a leaf.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Hints {
    /// `[layer, node, unit, s]`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub slopes: Vec<(u32, u32, u32, Number)>,
    /// `[node, unit, rise, fall]`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<(u32, u32, Number, Number)>,
    /// `[node, unit, prices, prices]`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reach: Vec<(u32, u32, Prices, Prices)>,
    /// `[node, unit, weight, T, prices]`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub levels: Vec<(u32, u32, Number, Number, Prices)>,
    /// Bends by prices.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub envelopes: Vec<EnvelopeEntry>,
    /// `[node, unit, ω, T, prices]`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub supports: Vec<(u32, u32, Number, Number, Prices)>,
    /// `[node, unit, weight, T, prices]`, of layer 3.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub nested: Vec<(u32, u32, Number, Number, Prices)>,
    /// Prices for the largest loss.
    #[serde(skip_serializing_if = "Prices::is_none")]
    pub price: Prices,
    /// Row slopes are rounded to multiples of `2^grid`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grid: Option<i64>,
}

impl Hints {
    /// The same as the core takes them.
    ///
    /// # Errors
    /// If the grid is out of range; the core checks the rest.
    pub fn hints(&self) -> Result<ExactHints, Reason> {
        if self.grid.is_some_and(|grid| grid.unsigned_abs() > LARGEST_EXPONENT) {
            return Err(Reason::HintOrder("grid"));
        }
        let number = |x: &Number| x.0.clone();
        Ok(ExactHints {
            slopes: self.slopes.iter().map(|(l, n, j, s)| ((*l, *n, *j), number(s))).collect(),
            lines: self.lines.iter().map(|(n, j, rise, fall)| ((*n, *j), [number(rise), number(fall)])).collect(),
            reach: reach(&self.reach),
            levels: self
                .levels
                .iter()
                .map(|(n, j, weight, level, prices)| {
                    ((*n, *j), Level { weight: number(weight), level: number(level), prices: prices.hints() })
                })
                .collect(),
            envelopes: self
                .envelopes
                .iter()
                .map(|(n, j, weight, every, nodes, flips)| {
                    let nodes = nodes.iter().map(|(node, x)| (*node, number(x))).collect();
                    let flips = flips.iter().map(|(n, d, x)| ((*n, *d), number(x))).collect();
                    ((*n, *j), ExactEnvelope { weight: number(weight), every: number(every), nodes, flips })
                })
                .collect(),
            supports: self
                .supports
                .iter()
                .map(|(n, j, omega, level, prices)| {
                    ((*n, *j), Support { omega: number(omega), level: number(level), prices: prices.hints() })
                })
                .collect(),
            nested: self
                .nested
                .iter()
                .map(|(n, j, weight, level, prices)| {
                    ((*n, *j), Level { weight: number(weight), level: number(level), prices: prices.hints() })
                })
                .collect(),
            price: self.price.hints(),
            grid: self.grid,
        })
    }
}

fn reach(stated: &[(u32, u32, Prices, Prices)]) -> Vec<((u32, u32), [ExactPrices; 2])> {
    stated.iter().map(|(n, j, up, down)| ((*n, *j), [up.hints(), down.hints()])).collect()
}

impl From<&ExactHints> for Hints {
    fn from(from: &ExactHints) -> Hints {
        let number = |x: &Dyadic| Number(x.clone());
        Hints {
            slopes: from.slopes.iter().map(|((l, n, j), s)| (*l, *n, *j, number(s))).collect(),
            lines: from.lines.iter().map(|((n, j), [rise, fall])| (*n, *j, number(rise), number(fall))).collect(),
            reach: from.reach.iter().map(|((n, j), [up, down])| (*n, *j, up.into(), down.into())).collect(),
            levels: from
                .levels
                .iter()
                .map(|((n, j), bend)| (*n, *j, number(&bend.weight), number(&bend.level), (&bend.prices).into()))
                .collect(),
            envelopes: from
                .envelopes
                .iter()
                .map(|((n, j), bend)| {
                    let nodes = bend.nodes.iter().map(|(node, x)| (*node, number(x))).collect();
                    let flips = bend.flips.iter().map(|((n, d), x)| (*n, *d, number(x))).collect();
                    (*n, *j, number(&bend.weight), number(&bend.every), nodes, flips)
                })
                .collect(),
            supports: from
                .supports
                .iter()
                .map(|((n, j), line)| (*n, *j, number(&line.omega), number(&line.level), (&line.prices).into()))
                .collect(),
            nested: from
                .nested
                .iter()
                .map(|((n, j), bend)| (*n, *j, number(&bend.weight), number(&bend.level), (&bend.prices).into()))
                .collect(),
            price: (&from.price).into(),
            grid: from.grid,
        }
    }
}

/// Hints for one bound of a unit, at most.
pub const MOST_HINTS: usize = 16;

/// Hints in a line of bounds, at most.
pub const MOST_HINTS_OF_A_LINE: usize = 1 << 16;

/// Hints for one bound, each of which may be the best.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct HintList(pub Vec<Hints>);

impl<'de> Deserialize<'de> for HintList {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<HintList, D::Error> {
        let one = Limited { most: MOST_HINTS, weigh: |_: &Hints| 1, of: std::marker::PhantomData };
        deserializer.deserialize_seq(one).map(HintList)
    }
}

/// `[unit, [hints, …], [hints, …]]`: for the lower and for the upper bound.
pub type UnitBounds = (u32, HintList, HintList);

/// Reads a list until its entries weigh more than so much.
struct Limited<T, W> {
    most: usize,
    weigh: W,
    of: std::marker::PhantomData<T>,
}

impl<'de, T: Deserialize<'de>, W: Fn(&T) -> usize> Visitor<'de> for Limited<T, W> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "a list with at most {} hints", self.most)
    }

    fn visit_seq<A: de::SeqAccess<'de>>(self, mut entries: A) -> Result<Vec<T>, A::Error> {
        let (mut list, mut weight) = (Vec::new(), 0);
        while let Some(entry) = entries.next_element()? {
            weight += (self.weigh)(&entry);
            if weight > self.most {
                return Err(de::Error::custom(format!("more than {} hints", self.most)));
            }
            list.push(entry);
        }
        Ok(list)
    }
}

fn units<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<UnitBounds>, D::Error> {
    let weigh = |unit: &UnitBounds| 1 + unit.1.0.len() + unit.2.0.len();
    deserializer.deserialize_seq(Limited { most: MOST_HINTS_OF_A_LINE, weigh, of: std::marker::PhantomData })
}

/// Whole bounds of the units of a node of a layer above 2.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BoundsLine {
    /// The layer, at least 3.
    pub layer: u32,
    /// Its row in the graph.
    pub node: u32,
    /// As in hints, for layer 3.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reach: Vec<(u32, u32, Prices, Prices)>,
    /// Ascending by unit.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "units")]
    pub units: Vec<UnitBounds>,
}

impl BoundsLine {
    pub(crate) fn new(layer: u32, node: u32, whole: &WholeHints) -> BoundsLine {
        let list = |hints: &Vec<ExactHints>| HintList(hints.iter().map(Hints::from).collect());
        BoundsLine {
            layer,
            node,
            reach: if layer == 3 { Hints::from(&whole.reach).reach } else { Vec::new() },
            units: whole.units.iter().map(|of| (of.unit, list(&of.lower), list(&of.upper))).collect(),
        }
    }

    pub(crate) fn hints(&self) -> Result<WholeHints, Reason> {
        if !self.units.windows(2).all(|pair| pair[0].0 < pair[1].0) {
            return Err(Reason::HintOrder("units"));
        }
        if self.layer != 3 && !self.reach.is_empty() {
            return Err(Reason::HintOrder("reach"));
        }
        let list = |stated: &HintList| stated.0.iter().map(Hints::hints).collect::<Result<Vec<_>, _>>();
        let units = self
            .units
            .iter()
            .map(|(unit, lower, upper)| Ok(UnitBoundHints { unit: *unit, lower: list(lower)?, upper: list(upper)? }));
        let reach = ExactHints { reach: reach(&self.reach), ..ExactHints::default() };
        Ok(WholeHints { reach, units: units.collect::<Result<_, Reason>>()? })
    }
}
