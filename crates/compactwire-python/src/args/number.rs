//! Numbers and sizes. True and False are a mistake where a number is wanted.

use super::object::{lacks_method, wrong_type};
use super::text::class_name;
use crate::calls::Run;
use crate::errors::{invalid_field, invalid_option, unsupported};
use crate::make::{Number, import_class, name, py_error};
use crate::value::kind::digits;
use compactwire::excerpt::EXCERPT_CHARS;
use compactwire::gcf::{self, Limits};
use compactwire::limits::MAX_TOKENS;
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyInt, PyType};

/// `min_saving=`, for `#[pyo3(from_py_with = args::min_saving)]`. A number beyond the range of doubles becomes infinity,
/// so that the caller's range check rejects it with an error that names the option and its range.
pub(crate) fn min_saving(value: &Bound<'_, PyAny>) -> PyResult<f64> {
    Ok(double(value, "min_saving")?.unwrap_or(f64::INFINITY))
}

/// A number, but not a `bool`, as a double; `TypeError` names the field; `None` for an int or a fraction beyond
/// their range. The signaling NaN of `Decimal`, which Python does not convert, is a NaN.
pub(crate) fn double(value: &Bound<'_, PyAny>, field: &str) -> PyResult<Option<f64>> {
    let py = value.py();
    if value.is_instance_of::<PyBool>() {
        return Err(wrong_type(value, field, "a float"));
    }
    match value.extract::<f64>() {
        Err(error) if error.is_instance_of::<PyOverflowError>(py) => Ok(None),
        Err(error) if error.is_instance_of::<PyValueError>(py) => {
            if is_signaling_nan(value)? {
                Ok(Some(f64::NAN))
            } else {
                Err(error)
            }
        }
        Err(_) if lacks_method(value, "__float__") && lacks_method(value, "__index__") => {
            Err(wrong_type(value, field, "a float"))
        }
        number => number.map(Some),
    }
}

fn is_signaling_nan(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let py = value.py();
    let decimal = import_class(py, &CLASS, name!(py, "decimal")?, name!(py, "Decimal")?)?;
    Ok(value.run_is_instance(decimal)? && value.run_method0(name!(py, "is_snan")?)?.is_truthy()?)
}

/// A 64-bit integer but not a `bool`; `UnsupportedValue` on `field` if it is out of range.
pub(crate) fn int64(value: &Bound<'_, PyAny>, field: &str) -> PyResult<i64> {
    if value.is_instance_of::<PyBool>() {
        return Err(wrong_type(value, field, "an int"));
    }
    value.extract::<i64>().map_err(|error| {
        if !error.is_instance_of::<PyOverflowError>(value.py())
            && !error.is_instance_of::<PyTypeError>(value.py())
        {
            // Raised by the object itself.
            error
        } else if error.is_instance_of::<PyOverflowError>(value.py()) {
            let message = "the number is not within -2^63 to 2^63 - 1";
            unsupported(value.py(), gcf::Code::OutOfRange, field, message)
        } else {
            wrong_type(value, field, "an int")
        }
    })
}

/// An integer from 0 to 2^63 - 1 but not a `bool`; `EncodeError` on `field` if it is out of range.
pub(crate) fn natural(value: &Bound<'_, PyAny>, field: &str) -> PyResult<u64> {
    u64::try_from(int64(value, field)?)
        .map_err(|_| invalid_field(value.py(), field, "the number must not be negative"))
}

/// The result of the function that counts tokens and was passed as `option`. The range is that of every token
/// count, because responses carry it.
pub(crate) fn token_count(value: &Bound<'_, PyAny>, option: &str) -> PyResult<u64> {
    if !value.is_instance_of::<PyInt>() || value.is_instance_of::<PyBool>() {
        let found = class_name(&value.get_type());
        let message = format!("{option} must return an int, not {found}");
        return Err(py_error::<PyTypeError>(message));
    }
    value.extract::<u64>().ok().filter(|count| *count <= MAX_TOKENS).ok_or_else(|| {
        let message = format!("it must return an int from 0 to 2^63 - 1, not {}", shown(value));
        invalid_field(value.py(), option, &message)
    })
}

/// An integer but not a `bool`; one beyond 64 bits counts as the nearest.
pub(crate) fn clamped(value: &Bound<'_, PyAny>, option: &str) -> PyResult<i64> {
    match integer(value) {
        Err(error) if error.is_instance_of::<PyOverflowError>(value.py()) => {
            Ok(if value.lt(Number(0_i64))? { i64::MIN } else { i64::MAX })
        }
        result => result.map_err(|error| not_int(value, option, error)),
    }
}

/// A 64-bit integer; True and False are a mistake where a number is wanted.
fn integer(value: &Bound<'_, PyAny>) -> PyResult<i64> {
    if value.is_instance_of::<PyBool>() {
        return Err(py_error::<PyTypeError>("expected an int, not bool"));
    }
    value.extract()
}

/// `max_depth=`: 1 to 256.
pub(crate) fn depth(value: &Bound<'_, PyAny>) -> PyResult<usize> {
    let depth = usize::try_from(clamped(value, "max_depth")?).ok();
    depth.filter(|depth| (1..=Limits::DEEPEST).contains(depth)).ok_or_else(|| {
        let deepest = Limits::DEEPEST;
        let message = format!("max_depth must be 1 to {deepest}, not {}", shown(value));
        invalid_option("max_depth", &message)
    })
}

/// The error for a value that is not an int and names the option; for an int, the `error` that it raised.
#[cold]
fn not_int(value: &Bound<'_, PyAny>, option: &str, error: PyErr) -> PyErr {
    let is_bool = value.is_instance_of::<PyBool>();
    let has_index = name!(value.py(), "__index__").and_then(|index| value.run_hasattr(index));
    if is_bool || matches!(has_index, Ok(false)) {
        return wrong_type(value, option, "an int");
    }
    error
}

/// Functions for `#[pyo3(from_py_with = sizes::max_size)]` and the like: each has the name of its option, which
/// PyO3 tells only in a note on the exception. Sizes beyond the address space count as unlimited.
macro_rules! sizes {
    ($($option:ident)*) => {
        pub(crate) mod sizes {
            use pyo3::prelude::*;
            $(pub(crate) fn $option(value: &Bound<'_, PyAny>) -> PyResult<usize> {
                super::size(value, stringify!($option))
            })*
        }
    };
}

sizes! { limit max_expansion max_line max_row_size max_size min_tokens size }

/// An int for a message. PyO3's `Display` would run a subclass's `__str__`, and report an int with more digits than
/// Python prints on standard error.
pub(crate) fn shown(value: &Bound<'_, PyAny>) -> String {
    match value.cast::<PyInt>().map(digits) {
        Ok(Ok(Some(digits))) if digits.len() <= EXCERPT_CHARS => digits,
        Ok(_) => "an int of many digits".to_owned(),
        Err(_) => class_name(&value.get_type()),
    }
}

fn size(value: &Bound<'_, PyAny>, option: &str) -> PyResult<usize> {
    let negative =
        || invalid_option(option, &format!("{option} must be 0 or more, not {}", shown(value)));
    match integer(value) {
        Ok(size) if size < 0 => Err(negative()),
        Ok(size) => Ok(usize::try_from(size).unwrap_or(usize::MAX)),
        Err(error) if !error.is_instance_of::<PyOverflowError>(value.py()) => {
            Err(not_int(value, option, error))
        }
        Err(_) if value.lt(Number(0_i64))? => Err(negative()),
        Err(_) => Ok(usize::MAX),
    }
}
