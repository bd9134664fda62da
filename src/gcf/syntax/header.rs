//! The first line: `GCF`, then `name=value` pairs. GCF 3.6 section 3.

use super::line::Lines;
use crate::excerpt::excerpt;
use crate::gcf::error::{Code, Read, fault};

/// What kind of thing a text holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Profile {
    /// Any value, or a keyed set.
    Generic,
    /// Symbols and edges.
    Graph,
}

/// The pairs of a header, in their order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Header<'t> {
    pub profile: Profile,
    /// All pairs, the profile too.
    pub fields: Vec<(&'t str, &'t str)>,
}

impl<'t> Header<'t> {
    /// Reads the first line; what follows is left in `lines`.
    pub(crate) fn read(lines: &mut Lines<'t>) -> Read<Self> {
        let line = lines.first();
        let start = line.as_ptr() as usize - lines.text().as_ptr() as usize;
        let mut words = words(line);
        if words.next().is_none_or(|(_, word)| word != "GCF") || !line.starts_with("GCF") {
            return fault(Code::MissingHeader, start, "the first word must be GCF");
        }
        let fields = pairs(words, start)?;
        let profile = match fields.first() {
            Some((_, ("profile", "generic"))) => Profile::Generic,
            Some((_, ("profile", "graph"))) => Profile::Graph,
            Some((_, ("profile", ""))) | None => {
                return fault(Code::MissingProfile, start, "the header needs profile=generic");
            }
            Some((at, ("profile", name))) => {
                let message = format!("the profile {} is not generic or graph", excerpt(name));
                return fault(Code::UnknownProfile, *at, message);
            }
            Some((at, _)) => {
                return fault(Code::MissingProfile, *at, "the profile must be the first pair");
            }
        };
        Ok(Self { profile, fields: fields.into_iter().map(|(_, field)| field).collect() })
    }

    /// The value of a pair.
    pub(crate) fn get(&self, name: &str) -> Option<&'t str> {
        self.fields.iter().find(|(field, _)| *field == name).map(|(_, value)| *value)
    }
}

/// A pair, and where it stands.
pub(crate) type Pair<'t> = (usize, (&'t str, &'t str));

/// The words of a line that are left, as pairs; of a header, or of a trailer.
pub(crate) fn pairs<'t>(
    words: impl Iterator<Item = (usize, &'t str)>,
    start: usize,
) -> Read<Vec<Pair<'t>>> {
    let mut fields: Vec<Pair<'t>> = Vec::new();
    for (at, word) in words {
        let at = start + at;
        let Some(field) = word.split_once('=') else {
            let message = format!("{} is no name=value", excerpt(word));
            return fault(Code::MalformedHeaderField, at, message);
        };
        // A line of attackers may have many; theirs are compared one by one below a bound.
        if fields.len() >= MAX_FIELDS {
            return fault(Code::LimitExceeded, at, format!("more than {MAX_FIELDS} pairs"));
        }
        if fields.iter().any(|(_, (name, _))| *name == field.0) {
            let message = format!("{} stands here twice", excerpt(field.0));
            return fault(Code::DuplicateHeaderField, at, message);
        }
        fields.push((at, field));
    }
    Ok(fields)
}

/// How many pairs a header may have: some ten are known, the rest is room for later versions.
const MAX_FIELDS: usize = 256;

/// The words of a line and their offsets in it.
pub(crate) fn words(line: &str) -> impl Iterator<Item = (usize, &str)> {
    let start = line.as_ptr() as usize;
    line.split(' ').filter(|w| !w.is_empty()).map(move |w| (w.as_ptr() as usize - start, w))
}
