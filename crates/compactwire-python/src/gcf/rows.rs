//! `gcf.iter_rows`: iterates over the rows of one container of a text that arrives in pieces. GCF 3.6
//! sections 3 to 8.
//!
//! Invariant: no lock is held while Python code runs, and an error ends the iteration: it is raised again on
//! each further call, so that the rows do not seem complete.

use crate::args::named;
use crate::args::{self, PathFile, class_name, depth, open_path, sizes, utf8_with_surrogates};
use crate::calls::{Owned, Run, import, no_end};
use crate::errors::{self, Result};
use crate::interrupt::attached;
use crate::make::{args, items_of, make_size, name, py_error};
use crate::value::objects::{Objects, Prepared};
use compactwire::excerpt::excerpt;
use compactwire::gcf::rows::{Event, RowReader, Status};
use compactwire::gcf::{Code, DecodeOptions, Error, Limits};
use pyo3::exceptions::{PyBaseException, PyTypeError, PyValueError};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyDict, PyList, PyString, PyTraceback, PyTuple};
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The size to read at a time, in bytes or characters.
const PIECE: usize = 1 << 16;

/// Iterate over the rows of one container of a GCF text, without holding the text in memory.
///
/// The iterator returns each row as soon as the next line shows that it is complete, and reads the
/// rest of the text after the last row. An error anywhere is raised after the rows before it and
/// ends the iterator. For a list of dicts, only the current row is kept in memory; for a dict of
/// dicts also its keys. A list of scalars counts as one row.
///
/// Parameters
/// ----------
/// source : path-like, or a file open for reading
///     A path, whose file is closed after the last row or with the iterator, or an object whose
///     `read(size)` returns at most `size` characters or bytes; for buffered binary files,
///     `read1(size)` is called instead.
/// path : str
///     The keys that lead from the root, through dicts, to the list or dict; without keys, the
///     root. If a path leads through a dict of dicts that is written as a table, one whole row of
///     that table is held in memory.
/// extensions : bool
///     As in `loads`.
/// max_depth : int
///     As in `loads`.
/// max_row_size : int
///     The maximum size in bytes of a row with all its nested content, and of any other line.
/// max_expansion : int
///     The maximum size in bytes of content that is in one row but not in its text, counted as in
///     `loads`, but without an allowance for the text. Constants are shared by all rows.
///
/// Returns
/// -------
/// iterator
///     An iterator over the elements of a list, or over the items of a dict as tuples of key and
///     value.
///
/// Raises
/// ------
/// GcfError
///     Raised by the iterator: as `loads`; `missing_section` if the path does not lead to a list or
///     dict; `limit_exceeded` for a row that is too large. An iterator that has raised an error
///     raises it again.
/// OSError
///     The file cannot be read.
/// ValueError
///     The argument is not a path, but GCF text: use `io.StringIO`.
///
/// Source: GCF 3.6 sections 2 to 8 and 16.
#[pyfunction]
#[pyo3(signature = (
    source, /, *path, extensions = false, max_depth = 128, max_row_size = 67_108_864,
    max_expansion = 268_435_456
))]
pub(crate) fn iter_rows(
    source: &Bound<'_, PyAny>,
    path: &Bound<'_, PyTuple>,
    #[pyo3(from_py_with = named::extensions)] extensions: bool,
    #[pyo3(from_py_with = depth)] max_depth: usize,
    #[pyo3(from_py_with = sizes::max_row_size)] max_row_size: usize,
    #[pyo3(from_py_with = sizes::max_expansion)] max_expansion: usize,
) -> PyResult<RowIterator> {
    let keys = path.iter().map(|key| {
        if let Ok(key) = key.cast::<PyString>() {
            return args::option_text(key, "path").map(str::to_owned);
        }
        let found = class_name(&key.get_type());
        Err(py_error::<PyTypeError>(format!("a path must contain str keys only, not {found}")))
    });
    let path = keys.collect::<PyResult<Vec<_>>>()?;
    let options = DecodeOptions { extensions, limits: Limits { max_depth, max_expansion } };
    let rows = RowReader::new(path.clone(), options, max_row_size);
    let source = Source::new(source)?;
    let ready = VecDeque::new();
    let reader = Box::new(Reader { rows, path, source, ready, needs_more: false, last: None });
    Ok(RowIterator { reader: Mutex::new(State::Waiting(reader)) })
}

/// Returns each row as soon as the next line shows that it is complete.
#[pyclass(name = "_RowIterator", module = "compactwire.gcf", frozen)]
pub(crate) struct RowIterator {
    reader: Mutex<State>,
}

enum State {
    Waiting(Box<Reader>),
    /// A thread has taken the reader out, so that no lock is held while Python code runs.
    Reading,
    Ended,
    /// An error ended the iteration; it is raised again, so that the rows do not seem complete.
    Failed(Py<PyBaseException>, Option<Py<PyTraceback>>),
}

#[pymethods]
impl RowIterator {
    fn __iter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        // While the lock is held, a running `next` keeps the iterator alive: nothing needs a visit.
        let Ok(state) = self.reader.try_lock() else { return Ok(()) };
        let reader = match &*state {
            State::Waiting(reader) => reader,
            // Its traceback refers to the frames that refer to this iterator.
            State::Failed(error, traceback) => {
                visit.call(error)?;
                return visit.call(traceback);
            }
            State::Reading | State::Ended => return Ok(()),
        };
        if let Source::Object(read) = &reader.source {
            visit.call(&**read)?;
        }
        reader.ready.iter().try_for_each(|row| visit.call(row))
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        let state = std::mem::replace(&mut *self.state(), State::Reading);
        let mut reader = match state {
            State::Waiting(reader) => reader,
            State::Reading => return Err(py_error::<PyValueError>("iterator already executing")),
            State::Ended => {
                *self.state() = State::Ended;
                return Ok(None);
            }
            State::Failed(error, traceback) => {
                let raised = PyErr::from_value(error.bind(py).clone().into_any());
                // Each raise adds to the traceback, which would grow with the number of calls.
                raised.set_traceback(py, traceback.as_ref().map(|first| first.bind(py).clone()));
                *self.state() = State::Failed(error, traceback);
                return Err(raised);
            }
        };
        let row = reader.next(py).map_err(|error| no_end(py, error.into()));
        *self.state() = match &row {
            Ok(Some(_)) => State::Waiting(reader),
            Ok(None) => State::Ended,
            Err(error) => {
                let traceback = error.traceback(py).map(Bound::unbind);
                State::Failed(error.clone_ref(py).into_value(py), traceback)
            }
        };
        row
    }
}

impl RowIterator {
    fn state(&self) -> MutexGuard<'_, State> {
        self.reader.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Reader {
    rows: RowReader<Prepared>,
    path: Vec<String>,
    source: Source,
    ready: VecDeque<Py<PyAny>>,
    /// Whether `rows` can read no further before it gets more text.
    needs_more: bool,
    /// The end of the iteration or the error, to return after the rows in `ready`.
    last: Option<Result<()>>,
}

impl Reader {
    fn next(&mut self, py: Python<'_>) -> Result<Option<Py<PyAny>>> {
        loop {
            if let Some(row) = self.ready.pop_front() {
                return Ok(Some(row));
            }
            if let Some(last) = self.last.take() {
                return last.map(|()| None);
            }
            // `list(iterator)` runs no Python code between items, so nothing else checks signals.
            py.check_signals()?;
            if std::mem::take(&mut self.needs_more) {
                self.feed(py)?;
            }
            match self.read(py)? {
                // The rows so far are returned first: the source may have to wait for more, or fail.
                Ok(Status::NeedMore) => self.needs_more = true,
                Ok(Status::Paused) => {}
                Ok(Status::Finished) => self.last = Some(Ok(())),
                Err(error) => self.last = Some(Err(error)),
            }
        }
    }

    /// Reads all rows that are complete so far. The outer error is that of a signal handler.
    fn read(&mut self, py: Python<'_>) -> PyResult<Result<Status>> {
        let (ready, path) = (&mut self.ready, &self.path);
        let mut each = |objects: &mut Objects<'_>, event: Event| {
            match (event, objects.take()) {
                (Event::Incomplete, _) => objects.clear(),
                (Event::Row, Some(row)) => ready.push_back(row.unbind()),
                (Event::Member, Some(dict)) => {
                    let items = items_of(dict.cast()?)?;
                    ready.push_back(items.get_item(0)?.unbind());
                }
                (Event::Elements, Some(list)) => {
                    ready.extend(list.cast::<PyList>()?.iter().map(Bound::unbind));
                }
                (Event::Enclosing { matched }, Some(dict)) => {
                    let rows = inside(&dict, &path[matched..])?;
                    ready.extend(rows.into_iter().map(Bound::unbind));
                }
                (_, None) | (Event::Skipped, _) => {}
            }
            Ok(())
        };
        let rows = &mut self.rows;
        let read = attached(|| rows.read(&mut Objects::for_rows(py), &mut each))?;
        Ok(read.map_err(errors::Error::from))
    }

    fn feed(&mut self, py: Python<'_>) -> PyResult<()> {
        let rows = &mut self.rows;
        let mut add = |piece: &[u8]| match piece {
            [] => rows.finish(),
            _ => rows.feed(piece),
        };
        match &mut self.source {
            Source::Path(file) => add(file.read(py, PIECE)?.as_bytes()),
            Source::Object(read) => {
                let piece = read.bind(py).run(args!(py, make_size(py, PIECE)?)?)?;
                if let Ok(text) = piece.cast::<PyString>() {
                    // A lone surrogate is reported after the rows before it.
                    add(&utf8_with_surrogates(text)?);
                } else if let Ok(bytes) = piece.cast::<PyBytes>() {
                    add(bytes.as_bytes());
                } else if let Ok(bytes) = piece.cast::<PyByteArray>() {
                    add(&bytes.to_vec());
                } else {
                    let found = class_name(&piece.get_type());
                    let message = format!("read() must return str or bytes, not {found}");
                    return Err(py_error::<PyTypeError>(message));
                }
            }
        }
        Ok(())
    }
}

/// The rows at the end of a path that begins at a dict.
fn inside<'py>(dict: &Bound<'py, PyAny>, path: &[String]) -> Result<Vec<Bound<'py, PyAny>>> {
    let mut found = dict.clone();
    for key in path {
        let next = match found.cast::<PyDict>() {
            Ok(dict) => dict.get_item(key)?,
            Err(_) => None,
        };
        let Some(next) = next else {
            let message = format!("no member {} on the path", excerpt(key));
            return Err(Error::without_place(Code::MissingSection, message).into());
        };
        found = next;
    }
    if let Ok(list) = found.cast::<PyList>() {
        Ok(list.iter().collect())
    } else if let Ok(dict) = found.cast::<PyDict>() {
        Ok(items_of(dict)?.iter().collect())
    } else {
        let message = "expected an array or object to read rows from, found a scalar";
        Err(Error::without_place(Code::MissingSection, message).into())
    }
}

/// The source of text.
enum Source {
    Path(PathFile),
    /// The `read` or `read1` method of a file; its argument is the maximum size.
    Object(Owned),
}

impl Source {
    fn new(source: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = source.py();
        // `read1` of a buffered file returns available data without waiting for the full size.
        let buffered = import(py, name!(py, "io")?)?.run_getattr(name!(py, "BufferedIOBase")?)?;
        let is_buffered = source.run_is_instance(&buffered)?;
        let method = if is_buffered { name!(py, "read1")? } else { name!(py, "read")? };
        if let Some(read) = source.run_getattr_opt(method)? {
            return Ok(Self::Object(Owned::new(read.unbind())));
        }
        Ok(Self::Path(open_path(source, "source", super::begins_as_gcf)?))
    }
}
