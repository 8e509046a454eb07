//! Writes a proof of every verdict on some nodes of Cora, and lets the checker judge it. The checker shares no code
//! with the certifier.
//!
//! `cargo run --release --example proofs`

use gcnproof::{Budget, Certifier, Effort, Limits, Operator, Problem, embedded, proof};
use gcnproof_check::format::{Convention, Line};
use gcnproof_check::{Checker, Statement};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (graph, network) = embedded::cora();
    let budget = Budget::uniform(&graph, 12, 14);
    // What all proofs of a file speak of: graph, network and budget by their digests and numbers.
    let header = proof::header((graph.digest(), ""), (&network, &[Operator::Gcn]), &budget, Convention::Predicted);
    let (file, model) = (graph.file(), proof::model_file(&network, ""));
    let statement = Statement::new(&file, &model, &header, &[])?;
    let checker = Checker::new(&statement, false);

    let problem = Problem::new(graph, network, budget)?;
    let certifier = Certifier::builder(problem).effort(Effort::Complete(Limits::default())).proofs(true).build();
    let (mut bytes, mut proved) = (0, 0);
    for result in certifier.certify(0..100)? {
        match result.proof_line(&checker).into_line() {
            Line::Node(proof) => {
                bytes += serde_json::to_string(&proof)?.len();
                // What a stranger does who was given the line.
                checker.check(&proof).map_err(|fault| fault.reason.to_string())?;
                proved += 1;
            }
            line => println!("node {}: no proof: {line:?}", result.node),
        }
    }
    println!("{proved} of 100 verdicts are proved in {bytes} bytes, and the checker accepts every proof");
    Ok(())
}
