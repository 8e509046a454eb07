//! The files that we write say what we mean: other readers get the same optimum out of them.
use crate::common;

use std::path::{Path, PathBuf};
use std::process::Command;

use common::{close, counterexample, linear};
use gcnproof_verify::solver::{Highs, Limits, Solver};
use gcnproof_verify::{Form, Program, export, network, random, relaxation};

/// The command `highs`, as install-highs.sh leaves it, or the one in the PATH.
fn highs_command() -> Option<PathBuf> {
    let ours = Path::new(env!("CARGO_MANIFEST_DIR")).join("../.highs/bin/highs");
    [ours, PathBuf::from("highs")].into_iter().find(|path| Command::new(path).arg("--version").output().is_ok())
}

/// Writes the program in both formats, has HiGHS' own readers read them, and returns the two objectives.
fn read_back(command: &Path, program: &Program) -> [f64; 2] {
    let folder = tempfile::tempdir().unwrap();
    [("lp", export::lp(program)), ("mps", export::mps(program))].map(|(ending, text)| {
        let (model, solution) = (folder.path().join(format!("model.{ending}")), folder.path().join("solution"));
        let options = folder.path().join("options");
        std::fs::write(&model, text).unwrap();
        std::fs::write(&options, "mip_rel_gap = 0\nthreads = 1\nparallel = off\n").unwrap();
        let run = Command::new(command)
            .arg("--options_file")
            .arg(&options)
            .arg("--solution_file")
            .arg(&solution)
            .arg(&model)
            .current_dir(folder.path())
            .output()
            .unwrap();
        let text = std::fs::read_to_string(&solution)
            .unwrap_or_else(|_| panic!("no solution: {}", String::from_utf8_lossy(&run.stdout)));
        assert!(text.contains("Optimal"), "{text}");
        let line = text.lines().find_map(|line| line.strip_prefix("Objective ")).expect("an objective");
        line.trim().parse().unwrap()
    })
}

#[test]
fn highs_reads_both_formats_back_to_the_same_optimum() {
    let Some(command) = highs_command() else {
        eprintln!("skipped: there is no `highs` command (run verify/install-highs.sh)");
        return;
    };
    let mut programs = vec![];
    let plain = [random::instance(11, 3), random::instance(12, 4), random::instance(13, 5)];
    let terms = [random::network_of_terms(11, 3), random::network_of_terms(12, 4)];
    for instance in [counterexample(), linear()].into_iter().chain(plain).chain(terms) {
        programs.push(relaxation::linear_program(&instance, Form::Appendix).unwrap().program);
        programs.push(relaxation::integer_program(&instance, Form::Appendix).unwrap().program);
        programs.push(network::mixed_program(&instance, Form::Appendix).unwrap().program);
    }
    programs.push(awkward());
    for program in programs {
        let ours = Highs.solve(&program, &Limits::default()).optimum().unwrap();
        for theirs in read_back(&command, &program) {
            close(theirs, ours, 1e-6);
        }
    }
}

#[test]
fn minilp_reads_the_mps_of_a_linear_program() {
    for seed in 0..100 {
        let program = relaxation::linear_program(&random::instance(seed, 3), Form::Appendix).unwrap().program;
        let ours = Highs.solve(&program, &Limits::default()).optimum().unwrap();
        let text = export::mps(&program);
        let file = minilp::MpsFile::parse(text.as_bytes(), minilp::OptimizationDirection::Minimize).unwrap();
        assert_eq!(file.variables.len(), program.variables.len());
        close(file.problem.solve().unwrap().objective(), ours, 1e-6);
    }
}

/// Names that no format allows, a constant, a range, an empty row, a free row, tiny and huge numbers, a negative box.
fn awkward() -> Program {
    let mut program = Program { offset: -2.5, ..Program::default() };
    for (name, lower, upper, cost) in [
        ("e12", -3.0, -1.0, 1.0),
        ("free", 0.0, 1e7, -1e-7),
        ("x y", 0.0, 4.0, 0.1 + 0.2),
        ("x y", 0.0, 4.0, -1.0),
        ("column_2", -1e-5, 1e-5, 1.0),
        ("", 0.0, 5.0, -1.0),
        ("constant_one", 2.0, 2.0, 1.0),
    ] {
        let at = program.add_variable(name, lower, upper);
        program.variables[at].objective = cost;
    }
    program.variables[5].integer = true;
    program.add_row("objective", -1.0, 2.5, [(3, 1.0), (5, 1.0)]);
    program.add_row("obj: <=", f64::NEG_INFINITY, 3.5, [(5, 1.0), (0, -1e-3)]);
    program.add_row("nothing_0", f64::NEG_INFINITY, f64::INFINITY, [(1, 1.0)]);
    program.add_row("empty_0", -1.0, f64::INFINITY, []);
    program
}

#[test]
fn names_are_legal_distinct_and_otherwise_kept() {
    let text = export::lp(&awkward());
    assert!(!text.contains("e12") && !text.contains("x y") && !text.contains("free"));
    assert!(text.contains("constant_one") && text.contains("constant_one_"), "a taken name gets a tail:\n{text}");
    let text = export::lp(&network::mixed_program(&counterexample(), Form::Appendix).unwrap().program);
    let names = ["x_0_0", "change_0_0", "hhat_2_0_1", "h_2_0_1", "on_2_0_0", "gamma_plus_0_0", "gamma_minus_0_0"];
    for name in names.iter().chain(&["local_eta_0", "global_rho", "Phi_2_0_0", "Phi_3_0_1", "mu_2_0_0"]) {
        assert!(text.contains(name), "{name} is missing from\n{text}");
    }
    let text = export::mps(&relaxation::linear_program(&counterexample(), Form::Appendix).unwrap().program);
    assert!(text.contains("lambda_2_0_1"));
    assert!(text.lines().all(|line| line.len() < 255));
}

#[test]
fn a_program_of_zero_columns_can_be_written() {
    let program = Program { offset: 1.5, ..Program::default() };
    if let Some(command) = highs_command() {
        for objective in read_back(&command, &program) {
            close(objective, 1.5, 0.0);
        }
    }
    assert!(export::mps(&Program::default()).contains("constant_one"));
}
