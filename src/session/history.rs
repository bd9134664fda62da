//! The last packed requests of one direction, against which the next one is compressed.
//!
//! Invariant: if the ids of two histories are equal, both sides packed and unpacked the same requests since
//! the history began, and have the same conversation. A history begins with a request that is packed without
//! one.

use super::context::Context;
use sha2::{Digest, Sha256};

/// How many bytes of the last requests are kept: enough for the conversations of `benches/`, and little
/// enough that zstd indexes them in a quarter of a millisecond.
const LEN: usize = 64 << 10;

/// The largest part of the conversation that an edit is compressed against.
const CONTEXT_LEN: usize = 1 << 20;

/// The id of a history. It is short because it is sent with every request; the check of the request detects
/// a collision.
pub(super) type HistoryId = [u8; 3];

/// The packed requests of one direction.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct History {
    /// The last [`LEN`] bytes of the requests.
    recent: Vec<u8>,
    /// The SHA-256 of the previous digest followed by the last request; zeros if there is no request.
    digest: [u8; 32],
}

impl History {
    /// Restores a history from [`History::recent`] and [`History::digest`].
    pub(super) fn restore(recent: Vec<u8>, digest: [u8; 32]) -> Option<Self> {
        let is_empty = digest == [0; 32];
        (recent.len() <= LEN && recent.is_empty() == is_empty).then_some(Self { recent, digest })
    }

    /// The history that begins with a request.
    pub(super) fn begin(message: &[u8]) -> Self {
        Self::default().then(message)
    }

    /// The history after one more request.
    pub(super) fn then(&self, message: &[u8]) -> Self {
        let digest = Sha256::new_with_prefix(self.digest).chain_update(message).finalize().into();
        let message = &message[message.len().saturating_sub(LEN)..];
        let left = (LEN - message.len()).min(self.recent.len());
        let recent = [&self.recent[self.recent.len() - left..], message].concat();
        Self { recent, digest }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.recent.is_empty()
    }

    pub(super) fn recent(&self) -> &[u8] {
        &self.recent
    }

    pub(super) fn digest(&self) -> [u8; 32] {
        self.digest
    }

    /// The first bytes of a hash of the history and of the conversation.
    pub(super) fn id(&self, context: &Context) -> HistoryId {
        let hash = Sha256::new_with_prefix(self.digest).chain_update(context.hash()).finalize();
        [hash[0], hash[1], hash[2]]
    }

    /// The bytes to compress the next request against: the last requests, and before them the conversation
    /// if the request edits it.
    pub(super) fn content(&self, edited: Option<&Context>) -> Vec<u8> {
        let text = edited.map_or(&[][..], |context| context.text().as_bytes());
        [&text[text.len().saturating_sub(CONTEXT_LEN)..], &self.recent].concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_history_keeps_the_end_of_all_requests() {
        let mut history = History::begin(b"first");
        let mut all = b"first".to_vec();
        for (byte, len) in [(b'a', 10), (b'b', LEN - 20), (b'c', 30), (b'd', 2 * LEN), (b'e', 1)] {
            let message = vec![byte; len];
            history = history.then(&message);
            all.extend_from_slice(&message);
            assert_eq!(history.recent, all[all.len().saturating_sub(LEN)..]);
            let saved = History::restore(history.recent().to_vec(), history.digest());
            assert_eq!(saved.as_ref(), Some(&history));
        }
        assert_eq!(History::restore(vec![0; LEN + 1], [1; 32]), None);
        assert_eq!(History::restore(Vec::new(), [1; 32]), None);
        assert_eq!(History::restore(vec![0], [0; 32]), None);
    }

    #[test]
    fn the_id_depends_on_every_request_and_on_the_conversation() {
        let context = |text: &str| Context::new(text.into());
        let long = vec![b'x'; 2 * LEN];
        let first = History::begin(b"first").then(&long);
        let other = History::begin(b"other").then(&long);
        assert_eq!(first.recent, other.recent);
        assert_ne!(first.id(&context("a")), other.id(&context("a")));
        assert_ne!(first.id(&context("a")), first.id(&context("b")));
        assert_eq!(first.id(&context("a")), first.clone().id(&context("a")));
    }
}
