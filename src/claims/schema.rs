//! Parsing the five kinds of files and validating them against their JSON Schemas.
//!
//! The schemas are those of the package (`compactwire/schemas`), compiled once. Invariant: an integer
//! of a schema must be written without point and exponent. `30.0` is a number but not an integer.

use super::canonical::canon_lf;
use super::files::{Content, ReadProblem};
use super::options::Options;
use crate::excerpt::excerpt;
use crate::json;
use crate::value::{Value, drop_iteratively};
use jsonschema::json::{Array, Json, JsonNumber, Node, NodeIdentity, Object};
use jsonschema::{JsonType, Validator};
use std::borrow::Cow;
use std::sync::LazyLock;

/// For files larger than this, in bytes, a message does not name the violated schema rule, because
/// finding it copies the offending part.
const MAX_EXPLAINED: usize = 1 << 20;

/// The schema of a file.
pub(super) struct Schema(LazyLock<Result<Validator<Own>, String>>);

macro_rules! schema {
    ($name:ident, $file:literal) => {
        pub(super) static $name: Schema = Schema(LazyLock::new(|| {
            compile(include_str!(concat!("../../python/compactwire/schemas/", $file)))
        }));
    };
}

schema!(BUNDLE, "bundle.schema.json");
schema!(CLAIM, "claim.schema.json");
schema!(RECEIPT, "receipt.schema.json");
schema!(TRUST_POLICY, "trust_policy.schema.json");
schema!(MERKLE_ATTESTATION, "merkle_attestation.schema.json");

fn compile(text: &str) -> Result<Validator<Own>, String> {
    let schema = serde_json::from_str(text).map_err(|error| error.to_string())?;
    jsonschema::options_for::<Own>().build(&schema).map_err(|error| error.to_string())
}

/// A violation: a message, and a JSON Pointer to the place if there is one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Violation {
    pub(super) message: String,
    pub(super) pointer: String,
}

impl Violation {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), pointer: String::new() }
    }

    pub(super) fn at(message: impl Into<String>, pointer: impl Into<String>) -> Self {
        Self { message: message.into(), pointer: pointer.into() }
    }
}

/// Reads a file of at most `limit` bytes.
pub(super) fn read(file: Content, limit: u64) -> Result<Vec<u8>, Violation> {
    file.read(limit).map_err(|problem| match problem {
        ReadProblem::Unreadable => Violation::new("the file cannot be read"),
        ReadProblem::TooLarge => Violation::new(format!("the file is larger than {limit} bytes")),
        ReadProblem::NoMemory => Violation::new("the file does not fit into memory"),
    })
}

/// A parsed file, not validated yet.
pub(super) struct Document<'a> {
    pub(super) value: Value<'a>,
    /// The file's size in bytes.
    pub(super) size: usize,
}

impl Drop for Document<'_> {
    fn drop(&mut self) {
        drop_iteratively(std::mem::replace(&mut self.value, Value::Null));
    }
}

impl<'a> Document<'a> {
    pub(super) fn into_value(mut self) -> Value<'a> {
        std::mem::replace(&mut self.value, Value::Null)
    }

    pub(super) fn check(&self, schema: &Schema) -> Result<(), Violation> {
        schema.check(&self.value, self.size)
    }
}

/// Parses the bytes of a file.
pub(super) fn parse<'a>(bytes: &'a [u8], options: &Options) -> Result<Document<'a>, Violation> {
    parse_with(bytes, options, json::parse_borrowed)
}

/// Like [`parse`], for a value that outlives the bytes.
pub(super) fn parse_owned(bytes: &[u8], options: &Options) -> Result<Document<'static>, Violation> {
    parse_with(bytes, options, json::parse)
}

fn parse_with<'a, 'v>(
    bytes: &'a [u8],
    options: &Options,
    parse: impl FnOnce(&'a str, json::Limits) -> Result<Value<'v>, json::Error>,
) -> Result<Document<'v>, Violation> {
    let text = simdutf8::compat::from_utf8(bytes).map_err(|error| {
        Violation::new(format!("not UTF-8 from byte {} on", error.valid_up_to()))
    })?;
    let value =
        parse(text, options.limits.json()).map_err(|error| Violation::new(error.to_string()))?;
    let document = Document { value, size: bytes.len() };
    if options.require_canonical && canon_lf(&document.value) != text {
        return Err(Violation::new("the file is not in canonical form"));
    }
    Ok(document)
}

impl Schema {
    /// Validates a value that was parsed from `size` bytes.
    pub(super) fn check(&self, value: &Value<'_>, size: usize) -> Result<(), Violation> {
        let validator = match &*self.0 {
            Ok(validator) => validator,
            Err(error) => return Err(Violation::new(format!("internal error: {error}"))),
        };
        if validator.is_valid(value) {
            return Ok(());
        }
        if size > MAX_EXPLAINED {
            return Err(Violation::new("the file does not match its schema"));
        }
        let Err(error) = validator.validate(value) else {
            return Err(Violation::new("the file does not match its schema"));
        };
        let pointer = error.instance_path().to_string();
        Err(Violation { message: explanation(value, &pointer, error.kind().keyword()), pointer })
    }
}

/// Describes the violated rule, showing little of the input.
fn explanation(value: &Value<'_>, pointer: &str, keyword: &str) -> String {
    let found = match json::pointer::get(value, pointer) {
        Some(Value::String(text)) => excerpt(text),
        Some(other) => other.kind().to_owned(),
        None => "the value".to_owned(),
    };
    format!("{found} violates the schema's rule {keyword:?}")
}

/// Adapts [`Value`] to the validator.
struct Own;

impl Json for Own {
    type Node<'a> = &'a Value<'a>;
    type PreparedKey = String;
    type StringBuffer = ();

    /// Lookup is linear in the number of members.
    const KEYS_PER_LOOKUP: usize = 8;

    fn prepare_key(key: &str) -> String {
        key.to_owned()
    }

    fn with_string_node<T>(
        _buffer: &mut (),
        string: &str,
        f: impl FnOnce(Self::Node<'_>) -> T,
    ) -> T {
        f(&Value::String(Cow::Borrowed(string)))
    }
}

impl<'a> Node<'a, Own> for &'a Value<'a> {
    type Object = &'a [(Cow<'a, str>, Value<'a>)];
    type Array = &'a [Value<'a>];
    type Number = Number<'a>;

    fn as_object(&self) -> Option<Self::Object> {
        Value::as_object(self)
    }

    fn as_array(&self) -> Option<Self::Array> {
        Value::as_array(self)
    }

    fn as_string(&self) -> Option<Cow<'a, str>> {
        match self {
            Value::String(text) => Some(Cow::Borrowed(text)),
            _ => None,
        }
    }

    fn as_number(&self) -> Option<Number<'a>> {
        match self {
            Value::Int(value) => Some(Number::Int(*value)),
            Value::BigInt(digits) => Some(Number::Big(digits)),
            Value::Float(value) => Some(Number::Float(*value)),
            _ => None,
        }
    }

    fn as_boolean(&self) -> Option<bool> {
        match self {
            Value::Bool(value) => Some(*value),
            _ => None,
        }
    }

    fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }

    fn json_type(&self) -> JsonType {
        match self {
            Value::Null => JsonType::Null,
            Value::Bool(_) => JsonType::Boolean,
            Value::Int(_) | Value::BigInt(_) | Value::Float(_) => JsonType::Number,
            Value::String(_) => JsonType::String,
            Value::Array(_) => JsonType::Array,
            Value::Object(_) => JsonType::Object,
        }
    }

    fn equals_value(&self, expected: &serde_json::Value) -> bool {
        match (self, expected) {
            (Value::String(text), serde_json::Value::String(expected)) => text == expected,
            _ => jsonschema::json::cmp::equal(&self.to_value(), expected),
        }
    }

    fn to_value(&self) -> Cow<'a, serde_json::Value> {
        Cow::Owned(foreign(self, SCHEMA_DEPTH))
    }

    fn identity(&self) -> Option<NodeIdentity> {
        Some(NodeIdentity::new(std::ptr::from_ref::<Value<'a>>(self) as usize))
    }
}

/// Converts a value for the validator's errors. Messages show only its place, so long integers may
/// lose digits, and values deeper than the schemas describe become null.
fn foreign(value: &Value<'_>, depth: usize) -> serde_json::Value {
    let Some(depth) = depth.checked_sub(1) else { return serde_json::Value::Null };
    match value {
        Value::Null => serde_json::Value::Null,
        Value::Bool(value) => (*value).into(),
        Value::Int(value) => (*value).into(),
        Value::BigInt(digits) => digits.parse::<f64>().map_or(serde_json::Value::Null, Into::into),
        Value::Float(value) => (*value).into(),
        Value::String(text) => serde_json::Value::String(text.to_string()),
        Value::Array(elements) => elements.iter().map(|element| foreign(element, depth)).collect(),
        Value::Object(members) => {
            let member =
                |(name, value): &(Cow<'_, str>, _)| (name.to_string(), foreign(value, depth));
            members.iter().map(member).collect()
        }
    }
}

/// The depth to which values are converted for errors; the schemas describe fewer levels.
const SCHEMA_DEPTH: usize = 12;

impl<'a> Object<'a, Own> for &'a [(Cow<'a, str>, Value<'a>)] {
    type Node = &'a Value<'a>;
    type MemberName = &'a str;
    type MembersIter = std::iter::Map<
        std::slice::Iter<'a, (Cow<'a, str>, Value<'a>)>,
        fn(&'a (Cow<'a, str>, Value<'a>)) -> (&'a str, &'a Value<'a>),
    >;

    fn len(&self) -> usize {
        <[_]>::len(self)
    }

    fn get(&self, key: &String) -> Option<&'a Value<'a>> {
        self.iter().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    fn members(&self) -> Self::MembersIter {
        self.iter().map(|(name, value)| (name.as_ref(), value))
    }
}

impl<'a> Array<'a, Own> for &'a [Value<'a>] {
    type Node = &'a Value<'a>;
    type ElementsIter = std::slice::Iter<'a, Value<'a>>;

    fn len(&self) -> usize {
        <[_]>::len(self)
    }

    fn elements(&self) -> Self::ElementsIter {
        self.iter()
    }
}

enum Number<'a> {
    Int(i64),
    Big(&'a str),
    Float(f64),
}

impl JsonNumber for Number<'_> {
    fn as_u64(&self) -> Option<u64> {
        match self {
            Self::Int(value) => u64::try_from(*value).ok(),
            Self::Big(digits) => digits.parse().ok(),
            Self::Float(_) => None,
        }
    }

    fn as_i64(&self) -> Option<i64> {
        match self {
            Self::Int(value) => Some(*value),
            Self::Big(_) | Self::Float(_) => None,
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "asked for a double")]
    fn as_f64(&self) -> Option<f64> {
        match self {
            Self::Int(value) => Some(*value as f64),
            Self::Big(digits) => digits.parse().ok(),
            Self::Float(value) => Some(*value),
        }
    }

    fn as_str(&self) -> Cow<'_, str> {
        match self {
            Self::Int(value) => Cow::Owned(value.to_string()),
            Self::Big(digits) => Cow::Borrowed(digits),
            Self::Float(value) => Cow::Owned(value.to_string()),
        }
    }

    fn to_number(&self) -> Cow<'_, serde_json::Number> {
        let float = match self {
            Self::Int(value) => return Cow::Owned((*value).into()),
            Self::Big(digits) => digits.parse().unwrap_or(f64::MAX),
            Self::Float(value) => *value,
        };
        let finite = float.clamp(f64::MIN, f64::MAX);
        Cow::Owned(serde_json::Number::from_f64(finite).unwrap_or_else(|| 0.into()))
    }

    fn is_integer(&self) -> bool {
        self.is_written_as_integer()
    }

    fn is_written_as_integer(&self) -> bool {
        !matches!(self, Self::Float(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(schema: &str, instance: &str) -> bool {
        let value = json::parse(instance, json::Limits::default()).unwrap();
        compile(schema).unwrap().is_valid(&value)
    }

    #[test]
    fn all_schemas_compile() {
        for schema in [&BUNDLE, &CLAIM, &RECEIPT, &TRUST_POLICY, &MERKLE_ATTESTATION] {
            assert!(schema.0.is_ok());
        }
    }

    #[test]
    fn values_match_the_validator_interface() {
        let document = jsonschema::json::conformance::document().to_string();
        let value = json::parse(&document, json::Limits::default()).unwrap();
        jsonschema::json::conformance::assert_conformance::<Own>(&&value);
    }

    #[test]
    fn integer_must_be_written_as_integer() {
        let integer = r#"{"type":"integer","minimum":0,"maximum":9007199254740991}"#;
        for text in ["0", "-0", "9007199254740991"] {
            assert!(checked(integer, text), "{text}");
        }
        let long = "9".repeat(4300);
        let negative = format!("-{long}");
        for text in ["9007199254740992", "18446744073709551615", "18446744073709551616", &long] {
            assert!(!checked(integer, text), "{text}");
        }
        for text in ["-1", "1.0", "1e1", "true", &negative] {
            assert!(!checked(integer, text), "{text}");
        }
        let ratio = r#"{"type":"number","exclusiveMinimum":0,"maximum":1}"#;
        for text in ["1", "1.0", "5e-324"] {
            assert!(checked(ratio, text), "{text}");
        }
        for text in ["0", "0.0", "-0.0", "1.0000000000000002", &long[..400], "null"] {
            assert!(!checked(ratio, text), "{text}");
        }
    }

    #[test]
    fn pattern_matches_the_whole_string() {
        let pattern = r#"{"pattern":"^[0-9a-f]{4}$"}"#;
        assert!(checked(pattern, r#""00ff""#));
        for text in [r#""00ff\n""#, r#""\n00ff""#, r#""00FF""#, r#""00ff\u2028""#] {
            assert!(!checked(pattern, text), "{text}");
        }
    }

    #[test]
    fn violation_names_the_place_and_the_rule() {
        let value =
            json::parse(r#"{"policy_version":"1.0.0","allow":[7]}"#, json::Limits::default());
        let violation = TRUST_POLICY.check(&value.unwrap(), 10).unwrap_err();
        assert_eq!(violation.pointer, "/allow/0");
        assert_eq!(violation.message, "a number violates the schema's rule \"type\"");
    }
}
