//! Makes the messages of agents and language models small without losing data, and verifies claims about
//! the savings.
//!
//! This is the core of the Python package `compactwire`. It does not depend on Python: the binding is the
//! crate `crates/compactwire-python`.
//!
//! | system | module |
//! |---|---|
//! | Compact Protocol v2 and v4: responses, dictionaries, deltas | [`compact`] |
//! | Compact Protocol v2 part 2: sessions with state that both peers share, requests | [`session`] |
//! | CAD IR: vcad documents as JSON, compact text and bytes | [`cad`] |
//! | compression claims: bundles, receipts, signatures | [`claims`] |
//! | GCF: values and graphs as text for language models | [`gcf`] |
//! | Wire codecs: graphs as GCB and JSON | [`wire`] |
//! | the form of a JSON text with the fewest tokens | [`shrink`] |
//! | the functions of the others on columns of Apache Arrow | `arrow` |
//!
//! Each of these modules is a Cargo feature of the same name; all but `arrow` are enabled by default. Errors, formats
//! and codes may grow in a minor version, so a `match` needs an arm for the others.
//!
//! They share the modules of the following list, each of which uses only modules before it: [`limits`],
//! `reserve`, [`interrupt`], [`memory`], [`excerpt`], `threads`, [`text`], [`base85`], `msgpack`,
//! `compression`, [`walk`], [`value`], [`json`].

#![cfg_attr(docsrs, feature(doc_cfg))]

// The example in Rust is a test.
#[cfg(all(doctest, feature = "compact", feature = "gcf"))]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(feature = "arrow")]
pub mod arrow;
pub mod base85;
#[cfg(feature = "cad")]
pub mod cad;
#[cfg(feature = "claims")]
pub mod claims;
#[cfg(feature = "compact")]
pub mod compact;
#[cfg(feature = "compact")]
mod compression;
pub mod excerpt;
#[cfg(feature = "gcf")]
pub mod gcf;
pub mod interrupt;
pub mod json;
pub mod limits;
pub mod memory;
#[cfg(feature = "compact")]
mod msgpack;
mod reserve;
#[cfg(feature = "session")]
pub mod session;
#[cfg(feature = "shrink")]
pub mod shrink;
pub mod text;
#[cfg(any(feature = "arrow", feature = "claims"))]
mod threads;
pub mod value;
pub mod walk;
#[cfg(feature = "wire")]
pub mod wire;
