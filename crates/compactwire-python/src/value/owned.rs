//! The walk with owned references: other threads may run meanwhile, and no lock is needed.
//!
//! A container is copied when it is opened, so that another thread may change it. The walk does not call
//! `default=`: the function may change objects that were visited, or return the same object each time with
//! different content. [`super::read`] calls it, and reads each result once, right after the call.

use super::read::{Kind, items, kind};
use crate::abi::Elements;
use crate::args::utf8_if_whole;
use crate::make::tuple_of;
use compactwire::memory::require;
use compactwire::walk::{Found, Look, Stop, Type, Walk};
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};
use std::collections::HashSet;
use std::marker::PhantomData;
use std::vec::IntoIter;

/// A walk over any objects.
pub(crate) struct OwnedWalk<'py>(PhantomData<Python<'py>>);

impl<'py> OwnedWalk<'py> {
    pub(crate) fn new(_: Python<'py>) -> Self {
        Self(PhantomData)
    }
}

fn utf8<'a>(text: &'a Bound<'_, PyString>) -> Result<&'a str, Stop<PyErr>> {
    utf8_if_whole(text).map_err(Stop::Failed)?.ok_or(Stop::Unusual)
}

type Members<'py> = IntoIter<(Bound<'py, PyAny>, Bound<'py, PyAny>)>;

impl<'py> Walk for OwnedWalk<'py> {
    type Value = Bound<'py, PyAny>;
    type Key = Bound<'py, PyAny>;
    type Array = Bound<'py, PyTuple>;
    type Object = Members<'py>;
    type Error = PyErr;

    #[inline]
    fn look<'v>(&mut self, value: &'v Bound<'py, PyAny>) -> Look<'v, Self> {
        Ok(match kind(value) {
            Kind::Null => Found::Null,
            Kind::Bool(value) => Found::Bool(value),
            Kind::Int(value) => Found::Int(value),
            Kind::BigInt(_) => return Err(Stop::Unusual),
            Kind::Float(value) => Found::Float(value),
            Kind::String(text) => Found::Text(utf8(text)?),
            Kind::List(list) => Found::Array(tuple_of(list).map_err(Stop::Failed)?),
            Kind::Tuple(tuple) => Found::Array(tuple.clone()),
            Kind::Dict(dict) => Found::Object(items(dict).map_err(Stop::Failed)?.into_iter()),
            Kind::Other => Found::Foreign,
        })
    }

    #[inline]
    fn type_of(&self, value: &Bound<'py, PyAny>) -> Type {
        match kind(value) {
            Kind::Null => Type::Null,
            Kind::Dict(_) => Type::Object,
            Kind::List(_) | Kind::Tuple(_) => Type::Array,
            Kind::Other => Type::Foreign,
            _ => Type::Scalar,
        }
    }

    fn convert(&mut self, _: &Bound<'py, PyAny>) -> Result<Bound<'py, PyAny>, Stop<PyErr>> {
        Err(Stop::Unusual)
    }

    fn length(&self, array: &Bound<'py, PyTuple>) -> usize {
        array.len()
    }

    #[inline]
    fn element(&self, array: &Bound<'py, PyTuple>, index: usize) -> Bound<'py, PyAny> {
        // SAFETY: the object is a tuple, which is alive and cannot change.
        unsafe {
            let element = Elements::of_tuple(array.as_ptr()).get(index);
            Bound::from_borrowed_ptr(array.py(), element)
        }
    }

    fn size(&self, object: &Members<'py>) -> usize {
        object.len()
    }

    #[inline]
    fn next(&self, object: &mut Members<'py>) -> Option<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        object.next()
    }

    fn first_member(&self, object: &Members<'py>) -> Option<Bound<'py, PyAny>> {
        object.as_slice().first().map(|(_, value)| value.clone())
    }

    fn all_members(&self, object: &Members<'py>, mut test: impl FnMut(Type) -> bool) -> bool {
        object.as_slice().iter().all(|(_, value)| test(self.type_of(value)))
    }

    #[inline]
    fn is_same(&self, left: &Bound<'py, PyAny>, right: &Bound<'py, PyAny>) -> bool {
        left.is(right)
    }

    fn key<'k>(&self, key: &'k Bound<'py, PyAny>) -> Result<&'k str, Stop<PyErr>> {
        utf8(key.cast().map_err(|_| Stop::Unusual)?)
    }

    /// Keys of a subclass of str may be unequal and have the same text.
    fn has_distinct_keys(&self, object: &Members<'py>) -> bool {
        let members = object.as_slice();
        if members.iter().all(|(key, _)| key.is_exact_instance_of::<PyString>()) {
            return true;
        }
        let mut seen = HashSet::new();
        require(seen.try_reserve(members.len()));
        members.iter().all(|(key, _)| self.key(key).is_ok_and(|text| seen.insert(text)))
    }
}
