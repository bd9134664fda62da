//! Keyed sets, the deltas between them, and `KeyedSnapshots` and `KeyedProducer`, which choose the text to
//! send. GCF 3.6 section 10a.
//!
//! Sets and deltas are immutable. The two classes that choose have a lock.

use crate::args::named::{self, content_of};
use crate::args::{self, Input, class_name, each, sizes, utf8_or, wrong_type};
use crate::calls::Run;
use crate::errors::{self, Result};
use crate::interrupt::{attached, detached};
use crate::lock::Lock;
use crate::make::{
    Str, args, ensure_memory, join, keys_of, make_dict, make_float, make_int, make_list, make_str,
    make_tuple, push,
};
use crate::record::{Names, Record, hash_of, returned_by_value};
use crate::value::kind::{Kind, kind};
use crate::value::read::key_message;
use crate::{built, locked, locked_long};
use compactwire::excerpt::{excerpt, path_step};
use compactwire::gcf::keyed::{
    self, Anchor, Delta, DeltaParts, Producer, Response, Row, Scalar, Snapshots,
};
use compactwire::gcf::{Code, Error, Place};
use compactwire::interrupt::{Steps, polled, unchecked};
use compactwire::memory::Meter;
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::{PyBool, PyDict, PyList, PyString, PyTuple};
use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

/// An immutable set of rows of scalars, identified by a key field.
///
/// Two sets are equal if name, key, fields and rows are equal; the order of rows does not matter.
///
/// Parameters
/// ----------
/// rows : iterable of dict
///     Rows with a value for every field: str, int, float, bool or None. 1.0 is stored as 1.
/// key : str
///     The key field, whose values are the identities of the rows: unique and not None. Its name is
///     printable ASCII without spaces.
/// fields : sequence of str, optional
///     The fields in order; by default those of the first row. A field must not contain `>`.
/// name : str
///     The name of the set.
///
/// Raises
/// ------
/// GcfError
///     `invalid_keyed_set` with row and field; `not_finite`, `out_of_range` for an int that exceeds
///     64 bits, `invalid_surrogate`, `unsupported_type`.
///
/// Source: GCF 3.6 section 10a.
#[pyclass(name = "KeyedSet", module = "compactwire.gcf", frozen, extends = Record)]
pub(crate) struct KeyedSet(pub(crate) Arc<keyed::KeyedSet>);

content_of! { KeyedDelta KeyedSet }

returned_by_value!(Record: KeyedSet, KeyedDelta);

#[pymethods]
impl KeyedSet {
    #[classattr]
    const _fields: Names = Names(&["rows", "key", "fields", "name"]);

    #[new]
    #[pyo3(signature = (rows, *, key, fields = None, name = "rows"))]
    fn new(
        rows: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = args::written::key)] key: &str,
        #[pyo3(from_py_with = given_names)] fields: Option<Vec<String>>,
        #[pyo3(from_py_with = args::written::name)] name: &str,
    ) -> Result<Self> {
        let mut given = Vec::new();
        for row in each(rows, "rows", "dict")? {
            push(&mut given, row?)?;
        }
        let fields = match (fields, given.first()) {
            (Some(fields), _) => fields,
            (None, Some(first)) => names(first)?,
            (None, None) => {
                let message = "a set without rows needs fields=";
                return Err(errors::invalid_option("fields", message).into());
            }
        };
        let rows = attached(|| read_rows(&given, &fields, "$"))??;
        let set = attached(|| keyed::KeyedSet::new(name.to_owned(), key, fields, rows))?;
        Ok(Self(Arc::new(set?)))
    }

    /// The name of the set.
    #[getter]
    fn name(&self) -> Str<&str> {
        Str(self.0.name())
    }

    /// The key field.
    #[getter]
    fn key(&self) -> Str<&str> {
        Str(self.0.key())
    }

    /// The fields, in order.
    #[getter]
    fn fields<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        make_tuple(py, self.0.fields().iter().map(|field| make_str(py, field)))
    }

    /// The rows, as new dicts.
    #[getter]
    fn rows<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        attached(|| write_rows(py, self.0.fields(), self.0.rows()))?
    }

    /// The pack root, `sha256:` and 64 hexadecimal digits, independent of the order of rows.
    #[getter]
    fn root(&self) -> Str<&str> {
        Str(self.0.root())
    }

    /// Encode the full set.
    ///
    /// Parameters
    /// ----------
    /// tool : str
    ///     The tool for the header, printable ASCII without spaces; empty for none.
    ///
    /// Returns
    /// -------
    /// str
    ///     Text for `read_keyed` and `receive_keyed`; `loads` decodes it as an object with one
    ///     list.
    ///
    /// Raises
    /// ------
    /// GcfError
    ///     `invalid_header_value` for an invalid tool.
    ///
    /// Source: GCF 3.6 section 10a.1.
    #[pyo3(signature = (*, tool = ""))]
    fn encode<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = args::written::tool)] tool: &str,
    ) -> Result<Bound<'py, PyString>> {
        let text = detached(py, self.0.size(), || self.0.write(tool))??;
        Ok(make_str(py, &text)?)
    }

    /// Compute the delta from this set to another one.
    ///
    /// Parameters
    /// ----------
    /// new : KeyedSet
    ///     The other set.
    ///
    /// Returns
    /// -------
    /// KeyedDelta or None
    ///     The delta, or None if name, key or fields differ.
    ///
    /// Source: GCF 3.6 section 10a.2.
    #[pyo3(signature = (new, /))]
    fn delta(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = named::new)] new: &Self,
    ) -> Result<Option<KeyedDelta>> {
        let bytes = self.0.size() + new.0.size();
        Ok(detached(py, bytes, || Delta::between(&self.0, &new.0))??.map(KeyedDelta))
    }

    /// Apply all changes of a delta and return the new set.
    ///
    /// Parameters
    /// ----------
    /// delta : KeyedDelta
    ///     A delta with this set as its base.
    ///
    /// Returns
    /// -------
    /// KeyedSet
    ///     The new set; this set does not change.
    ///
    /// Raises
    /// ------
    /// GcfError
    ///     `base_mismatch` if the delta is for another set, `delta_invalid` if it contradicts this
    ///     set, `root_mismatch` if the result does not have the root in the delta.
    ///
    /// Source: GCF 3.6 section 10a.5.
    #[pyo3(signature = (delta, /))]
    fn apply(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = named::delta)] delta: &KeyedDelta,
    ) -> Result<Self> {
        let made = detached(py, self.0.size(), || self.0.apply(&delta.0))?;
        Ok(Self(Arc::new(made?)))
    }

    fn __len__(&self) -> usize {
        self.0.rows().len()
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Self>().is_ok_and(|other| self.0 == other.get().0)
    }

    fn __hash__(&self) -> u64 {
        hash_of(&self.0.root())
    }

    fn __repr__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyString>> {
        let text = |text: &str| make_str(py, text);
        let (name, key) = (text(self.0.name())?.repr()?, text(self.0.key())?.repr()?);
        let count = text(&format!(" of {} rows by ", self.0.rows().len()))?;
        let root = text(&format!(", {}>", self.0.root()))?;
        join(py, "", vec![text("<KeyedSet ")?, name, count, key, root])
    }
}

/// The changes from one keyed set to another: rows added, replaced and removed.
///
/// Immutable. `KeyedSet.delta` and `read_keyed_delta` return deltas; the constructor creates one
/// from its parts.
///
/// Parameters
/// ----------
/// key : str
///     The key field.
/// base_root, new_root : str
///     The pack roots of the two sets.
/// fields : sequence of str
///     The fields in order; may be empty if no row is added or changed.
/// added, changed : iterable of dict
///     Whole rows.
/// removed : iterable of str, int, float or bool
///     Identities.
///
/// Raises
/// ------
/// GcfError
///     As for the rows of `KeyedSet`.
///
/// Source: GCF 3.6 section 10a.2.
#[pyclass(name = "KeyedDelta", module = "compactwire.gcf", frozen, extends = Record, eq)]
#[derive(PartialEq)]
pub(crate) struct KeyedDelta(Delta);

#[pymethods]
impl KeyedDelta {
    #[classattr]
    const _fields: Names =
        Names(&["key", "base_root", "new_root", "fields", "added", "changed", "removed"]);

    #[new]
    #[pyo3(signature = (*, key, base_root, new_root, fields = Vec::new(), added = None, changed = None, removed = None))]
    #[pyo3(
        text_signature = "(*, key, base_root, new_root, fields=(), added=(), changed=(), removed=())"
    )]
    fn new(
        #[pyo3(from_py_with = args::written::key)] key: &str,
        #[pyo3(from_py_with = args::written::base_root)] base_root: String,
        #[pyo3(from_py_with = args::written::new_root)] new_root: String,
        #[pyo3(from_py_with = args::names)] fields: Vec<String>,
        added: Option<&Bound<'_, PyAny>>,
        changed: Option<&Bound<'_, PyAny>>,
        removed: Option<&Bound<'_, PyAny>>,
    ) -> Result<Self> {
        let identities = elements(removed, "removed", "str, int, float or bool")?;
        let identities = identities.iter().enumerate();
        let parts = DeltaParts {
            added: read_rows(&elements(added, "added", "dict")?, &fields, "added")?,
            changed: read_rows(&elements(changed, "changed", "dict")?, &fields, "changed")?,
            removed: identities
                .map(|(at, one)| scalar_at(one, || format!("removed[{at}]")))
                .collect::<Result<_>>()?,
        };
        let made = attached(|| Delta::new(key, fields, base_root, new_root, parts))?;
        Ok(Self(made?))
    }

    /// The key field.
    #[getter]
    fn key(&self) -> Str<&str> {
        Str(self.0.key())
    }

    /// The fields; empty if no row is added or changed.
    #[getter]
    fn fields<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        make_tuple(py, self.0.fields().iter().map(|field| make_str(py, field)))
    }

    /// The root of the base set.
    #[getter]
    fn base_root(&self) -> Str<&str> {
        Str(self.0.base_root())
    }

    /// The root of the resulting set.
    #[getter]
    fn new_root(&self) -> Str<&str> {
        Str(self.0.new_root())
    }

    /// The added rows, as new dicts.
    #[getter]
    fn added<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        attached(|| write_rows(py, self.0.fields(), self.0.added()))?
    }

    /// The rows that replace rows of the base, as new dicts.
    #[getter]
    fn changed<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        attached(|| write_rows(py, self.0.fields(), self.0.changed()))?
    }

    /// The identities of the removed rows, as a new list.
    #[getter]
    fn removed<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        make_list(py, self.0.removed().iter().map(|value| object(py, value)))
    }

    /// Encode the delta.
    ///
    /// Parameters
    /// ----------
    /// tool : str
    ///     The tool for the header; empty for none.
    /// sizes : tuple of int, optional
    ///     The sizes of the delta and of the full set, in any unit. If passed, the header contains
    ///     the saved part in whole per cent.
    ///
    /// Returns
    /// -------
    /// str
    ///     Text for `receive_keyed` and `read_keyed_delta`.
    ///
    /// Raises
    /// ------
    /// GcfError
    ///     `invalid_header_value` for an invalid tool or root.
    ///
    /// Source: GCF 3.6 section 10a.2.
    #[pyo3(signature = (*, tool = "", sizes = None))]
    fn encode<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = args::written::tool)] tool: &str,
        sizes: Option<&Bound<'py, PyAny>>,
    ) -> Result<Bound<'py, PyString>> {
        let sizes = sizes.map(sizes_of).transpose()?;
        let text = attached(|| self.0.write(tool, sizes))??;
        Ok(make_str(py, &text)?)
    }

    fn __repr__(&self) -> Str<String> {
        let delta = &self.0;
        let (added, changed) = (delta.added().len(), delta.changed().len());
        Str(format!("<KeyedDelta +{added} ~{changed} -{}>", delta.removed().len()))
    }

    fn __hash__(&self) -> u64 {
        hash_of(&(self.0.base_root(), self.0.new_root()))
    }
}

/// Decode the text of a full keyed set.
///
/// Parameters
/// ----------
/// text : str, bytes, bytearray or memoryview
///     The text of a full set, as returned by `KeyedSet.encode`.
///
/// Returns
/// -------
/// KeyedSet
///     The set. Its root is checked against the header.
///
/// Raises
/// ------
/// GcfError
///     With `line` and `column` if the text is invalid; `invalid_keyed_set` if header and table
///     disagree about the key, or an identity is a duplicate; `root_mismatch`.
///
/// Source: GCF 3.6 sections 10a.1 and 10a.7.
#[pyfunction]
#[pyo3(signature = (text, /))]
pub(crate) fn read_keyed(text: &Bound<'_, PyAny>) -> Result<KeyedSet> {
    let py = text.py();
    let text = Input::new(text, "text")?;
    let text = text.gcf_text()?;
    let made = detached(py, text.len(), || keyed::KeyedSet::read(text))?;
    Ok(KeyedSet(Arc::new(made?)))
}

/// Decode the text of a delta between keyed sets.
///
/// Parameters
/// ----------
/// text : str, bytes, bytearray or memoryview
///     The text of a delta, as returned by `KeyedDelta.encode`.
///
/// Returns
/// -------
/// KeyedDelta
///     The delta, for `KeyedSet.apply`.
///
/// Raises
/// ------
/// GcfError
///     With `line` and `column` if the text is invalid; `malformed_delta`, `delta_invalid`.
///
/// Source: GCF 3.6 section 10a.2.
#[pyfunction]
#[pyo3(signature = (text, /))]
pub(crate) fn read_keyed_delta(text: &Bound<'_, PyAny>) -> Result<KeyedDelta> {
    let py = text.py();
    let text = Input::new(text, "text")?;
    let text = text.gcf_text()?;
    let made = detached(py, text.len(), || Delta::read(text))?;
    Ok(KeyedDelta(made?))
}

/// Decode a full keyed set, a delta, or the message that nothing changed.
///
/// Parameters
/// ----------
/// text : str, bytes, bytearray or memoryview
///     The text.
/// base : KeyedSet or None
///     The current set of the receiver; it does not change.
///
/// Returns
/// -------
/// KeyedSet
///     The new set, equal to the sender's.
///
/// Raises
/// ------
/// GcfError
///     `base_mismatch` if the text is not based on `base`: ask for the full set. Otherwise as
///     `read_keyed`, `read_keyed_delta` and `KeyedSet.apply`.
///
/// Source: GCF 3.6 sections 10a.4 and 10a.5.
#[pyfunction]
#[pyo3(signature = (text, /, base))]
pub(crate) fn receive_keyed(
    text: &Bound<'_, PyAny>,
    #[pyo3(from_py_with = named::base)] base: Option<&Bound<'_, KeyedSet>>,
) -> Result<KeyedSet> {
    let py = text.py();
    let text = Input::new(text, "text")?;
    let text = text.gcf_text()?;
    let base = base.map(|base| &*base.get().0);
    let made = detached(py, text.len(), || keyed::receive(base, text))?;
    Ok(KeyedSet(Arc::new(made?)))
}

/// Keeps the keyed sets sent last, to send each peer the shortest text that updates it.
///
/// Thread-safe.
///
/// Parameters
/// ----------
/// limit : int
///     The number of sets to keep; the oldest is evicted first.
///
/// Source: GCF 3.6 section 10a.4.
#[pyclass(name = "KeyedSnapshots", module = "compactwire.gcf", frozen)]
pub(crate) struct KeyedSnapshots(Mutex<Snapshots>);

#[pymethods]
impl KeyedSnapshots {
    #[new]
    #[pyo3(signature = (*, limit = 16))]
    fn new(#[pyo3(from_py_with = sizes::limit)] limit: usize) -> Self {
        Self(Mutex::new(Snapshots::new(limit)))
    }

    /// Encode a set for a peer, and keep the set.
    ///
    /// Parameters
    /// ----------
    /// new : KeyedSet
    ///     The current set.
    /// peer_root : str, optional
    ///     The root of the set that the peer has. If it is None or unknown, the full set is
    ///     encoded.
    /// tool : str
    ///     The tool for the header; empty for none.
    /// count_tokens : callable, optional
    ///     Returns the number of tokens of a str as an int. By default, runs of letters and digits
    ///     and other single characters are counted.
    ///
    /// Returns
    /// -------
    /// str
    ///     Text for `receive_keyed`: "unchanged" if the peer has this set; a delta if it is smaller
    ///     than 60 % of the full set; otherwise the full set. Sets of equal rows have one root: if
    ///     one of those that are kept has another name, key or fields, the full set. A set that is
    ///     no longer kept is taken for `new`, or for the kept set, that has the same root.
    ///
    /// Raises
    /// ------
    /// GcfError
    ///     `invalid_header_value` for an invalid tool.
    ///
    /// Source: GCF 3.6 section 10a.4.
    #[pyo3(signature = (new, /, peer_root, *, tool = "", count_tokens = None))]
    fn respond<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = named::new)] new: &KeyedSet,
        #[pyo3(from_py_with = args::written::peer_root)] peer_root: Option<&str>,
        #[pyo3(from_py_with = args::written::tool)] tool: &str,
        count_tokens: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyString>> {
        count_tokens.map(|count| args::check_callable(count, "count_tokens")).transpose()?;
        let base = {
            let kept = self.0.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
            peer_root.and_then(|root| kept.find(root, &new.0))
        };
        let size = |text: &str| match count_tokens {
            Some(count) => {
                let count = unchecked(|| count.run(args!(py, Str(text))?))?;
                Ok::<_, errors::Error>(args::token_count(&count, "count_tokens")?)
            }
            None => Ok(keyed::count_tokens(text)),
        };
        let respond = || keyed::respond(&new.0, peer_root, base.as_deref(), tool, size);
        let made = attached(respond)??;
        let text = make_str(py, &made.text)?;
        let mut kept = self.0.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
        kept.keep(Arc::clone(&new.0));
        Ok(text)
    }
}

/// Encodes each new set as a delta to the last one, and from time to time in full.
///
/// For one peer that receives every text in order. A set with another name, key or fields is
/// encoded in full. Thread-safe.
///
/// Parameters
/// ----------
/// base : KeyedSet
///     The first set; `full()` returns its text.
/// tool : str
///     The tool for the header of full sets; empty for none.
/// fixed_n : int, optional
///     The interval of full sets: one in `fixed_n` texts is a full set. 15 by default, and if the
///     number is not positive.
/// size_guard : bool
///     Whether to send a full set as soon as the deltas since the last one, with the new delta,
///     have as many bytes as the full set, instead of at a fixed interval.
///
/// Raises
/// ------
/// GcfError
///     `invalid_header_value` for an invalid tool.
/// ValueError
///     Both `fixed_n` and `size_guard` are passed.
///
/// Source: GCF 3.6 section 10a.6.
#[pyclass(name = "KeyedProducer", module = "compactwire.gcf", frozen)]
pub(crate) struct KeyedProducer(Lock<Producer>);

#[pymethods]
impl KeyedProducer {
    #[new]
    #[pyo3(signature = (base, /, *, tool = "", fixed_n = None, size_guard = false))]
    fn new(
        #[pyo3(from_py_with = named::base)] base: &KeyedSet,
        #[pyo3(from_py_with = args::written::tool)] tool: &str,
        fixed_n: Option<&Bound<'_, PyAny>>,
        #[pyo3(from_py_with = named::size_guard)] size_guard: bool,
    ) -> Result<Self> {
        let fixed_n = fixed_n.map(|n| args::clamped(n, "fixed_n")).transpose()?;
        let anchor = match (fixed_n, size_guard) {
            (Some(_), true) => {
                let message = "either fixed_n or size_guard, not both";
                return Err(errors::invalid_option("fixed_n", message).into());
            }
            (None, true) => Anchor::Size,
            (count, false) => Anchor::Every(count.map_or(0, |n| n.max(0).unsigned_abs())),
        };
        let made = Producer::new(Arc::clone(&base.0), tool.to_owned(), anchor);
        Ok(Self(Lock::new(made?)))
    }

    /// The last set, which the peer now has.
    #[getter]
    fn last(&self, py: Python<'_>) -> PyResult<KeyedSet> {
        locked(py, &self.0, |producer| KeyedSet(Arc::clone(producer.last())))
    }

    /// Encode the last set in full: at the beginning, or if the peer asks for it.
    ///
    /// Returns
    /// -------
    /// str
    ///     Text for `receive_keyed`.
    ///
    /// Source: GCF 3.6 section 10a.1.
    fn full<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyString>> {
        let bytes = locked(py, &self.0, |producer| producer.last().size())?;
        let made = locked_long(py, &self.0, bytes, |producer| producer.full())?;
        Ok(make_str(py, &made?)?)
    }

    /// Encode a new set for the peer.
    ///
    /// Parameters
    /// ----------
    /// new : KeyedSet
    ///     The current set.
    ///
    /// Returns
    /// -------
    /// tuple of str and bool
    ///     The text, and whether it is the full set.
    ///
    /// Source: GCF 3.6 section 10a.6.
    #[pyo3(signature = (new, /))]
    fn push(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = named::new)] new: &KeyedSet,
    ) -> Result<Py<PyTuple>> {
        let make = |answer: Response| {
            built(|py| {
                let text = make_str(py, &answer.text)?.into_any();
                let is_full = PyBool::new(py, answer.is_full).to_owned().into_any();
                make_tuple(py, [text, is_full].into_iter().map(Ok))
            })
        };
        let push = |producer: &mut Producer| producer.push_with(Arc::clone(&new.0), make);
        locked_long(py, &self.0, new.0.size(), push)?
    }
}

fn elements<'py>(
    given: Option<&Bound<'py, PyAny>>,
    name: &str,
    items: &str,
) -> PyResult<Vec<Bound<'py, PyAny>>> {
    given.map_or_else(|| Ok(Vec::new()), |given| each(given, name, items)?.collect())
}

/// `sizes=`: of a delta and of the full set.
fn sizes_of(sizes: &Bound<'_, PyAny>) -> PyResult<(u64, u64)> {
    let pair: Option<(Bound<'_, PyAny>, Bound<'_, PyAny>)> = sizes.extract().ok();
    let (delta, full) = pair.ok_or_else(|| wrong_type(sizes, "sizes", "a tuple of two int"))?;
    Ok((args::natural(&delta, "sizes[0]")?, args::natural(&full, "sizes[1]")?))
}

fn given_names(fields: &Bound<'_, PyAny>) -> PyResult<Option<Vec<String>>> {
    if fields.is_none() { Ok(None) } else { args::names(fields).map(Some) }
}

/// The keys of the first row.
fn names(row: &Bound<'_, PyAny>) -> Result<Vec<String>> {
    let path = || "$[0]".to_owned();
    let Ok(row) = row.cast::<PyDict>() else { return Err(no_row(row, path())) };
    let mut names = Vec::new();
    for key in keys_of(row)? {
        push(&mut names, name(&key, path)?)?;
    }
    Ok(names)
}

/// The text of a key in the row at `path()`.
fn name(key: &Bound<'_, PyAny>, path: impl FnOnce() -> String) -> Result<String> {
    let Ok(key) = key.cast::<PyString>() else {
        let message = key_message(&key.get_type());
        return Err(unsupported(Code::UnsupportedType, message, path()));
    };
    let text = utf8_or(key, |message| {
        unsupported(Code::InvalidSurrogate, format!("in a key, {message}"), path())
    })?;
    ensure_memory(text.len())?;
    Ok(text.to_owned())
}

#[cold]
fn no_row(row: &Bound<'_, PyAny>, path: String) -> errors::Error {
    let message = format!("a row must be a dict, not {}", class_name(&row.get_type()));
    unsupported(Code::UnsupportedType, message, path)
}

#[cold]
fn unsupported(code: Code, message: String, path: String) -> errors::Error {
    Error { code, message, place: Place::Value(path) }.into()
}

/// The field names as Python objects.
fn names_of<'py>(py: Python<'py>, fields: &[String]) -> PyResult<Vec<Bound<'py, PyString>>> {
    let mut names = Vec::new();
    for field in fields {
        push(&mut names, make_str(py, field)?)?;
    }
    Ok(names)
}

/// The bytes of memory for each value of a row while the row is read.
const VALUE_SIZE: usize = 48;

/// Reads the rows of an argument. `root` is the name of the argument in errors.
fn read_rows(rows: &[Bound<'_, PyAny>], fields: &[String], root: &str) -> Result<Vec<Row>> {
    let Some(first) = rows.first() else { return Ok(Vec::new()) };
    let py = first.py();
    let keys = names_of(py, fields)?;
    let mut read = Vec::new();
    let mut meter = Meter::new(VALUE_SIZE);
    let mut texts = 0;
    for (at, row) in polled(rows).enumerate() {
        meter.reach((at + 1) * (keys.len() + 1) + texts / VALUE_SIZE)?;
        let path = || format!("{root}[{at}]");
        let Ok(dict) = row.cast::<PyDict>() else { return Err(no_row(row, path())) };
        let mut values = Row::new();
        for (field, key) in fields.iter().zip(&keys) {
            let Some(value) = dict.get_item(key)? else {
                return Err(invalid(
                    Code::InvalidKeyedSet,
                    at,
                    field,
                    "the field is missing in this row",
                ));
            };
            push(&mut values, scalar_at(&value, || path() + &path_step(field))?)?;
            if let Some(Scalar::String(text)) = values.last() {
                texts += text.len();
            }
        }
        if dict.len() != keys.len() {
            let names = keys_of(dict)?;
            let names = names.iter().map(|key| name(&key, path)).collect::<Result<Vec<_>>>()?;
            return Err(not_the_fields(&names, fields, at));
        }
        push(&mut read, values)?;
    }
    Ok(read)
}

/// The error for a row that has every field, but more or fewer members than there are fields.
#[cold]
fn not_the_fields(names: &[String], fields: &[String], row: usize) -> errors::Error {
    let invalid = |field, message| invalid(Code::InvalidKeyedSet, row, field, message);
    let known: HashSet<_> = fields.iter().collect();
    if let Some(extra) = names.iter().find(|name| !known.contains(name)) {
        return invalid(extra, "the set does not have this field");
    }
    // A dict has two keys of one text if their `__eq__` says that they differ.
    let twice = |names| repeated(names).map(String::as_str);
    match twice(fields) {
        Some(field) => invalid(field, "the fields of the set have it twice"),
        None => invalid(twice(names).unwrap_or_default(), "the row has this field twice"),
    }
}

/// The first text that is in the list before.
fn repeated(texts: &[String]) -> Option<&String> {
    let mut seen = HashSet::new();
    texts.iter().find(|text| !seen.insert(*text))
}

#[cold]
fn invalid(code: Code, row: usize, field: &str, message: &str) -> errors::Error {
    let field = excerpt(field);
    Error::without_place(code, format!("row {row}, field {field}: {message}")).into()
}

/// The scalar at `path()`.
pub(super) fn scalar_at(value: &Bound<'_, PyAny>, path: impl FnOnce() -> String) -> Result<Scalar> {
    let invalid = |code, message: &str| unsupported(code, message.to_owned(), path());
    Ok(match kind(value) {
        Kind::Null => Scalar::Null,
        Kind::Bool(value) => Scalar::Bool(value),
        Kind::Int(value) => Scalar::Int(value),
        Kind::BigInt(_) => {
            let message = "the int is not within -2^63 to 2^63 - 1; pass it as a str";
            return Err(invalid(Code::OutOfRange, message));
        }
        Kind::Float(value) if !value.is_finite() => {
            let message = format!("{value} is not a finite number; pass None or a str");
            return Err(invalid(Code::NotFinite, &message));
        }
        Kind::Float(value) => Scalar::Float(value),
        Kind::String(text) => {
            let text = utf8_or(text, |message| invalid(Code::InvalidSurrogate, message))?;
            ensure_memory(text.len())?;
            Scalar::String(text.into())
        }
        Kind::List(_) | Kind::Tuple(_) | Kind::Dict(_) | Kind::Other => {
            let found = class_name(&value.get_type());
            let message = format!("a value must be a scalar, not {found}");
            return Err(invalid(Code::UnsupportedType, &message));
        }
    })
}

fn object<'py>(py: Python<'py>, value: &Scalar) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Scalar::Null => py.None().into_bound(py),
        Scalar::Bool(value) => PyBool::new(py, *value).to_owned().into_any(),
        Scalar::Int(value) => make_int(py, *value)?,
        Scalar::Float(value) => make_float(py, *value)?,
        Scalar::String(text) => make_str(py, text)?.into_any(),
    })
}

fn write_rows<'py>(
    py: Python<'py>,
    fields: &[String],
    rows: &[Row],
) -> PyResult<Bound<'py, PyList>> {
    let keys = names_of(py, fields)?;
    let mut steps = Steps::default();
    let made = rows.iter().map(|row| {
        steps.step();
        let dict = make_dict(py)?;
        for (key, value) in keys.iter().zip(row) {
            dict.set_item(key, object(py, value)?)?;
        }
        Ok(dict)
    });
    make_list(py, made)
}
