//! Npz files: the archive is checked before anything is inflated, and one array is inflated at a time.

use crate::FileError;
use crate::array::{Array, cost, size};
use crate::header::{Element, Header};
use crate::source::{Source, largest_inflated};
use std::collections::BTreeMap;
use std::io::{Cursor, Read, Seek, SeekFrom};
use zip::{CompressionMethod, ZipArchive};

/// An npz file: which arrays it has, and a budget for inflating them.
pub(crate) struct Archive<'bytes> {
    file: String,
    zip: ZipArchive<Box<dyn Source + 'bytes>>,
    /// Array names (without `.npy`) and their places in the zip.
    places: BTreeMap<String, usize>,
    /// Entries that are no arrays at all.
    pub strangers: Vec<String>,
    /// What all arrays may take together, and what is left of it.
    limit: u64,
    budget: u64,
    /// The length of the file.
    length: u64,
}

impl<'bytes> Archive<'bytes> {
    /// An archive in memory.
    pub fn open(file: &str, bytes: &'bytes [u8]) -> Result<Self, FileError> {
        Archive::over(file, Box::new(Cursor::new(bytes)))
    }

    /// Reads the directory, and refuses archives that two tools could understand differently.
    pub fn over(file: &str, mut source: Box<dyn Source + 'bytes>) -> Result<Self, FileError> {
        let unreadable = |source| FileError::Unreadable { file: file.into(), source };
        let length = source.seek(SeekFrom::End(0)).map_err(unreadable)?;
        let limit = largest_inflated(length);
        source.rewind().map_err(unreadable)?;
        let damaged = |error: zip::result::ZipError| FileError::Damaged {
            file: file.into(),
            entry: "the zip directory".into(),
            problem: error.to_string(),
        };
        let mut zip = ZipArchive::new(source).map_err(damaged)?;
        // Told first: its remedy is another than that of any other archive.
        for index in 0..zip.len() {
            let entry = zip.by_index_raw(index).map_err(damaged)?;
            if entry.name().is_ok_and(|name| name == "data.pkl" || name.ends_with("/data.pkl")) {
                return Err(FileError::TorchSave { file: file.into() });
            }
        }
        // Duplicate names, overlapping entries, local headers that disagree with the directory:
        // Python and this crate could then see different arrays, and a proof would be about
        // another graph than the user's.
        zip.validate_header_consistency().map_err(damaged)?;
        let mut places = BTreeMap::new();
        let mut strangers = Vec::new();
        for index in 0..zip.len() {
            let name = zip.by_index_raw(index).map_err(damaged)?;
            let name = name.name().map_err(damaged)?.into_owned();
            match name.strip_suffix(".npy") {
                Some(array) => {
                    places.insert(array.to_owned(), index);
                }
                None => strangers.push(name),
            }
        }
        Ok(Archive { file: file.into(), zip, places, strangers, limit, budget: limit, length })
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.places.keys().map(String::as_str)
    }

    pub fn has(&self, name: &str) -> bool {
        self.places.contains_key(name)
    }

    /// The array, or a complaint that it is missing.
    pub fn required(&mut self, name: &str, remedy: &str) -> Result<Array, FileError> {
        if !self.has(name) {
            return Err(FileError::MissingArray {
                file: self.file.clone(),
                entry: name.into(),
                found: listed(self.names()),
                remedy: remedy.into(),
            });
        }
        self.array(name)
    }

    /// The complaint about a graph without edges.
    pub fn no_edges(&self, remedy: &'static str) -> FileError {
        FileError::NoEdges { file: self.file.clone(), found: listed(self.names()), remedy }
    }

    /// The only array of the file, or a complaint that there is not exactly one.
    pub fn only(&mut self, remedy: impl Into<String>) -> Result<Array, FileError> {
        let names: Vec<String> = self.names().map(str::to_owned).collect();
        let [only] = names.as_slice() else {
            return Err(FileError::Shape {
                file: self.file.clone(),
                entry: listed(self.names()),
                problem: format!("are {} arrays, but exactly one is needed", names.len()),
                remedy: remedy.into(),
            });
        };
        self.array(only)
    }

    /// What kind of array this is, without inflating more than its header.
    pub fn header(&mut self, name: &str) -> Result<Header, FileError> {
        Ok(self.open_entry(name)?.0)
    }

    /// Whether the array is a pickle.
    pub fn is_object(&mut self, name: &str) -> Result<bool, FileError> {
        Ok(self.header(name)?.element == Element::Object)
    }

    /// Inflates one array: exactly the bytes that its header promises, or an error.
    pub fn array(&mut self, name: &str) -> Result<Array, FileError> {
        let file = self.file.clone();
        let (limit, budget, length) = (self.limit, self.budget, self.length);
        let (header, declared, mut entry) = self.open_entry(name)?;
        let expected = size(&file, name, &header)? as u64;
        let damaged = |problem: String| FileError::Damaged { file: file.clone(), entry: name.into(), problem };
        let cost = cost(&header, expected);
        if cost > budget {
            return Err(FileError::TooLarge {
                file: file.clone(),
                entry: name.into(),
                problem: format!("would inflate the file beyond {limit} bytes of numbers and names"),
            });
        }
        if declared != expected.saturating_add(header.length as u64) {
            return Err(damaged(format!(
                "its npy header promises {expected} bytes of data, but the zip directory {declared} \
                 bytes in all"
            )));
        }
        // No more capacity in advance than the file is long: beyond that the buffer grows with the bytes that really
        // arrive. One byte more than promised is asked for, to catch an entry that does not stop.
        let mut data = Vec::with_capacity((expected + 1).min(length) as usize);
        let read = entry.by_ref().take(expected + 1).read_to_end(&mut data);
        read.map_err(|error| damaged(error.to_string()))?;
        if data.len() as u64 != expected {
            let more = if data.len() as u64 > expected { "more" } else { "fewer" };
            return Err(damaged(format!("its npy header promises {expected} bytes of data, but {more} inflate")));
        }
        drop(entry);
        self.budget -= cost;
        Ok(Array { file, name: name.into(), header, data })
    }

    /// Opens an entry and reads its npy header: the header, the size that the directory declares,
    /// and a reader that stands at the data.
    fn open_entry(&mut self, name: &str) -> Result<(Header, u64, impl Read), FileError> {
        let file = self.file.clone();
        let damaged = |problem: String| FileError::Damaged { file: file.clone(), entry: name.into(), problem };
        let index = self.places.get(name).copied();
        let index = index.ok_or_else(|| damaged("it is not in the zip directory".into()))?;
        let mut entry = self.zip.by_index(index).map_err(|error| damaged(error.to_string()))?;
        if !matches!(entry.compression(), CompressionMethod::Stored | CompressionMethod::Deflated) {
            return Err(damaged(format!(
                "it is compressed by {}, but numpy only stores or deflates",
                entry.compression()
            )));
        }
        let declared = entry.size();
        let mut head = vec![0; 12];
        entry.read_exact(&mut head).map_err(|error| damaged(error.to_string()))?;
        let needed = Header::needed(&head).map_err(damaged)?;
        if needed < head.len() {
            return Err(damaged("its npy header is too short to say anything".into()));
        }
        // At most 64 KiB, which `needed` has made sure of.
        head.resize(needed, 0);
        entry.read_exact(&mut head[12..]).map_err(|error| damaged(error.to_string()))?;
        let header = Header::parse(&head).map_err(damaged)?;
        Ok((header, declared, entry))
    }
}

/// Names for a message: enough to recognise the file by, not all ten thousand of them.
pub(crate) fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.collect();
    let shown = names.iter().take(24).map(|name| name.chars().take(80).collect::<String>());
    let mut text = shown.collect::<Vec<_>>().join(", ");
    if names.len() > 24 {
        text.push_str(&format!(", and {} more", names.len() - 24));
    }
    if text.is_empty() { "nothing".into() } else { text }
}
