//! `gcnproof export`: the LP, ILP or MILP of one class pair as a file for any other solver.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use gcnproof::internals::problem::slice::Slice;
use gcnproof_laboratory::instance::instance_of;
use gcnproof_verify::{Form, InstanceError, Model, Program, export, network, relaxation};
use miette::{IntoDiagnostic, Result, WrapErr, miette};

use super::input::{Input, LocalArguments, flips};
use super::run::certifier;

/// Write the LP, ILP or MILP of a node and a class, for any other solver to read.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  gcnproof export cora.npz gcn.safetensors -Q 12 -q 1% --node 5 --class 0 --out pair.mps
  gcnproof export graph.npz model.npz -Q 1 --node 0 --class 1 --program milp | less

The optimum is the worst margin of the predicted class over CLASS: m̂ (lp), m̃ (ilp) or m (milp). Variables and rows are named
as in the paper's appendix; comments at the head of the file say what they stand for (docs/laboratory.md).

Exit codes: 0 done, 2 wrong usage or input.")]
pub struct Export {
    #[command(flatten)]
    input: Input,
    /// Flips in all
    #[arg(short = 'Q', long = "global", value_name = "N", value_parser = flips, help_heading = "Budget")]
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
    /// Overwrite what is there
    #[arg(long, requires = "out")]
    force: bool,
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
        if let Some(path) = self.out.as_ref().filter(|path| !self.force && taken(path)) {
            return Err(miette!(
                help = "choose another --out, or overwrite it by --force",
                "{}: exists already",
                path.display()
            ));
        }
        let (graph, network, _) = self.input.read()?;
        let (budget, _) = self.local.budget(&graph, self.global)?;
        if self.node >= graph.target_count() {
            let targets = if graph.batch().is_some() { "graphs" } else { "nodes" };
            let last = graph.target_count() - 1;
            return Err(miette!(help = "ids run from 0", "--node {}: there are {targets} 0 to {last}", self.node));
        }
        if graph.normalisation().is_some() {
            return Err(miette!(
                help = "--binarize reads the attributes as 0 and 1, which is another problem",
                "the rows of the attributes are divided by their sums, and programs are written for 0/1 attributes only"
            ));
        }
        if graph.categories().is_some() {
            return Err(miette!(
                help = "`certify` decides such graphs, and `check` its proofs",
                "the attributes of the graph are categories, and programs are written for 0/1 attributes only"
            ));
        }
        let certifier = certifier(&graph, &network, budget).build();
        let reference = self.reference.unwrap_or_else(|| certifier.predicted(self.node));
        for class in [reference, self.class] {
            if class >= network.class_count() {
                return Err(miette!(
                    help = "classes are numbered from 0",
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
        let (instance, _) = instance_of(certifier.prepared(), self.node, reference, self.class);
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
        let pair = format!("class {reference} against {} at node {}", self.class, self.node);
        let mut slice = Slice::default();
        slice.cut(&network, network.depth(), self.node);
        let lists: Vec<Vec<u32>> = (1..=network.depth()).map(|l| slice.nodes(l).to_vec()).collect();
        let head = meaning(&pair, &program, &lists, if mps { '*' } else { '\\' });
        let text = head + &if mps { export::mps(&program) } else { export::lp(&program) };
        match &self.out {
            Some(path) => {
                std::fs::write(path, text).map_err(|error| {
                    miette!(
                        help = "check that the folder exists, that you may write there, and that the disk has room",
                        "{}: cannot be written: {error}",
                        path.display()
                    )
                })?;
                note!(
                    "{}: {} variables, {} rows, {} coefficients; {pair}",
                    path.display(),
                    program.variables.len(),
                    program.rows.len(),
                    program.nonzeros(),
                );
            }
            None => put!("{text}")?,
        }
        Ok(0)
    }
}

/// Is something there that would be lost?
fn taken(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|found| found.is_dir() || found.is_file() && found.len() > 0)
}

/// What the beginnings of names stand for, of variables and of rows.
const MEANINGS: [(&str, &str); 14] = [
    ("x_", "x_i_d: attribute d of the i-th node of representation 1 after the attack (i from 0, lists below)"),
    ("change_", "change_i_d: by how much the attack changes it"),
    ("hhat_", "hhat_l_i_j: input of unit j of the i-th node of representation l"),
    ("h_", "h_l_i_j: output of that unit"),
    ("on_", "on_l_i_j: is that unit active?"),
    ("gamma_plus_", "rows gamma_plus_i_d, gamma_minus_i_d: change_i_d is no smaller than the change of x_i_d"),
    ("local_eta_", "rows local_eta_i: the local budget of the i-th node of representation 1"),
    ("global_rho", "row global_rho: the global budget"),
    ("Phi_", "rows Phi_l_i_j: hhat_l_i_j is what the layer before makes it"),
    ("mu_", "rows mu_l_i_j: an output is no smaller than its input"),
    ("lambda_", "rows lambda_l_i_j: an output is not above the chord of ReLU"),
    ("off_", "rows off_l_i_j: a unit that is not active has output 0"),
    ("linear_", "rows linear_l_i_j: the output of an active unit is its input"),
    ("anchor_", "rows anchor_l_i_j: the anchored bound of that unit"),
];

/// What the names in the file stand for, as comments: the numbers in them are places in lists that the file would not
/// have. `lists` are the nodes of representations 1, 2, ….
fn meaning(pair: &str, program: &Program, lists: &[Vec<u32>], mark: char) -> String {
    let mut text = String::new();
    let mut comment = |line: &str| {
        let _ = writeln!(text, "{mark} {line}");
    };
    comment(&format!("gcnproof export: the worst margin of {pair}"));
    let names = program.variables.iter().map(|variable| &variable.name).chain(program.rows.iter().map(|row| &row.name));
    for (beginning, words) in MEANINGS {
        if names.clone().any(|name| name.starts_with(beginning)) {
            comment(words);
        }
    }
    for (at, nodes) in lists.iter().enumerate() {
        comment(&format!("nodes of representation {}, as i=id:", at + 1));
        for (row, line) in nodes.chunks(10).enumerate() {
            let named: Vec<String> = line.iter().zip(10 * row..).map(|(node, i)| format!("{i}={node}")).collect();
            comment(&format!("  {}", named.join(" ")));
        }
    }
    text
}
