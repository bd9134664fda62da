//! Compact text in dialects 0.1 and 0.2: reading, checking and writing.
//!
//! `lex` splits a line into tokens, `read` builds the document with `arguments`, `directives`, `scene`
//! and `ids`; `stream` does the same for a text of any size. `check` finds every mistake of a text
//! and `suggest` names the likely opcode. `write` and `write_sections` emit text.

pub(crate) mod arguments;
pub(crate) mod check;
pub(crate) mod directive_table;
pub(crate) mod id_ranges;
pub(crate) mod lex;
pub(crate) mod losses;
pub(crate) mod read;
pub(crate) mod read_directives;
pub(crate) mod read_scene;
pub(crate) mod stream;
pub(crate) mod suggest_opcode;
pub(crate) mod write;
pub(crate) mod write_sections;

pub use check::check;
pub use losses::losses;
pub use read::{Dialect, read_bytes, read_text};
pub use stream::{MAX_LINE, Stream};
pub use write::{Options, write_v0_1, write_v0_2};
