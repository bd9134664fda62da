//! The response type that every format reads and writes. Compact Protocol v2 sections 1 to 3, v4 section 3.

use super::error::EncodeError;
use super::format::{Format, Layout, Status, model_code};
use crate::excerpt::excerpt;
use crate::limits::MAX_TOKENS;
use std::borrow::Cow;
use std::hash::{Hash, Hasher};

/// The answer of a language model, or the result of a tool.
///
/// Compact Protocol v2 part 1 and v4 sections 3 and 4. Only the verbose format carries the last four
/// fields; the specifications define no place for them in the others.
///
/// Two responses are equal if they mean the same: a `model_name` equal to `model` counts as `None`.
#[derive(Debug, Clone, Default)]
pub struct Response<'a> {
    /// The answer.
    pub result: Cow<'a, str>,
    /// The code of the model, or any other text.
    pub model: Cow<'a, str>,
    /// The status.
    pub status: Status,
    /// The token count of the answer, at most 2^63 - 1.
    pub tokens: u64,
    /// The name of the model in a verbose message, if it differs from the code.
    pub model_name: Option<Cow<'a, str>>,
    /// The return code of a verbose message, if it differs from that of the status.
    pub returncode: Option<i64>,
    /// The reasoning effort asked of the model: low, medium, high.
    pub reasoning_effort: Option<Cow<'a, str>>,
    /// Whether extended thinking was enabled.
    pub ultrathink: Option<bool>,
}

impl Response<'_> {
    /// The parts that equality and hash compare.
    fn meaning(&self) -> impl Eq + Hash {
        let Self { result, model, status, tokens, model_name, .. } = self;
        let name = model_name.as_deref().unwrap_or(model);
        let verbose = (self.returncode, self.reasoning_effort.as_deref(), self.ultrathink);
        (&**result, &**model, *status, *tokens, name, verbose)
    }
}

impl PartialEq for Response<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.meaning() == other.meaning()
    }
}

impl Eq for Response<'_> {}

impl Hash for Response<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.meaning().hash(state);
    }
}

impl<'a> Response<'a> {
    /// A response with status `OK` and without a model.
    pub fn new(result: impl Into<Cow<'a, str>>) -> Self {
        Self { result: result.into(), ..Self::default() }
    }

    /// Copies all borrowed strings.
    pub fn into_owned(self) -> Response<'static> {
        let own = |text: Cow<'_, str>| Cow::Owned(text.into_owned());
        Response {
            result: own(self.result),
            model: own(self.model),
            status: self.status,
            tokens: self.tokens,
            model_name: self.model_name.map(own),
            returncode: self.returncode,
            reasoning_effort: self.reasoning_effort.map(own),
            ultrathink: self.ultrathink,
        }
    }

    /// The `model` member of a verbose message.
    pub(super) fn verbose_model(&self) -> Result<&str, EncodeError> {
        let Some(name) = &self.model_name else { return Ok(&self.model) };
        let code = model_code(name);
        if self.model.is_empty() || code == self.model {
            return Ok(name);
        }
        let message = format!(
            "a verbose message has one model: {} would be decoded as {}, not {}; \
             remove model_name or change model",
            excerpt(name),
            excerpt(code),
            excerpt(&self.model)
        );
        Err(EncodeError::new("model_name", message))
    }

    /// Whether a verbose message is decoded to the same model. Decoders map a model name to its
    /// code.
    pub(super) fn model_stays_in_verbose(&self) -> bool {
        self.model_name.is_some() || model_code(&self.model) == self.model
    }

    /// The total size of the texts in bytes.
    pub(super) fn size(&self) -> usize {
        let optional = [&self.model_name, &self.reasoning_effort];
        let texts = [&self.result, &self.model].into_iter().chain(optional.into_iter().flatten());
        texts.map(|text| text.len()).sum()
    }

    /// Checks the limits that the types do not enforce.
    pub(super) fn check(&self) -> Result<(), EncodeError> {
        if self.tokens <= MAX_TOKENS {
            return Ok(());
        }
        let message = format!("{} is above 2^63 - 1", self.tokens);
        Err(EncodeError::new("tokens", message))
    }
}

/// A response, with the format and layout of its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decoded<'a> {
    /// The response.
    pub response: Response<'a>,
    /// The format; `None` for a plain text returned by [`or_raw`](super::or_raw).
    pub format: Option<Format>,
    /// The `MessagePack` layout; `None` for the text formats.
    pub layout: Option<Layout>,
}
