//! Keyed sets, deltas between them, and who sends which.

use crate::args::{Input, lone_surrogate};
use crate::errors::{self, Result};
use crate::record::{Names, Record, returned_by_value};
use crate::{detached, make_str};
use compactwire::gcf::keyed::{self, Anchor, Delta, DeltaParts, Producer, Row, Scalar, Snapshots};
use compactwire::gcf::{Code, Error};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError};

/// Rows of scalars that are known by one field, as a value to send and to compare.
///
/// Immutable. Sets are equal when name, key, fields and rows are, in whatever order the rows
/// are.
///
/// Parameters
/// ----------
/// rows : iterable of dict
///     Each has every field: str, int, float, bool or None. 1.0 is kept as 1.
/// key : str
///     The field that is the identity: unique and not None; printable ASCII without spaces.
/// fields : sequence of str, optional
///     The fields in their order; by default those of the first row. None may contain `>`.
/// name : str
///     What the rows are called.
///
/// Raises
/// ------
/// GcfError
///     `invalid_keyed_set`, naming row and field; `not_finite`, `out_of_range` for an int
///     beyond 64 bits, `invalid_surrogate`, `unsupported_type`.
///
/// Source: GCF 3.6 section 10a.
#[pyclass(name = "KeyedSet", module = "compactwire.gcf", frozen, extends = Record)]
pub(crate) struct KeyedSet(pub(crate) Arc<keyed::KeyedSet>);

returned_by_value!(KeyedSet, Record);

#[pymethods]
impl KeyedSet {
    #[classattr]
    #[pyo3(name = "_fields")]
    const FIELDS: Names = Names(&["rows", "key", "fields", "name"]);

    #[new]
    #[pyo3(signature = (rows, *, key, fields = None, name = "rows"))]
    fn new(
        rows: &Bound<'_, PyAny>,
        key: &str,
        fields: Option<Vec<String>>,
        name: &str,
    ) -> Result<Self> {
        let given = rows.try_iter()?.collect::<PyResult<Vec<_>>>()?;
        let fields = match (fields, given.first()) {
            (Some(fields), _) => fields,
            (None, Some(first)) => names(first)?,
            (None, None) => {
                let message = "fields= says the fields of a set without rows";
                return Err(PyValueError::new_err(message).into());
            }
        };
        let rows = read_rows(&given, &fields)?;
        let set = keyed::KeyedSet::new(name.to_owned(), key, fields, rows);
        Ok(Self(Arc::new(set?)))
    }

    /// What the rows are called.
    #[getter]
    fn name(&self) -> &str {
        self.0.name()
    }

    /// The field that is the identity.
    #[getter]
    fn key(&self) -> &str {
        self.0.key()
    }

    /// The fields, in their order.
    #[getter]
    fn fields<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.0.fields())
    }

    /// The rows: new dicts.
    #[getter]
    fn rows<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        write_rows(py, self.0.fields(), self.0.rows())
    }

    /// The pack root, `sha256:` and 64 digits: the same for the same rows in any order.
    #[getter]
    fn root(&self) -> &str {
        self.0.root()
    }

    /// Write the whole set.
    ///
    /// Parameters
    /// ----------
    /// tool : str
    ///     Stands in the header unless it is empty; printable ASCII without spaces.
    ///
    /// Returns
    /// -------
    /// str
    ///     Text that `read_keyed` and `receive_keyed` read; `loads` reads it as an object with
    ///     one list.
    ///
    /// Raises
    /// ------
    /// GcfError
    ///     `invalid_header_value` for the tool.
    ///
    /// Source: GCF 3.6 section 10a.1.
    #[pyo3(signature = (*, tool = ""))]
    fn encode<'py>(&self, py: Python<'py>, tool: &str) -> Result<Bound<'py, PyString>> {
        Ok(make_str(py, &self.0.write(tool)?)?)
    }

    /// Find what makes another set of this one.
    ///
    /// Parameters
    /// ----------
    /// new : KeyedSet
    ///     The other set.
    ///
    /// Returns
    /// -------
    /// KeyedDelta or None
    ///     None when name, key or fields differ: then there is no delta.
    ///
    /// Source: GCF 3.6 section 10a.2.
    #[pyo3(signature = (new, /))]
    fn delta(&self, py: Python<'_>, new: &Self) -> Option<KeyedDelta> {
        py.detach(|| Delta::between(&self.0, &new.0)).map(KeyedDelta)
    }

    /// Make the changes of a delta: all, or none.
    ///
    /// Parameters
    /// ----------
    /// delta : KeyedDelta
    ///     A delta to this set.
    ///
    /// Returns
    /// -------
    /// KeyedSet
    ///     The new set; this one stays as it is.
    ///
    /// Raises
    /// ------
    /// GcfError
    ///     `base_mismatch`: it is for another set; `delta_invalid`: it contradicts this one;
    ///     `root_mismatch`: the result is not what it announces.
    ///
    /// Source: GCF 3.6 section 10a.5.
    #[pyo3(signature = (delta, /))]
    fn apply(&self, py: Python<'_>, delta: &KeyedDelta) -> Result<Self> {
        let made = py.detach(|| self.0.apply(&delta.0));
        Ok(Self(Arc::new(made?)))
    }

    fn __len__(&self) -> usize {
        self.0.rows().len()
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Self>().is_ok_and(|other| self.0 == other.get().0)
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.0.root().hash(&mut hasher);
        hasher.finish()
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let repr = |text: &str| PyString::new(py, text).repr().map(|repr| repr.to_string());
        let (name, key) = (repr(self.0.name())?, repr(self.0.key())?);
        let (count, root) = (self.0.rows().len(), self.0.root());
        Ok(format!("<KeyedSet {name} of {count} rows by {key}, {root}>"))
    }
}

/// What makes one keyed set of another: rows added, changed as a whole, removed.
///
/// Immutable. `KeyedSet.delta` and `read_keyed_delta` make it; here it is made of its parts.
///
/// Parameters
/// ----------
/// key : str
///     The field that is the identity.
/// base_root, new_root : str
///     The pack roots of the two sets.
/// fields : sequence of str
///     The fields in their order; may be empty when no row is added or changed.
/// added, changed : iterable of dict
///     Whole rows.
/// removed : iterable of str, int, float or bool
///     Identities.
///
/// Raises
/// ------
/// GcfError
///     As `KeyedSet`, for the rows.
///
/// Source: GCF 3.6 section 10a.2.
#[pyclass(name = "KeyedDelta", module = "compactwire.gcf", frozen, extends = Record, eq)]
#[derive(PartialEq)]
pub(crate) struct KeyedDelta(Delta);

returned_by_value!(KeyedDelta, Record);

#[pymethods]
impl KeyedDelta {
    #[classattr]
    #[pyo3(name = "_fields")]
    const FIELDS: Names =
        Names(&["key", "base_root", "new_root", "fields", "added", "changed", "removed"]);

    #[new]
    #[pyo3(signature = (*, key, base_root, new_root, fields = Vec::new(), added = None, changed = None, removed = None))]
    #[pyo3(
        text_signature = "(*, key, base_root, new_root, fields=(), added=(), changed=(), removed=())"
    )]
    fn new(
        key: &str,
        base_root: String,
        new_root: String,
        fields: Vec<String>,
        added: Option<&Bound<'_, PyAny>>,
        changed: Option<&Bound<'_, PyAny>>,
        removed: Option<&Bound<'_, PyAny>>,
    ) -> Result<Self> {
        let identities = elements(removed)?;
        let identities = identities.iter().enumerate();
        let parts = DeltaParts {
            added: read_rows(&elements(added)?, &fields)?,
            changed: read_rows(&elements(changed)?, &fields)?,
            removed: identities.map(|(at, one)| scalar(one, at, key)).collect::<Result<_>>()?,
        };
        let made = Delta::new(key, fields, base_root, new_root, parts);
        Ok(Self(made?))
    }

    /// The field that is the identity.
    #[getter]
    fn key(&self) -> &str {
        self.0.key()
    }

    /// The fields; none when no row is added or changed.
    #[getter]
    fn fields<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.0.fields())
    }

    /// The root of the set that it changes.
    #[getter]
    fn base_root(&self) -> &str {
        self.0.base_root()
    }

    /// The root of the set that it makes.
    #[getter]
    fn new_root(&self) -> &str {
        self.0.new_root()
    }

    /// Rows of identities that the base lacks: new dicts.
    #[getter]
    fn added<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        write_rows(py, self.0.fields(), self.0.added())
    }

    /// Whole rows that replace those of the base: new dicts.
    #[getter]
    fn changed<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        write_rows(py, self.0.fields(), self.0.changed())
    }

    /// Identities whose rows go: a new list.
    #[getter]
    fn removed<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let made: Vec<_> =
            self.0.removed().iter().map(|value| object(py, value)).collect::<PyResult<_>>()?;
        PyList::new(py, made)
    }

    /// Write the delta.
    ///
    /// Parameters
    /// ----------
    /// tool : str
    ///     Stands in the header unless it is empty.
    /// sizes : tuple of int, optional
    ///     The sizes of the delta and of the full set, as the sender counts them; the header
    ///     then says what part is saved, in whole per cent.
    ///
    /// Returns
    /// -------
    /// str
    ///     Text that `receive_keyed` and `read_keyed_delta` read.
    ///
    /// Raises
    /// ------
    /// GcfError
    ///     `invalid_header_value` for the tool or a root.
    ///
    /// Source: GCF 3.6 section 10a.2.
    #[pyo3(signature = (*, tool = "", sizes = None))]
    fn encode<'py>(
        &self,
        py: Python<'py>,
        tool: &str,
        sizes: Option<(u64, u64)>,
    ) -> Result<Bound<'py, PyString>> {
        Ok(make_str(py, &self.0.write(tool, sizes)?)?)
    }

    fn __repr__(&self) -> String {
        let delta = &self.0;
        let (added, changed) = (delta.added().len(), delta.changed().len());
        format!("<KeyedDelta +{added} ~{changed} -{}>", delta.removed().len())
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        (self.0.base_root(), self.0.new_root()).hash(&mut hasher);
        hasher.finish()
    }
}

/// Read the text of a whole keyed set.
///
/// Parameters
/// ----------
/// text : str, bytes, bytearray or memoryview
///     A full set, as `KeyedSet.encode` writes it.
///
/// Returns
/// -------
/// KeyedSet
///     The set. Its root is that of the header.
///
/// Raises
/// ------
/// GcfError
///     With `line` and `column` where the text breaks a rule; `invalid_keyed_set` where the
///     header and the table disagree about the key, or an identity is there twice;
///     `root_mismatch`.
///
/// Source: GCF 3.6 sections 10a.1 and 10a.7.
#[pyfunction]
#[pyo3(signature = (text, /))]
pub(crate) fn read_keyed(text: &Bound<'_, PyAny>) -> Result<KeyedSet> {
    let py = text.py();
    let text = Input::new(text)?;
    let text = text.gcf_text()?;
    let made = detached(py, text.len(), || keyed::KeyedSet::read(text));
    Ok(KeyedSet(Arc::new(made?)))
}

/// Read the text of a delta between keyed sets.
///
/// Parameters
/// ----------
/// text : str, bytes, bytearray or memoryview
///     A delta, as `KeyedDelta.encode` writes it.
///
/// Returns
/// -------
/// KeyedDelta
///     The delta; `KeyedSet.apply` makes its changes.
///
/// Raises
/// ------
/// GcfError
///     With `line` and `column` where the text breaks a rule; `malformed_delta`,
///     `delta_invalid`.
///
/// Source: GCF 3.6 section 10a.2.
#[pyfunction]
#[pyo3(signature = (text, /))]
pub(crate) fn read_keyed_delta(text: &Bound<'_, PyAny>) -> Result<KeyedDelta> {
    let py = text.py();
    let text = Input::new(text)?;
    let text = text.gcf_text()?;
    let made = detached(py, text.len(), || Delta::read(text));
    Ok(KeyedDelta(made?))
}

/// Read whatever was sent of a keyed set: the whole, a delta, or that nothing changed.
///
/// Parameters
/// ----------
/// text : str, bytes, bytearray or memoryview
///     The text.
/// base : KeyedSet or None
///     The set that is held, which stays as it is.
///
/// Returns
/// -------
/// KeyedSet
///     The set that the sender has.
///
/// Raises
/// ------
/// GcfError
///     `base_mismatch` when the text is about another set than `base`: ask for the full set.
///     Otherwise as `read_keyed`, `read_keyed_delta` and `KeyedSet.apply`.
///
/// Source: GCF 3.6 sections 10a.4 and 10a.5.
#[pyfunction]
#[pyo3(signature = (text, /, base))]
pub(crate) fn receive_keyed(
    text: &Bound<'_, PyAny>,
    base: Option<&Bound<'_, KeyedSet>>,
) -> Result<KeyedSet> {
    let py = text.py();
    let text = Input::new(text)?;
    let text = text.gcf_text()?;
    let base = base.map(|base| &*base.get().0);
    let made = detached(py, text.len(), || keyed::receive(base, text));
    Ok(KeyedSet(Arc::new(made?)))
}

/// Keeps the keyed sets that were sent last, to answer each peer with the least that it needs.
///
/// Thread-safe.
///
/// Parameters
/// ----------
/// limit : int
///     How many sets are kept; the oldest goes first.
///
/// Source: GCF 3.6 section 10a.4.
#[pyclass(name = "KeyedSnapshots", module = "compactwire.gcf", frozen)]
pub(crate) struct KeyedSnapshots(Mutex<Snapshots>);

#[pymethods]
impl KeyedSnapshots {
    #[new]
    #[pyo3(signature = (*, limit = 16))]
    fn new(limit: usize) -> Self {
        Self(Mutex::new(Snapshots::new(limit)))
    }

    /// Write a set for a peer, and keep it.
    ///
    /// Parameters
    /// ----------
    /// new : KeyedSet
    ///     The set as it is now.
    /// peer_root : str, optional
    ///     The root of the set that the peer has. None, or a root that is not known here: the
    ///     whole set.
    /// tool : str
    ///     Stands in the header unless it is empty.
    /// count_tokens : callable, optional
    ///     Is given a text and returns its size as an int. By default runs of letters and
    ///     digits and single signs are counted.
    ///
    /// Returns
    /// -------
    /// str
    ///     "Unchanged" when the peer has this set; a delta when it is smaller than 60 % of the
    ///     whole set; otherwise the whole set. `receive_keyed` reads it.
    ///
    /// Raises
    /// ------
    /// GcfError
    ///     `invalid_header_value` for the tool.
    ///
    /// Source: GCF 3.6 section 10a.4.
    #[pyo3(signature = (new, /, peer_root, *, tool = "", count_tokens = None))]
    fn respond<'py>(
        &self,
        py: Python<'py>,
        new: &KeyedSet,
        peer_root: Option<&str>,
        tool: &str,
        count_tokens: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyString>> {
        let base = {
            let kept = self.0.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
            peer_root.and_then(|root| kept.find(root))
        };
        let size = |text: &str| match count_tokens {
            Some(count) => Ok::<_, errors::Error>(count.call1((text,))?.extract()?),
            None => Ok(keyed::token_estimate(text)),
        };
        let made = keyed::respond(&new.0, peer_root, base.as_deref(), tool, size)?;
        let mut kept = self.0.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
        kept.keep(Arc::clone(&new.0));
        drop(kept);
        make_str(py, &made.text)
    }
}

/// Sends each new set as what changed since the last, and sometimes whole.
///
/// For one peer that is given every text in turn. Thread-safe. A set of another name, key or
/// fields is sent whole.
///
/// Parameters
/// ----------
/// base : KeyedSet
///     The first set; `full()` is its text.
/// tool : str
///     Stands in the header of whole sets unless it is empty.
/// fixed_n : int, optional
///     Of so many texts one is whole; 15 by default, and where it is not positive.
/// size_guard : bool
///     Instead: send the whole set when the deltas since the last one have as many bytes.
///
/// Raises
/// ------
/// GcfError
///     `invalid_header_value` for the tool.
/// ValueError
///     Both `fixed_n` and `size_guard` are given.
///
/// Source: GCF 3.6 section 10a.6.
#[pyclass(name = "KeyedProducer", module = "compactwire.gcf", frozen)]
pub(crate) struct KeyedProducer(Mutex<Producer>);

#[pymethods]
impl KeyedProducer {
    #[new]
    #[pyo3(signature = (base, /, *, tool = "", fixed_n = None, size_guard = false))]
    fn new(base: &KeyedSet, tool: &str, fixed_n: Option<i64>, size_guard: bool) -> Result<Self> {
        let anchor = match (fixed_n, size_guard) {
            (Some(_), true) => {
                return Err(PyValueError::new_err("either fixed_n or size_guard, not both").into());
            }
            (None, true) => Anchor::Size,
            (count, false) => Anchor::Every(count.map_or(0, |n| n.max(0).unsigned_abs())),
        };
        let made = Producer::new(Arc::clone(&base.0), tool.to_owned(), anchor);
        Ok(Self(Mutex::new(made?)))
    }

    /// The last set, which the peer has.
    #[getter]
    fn last(&self, py: Python<'_>) -> KeyedSet {
        let producer = self.0.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
        KeyedSet(Arc::clone(producer.last()))
    }

    /// Write the last set as a whole: at the beginning, or when the peer asks for it.
    ///
    /// Returns
    /// -------
    /// str
    ///     Text that `receive_keyed` reads.
    ///
    /// Source: GCF 3.6 section 10a.1.
    fn full<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyString>> {
        let made = {
            let producer = self.0.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
            producer.full()
        };
        Ok(make_str(py, &made?)?)
    }

    /// Write what to send for a new set.
    ///
    /// Parameters
    /// ----------
    /// new : KeyedSet
    ///     The set as it is now.
    ///
    /// Returns
    /// -------
    /// tuple of str and bool
    ///     The text, and whether it is the whole set.
    ///
    /// Source: GCF 3.6 section 10a.6.
    #[pyo3(signature = (new, /))]
    fn push<'py>(&self, py: Python<'py>, new: &KeyedSet) -> Result<(Bound<'py, PyString>, bool)> {
        let made = {
            let mut producer = self.0.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
            producer.push(Arc::clone(&new.0))
        };
        let answer = made?;
        Ok((make_str(py, &answer.text)?, answer.is_full))
    }
}

fn elements<'py>(given: Option<&Bound<'py, PyAny>>) -> PyResult<Vec<Bound<'py, PyAny>>> {
    given.map_or_else(|| Ok(Vec::new()), |given| given.try_iter()?.collect())
}

/// The keys of a row.
fn names(row: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    let Ok(row) = row.cast::<PyDict>() else { return Err(no_row(row)) };
    row.keys().iter().map(|key| key.extract()).collect()
}

#[cold]
fn no_row(row: &Bound<'_, PyAny>) -> PyErr {
    let class = row.get_type();
    let found = class.name().map_or_else(|_| "this".into(), |name| name.to_string());
    PyTypeError::new_err(format!("a row is a dict, not {found}"))
}

fn read_rows(rows: &[Bound<'_, PyAny>], fields: &[String]) -> Result<Vec<Row>> {
    let Some(first) = rows.first() else { return Ok(Vec::new()) };
    let py = first.py();
    let keys: Vec<_> = fields.iter().map(|field| PyString::new(py, field)).collect();
    let mut read = Vec::with_capacity(rows.len());
    for (at, row) in rows.iter().enumerate() {
        let Ok(dict) = row.cast::<PyDict>() else { return Err(no_row(row).into()) };
        let mut values = Row::with_capacity(keys.len());
        for (field, key) in fields.iter().zip(&keys) {
            let Some(value) = dict.get_item(key)? else {
                return Err(invalid(Code::InvalidKeyedSet, at, field, "the row lacks it"));
            };
            values.push(scalar(&value, at, field)?);
        }
        if dict.len() != keys.len() {
            let extra = dict
                .keys()
                .iter()
                .find(|key| !key.extract::<String>().is_ok_and(|key| fields.contains(&key)));
            let extra = extra.map_or_else(String::new, |key| key.to_string());
            let message = "the set has no such field";
            return Err(invalid(Code::InvalidKeyedSet, at, &extra, message));
        }
        read.push(values);
    }
    Ok(read)
}

#[cold]
fn invalid(code: Code, row: usize, field: &str, message: &str) -> errors::Error {
    Error::without_place(code, format!("{}: {message}", place(row, field))).into()
}

fn place(row: usize, field: &str) -> String {
    format!("row {row}, field {}", compactwire::excerpt::excerpt(field))
}

fn scalar(value: &Bound<'_, PyAny>, row: usize, field: &str) -> Result<Scalar> {
    scalar_at(value, || place(row, field))
}

/// A scalar, or an error that says which it is.
pub(super) fn scalar_at(
    value: &Bound<'_, PyAny>,
    place: impl FnOnce() -> String,
) -> Result<Scalar> {
    let invalid =
        |code, message: &str| Error::without_place(code, format!("{}: {message}", place())).into();
    Ok(if value.is_none() {
        Scalar::Null
    } else if let Ok(value) = value.cast::<PyBool>() {
        Scalar::Bool(value.is_true())
    } else if let Ok(value) = value.cast::<PyInt>() {
        let Ok(value) = value.extract() else {
            let message = "an int beyond -2^63 to 2^63 - 1; write it as text";
            return Err(invalid(Code::OutOfRange, message));
        };
        Scalar::Int(value)
    } else if let Ok(value) = value.cast::<PyFloat>() {
        Scalar::Float(value.value())
    } else if let Ok(text) = value.cast::<PyString>() {
        let Ok(plain) = text.to_str() else {
            return Err(invalid(Code::InvalidSurrogate, &lone_surrogate(text)));
        };
        Scalar::String(plain.into())
    } else {
        let found = value.get_type().name()?;
        return Err(invalid(Code::UnsupportedType, &format!("a value is a scalar, not {found}")));
    })
}

fn object<'py>(py: Python<'py>, value: &Scalar) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Scalar::Null => py.None().into_bound(py),
        Scalar::Bool(value) => PyBool::new(py, *value).to_owned().into_any(),
        Scalar::Int(value) => value.into_pyobject(py)?.into_any(),
        Scalar::Float(value) => PyFloat::new(py, *value).into_any(),
        Scalar::String(text) => make_str(py, text)?.into_any(),
    })
}

fn write_rows<'py>(
    py: Python<'py>,
    fields: &[String],
    rows: &[Row],
) -> PyResult<Bound<'py, PyList>> {
    let keys: Vec<_> = fields.iter().map(|field| PyString::new(py, field)).collect();
    let made = PyList::empty(py);
    for row in rows {
        let dict = PyDict::new(py);
        for (key, value) in keys.iter().zip(row) {
            dict.set_item(key, object(py, value)?)?;
        }
        made.append(dict)?;
    }
    Ok(made)
}
