//! The networks of the results: they say what each flip contributes. A report is made without them, too.

use std::path::PathBuf;

use gcnproof::internals::problem::network::{Network, Operator};
use gcnproof::proof::rule_name;
use gcnproof_files::{ModelFile, read_model};
use gcnproof_results::record::description::Identity;

use super::error::ReportError;
use super::group::Groups;
use super::landscape::Landscape;

/// The networks that are known, by what results call them.
#[derive(Clone, Debug, Default)]
pub struct Models {
    all: Vec<(Identity, Network)>,
}

impl Models {
    /// Adds the network of some results.
    pub fn add(&mut self, identity: Identity, network: Network) {
        self.all.push((identity, network));
    }

    /// The network of these results.
    pub fn of(&self, identity: &Identity) -> Option<&Network> {
        self.all.iter().find(|(known, _)| known == identity).map(|(_, network)| network)
    }

    /// Reads the models of the groups from files. `given` are those a user has named: each must belong to some results,
    /// and those that a study keeps are passed over if they do not. `rules` is the message passing where results only
    /// know a matrix.
    pub fn read(
        given: &[PathBuf],
        kept: &[PathBuf],
        rules: &[Operator],
        groups: &Groups,
        landscape: Option<&Landscape>,
    ) -> Result<Models, ReportError> {
        let mut models = Models::default();
        let Some(landscape) = landscape else { return Ok(models) };
        for (path, named) in given.iter().map(|path| (path, true)).chain(kept.iter().map(|path| (path, false))) {
            let model = read_model(path)?;
            let mut used = false;
            for identity in groups.identities() {
                // A model that the program carries is known by its name; the demo keeps it under that name.
                let carried = !named && path.ends_with(format!("{}.model.safetensors", identity.model));
                if identity.model == model.digest || carried {
                    used = true;
                    if models.of(identity).is_none() {
                        models.take(identity, model.clone(), rules, landscape);
                    }
                }
            }
            if named && !used {
                return Err(ReportError::OtherModel { model: path.display().to_string() });
            }
        }
        Ok(models)
    }

    /// Builds the network, if its message passing is known here and everything fits.
    fn take(&mut self, identity: &Identity, model: ModelFile, rules: &[Operator], landscape: &Landscape) {
        let by_name: Option<Vec<Operator>> = identity.message_passing.iter().map(|name| name.parse().ok()).collect();
        let given = || {
            let names: Vec<String> = rules.iter().map(rule_name).collect();
            (names == identity.message_passing).then(|| rules.to_vec())
        };
        if let Some(rules) = by_name.or_else(given)
            && let Ok(network) = Network::from_file(model, &rules, landscape.graph())
        {
            self.add(identity.clone(), network);
        }
    }
}
