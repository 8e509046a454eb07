//! Checkpoints: the file from which an interrupted training run is resumed, bit for bit.
//!
//! One line of JSON (format, what the run is, where it stands), then the parameters, Adam's means and Adam's squares as
//! little-endian f64, bit for bit. Random numbers are functions of the seed and the iteration, so nothing else is
//! needed.

use std::path::Path;

use gcnproof::internals::problem::network::Layer;
use gcnproof_results::record::description::BudgetRecord;
use gcnproof_results::replace;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::error::TrainError;
use super::schedule::Progress;
use super::settings::Settings;
use super::trainer::Trainer;

const FORMAT: &str = "gcnproof training checkpoint 1";

/// What determines a training run: a checkpoint of another one is refused.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TrainingRun {
    /// Digest of the graph.
    pub graph: String,
    /// `Q`.
    pub global: usize,
    /// The rest of the budget.
    pub budget: BudgetRecord,
    /// The nodes whose labels are used.
    pub labelled: Vec<u32>,
    /// One rule for all layers, or one per layer.
    pub message_passing: Vec<String>,
    /// Everything else.
    pub settings: Settings,
}

#[derive(Serialize, Deserialize)]
struct CheckpointHeader {
    format: String,
    /// A [`TrainingRun`].
    run: Value,
    progress: Progress,
    steps: u64,
    numbers: usize,
}

impl Trainer<'_> {
    /// Writes where the run stands; at every instant the file holds one whole checkpoint.
    pub fn save(&self, path: &Path, run: &impl Serialize) -> Result<(), TrainError> {
        let numbers: Vec<f64> = self.numbers().into_iter().flatten().copied().collect();
        let header = CheckpointHeader {
            format: FORMAT.into(),
            run: serde_json::to_value(run).unwrap_or_default(),
            progress: self.progress,
            steps: self.adam.steps,
            numbers: numbers.len(),
        };
        let mut bytes = serde_json::to_vec(&header).unwrap_or_default();
        bytes.push(b'\n');
        bytes.extend(numbers.iter().flat_map(|x| x.to_le_bytes()));
        Ok(replace(path, &bytes)?)
    }

    /// Continues an interrupted run.
    pub fn load(&mut self, path: &Path, run: &impl Serialize) -> Result<(), TrainError> {
        let refuse = |problem: String, remedy: &'static str| TrainError::Checkpoint {
            file: path.display().to_string(),
            problem,
            remedy,
        };
        let again = "start again with --force in the place of --resume";
        let bytes = std::fs::read(path).map_err(|error| refuse(error.to_string(), "start again without --resume"))?;
        let damaged = || refuse("it is not a whole checkpoint".into(), again);
        let end = bytes.iter().position(|&b| b == b'\n').ok_or_else(damaged)?;
        let header: CheckpointHeader = serde_json::from_slice(&bytes[..end]).map_err(|_| damaged())?;
        if header.format != FORMAT {
            return Err(damaged());
        }
        let run = serde_json::to_value(run).unwrap_or_default();
        // What was said comes before what follows from it: the layers decide about other settings, and a seed also
        // decides which nodes are labelled.
        let (theirs, ours) = (&header.run["settings"], &run["settings"]);
        let network = ["kind", "skip"].into_iter().find_map(|name| first_difference(name, &theirs[name], &ours[name]));
        let difference = network.or_else(|| first_difference("settings", theirs, ours));
        if let Some(difference) = difference.or_else(|| first_difference("run", &header.run, &run)) {
            let remedy = "give the same arguments as the run that wrote it, or start again with --force in the place of --resume";
            return Err(refuse(format!("it belongs to another run: {difference}"), remedy));
        }
        let numbers: Vec<f64> = bytes[end + 1..]
            .chunks_exact(8)
            .map(|chunk| chunk.iter().rev().fold(0u64, |bits, &b| bits << 8 | u64::from(b)))
            .map(f64::from_bits)
            .collect();
        let wanted: usize = self.numbers().iter().map(|values| values.len()).sum();
        let whole = bytes.len() - end - 1 == 8 * wanted && header.numbers == wanted;
        if !whole || numbers.iter().any(|x| !x.is_finite()) {
            return Err(damaged());
        }
        let mut rest = numbers.as_slice();
        for values in self.numbers_mut() {
            let (first, others) = rest.split_at(values.len());
            values.copy_from_slice(first);
            rest = others;
        }
        self.progress = header.progress;
        self.adam.steps = header.steps;
        Ok(())
    }

    /// All numbers of the state, in the order of the file.
    fn numbers(&self) -> Vec<&[f64]> {
        let layers = self.network.layers().iter().flat_map(|layer| [layer.weight.values(), layer.bias.values()]);
        let means = [&self.adam.mean, &self.adam.square];
        let means = means.into_iter().flat_map(|g| g.weight.iter().chain(&g.bias).map(|values| &values[..]));
        layers.chain(means).collect()
    }

    fn numbers_mut(&mut self) -> Vec<&mut [f64]> {
        let layers = self.network.layers_mut().iter_mut();
        let layers = layers.flat_map(|Layer { weight, bias, .. }| [weight.values_mut(), bias.values_mut()]);
        let means = [&mut self.adam.mean, &mut self.adam.square].into_iter();
        let means = means.flat_map(|g| g.weight.iter_mut().chain(&mut g.bias).map(|values| &mut values[..]));
        layers.chain(means).collect()
    }
}

/// The first field in which two descriptions of a run differ, in the words of the command line.
fn first_difference(name: &str, theirs: &Value, ours: &Value) -> Option<String> {
    if theirs == ours {
        return None;
    }
    if let (Some(x), Some(y)) = (theirs.as_object(), ours.as_object()) {
        let new = y.keys().filter(|key| !x.contains_key(*key));
        return x.keys().chain(new).find_map(|key| first_difference(key, &theirs[key], &ours[key]));
    }
    let option = match name {
        "graph" => return Some("the graph is another one".into()),
        "labelled" => return Some("other nodes are labelled (--split, --labelled)".into()),
        "local" => "-q, --local-file or --freeze-nodes".into(),
        "frozen_attributes" => return Some("--freeze-attributes".into()),
        "global" => "-Q".into(),
        "direction" => "--flips".into(),
        "layers" => "--depth".into(),
        "kind" => "--layers".into(),
        name => format!("--{}", name.replace('_', "-")),
    };
    // What is not said of a network is what plain GCNs have.
    let [theirs, ours] = [theirs, ours].map(|value| match (name, value) {
        ("kind", Value::Null) => "gcn".into(),
        ("skip", Value::Null) => false.into(),
        _ => value.clone(),
    });
    Some(match theirs.is_array() || ours.is_array() {
        true => format!("{option} has changed"),
        false => format!("{option} {theirs} there, {ours} now").replace('"', ""),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::losses::Loss;
    use gcnproof::internals::problem::budget::Direction;
    use gcnproof_results::record::description::LocalRecord;

    /// Checkpoints that stand on disks hold this, to the letter.
    #[test]
    fn a_run_is_written_as_before() {
        let (local, frozen_attributes) = (LocalRecord::Uniform(14), vec![]);
        let settings = Settings::new(Loss::Ce, 1);
        let run = TrainingRun {
            graph: "g".into(),
            global: 12,
            budget: BudgetRecord { global: None, local, direction: Direction::Both, frozen_attributes, ranges: None },
            labelled: vec![1, 5],
            message_passing: vec!["gcn".into()],
            settings: settings.clone(),
        };
        let before = json!({
            "graph": "g", "global": 12, "budget": { "local": 14, "direction": "both", "frozen_attributes": [] },
            "labelled": [1, 5], "message_passing": ["gcn"], "settings": settings,
        });
        assert_eq!(json!(run), before);
        // What plain GCNs do not need is not said of them.
        let names: Vec<String> = before["settings"].as_object().unwrap().keys().cloned().collect();
        assert!(!names.contains(&"kind".into()) && !names.contains(&"skip".into()), "{names:?}");
    }
}
