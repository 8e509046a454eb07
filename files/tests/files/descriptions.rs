//! Networks that describe themselves: what is read, and what is refused with which words.

use crate::common;

use common::*;
use gcnproof_files::*;

fn parse(text: &str, tensors: &[Raw]) -> Result<ModelFile, FileError> {
    parse_model("m.safetensors", &described(text, tensors))
}

/// The description with one change must be refused, with these words.
#[track_caller]
fn refused(from: &str, to: &str, mentions: &[&str]) {
    assert!(DESCRIPTION.contains(from), "{from} is not in the description");
    let error = parse(&DESCRIPTION.replacen(from, to, 1), &tensors_described()).unwrap_err();
    complete(&error, "m.safetensors", mentions);
}

/// One tensor exchanged, left out or added.
#[track_caller]
fn refused_with(name: &str, tensor: Option<Raw>, mentions: &[&str]) {
    let mut tensors: Vec<Raw> = tensors_described().into_iter().filter(|raw| raw.0 != name).collect();
    tensors.extend(tensor);
    complete(&parse(DESCRIPTION, &tensors).unwrap_err(), "m.safetensors", mentions);
}

#[test]
fn a_network_with_a_matrix_of_its_own_and_a_skip() {
    let model = parse(DESCRIPTION, &tensors_described()).unwrap();
    let [first, second] = model.layers.as_slice() else { panic!("{:?}", model.layers) };
    let [matrix] = model.matrices.as_slice() else { panic!("{:?}", model.matrices) };
    let rule = format!("matrix:{}", matrix_digest(matrix));
    // The second term of the logits reads x: its weights stand in the first layer, and three units carry the products.
    assert_eq!(first.operators, [rule.clone(), "identity".into()]);
    assert_eq!((first.weight.rows, first.weight.columns), (2 * 3, 2 + 3));
    assert_eq!(first.linear, [false, false, true, true, true]);
    assert_eq!(second.operators, [format!("poly({rule};0,0,1)"), "mean".into()]);
    assert_eq!((second.weight.rows, second.weight.columns, second.bias.len()), (2 * 5, 3, 12));
    assert_eq!((matrix.row(0), matrix.row(3)), ((&[0, 1][..], &[-1.0, 0.5][..]), (&[0][..], &[0.25][..])));
}

#[test]
fn fields_and_tensors_that_are_not_there() {
    refused("\"version\": 1", "\"version\": 2", &["version 2", "version 1"]);
    refused("\"version\": 1, ", "", &["missing field `version`"]);
    refused("\"version\"", "\"heads\": 8, \"version\"", &["unknown field `heads`"]);
    refused("\"output\": \"logits\"", "\"output\": \"other\"", &["`other`", "no layer"]);
    refused("\"from\": \"hidden\"", "\"from\": \"hiden\"", &["layer `logits`", "`hiden`", "no layer"]);
    refused("\"weight\": \"W1\"", "\"weight\": \"W9\"", &["layer `hidden`", "`W9`", "not in the file"]);
    refused("\"bias\": \"b1\"", "\"bias\": \"b9\"", &["layer `hidden`", "`b9`"]);
    refused("\"bias\": \"b1\",", "", &["`b1`", "no layer uses it"]);
    refused(", \"weight\": \"W1\"", "", &["a term that reads x needs weights"]);
    refused("\"name\": \"hidden\"", "\"name\": \"logits\"", &["this name is taken"]);
    refused("\"name\": \"hidden\"", "\"name\": \"x\"", &["layer `x`", "this name is taken"]);
    refused_with("W2", None, &["`W2`", "not in the file"]);
    refused_with("none", Some(tensor64("extra", &[1], &[1.0])), &["`extra`", "no layer uses it"]);
    refused("matrix:P\"", "matrix:R\"", &["`R.indptr`", "not in the file"]);
}

#[test]
fn cycles_and_layers_that_nothing_needs() {
    refused("\"from\": \"x\", \"operator\": \"matrix:P\"", "\"from\": \"logits\", \"operator\": \"gcn\"", &["cycle"]);
    refused("\"from\": \"hidden\"", "\"from\": \"logits\"", &["layer `logits`", "cycle"]);
    let unused = DESCRIPTION.replacen(
        "\"layers\": [",
        "\"layers\": [ { \"name\": \"spare\", \"activation\": \"relu\", \
        \"terms\": [ { \"from\": \"x\", \"operator\": \"gcn\", \"weight\": \"W1\" } ] },",
        1,
    );
    complete(
        &parse(&unused, &tensors_described()).unwrap_err(),
        "m.safetensors",
        &["layer `spare`", "does not depend"],
    );
}

#[test]
fn sizes_that_do_not_fit() {
    refused_with("W1", Some(tensor64("W1", &[4, 2], &[1.0; 8])), &["4", "3", "attributes"]);
    refused_with("V1", Some(tensor64("V1", &[3, 3], &[1.0; 9])), &["layer `hidden`", "2 and 3 outputs"]);
    refused_with("W2", Some(tensor64("W2", &[3, 4], &[1.0; 12])), &["layer `logits`", "4 inputs", "2 units"]);
    refused_with("b1", Some(tensor64("b1", &[3], &[1.0; 3])), &["`b1`", "2 units"]);
    refused_with("b2", Some(tensor64("b2", &[4, 2], &[1.0; 8])), &["`b2`", "3 units"]);
    refused_with("W1", Some(tensor64("W1", &[6], &[1.0; 6])), &["`W1`", "1 sides instead of 2"]);
    refused(", \"transposed\": true", "", &["3 inputs", "2 units", "transposed"]);
}

#[test]
fn operators_of_the_wrong_form() {
    refused_with("P.indptr", Some(indices64("P.indptr", &[0, 2, 2, 3, 5])), &["`P.indptr`", "from 0 to 4"]);
    refused_with("P.indptr", Some(indices64("P.indptr", &[0, 2, 1, 3, 4])), &["`P.indptr`", "from 0 to 4"]);
    refused_with("P.indptr", Some(indices64("P.indptr", &[])), &["`P.indptr`", "0 numbers"]);
    refused_with("P.indices", Some(indices64("P.indices", &[1, 0, 2, 4])), &["`P.indices`", "column 4", "4 rows"]);
    refused_with("P.indices", Some(indices64("P.indices", &[1, -1, 2, 0])), &["`P.indices`", "-1"]);
    refused_with("P.indices", Some(indices64("P.indices", &[0, 0, 2, 0])), &["two entries", "row 0, column 0"]);
    refused_with("P.indices", Some(indices64("P.indices", &[0, 1])), &["`P.indices` has 2", "`P.data` has 4"]);
    refused_with("P.indptr", Some(tensor64("P.indptr", &[5], &[0.0, 2.0, 2.0, 3.0, 4.0])), &["`P.indptr`", "int64"]);
    refused_with("P.data", Some(tensor64("P.data", &[4], &[0.5, f64::NAN, 2.0, 0.25])), &["`P.data", "NaN"]);
}

#[test]
fn activations_and_numbers_that_are_not_certified() {
    refused("\"relu\"", "\"elu\"", &["layer `hidden`", "elu", "relu"]);
    refused("\"relu\"", "\"leaky_relu\"", &["two layers"]);
    refused("\"relu\"", "[\"relu\"]", &["1 activations", "2 units"]);
    refused("\"relu\"", "NaN", &["gcnproof.network"]);
    refused("\"version\": 1", "\"version\": NaN", &["gcnproof.network"]);
    refused("\"none\"", "\"relu\"", &["layer `logits`", "must not have an activation"]);
    refused_with("W1", Some(tensor64("W1", &[3, 2], &[1.0, f64::NAN, 0.0, 0.0, 0.0, 0.0])), &["`W1", "NaN"]);
    let error = parse("", &tensors_described()).unwrap_err();
    complete(&error, "m.safetensors", &["gcnproof.network", "EOF"]);
}

#[test]
fn skips_that_would_take_all_memory_are_refused() {
    let mut layers = String::new();
    for at in 0..600 {
        let from = if at == 0 { "x".into() } else { format!("h{}", at - 1) };
        let weight = if at == 0 { ", \"weight\": \"W\"" } else { "" };
        layers += &format!(
            "{{\"name\":\"h{at}\",\"activation\":\"relu\",\"terms\":[{{\"from\":\"{from}\",\"operator\":\"gcn\"{weight}}}]}},"
        );
    }
    let terms: Vec<String> = (0..600).map(|at| format!("{{\"from\":\"h{at}\",\"operator\":\"gcn\"}}")).collect();
    let text = format!(
        "{{\"version\":1,\"output\":\"out\",\"layers\":[{layers}{{\"name\":\"out\",\"activation\":\"none\",\"terms\":[{}]}}]}}",
        terms.join(",")
    );
    let error = parse(&text, &[tensor64("W", &[3, 2], &[1.0; 6])]).unwrap_err();
    complete(&error, "m.safetensors", &["too many skips"]);
}

#[test]
fn what_was_described_stands_beside_the_chain() {
    let model = parse(DESCRIPTION, &tensors_described()).unwrap();
    let described = model.described.unwrap();
    let [hidden, logits] = described.layers.as_slice() else { panic!("{described:?}") };
    assert_eq!(
        (hidden.layer, hidden.first, hidden.outputs, logits.layer, logits.first, logits.outputs),
        (0, 0, 2, 1, 0, 3)
    );
    let stands = |layer: &DescribedLayer| -> Vec<(Option<usize>, usize, [usize; 3])> {
        let of = |term: &DescribedTerm| {
            (term.source, term.operator, [term.weight.layer, term.weight.row, term.weight.column])
        };
        layer.terms.iter().map(of).collect()
    };
    assert_eq!(stands(hidden), [(None, 0, [0, 0, 0]), (None, 1, [0, 3, 0])]);
    // The term that reads x has its operator in the second layer, and its weights in the first, after the hidden units.
    assert_eq!(stands(logits), [(Some(0), 0, [1, 0, 0]), (None, 1, [0, 3, 2])]);
    assert!(!described.is_folded() && !described.has_nodes());
}

/// The description with what was folded into the weights of its first term and into its first bias.
fn folded(magnitude: &[f64], bias: (&[usize], &[f64])) -> Result<ModelFile, FileError> {
    let text = DESCRIPTION
        .replacen("\"weight\": \"W1\"", "\"weight\": \"W1\", \"magnitude\": \"M\", \"roundings\": 3", 1)
        .replacen("\"bias\": \"b1\",", "\"bias\": \"b1\", \"bias_magnitude\": \"m\", \"bias_roundings\": 2,", 1);
    assert!(text.contains("\"M\"") && text.contains("\"m\""));
    let mut tensors = tensors_described();
    tensors.push(tensor32("M", &[3, 2], &magnitude.iter().map(|&x| x as f32).collect::<Vec<_>>()));
    tensors.push(tensor64("m", bias.0, bias.1));
    parse(&text, &tensors)
}

#[test]
fn what_was_folded_is_not_smaller_than_what_came_of_it() {
    let (fine, bias) = ([1.0, 2.5, 3.0, 4.0, 5.0, 6.0], (&[2][..], &[0.25, 0.5][..]));
    let model = folded(&fine, bias).unwrap();
    // Magnitudes are no numbers of the network: its precision is that of the others.
    assert_eq!(model.precision, Precision::F64);
    let described = model.described.as_ref().unwrap();
    let [hidden, _] = described.layers.as_slice() else { panic!("{described:?}") };
    assert_eq!((hidden.terms[0].magnitude.as_deref(), hidden.terms[0].roundings), (Some(&fine[..]), 3));
    assert_eq!((hidden.bias_magnitude.as_deref(), hidden.bias_roundings), (Some(bias.1), 2));
    assert!(described.is_folded() && !described.has_nodes());
    let by_node = folded(&fine, (&[4, 2], &[0.5; 8])).unwrap();
    assert!(by_node.described.as_ref().unwrap().has_nodes());
    // Part of the digest, each of them.
    let plain = parse(DESCRIPTION, &tensors_described()).unwrap();
    let more = folded(&[1.0, 2.5, 3.0, 4.0, 5.0, 6.5], bias).unwrap();
    let digests = std::collections::BTreeSet::from([plain.digest, model.digest, by_node.digest, more.digest]);
    assert_eq!(digests.len(), 4);
    let wrong = |result: Result<ModelFile, FileError>, mentions: &[&str]| {
        complete(&result.unwrap_err(), "m.safetensors", mentions);
    };
    wrong(folded(&[1.0, 1.5, 3.0, 4.0, 5.0, 6.0], bias), &["layer `hidden`", "`M` is 1.5 at place 1", "not below 2"]);
    wrong(folded(&[1.0, f64::INFINITY, 3.0, 4.0, 5.0, 6.0], bias), &["`M"]);
    wrong(folded(&fine, (&[2], &[0.25, 0.125])), &["`m` is 0.125", "not below 0.25"]);
    wrong(folded(&fine, (&[3], &[1.0; 3])), &["magnitude `m`", "2 units"]);
    wrong(folded(&fine, (&[4, 2], &[1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 1.0, 1.0])), &["`m` is 0 at place 5"]);
    refused("\"weight\": \"W1\"", "\"weight\": \"W1\", \"roundings\": -1", &["roundings"]);
    refused("\"weight\": \"W1\"", "\"weight\": \"W1\", \"magnitude\": \"M\"", &["`M`", "not in the file"]);
    refused("\"weight\": \"W1\"", "\"weight\": \"W1\", \"magnitude\": \"b1\"", &["magnitude `b1`", "[3, 2]"]);
}
