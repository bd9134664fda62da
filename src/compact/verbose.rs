//! The JSON object: v2 section 1.
//!
//! ```json
//! {"model":"gemini","returncode":0,"response":"Hello","reasoning_effort":"medium","ultrathink":false}
//! ```
//!
//! `status` and `tokens` are ours, written only where they say more than `returncode` does; a reader
//! that does not know them loses nothing that the format ever had. Unknown members are passed over,
//! a member that stands twice is an error.

use super::error::{DecodeError, EncodeError};
use super::format::{Protocol, Status, is_model_code, model_code};
use super::response::Response;
use crate::limits::MAX_TOKENS;
use crate::position::excerpt;
use serde::{Deserialize, Deserializer, Serialize};
use std::borrow::Cow;

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

/// The members that a message may have. `null` is the absence of the two optional ones, and an
/// error for the others.
#[derive(Deserialize)]
struct Read<'a> {
    #[serde(borrow, default, deserialize_with = "present")]
    model: Option<Text<'a>>,
    #[serde(default, deserialize_with = "present")]
    returncode: Option<i64>,
    #[serde(borrow, default, deserialize_with = "present")]
    response: Option<Text<'a>>,
    #[serde(borrow, default)]
    reasoning_effort: Option<Text<'a>>,
    #[serde(default)]
    ultrathink: Option<bool>,
    #[serde(borrow, default, deserialize_with = "present")]
    status: Option<Text<'a>>,
    #[serde(default, deserialize_with = "present")]
    tokens: Option<u64>,
}

/// Text that borrows from the input where it holds no escape.
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(json: D) -> Result<Option<T>, D::Error> {
    T::deserialize(json).map(Some)
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

/// The members of a verbose message, wherever they come from.
#[derive(Debug, Clone, Default)]
pub struct Members<'a> {
    /// The model's name or code.
    pub model: Cow<'a, str>,
    /// 0 for success, anything else for failure.
    pub returncode: i64,
    /// The answer.
    pub response: Cow<'a, str>,
    /// How hard the model was asked to think.
    pub reasoning_effort: Option<Cow<'a, str>>,
    /// Whether extended thinking was on.
    pub ultrathink: Option<bool>,
    /// The status code, where it says more than the return code.
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
            return Err(DecodeError::InvalidFormat(format!("tokens {tokens} is above 2^63 - 1")));
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

/// Reads a whole message.
pub(super) fn read(text: &str) -> Result<Response<'_>, DecodeError> {
    let read: Read<'_> = serde_json::from_str(text)
        .map_err(|error| DecodeError::InvalidFormat(format!("not a verbose message: {error}")))?;
    Response::try_from(Members {
        model: read.model.ok_or(DecodeError::MissingField("model"))?.0,
        returncode: read.returncode.ok_or(DecodeError::MissingField("returncode"))?,
        response: read.response.ok_or(DecodeError::MissingField("response"))?.0,
        reasoning_effort: read.reasoning_effort.map(|text| text.0),
        ultrathink: read.ultrathink,
        status: read.status.map(|text| text.0),
        tokens: read.tokens.unwrap_or(0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_without_escapes_is_borrowed() {
        let response = read(r#"{"model":"C45","returncode":0,"response":"plain"}"#).unwrap();
        assert!(matches!(response.result, Cow::Borrowed("plain")));
        assert_eq!((&*response.model, response.model_name), ("C45", None));
    }

    #[test]
    fn status_and_tokens_are_written_only_where_they_say_more() {
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
    fn a_name_that_means_another_model_is_refused() {
        let response = Response {
            model: "C45".into(),
            model_name: Some("claude-opus".into()),
            ..Response::new("x")
        };
        let error = write(&response, Protocol::V4).unwrap_err();
        assert!(error.to_string().contains("read back as \"C4\", not \"C45\""), "{error}");
    }

    #[test]
    fn wrong_members_are_refused() {
        for (text, message) in [
            (r#"{"model":null,"returncode":0,"response":"x"}"#, "invalid type: null"),
            (r#"{"model":"m","returncode":0,"response":"x","tokens":-1}"#, "invalid value"),
            (
                r#"{"model":"m","returncode":0,"response":"x","status":"WELL"}"#,
                "expected a status code",
            ),
            (r#"{"model":"m","returncode":0.0,"response":"x"}"#, "floating point"),
            (r#"{"model":"m","returncode":0,"response":"x"} {}"#, "trailing characters"),
            (r#"{"model":"m","returncode":0,"response":"\ud800"}"#, "line 1 column"),
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains(message), "{text}: {error}");
        }
        assert_eq!(
            read(r#"{"returncode":0,"response":"x"}"#),
            Err(DecodeError::MissingField("model"))
        );
    }
}
