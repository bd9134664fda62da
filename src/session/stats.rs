//! Counts of messages and bytes, and the savings of a session.

use serde::{Deserialize, Serialize};

/// Counts of a session over both directions. Bytes are those of UTF-8 text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct Stats {
    /// The number of requests encoded and decoded.
    pub messages: u64,
    /// The bytes of the encoded frames.
    pub bytes_out: u64,
    /// The bytes of the decoded frames.
    pub bytes_in: u64,
    /// The bytes of the same requests as compact JSON, each with its tools, prompt and whole context.
    pub plain_bytes: u64,
}

impl Stats {
    pub(super) fn sent(&mut self, bytes: usize, plain: usize) {
        self.bytes_out = self.bytes_out.saturating_add(bytes as u64);
        self.count(plain);
    }

    /// Takes back [`Stats::sent`].
    pub(super) fn undo_sent(&mut self, bytes: usize, plain: usize) {
        self.bytes_out = self.bytes_out.saturating_sub(bytes as u64);
        self.messages = self.messages.saturating_sub(1);
        self.plain_bytes = self.plain_bytes.saturating_sub(plain as u64);
    }

    pub(super) fn received(&mut self, bytes: usize, plain: usize) {
        self.bytes_in = self.bytes_in.saturating_add(bytes as u64);
        self.count(plain);
    }

    fn count(&mut self, plain: usize) {
        self.messages = self.messages.saturating_add(1);
        self.plain_bytes = self.plain_bytes.saturating_add(plain as u64);
    }

    /// The saved fraction of the plain bytes: 0.94 if 6 bytes were sent instead of 100. It is negative
    /// if the frames took more than plain JSON, and 0 before the first message.
    #[expect(clippy::cast_precision_loss, reason = "53 bits are enough for a ratio")]
    pub fn savings(&self) -> f64 {
        if self.plain_bytes == 0 {
            return 0.0;
        }
        1.0 - (self.bytes_out.saturating_add(self.bytes_in)) as f64 / self.plain_bytes as f64
    }
}
