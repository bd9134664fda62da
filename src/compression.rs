//! zlib, gzip and zstd, with bounded output and reused contexts.
//!
//! Invariant: memory for decompressed bytes is bounded by the caller's limit plus one byte, for zstd also by
//! what the frame can expand to. A stream that ends early is an error, and so are bytes after a stream.
//! Contexts are kept per thread, because creating one costs more than compressing a short message.

use crate::interrupt::poll;
use crate::memory::{self, NO_MEMORY};
use flate2::{Compress, Compression, Crc, Decompress, FlushCompress, FlushDecompress, Status};
use std::cell::RefCell;
use std::thread::LocalKey;
use zstd::zstd_safe::{self, CCtx, CParameter, DCtx, InBuffer, OutBuffer, SafeResult};
use zstd_safe::zstd_sys::ZSTD_EndDirective;

pub use zstd_safe::{CDict, DDict};

/// Level of zlib and gzip (Compact Protocol v2, section 5).
const DEFLATE_LEVEL: u32 = 4;

/// Level of zstd, its default: the output of the next level is 1% smaller and takes 50% more time
/// (`benches/RESULTS.md`, "Compression levels").
const ZSTD_LEVEL: i32 = 3;

/// Longer data is passed to a compressor in parts of this size, so that the call can be stopped between them.
const PART: usize = 1 << 20;

const ZSTD_MAGIC: [u8; 4] = 0xfd2f_b528_u32.to_le_bytes();
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// The error code of zstd for an output buffer that is too small.
const ZSTD_OUTPUT_FULL: usize =
    (zstd_safe::zstd_sys::ZSTD_ErrorCode::ZSTD_error_dstSize_tooSmall as usize).wrapping_neg();

/// The error code of zstd for a context that cannot grow.
const ZSTD_NO_MEMORY: usize =
    (zstd_safe::zstd_sys::ZSTD_ErrorCode::ZSTD_error_memory_allocation as usize).wrapping_neg();

/// The maximum content of a zstd block (RFC 8878, section 3.1.1.2.4) and its minimum compressed size, in
/// bytes.
const ZSTD_BLOCK: (u64, u64) = (128 << 10, 3);

/// Why bytes could not be compressed or decompressed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The bytes are not one complete valid stream.
    #[error("{0}")]
    Failed(String),
    /// The output is larger than the caller allows.
    #[error("the decompressed size is above the limit of {0} bytes")]
    TooLarge(usize),
    /// There is not enough memory for this many bytes.
    #[error("{NO_MEMORY}")]
    OutOfMemory(usize),
}

fn failed<T>(message: impl Into<String>) -> Result<T, Error> {
    Err(Error::Failed(message.into()))
}

/// An upper bound on the size of a new context, in bytes.
const CONTEXT_SIZE: usize = 1 << 20;

type Context<T> = LocalKey<RefCell<Option<T>>>;

thread_local! {
    static ZLIB: RefCell<Option<Compress>> = const { RefCell::new(None) };
    static DEFLATE: RefCell<Option<Compress>> = const { RefCell::new(None) };
    static INFLATE: RefCell<Option<Decompress>> = const { RefCell::new(None) };
    static ZSTD: RefCell<Option<CCtx<'static>>> = const { RefCell::new(None) };
    static UNZSTD: RefCell<Option<DCtx<'static>>> = const { RefCell::new(None) };
}

/// Runs `work` with the context of this thread. Checks for memory before it creates one, because the
/// libraries panic without it.
fn with_context<C, T>(
    context: &'static Context<C>,
    create: impl FnOnce() -> C,
    work: impl FnOnce(&mut C) -> Result<T, Error>,
) -> Result<T, Error> {
    context.with_borrow_mut(|context| {
        if let Some(context) = context {
            return work(context);
        }
        ensure(CONTEXT_SIZE)?;
        work(context.insert(create()))
    })
}

/// The container format of a deflate stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// RFC 1950.
    Zlib,
    /// RFC 1952.
    Gzip,
}

impl Stream {
    /// Detects gzip by its first two bytes. All other data is taken for zlib.
    pub fn of(data: &[u8]) -> Self {
        if data.starts_with(&GZIP_MAGIC) { Self::Gzip } else { Self::Zlib }
    }
}

/// Compresses into a zlib stream.
///
/// # Errors
/// [`Error::OutOfMemory`].
pub fn zlib(data: &[u8]) -> Result<Vec<u8>, Error> {
    deflate(&ZLIB, true, data, Vec::new())
}

/// Compresses into a gzip member without name and time. Its header always names Unix as the
/// operating system, so that the bytes are the same on every system.
///
/// # Errors
/// [`Error::OutOfMemory`].
pub fn gzip(data: &[u8]) -> Result<Vec<u8>, Error> {
    let header = vec![GZIP_MAGIC[0], GZIP_MAGIC[1], 8, 0, 0, 0, 0, 0, 0, 3];
    let mut out = deflate(&DEFLATE, false, data, header)?;
    let mut crc = Crc::new();
    crc.update(data);
    reserve(&mut out, 8)?;
    out.extend_from_slice(&crc.sum().to_le_bytes());
    out.extend_from_slice(&crc.amount().to_le_bytes());
    Ok(out)
}

/// Compresses `data` and appends it to `out`.
fn deflate(
    context: &'static Context<Compress>,
    has_header: bool,
    data: &[u8],
    mut out: Vec<u8>,
) -> Result<Vec<u8>, Error> {
    let create = || Compress::new(Compression::new(DEFLATE_LEVEL), has_header);
    with_context(context, create, |context| {
        context.reset();
        loop {
            // The library counts in 32 bits, so data of 4 GiB or more must be passed in parts.
            let left = &data[in_memory(context.total_in())..];
            let (part, flush) = match left.split_at_checked(PART) {
                Some((part, rest)) if !rest.is_empty() => (part, FlushCompress::None),
                _ => (left, FlushCompress::Finish),
            };
            if data.len() > PART {
                poll();
            }
            let more = part.len() / 2 + 64;
            out.try_reserve(more).map_err(|_| Error::OutOfMemory(more))?;
            match context.compress_vec(part, &mut out, flush) {
                Ok(Status::Ok | Status::BufError) => {}
                Ok(Status::StreamEnd) => return Ok(()),
                // A context in a wrong state, which `reset` rules out: no stream that ends early may pass.
                Err(error) => return failed(format!("cannot compress: {error}")),
            }
        }
    })?;
    Ok(out)
}

/// Decompresses one zlib stream or gzip member to at most `limit` bytes.
///
/// # Errors
/// [`Error::TooLarge`] as soon as the output exceeds the limit, [`Error::OutOfMemory`], otherwise
/// [`Error::Failed`].
pub fn inflate(data: &[u8], limit: usize) -> Result<Vec<u8>, Error> {
    match Stream::of(data) {
        Stream::Zlib => {
            let (out, end) = inflate_stream(data, None, limit)?;
            expect_end(data.len() - end)?;
            Ok(out)
        }
        Stream::Gzip => {
            let header = gzip_header_len(data)?;
            let (out, end) = inflate_stream(data, Some(header), limit)?;
            let Some((trailer, rest)) = data[end..].split_first_chunk::<8>() else {
                return failed("gzip stream ends early, in its checksum");
            };
            expect_end(rest.len())?;
            let mut crc = Crc::new();
            crc.update(&out);
            let sums = [crc.sum().to_le_bytes(), crc.amount().to_le_bytes()];
            if trailer == sums.as_flattened() { Ok(out) } else { failed("gzip checksum differs") }
        }
    }
}

/// Inflates a zlib stream, or a raw deflate stream after a header of the given length. Returns the output and
/// the offset of the stream's end in `data`.
fn inflate_stream(
    data: &[u8],
    header: Option<usize>,
    limit: usize,
) -> Result<(Vec<u8>, usize), Error> {
    let start = header.unwrap_or(0);
    let mut out = Vec::new();
    let end = with_context(
        &INFLATE,
        || Decompress::new(true),
        |context| {
            context.reset(header.is_none());
            loop {
                // One byte more than the limit shows whether the output exceeds it.
                let most = limit.saturating_add(1) - out.len();
                let more = most.min(out.len().max(data.len().saturating_mul(2)).max(256));
                reserve(&mut out, more)?;
                let left = &data[start + in_memory(context.total_in())..];
                let status = context.decompress_vec(left, &mut out, FlushDecompress::Finish);
                let end = start + in_memory(context.total_in());
                if out.len() > limit {
                    return Err(Error::TooLarge(limit));
                }
                match status {
                    Ok(Status::StreamEnd) => return Ok(end),
                    Ok(Status::Ok | Status::BufError) if out.len() < out.capacity() => {
                        return failed(format!("stream ends early, after {end} bytes"));
                    }
                    Ok(Status::Ok | Status::BufError) => {}
                    Err(_) => return failed(format!("not a deflate stream from byte {end} on")),
                }
            }
        },
    )?;
    Ok((out, end))
}

/// Length of a gzip member's header (RFC 1952, section 2.3).
fn gzip_header_len(data: &[u8]) -> Result<usize, Error> {
    const HEADER_CRC: u8 = 2;
    const EXTRA: u8 = 4;
    const NAME: u8 = 8;
    const COMMENT: u8 = 16;
    const RESERVED: u8 = 0xe0;

    let early = || Error::Failed("gzip stream ends early, in its header".into());
    let fixed = data.first_chunk::<10>().ok_or_else(early)?;
    let (method, flags) = (fixed[2], fixed[3]);
    if method != 8 || flags & RESERVED != 0 {
        return failed(format!(
            "unsupported gzip header, with method {method} and flags {flags:#04x}"
        ));
    }
    let mut end = fixed.len();
    if flags & EXTRA != 0 {
        let len = data[end..].first_chunk::<2>().ok_or_else(early)?;
        end += 2 + usize::from(u16::from_le_bytes(*len));
    }
    for flag in [NAME, COMMENT] {
        if flags & flag != 0 {
            let text = data.get(end..).ok_or_else(early)?;
            end += text.iter().position(|&byte| byte == 0).ok_or_else(early)? + 1;
        }
    }
    if flags & HEADER_CRC != 0 {
        end += 2;
    }
    if end > data.len() { Err(early()) } else { Ok(end) }
}

/// Compresses into a zstd frame that states its content size and has no checksum. With a dictionary, the
/// level is that of the dictionary, and the frame states its id.
///
/// # Errors
/// [`Error::OutOfMemory`].
pub fn zstd(data: &[u8], dictionary: Option<&CDict<'_>>) -> Result<Vec<u8>, Error> {
    match dictionary {
        None => zstd_at(data, ZSTD_LEVEL),
        Some(dictionary) if data.len() > PART => {
            zstd_in_parts(data, |context| context.ref_cdict(dictionary))
        }
        Some(dictionary) => {
            zstd_with(data, |context, out| context.compress_using_cdict(out, data, dictionary))
        }
    }
}

/// Compresses data that follows `prefix`, at the given level. The header of the frame does not state the
/// content size.
///
/// # Errors
/// [`Error::OutOfMemory`].
#[cfg(feature = "session")]
pub fn zstd_after(data: &[u8], prefix: &[u8], level: i32) -> Result<Vec<u8>, Error> {
    zstd_in_parts(data, |context| {
        context.set_parameter(CParameter::CompressionLevel(level))?;
        context.set_parameter(CParameter::ContentSizeFlag(false))?;
        context.ref_prefix(prefix)
    })
}

/// Compresses like [`zstd`] without a dictionary, at the given level.
///
/// # Errors
/// [`Error::OutOfMemory`].
pub fn zstd_at(data: &[u8], level: i32) -> Result<Vec<u8>, Error> {
    if data.len() > PART {
        return zstd_in_parts(data, |context| {
            context.set_parameter(CParameter::CompressionLevel(level))
        });
    }
    zstd_with(data, |context, out| context.compress(out, data, level))
}

fn zstd_with(
    data: &[u8],
    compress: impl FnOnce(&mut CCtx<'static>, &mut Vec<u8>) -> SafeResult,
) -> Result<Vec<u8>, Error> {
    let mut out = Vec::new();
    reserve(&mut out, zstd_safe::compress_bound(data.len()))?;
    with_context(&ZSTD, CCtx::create, |context| compress(context, &mut out).map_err(zstd_error))?;
    Ok(out)
}

/// Compresses long data in parts. The frame is only a few bytes per part longer than that of a single call.
fn zstd_in_parts<'d>(
    data: &[u8],
    prepare: impl FnOnce(&mut CCtx<'d>) -> SafeResult,
) -> Result<Vec<u8>, Error> {
    ensure(CONTEXT_SIZE)?;
    let mut context = CCtx::create();
    prepare(&mut context).map_err(zstd_error)?;
    context.set_pledged_src_size(Some(data.len() as u64)).map_err(zstd_error)?;
    let mut out = Vec::new();
    reserve(&mut out, zstd_safe::compress_bound(data.len()))?;
    let mut target = OutBuffer::around(&mut out);
    let mut parts = data.chunks(PART).peekable();
    while let Some(part) = parts.next() {
        poll();
        let mut source = InBuffer::around(part);
        let end = match parts.peek() {
            Some(_) => ZSTD_EndDirective::ZSTD_e_continue,
            None => ZSTD_EndDirective::ZSTD_e_end,
        };
        // The output has space for the whole frame, so that one call takes the whole part.
        let left = context.compress_stream2(&mut target, &mut source, end).map_err(zstd_error)?;
        if source.pos < part.len() || (parts.peek().is_none() && left > 0) {
            return Err(zstd_error(ZSTD_OUTPUT_FULL));
        }
    }
    Ok(out)
}

/// The memory for training from samples of `total` bytes together. Without it, zstd may make another dictionary
/// instead of failing: it tries several parameters, and passes over those that fail.
pub fn training_size(total: usize, samples: usize, size: usize) -> usize {
    /// The tables of frequencies and the compressor, which do not depend on the samples.
    const TABLES: usize = 80 << 20;
    TABLES
        .saturating_add(total.saturating_mul(2))
        .saturating_add(samples.saturating_mul(96))
        .saturating_add(size.saturating_mul(4))
}

/// Trains a zstd dictionary of at most `size` bytes. `data` are the concatenated samples.
///
/// # Errors
/// [`Error::OutOfMemory`]; [`Error::Failed`] for samples that are too few or too small.
pub fn train_zstd(data: &[u8], sizes: &[usize], size: usize) -> Result<Vec<u8>, Error> {
    let mut out = Vec::new();
    reserve(&mut out, size)?;
    zstd_safe::train_from_buffer(&mut out, data, sizes).map_err(zstd_error)?;
    Ok(out)
}

/// Decompresses one zstd frame to at most `limit` bytes.
///
/// # Errors
/// [`Error::TooLarge`], before memory is allocated if the frame states its content size;
/// [`Error::OutOfMemory`]; otherwise [`Error::Failed`].
pub fn unzstd(data: &[u8], dictionary: Option<&DDict<'_>>, limit: usize) -> Result<Vec<u8>, Error> {
    let claimed = zstd_content_size(data)?;
    if claimed.is_some_and(|size| size > limit as u64) {
        return Err(Error::TooLarge(limit));
    }
    expect_end(data.len() - zstd_safe::find_frame_compressed_size(data).map_err(zstd_error)?)?;
    let most = zstd_capacity(data, claimed)?;
    let mut out = Vec::new();
    reserve(&mut out, most.min(limit))?;
    with_context(&UNZSTD, DCtx::create, |context| {
        let result = match dictionary {
            None => context.decompress(&mut out, data),
            Some(dictionary) => context.decompress_using_ddict(&mut out, data, dictionary),
        };
        result.map_err(|code| match code {
            ZSTD_OUTPUT_FULL if most > limit => Error::TooLarge(limit),
            code => zstd_error(code),
        })
    })?;
    Ok(out)
}

/// The id of the dictionary that a zstd frame names; 0 for none.
///
/// # Errors
/// [`Error::Failed`] if `data` does not begin with a frame.
pub fn zstd_dictionary_id(data: &[u8]) -> Result<u32, Error> {
    zstd_content_size(data)?;
    Ok(zstd_safe::get_dict_id_from_frame(data).map_or(0, u32::from))
}

/// Whether data begins as a zstd frame.
pub fn is_zstd(data: &[u8]) -> bool {
    data.starts_with(&ZSTD_MAGIC)
}

/// The content size in the header of a frame, if the header has one.
///
/// # Errors
/// [`Error::Failed`] if `data` does not begin with a frame.
pub fn zstd_content_size(data: &[u8]) -> Result<Option<u64>, Error> {
    if !is_zstd(data) {
        return failed("not a zstd frame");
    }
    zstd_safe::get_frame_content_size(data)
        .map_err(|_| Error::Failed("zstd frame has no valid header".into()))
}

/// The maximum size of a frame's output.
fn zstd_capacity(data: &[u8], claimed: Option<u64>) -> Result<usize, Error> {
    let most = (data.len() as u64 / ZSTD_BLOCK.1).saturating_mul(ZSTD_BLOCK.0);
    match claimed {
        Some(size) if size > most => failed(format!(
            "{} bytes of zstd declare a content of {size} bytes, which is impossible",
            data.len()
        )),
        Some(size) => Ok(in_memory(size)),
        // A streaming compressor does not know the size when it writes the header.
        None => Ok(in_memory(zstd_safe::decompress_bound(data).map_err(zstd_error)?)),
    }
}

fn zstd_error(code: usize) -> Error {
    if code == ZSTD_NO_MEMORY {
        return Error::OutOfMemory(CONTEXT_SIZE);
    }
    Error::Failed(zstd_safe::get_error_name(code).into())
}

/// Converts a number of bytes that are in memory or bounded by a limit.
fn in_memory(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

/// Reserves memory; fails instead of aborting if there is none.
fn reserve(out: &mut Vec<u8>, more: usize) -> Result<(), Error> {
    out.try_reserve_exact(more).map_err(|_| Error::OutOfMemory(more))
}

fn ensure(bytes: usize) -> Result<(), Error> {
    memory::ensure(bytes).map_err(|_| Error::OutOfMemory(bytes))
}

fn expect_end(rest: usize) -> Result<(), Error> {
    if rest == 0 { Ok(()) } else { failed(format!("{rest} bytes follow the compressed stream")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::{GzBuilder, write::GzEncoder};
    use proptest::prelude::*;
    use std::io::Write;

    const LIMIT: usize = 1 << 20;

    fn message(result: Result<Vec<u8>, Error>) -> String {
        result.unwrap_err().to_string()
    }

    #[test]
    fn gzip_with_every_header_field_is_read() {
        let mut encoder = GzBuilder::new()
            .filename("a name")
            .comment("a comment")
            .extra([1, 2, 3])
            .mtime(7)
            .write(Vec::new(), Compression::default());
        encoder.write_all(b"hello").unwrap();
        let data = encoder.finish().unwrap();
        assert_eq!(inflate(&data, LIMIT).unwrap(), b"hello");
        for end in 0..data.len() {
            assert!(inflate(&data[..end], LIMIT).is_err(), "cut at {end}");
        }
    }

    #[test]
    fn gzip_checksum_is_checked() {
        let mut data = gzip(b"hello").unwrap();
        let crc = data.len() - 8;
        data[crc] ^= 1;
        assert_eq!(message(inflate(&data, LIMIT)), "gzip checksum differs");
    }

    #[test]
    fn every_stream_is_refused_when_cut_or_continued() {
        let text = b"to be or not to be, that is the question: ".repeat(20);
        for data in [zlib(&text).unwrap(), gzip(&text).unwrap()] {
            for end in 0..data.len() {
                assert!(inflate(&data[..end], LIMIT).is_err(), "cut at {end}");
            }
            let more = [&data[..], b"x"].concat();
            assert_eq!(message(inflate(&more, LIMIT)), "1 bytes follow the compressed stream");
            assert_eq!(inflate(&data, LIMIT).unwrap(), text);
        }
        let data = zstd(&text, None).unwrap();
        for end in 0..data.len() {
            assert!(unzstd(&data[..end], None, LIMIT).is_err(), "cut at {end}");
        }
        let more = [&data[..], &data].concat();
        assert!(message(unzstd(&more, None, LIMIT)).contains("bytes follow"));
        assert_eq!(unzstd(&data, None, LIMIT).unwrap(), text);
    }

    #[test]
    fn long_data_is_compressed_as_in_one_part() {
        let mut words = 1_u64;
        let mut text = Vec::new();
        while text.len() < 3 * PART + 7 {
            words = words.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            text.extend_from_slice(format!("{} ", words >> 44).as_bytes());
        }
        let mut context = Compress::new(Compression::new(DEFLATE_LEVEL), true);
        let mut whole = Vec::with_capacity(text.len());
        context.compress_vec(&text, &mut whole, FlushCompress::Finish).unwrap();
        assert!(zlib(&text).unwrap() == whole, "the same stream");
        assert_eq!(inflate(&whole, text.len()).unwrap(), text);

        let dictionary = CDict::create(&text[..1000], 8);
        let reader = DDict::create(&text[..1000]);
        for (dictionary, reader) in [(None, None), (Some(&dictionary), Some(&reader))] {
            let parts = zstd(&text, dictionary).unwrap();
            let whole = zstd_with(&text, |context, out| match dictionary {
                None => context.compress(out, &text, ZSTD_LEVEL),
                Some(dictionary) => context.compress_using_cdict(out, &text, dictionary),
            });
            assert!(parts.len() <= whole.unwrap().len() * 101 / 100, "{}", parts.len());
            assert_eq!(zstd_content_size(&parts), Ok(Some(text.len() as u64)));
            assert!(unzstd(&parts, reader, text.len()).unwrap() == text);
        }
    }

    #[test]
    fn the_limit_is_exact() {
        let text = vec![b'x'; 100_000];
        let mut streaming = zstd::Encoder::new(Vec::new(), 3).unwrap();
        streaming.write_all(&text).unwrap();
        let unknown_size = streaming.finish().unwrap();
        assert_eq!(zstd_safe::get_frame_content_size(&unknown_size).ok(), Some(None));
        for data in [zstd(&text, None).unwrap(), unknown_size] {
            assert_eq!(unzstd(&data, None, text.len()).unwrap(), text);
            assert_eq!(unzstd(&data, None, text.len() - 1), Err(Error::TooLarge(text.len() - 1)));
        }
        for data in [zlib(&text).unwrap(), gzip(&text).unwrap()] {
            assert_eq!(inflate(&data, text.len()).unwrap(), text);
            assert_eq!(inflate(&data, text.len() - 1), Err(Error::TooLarge(text.len() - 1)));
        }
        assert_eq!(inflate(&zlib(b"").unwrap(), 0), Ok(Vec::new()));
        assert_eq!(unzstd(&zstd(b"", None).unwrap(), None, 0), Ok(Vec::new()));
    }

    #[test]
    fn a_broken_frame_is_not_taken_for_a_large_one() {
        let text: Vec<u8> = (0..60_000u32).flat_map(|i| (i % 251 * i % 17).to_le_bytes()).collect();
        let mut streaming = zstd::Encoder::new(Vec::new(), 3).unwrap();
        streaming.write_all(&text).unwrap();
        let data = streaming.finish().unwrap();
        for position in (0..data.len()).step_by(7) {
            let mut broken = data.clone();
            broken[position] ^= 0x10;
            assert!(
                !matches!(unzstd(&broken, None, 1 << 30), Err(Error::TooLarge(_))),
                "{position}"
            );
        }
    }

    #[test]
    fn a_frame_cannot_claim_more_than_its_bytes_can_hold() {
        // Single segment, 8-byte content size of 2^40, one empty last raw block.
        let mut data = ZSTD_MAGIC.to_vec();
        data.push(0b1110_0000);
        data.extend_from_slice(&(1u64 << 40).to_le_bytes());
        data.extend_from_slice(&[1, 0, 0]);
        assert!(message(unzstd(&data, None, usize::MAX)).contains("which is impossible"));
        assert_eq!(unzstd(&data, None, LIMIT), Err(Error::TooLarge(LIMIT)));
    }

    #[test]
    fn a_failed_stream_leaves_the_context_usable() {
        for _ in 0..3 {
            assert!(inflate(b"x\x9cnonsense", LIMIT).is_err());
            assert_eq!(inflate(&zlib(b"fine").unwrap(), LIMIT).unwrap(), b"fine");
            let mut broken = zstd(&[7; 1000], None).unwrap();
            *broken.last_mut().unwrap() ^= 0xff;
            let _ = unzstd(&broken, None, LIMIT);
            broken.truncate(9);
            assert!(unzstd(&broken, None, LIMIT).is_err());
            assert_eq!(unzstd(&zstd(b"fine", None).unwrap(), None, LIMIT).unwrap(), b"fine");
        }
    }

    #[test]
    fn gzip_is_read_by_a_peer_and_reads_a_peer() {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(b"peer").unwrap();
        assert_eq!(inflate(&encoder.finish().unwrap(), LIMIT).unwrap(), b"peer");
        let ours = gzip(b"ours").unwrap();
        let mut text = String::new();
        std::io::Read::read_to_string(&mut flate2::read::GzDecoder::new(&ours[..]), &mut text)
            .unwrap();
        assert_eq!(text, "ours");
    }

    proptest! {
        #[test]
        fn all_round_trip(data: Vec<u8>, repeats in 1usize..50) {
            let data = data.repeat(repeats);
            prop_assert_eq!(&inflate(&zlib(&data).unwrap(), LIMIT).unwrap(), &data);
            prop_assert_eq!(&inflate(&gzip(&data).unwrap(), LIMIT).unwrap(), &data);
            prop_assert_eq!(&unzstd(&zstd(&data, None).unwrap(), None, LIMIT).unwrap(), &data);
        }

        #[test]
        fn noise_is_an_error_or_a_stream_but_never_a_panic(mut data: Vec<u8>, head in 0usize..4) {
            let magic: &[u8] = [&b""[..], b"\x1f\x8b\x08\x1e", b"\x78\x9c", &ZSTD_MAGIC][head];
            data.splice(0..0, magic.iter().copied());
            let _ = inflate(&data, 1 << 16);
            let _ = unzstd(&data, None, 1 << 16);
        }
    }
}
