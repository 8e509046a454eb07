//! Model files: naming schemes, orientations, precisions, and what is not a plain GCN.

use crate::common;

use common::*;
use gcnproof_files::{FileError, ModelFile, ModelOptions, Precision, parse_model, parse_model_with};

fn parse(tensors: &[Raw]) -> Result<ModelFile, FileError> {
    parse_model("test.safetensors", &safetensors("", tensors))
}

#[track_caller]
fn refused(tensors: &[Raw], mentions: &[&str]) -> FileError {
    let error = parse(tensors).expect_err("must be refused");
    complete(&error, "test.safetensors", mentions);
    error
}

/// The small model with every name changed.
fn renamed(rename: impl Fn(&str) -> String) -> Vec<Raw<'static>> {
    let rename = |name: &str| -> &'static str { Box::leak(rename(name).into_boxed_str()) };
    small_model().into_iter().map(|(name, dtype, shape, data)| (rename(name), dtype, shape, data)).collect()
}

/// The small model as npz with [in, out] weights.
fn plain(names: [&str; 4]) -> Npz {
    Npz::new()
        .with(names[0], dense32(3, 2, &[1.0, 4.0, 2.0, 5.0, 3.0, 6.0]))
        .with(names[1], f32s(&[0.5, -0.5]))
        .with(names[2], dense32(2, 2, &[7.0, 9.0, 8.0, 10.0]))
        .with(names[3], f32s(&[0.25, 0.75]))
}

#[test]
fn a_small_model_is_what_it_says() {
    let model = parse(&small_model()).unwrap();
    assert_eq!(model.layers.len(), 2);
    let first = &model.layers[0];
    assert_eq!((first.weight.rows, first.weight.columns), (3, 2));
    assert_eq!(first.weight.values, [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
    assert_eq!(first.weight.row(2), [3.0, 6.0]);
    assert_eq!(first.weight.get(0, 1), 4.0);
    assert_eq!(first.bias, [0.5, -0.5]);
    assert_eq!(first.weight_name, "convs.0.lin.weight");
    assert_eq!(first.bias_name.as_deref(), Some("convs.0.bias"));
    assert_eq!(model.precision, Precision::F32);
    assert!(model.metadata.is_empty() && model.notes.is_empty());
}

#[test]
fn the_digest_is_the_documented_one() {
    use sha2::{Digest, Sha256};
    let mut bytes = b"gcnproof-model-v1\n".to_vec();
    let mut put = |sides: &[u64], values: &[f64]| {
        bytes.extend(sides.iter().flat_map(|n| n.to_le_bytes()));
        bytes.extend(values.iter().flat_map(|n| n.to_le_bytes()));
    };
    put(&[2, 3, 2], &[1.0, 4.0, 2.0, 5.0, 3.0, 6.0, 0.5, -0.5]);
    put(&[2, 2], &[7.0, 9.0, 8.0, 10.0, 0.25, 0.75]);
    let expected: String = Sha256::digest(&bytes).iter().map(|b| format!("{b:02x}")).collect();
    assert_eq!(parse(&small_model()).unwrap().digest, expected);
}

#[test]
fn every_naming_scheme_gives_the_same_model() {
    let expected = parse(&small_model()).unwrap().digest;
    for tensors in [
        renamed(|name| format!("module.{name}")),
        renamed(|name| format!("model.gnn.{name}")),
        renamed(|name| name.replace("convs.1", "convs.2").replace("convs.0", "convs.1")),
        renamed(|name| name.replace("convs.1", "conv2").replace("convs.0", "conv1")),
        renamed(|name| name.replace("convs.", "conv")),
    ] {
        assert_eq!(parse(&tensors).unwrap().digest, expected, "{}", tensors[0].0);
    }
    for names in [
        ["W1", "b1", "W2", "b2"],
        ["W0", "b0", "W1", "b1"],
        ["conv:0.weights", "conv:0.bias", "conv:1.weights", "conv:1.bias"],
        ["conv:0.weight", "conv:0.bias", "conv:1.weight", "conv:1.bias"],
    ] {
        for npz in [plain(names), plain(names).stored()] {
            assert_eq!(parse_model("test.npz", &npz.bytes()).unwrap().digest, expected, "{}", names[0]);
        }
    }
    // The same in Fortran order, big-endian doubles, and with PyTorch's names in an npz.
    let turned: Vec<u8> = [1f64, 2., 3., 4., 5., 6.].iter().flat_map(|v| v.to_be_bytes()).collect();
    let fortran = plain(["W1", "b1", "W2", "b2"]).with("W1", npy("'>f8'", true, &[3, 2], &turned));
    let model = parse_model("test.npz", &fortran.bytes()).unwrap();
    assert_eq!((model.digest.as_str(), model.precision), (expected.as_str(), Precision::Mixed));
    let mut npz = Npz::new();
    for (name, _, shape, data) in small_model() {
        npz = npz.with(name, npy("'<f4'", false, &shape, &data));
    }
    assert_eq!(parse_model("odd name.safetensors", &npz.bytes()).unwrap().digest, expected);
}

#[test]
fn more_than_nine_layers_are_in_numerical_order() {
    let names: Vec<String> = (0..12).map(|i| format!("convs.{i}.lin.weight")).collect();
    let tensors: Vec<Raw> = names.iter().enumerate().map(|(i, name)| tensor32(name, &[1, 1], &[i as f32])).collect();
    let model = parse(&tensors).unwrap();
    let order: Vec<f64> = model.layers.iter().map(|layer| layer.weight.values[0]).collect();
    assert_eq!(order, (0..12).map(f64::from).collect::<Vec<_>>());
}

#[test]
fn a_missing_bias_is_zero() {
    let model = parse(&small_model()[1..]).unwrap();
    assert_eq!(model.layers[0].bias, [0.0, 0.0]);
    assert_eq!(model.layers[0].bias_name, None);
    let mut explicit = small_model();
    explicit[0] = tensor32("convs.0.bias", &[2], &[0.0, 0.0]);
    assert_eq!(parse(&explicit).unwrap().digest, model.digest);
}

#[test]
fn a_bias_inside_the_linear_map_is_another_network() {
    let mut tensors = small_model();
    tensors[0] = tensor32("convs.0.lin.bias", &[2], &[0.0, 0.0]);
    let model = parse(&tensors).unwrap();
    assert_eq!(model.layers[0].bias_name.as_deref(), Some("convs.0.lin.bias"));
    assert!(model.notes[0].contains("convs.0.lin.bias"));
    tensors[0] = tensor32("convs.0.lin.bias", &[2], &[0.0, 0.1]);
    refused(&tensors, &["convs.0.lin.bias", "before messages are passed", "`convs.0.bias`"]);
}

#[test]
fn precisions_and_metadata() {
    let mut tensors = small_model();
    tensors[2] = tensor64("convs.1.bias", &[2], &[0.25, 0.75]);
    assert_eq!(parse(&tensors).unwrap().precision, Precision::Mixed);
    assert_eq!(parse(&tensors).unwrap().digest, parse(&small_model()).unwrap().digest);
    let doubles = [tensor64("W1", &[1, 1], &[0.1])];
    let model = parse(&doubles).unwrap();
    assert_eq!((model.precision, model.layers[0].weight.values[0]), (Precision::F64, 0.1));
    let bytes = safetensors("{\"format\":\"pt\",\"note\":\"ü\"}", &small_model());
    let model = parse_model("test", &bytes).unwrap();
    assert_eq!(model.metadata["format"], "pt");
    assert_eq!(model.metadata["note"], "ü");
}

#[test]
fn half_precision_and_integers_are_refused() {
    for dtype in ["F16", "BF16", "I16"] {
        let mut tensors = small_model();
        tensors[0] = ("convs.0.bias", dtype, vec![2], vec![0; 4]);
        let error = refused(&tensors, &["convs.0.bias", dtype, ".float()"]);
        assert!(matches!(error, FileError::ElementType { .. }));
    }
    let npz = plain(["W1", "b1", "W2", "b2"]).with("b1", npy("'<f2'", false, &[2], &[0; 4]));
    let error = parse_model("test.npz", &npz.bytes()).unwrap_err();
    complete(&error, "test.npz", &["b1", "<f2", "astype(np.float32)"]);
    let npz = plain(["W1", "b1", "W2", "b2"]).with("b1", pickled());
    complete(&parse_model("test.npz", &npz.bytes()).unwrap_err(), "test.npz", &["b1", "allow_pickle"]);
}

#[test]
fn what_is_not_a_plain_gcn() {
    for stranger in [
        "norms.0.weight",
        "jk.lin.weight",
        "convs.0.att_src",
        "convs.0.lin_l.weight",
        "convs.0.lin_r.weight",
        "convs.0.lin_root.weight",
        "lin.weight",
        "convs.0.lin.weight_orig",
        "convs.00.bias",
        "convs.0.lin.weight.x",
    ] {
        let mut tensors = small_model();
        tensors.push(tensor32(stranger, &[1], &[1.0]));
        let error = refused(&tensors, &[stranger, "not a plain GCN", "would be ignored"]);
        assert!(matches!(error, FileError::NotPlainGcn { .. }), "{error:?}");
    }
    // A SAGE layer whose only familiar tensor is its bias.
    refused(&[tensor32("convs.0.bias", &[1], &[1.0]), tensor32("convs.0.lin_l.weight", &[1, 1], &[1.0])], &["lin_l"]);
    // In an npz, also what is pickled and what is no array.
    let npz = plain(["W1", "b1", "W2", "b2"]).with("config", pickled());
    complete(&parse_model("test.npz", &npz.bytes()).unwrap_err(), "test.npz", &["config", "ignored"]);
}

#[test]
fn schemes_unknown_and_mixed() {
    let error = refused(
        &[tensor32("encoder.kernel", &[1, 1], &[1.0])],
        &["encoder.kernel", "convs.0.lin.weight", "W1", "conv:0.weights"],
    );
    assert!(matches!(error, FileError::UnknownScheme { .. }));
    // DGL's and old PyG's names do not say which side is which.
    refused(&[tensor32("convs.0.weight", &[1, 1], &[1.0])], &["convs.0.weight"]);
    complete(&parse_model("test", &safetensors("", &[])).unwrap_err(), "test", &["nothing"]);
    let mut tensors = small_model();
    tensors.push(tensor32("W2", &[2, 2], &[1.0; 4]));
    let error = refused(&tensors, &["W2", "convs.0.bias", "two different naming schemes"]);
    assert!(matches!(error, FileError::MixedSchemes { .. }));
    let mut tensors = small_model();
    tensors[0].0 = "model.convs.0.bias";
    refused(&tensors, &["model.convs.0.bias"]);
    let both = [tensor32("conv:0.weight", &[1, 1], &[1.0]), tensor32("conv:0.weights", &[1, 1], &[2.0])];
    refused(&both, &["conv:0.weight", "conv:0.weights"]);
}

#[test]
fn gaps_in_the_numbering() {
    let tensors = renamed(|name| name.replace("convs.1", "convs.2"));
    let error = refused(&tensors, &["`convs.1.lin.weight` is missing", "convs.2"]);
    assert!(matches!(error, FileError::MissingTensor { .. }));
    let tensors = renamed(|name| name.replace("convs.1", "convs.3").replace("convs.0", "convs.2"));
    refused(&tensors, &["`convs.1.lin.weight` is missing"]);
    let mut tensors = small_model();
    tensors.remove(3);
    refused(&tensors, &["`convs.1.lin.weight` is missing", "convs.1.bias"]);
    let npz = plain(["W1", "b1", "W3", "b3"]);
    complete(&parse_model("test.npz", &npz.bytes()).unwrap_err(), "test.npz", &["`W2` is missing"]);
    refused(&renamed(|name| name.replace("convs.1", "convs.4294967295")), &[]);
}

#[test]
fn shapes_that_do_not_chain() {
    let mut tensors = small_model();
    tensors[3] = tensor32("convs.1.lin.weight", &[2, 5], &[1.0; 10]);
    let error =
        refused(&tensors, &["`convs.0.lin.weight` [2, 3]", "`convs.1.lin.weight` [2, 5]", "2 outputs, but 5 inputs"]);
    assert!(matches!(error, FileError::Mismatch { .. }));
    assert!(!miette::Diagnostic::help(&error).unwrap().to_string().contains(".T"));
    let mut tensors = small_model();
    tensors[0] = tensor32("convs.0.bias", &[3], &[1.0; 3]);
    refused(&tensors, &["`convs.0.lin.weight` [2, 3]", "`convs.0.bias` [3]", "2 outputs, but 3 biases"]);
    // PyTorch weights under plain names: transposing would do.
    let turned = plain(["W1", "b1", "W2", "b2"]).with("W1", dense32(2, 3, &[1.0; 6]));
    let error = parse_model("test.npz", &turned.bytes()).unwrap_err();
    complete(&error, "test.npz", &["`W1` [2, 3]", "`b1` [2]", "would fit", "`.T`"]);
    // Two tensors swapped.
    let swapped = renamed(|name| match name {
        "convs.0.lin.weight" => "convs.1.lin.weight".into(),
        "convs.1.lin.weight" => "convs.0.lin.weight".into(),
        other => other.into(),
    });
    refused(&swapped, &["2 outputs, but 3 inputs"]);
    // Dimensions.
    let mut tensors = small_model();
    tensors[0] = tensor32("convs.0.bias", &[1, 2], &[1.0; 2]);
    refused(&tensors, &["convs.0.bias", "[1, 2]", "ravel"]);
    tensors[0] = tensor32("convs.0.bias", &[], &[1.0]);
    refused(&tensors, &["convs.0.bias", "[]"]);
    refused(&[tensor32("W1", &[2, 1, 2], &[1.0; 4])], &["W1", "[2, 1, 2]"]);
    refused(&[tensor32("W1", &[0, 2], &[])], &["W1", "[0, 2]", "empty"]);
}

#[test]
fn values_that_are_no_numbers() {
    let mut tensors = small_model();
    tensors[1] = tensor32("convs.0.lin.weight", &[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, f32::NAN]);
    let error = refused(&tensors, &["convs.0.lin.weight[1, 2]", "NaN"]);
    assert!(matches!(error, FileError::NonFinite { .. }));
    tensors[1] = tensor32("convs.0.lin.weight", &[2, 3], &[1.0; 6]);
    tensors[2] = tensor32("convs.1.bias", &[2], &[0.0, f32::NEG_INFINITY]);
    refused(&tensors, &["convs.1.bias[1]", "-inf"]);
}

#[test]
fn formats_are_told_by_content() {
    for bytes in [&b""[..], b"hello", b"\x80\x02}q\x00.", b"\x93NUMPY\x01\x00"] {
        let error = parse_model("test.pt", bytes).unwrap_err();
        complete(&error, "test.pt", &["safetensors", "pickle"]);
        assert!(matches!(error, FileError::UnknownFormat { .. }));
    }
}

/// Names of one's own are read when they are named, and proposed where one order alone fits.
#[test]
fn layers_by_their_own_names() {
    let options = |layers: &str| ModelOptions { layers: layers.split(',').map(str::to_owned).collect() };
    let expected = parse(&small_model()).unwrap().digest;
    for (first, second) in [("encoder", "classifier"), ("gc1", "gc2"), ("0", "2"), ("net.0.conv", "net.2.conv")] {
        let tensors = renamed(|name| name.replace("convs.0", first).replace("convs.1", second));
        let layers = format!("{first},{second}");
        refused(&tensors, &["named like a GCN's", &format!("--layers {layers}")]);
        let bytes = safetensors("", &tensors);
        assert_eq!(parse_model_with("test", &bytes, &options(&layers)).unwrap().digest, expected);
        let swapped = parse_model_with("test", &bytes, &options(&format!("{second},{first}"))).unwrap_err();
        complete(&swapped, "test", &["2 outputs, but 3 inputs"]);
        let one = parse_model_with("test", &bytes, &options(first)).unwrap_err();
        complete(&one, "test", &[second, "--layers"]);
        let none = parse_model_with("test", &bytes, &options(&format!("{first},nosuch"))).unwrap_err();
        complete(&none, "test", &["nosuch", first, second, "--layers"]);
    }
    // The usual names may be named too, a single layer as well.
    let bytes = safetensors("", &small_model());
    assert_eq!(parse_model_with("test", &bytes, &options("convs.0,convs.1")).unwrap().digest, expected);
    let single = [tensor32("conv.lin.weight", &[2, 3], &[1.0; 6]), tensor32("conv.bias", &[2], &[0.0; 2])];
    refused(&single, &["--layers conv`"]);
    assert_eq!(parse_model_with("test", &safetensors("", &single), &options("conv")).unwrap().layers.len(), 1);
    // `weight` alone does not say which side is which: the sizes do, or nobody.
    let turned = [tensor32("gc1.weight", &[3, 2], &[1.0; 6]), tensor32("gc1.bias", &[2], &[0.0; 2])];
    let model = parse_model_with("test", &safetensors("", &turned), &options("gc1")).unwrap();
    assert_eq!((model.layers[0].weight.rows, model.layers[0].weight.columns), (3, 2));
    let square = [tensor32("gc1.weight", &[2, 2], &[1.0; 4]), tensor32("gc1.bias", &[2], &[0.0; 2])];
    let error = parse_model_with("test", &safetensors("", &square), &options("gc1")).unwrap_err();
    complete(&error, "test", &["gc1.weight", "[in, out] and as [out, in]", "gc1.lin.weight"]);
}

/// Layers of another kind are called by their kind, and nobody is told to rename them.
#[test]
fn other_convolutions_are_told_by_kind() {
    for (tensor, kind) in [
        ("convs.0.lin_l.weight", ["SAGEConv", "docs/model-format.md"]),
        ("conv1.lin_rel.weight", ["GraphConv", "docs/model-format.md"]),
        ("conv1.att_src", ["GATConv", "attention is not certified"]),
        ("conv1.lins.0.weight", ["ChebConv", "docs/model-format.md"]),
        ("conv1.nn.0.weight", ["GINConv", "docs/model-format.md"]),
    ] {
        let error = refused(&[tensor32(tensor, &[1, 1], &[1.0])], &[tensor, kind[0], kind[1]]);
        assert!(matches!(error, FileError::NotPlainGcn { .. }), "{error:?}");
    }
}

/// A zip archive of `torch.save` is called what it is.
#[test]
fn what_torch_save_wrote() {
    for entry in ["archive/data.pkl", "gcn/data.pkl"] {
        let mut zip = zip::ZipWriter::new(std::io::Cursor::new(vec![]));
        zip.start_file(entry, zip::write::SimpleFileOptions::default()).unwrap();
        std::io::Write::write_all(&mut zip, b"\x80\x02}q\x00.").unwrap();
        let bytes = zip.finish().unwrap().into_inner();
        complete(&parse_model("gcn.pt", &bytes).unwrap_err(), "gcn.pt", &["torch.save", "safetensors.torch.save_file"]);
        let graph = gcnproof_files::parse_graph("data.pt", &bytes, &Default::default()).unwrap_err();
        complete(&graph, "data.pt", &["torch.save", "edge_index=data.edge_index"]);
    }
}
