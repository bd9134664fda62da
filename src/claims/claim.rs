//! The facts of a claim, and its hash. Compression Claims sections 2.2 and 5.8.
//!
//! A claim is parsed and validated against its schema. Its numbers are only what it declares: `metrics`
//! computes them from the artifacts and compares.

use super::canonical::{Change, Hash, changed};
use super::error::Failure;
use super::fields;
use super::schema::Violation;
use crate::value::Value;

/// A component of a claim: one kind of compression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Component {
    /// Its name in the specification.
    pub(super) name: &'static str,
    /// The member with its token count.
    pub(super) member: &'static str,
    pub(super) included: bool,
    /// The claimed token count, read whether or not the component is included.
    pub(super) tokens: Option<u64>,
}

/// The components that can be computed: name, and member with the token count.
pub(super) const COMPONENTS: [(&str, &str); 3] = [
    ("vector_db_only", "vector_db_tokens"),
    ("symbol_lang", "symbol_lang_tokens"),
    ("cas", "cas_tokens"),
];

/// Members of a claim that cannot be verified.
pub(super) const UNVERIFIED: [&str; 2] = ["notes", "task_performance"];

/// The facts of a claim.
#[derive(Debug)]
pub(super) struct Claim {
    pub(super) hash: Hash,
    pub(super) bundle_id: Hash,
    pub(super) run_id: String,
    pub(super) compression_ratio: f64,
    pub(super) uncompressed_tokens: u64,
    pub(super) compressed_tokens: u64,
    pub(super) artifact_count: u64,
    pub(super) total_bytes: u64,
    components: [Component; 3],
    pub(super) includes_f3: bool,
    pub(super) has_f3_tokens: bool,
    pub(super) unverified: Vec<&'static str>,
}

impl Claim {
    /// Extracts the facts from a value that matches the schema, and checks names and hash.
    pub(super) fn new(value: &Value<'_>) -> Result<Result<Self, Violation>, Failure> {
        let metrics = fields::member(value, "reported_metrics")?;
        let mut included = Vec::new();
        let mut seen = Vec::new();
        for component in fields::array(value, "components")? {
            let name = fields::text(component, "name")?;
            if seen.contains(&name) {
                let message = format!("duplicate component {name}");
                return Ok(Err(Violation::at(message, "/components")));
            }
            seen.push(name);
            if fields::boolean(component, "included")? {
                included.push(name);
            }
        }
        let hash = claim_hash(value)?;
        if fields::hash(value, "claim_hash")? != hash {
            let message = format!("the hash of the claim is {hash}, not its claim_hash");
            return Ok(Err(Violation::at(message, "/claim_hash")));
        }
        let mut components = [Component { name: "", member: "", included: false, tokens: None }; 3];
        for (component, (name, member)) in components.iter_mut().zip(COMPONENTS) {
            let tokens = fields::optional_natural(metrics, member)?;
            *component = Component { name, member, included: included.contains(&name), tokens };
        }
        Ok(Ok(Self {
            hash,
            bundle_id: fields::hash(value, "bundle_id")?,
            run_id: fields::text(value, "run_id")?.to_owned(),
            compression_ratio: ratio(fields::member(metrics, "compression_ratio")?)?,
            uncompressed_tokens: fields::natural(metrics, "uncompressed_tokens")?,
            compressed_tokens: fields::natural(metrics, "compressed_tokens")?,
            artifact_count: fields::natural(metrics, "artifact_count")?,
            total_bytes: fields::natural(metrics, "total_bytes")?,
            components,
            includes_f3: included.contains(&"f3"),
            has_f3_tokens: metrics.get("f3_tokens").is_some(),
            unverified: UNVERIFIED.into_iter().filter(|name| value.get(name).is_some()).collect(),
        }))
    }

    /// The components that can be computed, in the specification's order.
    pub(super) fn components(&self) -> impl Iterator<Item = &Component> {
        self.components.iter()
    }
}

fn ratio(value: &Value<'_>) -> Result<f64, Failure> {
    match value {
        Value::Float(value) => Ok(*value),
        // The schema requires 0 < ratio <= 1, so that an integer can only be 1.
        Value::Int(1) => Ok(1.0),
        _ => Err(Failure::internal("the schema accepted a compression_ratio that is not a number")),
    }
}

/// The hash of a claim, computed without its `claim_hash` member.
pub(super) fn claim_hash(claim: &Value<'_>) -> Result<Hash, Failure> {
    let members =
        claim.as_object().ok_or_else(|| Failure::internal("the claim is not an object"))?;
    let mut text = changed(members, |name| match name {
        "claim_hash" => Change::Drop,
        _ => Change::Keep,
    });
    text.push('\n');
    Ok(Hash::of(text))
}
