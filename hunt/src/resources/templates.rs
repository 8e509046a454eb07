//! Files of less than 4 kB that ask for much work: headers with long polynomials, leaves with large numbers, envelopes,
//! budgets, many lines, frames of zstd that repeat a byte, and honest files with changed bytes.

use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use serde_json::{Value, json};

use crate::mutate::change;
use crate::random::Random;
use crate::resources::stage::Stage;
use crate::resources::zstd::{Block, frame};

/// Files are shorter than this.
const LONGEST: usize = 4096;

/// A file to be shown.
pub struct File {
    /// What it is, in a few words.
    pub what: String,
    pub bytes: Vec<u8>,
    /// Is it a frame of zstd?
    pub compressed: bool,
}

/// A random file about a stage.
pub fn file(stage: &Stage, random: &mut Random) -> File {
    let edges = stage.widths.len() == 2 && random.percent(35);
    let collective = !edges && random.percent(20);
    let (mut what, header) = match (edges, collective) {
        (true, _) => ("edges".to_string(), edge_header(stage, random)),
        (_, true) => ("collective".to_string(), collective_header(stage, random)),
        _ => ("flips".to_string(), flip_header(stage, random)),
    };
    let mut lines = vec![header];
    let mut count = 0;
    while lines.iter().map(|line| line.to_string().len() + 1).sum::<usize>() < LONGEST - 600 && count < 12 {
        let line = match (edges, collective) {
            (true, _) => edge_line(stage, random),
            (_, true) => share_line(stage, random),
            _ if random.percent(15) => bounds_line(stage, random),
            _ => flip_line(stage, random),
        };
        lines.push(line);
        count += 1;
        if random.percent(40) {
            break;
        }
    }
    lines.push(match collective {
        true => {
            json!({ "claim": { "lines": count, "bound": random.below(3), "price": random.next() >> 20, "prices": [] } })
        }
        false => json!({ "end": count }),
    });
    if random.percent(35) {
        what += ", changed";
        let at = random.below(lines.len());
        (0..1 + random.below(3)).for_each(|_| change(&mut lines[at], random));
    }
    let mut bytes: Vec<u8> = lines.iter().flat_map(|line| format!("{line}\n").into_bytes()).collect();
    if random.percent(15) {
        what += ", bytes changed";
        for _ in 0..1 + random.below(4) {
            let at = random.below(bytes.len());
            bytes[at] = random.next() as u8;
        }
    }
    if random.percent(30)
        && let Some(repeated) = repeated(&lines, random)
    {
        return File { what: what + ", lines repeated in zstd", bytes: repeated, compressed: true };
    }
    bytes.truncate(LONGEST - 1);
    if random.percent(25) {
        let (more, compressed) = compressed(&bytes, random);
        return File { what: what + more, bytes: compressed, compressed: true };
    }
    File { what, bytes, compressed: false }
}

/// A compressed file in which one line, or one part of a list of a line, stands many times; none if it gets too long.
fn repeated(lines: &[Value], random: &mut Random) -> Option<Vec<u8>> {
    let at = random.below(lines.len().max(2) - 1);
    let times = random.pick(&[20, 300, 3_000, 30_000]);
    let mut text = String::new();
    let mut count = 0u64;
    for (place, line) in lines[..lines.len() - 1].iter().enumerate() {
        if place != at {
            text += &format!("{line}\n");
            count += u64::from(place > 0);
            continue;
        }
        let one = line.to_string();
        if place == 0 || random.percent(50) {
            // Inside the line: the longest list gets longer.
            let end = one.rfind(']')?;
            let start = one[..end].rfind(random.pick(&['[', ',', '{']))?;
            let part = &one[start..end];
            text +=
                &format!("{}{}{}\n", &one[..end], part.repeat(times.min((24 << 20) / part.len().max(1))), &one[end..]);
            count += u64::from(place > 0);
            continue;
        }
        // Many lines: the same, or about one node after the other.
        let different = random.percent(60);
        for id in 0..times.min((24 << 20) / one.len().max(1)) {
            let mut line = line.clone();
            for key in ["node", "share"] {
                if different && line.get(key).is_some() {
                    line[key]["id"] = json!(id);
                }
            }
            text += &format!("{line}\n");
            count += 1;
        }
    }
    text += &match lines.last()?.get("claim") {
        Some(_) => json!({ "claim": { "lines": count, "bound": 0, "price": 1u64 << 40, "prices": [] } }),
        None => json!({ "end": count }),
    }
    .to_string();
    text.push('\n');
    let bytes = compress_to_vec(text.as_bytes(), CompressionLevel::Fastest);
    (bytes.len() < LONGEST).then_some(bytes)
}

/// A frame with the file and a byte that is repeated, somewhere.
fn compressed(bytes: &[u8], random: &mut Random) -> (&'static str, Vec<u8>) {
    let byte = random.pick(b"\n\n {[1,\"");
    let blocks = random.pick(&[1, 20, 200, 900]);
    let head = if random.percent(70) { bytes.len().min(500) } else { random.below(bytes.len().min(500)) };
    let cut = bytes[..head].iter().rposition(|&byte| byte == b'\n').map_or(head, |at| at + 1);
    let mut parts = vec![Block::Raw(&bytes[..cut])];
    parts.extend((0..blocks).map(|_| Block::Repeat(byte, 1 << 17)));
    if blocks < 200 {
        parts.push(Block::Raw(&bytes[cut..]));
    }
    let mut whole = frame(&parts);
    if whole.len() < LONGEST / 2 && random.percent(30) {
        // Many frames one after the other.
        let one = whole.clone();
        while whole.len() + one.len() < LONGEST {
            whole.extend(&one);
        }
    }
    whole.truncate(LONGEST - 1);
    (", repeated bytes in zstd", whole)
}

/// One rule for each layer, some of them polynomials.
fn rules(stage: &Stage, random: &mut Random) -> Vec<String> {
    let one = |random: &mut Random| {
        let base = random.pick(&["gcn", "mean", "sum+self", "identity", "gcn-self"]);
        if random.percent(50) {
            return base.to_string();
        }
        let degree = random.pick(&[0, 1, 2, 3, 8, 60, 400]);
        let mut coefficients = vec![if random.percent(70) { "0" } else { "1e-9" }; degree];
        coefficients.push(random.pick(&["1", "1e300", "1e-300", "0.1"]));
        format!("poly({base};{})", coefficients.join(","))
    };
    let first = one(random);
    stage.widths.iter().map(|_| if random.percent(60) { first.clone() } else { one(random) }).collect()
}

fn large(random: &mut Random) -> u64 {
    random.pick(&[0, 1, 2, 12, 1_000, 1_000_000, u64::MAX, 1 << 63])
}

fn budget(random: &mut Random) -> Value {
    let direction = random.pick(&["both", "both", "add", "remove"]);
    json!({ "global": large(random), "local": large(random), "direction": direction, "frozen_attributes": [] })
}

fn flip_header(stage: &Stage, random: &mut Random) -> Value {
    let (graph, model) = &stage.digests;
    let mut header = json!({ "version": random.pick(&[1, 2, 2]), "graph": graph, "model": model,
        "message_passing": rules(stage, random), "budget": budget(random), "classes": "predicted" });
    if random.percent(15) {
        let errors = vec![vec![large(random).min(1 << 31)]; stage.widths.len()];
        header["deployed"] = json!({ "precision": random.pick(&[24, 2, 53]), "operator_error": errors });
    }
    json!({ "header": header })
}

fn edge_header(stage: &Stage, random: &mut Random) -> Value {
    let (graph, model) = &stage.digests;
    let edges = json!({ "global": large(random), "local": large(random), "keep_one": random.percent(50) });
    let rule = |random: &mut Random| random.pick(&["gcn", "gcn", "mean", "sum+self", "gcn-self"]);
    json!({ "header": { "version": 3, "attack": "edge_removals", "graph": graph, "model": model,
        "message_passing": [rule(random), rule(random)], "edges": edges, "classes": "predicted" } })
}

fn collective_header(stage: &Stage, random: &mut Random) -> Value {
    let (graph, model) = &stage.digests;
    let mut header = json!({ "version": 1, "graph": graph, "model": model, "message_passing": rules(stage, random),
        "budget": budget(random), "classes": "predicted" });
    if random.percent(50) {
        header["attacked_nodes"] = json!(large(random));
    }
    json!({ "collective": header })
}

/// A node: the hub, or any.
fn node(stage: &Stage, random: &mut Random) -> usize {
    if random.percent(60) { 0 } else { random.below(stage.nodes) }
}

/// A number as the format has them, small or with a large exponent.
fn number(random: &mut Random) -> Value {
    match random.below(4) {
        0 => json!(random.between(0, 9)),
        1 => json!(format!("1p{}", random.pick(&[20_000, -20_000, 900, -1074, 1 << 20, -(1 << 20)]))),
        2 => json!(format!("{}p-{}", random.next() >> 11, random.below(2000))),
        _ => json!(format!("{}p{}", "9".repeat(1 + random.below(300)), random.between(-30_000, 30_000))),
    }
}

fn robust(stage: &Stage, id: usize, class: usize, tree: &[Value]) -> Value {
    let classes = stage.widths.last().copied().unwrap_or(2);
    let trees: Vec<Value> = (0..classes)
        .filter(|&other| other != class)
        .enumerate()
        .map(|(at, other)| json!({ "class": other, "tree": if at == 0 { tree.to_vec() } else { vec![json!({ "leaf": {} })] } }))
        .collect();
    json!({ "node": { "id": id, "class": class, "claim": { "robust": trees } } })
}

fn flip_line(stage: &Stage, random: &mut Random) -> Value {
    let id = node(stage, random);
    let class = random.below(stage.widths.last().copied().unwrap_or(2));
    let unit = |random: &mut Random| {
        let layer = 2 + random.below(stage.widths.len().max(2) - 1);
        (layer, node(stage, random), random.below(stage.widths[0]))
    };
    let list = |random: &mut Random, numbers: bool| -> Vec<Value> {
        let mut units: Vec<(usize, usize, usize)> = (0..random.below(30)).map(|_| unit(random)).collect();
        units.sort_unstable();
        units.dedup();
        let value = |random: &mut Random| if numbers { number(random) } else { json!(random.between(0, 1 << 20)) };
        units.into_iter().map(|(l, n, j)| json!([l, n, j, value(random)])).collect()
    };
    let leaf = |random: &mut Random| {
        if random.percent(50) {
            let mut leaf = json!({ "cap": random.percent(50) });
            leaf["e"] = json!(random.pick(&[-20, -1074, 900, -6]));
            if random.percent(50) {
                leaf["weight"] = json!(list(random, false));
            }
            if random.percent(50) {
                let units: Vec<Value> = (0..stage.widths[0].min(16))
                    .map(|j| json!([id, j, random.between(0, 1 << 20), random.between(-99, 99), [], []]))
                    .collect();
                leaf["envelope"] =
                    json!({ "e": random.pick(&[0, -10, 900, -1074]), "nodes": [], "flips": [], "units": units });
            }
            json!({ "leaf": leaf })
        } else {
            let units: Vec<Value> =
                (0..stage.widths[0].min(12)).map(|j| json!([id, j, number(random), number(random), [], []])).collect();
            let mut hints = json!({ "envelopes": units });
            if random.percent(50) {
                hints["slopes"] = json!(list(random, true));
            }
            if random.percent(30) {
                let lines: Vec<Value> =
                    (0..stage.widths[0].min(8)).map(|j| json!([id, j, number(random), number(random)])).collect();
                hints["lines"] = json!(lines);
            }
            if random.percent(30) {
                hints["grid"] = json!(random.pick(&[0i64, -1074, -100_000, 1 << 40, -(1 << 40)]));
            }
            if random.percent(30) {
                hints["price"] = json!([number(random), [[id, number(random)]]]);
            }
            json!({ "hints": hints })
        }
    };
    let mut tree = vec![leaf(random)];
    for _ in 0..random.below(12) {
        let split = match random.percent(50) {
            true => json!({ "flip": [node(stage, random), random.below(stage.attributes)] }),
            false => {
                let (l, n, j) = unit(random);
                json!({ "unit": [l, n, j] })
            }
        };
        tree.insert(0, split);
        tree.push(leaf(random));
    }
    robust(stage, id, class, &tree)
}

fn bounds_line(stage: &Stage, random: &mut Random) -> Value {
    let units: Vec<Value> = (0..stage.widths[0].min(6)).map(|j| json!([j, [{ "price": [1, []] }], [{}]])).collect();
    json!({ "bounds": { "layer": 3 + random.below(2), "node": node(stage, random), "units": units } })
}

fn edge_line(stage: &Stage, random: &mut Random) -> Value {
    let id = node(stage, random);
    let class = random.below(stage.widths.last().copied().unwrap_or(2));
    let leaf = |random: &mut Random| match random.below(4) {
        0 => json!({ "singles": {} }),
        1 => json!({ "prices": {} }),
        _ => {
            let mu: Vec<Value> = (0..1 + random.below(4)).map(|_| number(random)).collect();
            json!({ "prices": { "mu": mu } })
        }
    };
    let mut tree = vec![leaf(random)];
    for at in 0..random.below(20) {
        tree.insert(0, json!({ "edge": [0, 1 + at] }));
        tree.push(leaf(random));
    }
    let mut line = robust(stage, id, class, &tree);
    if let Some(trees) = line["node"]["claim"]["robust"].as_array_mut() {
        trees.iter_mut().skip(1).for_each(|one| one["tree"] = json!([{ "prices": {} }]));
    }
    line
}

fn share_line(stage: &Stage, random: &mut Random) -> Value {
    let class = random.below(stage.widths.last().copied().unwrap_or(2));
    let weight = random.pick(&[1 << 24, 1 << 23, 1]);
    let size = if random.percent(50) { (1 << 24) - weight } else { 0 };
    json!({ "share": { "id": node(stage, random), "class": class, "weight": weight, "size": size } })
}
