//! The node ids of an `IDS` line, kept as ranges so that a large range takes little memory.
//!
//! Invariant: ranges are not empty and do not overlap.

use super::lex::{Line, LineError, Token};
use crate::cad::error::Truncated;
use crate::cad::model::number;
use crate::memory;
use std::collections::BTreeMap;

/// Maps node indexes to ids.
#[derive(Debug, Default)]
pub(crate) struct IdRanges {
    /// Empty if the id of every node is its index.
    ranges: Vec<Range>,
    total: u128,
    /// The line and column of `IDS`.
    place: (usize, usize),
}

#[derive(Debug, Clone, Copy)]
struct Range {
    /// The number of ids in earlier ranges.
    index: u128,
    start: u64,
    end: u64,
}

impl IdRanges {
    /// Reads the arguments of an `IDS` line.
    pub(crate) fn read(
        line: Line<'_, '_>,
        args: &[Token],
        place: (usize, usize),
    ) -> Result<Self, LineError> {
        let mut ids = Self { place, ..Self::default() };
        let mut earlier = BTreeMap::new();
        for &token in args {
            let raw = line.raw(token);
            let (start, end) = range(raw).ok_or_else(|| {
                LineError::new(token.start, format!("invalid id range \"{}\"", Truncated(raw)))
            })?;
            if let Some(id) = smallest_common(&earlier, start, end) {
                return Err(LineError::new(token.start, format!("IDS repeats id {id}")));
            }
            earlier.insert(start, end);
            memory::push(&mut ids.ranges, Range { index: ids.total, start, end });
            ids.total += u128::from(end - start) + 1;
        }
        Ok(ids)
    }

    /// Returns the id of a node; `None` if there are fewer ids.
    #[inline]
    pub(crate) fn get(&self, node: usize) -> Option<u64> {
        if self.ranges.is_empty() {
            return Some(node as u64);
        }
        let node = node as u128;
        let after = self.ranges.partition_point(|range| range.index <= node);
        let range = &self.ranges[after.checked_sub(1)?];
        let offset = u64::try_from(node - range.index).ok()?;
        range.start.checked_add(offset).filter(|id| *id <= range.end)
    }

    /// Returns the id of a node that has one.
    #[inline]
    pub(crate) fn id(&self, node: usize) -> u64 {
        self.get(node).unwrap_or(node as u64)
    }

    /// Returns the place of `IDS` and an error message, unless it lists this number of nodes.
    pub(crate) fn mismatch(&self, nodes: usize) -> Option<((usize, usize), String)> {
        let (listed, nodes) = (self.total, nodes as u128);
        let wrong = !self.ranges.is_empty() && listed != nodes;
        wrong.then(|| (self.place, format!("IDS lists {listed} ids but {nodes} nodes are defined")))
    }
}

/// Returns the smallest id from `start` to `end` that is in one of the ranges, given as a map from
/// start to end.
fn smallest_common(ranges: &BTreeMap<u64, u64>, start: u64, end: u64) -> Option<u64> {
    let before = ranges.range(..=start).next_back();
    if before.is_some_and(|(_, &last)| start <= last) {
        return Some(start);
    }
    ranges.range(start..=end).next().map(|(&first, _)| first)
}

/// Parses `3` or `1-3`.
fn range(text: &str) -> Option<(u64, u64)> {
    let (start, end) = text.split_once('-').unwrap_or((text, text));
    let id = |digits| number::parse_u64(digits).ok().flatten();
    let (start, end) = (id(start)?, id(end)?);
    (start <= end).then_some((start, end))
}

/// Writes ids, with consecutive ones as ranges; `None` if the id of every node is its index.
pub(crate) fn write(ids: impl Iterator<Item = u64> + Clone) -> Option<String> {
    if ids.clone().zip(0..).all(|(id, index)| id == index) {
        return None;
    }
    let mut runs: Vec<(u64, u64)> = Vec::new();
    for id in ids {
        match runs.last_mut() {
            Some((_, end)) if end.checked_add(1) == Some(id) => *end = id,
            _ => runs.push((id, id)),
        }
    }
    let words =
        runs.iter().map(
            |(start, end)| if start == end { format!("{start}") } else { format!("{start}-{end}") },
        );
    Some(words.collect::<Vec<_>>().join(" "))
}
