//! What payloads have many of: objects, or dicts with their fields, of which no object is made.
//!
//! Invariant: a dict means what the class means that is called with it; where that is an error, the
//! class says so.

use pyo3::PyClass;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::pyclass::boolean_struct::True;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyString};

/// The names of fields, as Python has them.
pub(super) type Names = PyOnceLock<Vec<Py<PyString>>>;

/// A class with `N` fields, of which payloads have many.
pub(super) trait Element<const N: usize>: PyClass<Frozen = True> + Sync {
    /// What it is in the core.
    type Core;

    /// Its fields, in the order of the constructor's parameters.
    const FIELDS: [&'static str; N];
    /// How many of them, from the first on, have no default.
    const REQUIRED: usize;

    /// Where [`Element::FIELDS`] are kept as Python has them.
    fn names() -> &'static Names;

    /// Of an object.
    fn core(&self) -> Self::Core;

    /// Of fields, of which those with a default may be missing.
    fn of(fields: [Option<&Bound<'_, PyAny>>; N]) -> PyResult<Self::Core>;
}

/// An object of a class, or made of a dict with its fields.
pub(super) fn element<'py, T: PyClass>(object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, T>> {
    if let Ok(element) = object.cast::<T>() {
        return Ok(element.clone());
    }
    let class = object.py().get_type::<T>();
    let Ok(fields) = object.cast::<PyDict>() else {
        let found = object.get_type().name()?;
        return Err(PyTypeError::new_err(format!(
            "expected {} or dict, not {found}",
            class.name()?
        )));
    };
    Ok(class.call((), Some(fields))?.cast_into()?)
}

/// The elements of an iterable.
pub(super) fn elements<T: Element<N>, const N: usize>(
    iterable: Option<&Bound<'_, PyAny>>,
) -> PyResult<Vec<T::Core>> {
    let Some(iterable) = iterable else { return Ok(Vec::new()) };
    let mut taken = Vec::new();
    for object in iterable.try_iter()? {
        let object = object?;
        let plain = match object.cast_exact::<PyDict>() {
            Ok(dict) => of_dict::<T, N>(dict)?,
            Err(_) => None,
        };
        taken.push(match plain {
            Some(core) => core,
            None => element::<T>(&object)?.get().core(),
        });
    }
    Ok(taken)
}

/// The element whose fields a dict has; `None` where one is missing or unknown.
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
