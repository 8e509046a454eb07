//! Random changes of a proof as JSON: they know little about the format, so that they survive its changes.

use serde_json::{Value, json};

use crate::case::Case;
use crate::random::Random;

/// What changes can refer to: the size of the problem.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    pub nodes: usize,
    pub attributes: usize,
    /// Representations `L`.
    pub depth: usize,
    /// The widest layer.
    pub width: usize,
    pub classes: usize,
}

impl Sizes {
    /// Of a case.
    pub fn new(case: &Case) -> Sizes {
        let layers = case.layers();
        let hidden = layers[..layers.len() - 1].iter().map(|layer| layer.weight.columns);
        Sizes {
            nodes: case.nodes(),
            attributes: case.entries(),
            depth: layers.len() + 1,
            width: hidden.max().unwrap_or(1),
            classes: case.classes(),
        }
    }
}

/// The places of a JSON value: the path to every value inside it, itself included.
fn places(value: &Value, path: &mut Vec<usize>, all: &mut Vec<Vec<usize>>) {
    all.push(path.clone());
    let children: Vec<&Value> = match value {
        Value::Array(list) => list.iter().collect(),
        Value::Object(map) => map.values().collect(),
        _ => return,
    };
    for (at, child) in children.into_iter().enumerate() {
        path.push(at);
        places(child, path, all);
        path.pop();
    }
}

fn at<'a>(value: &'a mut Value, path: &[usize]) -> &'a mut Value {
    let mut now = value;
    for &step in path {
        now = match now {
            Value::Array(list) => &mut list[step],
            Value::Object(map) => map.iter_mut().nth(step).map(|entry| entry.1).expect("a path of this value"),
            other => other,
        };
    }
    now
}

/// Changes one thing at random; the value may stay as it is.
pub fn change(value: &mut Value, random: &mut Random) {
    let mut all = Vec::new();
    places(value, &mut Vec::new(), &mut all);
    let numbers_only = random.percent(65);
    for _ in 0..8 {
        let path = &all[random.below(all.len())];
        let target = at(value, path);
        match target {
            Value::Number(number) => {
                let Some(x) = number.as_i64() else { continue };
                *target = json!(tweak(x, random));
                return;
            }
            Value::String(text) => {
                if let Some((mantissa, exponent)) = text.split_once('p')
                    && let (Ok(mantissa), Ok(exponent)) = (mantissa.parse::<i64>(), exponent.parse::<i64>())
                {
                    *text = if random.percent(70) {
                        format!("{}p{exponent}", tweak(mantissa, random))
                    } else {
                        format!("{mantissa}p{}", exponent + random.between(-2, 2))
                    };
                    return;
                }
            }
            Value::Bool(flag) => {
                *flag = !*flag;
                return;
            }
            Value::Array(list) if !numbers_only && !list.is_empty() => {
                let (first, second) = (random.below(list.len()), random.below(list.len()));
                match random.below(4) {
                    0 => drop(list.remove(first)),
                    1 => list.insert(first, list[second].clone()),
                    2 => list.swap(first, second),
                    _ => list[first] = list[second].clone(),
                }
                return;
            }
            Value::Object(map) if !numbers_only && map.len() > 1 => {
                let key = map.keys().nth(random.below(map.len())).cloned();
                key.map(|key| map.remove(&key));
                return;
            }
            _ => {}
        }
    }
}

/// Another integer near this one, or far away.
fn tweak(x: i64, random: &mut Random) -> i64 {
    match random.below(16) {
        0..=2 => x.saturating_add(1),
        3..=5 => x.saturating_sub(1),
        6 => 0,
        7 => x.saturating_neg(),
        8 => x.saturating_mul(2),
        9 => x / 2,
        10 => 1 << random.below(54),
        11 => x.saturating_add(x / 8),
        12 => x.saturating_sub(x / 8),
        13 => random.between(0, 12),
        14 => -(1 << random.below(54)),
        _ => random.pick(&[i64::MAX, i64::MIN, 1 << 53, (1 << 53) + 1, -1074, -1075, 900, 901, 1 << 20]),
    }
}

/// A random short leaf, often with an envelope.
pub fn leaf(sizes: Sizes, random: &mut Random) -> Value {
    let mut leaf = json!({});
    let exponent = random.pick(&[-20, -6, -1, -3]);
    if exponent != -20 {
        leaf["e"] = json!(exponent);
    }
    if random.percent(30) && sizes.depth > 2 {
        leaf["dual"] = json!(random.between(2, sizes.depth as i64 - 1));
    }
    if random.percent(40) {
        leaf["cap"] = json!(true);
    }
    if random.percent(50) && sizes.depth > 3 {
        leaf["nested"] = json!(true);
    }
    if sizes.depth > 2 {
        for key in ["weight", "slope"] {
            if random.percent(40) {
                let mut list = Vec::new();
                for layer in 2..sizes.depth {
                    for node in 0..sizes.nodes {
                        for unit in 0..sizes.width {
                            if random.percent(40) {
                                list.push(json!([layer, node, unit, random.between(0, 1 << -exponent)]));
                            }
                        }
                    }
                }
                leaf[key] = json!(list);
            }
        }
        if random.percent(60) {
            leaf["envelope"] = envelope(sizes, exponent, random);
        }
    }
    leaf
}

fn envelope(sizes: Sizes, exponent: i64, random: &mut Random) -> Value {
    let price = {
        let scale = random.pick(&[1, 4, 64]);
        move |random: &mut Random| random.between(-scale, scale)
    };
    let nodes: Vec<usize> = (0..sizes.nodes).filter(|_| random.percent(30)).collect();
    let mut flips = Vec::new();
    for node in 0..sizes.nodes {
        for attribute in 0..sizes.attributes {
            if random.percent(15) {
                flips.push(json!([node, attribute]));
            }
        }
    }
    let mut units = Vec::new();
    for node in 0..sizes.nodes {
        for unit in 0..sizes.width {
            if random.percent(60) {
                let share = random.pick(&[1 << -exponent, 1 << -exponent, 1 << (-exponent - 1), 0, 1]);
                let nu: Vec<i64> = (0..nodes.len()).map(|_| price(random)).collect();
                let rho: Vec<i64> = (0..flips.len()).map(|_| price(random)).collect();
                units.push(json!([node, unit, share, price(random), nu, rho]));
            }
        }
    }
    json!({ "e": random.pick(&[0, -1, -2, -4, -10]), "nodes": nodes, "flips": flips, "units": units })
}

/// Puts a random split above a tree, with the tree on both sides.
pub fn split(tree: &mut Vec<Value>, sizes: Sizes, random: &mut Random) {
    let split = if random.percent(50) && sizes.depth > 2 {
        let layer = random.between(2, sizes.depth as i64 - 1);
        json!({ "unit": [layer, random.below(sizes.nodes), random.below(sizes.width)] })
    } else {
        json!({ "flip": [random.below(sizes.nodes), random.below(sizes.attributes)] })
    };
    if tree.len() < 64 {
        let copy = tree.clone();
        tree.insert(0, split);
        tree.extend(copy);
    }
}

/// Has a proof an envelope in one of its leaves?
pub fn has_envelope(line: &Value) -> bool {
    names(line, &["envelope", "envelopes"])
}

/// Has a proof bends of layer 3 in one of its leaves?
pub fn is_nested(line: &Value) -> bool {
    names(line, &["nested"])
}

/// Has an object anywhere inside one of these keys, with a value that is not empty?
fn names(value: &Value, keys: &[&str]) -> bool {
    let empty = |value: &Value| value.as_array().is_some_and(Vec::is_empty) || value == &json!(false);
    match value {
        Value::Object(map) => {
            map.iter().any(|(key, value)| (keys.contains(&key.as_str()) && !empty(value)) || names(value, keys))
        }
        Value::Array(list) => list.iter().any(|value| names(value, keys)),
        _ => false,
    }
}
