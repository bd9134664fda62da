//! `compactwire.cad`: documents as dicts, text and bytes.

mod objects;
mod stream;

use super::args::{Input, Size};
use super::detached;
use super::errors::{Error, Result};
use super::walk;
use compactwire::cad::{self as core, Dialect, Document, Options};
use objects::{Objects, Pause, PyValue};
use pyo3::exceptions::{PyUserWarning, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString};
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
        canonical, check, dumps, from_binary, from_compact, from_hybrid, load, losses, to_binary,
        to_compact, to_hybrid,
    };
}

/// How many errors `check` gives at most, unless the caller says otherwise.
const FEW_ERRORS: Size = Size(100);

fn dialect(name: &str, auto: bool) -> PyResult<Dialect> {
    match name {
        "auto" if auto => Ok(Dialect::Auto),
        "0.1" => Ok(Dialect::First),
        "0.2" => Ok(Dialect::Second),
        _ => {
            let known = if auto { "'auto', '0.1' or '0.2'" } else { "'0.1' or '0.2'" };
            Err(PyValueError::new_err(format!("dialect must be {known}, not {name:?}")))
        }
    }
}

/// A document from a dict or JSON text, and whether something unknown was dropped.
fn read_document(doc: &Bound<'_, PyAny>, lossy: bool) -> Result<(Document<'static>, bool)> {
    let py = doc.py();
    let read = if let Some(text) = Input::if_text(doc)? {
        let text = text.json_text()?;
        detached(py, text.len(), || core::read_json_lossy(text, lossy))
    } else {
        core::read_json(PyValue(doc.clone()), lossy)
    };
    Ok(read?)
}

/// Any JSON object, with what of it is not in the model.
fn read_kept(doc: &Bound<'_, PyAny>) -> Result<Document<'static>> {
    let py = doc.py();
    let read = if let Some(text) = Input::if_text(doc)? {
        let text = text.json_text()?;
        detached(py, text.len(), || core::read_json_text_kept(text))
    } else {
        let value = walk::value(doc, "document").map_err(|error| invalid_document(py, &error))?;
        core::read_json_kept(value)
    };
    Ok(read?)
}

/// What JSON does not have is a mistake of the document.
fn invalid_document(py: Python<'_>, error: &PyErr) -> core::DocumentError {
    let text = error.value(py).to_string();
    let (path, message) = text.split_once(": ").unwrap_or(("document", &text));
    core::DocumentError::new(path, message)
}

/// A document as a dict.
fn dict<'py>(py: Python<'py>, document: &Document<'_>) -> Result<Bound<'py, PyAny>> {
    let _pause = Pause::new(py, document.nodes.len())?;
    let mut objects = Objects::new(py);
    core::emit_document(document, &mut objects)?;
    Ok(objects.finish())
}

/// Read compact text.
///
/// Parameters
/// ----------
/// src : str, bytes, bytearray or memoryview
///     The text; bytes are UTF-8, a byte order mark at the start is skipped.
/// dialect : {"auto", "0.1", "0.2"}
///     The grammar. "auto" goes by the header `# vcad 0.2`, and takes 0.1 without one.
///
/// Returns
/// -------
/// dict
///     The document in canonical form: lengths in mm, angles in degrees (`twist_angle` in radians);
///     whole numbers are int, others float.
///
/// Raises
/// ------
/// CompactParseError
///     The first mistake, with line and column from 1. `check` finds all of them.
///
/// Source: CAD IR "Format Specification"; design sections 3 and 6.
#[pyfunction]
#[pyo3(signature = (src, /, dialect = "auto"))]
fn from_compact<'py>(src: &Bound<'py, PyAny>, dialect: &str) -> Result<Bound<'py, PyAny>> {
    let py = src.py();
    let dialect = self::dialect(dialect, true)?;
    let data = Input::new(src)?;
    let bytes = data.bytes_or_utf8()?;
    let document = detached(py, bytes.len(), || core::read_bytes(&bytes, dialect))?;
    dict(py, &document)
}

/// Write a document as compact text.
///
/// Parameters
/// ----------
/// doc : dict, str or bytes
///     The document, parsed or as JSON text.
/// dialect : {"0.1", "0.2"}
///     0.1 carries the shape and nothing else; 0.2 carries everything.
/// names : bool
///     In 0.1: names of nodes as comments. In 0.2 names are data and always written.
/// lossy : bool
///     Write also what the dialect, or the model, does not carry; `losses` says what that is.
/// unknown : {"error", "keep"}
///     What is done about fields and operations that the model does not have, and about whatever
///     does not fit it: an error, or lines `XF pointer json`, which dialect 0.2 reads back.
///
/// Returns
/// -------
/// str
///     Lines joined by LF, without a final one.
///
/// Raises
/// ------
/// DocumentError
///     The document is not in the model, or holds what would change in the dialect; `path` says
///     where.
/// ValueError
///     `unknown="keep"` in dialect 0.1, which has no such lines, or with `lossy`.
///
/// Source: CAD IR "Rust Implementation"; design sections 4, 7 and 12.
#[pyfunction]
#[pyo3(signature = (doc, /, dialect = "0.1", *, names = true, lossy = false, unknown = "error"))]
fn to_compact<'py>(
    doc: &Bound<'py, PyAny>,
    dialect: &str,
    names: bool,
    lossy: bool,
    unknown: &str,
) -> Result<Bound<'py, PyString>> {
    let py = doc.py();
    let dialect = self::dialect(dialect, false)?;
    let document = match unknown {
        "error" => read_document(doc, lossy)?.0,
        "keep" if dialect != Dialect::Second => {
            return Err(PyValueError::new_err("unknown='keep' must be with dialect '0.2'").into());
        }
        "keep" if lossy => {
            let message = "unknown='keep' keeps what lossy=True drops: one of them must go";
            return Err(PyValueError::new_err(message).into());
        }
        "keep" => read_kept(doc)?,
        _ => {
            let message = format!("unknown must be 'error' or 'keep', not {unknown:?}");
            return Err(PyValueError::new_err(message).into());
        }
    };
    let text = detached(py, weight(&document), || match dialect {
        Dialect::Second => core::write_second(&document),
        Dialect::Auto | Dialect::First => core::write_first(&document, Options { names, lossy }),
    });
    Ok(PyString::new(py, &text?))
}

/// About how many bytes of work a document is.
fn weight(document: &Document<'_>) -> usize {
    document.nodes.len().saturating_mul(16)
}

/// Say what a trip through a dialect would change.
///
/// Parameters
/// ----------
/// doc : dict, str or bytes
///     The document, parsed or as JSON text.
/// dialect : {"0.1", "0.2"}
///     Where the trip would go.
///
/// Returns
/// -------
/// list of str
///     Sorted, out of "assembly", "ids", "materials", "names", "ops", "part_materials",
///     "root_material", "roots", "scene", "unknown", "version", "visibility".
///
/// Raises
/// ------
/// DocumentError
///     A type, reference or cycle that no dialect can carry.
///
/// Source: design section 4.2.
#[pyfunction]
#[pyo3(signature = (doc, /, dialect))]
fn losses(doc: &Bound<'_, PyAny>, dialect: &str) -> Result<Vec<&'static str>> {
    let dialect = self::dialect(dialect, false)?;
    let (document, dropped) = read_document(doc, true)?;
    Ok(core::losses(&document, dialect, dropped)?)
}

/// Check a document against the model and give its canonical form.
///
/// Parameters
/// ----------
/// doc : dict, str or bytes
///     The document, parsed or as JSON text.
/// lossy : bool
///     Drop unknown fields, and make unknown operations "Empty".
///
/// Returns
/// -------
/// dict
///     Equal for documents that mean the same: absent and null are one, defaults are spelled out.
///
/// Raises
/// ------
/// DocumentError
///     The document is not in the model; `path` says where.
///
/// Source: design section 2.
#[pyfunction]
#[pyo3(signature = (doc, /, *, lossy = false))]
fn canonical<'py>(doc: &Bound<'py, PyAny>, lossy: bool) -> PyResult<Bound<'py, PyAny>> {
    Ok(dict(doc.py(), &read_document(doc, lossy)?.0)?)
}

/// Find all mistakes of a compact text.
///
/// Parameters
/// ----------
/// src : str, bytes, bytearray or memoryview
///     The text.
/// dialect : {"auto", "0.1", "0.2"}
///     The grammar, as in `from_compact`.
/// limit : int
///     At most so many mistakes.
///
/// Returns
/// -------
/// list of CompactParseError
///     In the order of lines, empty for a good text. The first is what `from_compact` raises. A
///     wrong line counts as a node all the same, so that one mistake is not reported as many.
///     `suggestion` names the opcode that was probably meant. Where pointers of lines `XF` lead is
///     looked at once there is no other mistake.
///
/// Source: CAD IR "Error Handling"; design section 3.3.
#[pyfunction]
#[pyo3(signature = (src, /, *, dialect = "auto", limit = FEW_ERRORS))]
#[pyo3(text_signature = "(src, /, *, dialect='auto', limit=100)")]
fn check<'py>(src: &Bound<'py, PyAny>, dialect: &str, limit: Size) -> PyResult<Bound<'py, PyList>> {
    let py = src.py();
    let dialect = self::dialect(dialect, true)?;
    let data = Input::new(src)?;
    let bytes = data.bytes_or_utf8()?;
    let errors = detached(py, bytes.len(), || core::check(&bytes, dialect, limit.0));
    let errors = errors.into_iter().map(|error| PyErr::from(Error::from(error)).into_value(py));
    PyList::new(py, errors.collect::<Vec<_>>())
}

/// Make a hybrid: JSON whose nodes are compact text.
///
/// Parameters
/// ----------
/// doc : dict, str or bytes
///     The document, parsed or as JSON text.
///
/// Returns
/// -------
/// dict
///     The nodes as a text in "compact", everything else as it was. `from_hybrid` gives the
///     document back exactly.
///
/// Raises
/// ------
/// DocumentError
///     The document is not in the model.
///
/// Source: CAD IR "For File Storage"; design section 8.
#[pyfunction]
#[pyo3(signature = (doc, /))]
fn to_hybrid<'py>(doc: &Bound<'py, PyAny>) -> Result<Bound<'py, PyAny>> {
    let py = doc.py();
    let (document, _) = read_document(doc, false)?;
    let mut objects = Objects::new(py);
    core::emit_hybrid(&document, &mut objects)??;
    Ok(objects.finish())
}

/// Read a hybrid: JSON whose nodes are compact text.
///
/// Parameters
/// ----------
/// obj : dict, str or bytes
///     The hybrid, parsed or as JSON text.
///
/// Returns
/// -------
/// dict
///     The document in canonical form.
///
/// Raises
/// ------
/// CompactParseError
///     A mistake in the text, by its own lines.
/// DocumentError
///     A mistake in the rest.
///
/// Source: CAD IR "For File Storage"; design section 8.
#[pyfunction]
#[pyo3(signature = (obj, /))]
fn from_hybrid<'py>(obj: &Bound<'py, PyAny>) -> Result<Bound<'py, PyAny>> {
    let py = obj.py();
    let read = if let Some(text) = Input::if_text(obj)? {
        let text = text.json_text()?;
        detached(py, text.len(), || core::read_hybrid_text(text))
    } else {
        core::read_hybrid(PyValue(obj.clone()))
    };
    dict(py, &read?)
}

/// Write a document as bytes.
///
/// Parameters
/// ----------
/// doc : dict, str or bytes
///     The document, parsed or as JSON text.
///
/// Returns
/// -------
/// bytes
///     The binary form: about two thirds of the text in dialect 0.2, and as lossless.
///
/// Raises
/// ------
/// DocumentError
///     The document is not in the model.
///
/// Source: CAD IR "Future Enhancements"; design section 9.
#[pyfunction]
#[pyo3(signature = (doc, /))]
fn to_binary<'py>(doc: &Bound<'py, PyAny>) -> Result<Bound<'py, PyBytes>> {
    let py = doc.py();
    let (document, _) = read_document(doc, false)?;
    let bytes = detached(py, weight(&document), || core::write_binary(&document));
    Ok(PyBytes::new(py, &bytes?))
}

/// Read the binary form.
///
/// Parameters
/// ----------
/// data : bytes, bytearray or memoryview
///     The bytes of `to_binary`, or any other valid encoding.
///
/// Returns
/// -------
/// dict
///     The document in canonical form.
///
/// Raises
/// ------
/// BinaryError
///     The bytes are not a document of the model; `offset` says where.
///
/// Source: CAD IR "Future Enhancements"; design section 9.
#[pyfunction]
#[pyo3(signature = (data, /))]
fn from_binary<'py>(data: &Bound<'py, PyAny>) -> Result<Bound<'py, PyAny>> {
    let py = data.py();
    let data = Input::new(data)?;
    let bytes = data.bytes()?;
    let document = detached(py, bytes.len(), || core::read_binary(bytes))?;
    dict(py, &document)
}

/// Read a document of any kind, as its first bytes tell: binary, JSON, hybrid or compact text.
///
/// Parameters
/// ----------
/// src : str, bytes, bytearray or memoryview
///     The content of the file; its name does not matter.
/// repair : bool
///     Mend JSON that is nearly a document: numbers in quotes as ids or references; ids that are
///     not their keys, or names; an operation in place of a reference; snake case in assemblies.
///
/// Returns
/// -------
/// dict
///     The document in canonical form.
///
/// Raises
/// ------
/// CompactParseError, DocumentError, BinaryError
///     As its kind has it.
///
/// Warns
/// -----
/// UserWarning
///     With `repair`, one for each thing that was mended, with its place; also before an error.
///     Python shows the same text once for each line of code, unless
///     `warnings.simplefilter("always")` asks for all.
///
/// Source: design sections 8 and 12.
#[pyfunction]
#[pyo3(signature = (src, /, *, repair = false))]
fn load<'py>(src: &Bound<'py, PyAny>, repair: bool) -> Result<Bound<'py, PyAny>> {
    let py = src.py();
    let data = Input::new(src)?;
    let bytes = data.bytes_or_utf8()?;
    let (repairs, document) = detached(py, bytes.len(), || {
        if repair { core::load_repaired(&bytes) } else { (Vec::new(), core::load(&bytes)) }
    });
    for repair in repairs {
        let text = CString::new(repair.to_string().replace('\0', "\\0")).unwrap_or_default();
        PyErr::warn(py, &py.get_type::<PyUserWarning>(), &text, 1)?;
    }
    dict(py, &document?)
}

/// Write a document as canonical JSON.
///
/// Parameters
/// ----------
/// doc : dict, str or bytes
///     The document, parsed or as JSON text.
///
/// Returns
/// -------
/// str
///     Without white space, node ids ascending, each number in its shortest form (-0.0 as such,
///     because readers of JSON take -0 for an integer).
///
/// Raises
/// ------
/// DocumentError
///     The document is not in the model.
///
/// Source: design sections 2 and 4.3.
#[pyfunction]
#[pyo3(signature = (doc, /))]
fn dumps<'py>(doc: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyString>> {
    let py = doc.py();
    let (document, _) = read_document(doc, false)?;
    let text = detached(py, weight(&document), || core::write_json(&document));
    Ok(PyString::new(py, &text))
}

/// A dict of what is no node.
fn rest<'py>(
    py: Python<'py>,
    sections: &core::Sections,
    id: impl Fn(usize) -> u64,
) -> PyResult<Bound<'py, PyDict>> {
    let mut objects = Objects::new(py);
    core::emit_rest(sections, id, &mut objects)?;
    Ok(objects.finish().cast_into::<PyDict>()?)
}
