//! The conversation in a session's memory: one text that grows.
//!
//! The SHA-256 state is kept with the text, so that the cost of an addition depends on its length only.

use super::frames::json_len;
use crate::compact::DecodeError;
use crate::compact::delta::{self, Edit};
use sha2::{Digest, Sha256};

/// The conversation that both sides have.
#[derive(Debug, Clone, Default)]
pub(super) struct Context {
    text: String,
    hasher: Sha256,
    /// The length of the text as a JSON string, without quotes.
    json_len: usize,
}

/// A planned change of a [`Context`], not applied yet.
#[derive(Debug)]
pub(super) struct Next {
    change: Change,
    hasher: Sha256,
    json_len: usize,
}

#[derive(Debug)]
enum Change {
    Append(String),
    Replace(String),
}

/// The state before a committed change, to undo it.
#[derive(Debug, Clone)]
pub(super) struct Previous {
    text: PreviousText,
    hasher: Sha256,
    json_len: usize,
}

#[derive(Debug, Clone)]
enum PreviousText {
    /// The text was a prefix of the present one, of this length.
    Prefix(usize),
    Replaced(String),
}

/// The first bytes of the SHA-256 of a conversation.
pub(super) type ContextId = [u8; 4];

impl Context {
    pub(super) fn new(text: String) -> Self {
        let mut context = Self::default();
        context.commit(Some(Next::replace(text)));
        context
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Plans the change to `text`. For an addition, this compares the old text and hashes only the new
    /// part.
    pub(super) fn plan_text(&self, text: &str) -> Next {
        match text.strip_prefix(&*self.text) {
            Some(added) => self.append(added.to_owned()),
            None => Next::replace(text.to_owned()),
        }
    }

    /// Plans the change by these edits. An error means that an edit does not apply to this context.
    pub(super) fn plan_edits(&self, edits: &[Edit<'_>]) -> Result<Next, DecodeError> {
        let only_added: Option<String> = edits.iter().map(Edit::addition).collect();
        if let Some(added) = only_added {
            return Ok(self.append(added));
        }
        delta::apply_all(&self.text, edits).map(Next::replace)
    }

    fn append(&self, added: String) -> Next {
        let hasher = self.hasher.clone().chain_update(&added);
        let json_len = self.json_len + json_len(&added);
        Next { change: Change::Append(added), hasher, json_len }
    }

    /// Applies a change that was planned on this context. Returns the state before it.
    pub(super) fn commit(&mut self, next: Option<Next>) -> Previous {
        let mut previous = Previous {
            text: PreviousText::Prefix(self.text.len()),
            hasher: self.hasher.clone(),
            json_len: self.json_len,
        };
        if let Some(next) = next {
            match next.change {
                Change::Append(added) => self.text.push_str(&added),
                Change::Replace(text) => {
                    let replaced = std::mem::replace(&mut self.text, text);
                    previous.text = PreviousText::Replaced(replaced);
                }
            }
            self.hasher = next.hasher;
            self.json_len = next.json_len;
        }
        previous
    }

    /// Undoes the last change. `previous` is what [`Context::commit`] returned.
    pub(super) fn undo(&mut self, previous: Previous) {
        match previous.text {
            PreviousText::Prefix(len) => self.text.truncate(len),
            PreviousText::Replaced(text) => self.text = text,
        }
        self.hasher = previous.hasher;
        self.json_len = previous.json_len;
    }

    /// The id of the conversation; `None` if it is empty.
    pub(super) fn id(&self) -> Option<ContextId> {
        if self.text.is_empty() {
            return None;
        }
        self.hash().first_chunk().copied()
    }

    /// The SHA-256 of the conversation.
    pub(super) fn hash(&self) -> [u8; 32] {
        self.hasher.clone().finalize().into()
    }
}

impl Previous {
    /// The size in bytes of the text that it keeps.
    pub(super) fn size(&self) -> usize {
        match &self.text {
            PreviousText::Prefix(_) => 0,
            PreviousText::Replaced(text) => text.len(),
        }
    }
}

impl Next {
    fn replace(text: String) -> Self {
        let hasher = Sha256::new().chain_update(&text);
        let json_len = json_len(&text);
        Self { change: Change::Replace(text), hasher, json_len }
    }

    /// The appended text; `None` if the change replaces the context.
    pub(super) fn added(&self) -> Option<&str> {
        match &self.change {
            Change::Append(added) => Some(added),
            Change::Replace(_) => None,
        }
    }

    /// The SHA-256 of the new context.
    pub(super) fn hash(&self) -> [u8; 32] {
        self.hasher.clone().finalize().into()
    }

    /// The length of the new context as a JSON string.
    pub(super) fn json_len(&self) -> usize {
        self.json_len + 2
    }

    /// The new context; `context` is the old one.
    pub(super) fn text(&self, context: &Context) -> String {
        match &self.change {
            Change::Append(added) => [&*context.text, added].concat(),
            Change::Replace(text) => text.clone(),
        }
    }

    /// The length of the new context in bytes; `context` is the old one.
    pub(super) fn len(&self, context: &Context) -> usize {
        match &self.change {
            Change::Append(added) => context.text.len() + added.len(),
            Change::Replace(text) => text.len(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compact::delta::ApplyOptions;

    fn edited(context: &Context, deltas: &[&str]) -> Result<Next, DecodeError> {
        let options = ApplyOptions::default();
        let edits: Vec<_> = deltas.iter().map(|d| Edit::parse(d, &options).unwrap()).collect();
        context.plan_edits(&edits)
    }

    #[test]
    fn the_hash_depends_on_the_text_only() {
        let mut grown = Context::default();
        for text in ["User: Hi", "User: Hi\n", "User: Hi\nAgent: \"é\""] {
            let next = grown.plan_text(text);
            assert_eq!(next.len(&grown), text.len());
            assert_eq!(next.hash(), Context::default().plan_text(text).hash());
            assert_eq!(next.json_len(), serde_json::to_string(text).unwrap().len());
            grown.commit(Some(next));
            assert_eq!(grown.text(), text);
        }
        let edited = edited(&grown, &["D|R|6|Yo", "D|+|!"]).unwrap();
        let whole = Context::new("User: Yo\nAgent: \"é\"!".into());
        assert_eq!(edited.hash(), whole.plan_text(whole.text()).hash());
    }

    #[test]
    fn a_plan_leaves_the_context_unchanged() {
        let context = Context::new("abc".into());
        assert!(edited(&context, &["D|+|d", "D|R|9|x"]).is_err());
        let next = edited(&context, &["D|F|x", "D|+|y"]).unwrap();
        assert_eq!((context.text(), next.len(&context)), ("abc", 2));
    }
}
