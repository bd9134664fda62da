//! Reports too little memory as an error.
//!
//! The standard library aborts the process if there is no memory for a `Vec` or `String` that grows. Large
//! buffers are therefore allocated with `try_reserve`. Where many buffers grow at once, or where another
//! library allocates them, their memory is checked beforehand: it is allocated as one block and freed at
//! once. [`ensure`] does this for a known size, [`Meter`] for work of unknown size. The check is cheap,
//! because the operating system provides no pages for memory that is never written. Code that cannot return
//! an error ends its call with [`require`]. Small allocations are not checked: a program that must not abort
//! even then uses the allocator [`Reserve`].

pub use crate::reserve::{Reserve, fill as fill_reserve};

use crate::{interrupt, reserve};
use std::collections::TryReserveError;

/// Sizes below this are not checked: if memory for them is missing, the process may abort, unless it has a
/// [`Reserve`].
const SMALL: usize = 64 << 10;

/// How much work a [`Meter`] allows at most between two checks.
const STRIDE: usize = 64 << 10;

/// The error message of systems that have no error code for too little memory.
pub const NO_MEMORY: &str = "there is not enough memory";

/// Checks that `bytes` of memory can be allocated, and a few small blocks beside them.
///
/// # Errors
/// There is not enough memory.
#[inline]
pub fn ensure(bytes: usize) -> Result<(), TryReserveError> {
    if bytes < SMALL && !reserve::is_short() { Ok(()) } else { ask(bytes) }
}

#[cold]
fn ask(bytes: usize) -> Result<(), TryReserveError> {
    if reserve::is_short() {
        return Err(exhausted());
    }
    let mut memory = Vec::<u8>::new();
    let answer = memory.try_reserve_exact(bytes.saturating_add(SMALL));
    // Otherwise the compiler removes the allocation.
    std::hint::black_box(&memory);
    answer
}

/// The error for an allocation that failed without a [`TryReserveError`].
#[cold]
pub fn exhausted() -> TryReserveError {
    match Vec::<u8>::new().try_reserve_exact(usize::MAX) {
        Err(error) => error,
        Ok(()) => unreachable!("no allocation is larger than the address space"),
    }
}

/// For code that cannot return an error: if memory was not available, ends the call by unwinding the stack
/// up to [`interrupt::run`]. Outside of `run`, and within [`interrupt::unchecked`], it returns, and the
/// allocation that follows aborts the process.
///
/// As with [`interrupt::poll`], no object that outlives the call may be half changed.
#[inline]
#[expect(clippy::needless_pass_by_value, reason = "the result of a call is passed on")]
pub fn require(memory: Result<(), TryReserveError>) {
    if memory.is_err() {
        interrupt::out_of_memory();
    }
}

/// Appends an item to a list; [`require`]s memory for it.
#[inline]
pub fn push<T>(list: &mut Vec<T>, item: T) {
    if list.len() == list.capacity() {
        require(list.try_reserve(1));
    }
    list.push(item);
}

/// Checks at growing intervals that there is memory for work whose total size is not known in advance. Each check
/// also [polls](interrupt::poll): a row that counts as one step may take any amount of work.
#[derive(Debug, Clone)]
pub struct Meter {
    /// The bytes of memory for a unit of work.
    factor: usize,
    /// The amount of work at which the next check is due.
    next: usize,
}

impl Meter {
    /// A meter for work that takes up to `factor` bytes of memory per unit.
    pub const fn new(factor: usize) -> Self {
        Self { factor, next: SMALL / factor }
    }

    /// If a check is due, checks that there is memory for the work up to the next check. `done` is the total
    /// amount of work after the next item. The work done so far counts twice, because a buffer that grows is
    /// copied to a larger one.
    ///
    /// # Errors
    /// There is not enough memory.
    #[inline]
    pub fn reach(&mut self, done: usize) -> Result<(), TryReserveError> {
        if done < self.next { Ok(()) } else { self.ask(done) }
    }

    /// The amount of work at which the next check is due; up to there, memory has been checked.
    #[inline]
    pub fn next(&self) -> usize {
        self.next
    }

    #[cold]
    fn ask(&mut self, done: usize) -> Result<(), TryReserveError> {
        interrupt::poll();
        self.next = done.saturating_add(done.clamp(1, STRIDE));
        ask(self.next.saturating_add(done).saturating_mul(self.factor))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_beyond_the_address_space_is_an_error() {
        assert!(ensure(SMALL).is_ok());
        assert!(ensure(isize::MAX as usize).is_err());
        assert!(ensure(usize::MAX).is_err());
    }

    #[test]
    fn too_little_memory_ends_a_run() {
        let large = || require(ensure(usize::MAX));
        assert_eq!(interrupt::run(|| false, large), Err(interrupt::Stopped::NoMemory));
        assert_eq!(interrupt::run(|| true, || require(ensure(1 << 20))), Ok(()));
        large();
    }

    #[test]
    fn a_meter_asks_before_the_work_is_done() {
        let mut meter = Meter::new(16);
        assert!(meter.reach(100).is_ok());
        assert!(meter.reach(usize::MAX / 2).is_err());
    }

    #[test]
    fn a_meter_asks_once_per_stride() {
        let mut meter = Meter::new(16);
        let mut asked = 0;
        for done in 0..100 * STRIDE {
            let next = meter.next;
            assert!(meter.reach(done).is_ok());
            asked += usize::from(meter.next != next);
        }
        assert!((100..120).contains(&asked), "{asked}");
    }
}
