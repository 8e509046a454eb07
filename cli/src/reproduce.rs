//! `gcnproof reproduce`: published tables, computed again and set beside the published figures.

use std::path::PathBuf;
use std::time::Instant;

use clap::{Args, Subcommand};
use gcnproof::{Budget, LocalBudget, Operator};
use gcnproof_results::record::TableRecord;
use gcnproof_results::record::description::{Description, TableRun};
use gcnproof_train::evaluation::{evaluate, mean_largest_global};
use gcnproof_train::losses::Loss;
use gcnproof_train::published::published;
use gcnproof_train::settings::Settings;
use gcnproof_train::split::{Share, Split};
use gcnproof_train::trainer::Trainer;
use miette::{Result, miette};
use serde_json::{Value, json};

use super::input::GraphArguments;
use super::run::{Format, RunArguments, stopped};

/// Compute a published table again and print it beside the published figures.
#[derive(Args, Debug)]
pub struct Reproduce {
    #[command(subcommand)]
    table: Table,
}

#[derive(Subcommand, Debug)]
enum Table {
    Table1(Box<Table1>),
}

/// Train with every loss on every graph and split, and certify every node.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  gcnproof reproduce table1 --data graphs/ --out table1.jsonl
  gcnproof reproduce table1 --data graphs/ --out table1.jsonl --resume      (after an interruption)
  gcnproof reproduce table1 --data graphs/ --graphs citeseer --losses ce,rh-u --splits 1

The folder holds citeseer.npz, cora_ml.npz and pubmed.npz; what is missing is skipped and named.
Exit codes: 0 done, 2 wrong usage or input, 130 interrupted (resume with --resume).")]
pub struct Table1 {
    /// The folder with the graphs
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// Which graphs
    #[arg(long, value_name = "NAMES", value_delimiter = ',', default_value = "citeseer,cora_ml,pubmed")]
    graphs: Vec<String>,
    /// Which losses
    #[arg(long, value_name = "NAMES", value_delimiter = ',', default_value = "ce,rce,rh,rh-u")]
    losses: Vec<Loss>,
    /// Random splits of each graph, at most 1000
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=1000))]
    splits: u64,
    #[command(flatten)]
    run: RunArguments,
}

/// The budget of the published table.
const GLOBAL: usize = 12;
const LOCAL: LocalBudget = LocalBudget::Percent(1.0);
const SHARE: Share = Share::Percent(10.0);

impl Reproduce {
    /// Runs the command. Returns the exit code.
    pub fn execute(self) -> Result<u8> {
        match self.table {
            Table::Table1(table) => table.execute(),
        }
    }
}

/// One model to train.
struct Cell {
    graph: String,
    loss: Loss,
    seed: u64,
}

impl Table1 {
    fn execute(self) -> Result<u8> {
        self.run.prepare()?;
        let present: Vec<&String> = self.graphs.iter().filter(|name| self.path(name).exists()).collect();
        for name in self.graphs.iter().filter(|name| !present.contains(name)) {
            note!("note: {name} is skipped: {} does not exist", self.path(name).display());
        }
        if present.is_empty() {
            return Err(miette!(
                help = "the graphs are .npz files as `gcnproof inspect` reads them",
                "none of {} is in {}",
                self.graphs.join(", "),
                self.data.display()
            ));
        }
        // Split by split, so that an interrupted table is one of fewer splits.
        let mut cells = Vec::new();
        for seed in 1..=self.splits {
            for graph in &present {
                cells.extend(self.losses.iter().map(|&loss| Cell { graph: graph.to_string(), loss, seed }));
            }
        }
        let settings: Vec<Value> = self.losses.iter().map(|&loss| json!(Settings::new(loss, 0))).collect();
        let graphs = present.iter().map(|name| name.to_string()).collect();
        let description = Description::Table1(TableRun { graphs, settings });
        let keys: Vec<u64> = (0..cells.len() as u64).collect();
        let mut failure = None;
        let (rows, interrupted) = self.run.run().rows(
            TableRecord::SCHEMA,
            &description,
            &keys,
            |row: &TableRecord| row.cell,
            |open, done| {
                for &key in open {
                    match self.compute(key, &cells[key as usize]) {
                        Ok(Some(row)) => done(row),
                        Ok(None) => break,
                        Err(error) => {
                            failure = Some(error);
                            break;
                        }
                    }
                }
            },
        )?;
        if let Some(error) = failure {
            return Err(error);
        }
        match self.run.format {
            Format::Json => say!("{}", json!({ "run": description, "table": means(&rows), "rows": rows }))?,
            Format::Table => print_table(&means(&rows))?,
        }
        Ok(if interrupted { 130 } else { 0 })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.data.join(format!("{name}.npz"))
    }

    /// Trains and certifies one model; nothing if the run was interrupted.
    fn compute(&self, key: u64, cell: &Cell) -> Result<Option<TableRecord>> {
        let plain =
            GraphArguments { binarize: false, symmetrize: false, unweight: false, directed: false, real: false };
        let graph = plain.read(&self.path(&cell.graph))?;
        let budget = Budget::uniform(&graph, GLOBAL, LOCAL.flips(graph.attribute_count()));
        let split = Split::draw(&graph, SHARE, cell.seed)?;
        let start = Instant::now();
        let settings = Settings::new(cell.loss, cell.seed);
        let mut trainer = Trainer::new(&graph, &budget, &split, settings, &[Operator::Gcn])?;
        while trainer.step(false)?.is_some() {
            if stopped() {
                return Ok(None);
            }
        }
        let seconds = start.elapsed().as_secs_f64();
        let network = trainer.model();
        let evaluation = evaluate(&graph, &network, &budget, &split);
        let largest = mean_largest_global(&graph, &network, &budget);
        let row = TableRecord {
            cell: key,
            graph: cell.graph.clone(),
            loss: cell.loss.to_string(),
            seed: cell.seed,
            mean_largest_global: largest.paper,
            certified: evaluation.certified_by_paper,
            accuracy_labelled: evaluation.accuracy_labelled,
            accuracy_unlabelled: evaluation.accuracy_unlabelled,
            our_mean_largest_global: largest.best,
            our_certified: evaluation.certified_by_best,
            iterations: trainer.iteration() as u64,
            seconds,
        };
        Ok((!stopped()).then_some(row))
    }
}

/// One line per graph and loss: means over the splits that are there, beside what was published.
fn means(rows: &[TableRecord]) -> Vec<Value> {
    let mut lines: Vec<Value> = Vec::new();
    for row in rows {
        if lines.iter().any(|line| line["graph"] == row.graph && line["loss"] == row.loss) {
            continue;
        }
        let same: Vec<&TableRecord> = rows.iter().filter(|r| r.graph == row.graph && r.loss == row.loss).collect();
        let mean = |value: fn(&TableRecord) -> f64| same.iter().map(|r| value(r)).sum::<f64>() / same.len() as f64;
        let theirs = row.loss.parse().ok().and_then(|loss| published(&row.graph, loss));
        let ours = [
            ("mean_largest_global", mean(|r| r.mean_largest_global), theirs.map(|p| p.mean_largest_global)),
            ("certified", mean(|r| r.certified), theirs.map(|p| p.certified)),
            ("accuracy_labelled", mean(|r| r.accuracy_labelled), theirs.map(|p| p.accuracy_labelled)),
            (
                "accuracy_unlabelled",
                mean(|r| r.accuracy_unlabelled.unwrap_or(f64::NAN)),
                theirs.map(|p| p.accuracy_unlabelled),
            ),
            ("our_mean_largest_global", mean(|r| r.our_mean_largest_global), None),
            ("our_certified", mean(|r| r.our_certified), None),
            ("iterations", mean(|r| r.iterations as f64), None),
            ("seconds", mean(|r| r.seconds), None),
        ];
        let mut line = json!({ "graph": row.graph, "loss": row.loss, "splits": same.len() });
        for (name, value, published) in ours {
            line[name] = match published {
                Some(published) => json!({ "ours": value, "published": published }),
                None => json!(value),
            };
        }
        lines.push(line);
    }
    lines
}

fn print_table(lines: &[Value]) -> Result<()> {
    let pair = |cell: &Value, digits: usize| {
        let number = |x: &Value| x.as_f64().map_or("-".to_string(), |x| format!("{x:.digits$}"));
        if cell.is_object() {
            format!("{} ({})", number(&cell["ours"]), number(&cell["published"]))
        } else {
            number(cell)
        }
    };
    say!("Q = {GLOBAL}, q = 1 %, 10 % labelled, one hidden layer of 32; published figures in brackets\n")?;
    say!(
        "{:<10}{:<6}{:>7}{:>18}{:>15}{:>15}{:>15}{:>8}{:>8}{:>9}",
        "graph",
        "loss",
        "splits",
        "mean largest Q",
        "certified",
        "accuracy lab.",
        "unlabelled",
        "our Q",
        "our c.",
        "seconds"
    )?;
    for line in lines {
        say!(
            "{:<10}{:<6}{:>7}{:>18}{:>15}{:>15}{:>15}{:>8}{:>8}{:>9}",
            line["graph"].as_str().unwrap_or(""),
            line["loss"].as_str().unwrap_or(""),
            line["splits"].to_string(),
            pair(&line["mean_largest_global"], 2),
            pair(&line["certified"], 3),
            pair(&line["accuracy_labelled"], 3),
            pair(&line["accuracy_unlabelled"], 3),
            pair(&line["our_mean_largest_global"], 2),
            pair(&line["our_certified"], 3),
            pair(&line["seconds"], 0),
        )?;
    }
    say!(
        "\nmean largest Q and certified: by the published bound; our Q, our c.: the better of it and the anchored bound"
    )
}
