//! `gcnproof export`: the LP, ILP or MILP of one class pair as a file for any other solver.

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use gcnproof::laboratory::instance::instance_of;
use gcnproof_verify::{Form, InstanceError, Model, export, network, relaxation};
use miette::{IntoDiagnostic, Result, WrapErr, miette};

use super::input::{Input, LocalArguments};
use super::run::certifier;

/// Write the LP, ILP or MILP of a node and a class, for any other solver to read.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  gcnproof export cora.npz gcn.safetensors -Q 12 -q 1% --node 5 --class 0 --out pair.mps
  gcnproof export graph.npz model.npz -Q 1 --node 0 --class 1 --program milp | less

The optimum is the worst margin of the predicted class over CLASS: m̂ (lp), m̃ (ilp) or m (milp). Variables and rows are named
as in the paper's appendix; see verify/src/formulation.rs.")]
pub struct Export {
    #[command(flatten)]
    input: Input,
    /// Flips in all
    #[arg(short = 'Q', long = "global", value_name = "N", help_heading = "Budget")]
    global: usize,
    #[command(flatten)]
    local: LocalArguments,
    /// The target
    #[arg(long, value_name = "ID")]
    node: usize,
    /// The class that the predicted (or --reference) class is compared with
    #[arg(long, value_name = "K")]
    class: usize,
    /// The class that is to be kept [default: the predicted one]
    #[arg(long, value_name = "K")]
    reference: Option<usize>,
    /// Which program
    #[arg(long, value_enum, default_value = "lp")]
    program: ProgramChoice,
    /// How the attacker is written; the optimum is the same
    #[arg(long, value_enum, default_value = "appendix")]
    form: FormChoice,
    /// A file ending in .lp or .mps [default: .lp to standard output]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ProgramChoice {
    /// Relaxed attributes, relaxed ReLU
    Lp,
    /// Binary attributes, relaxed ReLU
    Ilp,
    /// The true network
    Milp,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum FormChoice {
    /// With ε̂, as in the paper's appendix
    Appendix,
    /// Without ε̂: half the variables
    Compact,
}

impl Export {
    /// Runs the command. Returns the exit code.
    pub fn execute(self) -> Result<u8> {
        let mps = match self.out.as_ref().map(|path| path.extension().and_then(|e| e.to_str()).map(str::to_lowercase)) {
            None => false,
            Some(Some(extension)) if extension == "lp" => false,
            Some(Some(extension)) if extension == "mps" => true,
            Some(_) => {
                return Err(miette!(
                    help = "end the name in .lp (CPLEX LP format) or .mps (free MPS)",
                    "--out {}: the format cannot be told from the name",
                    self.out.as_deref().unwrap_or_else(|| "".as_ref()).display()
                ));
            }
        };
        let (graph, network, _) = self.input.read()?;
        let (budget, _) = self.local.budget(&graph, self.global)?;
        if self.node >= graph.node_count() {
            return Err(miette!("--node {}: the graph has nodes 0 to {}", self.node, graph.node_count() - 1));
        }
        let certifier = certifier(&graph, &network, budget).build();
        let reference = self.reference.unwrap_or_else(|| certifier.predicted(self.node));
        for class in [reference, self.class] {
            if class >= network.class_count() {
                return Err(miette!(
                    "there is no class {class}: the model has classes 0 to {}",
                    network.class_count() - 1
                ));
            }
        }
        if reference == self.class {
            return Err(miette!(
                help = "name another --class, or another --reference",
                "class {} is the one that node {} has: a margin needs two classes",
                self.class,
                self.node
            ));
        }
        let (instance, nodes) = instance_of(certifier.prepared(), self.node, reference, self.class);
        let form = match self.form {
            FormChoice::Appendix => Form::Appendix,
            FormChoice::Compact => Form::Compact,
        };
        let built: Result<Model, InstanceError> = match self.program {
            ProgramChoice::Lp => relaxation::linear_program(&instance, form),
            ProgramChoice::Ilp => relaxation::integer_program(&instance, form),
            ProgramChoice::Milp => network::mixed_program(&instance, form),
        };
        let program = built.into_diagnostic().wrap_err("this class pair cannot be written as a program")?.program;
        let text = if mps { export::mps(&program) } else { export::lp(&program) };
        match &self.out {
            Some(path) => {
                std::fs::write(path, text).into_diagnostic().wrap_err_with(|| path.display().to_string())?;
                eprintln!(
                    "{}: {} variables, {} rows, {} coefficients; class {reference} against {} at node {}",
                    path.display(),
                    program.variables.len(),
                    program.rows.len(),
                    program.nonzeros(),
                    self.class,
                    self.node
                );
                eprintln!("x_i_d is attribute d of the i-th of these nodes: {nodes:?}");
            }
            // A reader that has seen enough (head, less) closes the pipe: that is no error.
            None => drop(std::io::stdout().write_all(text.as_bytes())),
        }
        Ok(0)
    }
}
