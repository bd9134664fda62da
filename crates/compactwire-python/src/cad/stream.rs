//! `cad.iter_compact`: reads a compact text of any size node by node. CAD IR "Format Specification".
//!
//! Invariant: no lock is held while the source of the text runs, which is Python code. A call from another
//! thread or from the source itself raises `ValueError`, as with a generator.

use super::{NODE_SIZE, dialect, rest, vocabulary};
use crate::args::{self, Input, PathFile, class_name, sizes, utf8_with_surrogates};
use crate::calls::{Owned, Run, import, next, no_end};
use crate::errors::Result;
use crate::interrupt::to_end;
use crate::make::{
    args, ensure_memory, intern, make_dict, make_size, make_str, make_tuple, name, py_error,
};
use crate::value;
use crate::value::objects::Objects;
use compactwire::cad::{self, MAX_LINE, Stream};
use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyValueError};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

/// The number of bytes to read at once: from a file, or from a chunk between two checks for signals.
const CHUNK: usize = 1 << 16;

/// An iterator over the items of a compact text, returned by `iter_compact`.
///
/// As with a generator, calling `next` while another thread, or the source itself, is in `next`
/// raises `ValueError`.
///
/// Source: CAD IR "Future Enhancements".
#[pyclass(frozen, module = "compactwire.cad")]
pub(super) struct CompactIterator {
    source: Source,
    /// The part of the last chunk that the stream has not read yet.
    pending: Mutex<Pending>,
    /// `None` once the stream has ended or failed. Signal handlers may run under the lock, but no call waits
    /// for it: `busy` admits one call at a time.
    stream: Mutex<Option<Stream>>,
    /// Whether a call of `next` is running. Only one may run: chunks must reach the stream in
    /// order, and Python code runs while a chunk is fetched.
    busy: AtomicBool,
}

/// A chunk that is read piece by piece.
#[derive(Default)]
struct Pending {
    chunk: Vec<u8>,
    /// The offset of the first byte that is not read yet.
    at: usize,
}

impl Pending {
    /// The next piece; `None` at the end of the chunk.
    fn piece(&mut self) -> Option<&[u8]> {
        let left = self.chunk.get(self.at..).filter(|left| !left.is_empty())?;
        let piece = &left[..left.len().min(CHUNK)];
        self.at += piece.len();
        Some(piece)
    }
}

/// Keeps the iterator marked as busy until dropped.
struct Turn<'i>(&'i AtomicBool);

impl<'i> Turn<'i> {
    fn take(busy: &'i AtomicBool) -> PyResult<Self> {
        if busy.swap(true, Ordering::Acquire) {
            return Err(py_error::<PyValueError>("CompactIterator is already executing"));
        }
        Ok(Self(busy))
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

/// The source of chunks.
enum Source {
    /// A file that was opened here from a path, and is closed here.
    Path(PathFile),
    /// The `read` of the caller's file.
    File(Owned),
    /// An iterator.
    Chunks(Owned),
}

/// The next item of the stream, or that it needs another chunk first.
enum Next<'py> {
    Item(Bound<'py, PyAny>),
    NeedsText,
}

impl Source {
    fn new(source: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = source.py();
        if Input::is_bytes(source) {
            let chunks = make_tuple(py, [Ok(source.clone())].into_iter())?;
            return Ok(Self::Chunks(Owned::new(chunks.run_iter()?.into_any().unbind())));
        }
        if source.is_instance_of::<PyString>() || source.run_hasattr(name!(py, "__fspath__")?)? {
            // The path may be bytes.
            let path = import(py, name!(py, "os")?)?
                .run_method(name!(py, "fsdecode")?, args!(py, source)?)?;
            return Ok(Self::Path(args::open_path(&path, "source", super::begins_as_document)?));
        }
        if source.run_hasattr(name!(py, "read")?)? {
            return Ok(Self::File(Owned::new(source.clone().unbind())));
        }
        let expected = || "a path, an open file, bytes, or an iterable of str or bytes".to_owned();
        let chunks = args::iterator(source, "source", expected)?;
        Ok(Self::Chunks(Owned::new(chunks.into_any().unbind())))
    }

    /// The next chunk; `None` at the end.
    fn chunk(&self, py: Python<'_>) -> PyResult<Option<Vec<u8>>> {
        let chunk = match self {
            Self::Path(file) => Some(file.read(py, CHUNK)?.into_any()),
            Self::File(file) => {
                let size = args!(py, make_size(py, CHUNK)?)?;
                Some(file.bind(py).run_method(name!(py, "read")?, size)?)
            }
            Self::Chunks(chunks) => next(&chunks.bind(py).run_iter()?)?,
        };
        let Some(chunk) = chunk else { return Ok(None) };
        let bytes = chunk_bytes(&chunk)?;
        let end = bytes.is_empty() && !matches!(self, Self::Chunks(_));
        Ok((!end).then_some(bytes))
    }
}

fn chunk_bytes(chunk: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
    if let Ok(bytes) = chunk.cast::<PyBytes>() {
        ensure_memory(bytes.as_bytes().len())?;
        return Ok(bytes.as_bytes().to_vec());
    }
    if let Ok(text) = chunk.cast::<PyString>() {
        let bytes = utf8_with_surrogates(text)?;
        ensure_memory(bytes.len())?;
        return Ok(bytes.into_owned());
    }
    match Input::new(chunk, "chunk") {
        Ok(Input::Copy(bytes)) => Ok(bytes),
        Err(error) if Input::is_bytes(chunk) => Err(error),
        _ => {
            let found = class_name(&chunk.get_type());
            let message =
                format!("a chunk must be bytes or str, or a buffer of bytes, not {found}");
            Err(py_error::<PyTypeError>(message))
        }
    }
}

#[pymethods]
impl CompactIterator {
    fn __iter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        match &self.source {
            Source::Path(_) => Ok(()),
            Source::File(object) | Source::Chunks(object) => visit.call(&**object),
        }
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let _turn = Turn::take(&self.busy)?;
        loop {
            // Nothing else checks signals: `list(iterator)` runs no Python code between items, and
            // a line need not be an item.
            py.check_signals()?;
            match self.step(py)? {
                None => return Ok(None),
                Some(Next::Item(item)) => return Ok(Some(item)),
                Some(Next::NeedsText) => {}
            }
            if self.push_piece()? {
                continue;
            }
            let chunk = self.source.chunk(py);
            let mut guard = self.lock()?;
            let chunk = match chunk {
                Ok(chunk) => chunk,
                Err(error) => {
                    // The iterator ends here: without this chunk, later text would be misread.
                    *guard = None;
                    return Err(no_end(py, error));
                }
            };
            let Some(stream) = guard.as_mut() else { return Ok(None) };
            match chunk {
                Some(chunk) => *self.pending()? = Pending { chunk, at: 0 },
                None => stream.end(),
            }
        }
    }
}

impl CompactIterator {
    fn lock(&self) -> PyResult<std::sync::MutexGuard<'_, Option<Stream>>> {
        self.stream
            .lock()
            .map_err(|_| py_error::<PyRuntimeError>("the iterator has failed in an earlier call"))
    }

    fn pending(&self) -> PyResult<std::sync::MutexGuard<'_, Pending>> {
        self.pending
            .lock()
            .map_err(|_| py_error::<PyRuntimeError>("the iterator has failed in an earlier call"))
    }

    /// Passes the next piece of the last chunk to the stream; returns whether there was one.
    fn push_piece(&self) -> PyResult<bool> {
        let mut pending = self.pending()?;
        let Some(piece) = pending.piece() else { return Ok(false) };
        let mut guard = self.lock()?;
        if let Some(stream) = guard.as_mut()
            && let Err(error) = to_end(|| stream.push(piece))
        {
            *guard = None;
            return Err(error);
        }
        Ok(true)
    }

    /// The next item of the text so far. The iterator ends if this fails, because an item may be lost.
    fn step<'py>(&self, py: Python<'py>) -> Result<Option<Next<'py>>> {
        let mut guard = self.lock()?;
        let next = to_end(|| advance(py, &mut guard));
        if !matches!(next, Ok(Ok(_))) {
            *guard = None;
        }
        next?
    }
}

/// The next item of the text so far; `None` after the last.
fn advance<'py>(py: Python<'py>, stream: &mut Option<Stream>) -> Result<Option<Next<'py>>> {
    let Some(reader) = stream else { return Ok(None) };
    if let Some(node) = reader.node()? {
        let mut objects = Objects::with_names(py, NODE_SIZE, vocabulary(py)?);
        cad::emit_node(&node, |node| reader.id(node), &mut objects)?;
        return Ok(Some(Next::Item(pair(py, "node", objects.finish())?)));
    }
    if !reader.has_ended() {
        return Ok(Some(Next::NeedsText));
    }
    if let Some(extra) = reader.extra()? {
        let item = make_dict(py)?;
        item.set_item(name!(py, "pointer")?, make_str(py, &extra.pointer)?)?;
        item.set_item(name!(py, "value")?, value::object(py, &extra.value)?)?;
        return Ok(Some(Next::Item(pair(py, "extra", item.into_any())?)));
    }
    let Some(finished) = stream.take().map(Stream::finish) else { return Ok(None) };
    let (sections, id) = finished?;
    let rest = rest(py, &sections, id)?.into_any();
    Ok(Some(Next::Item(pair(py, "end", rest)?)))
}

fn pair<'py>(py: Python<'py>, kind: &str, value: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let kind = intern(py, kind)?.into_any();
    Ok(make_tuple(py, [Ok(kind), Ok(value)].into_iter())?.into_any())
}

// The signature repeats the number, because it shows literals only.
const _: () = assert!(MAX_LINE == 1_048_576);

/// Iterate over the nodes of a compact text of any size.
///
/// Parameters
/// ----------
/// source : str, path-like, bytes, bytearray, memoryview, binary file or iterable of bytes or str
///     A path, the text as bytes, a file (read to its end), or chunks, which may be split anywhere,
///     even within a character.
/// dialect : {"auto", "0.1", "0.2"}
///     The dialect, as in `from_compact`.
/// max_line : int
///     The maximum length of a line in bytes; 1 MiB by default.
///
/// Returns
/// -------
/// CompactIterator
///     An iterator over `("node", {"id", "name", "op"})` for each node as soon as it is complete,
///     and finally `("end", rest)` with the document without its nodes. Lines `XF pointer json` are
///     returned after all nodes and before the end as `("extra", {"pointer", "value"})`: set the
///     value at the pointer in the assembled document. The pointer is not checked, because the
///     nodes are no longer in memory.
///
/// Raises
/// ------
/// CompactParseError
///     Raised by the iterator, as by `from_compact`, after the nodes before the error.
/// OSError
///     The file cannot be read.
/// ValueError
///     The argument is not a path, but compact text: use `io.StringIO`.
///
/// Notes
/// -----
/// The iterator holds in memory one line, one sketch, the names, everything but nodes, and one or
/// two bytes per node.
///
/// Source: CAD IR "Future Enhancements".
#[pyfunction]
#[pyo3(signature = (source, /, dialect = "auto", max_line = 1_048_576))]
pub(super) fn iter_compact(
    source: &Bound<'_, PyAny>,
    #[pyo3(from_py_with = args::words::dialect)] dialect: &str,
    #[pyo3(from_py_with = sizes::max_line)] max_line: usize,
) -> PyResult<CompactIterator> {
    let dialect = self::dialect(dialect, true)?;
    let source = Source::new(source)?;
    let stream = Mutex::new(Some(Stream::new(dialect, max_line)));
    let pending = Mutex::default();
    Ok(CompactIterator { source, pending, stream, busy: AtomicBool::new(false) })
}
