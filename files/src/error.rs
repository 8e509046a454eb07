//! `FileError`: everything that can be wrong with a file, and what to do about it.

use miette::Diagnostic;
use thiserror::Error;

/// The naming schemes, for complaints.
pub(crate) const SCHEMES: &str = "PyTorch Geometric `convs.0.lin.weight` [out, in] with `convs.0.bias` (or \
     `conv1.lin.weight` with `conv1.bias`); `W1` [in, out] with `b1`; `conv:0.weights` [in, out] \
     with `conv:0.bias`";

/// What is wrong with a file. Every variant names the file, the entry within it, and the remedy
/// (as the diagnostic's help text). Boxed texts keep the enum under the 128 bytes that clippy allows
/// an error.
///
/// In every variant `file` is the file, `entry` the array or tensor, `problem` what is wrong, `found` what
/// is there, `remedy` what to do about it, `source` what the operating system said, `total` of how many,
/// `row` and `column` where the first one is and `value` the first one's value.
#[allow(missing_docs)]
#[derive(Debug, Error, Diagnostic)]
#[non_exhaustive]
pub enum FileError {
    /// The operating system would not give us the file.
    #[error("{file}: cannot be read: {source}")]
    #[diagnostic(help("check that the path is right and that you may read it"))]
    Unreadable { file: String, source: std::io::Error },
    /// The operating system would not take the file.
    #[error("{file}: cannot be written: {problem}")]
    #[diagnostic(help("{remedy}"))]
    Unwritable { file: String, problem: String, remedy: String },
    /// The first bytes belong to no format that is read here.
    #[error("{file}: this is not {wanted} (it starts with {start})")]
    #[diagnostic(help("{remedy}"))]
    UnknownFormat {
        file: String,
        /// Which formats were expected.
        wanted: &'static str,
        /// The first bytes, printable.
        start: String,
        remedy: &'static str,
    },
    /// The container (zip, npy, safetensors) contradicts itself or ends early.
    #[error("{file}: {entry}: damaged: {problem}")]
    #[diagnostic(help("fetch or save the file again: it is truncated, altered, or was written by a broken tool"))]
    Damaged {
        file: String,
        /// The array or tensor, or the part of the container.
        entry: String,
        problem: String,
    },
    /// Reading on would take more memory than a file may ask for.
    #[error("{file}: {entry}: {problem}")]
    #[diagnostic(help(
        "{}",
        if entry.ends_with("shape") {
            "save the matrix's real `.shape`"
        } else {
            "use a smaller file, or say how much may be read: GCNPROOF_INPUT_LIMIT=64 for 64 GiB (half of the machine's memory unless it is \
             said, and 4 GiB for small files)"
        }
    ))]
    TooLarge {
        file: String,
        /// The array or tensor, or the file as a whole.
        entry: String,
        /// What is too large, and the limit.
        problem: String,
    },
    /// A part of a graph stands where a whole one is needed.
    #[error(
        "{file}: is {part} of a graph, and answers for {own} of its {nodes} nodes: the graph itself is needed here"
    )]
    #[diagnostic(help(
        "give the whole graph; parts are for flips of attributes: `gcnproof certify`, `radius` and `check` take them where no edges are \
         changed, and `gcnproof join` puts their results together"
    ))]
    Part {
        file: String,
        /// Which part of how many.
        part: String,
        /// Nodes that it answers for.
        own: usize,
        /// Nodes of the whole graph.
        nodes: usize,
    },
    /// A graph stands where a message-passing matrix is needed.
    #[error("{file}: is a graph, but a matrix is expected here")]
    #[diagnostic(help(
        "messages are passed over the graph's edges by rules: sum means its adjacency, gcn the normalised one; a matrix of your \
         own is saved with `scipy.sparse.save_npz(path, matrix.tocsr())`"
    ))]
    GraphForMatrix { file: String },
    /// An array that is needed is not there.
    #[error("{file}: array `{entry}` is missing (the file has: {found})")]
    #[diagnostic(help("{remedy}"))]
    MissingArray {
        file: String,
        /// The missing array.
        entry: String,
        found: String,
        remedy: String,
    },
    /// Nothing in the file says which nodes are linked.
    #[error(
        "{file}: there are no edges: none of the arrays `edge_index`, `edges`, `adj_data` and `adj_matrix` (the file has: {found})"
    )]
    #[diagnostic(help("{remedy}; a graph without edges has an empty list, `edge_index=np.zeros((2, 0), np.int64)`"))]
    NoEdges { file: String, found: String, remedy: &'static str },
    /// A needed array is a pickle, which is a program and not data.
    #[error("{file}: array `{entry}` holds pickled Python objects, which are never loaded")]
    #[diagnostic(help("{remedy}"))]
    ObjectArray { file: String, entry: String, remedy: Box<str> },
    /// `torch.save` wrote the file: a zip archive around a pickle.
    #[error("{file}: `torch.save` wrote this file: it holds pickled Python objects, which are never loaded")]
    #[diagnostic(help(
        "in Python, a model: `safetensors.torch.save_file(model.state_dict(), \"model.safetensors\")` (the file itself, if it \
         holds a state dict: `save_file(torch.load(path, map_location=\"cpu\"), \"model.safetensors\")`); a graph: \
         `np.savez(\"graph.npz\", edge_index=data.edge_index, x=data.x, y=data.y)`"
    ))]
    TorchSave { file: String },
    /// The element type cannot mean what the entry must mean.
    #[error("{file}: `{entry}` has element type {dtype}, but {wanted}")]
    #[diagnostic(help("{remedy}"))]
    ElementType {
        file: String,
        entry: String,
        /// The type found.
        dtype: String,
        /// What was needed.
        wanted: String,
        remedy: Box<str>,
    },
    /// The entry has the wrong shape or length.
    #[error("{file}: `{entry}` {problem}")]
    #[diagnostic(help("{remedy}"))]
    Shape {
        file: String,
        entry: String,
        /// What is wrong with the shape.
        problem: String,
        remedy: String,
    },
    /// One element of an entry is impossible.
    #[error("{file}: `{entry}[{position}]` {problem}")]
    #[diagnostic(help("{remedy}"))]
    Element {
        file: String,
        entry: String,
        /// Where in the entry, counted from 0 (row and column with a comma between).
        position: String,
        /// What is wrong with the element.
        problem: String,
        remedy: Box<str>,
    },
    /// A value is NaN or infinite.
    #[error("{file}: `{entry}[{position}]` is {value}, which is not a finite number")]
    #[diagnostic(help("{remedy}: no verdict about it would mean anything"))]
    NonFinite {
        file: String,
        entry: String,
        /// Where in the entry.
        position: String,
        /// `NaN`, `inf` or `-inf`.
        value: f64,
        remedy: &'static str,
    },
    /// Attributes that are neither 0 nor 1.
    #[error(
        "{file}: `{entry}`: {count} of {total} attributes are not 1 \
         (the first: node {row}, attribute {column}, value {value})"
    )]
    #[diagnostic(help(
        "flips are of 0/1 attributes, or of 0/1 divided by the sums of their rows to the last bit of float32 or float64: \
         `--binarize` reads every nonzero as 1, for a model that was trained on the same 0/1 attributes; numbers are moved by \
         `gcnproof certify GRAPH MODEL -Q N --epsilon X` or `--ranges observed` (the same of `radius`), and left as they are by `--edges remove -E N`"
    ))]
    NotBinary {
        file: String,
        entry: String,
        /// How many entries are not 1.
        count: usize,
        total: usize,
        row: usize,
        column: u32,
        value: f64,
    },
    /// Edges whose weight is not 1.
    #[error(
        "{file}: `{entry}`: {count} of {total} edges have a weight other than 1 \
         (the first: {row} -> {column}, weight {value})"
    )]
    #[diagnostic(help(
        "for a model that was trained without the weights, `--unweight` reads every nonzero as an unweighted edge; to keep the \
         weights where attributes are attacked, give the message-passing matrix of the model as well: `--unweight \
         --message-passing matrix.npz`, saved with `scipy.sparse.save_npz(\"matrix.npz\", A.tocsr())`, receivers in rows; attacks on \
         weighted edges are not decided"
    ))]
    Weighted {
        file: String,
        entry: String,
        /// How many edges have another weight.
        count: usize,
        total: usize,
        row: usize,
        column: u32,
        value: f64,
    },
    /// Edges that a list names more than once.
    #[error("{file}: `{entry}`: {count} edges are listed more than once (the first: {row} -> {column}, {times} times)")]
    #[diagnostic(help(
        "`--unweight` reads each of them once. A model that was trained on this list has counted them {times} times: save \
         `torch_geometric.utils.coalesce(edge_index)` and train on it"
    ))]
    Repeated {
        file: String,
        entry: String,
        /// How many edges are listed more than once.
        count: usize,
        row: u32,
        column: u32,
        /// How often it is listed.
        times: usize,
    },
    /// Edges without their mirror image.
    #[error(
        "{file}: `{entry}`: {count} of {total} edges have no mirror image \
         (the first: {row} -> {column})"
    )]
    #[diagnostic(help(
        "for a model that was trained on both directions of every edge, `--symmetrize` adds the missing ones; for one that was \
         trained on these edges, give its message-passing matrix as well: `--symmetrize --message-passing matrix.npz`, saved with \
         `scipy.sparse.save_npz(\"matrix.npz\", A.tocsr())`, receivers in rows, or `gcnproof.certify(model, data, …)` in Python; where \
         edges are attacked, `--directed-edges` keeps directions"
    ))]
    NotSymmetric {
        file: String,
        entry: String,
        /// How many edges have no mirror image.
        count: usize,
        total: usize,
        row: usize,
        column: u32,
    },
    /// No tensor has a name that says what it is.
    #[error("{file}: none of its tensors is named like a GCN's (it has: {found})")]
    #[diagnostic(help("{remedy}"))]
    UnknownScheme { file: String, found: String, remedy: Box<str> },
    /// A layer that the user named is not in the file.
    #[error("{file}: no weights are named `{prefix}.lin.weight` or `{prefix}.weight` ({found})")]
    #[diagnostic(help("{remedy}"))]
    NoSuchLayer {
        file: String,
        /// The name given.
        prefix: String,
        /// The beginnings that are there, or the names.
        found: String,
        remedy: Box<str>,
    },
    /// Shapes do not tell which side of the weights is which.
    #[error("{file}: `{entry}` fits as [in, out] and as [out, in], and its name does not say which it is")]
    #[diagnostic(help(
        "save the weights as `{}.lin.weight` if they are [out, in] (as `torch.nn.Linear` and PyTorch Geometric have them), \
         or all of them as `W1`, `b1`, `W2`, … if they are [in, out]",
        entry.rsplit_once('.').map_or("…", |(prefix, _)| prefix)
    ))]
    Orientation {
        file: String,
        /// The first tensor that could be either.
        entry: String,
    },
    /// Tensors follow two naming schemes at once.
    #[error("{file}: tensors `{first}` and `{second}` follow two different naming schemes")]
    #[diagnostic(help("keep one model per file, and name all of it by one of: {}", SCHEMES))]
    MixedSchemes {
        file: String,
        /// A tensor of one scheme.
        first: String,
        /// A tensor of another.
        second: String,
    },
    /// A description of a network that describes none, or not that of the file's tensors.
    #[error("{file}: {entry}: {problem}")]
    #[diagnostic(help("docs/model-format.md says how a model file describes its network"))]
    Description {
        file: String,
        /// The layer, or the description as a whole.
        entry: String,
        problem: Box<str>,
    },
    /// A tensor that the network uses and a plain GCN has not.
    #[error("{file}: this is not a plain GCN: tensor `{entry}` would be ignored")]
    #[diagnostic(help("{remedy}"))]
    NotPlainGcn { file: String, entry: String, remedy: String },
    /// A layer is missing between others, or a bias has no weight.
    #[error("{file}: tensor `{entry}` is missing, though `{present}` is there")]
    #[diagnostic(help("number the layers without gaps from 0 or 1, and give each one its weight"))]
    MissingTensor {
        file: String,
        /// The missing tensor.
        entry: String,
        /// The tensor that shows it should be there.
        present: String,
    },
    /// Two tensors that must share a dimension do not.
    #[error("{file}: {first} does not fit {second}: {problem}")]
    #[diagnostic(help("{remedy}"))]
    Mismatch {
        file: String,
        /// One tensor, with its shape as stored.
        first: String,
        /// The other tensor, with its shape as stored.
        second: String,
        /// Which dimensions differ.
        problem: String,
        remedy: Box<str>,
    },
    /// A line of a table of numbers is wrong.
    #[error("{file}: line {line}: {problem}")]
    #[diagnostic(help(
        "write one line per node with one number per class and commas between, as `np.savetxt(path, logits, delimiter=\",\")` \
         does; everything after `#` is a comment"
    ))]
    Row {
        file: String,
        /// The line, counted from 1.
        line: usize,
        problem: String,
    },
    /// A line of a text file is not an integer.
    #[error("{file}: line {line}: {problem}")]
    #[diagnostic(help(
        "write one integer per line, or all in one line with commas between; everything after `#` is a comment"
    ))]
    Line {
        file: String,
        /// The line, counted from 1.
        line: usize,
        problem: String,
    },
}
