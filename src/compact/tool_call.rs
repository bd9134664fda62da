//! Tool calls: the request direction of v4 ("Input"). One text holds one call.
//!
//! | format | value |
//! |---|---|
//! | verbose | `{"name": "search", "arguments": {...}, "context": "..."}` |
//! | binary formats | the same as a `MessagePack` map with the keys `v` (1), `n`, `a`, `c` |
//!
//! A call without a context has no `c`; a reader accepts nil and `null` as well. The DSL has no tool
//! calls. Unknown keys are ignored. The members of the arguments keep their order.

use super::carrier::Carrier;
use super::decode::{Body, Opened};
use super::encode::{self, Choice, EncodeOptions};
use super::error::{DecodeError, EncodeError};
use super::format::{Encoding, Format};
use super::layout::check_duplicates;
use super::mistaken;
use crate::excerpt::{excerpt, path_step};
use crate::interrupt::polled;
use crate::json::{self, Escape};
use crate::limits::MAX_MAP_KEYS;
use crate::memory;
use crate::msgpack::{Error, Head, Reader, Writer};
use crate::value::Value;
use rmp::encode::{
    write_array_len, write_bool, write_f64, write_map_len, write_nil, write_sint, write_str,
    write_uint,
};
use std::borrow::Cow;
use std::collections::TryReserveError;

/// The version in a map.
const MAP_VERSION: u64 = 1;

/// A call of a tool by a model.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCall<'a> {
    /// The name of the tool.
    pub name: Cow<'a, str>,
    /// The arguments: any JSON value, usually an object.
    pub arguments: Value<'a>,
    /// Long text that accompanies the arguments.
    pub context: Option<Cow<'a, str>>,
}

/// Encodes a call as text. [`Choice::Auto`] chooses by the size of the verbose text: verbose below 50 bytes,
/// otherwise as for responses.
///
/// # Errors
/// [`EncodeError`]: the format is the DSL, or an integer does not fit into `MessagePack`.
pub fn encode_tool_call(
    call: &ToolCall<'_>,
    options: &EncodeOptions<'_>,
) -> Result<String, EncodeError> {
    call.encode(options)
}

/// Encodes a call as bytes, as [`encode_bytes`](super::encode_bytes) does with a response.
///
/// # Errors
/// As [`encode_tool_call`].
pub fn encode_tool_call_bytes(
    call: &ToolCall<'_>,
    options: &EncodeOptions<'_>,
) -> Result<Vec<u8>, EncodeError> {
    call.encode(options)
}

/// The bytes of memory that encoding takes per byte of the text: for JSON with escapes in a buffer that
/// grows, and for the other formats.
const FACTOR: usize = 24;

impl ToolCall<'_> {
    fn encode<C: Carrier>(&self, options: &EncodeOptions<'_>) -> Result<C, EncodeError> {
        EncodeError::ensure_memory("arguments", FACTOR.saturating_mul(self.size()))?;
        let write_message = |transport| encode::encode_transport(map(self)?, transport, options);
        let write = |format: Format| match format.encoding() {
            Encoding::Verbose => Ok(C::text(verbose(self))),
            Encoding::Dsl => {
                let message = "the DSL has no tool calls: use verbose for readable text";
                Err(EncodeError::new("format", message))
            }
            Encoding::Message(transport) => write_message(transport),
        };
        match options.format {
            Choice::Format(format) => write(format),
            Choice::Smallest => {
                let [first, others @ ..] = Format::ALL;
                encode::shortest(first, others, write)
            }
            Choice::Auto => {
                let text = verbose(self);
                if text.len() < String::AUTO.message {
                    return Ok(C::text(text));
                }
                // Only JSON can carry every integer.
                match encode::auto_transport(text.len(), options, write_message) {
                    Err(error) if !error.out_of_memory => Ok(C::text(text)),
                    message => message,
                }
            }
        }
    }

    /// An upper bound on the size of the call as text without escapes, in bytes.
    fn size(&self) -> usize {
        let context = self.context.as_ref().map_or(0, |text| text.len());
        self.name.len() + context + self.arguments.text_size()
    }
}

fn verbose(call: &ToolCall<'_>) -> String {
    let mut out = String::from("{\"name\":");
    json::write_string(&call.name, Escape::Needed, &mut out);
    out.push_str(",\"arguments\":");
    json::write_in_order(&call.arguments, Escape::Needed, &mut out);
    if let Some(context) = &call.context {
        out.push_str(",\"context\":");
        json::write_string(context, Escape::Needed, &mut out);
    }
    out.push('}');
    out
}

fn map(call: &ToolCall<'_>) -> Result<Vec<u8>, EncodeError> {
    let mut out = Writer::new();
    let Ok(_) = write_map_len(&mut out, 3 + u32::from(call.context.is_some()));
    text("name", "v", &mut out)?;
    let Ok(_) = write_uint(&mut out, MAP_VERSION);
    text("name", "n", &mut out)?;
    text("name", &call.name, &mut out)?;
    text("arguments", "a", &mut out)?;
    value(&call.arguments, &mut out).map_err(|error| within("arguments", error))?;
    if let Some(context) = &call.context {
        text("context", "c", &mut out)?;
        text("context", context, &mut out)?;
    }
    Ok(out.into_vec())
}

fn count(field: &'static str, len: usize) -> Result<u32, EncodeError> {
    u32::try_from(len).map_err(|_| {
        let message = format!("a length of {len} is above 2^32 - 1, the limit of MessagePack");
        EncodeError::new(field, message)
    })
}

fn text(field: &'static str, text: &str, out: &mut Writer) -> Result<(), EncodeError> {
    count(field, text.len())?;
    let Ok(()) = write_str(out, text);
    Ok(())
}

/// Turns the error of an element or member into one of its container: prepends `step` to the path.
#[cold]
fn within(step: &str, mut error: EncodeError) -> EncodeError {
    if let Some(path) = &mut error.path {
        path.insert_str(0, step);
    }
    error
}

fn value(value: &Value<'_>, out: &mut Writer) -> Result<(), EncodeError> {
    const FIELD: &str = "arguments";
    match value {
        Value::Null => {
            let Ok(()) = write_nil(out);
        }
        Value::Bool(on) => {
            let Ok(()) = write_bool(out, *on);
        }
        Value::Int(int) => {
            let Ok(_) = write_sint(out, *int);
        }
        Value::BigInt(digits) => {
            let int = digits.parse().map_err(|_| {
                let digits = excerpt(digits);
                let message =
                    format!("MessagePack cannot represent an integer beyond 64 bits: {digits}");
                EncodeError { path: Some(String::new()), ..EncodeError::new(FIELD, message) }
            })?;
            let Ok(_) = write_uint(out, int);
        }
        Value::Float(number) => {
            let Ok(()) = write_f64(out, *number);
        }
        Value::String(string) => text(FIELD, string, out)?,
        Value::Array(elements) => {
            let Ok(_) = write_array_len(out, count(FIELD, elements.len())?);
            for (at, element) in polled(elements).enumerate() {
                self::value(element, out).map_err(|error| within(&format!("[{at}]"), error))?;
            }
        }
        Value::Object(members) => {
            let Ok(_) = write_map_len(out, count(FIELD, members.len())?);
            for (name, member) in polled(members) {
                text(FIELD, name, out)?;
                self::value(member, out).map_err(|error| within(&path_step(name), error))?;
            }
        }
    }
    Ok(())
}

/// Parses a call from the result of [`open`](super::open).
///
/// # Errors
/// [`DecodeError`]: the text is not a tool call.
pub fn read_tool_call<'a>(opened: &'a Opened<'_>) -> Result<ToolCall<'a>, DecodeError> {
    parse(opened).map_err(|error| mistaken::not_a_call(opened, error))
}

pub(super) fn parse<'a>(opened: &'a Opened<'_>) -> Result<ToolCall<'a>, DecodeError> {
    match opened.body() {
        Body::Dsl(_) => Err(mistaken::instead("a tool call", "a dsl message: use decode")),
        Body::Verbose(text) => {
            DecodeError::ensure_memory(json::memory_of(text.as_bytes()))?;
            read_verbose(text)
        }
        Body::Message(message) => {
            let values = message.max_values();
            read_map(&message.bytes, values).map_err(|error| match error {
                Unread::Message(error) => error.into(),
                Unread::NoMemory => DecodeError::OutOfMemory { bytes: STRIDE * VALUE_SIZE },
                Unread::TooManyValues => {
                    DecodeError::TooManyValues { values, limit: message.max_size }
                }
            })
        }
    }
}

fn read_verbose(text: &str) -> Result<ToolCall<'static>, DecodeError> {
    let invalid = |message: String| DecodeError::InvalidFormat(message);
    // The arguments are within the object of the call.
    let limits = json::Limits::default();
    let limits = json::Limits { max_depth: limits.max_depth + 1, ..limits };
    let value = json::parse(text, limits)
        .map_err(|error| invalid(format!("invalid verbose tool call: {error}")))?;
    let (mut name, mut arguments, mut context) = (None, None, None);
    let Value::Object(members) = value else {
        return Err(invalid(format!("expected a tool call as an object, found {}", value.kind())));
    };
    for (key, value) in members {
        match (&*key, value) {
            ("name", Value::String(text)) => name = Some(text),
            ("arguments", value) => arguments = Some(value),
            ("context", Value::String(text)) => context = Some(text),
            ("context", Value::Null) => {}
            ("name" | "context", value) => {
                return Err(invalid(format!("{key}: expected a string, found {}", value.kind())));
            }
            _ => {}
        }
    }
    Ok(ToolCall {
        name: name.ok_or(DecodeError::MissingField("name"))?,
        arguments: arguments.ok_or(DecodeError::MissingField("arguments"))?,
        context,
    })
}

/// Why a message was not read.
#[derive(Debug)]
enum Unread {
    Message(Error),
    NoMemory,
    TooManyValues,
}

impl From<TryReserveError> for Unread {
    fn from(_: TryReserveError) -> Self {
        Self::NoMemory
    }
}

impl From<Error> for Unread {
    fn from(error: Error) -> Self {
        Self::Message(error)
    }
}

fn read_map(message: &[u8], max_values: usize) -> Result<ToolCall<'_>, Unread> {
    let mut reader = Reader::new(message);
    let mut values = Values::new(max_values);
    let (mut version, mut name, mut arguments, mut context) = (None, None, None, None);
    let len = reader.map_len()?;
    if len > MAX_MAP_KEYS {
        let message = format!("expected at most {MAX_MAP_KEYS} keys, found {len}");
        return Err(Error { message, offset: 0 }.into());
    }
    let mut seen = Vec::new();
    for _ in 0..len {
        let offset = reader.offset();
        let key = reader.text()?;
        seen.push((key, offset));
        match key {
            "v" => {
                let offset = reader.offset();
                let found = reader.uint()?;
                if found != MAP_VERSION {
                    let message = format!("expected version {MAP_VERSION}, found {found}");
                    return Err(Error { message, offset }.into());
                }
                version = Some(found);
            }
            "n" => name = Some(reader.text()?),
            "a" => {
                let depth = json::Limits::default().max_depth;
                arguments = Some(read_value(&mut reader, depth, &mut values)?);
            }
            "c" => {
                let mut ahead = reader.clone();
                if ahead.head()? == Head::Nil {
                    reader = ahead;
                } else {
                    context = Some(reader.text()?);
                }
            }
            _ => reader.skip()?,
        }
    }
    reader.finish()?;
    check_duplicates(&mut seen)?;
    let missing = |key| Error { message: format!("missing key {key:?}"), offset: 0 };
    version.ok_or_else(|| missing("v"))?;
    Ok(ToolCall {
        name: name.ok_or_else(|| missing("n"))?.into(),
        arguments: arguments.ok_or_else(|| missing("a"))?,
        context: context.map(Cow::Borrowed),
    })
}

/// Counts the values of a call, and checks for memory before they are allocated.
struct Values {
    most: usize,
    seen: usize,
    /// The number of values for which memory has been checked.
    checked: usize,
}

/// The maximum memory that a value takes besides its place in a list, in bytes: an object of one member.
const VALUE_SIZE: usize = 256;

/// The number of values between two checks of the memory.
const STRIDE: usize = 4096;

impl Values {
    fn new(most: usize) -> Self {
        Self { most, seen: 0, checked: STRIDE }
    }

    fn next(&mut self) -> Result<(), Unread> {
        if self.seen == self.most {
            return Err(Unread::TooManyValues);
        }
        self.seen += 1;
        if self.seen > self.checked {
            self.checked += STRIDE;
            memory::ensure(STRIDE * VALUE_SIZE)?;
        }
        Ok(())
    }
}

/// Appends to a list that can become large.
fn push<T>(list: &mut Vec<T>, item: T) -> Result<(), TryReserveError> {
    list.try_reserve(1)?;
    list.push(item);
    Ok(())
}

/// Reads a JSON value that is nested at most `depth` levels deep.
fn read_value<'a>(
    reader: &mut Reader<'a>,
    depth: usize,
    values: &mut Values,
) -> Result<Value<'a>, Unread> {
    values.next()?;
    let offset = reader.offset();
    let inner = || {
        let max = json::Limits::default().max_depth;
        let message = format!("nested more than {max} levels deep");
        depth.checked_sub(1).ok_or(Error { message, offset })
    };
    Ok(match reader.head()? {
        Head::Nil => Value::Null,
        Head::Bool(on) => Value::Bool(on),
        Head::Int(int) => Value::Int(int),
        Head::Uint(int) => match i64::try_from(int) {
            Ok(int) => Value::Int(int),
            Err(_) => Value::BigInt(int.to_string().into()),
        },
        Head::Float(number) if number.is_finite() => Value::Float(number),
        Head::Float(number) => {
            return Err(Error { message: format!("{number} is not a JSON number"), offset }.into());
        }
        Head::Text(text) => Value::String(text.into()),
        Head::Array(len) => {
            let depth = inner()?;
            // Nothing is allocated for the claimed length; each element takes at least one byte.
            let mut elements = Vec::new();
            for _ in 0..len {
                push(&mut elements, read_value(reader, depth, values)?)?;
            }
            Value::Array(elements)
        }
        Head::Map(len) => {
            let depth = inner()?;
            let (mut members, mut seen) = (Vec::new(), Vec::new());
            for _ in 0..len {
                let offset = reader.offset();
                let name = reader.text()?;
                push(&mut seen, (name, offset))?;
                push(&mut members, (name.into(), read_value(reader, depth, values)?))?;
            }
            check_duplicates(&mut seen)?;
            Value::Object(members)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compact::{DecodeOptions, open};
    use crate::msgpack;
    use proptest::prelude::*;

    fn encode(call: &ToolCall<'_>, format: Choice) -> Result<String, EncodeError> {
        encode_tool_call(call, &EncodeOptions { format, ..EncodeOptions::default() })
    }

    fn decoded(wire: &str) -> Result<String, DecodeError> {
        let opened = open(wire, &DecodeOptions::default())?;
        read_tool_call(&opened).map(|call| verbose(&call))
    }

    fn call(arguments: &str) -> ToolCall<'static> {
        let arguments = json::parse(arguments, json::Limits::default()).unwrap();
        ToolCall { name: "search".into(), arguments, context: None }
    }

    #[test]
    fn every_format_but_the_dsl_round_trips_a_call() {
        let arguments = r#"{"q":"é","n":[1,-1,18446744073709551615,0.5,null,true,{"b":1,"a":2}]}"#;
        let context = Some("User: hi\n".repeat(40).into());
        let call = ToolCall { context, ..call(arguments) };
        let text = verbose(&call);
        for format in Format::ALL {
            let wire = encode(&call, Choice::Format(format));
            if format == Format::Dsl {
                assert_eq!(wire.unwrap_err().field, "format");
            } else {
                assert_eq!(decoded(&wire.unwrap()).as_ref(), Ok(&text), "{format:?}");
            }
        }
        for choice in [Choice::Auto, Choice::Smallest] {
            assert_eq!(decoded(&encode(&call, choice).unwrap()).as_ref(), Ok(&text));
        }
    }

    #[test]
    fn auto_chooses_by_the_size_of_the_verbose_text() {
        for (len, first) in [(0, '{'), (17, '{'), (18, 'A'), (223, 'A'), (224, 'S')] {
            let call = call(&format!("\"{}\"", "x".repeat(len)));
            assert_eq!(encode(&call, Choice::Auto).unwrap().chars().next(), Some(first), "{len}");
        }
    }

    #[test]
    fn an_integer_above_64_bits_is_written_as_verbose() {
        let call = call(&format!("[{}]", "9".repeat(60)));
        assert_eq!(encode(&call, Choice::Auto).unwrap(), verbose(&call));
        let error = encode(&call, Choice::Format(Format::Base85)).unwrap_err();
        assert_eq!(error.field, "arguments");
    }

    #[test]
    fn errors_name_what_was_expected_and_found() {
        let packed = |bytes: &[u8]| crate::base85::encode_prefixed("A", bytes);
        for (wire, message) in [
            ("{}", "missing member \"name\""),
            (r#"{"name":"x"}"#, "missing member \"arguments\""),
            (r#"{"name":1,"arguments":{}}"#, "name: expected a string, found a number"),
            ("RES|OK||0|x", "expected a tool call, found a dsl message: use decode"),
            (
                &packed(b"\x82\xa1v\x01\xa1n\xa1x"),
                "invalid MessagePack message: missing key \"a\", at offset 0",
            ),
            (
                &packed(b"\x81\xa1v\x02"),
                "invalid MessagePack message: expected version 1, found 2, at offset 3",
            ),
            (
                &packed(b"\x82\xa1n\xa1x\xa1n\xa1x"),
                "invalid MessagePack message: duplicate key \"n\", at offset 5",
            ),
            (
                &packed(b"\x81\xa1a\x82\xa1k\x01\xa1k\x01"),
                "invalid MessagePack message: duplicate key \"k\", at offset 7",
            ),
            (
                &packed(b"\x81\xa1a\xca\x7f\xc0\0\0"),
                "invalid MessagePack message: NaN is not a JSON number, at offset 3",
            ),
        ] {
            assert_eq!(decoded(wire).unwrap_err().to_string(), message, "{wire}");
        }
        let deep = [&b"\x81\xa1a"[..], &vec![0x91; 200_000], b"\xc0"].concat();
        assert!(decoded(&packed(&deep)).unwrap_err().to_string().contains("128 levels deep"));
    }

    #[test]
    fn a_null_context_is_read_as_none() {
        let nil = [&b"\x84\xa1v\x01\xa1n\xa1x\xa1a\x80\xa1c"[..], b"\xc0"].concat();
        let wire = crate::base85::encode_prefixed("A", &nil);
        assert_eq!(decoded(&wire).unwrap(), r#"{"name":"x","arguments":{}}"#);
        let null = r#"{"name":"x","arguments":{},"context":null,"more":[]}"#;
        assert_eq!(decoded(null).unwrap(), r#"{"name":"x","arguments":{}}"#);
    }

    #[test]
    fn the_values_of_a_compressed_call_count_towards_max_size() {
        let many = call(&format!("[{}0]", "{},".repeat(100_000)));
        let wire = encode(&many, Choice::Format(Format::Zstd)).unwrap();
        let decode = |max_size| {
            let opened = open(&wire, &DecodeOptions { max_size, ..DecodeOptions::default() })?;
            read_tool_call(&opened).map(|call| call.arguments.as_array().map(<[_]>::len))
        };
        assert_eq!(decode(DecodeOptions::default().max_size), Ok(Some(100_001)));
        // The array, its elements, and the values that the compressed message spells out.
        let spelled_out = open(&wire, &DecodeOptions::default()).unwrap().binary_len().unwrap() / 2;
        let least = (100_002 - spelled_out) * 128;
        assert_eq!(decode(least), Ok(Some(100_001)));
        let error = DecodeError::TooManyValues { values: 100_001, limit: least - 1 };
        assert_eq!(decode(least - 1), Err(error));
        let plain = encode(&many, Choice::Format(Format::Base85)).unwrap();
        let options = DecodeOptions { max_size: 0, ..DecodeOptions::default() };
        assert!(read_tool_call(&open(&plain, &options).unwrap()).is_ok());
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_do_not_panic(bytes: Vec<u8>) {
            let mut reader = msgpack::Reader::new(&bytes);
            let _ = read_value(&mut reader, 128, &mut Values::new(bytes.len()));
            let _ = read_map(&bytes, bytes.len());
        }
    }
}
