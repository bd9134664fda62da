//! Pauses the cyclic garbage collector while objects are built.

use super::read_fast::LOCKED;
use pyo3::ffi;
use pyo3::prelude::*;
use std::cell::Cell;
use std::marker::PhantomData;

/// The cyclic garbage collector, off until this is dropped.
///
/// All objects that are being built are alive: collections would free none of them, but take half
/// of the total time for a large document.
///
/// Other code cannot observe the pause: until the drop, the thread stays attached to the interpreter, and
/// no Python code runs except signal handlers within [`with_collector`]. The lifetime `'py` keeps the pause
/// from outliving the attachment, and a pause cannot be sent into `detach`. The collector stays on from
/// Python 3.12, which collects only while Python code runs, and without a global lock, where other
/// threads run at the same time.
pub(crate) struct CollectorPause<'py> {
    _attached: PhantomData<Python<'py>>,
}

thread_local! {
    /// Whether a pause of this thread has switched the collector off.
    static PAUSED: Cell<bool> = const { Cell::new(false) };
}

/// Runs `work`, which may run Python code, with the collector in its state before a pause. The thread is
/// attached to the interpreter.
pub(crate) fn with_collector<T>(work: impl FnOnce() -> T) -> T {
    let paused = PAUSED.replace(false);
    if paused {
        // SAFETY: the thread is attached to the interpreter.
        unsafe { ffi::PyGC_Enable() };
    }
    let result = work();
    if paused {
        // If `work` itself switched the collector off, it stays off after the pause.
        // SAFETY: the thread is attached to the interpreter.
        PAUSED.set(unsafe { ffi::PyGC_Disable() } == 1);
    }
    result
}

/// Fewer containers are built without a pause: a collection starts only after some 700 new ones.
const MANY_CONTAINERS: usize = 1000;

impl<'py> CollectorPause<'py> {
    /// Switches the collector off if it is on and many containers are to be built. The caller runs
    /// no Python code until the drop, except within [`with_collector`].
    pub(crate) fn new(py: Python<'py>, containers: usize) -> Self {
        let useful = containers >= MANY_CONTAINERS && LOCKED && py.version_info() < (3, 12);
        // SAFETY: the thread is attached to the interpreter.
        if useful && unsafe { ffi::PyGC_Disable() } == 1 {
            PAUSED.set(true);
        }
        Self { _attached: PhantomData }
    }
}

impl Drop for CollectorPause<'_> {
    fn drop(&mut self) {
        if PAUSED.replace(false) {
            // SAFETY: the thread is attached to the interpreter for the lifetime `'py`.
            unsafe { ffi::PyGC_Enable() };
        }
    }
}
