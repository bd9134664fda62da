//! Base85: four bytes as five printable ASCII characters, big-endian.
//!
//! Compact Protocol v2, section 4. The alphabet is that of Z85 with upper and lower case swapped:
//!
//! ```text
//! 0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz.-:+=^!/*?&<>()[]{}@%$#
//! ```
//!
//! A last group of one to three bytes, which Z85 does not have, becomes two to four characters. [`encode`]
//! accepts all bytes and is canonical. [`decode`] accepts a text if each group is a number below 2^32; it
//! ignores the spare bits of a partial group.
//!
//! ```
//! use compactwire::base85;
//!
//! assert_eq!(base85::encode(b"abcd"), "VPa.s");
//! assert_eq!(base85::decode("VPa.s"), Ok(b"abcd".to_vec()));
//! assert_eq!(base85::decode("#####"), Err(base85::Error::Value { position: 0 }));
//! ```
//!
//! # Where we differ
//! The specification's decoder wraps a group above 2^32 - 1 around and drops a single trailing
//! character; both are errors here.
//!
//! # Engines
//! Five engines return the same results. `avx512` and `avx2` process whole blocks on processors that have the
//! instructions, `neon` on ARM (`cargo bench --bench base85` measures them). The scalar code below processes the
//! rest, and everything on other processors. `naive` is for tests only. An engine stops at an invalid group; only
//! `first_error` makes the error, so that it is the same for all engines.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(test)]
mod naive;
#[cfg(all(target_arch = "aarch64", target_endian = "little"))]
mod neon;

use crate::interrupt::poll;
use std::mem;

/// The 85 digits in order of their value.
pub const ALPHABET: &[u8; 85] =
    b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz.-:+=^!/*?&<>()[]{}@%$#";

/// 85^2, the number of values of two digits.
const PAIR: u32 = 85 * 85;

/// `x * PAIR_RECIPROCAL >> 44 == x / 7225` for every 32-bit x.
#[cfg(any(target_arch = "x86_64", all(target_arch = "aarch64", target_endian = "little")))]
const PAIR_RECIPROCAL: u32 = 2_434_904_643;
/// `x * DIGIT_RECIPROCAL >> 20 == x / 85` for every x below 7225.
#[cfg(any(target_arch = "x86_64", all(target_arch = "aarch64", target_endian = "little")))]
const DIGIT_RECIPROCAL: u16 = 12_337;

/// The bytes that are encoded between two polls, whole groups.
const PART: usize = if cfg!(test) { 1 << 10 } else { 8 << 20 };

/// The digit that completes a partial group on decoding (v2, "Decoding Algorithm").
const PADDING: u8 = ALPHABET[84];

/// Why a text is not Base85. Positions count characters from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum Error {
    /// A character outside the alphabet.
    #[error("character {char:?} at position {position} is not in the Base85 alphabet")]
    Char {
        /// The character.
        char: char,
        /// Its position.
        position: usize,
    },
    /// One character is left over after the full groups. A last group has two to four.
    #[error(
        "Base85 text of {0} characters leaves one over: a last group has 2 to 4 (text cut off?)"
    )]
    Length(usize),
    /// A group of five characters that stands for a number above 2^32 - 1.
    #[error("Base85 group at position {position} is above 2^32 - 1")]
    Value {
        /// The position of the group's first character.
        position: usize,
    },
}

/// Length in characters of the encoding of `bytes` bytes.
pub const fn encoded_len(bytes: usize) -> usize {
    bytes / 4 * 5
        + match bytes % 4 {
            0 => 0,
            tail => tail + 1,
        }
}

/// Length in bytes of the decoding of `chars` characters.
pub const fn decoded_len(chars: usize) -> usize {
    chars / 5 * 4 + (chars % 5).saturating_sub(1)
}

/// Encodes `data`: four bytes become five characters, a last group of n < 4 bytes becomes n + 1.
pub fn encode(data: &[u8]) -> String {
    encode_prefixed("", data)
}

/// Returns `prefix` followed by the encoding of `data`, in one allocation.
pub(crate) fn encode_prefixed(prefix: &str, data: &[u8]) -> String {
    encode_with(Engine::best(), prefix, data)
}

fn encode_with(engine: Engine, prefix: &str, data: &[u8]) -> String {
    let mut text = buffer(prefix.as_bytes(), encoded_len(data.len()));
    encode_slice(engine, data, &mut text[prefix.len()..]);
    // SAFETY: `prefix` is UTF-8 and every byte after it was overwritten by an ASCII digit of
    // ALPHABET. The benchmark base85/encode/checked measures the cost of checking it again.
    unsafe { String::from_utf8_unchecked(text) }
}

/// Decodes `text`.
///
/// # Errors
/// The first [`Error`] in the text, except that an ASCII text with one character too many is always
/// [`Error::Length`], because it is most likely cut off.
pub fn decode(text: &str) -> Result<Vec<u8>, Error> {
    decode_with(Engine::best(), text)
}

/// Encodes into `text`, whose length is [`encoded_len`] of that of `data`; all of it becomes ASCII.
pub fn encode_into(data: &[u8], text: &mut [u8]) {
    encode_slice(Engine::best(), data, text);
}

/// Decodes into `data`, whose length is [`decoded_len`] of that of `text`.
///
/// # Errors
/// As [`decode`].
pub fn decode_into(text: &str, data: &mut [u8]) -> Result<(), Error> {
    decode_into_with(Engine::best(), text, data)
}

/// Returns `start` followed by `rest` zeros.
fn buffer(start: &[u8], rest: usize) -> Vec<u8> {
    /// Up to here, filling a buffer is faster than asking for zeros: `calloc` of glibc before 2.41 does not look into
    /// the thread's cache of small blocks.
    const SMALL: usize = 1 << 10;

    let len = start.len() + rest;
    if len > SMALL {
        let mut bytes = vec![0; len];
        bytes[..start.len()].copy_from_slice(start);
        return bytes;
    }
    let mut bytes = Vec::with_capacity(len);
    bytes.extend_from_slice(start);
    bytes.resize(len, 0);
    bytes
}

fn decode_with(engine: Engine, text: &str) -> Result<Vec<u8>, Error> {
    let mut data = buffer(&[], decoded_len(text.len()));
    decode_into_with(engine, text, &mut data)?;
    Ok(data)
}

fn decode_into_with(engine: Engine, text: &str, data: &mut [u8]) -> Result<(), Error> {
    if text.len() % 5 == 1 && text.is_ascii() {
        return Err(Error::Length(text.len()));
    }
    decode_slice(engine, text.as_bytes(), data).map_err(|valid| first_error(text, valid))
}

/// Encodes with one engine, for the benches, which justify each engine by its speed. `checked` is
/// the best engine with a checked conversion to `String` instead of an `unsafe` one. `None` if the
/// engine is unknown, or if this processor lacks it.
#[doc(hidden)]
pub fn encode_with_engine(name: &str, data: &[u8]) -> Option<String> {
    if name == "checked" {
        let mut text = vec![0; encoded_len(data.len())];
        encode_slice(Engine::best(), data, &mut text);
        return String::from_utf8(text).ok();
    }
    Engine::named(name).map(|engine| encode_with(engine, "", data))
}

/// Decodes with one engine, for the benches.
#[doc(hidden)]
pub fn decode_with_engine(name: &str, text: &str) -> Option<Vec<u8>> {
    decode_with(Engine::named(name)?, text).ok()
}

/// The engine that this processor runs: `scalar`, `avx2`, `avx512` or `neon`.
pub fn engine() -> &'static str {
    Engine::best().name()
}

/// The engines that are compiled for this kind of processor, the slowest first.
pub fn engines() -> Vec<&'static str> {
    Engine::ORDER.map(Engine::name).to_vec()
}

/// Encodes or decodes whole blocks. Unsafe, because the processor must have the engine's features.
type Blocks = unsafe fn(&[u8], &mut [u8]) -> usize;

/// Processes whole blocks from the front; the scalar code processes the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Engine {
    Scalar,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
    #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
    Neon,
}

impl Engine {
    /// Every engine that this processor runs, the slowest first.
    fn all() -> impl Iterator<Item = Self> {
        let best = Self::best();
        Self::ORDER.into_iter().take_while(move |&engine| engine != best).chain([best])
    }

    fn named(name: &str) -> Option<Self> {
        Self::all().find(|engine| engine.name() == name)
    }

    fn name(self) -> &'static str {
        match self {
            Self::Scalar => "scalar",
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => "avx2",
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => "avx512",
            #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
            Self::Neon => "neon",
        }
    }

    #[cfg(target_arch = "x86_64")]
    const ORDER: [Self; 3] = [Self::Scalar, Self::Avx2, Self::Avx512];
    #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
    const ORDER: [Self; 2] = [Self::Scalar, Self::Neon];
    #[cfg(not(any(
        target_arch = "x86_64",
        all(target_arch = "aarch64", target_endian = "little")
    )))]
    const ORDER: [Self; 1] = [Self::Scalar];

    /// The fastest that the processor has.
    fn best() -> Self {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512vbmi")
        {
            return Self::Avx512;
        } else if is_x86_feature_detected!("avx2") {
            return Self::Avx2;
        }
        #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
        return Self::Neon;
        #[cfg(not(all(target_arch = "aarch64", target_endian = "little")))]
        Self::Scalar
    }

    /// The functions that encode and decode blocks; `None` for the engine that has no blocks.
    #[inline]
    fn blocks(self) -> Option<(Blocks, Blocks)> {
        match self {
            Self::Scalar => None,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => Some((avx2::encode_blocks, avx2::decode_blocks)),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => Some((avx512::encode_blocks, avx512::decode_blocks)),
            #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
            Self::Neon => Some((neon::encode_blocks, neon::decode_blocks)),
        }
    }

    /// Encodes blocks from the front of `data`. Returns the number of bytes encoded, a multiple of
    /// four.
    fn encode_blocks(self, data: &[u8], text: &mut [u8]) -> usize {
        // SAFETY: `best` returns an engine only if the processor has its features.
        self.blocks().map_or(0, |(encode, _)| unsafe { encode(data, text) })
    }

    /// Decodes valid blocks from the front of `text`. Returns the number of characters decoded, a
    /// multiple of five.
    fn decode_blocks(self, text: &[u8], data: &mut [u8]) -> usize {
        // SAFETY: as in `encode_blocks`.
        self.blocks().map_or(0, |(_, decode)| unsafe { decode(text, data) })
    }
}

/// The whole blocks at the front of `from`, each with its block of `to`.
#[cfg(any(target_arch = "x86_64", all(target_arch = "aarch64", target_endian = "little")))]
#[inline]
fn paired_blocks<'a, const FROM: usize, const TO: usize>(
    from: &'a [u8],
    to: &'a mut [u8],
) -> impl Iterator<Item = (&'a [u8; FROM], &'a mut [u8; TO])> {
    from.as_chunks().0.iter().zip(to.as_chunks_mut().0)
}

/// Encodes into `text`, whose length is `encoded_len(data.len())`.
fn encode_slice(engine: Engine, data: &[u8], text: &mut [u8]) {
    let parts = data.chunks(PART).zip(text.chunks_mut(encoded_len(PART)));
    for (at, (data, text)) in parts.enumerate() {
        if at > 0 {
            poll();
        }
        encode_part(engine, data, text);
    }
}

fn encode_part(engine: Engine, data: &[u8], text: &mut [u8]) {
    debug_assert_eq!(text.len(), encoded_len(data.len()));
    let done = engine.encode_blocks(data, text);
    let (words, tail) = data[done..].as_chunks::<4>();
    let (groups, last) = text[done / 4 * 5..].as_chunks_mut::<5>();
    for (word, group) in words.iter().zip(groups) {
        *group = encode_word(*word);
    }
    if !tail.is_empty() {
        let mut word = [0; 4];
        word[..tail.len()].copy_from_slice(tail);
        last.copy_from_slice(&encode_word(word)[..=tail.len()]);
    }
}

/// Decodes into `data`, whose length is `decoded_len(text.len())`. The error is an offset up to which
/// all groups are valid.
fn decode_slice(engine: Engine, text: &[u8], data: &mut [u8]) -> Result<(), usize> {
    let (mut rest, mut start) = (data, 0);
    for part in text.chunks(encoded_len(PART)) {
        if start > 0 {
            poll();
        }
        let (data, after) = mem::take(&mut rest).split_at_mut(decoded_len(part.len()));
        decode_part(engine, part, data).map_err(|valid| start + valid)?;
        (rest, start) = (after, start + part.len());
    }
    Ok(())
}

fn decode_part(engine: Engine, text: &[u8], data: &mut [u8]) -> Result<(), usize> {
    debug_assert_eq!(data.len(), decoded_len(text.len()));
    let mut done = engine.decode_blocks(text, data);
    let (groups, tail) = text[done..].as_chunks::<5>();
    let (words, last) = data[done / 5 * 4..].as_chunks_mut::<4>();
    for (group, word) in groups.iter().zip(words) {
        *word = decode_group(*group).ok_or(done)?;
        done += 5;
    }
    if !tail.is_empty() {
        let mut group = [PADDING; 5];
        group[..tail.len()].copy_from_slice(tail);
        last.copy_from_slice(&decode_group(group).ok_or(done)?[..last.len()]);
    }
    Ok(())
}

#[inline]
fn encode_word(word: [u8; 4]) -> [u8; 5] {
    let value = u32::from_be_bytes(word);
    let high = value / PAIR;
    let [b, c] = PAIRS[(high % PAIR) as usize];
    let [d, e] = PAIRS[(value % PAIR) as usize];
    [ALPHABET[(high / PAIR) as usize], b, c, d, e]
}

#[inline]
fn decode_group(group: [u8; 5]) -> Option<[u8; 4]> {
    let value: u64 = group.iter().zip(&PLACES).map(|(&c, place)| place[c as usize]).sum();
    u32::try_from(value).ok().map(u32::to_be_bytes)
}

/// The first error in `text`, whose first `valid` characters are valid.
#[cold]
fn first_error(text: &str, valid: usize) -> Error {
    let mut value = 0u64;
    let mut place = 0;
    for (position, char) in text.chars().enumerate().skip(valid) {
        let digit = ALPHABET.iter().position(|&a| char::from(a) == char);
        let Some(digit) = digit else { return Error::Char { char, position } };
        value = value * 85 + digit as u64;
        place += 1;
        if place == 5 {
            if value > u64::from(u32::MAX) {
                return Error::Value { position: position - 4 };
            }
            (value, place) = (0, 0);
        }
    }
    Error::Value { position: text.len() - place }
}

/// The characters of every two-digit number.
static PAIRS: [[u8; 2]; PAIR as usize] = {
    let mut pairs = [[0; 2]; PAIR as usize];
    let mut i = 0;
    while i < pairs.len() {
        pairs[i] = [ALPHABET[i / 85], ALPHABET[i % 85]];
        i += 1;
    }
    pairs
};

/// `PLACES[i][c]`: the value of character `c` at place `i` of a group. The value of a character outside the
/// alphabet is larger than that of any valid group.
static PLACES: [[u64; 256]; 5] = {
    let mut places = [[1 << 40; 256]; 5];
    let (mut place, mut worth) = (5, 1);
    while place > 0 {
        place -= 1;
        let mut digit = 0;
        while digit < 85 {
            places[place][ALPHABET[digit] as usize] = digit as u64 * worth;
            digit += 1;
        }
        worth *= 85;
    }
    places
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interrupt::counted;
    use proptest::prelude::*;

    fn check_encode(data: &[u8]) {
        let expected = naive::encode(data);
        assert_eq!(expected.len(), encoded_len(data.len()));
        for engine in Engine::all() {
            assert_eq!(encode_with(engine, "", data), expected, "{engine:?}");
            assert_eq!(decode_with(engine, &expected).as_deref(), Ok(data), "{engine:?}");
        }
    }

    fn check_decode(text: &str) {
        let expected = naive::decode(text);
        for engine in Engine::all() {
            assert_eq!(decode_with(engine, text), expected, "{engine:?} {text}");
        }
    }

    #[test]
    fn specification_example_and_tails() {
        for (data, text) in
            [(&b""[..], ""), (b"abcd", "VPa.s"), (b"\xbe", "z5"), (b"\xe5\xe9\xa4", "<(@m")]
        {
            assert_eq!(encode(data), text);
            assert_eq!(decode(text).unwrap(), data);
        }
    }

    #[test]
    fn the_largest_group_decodes_and_the_next_does_not() {
        let largest = encode(&[0xff; 4]);
        let next = largest[..4].to_owned() + "1";
        assert_eq!(largest, "%NsC0");
        for groups in [0, 1, 7, 8, 15, 16, 40] {
            let (before, after) = ("00000".repeat(groups), "00000".repeat(20));
            check_decode(&(before.clone() + &largest + &after));
            for bad in [&*next, "#####", "$0000"] {
                let text = before.clone() + bad + &after;
                check_decode(&text);
                assert_eq!(decode(&text), Err(Error::Value { position: groups * 5 }));
            }
        }
    }

    fn polls<T>(work: impl FnOnce() -> T) -> usize {
        counted(work).1
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes minutes")]
    fn long_data_is_processed_in_parts() {
        for size in [PART - 1, PART, PART + 1, 3 * PART, 3 * PART + 2] {
            let data: Vec<u8> = (0..size).map(|at| (at % 251).to_le_bytes()[0]).collect();
            check_encode(&data);
            let text = encode(&data);
            let parts = size.div_ceil(PART);
            assert_eq!((polls(|| encode(&data)), polls(|| decode(&text))), (parts - 1, parts - 1));
            for at in (0..text.len()).step_by(97) {
                let mut bytes = text.clone().into_bytes();
                bytes[at] = b'~';
                check_decode(&String::from_utf8(bytes).unwrap());
            }
        }
        // The last part has one character, which is not a group.
        check_decode(&("0".repeat(encoded_len(PART) - 1) + "é"));
    }

    #[test]
    fn a_partial_group_ignores_spare_bits_and_may_overflow() {
        assert_eq!(decode("z5"), decode("z6"));
        assert_eq!(decode("00000##"), Err(Error::Value { position: 5 }));
        assert_eq!(decode("%NsC10"), Err(Error::Length(6)));
        check_decode("00000##");
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes minutes")]
    fn words_across_the_whole_range_match_naive() {
        for start in (0..=u32::MAX - 64).step_by(50_021_063) {
            check_encode(&(start..start + 64).flat_map(u32::to_be_bytes).collect::<Vec<_>>());
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes minutes")]
    fn every_quotient_is_exact() {
        // The smallest and the largest word for each value of `high`: a wrong reciprocal fails at one of
        // them.
        let ends = |high: u32| [high * PAIR, (high * PAIR).saturating_add(PAIR - 1)];
        let words: Vec<u8> =
            (0..=u32::MAX / PAIR).flat_map(ends).flat_map(u32::to_be_bytes).collect();
        let expected = encode_with(Engine::Scalar, "", &words);
        for engine in Engine::all() {
            assert!(encode_with(engine, "", &words) == expected, "{engine:?}");
        }
        assert_eq!(decode(&expected).as_ref(), Ok(&words));
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes minutes")]
    fn every_byte_at_every_place_of_a_block_matches_naive() {
        let valid = "0".repeat(160);
        for position in (0..80).chain([100, 159]) {
            for byte in 0..=127u8 {
                let mut text = valid.clone().into_bytes();
                text[position] = byte;
                check_decode(&String::from_utf8(text).unwrap());
            }
            let mut text = valid.clone();
            text.replace_range(position..=position, "é");
            check_decode(&text);
        }
    }

    proptest! {
        #[test]
        fn encode_matches_naive(data: Vec<u8>) {
            check_encode(&data);
        }

        #[test]
        fn decode_matches_naive(
            digits in "[0-9A-Za-z.:+=^!/*?&<>()\\[\\]{}@%$#-]{0,200}",
            any in "[0-9 ~é한|]{0,60}",
        ) {
            check_decode(&digits);
            check_decode(&any);
            check_decode(&(digits + &any));
        }
    }
}
