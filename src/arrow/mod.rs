//! The functions of the other modules on columns of Apache Arrow: one call for all rows, on several threads.
//!
//! A result equals that of a loop over the rows. Null stays null. A row that fails ends the call, becomes null,
//! or is reported beside the other rows; see [`OnError`].
//!
//! # Modules
//! | module | content |
//! |---|---|
//! | `column`, `import` | [`Column`], and its exchange over the Arrow C interfaces |
//! | `texts` | reads a chunk of texts of any Arrow type |
//! | `integers`, `keys` | integers of any size; the indices of a dictionary |
//! | `cells` | builds the columns of a result |
//! | `huge_pages` | large pages of memory for them |
//! | `rows` | applies a function to each row, on several threads |
//! | `response`, `message`, `text` | the functions |
//! | `table` | a table as a value, for GCF |
//! | `loads` | reads a GCF text as a column |
//! | `error` | [`Error`], and [`Failure`] for the error of one row |

mod cells;
mod column;
mod error;
mod huge_pages;
mod import;
mod integers;
mod keys;
mod loads;
mod message;
mod response;
mod rows;
mod shared;
mod table;
mod text;
mod texts;

pub use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema};
pub use arrow_array::ffi_stream::FFI_ArrowArrayStream;
pub use arrow_schema::{DataType, Field as ArrowField};
pub use column::Column;
pub use error::{Error, Failure, OnError};
pub use loads::gcf_loads;
pub use message::{Field, decode, detect, inspect};
pub use response::{Output, encode};
pub use rows::RowOptions;
pub use table::{Allowance, Table, Target};
pub use text::{
    CadUnknown, CadWrite, cad_from_binary, cad_from_compact, cad_to_binary, cad_to_compact,
    count_tokens, gcf_from_json, gcf_to_json,
};
