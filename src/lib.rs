//! What agents say to each other, made small, and proven small.
//!
//! This is the core of the Python package `compactwire`. It knows no Python: the binding is the crate
//! `crates/compactwire-python`.
//!
//! | system | module |
//! |---|---|
//! | Compact Protocol v2 and v4: responses, dictionaries, deltas | [`compact`] |
//! | Compact Protocol v2 part 2: what the peer has, and requests | [`session`] |
//! | CAD IR: vcad documents as JSON, compact text and bytes | [`cad`] |
//! | compression claims: bundles, receipts, signatures | [`claims`] |
//! | GCF: values and graphs as text for language models | [`gcf`] |
//! | Wire codecs: graphs as GCB and JSON | [`wire`] |
//!
//! Underneath, each knowing only those before it: [`limits`] and `excerpt`; [`base85`],
//! `msgpack`, `compression` and [`walk`]; [`value`]; [`json`].

pub mod base85;
pub mod cad;
pub mod claims;
pub mod compact;
mod compression;
pub mod excerpt;
pub mod gcf;
pub mod json;
pub mod limits;
mod msgpack;
pub mod session;
pub mod value;
pub mod walk;
pub mod wire;
