//! `compactwire.Dictionary`: a trained zstd dictionary and its file. Compact Protocol v4 sections 1 and 2.

use super::args::{self, Input, each, read_file, sizes, wrong_type};
use super::errors::Result;
use super::record::{self, Frozen, hash_of, reduced, returned_by_value};
use super::response::Response;
use crate::calls::{Run, detach};
use crate::files::write_file;
use crate::interrupt::{attached, to_end};
use crate::make::{Number, Str, ensure_memory, make_bytes, make_str, name, push};
use compactwire::compact::{self, DEFAULT_SIZE, DecodeError, Description, NamedDictionary};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString, PyTuple, PyType};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// A zstd dictionary, trained on typical messages.
///
/// Immutable and thread-safe. Created by `train`, `load`, `from_bytes` or `default`. A message
/// refers to its dictionary by `id`.
///
/// Source: Compact Protocol v4 sections 1 and 2.
#[pyclass(frozen, extends = Frozen, module = "compactwire")]
pub(super) struct Dictionary {
    core: Arc<compact::Dictionary>,
    name: String,
}

returned_by_value!(Frozen: Dictionary);

#[pymethods]
impl Dictionary {
    /// Train a dictionary on samples.
    ///
    /// Parameters
    /// ----------
    /// samples : iterable of str, Response, Mapping or bytes
    ///     Typical results or whole responses; bytes are used as they are, as encoded MessagePack.
    ///     A hundred or more, together several times the size of the dictionary.
    /// size : int
    ///     The largest size of the dictionary in bytes.
    /// content_type, model : str
    ///     The kind of content and the model that wrote it, for the first line of the file.
    /// time : int, optional
    ///     Seconds since 1970 for the first line of the file; the current time by default. The rest
    ///     of the file depends on the samples alone.
    ///
    /// Raises
    /// ------
    /// EncodeError
    ///     The samples are too few or too small, or the first line cannot contain a character of
    ///     `content_type` or `model`.
    ///
    /// Source: Compact Protocol v4 sections 1 and 2.
    #[staticmethod]
    #[pyo3(signature = (samples, /, *, size = 112_640, content_type = "mixed", model = "", time = None))]
    fn train(
        py: Python<'_>,
        samples: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = sizes::size)] size: usize,
        #[pyo3(from_py_with = args::written::content_type)] content_type: &str,
        #[pyo3(from_py_with = args::written::model)] model: &str,
        time: Option<&Bound<'_, PyAny>>,
    ) -> Result<Self> {
        let mut taken = Vec::new();
        for (at, item) in each(samples, "samples", "str or Response")?.enumerate() {
            push(&mut taken, sample(&item?, at)?)?;
        }
        let now = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs());
        let description = Description {
            content_type: content_type.into(),
            model: model.into(),
            samples: taken.len() as u64,
            time: match time {
                Some(time) => args::natural(time, "time")?,
                None => now(),
            }
            .to_string(),
        };
        let train = || compact::Dictionary::train(&taken, size, description);
        let core = detach(py, || attached(train))??;
        Ok(Self::new(Arc::new(core), None))
    }

    /// Return the dictionary built into the package, which `decode` always tries.
    #[staticmethod]
    fn default() -> PyResult<Self> {
        Ok(Self::new(Arc::clone(built_in()?), None))
    }

    /// Read a dictionary file, or a bare zstd dictionary.
    ///
    /// Parameters
    /// ----------
    /// file : str, path-like, or a file open for reading
    ///     A path, or an object whose `read()` returns bytes.
    /// name : str, optional
    ///     The name by which old containers refer to the dictionary; by default its content type.
    ///
    /// Raises
    /// ------
    /// InvalidFormat
    ///     The file is not a dictionary, or was cut or changed; this is noticed for dictionaries
    ///     of `train`.
    /// OSError
    ///     The file cannot be read.
    #[staticmethod]
    #[pyo3(signature = (file, /, *, name = None))]
    fn load(
        file: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = args::written::optional::name)] name: Option<String>,
    ) -> Result<Self> {
        // A text is always a path: a dictionary file is not UTF-8.
        let content = read_file(file, "from_bytes", |_| false)?;
        Self::parse(Input::new(&content, "file.read()")?.bytes("file.read()")?, name)
    }

    /// Read a dictionary from the bytes of a file; otherwise like `load`.
    ///
    /// Raises
    /// ------
    /// InvalidFormat
    ///     The bytes are not a dictionary.
    #[staticmethod]
    #[pyo3(signature = (data, /, *, name = None))]
    fn from_bytes(
        data: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = args::written::optional::name)] name: Option<String>,
    ) -> Result<Self> {
        Self::parse(Input::new(data, "data")?.bytes("data")?, name)
    }

    /// Write the dictionary as a file of version 2.
    ///
    /// Parameters
    /// ----------
    /// path : str or path-like
    ///     The file; an existing file is replaced once the new one is complete.
    ///
    /// Raises
    /// ------
    /// OSError
    ///     The file cannot be written.
    #[pyo3(signature = (path, /))]
    fn save(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = args::path)] path: PathBuf,
    ) -> PyResult<()> {
        write_file(py, path, &self.core.to_bytes())
    }

    /// Return the bytes of the dictionary file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        make_bytes(py, &self.core.to_bytes())
    }

    /// The zstd dictionary id, which frames contain; 0 if the dictionary has none.
    #[getter]
    fn id(&self) -> Number<u64> {
        Number(self.core.id().into())
    }

    /// The name that old containers use; by default the content type.
    #[getter]
    fn name(&self) -> Str<&str> {
        Str(&self.name)
    }

    /// The kind of content of the samples.
    #[getter]
    fn content_type(&self) -> Str<&str> {
        Str(&self.core.description().content_type)
    }

    /// The model that wrote the samples; empty for any.
    #[getter]
    fn model(&self) -> Str<&str> {
        Str(&self.core.description().model)
    }

    /// The number of samples.
    #[getter]
    fn samples(&self) -> Number<u64> {
        Number(self.core.description().samples)
    }

    /// The time of the training, as in the file; this package writes seconds since 1970.
    #[getter]
    fn time(&self) -> Str<&str> {
        Str(&self.core.description().time)
    }

    /// The size in bytes, without the first line of the file.
    #[getter]
    fn size(&self) -> Number<usize> {
        Number(self.core.content().len())
    }

    fn __repr__(&self) -> Str<String> {
        let Self { core, name } = self;
        let size = core.content().len();
        Str(format!("<Dictionary {name:?}, id {}, {size} bytes>", core.id()))
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        record::equality(other, |other: &Bound<'_, Self>| Ok(self.key() == other.get().key()))
    }

    fn __hash__(&self) -> u64 {
        hash_of(&self.key())
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let py = slf.py();
        let this = slf.get();
        let name = make_str(py, &this.name)?.into_any();
        if Arc::ptr_eq(&this.core, built_in()?) {
            let restore = py.get_type::<Self>().run_getattr(name!(py, "_restore_built_in")?)?;
            return reduced(restore, [this.id().into_bound_py_any(py)?, name]);
        }
        let restore = py.get_type::<Self>().run_getattr(name!(py, "_restore")?)?;
        reduced(restore, [this.to_bytes(py)?.into_any(), name])
    }

    /// The built-in dictionary, which is pickled by its id. Another version of the package may have another.
    #[classmethod]
    fn _restore_built_in(
        _class: &Bound<'_, PyType>,
        id: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = args::written::name)] name: String,
    ) -> Result<Self> {
        let built_in = built_in()?;
        // A number that is no id is refused like the id of another version.
        let id = u32::try_from(args::natural(id, "id")?).unwrap_or(u32::MAX);
        if built_in.id() != id {
            return Err(DecodeError::DictionaryNotFound { id, name: None }.into());
        }
        Ok(Self::new(Arc::clone(built_in), Some(name)))
    }

    #[classmethod]
    fn _restore(
        _class: &Bound<'_, PyType>,
        file: &Bound<'_, PyBytes>,
        #[pyo3(from_py_with = args::written::name)] name: String,
    ) -> Result<Self> {
        Self::parse(file.as_bytes(), Some(name))
    }
}

fn built_in() -> PyResult<&'static Arc<compact::Dictionary>> {
    to_end(compact::Dictionary::built_in)
}

impl Dictionary {
    fn new(core: Arc<compact::Dictionary>, name: Option<String>) -> Self {
        let name = name.unwrap_or_else(|| core.description().content_type.clone());
        Self { core, name }
    }

    fn parse(file: &[u8], name: Option<String>) -> Result<Self> {
        Ok(Self::new(to_end(|| compact::Dictionary::shared(file))??, name))
    }

    fn key(&self) -> (&str, &Description, &[u8]) {
        (&self.name, self.core.description(), self.core.content())
    }

    pub(super) fn core(&self) -> &compact::Dictionary {
        &self.core
    }
}

// The signature repeats the number, because it shows literals only.
const _: () = assert!(DEFAULT_SIZE == 112_640);

/// The bytes of a sample: a string becomes the response with that result, bytes stay as they are.
fn sample(item: &Bound<'_, PyAny>, at: usize) -> Result<Vec<u8>> {
    let py = item.py();
    if let Ok(bytes) = item.cast::<PyBytes>() {
        ensure_memory(bytes.as_bytes().len())?;
        return Ok(bytes.as_bytes().to_vec());
    }
    let sample = if let Ok(text) = item.cast::<PyString>() {
        let text = args::enough_for(args::utf8(text, "samples")?)?;
        compact::sample(&compact::Response::new(text))
    } else {
        let name = format_args!("samples[{at}]");
        compact::sample(&Response::from_argument(item, name)?.get().borrow(py)?)
    };
    Ok(sample?)
}

/// The dictionaries that the caller passes to a decoder, kept alive.
pub(super) struct Given<'py>(Vec<Bound<'py, Dictionary>>);

impl<'py> Given<'py> {
    pub(super) fn new(
        dictionary: Option<Bound<'py, Dictionary>>,
        dictionaries: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Self> {
        let mut given: Vec<_> = dictionary.into_iter().collect();
        if let Some(dictionaries) = dictionaries {
            for (at, item) in each(dictionaries, "dictionaries", "Dictionary")?.enumerate() {
                let item = item?.cast_into::<Dictionary>().map_err(|error| {
                    let name = format_args!("dictionaries[{at}]");
                    wrong_type(&error.into_inner(), name, "a Dictionary")
                })?;
                given.push(item);
            }
        }
        Ok(Self(given))
    }

    pub(super) fn named(&self) -> Vec<NamedDictionary<'_>> {
        self.0
            .iter()
            .map(|given| NamedDictionary { name: &given.get().name, dictionary: &given.get().core })
            .collect()
    }
}
