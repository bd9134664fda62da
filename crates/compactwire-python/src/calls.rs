//! Calls of Python code, in place of those of PyO3, and what frees objects of the user.
//!
//! Until Python 3.13, a daemon thread that is within such code when the interpreter ends is ended by
//! `pthread_exit`, which unwinds the stack in glibc. PyO3 catches that at its functions, as it does a panic, and
//! glibc then aborts the process. Here the thread waits for ever instead, as from Python 3.14 on: the process ends
//! without it. PyO3 does the same where a thread attaches to the interpreter.

use crate::make::{memory_error, py_error};
use pyo3::BoundObject;
use pyo3::exceptions::{PyAttributeError, PyRuntimeError, PyStopIteration, PyUserWarning};
use pyo3::ffi::{self, PyObject};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyIterator, PyString, PyTuple};
use std::ffi::{CStr, c_char, c_int};
use std::hint::black_box;
use std::mem::{forget, transmute};
use std::ops::Deref;
use std::ptr::null_mut;
use std::thread;

type Call = unsafe extern "C" fn(*mut PyObject, *mut PyObject, *mut PyObject) -> *mut PyObject;
type UnwindingCall =
    unsafe extern "C-unwind" fn(*mut PyObject, *mut PyObject, *mut PyObject) -> *mut PyObject;
type OfOne = unsafe extern "C" fn(*mut PyObject) -> *mut PyObject;
type UnwindingOfOne = unsafe extern "C-unwind" fn(*mut PyObject) -> *mut PyObject;
type OfTwo = unsafe extern "C" fn(*mut PyObject, *mut PyObject) -> *mut PyObject;
type UnwindingOfTwo = unsafe extern "C-unwind" fn(*mut PyObject, *mut PyObject) -> *mut PyObject;
type Free = unsafe extern "C" fn(*mut PyObject);
type UnwindingFree = unsafe extern "C-unwind" fn(*mut PyObject);
type Test = unsafe extern "C" fn(*mut PyObject, *mut PyObject) -> c_int;
type UnwindingTest = unsafe extern "C-unwind" fn(*mut PyObject, *mut PyObject) -> c_int;
type Warn = unsafe extern "C" fn(*mut PyObject, *const c_char, ffi::Py_ssize_t) -> c_int;
type UnwindingWarn =
    unsafe extern "C-unwind" fn(*mut PyObject, *const c_char, ffi::Py_ssize_t) -> c_int;

// SAFETY, of all of these: the types of the functions differ only in what they say about unwinding, of which PyO3
// says that there is none. The compiler must not know that they are the same functions. Each takes objects, and
// returns a new object or an error; a reference to each object is held meanwhile.

/// The calls of PyO3, for code that may be Python code.
pub(crate) trait Run<'py> {
    /// Calls an object.
    fn run(&self, arguments: Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyAny>>;

    /// Calls an object with keywords.
    fn run_with(
        &self,
        arguments: Bound<'py, PyTuple>,
        keywords: &Bound<'py, PyDict>,
    ) -> PyResult<Bound<'py, PyAny>>;

    /// Calls a method of an object.
    fn run_method(
        &self,
        name: &Bound<'py, PyString>,
        arguments: Bound<'py, PyTuple>,
    ) -> PyResult<Bound<'py, PyAny>>;

    /// Calls a method of an object without arguments.
    fn run_method0(&self, name: &Bound<'py, PyString>) -> PyResult<Bound<'py, PyAny>>;

    /// An attribute.
    fn run_getattr<N>(&self, name: N) -> PyResult<Bound<'py, PyAny>>
    where
        N: IntoPyObject<'py, Target = PyString>;

    /// An attribute; `None` if the object has none.
    fn run_getattr_opt<N>(&self, name: N) -> PyResult<Option<Bound<'py, PyAny>>>
    where
        N: IntoPyObject<'py, Target = PyString>;

    /// Whether an object has an attribute.
    fn run_hasattr<N>(&self, name: N) -> PyResult<bool>
    where
        N: IntoPyObject<'py, Target = PyString>;

    /// The iterator of an object.
    fn run_iter(&self) -> PyResult<Bound<'py, PyIterator>>;

    /// Whether an object is an instance of a class, as the class says.
    fn run_is_instance(&self, class: &Bound<'py, PyAny>) -> PyResult<bool>;
}

impl<'py, T> Run<'py> for Bound<'py, T> {
    fn run(&self, arguments: Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyAny>> {
        called(self.as_any(), &arguments, null_mut())
    }

    fn run_with(
        &self,
        arguments: Bound<'py, PyTuple>,
        keywords: &Bound<'py, PyDict>,
    ) -> PyResult<Bound<'py, PyAny>> {
        called(self.as_any(), &arguments, keywords.as_ptr())
    }

    fn run_method(
        &self,
        name: &Bound<'py, PyString>,
        arguments: Bound<'py, PyTuple>,
    ) -> PyResult<Bound<'py, PyAny>> {
        called(&self.run_getattr(name)?, &arguments, null_mut())
    }

    fn run_method0(&self, name: &Bound<'py, PyString>) -> PyResult<Bound<'py, PyAny>> {
        self.run_method(name, PyTuple::empty(self.py()))
    }

    fn run_getattr<N>(&self, name: N) -> PyResult<Bound<'py, PyAny>>
    where
        N: IntoPyObject<'py, Target = PyString>,
    {
        let name = name.into_pyobject(self.py()).map_err(Into::into)?.into_bound();
        // SAFETY: see above.
        unsafe {
            let function = transmute::<OfTwo, UnwindingOfTwo>(black_box(ffi::PyObject_GetAttr));
            let found = or_wait_for_ever(|| function(self.as_ptr(), name.as_ptr()));
            object_or_error(self.py(), found)
        }
    }

    fn run_getattr_opt<N>(&self, name: N) -> PyResult<Option<Bound<'py, PyAny>>>
    where
        N: IntoPyObject<'py, Target = PyString>,
    {
        match self.run_getattr(name) {
            Ok(found) => Ok(Some(found)),
            Err(error) if error.is_instance_of::<PyAttributeError>(self.py()) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn run_hasattr<N>(&self, name: N) -> PyResult<bool>
    where
        N: IntoPyObject<'py, Target = PyString>,
    {
        Ok(self.run_getattr_opt(name)?.is_some())
    }

    fn run_iter(&self) -> PyResult<Bound<'py, PyIterator>> {
        // SAFETY: see above.
        unsafe {
            let function = transmute::<OfOne, UnwindingOfOne>(black_box(ffi::PyObject_GetIter));
            let found = or_wait_for_ever(|| function(self.as_ptr()));
            Ok(object_or_error(self.py(), found)?.cast_into_unchecked())
        }
    }

    fn run_is_instance(&self, class: &Bound<'py, PyAny>) -> PyResult<bool> {
        // SAFETY: see above.
        let found = unsafe {
            let function = transmute::<Test, UnwindingTest>(black_box(ffi::PyObject_IsInstance));
            or_wait_for_ever(|| function(self.as_ptr(), class.as_ptr()))
        };
        if found < 0 { Err(raised(self.py())) } else { Ok(found == 1) }
    }
}

fn called<'py>(
    callable: &Bound<'py, PyAny>,
    arguments: &Bound<'py, PyTuple>,
    keywords: *mut PyObject,
) -> PyResult<Bound<'py, PyAny>> {
    // SAFETY: see above. The keywords are a dict, or null for none.
    unsafe {
        let function = transmute::<Call, UnwindingCall>(black_box(ffi::PyObject_Call));
        let result = or_wait_for_ever(|| function(callable.as_ptr(), arguments.as_ptr(), keywords));
        object_or_error(callable.py(), result)
    }
}

/// A file, function or iterator of the user. Where it is freed, it may be closed, which is Python code or waits.
pub(crate) struct Owned(Py<PyAny>);

impl Owned {
    pub(crate) fn new(object: Py<PyAny>) -> Self {
        Self(object)
    }
}

impl Deref for Owned {
    type Target = Py<PyAny>;

    fn deref(&self) -> &Py<PyAny> {
        &self.0
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        // If the thread cannot attach, the interpreter has ended, and nothing is freed any more.
        let _freed = Python::try_attach(|py| {
            let object = std::mem::replace(&mut self.0, py.None()).into_ptr();
            // SAFETY: see above. The function takes the reference.
            unsafe {
                let function = transmute::<Free, UnwindingFree>(black_box(ffi::Py_DecRef));
                or_wait_for_ever(|| function(object));
            }
        });
    }
}

/// The next item of an iterator; `None` at its end.
pub(crate) fn next<'py>(iterator: &Bound<'py, PyIterator>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = iterator.py();
    // SAFETY: see above. Null is the end, or an error.
    unsafe {
        let function = transmute::<OfOne, UnwindingOfOne>(black_box(ffi::PyIter_Next));
        let item = or_wait_for_ever(|| function(iterator.as_ptr()));
        match Bound::from_owned_ptr_or_opt(py, item) {
            None => PyErr::take(py).map_or(Ok(None), Err),
            item => Ok(item),
        }
    }
}

/// A module.
pub(crate) fn import<'py>(
    py: Python<'py>,
    name: &Bound<'py, PyString>,
) -> PyResult<Bound<'py, PyModule>> {
    // SAFETY: see above. The result is a module, or what a program has put in its place: only attributes are read.
    unsafe {
        let function = transmute::<OfOne, UnwindingOfOne>(black_box(ffi::PyImport_Import));
        let found = or_wait_for_ever(|| function(name.as_ptr()));
        Ok(object_or_error(py, found)?.cast_into_unchecked())
    }
}

/// Shows a warning, or raises it.
pub(crate) fn warn(py: Python<'_>, text: &CStr) -> PyResult<()> {
    let class = py.get_type::<PyUserWarning>();
    // SAFETY: see above. The text ends with a zero.
    let done = unsafe {
        let function = transmute::<Warn, UnwindingWarn>(black_box(ffi::PyErr_WarnEx));
        or_wait_for_ever(|| function(class.as_ptr(), text.as_ptr(), 1))
    };
    if done < 0 { Err(raised(py)) } else { Ok(()) }
}

/// The error of a `__next__` for one of the code that it calls: a `StopIteration` would be its own end. A generator
/// has the same.
pub(crate) fn no_end(py: Python<'_>, error: PyErr) -> PyErr {
    if !error.is_instance_of::<PyStopIteration>(py) {
        return error;
    }
    let other = py_error::<PyRuntimeError>("the source raised StopIteration");
    other.set_cause(py, Some(error));
    other
}

/// # Safety
/// The pointer is a new reference, or null.
unsafe fn object_or_error(py: Python<'_>, object: *mut PyObject) -> PyResult<Bound<'_, PyAny>> {
    // SAFETY: as the caller says.
    unsafe { Bound::from_owned_ptr_or_opt(py, object) }.ok_or_else(|| raised(py))
}

/// The exception; Python has none if there was no memory for its traceback.
fn raised(py: Python<'_>) -> PyErr {
    PyErr::take(py).unwrap_or_else(|| memory_error("not enough memory for an exception"))
}

fn or_wait_for_ever<T>(code: impl FnOnce() -> T) -> T {
    struct WaitForEver;
    impl Drop for WaitForEver {
        fn drop(&mut self) {
            // Code of the user may be Rust, too, and panic.
            while !thread::panicking() {
                thread::park();
            }
        }
    }
    let unwound = WaitForEver;
    let result = code();
    forget(unwound);
    result
}

/// Runs `work` without the interpreter lock; with it while the interpreter ends, because PyO3 panics if a thread
/// then attaches again.
pub(crate) fn detach<T: Send>(py: Python<'_>, work: impl Send + FnOnce() -> T) -> T {
    if is_ending() { work() } else { py.detach(work) }
}

/// Whether the interpreter ends. Threads that it has ended never release what they hold.
pub(crate) fn is_ending() -> bool {
    // SAFETY: the function only reads a flag.
    unsafe { ffi::Py_IsInitialized() == 0 }
}
