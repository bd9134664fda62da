//! Ends a long call early, for example after Ctrl-C.
//!
//! A caller runs a call under [`run`] with a check that decides whether to stop; the loops of the core
//! [`poll`] it. To stop, a poll unwinds the stack up to `run`, as a panic does but without a message,
//! because most loops are in functions that cannot fail. Unwinding drops what the call has made so far.
//! Therefore no loop that polls may leave a session or another object that outlives the call half changed.
//! `require` of the module `memory` ends a call in the same way.
//!
//! Outside of `run`, and in a program that is compiled to abort on a panic, a poll does nothing.

use crate::reserve;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
#[cfg(feature = "compact")]
use std::sync::{
    Arc,
    mpsc::{self, RecvTimeoutError},
};
use std::thread;
#[cfg(feature = "compact")]
use std::time::Duration;

/// Why a call ended early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stopped {
    /// The check returned true.
    Asked,
    /// There was not enough memory.
    NoMemory,
    /// The operating system cannot open another file; its error code.
    NoFiles(i32),
}

/// Returns whether to stop. It is called about once per millisecond of work, often more.
pub type Check = fn() -> bool;

thread_local! {
    static CHECK: Cell<Option<Check>> = const { Cell::new(None) };
}

/// Runs `work` until it ends or `check` returns true. Other threads that `work` starts are not stopped.
///
/// # Errors
/// [`Stopped`] if `check` returned true, or if there was not enough memory, or too many open files, where the
/// code cannot return an error.
pub fn run<T>(check: Check, work: impl FnOnce() -> T) -> Result<T, Stopped> {
    let result = catch_unwind(AssertUnwindSafe(|| with_check(Some(check), work)));
    result.or_else(|reason| match reason.downcast::<Stopped>() {
        Ok(stopped) => Err(*stopped),
        Err(reason) => resume_unwind(reason),
    })
}

/// Runs code of the caller, such as a callback, which the check of [`run`] does not stop.
pub fn unchecked<T>(work: impl FnOnce() -> T) -> T {
    with_check(None, work)
}

#[inline]
fn with_check<T>(check: Option<Check>, work: impl FnOnce() -> T) -> T {
    /// Restores the outer check, also when `work` panics.
    struct Outer(Option<Check>);
    impl Drop for Outer {
        fn drop(&mut self) {
            CHECK.set(self.0);
        }
    }
    let _outer = Outer(CHECK.replace(check));
    work()
}

/// Whether a poll of this thread asks the check of a [`run`].
#[cfg(any(feature = "arrow", feature = "claims"))]
pub(crate) fn has_check() -> bool {
    CHECK.get().is_some()
}

/// Asks the check of the innermost [`run`] whether to stop. A call also stops if memory ran short.
pub fn poll() {
    if reserve::is_short() {
        out_of_memory();
    }
    if let Some(check) = CHECK.get()
        && can_stop()
        && unchecked(check)
    {
        resume_unwind(Box::new(Stopped::Asked));
    }
}

/// [Ends](end) the innermost [`run`], because there is not enough memory.
#[cold]
pub(crate) fn out_of_memory() {
    end(Stopped::NoMemory);
}

/// Ends the innermost [`run`] for this reason. Outside of `run`, and within [`unchecked`], it does nothing.
#[cold]
pub(crate) fn end(reason: Stopped) {
    if CHECK.get().is_some() && can_stop() {
        resume_unwind(Box::new(reason));
    }
}

/// Whether the stack can be unwound. A destructor that runs while the stack is unwound must not do so again.
fn can_stop() -> bool {
    cfg!(panic = "unwind") && !thread::panicking()
}

/// Runs `work` that cannot poll, such as a function of another library. If the call has a check, `work` runs
/// on another thread while this function polls. A call that is stopped does not wait for the thread, which
/// ends by itself.
#[cfg(feature = "compact")]
pub(crate) fn run_apart<A, T>(input: A, work: fn(&A) -> T) -> T
where
    A: Send + Sync + 'static,
    T: Send + 'static,
{
    /// How often the call polls while it waits.
    const INTERVAL: Duration = Duration::from_millis(20);

    if CHECK.get().is_none() {
        return work(&input);
    }
    let input = Arc::new(input);
    let shared = Arc::clone(&input);
    let (sender, result) = mpsc::sync_channel(1);
    // Sending fails if the call was stopped: then the result is not needed.
    let send = move || _ = sender.send(work(&shared));
    let start = || thread::Builder::new().spawn(send).ok();
    let Some(thread) = reserve::has_a_thread().then(start).flatten() else { return work(&input) };
    loop {
        poll();
        match result.recv_timeout(INTERVAL) {
            Ok(result) => return result,
            Err(RecvTimeoutError::Timeout) => {}
            // The thread panicked.
            Err(RecvTimeoutError::Disconnected) => match thread.join() {
                Err(reason) => resume_unwind(reason),
                Ok(()) => return work(&input),
            },
        }
    }
}

/// Polls once in some thousand steps of a loop.
#[derive(Debug, Clone, Default)]
pub struct Steps(u32);

impl Steps {
    /// A poll takes less than a thousandth of the time of this many steps, if a step takes 20 to 1000 ns.
    const PER_POLL: u32 = 1 << 12;

    /// Counts a step.
    #[inline]
    pub fn step(&mut self) {
        self.add(1);
    }

    /// Counts several steps.
    #[inline]
    pub fn add(&mut self, steps: usize) {
        self.0 = self.0.saturating_add(u32::try_from(steps).unwrap_or(u32::MAX));
        if self.0 >= Self::PER_POLL {
            self.end();
        }
    }

    #[cold]
    #[inline(never)]
    fn end(&mut self) {
        self.0 = 0;
        poll();
    }
}

thread_local! {
    /// The steps of the last loop since its last poll.
    static STEPS: Cell<u32> = const { Cell::new(0) };
}

/// The steps of a loop, after those of the last one: a call may have many loops, each too short for a poll.
struct OfLoop(Steps);

impl Drop for OfLoop {
    fn drop(&mut self) {
        STEPS.set(self.0.0);
    }
}

/// Returns an iterator over the same items that polls as it advances: each item is one of [`Steps`].
pub fn polled<I: IntoIterator>(items: I) -> impl Iterator<Item = I::Item> {
    let mut of_loop = OfLoop(Steps(STEPS.get()));
    items.into_iter().inspect(move |_| of_loop.0.step())
}

/// A result, and how often the work polled.
#[cfg(test)]
pub(crate) fn counted<T>(work: impl FnOnce() -> T) -> (T, usize) {
    thread_local! {
        static POLLS: Cell<usize> = const { Cell::new(0) };
    }
    let count = || {
        POLLS.set(POLLS.get() + 1);
        false
    };
    POLLS.set(0);
    let result = run(count, work).unwrap_or_else(|stopped| panic!("{stopped:?}"));
    (result, POLLS.get())
}

#[cfg(test)]
mod tests {
    use super::*;

    thread_local! {
        static POLLS: Cell<u32> = const { Cell::new(0) };
    }

    /// Stops at the third poll.
    fn third() -> bool {
        POLLS.set(POLLS.get() + 1);
        POLLS.get() == 3
    }

    #[test]
    fn a_loop_stops_when_the_check_says_so() {
        let mut steps = 0;
        assert_eq!(
            run(third, || polled(0..u64::MAX).for_each(|_| steps += 1)),
            Err(Stopped::Asked)
        );
        assert_eq!((POLLS.get(), steps), (3, 3 * Steps::PER_POLL - 1));
        assert_eq!(run(third, || polled(0..9).count()), Ok(9));
    }

    #[test]
    fn many_short_loops_poll_as_one_long_loop() {
        let loops = Steps::PER_POLL as usize;
        let ((), count) =
            counted(|| (0..loops).for_each(|_| assert_eq!(polled(0..10).count(), 10)));
        assert_eq!(count, 10);
    }

    #[test]
    fn a_poll_outside_of_a_run_does_nothing() {
        poll();
        assert_eq!(run(|| false, poll), Ok(()));
        let inner = || run(|| true, poll);
        assert_eq!(run(|| false, inner), Ok(Err(Stopped::Asked)));
        poll();
    }

    #[test]
    fn a_destructor_finishes_while_the_stack_is_unwound() {
        struct Polls;
        impl Drop for Polls {
            fn drop(&mut self) {
                poll();
            }
        }
        let work = || {
            let _polls = Polls;
            poll();
        };
        assert_eq!(run(|| true, work), Err(Stopped::Asked));
    }

    #[test]
    #[cfg(feature = "compact")]
    fn a_stopped_call_does_not_wait_for_its_thread() {
        let work = || run_apart(2, |number| number + 1);
        assert_eq!(run(|| false, work), Ok(3));
        let (stop, stopped) = mpsc::channel::<()>();
        let stopped = std::sync::Mutex::new(stopped);
        let wait = || run_apart(stopped, |stopped| stopped.lock().map(|end| end.recv()).is_ok());
        assert_eq!(run(|| true, wait), Err(Stopped::Asked));
        drop(stop);
    }

    #[test]
    fn another_panic_is_passed_on() {
        let panic = || -> Result<(), Stopped> { run(|| true, || resume_unwind(Box::new("other"))) };
        let reason = catch_unwind(panic).unwrap_err();
        assert_eq!(reason.downcast_ref(), Some(&"other"));
    }
}
