//! Converts a text in UTF-8 to units of one, two or four bytes.

use super::Unit;
use super::shuffle::{self, Blocks, joined, to_bytes};
use crate::text::block;
use std::hint::select_unpredictable;
use std::mem::MaybeUninit;

/// Writes the characters of a text and returns how many were written: all, if there are as many units as
/// [`measure`](super::measure) counts. A character that needs a wider unit is written as another.
pub fn write<T: Unit>(text: &str, units: &mut [MaybeUninit<T>]) -> usize {
    let (mut at, written) = match text.len() {
        ..WINDOW => (0, 0),
        _ => shuffle::run(Write { text, units }),
    };
    while !text.is_char_boundary(at) {
        at += 1;
    }
    let rest = units[written..].iter_mut().zip(text[at..].chars());
    written + rest.map(|(unit, character)| unit.write(T::of(character.into()))).count()
}

/// The bytes of a block, and two more, which may belong to the character of its last byte.
const WINDOW: usize = 18;

/// Writes as many blocks as there are; returns the offset after the last, which may be within a character
/// that was written, and the number of characters.
struct Write<'a, T> {
    text: &'a str,
    units: &'a mut [MaybeUninit<T>],
}

impl<T: Unit> Blocks for Write<'_, T> {
    type Output = (usize, usize);

    #[inline(always)]
    fn run(self, shuffle: impl Fn([u8; 16], &[u8; 16]) -> [u8; 16]) -> (usize, usize) {
        let Self { text, units } = self;
        let bytes = text.as_bytes();
        let (mut at, mut written) = (0, 0);
        while let Some(window) = bytes.get(at..).and_then(|rest| rest.first_chunk::<WINDOW>())
            && let Some(target) =
                units.get_mut(written..).and_then(|rest| rest.first_chunk_mut::<16>())
        {
            let block = window.first_chunk().unwrap_or(&[0; 16]);
            let beyond_ascii = block::at_least(block, 0x80);
            if beyond_ascii == 0 {
                put(target, block.map(u32::from));
                (at, written) = (at + 16, written + 16);
                continue;
            }
            let long = if T::HOLDS_ALL { block::at_least(block, 0xF0) } else { 0 };
            // The code of a character of four bytes has more bits: it ends the block.
            let end = (long | 1 << 16).trailing_zeros();
            let firsts = (!beyond_ascii | block::at_least(block, 0xC0)) & ((1 << end) - 1);
            let [low, high, ..] = firsts.to_le_bytes();
            let codes = codes(window);
            let keep = |codes: [u16; 8], bits: u8| {
                from_bytes(shuffle(to_bytes(codes), &KEPT[usize::from(bits)])).map(u32::from)
            };
            put(target, keep(codes[0], low));
            put(&mut target[low.count_ones() as usize..], keep(codes[1], high));
            at += end as usize;
            written += firsts.count_ones() as usize;
            if long != 0 {
                let code = text[at..].chars().next().map_or(0, u32::from);
                put(&mut units[written..], [code]);
                (at, written) = (at + 4, written + 1);
            }
        }
        (at, written)
    }
}

/// The code of a character of at most three bytes for each of the first 16 bytes, as if it began there.
#[inline(always)]
fn codes(window: &[u8; WINDOW]) -> [[u16; 8]; 2] {
    let mut codes = [[0; 8]; 2];
    for (i, code) in codes.as_flattened_mut().iter_mut().enumerate() {
        let first = u16::from(window[i]);
        let [second, third] = [window[i + 1], window[i + 2]].map(|byte| u16::from(byte & 0x3F));
        let two_bytes = (first & 0x1F) << 6 | second;
        let three_bytes = first << 12 | second << 6 | third;
        // Without branches, the 16 codes are computed at once. Compiled with a profile, an `if` can become one.
        let several = select_unpredictable(first < 0xE0, two_bytes, three_bytes);
        *code = select_unpredictable(first < 0x80, first, several);
    }
    codes
}

/// Writes codes to the first units.
#[inline(always)]
fn put<T: Unit, const N: usize>(units: &mut [MaybeUninit<T>], codes: [u32; N]) {
    for (unit, code) in units.iter_mut().zip(codes) {
        unit.write(T::of(code));
    }
}

#[inline(always)]
fn from_bytes(bytes: [u8; 16]) -> [u16; 8] {
    let mut codes = [0; 8];
    for (code, bytes) in codes.iter_mut().zip(bytes.as_chunks::<2>().0) {
        *code = u16::from_le_bytes(*bytes);
    }
    codes
}

/// For each set of eight codes, the shuffle that moves them to the front.
static KEPT: [[u8; 16]; 256] = {
    let mut kept = [[0; 16]; 256];
    let mut bits = 0;
    while bits < kept.len() {
        let mut lengths = [0; 8];
        let mut i = 0;
        while i < 8 {
            lengths[i] = if bits >> i & 1 == 1 { 2 } else { 0 };
            i += 1;
        }
        kept[bits] = joined(2, lengths);
        bits += 1;
    }
    kept
};
