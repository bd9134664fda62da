//! The binary form: section 9.
//!
//! ```text
//! 89 56 43 42 01                           magic, layout
//! u count, count * (u length, UTF-8)       strings, in the order of their first use
//! nodes, roots, materials, part materials, the rest
//! ```
//!
//! What is written is fixed to the byte. What is read may be any encoding that is valid: every count is
//! compared with the bytes that are left before memory is taken for it.

mod decode;
mod encode;

pub use decode::read_binary;
pub use encode::write_binary;

/// What every binary document begins with.
pub const MAGIC: [u8; 4] = [0x89, b'V', b'C', b'B'];

const LAYOUT: u8 = 1;

/// Bits of a node's first byte, above the op code.
const NAMED: u8 = 1 << 5;
const SPECIAL: u8 = 1 << 6;

/// Bits of a segment's first byte.
const ARC: u8 = 1;
const CCW: u8 = 2;
const CHAINED: u8 = 4;

/// Which optional parts of a text follow, as bits of their mask.
const CENTER: u64 = 4;
const RIGHT: u64 = 8;
