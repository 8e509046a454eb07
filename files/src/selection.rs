//! Selections of nodes or attributes: lists of ids, or masks with one truth value for each.

use crate::archive::Archive;
use crate::array::{Array, spell};
use crate::header::Element;
use crate::source::{self, Kind};
use crate::{FileError, integers};
use std::collections::BTreeSet;
use std::path::Path;

/// Reads which of `count` things (called `what`, such as "nodes") are meant: ids, or a mask.
///
/// A mask is an array of booleans, or a list of 0 and 1 alone, with as many entries as there are things. An array of
/// booleans of any other length is an error, and so is a list of 0 and 1 alone in which one of them is repeated: it is
/// a mask of something else. `entry` names an array of an npz file; without it the file must hold one array alone, or
/// text with one number per line.
///
/// # Errors
/// If the file cannot be read, or holds neither ids nor a mask that fits.
pub fn read_selection(path: &Path, entry: Option<&str>, count: usize, what: &str) -> Result<Vec<i64>, FileError> {
    parse_selection(&path.display().to_string(), &source::read(path)?, entry, count, what)
}

/// Reads a selection from the bytes of a file; see [`read_selection`].
///
/// # Errors
/// If the bytes are neither ids nor a mask that fits.
pub fn parse_selection(
    name: &str,
    bytes: &[u8],
    entry: Option<&str>,
    count: usize,
    what: &str,
) -> Result<Vec<i64>, FileError> {
    let array = match (source::kind(bytes), entry) {
        (Kind::Npy, None) => Array::from_npy(name, bytes)?,
        (Kind::Zip, Some(entry)) => {
            Archive::open(name, bytes)?.required(entry, "name one of the arrays that the file has")?
        }
        (Kind::Zip, None) => {
            let mut archive = Archive::open(name, bytes)?;
            let remedy = match archive.names().find(|array| is_selection(array)) {
                Some(array) => format!("name the array after the file, as in `{name}:{array}`"),
                None => format!(
                    "save ids of {what} or a mask alone, `np.save(\"ids.npy\", ids)`, and give that file; or name one of these after the \
                     file, `{name}:NAME`"
                ),
            };
            archive.only(remedy)?
        }
        (_, Some(entry)) => {
            return Err(FileError::MissingArray {
                file: name.into(),
                entry: entry.into(),
                found: "no named arrays: it is no npz file".into(),
                remedy: "give the path of the file alone".into(),
            });
        }
        (_, None) => {
            let numbers = integers::text(name, bytes)?;
            return selected(name, "the list", &numbers, false, count, what);
        }
    };
    if let &[rows, columns] = array.shape() {
        let problem = format!("has shape [{rows}, {columns}], but one dimension is needed");
        let remedy = match (rows == count, columns == count) {
            (true, _) => "save one column of it, such as `mask[:, 0]`: a mask of one split".into(),
            (_, true) => "save one row of it, such as `masks[0]`: a mask of one split".into(),
            _ => format!("save `{}` with `.ravel()` if that is what it means", array.name),
        };
        return Err(array.misshapen(problem, remedy));
    }
    array.flat()?;
    let numbers = match array.header.element {
        Element::Float(_) => whole(&array)?,
        _ => array.integers()?,
    };
    selected(name, &array.name, &numbers, array.is_boolean(), count, what)
}

/// Is an array called like a mask or a list of ids?
fn is_selection(name: &str) -> bool {
    name != "edge_index" && ["mask", "idx", "ids", "index", "indices"].iter().any(|end| name.ends_with(end))
}

/// Floats that are ids, or an error that names the first that is none.
fn whole(array: &Array) -> Result<Vec<i64>, FileError> {
    let numbers = array.reals()?.into_iter().enumerate().map(|(at, number)| {
        if number.fract() == 0.0 && number.abs() < 1e15 {
            Ok(number as i64)
        } else {
            Err(array.element(at, format!("is {number}, which is no id"), "save whole numbers".into()))
        }
    });
    numbers.collect()
}

/// What a list of numbers selects.
fn selected(
    file: &str,
    entry: &str,
    numbers: &[i64],
    boolean: bool,
    count: usize,
    what: &str,
) -> Result<Vec<i64>, FileError> {
    let wrong = |problem: String, remedy: String| {
        Err(FileError::Shape { file: file.into(), entry: entry.into(), problem, remedy })
    };
    let binary = numbers.iter().all(|number| matches!(number, 0 | 1));
    let repeated = numbers.len() > 2 || matches!(numbers, [first, second] if first == second);
    let fits = numbers.len() == count;
    let mask = || (0..).zip(numbers).filter(|(_, number)| **number == 1).map(|(id, _)| id).collect();
    match (boolean, binary && !numbers.is_empty(), fits) {
        (true, _, true) => Ok(mask()),
        (true, _, false) => wrong(
            format!("is a mask of {} entries, but there are {count} {what}", numbers.len()),
            format!("save a mask with one entry for each of the {count} {what}, or ids (`np.flatnonzero(mask)`)"),
        ),
        (false, true, true) if repeated => Ok(mask()),
        (false, true, true) => wrong(
            format!("is {}, which may be ids or a mask: there are {count} {what}", spell_numbers(numbers)),
            "save a mask as booleans (`.astype(bool)`), or give the ids on the command line".into(),
        ),
        (false, true, false) if repeated => wrong(
            format!("holds only 0 and 1, like a mask, but has {} entries for {count} {what}", numbers.len()),
            format!(
                "if these are ids, write each of them once; save a mask with one entry for each of the {count} {what}, or its ids \
                 (`np.flatnonzero(mask)`)"
            ),
        ),
        // Ids are said once: this is a value for each thing, such as its label.
        (_, _, true) if distinct(numbers) < count => wrong(
            format!(
                "has one entry for each of the {count} {what} and names {} of them: is this a list of ids?",
                distinct(numbers)
            ),
            "save ids, each of them once, such as `np.flatnonzero(labels == 3)`, or a mask (`labels == 3`)".into(),
        ),
        _ => Ok(numbers.to_vec()),
    }
}

fn distinct(numbers: &[i64]) -> usize {
    numbers.iter().collect::<BTreeSet<_>>().len()
}

fn spell_numbers(numbers: &[i64]) -> String {
    let sides: Vec<usize> = numbers.iter().filter_map(|&number| usize::try_from(number).ok()).collect();
    spell(&sides)
}
