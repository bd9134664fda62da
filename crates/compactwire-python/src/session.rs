//! `compactwire.Session`: a lock round the core's session.

use super::DETACH_FROM;
use super::args::{self, Input, Size, utf8};
use super::errors::Result;
use super::gcf::KeyedSet;
use super::graph::{self, Payload};
use super::message::DEFAULT_MAX_SIZE;
use super::request::{Request, canonical, tools};
use compactwire::session::{self, Limits, Outgoing, Style};
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::{PyBytes, PyList, PyString, PyTuple};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// What one side of a connection remembers, so that a turn costs what is new in it. Thread-safe.
///
/// Both sides have one. It holds both directions: what the peer has from this side, and what this
/// side has from the peer; in each 256 tools, 64 prompts and one context. Of tools and prompts the
/// least recently used go first, on both sides alike. A copy or a pickle goes on where the session
/// stands.
///
/// Parameters
/// ----------
/// max_size : int
///     The largest context, the most that all tools or all prompts may have together, and the
///     largest decompressed size, in bytes and in each direction; 64 MiB by default.
/// checked : bool
///     Say in a request what it means (`D|=|c_…`, a hash of its tools, prompt and context), so that
///     a peer that is out of step raises `UnknownReference` instead of taking a wrong one; and
///     compress what is packed against the context that the peer has. False for peers that are not
///     this package, which know neither; what is read is checked where it says so.
///
/// Source: Compact Protocol v2 part 2.
#[pyclass(frozen, module = "compactwire")]
pub(super) struct Session {
    core: Mutex<session::Session>,
    checked: bool,
}

#[pymethods]
impl Session {
    #[new]
    #[pyo3(signature = (*, max_size = DEFAULT_MAX_SIZE, checked = true))]
    #[pyo3(text_signature = "(*, max_size=67108864, checked=True)")]
    fn new(max_size: Size, checked: bool) -> Self {
        let limits = Limits { max_size: max_size.0 };
        Self { core: Mutex::new(session::Session::new(limits)), checked }
    }

    /// Write a request: what the peer has is named, the rest is sent.
    ///
    /// Parameters
    /// ----------
    /// tool : dict or list of dict, optional
    ///     The definition of a tool, or of all tools of the request; at most 256.
    /// system : str, optional
    ///     The system prompt.
    /// args : optional
    ///     The arguments: any value that `json.dumps` takes.
    /// context : str, optional
    ///     The whole conversation so far. A request without one leaves the peer's as it is.
    /// pack : bool
    ///     Make one text of the frames, compressed: for programs, not for models.
    /// references : bool
    ///     Write `TOOL|ref|` and `SYS|ref|` frames for what the peer has.
    ///
    /// Returns
    /// -------
    /// list of str, or str
    ///     Frames, to be delivered whole and in this order; with `pack`, one text of ASCII that
    ///     begins with "S". The session takes them for delivered: where they were not, `forget`.
    ///
    /// Raises
    /// ------
    /// EncodeError
    ///     A value that JSON has not, or too much of something; `field` names it, as in
    ///     "args.rows[3].total". The session stays as it was.
    /// TypeError
    ///     A value of a type that JSON has not.
    ///
    /// Source: Compact Protocol v2 "Compact Request Format", v4 section 11.
    #[pyo3(signature = (
        *, tool = None, system = None, args = None, context = None, pack = false,
        references = false,
    ))]
    #[expect(clippy::too_many_arguments, reason = "the fields of a request and two options")]
    fn encode_request<'py>(
        &self,
        py: Python<'py>,
        tool: Option<&Bound<'py, PyAny>>,
        system: Option<&Bound<'py, PyAny>>,
        args: Option<&Bound<'py, PyAny>>,
        context: Option<&Bound<'py, PyAny>>,
        pack: bool,
        references: bool,
    ) -> Result<Bound<'py, PyAny>> {
        let tools = tool.map_or(Ok(Vec::new()), tools)?;
        let args = canonical(args, "args")?;
        let system = system.map(|value| args::text(value, "system")).transpose()?;
        let context = context.map(|value| args::text(value, "context")).transpose()?;
        let request = Outgoing {
            tools: tools.iter().map(String::as_str).collect(),
            system: system.map(|text| utf8(text, "system")).transpose()?,
            args: &args,
            context: context.map(|text| utf8(text, "context")).transpose()?,
        };
        let style = Style { checked: self.checked, references };
        let bytes = args.len() + request.context.map_or(0, str::len);
        if pack {
            let packed = self.work(py, bytes, |core| core.encode_packed(&request, style));
            let packed = packed?;
            return Ok(PyString::new(py, &packed).into_any());
        }
        let frames = self.work(py, bytes, |core| core.encode_request(&request, style));
        let frames = frames?;
        Ok(PyList::new(py, frames)?.into_any())
    }

    /// Read a request of the peer.
    ///
    /// Parameters
    /// ----------
    /// frames : iterable of str, or str
    ///     What the peer's `encode_request` gave: frames in their order, or the packed text. Each
    ///     may also be UTF-8 bytes.
    ///
    /// Returns
    /// -------
    /// Request
    ///     With everything resolved.
    ///
    /// Raises
    /// ------
    /// UnknownReference
    ///     The request relies on something that this side does not have: something was lost, came
    ///     twice or out of order, or one side started anew. `ids` names it, and what was
    ///     refused with it; when the sender gives them to its `forget` and writes the request
    ///     again, it holds what is missing.
    /// DecodeError
    ///     `InvalidFormat` for what is no frame or no JSON; for a packed text and for compressed
    ///     deltas also the errors of Base85, decompression and MessagePack.
    ///
    /// After an error the session is what it was.
    ///
    /// Source: Compact Protocol v2 part 2, v4 section 11.
    #[pyo3(signature = (frames, /))]
    fn decode_request(&self, frames: &Bound<'_, PyAny>) -> Result<Request> {
        let py = frames.py();
        let single = Input::new(frames).ok();
        let is_single = single.is_some();
        let data = match single {
            Some(data) => vec![data],
            None => frames.try_iter()?.map(|frame| Input::new(&frame?)).collect::<PyResult<_>>()?,
        };
        let texts = data.iter().map(|data| data.text(py)).collect::<PyResult<Vec<_>>>()?;
        let bytes = texts.iter().map(|text| text.len()).sum();
        let request = match texts[..] {
            [text] if is_single && is_packed(text) => {
                self.work(py, bytes, |core| core.decode_packed(text))
            }
            _ => self.work(py, bytes, |core| core.decode_request(&texts)),
        };
        let request = request?;
        Ok(Request::from_core(py, request))
    }

    /// Write a graph payload: a symbol is declared once, then named by its id.
    ///
    /// Parameters
    /// ----------
    /// payload : Payload
    ///     The payload.
    /// dangling, allow_unicode, locations
    ///     As in `gcf.encode`.
    ///
    /// Returns
    /// -------
    /// str
    ///     The text. The session takes it for delivered: where it was not, `forget_graph`. After an
    ///     hour without a graph, or a day, and beyond 65,536 symbols, it is a full text without
    ///     `session=true`, and the symbols start over.
    ///
    /// Raises
    /// ------
    /// GcfError
    ///     As `gcf.encode`; the session stays as it was.
    ///
    /// Source: GCF 3.6 section 11.
    #[pyo3(signature = (
        payload, /, *, dangling = "error", allow_unicode = false, locations = true
    ))]
    fn encode_graph(
        &self,
        py: Python<'_>,
        payload: &Payload,
        dangling: &str,
        allow_unicode: bool,
        locations: bool,
    ) -> Result<String> {
        let options = graph::options(dangling, allow_unicode, locations)?;
        let payload = payload.core.clone();
        let text =
            self.work(py, payload.size(), |core| core.encode_graph(&payload, options, now()));
        Ok(text?)
    }

    /// Read a graph text of the peer, and resolve what it names.
    ///
    /// Parameters
    /// ----------
    /// text : str, bytes, bytearray or memoryview
    ///     What the peer's `encode_graph` gave, or any other text of the graph profile.
    ///
    /// Returns
    /// -------
    /// Payload, DeltaPayload or Unchanged
    ///     What the text says that it is. Only a payload with `session=true` changes what is known.
    ///
    /// Raises
    /// ------
    /// GcfError
    ///     As `gcf.decode`; `unknown_session_reference` and `session_conflict` mean that the two
    ///     sides are out of step: `reset` both. The session stays as it was.
    ///
    /// Source: GCF 3.6 section 11.
    #[pyo3(signature = (text, /))]
    fn decode_graph<'py>(&self, text: &Bound<'py, PyAny>) -> Result<Bound<'py, PyAny>> {
        let py = text.py();
        let text = Input::new(text)?;
        let text = text.gcf_text()?;
        let decoded = self.work(py, text.len(), |core| core.decode_graph(text))?;
        Ok(graph::content(py, decoded)?)
    }

    /// Take the last graph for lost: its symbols are declared again under their ids.
    fn forget_graph(&self, py: Python<'_>) {
        self.work(py, 0, session::Session::forget_graph);
    }

    /// Write a keyed set: whole once, then as what changed.
    ///
    /// Parameters
    /// ----------
    /// set : KeyedSet
    ///     The set as it is now.
    /// tool : str
    ///     Stands in the header unless it is empty.
    ///
    /// Returns
    /// -------
    /// str
    ///     "Unchanged", a delta when it is smaller than 60 % of the whole set, or the whole set:
    ///     since the last of the same name, fields and key. The session takes it for delivered:
    ///     where it was not, `forget_keyed`. It keeps the last set of 16 names.
    ///
    /// Raises
    /// ------
    /// GcfError
    ///     `invalid_header_value` for the tool; the session stays as it was.
    ///
    /// Source: GCF 3.6 section 10a.4.
    #[pyo3(signature = (set, /, *, tool = ""))]
    fn encode_keyed(&self, py: Python<'_>, set: &KeyedSet, tool: &str) -> Result<String> {
        let set = Arc::clone(&set.0);
        let text = self.work(py, set.size(), |core| core.encode_keyed(set, tool));
        Ok(text?)
    }

    /// Read what the peer's `encode_keyed` gave.
    ///
    /// Parameters
    /// ----------
    /// text : str, bytes, bytearray or memoryview
    ///     The text.
    ///
    /// Returns
    /// -------
    /// KeyedSet
    ///     The set that the peer has.
    ///
    /// Raises
    /// ------
    /// GcfError
    ///     As `gcf.receive_keyed`; `base_mismatch` means that a text was lost: the peer's
    ///     `forget_keyed` makes its next one whole. The session stays as it was.
    ///
    /// Source: GCF 3.6 sections 10a.4 and 10a.5.
    #[pyo3(signature = (text, /))]
    fn decode_keyed(&self, text: &Bound<'_, PyAny>) -> Result<KeyedSet> {
        let py = text.py();
        let text = Input::new(text)?;
        let text = text.gcf_text()?;
        let set = self.work(py, text.len(), |core| core.decode_keyed(text));
        Ok(set.map(KeyedSet)?)
    }

    /// Take the keyed sets that were sent for lost: the next of each name goes whole.
    fn forget_keyed(&self, py: Python<'_>) {
        self.work(py, 0, session::Session::forget_keyed);
    }

    /// Forget that the peer has these, so that the next request carries them again.
    ///
    /// Parameters
    /// ----------
    /// ids : str
    ///     The `ids` of an `UnknownReference`: tools `t_…`, prompts `s_…`, the context `c_…`.
    ///
    /// Returns
    /// -------
    /// int
    ///     How many of them there were.
    #[pyo3(signature = (*ids))]
    fn forget(&self, ids: &Bound<'_, PyTuple>) -> PyResult<usize> {
        let py = ids.py();
        let ids = ids.iter().map(|id| {
            let id = args::text(&id, "id")?.clone();
            utf8(&id, "id").map(str::to_owned)
        });
        let ids = ids.collect::<PyResult<Vec<_>>>()?;
        Ok(self.work(py, 0, |core| ids.iter().filter(|id| core.forget(id)).count()))
    }

    /// Forget everything, in both directions; the counts of `stats` go on.
    fn reset(&self, py: Python<'_>) {
        self.work(py, 0, session::Session::reset);
    }

    /// What was exchanged so far, and what it saved.
    #[getter]
    fn stats(&self, py: Python<'_>) -> SessionStats {
        let stats = self.work(py, 0, |core| core.stats());
        SessionStats { stats }
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        let stats = self.work(py, 0, |core| core.stats());
        let session::Stats { messages, bytes_out, bytes_in, .. } = stats;
        let saved = stats.savings() * 100.0;
        format!(
            "<Session: {messages} messages, {bytes_out} bytes out, {bytes_in} in, {saved:.1}% saved>"
        )
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyTuple>> {
        let bytes = self.work(py, DETACH_FROM, |core| core.to_bytes());
        let bytes = bytes?;
        let restore = py.import("compactwire._core")?.getattr("_restore_session")?;
        Ok((restore, (PyBytes::new(py, &bytes), self.checked)).into_pyobject(py)?)
    }
}

/// The time by which sessions of graphs grow old, also over a pickle.
pub(super) fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// Counts of a session, both directions; bytes are those of UTF-8 text.
#[pyclass(frozen, eq, hash, module = "compactwire")]
#[derive(PartialEq, Hash)]
pub(super) struct SessionStats {
    stats: session::Stats,
}

#[pymethods]
impl SessionStats {
    #[new]
    #[pyo3(signature = (*, messages = 0, bytes_out = 0, bytes_in = 0, plain_bytes = 0))]
    fn new(messages: u64, bytes_out: u64, bytes_in: u64, plain_bytes: u64) -> Self {
        Self { stats: session::Stats { messages, bytes_out, bytes_in, plain_bytes } }
    }

    /// Requests written and read.
    #[getter]
    fn messages(&self) -> u64 {
        self.stats.messages
    }

    /// Bytes of the frames written.
    #[getter]
    fn bytes_out(&self) -> u64 {
        self.stats.bytes_out
    }

    /// Bytes of the frames read.
    #[getter]
    fn bytes_in(&self) -> u64 {
        self.stats.bytes_in
    }

    /// Bytes of the same requests as compact JSON, with tools, prompt and whole context.
    #[getter]
    fn plain_bytes(&self) -> u64 {
        self.stats.plain_bytes
    }

    /// The part of `plain_bytes` that was not sent: 0.94 where 100 bytes took 6.
    ///
    /// 0.0 before the first request, negative where plain re-sending had been shorter.
    #[getter]
    fn savings(&self) -> f64 {
        self.stats.savings()
    }

    fn __repr__(&self) -> String {
        let session::Stats { messages, bytes_out, bytes_in, plain_bytes } = self.stats;
        format!(
            "SessionStats(messages={messages}, bytes_out={bytes_out}, bytes_in={bytes_in}, \
             plain_bytes={plain_bytes})"
        )
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let session::Stats { messages, bytes_out, bytes_in, plain_bytes } = slf.get().stats;
        let restore = slf.py().import("compactwire._core")?.getattr("_restore_session_stats")?;
        (restore, (messages, bytes_out, bytes_in, plain_bytes)).into_pyobject(slf.py())
    }
}

/// Makes pickled counts again.
#[pyfunction(name = "_restore_session_stats")]
pub(super) fn restore_session_stats(
    messages: u64,
    bytes_out: u64,
    bytes_in: u64,
    plain_bytes: u64,
) -> SessionStats {
    SessionStats::new(messages, bytes_out, bytes_in, plain_bytes)
}

/// Makes a pickled session again.
#[pyfunction(name = "_restore_session")]
pub(super) fn restore_session(state: &Bound<'_, PyBytes>, checked: bool) -> Result<Session> {
    let py = state.py();
    let bytes = state.as_bytes();
    let core = super::detached(py, bytes.len(), || session::Session::from_bytes(bytes));
    let core = core?;
    Ok(Session { core: Mutex::new(core), checked })
}

/// Whether a text is a packed request rather than a frame.
fn is_packed(text: &str) -> bool {
    let text = text.trim_ascii_start();
    text.starts_with('S') && !text.starts_with("SYS|")
}

impl Session {
    /// Works on the session under its lock; nothing of Python's may happen in `work`.
    pub(super) fn work<T: Send>(
        &self,
        py: Python<'_>,
        bytes: usize,
        work: impl Send + FnOnce(&mut session::Session) -> T,
    ) -> T {
        // What is planned is committed whole, so that a poisoned lock holds a valid session.
        if bytes < DETACH_FROM {
            let lock = self.core.lock_py_attached(py);
            return work(&mut lock.unwrap_or_else(PoisonError::into_inner));
        }
        py.detach(|| work(&mut self.core.lock().unwrap_or_else(PoisonError::into_inner)))
    }
}
