//! Sections: which lines follow, and how many.
//!
//! Invariant: what a section counted has been seen when the next begins.

use super::Reader;
use super::fields::is_digits;
use crate::excerpt::excerpt;
use crate::gcf::error::{Code, Read, fault};
use crate::gcf::syntax::declaration::read_count;
use crate::gcf::syntax::line::Line;

/// Which lines follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Section {
    Group(i64),
    Edges,
    Locations,
    Unknown,
    // Of deltas.
    Removed,
    Added,
    RemovedEdges,
    AddedEdges,
}

impl<'t> Reader<'t, '_> {
    /// `## name [N]` of a payload.
    pub(super) fn group(&mut self, name: &'t str, line: Line) -> Read<()> {
        let name = self.begin(name, line)?;
        self.section = match name {
            "targets" => Section::Group(0),
            "related" => Section::Group(1),
            "extended" => Section::Group(2),
            "edges" => Section::Edges,
            "loc" => Section::Locations,
            _ => match name.strip_prefix("distance_").filter(|digits| is_digits(digits)) {
                Some(digits) => Section::Group(self.distance(digits)?),
                None => self.unknown_group(name),
            },
        };
        Ok(())
    }

    fn unknown_group(&mut self, name: &str) -> Section {
        // What its items are, and so their number, only its version knows.
        self.due = None;
        if self.warnings.len() < MAX_WARNINGS {
            self.warnings.push(format!("the group {} is unknown and was skipped", excerpt(name)));
        }
        Section::Unknown
    }

    fn distance(&self, digits: &str) -> Read<i64> {
        let Ok(distance) = digits.parse() else {
            let message = format!("the distance {} is too large", excerpt(digits));
            return fault(Code::OutOfRange, self.at(digits), message);
        };
        Ok(distance)
    }

    pub(super) fn delta_section(&mut self, name: &'t str, line: Line) -> Read<()> {
        let name = self.begin(name, line)?;
        self.section = match name {
            "removed" => Section::Removed,
            "added" => Section::Added,
            "edges_removed" => Section::RemovedEdges,
            "edges_added" => Section::AddedEdges,
            "loc" => Section::Locations,
            _ => {
                let message = format!("a delta has no section {}", excerpt(name));
                return fault(Code::MalformedDelta, line.start, message);
            }
        };
        Ok(())
    }

    /// Ends the section before, and begins one: its name, with the count read.
    pub(super) fn begin(&mut self, header: &'t str, line: Line) -> Read<&'t str> {
        self.close()?;
        let header = header.trim_start_matches([' ', '\t']);
        let (name, rest) = header.split_once(' ').unwrap_or((header, ""));
        let rest = rest.trim_start_matches([' ', '\t']);
        if !rest.starts_with('[') {
            // With something behind it, it is none of the names that are known.
            return Ok(if rest.is_empty() { name } else { header });
        }
        let end = line.start + self.lines.str(line).trim_end_matches([' ', '\t']).len();
        let (count, behind) = read_count(self.text, self.at(rest), end)?;
        if count.keyed || behind < end {
            let message = format!("{} is no count; as [3] or [?]", excerpt(rest));
            return fault(Code::InvalidCount, count.at, message);
        }
        self.due = count.value.map(|value| (value, count.at));
        Ok(name)
    }

    /// The section ends.
    pub(super) fn close(&mut self) -> Read<()> {
        let (due, seen) = (self.due.take(), std::mem::take(&mut self.seen));
        match due {
            Some((due, at)) if due != seen => {
                let message = format!("{due} were counted, and {seen} are there");
                fault(Code::CountMismatch, at, message)
            }
            _ => Ok(()),
        }
    }
}

/// How many unknown groups are told of.
const MAX_WARNINGS: usize = 16;
