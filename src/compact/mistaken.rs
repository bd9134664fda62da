//! Errors for a message that another function reads: what it is, and the name of that function.

use super::decode::{Body, Opened};
#[cfg(feature = "session")]
use super::detect::detect;
use super::error::DecodeError;
#[cfg(feature = "session")]
use super::format::Format;
use super::format::Kind;
use super::tool_call;
use crate::msgpack::Reader;

const CALL: &str = "a tool call: use decode_tool_call";
const PACKED: &str = "a packed request: use decode_request of a session";
const RESPONSE: &str = "a response: use decode";

/// A response or a tool call.
pub(crate) const MESSAGE: &str = "a message: use decode or decode_tool_call";

/// The error of a reader that expects `expected`, for a message that is something else.
pub(crate) fn instead(expected: &str, found: &str) -> DecodeError {
    DecodeError::InvalidFormat(format!("expected {expected}, found {found}"))
}

/// The error of a reader of messages, for a text of another kind.
pub(super) fn not_a_message(kind: Kind) -> DecodeError {
    instead("a message", other(kind))
}

/// What a text of this kind is, and what reads it.
pub(crate) fn other(kind: Kind) -> &'static str {
    match kind {
        Kind::Response(_) => MESSAGE,
        Kind::Delta => "a delta: use apply_delta",
        Kind::Gcf => {
            "a GCF text: use expand for one of shrink, gcf.loads, or gcf.decode for a graph"
        }
        Kind::Request => "a request frame: use decode_request of a session",
        Kind::Tool => "a tool frame: use decode_request of a session, with all frames",
        Kind::System => "a system frame: use decode_request of a session, with all frames",
    }
}

/// The kind of a text that is a message or frame of any kind, and not a word that begins with the same letter.
#[cfg(feature = "session")]
pub(crate) fn kind_of(text: &str) -> Option<Kind> {
    let kind = detect(text).ok()?;
    // The other formats begin with one letter, and Base64 and Base85 have no spaces.
    let is_text = !matches!(kind, Kind::Response(format) if format != Format::Verbose && format != Format::Dsl);
    (is_text || !text.trim_ascii().contains(' ')).then_some(kind)
}

/// The error of a reader of responses; `error` if the message is nothing else either.
pub(super) fn not_a_response(opened: &Opened<'_>, error: DecodeError) -> DecodeError {
    explained("a response", opened, error, |opened| {
        tool_call::parse(opened).is_ok().then_some(CALL)
    })
}

/// The error of a reader of tool calls; `error` if the message is nothing else either.
pub(super) fn not_a_call(opened: &Opened<'_>, error: DecodeError) -> DecodeError {
    explained("a tool call", opened, error, |opened| opened.parse().is_ok().then_some(RESPONSE))
}

fn explained(
    expected: &str,
    opened: &Opened<'_>,
    error: DecodeError,
    other: impl Fn(&Opened<'_>) -> Option<&'static str>,
) -> DecodeError {
    if !matches!(error, DecodeError::MissingField(_) | DecodeError::InvalidMsgpack { .. }) {
        return error;
    }
    match other(opened).or_else(|| has_frames(opened).then_some(PACKED)) {
        Some(found) => instead(expected, found),
        None => error,
    }
}

/// Whether a message is an array of frames, which begins a packed session.
fn has_frames(opened: &Opened<'_>) -> bool {
    let Body::Message(message) = opened.body() else { return false };
    let mut reader = Reader::new(&message.bytes);
    let Ok(count) = reader.array_len() else { return false };
    let mut last = "";
    for _ in 0..count {
        let Ok(frame) = reader.text() else { return false };
        last = frame;
    }
    last.starts_with("REQ|")
}

/// The error for bytes that no reader of messages takes; `None` for others.
pub(super) fn not_a_binary_message(bytes: &[u8]) -> Option<DecodeError> {
    let found = match bytes {
        [b'Z', b'D', b'C', b'T', b'|', ..] => "a dictionary file: use Dictionary.from_bytes",
        // The first byte of a packed request that continues a conversation.
        [1 | 2, ..] if bytes.len() > 8 => PACKED,
        _ => return None,
    };
    Some(instead("a message", found))
}
