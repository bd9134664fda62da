//! The Python module `compactwire._core`: arguments in, one call, objects or errors out.
//!
//! The only place that knows Python. It mirrors the core, one file per subject; `args` converts
//! what Python passes, `errors` what it gets. Objects are frozen; what changes is behind a lock.
//! Declared safe without the interpreter lock: no object here is mutable from two threads.

#![expect(clippy::doc_markdown, reason = "these are Python's docstrings")]

mod args;
mod delta;
mod dictionary;
mod errors;
mod inspect;
mod message;
mod response;

use pyo3::prelude::*;

/// The compiled core of compactwire; import `compactwire` instead.
#[pymodule(gil_used = false)]
mod _core {
    #[pymodule_export]
    use super::delta::{DeltaStream, apply_delta, encode_delta};
    #[pymodule_export]
    use super::dictionary::Dictionary;
    #[pymodule_export]
    use super::inspect::{Inspection, inspect};
    #[pymodule_export]
    use super::message::{decode, decode_base85, detect, encode, encode_base85};
    #[pymodule_export]
    use super::response::{Response, restore_response};

    #[pymodule_export]
    #[expect(non_upper_case_globals, reason = "Python's name for it")]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}

/// Inputs from this many bytes on are worked on without the interpreter lock: below, waiting to get
/// it back can cost more than the work.
const DETACH_FROM: usize = 32 << 10;

/// Runs `work`, without the interpreter lock when the input is large.
fn detached<T: Send>(py: Python<'_>, input_len: usize, work: impl Send + FnOnce() -> T) -> T {
    if input_len < DETACH_FROM { work() } else { py.detach(work) }
}
