//! Layers that the user names by the beginnings of their tensors' names, and proposals of such names.

use crate::FileError;
use crate::archive::listed;
use crate::error::SCHEMES;
use std::collections::BTreeSet;

/// The tensors of one layer, by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LayerNames {
    pub weight: String,
    pub bias: Option<String>,
    pub inner_bias: Option<String>,
    /// Are the weights stored as [out, in]?
    pub transposed: bool,
}

/// All layers in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ModelNames {
    pub layers: Vec<LayerNames>,
}

/// A tensor's name and sides.
type Shaped = (String, Vec<usize>);

/// Ends of names that mean weights, and whether such weights are [out, in]; where nobody can say, shapes decide.
const WEIGHTS: [(&str, Option<bool>); 3] = [(".lin.weight", Some(true)), (".weight", None), (".weights", None)];
const BIAS: &str = ".bias";
const INNER_BIAS: &str = ".lin.bias";

/// Up to so many layers every order is tried before one is proposed.
const PROPOSED: usize = 6;

/// What a tensor of attention is.
const ATTENTION: &str = "an attention layer's (GATConv and its like), whose messages depend on the attributes";

/// Tensors of convolutions that are no `A H W + b`, by a part of their names: what they are, and why they are refused.
const FAMILIES: [(&str, &str); 11] = [
    (".att_", ATTENTION),
    (".lin_l.", "a SAGEConv's (`lin_l`, `lin_r`), which has one weight for neighbours and another for the node itself"),
    (".lin_r.", "a SAGEConv's (`lin_l`, `lin_r`), which has one weight for neighbours and another for the node itself"),
    (
        ".lin_rel.",
        "a GraphConv's (`lin_rel`, `lin_root`), which has one weight for neighbours and another for the node itself",
    ),
    (
        ".lin_root.",
        "a GraphConv's (`lin_rel`, `lin_root`), which has one weight for neighbours and another for the node itself",
    ),
    (".edgeweights", "a SAGE layer's, which has one weight for neighbours and another for the node itself"),
    (".nodeweights", "a SAGE layer's, which has one weight for neighbours and another for the node itself"),
    (".lins.", "a ChebConv's or TAGConv's (`lins`), which passes messages over several hops at once"),
    (".nn.", "a GINConv's (`nn`), whose layers have more than one linear map"),
    (".eps", "a GINConv's (`eps`), which weighs the node itself"),
    (".running_", "a normalisation layer's"),
];

/// What kind of layer the tensor belongs to, where its name gives away that it is no graph convolution with one weight.
fn foreign(names: &[String]) -> Option<(&str, &'static str)> {
    // `nn.0.lin.weight` may be a convolution of a model called `nn`; `nn.0.weight` is a linear map inside one.
    let belongs = |name: &str, part: &str| match part {
        ".att_" => name.contains(part) || name.ends_with(".att"),
        ".nn." => name.contains(part) && name.ends_with(".weight") && !name.ends_with(".lin.weight"),
        ".eps" => name.ends_with(part),
        _ => name.contains(part),
    };
    FAMILIES.into_iter().find_map(|(part, kind)| Some((names.iter().find(|name| belongs(name, part))?.as_str(), kind)))
}

/// Why a network with such a layer is not read by the names of its tensors.
pub(crate) fn foreign_layer(file: &str, names: &[String]) -> Option<FileError> {
    let (entry, kind) = foreign(names)?;
    let remedy = match kind {
        ATTENTION => format!("the tensor is {kind}: attention is not certified"),
        _ => format!(
            "the tensor is {kind}: another layer than A H W + b. Renaming does not help: describe the network in \
             the file's metadata (docs/model-format.md), which can hold such layers"
        ),
    };
    Some(FileError::NotPlainGcn { file: file.into(), entry: entry.to_owned(), remedy })
}

/// The layers under these beginnings, first to last. Every tensor of the file must belong to one of them.
pub(crate) fn layers(file: &str, shaped: &[Shaped], prefixes: &[String]) -> Result<ModelNames, FileError> {
    let names: Vec<String> = shaped.iter().map(|(name, _)| name.clone()).collect();
    let mut sorted = Vec::new();
    for prefix in prefixes {
        let missing = || foreign_layer(file, &names).unwrap_or_else(|| no_such_layer(file, shaped, prefix));
        sorted.push(layer(shaped, prefix).ok_or_else(missing)?);
    }
    let used = |name: &String| {
        let parts =
            sorted.iter().flat_map(|(layer, _)| [Some(&layer.weight), layer.bias.as_ref(), layer.inner_bias.as_ref()]);
        parts.flatten().any(|part| part == name)
    };
    if let Some((stranger, _)) = shaped.iter().find(|(name, _)| !used(name)) {
        return Err(FileError::NotPlainGcn {
            file: file.into(),
            entry: stranger.clone(),
            remedy: "name its layer in `--layers` too, or, if it is not part of the network, save the model without it"
                .into(),
        });
    }
    match orientations(shaped, &sorted).as_slice() {
        [one, other] if one != other => {
            let open = sorted.iter().find(|(_, known)| known.is_none()).map(|(layer, _)| layer.weight.clone());
            Err(FileError::Orientation { file: file.into(), entry: open.unwrap_or_default() })
        }
        [fits, ..] => Ok(ModelNames { layers: fits.clone() }),
        // Nothing fits: the complaint is that of weights [out, in], as PyTorch has them.
        [] => Ok(ModelNames { layers: oriented(&sorted, true) }),
    }
}

/// A beginning that no weights have, and what the file has instead.
fn no_such_layer(file: &str, shaped: &[Shaped], prefix: &str) -> FileError {
    let beginnings = beginnings(shaped);
    let own = |list: &[String]| listed(list.iter().map(String::as_str));
    let names: Vec<String> = shaped.iter().map(|(name, _)| name.clone()).collect();
    let found = match beginnings.is_empty() {
        true => format!("the file has: {}", own(&names)),
        false => format!("names in the file begin with: {}", own(&beginnings)),
    };
    let end =
        beginnings.iter().find(|beginning| names.iter().any(|name| name == prefix) && prefix.starts_with(*beginning));
    let remedy = match end {
        Some(beginning) => format!("this is the whole name of a tensor: give `--layers` its beginning, `{beginning}`"),
        None if beginnings.is_empty() => format!("leave `--layers` out, and rename the tensors to one of: {SCHEMES}"),
        None => "give `--layers` the beginnings of the tensors' names, first layer first, with commas between".into(),
    };
    FileError::NoSuchLayer { file: file.into(), prefix: prefix.into(), found, remedy: remedy.into() }
}

/// The `--layers` that would read the file, if there is one order in which everything fits.
pub(crate) fn proposal(shaped: &[Shaped]) -> Option<String> {
    let prefixes = beginnings(shaped);
    if prefixes.is_empty() || prefixes.len() > PROPOSED {
        return None;
    }
    let mut fitting = orders(prefixes.len()).into_iter().filter_map(|order| {
        let named: Vec<String> = order.iter().map(|&at| prefixes[at].clone()).collect();
        layers("", shaped, &named).ok().filter(|names| fits(shaped, &names.layers)).map(|_| named.join(","))
    });
    let first = fitting.next()?;
    fitting.next().is_none().then_some(first)
}

/// The beginnings of names that end like a tensor of a layer, in the order of the names.
pub(crate) fn beginnings(shaped: &[Shaped]) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let mut found: Vec<String> = Vec::new();
    for (name, _) in shaped {
        let ends = [INNER_BIAS, BIAS].into_iter().chain(WEIGHTS.map(|(end, _)| end));
        if let Some(prefix) = ends.into_iter().find_map(|end| name.strip_suffix(end))
            && seen.insert(prefix)
        {
            found.push(prefix.to_owned());
        }
    }
    found
}

/// The tensors of one layer, and whether its weights are [out, in] if the name says so.
fn layer(shaped: &[Shaped], prefix: &str) -> Option<(LayerNames, Option<bool>)> {
    let named =
        |end: &str| shaped.iter().map(|(name, _)| name).find(|name| name.strip_prefix(prefix) == Some(end)).cloned();
    let (weight, known) = WEIGHTS.into_iter().find_map(|(end, known)| Some((named(end)?, known)))?;
    let (bias, inner_bias) = (named(BIAS), named(INNER_BIAS));
    Some((LayerNames { weight, bias, inner_bias, transposed: known.unwrap_or(true) }, known))
}

/// The readings of the weights whose sides fit each other and the biases.
fn orientations(shaped: &[Shaped], sorted: &[(LayerNames, Option<bool>)]) -> Vec<Vec<LayerNames>> {
    let mut readings: Vec<Vec<LayerNames>> = [true, false].into_iter().map(|open| oriented(sorted, open)).collect();
    readings.dedup();
    readings.retain(|layers| fits(shaped, layers));
    readings
}

fn oriented(sorted: &[(LayerNames, Option<bool>)], open: bool) -> Vec<LayerNames> {
    let reading =
        |(layer, known): &(LayerNames, Option<bool>)| LayerNames { transposed: known.unwrap_or(open), ..layer.clone() };
    sorted.iter().map(reading).collect()
}

/// Does every layer's output fit its bias and the layer after it?
fn fits(shaped: &[Shaped], layers: &[LayerNames]) -> bool {
    let shape = |name: &String| shaped.iter().find(|(other, _)| other == name).map_or(&[][..], |(_, shape)| shape);
    let sides = |layer: &LayerNames| match (shape(&layer.weight), layer.transposed) {
        (&[a, b], false) => Some((a, b)),
        (&[a, b], true) => Some((b, a)),
        _ => None,
    };
    let own = |layer: &LayerNames| {
        let bias = layer.bias.as_ref().or(layer.inner_bias.as_ref());
        sides(layer).is_some_and(|(_, out)| bias.is_none_or(|bias| shape(bias) == [out]))
    };
    let next = |pair: &[LayerNames]| sides(&pair[0]).map(|sides| sides.1) == sides(&pair[1]).map(|sides| sides.0);
    layers.iter().all(own) && layers.windows(2).all(next)
}

/// All orders of so many things.
fn orders(count: usize) -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new()];
    for _ in 0..count {
        let longer = |order: Vec<usize>| {
            let rest: Vec<usize> = (0..count).filter(|at| !order.contains(at)).collect();
            rest.into_iter().map(move |at| order.iter().copied().chain([at]).collect())
        };
        all = all.into_iter().flat_map(longer).collect();
    }
    all
}
