//! Packed requests, for programs: `S` and Base85 of zstd of a `MessagePack` array of the frames (v4
//! section 11, "S(request)"); or the bytes alone, without `S` and Base85.
//!
//! From the second packed request on, the frames are compressed against the [`History`] of those before it.
//! The size of an edit then depends on what it changes, although its delta contains the whole text. This is
//! our extension. The bytes are:
//!
//! ```text
//! kind, 1 byte | id of the history, 3 bytes | check, 4 bytes | zstd frame without its first 6 bytes
//! ```
//!
//! The frames are compressed against the last requests (kind 1), or against these and the conversation (kind
//! 2); see [`History::content`]. The omitted 6 bytes of the zstd frame are [`FRAME_START`], whose window is
//! as large as that of any frame at this level. The content of the zstd frame is the frames of the request,
//! separated by 0xFF, which UTF-8 never contains. The check is the number in `D|=|c_…`, which the request
//! frame omits; it is 0 if there is none. If the receiver has another history, it reports the id as an
//! unknown reference.

use super::context::Context;
use super::error::{DecodeError, EncodeError};
use super::history::{History, HistoryId};
use crate::base85;
use crate::compact::{self, Carrier, Transport, Wire, mistaken};
use crate::compression::{self, DDict};
use crate::excerpt::excerpt;
use crate::msgpack::{self, Reader, Writer};
use crate::text::{self, hex};
use rmp::encode::{write_array_len, write_str};
use std::borrow::Cow;

/// The zstd level against a history. A packed request is short, so a high level is cheap; the next level
/// takes eight times as long for 1% less.
const LEVEL: i32 = 10;

/// The zstd level of a short request without a history. This request often has most of a conversation's
/// bytes.
const FIRST_LEVEL: i32 = 19;

/// The maximum size of a short request in bytes.
const SHORT: usize = 64 << 10;

// The first byte of a packed request: what it is compressed against.
const KIND_RECENT: u8 = 1;
const KIND_EDIT: u8 = 2;

/// The magic number of zstd; a descriptor without content size, checksum and dictionary id; a window of 4
/// MiB.
const FRAME_START: [u8; 6] = [0x28, 0xb5, 0x2f, 0xfd, 0, 0x60];

/// A byte that UTF-8 never contains.
const SEPARATOR: u8 = 0xff;

/// The data that a request is compressed against.
pub(super) struct Base<'a> {
    pub(super) history: &'a History,
    pub(super) context: &'a Context,
    /// Whether the request changes the conversation other than by an addition.
    pub(super) edits: bool,
}

/// Packs frames without a history. Returns the history that begins with them.
pub(super) fn pack<C: Carrier>(
    frames: &[String],
    max_size: usize,
) -> Result<(C, History), EncodeError> {
    let message = write_frames(frames)?;
    check_size(&message, max_size)?;
    let level = if message.len() <= SHORT { FIRST_LEVEL } else { LEVEL };
    let packed = compression::zstd_at(&message, level).map_err(|error| failed(&error))?;
    Ok((C::binary(packed, Transport::Zstd), History::begin(&message)))
}

/// Packs frames against a history. Returns the history after them.
pub(super) fn pack_against<C: Carrier>(
    frames: &[String],
    check: Option<&str>,
    base: &Base<'_>,
    max_size: usize,
) -> Result<(C, History), EncodeError> {
    let message = frames.iter().map(String::as_bytes).collect::<Vec<_>>().join(&SEPARATOR);
    check_size(&message, max_size)?;
    let &Base { history, context, edits } = base;
    let (kind, edited) = if edits { (KIND_EDIT, Some(context)) } else { (KIND_RECENT, None) };
    let packed = compression::zstd_after(&message, &history.content(edited), LEVEL)
        .map_err(|error| failed(&error))?;
    let Some((start, packed)) = packed.split_first_chunk::<6>() else {
        return Err(invalid("zstd wrote no frame header"));
    };
    if start[..5] != FRAME_START[..5] || start[5] > FRAME_START[5] {
        return Err(invalid("unexpected frame header from zstd"));
    }
    let check =
        check.and_then(|check| hex::decode::<4>(&check.as_bytes()[2..])).unwrap_or_default();
    let packed = [&[kind], &history.id(context)[..], &check, packed].concat();
    Ok((C::binary(packed, Transport::Zstd), history.then(&message)))
}

/// An unpacked request.
pub(super) struct Unpacked {
    message: Vec<u8>,
    /// Whether it was compressed against a history.
    continues: bool,
    /// The check that its request frame lacks.
    pub(super) check: Option<String>,
}

impl Unpacked {
    /// The frames.
    pub(super) fn frames(&self) -> Result<Vec<&str>, DecodeError> {
        let failed = |error| DecodeError::Compact { frame: None, error };
        if !self.continues {
            return read_frames(&self.message);
        }
        let frames = self.message.split(|&byte| byte == SEPARATOR);
        let frames = frames.map(|frame| {
            text::from_utf8(frame).map_err(|_| {
                let problem = "a frame of the packed request is not UTF-8".to_owned();
                failed(compact::DecodeError::DecompressionFailed(problem))
            })
        });
        frames.collect()
    }

    /// The history after this request; `history` is the one before it.
    pub(super) fn history_after(&self, history: &History) -> History {
        if self.continues { history.then(&self.message) } else { History::begin(&self.message) }
    }
}

/// Decompresses the text or bytes of [`pack`] or [`pack_against`].
pub(super) fn unpack(
    wire: Wire<'_>,
    history: &History,
    context: &Context,
    max_size: usize,
) -> Result<Unpacked, DecodeError> {
    let failed = |error| DecodeError::Compact { frame: None, error };
    let packed = match wire {
        Wire::Bytes(bytes) if is_packed_bytes(bytes) => Cow::Borrowed(bytes),
        Wire::Bytes(bytes) => {
            let text = text::from_utf8(bytes).map_err(|_| {
                let message = "expected a packed request, found other bytes".to_owned();
                DecodeError::InvalidFormat { frame: None, message }
            })?;
            Cow::Owned(from_text(text)?)
        }
        Wire::Text(text) => Cow::Owned(from_text(text)?),
    };
    let edited = match packed.first() {
        Some(&KIND_RECENT) => None,
        Some(&KIND_EDIT) => Some(context),
        _ => {
            if compression::zstd_dictionary_id(&packed).is_ok_and(|id| id != 0) {
                return Err(instead_of_packed(mistaken::MESSAGE));
            }
            let message = compression::unzstd(&packed, None, max_size)
                .map_err(|error| failed(error.into()))?;
            return Ok(Unpacked { message, continues: false, check: None });
        }
    };
    let header = packed[1..].split_first_chunk::<3>();
    let header = header.and_then(|(id, rest)| Some((id, rest.split_first_chunk::<4>()?)));
    let Some((id, (check, frame))) = header else {
        let message = "the packed request ends before the zstd frame".into();
        return Err(failed(compact::DecodeError::DecompressionFailed(message)));
    };
    if history.is_empty() || *id != history.id(context) {
        return Err(DecodeError::unknown(vec![history_name(*id)], Vec::new()));
    }
    let prefix = history.content(edited);
    let dictionary = DDict::try_create(&prefix)
        .ok_or_else(|| failed(compact::DecodeError::OutOfMemory { bytes: prefix.len() }))?;
    let message = compression::unzstd(&[&FRAME_START, frame].concat(), Some(&dictionary), max_size)
        .map_err(|error| failed(error.into()))?;
    let check = format!("c_{:08x}", u32::from_be_bytes(*check));
    Ok(Unpacked { message, continues: true, check: Some(check) })
}

/// Whether a message is a packed request: the text of [`Session::encode_packed`], or its bytes.
///
/// [`Session::encode_packed`]: super::Session::encode_packed
pub fn is_packed<'a>(wire: impl Into<Wire<'a>>) -> bool {
    let text = match wire.into() {
        Wire::Bytes(bytes) if is_packed_bytes(bytes) => return true,
        Wire::Bytes(bytes) => bytes,
        Wire::Text(text) => text.as_bytes(),
    };
    let text = text.trim_ascii_start();
    text.starts_with(b"S") && !text.starts_with(b"SYS|")
}

/// Whether bytes are a packed request without Base85. No text begins like one.
fn is_packed_bytes(bytes: &[u8]) -> bool {
    matches!(bytes, [KIND_RECENT | KIND_EDIT, ..]) || compression::is_zstd(bytes)
}

/// Removes the prefix and Base85.
fn from_text(text: &str) -> Result<Vec<u8>, DecodeError> {
    let packed = text.trim_ascii().strip_prefix('S').ok_or_else(|| {
        let message = format!("expected a packed request S…, found {}", excerpt(text));
        DecodeError::InvalidFormat { frame: None, message }
    })?;
    base85::decode(packed)
        .map_err(|error| DecodeError::Compact { frame: None, error: error.into() })
}

/// The name of a history in errors. It has the prefix of a context, because forgetting the context
/// forgets the history.
pub(super) fn history_name(id: HistoryId) -> String {
    format!("c_{}", hex::encode(&id))
}

fn write_frames(frames: &[String]) -> Result<Vec<u8>, EncodeError> {
    let size: usize = frames.iter().map(|frame| frame.len() + 5).sum();
    let mut message = Writer::with_capacity(size + 5);
    let count = |len: usize| {
        u32::try_from(len).map_err(|_| invalid("a frame of 4 GiB or more cannot be packed"))
    };
    let Ok(_) = write_array_len(&mut message, count(frames.len())?);
    for frame in frames {
        count(frame.len())?;
        let Ok(()) = write_str(&mut message, frame);
    }
    Ok(message.into_vec())
}

/// Parses the array of [`write_frames`].
fn read_frames(message: &[u8]) -> Result<Vec<&str>, DecodeError> {
    let invalid = |error: msgpack::Error| DecodeError::Compact { frame: None, error: error.into() };
    let mut reader = Reader::new(message);
    if reader.at_map() {
        return Err(instead_of_packed(mistaken::MESSAGE));
    }
    let count = reader.array_len().map_err(invalid)?;
    // Nothing is allocated for the claimed count; each frame takes at least one byte.
    let mut frames = Vec::new();
    for _ in 0..count {
        frames.push(reader.text().map_err(invalid)?);
    }
    reader.finish().map_err(invalid)?;
    Ok(frames)
}

fn instead_of_packed(found: &str) -> DecodeError {
    DecodeError::Compact { frame: None, error: mistaken::instead("a packed request", found) }
}

/// Rejects a message that is too large for the peer.
fn check_size(message: &[u8], max_size: usize) -> Result<(), EncodeError> {
    let size = message.len();
    if size <= max_size {
        return Ok(());
    }
    let message = format!(
        "{size} bytes of frames are more than max_size, {max_size}: send them without pack"
    );
    Err(EncodeError::new("pack", message))
}

fn failed(error: &compression::Error) -> EncodeError {
    match error {
        compression::Error::OutOfMemory(_) => EncodeError::out_of_memory("context"),
        error => invalid(&error.to_string()),
    }
}

fn invalid(message: &str) -> EncodeError {
    EncodeError::new("context", message)
}
