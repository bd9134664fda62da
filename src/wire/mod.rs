//! Graph payloads for machines and people: GCB, binary and small, and JSON, readable by everyone.
//!
//! The text for language models is [`crate::gcf::graph`]. What a payload is, it defines; here are two
//! more ways to write one, which also carry signatures and components.
//!
//! | codec | form | for |
//! |---|---|---|
//! | [`gcb`] | bytes | processes, caches |
//! | [`json`] | text | people, tools that know nothing else |
//!
//! ```
//! use compactwire::gcf::graph::{Payload, Symbol};
//! use compactwire::wire::{gcb, json};
//!
//! let symbol = Symbol { qualified_name: "pkg.Auth".into(), score: 0.78, ..Symbol::default() };
//! let payload = Payload { symbols: vec![symbol], ..Payload::default() };
//! let bytes = gcb::encode(&payload, gcb::Lossy::default()).unwrap();
//! assert_eq!(&bytes[..5], b"GCB1\x01");
//! assert_eq!(gcb::decode(&bytes, gcb::DecodeOptions::default()).unwrap(), payload);
//! let text = json::encode(&payload, json::Style::default()).unwrap();
//! assert_eq!(json::decode(&text).unwrap(), payload);
//! ```
//!
//! # Invariants
//! - What is read back is what was written, or writing is an error that names what the format cannot
//!   carry; a caller who gives something up says what ([`gcb::Lossy`]).
//! - A length or count is compared with the bytes that are there before memory is taken for it.
//!
//! Source: wire codecs, "Binary Wire Layout".

mod error;
pub mod gcb;
pub mod json;

pub use error::{Code, Error, Place};
