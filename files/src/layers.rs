//! Tensors put together into layers whose sizes fit.

use crate::array::spell;
use crate::chosen::{LayerNames, ModelNames};
use crate::tensors::{Tensor, Tensors};
use crate::{DenseMatrix, FileError, LayerFile, Precision};

/// A layer's tensors as stored.
#[derive(Clone)]
struct Parts {
    weight: Tensor,
    bias: Option<Tensor>,
    /// Are the weights stored as [out, in]?
    transposed: bool,
}

/// Loads every tensor, checks that they fit, and turns the weights to [in, out].
pub(crate) fn assemble(
    file: &str,
    tensors: &mut Tensors,
    order: &ModelNames,
    notes: &mut Vec<String>,
) -> Result<(Vec<LayerFile>, Precision), FileError> {
    let mut parts = Vec::new();
    for names in &order.layers {
        parts.push(load(file, tensors, names, notes)?);
    }
    check(file, &parts)?;
    let stored = parts.iter().flat_map(|part| [Some(&part.weight), part.bias.as_ref()]).flatten();
    let mut precisions: Vec<Precision> = stored.map(|tensor| tensor.precision).collect();
    precisions.dedup();
    let precision = match precisions.as_slice() {
        [same] => *same,
        _ => Precision::Mixed,
    };
    let layers = parts.into_iter().map(|part| {
        let stored =
            DenseMatrix { rows: part.weight.shape[0], columns: part.weight.shape[1], values: part.weight.values };
        let weight = if part.transposed { stored.transpose() } else { stored };
        let bias_name = part.bias.as_ref().map(|bias| bias.name.clone());
        let bias = part.bias.map_or_else(|| vec![0.0; weight.columns], |bias| bias.values);
        LayerFile { weight, bias, operators: Vec::new(), linear: Vec::new(), weight_name: part.weight.name, bias_name }
    });
    Ok((layers.collect(), precision))
}

fn load(file: &str, tensors: &mut Tensors, names: &LayerNames, notes: &mut Vec<String>) -> Result<Parts, FileError> {
    let weight = tensors.tensor(&names.weight)?;
    dimensions(file, &weight, 2)?;
    let bias = names.bias.as_ref().map(|name| tensors.tensor(name)).transpose()?;
    if let Some(bias) = &bias {
        dimensions(file, bias, 1)?;
    }
    let Some(inner_name) = &names.inner_bias else {
        return Ok(Parts { weight, bias, transposed: names.transposed });
    };
    // PyTorch Geometric passes messages after its `lin`, so `lin.bias` is multiplied by the
    // message-passing matrix: A (X W + b), not A X W + b. Only where it is zero are the two the
    // same network.
    let inner = tensors.tensor(inner_name)?;
    dimensions(file, &inner, 1)?;
    if inner.values.iter().any(|&value| value != 0.0) {
        return Err(FileError::NotPlainGcn {
            file: file.into(),
            entry: inner_name.clone(),
            remedy: format!(
                "a bias inside `lin` is added before messages are passed, which is another network than \
                 A X W + b: train with `bias=False` in the linear map and a bias after it. If your layer \
                 does add it after passing messages, rename it to `{}`",
                inner_name.replace(".lin.bias", ".bias")
            ),
        });
    }
    notes.push(format!("`{inner_name}` is all zeros, so it makes no difference"));
    Ok(Parts { weight, bias: bias.or(Some(inner)), transposed: names.transposed })
}

fn dimensions(file: &str, tensor: &Tensor, wanted: usize) -> Result<(), FileError> {
    if tensor.shape.len() == wanted {
        return Ok(());
    }
    let remedy = match wanted {
        1 => "save a bias as one number for each output, for example with `.ravel()`",
        _ => "save weights as a matrix; a convolution over several hops or relations is not certified",
    };
    Err(FileError::Shape {
        file: file.into(),
        entry: tensor.name.clone(),
        problem: format!("has shape {}, but must have {wanted} dimension(s)", spell(&tensor.shape)),
        remedy: remedy.into(),
    })
}

/// A misfit: two tensors and the two sizes that differ.
struct Misfit<'a> {
    first: &'a Tensor,
    second: &'a Tensor,
    problem: String,
}

fn check(file: &str, parts: &[Parts]) -> Result<(), FileError> {
    let Some(misfit) = misfit(parts, false) else {
        return Ok(());
    };
    let transposed = parts.iter().all(|part| part.transposed);
    let (scheme, other) = if transposed { ("[out, in]", "[in, out]") } else { ("[in, out]", "[out, in]") };
    let backwards: Vec<Parts> = parts.iter().rev().cloned().collect();
    let remedy = if self::misfit(&backwards, false).is_none() {
        "the layers fit in the opposite order: `--layers` names the first layer first".into()
    } else if self::misfit(parts, true).is_none() {
        format!(
            "the weights would fit if they were stored as {other}; by their names they must be {scheme}: \
             save them transposed (`.T`)"
        )
    } else {
        format!(
            "save all tensors of one trained model; by their names, weights are {scheme} and a bias has \
             `out` numbers"
        )
    };
    Err(FileError::Mismatch {
        file: file.into(),
        first: shaped(misfit.first),
        second: shaped(misfit.second),
        problem: misfit.problem,
        remedy: remedy.into(),
    })
}

/// The first misfit, with the weights as they are read or (`turned`) all the other way.
fn misfit(parts: &[Parts], turned: bool) -> Option<Misfit<'_>> {
    let sides = |part: &Parts| match (part.weight.shape.as_slice(), part.transposed != turned) {
        (&[a, b], false) => (a, b),
        (&[a, b], true) => (b, a),
        _ => (0, 0),
    };
    for part in parts {
        let (_, out) = sides(part);
        if let Some(bias) = part.bias.as_ref().filter(|bias| bias.shape != [out]) {
            let problem = format!("{out} outputs, but {} biases", bias.values.len());
            return Some(Misfit { first: &part.weight, second: bias, problem });
        }
    }
    for pair in parts.windows(2) {
        let ((_, out), (into, _)) = (sides(&pair[0]), sides(&pair[1]));
        if out != into {
            let problem = format!("{out} outputs, but {into} inputs");
            return Some(Misfit { first: &pair[0].weight, second: &pair[1].weight, problem });
        }
    }
    None
}

/// A tensor's name and shape, for a message.
fn shaped(tensor: &Tensor) -> String {
    format!("`{}` {}", tensor.name, spell(&tensor.shape))
}
