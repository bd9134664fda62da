//! Computes the metrics from the artifacts and compares them with the claim. Compression Claims sections
//! 2.1, 5.7, 5.8 and 7.1.
//!
//! Invariant: metrics are computed only from artifacts whose bytes were verified.

use super::bundle::{Artifact, Kind};
use super::claim::Claim;
use super::error::{Code, Failure, cut, quoted};
use serde::Deserialize;
use std::collections::HashSet;

/// The tolerance between claimed and computed ratio, absolute.
const RATIO_TOLERANCE: f64 = 1e-9;

/// The token cost of an artifact's hash and its entry in the JSON map.
const CAS_TOKENS: u64 = estimate(64) + 10;

/// The name of the claim in a report's `path`.
pub(super) const CLAIM: &str = "claim.json";

/// The computed metrics. The JSON form also has the numbers that follow from them.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Computed {
    /// The number of artifacts.
    pub artifact_count: u64,
    /// Their total size in bytes.
    pub total_bytes: u64,
    /// Tokens of the full text.
    pub vector_db_tokens: u64,
    /// Tokens of the symbols and sections.
    pub symbol_lang_tokens: u64,
    /// Tokens of the hashes.
    pub cas_tokens: u64,
}

impl Computed {
    /// Computes the metrics from the artifacts and the length of each content.
    pub(super) fn new(artifacts: &[Artifact], contents: &[u64]) -> Self {
        let pairs = || artifacts.iter().zip(contents.iter().copied());
        Self {
            artifact_count: artifacts.len() as u64,
            total_bytes: artifacts.iter().map(|artifact| artifact.bytes).sum(),
            vector_db_tokens: contents.iter().copied().map(estimate).sum(),
            symbol_lang_tokens: pairs()
                .map(|(artifact, content)| symbol_lang(artifact, content))
                .sum(),
            cas_tokens: CAS_TOKENS * artifacts.len() as u64,
        }
    }

    /// Tokens without compression.
    pub fn uncompressed_tokens(&self) -> u64 {
        self.vector_db_tokens
    }

    /// Tokens with compression.
    pub fn compressed_tokens(&self) -> u64 {
        self.symbol_lang_tokens
    }

    /// The ratio of compressed to uncompressed tokens; 0 if there are no uncompressed ones.
    #[expect(clippy::cast_precision_loss, reason = "the specification's ratio is a double")]
    pub fn compression_ratio(&self) -> f64 {
        match self.uncompressed_tokens() {
            0 => 0.0,
            uncompressed => self.compressed_tokens() as f64 / uncompressed as f64,
        }
    }

    /// Whether a claim with these metrics is possible: the ratio must be above 0 and at most 1.
    pub(super) fn claimable(&self) -> bool {
        (1..=self.uncompressed_tokens()).contains(&self.compressed_tokens())
    }
}

/// Estimates the tokens of a UTF-8 text from its size: a quarter of it, rounded half to even.
pub const fn estimate(bytes: u64) -> u64 {
    let quarter = bytes / 4;
    match bytes % 4 {
        0 | 1 => quarter,
        2 => quarter + quarter % 2,
        _ => quarter + 1,
    }
}

fn symbol_lang(artifact: &Artifact, content: u64) -> u64 {
    match artifact.kind {
        Kind::Section => estimate(content),
        Kind::Symbol if artifact.reference.starts_with('@') => {
            estimate(artifact.reference.len() as u64)
        }
        Kind::Symbol => 0,
    }
}

/// Whether the text of an artifact counts as uncompressed tokens, but its ref as no compressed ones.
fn is_free(artifact: &Artifact, content: u64) -> bool {
    estimate(content) > 0 && symbol_lang(artifact, content) == 0
}

/// The number of artifacts that count no compressed tokens although their text counts uncompressed ones.
pub(super) fn free(artifacts: &[Artifact], contents: &[u64]) -> u64 {
    let pairs = artifacts.iter().zip(contents);
    pairs.filter(|(artifact, content)| is_free(artifact, **content)).count() as u64
}

/// The number of artifacts whose text counts tokens and equals the text of an earlier artifact.
pub(super) fn repeated(artifacts: &[Artifact], contents: &[u64]) -> u64 {
    let mut seen = HashSet::new();
    let counting = artifacts.iter().zip(contents).filter(|(_, content)| estimate(**content) > 0);
    counting.filter(|(artifact, _)| !seen.insert(artifact.sha256)).count() as u64
}

/// With `require_symbol_refs`, part of check 5.7.2: every symbol costs tokens, and no two symbols have
/// the same ref and slice.
pub(super) fn check_symbol_refs(artifacts: &[Artifact], contents: &[u64]) -> Result<(), Failure> {
    let mut seen = HashSet::new();
    for (artifact, content) in artifacts.iter().zip(contents) {
        if artifact.kind != Kind::Symbol {
            continue;
        }
        let reason = if !artifact.reference.starts_with('@') {
            "costs nothing: its ref does not begin with @"
        } else if is_free(artifact, *content) {
            "costs nothing: its ref is too short to count as a token"
        } else if !seen.insert((&artifact.reference, &artifact.slice)) {
            "occurs more than once with the same slice"
        } else {
            continue;
        };
        let message = format!("the symbol {} {reason}", quoted(&artifact.reference));
        return Err(Failure::new(Code::MetricMismatch, message).at(cut(&artifact.path)));
    }
    Ok(())
}

/// Check 5.7.3: no component is included if the bundle has no artifacts.
pub(super) fn check_components(claim: &Claim, computed: &Computed) -> Result<(), Failure> {
    match claim.components().find(|component| component.included) {
        Some(component) if computed.artifact_count == 0 => {
            let message = format!("{} is included, but the bundle has no artifact", component.name);
            Err(Failure::new(Code::ComponentMismatch, message).at(CLAIM))
        }
        _ => Ok(()),
    }
}

/// Check 5.8.1: the ratio.
pub(super) fn check_ratio(claim: &Claim, computed: &Computed) -> Result<(), Failure> {
    let ratio = computed.compression_ratio();
    if !computed.claimable() {
        let message = format!(
            "{} compressed of {} uncompressed tokens: a claim needs a ratio above 0 and at most 1",
            computed.compressed_tokens(),
            computed.uncompressed_tokens()
        );
        return Err(mismatch("compression_ratio", &message));
    }
    // Written with `<=`, so that NaN fails the check.
    if (claim.compression_ratio - ratio).abs() <= RATIO_TOLERANCE {
        return Ok(());
    }
    let message =
        format!("the claim says {:?}, the artifacts give {ratio:?}", claim.compression_ratio);
    Err(mismatch("compression_ratio", &message))
}

/// Checks 5.8.2 and 5.8.3: a number that must be equal.
pub(super) fn check_equal(name: &str, claimed: u64, computed: u64) -> Result<(), Failure> {
    if claimed == computed {
        return Ok(());
    }
    let message = format!("the claim says {claimed}, the artifacts give {computed}");
    Err(mismatch(name, &message))
}

/// Check 5.8.4: counts, then bytes, then the tokens of each component.
pub(super) fn check_counts(claim: &Claim, computed: &Computed) -> Result<(), Failure> {
    check_equal("artifact_count", claim.artifact_count, computed.artifact_count)
        .map_err(|failure| Failure { code: Code::ComponentMismatch, ..failure })?;
    check_equal("total_bytes", claim.total_bytes, computed.total_bytes)?;
    let of = [computed.vector_db_tokens, computed.symbol_lang_tokens, computed.cas_tokens];
    for (component, computed) in claim.components().zip(of) {
        match component.tokens {
            Some(claimed) if component.included => {
                check_equal(component.member, claimed, computed)?;
            }
            _ => {}
        }
    }
    Ok(())
}

/// Check 5.8.5: the claim has no token count for a component that it does not include.
pub(super) fn check_unexpected(claim: &Claim) -> Result<(), Failure> {
    let unexpected = claim
        .components()
        .find(|component| !component.included && component.tokens.is_some())
        .map(|component| component.member)
        .or(claim.has_f3_tokens.then_some("f3_tokens"));
    unexpected.map_or(Ok(()), |member| {
        Err(mismatch(member, "the claim has this member, but does not include its component"))
    })
}

fn mismatch(member: &str, message: &str) -> Failure {
    Failure::new(Code::MetricMismatch, format!("{member}: {message}"))
        .at(format!("{CLAIM}#/reported_metrics/{member}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_rounded_half_to_even() {
        let tokens = [0, 0, 0, 1, 1, 1, 2, 2, 2, 2, 2, 3, 3, 3, 4, 4, 4];
        for (bytes, tokens) in tokens.into_iter().enumerate() {
            assert_eq!(estimate(bytes as u64), tokens, "{bytes}");
        }
    }
}
