//! A payload as JSON with one member per line.
//!
//! Members have the order of the specification. `pack_root`, `signature`, `edges`, `status` and `location`
//! are omitted if empty. Integral numbers have no `.0`. Numbers below 10^-6 and from 10^21 on have an
//! exponent.
//!
//! # Where we differ
//! The reader keeps `pack_root` and `status`, which the original's reader drops.

use super::error::{Code, Error};
use crate::gcf::graph::{
    Components, Edge, Location, Payload, SharedStr, Symbol, names_size, too_large,
};
use crate::interrupt::polled;
use crate::json::{self, Escape, Limits, write_string};
use crate::limits::DEFAULT_MAX_EXPANSION;
use crate::text;
use crate::text::decimal::{self, Decimal, Exponent};
use crate::value::Value;

/// Options of the writer.
///
/// ```
/// use compactwire::gcf::graph::Payload;
/// use compactwire::wire::json::{self, Style};
///
/// let style = Style { compact: true, ..Style::default() };
/// assert!(!json::encode(&Payload::default(), style).unwrap().contains('\n'));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Omits white space.
    pub compact: bool,
    /// Also escapes `<`, `>`, `&`, U+2028 and U+2029, as the original codec does.
    pub html_escape: bool,
    /// The largest size in bytes of the names of edges, which are written once per edge.
    pub max_expansion: usize,
}

impl Default for Style {
    fn default() -> Self {
        Self { compact: false, html_escape: false, max_expansion: DEFAULT_MAX_EXPANSION }
    }
}

/// Writes a payload.
///
/// # Errors
/// `not_finite`, with the path to the number; `too_large` beyond `style.max_expansion`; `out_of_memory`.
pub fn encode(payload: &Payload, style: Style) -> Result<String, Error> {
    if let Some(message) = too_large(&payload.edges, style.max_expansion) {
        return Err(Error::of(Code::TooLarge, "$.edges", message));
    }
    let size = 128 + 400 * payload.symbols.len() + 160 * payload.edges.len();
    let size = size.saturating_add(names_size(&payload.edges));
    let mut out = String::new();
    out.try_reserve(size).map_err(|_| {
        Error::of(Code::OutOfMemory, "$", format!("cannot allocate {size} bytes for the text"))
    })?;
    let mut writer = Writer { out, style, depth: 0, first: true };
    writer.payload(payload)?;
    Ok(writer.out)
}

struct Writer {
    out: String,
    style: Style,
    depth: usize,
    /// Whether the innermost container is empty so far.
    first: bool,
}

impl Writer {
    fn payload(&mut self, payload: &Payload) -> Result<(), Error> {
        self.open('{');
        self.text("tool", &payload.tool);
        self.int("tokens_used", payload.tokens_used);
        self.int("token_budget", payload.token_budget);
        self.text_if_any("pack_root", &payload.pack_root);
        self.key("symbols");
        self.open('[');
        for (i, symbol) in polled(&payload.symbols).enumerate() {
            self.next();
            self.symbol(symbol, i)?;
        }
        self.close(']');
        if !payload.edges.is_empty() {
            self.key("edges");
            self.open('[');
            for edge in polled(&payload.edges) {
                self.next();
                self.edge(edge);
            }
            self.close(']');
        }
        self.close('}');
        Ok(())
    }

    fn symbol(&mut self, symbol: &Symbol, i: usize) -> Result<(), Error> {
        self.open('{');
        self.text("qualified_name", &symbol.qualified_name);
        self.text("kind", &symbol.kind);
        self.number("score", symbol.score, || format!("$.symbols[{i}].score"))?;
        self.text_if_any("signature", &symbol.signature);
        self.text("provenance", &symbol.provenance);
        self.int("distance", symbol.distance);
        self.key("components");
        self.open('{');
        for (name, value) in Components::NAMES.iter().zip(symbol.components.values()) {
            self.number(name, value, || format!("$.symbols[{i}].components.{name}"))?;
        }
        self.close('}');
        if let Some(location) = &symbol.location {
            self.location(location);
        }
        self.close('}');
        Ok(())
    }

    fn location(&mut self, location: &Location) {
        self.key("location");
        self.open('{');
        self.text("file", &location.file);
        let (end_line, end_column) = location.end.unzip();
        for (name, number) in [
            ("line", Some(location.line)),
            ("column", Some(location.column)),
            ("end_line", end_line),
            ("end_column", end_column),
        ] {
            if let Some(number) = number {
                self.key(name);
                self.out.push_str(itoa::Buffer::new().format(number));
            }
        }
        self.close('}');
    }

    fn edge(&mut self, edge: &Edge) {
        self.open('{');
        self.text("source", &edge.source);
        self.text("target", &edge.target);
        self.text("edge_type", &edge.edge_type);
        self.text_if_any("status", &edge.status);
        self.close('}');
    }

    fn open(&mut self, bracket: char) {
        self.out.push(bracket);
        self.depth += 1;
        self.first = true;
    }

    fn close(&mut self, bracket: char) {
        self.depth -= 1;
        if !self.first {
            self.line();
        }
        self.out.push(bracket);
        self.first = false;
    }

    /// Starts a member or element.
    fn next(&mut self) {
        if !self.first {
            self.out.push(',');
        }
        self.first = false;
        self.line();
    }

    fn line(&mut self) {
        if !self.style.compact {
            const BLANKS: &str = "\n          ";
            self.out.push_str(&BLANKS[..=2 * self.depth]);
        }
    }

    fn key(&mut self, name: &str) {
        self.next();
        self.out.push('"');
        self.out.push_str(name);
        self.out.push_str(if self.style.compact { "\":" } else { "\": " });
    }

    fn int(&mut self, name: &str, value: i64) {
        self.key(name);
        self.out.push_str(itoa::Buffer::new().format(value));
    }

    fn text_if_any(&mut self, name: &str, text: &str) {
        if !text.is_empty() {
            self.text(name, text);
        }
    }

    fn text(&mut self, name: &str, text: &str) {
        self.key(name);
        let special = ['<', '>', '&', '\u{2028}', '\u{2029}'];
        if !self.style.html_escape || !text.contains(special) {
            return write_string(text, Escape::Needed, &mut self.out);
        }
        let mut quoted = String::new();
        write_string(text, Escape::Needed, &mut quoted);
        for char in quoted.chars() {
            match char {
                '<' => self.out.push_str("\\u003c"),
                '>' => self.out.push_str("\\u003e"),
                '&' => self.out.push_str("\\u0026"),
                '\u{2028}' => self.out.push_str("\\u2028"),
                '\u{2029}' => self.out.push_str("\\u2029"),
                _ => self.out.push(char),
            }
        }
    }

    fn number(
        &mut self,
        name: &str,
        value: f64,
        path: impl FnOnce() -> String,
    ) -> Result<(), Error> {
        if !value.is_finite() {
            let message = format!("{value} is not a JSON number");
            return Err(Error::of(Code::JsonNotFinite, path(), message));
        }
        self.key(name);
        write_number(value, &mut self.out);
        Ok(())
    }
}

/// Appends a finite double with the fewest digits that parse to the same double. Numbers below
/// 10^-6 and from 10^21 on have an exponent; integers have no point.
fn write_number(value: f64, out: &mut String) {
    if !(1e-6..1e21).contains(&value.abs()) && value != 0.0 {
        return Decimal::rounding_up(value).write_scientific(Exponent::Signed, out);
    }
    let mut buffer = zmij::Buffer::new();
    match decimal::positional(value, &mut buffer) {
        Some(shortest) => out.push_str(shortest.strip_suffix(".0").unwrap_or(shortest)),
        None => Decimal::rounding_up(value).write_positional(out),
    }
}

/// The members of a payload.
const MEMBERS: [&str; 6] = ["tool", "tokens_used", "token_budget", "pack_root", "symbols", "edges"];

/// Reads a payload. A missing or null member is empty or 0. Unknown members are ignored, but an object without
/// any known one is not a payload.
///
/// # Errors
/// `invalid_json` with the offset, `invalid_member` with the path to the member of the wrong type.
pub fn decode(text: &str) -> Result<Payload, Error> {
    let value = json::parse(text, Limits::default())
        .map_err(|error| Error::at(Code::InvalidJson, error.offset, error.problem.to_string()))?;
    let root = Member { value: Some(&value), path: Path::Root };
    let payload = root.object()?;
    if MEMBERS.iter().all(|name| value.get(name).is_none()) {
        let message = format!("expected a payload, found an object without {}", MEMBERS.join(", "));
        return Err(Error::of(Code::InvalidMember, "$".to_owned(), message));
    }
    let mut payload = Payload {
        tool: payload.text("tool")?,
        tokens_used: payload.int("tokens_used")?,
        token_budget: payload.int("token_budget")?,
        pack_root: payload.text("pack_root")?,
        symbols: payload.elements("symbols", read_symbol)?,
        edges: payload.elements("edges", read_edge)?,
    };
    payload.share_names();
    Ok(payload)
}

/// Reads a payload like [`decode`], from bytes.
///
/// # Errors
/// As [`decode`]; `invalid_utf8` with the offset.
pub fn decode_utf8(bytes: &[u8]) -> Result<Payload, Error> {
    match text::from_utf8(bytes) {
        Ok(text) => decode(text),
        Err(error) => {
            Err(Error::at(Code::InvalidUtf8, error.valid_up_to(), "not UTF-8 from here on"))
        }
    }
}

fn read_symbol(symbol: Member<'_>) -> Result<Symbol, Error> {
    let symbol = symbol.object()?;
    let components = symbol.get("components").object()?;
    let mut values = [0.0; 4];
    for (value, name) in values.iter_mut().zip(Components::NAMES) {
        *value = components.number(name)?;
    }
    let location = symbol.get("location");
    Ok(Symbol {
        qualified_name: symbol.text("qualified_name")?,
        kind: symbol.text("kind")?,
        score: symbol.number("score")?,
        provenance: symbol.text("provenance")?,
        distance: symbol.int("distance")?,
        signature: symbol.text("signature")?,
        components: values.into(),
        location: location.is_present().then(|| read_location(location)).transpose()?.map(Box::new),
    })
}

fn read_location(location: Member<'_>) -> Result<Location, Error> {
    let location = location.object()?;
    let number = |name| -> Result<Option<u64>, Error> {
        if !location.get(name).is_present() {
            return Ok(None);
        }
        match u64::try_from(location.int(name)?) {
            Ok(number) if number > 0 => Ok(Some(number)),
            _ => Err(location.get(name).expected("a number of 1 or more")),
        }
    };
    let needed =
        |name| number(name)?.ok_or_else(|| location.get(name).expected("a number of 1 or more"));
    Ok(Location {
        file: location.text("file")?,
        line: needed("line")?,
        column: needed("column")?,
        end: match (number("end_line")?, number("end_column")?) {
            (Some(line), Some(column)) => Some((line, column)),
            (None, None) => None,
            _ => return Err(location.expected("end_line and end_column, or neither")),
        },
    })
}

fn read_edge(edge: Member<'_>) -> Result<Edge, Error> {
    let edge = edge.object()?;
    Ok(Edge {
        source: edge.text("source")?,
        target: edge.text("target")?,
        edge_type: edge.text("edge_type")?,
        status: edge.text("status")?,
    })
}

/// A member that may be missing, and its path.
#[derive(Clone, Copy)]
struct Member<'v> {
    value: Option<&'v Value<'v>>,
    path: Path<'v>,
}

#[derive(Clone, Copy)]
enum Path<'v> {
    Root,
    Of(&'static str),
    Element(&'static str, usize),
    In(&'static str, usize, &'static str),
    Deep(&'static str, usize, &'static str, &'v str),
}

impl<'v> Member<'v> {
    fn is_present(&self) -> bool {
        !matches!(self.value, None | Some(Value::Null))
    }

    #[cold]
    fn expected(&self, expected: &str) -> Error {
        let path = match self.path {
            Path::Root => "$".to_owned(),
            Path::Of(name) => format!("$.{name}"),
            Path::Element(list, i) => format!("$.{list}[{i}]"),
            Path::In(list, i, name) => format!("$.{list}[{i}].{name}"),
            Path::Deep(list, i, name, member) => format!("$.{list}[{i}].{name}.{member}"),
        };
        let found = self.value.map_or("nothing", Value::kind);
        Error::of(Code::InvalidMember, path, format!("expected {expected}, found {found}"))
    }

    /// The member as an object. A missing object has no members; the root and elements must be present.
    fn object(self) -> Result<Self, Error> {
        let is_required = matches!(self.path, Path::Root | Path::Element(..));
        match self.value {
            Some(Value::Object(_)) => Ok(self),
            None | Some(Value::Null) if !is_required => Ok(Self { value: None, ..self }),
            _ => Err(self.expected("an object")),
        }
    }

    fn get(&self, name: &'static str) -> Member<'v> {
        let path = match self.path {
            Path::Root | Path::Of(_) => Path::Of(name),
            Path::Element(list, i) => Path::In(list, i, name),
            Path::In(list, i, member) | Path::Deep(list, i, member, _) => {
                Path::Deep(list, i, member, name)
            }
        };
        Member { value: self.value.and_then(|value| value.get(name)), path }
    }

    /// Reads a member. A member that is missing or null has the default value.
    fn read<T: Default>(
        &self,
        name: &'static str,
        expected: &str,
        read: impl FnOnce(&'v Value<'v>) -> Option<T>,
    ) -> Result<T, Error> {
        let member = self.get(name);
        match member.value {
            None | Some(Value::Null) => Ok(T::default()),
            Some(value) => read(value).ok_or_else(|| member.expected(expected)),
        }
    }

    fn text(&self, name: &'static str) -> Result<SharedStr, Error> {
        self.read(name, "a string", |value| value.as_str().map(Into::into))
    }

    fn int(&self, name: &'static str) -> Result<i64, Error> {
        self.read(name, "an integer of 64 bits", |value| match value {
            Value::Int(value) => Some(*value),
            _ => None,
        })
    }

    fn number(&self, name: &'static str) -> Result<f64, Error> {
        let member = self.get(name);
        match member.value {
            None | Some(Value::Null) => Ok(0.0),
            Some(Value::Float(value)) => Ok(*value),
            #[expect(clippy::cast_precision_loss, reason = "numbers are read as doubles")]
            Some(Value::Int(value)) => Ok(*value as f64),
            Some(Value::BigInt(digits)) => match digits.parse::<f64>() {
                Ok(value) if value.is_finite() => Ok(value),
                _ => Err(member.expected("a number within the range of a double")),
            },
            _ => Err(member.expected("a number")),
        }
    }

    fn elements<T>(
        &self,
        name: &'static str,
        read: impl Fn(Member<'v>) -> Result<T, Error>,
    ) -> Result<Vec<T>, Error> {
        let member = self.get(name);
        let elements = match member.value {
            None | Some(Value::Null) => return Ok(Vec::new()),
            Some(Value::Array(elements)) => elements,
            _ => return Err(member.expected("an array")),
        };
        let member = |(i, value)| Member { value: Some(value), path: Path::Element(name, i) };
        polled(elements).enumerate().map(|element| read(member(element))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::decimal::layouts::written;
    use proptest::prelude::*;

    #[test]
    fn numbers_have_their_shortest_form() {
        for (value, expected) in [
            (0.0, "0"),
            (1.0, "1"),
            (0.78, "0.78"),
            (1e-6, "0.000001"),
            (1e-7, "1e-7"),
            (1.5e-9, "1.5e-9"),
            (1e20, "100000000000000000000"),
            (1e21, "1e+21"),
            (-123_456_789.5, "-123456789.5"),
            (-0.0, "-0"),
        ] {
            assert_eq!(written(write_number, value), expected);
        }
    }

    #[test]
    fn written_payload_is_read_back() {
        let payload = Payload {
            tool: "t<>".into(),
            tokens_used: -1,
            pack_root: "sha256:x".into(),
            symbols: vec![Symbol {
                qualified_name: "a\u{2028}".into(),
                score: 0.1,
                location: Some(Box::new(Location {
                    file: "f".into(),
                    line: 1,
                    column: 2,
                    end: Some((3, 4)),
                })),
                ..Symbol::default()
            }],
            edges: vec![Edge { status: "x".into(), ..Edge::default() }],
            ..Payload::default()
        };
        for (compact, html_escape) in [(false, false), (true, false), (false, true), (true, true)] {
            let style = Style { compact, html_escape, ..Style::default() };
            let text = encode(&payload, style).unwrap();
            assert_eq!(text.contains('\n'), !compact);
            assert_eq!(text.contains('<'), !html_escape);
            assert_eq!(decode(&text).unwrap(), payload, "{text}");
        }
        let empty = "{\n  \"tool\": \"\",\n  \"tokens_used\": 0,\n  \"token_budget\": 0,\n  \"symbols\": []\n}";
        assert_eq!(encode(&Payload::default(), Style::default()).unwrap(), empty);
    }

    #[test]
    fn wrong_type_is_reported_with_its_path() {
        for (text, path) in [
            ("[]", "$"),
            ("{}", "$"),
            (r#"{"rows":[],"Tool":"t"}"#, "$"),
            (r#"{"tool":1}"#, "$.tool"),
            (r#"{"tokens_used":1.0}"#, "$.tokens_used"),
            (r#"{"symbols":{}}"#, "$.symbols"),
            (r#"{"symbols":[null]}"#, "$.symbols[0]"),
            (r#"{"symbols":[{"components":{"recency":""}}]}"#, "$.symbols[0].components.recency"),
            (r#"{"symbols":[{"location":{"line":1}}]}"#, "$.symbols[0].location.column"),
            (r#"{"edges":[{"status":true}]}"#, "$.edges[0].status"),
        ] {
            let error = decode(text).unwrap_err();
            assert_eq!(error.place, crate::wire::Place::Path(path.into()), "{text}");
        }
        assert_eq!(decode(r#"{"tool":"","tool":""}"#).unwrap_err().code, Code::InvalidJson);
        assert_eq!(decode(r#"{"symbols":null,"later":[1]}"#).unwrap(), Payload::default());
    }

    proptest! {
        #[test]
        fn written_number_is_read_back(bits: u64) {
            let value = f64::from_bits(bits);
            prop_assume!(value.is_finite());
            let text = written(write_number, value);
            prop_assert_eq!(text.parse::<f64>().unwrap().to_bits(), value.to_bits());
        }
    }
}
