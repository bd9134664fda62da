//! The elements of a payload, passed as objects, or as dicts that are converted without creating
//! objects.
//!
//! Invariant: a dict means the same as a call of the class with the items of the dict as arguments. If
//! the dict is invalid, the class is called and raises the error.

use crate::args::named::with_article;
use crate::args::{class_name, each, wrong_type};
use crate::make::push;
use pyo3::PyClass;
use pyo3::prelude::*;
use pyo3::pyclass::boolean_struct::True;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyString};
use std::fmt::Display;

/// The names of fields as Python strings.
pub(super) type Names = PyOnceLock<Vec<Py<PyString>>>;

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

    /// [`Element::FIELDS`] as Python strings.
    fn names() -> &'static Names;

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
    Ok(class.call((), Some(fields))?.cast_into()?)
}

/// The elements of an iterable.
pub(super) fn elements<T: Element<N>, const N: usize>(
    iterable: Option<&Bound<'_, PyAny>>,
    name: &str,
) -> PyResult<Vec<T::Core>> {
    let Some(iterable) = iterable else { return Ok(Vec::new()) };
    let mut taken = Vec::new();
    for (at, object) in each(iterable, name, T::ITEMS)?.enumerate() {
        let object = object?;
        let plain = match object.cast_exact::<PyDict>() {
            Ok(dict) => of_dict::<T, N>(dict)?,
            Err(_) => None,
        };
        let core = match plain {
            Some(core) => core,
            None => element::<T>(&object, format_args!("{name}[{at}]"))?.get().core(),
        };
        push(&mut taken, core)?;
    }
    Ok(taken)
}

/// The element with the fields of a dict; `None` if a required field is missing or a field is unknown.
fn of_dict<T: Element<N>, const N: usize>(dict: &Bound<'_, PyDict>) -> PyResult<Option<T::Core>> {
    let py = dict.py();
    let names = T::names()
        .get_or_init(py, || T::FIELDS.map(|name| PyString::intern(py, name).unbind()).into());
    let mut values = [const { None }; N];
    let mut found = 0;
    for (i, (name, value)) in names.iter().zip(&mut values).enumerate() {
        *value = dict.get_item(name)?;
        found += usize::from(value.is_some());
        if value.is_none() && i < T::REQUIRED {
            return Ok(None);
        }
    }
    if found < dict.len() {
        return Ok(None);
    }
    let mut fields = values.each_ref().map(Option::as_ref);
    for field in &mut fields[T::REQUIRED..] {
        *field = field.filter(|value| !value.is_none());
    }
    T::of(fields).map(Some)
}
