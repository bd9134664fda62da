//! Trained zstd dictionaries and their files.
//!
//! A file is one line of text, followed by the dictionary in the format of zstd:
//!
//! ```text
//! ZDCT|v2|content type|model|samples|time\n<zstd dictionary>
//! ```
//!
//! Files of version 1 (without a model) and bare zstd dictionaries are read as well. The id of a dictionary
//! that [`Dictionary::train`] makes is [`content_id`], and its content begins with [`MARK`], so that a copy
//! whose dictionary is cut or changed is rejected: also one whose mark alone is changed, but not one with
//! changes in the mark and elsewhere. The ids of others say nothing about their content, and nothing protects
//! the first line.
//!
//! A decoder finds a dictionary by its zstd id, or by its name for old containers, whose frames have no id.

use super::error::{DecodeError, EncodeError};
use super::format::{Layout, Protocol};
use super::layout;
use super::response::Response;
use crate::compression::{self, CDict, DDict};
use crate::interrupt::run_apart;
use crate::limits::MAX_DICTIONARY_HEADER;
use crate::memory;
use flate2::Crc;
use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use zstd::zstd_safe;

/// The compression level. Each of the next two levels saves less than 1% and takes about 50% more
/// time (`benches/RESULTS.md`, "Compression levels").
const LEVEL: i32 = 8;

/// The default size of a trained dictionary in bytes, the same as that of zstd.
pub const DEFAULT_SIZE: usize = 112_640;

/// The smallest size of a trained dictionary in bytes: zstd's `ZDICT_DICTSIZE_MIN`.
const MIN_SIZE: usize = 256;

/// The first bytes of a zstd dictionary (RFC 8878, section 5).
const ZSTD_DICTIONARY_MAGIC: [u8; 4] = 0xec30_a437_u32.to_le_bytes();

/// The place of the id in a zstd dictionary.
const ID: Range<usize> = 4..8;

/// The first bytes of the content of a trained dictionary: they say that the id is [`content_id`].
const MARK: [u8; 8] = *b"ZDCT-CRC";

/// The last bytes of the tables of a zstd dictionary, before its content: the offsets 1, 4 and 8.
const OFFSETS: [u8; 12] = *b"\x01\0\0\0\x04\0\0\0\x08\0\0\0";

/// The tables of a zstd dictionary are shorter.
const TABLES: usize = 1 << 10;

/// The ids that a private dictionary may have (RFC 8878, section 5).
const IDS: Range<u32> = 1 << 15..1 << 31;

/// The first line of a dictionary file.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Description {
    /// The content of the samples: `code`, `mixed`, ….
    pub content_type: String,
    /// The model that wrote the samples; empty for any model.
    pub model: String,
    /// The number of samples.
    pub samples: u64,
    /// The time of the training in seconds since 1970, as text.
    pub time: String,
}

/// A trained dictionary, ready to compress and decompress.
pub struct Dictionary {
    id: u32,
    description: Description,
    content: Vec<u8>,
    decompressor: DDict<'static>,
    // Prepared on first use, because a program that only decodes does not need it.
    compressor: OnceLock<CDict<'static>>,
}

static BUILT_IN: OnceLock<Arc<Dictionary>> = OnceLock::new();

/// The memory for a dictionary that is read from a file: its content, and zstd's copy and tables.
fn size_to_read(file: &[u8]) -> usize {
    const TABLES: usize = 256 << 10;
    file.len().saturating_mul(2).saturating_add(TABLES)
}

/// The dictionaries in use that [`Dictionary::shared`] has returned.
static SHARED: Mutex<Vec<Weak<Dictionary>>> = Mutex::new(Vec::new());

impl Dictionary {
    /// The dictionary that is compiled in. Every decoder has it.
    ///
    /// Trained by `python -m data.train` from the samples in `data/corpus/`.
    ///
    /// # Panics
    /// There is not enough memory for it at its first use, outside of `interrupt::run`.
    pub fn built_in() -> &'static Arc<Self> {
        const FILE: &[u8] = include_bytes!("../../data/default.zdct");
        if let Some(made) = BUILT_IN.get() {
            return made;
        }
        let made = Self::parse(FILE);
        if let Err(DecodeError::OutOfMemory { .. }) = made {
            memory::require(Err(memory::exhausted()));
        }
        #[expect(clippy::expect_used, reason = "the bytes are fixed, and a test loads them")]
        let made = made.expect("the built-in dictionary is valid");
        BUILT_IN.get_or_init(|| Arc::new(made))
    }

    /// Trains a dictionary of at most `size` bytes from samples: `MessagePack` messages as [`sample`]
    /// writes them.
    ///
    /// # Errors
    /// [`EncodeError`] for `samples` that are too few or too small, a `size` below 256, and a
    /// `content_type` or `model` that the first line of a file cannot hold.
    pub fn train(
        samples: &[Vec<u8>],
        size: usize,
        description: Description,
    ) -> Result<Self, EncodeError> {
        description.check()?;
        if size < MIN_SIZE {
            let message = format!("{size} bytes are too few for a dictionary: {MIN_SIZE} or more");
            return Err(EncodeError::new("size", message));
        }
        // zstd allocates `size` at once, and no dictionary is larger than its samples.
        let total = samples.iter().map(Vec::len).fold(0, usize::saturating_add);
        let most = size.min(total);
        EncodeError::ensure_memory(
            "samples",
            compression::training_size(total, samples.len(), most),
        )?;
        let sizes: Vec<_> = samples.iter().map(Vec::len).collect();
        let trained = run_apart((samples.concat(), sizes, most), |(data, sizes, most)| {
            compression::train_zstd(data, sizes, *most)
        });
        let mut content = trained.map_err(|error| match error {
            compression::Error::OutOfMemory(_) => EncodeError::out_of_memory("samples"),
            error => {
                let message = format!(
                    "{} samples are too few or too short for a dictionary of {size} bytes \
                     ({error}): add samples or choose a smaller size",
                    samples.len()
                );
                EncodeError::new("samples", message)
            }
        })?;
        set_mark(&mut content);
        let id = content_id(&content).to_le_bytes();
        content[ID].copy_from_slice(&id);
        Self::new(content, description).map_err(|error| match error {
            DecodeError::OutOfMemory { .. } => EncodeError::out_of_memory("samples"),
            error => EncodeError::new("samples", error.to_string()),
        })
    }

    /// Reads a dictionary file.
    ///
    /// # Errors
    /// [`DecodeError::InvalidFormat`], also for the id of the built-in dictionary with other content: messages
    /// name a dictionary by its id alone.
    pub fn from_bytes(file: &[u8]) -> Result<Self, DecodeError> {
        let dictionary = Self::parse(file)?;
        let built_in = Self::built_in();
        if dictionary.id == built_in.id && dictionary.content != built_in.content {
            return invalid(
                "the dictionary has the id of the built-in one, but other content: it is cut or changed",
            );
        }
        Ok(dictionary)
    }

    fn parse(file: &[u8]) -> Result<Self, DecodeError> {
        DecodeError::ensure_memory(size_to_read(file))?;
        if file.starts_with(&ZSTD_DICTIONARY_MAGIC) {
            return Self::new(file.to_vec(), Description::default());
        }
        let line = file.iter().take(MAX_DICTIONARY_HEADER).position(|&byte| byte == b'\n');
        let header = line.and_then(|end| std::str::from_utf8(&file[..end]).ok());
        let (Some(end), Some(header)) = (line, header) else {
            return invalid("expected a dictionary file, whose first line begins with ZDCT|");
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
        // Without the magic number, zstd accepts any bytes as a dictionary without an id.
        let valid = content.starts_with(&ZSTD_DICTIONARY_MAGIC) && content.len() > ID.end;
        let Some(decompressor) = DDict::try_create(&content).filter(|_| valid) else {
            return invalid("invalid zstd dictionary");
        };
        let id = zstd_safe::get_dict_id_from_dict(&content).map_or(0, u32::from);
        if id != content_id(&content)
            && (place(&content, &MARK).is_some() || id == content_id_with_mark(&content)?)
        {
            return invalid(
                "the id of the dictionary does not match its content: it is cut or changed",
            );
        }
        let compressor = OnceLock::new();
        Ok(Self { id, description, content, decompressor, compressor })
    }

    /// Like [`Dictionary::from_bytes`]; returns a dictionary of the same content that is already in use, if
    /// there is one. A dictionary that is ready to compress takes megabytes, and the tasks of an engine each
    /// bring a copy.
    ///
    /// # Errors
    /// As [`Dictionary::from_bytes`].
    pub fn shared(data: &[u8]) -> Result<Arc<Self>, DecodeError> {
        let read = Self::from_bytes(data)?;
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        shared.retain(|dictionary| dictionary.strong_count() > 0);
        let in_use = shared.iter().filter_map(Weak::upgrade);
        if let Some(same) = in_use.chain([Arc::clone(Self::built_in())]).find(|one| one.is(&read)) {
            return Ok(same);
        }
        let read = Arc::new(read);
        shared.push(Arc::downgrade(&read));
        Ok(read)
    }

    /// Whether two dictionaries have the same file.
    fn is(&self, other: &Self) -> bool {
        (self.id, &self.description, &self.content)
            == (other.id, &other.description, &other.content)
    }

    /// Writes the dictionary as a file of version 2.
    pub fn to_bytes(&self) -> Vec<u8> {
        [self.description.header().as_bytes(), &self.content].concat()
    }

    /// The id, which frames refer to. A dictionary without an id has 0 and can only decompress.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// The description from the file.
    pub fn description(&self) -> &Description {
        &self.description
    }

    /// The dictionary in the format of zstd.
    pub fn content(&self) -> &[u8] {
        &self.content
    }

    pub(super) fn decompressor(&self) -> &DDict<'static> {
        &self.decompressor
    }

    /// The dictionary, prepared to compress.
    ///
    /// # Errors
    /// [`EncodeError`] for a dictionary without an id: a decoder could not find it.
    pub(super) fn compressor(&self) -> Result<&CDict<'static>, EncodeError> {
        const FIELD: &str = "dictionary";
        if self.id == 0 {
            return Err(EncodeError::new(FIELD, "it has no id, so a decoder could not find it"));
        }
        if let Some(compressor) = self.compressor.get() {
            return Ok(compressor);
        }
        let compressor = CDict::try_create(&self.content, LEVEL)
            .ok_or_else(|| EncodeError::out_of_memory(FIELD))?;
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
                let message = "a dictionary file cannot hold '|' or a line feed here";
                return Err(EncodeError::new(field, message));
            }
        }
        if self.header().len() > MAX_DICTIONARY_HEADER {
            let message =
                format!("the first line would be longer than {MAX_DICTIONARY_HEADER} bytes");
            return Err(EncodeError::new("content_type", message));
        }
        Ok(())
    }
}

/// An id that depends on the content of a zstd dictionary, apart from its id.
fn content_id(content: &[u8]) -> u32 {
    let mut crc = Crc::new();
    for part in [content.get(..ID.start), content.get(ID.end..)] {
        crc.update(part.unwrap_or_default());
    }
    IDS.start + crc.sum() % (IDS.end - IDS.start)
}

/// The id that the content would have with [`MARK`]. It is that of a dictionary whose mark was changed.
fn content_id_with_mark(content: &[u8]) -> Result<u32, DecodeError> {
    DecodeError::ensure_memory(content.len())?;
    let mut marked = content.to_vec();
    set_mark(&mut marked);
    Ok(content_id(&marked))
}

/// Sets [`MARK`] at the beginning of the content after the tables.
fn set_mark(content: &mut [u8]) {
    if let Some(tables) = place(content, &OFFSETS)
        && let Some(begin) = content[tables + OFFSETS.len()..].first_chunk_mut()
    {
        *begin = MARK;
    }
}

/// The place of `part` around the end of a dictionary's tables.
fn place(content: &[u8], part: &[u8]) -> Option<usize> {
    content.windows(part.len()).take(TABLES).position(|found| found == part)
}

/// A response as the dictionary format compresses it, for training.
///
/// # Errors
/// [`EncodeError`] for a result of 4 GiB or more.
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
    fn dictionaries_of_the_same_content_are_shared_while_one_is_in_use() {
        let file = Dictionary::built_in().to_bytes();
        let built_in = Dictionary::shared(&file).unwrap();
        assert!(Arc::ptr_eq(&built_in, Dictionary::built_in()));
        let other = [&b"ZDCT|v2|other||1|0\n"[..], &content()].concat();
        let [first, second] = [(); 2].map(|()| Dictionary::shared(&other).unwrap());
        assert!(Arc::ptr_eq(&first, &second) && !Arc::ptr_eq(&first, &built_in));
        let unused = Arc::downgrade(&first);
        drop([first, second]);
        assert!(unused.upgrade().is_none());
        assert_eq!(Dictionary::shared(&other).unwrap().description().content_type, "other");
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
    fn invalid_files_are_rejected() {
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
    fn a_built_in_dictionary_that_is_cut_or_changed_is_rejected() {
        let whole = Dictionary::built_in().to_bytes();
        let mut changed = whole.clone();
        *changed.last_mut().unwrap() ^= 1;
        for file in
            [&whole[..1000], &whole[..whole.len() - 1], &changed, &[&whole, &b"x"[..]].concat()]
        {
            let error = Dictionary::from_bytes(file).err().map(|error| error.to_string());
            assert!(error.is_some_and(|message| message.contains("cut or changed")));
        }
    }

    #[test]
    fn train_rejects_a_description_that_a_file_cannot_hold() {
        for content_type in ["a|b", "a\nb", &"x".repeat(5000)] {
            let description =
                Description { content_type: content_type.into(), ..Default::default() };
            let error = Dictionary::train(&[], 1000, description);
            assert_eq!(error.err().map(|e| e.field), Some("content_type"));
        }
    }

    #[test]
    fn train_limits_the_memory_by_the_size_of_the_samples() {
        let samples: Vec<_> =
            (0..200).map(|i| format!("sample {i} of many").into_bytes()).collect();
        let dictionary = Dictionary::train(&samples, usize::MAX, Description::default());
        assert!(dictionary.is_ok_and(|d| d.content().len() < 10_000));
    }

    #[test]
    fn train_rejects_a_size_that_zstd_cannot_fill() {
        let samples: Vec<_> =
            (0..200).map(|i| format!("sample {i} of many").into_bytes()).collect();
        let train = |size| Dictionary::train(&samples, size, Description::default());
        assert_eq!(train(MIN_SIZE - 1).err().map(|e| e.field), Some("size"));
        assert!(train(MIN_SIZE).is_ok());
    }

    #[test]
    fn train_rejects_too_few_samples() {
        let samples = vec![b"one".to_vec()];
        let error = Dictionary::train(&samples, 1000, Description::default());
        assert_eq!(error.err().map(|e| e.field), Some("samples"));
    }
}
