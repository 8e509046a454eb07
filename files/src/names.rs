//! Which tensor of a GCN a name in a model file means.

use crate::FileError;
use crate::archive::listed;
use crate::chosen::{self, LayerNames, ModelNames};
use crate::error::SCHEMES;
use std::collections::BTreeMap;

/// Wrappers (DataParallel, Lightning and the like) put these before every name.
const PREFIXES: [&str; 3] = ["module.", "model.", "gnn."];

/// How tensors are named.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Scheme {
    prefix: String,
    style: Style,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Style {
    /// `convs.0.lin.weight`
    PygList,
    /// `conv1.lin.weight`
    PygNumbered,
    /// `W1`
    Plain,
    /// `conv:0.weights`
    Colon,
}

/// What a tensor is to its layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Weight,
    Bias,
    /// A bias inside the linear map, so added before messages are passed.
    InnerBias,
}

/// Sorts tensor names into layers. Every name must have its place: a tensor that is left over
/// changes what the network computes, and certifying the rest would certify another network.
pub(crate) fn sort(file: &str, shaped: &[(String, Vec<usize>)]) -> Result<ModelNames, FileError> {
    let names: Vec<String> = shaped.iter().map(|(name, _)| name.clone()).collect();
    if let Some(foreign) = chosen::foreign_layer(file, &names) {
        return Err(foreign);
    }
    let proposed = || chosen::proposal(shaped);
    let known: Vec<_> = names.iter().filter_map(|name| Some((name, recognise(name)?))).collect();
    let Some((first, (scheme, ..))) = known.first() else {
        let remedy = match (proposed(), chosen::beginnings(shaped).as_slice()) {
            (Some(layers), _) => {
                format!("if these are the layers of a GCN in this order, say so: `--layers {layers}`")
            }
            (None, _) if names.iter().any(|name| name == "logits") => {
                "these are logits: give the model's own file, and this one by `--logits`".into()
            }
            (None, []) if names.is_empty() => "the file is empty: save the tensors of the trained model".into(),
            (None, []) => format!("rename the tensors to one of: {SCHEMES}"),
            (None, prefixes) => format!(
                "name the layers of the network, first layer first: `--layers FIRST,…,LAST` from {}; or rename the \
                 tensors to one of: {SCHEMES}",
                listed(prefixes.iter().map(String::as_str))
            ),
        };
        let found = listed(names.iter().map(String::as_str));
        return Err(FileError::UnknownScheme { file: file.into(), found, remedy: remedy.into() });
    };
    if let Some(stranger) = names.iter().find(|name| recognise(name).is_none()) {
        return Err(FileError::NotPlainGcn {
            file: file.into(),
            entry: stranger.clone(),
            remedy: match proposed() {
                Some(layers) => format!("if all of these are graph convolutions, name them: `--layers {layers}`"),
                None => {
                    "a file without a description is read as a stack of graph convolutions with ReLU between them. \
                         If the tensor is not part of the network, save the model without it; BatchNorm, root \
                         weights, jumping knowledge and the like can be described (docs/model-format.md), LayerNorm \
                         and attention cannot: they are not certified"
                        .into()
                }
            },
        });
    }
    if let Some((second, _)) = known.iter().find(|(_, (other, ..))| other != scheme) {
        return Err(FileError::MixedSchemes { file: file.into(), first: (*first).clone(), second: (*second).clone() });
    }
    let mut layers: BTreeMap<u32, [Option<String>; 3]> = BTreeMap::new();
    for (name, (_, number, role)) in &known {
        let slot = &mut layers.entry(*number).or_default()[*role as usize];
        if let Some(before) = slot.replace((*name).clone()) {
            let (file, second) = (file.into(), (*name).clone());
            return Err(FileError::MixedSchemes { file, first: before, second });
        }
    }
    // Layers count from 0 or from 1, as the file has it.
    let start = u32::from(!layers.contains_key(&0));
    let last_name = |tensors: &[Option<String>; 3]| tensors.iter().flatten().next().cloned();
    let transposed = matches!(scheme.style, Style::PygList | Style::PygNumbered);
    let mut sorted = Vec::new();
    for (expected, (number, tensors)) in (start..).zip(layers) {
        let present = last_name(&tensors).unwrap_or_default();
        let [weight, bias, inner_bias] = tensors;
        match weight {
            Some(weight) if number == expected => sorted.push(LayerNames { weight, bias, inner_bias, transposed }),
            _ => {
                let entry = scheme.weight(expected);
                return Err(FileError::MissingTensor { file: file.into(), entry, present });
            }
        }
    }
    Ok(ModelNames { layers: sorted })
}

impl Scheme {
    fn weight(&self, number: u32) -> String {
        let prefix = &self.prefix;
        match self.style {
            Style::PygList => format!("{prefix}convs.{number}.lin.weight"),
            Style::PygNumbered => format!("{prefix}conv{number}.lin.weight"),
            Style::Plain => format!("{prefix}W{number}"),
            Style::Colon => format!("{prefix}conv:{number}.weights"),
        }
    }
}

fn recognise(name: &str) -> Option<(Scheme, u32, Role)> {
    let mut core = name;
    while let Some(rest) = PREFIXES.iter().find_map(|prefix| core.strip_prefix(prefix)) {
        core = rest;
    }
    let prefix = &name[..name.len() - core.len()];
    let pyg = |rest: &str| match rest {
        ".lin.weight" => Some(Role::Weight),
        ".bias" => Some(Role::Bias),
        ".lin.bias" => Some(Role::InnerBias),
        _ => None,
    };
    let (style, number, role) = if let Some(rest) = core.strip_prefix("convs.") {
        let (number, rest) = leading_number(rest)?;
        (Style::PygList, number, pyg(rest)?)
    } else if let Some(rest) = core.strip_prefix("conv:") {
        let (number, rest) = leading_number(rest)?;
        let role = match rest {
            ".weights" | ".weight" => Role::Weight,
            ".bias" => Role::Bias,
            _ => return None,
        };
        (Style::Colon, number, role)
    } else if let Some(rest) = core.strip_prefix("conv") {
        let (number, rest) = leading_number(rest)?;
        (Style::PygNumbered, number, pyg(rest)?)
    } else if prefix.is_empty() {
        let role = match core.as_bytes().first()? {
            b'W' => Role::Weight,
            b'b' => Role::Bias,
            _ => return None,
        };
        let (number, rest) = leading_number(&core[1..])?;
        if !rest.is_empty() {
            return None;
        }
        (Style::Plain, number, role)
    } else {
        return None;
    };
    Some((Scheme { prefix: prefix.to_owned(), style }, number, role))
}

/// A decimal number without leading zeros (else `W1` and `W01` would be the same layer), and what
/// follows it.
fn leading_number(text: &str) -> Option<(u32, &str)> {
    let end = text.bytes().take_while(u8::is_ascii_digit).count();
    let (digits, rest) = text.split_at(end);
    if digits.len() > 1 && digits.starts_with('0') {
        return None;
    }
    // Four digits are more layers than any GCN has.
    Some((digits.parse().ok().filter(|&number| number < 10_000)?, rest))
}
