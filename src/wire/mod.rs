//! Wire codecs for graph payloads: GCB (binary) and JSON.
//!
//! [`crate::gcf::graph`] defines payloads and their text for language models. The two codecs here also carry
//! signatures and components.
//!
//! | codec | form | for |
//! |---|---|---|
//! | [`gcb`] | bytes | processes, caches |
//! | [`json`] | text | people, tools that only read JSON |
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
//! - A payload is read back as it was written. A field that the format cannot carry is an error when writing,
//!   unless the caller allows its loss ([`gcb::Lossy`]).
//! - A length or count is compared with the bytes that are left before memory is allocated for it.
//!
//! Source: wire codecs, "Binary Wire Layout".

mod error;
pub mod gcb;
pub mod json;

pub use error::{Code, Error, Place};
