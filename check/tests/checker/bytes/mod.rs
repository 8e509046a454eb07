//! The seeds of the fuzzer with random mutations.

mod judge;

use crate::common::Random;

const SEEDS: [&[u8]; 3] = [
    include_bytes!("../../../fuzz/seeds/accepted"),
    include_bytes!("../../../fuzz/seeds/envelope"),
    include_bytes!("../../../fuzz/seeds/witness"),
];

fn mutate(bytes: &mut Vec<u8>, random: &mut Random) {
    let at = random.below(bytes.len().max(1));
    let end = (at + 1 + random.below(24)).min(bytes.len());
    match random.below(7) {
        // A digit, and so another id, level or class, is what the parser does not catch.
        0 | 1 => {
            if let Some(digit) = bytes[at..].iter_mut().find(|byte| byte.is_ascii_digit()) {
                *digit = b'0' + random.below(10) as u8;
            }
        }
        2 => bytes[0] = random.below(256) as u8,
        3 => drop(bytes.drain(at..end)),
        4 => {
            let part = bytes[at..end].to_vec();
            let to = random.below(bytes.len());
            bytes.splice(to..to, part);
        }
        5 => bytes.insert(at, random.below(256) as u8),
        _ => {
            let other = SEEDS[random.below(SEEDS.len())];
            let from = random.below(other.len());
            bytes.splice(at..end, other[from..].iter().take(64).copied());
        }
    }
}

#[test]
fn mutated_seeds_are_judged_alike_by_both_and_never_falsely() {
    let mut random = Random::new(41);
    for seed in SEEDS {
        judge::judge(seed);
    }
    for _ in 0..8_000 {
        let mut bytes = SEEDS[random.below(SEEDS.len())].to_vec();
        for _ in 0..=random.below(4) {
            if !bytes.is_empty() {
                mutate(&mut bytes, &mut random);
            }
        }
        judge::judge(&bytes);
    }
}
