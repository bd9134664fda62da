//! Rows one by one: `writer` emits them as they come, `reader` yields them from a text that is never
//! held whole (GCF 3.6 sections 3 to 8 and 16).

mod buffer;
mod reader;
mod writer;

pub use reader::{Event, Handler, RowReader, Status};
pub use writer::StreamEncoder;
