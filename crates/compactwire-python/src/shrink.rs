//! `shrink` and `expand`: the form of a text or value with the fewest tokens, and the way back. `estimate_tokens`:
//! the count that decides without a tokenizer. An extension of this package.
//!
//! Invariant: a text that comes back unchanged is the `str` object that was passed, unless that is of a subclass.

use super::args::{
    self, Input, Passed, depth, each, lossy, natural, one_of, sizes, token_count, utf8_if_whole,
    wrong_type,
};
use super::detached;
use super::errors::{Error, Result, invalid_field, invalid_format, invalid_option};
use super::record::{self, Names, Record, hash_of, returned_by_value};
use super::value::objects::Objects;
use super::value::read::value_with;
use super::value::{are_common, converter};
use crate::args::named;
use crate::calls::{Run, detach, import};
use crate::interrupt::attached;
use crate::make::{Number, Str, args, make_str, name};
use compactwire::gcf::Limits;
use compactwire::shrink::{
    self, ExpandError, Format, Options, Reason, estimate_tokens, shrink, shrink_with,
};
use compactwire::value::drop_iteratively;
use pyo3::prelude::*;
use pyo3::types::PyString;

/// The result of `shrink`: the text to send to a language model, and the tokens that it saves.
///
/// Immutable.
///
/// Source: an extension of this package.
#[pyclass(frozen, extends = Record, get_all, module = "compactwire")]
pub(super) struct Shrunk {
    /// The text to send.
    text: Py<PyString>,
    /// The form of `text`: "text" if it is the text that was passed, "json", or "gcf".
    format: Str<&'static str>,
    /// The tokens of the text that was passed, or of a value as compact JSON.
    tokens_before: Number<u64>,
    /// The tokens of `text`, at most `tokens_before`.
    tokens_after: Number<u64>,
    /// Whether a tokenizer counted the tokens; otherwise they are estimated.
    exact: bool,
    /// Why nothing was saved, or "".
    ///
    /// "size", "not-json", "depth", "number", "verify" or "no-gain".
    reason: Str<&'static str>,
}

returned_by_value!(Record: Shrunk);

const FORMATS: [(&str, Format); 3] =
    [("text", Format::Text), ("json", Format::Json), ("gcf", Format::Gcf)];

const REASONS: [(&str, Option<Reason>); 7] = [
    ("", None),
    ("size", Some(Reason::Size)),
    ("not-json", Some(Reason::NotJson)),
    ("depth", Some(Reason::Depth)),
    ("number", Some(Reason::Number)),
    ("verify", Some(Reason::Verify)),
    ("no-gain", Some(Reason::NoGain)),
];

/// The name of a variant, found in a table of variants and names.
fn name_in<T: PartialEq>(table: &[(&'static str, T)], value: &T) -> &'static str {
    table.iter().find(|(_, known)| known == value).map_or("", |(name, _)| name)
}

#[pymethods]
impl Shrunk {
    #[classattr]
    const _fields: Names =
        Names(&["text", "format", "tokens_before", "tokens_after", "exact", "reason"]);

    #[new]
    #[pyo3(signature = (text, *, format, tokens_before, tokens_after, exact = false, reason = ""))]
    fn new(
        #[pyo3(from_py_with = named::text)] text: Bound<'_, PyString>,
        #[pyo3(from_py_with = args::words::format)] format: &str,
        tokens_before: &Bound<'_, PyAny>,
        tokens_after: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = named::exact)] exact: bool,
        #[pyo3(from_py_with = args::words::reason)] reason: &str,
    ) -> PyResult<Self> {
        let py = text.py();
        let tokens_before = natural(tokens_before, "tokens_before")?;
        let tokens_after = natural(tokens_after, "tokens_after")?;
        let format = one_of("format", format, FORMATS)?;
        let reason = one_of("reason", reason, REASONS)?;
        if tokens_after > tokens_before {
            return Err(invalid_field(py, "tokens_after", "more than tokens_before"));
        }
        Ok(Self {
            text: text.unbind(),
            format: Str(name_in(&FORMATS, &format)),
            tokens_before: Number(tokens_before),
            tokens_after: Number(tokens_after),
            exact,
            reason: Str(name_in(&REASONS, &reason)),
        })
    }

    /// The number of tokens saved, 0 or more.
    #[getter]
    fn saved(&self) -> Number<u64> {
        Number(self.tokens_before.0 - self.tokens_after.0)
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        record::equality(other, |other: &Bound<'_, Self>| {
            let (text, other) = (self.text.bind(other.py()).as_any(), other.get());
            Ok(self.numbers() == other.numbers() && text.eq(&other.text)?)
        })
    }

    fn __hash__(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(hash_of(&(self.numbers(), self.text.bind(py).hash()?)))
    }

    fn __str__(&self, py: Python<'_>) -> Py<PyString> {
        self.text.clone_ref(py)
    }

    fn __repr__(slf: &Bound<'_, Self>) -> Str<String> {
        let Self { format: Str(format), exact, reason: Str(reason), .. } = slf.get();
        let [before, after] =
            [slf.get().tokens_before, slf.get().tokens_after].map(|Number(count)| count);
        let about = if *exact { "" } else { "about " };
        let reason = if reason.is_empty() { String::new() } else { format!(" ({reason})") };
        Str(format!("<Shrunk {format}: {about}{before} to {after} tokens{reason}>"))
    }
}

impl Shrunk {
    fn copy(&self, py: Python<'_>) -> Self {
        Self { text: self.text.clone_ref(py), ..*self }
    }

    fn numbers(&self) -> (&str, u64, u64, bool, &str) {
        (self.format.0, self.tokens_before.0, self.tokens_after.0, self.exact, self.reason.0)
    }
}

/// Write a tool result, or any value, in the form that costs a model the fewest tokens.
///
/// Nothing is lost, and the result never has more tokens by the count of `tokenizer`: a text that
/// is not JSON, or cannot be made shorter, is returned as it is. The same arguments give the same
/// result on every machine.
///
/// Parameters
/// ----------
/// value : str or object
///     A text, which may be JSON; or a value as for `json.dumps`, whose text is compact JSON; keys
///     are str. A `Shrunk` is returned as it is.
/// formats : iterable of {"json", "gcf"}
///     The forms to choose from: JSON without white space, and GCF.
/// tokenizer : str or callable
///     Counts tokens. "estimate" needs no tokenizer; "o200k_base" or another encoding of bpe-openai
///     needs the extra `tokens`; a function takes a str and returns an int.
/// extensions : bool
///     Whether GCF may have list columns and matrices, two extensions that only this package reads.
///     Without them the text is read by every reader of GCF that knows constant columns and groups.
/// min_saving : float
///     GCF is chosen only if it saves at least this fraction of the tokens of JSON, from 0 to 1.
/// min_tokens : int
///     GCF is chosen only if it saves at least this many tokens.
/// max_size : int
///     A longer text, in bytes of UTF-8, is returned as it is; 4 MiB by default.
/// max_depth : int
///     A text that is nested deeper is returned as it is; at most 256.
/// types : {"common", "json"}
///     Which objects a value may contain: "common" also writes dates, UUIDs, enums, dataclasses and
///     other objects as the table in the documentation says; "json" only what JSON has.
/// default : callable, optional
///     Converts other objects, as in `json.dumps`.
///
/// Returns
/// -------
/// Shrunk
///     The text, its form, and the tokens before and after.
///
/// Raises
/// ------
/// UnsupportedValue
///     A value cannot be written as JSON; `path` is its path. A text of any content is accepted.
/// OptionError
///     An option has a value that is not allowed, or no tokenizer has this name.
/// ImportError
///     A tokenizer has a name, and the extra `tokens` is not installed.
/// EncodeError, TypeError
///     The function `tokenizer` returns a number below 0 or above 2^63 - 1, or no int. Its own
///     exceptions pass through.
///
/// Examples
/// --------
/// >>> import compactwire as cw
/// >>> rows = [{"id": i, "state": "open", "kind": "task"} for i in range(20)]
/// >>> cw.shrink(rows).text[:60]
/// 'GCF profile=generic\n## [20]{id,state=open,kind=task}\n0\n1\n2\n3'
///
/// Source: an extension of this package. GCF is that of GCF 3.6 sections 2 to 7, JSON that of
/// RFC 8259.
#[pyfunction(name = "shrink")]
#[pyo3(signature = (
    value, /, *, formats = Passed(None), tokenizer = Passed(None), extensions = true, min_saving = 0.10,
    min_tokens = 16, max_size = 4 << 20, max_depth = 128, types = "common", default = None,
))]
#[pyo3(
    text_signature = "(value, /, *, formats=('json', 'gcf'), tokenizer='estimate', extensions=True, \
                         min_saving=0.1, min_tokens=16, max_size=4194304, max_depth=128, \
                         types='common', default=None)"
)]
#[expect(clippy::too_many_arguments, reason = "the options of the function")]
pub(super) fn shrink_object<'py>(
    value: &Bound<'py, PyAny>,
    formats: Passed<'py>,
    tokenizer: Passed<'py>,
    #[pyo3(from_py_with = named::extensions)] extensions: bool,
    #[pyo3(from_py_with = args::min_saving)] min_saving: f64,
    #[pyo3(from_py_with = sizes::min_tokens)] min_tokens: usize,
    #[pyo3(from_py_with = sizes::max_size)] max_size: usize,
    #[pyo3(from_py_with = depth)] max_depth: usize,
    #[pyo3(from_py_with = args::words::types)] types: &str,
    default: Option<&Bound<'py, PyAny>>,
) -> Result<Shrunk> {
    let py = value.py();
    let (json, gcf) = formats.0.as_ref().map_or(Ok((true, true)), chosen_formats)?;
    if !(0.0..=1.0).contains(&min_saving) {
        let message = format!("min_saving must be from 0 to 1, not {min_saving}");
        return Err(invalid_option("min_saving", &message).into());
    }
    let min_tokens = min_tokens as u64;
    let counter = Counter::new(py, tokenizer.0)?;
    are_common(types, default)?;
    let options = Options { json, gcf, extensions, min_saving, min_tokens, max_size, max_depth };
    if let Ok(text) = value.cast::<PyString>() {
        return shrink_text(text, &options, &counter);
    }
    if let Ok(shrunk) = value.cast::<Shrunk>() {
        return Ok(shrunk.get().copy(py));
    }
    let default = converter(py, types, default)?;
    let value = value_with(value, "$", default.as_ref(), Some(max_depth))?;
    let shrunk = match &counter {
        Counter::Estimate => {
            detach(py, || attached(|| shrink::shrink_value(&value, &options)))?.map_err(Error::from)
        }
        Counter::Callable(call) => {
            shrink::shrink_value_with(&value, &options, |text| count(call, text))
        }
    };
    drop_iteratively(value);
    let shrunk = shrunk?;
    let text = make_str(py, &shrunk.text)?.unbind();
    Ok(Shrunk::of(&shrunk, text, &counter))
}

fn shrink_text(
    text: &Bound<'_, PyString>,
    options: &Options,
    counter: &Counter<'_>,
) -> Result<Shrunk> {
    let py = text.py();
    let Some(content) = utf8_if_whole(text)? else {
        // Text with a lone surrogate is not JSON, and tokenizers do not accept it.
        let tokens = estimate_tokens(&lossy(text)?);
        let reason = name_in(&REASONS, &Some(Reason::NotJson));
        return Ok(Shrunk {
            text: exact(text)?.unbind(),
            format: Str("text"),
            tokens_before: Number(tokens),
            tokens_after: Number(tokens),
            exact: false,
            reason: Str(reason),
        });
    };
    let shrunk = match counter {
        Counter::Estimate => detached(py, content.len(), || shrink(content, options))??,
        Counter::Callable(call) => shrink_with(content, options, |text| count(call, text))?,
    };
    let result = match shrunk.format {
        Format::Text => exact(text)?,
        _ => make_str(py, &shrunk.text)?,
    };
    Ok(Shrunk::of(&shrunk, result.unbind(), counter))
}

/// The same object; for one of a subclass, a `str` of its characters. The `str()` of a subclass may be another
/// text, as that of an enum is.
fn exact<'py>(text: &Bound<'py, PyString>) -> PyResult<Bound<'py, PyString>> {
    if text.is_exact_instance_of::<PyString>() {
        return Ok(text.clone());
    }
    let class = text.py().get_type::<PyString>();
    Ok(class.run_method(name!(text.py(), "__str__")?, args!(text.py(), text)?)?.cast_into()?)
}

/// Whether `formats` contains JSON, and whether it contains GCF.
fn chosen_formats(formats: &Bound<'_, PyAny>) -> PyResult<(bool, bool)> {
    let (mut json, mut gcf) = (false, false);
    for (at, name) in each(formats, "formats", "str")?.enumerate() {
        let name = name?;
        let chosen = [("json", &mut json), ("gcf", &mut gcf)];
        let name = args::word(&name, format_args!("formats[{at}]"))?;
        *one_of("formats", name, chosen)? = true;
    }
    Ok((json, gcf))
}

/// How tokens are counted.
enum Counter<'py> {
    Estimate,
    /// A function of a str.
    Callable(Bound<'py, PyAny>),
}

impl<'py> Counter<'py> {
    fn new(py: Python<'py>, tokenizer: Option<Bound<'py, PyAny>>) -> PyResult<Self> {
        let Some(tokenizer) = tokenizer else { return Ok(Self::Estimate) };
        if tokenizer.eq(Str("estimate"))? {
            return Ok(Self::Estimate);
        }
        if tokenizer.is_callable() {
            return Ok(Self::Callable(tokenizer));
        }
        let name = tokenizer.cast::<PyString>().map_err(|_| {
            wrong_type(&tokenizer, "tokenizer", "a str or a function from str to int")
        })?;
        let counter = import(py, name!(py, "compactwire.analysis.tokens")?)?
            .run_getattr(name!(py, "counter")?)?;
        Ok(Self::Callable(counter.run(args!(py, name)?)?))
    }
}

fn count(call: &Bound<'_, PyAny>, text: &str) -> Result<u64> {
    let tokens = call.run(args!(call.py(), Str(text))?)?;
    Ok(token_count(&tokens, "tokenizer")?)
}

impl Shrunk {
    fn of(
        shrunk: &compactwire::shrink::Shrunk<'_>,
        text: Py<PyString>,
        counter: &Counter<'_>,
    ) -> Self {
        Self {
            text,
            format: Str(name_in(&FORMATS, &shrunk.format)),
            tokens_before: Number(shrunk.tokens_before),
            tokens_after: Number(shrunk.tokens_after),
            exact: matches!(counter, Counter::Callable(_)),
            reason: Str(name_in(&REASONS, &shrunk.reason)),
        }
    }
}

/// Return the value of a text that `shrink` returned.
///
/// Parameters
/// ----------
/// text : Shrunk or str
///     A result of `shrink`; or a text in GCF or JSON, which is detected.
///
/// Returns
/// -------
/// object
///     The value, equal to the value of the text that was passed to `shrink`: 1.0 may come back as
///     1, and the keys of an object in another order. A `Shrunk` with the format "text" gives the
///     text itself.
///
/// Raises
/// ------
/// GcfError
///     The text begins as GCF, but is invalid.
/// InvalidFormat
///     The text is neither GCF nor JSON.
///
/// Source: an extension of this package.
#[pyfunction(name = "expand")]
pub(super) fn expand_text<'py>(text: &Bound<'py, PyAny>) -> Result<Bound<'py, PyAny>> {
    let py = text.py();
    let held = match text.cast::<Shrunk>() {
        Ok(shrunk) if shrunk.get().format.0 == "text" => {
            return Ok(shrunk.get().text.bind(py).clone().into_any());
        }
        Ok(shrunk) => shrunk.get().text.bind(py).clone().into_any(),
        Err(_) => text.clone(),
    };
    let input = Input::new(&held, "text")?;
    let limits = Limits { max_depth: Limits::DEEPEST, ..Limits::default() };
    let text = input.text(py)?;
    let mut builder = Objects::new(py, text.len());
    match attached(|| shrink::expand(text, limits, &mut builder))? {
        Ok(()) => Ok(builder.finish()),
        Err(ExpandError::Gcf(error)) => Err(error.into()),
        Err(ExpandError::Json(error)) => {
            let message = format!("neither GCF nor JSON: {error}");
            Err(invalid_format(py, &message).into())
        }
        Err(ExpandError::Sink(error)) => Err(error),
    }
}

/// Estimate how many tokens a language model counts for a text, without a tokenizer.
///
/// The estimate follows the tokenizer o200k_base. The same text gives the same number on every
/// machine. `claims.estimate_tokens` is another estimate: a quarter of the bytes.
///
/// Parameters
/// ----------
/// text : str
///     The text.
///
/// Returns
/// -------
/// int
///     The number of tokens.
///
/// Source: an extension of this package.
#[pyfunction(name = "estimate_tokens")]
pub(super) fn estimate_tokens_of(
    #[pyo3(from_py_with = named::text)] text: &Bound<'_, PyString>,
) -> PyResult<Number<u64>> {
    let content = lossy(text)?;
    detached(text.py(), content.len(), || estimate_tokens(&content)).map(Number)
}
