//! Arguments of one type, whose `TypeError` names the argument.
//!
//! PyO3's own conversion names it only in a note on the exception, which is not in the exception's text.

use super::object::wrong_type;
use super::text::class_name;
use pyo3::PyTypeInfo;
use pyo3::prelude::*;
use pyo3::types::PyBool;

/// What an argument is converted to.
pub(crate) trait Argument<'a, 'py>: Sized {
    /// The class of the argument.
    type Class: PyTypeInfo;

    /// The other object that the argument may be, for messages.
    const OR_ELSE: &'static str = "";

    /// `None` for an object of another class.
    fn of(object: &'a Bound<'py, PyAny>) -> Option<Self>;
}

/// Also takes numpy's bool, as PyO3 does.
impl<'a, 'py> Argument<'a, 'py> for bool {
    type Class = PyBool;

    fn of(object: &'a Bound<'py, PyAny>) -> Option<Self> {
        object.extract().ok()
    }
}

impl<'a, 'py, T: PyTypeInfo> Argument<'a, 'py> for &'a Bound<'py, T> {
    type Class = T;

    fn of(object: &'a Bound<'py, PyAny>) -> Option<Self> {
        object.cast().ok()
    }
}

impl<'py, T: PyTypeInfo> Argument<'_, 'py> for Bound<'py, T> {
    type Class = T;

    fn of(object: &Bound<'py, PyAny>) -> Option<Self> {
        object.cast().ok().cloned()
    }
}

impl<'py, T: PyTypeInfo> Argument<'_, 'py> for Py<T> {
    type Class = T;

    fn of(object: &Bound<'py, PyAny>) -> Option<Self> {
        object.cast().ok().map(|object| object.clone().unbind())
    }
}

impl<'a, 'py, A: Argument<'a, 'py>> Argument<'a, 'py> for Option<A> {
    type Class = A::Class;

    const OR_ELSE: &'static str = " or None";

    fn of(object: &'a Bound<'py, PyAny>) -> Option<Self> {
        if object.is_none() { Some(None) } else { A::of(object).map(Some) }
    }
}

/// Lets arguments be the content of a class.
macro_rules! content_of {
    ($($class:ident)*) => { $(
        impl<'a, 'py> $crate::args::named::Argument<'a, 'py> for &'a $class {
            type Class = $class;

            fn of(object: &'a Bound<'py, PyAny>) -> Option<Self> {
                object.cast::<$class>().ok().map(Bound::get)
            }
        }
    )* };
}

pub(crate) use content_of;

fn argument<'a, 'py, A: Argument<'a, 'py>>(
    object: &'a Bound<'py, PyAny>,
    name: &str,
) -> PyResult<A> {
    A::of(object).ok_or_else(|| {
        let class = class_name(&object.py().get_type::<A::Class>());
        wrong_type(object, name, &format!("{}{}", with_article(&class), A::OR_ELSE))
    })
}

/// `a str`, `an int`.
pub(crate) fn with_article(class: &str) -> String {
    let article =
        if class.starts_with(['A', 'E', 'I', 'O', 'a', 'e', 'i', 'o']) { "an" } else { "a" };
    format!("{article} {class}")
}

/// A conversion for each name of an argument, for `#[pyo3(from_py_with = named::dictionary)]`.
macro_rules! arguments {
    ($($name:ident)*) => { $(
        pub(crate) fn $name<'a, 'py, A: Argument<'a, 'py>>(
            object: &'a Bound<'py, PyAny>,
        ) -> PyResult<A> {
            argument(object, stringify!($name))
        }
    )* };
}

arguments! {
    accept_reference_scope allow_unicode base bind_receipts checked compact constant_columns content delta
    dictionary edge ensure_ascii exact extensions fallback flatten group_values html_escape labeled_counts
    list_columns locations lossy lost matrices names new old payload protocol raw_float32 references reorder
    repair require_attestation require_canonical require_merkle_attestation require_symbol_refs
    require_verify_chain resync session set size_guard strict strict_identity strict_trust symbol text
}
