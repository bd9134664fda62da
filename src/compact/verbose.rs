//! The verbose format, a JSON object: v2 section 1.
//!
//! ```json
//! {"model":"gemini","returncode":0,"response":"Hello","reasoning_effort":"medium","ultrathink":false}
//! ```
//!
//! `status` and `tokens` are our extension. `status` is written only if `returncode` does not imply it, and
//! `tokens` only if it is not 0. A reader that ignores them still gets all that the specification defines.
//! Unknown members are ignored. A duplicate member is an error.

use super::error::{DecodeError, EncodeError};
use super::format::{Protocol, Status, is_model_code, model_code};
use super::response::Response;
use crate::excerpt::excerpt;
use crate::json::{self, Escape, Limits};
use crate::limits::{MAX_MAP_KEYS, MAX_SKIPPED_DEPTH, MAX_TOKENS};
use crate::walk::Sink;
use std::borrow::Cow;
use std::fmt::Display;

/// Writes a response as compact JSON.
pub(super) fn write(response: &Response<'_>, protocol: Protocol) -> Result<String, EncodeError> {
    let mut json = json::Writer::new(Escape::Needed, json::write_float);
    let Ok(()) = emit(response, response.verbose_model()?, protocol, &mut json);
    Ok(json.finish())
}

fn emit<S: Sink>(
    response: &Response<'_>,
    model: &str,
    protocol: Protocol,
    json: &mut S,
) -> Result<(), S::Error> {
    let returncode = response.returncode.unwrap_or(response.status.returncode());
    json.begin_object()?;
    json.key("model")?;
    json.string(model)?;
    json.key("returncode")?;
    json.int(returncode)?;
    json.key("response")?;
    json.string(&response.result)?;
    if let Some(effort) = &response.reasoning_effort {
        json.key("reasoning_effort")?;
        json.string(effort)?;
    }
    if let Some(on) = response.ultrathink {
        json.key("ultrathink")?;
        json.bool(on)?;
    }
    if response.status != implied_status(returncode) {
        json.key("status")?;
        json.string(response.status.code(protocol))?;
    }
    if response.tokens != 0 {
        json.key("tokens")?;
        json.big_int(itoa::Buffer::new().format(response.tokens))?;
    }
    json.end_object()
}

/// The status of a message that has only a return code.
fn implied_status(returncode: i64) -> Status {
    if returncode == 0 { Status::Ok } else { Status::Err }
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
            None => implied_status(returncode),
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
    let read = Read::from_json(text)?;
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

fn invalid(error: impl Display) -> DecodeError {
    DecodeError::InvalidFormat(format!("invalid verbose message: {error}"))
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

impl<'a> Read<'a> {
    fn from_json(text: &'a str) -> Result<Self, DecodeError> {
        let limits = Limits { max_depth: MAX_SKIPPED_DEPTH, ..Limits::default() };
        let mut members = json::Members::new(text, limits).map_err(invalid)?;
        let (mut read, mut count) = (Self::default(), 0);
        while let Some(key) = members.next_key().map_err(invalid)? {
            count += 1;
            if count > MAX_MAP_KEYS {
                return Err(invalid(format!(
                    "expected at most {MAX_MAP_KEYS} members, found more"
                )));
            }
            let of_member = |error| invalid(format!("member {}: {error}", excerpt(&key)));
            read.member(&key, &mut members).map_err(of_member)?;
        }
        Ok(read)
    }

    fn member(&mut self, key: &str, members: &mut json::Members<'a>) -> Result<(), json::Error> {
        match key {
            "model" => self.model = Some(members.string()?),
            "returncode" => self.returncode = Some(members.integer()?),
            "response" => self.response = Some(members.string()?),
            "reasoning_effort" => self.reasoning_effort = members.string_or_null()?,
            "ultrathink" => self.ultrathink = members.bool_or_null()?,
            "status" => self.status = Some(members.string()?),
            "tokens" => self.tokens = Some(members.count()?),
            _ => drop(members.raw()?),
        }
        Ok(())
    }
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
            (
                r#"{"model":null,"returncode":0,"response":"x"}"#,
                r#"member "model": expected a string, found "null", at byte 9"#,
            ),
            (
                r#"{"model":"m","returncode":0,"response":"x","tokens":-1}"#,
                r#"member "tokens": expected a count, found "-1""#,
            ),
            (
                r#"{"model":"m","returncode":0,"response":"x","status":"WELL"}"#,
                "expected a status code",
            ),
            (
                r#"{"model":"m","returncode":0.0,"response":"x"}"#,
                r#"member "returncode": expected an integer of 64 bits, found "0.0""#,
            ),
            (r#"{"model":"m","returncode":0,"response":"x"} {}"#, "expected the end of the text"),
            (r#"{"model":"m","returncode":0,"response":"\ud800"}"#, "lone surrogate"),
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
