//! `compactwire.claims`: verification and production of compression claims.

mod arguments;
mod json;
mod key;
mod produce;
mod report;
mod verify;

use pyo3::prelude::*;

/// Compression claims; import `compactwire.claims` instead.
#[pymodule(gil_used = false, submodule)]
pub(super) mod claims {
    #[pymodule_export]
    use super::json::{canonical_json, estimate_tokens, merkle_root, parse_json, write_json};
    #[pymodule_export]
    use super::key::{SigningKey, generate_key};
    #[pymodule_export]
    use super::produce::{
        build_bundle, make_claim, make_receipt, make_trust_policy, merkle_attestation,
        sign_receipt, verify_merkle_signature, write_receipt,
    };
    #[pymodule_export]
    use super::report::{Check, ClaimReport, Problem};
    #[pymodule_export]
    use super::verify::verify_claim;
    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        crate::make_importable(module)
    }
}
