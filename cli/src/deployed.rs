//! Options for verdicts that hold for the network as it runs.

use clap::{Args, ValueEnum};
use gcnproof::internals::deployed::execution::precision;
use gcnproof::{Execution, Network};
use gcnproof_run::deployed::rounding_note;

/// The format that the network runs in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Deployment {
    /// IEEE binary32, any order of summation, fused or not
    Float32,
}

/// How the network runs.
#[derive(Args, Clone, Copy, Debug, Default)]
#[command(next_help_heading = "Deployment")]
pub struct DeployedArguments {
    /// Also decide what holds for every execution in this format, whatever the order of its sums (see
    /// docs/guarantee.md)
    #[arg(long, value_enum, value_name = "FORMAT", hide_short_help = true, conflicts_with = "edges")]
    deployed: Option<Deployment>,
    /// With --deployed: how far message-passing entries may be from ours, in units of the last place [default: 8 for
    /// rules such as gcn and mean, 0 for sum, identity and matrices of float32 numbers]
    #[arg(long, value_name = "ULPS", requires = "deployed", conflicts_with = "edges", hide_short_help = true)]
    operator_error: Option<u32>,
    /// With --deployed: subnormal numbers may be taken for zero
    #[arg(long, requires = "deployed", conflicts_with = "edges", hide_short_help = true)]
    flush_subnormals: bool,
    /// With --deployed: the unit roundoff of another format with float32's range, such as 2^-8 for bfloat16 [default:
    /// 2^-24]
    #[arg(long, value_name = "U", requires = "deployed", conflicts_with = "edges", hide_short_help = true, value_parser = precision)]
    unit_roundoff: Option<u32>,
}

impl DeployedArguments {
    /// What was asked for.
    pub fn execution(&self) -> Option<Execution> {
        self.deployed.map(|Deployment::Float32| Execution {
            precision: self.unit_roundoff.unwrap_or(Execution::FLOAT32.precision),
            operator_error: self.operator_error,
            flush_subnormals: self.flush_subnormals,
        })
    }
}

/// Says that weights are rounded when the network is deployed, where they are.
pub fn note_rounding(execution: Option<Execution>, network: &Network) {
    if let Some(told) = rounding_note(execution, network) {
        note!("{told}");
    }
}
