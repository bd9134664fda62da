//! Keyed sets in a session: sent in full once, then as deltas (GCF 3.6 section 10a).
//!
//! The root of a set is a hash that covers neither its name nor the order of its fields. After a lost
//! text, a receiver could mistake another set with the same rows for the base. In a session, deltas and
//! "unchanged" therefore have a pair `shape=…` in the header, which other readers ignore.

use super::Session;
use crate::gcf::Error;
use crate::gcf::keyed::{self, KeyedSet};
use crate::text::hex;
use sha2::{Digest, Sha256};
use std::collections::VecDeque;
use std::sync::Arc;

/// The maximum number of sets that a session keeps in each direction.
const MAX_SETS: usize = 16;

/// The last set of each name in one direction.
#[derive(Debug, Clone, Default)]
pub(super) struct Sets {
    /// The oldest first.
    kept: VecDeque<Arc<KeyedSet>>,
}

impl Sets {
    /// The sets, the oldest first.
    pub(super) fn iter(&self) -> impl Iterator<Item = &KeyedSet> {
        self.kept.iter().map(|set| &**set)
    }

    /// Keeps a set and drops the previous one of the same name. Drops the oldest sets beyond the
    /// limits of number and size.
    pub(super) fn keep(&mut self, set: Arc<KeyedSet>, max_size: usize) {
        self.kept.retain(|kept| kept.name() != set.name());
        self.kept.push_back(set);
        let mut size: usize = self.iter().map(KeyedSet::size).sum();
        while self.kept.len() > MAX_SETS || size > max_size {
            let Some(oldest) = self.kept.pop_front() else { break };
            size -= oldest.size();
        }
    }

    /// The set with a root and a shape; `None` if there are several.
    fn find(&self, root: &str, expected: Option<&str>) -> Option<&KeyedSet> {
        let matches = |set: &&KeyedSet| {
            set.root() == root && expected.is_none_or(|expected| shape(set) == expected)
        };
        let mut found = self.iter().filter(matches);
        found.next().filter(|_| found.next().is_none())
    }

    /// The base of a delta to `set`: the last set of the same name, if it has the same fields.
    fn base(&self, set: &KeyedSet) -> Option<&KeyedSet> {
        self.iter().find(|kept| kept.name() == set.name() && kept.same_fields(set))
    }
}

/// The first 16 digits of a hash of the name, the key and the fields in their order.
fn shape(set: &KeyedSet) -> String {
    let mut hash = Sha256::new();
    let fields = set.fields().iter().map(String::as_str);
    for part in [set.name(), set.key()].into_iter().chain(fields) {
        hash.update(part.len().to_le_bytes());
        hash.update(part);
    }
    hex::encode(&hash.finalize()[..8])
}

impl Session {
    /// Encodes a set: in full, as a delta from the last set of the same name if that takes less than
    /// 60 %, or as "unchanged".
    ///
    /// # Errors
    /// `invalid_header_value` for the tool; the session is then unchanged.
    pub fn encode_keyed(&mut self, set: Arc<KeyedSet>, tool: &str) -> Result<String, Error> {
        self.encode_keyed_with(set, tool, Ok)
    }

    /// Encodes a set, and returns what `make` makes of the text.
    ///
    /// # Errors
    /// As [`Session::encode_keyed`], and the error of `make`. The session is then unchanged.
    pub fn encode_keyed_with<T, E: From<Error>>(
        &mut self,
        set: Arc<KeyedSet>,
        tool: &str,
        make: impl FnOnce(String) -> Result<T, E>,
    ) -> Result<T, E> {
        let base = self.sent.sets.base(&set);
        let count = |text: &str| Ok::<_, Error>(keyed::count_tokens(text));
        let answer = keyed::respond(&set, base.map(KeyedSet::root), base, tool, count)?;
        let mut text = answer.text;
        if !answer.is_full {
            let end = text.find('\n').unwrap_or(text.len());
            text.insert_str(end, &format!(" shape={}", shape(&set)));
        }
        let result = make(text)?;
        self.sent.sets.keep(set, self.limits.max_size);
        Ok(result)
    }

    /// Decodes a text of the peer's [`Session::encode_keyed`].
    ///
    /// # Errors
    /// As [`keyed::receive`]; after `base_mismatch` the sender must send the set in full. The session
    /// is then unchanged.
    pub fn decode_keyed(&mut self, text: &str) -> Result<Arc<KeyedSet>, Error> {
        self.decode_keyed_with(text, Ok)
    }

    /// Decodes a text of the peer, and returns what `make` makes of the set.
    ///
    /// # Errors
    /// As [`Session::decode_keyed`], and the error of `make`. The session is then unchanged.
    pub fn decode_keyed_with<T, E: From<Error>>(
        &mut self,
        text: &str,
        make: impl FnOnce(Arc<KeyedSet>) -> Result<T, E>,
    ) -> Result<T, E> {
        let sets = &self.received.sets;
        let set = Arc::new(keyed::receive_by(text, |root, shape| sets.find(root, shape))?);
        let result = make(Arc::clone(&set))?;
        self.received.sets.keep(set, self.limits.max_size);
        Ok(result)
    }

    /// Assumes that the peer has no sets: the next one of each name is sent in full.
    pub fn forget_keyed(&mut self) {
        self.sent.sets = Sets::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gcf::Code;
    use crate::gcf::keyed::Scalar;
    use crate::session::Limits;

    fn set(name: &str, rows: std::ops::Range<i64>) -> Arc<KeyedSet> {
        let rows = rows.map(|id| vec![Scalar::Int(id), Scalar::String(format!("row {id}").into())]);
        let fields = vec!["id".to_owned(), "text".to_owned()];
        Arc::new(KeyedSet::new(name.into(), "id", fields, rows.collect()).unwrap())
    }

    #[test]
    fn a_set_is_sent_in_full_once_and_then_as_deltas() {
        let (mut ours, mut theirs) = (Session::default(), Session::default());
        let mut turn = |ours: &mut Session, set: &Arc<KeyedSet>, kind: &str| {
            let text = ours.encode_keyed(Arc::clone(set), "").unwrap();
            assert!(text.contains(kind), "{text}");
            assert_eq!(theirs.decode_keyed(&text).unwrap(), *set);
        };
        turn(&mut ours, &set("a", 0..50), "## a [50]");
        turn(&mut ours, &set("b", 0..60), "## b [60]");
        turn(&mut ours, &set("a", 0..51), "## added [1]");
        turn(&mut ours, &set("a", 0..51), "unchanged=true");
        let mut ours = Session::from_bytes(&ours.to_bytes().unwrap()).unwrap();
        turn(&mut ours, &set("b", 1..60), "## removed [1]");
        ours.forget_keyed();
        turn(&mut ours, &set("b", 0..60), "## b [60]");
        turn(&mut ours, &set("b", 90..91), "## b [1]");
    }

    #[test]
    fn sets_with_the_same_root_are_distinguished() {
        let (mut ours, mut theirs) = (Session::default(), Session::default());
        for name in ["a", "b", "a"] {
            let text = ours.encode_keyed(set(name, 0..9), "").unwrap();
            assert_eq!(theirs.decode_keyed(&text).unwrap().name(), name);
        }
        ours.forget_keyed();
        ours.encode_keyed(set("c", 0..9), "").unwrap();
        let text = ours.encode_keyed(set("c", 0..9), "").unwrap();
        assert!(text.contains("unchanged"), "{text}");
        assert_eq!(theirs.decode_keyed(&text).unwrap_err().code, Code::BaseMismatch);
        // A peer without sessions writes no shape, and two sets have this root.
        let text = keyed::unchanged(&set("c", 0..9), "").unwrap();
        assert_eq!(theirs.decode_keyed(&text).unwrap_err().code, Code::BaseMismatch);
    }

    #[test]
    fn a_peer_that_missed_a_set_needs_a_full_one() {
        let (mut ours, mut theirs) = (Session::default(), Session::default());
        theirs.decode_keyed(&ours.encode_keyed(set("a", 0..50), "").unwrap()).unwrap();
        ours.encode_keyed(set("a", 0..51), "").unwrap();
        let text = ours.encode_keyed(set("a", 0..52), "").unwrap();
        assert_eq!(theirs.decode_keyed(&text).unwrap_err().code, Code::BaseMismatch);
        ours.forget_keyed();
        let text = ours.encode_keyed(set("a", 0..52), "").unwrap();
        assert_eq!(theirs.decode_keyed(&text).unwrap(), set("a", 0..52));
    }

    #[test]
    fn the_kept_sets_are_limited_in_number_and_size() {
        let mut session = Session::new(Limits { max_size: 20_000 });
        for name in 0..100 {
            session.encode_keyed(set(&name.to_string(), 0..9), "").unwrap();
        }
        assert_eq!(session.sent.sets.kept.len(), MAX_SETS);
        session.encode_keyed(set("large", 0..2000), "").unwrap();
        assert_eq!(session.sent.sets.kept.len(), 0);
    }
}
