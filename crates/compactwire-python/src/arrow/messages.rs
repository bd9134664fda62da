//! `compactwire.arrow`: columns of messages of the Compact Protocol, v2 and v4.

use super::{call, row_options};
use crate::args::named;
use crate::args::{self, one_of, sizes};
use crate::column::Column;
use crate::dictionary::{Dictionary, Given};
use crate::errors::{Result, invalid_option};
use crate::message::{DEFAULT_MAX_SIZE, encode_options};
use compactwire::arrow::{self as core, Field, Output};
use compactwire::compact::{DecodeOptions, EncodeOptions};
use compactwire::gcf::Limits;
use pyo3::prelude::*;
use pyo3::types::PyInt;

/// Encode each row of a column as a message.
///
/// Parameters
/// ----------
/// column : Arrow column
///     An object with `__arrow_c_stream__` or `__arrow_c_array__`. Rows are texts, of any Arrow
///     type of texts or UTF-8 bytes, or structs (a table) with the fields of `Response`:
///     "result" and any of "model", "status", "tokens", "model_name", "returncode",
///     "reasoning_effort", "ultrathink". A null field other than "result" is its default.
/// format, protocol, msgpack_version, dictionary
///     As in `compactwire.encode`.
/// output : {"text", "bytes"}
///     Whether messages are those of `encode`, or of `encode_bytes`, which are a fifth smaller.
/// max_expansion : int
///     How many bytes more than 64 times the memory of the rows, and 1 KiB for each, the result may
///     have: rows can share a text.
/// errors : {"raise", "null", "report"}
///     "raise" raises the exception of the first row that fails, as `compactwire.encode` would,
///     with the attribute `row`. "null" makes such rows null; the attribute `failed` of the
///     result counts them. "report" returns structs of "value", "error" (the class of the
///     exception) and "message"; both are null for other rows.
/// threads : int, optional
///     The maximum number of threads, at most 16. By default the environment variable
///     `COMPACTWIRE_THREADS`, then `OMP_NUM_THREADS`, then the number of processors.
///
/// Returns
/// -------
/// Column
///     The messages, utf8 or binary. A null row stays null. Each chunk of the argument becomes
///     one chunk.
///
/// Raises
/// ------
/// EncodeError
///     A row cannot be encoded; `field` names the field, `row` is its index from 0.
/// OutputTooLarge
///     The rows exceed `max_expansion`, whatever `errors` is.
/// TypeError
///     The column has another type, or a struct has another field.
/// CompactWireError
///     The producer of the column failed, or its buffers are invalid.
///
/// Source: Compact Protocol v2 sections 1 to 6, v4 sections 1 to 4.
#[pyfunction]
#[pyo3(text_signature = "(column, /, *, format='auto', protocol=4, msgpack_version=None, \
                         dictionary=None, output='text', max_expansion=268435456, \
                         errors='raise', threads=None)")]
#[pyo3(signature = (
    column, /, *, format = "auto", protocol = None, msgpack_version = None, dictionary = None,
    output = "text", max_expansion = 268_435_456, errors = "raise", threads = None,
))]
#[expect(clippy::too_many_arguments, reason = "the options of the function")]
pub(super) fn encode<'py>(
    column: &Bound<'py, PyAny>,
    #[pyo3(from_py_with = args::words::format)] format: &str,
    #[pyo3(from_py_with = named::protocol)] protocol: Option<&Bound<'py, PyInt>>,
    msgpack_version: Option<&Bound<'py, PyAny>>,
    #[pyo3(from_py_with = named::dictionary)] dictionary: Option<&Bound<'py, Dictionary>>,
    #[pyo3(from_py_with = args::words::output)] output: &str,
    #[pyo3(from_py_with = sizes::max_expansion)] max_expansion: usize,
    #[pyo3(from_py_with = args::words::errors)] errors: &str,
    threads: Option<&Bound<'py, PyAny>>,
) -> Result<Column> {
    let options = row_options(errors, threads)?;
    let output = one_of("output", output, [("text", Output::Text), ("bytes", Output::Bytes)])?;
    let layout = msgpack_version.map(args::layout).transpose()?;
    let encode = EncodeOptions { layout, ..encode_options(format, protocol, dictionary)? };
    call(column, |column| core::encode(column, output, &encode, max_expansion, options))
}

/// Decode each row of a column of messages.
///
/// Parameters
/// ----------
/// column : Arrow column
///     Messages, as text or as bytes.
/// fields : sequence of str
///     The columns of the result, of "result", "model", "status", "tokens", "model_name",
///     "returncode", "reasoning_effort", "ultrathink", "format", "version".
/// max_size, dictionary, dictionaries, fallback
///     As in `compactwire.decode`; `max_size` applies to each row.
/// max_expansion : int
///     How many bytes more than 64 times the messages, and 1 KiB for each, the texts of all rows
///     may have together.
/// errors, threads
///     As in `encode`; "report" adds the columns "error" and "message" to the result.
///
/// Returns
/// -------
/// Column
///     Structs of `fields`: texts, int64 for "tokens" and "returncode", bool for "ultrathink".
///     `encode` accepts it, unless it has "format" or "version".
///
/// Raises
/// ------
/// DecodeError
///     As `compactwire.decode`, with the attribute `row`.
/// OutputTooLarge
///     A row is larger than `max_size`, or all rows exceed `max_expansion`; the latter ends the
///     call whatever `errors` is.
/// OptionError
///     An unknown field, a field that occurs twice, or none.
///
/// Source: Compact Protocol v2 sections 1 to 5, v4 sections 1, 4 and 8.
#[pyfunction]
#[pyo3(signature = (
    column, /, *, fields = None, max_size = DEFAULT_MAX_SIZE,
    max_expansion = Limits::EXPANSION, dictionary = None, dictionaries = None, fallback = false,
    errors = "raise", threads = None,
))]
#[pyo3(text_signature = "(column, /, *, fields=('result', 'model', 'status', 'tokens'), \
                         max_size=67108864, max_expansion=268435456, dictionary=None, \
                         dictionaries=(), fallback=False, errors='raise', threads=None)")]
#[expect(clippy::too_many_arguments, reason = "the options of the function")]
pub(super) fn decode<'py>(
    column: &Bound<'py, PyAny>,
    fields: Option<&Bound<'py, PyAny>>,
    #[pyo3(from_py_with = sizes::max_size)] max_size: usize,
    #[pyo3(from_py_with = sizes::max_expansion)] max_expansion: usize,
    #[pyo3(from_py_with = named::dictionary)] dictionary: Option<Bound<'py, Dictionary>>,
    dictionaries: Option<&Bound<'py, PyAny>>,
    #[pyo3(from_py_with = named::fallback)] fallback: bool,
    #[pyo3(from_py_with = args::words::errors)] errors: &str,
    threads: Option<&Bound<'py, PyAny>>,
) -> Result<Column> {
    let options = row_options(errors, threads)?;
    let fields = fields.map_or_else(|| Ok(Field::ALL[..4].to_vec()), self::fields)?;
    let given = Given::new(dictionary, dictionaries)?;
    let decode = DecodeOptions { max_size, dictionaries: &given.named() };
    call(column, |column| core::decode(column, &fields, fallback, &decode, max_expansion, options))
}

/// `fields=`: names of fields.
fn fields(names: &Bound<'_, PyAny>) -> PyResult<Vec<Field>> {
    let mut fields = Vec::new();
    for name in args::names(names)? {
        let field = one_of("fields", &name, Field::ALL.map(|field| (field.name(), field)))?;
        if fields.contains(&field) {
            return Err(invalid_option("fields", &format!("fields has {name:?} twice")));
        }
        fields.push(field);
    }
    if fields.is_empty() {
        return Err(invalid_option("fields", "fields must name at least one field"));
    }
    Ok(fields)
}

/// Detect the format of each row of a column of messages, without decoding it.
///
/// Parameters
/// ----------
/// column : Arrow column
///     Messages, as text or as bytes.
/// errors, threads
///     As in `encode`.
///
/// Returns
/// -------
/// Column
///     The names of the formats, as the values of `Format`.
///
/// Raises
/// ------
/// EmptyResponse, InvalidPrefix, InvalidFormat
///     As `compactwire.detect`, with the attribute `row`.
///
/// Source: Compact Protocol v2 "Format Detection", v4 section 1.
#[pyfunction]
#[pyo3(signature = (column, /, *, errors = "raise", threads = None))]
pub(super) fn detect(
    column: &Bound<'_, PyAny>,
    #[pyo3(from_py_with = args::words::errors)] errors: &str,
    threads: Option<&Bound<'_, PyAny>>,
) -> Result<Column> {
    let options = row_options(errors, threads)?;
    call(column, |column| core::detect(column, options))
}

/// Decode each row of a column of messages and return the size of its layers.
///
/// Parameters
/// ----------
/// column : Arrow column
///     Messages, as text or as bytes.
/// max_size, dictionary, dictionaries
///     As in `compactwire.decode`.
/// errors, threads
///     As in `encode`; "report" adds the columns "error" and "message" to the result.
///
/// Returns
/// -------
/// Column
///     Structs of "format", "version", "compression", "dictionary_id" and, in bytes,
///     "wire_bytes", "binary_bytes" (compressed), "msgpack_bytes", "result_bytes",
///     "verbose_bytes" (as compact JSON); null where a message has no such layer.
///
/// Raises
/// ------
/// DecodeError
///     As `compactwire.inspect`, with the attribute `row`.
///
/// Source: the layers are those of Compact Protocol v2 sections 1 to 5 and v4 section 4.
#[pyfunction]
#[pyo3(signature = (
    column, /, *, max_size = DEFAULT_MAX_SIZE, dictionary = None, dictionaries = None,
    errors = "raise", threads = None,
))]
#[pyo3(text_signature = "(column, /, *, max_size=67108864, dictionary=None, dictionaries=(), \
                         errors='raise', threads=None)")]
pub(super) fn inspect<'py>(
    column: &Bound<'py, PyAny>,
    #[pyo3(from_py_with = sizes::max_size)] max_size: usize,
    #[pyo3(from_py_with = named::dictionary)] dictionary: Option<Bound<'py, Dictionary>>,
    dictionaries: Option<&Bound<'py, PyAny>>,
    #[pyo3(from_py_with = args::words::errors)] errors: &str,
    threads: Option<&Bound<'py, PyAny>>,
) -> Result<Column> {
    let options = row_options(errors, threads)?;
    let given = Given::new(dictionary, dictionaries)?;
    let decode = DecodeOptions { max_size, dictionaries: &given.named() };
    call(column, |column| core::inspect(column, &decode, options))
}

/// Estimate the tokens of each row of a column of texts, as `compactwire.estimate_tokens` does.
///
/// Parameters
/// ----------
/// column : Arrow column
///     Texts.
/// errors, threads
///     As in `encode`.
///
/// Returns
/// -------
/// Column
///     The estimates, int64.
///
/// Raises
/// ------
/// GcfError
///     A row of bytes is not UTF-8.
///
/// Source: ours; for the count of a model's tokenizer, apply the tokenizer to each row.
#[pyfunction]
#[pyo3(signature = (column, /, *, errors = "raise", threads = None))]
pub(super) fn count_tokens(
    column: &Bound<'_, PyAny>,
    #[pyo3(from_py_with = args::words::errors)] errors: &str,
    threads: Option<&Bound<'_, PyAny>>,
) -> Result<Column> {
    let options = row_options(errors, threads)?;
    call(column, |column| core::count_tokens(column, options))
}
