//! Parses the lines that start a section, and checks the count that a section declares when it ends.

use super::Reader;
use super::fields::is_digits;
use crate::excerpt::excerpt;
use crate::gcf::error::{Code, Read, fault};
use crate::gcf::syntax::declaration::{Declared, read_count};
use crate::gcf::syntax::line::Line;

/// The kind of the section, which determines how its lines are parsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Section {
    Group(i64),
    Edges,
    Locations,
    Unknown,
    // Sections of deltas:
    Removed,
    Added,
    RemovedEdges,
    AddedEdges,
}

impl<'t> Reader<'t, '_> {
    /// Parses `## name [N]` in a payload.
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
        // The count cannot be checked: only a later version defines the items of the group.
        self.expected_count = None;
        if self.warnings.len() < MAX_WARNINGS {
            self.warnings.push(format!("the unknown group {} was skipped", excerpt(name)));
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

    /// Parses `## name [N]` in a delta.
    pub(super) fn delta_section(&mut self, name: &'t str, line: Line) -> Read<()> {
        let name = self.begin(name, line)?;
        self.section = match name {
            "removed" => Section::Removed,
            "added" => Section::Added,
            "edges_removed" => Section::RemovedEdges,
            "edges_added" => Section::AddedEdges,
            "loc" => Section::Locations,
            _ => {
                let message = format!("unknown section {} in a delta", excerpt(name));
                return fault(Code::MalformedDelta, line.start, message);
            }
        };
        Ok(())
    }

    /// Ends the previous section and starts a section: returns its name and keeps its declared count.
    pub(super) fn begin(&mut self, header: &'t str, line: Line) -> Read<&'t str> {
        self.close()?;
        let header = header.trim_start_matches([' ', '\t']);
        let (name, rest) = header.split_once(' ').unwrap_or((header, ""));
        let rest = rest.trim_start_matches([' ', '\t']);
        if !rest.starts_with('[') {
            // No known section has a name with a space.
            return Ok(if rest.is_empty() { name } else { header });
        }
        let end = line.start + self.lines.str(line).trim_end_matches([' ', '\t']).len();
        let (count, end_of_count) = read_count(self.text, self.at(rest), end)?;
        if count.keyed || end_of_count < end {
            let message = format!("expected a count such as [3] or [?], found {}", excerpt(rest));
            return fault(Code::InvalidCount, count.at, message);
        }
        self.expected_count = count.value.map(|value| (value, count.at));
        Ok(name)
    }

    /// Ends a section: checks its declared count.
    pub(super) fn close(&mut self) -> Read<()> {
        let (expected, found) = (self.expected_count.take(), std::mem::take(&mut self.item_count));
        match expected {
            Some((expected, at)) if expected != found => {
                let expected = Declared(expected);
                let message = format!("the section declares {expected} items, but has {found}");
                fault(Code::CountMismatch, at, message)
            }
            _ => Ok(()),
        }
    }
}

/// The maximum number of unknown groups that are reported as warnings.
const MAX_WARNINGS: usize = 16;
