//! The manifest of a bundle, `bundle.json`. Compression Claims sections 3.2, 5.3 and 7.2.
//!
//! A manifest is parsed, validated against its schema and for its order, and reduced to the facts
//! that later checks need. Declared values are kept apart from computed ones: `bundle_id` is
//! declared, `computed_id` is computed, and a check compares them.

use super::canonical::{Change, Hash, Members, changed};
use super::error::{Code, Failure, cut, quoted};
use super::fields;
use super::options::Limits;
use super::schema::{FORBIDDEN_NAMES, Violation};
use crate::value::{Entries, Value};
use std::collections::HashSet;
use std::slice;

/// The name of the manifest in a report's `path`.
pub(super) const BUNDLE: &str = "bundle.json";

/// The kind of a source, which a step reads and an artifact is part of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    Symbol,
    Section,
}

/// An artifact: a piece of text that was sent.
#[derive(Debug)]
pub(super) struct Artifact {
    pub(super) id: String,
    pub(super) kind: Kind,
    pub(super) reference: String,
    pub(super) slice: Option<String>,
    pub(super) path: String,
    pub(super) sha256: Hash,
    pub(super) bytes: u64,
}

/// A source by kind, reference and slice.
type Read = (Kind, String, Option<String>);

/// The facts of a manifest.
#[derive(Debug)]
pub(super) struct Manifest {
    pub(super) bundle_id: Hash,
    pub(super) computed_id: Hash,
    pub(super) root_hash: Hash,
    pub(super) run_id: String,
    pub(super) artifacts: Vec<Artifact>,
    reads: HashSet<Read>,
    forbidden: Option<Failure>,
}

impl Manifest {
    /// Extracts the facts from a value that matches the schema, and checks order and limits.
    pub(super) fn new(
        value: &Value<'_>,
        limits: &Limits,
    ) -> Result<Result<Self, Violation>, Failure> {
        let (steps, artifacts) =
            (fields::array(value, "steps")?, fields::array(value, "artifacts")?);
        if let Err(violation) = check_counts(steps.len(), artifacts.len(), limits) {
            return Ok(Err(violation));
        }
        let artifacts = artifacts.iter().map(Artifact::new).collect::<Result<Vec<_>, _>>()?;
        let order = check_steps(steps)?
            .and_then(|()| check_artifacts(&artifacts, limits))
            .and_then(|()| check_inputs(value));
        if let Err(violation) = order {
            return Ok(Err(violation));
        }
        let reads = steps.iter().filter_map(|step| read(step).transpose());
        Ok(Ok(Self {
            bundle_id: fields::hash(value, "bundle_id")?,
            computed_id: bundle_id(value)?,
            root_hash: fields::hash(fields::member(value, "hashes")?, "root_hash")?,
            run_id: fields::text(value, "run_id")?.to_owned(),
            artifacts,
            reads: reads.collect::<Result<_, _>>()?,
            forbidden: forbidden(value),
        }))
    }

    /// The root hash, computed from the listed artifacts.
    pub(super) fn computed_root(&self) -> Hash {
        root_hash(self.artifacts.iter().map(|artifact| (artifact.id.as_str(), artifact.sha256)))
    }

    /// Refuses the first artifact path that could lead outside the bundle, or that systems
    /// interpret differently.
    pub(super) fn check_paths(&self) -> Result<(), Failure> {
        match self.artifacts.iter().find(|artifact| segments(&artifact.path).is_none()) {
            None => Ok(()),
            Some(artifact) => {
                let message = format!(
                    "the path {} of artifact {} must begin with artifacts/ and contain only plain \
                     names, without '..' and without a dot or space at the end of a name",
                    quoted(&artifact.path),
                    quoted(&artifact.id)
                );
                Err(Failure::new(Code::ForbiddenField, message).at(BUNDLE))
            }
        }
    }

    /// Refuses the first artifact whose slice selects everything.
    pub(super) fn check_slices(&self) -> Result<(), Failure> {
        let all = |artifact: &Artifact| artifact.slice.as_deref().is_some_and(is_all);
        self.refuse(Code::ForbiddenAllSlice, all, |artifact| {
            let id = quoted(&artifact.id);
            format!("the slice of artifact {id} selects everything; name a part of the text")
        })
    }

    /// Refuses the first artifact that no step reads.
    pub(super) fn check_bounds(&self) -> Result<(), Failure> {
        let unbounded = |artifact: &Artifact| {
            let Artifact { kind, reference, slice, .. } = artifact;
            !self.reads.contains(&(*kind, reference.clone(), slice.clone()))
        };
        self.refuse(Code::UnboundedArtifact, unbounded, |artifact| {
            format!("no step reads artifact {}", quoted(&artifact.id))
        })
    }

    /// Refuses the first symbol whose ref does not begin with `@`, which would count no tokens. For
    /// producers: the specification lets others write such symbols.
    pub(super) fn check_symbols(&self) -> Result<(), Failure> {
        let free = |artifact: &Artifact| {
            artifact.kind == Kind::Symbol && !artifact.reference.starts_with('@')
        };
        self.refuse(Code::MetricMismatch, free, |artifact| {
            format!(
                "the ref of the symbol {} does not begin with @, so that it would count no tokens",
                quoted(&artifact.reference)
            )
        })
    }

    /// Refuses the first artifact that is wrong, with a message about it.
    fn refuse(
        &self,
        code: Code,
        is_wrong: impl Fn(&Artifact) -> bool,
        message: impl FnOnce(&Artifact) -> String,
    ) -> Result<(), Failure> {
        match self.artifacts.iter().find(|artifact| is_wrong(artifact)) {
            None => Ok(()),
            Some(artifact) => Err(Failure::new(code, message(artifact)).at(cut(&artifact.path))),
        }
    }

    /// Refuses the first member that reveals when or where something ran.
    pub(super) fn check_forbidden(&self) -> Result<(), Failure> {
        self.forbidden.clone().map_or(Ok(()), Err)
    }
}

impl Artifact {
    fn new(value: &Value<'_>) -> Result<Self, Failure> {
        Ok(Self {
            id: fields::text(value, "artifact_id")?.to_owned(),
            kind: match fields::text(value, "kind")? {
                "SYMBOL_SLICE" => Kind::Symbol,
                _ => Kind::Section,
            },
            reference: fields::text(value, "ref")?.to_owned(),
            slice: fields::optional_text(value, "slice")?.map(str::to_owned),
            path: fields::text(value, "path")?.to_owned(),
            sha256: fields::hash(value, "sha256")?,
            bytes: fields::natural(value, "bytes")?,
        })
    }
}

/// The id of a bundle: the hash of its manifest with empty strings as `bundle_id` and `root_hash`.
pub(super) fn bundle_id(manifest: &Value<'_>) -> Result<Hash, Failure> {
    let members = |value: &Value<'_>, name: &str| match value {
        Value::Object(_) => Ok(()),
        _ => Err(Failure::internal(&format!("{name} is not an object"))),
    };
    let hashes = fields::member(manifest, "hashes")?;
    members(manifest, BUNDLE)?;
    members(hashes, "hashes")?;
    let hashes = changed(object(hashes), |name| match name {
        "root_hash" => Change::Set("\"\""),
        _ => Change::Keep,
    });
    let text = changed(object(manifest), |name| match name {
        "bundle_id" => Change::Set("\"\""),
        "hashes" => Change::Set(&hashes),
        _ => Change::Keep,
    });
    Ok(Hash::of(text))
}

fn object<'v, 'a>(value: &'v Value<'a>) -> &'v Members<'a> {
    value.as_object().unwrap_or(&[])
}

/// The root hash of artifacts in the order of the manifest.
pub(super) fn root_hash<'a>(artifacts: impl Iterator<Item = (&'a str, Hash)>) -> Hash {
    let lines: Vec<String> = artifacts.map(|(id, hash)| format!("{id}:{hash}\n")).collect();
    if lines.is_empty() { Hash::of("\n") } else { Hash::of(lines.concat()) }
}

/// The path segments of an artifact; `None` if the path could lead outside the bundle.
pub(super) fn segments(path: &str) -> Option<Vec<&str>> {
    let plain = |char: char| char >= ' ' && !matches!(char, '\u{7f}' | '\\' | ':');
    let segments: Vec<&str> = path.split('/').collect();
    // This covers "." and ".." and empty segments.
    let named = |segment: &&str| !segment.is_empty() && !segment.ends_with(['.', ' ']);
    let good = path.chars().all(plain)
        && segments.len() >= 2
        && segments[0] == "artifacts"
        && segments.iter().all(named);
    good.then_some(segments)
}

/// Whether a slice selects everything.
pub(super) fn is_all(slice: &str) -> bool {
    let blank = |char| matches!(char, ' ' | '\t' | '\n' | '\u{b}' | '\u{c}' | '\r');
    slice.trim_matches(blank).eq_ignore_ascii_case("all")
}

fn check_counts(steps: usize, artifacts: usize, limits: &Limits) -> Result<(), Violation> {
    for (count, limit, name) in
        [(steps, limits.max_steps, "steps"), (artifacts, limits.max_artifacts, "artifacts")]
    {
        if count as u64 > limit {
            return Err(Violation::at(format!("more than {limit} {name}"), format!("/{name}")));
        }
    }
    Ok(())
}

/// Checks that steps ascend strictly by number and id, without duplicate ids.
fn check_steps(steps: &[Value<'_>]) -> Result<Result<(), Violation>, Failure> {
    let key = |step| {
        Ok::<_, Failure>((fields::natural(step, "ordinal")?, fields::text(step, "step_id")?))
    };
    let keys = steps.iter().map(key).collect::<Result<Vec<_>, _>>()?;
    if let Some(at) = first_unsorted(&keys) {
        let message = "steps must be ordered by ordinal and step_id";
        return Ok(Err(Violation::at(message, format!("/steps/{at}"))));
    }
    let mut seen = HashSet::new();
    let twice = keys.iter().position(|(_, id)| !seen.insert(*id));
    Ok(twice.map_or(Ok(()), |at| {
        Err(Violation::at("two steps have this step_id", format!("/steps/{at}/step_id")))
    }))
}

/// Checks that artifacts ascend strictly by id, without duplicate paths, and within the size
/// limits.
fn check_artifacts(artifacts: &[Artifact], limits: &Limits) -> Result<(), Violation> {
    let ids: Vec<&str> = artifacts.iter().map(|artifact| artifact.id.as_str()).collect();
    if let Some(at) = first_unsorted(&ids) {
        let message = "artifacts must be ordered by artifact_id, each once";
        return Err(Violation::at(message, format!("/artifacts/{at}")));
    }
    let (mut paths, mut total) = (HashSet::new(), 0u64);
    for (at, artifact) in artifacts.iter().enumerate() {
        if !paths.insert(artifact.path.to_ascii_lowercase()) {
            let message = "two artifacts have this path, or paths that differ only in letter case";
            return Err(Violation::at(message, format!("/artifacts/{at}/path")));
        }
        total = total.saturating_add(artifact.bytes);
        let limit = limits.max_artifact_bytes;
        if artifact.bytes > limit {
            let message = format!("the artifact is larger than {limit} bytes");
            return Err(Violation::at(message, format!("/artifacts/{at}/bytes")));
        }
    }
    if total > limits.max_total_bytes {
        let message =
            format!("the artifacts have more than {} bytes in total", limits.max_total_bytes);
        return Err(Violation::at(message, "/artifacts"));
    }
    Ok(())
}

fn check_inputs(manifest: &Value<'_>) -> Result<(), Violation> {
    for name in ["symbols", "files", "slices"] {
        let list = manifest.get("inputs").and_then(|inputs| inputs.get(name));
        let Some(list) = list.and_then(Value::as_array) else { continue };
        if !list.is_sorted_by_key(|entry| entry.as_str().unwrap_or_default()) {
            return Err(Violation::at("the list must be sorted", format!("/inputs/{name}")));
        }
    }
    Ok(())
}

fn first_unsorted<T: PartialOrd>(keys: &[T]) -> Option<usize> {
    keys.windows(2).position(|pair| pair[0] >= pair[1]).map(|at| at + 1)
}

/// The source that a step reads; `None` if the step names none.
fn read(step: &Value<'_>) -> Result<Option<Read>, Failure> {
    let (kind, name) = match fields::text(step, "op")? {
        "READ_SYMBOL" => (Kind::Symbol, "symbol_id"),
        _ => (Kind::Section, "section_id"),
    };
    let Some(reference) = step.get("refs").map(|refs| fields::optional_text(refs, name)) else {
        return Ok(None);
    };
    let slice = match step.get("constraints") {
        Some(constraints) => fields::optional_text(constraints, "slice")?,
        None => None,
    };
    Ok(reference?.map(|reference| (kind, reference.to_owned(), slice.map(str::to_owned))))
}

/// The first forbidden member name or absolute path, in document order.
fn forbidden(manifest: &Value<'_>) -> Option<Failure> {
    let fail = |message| Some(Failure::new(Code::ForbiddenField, message).at(BUNDLE));
    let mut open = vec![Entries::Elements(slice::from_ref(manifest).iter())];
    loop {
        let Some((name, value)) = open.last_mut()?.next() else {
            open.pop();
            continue;
        };
        if let Some(name) = name.filter(|name| is_forbidden(name)) {
            return fail(format!("the member {} is not allowed", quoted(name)));
        }
        match value {
            Value::Object(members) => open.push(Entries::of_members(members, false)),
            Value::Array(elements) => open.push(Entries::Elements(elements.iter())),
            Value::String(text) if is_absolute(text) => {
                return fail(format!("the value {} is an absolute path", quoted(text)));
            }
            _ => {}
        }
    }
}

fn is_forbidden(name: &str) -> bool {
    FORBIDDEN_NAMES.iter().any(|forbidden| name.eq_ignore_ascii_case(forbidden))
}

/// Whether a string is an absolute path on any operating system.
pub(super) fn is_absolute(text: &str) -> bool {
    let bytes = text.as_bytes();
    match bytes {
        [b'/' | b'\\', ..] | [b'~', b'/' | b'\\', ..] => true,
        [letter, b':'] | [letter, b':', b'/' | b'\\', ..] => letter.is_ascii_alphabetic(),
        _ => bytes.len() >= 7 && bytes[..7].eq_ignore_ascii_case(b"file://"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn artifact_path_must_stay_below_artifacts() {
        for good in
            ["artifacts/a", "artifacts/a/b.txt", "artifacts/.hidden", "artifacts/ a", "artifacts/é"]
        {
            assert!(segments(good).is_some(), "{good:?}");
        }
        for bad in [
            "",
            "artifacts",
            "artifacts/",
            "/artifacts/a",
            "artifacts//a",
            "artifacts/../a",
            "artifacts/./a",
            "artifacts/a/",
            "artifacts/a.",
            "artifacts/a ",
            "artifacts/...",
            "Artifacts/a",
            "artifacts\\a",
            "artifacts/a\\b",
            "C:/artifacts/a",
            "artifacts/a:s",
            "artifacts/a\0",
            "artifacts/a\n",
            "artifacts/\u{7f}",
            "../artifacts/a",
            "other/a",
        ] {
            assert!(segments(bad).is_none(), "{bad:?}");
        }
    }

    #[test]
    fn all_slice_ignores_case_and_blanks() {
        for all in ["ALL", "all", " \t\n\u{b}\u{c}\rAlL "] {
            assert!(is_all(all), "{all:?}");
        }
        for some in ["", "ALLOW", "all(1)", "ＡＬＬ", "a ll", "\u{a0}all", "\u{85}all", "\u{1c}all"]
        {
            assert!(!is_all(some), "{some:?}");
        }
    }

    #[test]
    fn absolute_paths_of_all_systems_are_found() {
        for path in
            ["/", "/etc", "\\\\host", "C:", "c:/x", "Z:\\x", "file://x", "FILE:///", "~/x", "~\\x"]
        {
            assert!(is_absolute(path), "{path:?}");
        }
        for text in ["", "a/b", "~", "~x", "C:x", "CC:/", "é:/", "file:/x", "http://x", "1:/"] {
            assert!(!is_absolute(text), "{text:?}");
        }
    }
}
