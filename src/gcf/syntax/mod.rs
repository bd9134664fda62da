//! The grammar that both profiles of GCF 3.6 share, from lines down to numbers.
//!
//! Each module reads and writes one construct and knows only the ones below it: `line` splits a text
//! into indented lines, `header` reads the first one, `declare` reads column lists and counts,
//! `scalar` reads one cell, `string` and `number` its two hard kinds. `append` copies short strings.

pub(crate) mod append;
pub(crate) mod declaration;
pub(crate) mod header;
pub(crate) mod line;
pub(crate) mod number;
pub(crate) mod row_id;
pub(crate) mod scalar;
pub(crate) mod string;
