//! Streaming: a text is written or read row by row and never held in memory as a whole.
//!
//! `writer` writes tables whose rows are not all known yet. `reader` parses the rows of one container
//! from pieces of a text, which `buffer` joins into lines. GCF 3.6 sections 3 to 8 and 16.

mod buffer;
mod reader;
mod writer;

pub use reader::{Event, Handler, RowReader, Status};
pub use writer::{StreamEncoder, too_wide};
