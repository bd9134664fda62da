//! The verbose format, a JSON object: v2 section 1.
//!
//! ```json
//! {"model":"gemini","returncode":0,"response":"Hello","reasoning_effort":"medium","ultrathink":false}
//! ```
//!
//! `status` and `tokens` are our extension. They are written only if `returncode` does not imply them, so
//! a reader that ignores them still gets all that the specification defines. Unknown members are
//! ignored. A duplicate member is an error.

use super::error::{DecodeError, EncodeError};
use super::format::{Protocol, Status, is_model_code, model_code};
use super::response::Response;
use crate::excerpt::excerpt;
use crate::limits::{MAX_MAP_KEYS, MAX_SKIPPED_DEPTH, MAX_TOKENS};
use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

#[derive(Serialize)]
struct Written<'a> {
    model: &'a str,
    returncode: i64,
    response: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ultrathink: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tokens: Option<u64>,
}

/// Writes a response as compact JSON.
pub(super) fn write(response: &Response<'_>, protocol: Protocol) -> Result<String, EncodeError> {
    let returncode = response.returncode.unwrap_or(response.status.returncode());
    let implied = if returncode == 0 { Status::Ok } else { Status::Err };
    let written = Written {
        model: response.verbose_model()?,
        returncode,
        response: &response.result,
        reasoning_effort: response.reasoning_effort.as_deref(),
        ultrathink: response.ultrathink,
        status: (response.status != implied).then(|| response.status.code(protocol)),
        tokens: (response.tokens != 0).then_some(response.tokens),
    };
    serde_json::to_string(&written)
        .map_err(|error| EncodeError { field: "response", message: error.to_string() })
}

/// The members of a verbose message.
#[derive(Debug, Clone, Default)]
pub struct Members<'a> {
    /// The name or code of the model.
    pub model: Cow<'a, str>,
    /// The return code: 0 for success, any other value for failure.
    pub returncode: i64,
    /// The answer.
    pub response: Cow<'a, str>,
    /// The reasoning effort asked of the model.
    pub reasoning_effort: Option<Cow<'a, str>>,
    /// Whether extended thinking was enabled.
    pub ultrathink: Option<bool>,
    /// The status code, if the return code does not imply it.
    pub status: Option<Cow<'a, str>>,
    /// The token count.
    pub tokens: u64,
}

impl<'a> TryFrom<Members<'a>> for Response<'a> {
    type Error = DecodeError;

    fn try_from(members: Members<'a>) -> Result<Self, DecodeError> {
        let Members { model: name, returncode, response: result, tokens, .. } = members;
        let status = match members.status {
            None if returncode == 0 => Status::Ok,
            None => Status::Err,
            Some(code) => Status::from_code(&code).ok_or_else(|| {
                let found = excerpt(&code);
                DecodeError::InvalidFormat(format!("expected a status code, found {found}"))
            })?,
        };
        if tokens > MAX_TOKENS {
            let message = format!("expected a token count of 0 to 2^63 - 1, found {tokens}");
            return Err(DecodeError::InvalidFormat(message));
        }
        let (model, model_name) = if name.is_empty() || is_model_code(&name) {
            (name, None)
        } else {
            (Cow::Owned(model_code(&name).to_owned()), Some(name))
        };
        Ok(Self {
            result,
            model,
            status,
            tokens,
            model_name,
            returncode: (returncode != status.returncode()).then_some(returncode),
            reasoning_effort: members.reasoning_effort,
            ultrathink: members.ultrathink,
        })
    }
}

/// Parses a complete message.
pub(super) fn read(text: &str) -> Result<Response<'_>, DecodeError> {
    let invalid = |error| DecodeError::InvalidFormat(format!("invalid verbose message: {error}"));
    let read: Read<'_> = serde_json::from_str(text).map_err(invalid)?;
    Response::try_from(Members {
        model: read.model.ok_or(DecodeError::MissingField("model"))?,
        returncode: read.returncode.ok_or(DecodeError::MissingField("returncode"))?,
        response: read.response.ok_or(DecodeError::MissingField("response"))?,
        reasoning_effort: read.reasoning_effort,
        ultrathink: read.ultrathink,
        status: read.status,
        tokens: read.tokens.unwrap_or(0),
    })
}

/// The members found in a message. `null` counts as a missing member for `reasoning_effort` and
/// `ultrathink`, and is an error for the others.
#[derive(Default)]
struct Read<'a> {
    model: Option<Cow<'a, str>>,
    returncode: Option<i64>,
    response: Option<Cow<'a, str>>,
    reasoning_effort: Option<Cow<'a, str>>,
    ultrathink: Option<bool>,
    status: Option<Cow<'a, str>>,
    tokens: Option<u64>,
}

impl<'de> Deserialize<'de> for Read<'de> {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        json.deserialize_map(ReadVisitor)
    }
}

struct ReadVisitor;

impl<'de> Visitor<'de> for ReadVisitor {
    type Value = Read<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Read<'de>, A::Error> {
        let mut read = Read::default();
        // A message has a handful of members: a list is faster than a set.
        let mut seen: Vec<Cow<'de, str>> = Vec::new();
        while let Some(Text(key)) = map.next_key()? {
            if seen.len() == MAX_MAP_KEYS as usize {
                let message = format!("expected at most {MAX_MAP_KEYS} members, found more");
                return Err(A::Error::custom(message));
            }
            if seen.contains(&key) {
                return Err(A::Error::custom(format!("duplicate member {}", excerpt(&key))));
            }
            match &*key {
                "model" => read.model = Some(text(&mut map)?),
                "returncode" => read.returncode = Some(parsed(&key, "an integer", &mut map)?),
                "response" => read.response = Some(text(&mut map)?),
                "reasoning_effort" => {
                    read.reasoning_effort =
                        map.next_value::<Option<Text<'_>>>()?.map(|text| text.0);
                }
                "ultrathink" => read.ultrathink = boolean(&key, &mut map)?,
                "status" => read.status = Some(text(&mut map)?),
                "tokens" => {
                    let tokens = parsed::<A, i64>(&key, "an integer", &mut map)?;
                    let negative =
                        |_| A::Error::custom(format!("tokens: expected a count, found {tokens}"));
                    read.tokens = Some(tokens.try_into().map_err(negative)?);
                }
                _ if depth(map.next_value::<&RawValue>()?.get()) > MAX_SKIPPED_DEPTH => {
                    let key = excerpt(&key);
                    let message =
                        format!("member {key} is nested more than {MAX_SKIPPED_DEPTH} levels deep");
                    return Err(A::Error::custom(message));
                }
                _ => {}
            }
            seen.push(key);
        }
        Ok(read)
    }
}

/// A string that borrows from the input if it has no escapes.
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

fn text<'de, A: MapAccess<'de>>(map: &mut A) -> Result<Cow<'de, str>, A::Error> {
    Ok(map.next_value::<Text<'_>>()?.0)
}

/// Parses a value from its JSON text. `serde_json` would reject `-0` as an integer, and its errors would
/// quote the whole value.
fn parsed<'de, A: MapAccess<'de>, T: FromStr>(
    key: &str,
    expected: &str,
    map: &mut A,
) -> Result<T, A::Error> {
    let json = map.next_value::<&RawValue>()?.get();
    json.parse().map_err(|_| {
        A::Error::custom(format!("{key}: expected {expected}, found {}", excerpt(json)))
    })
}

fn boolean<'de, A: MapAccess<'de>>(key: &str, map: &mut A) -> Result<Option<bool>, A::Error> {
    struct Nullable(Option<bool>);

    impl FromStr for Nullable {
        type Err = ();

        fn from_str(json: &str) -> Result<Self, ()> {
            match json {
                "null" => Ok(Self(None)),
                "false" => Ok(Self(Some(false))),
                "true" => Ok(Self(Some(true))),
                _ => Err(()),
            }
        }
    }

    parsed(key, "true, false or null", map).map(|Nullable(on)| on)
}

/// The nesting depth of a valid JSON text.
fn depth(json: &str) -> usize {
    let (mut depth, mut deepest) = (0usize, 0);
    let (mut in_text, mut escaped) = (false, false);
    for byte in json.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => in_text = !in_text,
            _ if in_text => {}
            b'[' | b'{' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' => depth -= 1,
            _ => {}
        }
    }
    deepest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_string_without_escapes_is_borrowed() {
        let response = read(r#"{"model":"C45","returncode":0,"response":"plain"}"#).unwrap();
        assert!(matches!(response.result, Cow::Borrowed("plain")));
        assert_eq!((&*response.model, response.model_name), ("C45", None));
    }

    #[test]
    fn status_and_tokens_are_written_only_if_the_return_code_does_not_imply_them() {
        let base = Response { model: "G3".into(), ..Response::new("x") };
        for (response, tail) in [
            (base.clone(), "\"returncode\":0,\"response\":\"x\"}"),
            (
                Response { status: Status::Err, ..base.clone() },
                "\"returncode\":1,\"response\":\"x\"}",
            ),
            (
                Response { status: Status::Part, tokens: 7, ..base.clone() },
                "\"returncode\":0,\"response\":\"x\",\"status\":\"PARTIAL\",\"tokens\":7}",
            ),
            (
                Response { status: Status::Err, returncode: Some(-3), ..base.clone() },
                "\"returncode\":-3,\"response\":\"x\"}",
            ),
            (
                Response { status: Status::Err, returncode: Some(0), ..base },
                "\"returncode\":0,\"response\":\"x\",\"status\":\"ERR\"}",
            ),
        ] {
            let text = write(&response, Protocol::V4).unwrap();
            assert_eq!(text, format!("{{\"model\":\"G3\",{tail}"));
            assert_eq!(read(&text).unwrap(), response);
        }
    }

    #[test]
    fn a_model_name_of_another_model_is_rejected() {
        let response = Response {
            model: "C45".into(),
            model_name: Some("claude-opus".into()),
            ..Response::new("x")
        };
        let error = write(&response, Protocol::V4).unwrap_err();
        assert!(error.to_string().contains("decoded as \"C4\", not \"C45\""), "{error}");
    }

    #[test]
    fn invalid_members_are_rejected() {
        for (text, message) in [
            (r#"{"model":null,"returncode":0,"response":"x"}"#, "invalid type: null"),
            (
                r#"{"model":"m","returncode":0,"response":"x","tokens":-1}"#,
                "tokens: expected a count, found -1",
            ),
            (
                r#"{"model":"m","returncode":0,"response":"x","status":"WELL"}"#,
                "expected a status code",
            ),
            (
                r#"{"model":"m","returncode":0.0,"response":"x"}"#,
                "returncode: expected an integer, found \"0.0\"",
            ),
            (r#"{"model":"m","returncode":0,"response":"x"} {}"#, "trailing characters"),
            (r#"{"model":"m","returncode":0,"response":"\ud800"}"#, "line 1 column"),
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains(message), "{text}: {error}");
        }
        let double = r#"{"model":"m","x":0,"returncode":0,"x":0,"response":"x"}"#;
        assert!(read(double).unwrap_err().to_string().contains(r#"duplicate member "x""#));
        let nested = |levels| {
            let (open, close) = ("[".repeat(levels), "]".repeat(levels));
            format!(r#"{{"model":"m","returncode":0,"response":"x","x":{open}"[\"["{close}}}"#)
        };
        assert!(read(&nested(MAX_SKIPPED_DEPTH)).is_ok());
        let deep = nested(100_000);
        assert!(read(&deep).unwrap_err().to_string().contains("128 levels deep"));
        let zero = r#"{"model":"m","returncode":-0,"response":"x","x":[{"y":null},1.5,"z",true]}"#;
        assert_eq!(read(zero).unwrap().status, Status::Ok);
        assert_eq!(
            read(r#"{"returncode":0,"response":"x"}"#),
            Err(DecodeError::MissingField("model"))
        );
    }
}
