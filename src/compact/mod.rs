//! Compact Protocol v2 and v4: responses of language models, and streaming deltas.
//!
//! Seven ways to say one thing, told apart by their first characters; any decoder reads them all:
//!
//! | format | first | then | worth it |
//! |---|---|---|---|
//! | [`Verbose`](Format::Verbose) | `{` | a JSON object | for eyes and logs |
//! | [`Dsl`](Format::Dsl) | `RES\|` | `status\|model\|tokens\|result` | below 50 bytes |
//! | [`Binary`](Format::Binary) | `M` | Base64 of `MessagePack` | for old peers |
//! | [`Base85`](Format::Base85) | `A` | Base85 of `MessagePack` | below 256 bytes |
//! | [`Zlib`](Format::Zlib) | `Z` | Base85 of zlib or gzip | for v2 peers |
//! | [`Zstd`](Format::Zstd) | `S` | Base85 of zstd | from 256 bytes |
//! | [`Dictionary`](Format::Dictionary) | `D` | Base85 of zstd with a dictionary | from 50 bytes, often best |
//!
//! ```
//! use compactwire::compact::{DecodeOptions, EncodeOptions, Response, decode, encode};
//!
//! let response = Response { model: "C45".into(), tokens: 150, ..Response::new("The answer is 42.") };
//! let wire = encode(&response, &EncodeOptions::default()).unwrap();
//! assert_eq!(wire, "RES|OK|C45|150|The answer is 42.");
//! assert_eq!(decode(&wire, &DecodeOptions::default()).unwrap().response, response);
//! ```
//!
//! # Rooms
//! `format` holds the names and numbers, `response` the type; `detect` looks, `encode` and `decode`
//! go through the transport, `dsl`, `verbose` and `layout` write and read the response itself;
//! `tool_call` does so for the other direction; `dictionary` and `delta` stand beside them; `error` is what can go wrong.
//!
//! # Where we differ
//! The specifications contradict each other in places. `Z` is read as zlib and as gzip; a deviation
//! in a module's subject is named in that module.

mod decode;
pub mod delta;
mod detect;
mod dictionary;
mod dsl;
mod encode;
mod error;
mod format;
mod layout;
mod response;
mod tool_call;
mod verbose;

pub use crate::compression::Stream;
pub use crate::msgpack::Error as MsgpackError;
pub use decode::{Compression, DecodeOptions, Named, Opened, decode, expected_size, open, raw};
pub use detect::detect;
pub use dictionary::{DEFAULT_SIZE, Description, Dictionary, sample};
pub use encode::{Choice, EncodeOptions, encode};
pub use error::{DecodeError, EncodeError};
pub use format::{Format, Kind, Layout, Protocol, Status, model_code};
pub use response::{Decoded, Response};
pub use tool_call::{ToolCall, encode_tool_call, read_tool_call};
pub use verbose::Members;
