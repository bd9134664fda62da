//! The conversation in a session's memory: one text that grows.
//!
//! The SHA-256 state is kept with the text, so that the cost of an addition depends on its length only.

use super::frames::json_len;
use crate::compact::DecodeError;
use crate::compact::delta::{self, Edit};
use sha2::{Digest, Sha256};

/// How many bytes of the last request frame are kept for compression.
pub(super) const LAST_LEN: usize = 512;

/// The conversation that both sides have.
#[derive(Debug, Clone, Default)]
pub(super) struct Context {
    text: String,
    hasher: Sha256,
    /// The length of the text as a JSON string, without quotes.
    json_len: usize,
    /// The beginning of the last request frame; the next frame usually begins with the same bytes.
    last: Vec<u8>,
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

/// What a committed change replaced, to undo it.
#[derive(Debug, Clone)]
pub(super) struct Previous {
    text: PreviousText,
    hasher: Sha256,
    json_len: usize,
    last: Vec<u8>,
}

#[derive(Debug, Clone)]
enum PreviousText {
    /// The text was so many bytes of the present one.
    Prefix(usize),
    Replaced(String),
}

/// The first bytes of the SHA-256 of a conversation.
pub(super) type ContextId = [u8; 4];

impl Context {
    pub(super) fn new(text: String, last: Vec<u8>) -> Self {
        let mut context = Self::default();
        let next = Next::replace(text);
        context.commit::<&str>(Some(next), None);
        Self { last, ..context }
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Plans the change to `text`. For an addition, this compares the old text and hashes the new
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

    /// Applies a change that was planned on this context, and keeps the beginning of the request. Returns
    /// what it replaced.
    pub(super) fn commit<F: AsRef<str>>(
        &mut self,
        next: Option<Next>,
        request: Option<F>,
    ) -> Previous {
        let mut previous = Previous {
            text: PreviousText::Prefix(self.text.len()),
            hasher: self.hasher.clone(),
            json_len: self.json_len,
            last: self.last.clone(),
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
        if let Some(request) = request {
            let request = request.as_ref().as_bytes();
            self.last.clear();
            self.last.extend_from_slice(&request[..request.len().min(LAST_LEN)]);
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
        self.last = previous.last;
    }

    /// The id of the conversation; `None` if it is empty.
    pub(super) fn id(&self) -> Option<ContextId> {
        if self.text.is_empty() {
            return None;
        }
        self.hasher.clone().finalize().first_chunk().copied()
    }

    pub(super) fn last(&self) -> &[u8] {
        &self.last
    }

    /// Whether there is a history to compress against.
    pub(super) fn has_history(&self) -> bool {
        !self.last.is_empty()
    }

    /// The history to compress against: at most the last `len` bytes of the conversation, and the
    /// beginning of the last request frame.
    pub(super) fn history(&self, len: usize) -> Vec<u8> {
        let text = self.text.as_bytes();
        [&text[text.len().saturating_sub(len)..], &self.last].concat()
    }

    /// The first bytes of a hash of the whole conversation and the beginning of the last request
    /// frame.
    pub(super) fn history_id(&self) -> [u8; 4] {
        let text = self.hasher.clone().finalize();
        let hash = Sha256::new().chain_update(text).chain_update(&self.last).finalize();
        [hash[0], hash[1], hash[2], hash[3]]
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

    /// The id of the new context; see [`Context::id`].
    pub(super) fn id(&self) -> Option<ContextId> {
        let is_empty = self.json_len == 0;
        self.hash().first_chunk().copied().filter(|_| !is_empty)
    }

    /// The length of the new context as a JSON string.
    pub(super) fn json_len(&self) -> usize {
        self.json_len + 2
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
            grown.commit::<&str>(Some(next), None);
            assert_eq!(grown.text(), text);
        }
        let edited = edited(&grown, &["D|R|6|Yo", "D|+|!"]).unwrap();
        let whole = Context::new("User: Yo\nAgent: \"é\"!".into(), Vec::new());
        assert_eq!(edited.hash(), whole.plan_text(whole.text()).hash());
    }

    #[test]
    fn a_plan_leaves_the_context_unchanged() {
        let context = Context::new("abc".into(), Vec::new());
        assert!(edited(&context, &["D|+|d", "D|R|9|x"]).is_err());
        let next = edited(&context, &["D|F|x", "D|+|y"]).unwrap();
        assert_eq!((context.text(), next.len(&context)), ("abc", 2));
    }
}
