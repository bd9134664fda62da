//! Running out of memory as an error.
//!
//! The standard library ends the process if there is no memory for a `Vec` or `String` that grows. What
//! is known to be large is therefore requested with `try_reserve`. Where many things grow at once, or
//! within another library, the memory that they may take is requested as a whole first, and given back:
//! [`ensure`], or [`Meter`] for work of unknown size. This takes no time to speak of, because memory that
//! is never written has no pages.

use std::collections::TryReserveError;

/// Less is not asked for: such requests of the standard library may end the process.
const SMALL: usize = 64 << 10;

/// Work between two questions of a [`Meter`], once it has done as much.
const STRIDE: usize = 64 << 10;

/// The message of errors for which there is no code.
pub const NO_MEMORY: &str = "there is not enough memory";

/// Whether there is memory for `bytes` more.
///
/// # Errors
/// There is not.
#[inline]
pub fn ensure(bytes: usize) -> Result<(), TryReserveError> {
    if bytes < SMALL { Ok(()) } else { ask(bytes) }
}

#[cold]
fn ask(bytes: usize) -> Result<(), TryReserveError> {
    let mut memory = Vec::<u8>::new();
    let answer = memory.try_reserve_exact(bytes);
    // Otherwise the compiler omits the request.
    std::hint::black_box(&memory);
    answer
}

/// The error of a request that did not return one.
#[cold]
pub fn exhausted() -> TryReserveError {
    match Vec::<u8>::new().try_reserve_exact(usize::MAX) {
        Err(error) => error,
        Ok(()) => unreachable!("no allocation is larger than the address space"),
    }
}

/// Asks now and then whether there is memory for what work that grows may take.
#[derive(Debug, Clone)]
pub struct Meter {
    /// The bytes that a unit of work takes.
    factor: usize,
    /// The work after which to ask again.
    next: usize,
}

impl Meter {
    /// A meter of work each unit of which takes up to `factor` bytes.
    pub const fn new(factor: usize) -> Self {
        Self { factor, next: SMALL / factor }
    }

    /// Asks, if it is time to, for the memory of the work until the next question. So much work will be
    /// `done` when the next item is. What was done before counts again, since buffers double.
    ///
    /// # Errors
    /// There is not enough memory.
    #[inline]
    pub fn reach(&mut self, done: usize) -> Result<(), TryReserveError> {
        if done < self.next { Ok(()) } else { self.ask(done) }
    }

    /// The work for which there is memory.
    #[inline]
    pub fn next(&self) -> usize {
        self.next
    }

    #[cold]
    fn ask(&mut self, done: usize) -> Result<(), TryReserveError> {
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
