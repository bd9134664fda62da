//! `gcf.StreamEncoder`: writes the rows of tables one by one, and their counts at the end.
//! GCF 3.6 section 8.3.
//!
//! Invariant: pieces of the text reach the target in order, also from several threads. After an exception of
//! the target the text is incomplete, and every call raises.

use super::keyed::scalar_at;
use crate::args::{self, Unused, as_mapping, each, names, wrong_type};
use crate::calls::{Owned, Run};
use crate::errors::Result;
use crate::interrupt::to_end;
use crate::lock::Writing;
use crate::make::{args, make_str, name, push};
use compactwire::excerpt::path_step;
use compactwire::gcf::keyed::Scalar;
use compactwire::gcf::{Code, Error, rows};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::{PyEllipsis, PyFrozenSet, PyList, PySet, PyTuple};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Writes an object of scalars, lists and tables, row by row.
///
/// Only counts and names, and the member keys of an open keyed map, are kept in memory. The headers
/// of tables contain no counts; `close()` writes all counts at the end, and so does leaving a
/// `with` block without an exception. Thread-safe.
///
/// Parameters
/// ----------
/// target : file or callable
///     A file open for writing (a binary file gets bytes), or a function that accepts a str.
///
/// Raises
/// ------
/// GcfError
///     Raised by every method, without writing anything: for a value that is not a scalar, a row of
///     the wrong width, a duplicate name, field or member key, a field with `>`, a scalar or list
///     after a table, a call by the target itself, and any call after `close()`. After an
///     exception of the target, or a `MemoryError` while a part is made, every call raises,
///     `close()` too: the text is incomplete.
///
/// Source: GCF 3.6 section 8.3.
#[pyclass(name = "StreamEncoder", module = "compactwire.gcf", frozen)]
pub(crate) struct StreamEncoder {
    encoder: Mutex<rows::StreamEncoder>,
    /// Held from the encoding of a piece of text until it is written, so that pieces stay in order.
    writing: Writing,
    target: Owned,
    is_file: bool,
}

#[pymethods]
impl StreamEncoder {
    #[new]
    #[pyo3(signature = (target, /))]
    fn new(target: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = target.py();
        let is_file = target.run_hasattr(name!(py, "write")?)?;
        if !is_file && !target.is_callable() {
            return Err(wrong_type(target, "target", "a file open for writing or a function"));
        }
        let encoder = Mutex::new(rows::StreamEncoder::new());
        let writing = Writing::default();
        let made = Self { encoder, writing, target: Owned::new(target.clone().unbind()), is_file };
        made.with(py, |_| Ok(()))?;
        Ok(made)
    }

    /// Write a member that is a scalar; only before the first table.
    ///
    /// Parameters
    /// ----------
    /// key : str
    ///     The key of the member.
    /// value : str, int, float, bool or None
    ///     The value.
    ///
    /// Source: GCF 3.6 section 8.3.
    #[pyo3(signature = (key, value, /))]
    fn kv(
        &self,
        #[pyo3(from_py_with = args::written::key)] key: &str,
        value: &Bound<'_, PyAny>,
    ) -> Result<()> {
        let scalar = scalar_at(value, || format!("${}", path_step(key)))?;
        self.with(value.py(), |encoder| encoder.kv(key, &scalar))
    }

    /// Write a member that is a list of scalars; only before the first table.
    ///
    /// Parameters
    /// ----------
    /// name : str
    ///     The key of the member.
    /// values : iterable of str, int, float, bool or None
    ///     The elements.
    ///
    /// Source: GCF 3.6 section 8.3.
    #[pyo3(signature = (name, values, /))]
    fn list(
        &self,
        #[pyo3(from_py_with = args::written::name)] name: &str,
        values: &Bound<'_, PyAny>,
    ) -> Result<()> {
        check_order(values, "in their order")?;
        let mut scalars: Vec<Scalar> = Vec::new();
        for value in each(values, "values", "str, int, float, bool or None")? {
            let at = scalars.len();
            push(&mut scalars, scalar_at(&value?, || format!("${}[{at}]", path_step(name)))?)?;
        }
        self.with(values.py(), |encoder| encoder.list(name, &scalars))
    }

    /// Begin a member that is a list of dicts.
    ///
    /// Parameters
    /// ----------
    /// name : str
    ///     The key of the member.
    /// fields : sequence of str
    ///     The keys of the dicts, in the order of the values of `row`.
    ///
    /// Source: GCF 3.6 section 8.3.
    #[pyo3(signature = (name, fields, /))]
    fn begin_array(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = args::written::name)] name: &str,
        #[pyo3(from_py_with = names)] fields: Vec<String>,
    ) -> Result<()> {
        self.with(py, |encoder| encoder.begin_array(name, &fields))
    }

    /// Begin a member that is a dict of dicts.
    ///
    /// Parameters
    /// ----------
    /// name : str
    ///     The key of the member.
    /// fields : sequence of str
    ///     The keys of the inner dicts. A row starts with the outer key.
    /// label : str
    ///     The name of the outer key in the header; it is not data.
    ///
    /// Source: GCF 3.6 section 8.3.
    #[pyo3(signature = (name, fields, /, *, label = "key"))]
    fn begin_keyed_map(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = args::written::name)] name: &str,
        #[pyo3(from_py_with = names)] fields: Vec<String>,
        #[pyo3(from_py_with = args::written::label)] label: &str,
    ) -> Result<()> {
        self.with(py, |encoder| encoder.begin_keyed_map(name, &fields, label))
    }

    /// Write a row of the open table.
    ///
    /// Parameters
    /// ----------
    /// values : iterable of str, int, float, bool, None or ...
    ///     One value for each field, in order; `...` if the row does not have the key.
    ///
    /// Source: GCF 3.6 section 8.3.
    #[pyo3(signature = (values, /))]
    fn row(&self, values: &Bound<'_, PyAny>) -> Result<()> {
        let py = values.py();
        check_order(values, "in the order of the fields")?;
        let width = self.encoder(py).row_width()?;
        let mut cells = Vec::with_capacity(8);
        for value in each(values, "values", "str, int, float, bool or None")? {
            let value = value?;
            let at = cells.len();
            if at == width {
                // The rest may be endless.
                return Err(rows::too_wide(width).into());
            }
            let cell = if value.is_instance_of::<PyEllipsis>() {
                None
            } else {
                Some(scalar_at(&value, || format!("values[{at}]"))?)
            };
            push(&mut cells, cell)?;
        }
        self.with(values.py(), |encoder| encoder.row(&cells))
    }

    /// End the open table.
    ///
    /// Source: GCF 3.6 section 8.3.
    fn end(&self, py: Python<'_>) -> Result<()> {
        self.with(py, rows::StreamEncoder::end)
    }

    /// End the text with the counts of its tables. A second call does nothing.
    ///
    /// Source: GCF 3.6 section 8.3.
    fn close(&self, py: Python<'_>) -> Result<()> {
        self.with(py, rows::StreamEncoder::close)
    }

    fn __enter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    #[pyo3(signature = (kind, error, trace, /))]
    #[expect(unused_variables, reason = "Python passes them")]
    fn __exit__(&self, kind: &Bound<'_, PyAny>, error: Unused, trace: Unused) -> Result<()> {
        if kind.is_none() { self.close(kind.py()) } else { Ok(()) }
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&*self.target)
    }
}

/// Refuses a mapping, whose keys are not meant, and a set, which has no order.
#[inline]
fn check_order(values: &Bound<'_, PyAny>, order: &str) -> PyResult<()> {
    if values.is_instance_of::<PyList>() || values.is_instance_of::<PyTuple>() {
        return Ok(());
    }
    if values.is_instance_of::<PySet>()
        || values.is_instance_of::<PyFrozenSet>()
        || as_mapping(values)?.is_some()
    {
        let expected = format!("an iterable of str, int, float, bool or None, {order}");
        return Err(wrong_type(values, "values", &expected));
    }
    Ok(())
}

impl StreamEncoder {
    /// Runs `work` on the locked encoder, then unlocks it and writes the resulting text. Other threads wait
    /// until the text is written.
    fn with(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut rows::StreamEncoder) -> Result<(), Error>,
    ) -> Result<()> {
        let Some(_writer) = self.writing.begin(py)? else {
            let message = "the encoder is writing: its target must not call it";
            return Err(Error::without_place(Code::InvalidLine, message).into());
        };
        let done = {
            let mut encoder = self.encoder(py);
            let done = to_end(|| work(&mut encoder).map(|()| encoder.take()));
            if done.is_err() {
                encoder.fail();
            }
            done?
        };
        let text = done?;
        if text.is_empty() {
            return Ok(());
        }
        let written = self.write(py, &text);
        if written.is_err() {
            self.encoder(py).fail();
        }
        Ok(written?)
    }

    /// The encoder, which other threads lock for a short time only.
    fn encoder(&self, py: Python<'_>) -> MutexGuard<'_, rows::StreamEncoder> {
        self.encoder.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self, py: Python<'_>, text: &str) -> PyResult<()> {
        if self.is_file {
            return super::write_to(self.target.bind(py), text);
        }
        self.target.bind(py).run(args!(py, make_str(py, text)?)?)?;
        Ok(())
    }
}
