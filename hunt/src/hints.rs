//! The hints of a leaf, read from JSON by section 2 of `check/FORMAT.md` (version 2).

use std::collections::BTreeMap;

use num_bigint::BigInt;
use serde_json::Value;

use crate::exact::Exact;

/// Why something is not accepted.
pub type Refusal = String;

/// `[ρ, [[node, η], …]]`.
#[derive(Clone, Debug)]
pub struct Prices {
    /// The price of every flip.
    pub every: Exact,
    /// What flips of a node cost in addition.
    pub nodes: BTreeMap<usize, Exact>,
}

impl Default for Prices {
    fn default() -> Prices {
        Prices { every: Exact::zero(), nodes: BTreeMap::new() }
    }
}

/// Prices of the largest rise and fall by node and unit.
pub type Reach = BTreeMap<(usize, usize), (Prices, Prices)>;

/// A bend by prices.
#[derive(Clone, Debug)]
pub struct Envelope {
    /// Its weight.
    pub weight: Exact,
    /// The price of every flip.
    pub every: Exact,
    /// Of the flips of a node, in addition.
    pub nodes: BTreeMap<usize, Exact>,
    /// Of a flip, in addition.
    pub flips: BTreeMap<(usize, usize), Exact>,
}

/// A bend by a level.
#[derive(Clone, Debug)]
pub struct Level {
    /// Its weight.
    pub weight: Exact,
    /// The level.
    pub level: Exact,
    /// Prices for the sum of what flips pay.
    pub prices: Prices,
}

/// What a leaf says.
#[derive(Clone, Debug, Default)]
pub struct Hints {
    /// By layer, node, unit.
    pub slopes: BTreeMap<(usize, usize, usize), Exact>,
    /// Rise and fall by node and unit.
    pub lines: BTreeMap<(usize, usize), (Exact, Exact)>,
    /// Prices of the largest rise and fall by node and unit.
    pub reach: Reach,
    /// By node and unit.
    pub levels: BTreeMap<(usize, usize), Level>,
    /// By node and unit.
    pub envelopes: BTreeMap<(usize, usize), Envelope>,
    /// Lines that bends of layer 3 rest on, by node and unit; the weight is ω.
    pub supports: BTreeMap<(usize, usize), Level>,
    /// Bends of layer 3 by node and unit.
    pub nested: BTreeMap<(usize, usize), Level>,
    /// For the largest loss.
    pub price: Prices,
    /// The exponent of the grid of slopes of rows.
    pub grid: Option<i32>,
}

fn refuse<T>(text: &str) -> Result<T, Refusal> {
    Err(text.to_string())
}

/// A list with a fixed number of entries.
fn tuple(value: &Value, count: usize) -> Result<&[Value], Refusal> {
    match value.as_array() {
        Some(list) if list.len() == count => Ok(list),
        _ => refuse("not a list of the right length"),
    }
}

fn list(value: &Value) -> Result<&[Value], Refusal> {
    value.as_array().map(Vec::as_slice).ok_or_else(|| "not a list".to_string())
}

/// A number that counts something.
pub fn index(value: &Value) -> Result<usize, Refusal> {
    value.as_u64().filter(|&x| x <= u64::from(u32::MAX)).map(|x| x as usize).ok_or_else(|| "not an id".to_string())
}

/// A number of section 2.
pub fn number(value: &Value) -> Result<Exact, Refusal> {
    match value {
        Value::Number(number) => {
            let text = number.to_string();
            let integer = integer(&text).ok_or("not an integer")?;
            Ok(Exact { integer, exponent: 0 })
        }
        Value::String(text) => {
            let (mantissa, exponent) = text.split_once('p').ok_or("a number without p")?;
            let mantissa = integer(mantissa).ok_or("a number whose integer is none")?;
            let exponent = integer(exponent).ok_or("a number whose exponent is none")?;
            let exponent = i32::try_from(exponent)
                .ok()
                .filter(|e| e.unsigned_abs() <= 20_000)
                .ok_or("an exponent out of range")?;
            Ok(Exact { integer: mantissa, exponent })
        }
        _ => refuse("not a number"),
    }
}

/// Decimal digits with an optional minus, no leading zeros, at most 4,096.
fn integer(text: &str) -> Option<BigInt> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let usual = !digits.is_empty()
        && digits.len() <= 4096
        && digits.bytes().all(|byte| byte.is_ascii_digit())
        && (digits == "0" || !digits.starts_with('0'));
    if usual { text.parse().ok() } else { None }
}

fn not_negative(value: &Value) -> Result<Exact, Refusal> {
    let number = number(value)?;
    if number.sign().is_lt() { refuse("a negative number") } else { Ok(number) }
}

/// Puts entries into a map, if they ascend.
fn ascending<K: Ord + Copy, T>(map: &mut BTreeMap<K, T>, key: K, entry: T) -> Result<(), Refusal> {
    if map.last_key_value().is_some_and(|(last, _)| *last >= key) {
        return refuse("entries that do not ascend");
    }
    map.insert(key, entry);
    Ok(())
}

fn prices(value: &Value) -> Result<Prices, Refusal> {
    let parts = tuple(value, 2)?;
    let mut prices = Prices { every: not_negative(&parts[0])?, nodes: BTreeMap::new() };
    for entry in list(&parts[1])? {
        let pair = tuple(entry, 2)?;
        ascending(&mut prices.nodes, index(&pair[0])?, not_negative(&pair[1])?)?;
    }
    Ok(prices)
}

/// A list `reach`.
///
/// # Errors
/// If it is not one.
pub fn reach(value: &Value) -> Result<Reach, Refusal> {
    let mut map = BTreeMap::new();
    for entry in list(value)? {
        let parts = tuple(entry, 4)?;
        let key = (index(&parts[0])?, index(&parts[1])?);
        ascending(&mut map, key, (prices(&parts[2])?, prices(&parts[3])?))?;
    }
    Ok(map)
}

/// A list of bends by levels.
fn levels(value: &Value) -> Result<BTreeMap<(usize, usize), Level>, Refusal> {
    let mut map = BTreeMap::new();
    for entry in list(value)? {
        let parts = tuple(entry, 5)?;
        let key = (index(&parts[0])?, index(&parts[1])?);
        let (weight, level) = (not_negative(&parts[2])?, not_negative(&parts[3])?);
        ascending(&mut map, key, Level { weight, level, prices: prices(&parts[4])? })?;
    }
    Ok(map)
}

impl Hints {
    /// Reads the value of `hints`.
    ///
    /// # Errors
    /// If it is not what the format says.
    pub fn read(value: &Value) -> Result<Hints, Refusal> {
        let mut hints = Hints::default();
        let Some(map) = value.as_object() else { return refuse("hints are no object") };
        for (key, value) in map {
            match key.as_str() {
                "slopes" => {
                    for entry in list(value)? {
                        let parts = tuple(entry, 4)?;
                        let key = (index(&parts[0])?, index(&parts[1])?, index(&parts[2])?);
                        ascending(&mut hints.slopes, key, number(&parts[3])?)?;
                    }
                }
                "lines" => {
                    for entry in list(value)? {
                        let parts = tuple(entry, 4)?;
                        let key = (index(&parts[0])?, index(&parts[1])?);
                        ascending(&mut hints.lines, key, (number(&parts[2])?, number(&parts[3])?))?;
                    }
                }
                "reach" => hints.reach = reach(value)?,
                "levels" => hints.levels = levels(value)?,
                "supports" => hints.supports = levels(value)?,
                "nested" => hints.nested = levels(value)?,
                "envelopes" => {
                    for entry in list(value)? {
                        let parts = tuple(entry, 6)?;
                        let key = (index(&parts[0])?, index(&parts[1])?);
                        ascending(&mut hints.envelopes, key, envelope(parts)?)?;
                    }
                }
                "price" => hints.price = prices(value)?,
                "grid" => {
                    let grid = value.as_i64().filter(|g| g.unsigned_abs() <= 20_000).ok_or("a grid out of range")?;
                    hints.grid = Some(grid as i32);
                }
                other => return Err(format!("an unknown key {other}")),
            }
        }
        Ok(hints)
    }
}

fn envelope(parts: &[Value]) -> Result<Envelope, Refusal> {
    let mut envelope = Envelope {
        weight: not_negative(&parts[2])?,
        every: number(&parts[3])?,
        nodes: BTreeMap::new(),
        flips: BTreeMap::new(),
    };
    for entry in list(&parts[4])? {
        let pair = tuple(entry, 2)?;
        ascending(&mut envelope.nodes, index(&pair[0])?, number(&pair[1])?)?;
    }
    for entry in list(&parts[5])? {
        let three = tuple(entry, 3)?;
        ascending(&mut envelope.flips, (index(&three[0])?, index(&three[1])?), number(&three[2])?)?;
    }
    Ok(envelope)
}
