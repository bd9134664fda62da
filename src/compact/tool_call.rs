//! Tool calls: the request direction of v4 ("Input"), one call in one text.
//!
//! | format | value |
//! |---|---|
//! | verbose | `{"name": "search", "arguments": {...}, "context": "..."}` |
//! | binary formats | the same as a `MessagePack` map with the keys `v` (1), `n`, `a`, `c` |
//!
//! A call without a context has no `c`; nil and `null` are read as none. The DSL has no calls. Keys
//! that a call does not have are passed over; the order of an argument's members is kept.

use super::decode::{Body, Opened};
use super::encode::{self, AUTO_DSL_BELOW, Choice, EncodeOptions};
use super::error::{DecodeError, EncodeError};
use super::format::Format;
use crate::excerpt::excerpt;
use crate::json::{self, Escape};
use crate::limits::MAX_MAP_KEYS;
use crate::msgpack::{Error, Head, Reader, Writer};
use crate::value::Value;
use rmp::encode::{
    write_array_len, write_bool, write_f64, write_map_len, write_nil, write_sint, write_str,
    write_uint,
};
use std::borrow::Cow;

/// The version that a map carries.
const MAP_VERSION: u64 = 1;

/// What a model asks a tool to do.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCall<'a> {
    /// The tool's name.
    pub name: Cow<'a, str>,
    /// What it is given: any JSON value, usually an object.
    pub arguments: Value<'a>,
    /// Long text that goes with it.
    pub context: Option<Cow<'a, str>>,
}

/// Writes a call. [`Choice::Auto`] goes by the size of the verbose text: below 50 bytes it is that
/// text itself, above as for responses.
///
/// # Errors
/// [`EncodeError`]: the DSL was asked for, or an integer is beyond what `MessagePack` carries.
pub fn encode_tool_call(
    call: &ToolCall<'_>,
    options: &EncodeOptions<'_>,
) -> Result<String, EncodeError> {
    let write = |format| match format {
        Format::Verbose => Ok(verbose(call)),
        Format::Dsl => {
            let message = "the DSL has no tool calls: take verbose for a readable text".into();
            Err(EncodeError { field: "format", message })
        }
        _ => encode::wrap(&map(call)?, format, options),
    };
    match options.format {
        Choice::Format(format) => write(format),
        Choice::Smallest => encode::shortest(Format::ALL.into_iter(), write),
        Choice::Auto => {
            let text = verbose(call);
            if text.len() < AUTO_DSL_BELOW {
                return Ok(text);
            }
            // Only JSON carries every integer.
            encode::auto_binary(text.len(), options, write).or(Ok(text))
        }
    }
}

fn verbose(call: &ToolCall<'_>) -> String {
    let mut out = String::from("{\"name\":");
    json::write_text(&call.name, Escape::Needed, &mut out);
    out.push_str(",\"arguments\":");
    json::write_in_order(&call.arguments, Escape::Needed, &mut out);
    if let Some(context) = &call.context {
        out.push_str(",\"context\":");
        json::write_text(context, Escape::Needed, &mut out);
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
    value(&call.arguments, &mut out)?;
    if let Some(context) = &call.context {
        text("context", "c", &mut out)?;
        text("context", context, &mut out)?;
    }
    Ok(out.into_vec())
}

fn unfit(field: &'static str, message: String) -> EncodeError {
    EncodeError { field, message }
}

fn count(field: &'static str, len: usize) -> Result<u32, EncodeError> {
    u32::try_from(len).map_err(|_| unfit(field, format!("{len} are more than MessagePack carries")))
}

fn text(field: &'static str, text: &str, out: &mut Writer) -> Result<(), EncodeError> {
    count(field, text.len())?;
    let Ok(()) = write_str(out, text);
    Ok(())
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
                unfit(FIELD, format!("MessagePack has no integer of more than 64 bits: {digits}"))
            })?;
            let Ok(_) = write_uint(out, int);
        }
        Value::Float(number) => {
            let Ok(()) = write_f64(out, *number);
        }
        Value::String(words) => text(FIELD, words, out)?,
        Value::Array(elements) => {
            let Ok(_) = write_array_len(out, count(FIELD, elements.len())?);
            elements.iter().try_for_each(|element| self::value(element, out))?;
        }
        Value::Object(members) => {
            let Ok(_) = write_map_len(out, count(FIELD, members.len())?);
            for (name, member) in members {
                text(FIELD, name, out)?;
                self::value(member, out)?;
            }
        }
    }
    Ok(())
}

/// Reads a call from what [`open`](super::open) made of its text.
///
/// # Errors
/// [`DecodeError`]: it is something else, or has not what a call must have.
pub fn read_tool_call<'a>(opened: &'a Opened<'_>) -> Result<ToolCall<'a>, DecodeError> {
    match opened.body() {
        Body::Text(_) if opened.format() == Format::Dsl => {
            let message = "a dsl message is not a tool call: decode reads it".into();
            Err(DecodeError::InvalidFormat(message))
        }
        Body::Text(text) => read_verbose(text),
        Body::Message(message) => Ok(read_map(message)?),
    }
}

fn read_verbose(text: &str) -> Result<ToolCall<'static>, DecodeError> {
    let invalid = |message: String| DecodeError::InvalidFormat(message);
    let value = json::parse(text, json::Limits::default())
        .map_err(|error| invalid(format!("not a verbose tool call: {error}")))?;
    let (mut name, mut arguments, mut context) = (None, None, None);
    let Value::Object(members) = value else {
        return Err(invalid(format!("a tool call is an object, found {}", value.kind())));
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

fn read_map(message: &[u8]) -> Result<ToolCall<'_>, Error> {
    let mut reader = Reader::new(message);
    let (mut version, mut name, mut arguments, mut context) = (None, None, None, None);
    let len = reader.map_len()?;
    if len > MAX_MAP_KEYS {
        return Err(Error { message: format!("{len} keys are above {MAX_MAP_KEYS}"), offset: 0 });
    }
    let mut seen = Vec::new();
    for _ in 0..len {
        let offset = reader.offset();
        let key = reader.text()?;
        seen.push((key, offset));
        match key {
            "v" => {
                let offset = reader.offset();
                version = Some(reader.uint()?).filter(|&version| version == MAP_VERSION);
                if version.is_none() {
                    let message = format!("expected version {MAP_VERSION}");
                    return Err(Error { message, offset });
                }
            }
            "n" => name = Some(reader.text()?),
            "a" => arguments = Some(read_value(&mut reader, json::Limits::default().max_depth)?),
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
    check_doubled(seen)?;
    let missing = |key| Error { message: format!("expected a key {key:?}, found none"), offset: 0 };
    version.ok_or_else(|| missing("v"))?;
    Ok(ToolCall {
        name: name.ok_or_else(|| missing("n"))?.into(),
        arguments: arguments.ok_or_else(|| missing("a"))?,
        context: context.map(Cow::Borrowed),
    })
}

/// Reads a value of JSON; `depth` containers may still be opened.
fn read_value<'a>(reader: &mut Reader<'a>, depth: usize) -> Result<Value<'a>, Error> {
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
            return Err(Error { message: format!("{number} is no number of JSON"), offset });
        }
        Head::Text(text) => Value::String(text.into()),
        Head::Array(len) => {
            let depth = inner()?;
            // A claimed length costs nothing: each element is at least a byte.
            let mut elements = Vec::new();
            for _ in 0..len {
                elements.push(read_value(reader, depth)?);
            }
            Value::Array(elements)
        }
        Head::Map(len) => {
            let depth = inner()?;
            let (mut members, mut seen) = (Vec::new(), Vec::new());
            for _ in 0..len {
                let offset = reader.offset();
                let name = reader.text()?;
                seen.push((name, offset));
                members.push((name.into(), read_value(reader, depth)?));
            }
            check_doubled(seen)?;
            Value::Object(members)
        }
    })
}

fn check_doubled(mut keys: Vec<(&str, usize)>) -> Result<(), Error> {
    super::layout::first_doubled(&mut keys)
        .map_or(Ok(()), |&(key, offset)| Err(super::layout::doubled(key, offset)))
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
    fn every_format_but_the_dsl_carries_a_call() {
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
    fn auto_goes_by_the_size_of_the_whole_call() {
        for (len, first) in [(0, '{'), (17, '{'), (18, 'A'), (223, 'A'), (224, 'S')] {
            let call = call(&format!("\"{}\"", "x".repeat(len)));
            assert_eq!(encode(&call, Choice::Auto).unwrap().chars().next(), Some(first), "{len}");
        }
    }

    #[test]
    fn an_integer_of_more_than_64_bits_travels_in_json_only() {
        let call = call(&format!("[{}]", "9".repeat(60)));
        assert_eq!(encode(&call, Choice::Auto).unwrap(), verbose(&call));
        let error = encode(&call, Choice::Format(Format::Base85)).unwrap_err();
        assert_eq!(error.field, "arguments");
    }

    #[test]
    fn what_is_no_call_is_named() {
        let packed = |bytes: &[u8]| crate::base85::encode_prefixed("A", bytes);
        for (wire, message) in [
            ("{}", "the message has no \"name\""),
            (r#"{"name":"x"}"#, "the message has no \"arguments\""),
            (r#"{"name":1,"arguments":{}}"#, "name: expected a string, found a number"),
            ("RES|OK||0|x", "a dsl message is not a tool call: decode reads it"),
            (
                &packed(b"\x82\xa1v\x01\xa1n\xa1x"),
                "not a MessagePack message: expected a key \"a\", found none, at offset 0",
            ),
            (
                &packed(b"\x81\xa1v\x02"),
                "not a MessagePack message: expected version 1, at offset 3",
            ),
            (
                &packed(b"\x82\xa1n\xa1x\xa1n\xa1x"),
                "not a MessagePack message: key \"n\" stands twice, at offset 5",
            ),
            (
                &packed(b"\x81\xa1a\x82\xa1k\x01\xa1k\x01"),
                "not a MessagePack message: key \"k\" stands twice, at offset 7",
            ),
            (
                &packed(b"\x81\xa1a\xca\x7f\xc0\0\0"),
                "not a MessagePack message: NaN is no number of JSON, at offset 3",
            ),
        ] {
            assert_eq!(decoded(wire).unwrap_err().to_string(), message, "{wire}");
        }
        let deep = [&b"\x81\xa1a"[..], &vec![0x91; 200_000], b"\xc0"].concat();
        assert!(decoded(&packed(&deep)).unwrap_err().to_string().contains("128 levels deep"));
    }

    #[test]
    fn no_context_may_be_said() {
        let nil = [&b"\x84\xa1v\x01\xa1n\xa1x\xa1a\x80\xa1c"[..], b"\xc0"].concat();
        let wire = crate::base85::encode_prefixed("A", &nil);
        assert_eq!(decoded(&wire).unwrap(), r#"{"name":"x","arguments":{}}"#);
        let null = r#"{"name":"x","arguments":{},"context":null,"more":[]}"#;
        assert_eq!(decoded(null).unwrap(), r#"{"name":"x","arguments":{}}"#);
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_call_or_an_error(bytes: Vec<u8>) {
            let mut reader = msgpack::Reader::new(&bytes);
            let _ = read_value(&mut reader, 128);
            let _ = read_map(&bytes);
        }
    }
}
