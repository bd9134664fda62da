//! The one type that every format reads into and writes from.

use super::error::EncodeError;
use super::format::{Format, Layout, Status, model_code};
use crate::excerpt::excerpt;
use crate::limits::MAX_TOKENS;
use std::borrow::Cow;
use std::hash::{Hash, Hasher};

/// An answer of a language model, or the result of a tool.
///
/// Compact Protocol v2 part 1 and v4 sections 3 and 4. The last four fields travel in the verbose
/// format only: the specifications give the others no place for them.
///
/// Two are equal when they mean the same: a model's name that says no more than its code is as good
/// as none.
#[derive(Debug, Clone, Default)]
pub struct Response<'a> {
    /// The answer.
    pub result: Cow<'a, str>,
    /// The model's code, or any other text.
    pub model: Cow<'a, str>,
    /// Whether the answer is whole and well.
    pub status: Status,
    /// How many tokens the answer cost, at most 2^63 - 1.
    pub tokens: u64,
    /// The model's name in a verbose message, where it is not the code itself.
    pub model_name: Option<Cow<'a, str>>,
    /// The return code of a verbose message, where it is not what the status says.
    pub returncode: Option<i64>,
    /// How hard the model was asked to think: low, medium, high.
    pub reasoning_effort: Option<Cow<'a, str>>,
    /// Whether extended thinking was on.
    pub ultrathink: Option<bool>,
}

impl Response<'_> {
    /// What equality and hash are about.
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

    /// Copies what is borrowed.
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

    /// The text of a verbose message's `model` member.
    pub(super) fn verbose_model(&self) -> Result<&str, EncodeError> {
        let Some(name) = &self.model_name else { return Ok(&self.model) };
        let code = model_code(name);
        if self.model.is_empty() || code == self.model {
            return Ok(name);
        }
        let message = format!(
            "a verbose message holds one model, and {} is read back as {}, not {}; \
             drop model_name or change model",
            excerpt(name),
            excerpt(code),
            excerpt(&self.model)
        );
        Err(EncodeError { field: "model_name", message })
    }

    /// Whether a verbose message gives the same model back: there a text that is no code is a name.
    pub(super) fn model_stays_in_verbose(&self) -> bool {
        self.model_name.is_some() || model_code(&self.model) == self.model
    }

    /// Checks what the types do not.
    pub(super) fn check(&self) -> Result<(), EncodeError> {
        if self.tokens <= MAX_TOKENS {
            return Ok(());
        }
        let message = format!("{} is above 2^63 - 1", self.tokens);
        Err(EncodeError { field: "tokens", message })
    }
}

/// A response, and how it travelled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decoded<'a> {
    /// The response.
    pub response: Response<'a>,
    /// Its format; `None` for plain text that a fallback took as it was.
    pub format: Option<Format>,
    /// Its `MessagePack` layout, where it had one.
    pub layout: Option<Layout>,
}
