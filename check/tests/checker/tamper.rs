//! Tampering: accepted proofs, changed at random and on purpose. A mutant may be accepted only if what it claims is
//! still true, which brute force decides for the mutant's own statement (its budget, direction, rules, classes, model).

use crate::common;

use common::{Random, World};
use gcnproof_check::format::*;
use gcnproof_check::{Stated, Summary, Verdict, check, expand};
use gcnproof_files::Normalisation;
use rayon::prelude::*;
use serde_json::Value;

/// A small accepted file: a robust node if possible, else a witness.
fn accepted(random: &mut Random, world: World) -> Option<(World, Vec<u8>)> {
    let reference = world.reference(0)?;
    let proof = match world.grow(random, reference, 40) {
        Ok(proof) => proof,
        Err(_) => {
            let (_, breaks) = world.truth(0, reference);
            let (witness, _) = breaks.get(random.below(breaks.len().max(1)))?.clone();
            NodeProof { id: 0, class: reference, claim: Claim::NonRobust(witness) }
        }
    };
    assert!(world.judge(&proof).is_ok());
    let file = world.file(&[proof]);
    Some((world, file))
}

fn run(world: &World, bytes: &[u8]) -> Summary {
    check(&world.graph, &world.model, &world.options(), bytes, |_| {})
}

/// Every verdict of the summary is true of the world that its header states.
fn assert_true(mut world: World, summary: &Summary, context: &str) -> bool {
    let mut any = false;
    for (node, verdict) in summary.verdicts.iter().enumerate() {
        let Some(verdict) = *verdict else { continue };
        any = true;
        let Some(Stated::Flips(header)) = summary.header.clone() else { panic!("{context}") };
        world.header = header;
        let node = node as u32;
        let reference = world.reference(node).expect("an accepted proof has a reference class");
        let (truth, breaks) = world.truth(node, reference);
        match verdict {
            Verdict::Robust => assert_eq!(truth, Verdict::Robust, "{context}"),
            _ => assert!(!breaks.is_empty(), "{context}"),
        }
    }
    any
}

/// All places of a JSON value, as pointers.
fn places(value: &Value, at: &str, found: &mut Vec<String>) {
    found.push(at.to_string());
    match value {
        Value::Array(list) => list.iter().enumerate().for_each(|(i, v)| places(v, &format!("{at}/{i}"), found)),
        Value::Object(map) => map.iter().for_each(|(key, v)| places(v, &format!("{at}/{key}"), found)),
        _ => {}
    }
}

fn mutate(value: &mut Value, random: &mut Random) {
    let mut found = Vec::new();
    places(value, "", &mut found);
    let place = &found[random.below(found.len())];
    let Some(spot) = value.pointer_mut(place) else { return };
    match spot {
        Value::Number(number) => {
            let old = number.as_i64().unwrap_or(0);
            let one = 1 << 20;
            let candidates = [
                old.wrapping_add(1),
                old.wrapping_sub(1),
                old.wrapping_mul(2),
                old.wrapping_neg(),
                0,
                1,
                2,
                3,
                one,
                one + 1,
                1 << 53,
                (1 << 53) + 1,
                i64::MAX,
                old / 2,
            ];
            *spot = Value::from(candidates[random.below(candidates.len())]);
        }
        Value::String(text) => {
            let words = [
                "gcn",
                "sum",
                "sum+self",
                "mean",
                "mean+self",
                "identity",
                "both",
                "add",
                "remove",
                "predicted",
                "labels",
                "graph",
                "x",
            ];
            *text = words[random.below(words.len())].into();
        }
        Value::Array(list) if !list.is_empty() => {
            let (at, other) = (random.below(list.len()), random.below(list.len()));
            match random.below(4) {
                0 => drop(list.remove(at)),
                1 => list.insert(other, list[at].clone()),
                2 => list.swap(at, other),
                _ => list.truncate(at),
            }
        }
        Value::Object(map) if !map.is_empty() => {
            let key = map.keys().nth(random.below(map.len())).cloned().unwrap_or_default();
            let old = map.remove(&key).unwrap_or_default();
            if random.chance(50) {
                const KEYS: [&str; 16] = [
                    "leaf",
                    "flip",
                    "unit",
                    "robust",
                    "non_robust",
                    "weight",
                    "slope",
                    "beta",
                    "e",
                    "x",
                    "cap",
                    "envelope",
                    "nodes",
                    "flips",
                    "units",
                    "dual",
                ];
                map.insert(KEYS[random.below(KEYS.len())].into(), old);
            }
        }
        _ => *spot = Value::Null,
    }
}

/// Changes one of the numbers of hints, which are texts.
fn mutate_hint(value: &mut Value, random: &mut Random) {
    let mut found = Vec::new();
    places(value, "", &mut found);
    let number = |place: &&String| {
        let text = value.pointer(place).and_then(Value::as_str).unwrap_or_default();
        text.split_once('p')
            .is_some_and(|(digits, exponent)| [digits, exponent].iter().all(|x| x.parse::<i128>().is_ok()))
    };
    let numbers: Vec<&String> = found.iter().filter(number).collect();
    let Some(&place) = numbers.get(random.below(numbers.len().max(1))) else { return };
    let Some(Value::String(text)) = value.pointer_mut(place) else { return };
    let (digits, exponent) = text.split_once('p').unwrap();
    let exponent: i64 = exponent.parse().unwrap();
    *text = match random.below(6) {
        0 => "0p0".into(),
        1 => format!("{digits}p{}", exponent + 1),
        2 => format!("{digits}p{}", exponent - 1),
        3 => format!("{digits}p{}", exponent - 8),
        4 => digits.strip_prefix('-').map_or(format!("-{digits}p{exponent}"), |digits| format!("{digits}p{exponent}")),
        _ => "1p-4".into(),
    };
}

/// Mutants of each grown proof: growing one costs more than checking its mutants.
const EACH: u64 = 4;

/// Makes `count` mutants of accepted files and checks them: how many were tried, and how many were accepted and true.
/// `change` alters the world, the file or both, and says what it did; `None` leaves the mutant out.
fn mutants(
    count: u64,
    first: u64,
    world: fn(&mut Random) -> World,
    change: impl Fn(&mut Random, &mut World, &mut Vec<u8>) -> Option<String> + Sync,
) -> [usize; 2] {
    let counts = (0..count / EACH).into_par_iter().map(|seed| {
        let mut random = Random::new(first + seed);
        let world = world(&mut random);
        let Some((world, file)) = accepted(&mut random, world) else { return [0; 2] };
        let mut counts = [0; 2];
        for at in 0..EACH {
            let (mut world, mut file) = (world.clone(), file.clone());
            let Some(what) = change(&mut random, &mut world, &mut file) else { continue };
            let summary = run(&world, &file);
            counts[0] += 1;
            counts[1] += usize::from(assert_true(world, &summary, &format!("seed {seed}, mutant {at}: {what}")));
        }
        counts
    });
    let [tried, kept] = counts.reduce(|| [0; 2], |a, b| [a[0] + b[0], a[1] + b[1]]);
    println!("{tried} mutants, {kept} accepted and true");
    [tried, kept]
}

/// Structure, numbers, budgets, classes: one to three changes to the JSON of header and proof.
#[test]
fn changed_json_is_accepted_only_if_still_true() {
    let [tried, kept] = mutants(8_000, 3_000_000, World::random, |random, _, file| {
        let text = std::str::from_utf8(file).unwrap();
        let mut lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        for _ in 0..=random.below(3) {
            let line = [0, 1, 1, 1][random.below(4)];
            mutate(&mut lines[line], random);
        }
        let text = lines.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
        *file = text.clone().into_bytes();
        Some(text)
    });
    assert!(tried > 6_000 && kept > 200 && kept < tried / 2);
}

/// The same of normalised rows, and rows that are normalised in another way or not at all.
#[test]
fn changed_proofs_of_normalised_rows_are_accepted_only_if_still_true() {
    let [tried, kept] = mutants(1_600, 3_500_000, World::random_normalised, |random, world, file| {
        if random.chance(25) {
            let ways = [Normalisation::None, Normalisation::Float32, Normalisation::Float64];
            let others: Vec<_> = ways.into_iter().filter(|way| *way != world.graph.normalisation).collect();
            world.graph.normalisation = others[random.below(2)];
            return Some(format!("{}", world.graph.normalisation));
        }
        let mut written = Vec::new();
        if random.chance(50) && expand(&world.graph, &world.model, &world.options(), &file[..], &mut written).is_ok() {
            *file = written;
        }
        let text = std::str::from_utf8(file).unwrap();
        let mut lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        for _ in 0..=random.below(3) {
            let line = [0, 1, 1, 1][random.below(4)].max(random.below(lines.len()));
            if random.chance(50) { mutate_hint(&mut lines[line], random) } else { mutate(&mut lines[line], random) }
        }
        let text = lines.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
        *file = text.clone().into_bytes();
        Some(text)
    });
    // Many changes of a number leave a bound that is still large enough.
    assert!(tried > 800 && kept > 40 && kept < tried * 3 / 4, "{tried} {kept}");
}

/// Another model under the same name: a bit of a weight or bias changed, the digests made to agree.
#[test]
fn a_changed_model_is_accepted_only_if_still_true() {
    let [tried, kept] = mutants(8_000, 4_000_000, World::random, |random, world, _| {
        let at = random.below(world.model.layers.len());
        let layer = &mut world.model.layers[at];
        let values = if random.chance(50) { &mut layer.weight.values } else { &mut layer.bias };
        let spot = random.below(values.len());
        let changed = match random.below(4) {
            0 => -values[spot],
            1 => f64::from_bits(values[spot].to_bits() ^ 1 << random.below(64)),
            2 => values[spot] + 1.0,
            _ => random.weight(3),
        };
        values[spot] = changed;
        changed.is_finite().then(|| format!("value {spot} of layer {at} becomes {changed}"))
    });
    assert!(tried > 5_000 && kept > 500 && kept < tried);
}

/// Bytes changed, cut out, doubled, cut off, plain and compressed: no panic, and nothing false.
#[test]
fn changed_bytes_do_no_harm() {
    let [tried, kept] = mutants(20_000, 5_000_000, World::random, |random, _, file| {
        if random.chance(25) {
            *file = ruzstd::encoding::compress_to_vec(&file[..], ruzstd::encoding::CompressionLevel::Fastest);
        }
        for _ in 0..=random.below(4) {
            let (at, other) = (random.below(file.len()), random.below(file.len()));
            match random.below(6) {
                0 => file[at] ^= 1 << random.below(8),
                1 => file.truncate(at.max(1)),
                2 => file[at] = b"0123456789{}[],:\"-e.\n "[random.below(22)],
                3 => drop(file.drain(at.min(other)..at.max(other).min(at.min(other) + 20)).count()),
                4 => {
                    let piece = file[at.min(other)..at.max(other)].to_vec();
                    file.splice(at..at, piece);
                }
                _ => file.insert(at, random.next() as u8),
            }
            if file.is_empty() {
                return None;
            }
        }
        Some(String::from_utf8_lossy(file).into_owned())
    });
    assert!(tried > 15_000 && kept < tried / 2);
}

/// A change of the network of terms itself, in words.
fn change_network(random: &mut Random, world: &mut World) -> String {
    let at = random.below(world.model.layers.len());
    let rule = world.random_rule(random);
    let nodes = world.graph.attributes.rows;
    let layer = &mut world.model.layers[at];
    let outputs = layer.weight.columns;
    match random.below(11) {
        0 | 1 if !layer.linear.is_empty() => {
            let unit = random.below(layer.linear.len());
            layer.linear[unit] = !layer.linear[unit];
            format!("unit {unit} of layer {at} changes its activation")
        }
        0 | 1 => {
            layer.linear = (0..outputs).map(|_| random.chance(50)).collect();
            format!("layer {at} has linear units {:?}", layer.linear)
        }
        2 => {
            layer.linear = vec![true; [0, outputs, outputs + 1][random.below(3)]];
            format!("layer {at} has linear units {:?}", layer.linear)
        }
        3 | 4 if !layer.operators.is_empty() => {
            let term = random.below(layer.operators.len());
            layer.operators[term] = rule;
            format!("layer {at} has operators {:?}", layer.operators)
        }
        5 if layer.operators.len() > 1 => {
            layer.operators.rotate_left(1);
            format!("layer {at} has operators {:?}", layer.operators)
        }
        6 => {
            if random.chance(50) {
                layer.operators.push(rule)
            } else {
                drop(layer.operators.pop())
            }
            format!("layer {at} has operators {:?}", layer.operators)
        }
        7 if !layer.bias.is_empty() => {
            let unit = random.below(layer.bias.len());
            layer.bias[unit] = random.weight(3);
            format!("bias {unit} of layer {at} is {}", layer.bias[unit])
        }
        8 => {
            let count = [outputs, nodes * outputs, 0, outputs + 1, nodes][random.below(5)];
            layer.bias.resize(count, 0.5);
            format!("layer {at} has {count} biases")
        }
        9 => {
            let more = random.below(2) * 2;
            layer.weight.rows = (layer.weight.rows + more - 1).max(1);
            layer.weight.values.resize(layer.weight.rows * outputs, 0.5);
            format!("layer {at} has {} rows of weights", layer.weight.rows)
        }
        _ => {
            let spot = random.below(layer.weight.values.len());
            layer.weight.values[spot] = random.weight(3);
            format!("weight {spot} of layer {at} is {}", layer.weight.values[spot])
        }
    }
}

/// Networks of terms: other operators, linear units, biases, weights and shapes, with the header following or not, and
/// changes to the proof.
#[test]
fn a_changed_network_of_terms_is_accepted_only_if_the_claim_is_still_true() {
    let [tried, kept] = mutants(4_200, 9_000_000, World::random_terms, |random, world, file| {
        let text = String::from_utf8(file.clone()).unwrap();
        let mut lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let mut what = Vec::new();
        for _ in 0..=random.below(2) {
            match random.below(4) {
                0 => mutate(&mut lines[random.below(2)], random),
                1 => {
                    let rule = world.random_rule(random);
                    let at = random.below(world.model.layers.len());
                    if let Some(spot) = lines[0].pointer_mut(&format!("/header/message_passing/{at}")) {
                        *spot = Value::from(if random.chance(50) { rule } else { format!("{rule} & gcn") });
                    }
                }
                _ => {
                    what.push(change_network(random, world));
                    for (at, layer) in world.model.layers.iter().enumerate().filter(|_| random.chance(80)) {
                        if let Some(spot) = lines[0].pointer_mut(&format!("/header/message_passing/{at}"))
                            && !layer.operators.is_empty()
                        {
                            *spot = Value::from(layer.operators.join(" & "));
                        }
                    }
                }
            }
        }
        let text = lines.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
        *file = text.clone().into_bytes();
        Some(format!("{what:?} {text}"))
    });
    assert!(tried > 1_800 && kept > 120 && kept < tried / 2, "{tried} {kept}");
}
