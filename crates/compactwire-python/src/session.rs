//! `compactwire.Session`: the state of one side of a connection. Compact Protocol v2 part 2.
//!
//! Invariant: a call changes the session completely or not at all, also if Ctrl-C ends it. A lock protects
//! the core's session; no Python code runs while it is held.

use super::args::{self, Input, class_name, each, lossy, natural, sizes, utf8};
use super::errors::{Error, Result, invalid_format, invalid_option};
use super::gcf::KeyedSet;
use super::graph::arguments::options;
use super::graph::types::{Payload, content, show_warnings};
use super::record::{self, Names, Record, returned_by_value};
use super::request::{Request, canonical, chat, tools};
use super::value::{converter, read_with};
use super::{DETACH_FROM, built, locked, locked_long};
use crate::args::named;
use crate::calls::{Run, import};
use crate::lock::Lock;
use crate::make::{Number, Str, ensure_memory, make_bytes, make_list, make_str, name, py_error};
use compactwire::excerpt::excerpt;
use compactwire::session::{self, DecodeOptions, Limits, Outgoing, Style, is_packed};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyString, PyTuple};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The state of one side of a connection, so that each turn sends only what is new. Thread-safe.
///
/// Each side has a session. It covers both directions: what this side has sent to the peer, and
/// what it has received from the peer. Each direction holds 256 tools, 64 prompts and one context;
/// the least recently used tools and prompts are evicted first, on both sides alike. A copy or
/// pickle continues from the current state.
///
/// Parameters
/// ----------
/// max_size : int
///     The largest size in bytes, in each direction, of the context, of all tools together, of all
///     prompts together, and of decompressed data; 64 MiB by default.
/// checked : bool
///     Whether a request contains a hash of its tools, prompt and context (`D|=|c_…`), so that a
///     peer that is out of step raises `UnknownReference` instead of resolving to wrong content;
///     and whether packed requests are compressed against the context that the peer has. Use False
///     for peers other than this package, which support neither: a request that is lost, repeated
///     or late can then give wrong content without an error. A received hash is always checked.
///
/// Source: Compact Protocol v2 part 2.
#[pyclass(frozen, module = "compactwire")]
pub(super) struct Session {
    core: Lock<session::Session>,
    checked: bool,
}

#[pymethods]
impl Session {
    #[new]
    #[pyo3(signature = (*, max_size = 67_108_864, checked = true))]
    fn new(
        #[pyo3(from_py_with = sizes::max_size)] max_size: usize,
        #[pyo3(from_py_with = named::checked)] checked: bool,
    ) -> Self {
        let limits = Limits { max_size };
        Self { core: Lock::new(session::Session::new(limits)), checked }
    }

    /// Encode a request: references for what the peer has, and the content of everything else.
    ///
    /// Parameters
    /// ----------
    /// tool : dict or list of dict, optional
    ///     The definition of the tool, or of all tools of the request; at most 256.
    /// system : str, optional
    ///     The system prompt.
    /// args : optional
    ///     The arguments: any value that `json.dumps` takes; keys are str.
    /// context : str, optional
    ///     The whole conversation so far. A request without a context leaves the peer's context
    ///     unchanged.
    /// messages : iterable of dict, optional
    ///     The whole conversation so far as chat messages, in place of `context`: any dicts, such
    ///     as those of the APIs of OpenAI and Anthropic. `Request.messages` returns them. If the
    ///     conversation has only grown, only the new messages are sent.
    /// pack : bool or "bytes"
    ///     Whether to join and compress the frames into one string, which a program can read but a
    ///     model cannot; "bytes" is for transports that carry bytes, and a fifth shorter.
    /// references : bool
    ///     Whether to write `TOOL|ref|` and `SYS|ref|` frames for tools and prompts that the peer
    ///     has.
    /// types : {"json", "common"}
    ///     Which objects `tool`, `args` and `messages` may contain: "json" only those that
    ///     `Request` returns; "common" also dates, UUIDs, enums, dataclasses, pydantic models and
    ///     others, which are written as `shrink` writes them.
    /// default : callable, optional
    ///     Converts other objects, as in `json.dumps`.
    ///
    /// Returns
    /// -------
    /// list of str, str or bytes
    ///     Frames, to be delivered completely and in this order; with `pack`, one ASCII string that
    ///     begins with "S", or the bytes that it encodes in Base85. The session assumes that they
    ///     are delivered: if not, call `forget`.
    ///
    /// Raises
    /// ------
    /// UnsupportedValue
    ///     A value has no JSON form; `path` is its path, such as "args.rows[3].total". The session
    ///     stays unchanged.
    /// EncodeError
    ///     A limit is exceeded. The session stays unchanged.
    ///
    /// Source: Compact Protocol v2 "Compact Request Format", v4 section 11.
    #[pyo3(signature = (
        *, tool = None, system = None, args = None, context = None, messages = None,
        pack = Pack::No, references = false, types = "json", default = None,
    ))]
    #[pyo3(text_signature = "($self, *, tool=None, system=None, args=None, context=None, \
                             messages=None, pack=False, references=False, \
                             types='json', default=None)")]
    #[expect(clippy::too_many_arguments, reason = "the fields of a request and the options")]
    fn encode_request<'py>(
        &self,
        py: Python<'py>,
        tool: Option<&Bound<'py, PyAny>>,
        system: Option<&Bound<'py, PyAny>>,
        args: Option<&Bound<'py, PyAny>>,
        context: Option<&Bound<'py, PyAny>>,
        messages: Option<&Bound<'py, PyAny>>,
        #[pyo3(from_py_with = pack)] pack: Pack,
        #[pyo3(from_py_with = named::references)] references: bool,
        #[pyo3(from_py_with = args::words::types)] types: &str,
        default: Option<&Bound<'py, PyAny>>,
    ) -> Result<Bound<'py, PyAny>> {
        let default = converter(py, types, default)?;
        let read = |object: &_, root: &str| read_with(object, root, default.as_ref());
        let tools = tool.map_or(Ok(Vec::new()), |tool| tools(tool, read))?;
        let args = canonical(args, "args", read)?;
        let system = system.map(|value| args::text(value, "system")).transpose()?;
        if context.is_some() && messages.is_some() {
            return Err(py_error::<PyTypeError>("pass context or messages, not both").into());
        }
        let context = context.map(|value| args::text(value, "context")).transpose()?;
        let context = context.map(|text| utf8(text, "context")).transpose()?;
        let chat = messages.map(|messages| chat(messages, read)).transpose()?;
        let request = Outgoing {
            tools: tools.iter().map(String::as_str).collect(),
            system: system.map(|text| utf8(text, "system")).transpose()?,
            args: &args,
            context: context.or(chat.as_deref()),
        };
        let style = Style { checked: self.checked, references };
        let bytes = args.len() + request.context.map_or(0, str::len);
        self.ensure_memory(py, bytes)?;
        match pack {
            Pack::No => {}
            Pack::Text => {
                let packed = self.work_long(py, bytes, |core| {
                    let make = |packed: String| built(|py| make_str(py, &packed));
                    core.encode_packed_with(&request, style, make)
                })?;
                return Ok(packed?.into_bound(py).into_any());
            }
            Pack::Bytes => {
                let packed = self.work_long(py, bytes, |core| {
                    let make = |packed: Vec<u8>| built(|py| make_bytes(py, &packed));
                    core.encode_packed_bytes_with(&request, style, make)
                })?;
                return Ok(packed?.into_bound(py).into_any());
            }
        }
        let frames = self.work_long(py, bytes, |core| {
            core.encode_request_with(&request, style, |frames| {
                built(|py| make_list(py, frames.iter().map(|frame| make_str(py, frame))))
            })
        })?;
        Ok(frames?.into_bound(py).into_any())
    }

    /// Decode a request of the peer.
    ///
    /// Parameters
    /// ----------
    /// frames : iterable of str, str or bytes
    ///     The output of the peer's `encode_request`: frames in order, or the packed request. Each
    ///     frame may also be UTF-8 bytes.
    /// resync : bool
    ///     Whether a request may replace this side's conversation although its sender does not know
    ///     that conversation. By default such a request is rejected once, because it is usually a
    ///     first request that was delivered again; a sender that was restarted calls `forget` and
    ///     sends it again.
    /// lost : bool
    ///     Whether this side has lost the conversation that the sender continues. A request without
    ///     a hash, of a session with `checked=False`, is then rejected unless it contains the
    ///     conversation in full; otherwise, an addition would be read as the whole conversation.
    ///
    /// Returns
    /// -------
    /// Request
    ///     The request with all references resolved.
    ///
    /// Raises
    /// ------
    /// UnknownReference
    ///     The request refers to content that this side does not have: a request was lost,
    ///     duplicated or reordered, or one side was restarted. `ids` holds the missing references,
    ///     those that the rejected frames define, and the conversation that this side has. The
    ///     sender passes them to `forget` and encodes the request again, which then contains the
    ///     missing content.
    /// DecodeError
    ///     `InvalidFormat` for an invalid frame or invalid JSON; for packed strings and compressed
    ///     deltas also the errors of Base85, decompression and MessagePack.
    ///
    /// An error leaves the session unchanged.
    ///
    /// Source: Compact Protocol v2 part 2, v4 section 11.
    #[pyo3(signature = (frames, /, *, resync = false, lost = false))]
    fn decode_request(
        &self,
        frames: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = named::resync)] resync: bool,
        #[pyo3(from_py_with = named::lost)] lost: bool,
    ) -> Result<Py<Request>> {
        let py = frames.py();
        let options = DecodeOptions { resync, lost };
        let single = Input::of(frames, "frames")?;
        if let Some(single) = &single
            && let wire = single.wire(py)?
            && is_packed(wire)
        {
            self.ensure_memory(py, wire.size() + FRAME_SIZE)?;
            return self.work_long(py, wire.size(), |core| {
                core.decode_packed_with(wire, options, Request::from_core)
            })?;
        }
        let mut data = Vec::new();
        if let Some(single) = single {
            data.push(single);
        } else {
            for (at, frame) in each(frames, "frames", "str or bytes")?.enumerate() {
                data.try_reserve(1)?;
                let frame = Input::new(&frame?, format_args!("frames[{at}]"))?;
                if is_packed(frame.wire(py)?) {
                    return Err(packed_frame(py, at).into());
                }
                data.push(frame);
            }
        }
        ensure_memory(FRAME_SIZE * data.len())?;
        let texts = data.iter().map(|data| data.text(py)).collect::<PyResult<Vec<_>>>()?;
        let bytes = texts.iter().map(|text| text.len()).sum();
        self.ensure_memory(py, bytes + FRAME_SIZE * texts.len())?;
        self.work_long(py, bytes, |core| {
            core.decode_request_with(&texts, options, Request::from_core)
        })?
    }

    /// Encode a graph payload: each symbol is declared once and referred to by id afterwards.
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
    ///     The text. The session assumes that it is delivered: if not, call `forget_graph`. After
    ///     an hour without a graph, after a day, and beyond 65,536 symbols, the text is complete,
    ///     without `session=true`, and the ids start over.
    ///
    /// Raises
    /// ------
    /// GcfError
    ///     As `gcf.encode`; the session stays unchanged.
    ///
    /// Source: GCF 3.6 section 11.
    #[pyo3(signature = (
        payload, /, *, dangling = "error", allow_unicode = false, locations = true
    ))]
    fn encode_graph(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = named::payload)] payload: &Payload,
        #[pyo3(from_py_with = args::words::dangling)] dangling: &str,
        #[pyo3(from_py_with = named::allow_unicode)] allow_unicode: bool,
        #[pyo3(from_py_with = named::locations)] locations: bool,
    ) -> Result<Py<PyString>> {
        let options = options(dangling, allow_unicode, locations)?;
        let payload = payload.core.clone();
        self.ensure_memory(py, 4 * payload.size())?;
        self.work_long(py, payload.size(), |core| {
            let make = |text: String| built(|py| make_str(py, &text));
            core.encode_graph_with(&payload, options, now(), make)
        })?
    }

    /// Decode a graph text of the peer and resolve its references.
    ///
    /// Parameters
    /// ----------
    /// text : str, bytes, bytearray or memoryview
    ///     The output of the peer's `encode_graph`, or any other text of the graph profile.
    ///
    /// Returns
    /// -------
    /// Payload, DeltaPayload or Unchanged
    ///     The content, of the type that the header names. Only a payload with `session=true`
    ///     changes the session.
    ///
    /// Raises
    /// ------
    /// GcfError
    ///     As `gcf.decode`; `unknown_session_reference` and `session_conflict` mean that the two
    ///     sides are out of step: `reset` both. The session stays unchanged.
    ///
    /// Source: GCF 3.6 section 11.
    #[pyo3(signature = (text, /))]
    fn decode_graph<'py>(&self, text: &Bound<'py, PyAny>) -> Result<Bound<'py, PyAny>> {
        let py = text.py();
        let text = Input::new(text, "text")?;
        let text = text.gcf_text()?;
        self.ensure_memory(py, 4 * text.len())?;
        let made = |decoded| built(|py| content(py, decoded));
        let decoded = self.work_long(py, text.len(), |core| {
            core.decode_graph_with(text, |decoded| {
                if decoded.warnings.is_empty() {
                    made(decoded).map_err(NotDecoded::Failed)
                } else {
                    Err(NotDecoded::Warned(decoded.warnings))
                }
            })
        })?;
        let object = match decoded {
            Ok(object) => object,
            Err(NotDecoded::Failed(error)) => return Err(error),
            Err(NotDecoded::Warned(warnings)) => {
                // A warning filter may turn a warning into an error, so the session changes only after
                // all of them.
                show_warnings(py, &warnings)?;
                self.work_long(py, text.len(), |core| core.decode_graph_with(text, made))??
            }
        };
        Ok(object.into_bound(py))
    }

    /// Treat the last graph as lost: its symbols will be declared again under their ids.
    fn forget_graph(&self, py: Python<'_>) -> PyResult<()> {
        self.work(py, session::Session::forget_graph)
    }

    /// Encode a keyed set: completely the first time, then as deltas.
    ///
    /// Parameters
    /// ----------
    /// set : KeyedSet
    ///     The current set.
    /// tool : str
    ///     The tool for the header; empty for none.
    ///
    /// Returns
    /// -------
    /// str
    ///     "Unchanged", a delta if it is smaller than 60 % of the full set, or the full set,
    ///     relative to the last set with the same name, fields and key. The session assumes that it
    ///     is delivered: if not, call `forget_keyed`. The session keeps the last set of each of 16
    ///     names.
    ///
    /// Raises
    /// ------
    /// GcfError
    ///     `invalid_header_value` for an invalid tool; the session stays unchanged.
    ///
    /// Source: GCF 3.6 section 10a.4.
    #[pyo3(signature = (set, /, *, tool = ""))]
    fn encode_keyed(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = named::set)] set: &KeyedSet,
        #[pyo3(from_py_with = args::written::tool)] tool: &str,
    ) -> Result<Py<PyString>> {
        let set = Arc::clone(&set.0);
        self.work_long(py, set.size(), |core| {
            let make = |text: String| built(|py| make_str(py, &text));
            core.encode_keyed_with(Arc::clone(&set), tool, make)
        })?
    }

    /// Decode the output of the peer's `encode_keyed`.
    ///
    /// Parameters
    /// ----------
    /// text : str, bytes, bytearray or memoryview
    ///     The text.
    ///
    /// Returns
    /// -------
    /// KeyedSet
    ///     The set that the peer encoded.
    ///
    /// Raises
    /// ------
    /// GcfError
    ///     As `gcf.receive_keyed`; `base_mismatch` means that a text was lost: after
    ///     `forget_keyed`, the peer sends a full set. The session stays unchanged.
    ///
    /// Source: GCF 3.6 sections 10a.4 and 10a.5.
    #[pyo3(signature = (text, /))]
    fn decode_keyed(&self, text: &Bound<'_, PyAny>) -> Result<Py<KeyedSet>> {
        let py = text.py();
        let text = Input::new(text, "text")?;
        let text = text.gcf_text()?;
        self.work_long(py, text.len(), |core| {
            core.decode_keyed_with(text, |set| built(|py| KeyedSet(set).into_pyobject(py)))
        })?
    }

    /// Treat the sent keyed sets as lost: the next set of each name is sent in full.
    fn forget_keyed(&self, py: Python<'_>) -> PyResult<()> {
        self.work(py, session::Session::forget_keyed)
    }

    /// Forget that the peer has these references, so that the next request has their content.
    ///
    /// Parameters
    /// ----------
    /// ids : str
    ///     The `ids` of an `UnknownReference`, in their order: tools `t_…`, prompts `s_…`, the
    ///     context `c_…`, and `b_…`, the context that the peer has instead.
    ///
    /// Returns
    /// -------
    /// int
    ///     The number of references that were known; `b_…` is not counted.
    #[pyo3(signature = (*ids))]
    fn forget(&self, ids: &Bound<'_, PyTuple>) -> PyResult<Number<usize>> {
        let py = ids.py();
        let ids = ids.iter().map(|id| {
            let id = args::text(&id, "each of *ids")?.clone();
            utf8(&id, "id").map(str::to_owned)
        });
        let ids = ids.collect::<PyResult<Vec<_>>>()?;
        self.work(py, |core| Number(ids.iter().filter(|id| core.forget(id)).count()))
    }

    /// Undo the last `encode_request`, because its output was not delivered.
    ///
    /// The session is then as before that call, so that the next request does not refer to
    /// anything that the peer never got. If the peer got it after all, it raises
    /// `UnknownReference` for the next request, as after any fault.
    ///
    /// Returns
    /// -------
    /// bool
    ///     Whether there was a request to undo: False if it was undone before, and after `forget`,
    ///     `reset`, a copy or a pickle.
    fn rollback(&self, py: Python<'_>) -> PyResult<bool> {
        self.work(py, session::Session::rollback)
    }

    /// Forget everything in both directions; the counts of `stats` continue.
    fn reset(&self, py: Python<'_>) -> PyResult<()> {
        self.work(py, session::Session::reset)
    }

    /// Whether requests contain a hash, as given to `Session`.
    #[getter]
    fn checked(&self) -> bool {
        self.checked
    }

    /// Counts of the messages exchanged so far and the bytes saved.
    #[getter]
    fn stats(&self, py: Python<'_>) -> PyResult<SessionStats> {
        self.work(py, |core| core.stats().into())
    }

    /// Write the state of the session, for `from_bytes` of the same version of this package.
    ///
    /// Returns
    /// -------
    /// bytes
    ///     The state of both directions and `max_size`, without `checked`.
    fn to_bytes<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyBytes>> {
        self.ensure_memory(py, 0)?;
        let bytes = self.work_long(py, DETACH_FROM, |core| core.to_bytes())?;
        Ok(make_bytes(py, &bytes?)?)
    }

    /// Restore a session from the output of `to_bytes`.
    ///
    /// Unlike a pickle, the bytes need not be trusted.
    ///
    /// Parameters
    /// ----------
    /// data : bytes, bytearray or memoryview
    ///     The output of `to_bytes`.
    /// checked : bool
    ///     As for `Session`.
    ///
    /// Returns
    /// -------
    /// Session
    ///     A session that continues from that state.
    ///
    /// Raises
    /// ------
    /// InvalidFormat
    ///     The bytes are not a state of this version, or contradict themselves.
    #[staticmethod]
    #[pyo3(signature = (data, /, *, checked = true))]
    fn from_bytes(
        data: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = named::checked)] checked: bool,
    ) -> Result<Self> {
        Self::restore(data.py(), Input::new(data, "data")?.bytes("data")?, checked)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<Str<String>> {
        let stats = self.work(py, |core| core.stats())?;
        let session::Stats { messages, bytes_out, bytes_in, .. } = stats;
        let saved = stats.savings() * 100.0;
        Ok(Str(format!(
            "<Session: {messages} messages, {bytes_out} bytes out, {bytes_in} in, {saved:.1}% saved>"
        )))
    }

    /// The memory that `sys.getsizeof` reports, to which it adds the header of the object.
    fn __sizeof__(&self, py: Python<'_>) -> PyResult<Number<usize>> {
        Ok(Number(size_of::<Self>() + self.work(py, |core| core.size())?))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyTuple>> {
        let state = self.to_bytes(py)?;
        let restore = import(py, name!(py, "compactwire._core")?)?
            .run_getattr(name!(py, "_restore_session")?)?;
        let checked = PyBool::new(py, self.checked).to_owned().into_any();
        Ok(record::reduced(restore, [state.into_any(), checked])?)
    }
}

/// Why a graph was read without a change of the session.
enum NotDecoded {
    /// Its warnings must be shown first.
    Warned(Vec<String>),
    Failed(Error),
}

impl From<compactwire::gcf::Error> for NotDecoded {
    fn from(error: compactwire::gcf::Error) -> Self {
        Self::Failed(error.into())
    }
}

/// The clock by which graph sessions expire, also across a pickle.
pub(super) fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// Counts of a session in both directions, in UTF-8 bytes.
#[pyclass(frozen, extends = Record, eq, hash, get_all, module = "compactwire")]
#[derive(PartialEq, Hash)]
pub(super) struct SessionStats {
    /// The number of requests encoded and decoded.
    messages: Number<u64>,
    /// Bytes of the frames encoded.
    bytes_out: Number<u64>,
    /// Bytes of the frames decoded.
    bytes_in: Number<u64>,
    /// Bytes of the same requests as compact JSON, with tools, prompt and the whole context.
    plain_bytes: Number<u64>,
}

returned_by_value!(Record: SessionStats);

impl From<session::Stats> for SessionStats {
    fn from(stats: session::Stats) -> Self {
        let session::Stats { messages, bytes_out, bytes_in, plain_bytes } = stats;
        let [messages, bytes_out, bytes_in, plain_bytes] =
            [messages, bytes_out, bytes_in, plain_bytes].map(Number);
        Self { messages, bytes_out, bytes_in, plain_bytes }
    }
}

#[pymethods]
impl SessionStats {
    #[classattr]
    const _fields: Names = Names(&["messages", "bytes_out", "bytes_in", "plain_bytes"]);

    #[new]
    #[pyo3(signature = (
        *, messages = None, bytes_out = None, bytes_in = None, plain_bytes = None,
    ))]
    #[pyo3(text_signature = "(*, messages=0, bytes_out=0, bytes_in=0, plain_bytes=0)")]
    fn new(
        messages: Option<&Bound<'_, PyAny>>,
        bytes_out: Option<&Bound<'_, PyAny>>,
        bytes_in: Option<&Bound<'_, PyAny>>,
        plain_bytes: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let count = |value: Option<&Bound<'_, PyAny>>, field| {
            value.map_or(Ok(0), |value| natural(value, field)).map(Number)
        };
        Ok(Self {
            messages: count(messages, "messages")?,
            bytes_out: count(bytes_out, "bytes_out")?,
            bytes_in: count(bytes_in, "bytes_in")?,
            plain_bytes: count(plain_bytes, "plain_bytes")?,
        })
    }

    /// The fraction of `plain_bytes` that was saved: 0.94 if 6 bytes were sent for 100.
    ///
    /// 0.0 before the first request, negative if more bytes were sent than plain JSON needs.
    #[getter]
    fn savings(&self) -> Number<f64> {
        let Self { messages, bytes_out, bytes_in, plain_bytes } = *self;
        let [messages, bytes_out, bytes_in, plain_bytes] =
            [messages, bytes_out, bytes_in, plain_bytes].map(|Number(count)| count);
        Number(session::Stats { messages, bytes_out, bytes_in, plain_bytes }.savings())
    }

    fn __repr__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyString>> {
        record::repr(slf.as_any(), |_, _| Ok(true))
    }
}

/// Restores counts that an earlier version pickled.
#[pyfunction(name = "_restore_session_stats")]
pub(super) fn restore_session_stats(
    messages: u64,
    bytes_out: u64,
    bytes_in: u64,
    plain_bytes: u64,
) -> SessionStats {
    session::Stats { messages, bytes_out, bytes_in, plain_bytes }.into()
}

/// Restores a pickled session.
#[pyfunction(name = "_restore_session")]
pub(super) fn restore_session(state: &Bound<'_, PyBytes>, checked: bool) -> Result<Session> {
    Session::restore(state.py(), state.as_bytes(), checked)
}

/// Whether `encode_request` returns frames, or one packed message.
#[derive(Clone, Copy)]
enum Pack {
    No,
    Text,
    Bytes,
}

/// For `#[pyo3(from_py_with = pack)]`: a bool or "bytes".
fn pack(value: &Bound<'_, PyAny>) -> PyResult<Pack> {
    if let Ok(name) = value.cast::<PyString>() {
        let name = lossy(name)?;
        if name == "bytes" {
            return Ok(Pack::Bytes);
        }
        let message = format!("pack must be a bool or 'bytes', not {}", excerpt(&name));
        return Err(invalid_option("pack", &message));
    }
    match value.cast::<PyBool>() {
        Ok(packed) if packed.is_true() => Ok(Pack::Text),
        Ok(_) => Ok(Pack::No),
        Err(_) => {
            let found = class_name(&value.get_type());
            Err(py_error::<PyTypeError>(format!("pack must be a bool or 'bytes', not {found}")))
        }
    }
}

/// The error for a packed request in a list of frames, as JSON or a queue may have wrapped it.
fn packed_frame(py: Python<'_>, at: usize) -> PyErr {
    let message = format!(
        "frame {at}: expected a frame, found a packed request: pass it alone, not in a list"
    );
    invalid_format(py, &message)
}

/// The largest number of bytes of memory that a call takes per byte of the session and of its input. They
/// include the old and the new conversation as code points.
const SESSION_FACTOR: usize = 16;
/// How many bytes of input a frame counts as, in addition to its text: for a definition or an unknown
/// reference.
const FRAME_SIZE: usize = 64;

impl Session {
    fn restore(py: Python<'_>, state: &[u8], checked: bool) -> Result<Self> {
        ensure_memory(SESSION_FACTOR * state.len())?;
        let core = super::detached(py, state.len(), || session::Session::from_bytes(state))??;
        Ok(Self { core: Lock::new(core), checked })
    }

    /// Raises `MemoryError` unless there is memory for a call with an input of so many bytes.
    fn ensure_memory(&self, py: Python<'_>, bytes: usize) -> PyResult<()> {
        let held = self.work(py, |core| core.size())?;
        ensure_memory(SESSION_FACTOR.saturating_mul(held.saturating_add(bytes)))
    }

    /// Runs `work` under the lock of the session for a short time; `work` must not run Python code.
    pub(super) fn work<T>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut session::Session) -> T,
    ) -> PyResult<T> {
        // Each change is committed completely or not at all: the session is valid even after a
        // panic.
        locked(py, &self.core, work)
    }

    /// Like `work`, for an input of this size in bytes. Ctrl-C can stop it, because a session changes only
    /// after the last poll.
    fn work_long<T: Send>(
        &self,
        py: Python<'_>,
        bytes: usize,
        work: impl Send + FnMut(&mut session::Session) -> T,
    ) -> PyResult<T> {
        locked_long(py, &self.core, bytes, work)
    }
}
