//! Choosing the message for a set: in full, as a delta, or "unchanged".

use super::{Delta, KeyedSet, begin_header};
use crate::gcf::error::Error;
use crate::limits::is_worth_a_delta;
use std::collections::VecDeque;
use std::fmt::Write;
use std::sync::Arc;

/// Writes the message that the peer already has this set.
///
/// # Errors
/// `invalid_header_value` if `tool` is not printable ASCII without spaces.
pub fn unchanged(set: &KeyedSet, tool: &str) -> Result<String, Error> {
    let mut out = begin_header(tool)?;
    let _ = writeln!(out, " unchanged=true pack_root={} count={}", set.root, set.rows.len());
    Ok(out)
}

/// Chooses the message for a peer that has the set with root `peer_root`; `base` is that set, if it is
/// known. A delta is sent if its `size` is below 60% of that of the full set. The root covers the rows only: a set
/// with another name, key or fields than `base` is sent in full.
///
/// # Errors
/// Those of `size`; `invalid_header_value` if `tool` is not printable ASCII without spaces.
pub fn respond<E: From<Error>>(
    set: &KeyedSet,
    peer_root: Option<&str>,
    base: Option<&KeyedSet>,
    tool: &str,
    mut size: impl FnMut(&str) -> Result<u64, E>,
) -> Result<Response, E> {
    let base = base.filter(|base| peer_root == Some(base.root()));
    if peer_root == Some(set.root()) && base.is_none_or(|base| base.is_like(set)) {
        return Ok(Response { text: unchanged(set, tool)?, is_full: false });
    }
    let full = Response { text: set.write(tool)?, is_full: true };
    let Some(base) = base else { return Ok(full) };
    let Some(delta) = Delta::between(base, set)? else { return Ok(full) };
    let delta = delta.write(tool, None)?;
    let worth_it = is_worth_a_delta(size(&delta)?, size(&full.text)?);
    Ok(if worth_it { Response { text: delta, is_full: false } } else { full })
}

/// The sets that were sent last, as bases for later deltas.
#[derive(Debug)]
pub struct Snapshots {
    limit: usize,
    kept: VecDeque<Arc<KeyedSet>>,
}

impl Snapshots {
    /// An empty store of at most `limit` sets.
    pub fn new(limit: usize) -> Self {
        Self { limit, kept: VecDeque::new() }
    }

    /// The set with this root. If there are several, one whose name, key or fields are not those of `next`: it is
    /// unknown which of them the peer has.
    pub fn find(&self, root: &str, next: &KeyedSet) -> Option<Arc<KeyedSet>> {
        let found = self.kept.iter().filter(|set| set.root() == root);
        found.min_by_key(|set| set.is_like(next)).cloned()
    }

    /// Stores a set as the newest, and drops the oldest if there are more than the limit.
    pub fn keep(&mut self, set: Arc<KeyedSet>) {
        self.kept.retain(|kept| *kept != set);
        self.kept.push_back(set);
        while self.kept.len() > self.limit {
            self.kept.pop_front();
        }
    }
}

/// When a producer sends a full set instead of a delta.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Anchor {
    /// Every n-th message; 0 means [`Anchor::EVERY`].
    Every(u64),
    /// When the deltas since the last full set, including the new delta, are as long as the new set
    /// in full.
    Size,
}

impl Anchor {
    /// The default interval of full sets.
    pub const EVERY: u64 = 15;
}

/// A message to send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    /// A full set, a delta or "unchanged".
    pub text: String,
    /// Whether it is a full set.
    pub is_full: bool,
}

/// Sends each new set as a delta to the last, and now and then in full, so that a peer that lost a message
/// recovers. The tool is in the header of full sets only.
#[derive(Debug)]
pub struct Producer {
    last: Arc<KeyedSet>,
    tool: String,
    anchor: Anchor,
    /// The number of messages so far.
    turn: u64,
    /// The total length of the deltas since the last full set, in bytes.
    bytes: usize,
}

impl Producer {
    /// A producer that starts at `base`, which must be sent first, by [`Producer::full`].
    ///
    /// # Errors
    /// `invalid_header_value` if `tool` is not printable ASCII without spaces.
    pub fn new(base: Arc<KeyedSet>, tool: String, anchor: Anchor) -> Result<Self, Error> {
        begin_header(&tool)?;
        Ok(Self { last: base, tool, anchor, turn: 0, bytes: 0 })
    }

    /// The last set.
    pub fn last(&self) -> &Arc<KeyedSet> {
        &self.last
    }

    /// Writes the last set in full.
    ///
    /// # Errors
    /// `out_of_memory` only: [`Producer::new`] has checked the tool.
    pub fn full(&self) -> Result<String, Error> {
        self.last.write(&self.tool)
    }

    /// Records a new set and returns the message to send for it.
    ///
    /// # Errors
    /// `out_of_memory` only: [`Producer::new`] has checked the tool.
    pub fn push(&mut self, set: Arc<KeyedSet>) -> Result<Response, Error> {
        self.push_with(set, Ok)
    }

    /// Encodes a new set, and returns what `make` makes of the text.
    ///
    /// # Errors
    /// As [`Producer::push`], and the error of `make`. The producer is then unchanged.
    pub fn push_with<T, E: From<Error>>(
        &mut self,
        set: Arc<KeyedSet>,
        make: impl FnOnce(Response) -> Result<T, E>,
    ) -> Result<T, E> {
        let turn = self.turn + 1;
        let due = match self.anchor {
            Anchor::Every(0) => turn.is_multiple_of(Anchor::EVERY),
            Anchor::Every(count) => turn.is_multiple_of(count),
            Anchor::Size => false,
        };
        let delta = if due { None } else { Delta::between(&self.last, &set)? };
        let delta = delta.map(|delta| delta.write("", None)).transpose()?;
        let bytes = self.bytes + delta.as_ref().map_or(0, String::len);
        let answer = match delta {
            Some(text) if self.anchor != Anchor::Size => Response { text, is_full: false },
            delta => {
                let full = set.write(&self.tool)?;
                match delta {
                    Some(text) if bytes < full.len() => Response { text, is_full: false },
                    _ => Response { text: full, is_full: true },
                }
            }
        };
        let bytes = if answer.is_full { 0 } else { bytes };
        let result = make(answer)?;
        self.turn = turn;
        self.bytes = bytes;
        self.last = set;
        Ok(result)
    }
}
