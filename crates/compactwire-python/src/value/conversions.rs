//! The conversions that `types=` and `default=` name: the calls of a function, and what they returned before a
//! walk stopped.

use super::kind::{Kind, is_container, kind};
use super::moments;
use crate::args::{check_callable, one_of};
use crate::calls::{Run, import};
use crate::column::is_column;
use crate::make::{Str, args, name, once, py_error};
use compactwire::interrupt::unchecked;
use compactwire::memory;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;
use std::cell::RefCell;
use std::collections::VecDeque;

/// How many times in a row `default=` is called, as long as its results are neither of JSON types nor columns.
const MAX_DEFAULTS: usize = 128;

/// The functions `common` and `common_or` of `compactwire._types`.
static COMMON: PyOnceLock<[Py<PyAny>; 2]> = PyOnceLock::new();

/// Whether `types=` names the common types; an error for another word, and for a `default=` that is no function.
pub(crate) fn are_common(types: &str, default: Option<&Bound<'_, PyAny>>) -> PyResult<bool> {
    default.map(|default| check_callable(default, "default")).transpose()?;
    one_of("types", types, [("common", true), ("json", false)])
}

/// The function that converts objects which are not JSON types: `default=`, after the conversions
/// that `types=` names.
pub(crate) fn converter<'py>(
    py: Python<'py>,
    types: &str,
    default: Option<&Bound<'py, PyAny>>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    if !are_common(types, default)? {
        return Ok(default.cloned());
    }
    let [common, common_or] = once(py, &COMMON, || {
        let module = import(py, name!(py, "compactwire._types")?)?;
        let function = |name| module.run_getattr(Str(name)).map(Bound::unbind);
        Ok([function("common")?, function("common_or")?])
    })?;
    match default {
        None => Ok(Some(common.bind(py).clone())),
        Some(default) => common_or.bind(py).run(args!(py, default)?).map(Some),
    }
}

/// Whether a function is that of the common types alone.
fn is_common(function: &Bound<'_, PyAny>) -> bool {
    COMMON.get(function.py()).is_some_and(|[common, _]| function.is(common))
}

/// The function that [`converter`] returns, and its results that are not read yet.
pub(crate) struct Conversions<'py> {
    pub(super) default: Bound<'py, PyAny>,
    /// Whether `default` is `compactwire._types.common`.
    is_common: bool,
    /// What [`Conversions::scalar`] has converted, in the order of the value.
    converted: RefCell<VecDeque<(Bound<'py, PyAny>, Converted<'py>)>>,
    /// The class of the last object that was not a column of Arrow.
    no_column: RefCell<Option<Bound<'py, PyType>>>,
}

impl<'py> Conversions<'py> {
    pub(crate) fn new(default: &Bound<'py, PyAny>) -> Self {
        Self {
            default: default.clone(),
            is_common: is_common(default),
            converted: RefCell::default(),
            no_column: RefCell::default(),
        }
    }

    /// Converts an object that is not a JSON type to a scalar; `None` if [`emit`] has to read it. [`emit`] must
    /// then read the value from its beginning; it does not call `default=` again for the same objects.
    pub(super) fn scalar(&self, object: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
        if self.may_be_column(object)? {
            return Ok(None);
        }
        let converted = self.convert(object)?;
        let scalar = match &converted {
            Converted::To(result) if !is_container(result) => Some(result.clone()),
            _ => None,
        };
        let mut before = self.converted.borrow_mut();
        memory::require(before.try_reserve(1));
        before.push_back((object.clone(), converted));
        Ok(scalar)
    }

    /// Converts an object; with the result of [`Conversions::scalar`], if that came so far.
    pub(super) fn next(&self, object: &Bound<'py, PyAny>) -> PyResult<Converted<'py>> {
        let before = self.converted.borrow_mut().pop_front();
        match before {
            None => self.convert(object),
            Some((same, converted)) if same.is(object) => Ok(converted),
            Some(_) => Err(changed()),
        }
    }

    /// Checks that all results of [`Conversions::scalar`] are in the value that [`emit`] has read.
    pub(super) fn check(&self) -> PyResult<()> {
        if self.converted.borrow().is_empty() { Ok(()) } else { Err(changed()) }
    }

    pub(super) fn may_be_column(&self, object: &Bound<'py, PyAny>) -> PyResult<bool> {
        let class = object.get_type();
        if self.no_column.borrow().as_ref().is_some_and(|last| last.is(&class)) {
            return Ok(false);
        }
        let is_column = unchecked(|| is_column(object))?;
        if !is_column {
            drop(self.no_column.replace(Some(class)));
        }
        Ok(is_column)
    }

    /// Converts an object that is not a JSON type with `default=`.
    fn convert(&self, object: &Bound<'py, PyAny>) -> PyResult<Converted<'py>> {
        let mut object = object.clone();
        for _ in 0..MAX_DEFAULTS {
            if self.is_common
                && let Some(text) = moments::text(&object)?
            {
                return Ok(Converted::To(text.into_any()));
            }
            let result = unchecked(|| self.default.run(args!(object.py(), &object)?))?;
            if result.is(object.py().NotImplemented()) {
                return Ok(Converted::Refused(object));
            }
            if !matches!(kind(&result), Kind::Other) {
                return Ok(Converted::To(result));
            }
            if self.may_be_column(&result)? {
                return Ok(Converted::Column(result));
            }
            object = result;
        }
        Ok(Converted::Endless)
    }
}

#[cold]
fn changed() -> PyErr {
    py_error::<PyRuntimeError>("default= changed the value while it was written")
}

/// The result of converting an object with `default=`.
pub(super) enum Converted<'py> {
    /// An object of a JSON type.
    To(Bound<'py, PyAny>),
    /// An object with the methods of a table or a column.
    Column(Bound<'py, PyAny>),
    /// `default=` returned `NotImplemented` for this object, or for the one that it returned for it.
    Refused(Bound<'py, PyAny>),
    /// It keeps returning objects that are not JSON types.
    Endless,
}
