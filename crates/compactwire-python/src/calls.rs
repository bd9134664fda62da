//! Calls of Python code that may take long: functions, files and iterators of the user.
//!
//! Until Python 3.13, a daemon thread that is within such code when the interpreter ends is ended by
//! `pthread_exit`, which unwinds the stack in glibc. PyO3 catches that at its functions, as it does a panic, and
//! glibc then aborts the process. Here the thread waits for ever instead, as from Python 3.14 on: the process ends
//! without it. PyO3 does the same where a thread attaches to the interpreter.

use pyo3::ffi::{self, PyObject};
use pyo3::prelude::*;
use pyo3::types::{PyIterator, PyString, PyTuple};
use std::hint::black_box;
use std::mem::{forget, transmute};
use std::ptr::null_mut;
use std::thread;

type Call = unsafe extern "C" fn(*mut PyObject, *mut PyObject, *mut PyObject) -> *mut PyObject;
type UnwindingCall =
    unsafe extern "C-unwind" fn(*mut PyObject, *mut PyObject, *mut PyObject) -> *mut PyObject;
type Next = unsafe extern "C" fn(*mut PyObject) -> *mut PyObject;
type UnwindingNext = unsafe extern "C-unwind" fn(*mut PyObject) -> *mut PyObject;

/// Calls an object.
pub(crate) fn call<'py>(
    callable: &Bound<'py, PyAny>,
    arguments: &Bound<'py, PyTuple>,
) -> PyResult<Bound<'py, PyAny>> {
    // SAFETY: the type differs only in what it says about unwinding, of which PyO3 says that there is none. The
    // compiler must not know that it is the same function. It takes an object, a tuple and no keywords, and returns
    // a new object or an error.
    unsafe {
        let function = transmute::<Call, UnwindingCall>(black_box(ffi::PyObject_Call));
        let result =
            or_wait_for_ever(|| function(callable.as_ptr(), arguments.as_ptr(), null_mut()));
        Bound::from_owned_ptr_or_err(callable.py(), result)
    }
}

/// Calls a method of an object.
pub(crate) fn call_method<'py>(
    object: &Bound<'py, PyAny>,
    name: &Bound<'py, PyString>,
    arguments: &Bound<'py, PyTuple>,
) -> PyResult<Bound<'py, PyAny>> {
    call(&object.getattr(name)?, arguments)
}

/// The next item of an iterator; `None` at its end.
pub(crate) fn next<'py>(iterator: &Bound<'py, PyIterator>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = iterator.py();
    // SAFETY: as in `call`. The function takes an iterator, and returns a new object, or null: at the end, and with
    // an error.
    unsafe {
        let function = transmute::<Next, UnwindingNext>(black_box(ffi::PyIter_Next));
        let item = or_wait_for_ever(|| function(iterator.as_ptr()));
        match Bound::from_owned_ptr_or_opt(py, item) {
            None => PyErr::take(py).map_or(Ok(None), Err),
            item => Ok(item),
        }
    }
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
