//! Signals during long calls. Without this, Python would handle Ctrl-C only after the call.
//!
//! There are three ways to run a call of the core, which polls while it works:
//!
//! - [`attached`] and [`detached`] run the handlers of all signals during the call. If one raises, the
//!   call ends with its exception; otherwise it continues.
//! - [`undone`] is for calls during which no Python code may run, because they hold a lock or borrow
//!   from Python objects. It detects Ctrl-C only. It then discards the result so far, runs the handler of
//!   Ctrl-C, and starts the call again unless the handler raised.
//! - [`to_end`] is for calls that no signal ends.
//!
//! Too little memory ends each of them with a `MemoryError`, and too many open files with an `OSError`.

use crate::calls::{Run, detach, import};
use crate::make::{Number, Str, args, memory_error, name, py_error, py_error_of};
use crate::value::collector::with_collector;
use compactwire::interrupt::{Stopped, poll, run};
use pyo3::exceptions::{PyOSError, PyRuntimeError};
use pyo3::ffi;
use pyo3::prelude::*;
use std::cell::Cell;
use std::time::{Duration, Instant};

/// The interval between two checks. To check, a thread waits for the interpreter lock, for 5 ms if
/// another thread runs Python code.
const INTERVAL: Duration = Duration::from_millis(100);

/// How often a call is stopped at most. Afterwards it runs without checks, so that it ends even if signals
/// arrive faster than it can finish.
const RESTARTS: usize = 3;

/// The interpreter lock is released for calls that process at least this many bytes. For fewer bytes,
/// reacquiring the lock can cost more than the work.
pub(crate) const DETACH_FROM: usize = 32 << 10;

thread_local! {
    static CHECKED: Cell<Option<Instant>> = const { Cell::new(None) };
    /// The exception of a signal handler that stopped a call.
    static RAISED: Cell<Option<PyErr>> = const { Cell::new(None) };
}

/// Runs `work`, attached to the interpreter. Signal handlers may run at each poll: `work` must not
/// borrow from Python objects that they can change.
pub(crate) fn attached<T>(work: impl FnOnce() -> T) -> PyResult<T> {
    run(handle_signals, work).map_err(raised)
}

/// Runs `work`, without the interpreter lock if there are many bytes to process.
pub(crate) fn detached<T: Send>(
    py: Python<'_>,
    bytes: usize,
    work: impl Send + FnOnce() -> T,
) -> PyResult<T> {
    if bytes < DETACH_FROM { attached(work) } else { detach(py, || attached(work)) }
}

/// Runs `work`, which runs no Python code. If `work` is stopped, it must have changed nothing, because it
/// is then called again.
pub(crate) fn undone<T>(py: Python<'_>, mut work: impl FnMut() -> T) -> PyResult<T> {
    for _ in 0..RESTARTS {
        match run(notice_ctrl_c, &mut work) {
            Ok(result) => return Ok(result),
            Err(Stopped::Asked) => handle_ctrl_c(py)?,
            Err(stopped) => return Err(raised(stopped)),
        }
    }
    to_end(work)
}

/// Runs `work` to its end, unless there is not enough memory.
pub(crate) fn to_end<T>(work: impl FnOnce() -> T) -> PyResult<T> {
    run(|| false, work).map_err(raised)
}

/// Polls even if the last check was a moment ago: the last poll of a call that then changes an object. Otherwise
/// Python would raise for Ctrl-C when the call has returned, and its result would be lost.
pub(crate) fn poll_now() {
    CHECKED.set(None);
    poll();
}

fn handle_signals() -> bool {
    let handle = |py: Python<'_>| with_collector(py, || py.check_signals());
    match is_due().then(|| Python::try_attach(handle)).flatten() {
        None | Some(Ok(())) => false,
        Some(Err(error)) => {
            RAISED.set(Some(error));
            true
        }
    }
}

/// Whether Ctrl-C was pressed. This clears Python's flag, so the caller has to run the handler.
fn notice_ctrl_c() -> bool {
    // SAFETY: the thread is attached to the interpreter; no Python code runs.
    let noticed = |_: Python<'_>| unsafe { ffi::PyOS_InterruptOccurred() } != 0;
    is_due() && Python::try_attach(noticed) == Some(true)
}

/// Whether [`INTERVAL`] has passed since the last check of this thread. If so, a new interval begins.
fn is_due() -> bool {
    let now = Instant::now();
    let due = CHECKED.get().is_none_or(|last| now - last >= INTERVAL);
    if due {
        CHECKED.set(Some(now));
    }
    due
}

/// The exception for a call that was stopped.
#[cold]
pub(crate) fn raised(stopped: Stopped) -> PyErr {
    match stopped {
        Stopped::NoMemory => memory_error("not enough memory to continue the call"),
        Stopped::NoFiles(code) => {
            let message = "too many open files; close some, or raise the limit";
            Python::attach(|py| {
                py_error_of::<PyOSError>(args!(py, Number(i64::from(code)), Str(message)))
            })
        }
        Stopped::Asked => {
            RAISED.take().unwrap_or_else(|| py_error::<PyRuntimeError>("the call was stopped"))
        }
    }
}

/// Calls the handler of Ctrl-C as the interpreter would.
#[cold]
fn handle_ctrl_c(py: Python<'_>) -> PyResult<()> {
    let signal = import(py, name!(py, "signal")?)?;
    let number = signal.run_getattr(name!(py, "SIGINT")?)?;
    let handler = signal.run_method(name!(py, "getsignal")?, args!(py, &number)?)?;
    if handler.is_callable() {
        let frame = import(py, name!(py, "sys")?)?.run_method0(name!(py, "_getframe")?).ok();
        handler.run(args!(py, number, frame)?)?;
    }
    Ok(())
}
