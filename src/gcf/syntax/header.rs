//! The header, the first line of a text: `GCF`, then pairs `name=value`. GCF 3.6 section 3. Summary lines
//! have the same pairs.

use super::line::Lines;
use crate::excerpt::excerpt;
use crate::gcf::error::{Code, Error, Read, fault};

/// The first line of every text of the generic profile.
pub(crate) const GENERIC: &str = "GCF profile=generic\n";

/// The profile of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Profile {
    /// A JSON-like value, or a message of a keyed set.
    Generic,
    /// A graph of symbols and edges.
    Graph,
}

/// A parsed header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Header<'t> {
    pub profile: Profile,
    /// All pairs in their order, the profile included.
    pub fields: Vec<(&'t str, &'t str)>,
}

impl<'t> Header<'t> {
    /// Consumes and parses the first line.
    pub(crate) fn read(lines: &mut Lines<'t>) -> Read<Self> {
        let line = lines.first();
        let start = line.as_ptr() as usize - lines.text().as_ptr() as usize;
        let mut words = words(line);
        if words.next().is_none_or(|(_, word)| word != "GCF") || !line.starts_with("GCF") {
            return fault(Code::MissingHeader, start, missing_header(line));
        }
        let fields = pairs(words, start)?;
        let profile = match fields.first() {
            Some((_, ("profile", "generic"))) => Profile::Generic,
            Some((_, ("profile", "graph"))) => Profile::Graph,
            Some((_, ("profile", ""))) | None => {
                return fault(
                    Code::MissingProfile,
                    start,
                    "expected profile=generic or profile=graph after GCF",
                );
            }
            Some((at, ("profile", name))) => {
                let message =
                    format!("unknown profile {}, expected generic or graph", excerpt(name));
                return fault(Code::UnknownProfile, *at, message);
            }
            Some((at, _)) => {
                return fault(Code::MissingProfile, *at, "expected profile= as the first pair");
            }
        };
        Ok(Self { profile, fields: fields.into_iter().map(|(_, field)| field).collect() })
    }

    /// The value of the pair with this name.
    pub(crate) fn get(&self, name: &str) -> Option<&'t str> {
        self.fields.iter().find(|(field, _)| *field == name).map(|(_, value)| *value)
    }
}

/// The message for a text whose first line is not a header.
fn missing_header(line: &str) -> &'static str {
    let content = line.trim_start();
    if content.is_empty() {
        return "expected GCF as the first word; the line is empty";
    }
    if content.starts_with("GCF ") {
        return "expected GCF as the first word; remove the white space before it";
    }
    // Programs that read what `shrink` wrote meet JSON, which it leaves where GCF saves nothing.
    if content.starts_with(['{', '[']) {
        return "expected GCF as the first word; this begins like JSON: expand reads both";
    }
    "expected GCF as the first word"
}

/// The offset, name and value of a pair.
pub(crate) type Pair<'t> = (usize, (&'t str, &'t str));

/// Parses the remaining words of a header or summary line as pairs. `start` is the offset of the line.
pub(crate) fn pairs<'t>(
    words: impl Iterator<Item = (usize, &'t str)>,
    start: usize,
) -> Read<Vec<Pair<'t>>> {
    let mut fields: Vec<Pair<'t>> = Vec::new();
    for (at, word) in words {
        let at = start + at;
        let Some(field) = word.split_once('=') else {
            let message = format!("expected name=value, found {}", excerpt(word));
            return fault(Code::MalformedHeaderField, at, message);
        };
        // Duplicates are found by comparing all pairs, so their number must be bounded.
        if fields.len() >= MAX_FIELDS {
            return fault(
                Code::LimitExceeded,
                at,
                format!("more than {MAX_FIELDS} pairs in the line"),
            );
        }
        if fields.iter().any(|(_, (name, _))| *name == field.0) {
            let message = format!("duplicate pair {}", excerpt(field.0));
            return fault(Code::DuplicateHeaderField, at, message);
        }
        fields.push((at, field));
    }
    Ok(fields)
}

/// The maximum number of pairs. About ten names are defined; the rest is for later versions.
const MAX_FIELDS: usize = 256;

/// Splits a line into words, with their offsets in the line.
pub(crate) fn words(line: &str) -> impl Iterator<Item = (usize, &str)> {
    let start = line.as_ptr() as usize;
    line.split(' ').filter(|w| !w.is_empty()).map(move |w| (w.as_ptr() as usize - start, w))
}

/// Whether a text can be a header value: printable ASCII without spaces, or empty.
pub(crate) fn is_value(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_graphic())
}

/// Appends ` name=value`; nothing if the value is empty.
///
/// # Errors
/// `invalid_header_value` for a value with anything but printable ASCII, or with a space.
pub(crate) fn write_field(name: &str, value: &str, out: &mut String) -> Result<(), Error> {
    if value.is_empty() {
        return Ok(());
    }
    if !is_value(value) {
        let found = excerpt(value);
        let message =
            format!("a header value must be printable ASCII without spaces, but {name} is {found}");
        return Err(Error::without_place(Code::InvalidHeaderValue, message));
    }
    out.push(' ');
    out.push_str(name);
    out.push('=');
    out.push_str(value);
    Ok(())
}

/// Appends ` name=count`; nothing if the count is 0.
pub(crate) fn write_count(name: &str, count: i64, out: &mut String) {
    if count != 0 {
        out.push(' ');
        out.push_str(name);
        out.push('=');
        out.push_str(itoa::Buffer::new().format(count));
    }
}
