//! The walk with owned references: other threads may run meanwhile, and no lock is needed.
//!
//! A container is copied when it is opened, so that another thread or `default=` may change it.
//!
//! `default=` is called once for each object, in the order of the value. The walk takes its result only if it is a
//! scalar, which does not change: a function may return the same list each time with different content, and
//! this walk visits some containers later or twice. For any other result the walk stops. Then
//! [`super::read::emit`] takes over, with the results so far, and reads each of the others right after the call.

use super::conversions::Conversions;
use super::kind::{Kind, Member, duplicate_key, items, kind};
use crate::abi::{self, Elements};
use crate::args::utf8_if_whole;
use crate::make::tuple_of;
use compactwire::walk::{Found, Look, Stop, Type, Walk};
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};
use std::vec::IntoIter;

/// A walk over any objects, with the conversions of the caller.
pub(crate) struct OwnedWalk<'c, 'py>(pub(crate) Option<&'c Conversions<'py>>);

#[inline(always)]
fn utf8<'a>(text: &'a Bound<'_, PyString>) -> Result<&'a str, Stop<PyErr>> {
    // SAFETY: the object is a str, which is alive and owns its UTF-8.
    unsafe {
        let (start, length) = abi::utf8(text.as_ptr());
        if start.is_null() {
            return Err(no_utf8(text));
        }
        let bytes = std::slice::from_raw_parts(start, length.cast_unsigned());
        Ok(std::str::from_utf8_unchecked(bytes))
    }
}

/// The reason why a str has no UTF-8: a lone surrogate, or no memory.
#[cold]
fn no_utf8(text: &Bound<'_, PyString>) -> Stop<PyErr> {
    drop(PyErr::take(text.py()));
    match utf8_if_whole(text) {
        Err(error) => Stop::Failed(error),
        Ok(_) => Stop::Unusual,
    }
}

type Members<'py> = IntoIter<Member<'py>>;

impl<'py> Walk for OwnedWalk<'_, 'py> {
    type Value = Bound<'py, PyAny>;
    type Key = Bound<'py, PyAny>;
    type Array = Bound<'py, PyTuple>;
    type Object = Members<'py>;
    type Error = PyErr;

    const CONVERTS_IN_ORDER: bool = true;

    #[inline(always)]
    fn look<'v>(&'v mut self, value: &'v Bound<'py, PyAny>) -> Look<'v, Self> {
        Ok(match kind(value) {
            Kind::Null => Found::Null,
            Kind::Bool(value) => Found::Bool(value),
            Kind::Int(value) => Found::Int(value),
            Kind::BigInt(_) => return Err(Stop::Unusual),
            Kind::Float(value) => Found::Float(value),
            Kind::String(text) => Found::Text(utf8(text)?),
            Kind::List(list) => Found::Array(tuple_of(list).map_err(Stop::Failed)?),
            Kind::Tuple(tuple) => Found::Array(tuple.clone()),
            Kind::Dict(dict) => {
                let items = items(dict).map_err(Stop::Failed)?.ok_or(Stop::Unusual)?;
                Found::Object(items.into_iter())
            }
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

    fn convert(&mut self, value: &Bound<'py, PyAny>) -> Result<Bound<'py, PyAny>, Stop<PyErr>> {
        let conversions = self.0.ok_or(Stop::Unusual)?;
        conversions.scalar(value).map_err(Stop::Failed)?.ok_or(Stop::Unusual)
    }

    fn expect_foreign(&self) -> Result<(), Stop<PyErr>> {
        self.0.map(|_| ()).ok_or(Stop::Unusual)
    }

    fn length(&self, array: &Bound<'py, PyTuple>) -> usize {
        array.len()
    }

    #[inline(always)]
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

    #[inline(always)]
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

    #[inline(always)]
    fn key<'k>(&self, key: &'k Bound<'py, PyAny>) -> Result<&'k str, Stop<PyErr>> {
        utf8(key.cast().map_err(|_| Stop::Unusual)?)
    }

    fn has_distinct_keys(&self, object: &Members<'py>) -> bool {
        duplicate_key(object.as_slice()).is_none()
    }
}
