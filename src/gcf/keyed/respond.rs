//! What a set is sent as: whole, as a delta, or as "unchanged".

use super::{Delta, KeyedSet, begin};
use crate::gcf::error::Error;
use crate::limits::is_worth_a_delta;
use std::collections::VecDeque;
use std::fmt::Write;
use std::sync::Arc;

/// "The set is the one that you have", as text.
///
/// # Errors
/// `invalid_header_value` for a tool that is not printable ASCII without spaces.
pub fn unchanged(set: &KeyedSet, tool: &str) -> Result<String, Error> {
    let mut out = begin(tool)?;
    let _ = writeln!(out, " unchanged=true pack_root={} count={}", set.root, set.rows.len());
    Ok(out)
}

/// What to send to a peer that has the set of `peer_root`; `base` is that set, where it is known. A
/// delta is worth it when it is smaller than 60 % of the whole, in what `size` counts.
///
/// # Errors
/// Those of `size`; `invalid_header_value` for the tool.
pub fn respond<E: From<Error>>(
    set: &KeyedSet,
    peer_root: Option<&str>,
    base: Option<&KeyedSet>,
    tool: &str,
    mut size: impl FnMut(&str) -> Result<u64, E>,
) -> Result<Response, E> {
    if peer_root == Some(set.root()) {
        return Ok(Response { text: unchanged(set, tool)?, is_full: false });
    }
    let full = Response { text: set.write(tool)?, is_full: true };
    let base = base.filter(|base| peer_root == Some(base.root()));
    let Some(delta) = base.and_then(|base| Delta::between(base, set)) else { return Ok(full) };
    let delta = delta.write(tool, None)?;
    let (small, whole) = (size(&delta)?, size(&full.text)?);
    Ok(if is_worth_a_delta(small, whole) { Response { text: delta, is_full: false } } else { full })
}

/// How many tokens a text has, about: runs of letters, digits, `_` and `.` are one each, and so is every
/// other character but white space.
pub fn token_estimate(text: &str) -> u64 {
    let mut count = 0;
    let mut inside = false;
    for char in text.chars() {
        let is_word = char.is_ascii_alphanumeric() || matches!(char, '_' | '.');
        count += match char {
            ' ' | '\t' | '\n' | '\r' => 0,
            _ => u64::from(!(is_word && inside)),
        };
        inside = is_word;
    }
    count
}

/// The sets that were sent last, to make deltas to those that come.
#[derive(Debug)]
pub struct Snapshots {
    limit: usize,
    kept: VecDeque<Arc<KeyedSet>>,
}

impl Snapshots {
    /// None yet, and never more than `limit`.
    pub fn new(limit: usize) -> Self {
        Self { limit, kept: VecDeque::new() }
    }

    /// The set of a root.
    pub fn find(&self, root: &str) -> Option<Arc<KeyedSet>> {
        self.kept.iter().find(|set| set.root() == root).cloned()
    }

    /// Keeps a set as the newest; the oldest goes when there are too many.
    pub fn keep(&mut self, set: Arc<KeyedSet>) {
        self.kept.retain(|kept| *kept != set);
        self.kept.push_back(set);
        while self.kept.len() > self.limit {
            self.kept.pop_front();
        }
    }
}

/// When a producer sends a whole set again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Anchor {
    /// Every so many answers; 0 means [`Anchor::EVERY`].
    Every(u64),
    /// When the deltas since the last whole set have as many bytes as the new one.
    Size,
}

impl Anchor {
    /// Of how many answers one is whole, if nothing else is asked for.
    pub const EVERY: u64 = 15;
}

/// A text to send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    /// A full set, a delta or "unchanged".
    pub text: String,
    /// Whether it is a full set.
    pub is_full: bool,
}

/// Sends each new set as what changed since the last, and sometimes whole, so that a peer that lost
/// one finds its way back. Its deltas carry no tool.
#[derive(Debug)]
pub struct Producer {
    last: Arc<KeyedSet>,
    tool: String,
    anchor: Anchor,
    /// How many answers were given.
    turn: u64,
    /// The bytes of all deltas since the last whole set.
    bytes: usize,
}

impl Producer {
    /// A producer whose peer is to be sent `base` first, as [`Producer::full`].
    ///
    /// # Errors
    /// `invalid_header_value` for a tool that is not printable ASCII without spaces.
    pub fn new(base: Arc<KeyedSet>, tool: String, anchor: Anchor) -> Result<Self, Error> {
        begin(&tool)?;
        Ok(Self { last: base, tool, anchor, turn: 0, bytes: 0 })
    }

    /// The last set.
    pub fn last(&self) -> &Arc<KeyedSet> {
        &self.last
    }

    /// The last set, whole.
    ///
    /// # Errors
    /// None: the tool is known to fit.
    pub fn full(&self) -> Result<String, Error> {
        self.last.write(&self.tool)
    }

    /// What to send for a new set.
    ///
    /// # Errors
    /// None: the tool is known to fit.
    pub fn push(&mut self, set: Arc<KeyedSet>) -> Result<Response, Error> {
        let turn = self.turn + 1;
        let due = match self.anchor {
            Anchor::Every(0) => turn.is_multiple_of(Anchor::EVERY),
            Anchor::Every(count) => turn.is_multiple_of(count),
            Anchor::Size => false,
        };
        let delta = if due { None } else { Delta::between(&self.last, &set) };
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
        self.turn = turn;
        self.bytes = if answer.is_full { 0 } else { bytes };
        self.last = set;
        Ok(answer)
    }
}
