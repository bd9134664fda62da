//! Packed requests, for programs: `S` and Base85 of zstd of a `MessagePack` array of the frames (v4
//! section 11, "S(request)"); or the bytes alone, without `S` and Base85.
//!
//! If the peer has a conversation, the frames are compressed against it as a history. The size of
//! an edit then depends on what it changes, although its delta contains the whole text. This is our
//! extension. The bytes are:
//!
//! ```text
//! kind, 1 byte | id of the history, 4 bytes | zstd frame
//! ```
//!
//! Kind 1 means the last [`RECENT`] bytes of the conversation, kind 2 the last [`ALL`] bytes. Without a
//! history the bytes are a zstd frame, which begins with 0x28. The history is a part of the
//! [`Context`]; its id is [`Context::history_id`]. If the receiver has another history, it reports the
//! id as an unknown reference.

use super::context::Context;
use super::error::{DecodeError, EncodeError};
use crate::base85;
use crate::compact::{self, Carrier, Transport, Wire};
use crate::compression::{self, CDict, DDict};
use crate::excerpt::excerpt;
use crate::memory::NO_MEMORY;
use crate::msgpack::{self, Reader, Writer};
use rmp::encode::{write_array_len, write_str};
use std::borrow::Cow;

/// The length of the history for an addition: short, so that zstd indexes it quickly.
const RECENT: usize = 16 << 10;

/// The length of the history for an edit.
const ALL: usize = 1 << 20;

/// The zstd level, with and without history. A packed request is short, so a high level is cheap.
const LEVEL: i32 = 9;

const KIND_RECENT: u8 = 1;
const KIND_ALL: u8 = 2;

/// Packs frames, compressed against `history` if it is not empty. `edits` is whether the request
/// changes the conversation other than by an addition.
pub(super) fn pack<C: Carrier>(
    frames: &[String],
    history: Option<&Context>,
    edits: bool,
    max_size: usize,
) -> Result<C, EncodeError> {
    let message = write_frames(frames)?;
    if message.len() > max_size {
        // The peer would reject a larger message.
        let size = message.len();
        let message = format!(
            "{size} bytes of frames are more than max_size, {max_size}: send them without pack"
        );
        return Err(EncodeError { field: "pack", message });
    }
    let failed = |error: compression::Error| invalid(&error.to_string());
    let Some(context) = history.filter(|context| context.has_history()) else {
        let packed = compression::zstd_at(&message, LEVEL).map_err(failed)?;
        return Ok(C::binary(packed, Transport::Zstd));
    };
    let (kind, len) = if edits { (KIND_ALL, ALL) } else { (KIND_RECENT, RECENT) };
    let dictionary =
        CDict::try_create(&context.history(len), LEVEL).ok_or_else(|| invalid(NO_MEMORY))?;
    let packed = compression::zstd(&message, Some(&dictionary)).map_err(failed)?;
    let packed = [&[kind], &context.history_id()[..], &packed].concat();
    Ok(C::binary(packed, Transport::Zstd))
}

/// Decompresses the text or bytes of [`pack`] to the `MessagePack` array of the frames.
pub(super) fn unpack(
    wire: Wire<'_>,
    context: &Context,
    max_size: usize,
) -> Result<Vec<u8>, DecodeError> {
    let failed = |error| DecodeError::Compact { frame: None, error };
    let packed = match wire {
        Wire::Bytes(bytes) if is_packed_bytes(bytes) => Cow::Borrowed(bytes),
        Wire::Bytes(bytes) => {
            let text = std::str::from_utf8(bytes).map_err(|_| {
                let message = "expected a packed request, found other bytes".to_owned();
                DecodeError::InvalidFormat { frame: None, message }
            })?;
            Cow::Owned(from_text(text)?)
        }
        Wire::Text(text) => Cow::Owned(from_text(text)?),
    };
    let unzstd = |data, dictionary| {
        compression::unzstd(data, dictionary, max_size).map_err(|error| failed(error.into()))
    };
    let len = match packed.first() {
        Some(&KIND_RECENT) => RECENT,
        Some(&KIND_ALL) => ALL,
        _ => return unzstd(&packed, None),
    };
    let Some((id, frame)) = packed[1..].split_first_chunk::<4>() else {
        let message = "the packed request ends before the zstd frame".into();
        return Err(failed(compact::DecodeError::DecompressionFailed(message)));
    };
    if *id != context.history_id() {
        let unknown = vec![history_name(*id)];
        return Err(DecodeError::unknown(unknown, Vec::new()));
    }
    let dictionary = DDict::try_create(&context.history(len))
        .ok_or_else(|| failed(compact::DecodeError::OutOfMemory { bytes: len }))?;
    unzstd(frame, Some(&dictionary))
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
    matches!(bytes, [KIND_RECENT | KIND_ALL, ..]) || compression::is_zstd(bytes)
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
pub(super) fn history_name(id: [u8; 4]) -> String {
    format!("c_{:08x}", u32::from_be_bytes(id))
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

/// Parses the array from [`unpack`].
pub(super) fn read_frames(message: &[u8]) -> Result<Vec<&str>, msgpack::Error> {
    let mut reader = Reader::new(message);
    let count = reader.array_len()?;
    // Nothing is allocated for the claimed count; each frame takes at least one byte.
    let mut frames = Vec::new();
    for _ in 0..count {
        frames.push(reader.text()?);
    }
    reader.finish()?;
    Ok(frames)
}

fn invalid(message: &str) -> EncodeError {
    EncodeError { field: "context", message: message.into() }
}
