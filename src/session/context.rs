//! The part for the conversation: one text that grows.
//!
//! Its SHA-256 runs along with the text, so that an addition costs what it adds.

use super::frames::json_len;
use crate::compact::DecodeError;
use crate::compact::delta::{Edit, Replace};
use sha2::{Digest, Sha256};

/// How much of a request is remembered for the next one, in bytes.
const LAST: usize = 512;

/// The conversation that the other side has.
#[derive(Debug, Clone, Default)]
pub(super) struct Context {
    text: String,
    hasher: Sha256,
    /// Bytes that the text takes in JSON, without quotes.
    json_len: usize,
    /// How the last request began: the next one begins like it.
    last: Vec<u8>,
}

/// What a context becomes; nothing has changed yet.
#[derive(Debug)]
pub(super) struct Next {
    change: Change,
    hasher: Sha256,
    json_len: usize,
}

#[derive(Debug)]
enum Change {
    Add(String),
    Whole(String),
}

/// Deltas cannot be applied to this context.
#[derive(Debug)]
pub(super) struct Unfit(pub(super) DecodeError);

impl Context {
    pub(super) fn new(text: String, last: Vec<u8>) -> Self {
        let mut context = Self::default();
        let next = context.whole(text);
        context.commit::<&str>(Some(next), None);
        Self { last, ..context }
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// What the context becomes when it is to be `text`: one comparison, and the cost of what is new.
    pub(super) fn grown_to(&self, text: &str) -> Next {
        match text.strip_prefix(&*self.text) {
            Some(added) => self.added(added.to_owned()),
            None => self.whole(text.to_owned()),
        }
    }

    /// What the context becomes by these edits.
    pub(super) fn edited(&self, edits: &[Edit<'_>]) -> Result<Next, Unfit> {
        let only_added: Option<String> = edits.iter().map(Edit::addition).collect();
        if let Some(added) = only_added {
            return Ok(self.added(added));
        }
        // What the first edit throws away is not copied.
        let mut text = if edits[0].is_whole() { String::new() } else { self.text.clone() };
        for edit in edits {
            edit.apply(&mut text, Replace::Overwrite).map_err(Unfit)?;
        }
        Ok(self.whole(text))
    }

    fn added(&self, added: String) -> Next {
        let hasher = self.hasher.clone().chain_update(&added);
        let json_len = self.json_len + json_len(&added);
        Next { change: Change::Add(added), hasher, json_len }
    }

    #[expect(clippy::unused_self, reason = "beside `added`")]
    fn whole(&self, text: String) -> Next {
        let hasher = Sha256::new().chain_update(&text);
        let json_len = json_len(&text);
        Next { change: Change::Whole(text), hasher, json_len }
    }

    /// Becomes what was planned on this context, by this request.
    pub(super) fn commit<F: AsRef<str>>(&mut self, next: Option<Next>, request: Option<F>) {
        if let Some(next) = next {
            match next.change {
                Change::Add(added) => self.text.push_str(&added),
                Change::Whole(text) => self.text = text,
            }
            self.hasher = next.hasher;
            self.json_len = next.json_len;
        }
        if let Some(request) = request {
            let request = request.as_ref().as_bytes();
            self.last.clear();
            self.last.extend_from_slice(&request[..request.len().min(LAST)]);
        }
    }

    pub(super) fn last(&self) -> &[u8] {
        &self.last
    }

    /// Whether there is something to compress against.
    pub(super) fn has_history(&self) -> bool {
        !self.last.is_empty()
    }

    /// What to compress against: at most `len` bytes of the conversation's end, and how the last
    /// request began.
    pub(super) fn history(&self, len: usize) -> Vec<u8> {
        let text = self.text.as_bytes();
        [&text[text.len().saturating_sub(len)..], &self.last].concat()
    }

    /// The first bytes of a hash of what there is to compress against.
    pub(super) fn history_id(&self) -> [u8; 4] {
        let text = self.hasher.clone().finalize();
        let hash = Sha256::new().chain_update(text).chain_update(&self.last).finalize();
        [hash[0], hash[1], hash[2], hash[3]]
    }
}

impl Next {
    /// What is added, if the context only grows.
    pub(super) fn added(&self) -> Option<&str> {
        match &self.change {
            Change::Add(added) => Some(added),
            Change::Whole(_) => None,
        }
    }

    /// The SHA-256 of the context that this leads to.
    pub(super) fn hash(&self) -> [u8; 32] {
        self.hasher.clone().finalize().into()
    }

    /// Bytes that the context takes in JSON.
    pub(super) fn json_len(&self) -> usize {
        self.json_len + 2
    }

    /// The length in bytes of the context that this leads to from `context`.
    pub(super) fn len(&self, context: &Context) -> usize {
        match &self.change {
            Change::Add(added) => context.text.len() + added.len(),
            Change::Whole(text) => text.len(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compact::delta::ApplyOptions;

    fn edited(context: &Context, deltas: &[&str]) -> Result<Next, Unfit> {
        let options = ApplyOptions::default();
        let edits: Vec<_> = deltas.iter().map(|d| Edit::parse(d, &options).unwrap()).collect();
        context.edited(&edits)
    }

    #[test]
    fn a_hash_depends_on_the_text_and_not_on_the_way_to_it() {
        let mut grown = Context::default();
        for text in ["User: Hi", "User: Hi\n", "User: Hi\nAgent: \"é\""] {
            let next = grown.grown_to(text);
            assert_eq!(next.len(&grown), text.len());
            assert_eq!(next.hash(), Context::default().grown_to(text).hash());
            assert_eq!(next.json_len(), serde_json::to_string(text).unwrap().len());
            grown.commit::<&str>(Some(next), None);
            assert_eq!(grown.text(), text);
        }
        let edited = edited(&grown, &["D|R|6|Yo", "D|+|!"]).unwrap();
        let whole = Context::new("User: Yo\nAgent: \"é\"!".into(), Vec::new());
        assert_eq!(edited.hash(), whole.grown_to(whole.text()).hash());
    }

    #[test]
    fn a_plan_changes_nothing() {
        let context = Context::new("abc".into(), Vec::new());
        assert!(edited(&context, &["D|+|d", "D|R|9|x"]).is_err());
        let next = edited(&context, &["D|F|x", "D|+|y"]).unwrap();
        assert_eq!((context.text(), next.len(&context)), ("abc", 2));
    }
}
