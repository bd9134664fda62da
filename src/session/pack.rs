//! A request as one text for programs: `S`, and Base85 of zstd of a `MessagePack` array of its frames
//! (v4 section 11, "S(request)").
//!
//! A session whose peer has a conversation compresses against it, so that an edit costs what it
//! changes, though its delta holds the whole text. Such a text is ours to read: behind `S`, in Base85,
//!
//! ```text
//! kind, 1 byte | what it is compressed against, 4 bytes | zstd frame
//! ```
//!
//! where kind is 1 ([`RECENT`] bytes of the conversation's end) or 2 ([`ALL`]); a zstd frame, which
//! begins with 0x28, is a text without. The 4 bytes are the id of the [`Context`] with the last
//! request: where the peer has another, it asks for the context as for any other reference.

use super::context::Context;
use super::error::{DecodeError, EncodeError};
use crate::base85;
use crate::compact;
use crate::compression::{self, CDict, DDict};
use crate::msgpack::{self, Reader, Writer};
use rmp::encode::{write_array_len, write_str};

/// How much of the conversation's end an addition is compressed against: what is cheap to index.
const RECENT: usize = 16 << 10;

/// How much of the conversation an edit is compressed against.
const ALL: usize = 1 << 20;

/// The zstd level, with and without history: who packs wants few bytes, and a turn has few.
const LEVEL: i32 = 9;

const KIND_RECENT: u8 = 1;
const KIND_ALL: u8 = 2;

/// Packs frames, against `history` if the peer has one; `edits` if they change what is there.
pub(super) fn pack(
    frames: &[String],
    history: Option<&Context>,
    edits: bool,
    max_size: usize,
) -> Result<String, EncodeError> {
    let message = write_frames(frames)?;
    if message.len() > max_size {
        // The peer would not unpack it.
        let size = message.len();
        let message =
            format!("{size} bytes in all are more than max_size, {max_size}: send frames");
        return Err(EncodeError { field: "pack", message });
    }
    let failed = |error: compression::Error| unfit(&error.to_string());
    let Some(context) = history.filter(|context| context.has_history()) else {
        let packed = compression::zstd_at(&message, LEVEL).map_err(failed)?;
        return Ok(base85::encode_prefixed("S", &packed));
    };
    let (kind, len) = if edits { (KIND_ALL, ALL) } else { (KIND_RECENT, RECENT) };
    let dictionary = CDict::try_create(&context.history(len), LEVEL)
        .ok_or_else(|| unfit("there is no memory to compress it"))?;
    let packed = compression::zstd(&message, Some(&dictionary)).map_err(failed)?;
    let packed = [&[kind], &context.history_id()[..], &packed].concat();
    Ok(base85::encode_prefixed("S", &packed))
}

/// Undoes [`pack`]: the `MessagePack` array of the frames.
pub(super) fn unpack(
    text: &str,
    context: &Context,
    max_size: usize,
) -> Result<Vec<u8>, DecodeError> {
    let failed = |error| DecodeError::Compact { frame: None, error };
    let packed = text.trim_ascii().strip_prefix('S').ok_or_else(|| {
        let message = "expected a packed request, which begins with S".into();
        DecodeError::InvalidFormat { frame: None, message }
    })?;
    let packed = base85::decode(packed).map_err(|error| failed(error.into()))?;
    let unzstd = |data, dictionary| {
        compression::unzstd(data, dictionary, max_size).map_err(|error| failed(error.into()))
    };
    let len = match packed.first() {
        Some(&KIND_RECENT) => RECENT,
        Some(&KIND_ALL) => ALL,
        _ => return unzstd(&packed, None),
    };
    let Some((id, frame)) = packed[1..].split_first_chunk::<4>() else {
        let message = "the text ends before its zstd frame".into();
        return Err(failed(compact::DecodeError::DecompressionFailed(message)));
    };
    if *id != context.history_id() {
        let unknown = vec![history_name(*id)];
        return Err(DecodeError::UnknownReference { unknown, undone: Vec::new() });
    }
    let dictionary = DDict::try_create(&context.history(len)).ok_or_else(|| {
        let message = "there is no memory to decompress it".into();
        failed(compact::DecodeError::DecompressionFailed(message))
    })?;
    unzstd(frame, Some(&dictionary))
}

/// How an error calls what there is to compress against: to forget the context forgets it.
pub(super) fn history_name(id: [u8; 4]) -> String {
    format!("c_{:08x}", u32::from_be_bytes(id))
}

fn write_frames(frames: &[String]) -> Result<Vec<u8>, EncodeError> {
    let size: usize = frames.iter().map(|frame| frame.len() + 5).sum();
    let mut message = Writer::with_capacity(size + 5);
    let count = |len: usize| {
        u32::try_from(len).map_err(|_| unfit("a frame of 4 GiB or more cannot be packed"))
    };
    let Ok(_) = write_array_len(&mut message, count(frames.len())?);
    for frame in frames {
        count(frame.len())?;
        let Ok(()) = write_str(&mut message, frame);
    }
    Ok(message.into_vec())
}

/// Reads the array that [`unpack`] gave.
pub(super) fn read_frames(message: &[u8]) -> Result<Vec<&str>, msgpack::Error> {
    let mut reader = Reader::new(message);
    let count = reader.array_len()?;
    // A claimed count costs nothing: each frame is at least a byte.
    let mut frames = Vec::new();
    for _ in 0..count {
        frames.push(reader.text()?);
    }
    reader.finish()?;
    Ok(frames)
}

fn unfit(message: &str) -> EncodeError {
    EncodeError { field: "context", message: message.into() }
}
