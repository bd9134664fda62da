//! Pauses the cyclic garbage collector while objects are built.

use super::read_fast::LOCKED;
use crate::calls::{Run, import};
use crate::make::{Number, args, name, once};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyTuple;
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
    /// The state before.
    was_building: bool,
}

thread_local! {
    /// Whether a pause of this thread has switched the collector off.
    static PAUSED: Cell<bool> = const { Cell::new(false) };
    /// Whether this thread is building many containers, also where the collector stays on.
    static BUILDING: Cell<bool> = const { Cell::new(false) };
}

/// Runs `work`, which may run Python code, with the collector in its state before a pause. Collections that
/// it does not call itself wait until it has ended: the first container of a signal handler would start one
/// over everything built so far, which takes a second for some million objects.
pub(crate) fn with_collector<T>(py: Python<'_>, work: impl FnOnce() -> T) -> T {
    let building = BUILDING.replace(false);
    let postponed = building.then(|| Postponed::new(py).ok()).flatten();
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
    drop(postponed);
    BUILDING.set(building);
    result
}

/// The module `gc`. A program may have replaced the function that imports modules, and it is Python code.
fn collector(py: Python<'_>) -> PyResult<&Py<PyModule>> {
    static MODULE: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
    once(py, &MODULE, || Ok(import(py, name!(py, "gc")?)?.unbind()))
}

/// Collections start only after more new containers than there can be, until this is dropped.
struct Postponed<'py> {
    collector: Bound<'py, PyModule>,
    /// What `gc.get_threshold` returned before.
    before: Bound<'py, PyTuple>,
}

impl<'py> Postponed<'py> {
    const THRESHOLD: i32 = i32::MAX;

    fn new(py: Python<'py>) -> PyResult<Self> {
        let collector = collector(py)?.bind(py);
        let before = Self::thresholds(collector)?;
        let most = args!(py, Number(i64::from(Self::THRESHOLD)))?;
        collector.run_method(name!(py, "set_threshold")?, most)?;
        Ok(Self { collector: collector.clone(), before })
    }

    fn thresholds(collector: &Bound<'py, PyModule>) -> PyResult<Bound<'py, PyTuple>> {
        let name = name!(collector.py(), "get_threshold")?;
        Ok(collector.run_method0(name)?.cast_into()?)
    }

    /// Restores the threshold, unless other code is known to have set one since: to ask for it takes memory, of
    /// which there may be none.
    fn restore(&self) -> PyResult<()> {
        let current = Self::thresholds(&self.collector).and_then(|all| all.get_item(0)?.extract());
        if current.map_or(true, |first: i32| first == Self::THRESHOLD) {
            let name = name!(self.collector.py(), "set_threshold")?;
            self.collector.run_method(name, self.before.clone())?;
        }
        Ok(())
    }
}

impl Drop for Postponed<'_> {
    fn drop(&mut self) {
        // The functions fail only without memory, or if a program has replaced them.
        let _restored = self.restore();
    }
}

/// Fewer containers are built without a pause: a collection starts only after some 700 new ones.
const MANY_CONTAINERS: usize = 1000;

impl<'py> CollectorPause<'py> {
    /// Switches the collector off if it is on and many containers are to be built. The caller runs
    /// no Python code until the drop, except within [`with_collector`].
    pub(crate) fn new(py: Python<'py>, containers: usize) -> Self {
        let many = containers >= MANY_CONTAINERS && LOCKED;
        // If it fails, a collection may start in the handler of a signal.
        let _imported = many.then(|| collector(py));
        // SAFETY: the thread is attached to the interpreter.
        if many && py.version_info() < (3, 12) && unsafe { ffi::PyGC_Disable() } == 1 {
            PAUSED.set(true);
        }
        let was_building = BUILDING.get();
        BUILDING.set(many || was_building);
        Self { _attached: PhantomData, was_building }
    }
}

impl Drop for CollectorPause<'_> {
    fn drop(&mut self) {
        BUILDING.set(self.was_building);
        if PAUSED.replace(false) {
            // SAFETY: the thread is attached to the interpreter for the lifetime `'py`.
            unsafe { ffi::PyGC_Enable() };
        }
    }
}
