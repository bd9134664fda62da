//! The Python module `compactwire._core`: each function converts arguments, makes one call to the
//! core, and converts the result or error.
//!
//! This crate mirrors the core, one file per subject. `args` converts arguments, `value` and `column` convert
//! values, `errors` converts errors; `make` creates Python objects, `interrupt` runs long calls, and
//! `record` has the base classes of value objects. Objects are frozen. A lock protects mutable state,
//! such as the content of a `DeltaStream`. No Python code runs while a thread holds a lock for which
//! another call waits; the module therefore declares that it does not need the interpreter's lock.
//!
//! PyO3 derives the signatures that Python shows. A `text_signature` is written only where Python's
//! default is not a literal in Rust. The Rust default is then mostly `None`, and the function itself
//! converts the argument, so that errors name it.

#![expect(clippy::doc_markdown, reason = "these are Python's docstrings")]
#![expect(clippy::needless_pass_by_value, reason = "PyO3 passes what it converts by value")]
#![expect(non_upper_case_globals, reason = "class attributes have the names that Python reads")]

mod abi;
mod args;
mod arrow;
mod bytes_memory;
mod cad;
mod calls;
mod claims;
mod column;
mod delta;
mod dictionary;
mod errors;
mod files;
mod gcf;
mod graph;
mod inspect;
mod interrupt;
mod lock;
mod make;
mod message;
mod record;
mod request;
mod response;
mod session;
mod shrink;
mod tool_call;
mod value;
mod wire;

use crate::calls::{Run, detach, import};
use crate::make::name;
use compactwire::memory::{Reserve, fill_reserve};
use errors::Result;
use interrupt::{DETACH_FROM, detached, poll_now, to_end, undone};
use lock::Lock;
use pyo3::PyClass;
use pyo3::prelude::*;
use value::collector::CollectorPause;

#[global_allocator]
static ALLOCATOR: Reserve = Reserve;

/// The compiled core of compactwire; import `compactwire` instead.
#[pymodule(gil_used = false)]
mod _core {
    use super::fill_reserve;
    use ::compactwire::{base85, claims as verifier};
    use pyo3::prelude::*;

    #[pymodule_export]
    use super::arrow::module as arrow;
    #[pymodule_export]
    use super::cad::cad;
    #[pymodule_export]
    use super::claims::claims;
    #[pymodule_export]
    use super::delta::{DeltaStream, apply_delta, encode_delta};
    #[pymodule_export]
    use super::dictionary::Dictionary;
    #[pymodule_export]
    use super::gcf::module as gcf;
    #[pymodule_export]
    use super::graph::module as graph;
    #[pymodule_export]
    use super::inspect::{Inspection, inspect};
    #[pymodule_export]
    use super::message::{decode, decode_base85, detect, encode, encode_base85, encode_bytes};
    #[pymodule_export]
    use super::record::{Frozen, Record};
    #[pymodule_export]
    use super::request::Request;
    #[pymodule_export]
    use super::response::{Response, restore_response};
    #[pymodule_export]
    use super::session::{Session, SessionStats, restore_session, restore_session_stats};
    #[pymodule_export]
    use super::shrink::{Shrunk, estimate_tokens_of, expand_text, shrink_object};
    #[pymodule_export]
    use super::tool_call::{
        ToolCall, decode_tool_call, encode_tool_call, encode_tool_call_bytes, restore_tool_call,
    };
    #[pymodule_export]
    use super::wire::module as wire;

    #[pymodule_export]
    #[expect(non_upper_case_globals, reason = "Python's name for it")]
    const __version__: &str = env!("CARGO_PKG_VERSION");

    /// What this module was built for, and the code that it has chosen for this processor.
    #[pyfunction(name = "_build")]
    fn build() -> Vec<(&'static str, String)> {
        let python = if cfg!(Py_LIMITED_API) { "the stable ABI" } else { "one version of CPython" };
        let profile = if cfg!(profiled) { "with" } else { "without" };
        let engine =
            |chosen: &str, compiled: Vec<&str>| format!("{chosen} of {}", compiled.join(", "));
        vec![
            ("module", format!("for {python}, compiled {profile} a profile of calls")),
            ("Base85", engine(base85::engine(), base85::engines())),
            ("Ed25519", engine(verifier::engine(), verifier::engines())),
        ]
    }

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        // Without the reserve, a small allocation that fails aborts the process.
        fill_reserve();
        Record::complete(module.py())
    }
}

/// Makes a class that no module exports. PyO3 would make it when it is first needed, and panics if there is not
/// enough memory then.
fn make_class<T: PyClass>(py: Python<'_>) -> PyResult<()> {
    PyModule::new(py, "_private")?.add_class::<T>()
}

/// Registers a submodule, so that `import compactwire._core.name` finds it although it is not a
/// file.
fn make_importable(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    let name = format!("compactwire._core.{}", module.name()?);
    module.setattr(name!(py, "__name__")?, &name)?;
    import(py, name!(py, "sys")?)?.run_getattr(name!(py, "modules")?)?.set_item(name, module)
}

/// Runs `work` under a lock for a short time. `work` must not run Python code, and must leave the content
/// valid even if it panics. A signal whose handler raises ends the wait for the lock.
fn locked<L, T>(py: Python<'_>, lock: &Lock<L>, work: impl FnOnce(&mut L) -> T) -> PyResult<T> {
    Ok(work(&mut *lock.hold(py)?))
}

/// The result of a call, made under a lock before the call changes what the lock protects: if there is no memory
/// for the result, or if Ctrl-C was pressed until now, nothing has changed.
fn built<T>(make: impl FnOnce(Python<'_>) -> PyResult<Bound<'_, T>>) -> Result<Py<T>> {
    Python::attach(|py| {
        // A collection could run Python code that waits for the lock.
        let _pause = CollectorPause::new(py, usize::MAX);
        let object = make(py)?.unbind();
        poll_now();
        Ok(object)
    })
}

/// Like [`locked`], without the interpreter lock if there are many bytes to process. Ctrl-C then stops
/// `work`, which may be called again afterwards: until its last poll, it must change nothing.
fn locked_long<L: Send, T: Send>(
    py: Python<'_>,
    lock: &Lock<L>,
    bytes: usize,
    mut work: impl Send + FnMut(&mut L) -> T,
) -> PyResult<T> {
    if bytes < DETACH_FROM {
        return to_end(|| locked(py, lock, work))?;
    }
    undone(py, || {
        let mut held = lock.hold(py)?;
        let content: &mut L = &mut held;
        Ok(detach(py, || work(content)))
    })?
}
