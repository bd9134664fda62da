//! The content of `Symbol` and `Edge` objects: their own, or a part of a payload.
//!
//! Invariant: the content never changes, and lives as long as any object refers to it.

use compactwire::gcf::graph::{self, ResolvedPayload};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::sync::Arc;

/// A payload with Python's reference count, which is cheaper than an atomic count under the
/// interpreter's lock.
#[pyclass(frozen, module = "compactwire.gcf")]
pub(crate) struct Owner(Arc<ResolvedPayload>);

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

/// A tuple of objects, one for each part of a payload.
pub(super) fn parts<T: Part, C>(
    py: Python<'_>,
    core: &Arc<ResolvedPayload>,
    part: impl Fn(Held<T>) -> C,
) -> PyResult<Py<PyTuple>>
where
    C: for<'py> IntoPyObject<'py>,
{
    let owner = Py::new(py, Owner(core.clone()))?;
    let count = T::of(core).len();
    let parts = (0..count).map(|at| part(Held::Of(owner.clone_ref(py), at)));
    Ok(PyTuple::new(py, parts)?.unbind())
}

impl<T: Part> Deref for Held<T> {
    type Target = T;

    fn deref(&self) -> &T {
        match self {
            Self::Own(value) => value,
            Self::Of(owner, at) => &T::of(&owner.get().0)[*at],
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
