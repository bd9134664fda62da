//! `gcf.GraphStreamEncoder`: writes a graph symbol by symbol.
//!
//! Invariant: lines reach the sink in the order of the encoder, also from several threads, and symbols count as
//! delivered after the last of them.

use super::arguments::{count_of, options, text_of};
use super::types::{Edge, Symbol};
use crate::args::named;
use crate::args::{self, Unused};
use crate::calls::{Owned, Run};
use crate::errors::Result;
use crate::lock::{Writer, Writing};
use crate::make::{args, ensure_memory, make_str};
use crate::session::{Session, now};
use compactwire::gcf;
use compactwire::gcf::graph::{self, SentSymbols, StreamEncoder, StreamOptions};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Writes a graph symbol by symbol, with the counts at the end.
///
/// Write all symbols first, then the edges. `close` ends the text, and so does leaving a `with`
/// block without an exception. A call that raises writes nothing. If `write` itself raises, the
/// text is incomplete: every later call raises, and the session counts nothing as delivered.
/// Thread-safe.
///
/// Parameters
/// ----------
/// write : callable
///     Called with each piece of the text, a str.
/// tool : str
///     The tool that produced the payload.
/// token_budget, tokens_used : int
///     As in `Payload`.
/// pack_root : str
///     The identity of the content, if it is known in advance.
/// session : Session, optional
///     The session with the peer. Symbols that the peer has are referred to by id; new symbols get
///     their ids immediately and count as delivered when the text ends.
/// labeled_counts : bool
///     Whether the last line labels the counts.
/// dangling, allow_unicode, locations
///     As in `encode`.
///
/// Raises
/// ------
/// GcfError
///     `invalid_header_value`, `out_of_range`; `invalid_line` for a call by `write` itself.
///
/// Source: GCF 3.6 sections 8 and 11.
#[pyclass(frozen, module = "compactwire.gcf")]
pub(super) struct GraphStreamEncoder {
    write: Owned,
    encoder: Mutex<StreamEncoder>,
    session: Option<Py<Session>>,
    /// Held from the encoding of lines until they are written, and by `close` until they count as delivered.
    writing: Writing,
    /// Whether `write` has raised.
    failed: AtomicBool,
    /// Whether the text has ended, and its symbols do not count as delivered yet.
    is_undelivered: AtomicBool,
    /// The total size in bytes of the file names in locations, which `close` writes.
    locations: AtomicUsize,
}

/// The bytes of memory for each byte of a text that is written: quoted, in a line, and as a str.
const TEXT_FACTOR: usize = 16;

#[pymethods]
impl GraphStreamEncoder {
    #[new]
    #[pyo3(signature = (
        write, /, tool = None, *, token_budget = None, tokens_used = None, pack_root = None,
        session = None, labeled_counts = false, dangling = "error", allow_unicode = false, locations = true,
    ))]
    #[pyo3(text_signature = "(write, /, tool='', *, token_budget=0, tokens_used=0, pack_root='', \
                             session=None, labeled_counts=False, dangling='error', \
                             allow_unicode=False, locations=True)")]
    #[expect(clippy::too_many_arguments, reason = "options")]
    fn new(
        write: &Bound<'_, PyAny>,
        tool: Option<&Bound<'_, PyAny>>,
        token_budget: Option<&Bound<'_, PyAny>>,
        tokens_used: Option<&Bound<'_, PyAny>>,
        pack_root: Option<&Bound<'_, PyAny>>,
        #[pyo3(from_py_with = named::session)] session: Option<Py<Session>>,
        #[pyo3(from_py_with = named::labeled_counts)] labeled_counts: bool,
        #[pyo3(from_py_with = args::words::dangling)] dangling: &str,
        #[pyo3(from_py_with = named::allow_unicode)] allow_unicode: bool,
        #[pyo3(from_py_with = named::locations)] locations: bool,
    ) -> Result<Self> {
        let py = write.py();
        args::check_callable(write, "write")?;
        let header = gcf::graph::Payload {
            tool: text_of(tool, "tool")?,
            tokens_used: count_of(tokens_used, "tokens_used")?,
            token_budget: count_of(token_budget, "token_budget")?,
            pack_root: text_of(pack_root, "pack_root")?,
            ..gcf::graph::Payload::default()
        };
        ensure_memory(TEXT_FACTOR.saturating_mul(header.tool.len() + header.pack_root.len()))?;
        let encode = options(dangling, allow_unicode, locations)?;
        let options = StreamOptions { encode, labeled_counts };
        let mut out = String::new();
        let encoder = match &session {
            None => StreamEncoder::new(&header, options, &mut out),
            Some(session) => session
                .get()
                .work(py, |core| core.stream_graph(&header, options, now(), &mut out))?,
        };
        let encoder = Mutex::new(encoder?);
        write.run(args!(py, make_str(py, &out)?)?)?;
        let (failed, locations) = (AtomicBool::new(false), AtomicUsize::new(0));
        let writing = Writing::default();
        Ok(Self {
            write: Owned::new(write.clone().unbind()),
            encoder,
            session,
            writing,
            failed,
            is_undelivered: AtomicBool::new(false),
            locations,
        })
    }

    /// Write a symbol.
    ///
    /// Parameters
    /// ----------
    /// symbol : Symbol
    ///     The symbol.
    ///
    /// Raises
    /// ------
    /// GcfError
    ///     As `encode`; `invalid_line` after the first edge, after the end, or if the session was
    ///     reset in the meantime.
    #[pyo3(signature = (symbol, /))]
    fn write_symbol(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = named::symbol)] symbol: &Symbol,
    ) -> Result<()> {
        let graph::Symbol { qualified_name, kind, provenance, signature, location, .. } =
            &*symbol.0;
        let file = location.as_deref().map_or(0, |location| location.file.len());
        let size = qualified_name.len() + kind.len() + provenance.len() + signature.len() + file;
        let _writer = self.begin(py)?;
        self.locations.fetch_add(file, Ordering::AcqRel);
        self.append(py, size, |encoder, sent, out| encoder.symbol(&symbol.0, sent, out))
    }

    /// Write an edge between symbols already written.
    ///
    /// Parameters
    /// ----------
    /// edge : Edge
    ///     The edge.
    ///
    /// Raises
    /// ------
    /// GcfError
    ///     As `encode`; `invalid_line` after the end, or if the session was reset in the meantime.
    #[pyo3(signature = (edge, /))]
    fn write_edge(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = named::edge)] edge: &Edge,
    ) -> Result<()> {
        let names = edge.0.source.len() + edge.0.target.len();
        let _writer = self.begin(py)?;
        self.append(py, names, |encoder, sent, out| encoder.edge(&edge.0, sent.as_deref(), out))
    }

    /// Write the locations and the last line; a second call does nothing.
    ///
    /// Raises
    /// ------
    /// GcfError
    ///     `invalid_line` if `write` raised before, or the session was reset: the text is
    ///     incomplete.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let _writer = self.begin(py)?;
        let locations = self.locations.load(Ordering::Acquire);
        self.append(py, locations, |encoder, sent, out| {
            encoder.close(sent.as_deref(), out)?;
            self.is_undelivered.fetch_or(!out.is_empty(), Ordering::AcqRel);
            Ok(())
        })?;
        if let Some(session) = self.session.as_ref()
            && self.is_undelivered.load(Ordering::Acquire)
        {
            // The symbols count as delivered only now: an incomplete text delivers nothing.
            session.get().work(py, |core| self.lock(py).deliver(core.sent_symbols(), now()))?;
            self.is_undelivered.store(false, Ordering::Release);
        }
        Ok(())
    }

    fn __enter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    #[pyo3(signature = (kind, value, traceback, /))]
    fn __exit__(&self, kind: &Bound<'_, PyAny>, value: Unused, traceback: Unused) -> PyResult<()> {
        // After an exception the text is incomplete: without its last line, readers notice that.
        let _ = (value, traceback);
        if kind.is_none() { self.close(kind.py()) } else { Ok(()) }
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&*self.write)?;
        visit.call(&self.session)
    }
}

impl GraphStreamEncoder {
    /// The encoder, which other threads lock for a short time only. The session is locked before it, because
    /// the wait for a session may be long and run handlers of signals.
    fn lock(&self, py: Python<'_>) -> MutexGuard<'_, StreamEncoder> {
        self.encoder.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until no other thread writes.
    fn begin(&self, py: Python<'_>) -> Result<Writer<'_>> {
        let message = "the stream is writing: its sink must not call it";
        let begun = self.writing.begin(py)?;
        Ok(begun.ok_or_else(|| gcf::Error::without_place(gcf::Code::InvalidLine, message))?)
    }

    /// Applies `change` to the encoder and writes the resulting lines. The texts in them have `size` bytes.
    /// The caller has the turn.
    fn append(
        &self,
        py: Python<'_>,
        size: usize,
        change: impl Send
        + FnOnce(
            &mut StreamEncoder,
            Option<&mut SentSymbols>,
            &mut String,
        ) -> Result<(), gcf::Error>,
    ) -> Result<()> {
        if self.failed.load(Ordering::Acquire) {
            let message = "an earlier call of write raised an exception: the text is incomplete, \
                           so start a new stream";
            return Err(gcf::Error::without_place(gcf::Code::InvalidLine, message).into());
        }
        ensure_memory(TEXT_FACTOR.saturating_mul(size))?;
        let mut out = String::new();
        let changed = match &self.session {
            None => change(&mut self.lock(py), None, &mut out),
            Some(session) => session
                .get()
                .work(py, |core| change(&mut self.lock(py), Some(core.sent_symbols()), &mut out))?,
        };
        changed?;
        if !out.is_empty() {
            make_str(py, &out)
                .and_then(|text| self.write.bind(py).run(args!(py, text)?))
                .inspect_err(|_| self.failed.store(true, Ordering::Release))?;
        }
        Ok(())
    }
}
