//! The base classes of value objects: copies, `copy.replace`, pickles and reprs, written once.
//!
//! A subclass of [`Record`] lists the parameters of its constructor in the class attribute `_fields`. Each
//! of them is also an attribute of its objects; all methods here use these names. A subclass of [`Frozen`]
//! is immutable but has no list of fields. [`returned_by_value!`] lets Rust functions return either.

use crate::args::{Unused, utf8};
use crate::calls::{Run, import};
use crate::make::{join, make_dict, make_str, make_tuple, name};
use pyo3::PyClass;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyString, PyTuple};
use std::hash::{DefaultHasher, Hash, Hasher};

/// An immutable object: a copy of it is the object itself.
#[pyclass(frozen, subclass, name = "_Frozen", module = "compactwire._core")]
pub(crate) struct Frozen;

#[pymethods]
impl Frozen {
    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __deepcopy__(slf: Py<Self>, _memo: Unused) -> Py<Self> {
        slf
    }
}

impl Frozen {
    pub(crate) fn init() -> PyClassInitializer<Self> {
        Self.into()
    }
}

/// An immutable object that is equal to the result of calling its class with its fields.
#[pyclass(frozen, subclass, extends = Frozen, name = "_Record", module = "compactwire._core")]
pub(crate) struct Record;

#[pymethods]
impl Record {
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let py = slf.py();
        let new = import(py, name!(py, "copyreg")?)?.run_getattr(name!(py, "__newobj_ex__")?)?;
        let class = slf.get_type().into_any();
        // The class and the arguments of its `__new__`.
        let arguments = [class, PyTuple::empty(py).into_any(), fields(slf)?.into_any()];
        let arguments = make_tuple(py, arguments.into_iter().map(Ok))?.into_any();
        make_tuple(py, [new, arguments].into_iter().map(Ok))
    }

    fn __repr__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyString>> {
        repr(slf.as_any(), |_, value| value.is_truthy())
    }
}

impl Record {
    /// Adds the methods that are written in Python.
    pub(crate) fn complete(py: Python<'_>) -> PyResult<()> {
        let replace =
            import(py, name!(py, "compactwire._record")?)?.run_getattr(name!(py, "replace")?)?;
        py.get_type::<Self>().setattr(name!(py, "__replace__")?, replace)
    }

    pub(crate) fn init() -> PyClassInitializer<Self> {
        Frozen::init().add_subclass(Self)
    }
}

/// The result of `==`: `NotImplemented` for an object of another class. PyO3 makes an exception for it if it
/// converts the argument itself, and panics if there is not enough memory.
pub(crate) fn equality<'py, T: PyClass>(
    other: &Bound<'py, PyAny>,
    equal: impl FnOnce(&Bound<'py, T>) -> PyResult<bool>,
) -> PyResult<Py<PyAny>> {
    let py = other.py();
    let Ok(other) = other.cast::<T>() else { return Ok(py.NotImplemented()) };
    Ok(PyBool::new(py, equal(other)?).to_owned().into_any().unbind())
}

/// The names of fields, which become a Python tuple.
pub(crate) struct Names(pub(crate) &'static [&'static str]);

impl<'py> IntoPyObject<'py> for Names {
    type Target = PyTuple;
    type Output = Bound<'py, PyTuple>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Self::Output> {
        make_tuple(py, self.0.iter().map(|name| make_str(py, name)))
    }
}

/// The names and values of an object's fields.
fn fields<'py>(object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyDict>> {
    let fields = make_dict(object.py())?;
    for name in names(object)? {
        fields.set_item(&name, object.run_getattr(name.cast()?)?)?;
    }
    Ok(fields)
}

fn names<'py>(object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyTuple>> {
    Ok(object.get_type().run_getattr(name!(object.py(), "_fields")?)?.cast_into()?)
}

/// `Class(field=value, …)` with the fields that `is_shown` chooses by name and value.
pub(crate) fn repr<'py>(
    object: &Bound<'py, PyAny>,
    is_shown: impl Fn(&str, &Bound<'py, PyAny>) -> PyResult<bool>,
) -> PyResult<Bound<'py, PyString>> {
    let mut parts = Vec::new();
    for name in names(object)? {
        let name = name.cast_into::<PyString>()?;
        let value = object.run_getattr(&name)?;
        if is_shown(utf8(&name, "_fields")?, &value)? {
            parts.push(named(&name, &value)?);
        }
    }
    called(object, parts)
}

/// `name=value`, an argument of a [`called`] class.
pub(crate) fn named<'py>(
    name: &Bound<'py, PyString>,
    value: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyString>> {
    join(name.py(), "=", vec![name.clone(), value.repr()?])
}

/// `Class(…)` with these arguments.
pub(crate) fn called<'py>(
    object: &Bound<'py, PyAny>,
    arguments: Vec<Bound<'py, PyString>>,
) -> PyResult<Bound<'py, PyString>> {
    let py = object.py();
    let arguments = join(py, ", ", arguments)?;
    let (open, close) = (make_str(py, "(")?, make_str(py, ")")?);
    join(py, "", vec![object.get_type().name()?, open, arguments, close])
}

/// The result of `__reduce__`: a function and its arguments, from which `pickle` makes the object again.
pub(crate) fn reduced<'py, const N: usize>(
    function: Bound<'py, PyAny>,
    arguments: [Bound<'py, PyAny>; N],
) -> PyResult<Bound<'py, PyTuple>> {
    let py = function.py();
    let arguments = make_tuple(py, arguments.into_iter().map(Ok))?;
    make_tuple(py, [Ok(function), Ok(arguments.into_any())].into_iter())
}

/// The result of `__hash__` for an object. `key` is equal for equal objects.
pub(crate) fn hash_of(key: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    hasher.finish()
}

/// Implements `IntoPyObject`, so that Rust functions can return the classes: PyO3 derives it only for
/// classes without a base class.
macro_rules! returned_by_value {
    ($base:ty: $($class:ty),+) => { $(
        impl<'py> pyo3::IntoPyObject<'py> for $class {
            type Target = Self;
            type Output = pyo3::Bound<'py, Self>;
            type Error = pyo3::PyErr;

            fn into_pyobject(self, py: pyo3::Python<'py>) -> pyo3::PyResult<Self::Output> {
                pyo3::Bound::new(py, <$base>::init().add_subclass(self))
            }
        }
    )+ };
}
pub(crate) use returned_by_value;
