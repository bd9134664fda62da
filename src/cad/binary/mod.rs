//! The binary form: lossless, and the smallest. CAD IR "Future Enhancements" asks for one; the layout is ours.
//!
//! ```text
//! 89 56 43 42 01                           magic, layout
//! u count, count * (u length, UTF-8)       strings, in the order of their first use
//! nodes, roots, materials, part materials, the rest
//! ```
//!
//! `u` is an unsigned integer in LEB128.
//!
//! The writer has exactly one encoding for each document. The reader accepts every valid encoding,
//! and compares each count with the number of remaining bytes before it allocates memory.

mod decode;
mod encode;

pub use decode::{read_binary, read_binary_within};
pub use encode::write_binary;

/// The first bytes of every binary document.
pub const MAGIC: [u8; 4] = [0x89, b'V', b'C', b'B'];

/// The only version of the layout.
const LAYOUT: u8 = 1;

/// The default limit on the strings of a document, each counted as often as it is used (256 MiB). A
/// string of the table is written once, and may be used by every node.
pub const MAX_EXPANSION: usize = crate::limits::DEFAULT_MAX_EXPANSION;

/// A bit of a node's first byte, above the op code: the node has a name.
const NAMED: u8 = 1 << 5;
/// A bit of a node's first byte: segments are 0, or optional fields follow.
const SPECIAL: u8 = 1 << 6;

/// A bit of a segment's first byte: the segment is an arc.
const ARC: u8 = 1;
/// A bit of a segment's first byte: the arc runs counter-clockwise.
const CCW: u8 = 2;
/// A bit of a segment's first byte: the start is the end of the previous segment.
const CHAINED: u8 = 4;

/// A bit in the mask of a text: the text is centered.
const CENTER: u64 = 4;
/// A bit in the mask of a text: the text is aligned right.
const RIGHT: u64 = 8;
