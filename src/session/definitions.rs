//! The tools and prompts in a session's memory: defined once, later referred to by id.
//!
//! An id is a letter, `_` and the first 8 hexadecimal digits of the content's SHA-256. If another
//! content already has these 8 digits, the later content gets 16, then 24, and so on. Both sides
//! define and use contents in the order of the frames, so both evict the same ones.

use crate::memory;
use crate::text::hex;
use sha2::{Digest, Sha256};
use std::sync::Arc;

/// The maximum number of tools that a session remembers in each direction.
pub const MAX_TOOLS: usize = 256;

/// The maximum number of prompts that a session remembers in each direction.
pub const MAX_PROMPTS: usize = 64;

/// The number of digits in the shortest id, and of the digits added while an id is taken.
pub(super) const ID_STEP: usize = 8;

/// A short id of a content: the letter, `_` and the first 8 digits of its hash.
pub(super) fn short_id(letter: char, hash: &[u8]) -> String {
    digits(letter, hash, ID_STEP)
}

fn digits(letter: char, hash: &[u8], count: usize) -> String {
    let mut id = format!("{letter}_");
    hex::write(&hash[..count / 2], &mut id);
    id
}

/// A content that both sides know by its id.
#[derive(Debug, PartialEq, Eq)]
pub struct Definition {
    /// The id.
    pub id: String,
    /// The content: the JSON of a tool, the text of a prompt.
    pub content: Arc<str>,
    /// The length of the content as a JSON value.
    pub json_len: usize,
    /// The SHA-256 of the content.
    pub(super) hash: [u8; 32],
}

/// Contents in the order of their last use.
#[derive(Debug, Clone)]
pub struct Definitions {
    letter: char,
    limit: usize,
    /// The size of all contents in bytes.
    size: usize,
    /// The least recently used first. A copy is cheap; a request is applied to a copy, which replaces
    /// the original only if the whole request is valid.
    entries: Vec<Arc<Definition>>,
}

impl Definitions {
    /// An empty table of tools.
    pub fn tools() -> Self {
        Self { letter: 't', limit: MAX_TOOLS, size: 0, entries: Vec::new() }
    }

    /// An empty table of prompts.
    pub fn prompts() -> Self {
        Self { letter: 's', limit: MAX_PROMPTS, size: 0, entries: Vec::new() }
    }

    /// The largest number of definitions.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// The size of all contents in bytes.
    pub fn size(&self) -> usize {
        self.size
    }

    /// The approximate memory in bytes, with that of the ids and hashes.
    pub(super) fn memory(&self) -> usize {
        const ENTRY: usize = 160;
        self.size + ENTRY * self.entries.len()
    }

    /// All definitions, the least recently used first.
    pub fn iter(&self) -> impl Iterator<Item = &Definition> {
        self.entries.iter().map(Arc::as_ref)
    }

    /// The definition of a content, if it is known. It is found by comparison, which is cheaper than
    /// a hash.
    pub(super) fn find(&self, content: &str) -> Option<&Arc<Definition>> {
        self.entries.iter().rev().find(|entry| *entry.content == *content)
    }

    /// Returns the definition of an id and marks it as the most recently used.
    pub(super) fn touch(&mut self, id: &str) -> Option<Arc<Definition>> {
        let at = self.entries.iter().rposition(|entry| entry.id == id)?;
        self.entries[at..].rotate_left(1);
        self.entries.last().cloned()
    }

    /// Defines a content, marks it as the most recently used, and returns the definition.
    ///
    /// `named` are the ids in the request that follows. If one of them is a prefix of the content's
    /// hash, it becomes the id, because the sender may have chosen a longer or shorter id than this side
    /// would: this side may have missed the content that has the short id, or may still have another
    /// content with that id from before a restart of the sender.
    pub(super) fn define<'n>(
        &mut self,
        content: &str,
        json_len: usize,
        named: impl IntoIterator<Item = &'n str>,
    ) -> Arc<Definition> {
        memory::require(memory::ensure(content.len()));
        let hash: [u8; 32] = Sha256::digest(content).into();
        let ids =
            || (1..=hash.len() * 2 / ID_STEP).map(|n| digits(self.letter, &hash, n * ID_STEP));
        let known = self.find(content).map(|known| known.id.clone());
        let taken = |id: &str| self.entries.iter().any(|entry| entry.id == id);
        let full = digits(self.letter, &hash, hash.len() * 2);
        let requested = named
            .into_iter()
            .filter(|id| id.len() >= 2 + ID_STEP && full.starts_with(*id))
            .max_by_key(|id| id.len());
        let id = match (requested, &known) {
            (Some(id), _) => id.to_owned(),
            (None, Some(id)) => id.clone(),
            (None, None) => ids().find(|id| !taken(id)).unwrap_or(full),
        };
        if let Some(old) = known {
            self.forget(&old);
        } else if self.entries.len() == self.limit {
            let oldest = self.entries.remove(0);
            self.size -= oldest.content.len();
        }
        self.forget(&id);
        let definition = Arc::new(Definition { id, content: content.into(), json_len, hash });
        self.size += content.len();
        self.entries.push(Arc::clone(&definition));
        definition
    }

    /// Forgets the content of an id. Returns whether it was known.
    pub(super) fn forget(&mut self, id: &str) -> bool {
        let Some(at) = self.entries.iter().position(|entry| entry.id == id) else { return false };
        let old = self.entries.remove(at);
        self.size -= old.content.len();
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // The hashes of both begin with f2b40b95.
    const COLLIDING: [&str; 2] = [r#"{"name":"tool_4082"}"#, r#"{"name":"tool_23155"}"#];

    fn define(table: &mut Definitions, content: &str) -> String {
        table.define(content, 0, []).id.clone()
    }

    fn ids(table: &Definitions) -> Vec<&str> {
        table.iter().map(|definition| definition.id.as_str()).collect()
    }

    #[test]
    fn an_id_is_a_prefix_of_the_hash() {
        let mut table = Definitions::tools();
        assert_eq!(define(&mut table, r#"{"name":"search"}"#), "t_6fe51985");
        assert_eq!(define(&mut Definitions::prompts(), ""), "s_e3b0c442");
    }

    #[test]
    fn the_least_recently_used_definition_is_evicted() {
        let mut table = Definitions::prompts();
        for i in 0..MAX_PROMPTS {
            define(&mut table, &i.to_string());
        }
        let first = define(&mut table, "0");
        assert_eq!(table.iter().count(), MAX_PROMPTS);
        define(&mut table, "new");
        assert_eq!(table.iter().count(), MAX_PROMPTS);
        assert!(table.find("1").is_none());
        assert!(table.touch(&first).is_some());
        assert_eq!(table.size(), (0..64).map(|i: i32| i.to_string().len()).sum::<usize>() + 2);
    }

    #[test]
    fn a_colliding_content_gets_a_longer_id() {
        let mut table = Definitions::tools();
        let [first, second] = COLLIDING.map(|content| define(&mut table, content));
        assert_eq!(first.len(), 10);
        assert_eq!(second.len(), 18);
        assert!(second.starts_with(&first));
        assert_eq!(*table.touch(&first).unwrap().content, *COLLIDING[0]);
        assert_eq!(*table.touch(&second).unwrap().content, *COLLIDING[1]);
    }

    #[test]
    fn a_receiver_that_missed_the_first_content_uses_the_senders_id_for_the_second() {
        let mut sender = Definitions::tools();
        let [first, second] = COLLIDING.map(|content| define(&mut sender, content));
        let mut receiver = Definitions::tools();
        receiver.define(COLLIDING[1], 0, [second.as_str()]);
        assert_eq!(ids(&receiver), [&second]);
        assert!(receiver.touch(&first).is_none());
        receiver.define(COLLIDING[0], 0, [first.as_str()]);
        assert_eq!(ids(&receiver), [&second, &first]);
        receiver.define(COLLIDING[1], 0, [first.as_str()]);
        assert_eq!(ids(&receiver), [&first]);
        assert!(receiver.find(COLLIDING[0]).is_none());
    }

    #[test]
    fn a_forgotten_id_is_unknown() {
        let mut table = Definitions::tools();
        let id = define(&mut table, "{}");
        assert!(table.forget(&id));
        assert!(!table.forget(&id));
        assert!(table.touch(&id).is_none());
        assert_eq!(table.size(), 0);
    }
}
