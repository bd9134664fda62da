//! `compactwire.cad`: vcad documents as dicts, JSON text, compact text and bytes. CAD IR "Format
//! Specification" and "Error Handling".
//!
//! Every reader returns a document of the core, and every writer takes one: a function here reads its
//! argument, writes the result, and reports repairs as warnings. `stream` reads a text node by node.

mod stream;

use super::args::{self, Input, each, is_sequence, read_file, sizes};
use super::detached;
use super::errors::classes::CompactParseError;
use super::errors::{Error, Result, invalid_option};
use crate::args::named;
use crate::calls::warn;
use crate::interrupt::attached;
use crate::make::{ensure_memory, make_bytes, make_list, make_str, once, py_error};
use crate::value::collector::CollectorPause;
use crate::value::document::DocumentReading;
use crate::value::objects::Objects;
use crate::value::read;
use crate::value::vocabulary::Vocabulary;
use compactwire::cad::{self as core, Dialect, Document, LoadOptions, Loss, Losses, Options};
use compactwire::excerpt::excerpt;
use compactwire::json;
use compactwire::text::scan;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyBytes, PyDict, PyList, PyString};
use std::ffi::CString;

/// vcad documents as compact text and bytes; import `compactwire.cad` instead.
#[pymodule(submodule, gil_used = false)]
pub(super) mod cad {
    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        crate::make_importable(module)
    }

    #[pymodule_export]
    use super::stream::{CompactIterator, iter_compact};
    #[pymodule_export]
    use super::{
        canonical, check, dumps, from_binary, from_compact, from_hybrid, load, loads, losses,
        to_binary, to_compact, to_hybrid,
    };
}

fn unknown_loss(code: &str) -> PyErr {
    let known = Losses::ALL.codes().join(", ");
    let message = format!("unknown loss code {}; known are {known}", excerpt(code));
    invalid_option("lossy", &message)
}

fn dialect(name: &str, auto: bool) -> PyResult<Dialect> {
    match name {
        "auto" if auto => Ok(Dialect::Auto),
        "0.1" => Ok(Dialect::V0_1),
        "0.2" => Ok(Dialect::V0_2),
        _ => {
            let known = if auto { "'auto', '0.1' or '0.2'" } else { "'0.1' or '0.2'" };
            Err(invalid_option(
                "dialect",
                &format!("dialect must be {known}, not {}", excerpt(name)),
            ))
        }
    }
}

/// A document from a dict or JSON text, and whether content that the model does not define was dropped.
fn read_document(doc: &Bound<'_, PyAny>, lossy: bool) -> Result<(Document<'static>, bool)> {
    let py = doc.py();
    let read = if let Some(text) = Input::if_text(doc, "doc")? {
        let text = text.json_text()?;
        ensure_memory(json::memory_of(text.as_bytes()))?;
        detached(py, text.len(), || core::read_json_lossy(text, lossy))?
    } else {
        let reading = DocumentReading::new(vocabulary(py)?);
        let read = attached(|| core::read_json(reading.source(doc.clone()), lossy))?;
        reading.budget.check()?;
        read
    };
    Ok(read?)
}

/// A document from any JSON object, including the parts that the model does not define.
fn read_kept(doc: &Bound<'_, PyAny>) -> Result<Document<'static>> {
    let py = doc.py();
    let read = if let Some(text) = Input::if_text(doc, "doc")? {
        let text = text.json_text()?;
        ensure_memory(json::memory_of(text.as_bytes()))?;
        detached(py, text.len(), || core::read_json_text_kept(text))?
    } else {
        let value = read::value_or(doc, "document", |_, path, message| {
            core::DocumentError::new(path, message).into()
        })?;
        attached(|| core::read_json_kept(value))?
    };
    Ok(read?)
}

/// The names of the format as `str` objects, which are kept for the life of the process: neither a
/// lookup in a dict nor a new key needs a new string.
fn vocabulary(py: Python<'_>) -> PyResult<&'static Vocabulary> {
    static NAMES: PyOnceLock<Vocabulary> = PyOnceLock::new();
    once(py, &NAMES, || Vocabulary::new(py, core::names()))
}

/// The bytes of memory that a document and its output take at most, estimated from the lines and words of
/// a text. 0 for a binary document, whose reader checks its counts itself.
fn document_memory(text: &[u8]) -> usize {
    let json = text.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{');
    if json {
        return json::memory_of(text);
    }
    if text.first() == Some(&0x89) {
        return 0;
    }
    let count = |wanted| scan::count(text, |byte| byte == wanted);
    let (lines, words) = (count(b'\n'), count(b' '));
    let of_bytes = text.len().saturating_mul(8);
    (lines + 1).saturating_mul(LINE_SIZE).saturating_add(words.saturating_mul(WORD_SIZE)) + of_bytes
}

/// The bytes of memory for a line: a node in a list that grows, or an error.
const LINE_SIZE: usize = 640;
/// The bytes of memory for a word of a line in a list that grows.
const WORD_SIZE: usize = 96;

/// The approximate size in bytes of a node as JSON, and of everything but nodes in most documents.
const NODE_SIZE: usize = 64;
const REST_SIZE: usize = 256;

/// A document as a dict.
fn dict<'py>(py: Python<'py>, document: &Document<'_>) -> Result<Bound<'py, PyAny>> {
    let count = document.nodes.len();
    let size = REST_SIZE + count.saturating_mul(NODE_SIZE);
    let mut builder = Objects::with_names(py, size, vocabulary(py)?);
    // A node is two or three dicts. No Python code runs while they are built.
    let pause = CollectorPause::new(py, count.saturating_mul(2));
    let built = attached(|| core::emit_document(document, &mut builder));
    drop(pause);
    built??;
    Ok(builder.finish())
}

/// The dict of a text whose document has the same order; `None` if `read_bytes` must read it, or find the error.
fn dict_in_order<'py>(
    py: Python<'py>,
    text: &[u8],
    dialect: Dialect,
) -> Result<Option<Bound<'py, PyAny>>> {
    let lines = scan::count(text, |byte| byte == b'\n') + 1;
    let mut builder = Objects::with_names(py, text.len().saturating_mul(4), vocabulary(py)?);
    let pause = CollectorPause::new(py, lines.saturating_mul(2));
    let built = attached(|| core::emit_text(text, dialect, &mut builder));
    drop(pause);
    Ok(built??.then(|| builder.finish()))
}

/// Decode compact text.
///
/// Parameters
/// ----------
/// src : str, bytes, bytearray or memoryview
///     The text; bytes are UTF-8, a byte order mark at the start is skipped.
/// dialect : {"auto", "0.1", "0.2"}
///     The dialect. "auto" detects 0.2 by the header `# vcad 0.2`, and is 0.1 otherwise.
///
/// Returns
/// -------
/// dict
///     The document in canonical form: lengths in mm, angles in degrees (`twist_angle` in radians);
///     whole numbers are int, other numbers float.
///
/// Raises
/// ------
/// CompactParseError
///     The first error, with line and column from 1. `check` returns all errors.
///
/// Source: CAD IR "Format Specification".
#[pyfunction]
#[pyo3(signature = (src, /, dialect = "auto"))]
fn from_compact<'py>(
    src: &Bound<'py, PyAny>,
    #[pyo3(from_py_with = args::words::dialect)] dialect: &str,
) -> Result<Bound<'py, PyAny>> {
    let py = src.py();
    let dialect = self::dialect(dialect, true)?;
    let data = Input::new(src, "src")?;
    let bytes = data.bytes_or_utf8()?;
    ensure_memory(document_memory(&bytes))?;
    if let Some(built) = dict_in_order(py, &bytes, dialect)? {
        return Ok(built);
    }
    let document = detached(py, bytes.len(), || core::read_bytes(&bytes, dialect))??;
    dict(py, &document)
}

/// The form in which a document is written: a dialect, or text for the public program vcad.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Dialect(Dialect),
    Vcad,
}

impl Form {
    fn new(name: Option<&str>, target: Option<&str>) -> PyResult<Self> {
        match (target, name) {
            (None, _) => Ok(Self::Dialect(dialect(name.unwrap_or("0.1"), false)?)),
            (Some("vcad"), None | Some("0.2")) => Ok(Self::Vcad),
            (Some("vcad"), Some(name)) => {
                dialect(name, false)?;
                Err(invalid_option("target", "target \"vcad\" is written in dialect 0.2"))
            }
            (Some(target), _) => {
                let message =
                    format!("unknown target {}; the only one is \"vcad\"", excerpt(target));
                Err(invalid_option("target", &message))
            }
        }
    }
}

/// `lossy=`: all losses or none, or the codes of those that are allowed.
pub(crate) enum Lossy {
    All(bool),
    Codes(Losses),
}

impl FromPyObject<'_, '_> for Lossy {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        if let Ok(all) = value.cast::<PyBool>() {
            return Ok(Self::All(all.is_true()));
        }
        let wrong = || {
            let message = "lossy must be a bool, or a list of loss codes such as [\"segments\"]";
            py_error::<PyTypeError>(message)
        };
        // PyO3's conversion to `Vec` would trust the length that a sequence states, and reserve memory for it.
        if value.is_instance_of::<PyString>() || !is_sequence(&value)? {
            return Err(wrong());
        }
        let mut losses = Losses::default();
        for code in each(&value, "lossy", "str")? {
            let code = code?;
            if !code.is_instance_of::<PyString>() {
                return Err(wrong());
            }
            let code = args::word(&code, "a code in lossy")?;
            if !losses.insert_code(code) {
                return Err(unknown_loss(code));
            }
        }
        Ok(Self::Codes(losses))
    }
}

impl Lossy {
    fn allowed(self, form: Form) -> PyResult<Losses> {
        match self {
            Self::All(false) => Ok(Losses::default()),
            Self::All(true) => Ok(Losses::ALL),
            Self::Codes(losses) if form == Form::Vcad => Ok(losses),
            Self::Codes(_) => {
                let message = "lossy must be a bool, unless there is a target";
                Err(py_error::<PyTypeError>(message))
            }
        }
    }
}

/// The options of `to_compact`, which fit each other.
#[derive(Clone, Copy)]
pub(crate) struct Writing {
    pub(crate) form: Form,
    pub(crate) names: bool,
    pub(crate) allowed: Losses,
    /// Whether content that the model does not define is kept.
    pub(crate) keep_unknown: bool,
}

impl Writing {
    pub(crate) fn new(
        dialect: Option<&str>,
        target: Option<&str>,
        names: bool,
        lossy: Lossy,
        unknown: &str,
    ) -> PyResult<Self> {
        let form = Form::new(dialect, target)?;
        let allowed = lossy.allowed(form)?;
        let keep_unknown = match unknown {
            "error" => false,
            "keep" if form != Form::Dialect(Dialect::V0_2) => {
                let message = "unknown=\"keep\" needs dialect 0.2 without a target";
                return Err(invalid_option("unknown", message));
            }
            "keep" if allowed != Losses::default() => {
                let message =
                    "unknown=\"keep\" keeps content that lossy=True drops; pass only one of them";
                return Err(invalid_option("unknown", message));
            }
            "keep" => true,
            _ => return Err(unknown_choice(unknown)),
        };
        Ok(Self { form, names, allowed, keep_unknown })
    }
}

/// Encode a document as compact text.
///
/// Parameters
/// ----------
/// doc : dict, str or bytes
///     The document, parsed or as JSON text.
/// dialect : {"0.1", "0.2"}, optional
///     0.1 contains only the shape; 0.2 contains everything. By default 0.1, or 0.2 with a target.
/// target : {"vcad"}, optional
///     Write text that the public program vcad reads as the same document: dialect 0.2 without
///     extension. Content that vcad cannot read, or would misread, raises an error.
/// names : bool
///     Whether 0.1 contains the names of nodes as comments. In 0.2 names are data and always
///     written; with a target, False leaves out the names of nodes.
/// lossy : bool or list of str
///     Whether to drop content that the dialect, the target or the model cannot represent, instead
///     of raising; `losses` lists it. With a target, a list of the codes of `losses` allows these
///     losses only: `lossy=["segments"]`.
/// unknown : {"error", "keep"}
///     Whether fields, operations and values that the model does not define are an error, or are
///     kept as lines `XF pointer json`, which dialect 0.2 reads back.
///
/// Returns
/// -------
/// str
///     Lines joined by LF, without a final LF.
///
/// Raises
/// ------
/// DocumentError
///     The document does not conform to the model, or the dialect or the target cannot represent
///     it; `path` says where.
/// ValueError
///     `unknown="keep"` in dialect 0.1 or with a target, which have no `XF` lines, or together with
///     `lossy`; a target in dialect 0.1; an unknown value of an option.
///
/// Source: CAD IR "Rust Implementation".
#[pyfunction]
#[pyo3(signature = (
    doc, /, dialect = None, *, target = None, names = true, lossy = Lossy::All(false), unknown = "error"
))]
#[pyo3(
    text_signature = "(doc, /, dialect=None, *, target=None, names=True, lossy=False, unknown='error')"
)]
fn to_compact<'py>(
    doc: &Bound<'py, PyAny>,
    #[pyo3(from_py_with = args::words_if_any::dialect)] dialect: Option<&str>,
    #[pyo3(from_py_with = args::words_if_any::target)] target: Option<&str>,
    #[pyo3(from_py_with = named::names)] names: bool,
    lossy: Lossy,
    #[pyo3(from_py_with = args::words::unknown)] unknown: &str,
) -> Result<Bound<'py, PyString>> {
    let py = doc.py();
    let Writing { form, names, allowed, keep_unknown } =
        Writing::new(dialect, target, names, lossy, unknown)?;
    if let (Form::Dialect(dialect), false) = (form, keep_unknown)
        && let Some(text) = compact_in_one_pass(doc, dialect, names, allowed)?
    {
        return Ok(make_str(py, &text)?);
    }
    let document = if keep_unknown {
        read_kept(doc)?
    } else {
        read_document(doc, allowed.contains(Loss::Unknown))?.0
    };
    let text = detached(py, weight(&document), || match form {
        Form::Vcad => core::write_for_vcad(document, names, allowed),
        Form::Dialect(Dialect::V0_2) => core::write_v0_2(&document),
        Form::Dialect(Dialect::Auto | Dialect::V0_1) => {
            let lossy = allowed == Losses::ALL;
            core::write_v0_1(&document, Options { names, lossy })
        }
    });
    Ok(make_str(py, &text??)?)
}

/// The text of a dict that is written while it is read; `None` if it must be read whole.
fn compact_in_one_pass(
    doc: &Bound<'_, PyAny>,
    dialect: Dialect,
    names: bool,
    allowed: Losses,
) -> Result<Option<String>> {
    if !doc.is_instance_of::<PyDict>() {
        return Ok(None);
    }
    let reading = DocumentReading::new(vocabulary(doc.py())?);
    let source = reading.source(doc.clone());
    let lossy = allowed == Losses::ALL;
    let text = attached(|| match dialect {
        Dialect::V0_2 => core::write_v0_2_from(source, allowed.contains(Loss::Unknown)),
        Dialect::Auto | Dialect::V0_1 => core::write_v0_1_from(source, Options { names, lossy }),
    })?;
    reading.budget.check()?;
    Ok(text)
}

/// The result of `write` for a document from a dict or JSON text.
fn written<T: Send>(
    doc: &Bound<'_, PyAny>,
    write: impl Send + FnOnce(&Document<'_>) -> T,
) -> Result<T> {
    let (document, _) = read_document(doc, false)?;
    Ok(detached(doc.py(), weight(&document), || write(&document))?)
}

#[cold]
fn unknown_choice(unknown: &str) -> PyErr {
    invalid_option(
        "unknown",
        &format!("unknown must be 'error' or 'keep', not {}", excerpt(unknown)),
    )
}

/// An estimate of the work for a document, in bytes.
fn weight(document: &Document<'_>) -> usize {
    document.nodes.len().saturating_mul(16)
}

/// List the kinds of content that a dialect or a target cannot represent.
///
/// Parameters
/// ----------
/// doc : dict, str or bytes
///     The document, parsed or as JSON text.
/// dialect : {"0.1", "0.2"}, optional
///     The dialect; by default 0.1, or 0.2 with a target.
/// target : {"vcad"}, optional
///     The program for which the text is written, as in `to_compact`.
///
/// Returns
/// -------
/// list of str
///     A sorted subset of "assembly", "ids", "materials", "names", "ops", "part_materials",
///     "root_material", "roots", "scene", "segments", "unknown", "version", "visibility". Only
///     dialect 0.1 loses "root_material", only a target "segments". With a target, "ids" means that
///     nodes get new ids, which is never an error.
///
/// Raises
/// ------
/// DocumentError
///     The document has a type, reference or cycle that no text can represent; with a target, also
///     such an identifier.
///
/// Source: an extension of this package.
#[pyfunction]
#[pyo3(signature = (doc, /, dialect = None, *, target = None))]
fn losses<'py>(
    doc: &Bound<'py, PyAny>,
    #[pyo3(from_py_with = args::words_if_any::dialect)] dialect: Option<&str>,
    #[pyo3(from_py_with = args::words_if_any::target)] target: Option<&str>,
) -> Result<Bound<'py, PyList>> {
    let form = Form::new(dialect, target)?;
    let (document, dropped) = read_document(doc, true)?;
    let losses = match form {
        Form::Vcad => core::losses_for_vcad(document, dropped)?.codes(),
        Form::Dialect(dialect) => core::losses(&document, dialect, dropped)?,
    };
    Ok(make_list(doc.py(), losses.iter().map(|code| make_str(doc.py(), code)))?)
}

/// Check a document against the model and return its canonical form.
///
/// Parameters
/// ----------
/// doc : dict, str or bytes
///     The document, parsed or as JSON text.
/// lossy : bool
///     Whether to drop unknown fields and to replace unknown operations by "Empty".
///
/// Returns
/// -------
/// dict
///     The canonical form, which is equal for documents with the same meaning: absent and null
///     members are treated alike, and defaults are explicit. Units are those of `from_compact`.
///
/// Raises
/// ------
/// DocumentError
///     The document does not conform to the model; `path` says where.
///
/// Source: an extension of this package.
#[pyfunction]
#[pyo3(signature = (doc, /, *, lossy = false))]
fn canonical<'py>(
    doc: &Bound<'py, PyAny>,
    #[pyo3(from_py_with = named::lossy)] lossy: bool,
) -> PyResult<Bound<'py, PyAny>> {
    Ok(dict(doc.py(), &read_document(doc, lossy)?.0)?)
}

/// Find all errors in a compact text.
///
/// Parameters
/// ----------
/// src : str, bytes, bytearray or memoryview
///     The text.
/// dialect : {"auto", "0.1", "0.2"}
///     The dialect, as in `from_compact`.
/// limit : int
///     The maximum number of errors to return.
///
/// Returns
/// -------
/// list of CompactParseError
///     The errors in the order of lines; those that only the end of the text shows, such as a wrong
///     number of `IDS`, come last. Empty for a valid text. The first is the one that `from_compact`
///     raises. An invalid line still counts as a node, so that one error does not cause others.
///     `suggestion` is the opcode that was probably meant. The pointers of `XF` lines are checked
///     only if there is no other error.
///
/// Source: CAD IR "Error Handling".
#[pyfunction]
#[pyo3(signature = (src, /, *, dialect = "auto", limit = 100))]
fn check<'py>(
    src: &Bound<'py, PyAny>,
    #[pyo3(from_py_with = args::words::dialect)] dialect: &str,
    #[pyo3(from_py_with = sizes::limit)] limit: usize,
) -> PyResult<Bound<'py, PyList>> {
    let py = src.py();
    let dialect = self::dialect(dialect, true)?;
    let data = Input::new(src, "src")?;
    let bytes = data.bytes_or_utf8()?;
    ensure_memory(document_memory(&bytes))?;
    let errors = detached(py, bytes.len(), || core::check(&bytes, dialect, limit))?;
    let errors = errors.into_iter().map(|error| {
        let error = PyErr::from(Error::from(error));
        // Its constructor is Python code: a handler of a signal, or a lack of memory, may raise another one.
        if !error.is_instance(py, CompactParseError::class(py)?) {
            return Err(error);
        }
        Ok(error.into_value(py).into_bound(py))
    });
    make_list(py, errors)
}

/// Convert a document to a hybrid: JSON whose nodes are compact text.
///
/// Parameters
/// ----------
/// doc : dict, str or bytes
///     The document, parsed or as JSON text.
///
/// Returns
/// -------
/// dict
///     The hybrid: the nodes as text in "compact", everything else unchanged. `from_hybrid`
///     restores the document exactly.
///
/// Raises
/// ------
/// DocumentError
///     The document does not conform to the model; `path` says where.
///
/// Source: CAD IR "For File Storage".
#[pyfunction]
#[pyo3(signature = (doc, /))]
fn to_hybrid<'py>(doc: &Bound<'py, PyAny>) -> Result<Bound<'py, PyAny>> {
    let py = doc.py();
    let (document, _) = read_document(doc, false)?;
    let mut objects = Objects::with_names(py, REST_SIZE, vocabulary(py)?);
    attached(|| core::emit_hybrid(&document, &mut objects))???;
    Ok(objects.finish())
}

/// Decode a hybrid: JSON whose nodes are compact text.
///
/// Parameters
/// ----------
/// obj : dict, str or bytes
///     The hybrid, parsed or as JSON text.
///
/// Returns
/// -------
/// dict
///     The document in canonical form, with the units of `from_compact`.
///
/// Raises
/// ------
/// CompactParseError
///     The first error in the compact text; `line` counts the lines of that text.
/// DocumentError
///     An error in the rest of the document; `path` says where.
///
/// Source: CAD IR "For File Storage".
#[pyfunction]
#[pyo3(signature = (obj, /))]
fn from_hybrid<'py>(obj: &Bound<'py, PyAny>) -> Result<Bound<'py, PyAny>> {
    let py = obj.py();
    let read = if let Some(text) = Input::if_text(obj, "obj")? {
        let text = text.json_text()?;
        ensure_memory(json::memory_of(text.as_bytes()) + document_memory(text.as_bytes()))?;
        detached(py, text.len(), || core::read_hybrid_text(text))?
    } else {
        let reading = DocumentReading::new(vocabulary(py)?);
        let read = attached(|| core::read_hybrid(reading.source(obj.clone())))?;
        reading.budget.check()?;
        read
    };
    dict(py, &read?)
}

/// Encode a document in the binary form.
///
/// Parameters
/// ----------
/// doc : dict, str or bytes
///     The document, parsed or as JSON text.
///
/// Returns
/// -------
/// bytes
///     The binary form, lossless and about two thirds of the size of dialect 0.2.
///
/// Raises
/// ------
/// DocumentError
///     The document does not conform to the model; `path` says where.
///
/// Source: CAD IR "Future Enhancements".
#[pyfunction]
#[pyo3(signature = (doc, /))]
fn to_binary<'py>(doc: &Bound<'py, PyAny>) -> Result<Bound<'py, PyBytes>> {
    Ok(make_bytes(doc.py(), &written(doc, core::write_binary)??)?)
}

/// Decode the binary form.
///
/// Parameters
/// ----------
/// data : bytes, bytearray or memoryview
///     The output of `to_binary`, or any other valid encoding.
/// max_expansion : int
///     The maximum size in bytes of all strings, each counted as often as it is used, because
///     `data` contains each string once; 256 MiB by default.
///
/// Returns
/// -------
/// dict
///     The document in canonical form, with the units of `from_compact`.
///
/// Raises
/// ------
/// BinaryError
///     The bytes are not a valid document; `offset` says where.
///
/// Source: CAD IR "Future Enhancements".
#[pyfunction]
#[pyo3(signature = (data, /, *, max_expansion = 268_435_456))]
fn from_binary<'py>(
    data: &Bound<'py, PyAny>,
    #[pyo3(from_py_with = sizes::max_expansion)] max_expansion: usize,
) -> Result<Bound<'py, PyAny>> {
    let py = data.py();
    let data = Input::new(data, "data")?;
    let bytes = data.bytes("data")?;
    let document = detached(py, bytes.len(), || core::read_binary_within(bytes, max_expansion))??;
    dict(py, &document)
}

/// Decode a document of any kind, detected by its first bytes: binary, JSON, hybrid or compact.
///
/// Parameters
/// ----------
/// src : str, bytes, bytearray or memoryview
///     The content of the file.
/// repair : bool
///     Whether to repair common errors in JSON: ids or references that are quoted numbers, ids that
///     differ from their keys or are names, an operation in place of a reference, and snake case in
///     assemblies.
/// unknown : {"error", "keep"}
///     Whether JSON content that the model does not define is an error, or is kept unchanged, so
///     that `to_compact(..., "0.2", unknown="keep")` can write it. Text keeps its `XF` lines.
/// max_expansion : int
///     The maximum size in bytes of the strings of a binary document, each counted as often as it
///     is used; 256 MiB by default.
///
/// Returns
/// -------
/// dict
///     The document in canonical form, with the units of `from_compact`.
///
/// Raises
/// ------
/// CompactParseError, DocumentError, BinaryError
///     The content is invalid; the exception depends on the kind.
///
/// Warns
/// -----
/// UserWarning
///     With `repair`, one warning for each repair, with its path, also before an error. By default,
///     Python shows the same warning once per line of code; `warnings.simplefilter("always")` shows
///     all.
///
/// Source: CAD IR "For File Storage"; the repairs are an extension of this package.
#[pyfunction]
#[pyo3(signature = (src, /, *, repair = false, unknown = "error", max_expansion = 268_435_456))]
fn loads<'py>(
    src: &Bound<'py, PyAny>,
    #[pyo3(from_py_with = named::repair)] repair: bool,
    #[pyo3(from_py_with = args::words::unknown)] unknown: &str,
    #[pyo3(from_py_with = sizes::max_expansion)] max_expansion: usize,
) -> Result<Bound<'py, PyAny>> {
    let options = load_options(repair, unknown, max_expansion)?;
    let data = Input::new(src, "src")?;
    read_content(src.py(), &data.bytes_or_utf8()?, options)
}

/// Read a file and decode it as a document of any kind.
///
/// Parameters
/// ----------
/// file : path-like, or a file open for reading
///     A path, or an object whose `read()` returns str or bytes.
/// repair, unknown, max_expansion
///     As in `loads`.
///
/// Returns
/// -------
/// dict
///     The document in canonical form, with the units of `from_compact`.
///
/// Raises
/// ------
/// CompactParseError, DocumentError, BinaryError
///     As `loads`.
/// OSError
///     The file cannot be read.
/// ValueError
///     The argument is not a path, but the content of a document: use `loads`.
///
/// Warns
/// -----
/// UserWarning
///     As `loads`.
///
/// Source: CAD IR "For File Storage"; the repairs are an extension of this package.
#[pyfunction]
#[pyo3(signature = (file, /, *, repair = false, unknown = "error", max_expansion = 268_435_456))]
fn load<'py>(
    file: &Bound<'py, PyAny>,
    #[pyo3(from_py_with = named::repair)] repair: bool,
    #[pyo3(from_py_with = args::words::unknown)] unknown: &str,
    #[pyo3(from_py_with = sizes::max_expansion)] max_expansion: usize,
) -> Result<Bound<'py, PyAny>> {
    let options = load_options(repair, unknown, max_expansion)?;
    let content = read_file(file, "loads", begins_as_document)?;
    read_content(file.py(), &Input::new(&content, "file.read()")?.bytes_or_utf8()?, options)
}

/// Whether the first lines of a text that was given for a path are of a document: JSON, or lines that can be read.
fn begins_as_document(text: &[u8]) -> bool {
    let is_json = text.trim_ascii_start().starts_with(b"{") && text.contains(&b'"');
    is_json || core::read_bytes(text, core::Dialect::Auto).is_ok()
}

fn load_options(repair: bool, unknown: &str, max_expansion: usize) -> PyResult<LoadOptions> {
    let keep = match unknown {
        "error" => false,
        "keep" => true,
        _ => return Err(unknown_choice(unknown)),
    };
    Ok(LoadOptions { repair, keep, max_expansion })
}

fn read_content<'py>(
    py: Python<'py>,
    bytes: &[u8],
    options: LoadOptions,
) -> Result<Bound<'py, PyAny>> {
    ensure_memory(document_memory(bytes))?;
    let (repairs, document) = detached(py, bytes.len(), || core::load_with(bytes, options))?;
    for repair in repairs {
        let text = CString::new(repair.to_string().replace('\0', "\\0")).unwrap_or_default();
        warn(py, &text)?;
    }
    dict(py, &document?)
}

/// Encode a document as canonical JSON.
///
/// Parameters
/// ----------
/// doc : dict, str or bytes
///     The document, parsed or as JSON text.
///
/// Returns
/// -------
/// str
///     JSON without white space, with node ids in ascending order and each number in its shortest
///     form (-0.0 is kept, because JSON readers treat -0 as an integer).
///
/// Raises
/// ------
/// DocumentError
///     The document does not conform to the model; `path` says where.
///
/// Source: an extension of this package, for hashes and comparisons.
#[pyfunction]
#[pyo3(signature = (doc, /))]
fn dumps<'py>(doc: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyString>> {
    make_str(doc.py(), &written(doc, core::write_json)?)
}

/// A dict of everything but nodes.
fn rest<'py>(
    py: Python<'py>,
    sections: &core::Sections,
    id: impl Fn(usize) -> u64,
) -> PyResult<Bound<'py, PyDict>> {
    let mut objects = Objects::with_names(py, REST_SIZE, vocabulary(py)?);
    core::emit_without_nodes(sections, id, &mut objects)?;
    Ok(objects.finish().cast_into::<PyDict>()?)
}
