//! Radii that a run of `gcnproof radius` found, as what is known of single nodes; those of another run are refused.

use std::collections::BTreeMap;
use std::path::Path;

use gcnproof::internals::collective::base::Base;
use gcnproof_results::Sidecar;
use gcnproof_results::record::RadiusRecord;
use gcnproof_results::record::description::{BudgetRecord, Description, Identity};
use miette::{Report, Result, miette};
use serde_json::Value;

/// Radii, and what the run was that found them.
#[derive(Clone, Debug)]
pub struct KnownRadii {
    /// What messages call them: the file.
    name: String,
    /// The description of the run.
    run: Value,
    rows: Vec<RadiusRecord>,
}

impl KnownRadii {
    /// Rows in memory, with the description of their run; `name` is what messages call them.
    pub fn new(name: &str, run: Value, rows: Vec<RadiusRecord>) -> KnownRadii {
        KnownRadii { name: name.to_owned(), run, rows }
    }

    /// Reads a file.
    ///
    /// # Errors
    /// If it cannot be read, or is not the result of `gcnproof radius`.
    pub fn read(path: &Path) -> Result<KnownRadii> {
        let name = path.display().to_string();
        if !path.exists() {
            return Err(miette!(
                help = "check the name, or leave --radii out: what is needed is then found in this run",
                "{name}: there is no such file"
            ));
        }
        let run = Sidecar::load(path)?.map_or(Value::Null, |sidecar| sidecar.fingerprint);
        match Description::read(&run) {
            Ok(Description::Radius(_)) => {}
            Ok(Description::RadiusEdges(_)) => {
                return Err(miette!(
                    help = "give radii of flips (`gcnproof radius` without --edges), or leave --radii out",
                    "{name}: the radii are numbers of changed edges, and one attack flips attributes"
                ));
            }
            Ok(_) => {
                let command = run["command"].as_str().and_then(|command| command.split(' ').next()).unwrap_or_default();
                return Err(miette!(
                    help = "give a file that `gcnproof radius` wrote, or leave --radii out",
                    "{name}: holds results of `gcnproof {command}`, and radii are meant"
                ));
            }
            Err(_) => return Err(unknown(&name)),
        }
        Ok(KnownRadii { name, run, rows: gcnproof_results::read(path, RadiusRecord::SCHEMA)? })
    }

    /// What they say of these nodes, under this local budget.
    ///
    /// # Errors
    /// If they are of another graph, model or budget, or a node has none.
    pub fn bases(self, identity: &Identity, budget: &BudgetRecord, nodes: &[usize]) -> Result<Vec<Base>> {
        let name = &self.name;
        let Ok(Description::Radius(run)) = Description::read(&self.run) else { return Err(unknown(name)) };
        let differences = [
            ("graph", run.input.graph != identity.graph),
            ("model", run.input.model != identity.model),
            ("message passing", run.input.message_passing != identity.message_passing),
            ("local budget or of other flips", run.budget != *budget),
        ];
        if let Some((what, _)) = differences.into_iter().find(|(_, differ)| *differ) {
            return Err(miette!(
                help = "give radii of this graph and model, with the same local budget and the same flips permitted, or leave --radii out",
                "{name}: the radii are of another {what}"
            ));
        }
        let mut by_node: BTreeMap<u64, RadiusRecord> = self.rows.into_iter().map(|row| (row.node, row)).collect();
        let count = |q: Option<u64>| q.map(|q| usize::try_from(q).unwrap_or(usize::MAX));
        let base = |&node: &usize| match by_node.remove(&(node as u64)) {
            Some(row) => Ok(Base::of_radius(node, count(row.certified), count(row.attacked), row.witness)),
            None => Err(miette!(
                help = "let the run of `gcnproof radius` finish (--resume), or ask for the same --nodes",
                "{name}: there is no radius of node {node}"
            )),
        };
        nodes.iter().map(base).collect()
    }
}

fn unknown(name: &str) -> Report {
    miette!(
        help = "give a file that a run of `gcnproof radius` wrote, with its .run.json beside it",
        "{name}: is not known to be the result of `gcnproof radius`"
    )
}
