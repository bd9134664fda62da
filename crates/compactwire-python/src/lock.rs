//! The lock of an object whose calls may take long, so that another call may wait long for it.

use crate::calls::{detach, is_ending};
use crate::make::py_error;
use compactwire::interrupt::unchecked;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use std::ops::{Deref, DerefMut};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};
use std::time::Duration;

/// How long a call waits between two checks for signals.
const INTERVAL: Duration = Duration::from_millis(100);

/// Like a [`Mutex`], but a signal whose handler raises ends the wait for it. After a panic it is used like
/// before: calls leave the content valid.
#[derive(Default)]
pub(crate) struct Lock<T> {
    turn: Turn,
    /// Locked only by the call whose turn it is, so that no call ever waits for this mutex.
    content: Mutex<T>,
}

impl<T> Lock<T> {
    pub(crate) fn new(content: T) -> Self {
        Self { turn: Turn::default(), content: Mutex::new(content) }
    }

    /// Waits until no other call holds the lock. Handlers of signals run meanwhile: the caller must not hold
    /// another lock, nor borrow from Python objects that they can change.
    pub(crate) fn hold(&self, py: Python<'_>) -> PyResult<Held<'_, T>> {
        let turn = &self.turn;
        let mut is_ours = turn.take(Duration::ZERO);
        while !is_ours {
            // The check of the present call must not stop what a handler calls.
            unchecked(|| py.check_signals())?;
            is_ours = detach(py, || turn.take(INTERVAL));
            if !is_ours && is_ending() {
                return Err(py_error::<PyRuntimeError>(
                    "a thread that the end of the interpreter has stopped holds this object",
                ));
            }
        }
        let content = self.content.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(Held { content, _turn: Release(turn) })
    }
}

/// The content of a [`Lock`], which is released when this is dropped.
pub(crate) struct Held<'l, T> {
    // The fields are dropped in this order.
    content: MutexGuard<'l, T>,
    _turn: Release<'l>,
}

impl<T> Deref for Held<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.content
    }
}

impl<T> DerefMut for Held<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.content
    }
}

/// The turn of calls that write to an object of the user, so that what they write stays in order.
#[derive(Default)]
pub(crate) struct Writing {
    turn: Lock<()>,
    /// The thread that writes. This mutex is held for moments only.
    writer: Mutex<Option<ThreadId>>,
}

impl Writing {
    /// Waits until no other call writes, as [`Lock::hold`]. `None` if this thread writes already: the object of
    /// the user, or the handler of a signal, has called, and the call would wait for itself.
    pub(crate) fn begin(&self, py: Python<'_>) -> PyResult<Option<Writer<'_>>> {
        let this = thread::current().id();
        if *self.writer.lock().unwrap_or_else(PoisonError::into_inner) == Some(this) {
            return Ok(None);
        }
        let turn = self.turn.hold(py)?;
        *self.writer.lock().unwrap_or_else(PoisonError::into_inner) = Some(this);
        Ok(Some(Writer { writer: &self.writer, _turn: turn }))
    }
}

/// A call that writes, until this is dropped.
pub(crate) struct Writer<'w> {
    writer: &'w Mutex<Option<ThreadId>>,
    _turn: Held<'w, ()>,
}

impl Drop for Writer<'_> {
    fn drop(&mut self) {
        *self.writer.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

#[derive(Default)]
struct Turn {
    /// Whether a call has the turn. This mutex is held for moments only, never while a thread waits for the
    /// interpreter.
    taken: Mutex<bool>,
    released: Condvar,
}

impl Turn {
    /// Takes the turn, and waits for it at most so long; returns whether it was taken.
    fn take(&self, wait: Duration) -> bool {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        if *taken && !wait.is_zero() {
            let waited = self.released.wait_timeout_while(taken, wait, |taken| *taken);
            taken = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        !std::mem::replace(&mut *taken, true)
    }
}

/// Ends a turn when it is dropped.
struct Release<'l>(&'l Turn);

impl Drop for Release<'_> {
    fn drop(&mut self) {
        *self.0.taken.lock().unwrap_or_else(PoisonError::into_inner) = false;
        self.0.released.notify_one();
    }
}
