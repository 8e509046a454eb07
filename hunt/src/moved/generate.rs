//! Cases by chance: the chains of the area of ranges, whose truth is known, and described networks whose layers read
//! any earlier ones.

use gcnproof::{Execution, Ranges};
use gcnproof_files::Normalisation;

use crate::case::Case;
use crate::moved::case::{MovedCase, without_chain};
use crate::random::Random;
use crate::ranges::case::RangeCase;
use crate::ranges::generate::generate as chains;
use crate::terms::generate::{Numbers, generate as described};

/// The case of a seed and a number.
///
/// # Errors
/// If the program refuses a described network.
pub fn generate(seed: u64, number: u64) -> Result<MovedCase, String> {
    let random = &mut Random::new(seed ^ 0x3a7e, number);
    let execution = execution(random);
    if random.percent(60) {
        let (chain, _) = chains(seed ^ 0x3a7e, number);
        if let Ok(case) = MovedCase::of_chain(chain, execution) {
            return Ok(case);
        }
    }
    let network = described(seed ^ 0x3a7e, number, 1, Numbers::Float32, Normalisation::None, false)?;
    Ok(MovedCase::of_terms(network, execution, |base| numbers(base, random)))
}

/// How a network runs: mostly in binary32, as other areas have it; also with other significands.
pub fn execution(random: &mut Random) -> Execution {
    Execution {
        precision: random.pick(&[24, 24, 24, 24, 24, 24, 8, 11, 16, 53]),
        operator_error: random.percent(25).then(|| random.pick(&[0, 1, 8, 16])),
        flush_subnormals: random.percent(20),
    }
}

/// Numbers in the place of the attributes of a case, their ranges and a budget.
fn numbers(base: &Case, random: &mut Random) -> RangeCase {
    let (nodes, columns) = (base.nodes(), base.attributes());
    let scale = random.pick(&[1.0, 1.0, 1.0, 1e-3, 100.0, 1e-39]);
    let (single, zeros) = (random.percent(60), random.pick(&[0, 20, 50]));
    let mut number = || {
        let x = if random.percent(zeros) { 0.0 } else { scale * (3.0 * random.unit() - 1.5) };
        if single { f64::from(x as f32) } else { x }
    };
    let values: Vec<Vec<f64>> = (0..nodes).map(|_| (0..columns).map(|_| number()).collect()).collect();
    let ranges = match random.percent(50) {
        true => Ranges::Ball(scale * random.pick(&[0.0, 1e-7, 0.01, 0.3, 1.0])),
        false => {
            let column = |d: usize| values.iter().map(move |row| row[d]);
            let beyond = scale * random.pick(&[0.0, 1e-6, 0.1]);
            Ranges::Between {
                low: (0..columns).map(|d| column(d).fold(f64::INFINITY, f64::min) - beyond).collect(),
                high: (0..columns).map(|d| column(d).fold(f64::NEG_INFINITY, f64::max) + beyond).collect(),
            }
        }
    };
    let local = (0..nodes).map(|_| random.pick(&[0, 1, 1, 2, 1_000])).collect();
    let frozen = (0..columns as u32).filter(|_| random.percent(8)).collect();
    RangeCase { changes: without_chain(base), values, ranges, global: random.pick(&[0, 1, 1, 2, 3]), local, frozen }
}
