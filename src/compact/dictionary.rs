//! Trained zstd dictionaries, and the files that hold them.
//!
//! A file is one line of text and the dictionary as zstd writes it:
//!
//! ```text
//! ZDCT|v2|content type|model|samples|time\n<zstd dictionary>
//! ```
//!
//! Files of version 1 (no model) and bare zstd dictionaries load too. A dictionary is found by the
//! id that zstd gives it; only old containers, whose frames have none, are found by name.

use super::error::{DecodeError, EncodeError};
use super::format::{Layout, Protocol};
use super::layout;
use super::response::Response;
use crate::compression::{CDict, DDict};
use crate::limits::MAX_DICTIONARY_HEADER;
use std::sync::{Arc, LazyLock, OnceLock};
use zstd::zstd_safe;

/// Level at which dictionaries compress: the next two win less than 1% for half as much time again
/// (`benches/RESULTS.md`, "Compression levels").
const LEVEL: i32 = 8;

/// Default size of a trained dictionary in bytes, zstd's own.
pub const DEFAULT_SIZE: usize = 112_640;

/// First bytes of a zstd dictionary (RFC 8878, section 5).
const ZSTD_DICTIONARY_MAGIC: [u8; 4] = 0xec30_a437_u32.to_le_bytes();

/// What a dictionary's file says about it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Description {
    /// What the samples were: `code`, `mixed`, ….
    pub content_type: String,
    /// Which model wrote them; empty for any.
    pub model: String,
    /// How many there were.
    pub samples: u64,
    /// When it was trained, in seconds since 1970, as the file has it.
    pub time: String,
}

/// A trained dictionary, ready to compress and decompress.
pub struct Dictionary {
    id: u32,
    description: Description,
    content: Vec<u8>,
    decompressor: DDict<'static>,
    // Made on first use: a program that only reads never pays for it.
    compressor: OnceLock<CDict<'static>>,
}

static BUILT_IN: LazyLock<Arc<Dictionary>> = LazyLock::new(|| {
    #[expect(clippy::expect_used, reason = "the bytes are fixed, and a test loads them")]
    let dictionary = Dictionary::from_bytes(include_bytes!("../../data/default.zdct"))
        .expect("the built-in dictionary is valid");
    Arc::new(dictionary)
});

impl Dictionary {
    /// The dictionary inside the package, which every decoder knows.
    ///
    /// Trained by `python -m data.train` from the samples in `data/corpus/`.
    pub fn built_in() -> &'static Arc<Self> {
        &BUILT_IN
    }

    /// Trains a dictionary of at most `size` bytes from samples of what will be compressed:
    /// `MessagePack` messages as [`sample`] writes them.
    ///
    /// # Errors
    /// [`EncodeError`] on `samples` when they are too few or too small, and on `content_type` or
    /// `model` when a file header cannot carry them.
    pub fn train(
        samples: &[Vec<u8>],
        size: usize,
        description: Description,
    ) -> Result<Self, EncodeError> {
        description.check()?;
        // No dictionary is larger than what it is made of, and zstd takes all of `size` at once.
        let total = samples.iter().map(Vec::len).fold(0, usize::saturating_add);
        let content =
            zstd::dict::from_samples(samples, size.min(total)).map_err(|error| EncodeError {
                field: "samples",
                message: format!(
                    "{} samples make no dictionary of {size} bytes ({error}): give more or longer \
                 ones, or a smaller size",
                    samples.len()
                ),
            })?;
        Self::new(content, description)
            .map_err(|error| EncodeError { field: "samples", message: error.to_string() })
    }

    /// Reads a dictionary file.
    ///
    /// # Errors
    /// [`DecodeError::InvalidFormat`].
    pub fn from_bytes(file: &[u8]) -> Result<Self, DecodeError> {
        if file.starts_with(&ZSTD_DICTIONARY_MAGIC) {
            return Self::new(file.to_vec(), Description::default());
        }
        let line = file.iter().take(MAX_DICTIONARY_HEADER).position(|&byte| byte == b'\n');
        let header = line.and_then(|end| std::str::from_utf8(&file[..end]).ok());
        let (Some(end), Some(header)) = (line, header) else {
            return invalid("no dictionary file: expected a line that begins with ZDCT|");
        };
        let parts: Vec<&str> = header.split('|').collect();
        let (content_type, model, samples, time) = match parts[..] {
            ["ZDCT", "v1", content_type, samples, time] => (content_type, "", samples, time),
            ["ZDCT", "v2", content_type, model, samples, time] => {
                (content_type, model, samples, time)
            }
            _ => return invalid("expected ZDCT|v2|type|model|samples|time as the first line"),
        };
        let Ok(samples) = samples.parse() else {
            return invalid("expected the number of samples in the first line");
        };
        let description = Description {
            content_type: content_type.into(),
            model: model.into(),
            samples,
            time: time.into(),
        };
        Self::new(file[end + 1..].to_vec(), description)
    }

    fn new(content: Vec<u8>, description: Description) -> Result<Self, DecodeError> {
        // Without the magic number zstd takes any bytes for a dictionary without an id.
        let valid = content.starts_with(&ZSTD_DICTIONARY_MAGIC);
        let Some(decompressor) = DDict::try_create(&content).filter(|_| valid) else {
            return invalid("the file holds no valid zstd dictionary");
        };
        let id = zstd_safe::get_dict_id_from_dict(&content).map_or(0, u32::from);
        Ok(Self { id, description, content, decompressor, compressor: OnceLock::new() })
    }

    /// Writes the dictionary as a file of version 2.
    pub fn to_bytes(&self) -> Vec<u8> {
        [self.description.header().as_bytes(), &self.content].concat()
    }

    /// The id that frames carry; 0 for a dictionary without one, which can only decompress.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// What the file says.
    pub fn description(&self) -> &Description {
        &self.description
    }

    /// The dictionary as zstd wrote it.
    pub fn content(&self) -> &[u8] {
        &self.content
    }

    pub(super) fn decompressor(&self) -> &DDict<'static> {
        &self.decompressor
    }

    /// # Errors
    /// [`EncodeError`] for a dictionary without an id: nobody could tell what to decompress with.
    pub(super) fn compressor(&self) -> Result<&CDict<'static>, EncodeError> {
        let error = |message: &str| EncodeError { field: "dictionary", message: message.into() };
        if self.id == 0 {
            return Err(error("it has no id, so that no frame could name it"));
        }
        if let Some(compressor) = self.compressor.get() {
            return Ok(compressor);
        }
        let compressor = CDict::try_create(&self.content, LEVEL)
            .ok_or_else(|| error("zstd found no memory to prepare it"))?;
        Ok(self.compressor.get_or_init(|| compressor))
    }
}

impl Description {
    fn header(&self) -> String {
        let Self { content_type, model, samples, time } = self;
        format!("ZDCT|v2|{content_type}|{model}|{samples}|{time}\n")
    }

    fn check(&self) -> Result<(), EncodeError> {
        for (field, text) in
            [("content_type", &self.content_type), ("model", &self.model), ("time", &self.time)]
        {
            if text.contains(['|', '\n']) {
                let message = "a dictionary file cannot carry '|' or a line break here".into();
                return Err(EncodeError { field, message });
            }
        }
        if self.header().len() > MAX_DICTIONARY_HEADER {
            let message =
                format!("with the rest it makes a line above {MAX_DICTIONARY_HEADER} bytes");
            return Err(EncodeError { field: "content_type", message });
        }
        Ok(())
    }
}

/// A response as the dictionary format compresses it: what a dictionary is trained on.
///
/// # Errors
/// [`EncodeError`] for a result above 4 GiB.
pub fn sample(response: &Response<'_>) -> Result<Vec<u8>, EncodeError> {
    layout::write(response, Layout::Map, Protocol::V4)
}

fn invalid<T>(message: &str) -> Result<T, DecodeError> {
    Err(DecodeError::InvalidFormat(message.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content() -> Vec<u8> {
        Dictionary::built_in().content().to_vec()
    }

    #[test]
    fn the_built_in_dictionary_loads_and_has_an_id() {
        let dictionary = Dictionary::built_in();
        assert!(dictionary.id() >= 32_768, "ids below are reserved");
        assert_eq!(dictionary.description().content_type, "mixed");
        assert!(dictionary.compressor().is_ok());
    }

    #[test]
    fn files_of_both_versions_and_bare_dictionaries_load() {
        let id = Dictionary::built_in().id();
        for (header, content_type, model) in [
            (&b"ZDCT|v1|code|12|1736640000\n"[..], "code", ""),
            (b"ZDCT|v2|code|claude|12|1736640000\n", "code", "claude"),
            (b"", "", ""),
        ] {
            let dictionary = Dictionary::from_bytes(&[header, &content()].concat()).unwrap();
            assert_eq!(dictionary.id(), id);
            let description = dictionary.description();
            assert_eq!((&*description.content_type, &*description.model), (content_type, model));
            let again = Dictionary::from_bytes(&dictionary.to_bytes()).unwrap();
            assert_eq!(again.description().content_type, content_type);
            assert_eq!(again.content(), dictionary.content());
        }
    }

    #[test]
    fn other_files_are_refused() {
        let long = [b"ZDCT|v2|".repeat(1000), b"\n".to_vec()].concat();
        for file in [&b""[..], b"ZDCT|v3|a|b|1|2\nx", b"ZDCT|v1|a|b|1|2\nx", b"\xff\n", &long] {
            assert!(matches!(Dictionary::from_bytes(file), Err(DecodeError::InvalidFormat(_))));
        }
        let mut broken = content();
        broken[8..200].fill(0xff);
        for content in [&b""[..], b"raw content", &broken] {
            let file = [b"ZDCT|v2|a|b|1|2\n", content].concat();
            assert!(matches!(Dictionary::from_bytes(&file), Err(DecodeError::InvalidFormat(_))));
        }
    }

    #[test]
    fn what_a_file_could_not_carry_is_refused_before_training() {
        for content_type in ["a|b", "a\nb", &"x".repeat(5000)] {
            let description =
                Description { content_type: content_type.into(), ..Default::default() };
            let error = Dictionary::train(&[], 1000, description);
            assert_eq!(error.err().map(|e| e.field), Some("content_type"));
        }
    }

    #[test]
    fn a_size_beyond_the_samples_takes_no_memory() {
        let samples: Vec<_> =
            (0..200).map(|i| format!("sample {i} of many").into_bytes()).collect();
        let dictionary = Dictionary::train(&samples, usize::MAX, Description::default());
        assert!(dictionary.is_ok_and(|d| d.content().len() < 10_000));
    }

    #[test]
    fn too_few_samples_are_an_error() {
        let samples = vec![b"one".to_vec()];
        let error = Dictionary::train(&samples, 1000, Description::default());
        assert_eq!(error.err().map(|e| e.field), Some("samples"));
    }
}
