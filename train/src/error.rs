//! Errors of training, each with its remedy.

use gcnproof::internals::problem::network::NetworkError;
use gcnproof_files::FileError;
use gcnproof_results::ResultError;
use miette::Diagnostic;
use thiserror::Error;

use super::kind::LayerKind;

/// An error of training.
#[derive(Debug, Error, Diagnostic)]
#[non_exhaustive]
pub enum TrainError {
    /// Nothing to learn from.
    #[error("the graph has no labels: there is nothing to learn from")]
    #[diagnostic(help("save an array `labels` with one class per node into the graph file; -1 means unknown"))]
    NoLabels,
    /// A budget of flips for one-hot attributes, or of changes of categories for others.
    #[error(
        "the attributes of the graph are categories, and the budget is not one of changes of them, or the other way round"
    )]
    #[diagnostic(help("make the budget one of the graph's categories"))]
    Categories,
    /// A batch of graphs.
    #[error("the file has a `batch` of graphs: training is of networks that classify nodes")]
    #[diagnostic(help("train in PyTorch Geometric and certify that model, or leave `batch` out of the file"))]
    Graphs,
    /// A classifier needs two classes.
    #[error("the labels name {classes} class: a classifier needs at least two")]
    #[diagnostic(help("check the array `labels` of the graph file"))]
    OneClass {
        /// Classes found.
        classes: usize,
    },
    /// A label that cannot be a class.
    #[error("the label {label} would make {} classes of {nodes} nodes", u64::from(*label) + 1)]
    #[diagnostic(help("number the classes 0, 1, 2, …; -1 means unknown"))]
    TooManyClasses {
        /// The largest label.
        label: u32,
        /// Nodes of the graph.
        nodes: usize,
    },
    /// The split leaves no labelled node.
    #[error("no node is labelled: the split chose none of {candidates} nodes with a label")]
    #[diagnostic(help("take a larger --split, or name nodes with --labelled"))]
    NoneLabelled {
        /// Nodes that have a label.
        candidates: usize,
    },
    /// A node of the list has no label.
    #[error("node {node} was named as labelled, but the graph has no label for it")]
    #[diagnostic(help("leave it out of --labelled, or add its label to the graph file"))]
    WithoutLabel {
        /// Its id, from 0.
        node: u32,
    },
    /// A list of nodes cannot be read.
    #[error("--labelled: {0}")]
    #[diagnostic(help(
        "write ids and ranges like 3,17,20-25 (ids start at 0), or the path of a file with one id per line"
    ))]
    List(String),
    /// A setting makes no sense.
    #[error("{name} is {value}: {wanted}")]
    #[diagnostic(help("leave {name} out to take what is usual, or give another value"))]
    Setting {
        /// The option, as the command line has it.
        name: &'static str,
        /// What was given.
        value: String,
        /// What it should be.
        wanted: &'static str,
    },
    /// No two hidden layers that a skip connection could lead from and to.
    #[error("--skip leads from one hidden layer to the next, and --depth {depth} has fewer than two")]
    #[diagnostic(help("give --depth 3 or more, or leave --skip out"))]
    Skip {
        /// Weight layers.
        depth: usize,
    },
    /// A description names operators by rule.
    #[error("--skip with a matrix from a file: such a network can only be written with message passing by a rule")]
    #[diagnostic(help("give --message-passing a rule such as gcn or mean, or leave --skip out"))]
    SkipMatrix,
    /// Layers that have their own message passing.
    #[error("--message-passing is for layers of GCNs: --layers {kind} says itself how messages are passed")]
    #[diagnostic(help("leave --message-passing out, or give --layers gcn"))]
    Passing {
        /// The kind of the layers.
        kind: LayerKind,
    },
    /// The network blew up.
    #[error("the loss is no longer a number at iteration {iteration}")]
    #[diagnostic(help("take a smaller --learning-rate; a checkpoint from before can be resumed"))]
    Diverged {
        /// When.
        iteration: usize,
    },
    /// The checkpoint is damaged or of another run.
    #[error("{file} cannot be resumed: {problem}")]
    #[diagnostic(help("{remedy}"))]
    Checkpoint {
        /// Its path.
        file: String,
        /// What is wrong.
        problem: String,
        /// What to do.
        remedy: &'static str,
    },
    /// The message passing does not fit the graph.
    #[error(transparent)]
    Model(#[from] NetworkError),
    /// A file cannot be read or written.
    #[error(transparent)]
    #[diagnostic(transparent)]
    File(#[from] FileError),
    /// An output cannot be written.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Output(#[from] ResultError),
}
