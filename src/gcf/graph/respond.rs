//! Three outcomes: nothing changed, what changed, or everything. GCF 3.6 section 10.

use super::delta::{apply, diff, encode_delta, snapshot};
use super::encode::{EncodeOptions, encode, write_id};
use super::header::write_field;
use super::types::{DeltaPayload, Payload};
use crate::gcf::error::{Code, Error};
use crate::limits::is_worth_a_delta;

/// What a peer is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResponseKind {
    /// It has it.
    Unchanged,
    /// What changed.
    Delta,
    /// Everything.
    Full,
}

impl ResponseKind {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Unchanged => "unchanged",
            Self::Delta => "delta",
            Self::Full => "full",
        }
    }
}

/// An answer, and what to remember of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Response {
    /// Which of the three.
    pub outcome: ResponseKind,
    /// The text to send.
    pub text: String,
    /// What the peer has afterwards.
    pub snapshot: Payload,
}

/// Answers a peer that has `peer_root`, the root of `base` if that snapshot is known.
///
/// A delta is sent when its tokens, as `count` counts them, are fewer than 0.6 of the full text's.
///
/// # Errors
/// As `pack_root` and `encode`, or those of `count`.
pub fn respond<E: From<Error>>(
    payload: &Payload,
    peer_root: &str,
    base: Option<&Payload>,
    options: EncodeOptions,
    mut count: impl FnMut(&str) -> Result<u64, E>,
) -> Result<Response, E> {
    let snapshot = snapshot(payload)?;
    if *snapshot.pack_root == *peer_root {
        let text = encode_unchanged(&snapshot)?;
        return Ok(Response { outcome: ResponseKind::Unchanged, text, snapshot });
    }
    let full = encode(&snapshot, options)?;
    let delta = base.and_then(|base| representable(base, &snapshot, peer_root));
    // A name that a line of the full text holds may make a comment of a line of a delta.
    let written = delta.and_then(|delta| Some((encode_delta(&delta, options).ok()?, delta)));
    if let Some((plain, delta)) = written {
        let (delta_size, full_size) = (count(&plain)?, count(&full)?);
        if is_worth_a_delta(delta_size, full_size) {
            let tokens = |size| i64::try_from(size).unwrap_or(i64::MAX);
            let (delta_tokens, full_tokens) = (tokens(delta_size), tokens(full_size));
            let told = DeltaPayload { delta_tokens, full_tokens, ..delta };
            let text = encode_delta(&told, options)?;
            return Ok(Response { outcome: ResponseKind::Delta, text, snapshot });
        }
    }
    Ok(Response { outcome: ResponseKind::Full, text: full, snapshot })
}

/// The delta, if there is one that the peer can apply: it is applied here first.
fn representable(base: &Payload, new: &Payload, peer_root: &str) -> Option<DeltaPayload> {
    let base = super::snapshot(base).ok().filter(|base| *base.pack_root == *peer_root)?;
    let delta = diff(&base, new).ok()?;
    apply(&base, &delta).is_ok().then_some(delta)
}

/// Says that what the peer has is still right.
///
/// # Errors
/// `invalid_header_value` for a tool or root that a header cannot hold.
pub fn encode_unchanged(snapshot: &Payload) -> Result<String, Error> {
    if snapshot.pack_root.is_empty() {
        let message = "without a pack_root nobody knows what is unchanged";
        return Err(Error::without_place(Code::InvalidHeaderValue, message));
    }
    let mut out = String::from("GCF profile=graph");
    write_field("tool", &snapshot.tool, &mut out)?;
    out.push_str(" unchanged=true");
    write_field("pack_root", &snapshot.pack_root, &mut out)?;
    out.push_str(" symbols=");
    write_id(snapshot.symbols.len() as u64, &mut out);
    out.push('\n');
    Ok(out)
}

/// The word-and-punctuation heuristic: runs of ASCII letters, digits, `_` and `.` count 1, and so does
/// every other character but space, tab and line ends.
pub fn count_tokens(text: &str) -> u64 {
    let mut count = 0;
    let mut in_word = false;
    for char in text.chars() {
        let word = char.is_ascii_alphanumeric() || char == '_' || char == '.';
        let blank = matches!(char, ' ' | '\t' | '\n' | '\r');
        count += u64::from((word && !in_word) || !(word || blank));
        in_word = word;
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gcf::graph::{Edge, Symbol};

    #[test]
    fn words_and_punctuation_are_counted() {
        for (text, count) in [("pkg.Auth", 1), ("\"a\": 0.78,", 6), ("@0<@1", 5), (" \t\r\n", 0)] {
            assert_eq!(count_tokens(text), count, "{text}");
        }
        assert_eq!(count_tokens("é a\u{301}b"), 4);
    }

    #[test]
    fn the_smallest_that_the_peer_can_use_is_sent() {
        let symbols = |scores: &[f64]| Payload {
            symbols: (0..)
                .zip(scores)
                .map(|(i, &score)| Symbol {
                    qualified_name: format!("pkg.f{i}").into(),
                    kind: "function".into(),
                    score,
                    provenance: "lsp".into(),
                    ..Symbol::default()
                })
                .collect(),
            edges: vec![Edge::new("pkg.f0", "pkg.f1", "calls")],
            ..Payload::default()
        };
        let answer = |new: &Payload, peer: &str, base: Option<&Payload>| {
            respond(new, peer, base, EncodeOptions::default(), |text| {
                Ok::<_, Error>(count_tokens(text))
            })
            .unwrap()
        };
        let base = answer(&symbols(&[0.5; 20]), "", None);
        assert_eq!(base.outcome, ResponseKind::Full);
        let root = &*base.snapshot.pack_root;
        let same = answer(&symbols(&[0.501; 20]), root, None);
        assert_eq!(same.outcome, ResponseKind::Unchanged);
        let mut scores = [0.5; 20];
        scores[3] = 0.7;
        let new = symbols(&scores);
        assert_eq!(answer(&new, root, Some(&base.snapshot)).outcome, ResponseKind::Delta);
        assert_eq!(answer(&new, root, None).outcome, ResponseKind::Full);
        assert_eq!(answer(&new, "aaa111", Some(&base.snapshot)).outcome, ResponseKind::Full);
        let other = answer(&symbols(&[0.9; 20]), root, Some(&base.snapshot));
        assert_eq!(other.outcome, ResponseKind::Full);
    }
}
