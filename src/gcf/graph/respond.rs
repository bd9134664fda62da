//! Chooses the response to a peer: unchanged, delta or full. GCF 3.6 section 10.

use super::delta::{apply, diff, encode_delta, snapshot};
use super::encode::{EncodeOptions, encode, write_id};
use super::types::{DeltaPayload, Payload};
use crate::gcf::error::{Code, Error};
use crate::gcf::syntax::header::write_field;
pub use crate::gcf::syntax::size::count_tokens;
use crate::limits::is_worth_a_delta;

/// The kind of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum ResponseKind {
    /// The peer has the payload already.
    Unchanged,
    /// The difference from the payload that the peer has.
    Delta,
    /// The whole payload.
    Full,
}

impl ResponseKind {
    /// The name of the kind in lower case.
    pub fn name(self) -> &'static str {
        match self {
            Self::Unchanged => "unchanged",
            Self::Delta => "delta",
            Self::Full => "full",
        }
    }
}

/// A response, and the snapshot that it leads to.
#[derive(Debug, Clone, PartialEq)]
pub struct Response {
    /// The kind of the response.
    pub kind: ResponseKind,
    /// The text to send.
    pub text: String,
    /// The snapshot that the peer has after the response.
    pub snapshot: Payload,
}

/// Encodes the response to a peer whose payload has the root `peer_root`. `base` is the snapshot with
/// that root, if it is known.
///
/// The response is a delta if it has fewer than 0.6 times the tokens of the full text, as counted by
/// `count`.
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
    let snapshot = snapshot(payload, options.max_expansion)?;
    if *snapshot.pack_root == *peer_root {
        let text = encode_unchanged(&snapshot)?;
        return Ok(Response { kind: ResponseKind::Unchanged, text, snapshot });
    }
    let full = encode(&snapshot, options)?;
    let delta = match base {
        Some(base) => representable(base, &snapshot, peer_root, options)?,
        None => None,
    };
    // A name that is valid in the full text may make a delta line a comment; such a delta is not
    // sent.
    let written = match delta {
        Some(delta) => possible(encode_delta(&delta, options))?.map(|text| (text, delta)),
        None => None,
    };
    if let Some((plain, delta)) = written {
        let (delta_size, full_size) = (count(&plain)?, count(&full)?);
        if is_worth_a_delta(delta_size, full_size) {
            let tokens = |size| i64::try_from(size).unwrap_or(i64::MAX);
            let (delta_tokens, full_tokens) = (tokens(delta_size), tokens(full_size));
            let counted = DeltaPayload { delta_tokens, full_tokens, ..delta };
            let text = encode_delta(&counted, options)?;
            return Ok(Response { kind: ResponseKind::Delta, text, snapshot });
        }
    }
    Ok(Response { kind: ResponseKind::Full, text: full, snapshot })
}

/// What was made, if it is possible. Too little memory is an error: it must not decide what is sent.
fn possible<T>(made: Result<T, Error>) -> Result<Option<T>, Error> {
    match made {
        Err(error) if error.code == Code::OutOfMemory => Err(error),
        made => Ok(made.ok()),
    }
}

/// The delta from `base` to `new`, if it can be applied; it is applied here to find out.
fn representable(
    base: &Payload,
    new: &Payload,
    peer_root: &str,
    options: EncodeOptions,
) -> Result<Option<DeltaPayload>, Error> {
    let max = options.max_expansion;
    let base = possible(super::snapshot(base, max))?.filter(|base| *base.pack_root == *peer_root);
    let Some(base) = base else { return Ok(None) };
    let Some(delta) = possible(diff(&base, new, max))? else { return Ok(None) };
    Ok(possible(apply(&base, &delta, max))?.map(|_| delta))
}

/// Encodes the response that the payload of the peer is unchanged.
///
/// # Errors
/// `invalid_header_value` for a missing root, and for a tool or root that a header cannot contain.
pub fn encode_unchanged(snapshot: &Payload) -> Result<String, Error> {
    if snapshot.pack_root.is_empty() {
        let message = "the payload has no pack_root, which an unchanged response must name";
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gcf::graph::{Edge, Symbol};

    #[test]
    fn the_response_is_the_smallest_that_the_peer_can_use() {
        let symbols = |scores: &[f64]| Payload {
            symbols: (0..)
                .zip(scores)
                .map(|(i, &score)| Symbol::new(format!("pkg.f{i}"), "function", score, "lsp"))
                .collect(),
            edges: vec![Edge::new("pkg.f0", "pkg.f1", "calls")],
            ..Payload::default()
        };
        let response = |new: &Payload, peer: &str, base: Option<&Payload>| {
            respond(new, peer, base, EncodeOptions::default(), |text| {
                Ok::<_, Error>(count_tokens(text))
            })
            .unwrap()
        };
        let base = response(&symbols(&[0.5; 20]), "", None);
        assert_eq!(base.kind, ResponseKind::Full);
        let root = &*base.snapshot.pack_root;
        let same = response(&symbols(&[0.501; 20]), root, None);
        assert_eq!(same.kind, ResponseKind::Unchanged);
        let mut scores = [0.5; 20];
        scores[3] = 0.7;
        let new = symbols(&scores);
        assert_eq!(response(&new, root, Some(&base.snapshot)).kind, ResponseKind::Delta);
        assert_eq!(response(&new, root, None).kind, ResponseKind::Full);
        assert_eq!(response(&new, "aaa111", Some(&base.snapshot)).kind, ResponseKind::Full);
        let other = response(&symbols(&[0.9; 20]), root, Some(&base.snapshot));
        assert_eq!(other.kind, ResponseKind::Full);
    }
}
