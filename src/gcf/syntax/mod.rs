//! The grammar that the generic and the graph profile of GCF 3.6 share, from lines down to numbers.
//!
//! Each module reads and writes one construct and imports only the ones below it:
//!
//! | module | construct |
//! |---|---|
//! | `line` | indented lines; blank lines and comments are skipped |
//! | `header` | the first line, `GCF profile=generic` |
//! | `declaration` | counts `[3]` and fields `{id,total}` |
//! | `row_id` | the `@12 ` in front of a row |
//! | `scalar` | one value or cell |
//! | `string` | quoted and bare strings, keys |
//! | `number` | integers and doubles |
//! | `name_index` | the names of one object or declaration, to find duplicates |
//! | `append` | a fast copy of short strings |
//! | `size` | token estimate and savings, by which a delta is chosen |

pub(crate) mod append;
pub(crate) mod declaration;
pub(crate) mod header;
pub(crate) mod line;
pub(crate) mod name_index;
pub(crate) mod number;
pub(crate) mod row_id;
pub(crate) mod scalar;
pub(crate) mod size;
pub(crate) mod string;
