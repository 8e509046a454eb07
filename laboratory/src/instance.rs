//! The problem of one target and one class pair as plain data for `gcnproof-verify`.

use gcnproof::internals::bound::prepared::Prepared;
use gcnproof::internals::problem::matrix::PatternRows;
use gcnproof::internals::problem::network::{Layer as NetworkLayer, Network};
use gcnproof::internals::problem::slice::Slice;
use gcnproof_verify::{Dense, Instance, Layer, Sparse, Term};

/// The explicit problem `min cᵀĤ(L)` of a node with `c = e_reference − e_class`, and the slice's nodes of
/// representation 1, by which the instance numbers its flips.
pub fn instance_of(prepared: &Prepared, node: usize, reference: usize, class: usize) -> (Instance, Vec<u32>) {
    let network = prepared.network();
    let mut slice = Slice::default();
    slice.cut(network, network.depth(), node);
    let nodes = slice.nodes(1).to_vec();
    let rows = |l: usize, values: &dyn Fn(usize) -> Vec<f64>| Dense {
        rows: slice.nodes(l).len(),
        columns: network.width(l),
        values: slice.nodes(l).iter().flat_map(|&n| values(n as usize)).collect(),
    };
    let bounds = prepared.activation_bounds();
    let mut objective = vec![0.0; network.class_count()];
    objective[reference] += 1.0;
    objective[class] -= 1.0;
    let instance = Instance {
        layers: (1..network.depth()).zip(network.layers()).map(|(l, layer)| plain_layer(&slice, l, layer)).collect(),
        dimension: prepared.graph().attribute_count(),
        attributes: nodes.iter().map(|&n| prepared.graph().attributes().row(n as usize).to_vec()).collect(),
        lower: (2..network.depth())
            .map(|l| rows(l, &|n| bounds[l - 2].true_bounds(n).map(|interval| interval.0).collect()))
            .collect(),
        upper: (2..network.depth())
            .map(|l| rows(l, &|n| bounds[l - 2].true_bounds(n).map(|interval| interval.1).collect()))
            .collect(),
        local_budget: nodes.iter().map(|&n| prepared.budget().local(n as usize)).collect(),
        global_budget: prepared.budget().global(),
        may_add: prepared.budget().direction().adds(),
        may_remove: prepared.budget().direction().removes(),
        frozen_attributes: prepared.budget().frozen_attributes().to_vec(),
        objective,
    };
    (instance, nodes)
}

/// The layers of a network as its model has them, inside a slice.
pub(crate) fn plain_layers(slice: &Slice, network: &Network) -> Vec<Layer> {
    (1..network.depth()).zip(network.own_layers()).map(|(l, layer)| plain_layer(slice, l, layer)).collect()
}

/// Layer `l` of a network inside a slice.
fn plain_layer(slice: &Slice, l: usize, layer: &NetworkLayer) -> Layer {
    let (rows, columns) = (layer.inputs(), layer.outputs());
    let term = |k: usize| {
        let values = layer.weight.values()[k * rows * columns..][..rows * columns].to_vec();
        Term { passing: local_matrix(slice, l, k), weight: Dense { rows, columns, values } }
    };
    let biases = slice.nodes(l + 1).iter().flat_map(|&n| layer.bias.row(n as usize).iter().copied());
    Layer {
        terms: (0..layer.passing.terms()).map(term).collect(),
        bias: Dense { rows: slice.nodes(l + 1).len(), columns, values: biases.collect() },
        linear: layer.linear.clone(),
    }
}

/// The operator of term `k` of layer `l` inside a slice.
fn local_matrix(slice: &Slice, l: usize, k: usize) -> Sparse {
    let passing = slice.passing(l);
    let row = |m: usize| passing.row(m).filter(|entry| entry.1[k] != 0.0).map(move |(n, a)| (m, n, a[k]));
    Sparse {
        rows: slice.nodes(l + 1).len(),
        columns: slice.nodes(l).len(),
        entries: (0..passing.rows()).flat_map(row).collect(),
    }
}
