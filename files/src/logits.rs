//! Tables of logits as a framework saves them: npy, npz or text, one row per node.

use crate::archive::Archive;
use crate::array::Array;
use crate::header::Element;
use crate::source::{self, Kind};
use crate::triplets::finite_or;
use crate::{DenseMatrix, FileError, Precision};
use std::path::Path;

const REMEDY: &str = "save the logits of all nodes with `np.save(\"logits.npy\", model(data.x, data.edge_index).detach().numpy())`, \
     after `model.eval()`";

/// Reads a matrix of finite numbers from an npy file, an npz file (the array `entry`; else `logits`, or the only one),
/// or text with one row per line; and in which precision it was stored. Text counts as 32 bits: it does not say what it
/// was.
///
/// # Errors
/// If the file cannot be read or is no such matrix.
pub fn read_logits(path: &Path, entry: Option<&str>) -> Result<(DenseMatrix, Precision), FileError> {
    let (name, bytes) = (path.display().to_string(), source::read(path)?);
    let array = match source::kind(&bytes) {
        Kind::Npy => Array::from_npy(&name, &bytes)?,
        Kind::Zip => {
            let mut archive = Archive::open(&name, &bytes)?;
            let names: Vec<String> = archive.names().map(str::to_owned).collect();
            let wanted = match (entry, names.as_slice()) {
                (Some(entry), _) => entry,
                (None, [only]) => only,
                (None, _) => "logits",
            };
            archive.required(wanted, "name the array after the file, as in `logits.npz:NAME`")?
        }
        Kind::Safetensors | Kind::Pickle => {
            let (file, wanted, start) = (name, "an npy, npz or text file", source::start(&bytes));
            return Err(FileError::UnknownFormat { file, wanted, start, remedy: REMEDY });
        }
        Kind::Other => return Ok((table(&name, &bytes)?, Precision::F32)),
    };
    let &[rows, columns] = array.shape() else {
        let problem = format!("has {} dimension(s), but logits have two: nodes and classes", array.shape().len());
        return Err(array.misshapen(problem, REMEDY.into()));
    };
    let precision = match array.header.element {
        Element::Float(4) => Precision::F32,
        Element::Float(8) => Precision::F64,
        _ => return Err(array.mistyped("numbers in 32 or 64 bits are needed")),
    };
    let values =
        finite_or(&array, "compute the logits again, in eval mode, of weights and attributes that are finite")?;
    Ok((DenseMatrix { rows, columns, values }, precision))
}

fn table(file: &str, bytes: &[u8]) -> Result<DenseMatrix, FileError> {
    let mut matrix = DenseMatrix { rows: 0, columns: 0, values: Vec::new() };
    for (line, content) in (1..).zip(bytes.split(|&byte| byte == b'\n')) {
        let wrong = |problem: String| FileError::Row { file: file.into(), line, problem };
        let content = std::str::from_utf8(content).map_err(|_| wrong("is not text".into()))?;
        let content = content.split('#').next().unwrap_or_default();
        let before = matrix.values.len();
        for cell in content.split([',', ';', ' ', '\t', '\r']).filter(|cell| !cell.is_empty()) {
            let number: Option<f64> = cell.parse().ok().filter(|number: &f64| number.is_finite());
            let shown: String = cell.chars().take(40).collect();
            matrix.values.push(number.ok_or_else(|| wrong(format!("`{}` is no finite number", shown.escape_debug())))?);
        }
        let found = matrix.values.len() - before;
        if found == 0 {
            continue;
        }
        if matrix.rows > 0 && found != matrix.columns {
            return Err(wrong(format!("has {found} numbers, but the lines before have {}", matrix.columns)));
        }
        (matrix.rows, matrix.columns) = (matrix.rows + 1, found);
    }
    if matrix.rows == 0 {
        return Err(FileError::Row { file: file.into(), line: 1, problem: "the text ends without any number".into() });
    }
    Ok(matrix)
}
