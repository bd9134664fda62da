//! What a session has saved.

use serde::{Deserialize, Serialize};

/// Counts of a session, both directions; bytes are those of UTF-8 text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct Stats {
    /// Requests written and read.
    pub messages: u64,
    /// Bytes of the frames written.
    pub bytes_out: u64,
    /// Bytes of the frames read.
    pub bytes_in: u64,
    /// Bytes of the same requests as compact JSON, each with its tools, prompt and whole context.
    pub plain_bytes: u64,
}

impl Stats {
    pub(super) fn sent(&mut self, bytes: usize, plain: usize) {
        self.bytes_out = self.bytes_out.saturating_add(bytes as u64);
        self.count(plain);
    }

    pub(super) fn received(&mut self, bytes: usize, plain: usize) {
        self.bytes_in = self.bytes_in.saturating_add(bytes as u64);
        self.count(plain);
    }

    fn count(&mut self, plain: usize) {
        self.messages = self.messages.saturating_add(1);
        self.plain_bytes = self.plain_bytes.saturating_add(plain as u64);
    }

    /// The part of the plain bytes that was not sent: 0.94 where a message of 100 bytes took 6.
    /// Negative where plain re-sending had been shorter, 0 before the first message.
    #[expect(clippy::cast_precision_loss, reason = "a ratio needs no 53 bits")]
    pub fn savings(&self) -> f64 {
        if self.plain_bytes == 0 {
            return 0.0;
        }
        1.0 - (self.bytes_out.saturating_add(self.bytes_in)) as f64 / self.plain_bytes as f64
    }
}
