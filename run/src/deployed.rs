//! What is to be said of a network that is deployed in another format.

use gcnproof::{Execution, Network};

/// That weights are rounded when the network is deployed, where they are.
pub fn rounding_note(execution: Option<Execution>, network: &Network) -> Option<String> {
    let layers = execution?.rounded_layers(network);
    if layers.is_empty() {
        return None;
    }
    let layers = layers.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
    Some(format!(
        "note: weights or biases of layer {layers} are no numbers of the format: they are rounded to it when deployed, which is inside \
         the error bound"
    ))
}
