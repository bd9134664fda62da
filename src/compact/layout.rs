//! A response in `MessagePack`: v2 section 3 (arrays 1 to 3), v4 section 4 (map).
//!
//! | layout | value |
//! |---|---|
//! | 1 | `[1, "OK", "G3", tokens, result]` |
//! | 2 | `[2, 0, 0, tokens, result]` |
//! | 3 | `[3, 0, 0, result]`, or `[3, 0, 0, tokens, result]` if tokens are not 0 |
//! | map | `{"v": 1, "s": "OK", "m": "C45", "t": tokens, "r": result}` |
//!
//! The first element of an array is its layout. The reader is strict: an unknown integer, a value of
//! the wrong type, and a missing or duplicate element are errors with an offset.

use super::error::EncodeError;
use super::format::{Layout, Protocol, Status, model_from_int, model_int};
use super::response::Response;
use crate::excerpt::excerpt;
use crate::limits::{MAX_MAP_KEYS, MAX_TOKENS};
use crate::msgpack::{Error, Reader, Writer};
use rmp::encode::{write_array_len, write_map_len, write_str, write_uint};
use std::borrow::Cow;

/// The version in a map.
const MAP_VERSION: u64 = 1;

/// Writes a response. If the model has no integer, layouts 2 and 3 fall back to layout 1, where the
/// model is text.
pub(super) fn write(
    response: &Response<'_>,
    layout: Layout,
    protocol: Protocol,
) -> Result<Vec<u8>, EncodeError> {
    let Response { result, model, tokens, .. } = response;
    for (field, text) in [("result", result), ("model", model)] {
        if u32::try_from(text.len()).is_err() {
            let message =
                format!("{} bytes are above 2^32 - 1, the limit of MessagePack", text.len());
            return Err(EncodeError::new(field, message));
        }
    }
    let status = response.status;
    let mut out = Writer::with_capacity(result.len() + model.len() + 40);
    match (layout, model_int(model)) {
        (Layout::V2 | Layout::V3, Some(model)) => {
            let brief = layout == Layout::V3 && *tokens == 0;
            let version = if layout == Layout::V2 { 2 } else { 3 };
            array(&mut out, if brief { 4 } else { 5 });
            uint(&mut out, version);
            uint(&mut out, status.int().into());
            uint(&mut out, model.into());
            if !brief {
                uint(&mut out, *tokens);
            }
            text(&mut out, result);
        }
        (Layout::V1 | Layout::V2 | Layout::V3, _) => {
            array(&mut out, 5);
            uint(&mut out, 1);
            text(&mut out, status.code(protocol));
            text(&mut out, model);
            uint(&mut out, *tokens);
            text(&mut out, result);
        }
        (Layout::Map, _) => {
            let Ok(_) = write_map_len(&mut out, 5);
            text(&mut out, "v");
            uint(&mut out, MAP_VERSION);
            text(&mut out, "s");
            text(&mut out, status.code(protocol));
            text(&mut out, "m");
            text(&mut out, model);
            text(&mut out, "t");
            uint(&mut out, *tokens);
            text(&mut out, "r");
            text(&mut out, result);
        }
    }
    Ok(out.into_vec())
}

// `Writer` writes to memory and cannot fail: its error type has no values.

fn array(out: &mut Writer, len: u32) {
    let Ok(_) = write_array_len(out, len);
}

fn uint(out: &mut Writer, value: u64) {
    let Ok(_) = write_uint(out, value);
}

fn text(out: &mut Writer, value: &str) {
    let Ok(()) = write_str(out, value);
}

/// Reads a complete message in any layout.
pub(super) fn read(data: &[u8]) -> Result<(Response<'_>, Layout), Error> {
    let mut reader = Reader::new(data);
    let read = if reader.at_map() { read_map(&mut reader) } else { read_array(&mut reader) }?;
    reader.finish()?;
    Ok(read)
}

fn read_array<'a>(reader: &mut Reader<'a>) -> Result<(Response<'a>, Layout), Error> {
    let len = reader.array_len()?;
    let layout = read_as(reader, Reader::uint, |&version| match version {
        1 => Ok(Layout::V1),
        2 => Ok(Layout::V2),
        3 => Ok(Layout::V3),
        _ => Err(format!("expected layout 1, 2 or 3, found {version}")),
    })?;
    if !(len == 5 || len == 4 && layout == Layout::V3) {
        let message =
            format!("expected 5 elements (or 4 in layout 3, without tokens), found {len}");
        return Err(Error { message, offset: 0 });
    }
    let (status, model) = if layout == Layout::V1 {
        (read_status(reader)?, reader.text()?)
    } else {
        let status = read_as(reader, Reader::uint, |&int| {
            Status::from_int(int).ok_or_else(|| format!("expected a status of 0 to 3, found {int}"))
        })?;
        let model = read_as(reader, Reader::uint, |&int| {
            model_from_int(int).ok_or_else(|| format!("expected a model of 0 to 5, found {int}"))
        })?;
        (status, model)
    };
    let tokens = if len == 5 { read_tokens(reader)? } else { 0 };
    let result = reader.text()?;
    Ok((response(status, model, tokens, result), layout))
}

fn read_map<'a>(reader: &mut Reader<'a>) -> Result<(Response<'a>, Layout), Error> {
    let (mut version, mut status, mut model, mut tokens, mut result) =
        (None, None, None, None, None);
    let mut unknown = Vec::new();
    let len = read_as(reader, Reader::map_len, |&len| {
        if len <= MAX_MAP_KEYS {
            Ok(len)
        } else {
            Err(format!("expected at most {MAX_MAP_KEYS} keys, found {len}"))
        }
    })?;
    for _ in 0..len {
        let offset = reader.offset();
        let key = reader.text()?;
        let is_duplicate = match key {
            "v" => version
                .replace(read_as(reader, Reader::uint, |&version| match version {
                    MAP_VERSION => Ok(version),
                    _ => Err(format!("expected version {MAP_VERSION}, found {version}")),
                })?)
                .is_some(),
            "s" => status.replace(read_status(reader)?).is_some(),
            "m" => model.replace(reader.text()?).is_some(),
            "t" => tokens.replace(read_tokens(reader)?).is_some(),
            "r" => result.replace(reader.text()?).is_some(),
            _ => {
                reader.skip()?;
                unknown.push((key, offset));
                false
            }
        };
        if is_duplicate {
            return Err(duplicate_key(key, offset));
        }
    }
    check_duplicates(&mut unknown)?;
    let missing = |key| Error { message: format!("missing key {key:?}"), offset: 0 };
    version.ok_or_else(|| missing("v"))?;
    let response = response(
        status.ok_or_else(|| missing("s"))?,
        model.ok_or_else(|| missing("m"))?,
        tokens.ok_or_else(|| missing("t"))?,
        result.ok_or_else(|| missing("r"))?,
    );
    Ok((response, Layout::Map))
}

/// Returns an error for the second of two equal keys. `keys` are keys with their offsets; sorting
/// them keeps the time low for a hostile map with many keys.
pub(super) fn check_duplicates(keys: &mut [(&str, usize)]) -> Result<(), Error> {
    keys.sort_unstable();
    match keys.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        Some(&[_, (key, offset)]) => Err(duplicate_key(key, offset)),
        _ => Ok(()),
    }
}

fn duplicate_key(key: &str, offset: usize) -> Error {
    Error { message: format!("duplicate key {}", excerpt(key)), offset }
}

fn read_status(reader: &mut Reader<'_>) -> Result<Status, Error> {
    read_as(reader, Reader::text, |code| {
        Status::from_code(code).ok_or_else(|| {
            format!("expected OK, ERR, PART, PARTIAL or STREAM, found {}", excerpt(code))
        })
    })
}

fn read_tokens(reader: &mut Reader<'_>) -> Result<u64, Error> {
    read_as(reader, Reader::uint, |&tokens| {
        if tokens <= MAX_TOKENS {
            Ok(tokens)
        } else {
            Err(format!("expected a token count of 0 to 2^63 - 1, found {tokens}"))
        }
    })
}

/// Reads a value and converts it. An error of `convert` gets the offset of the value.
fn read_as<'a, T, U>(
    reader: &mut Reader<'a>,
    read: impl FnOnce(&mut Reader<'a>) -> Result<T, Error>,
    convert: impl FnOnce(&T) -> Result<U, String>,
) -> Result<U, Error> {
    let offset = reader.offset();
    let value = read(reader)?;
    convert(&value).map_err(|message| Error { message, offset })
}

fn response<'a>(status: Status, model: &'a str, tokens: u64, result: &'a str) -> Response<'a> {
    Response {
        result: Cow::Borrowed(result),
        model: Cow::Borrowed(model),
        status,
        tokens,
        ..Response::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample<'a>() -> Response<'a> {
        Response { model: "C4".into(), tokens: 300, status: Status::Part, ..Response::new("hi") }
    }

    #[test]
    fn layouts_match_the_specification() {
        let response = sample();
        for (layout, bytes) in [
            (Layout::V1, &b"\x95\x01\xa4PART\xa2C4\xcd\x01\x2c\xa2hi"[..]),
            (Layout::V2, b"\x95\x02\x02\x01\xcd\x01\x2c\xa2hi"),
            (Layout::V3, b"\x95\x03\x02\x01\xcd\x01\x2c\xa2hi"),
            (Layout::Map, b"\x85\xa1v\x01\xa1s\xa4PART\xa1m\xa2C4\xa1t\xcd\x01\x2c\xa1r\xa2hi"),
        ] {
            let written = write(&response, layout, Protocol::V2).unwrap();
            assert_eq!(written, bytes, "{layout:?}");
            assert_eq!(read(&written).unwrap(), (response.clone(), layout));
            for end in 0..written.len() {
                assert!(read(&written[..end]).is_err(), "{layout:?} cut at {end}");
            }
        }
        let brief = Response { tokens: 0, ..response };
        assert_eq!(write(&brief, Layout::V3, Protocol::V4).unwrap(), b"\x94\x03\x02\x01\xa2hi");
        assert_eq!(write(&brief, Layout::V2, Protocol::V4).unwrap(), b"\x95\x02\x02\x01\0\xa2hi");
    }

    #[test]
    fn a_model_without_an_integer_is_written_as_layout_1() {
        let response = Response { model: "C45".into(), ..sample() };
        for layout in [Layout::V2, Layout::V3] {
            let written = write(&response, layout, Protocol::V4).unwrap();
            assert_eq!(read(&written).unwrap(), (response.clone(), Layout::V1));
            assert!(written.windows(7).any(|bytes| bytes == b"PARTIAL"));
        }
    }

    #[test]
    fn map_keys_have_any_order_and_unknown_keys_are_ignored() {
        let data = b"\x86\xa1r\xa1x\xa1t\0\xa1z\x91\xc0\xa1m\xa0\xa1s\xa2OK\xa1v\x01";
        let (response, layout) = read(data).unwrap();
        assert_eq!((response, layout), (Response::new("x"), Layout::Map));
    }

    #[test]
    fn errors_name_what_was_expected_and_found() {
        for (data, message) in [
            (&b""[..], "expected an array, found the end, at offset 0"),
            (b"\x90", "expected an integer, found the end, at offset 1"),
            (b"\x95\x04", "expected layout 1, 2 or 3, found 4, at offset 1"),
            (
                b"\x94\x01\xa2OK\xa2G3\xa1x",
                "expected 5 elements (or 4 in layout 3, without tokens), found 4, at offset 0",
            ),
            (b"\x94\x03\0\x09\xa1x", "expected a model of 0 to 5, found 9, at offset 3"),
            (b"\x94\x03\x07\0\xa1x", "expected a status of 0 to 3, found 7, at offset 2"),
            (b"\x94\x03\xc3\0\xa1x", "expected an integer, found a boolean, at offset 2"),
            (b"\x94\x03\0\0\xc4\x01x", "expected text, found binary, at offset 4"),
            (b"\x94\x03\0\0\xa1xx", "expected the end, found 1 more bytes, at offset 6"),
            (b"\x81\xa1v\x02", "expected version 1, found 2, at offset 3"),
            (b"\x81\xa1v\x01", "missing key \"s\", at offset 0"),
            (b"\x82\xa1v\x01\xa1v\x01", "duplicate key \"v\", at offset 4"),
            (b"\x82\xa1x\x01\xa1x\x01", "duplicate key \"x\", at offset 4"),
            (
                b"\xdd\xff\xff\xff\xff\x03",
                "expected 5 elements (or 4 in layout 3, without tokens), found 4294967295, at offset 0",
            ),
        ] {
            assert_eq!(read(data).unwrap_err().to_string(), message);
        }
    }
}
