//! Lists of integers for nodes, attributes and budgets, from text, npy or npz.

use crate::FileError;
use crate::archive::Archive;
use crate::array::{Array, spell};
use crate::source::{self, Kind};
use std::path::Path;

/// Reads integers: one in each line of a text (with `#` comments and empty lines), or a
/// one-dimensional integer array in an npy file, alone in an npz file, or named after one (`FILE.npz:NAME`).
///
/// # Errors
/// If the file cannot be read or holds anything else.
pub fn read_integers(path: &Path) -> Result<Vec<i64>, FileError> {
    if let Some(array) = named(path)? {
        return whole(&array);
    }
    parse_integers(&path.display().to_string(), &source::read(path)?)
}

/// One array of several, as in lists of nodes: `FILE.npz:NAME`.
fn named(path: &Path) -> Result<Option<Array>, FileError> {
    let named = path.to_str().and_then(|text| text.rsplit_once(':')).filter(|_| !path.exists());
    let Some((file, entry)) = named.filter(|(file, _)| Path::new(file).exists()) else { return Ok(None) };
    let bytes = source::read(Path::new(file))?;
    Archive::open(file, &bytes)?.required(entry, "name one of the arrays that the file has").map(Some)
}

/// Reads integers from the bytes of a file; see [`read_integers`].
///
/// # Errors
/// If the bytes hold anything else.
pub fn parse_integers(name: &str, bytes: &[u8]) -> Result<Vec<i64>, FileError> {
    match array(name, bytes)? {
        Some(array) => whole(&array),
        None => text(name, bytes),
    }
}

/// The array of an npy file, or that of an npz file with one; nothing where the bytes are text.
fn array(name: &str, bytes: &[u8]) -> Result<Option<Array>, FileError> {
    match source::kind(bytes) {
        Kind::Npy => Array::from_npy(name, bytes).map(Some),
        Kind::Zip => Archive::open(name, bytes)?
            .only(format!(
                "name the array of integers after the file, as in `{name}:NAME`, or save it alone with `np.save(path, integers)`"
            ))
            .map(Some),
        Kind::Safetensors | Kind::Pickle | Kind::Other => Ok(None),
    }
}

/// The numbers of a list: integers, or floats that are whole numbers, as in texts.
fn whole(array: &Array) -> Result<Vec<i64>, FileError> {
    array.flat()?;
    numbers(
        array,
        "save a list of whole numbers; a share of the attributes, the same for all nodes, is said by `-q 1%`",
    )
}

/// The same of an array with any sides.
fn numbers(array: &Array, remedy: &str) -> Result<Vec<i64>, FileError> {
    if !array.is_float() {
        return array.integers();
    }
    let number = |(at, value): (usize, f64)| match value {
        // Below this, every whole number is a float.
        _ if value.fract() == 0.0 && value.abs() < 9e15 => Ok(value as i64),
        _ => Err(array.element(at, format!("is {value}, but whole numbers are needed"), remedy.into())),
    };
    array.reals()?.into_iter().enumerate().map(number).collect()
}

/// Reads the ids of both ends of edges: of an array in each row or one end after the other, of a text in each line or
/// one id in a line, one end after the other. Any other line is an error: nobody has to guess which ids belong
/// together.
///
/// # Errors
/// If the file cannot be read or holds anything else.
pub fn read_ends(path: &Path) -> Result<Vec<i64>, FileError> {
    if let Some(array) = named(path)? {
        return ends(&array);
    }
    let (name, bytes) = (path.display().to_string(), source::read(path)?);
    match array(&name, &bytes)? {
        Some(array) => ends(&array),
        None => {
            let lines = lines(&name, &bytes)?;
            let one_by_one = lines.len().is_multiple_of(2) && lines.iter().all(|line| line.numbers.len() == 1);
            if let Some(line) = lines.iter().find(|line| line.numbers.len() != 2).filter(|_| !one_by_one) {
                let (count, line) = (line.numbers.len(), line.at);
                let ids = if count == 1 { "one id".into() } else { format!("{count} ids") };
                return Err(FileError::Line {
                    file: name,
                    line,
                    problem: format!("has {ids}, but an edge has two ends"),
                });
            }
            Ok(lines.into_iter().flat_map(|line| line.numbers).collect())
        }
    }
}

/// The ends of edges in an array: one edge in each row, or one end after the other.
fn ends(array: &Array) -> Result<Vec<i64>, FileError> {
    match array.shape() {
        [_] | [_, 2] => numbers(array, "save the ids of nodes, which are whole numbers from 0"),
        shape => Err(array.misshapen(
            format!("has shape {}, but one edge in each row is needed, [edges, 2]", spell(shape)),
            match shape {
                [2, _] => "save it transposed (`.T`): one edge in each row".into(),
                _ => "save an array with two columns, the ids of both ends".into(),
            },
        )),
    }
}

/// A list as text: one number in each line, or all in one line with commas between. Programs that write tables put a
/// name above the column, and some a byte order mark before it.
pub(crate) fn text(file: &str, bytes: &[u8]) -> Result<Vec<i64>, FileError> {
    one_list(file, lines(file, bytes)?)
}

/// The numbers of a line, which is counted from 1.
struct Line {
    at: usize,
    numbers: Vec<i64>,
}

/// Numbers of which nobody has to guess whether they are a list or the columns of a table.
fn one_list(file: &str, lines: Vec<Line>) -> Result<Vec<i64>, FileError> {
    match lines.iter().find(|line| line.numbers.len() > 1 && lines.len() > 1) {
        None => Ok(lines.into_iter().flat_map(|line| line.numbers).collect()),
        Some(line) => Err(FileError::Line {
            file: file.into(),
            line: line.at,
            problem: format!("has {} numbers: which column of the table is meant?", line.numbers.len()),
        }),
    }
}

/// The lines that hold numbers.
fn lines(file: &str, bytes: &[u8]) -> Result<Vec<Line>, FileError> {
    let wrong = |line, problem: &str| FileError::Line { file: file.into(), line, problem: problem.into() };
    if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
        return Err(wrong(1, "the text is UTF-16, but UTF-8 is needed"));
    }
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let mut found = Vec::new();
    let mut named = false;
    for (at, content) in (1..).zip(bytes.split(|&byte| byte == b'\n')) {
        let content = std::str::from_utf8(content).map_err(|_| wrong(at, "is not text"))?;
        let content = content.split('#').next().unwrap_or_default().trim();
        let content = content.strip_suffix(',').unwrap_or(content);
        if content.is_empty() {
            continue;
        }
        if found.is_empty() && !named && is_name(content) {
            named = true;
            continue;
        }
        let numbers: Result<Vec<i64>, &str> =
            content.split([',', '\t', ' ']).map(str::trim).filter(|cell| !cell.is_empty()).map(number).collect();
        let empty = content.split(',').any(|cell| cell.trim().is_empty());
        match numbers {
            Ok(_) if empty => return Err(wrong(at, "a number is missing between two commas")),
            Ok(numbers) => found.push(Line { at, numbers }),
            Err(cell) => {
                let shown: String = cell.chars().take(40).collect();
                return Err(wrong(at, &format!("`{}` is not an integer of 64 bits", shown.escape_debug())));
            }
        }
    }
    if found.is_empty() {
        // An empty list is more often a failed download than a wish; an npy array can say it.
        return Err(wrong(1, "the text ends without any integer"));
    }
    Ok(found)
}

/// Are these the names of columns? An id that was mistyped has digits, and a truth value is no name.
fn is_name(content: &str) -> bool {
    let is_truth = content.eq_ignore_ascii_case("true") || content.eq_ignore_ascii_case("false");
    let letters = content.chars().all(|letter| letter.is_alphabetic() || "_-,\t \"'".contains(letter));
    letters && content.chars().any(char::is_alphabetic) && !is_truth
}

/// An integer, also one that was written as a float, as `np.savetxt` does.
fn number(cell: &str) -> Result<i64, &str> {
    cell.parse().or_else(|_| match cell.parse::<f64>() {
        Ok(number) if number.fract() == 0.0 && number.abs() < 1e15 => Ok(number as i64),
        _ => Err(cell),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &[u8]) -> Result<Vec<i64>, String> {
        parse_integers("ids.txt", text).map_err(|error| error.to_string())
    }

    #[test]
    fn lists_as_programs_write_them_are_read() {
        for text in [
            &b"3\n17\n25\n"[..],
            b"\xef\xbb\xbf3\r\n17\r\n25",
            b"node\n3\n17\n25\n",
            b"\xef\xbb\xbf\"node_id\"\n3\n17\n25\n",
            b"3,17,25",
            b"3, 17, 25,\n",
            b"3,\n17,\n25\n",
            b"# ids\nid # of a node\n\n3 # the first\n17\n25",
            b"3.000000000000000000e+00\n1.700000000000000000e+01\n2.500000000000000000e+01\n",
            b"3 17 25\n",
        ] {
            assert_eq!(read(text), Ok(vec![3, 17, 25]), "{}", text.escape_ascii());
        }
    }

    #[test]
    fn what_may_mean_something_else_is_refused() {
        for (text, said) in [
            (&b"node,label\n3,1\n17,2\n"[..], "line 2: has 2 numbers"),
            (b"3,1\n17,2\n", "line 1: has 2 numbers"),
            (b"3\n17,2\n", "line 2: has 2 numbers"),
            (b"True\nFalse\n", "`True`"),
            (b"l7\n18\n", "`l7`"),
            (b"3,,17", "missing between two commas"),
            (b"node\nid\n3\n", "line 2: `id`"),
            (b"2.5\n", "`2.5`"),
            (b"1e300\n", "`1e300`"),
            (b"nan\n", "without any integer"),
            (b"\xff\xfe3\0", "UTF-16"),
            (b"node\n", "without any integer"),
            (b"99999999999999999999\n", "`99999999999999999999`"),
        ] {
            let problem = read(text).unwrap_err();
            assert!(problem.contains(said), "{}: {problem}", text.escape_ascii());
        }
    }
}
