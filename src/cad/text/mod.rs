//! Compact text in dialects 0.1 and 0.2: reading, checking and writing.
//!
//! `lex` splits a line into tokens. `read` builds a document from lines; `read_directives` and
//! `read_scene` read the lines listed in `directive_table`, `arguments` parses single arguments,
//! and `id_ranges` holds the ids of an `IDS` line. `stream` reads text of any size node by node.
//! `check` finds all errors of a text, and `suggest_opcode` names the opcode that was probably
//! meant. `write` and `write_sections` write text, and `losses` lists what dialect 0.1 cannot
//! represent. `one_pass` reads and writes text without a document in between. `vcad` writes text for the public program, without the syntax that it cannot read.

pub(crate) mod arguments;
pub(crate) mod check;
pub(crate) mod directive_table;
pub(crate) mod id_ranges;
pub(crate) mod lex;
pub(crate) mod losses;
pub(crate) mod one_pass;
pub(crate) mod read;
pub(crate) mod read_directives;
pub(crate) mod read_scene;
pub(crate) mod stream;
pub(crate) mod suggest_opcode;
pub(crate) mod vcad;
pub(crate) mod write;
pub(crate) mod write_sections;

pub use check::check;
pub use losses::losses;
pub use one_pass::{emit_text, write_v0_1_from, write_v0_2_from};
pub use read::{Dialect, read_bytes, read_text};
pub use stream::{MAX_LINE, Stream};
pub use vcad::{Loss, Losses, losses_for_vcad, write_for_vcad};
pub use write::{Options, write_v0_1, write_v0_2};
