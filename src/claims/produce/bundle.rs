//! Produces bundles: the artifact files, and the manifest that lists them. Compression Claims section 3.2.
//!
//! Invariant: the folder has a complete bundle or, after an error, none of its files.

use super::{Result, check_manifest, output, set};
use crate::claims::bundle::{BUNDLE, bundle_id, root_hash};
use crate::claims::canonical::{Hash, canon, canon_lf};
use crate::claims::error::ProduceError;
use crate::claims::make::{hash, number, object, text};
use crate::excerpt::excerpt;
use crate::interrupt::polled;
use crate::memory;
use crate::value::Value;
use std::collections::BTreeSet;
use std::path::Path;

/// The folder of the artifacts in a bundle.
const ARTIFACTS: &str = "artifacts";

/// The maximum length of a run id, in characters.
const MAX_RUN_ID: usize = 200;

/// The maximum length of a file name on most file systems, in bytes.
const MAX_NAME: usize = 255;

/// A text for a bundle.
#[derive(Debug, Clone)]
pub struct Item {
    /// Whether this is the text of a symbol; otherwise of a section.
    pub symbol: bool,
    /// The reference of the symbol or section.
    pub reference: String,
    /// The slice of the symbol or section; `None` for the whole.
    pub slice: Option<String>,
    /// The text.
    pub text: String,
}

impl Item {
    /// An upper bound on the memory for its text with other line ends, its entries in the manifest, and
    /// the canonical texts of these.
    fn memory(&self) -> usize {
        let names = self.reference.len().saturating_add(self.slice.as_ref().map_or(0, String::len));
        let text = self.text.len().saturating_mul(4);
        names.saturating_mul(64).saturating_add(text).saturating_add(4 << 10)
    }
}

/// Writes a bundle to a folder, which is created if missing and must be empty. Returns the manifest.
/// On failure, nothing is left behind.
///
/// # Errors
/// [`ProduceError`]: the bundle would not verify, the folder is not empty, or a file cannot be
/// written.
pub fn build_bundle(
    folder: &Path,
    run_id: &str,
    job_id: &str,
    message_id: &str,
    items: &[Item],
) -> Result<Value<'static>> {
    let bundle = Bundle::new(run_id, job_id, message_id, items)?;
    bundle.write(folder)?;
    Ok(bundle.manifest)
}

/// A bundle that is not written yet.
#[derive(Debug)]
pub struct Bundle {
    manifest: Value<'static>,
    /// The paths and texts of the artifacts.
    texts: Vec<(String, String)>,
}

impl Bundle {
    /// Makes the manifest and the artifacts, as [`build_bundle`].
    ///
    /// # Errors
    /// [`ProduceError`]: the bundle would not verify.
    pub fn new(run_id: &str, job_id: &str, message_id: &str, items: &[Item]) -> Result<Self> {
        let (manifest, texts) = manifest(run_id, job_id, message_id, items)?;
        Ok(Self { manifest, texts })
    }

    /// The manifest.
    pub fn manifest(&self) -> &Value<'static> {
        &self.manifest
    }

    /// Writes the bundle to a folder that is new or empty.
    ///
    /// # Errors
    /// [`ProduceError`]: the folder is not empty, or a file cannot be written.
    pub fn write(&self, folder: &Path) -> Result<()> {
        output::fill(folder, ARTIFACTS, &self.texts, (BUNDLE, &canon_lf(&self.manifest)))
    }
}

/// Builds the manifest, and the path and text of each artifact.
fn manifest(
    run_id: &str,
    job_id: &str,
    message_id: &str,
    items: &[Item],
) -> Result<(Value<'static>, Vec<(String, String)>)> {
    if run_id.contains(['/', '\\', '\0']) {
        let message = "file names begin with it, so it must not contain '/', '\\' or NUL";
        return Err(ProduceError::argument("run_id", message));
    }
    if !(1..=MAX_RUN_ID).contains(&run_id.chars().count()) {
        let message = format!("it must have 1 to {MAX_RUN_ID} characters");
        return Err(ProduceError::argument("run_id", message));
    }
    if run_id.len() + "_00000000.json".len() > MAX_NAME {
        let message = format!("its {} bytes are too many for the names of files", run_id.len());
        return Err(ProduceError::argument("run_id", message));
    }
    let memory = items.iter().map(Item::memory).fold(0, usize::saturating_add);
    memory::require(memory::ensure(memory));
    let mut pieces: Vec<Piece<'_>> = polled(items).map(Piece::new).collect();
    pieces.sort_by(|one, other| one.id.cmp(&other.id));
    if let Some(twice) = pieces.windows(2).find(|pair| pair[0].id == pair[1].id) {
        return Err(ProduceError::argument("items", same_id(twice[0].item, twice[1].item)));
    }
    let steps: Vec<_> = polled(items).zip(1..).map(|(item, ordinal)| step(item, ordinal)).collect();
    let plan = object([("run_id", text(run_id)), ("steps", Value::Array(steps.clone()))]);
    let root = root_hash(pieces.iter().map(|piece| (piece.id.as_str(), piece.hash)));
    let mut manifest = object([
        ("bundle_version", text("5.0.0")),
        ("bundle_id", text("")),
        ("run_id", text(run_id)),
        ("job_id", text(job_id)),
        ("message_id", text(message_id)),
        ("plan_hash", hash(Hash::of(canon(&plan)))),
        ("steps", Value::Array(steps)),
        ("inputs", inputs(items)),
        ("artifacts", Value::Array(polled(&pieces).map(Piece::to_value).collect())),
        ("hashes", object([("root_hash", hash(root))])),
        ("provenance", object([])),
    ]);
    let id = bundle_id(&manifest)?;
    set(&mut manifest, "bundle_id", hash(id));
    check_manifest(&manifest, "items")?;
    Ok((manifest, pieces.into_iter().map(|piece| (piece.path(), piece.text)).collect()))
}

/// Why two items have the same artifact id, which is made from the ref and the slice with a `_` between.
fn same_id(one: &Item, other: &Item) -> String {
    let (first, second) = (excerpt(&one.reference), excerpt(&other.reference));
    if one.reference == other.reference {
        return format!("two items have the ref {first} and the same slice");
    }
    format!(
        "the refs {first} and {second}, with '_' and their slices after them, are the same text, \
         from which the artifact_id is made; change one"
    )
}

/// The artifact entry of an item.
struct Piece<'a> {
    item: &'a Item,
    id: String,
    text: String,
    hash: Hash,
}

impl<'a> Piece<'a> {
    fn new(item: &'a Item) -> Self {
        let slice = item.slice.as_deref().filter(|slice| !slice.is_empty()).unwrap_or("none");
        let mut text = item.text.replace("\r\n", "\n").replace('\r', "\n");
        if !text.ends_with('\n') {
            text.push('\n');
        }
        let mut id = Hash::of(format!("{}_{slice}", item.reference)).to_string();
        id.truncate(16);
        Self { item, id, hash: Hash::of(&text), text }
    }

    fn path(&self) -> String {
        format!("{ARTIFACTS}/{}.txt", self.id)
    }

    fn to_value(&self) -> Value<'static> {
        object([
            ("artifact_id", text(&self.id)),
            ("kind", text(if self.item.symbol { "SYMBOL_SLICE" } else { "SECTION_SLICE" })),
            ("ref", text(&self.item.reference)),
            ("slice", slice(self.item)),
            ("path", text(&self.path())),
            ("sha256", hash(self.hash)),
            ("bytes", number(self.text.len() as u64)),
        ])
    }
}

fn slice(item: &Item) -> Value<'static> {
    item.slice.as_deref().map_or(Value::Null, text)
}

fn step(item: &Item, ordinal: u64) -> Value<'static> {
    let (op, name) =
        if item.symbol { ("READ_SYMBOL", "symbol_id") } else { ("READ_SECTION", "section_id") };
    object([
        ("step_id", Value::String(format!("step_{ordinal:04}").into())),
        ("ordinal", number(ordinal)),
        ("op", text(op)),
        ("refs", object([(name, text(&item.reference))])),
        ("constraints", object([("slice", slice(item))])),
        ("expected_outputs", object([])),
    ])
}

fn inputs(items: &[Item]) -> Value<'static> {
    let sorted = |texts: BTreeSet<&str>| Value::Array(texts.into_iter().map(text).collect());
    let references = || items.iter().map(|item| item.reference.as_str());
    let is_symbol = |reference: &&str| reference.starts_with('@');
    let slices = items.iter().filter_map(|item| item.slice.as_deref());
    object([
        ("symbols", sorted(references().filter(is_symbol).collect())),
        ("files", sorted(references().filter(|reference| !is_symbol(reference)).collect())),
        ("slices", sorted(slices.filter(|slice| !slice.is_empty()).collect())),
    ])
}
