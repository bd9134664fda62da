//! The content of `Symbol` and `Edge` objects: an owned value, or a part of a payload.
//!
//! Invariant: the content never changes, and lives as long as any object refers to it.

use crate::make::{ensure_memory, make_str, make_tuple};
use compactwire::gcf::graph::{self, ResolvedPayload, SharedStr};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::{PyString, PyTuple};
use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError};

/// A payload whose references Python counts: under the interpreter's lock, that is cheaper than an
/// atomic count.
#[pyclass(name = "_Owner", frozen, module = "compactwire.gcf")]
pub(crate) struct Owner {
    core: Arc<ResolvedPayload>,
    /// The Python strings of the long strings that were read, by address and length. An address does not
    /// change while the payload lives. Many edges may share the name of a symbol; they then share the
    /// Python string, too.
    strings: Mutex<HashMap<(usize, usize), Py<PyString>>>,
}

/// The length in bytes from which a string is shared. A shorter one takes about as much memory as
/// its entry.
const LONG: usize = 64;

impl Owner {
    pub(super) fn new(py: Python<'_>, core: Arc<ResolvedPayload>) -> PyResult<Py<Self>> {
        Py::new(py, Self { core, strings: Mutex::default() })
    }

    fn string<'py>(&self, py: Python<'py>, text: &SharedStr) -> PyResult<Bound<'py, PyString>> {
        let address = (text.as_ptr().addr(), text.len());
        let mut strings = self.strings.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
        if let Some(string) = strings.get(&address) {
            return Ok(string.bind(py).clone());
        }
        let string = make_str(py, text)?;
        strings.insert(address, string.clone().unbind());
        Ok(string)
    }
}

/// An owned value, or a reference to a part of a payload, which it keeps alive: nothing is copied.
pub(crate) enum Held<T> {
    Own(Box<T>),
    Of(Py<Owner>, usize),
}

impl<T> Held<T> {
    pub(super) fn own(value: T) -> Self {
        Self::Own(Box::new(value))
    }
}

impl<T: Part> Held<T> {
    /// A string of the content, as a Python string.
    pub(super) fn string<'py>(
        &self,
        py: Python<'py>,
        field: impl FnOnce(&T) -> &SharedStr,
    ) -> PyResult<Bound<'py, PyString>> {
        let text = field(self);
        match self {
            Self::Of(owner, _) if text.len() >= LONG => owner.get().string(py, text),
            _ => make_str(py, text),
        }
    }
}

/// A type of which a payload has a list.
pub(crate) trait Part: Sized {
    fn of(payload: &graph::Payload) -> &[Self];
}

impl Part for graph::Symbol {
    fn of(payload: &graph::Payload) -> &[Self] {
        &payload.symbols
    }
}

impl Part for graph::Edge {
    fn of(payload: &graph::Payload) -> &[Self] {
        &payload.edges
    }
}

/// The bytes of memory for the object of a part, and for its pointer in a tuple.
const PART_SIZE: usize = 64;

/// A tuple of objects, one for each part of a payload.
pub(super) fn parts<T: Part, C>(
    py: Python<'_>,
    owner: &Py<Owner>,
    part: impl Fn(Held<T>) -> C,
) -> PyResult<Py<PyTuple>>
where
    C: for<'py> IntoPyObject<'py>,
{
    let count = T::of(&owner.get().core).len();
    ensure_memory(PART_SIZE * count)?;
    let parts = (0..count).map(|at| part(Held::Of(owner.clone_ref(py), at)));
    Ok(make_tuple(py, parts.map(|part| part.into_bound_py_any(py)))?.unbind())
}

impl<T: Part> Deref for Held<T> {
    type Target = T;

    fn deref(&self) -> &T {
        match self {
            Self::Own(value) => value,
            Self::Of(owner, at) => &T::of(&owner.get().core)[*at],
        }
    }
}

impl<T: Part + PartialEq> PartialEq for Held<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: Part + Hash> Hash for Held<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}
