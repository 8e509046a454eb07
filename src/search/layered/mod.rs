//! The relaxation of networks with more than one hidden layer: rows of all layers in one master.

pub mod master;
pub mod network;
pub(super) mod price;
