//! Base85: four bytes as five printable ASCII characters, big-endian.
//!
//! Compact Protocol v2, section 4. The alphabet is the protocol's own (Z85's with the
//! cases swapped, and a partial last group that Z85 does not have):
//!
//! ```text
//! 0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz.-:+=^!/*?&<>()[]{}@%$#
//! ```
//!
//! A last group of one to three bytes becomes two to four characters. [`encode`] is canonical and
//! total; [`decode`] accepts exactly the texts whose every group is a number below 2^32, whatever
//! the spare bits of a partial group are.
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
//! # For who changes this file
//! Three engines give the same answers: `avx2` (blocks), the scalar code below (the rest, and
//! every other processor) and `naive` (tests only). An engine that meets an invalid group stops
//! there; only `first_error` says what is wrong, so that all engines say the same.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(test)]
mod naive;

/// The 85 digits in order of their value.
pub const ALPHABET: &[u8; 85] =
    b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz.-:+=^!/*?&<>()[]{}@%$#";

/// 85^2: two digits at once.
const PAIR: u32 = 85 * 85;

/// The digit that completes a partial group on decoding (v2, "Decoding Algorithm").
const PADDING: u8 = ALPHABET[84];

/// Why a text is not Base85. Positions count characters from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A character outside the alphabet.
    #[error("character {char:?} at position {position} is not in the Base85 alphabet")]
    Char {
        /// The character.
        char: char,
        /// Where it stands.
        position: usize,
    },
    /// One character is left over behind the full groups; a last group has two to four.
    #[error(
        "Base85 text of {0} characters leaves one over: a last group has 2 to 4 (text cut off?)"
    )]
    Length(usize),
    /// Five characters that mean a number above 2^32 - 1.
    #[error("Base85 group at position {position} is above 2^32 - 1")]
    Value {
        /// Where the group begins.
        position: usize,
    },
}

/// Length in characters of the encoding of `bytes` bytes.
pub const fn encoded_len(bytes: usize) -> usize {
    bytes / 4 * 5 + if bytes % 4 == 0 { 0 } else { bytes % 4 + 1 }
}

/// Length in bytes of the decoding of `chars` characters.
pub const fn decoded_len(chars: usize) -> usize {
    chars / 5 * 4 + (chars % 5).saturating_sub(1)
}

/// Encodes `data`; five characters for four bytes, a partial last group one longer than its bytes.
pub fn encode(data: &[u8]) -> String {
    encode_prefixed("", data)
}

/// Encodes `data` behind `prefix`, in one allocation.
pub(crate) fn encode_prefixed(prefix: &str, data: &[u8]) -> String {
    let mut text = Vec::with_capacity(prefix.len() + encoded_len(data.len()));
    text.extend_from_slice(prefix.as_bytes());
    text.resize(prefix.len() + encoded_len(data.len()), 0);
    encode_slice(data, &mut text[prefix.len()..]);
    // SAFETY: `prefix` is UTF-8 and every byte behind it was overwritten by an ASCII digit of
    // ALPHABET. Checking it again costs a tenth of the encoding (benches: base85/encode).
    unsafe { String::from_utf8_unchecked(text) }
}

/// Decodes `text`.
///
/// # Errors
/// [`Error`], the first in the text; but a pure ASCII text with one character too many is always
/// [`Error::Length`], because it is most likely cut off.
pub fn decode(text: &str) -> Result<Vec<u8>, Error> {
    if text.len() % 5 == 1 && text.is_ascii() {
        return Err(Error::Length(text.len()));
    }
    let mut data = vec![0; decoded_len(text.len())];
    match decode_slice(text.as_bytes(), &mut data) {
        Ok(()) => Ok(data),
        Err(valid) => Err(first_error(text, valid)),
    }
}

/// Encodes into `text`, whose length is `encoded_len(data.len())`.
fn encode_slice(data: &[u8], text: &mut [u8]) {
    debug_assert_eq!(text.len(), encoded_len(data.len()));
    let done = encode_blocks(data, text);
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

/// Decodes into `data`, whose length is `decoded_len(text.len())`; on an invalid group the offset of
/// a group up to which all are valid.
fn decode_slice(text: &[u8], data: &mut [u8]) -> Result<(), usize> {
    debug_assert_eq!(data.len(), decoded_len(text.len()));
    let mut done = decode_blocks(text, data);
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

/// Lets the vector engine encode whole blocks from the front; how many bytes of `data` it took, a
/// multiple of four.
fn encode_blocks(data: &[u8], text: &mut [u8]) -> usize {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has the feature that the function is compiled for.
        return unsafe { avx2::encode_blocks(data, text) };
    }
    let _ = (data, text);
    0
}

/// Lets the vector engine decode whole valid blocks from the front; how many bytes of `text` it
/// took, a multiple of five.
fn decode_blocks(text: &[u8], data: &mut [u8]) -> usize {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has the feature that the function is compiled for.
        return unsafe { avx2::decode_blocks(text, data) };
    }
    let _ = (text, data);
    0
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

/// What is wrong with `text`, given that everything before `valid` is right.
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

/// `PLACES[i][c]`: the worth of character `c` at place `i` of a group; a character outside the
/// alphabet is worth more than any valid group.
static PLACES: [[u64; 256]; 5] = {
    let mut places = [[1 << 40; 256]; 5];
    let mut place = 0;
    while place < 5 {
        let mut digit = 0;
        while digit < 85 {
            places[place][ALPHABET[digit] as usize] = digit as u64 * 85u64.pow(4 - place as u32);
            digit += 1;
        }
        place += 1;
    }
    places
};

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The scalar engine alone, as other processors run it.
    fn scalar_encode(data: &[u8]) -> String {
        let words = data.len() / 4 * 4;
        let mut text: Vec<u8> =
            data[..words].as_chunks::<4>().0.iter().flat_map(|w| encode_word(*w)).collect();
        text.extend(encode(&data[words..]).bytes());
        String::from_utf8(text).unwrap()
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
    fn largest_group_decodes_and_the_next_does_not() {
        let largest = encode(&[0xff; 4]);
        assert_eq!(decode(&largest).unwrap(), [0xff; 4]);
        let mut next = largest.into_bytes();
        *next.last_mut().unwrap() += 1; // the last digit of 2^32 - 1 is not the highest
        let next = String::from_utf8(next).unwrap();
        assert_eq!(decode(&next), naive::decode(&next));
        assert_eq!(decode("%nSc10"), Err(Error::Length(6)));
        for valid_groups in [0, 1, 7, 8, 40] {
            let text = "00000".repeat(valid_groups) + "#####" + &"00000".repeat(20);
            assert_eq!(decode(&text), Err(Error::Value { position: valid_groups * 5 }));
        }
    }

    #[test]
    fn spare_bits_of_a_partial_group_are_ignored() {
        assert_eq!(decode("z5"), decode("z6"));
    }

    #[test]
    fn a_partial_group_that_overflows_is_an_error() {
        assert_eq!(decode("00000##"), Err(Error::Value { position: 5 }));
        assert_eq!(decode("00000##"), naive::decode("00000##"));
    }

    #[test]
    fn every_word_of_a_dense_sample_matches_naive() {
        for start in (0..=u32::MAX - 64).step_by(50_021_063) {
            let data: Vec<u8> = (start..start + 64).flat_map(u32::to_be_bytes).collect();
            let text = encode(&data);
            assert_eq!(text, naive::encode(&data));
            assert_eq!(text, scalar_encode(&data));
            assert_eq!(decode(&text).unwrap(), data);
        }
    }

    #[test]
    fn every_byte_at_every_place_of_a_block_matches_naive() {
        let valid = "0".repeat(80);
        for position in 0..valid.len() {
            for byte in 0..=127u8 {
                let mut text = valid.clone().into_bytes();
                text[position] = byte;
                let text = String::from_utf8(text).unwrap();
                assert_eq!(decode(&text), naive::decode(&text), "{text}");
            }
        }
    }

    proptest! {
        #[test]
        fn encode_matches_naive(data: Vec<u8>) {
            let text = encode(&data);
            prop_assert_eq!(&text, &naive::encode(&data));
            prop_assert_eq!(text.len(), encoded_len(data.len()));
            prop_assert_eq!(decode(&text).unwrap(), data);
        }

        #[test]
        fn decode_matches_naive_on_digits(text in "[0-9A-Za-z.:+=^!/*?&<>()\\[\\]{}@%$#-]{0,120}") {
            prop_assert_eq!(decode(&text), naive::decode(&text));
        }

        #[test]
        fn decode_matches_naive_on_any_text(text in "[0-9 ~é한|]{0,60}") {
            prop_assert_eq!(decode(&text), naive::decode(&text));
        }
    }
}
