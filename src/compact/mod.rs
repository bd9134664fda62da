//! Compact Protocol v2 and v4: responses of language models, and streaming deltas.
//!
//! A response can be written in seven formats. A decoder recognizes each by its prefix and reads all:
//!
//! | format | prefix | content | best for |
//! |---|---|---|---|
//! | [`Verbose`](Format::Verbose) | `{` | a JSON object | people and logs |
//! | [`Dsl`](Format::Dsl) | `RES\|` | `status\|model\|tokens\|result` | results below 50 bytes |
//! | [`Binary`](Format::Binary) | `M` | Base64 of `MessagePack` | old peers |
//! | [`Base85`](Format::Base85) | `A` | Base85 of `MessagePack` | results below 256 bytes |
//! | [`Zlib`](Format::Zlib) | `Z` | Base85 of zlib or gzip | v2 peers |
//! | [`Zstd`](Format::Zstd) | `S` | Base85 of zstd | results from 256 bytes |
//! | [`Dictionary`](Format::Dictionary) | `D` | Base85 of zstd with a dictionary | results from 50 bytes; often the shortest |
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
//! For a channel that carries bytes, [`encode_bytes`] leaves out Base64 and Base85. [`decode`] reads text and
//! bytes.
//!
//! # Modules
//! | module | content |
//! |---|---|
//! | `format` | names and numbers of the protocol |
//! | `response` | the type [`Response`] |
//! | `detect` | recognizes the format of a text |
//! | `carrier` | a message as text or as bytes |
//! | `encode`, `decode` | choose a format; Base64, Base85 and compression |
//! | `verbose`, `dsl`, `layout` | a response as JSON, as DSL and as `MessagePack` |
//! | `tool_call` | tool calls, the opposite direction |
//! | `dictionary` | trained zstd dictionaries |
//! | [`delta`] | streaming deltas |
//! | `mistaken` | errors that name the function for a message of another kind |
//! | `error` | [`DecodeError`] and [`EncodeError`] |
//!
//! # Where we differ
//! The specifications contradict each other in places: `Z` is zlib in v2 and gzip in v4, and both are read.
//! The documentation of each module lists its deviations.

mod carrier;
mod decode;
pub mod delta;
mod detect;
mod dictionary;
mod dsl;
mod encode;
mod error;
mod format;
mod layout;
pub(crate) mod mistaken;
mod response;
mod tool_call;
mod verbose;

pub use crate::compression::Stream;
pub use crate::msgpack::Error as MsgpackError;
pub use carrier::Wire;
pub use decode::{
    Compression, DecodeOptions, NamedDictionary, Opened, decode, expected_size, open, or_raw,
};
pub use detect::detect;
pub use dictionary::{DEFAULT_SIZE, Description, Dictionary, sample};
pub use encode::{Choice, EncodeOptions, encode, encode_bytes};
pub use error::{DecodeError, EncodeError};
pub use format::{Format, Kind, Layout, Protocol, Status, model_code};
pub use response::{Decoded, Response};
pub use tool_call::{ToolCall, encode_tool_call, encode_tool_call_bytes, read_tool_call};
pub use verbose::Members;
#[cfg(feature = "session")]
pub(crate) use {carrier::Carrier, format::Transport};
