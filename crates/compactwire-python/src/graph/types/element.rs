//! The elements of a payload, passed as objects, or as dicts that are converted without creating
//! objects.
//!
//! Invariant: a dict means the same as a call of the class with the items of the dict as arguments. If
//! the dict is invalid, the class is called and raises the error.

use crate::args::named::with_article;
use crate::args::{class_name, each, utf8_if_whole, wrong_type};
use crate::calls::Run;
use crate::make::{intern, push};
use pyo3::PyClass;
use pyo3::prelude::*;
use pyo3::pyclass::boolean_struct::True;
use pyo3::types::{PyDict, PyString, PyTuple};
use std::cell::RefCell;
use std::fmt::Display;

/// A class with `N` fields for the elements of a payload.
pub(super) trait Element<const N: usize>: PyClass<Frozen = True> + Sync {
    /// The corresponding type of the core.
    type Core;

    /// The fields, in the order of the constructor's parameters.
    const FIELDS: [&'static str; N];
    /// What an iterable of elements contains, for messages.
    const ITEMS: &'static str;
    /// The number of fields at the beginning that have no default.
    const REQUIRED: usize;

    /// The core's value of an object.
    fn core(&self) -> Self::Core;

    /// The core's value for these fields; only fields with a default may be missing.
    fn of(fields: [Option<&Bound<'_, PyAny>>; N]) -> PyResult<Self::Core>;
}

/// An object of the class, created if `object` is a dict of its fields.
pub(super) fn element<'py, T: PyClass>(
    object: &Bound<'py, PyAny>,
    name: impl Display,
) -> PyResult<Bound<'py, T>> {
    if let Ok(element) = object.cast::<T>() {
        return Ok(element.clone());
    }
    let class = object.py().get_type::<T>();
    let Ok(fields) = object.cast::<PyDict>() else {
        let expected = format!("{} or a dict", with_article(&class_name(&class)));
        return Err(wrong_type(object, name, &expected));
    };
    Ok(class.run_with(PyTuple::empty(class.py()), fields)?.cast_into()?)
}

/// An element that was given.
pub(super) enum Given<'a, 'py, T, const N: usize> {
    Object(&'a T),
    /// The fields of a dict; only fields with a default may be missing.
    Fields([Option<&'a Bound<'py, PyAny>>; N]),
}

/// The elements of an iterable.
pub(super) fn elements<T: Element<N>, const N: usize>(
    iterable: Option<&Bound<'_, PyAny>>,
    name: &str,
) -> PyResult<Vec<T::Core>> {
    let mut taken = Vec::new();
    for_each_element(iterable, name, |given| {
        let core = match given {
            Given::Object(object) => T::core(object),
            Given::Fields(fields) => T::of(fields)?,
        };
        push(&mut taken, core)
    })?;
    Ok(taken)
}

/// Calls `take` for each element of an iterable.
pub(super) fn for_each_element<'py, T: Element<N>, const N: usize>(
    iterable: Option<&Bound<'py, PyAny>>,
    name: &str,
    mut take: impl FnMut(Given<'_, 'py, T, N>) -> PyResult<()>,
) -> PyResult<()> {
    let Some(iterable) = iterable else { return Ok(()) };
    let mut keys = Keys::new::<T, N>(iterable.py())?;
    for (at, object) in each(iterable, name, T::ITEMS)?.enumerate() {
        let object = object?;
        let plain = match object.cast_exact::<PyDict>() {
            Ok(dict) => keys.values::<T, N>(dict)?,
            Err(_) => None,
        };
        if let Some(values) = plain {
            take(Given::Fields(values.each_ref().map(Option::as_ref)))?;
        } else {
            let element = element::<T>(&object, format_args!("{name}[{at}]"))?;
            take(Given::Object(element.get()))?;
        }
    }
    Ok(())
}

/// The keys of the fields as Python strings. Dicts of one source usually have the same objects as keys, in the
/// same order, so that each is recognised by its address.
struct Keys<'py>(Vec<Bound<'py, PyString>>);

impl<'py> Keys<'py> {
    fn new<T: Element<N>, const N: usize>(py: Python<'py>) -> PyResult<Self> {
        T::FIELDS.iter().map(|name| intern(py, name)).collect::<PyResult<_>>().map(Self)
    }

    /// The values of a dict; `None` if a required field is missing or a field is unknown.
    fn values<T: Element<N>, const N: usize>(
        &mut self,
        dict: &Bound<'py, PyDict>,
    ) -> PyResult<Option<[Option<Bound<'py, PyAny>>; N]>> {
        // PyO3 wants a closure that changes nothing.
        let walk = RefCell::new((self, [const { None }; N], 0, true));
        dict.locked_for_each(|key, value| {
            let (keys, values, next, known) = &mut *walk.borrow_mut();
            match keys.field::<T, N>(&key, *next)? {
                Some(field) => (values[field], *next) = (Some(value), field + 1),
                None => *known = false,
            }
            Ok(())
        })?;
        let (_, mut values, _, known) = walk.into_inner();
        if !known || values[..T::REQUIRED].iter().any(Option::is_none) {
            return Ok(None);
        }
        for value in &mut values[T::REQUIRED..] {
            value.take_if(|value| value.is_none());
        }
        Ok(Some(values))
    }

    /// The field of a key, which is probably the field `next` or one after it.
    #[inline]
    fn field<T: Element<N>, const N: usize>(
        &mut self,
        key: &Bound<'py, PyAny>,
        next: usize,
    ) -> PyResult<Option<usize>> {
        let (before, after) = self.0.split_at(next);
        let same = |name: &Bound<'py, PyString>| name.is(key);
        if let Some(at) = after.iter().position(same) {
            return Ok(Some(next + at));
        }
        if let Some(at) = before.iter().position(same) {
            return Ok(Some(at));
        }
        self.learn::<T, N>(key)
    }

    /// The field of a key that is another object than the keys so far.
    #[cold]
    fn learn<T: Element<N>, const N: usize>(
        &mut self,
        key: &Bound<'py, PyAny>,
    ) -> PyResult<Option<usize>> {
        let Ok(key) = key.cast_exact::<PyString>() else { return Ok(None) };
        let Some(name) = utf8_if_whole(key)? else { return Ok(None) };
        let field = T::FIELDS.iter().position(|field| *field == name);
        if let Some(field) = field {
            self.0[field] = key.clone();
        }
        Ok(field)
    }
}
