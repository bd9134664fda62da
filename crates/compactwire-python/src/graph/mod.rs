//! `compactwire.gcf`, graph profile: encodes, decodes, hashes and compares payloads.
//! GCF 3.6 sections 9 to 11.
//!
//! `types` has the classes of payloads, `stream` writes a payload symbol by symbol, `arguments` converts
//! arguments.

pub(super) mod arguments;
mod stream;
pub(super) mod types;

use super::args::{self, Input, lacks_method, sizes, wrong_type};
use super::errors::{Error, Result};
use crate::args::named;
use crate::calls::Run;
use crate::interrupt::attached;
use crate::make::{Number, Str, args, ensure_memory, make_str, make_tuple};
use arguments::options;
use compactwire::gcf::graph::{self, Content, Dangling, EncodeOptions, ResolvedPayload};
use compactwire::interrupt::unchecked;
use compactwire::limits::DEFAULT_MAX_EXPANSION;
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};
pub(super) use types::Payload;
use types::{DeltaPayload, content, show_warnings};

/// Graph payloads; import `compactwire.gcf` instead.
#[pymodule(name = "graph", gil_used = false)]
pub(super) mod module {
    #[pymodule_export]
    use super::stream::GraphStreamEncoder;
    #[pymodule_export]
    use super::types::{Components, DeltaPayload, Edge, Location, Payload, Symbol, Unchanged};
    #[pymodule_export]
    use super::{
        apply_delta, count_tokens, decode, diff, encode, encode_delta, encode_unchanged, pack_root,
        respond, snapshot,
    };
    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        crate::make_class::<super::types::Owner>(module.py())?;
        crate::make_importable(module)
    }
}

// The signatures repeat the number, because they show literals only.
const _: () = assert!(DEFAULT_MAX_EXPANSION == 268_435_456);

/// The largest number of bytes of memory that a call takes per byte of a payload: indexes of its names,
/// records to sort, and the text.
pub(super) const GRAPH_FACTOR: usize = 8;

/// Runs `work` on payloads or a delta with a total size of about `bytes`, if there is memory for it; without
/// the interpreter lock if they are large.
pub(super) fn on_payloads<T: Send>(
    py: Python<'_>,
    bytes: usize,
    work: impl Send + FnOnce() -> T,
) -> PyResult<T> {
    ensure_memory(GRAPH_FACTOR.saturating_mul(bytes))?;
    super::detached(py, bytes, work)
}

/// Runs `work` on one payload, as [`on_payloads`] does.
fn on_payload<T: Send>(
    payload: &Bound<'_, Payload>,
    work: impl Send + FnOnce(&ResolvedPayload) -> T,
) -> PyResult<T> {
    let core = &*payload.get().core;
    on_payloads(payload.py(), core.size(), || work(core))
}

/// Encode a payload as text of the graph profile, which language models can read.
///
/// Parameters
/// ----------
/// payload : Payload
///     The payload. The format does not contain signatures and components, and it rounds scores to
///     two decimals. GCB and JSON contain all of them.
/// dangling : {"error", "drop"}
///     Whether an edge whose source or target is not among the symbols is an error or is dropped.
/// allow_unicode : bool
///     Whether names may contain non-ASCII characters. Readers accept them, but the grammar does
///     not allow writers to use them.
/// locations : bool
///     Whether locations are written. gcf-python 2.8 and crate gcf 3.1 reject them.
///
/// Returns
/// -------
/// str
///     The canonical text.
///
/// Raises
/// ------
/// GcfError
///     With the path to the symbol or edge: `invalid_graph_name`, `not_finite`, `out_of_range`,
///     `duplicate_symbol`, `dangling_edge`, `invalid_header_value`.
///
/// Source: GCF 3.6 sections 9 and 16.1.
#[pyfunction]
#[pyo3(signature = (payload, /, *, dangling = "error", allow_unicode = false, locations = true))]
pub(super) fn encode<'py>(
    #[pyo3(from_py_with = named::payload)] payload: &Bound<'py, Payload>,
    #[pyo3(from_py_with = args::words::dangling)] dangling: &str,
    #[pyo3(from_py_with = named::allow_unicode)] allow_unicode: bool,
    #[pyo3(from_py_with = named::locations)] locations: bool,
) -> Result<Bound<'py, PyString>> {
    let options = options(dangling, allow_unicode, locations)?;
    let text = on_payload(payload, |core| core.encode(options))?;
    Ok(make_str(payload.py(), &text?)?)
}

/// Decode a text of the graph profile.
///
/// Parameters
/// ----------
/// text : str, bytes, bytearray or memoryview
///     The text; bytes are UTF-8.
///
/// Returns
/// -------
/// Payload, DeltaPayload or Unchanged
///     The content, of the type that the header names.
///
/// Raises
/// ------
/// GcfError
///     The text is invalid; `code`, `line` and `column` say why and where.
///
/// Warns
/// -----
/// UserWarning
///     The text has an unknown group, which was skipped; or not as many symbols or edges as its
///     header counts: it may have been cut between two groups.
///
/// Source: GCF 3.6 sections 9, 10 and 16.
#[pyfunction]
#[pyo3(signature = (text, /))]
pub(super) fn decode<'py>(text: &Bound<'py, PyAny>) -> Result<Bound<'py, PyAny>> {
    let (py, text) = (text.py(), Input::new(text, "text")?);
    let text = text.gcf_text()?;
    let decoded = super::detached(py, text.len(), || graph::decode(text))??;
    show_warnings(py, &decoded.warnings)?;
    Ok(content(py, decoded)?)
}

/// Compute the pack root of a graph: its identity, whatever the order of symbols and edges.
///
/// Parameters
/// ----------
/// payload : Payload
///     The payload. The root depends on kinds, names, scores, provenances, distances and edges
///     only.
/// max_expansion : int
///     The largest size in bytes of the names in all edges, counted once per edge; 256 MiB by
///     default.
///
/// Returns
/// -------
/// str
///     "sha256:" and 64 hexadecimal digits.
///
/// Raises
/// ------
/// GcfError
///     `dangling_edge` if the source or target of an edge is not a symbol, `duplicate_symbol` if
///     several symbols have its name; `limit_exceeded` if the names in the edges take more than
///     `max_expansion`.
///
/// Source: GCF 3.6 section 10 (gcf-pack-root-v1).
#[pyfunction]
#[pyo3(signature = (payload, /, *, max_expansion = 268_435_456))]
pub(super) fn pack_root(
    #[pyo3(from_py_with = named::payload)] payload: &Bound<'_, Payload>,
    #[pyo3(from_py_with = sizes::max_expansion)] max_expansion: usize,
) -> Result<Str<String>> {
    Ok(Str(on_payload(payload, |core| graph::pack_root(core, max_expansion))??))
}

/// Normalize a payload to the form on which deltas are based.
///
/// Parameters
/// ----------
/// payload : Payload
///     The payload.
/// max_expansion : int
///     As in `pack_root`.
///
/// Returns
/// -------
/// Payload
///     The payload with scores rounded to two decimals, as in a text, and with the `pack_root` of
///     the result.
///
/// Raises
/// ------
/// GcfError
///     As `pack_root`.
///
/// Source: GCF 3.6 section 10.
#[pyfunction]
#[pyo3(signature = (payload, /, *, max_expansion = 268_435_456))]
pub(super) fn snapshot(
    #[pyo3(from_py_with = named::payload)] payload: &Bound<'_, Payload>,
    #[pyo3(from_py_with = sizes::max_expansion)] max_expansion: usize,
) -> Result<Payload> {
    Ok(on_payload(payload, |core| graph::snapshot(core, max_expansion))??.into())
}

/// Compute the delta from one snapshot to another.
///
/// Parameters
/// ----------
/// base, new : Payload
///     Two payloads that `snapshot` returned.
/// max_expansion : int
///     As in `pack_root`, for each of the two payloads.
///
/// Returns
/// -------
/// DeltaPayload
///     The delta. A symbol whose score, provenance or distance changed is both removed and added.
///     Other changes, such as the status of an edge, are not in it.
///
/// Raises
/// ------
/// GcfError
///     As `pack_root`; `duplicate_symbol` if no delta can express the change.
///
/// Source: GCF 3.6 section 10.
#[pyfunction]
#[pyo3(signature = (base, new, /, *, max_expansion = 268_435_456))]
pub(super) fn diff(
    py: Python<'_>,
    #[pyo3(from_py_with = named::base)] base: &Payload,
    #[pyo3(from_py_with = named::new)] new: &Payload,
    #[pyo3(from_py_with = sizes::max_expansion)] max_expansion: usize,
) -> Result<DeltaPayload> {
    let (base, new) = (&base.core, &new.core);
    let bytes = base.size() + new.size();
    Ok(DeltaPayload(on_payloads(py, bytes, || graph::diff(base, new, max_expansion))??))
}

/// Encode a delta as text.
///
/// Parameters
/// ----------
/// delta : DeltaPayload
///     The delta. `savings` is written if `full_tokens` is not 0.
/// allow_unicode, locations : bool
///     As in `encode`.
/// max_expansion : int
///     The largest size in bytes of the names in all removed edges, and of those in all added
///     edges, which the text contains once per edge; 256 MiB by default.
///
/// Returns
/// -------
/// str
///     The canonical text.
///
/// Raises
/// ------
/// GcfError
///     As `encode`, and for an empty root.
///
/// Source: GCF 3.6 sections 10 and 16.1.
#[pyfunction]
#[pyo3(signature = (
    delta, /, *, allow_unicode = false, locations = true, max_expansion = 268_435_456
))]
pub(super) fn encode_delta(
    py: Python<'_>,
    #[pyo3(from_py_with = named::delta)] delta: &DeltaPayload,
    #[pyo3(from_py_with = named::allow_unicode)] allow_unicode: bool,
    #[pyo3(from_py_with = named::locations)] locations: bool,
    #[pyo3(from_py_with = sizes::max_expansion)] max_expansion: usize,
) -> Result<Str<String>> {
    let dangling = Dangling::default();
    let options = EncodeOptions { dangling, allow_unicode, locations, max_expansion };
    Ok(Str(on_payloads(py, delta.0.size(), || graph::encode_delta(&delta.0, options))??))
}

/// Apply a delta to a snapshot and return the new snapshot.
///
/// Parameters
/// ----------
/// base : Payload
///     The snapshot that the delta starts from; it is not changed.
/// delta : DeltaPayload, str, bytes, bytearray or memoryview
///     The delta, or its text.
/// max_expansion : int
///     As in `pack_root`, for each of the base, the delta and the result.
///
/// Returns
/// -------
/// Payload
///     The new snapshot, with its root verified.
///
/// Raises
/// ------
/// GcfError
///     `base_mismatch` if the delta is for another base, `delta_invalid` if the delta contradicts
///     the base, `root_mismatch` if the result does not have the root in the delta; for a text, as
///     `decode`.
///
/// Source: GCF 3.6 section 10.
#[pyfunction]
#[pyo3(signature = (base, delta, /, *, max_expansion = 268_435_456))]
pub(super) fn apply_delta(
    #[pyo3(from_py_with = named::base)] base: &Payload,
    delta: &Bound<'_, PyAny>,
    #[pyo3(from_py_with = sizes::max_expansion)] max_expansion: usize,
) -> Result<Payload> {
    let py = delta.py();
    let core = &base.core;
    let apply = |delta: &graph::DeltaPayload| {
        let bytes = core.size().saturating_add(delta.size());
        Ok(on_payloads(py, bytes, || graph::apply(core, delta, max_expansion))??.into())
    };
    if let Ok(delta) = delta.cast::<DeltaPayload>() {
        return apply(&delta.get().0);
    }
    let text = Input::new(delta, "delta")?;
    let text = text.gcf_text()?;
    match super::detached(py, text.len(), || graph::decode(text))??.content {
        Content::Delta(delta) => apply(&delta),
        Content::Payload(_) | Content::Unchanged(_) => Err(compactwire::gcf::Error {
            code: compactwire::gcf::Code::MalformedDelta,
            message: "expected a delta, found another kind of message".into(),
            place: compactwire::gcf::Place::Text { line: 1, column: 1 },
        }
        .into()),
    }
}

/// Encode the message that the peer's snapshot is still current.
///
/// Parameters
/// ----------
/// payload : Payload
///     The snapshot that the peer has, with its `pack_root`.
///
/// Returns
/// -------
/// str
///     The text: one line.
///
/// Raises
/// ------
/// GcfError
///     `invalid_header_value`: the root is empty, or a header cannot contain a string.
///
/// Source: GCF 3.6 section 10.
#[pyfunction]
#[pyo3(signature = (payload, /))]
pub(super) fn encode_unchanged(
    #[pyo3(from_py_with = named::payload)] payload: &Payload,
) -> Result<Str<String>> {
    Ok(Str(graph::encode_unchanged(&payload.core)?))
}

/// Encode the shortest text that updates a peer.
///
/// It updates what the root covers (see `pack_root`): the status of an edge, or a location, is no
/// reason for a delta.
///
/// Parameters
/// ----------
/// payload : Payload
///     The payload to send.
/// peer_root : str, optional
///     The root of the peer's snapshot, as reported by the peer.
/// snapshots : mapping of str to Payload, optional
///     Snapshots sent before, by root. The caller keeps them: add the returned snapshot.
/// count_tokens : callable, optional
///     Returns the number of tokens of a str; by default `gcf.count_tokens`. A delta is sent if it
///     has fewer than 0.6 times the tokens of the full text.
/// dangling, allow_unicode, locations
///     As in `encode`.
/// max_expansion : int
///     As in `pack_root`.
///
/// Returns
/// -------
/// tuple of (str, str, Payload)
///     The kind of the text ("unchanged", "delta" or "full"), the text to send, and the snapshot
///     that the peer will then have.
///
/// Raises
/// ------
/// GcfError
///     As `pack_root` and `encode`.
///
/// Source: GCF 3.6 section 10.
#[pyfunction]
#[pyo3(signature = (
    payload, /, peer_root = None, *, snapshots = None, count_tokens = None, dangling = "error",
    allow_unicode = false, locations = true, max_expansion = 268_435_456,
))]
#[expect(clippy::too_many_arguments, reason = "options")]
pub(super) fn respond<'py>(
    py: Python<'py>,
    #[pyo3(from_py_with = named::payload)] payload: &Payload,
    #[pyo3(from_py_with = args::written::peer_root)] peer_root: Option<&str>,
    snapshots: Option<&Bound<'py, PyAny>>,
    count_tokens: Option<&Bound<'py, PyAny>>,
    #[pyo3(from_py_with = args::words::dangling)] dangling: &str,
    #[pyo3(from_py_with = named::allow_unicode)] allow_unicode: bool,
    #[pyo3(from_py_with = named::locations)] locations: bool,
    #[pyo3(from_py_with = sizes::max_expansion)] max_expansion: usize,
) -> PyResult<Bound<'py, PyTuple>> {
    let options = options(dangling, allow_unicode, locations)?;
    let options = EncodeOptions { max_expansion, ..options };
    count_tokens.map(|count| args::check_callable(count, "count_tokens")).transpose()?;
    let peer_root = peer_root.unwrap_or_default();
    let known = match snapshots {
        Some(snapshots) if lacks_method(snapshots, "keys") => {
            return Err(wrong_type(snapshots, "snapshots", "a dict of Payload"));
        }
        Some(snapshots) if snapshots.contains(Str(peer_root))? => {
            Some(snapshots.get_item(Str(peer_root))?)
        }
        _ => None,
    };
    let base = match &known {
        None => None,
        Some(known) => match known.cast::<Payload>() {
            Ok(payload) => Some(&**payload.get().core),
            Err(_) => return Err(wrong_type(known, "each value of snapshots", "a Payload")),
        },
    };
    let count = |text: &str| match count_tokens {
        Some(count) => Ok::<_, Error>(args::token_count(
            &unchecked(|| count.run(args!(py, Str(text))?))?,
            "count_tokens",
        )?),
        None => Ok(graph::count_tokens(text)),
    };
    ensure_memory(GRAPH_FACTOR * (payload.core.size() + base.map_or(0, graph::Payload::size)))?;
    let answer = attached(|| graph::respond(&payload.core, peer_root, base, options, count))??;
    let snapshot = Payload::from(answer.snapshot).into_bound_py_any(py)?;
    let [kind, text] = [answer.kind.name(), &answer.text].map(|text| make_str(py, text));
    make_tuple(py, [Ok(kind?.into_any()), Ok(text?.into_any()), Ok(snapshot)].into_iter())
}

/// Estimate the number of tokens of a text without a tokenizer.
///
/// Parameters
/// ----------
/// text : str
///     The text.
///
/// Returns
/// -------
/// int
///     A run of ASCII letters, digits, "_" and "." counts 1, and so does every other character
///     except space, tab and line ends. Punctuation counts more than with a real tokenizer.
///
/// Source: wire codecs, "Benchmark Harness".
#[pyfunction]
#[pyo3(signature = (text, /))]
pub(super) fn count_tokens(
    #[pyo3(from_py_with = named::text)] text: &Bound<'_, PyString>,
) -> PyResult<Number<u64>> {
    let text = args::utf8(text, "text")?;
    attached(|| graph::count_tokens(text)).map(Number)
}
