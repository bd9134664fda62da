//! The part for what is defined once and named by id later: tools, and prompts.
//!
//! An id is a letter, `_` and the first 8 hexadecimal digits of the content's SHA-256. Two contents
//! with the same 8 digits are told apart by comparing them: the later one gets 16, then 24, and so
//! on. Both sides define and touch in the order of the frames, so both evict the same.

use sha2::{Digest, Sha256};
use std::fmt::Write;
use std::sync::Arc;

/// How many tools a session remembers in each direction.
pub const MAX_TOOLS: usize = 256;

/// How many prompts a session remembers in each direction.
pub const MAX_PROMPTS: usize = 64;

/// By how many digits an id grows where it is taken.
const ID_STEP: usize = 8;

/// A short id of a content: the letter, and the first 8 digits.
pub(super) fn short_id(letter: char, hash: &[u8]) -> String {
    digits(letter, hash, ID_STEP)
}

fn digits(letter: char, hash: &[u8], count: usize) -> String {
    let mut id = format!("{letter}_");
    for byte in &hash[..count / 2] {
        // A String takes whatever is written to it.
        let Ok(()) = write!(id, "{byte:02x}") else { break };
    }
    id
}

/// A content that the other side knows by its id.
#[derive(Debug, PartialEq, Eq)]
pub struct Definition {
    /// The id.
    pub id: String,
    /// The content: the JSON of a tool, the text of a prompt.
    pub content: Arc<str>,
    /// Bytes that the content takes in JSON.
    pub json_len: usize,
    /// The content's SHA-256.
    pub(super) hash: [u8; 32],
}

/// Contents in the order of their last use.
#[derive(Debug, Clone)]
pub struct Definitions {
    letter: char,
    limit: usize,
    /// Bytes of all contents.
    size: usize,
    /// The least recently used first. A copy is cheap: all or nothing is done on one.
    entries: Vec<Arc<Definition>>,
}

impl Definitions {
    /// No tools yet.
    pub fn tools() -> Self {
        Self { letter: 't', limit: MAX_TOOLS, size: 0, entries: Vec::new() }
    }

    /// No prompts yet.
    pub fn prompts() -> Self {
        Self { letter: 's', limit: MAX_PROMPTS, size: 0, entries: Vec::new() }
    }

    /// How many there can be.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// Bytes of all contents together.
    pub fn size(&self) -> usize {
        self.size
    }

    /// All, the least recently used first.
    pub fn iter(&self) -> impl Iterator<Item = &Definition> {
        self.entries.iter().map(Arc::as_ref)
    }

    /// The definition of a content, if it is known. Comparing is cheaper than hashing.
    pub(super) fn find(&self, content: &str) -> Option<&Arc<Definition>> {
        self.entries.iter().rev().find(|entry| *entry.content == *content)
    }

    /// Uses what the id names, if it is known.
    pub(super) fn touch(&mut self, id: &str) -> Option<Arc<Definition>> {
        let at = self.entries.iter().rposition(|entry| entry.id == id)?;
        self.entries[at..].rotate_left(1);
        self.entries.last().cloned()
    }

    /// Defines a content and uses it; the definition.
    ///
    /// `named` are the ids of the request that comes with the definition. Where they name the
    /// content, they say what it is called: so a receiver that has missed the content that took the
    /// short id does not give that id away, and one that has another content of that id from an
    /// earlier life of the sender gives that content up.
    pub(super) fn define<'n>(
        &mut self,
        content: &str,
        json_len: usize,
        named: impl IntoIterator<Item = &'n str>,
    ) -> Arc<Definition> {
        let hash: [u8; 32] = Sha256::digest(content).into();
        let ids =
            || (1..=hash.len() * 2 / ID_STEP).map(|n| digits(self.letter, &hash, n * ID_STEP));
        let known = self.find(content).map(|known| known.id.clone());
        let taken = |id: &str| self.entries.iter().any(|entry| entry.id == id);
        let full = digits(self.letter, &hash, hash.len() * 2);
        let said = named
            .into_iter()
            .filter(|id| id.len() >= 2 + ID_STEP && full.starts_with(*id))
            .max_by_key(|id| id.len());
        let id = match (said, &known) {
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

    /// Forgets what the id names; whether it was known.
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

    // Found by counting up: the hashes of both begin with f2b40b95.
    const COLLIDING: [&str; 2] = [r#"{"name":"tool_4082"}"#, r#"{"name":"tool_23155"}"#];

    fn define(table: &mut Definitions, content: &str) -> String {
        table.define(content, 0, []).id.clone()
    }

    fn ids(table: &Definitions) -> Vec<&str> {
        table.iter().map(|definition| definition.id.as_str()).collect()
    }

    #[test]
    fn an_id_is_the_beginning_of_a_hash() {
        let mut table = Definitions::tools();
        assert_eq!(define(&mut table, r#"{"name":"search"}"#), "t_6fe51985");
        assert_eq!(define(&mut Definitions::prompts(), ""), "s_e3b0c442");
    }

    #[test]
    fn the_least_recently_used_goes_first() {
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
    fn of_two_contents_with_one_short_id_the_later_gets_a_longer_one() {
        let mut table = Definitions::tools();
        let [first, second] = COLLIDING.map(|content| define(&mut table, content));
        assert_eq!(first.len(), 10);
        assert_eq!(second.len(), 18);
        assert!(second.starts_with(&first));
        assert_eq!(*table.touch(&first).unwrap().content, *COLLIDING[0]);
        assert_eq!(*table.touch(&second).unwrap().content, *COLLIDING[1]);
    }

    #[test]
    fn a_receiver_that_missed_the_first_calls_the_second_as_the_sender_does() {
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
    fn what_is_forgotten_is_unknown() {
        let mut table = Definitions::tools();
        let id = define(&mut table, "{}");
        assert!(table.forget(&id));
        assert!(!table.forget(&id));
        assert!(table.touch(&id).is_none());
        assert_eq!(table.size(), 0);
    }
}
