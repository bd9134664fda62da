//! Converts units of one or two bytes to a text in UTF-8.

use super::Unit;
use super::shuffle::{self, Blocks, joined, to_bytes};
use crate::text::block;
use std::collections::TryReserveError;
use std::mem::MaybeUninit;

/// Replaces `text` by the characters in units. Returns whether it did: units with a surrogate are no text, and
/// leave it empty.
///
/// # Errors
/// There is not enough memory.
pub fn read<T: ShortUnit>(units: &[T], text: &mut String) -> Result<bool, TryReserveError> {
    let mut bytes = std::mem::take(text).into_bytes();
    bytes.clear();
    bytes.try_reserve(units.len().saturating_mul(1 + size_of::<T>()).saturating_add(4 * GROUP))?;
    let Some(length) = shuffle::run(Read { units, bytes: bytes.spare_capacity_mut() }) else {
        return Ok(false);
    };
    // SAFETY: so many bytes were written, and they are whole characters of UTF-8.
    unsafe {
        bytes.set_len(length);
        *text = String::from_utf8_unchecked(bytes);
    }
    Ok(true)
}

/// A [`Unit`] of one or two bytes. With four, the interpreter is faster.
pub trait ShortUnit: Unit + Default {}

impl ShortUnit for u8 {}
impl ShortUnit for u16 {}

/// Writes the characters in units; returns the number of bytes, or `None` if a unit is not a character.
struct Read<'a, T> {
    units: &'a [T],
    bytes: &'a mut [MaybeUninit<u8>],
}

impl<T: ShortUnit> Blocks for Read<'_, T> {
    type Output = Option<usize>;

    #[inline(always)]
    fn run(self, shuffle: impl Fn([u8; 16], &[u8; 16]) -> [u8; 16]) -> Option<usize> {
        let (groups, rest) = self.units.as_chunks();
        let mut written = 0;
        for group in groups {
            written += put_group(group, &mut self.bytes[written..], &shuffle)?;
        }
        if !rest.is_empty() {
            let mut group = [T::default(); GROUP];
            group[..rest.len()].copy_from_slice(rest);
            written += put_group(&group, &mut self.bytes[written..], &shuffle)?;
            // Each unit that was added is one byte.
            written -= GROUP - rest.len();
        }
        Some(written)
    }
}

/// How many units are converted at once. With eight, the compiler would not use vectors.
const GROUP: usize = 16;

/// Writes the characters of a group and returns the number of their bytes. There is space for 16 bytes more.
#[inline(always)]
fn put_group<T: Unit>(
    units: &[T; GROUP],
    bytes: &mut [MaybeUninit<u8>],
    shuffle: impl Fn([u8; 16], &[u8; 16]) -> [u8; 16],
) -> Option<usize> {
    let (mut low, mut high) = ([0; GROUP], [0; GROUP]);
    for i in 0..GROUP {
        let code = units[i].code();
        low[i] = u8::of(code);
        high[i] = u8::of(code >> 8);
    }
    // Which characters have two bytes or more, and which have three.
    let two = block::at_least(&low, 0x80) | block::at_least(&high, 1);
    let three = block::at_least(&high, 0x08);
    if two == 0 {
        put(bytes, low);
        return Some(GROUP);
    }
    let mut written = 0;
    if three == 0 {
        let pairs = pairs(units);
        for (pairs, two) in pairs.as_chunks().0.iter().zip(two.to_le_bytes()) {
            put(&mut bytes[written..], shuffle(to_bytes(*pairs), &PAIRS[usize::from(two)]));
            written += 8 + two.count_ones() as usize;
        }
        return Some(written);
    }
    if block::at_least(&high, 0xD8) & !block::at_least(&high, 0xE0) != 0 {
        return None;
    }
    let mut triples = [0; GROUP];
    for i in 0..GROUP {
        triples[i] = up_to_three(units[i].code());
    }
    for (i, triples) in triples.as_chunks().0.iter().enumerate() {
        let lengths = (two >> (4 * i) & 0xF | (three >> (4 * i) & 0xF) << 4) as usize;
        put(&mut bytes[written..], shuffle(quads(*triples), &TRIPLES[lengths]));
        written += 4 + lengths.count_ones() as usize;
    }
    Some(written)
}

/// The UTF-8 of characters of at most two bytes, the first in the lower place.
#[inline(always)]
fn pairs<T: Unit>(units: &[T; GROUP]) -> [u16; GROUP] {
    let mut pairs = [0; GROUP];
    for i in 0..GROUP {
        let code = u16::of(units[i].code());
        let both = 0x80C0 | code >> 6 | (code & 0x3F) << 8;
        // An `if` would become a branch for each character.
        let is_ascii = (code.wrapping_sub(0x80).cast_signed() >> 15).cast_unsigned();
        pairs[i] = code & is_ascii | both & !is_ascii;
    }
    pairs
}

/// The bytes of four numbers, the lowest of each first.
#[inline(always)]
fn quads(numbers: [u32; 4]) -> [u8; 16] {
    let mut bytes = [0; 16];
    for (bytes, number) in bytes.as_chunks_mut::<4>().0.iter_mut().zip(numbers) {
        *bytes = number.to_le_bytes();
    }
    bytes
}

/// The UTF-8 of a character of at most three bytes, the first in the lowest place.
#[inline(always)]
fn up_to_three(code: u32) -> u32 {
    let last = 0x80 | code & 0x3F;
    let two = 0xC0 | code >> 6 | last << 8;
    let three = 0xE0 | code >> 12 | (0x80 | code >> 6 & 0x3F) << 8 | last << 16;
    let several = select(code, 0x800, two, three);
    select(code, 0x80, code, several)
}

/// One of two numbers, without a branch: the first if the code point is below `bound`.
#[inline(always)]
fn select(code: u32, bound: u32, below: u32, from: u32) -> u32 {
    let is_below = (code.wrapping_sub(bound).cast_signed() >> 31).cast_unsigned();
    below & is_below | from & !is_below
}

/// Writes bytes to the first places.
#[inline(always)]
fn put<const N: usize>(places: &mut [MaybeUninit<u8>], bytes: [u8; N]) {
    for (place, byte) in places[..N].iter_mut().zip(bytes) {
        place.write(byte);
    }
}

/// For each set of eight characters of two bytes, among others of one: the shuffle that drops the second
/// byte of the others.
static PAIRS: [[u8; 16]; 256] = {
    let mut pairs = [[0; 16]; 256];
    let mut two = 0;
    while two < pairs.len() {
        let mut lengths = [1; 8];
        let mut i = 0;
        while i < 8 {
            lengths[i] += two >> i & 1;
            i += 1;
        }
        pairs[two] = joined(2, lengths);
        two += 1;
    }
    pairs
};

/// The same for four characters: the lower bits say which have two bytes or more, the higher which have three.
static TRIPLES: [[u8; 16]; 256] = {
    let mut triples = [[0; 16]; 256];
    let mut bits = 0;
    while bits < triples.len() {
        let mut lengths = [1; 4];
        let mut i = 0;
        while i < 4 {
            lengths[i] += (bits >> i & 1) + (bits >> i >> 4 & 1);
            i += 1;
        }
        triples[bits] = joined(4, lengths);
        bits += 1;
    }
    triples
};
