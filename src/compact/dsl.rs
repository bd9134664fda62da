//! The DSL `RES|status|model|tokens|result`: v2 section 2, v4 section 3.
//!
//! The result is everything after the fourth `|`, including separators and trailing white space.

use super::error::{DecodeError, EncodeError};
use super::format::{Protocol, Status};
use super::response::Response;
use crate::excerpt::excerpt;
use crate::limits::MAX_TOKENS;
use std::borrow::Cow;

/// Writes a response. The model must not contain `|` or a line feed.
pub(super) fn write(response: &Response<'_>, protocol: Protocol) -> Result<String, EncodeError> {
    let model = &response.model;
    if let Some(found) = model.chars().find(|c| matches!(c, '|' | '\n')) {
        let message = format!("the DSL cannot represent {found:?} in {}", excerpt(model));
        return Err(EncodeError::new("model", message));
    }
    let (status, result) = (response.status.code(protocol), &response.result);
    let mut digits = itoa::Buffer::new();
    let parts = ["RES|", status, "|", model, "|", digits.format(response.tokens), "|", result];
    Ok(parts.concat())
}

/// Parses the text after `RES|`.
pub(super) fn read(payload: &str) -> Result<Response<'_>, DecodeError> {
    let invalid = |message| Err(DecodeError::InvalidFormat(message));
    let mut parts = payload.splitn(4, '|');
    let (Some(status), Some(model), Some(tokens), Some(result)) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        let found = payload.split('|').count();
        return invalid(format!(
            "expected RES|status|model|tokens|result, found {found} of the 4 fields"
        ));
    };
    let Some(status) = Status::from_code(status) else {
        let found = excerpt(status);
        return invalid(format!(
            "expected the status OK, ERR, PART, PARTIAL or STREAM, found {found}"
        ));
    };
    let Some(tokens) = parse_tokens(tokens) else {
        let found = excerpt(tokens);
        return invalid(format!("expected a token count of 0 to 2^63 - 1, found {found}"));
    };
    Ok(Response {
        result: Cow::Borrowed(result),
        model: Cow::Borrowed(model),
        status,
        tokens,
        ..Response::default()
    })
}

/// Parses ASCII digits only; `str::parse` would also accept a `+`.
fn parse_tokens(text: &str) -> Option<u64> {
    if !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    text.parse().ok().filter(|&tokens| tokens <= MAX_TOKENS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_result_keeps_separators_and_white_space() {
        let response = read("OK|G3|0|a|b|c \n").unwrap();
        assert_eq!(response.result, "a|b|c \n");
        assert_eq!(write(&response, Protocol::V2).unwrap(), "RES|OK|G3|0|a|b|c \n");
    }

    #[test]
    fn errors_name_the_invalid_field() {
        for (payload, message) in [
            ("", "expected RES|status|model|tokens|result, found 1 of the 4 fields"),
            ("OK|G3|0", "expected RES|status|model|tokens|result, found 3 of the 4 fields"),
            ("ok|G3|0|", "expected the status OK, ERR, PART, PARTIAL or STREAM, found \"ok\""),
            ("OK|G3|+1|", "expected a token count of 0 to 2^63 - 1, found \"+1\""),
            ("OK|G3||", "expected a token count of 0 to 2^63 - 1, found \"\""),
        ] {
            assert_eq!(read(payload), Err(DecodeError::InvalidFormat(message.into())));
        }
        assert!(read("OK|G3|9223372036854775807|").is_ok());
        assert!(read("OK|G3|9223372036854775808|").is_err());
    }

    #[test]
    fn a_model_with_a_separator_is_rejected() {
        for model in ["a|b", "a\nb"] {
            let response = Response { model: model.into(), ..Response::new("x") };
            assert_eq!(write(&response, Protocol::V4).unwrap_err().field, "model");
        }
    }
}
