//! Reads compact text line by line. CAD IR "Format Specification" and "Error Handling".
//!
//! A [`Reader`] takes lines, and returns each node after its last line. It keeps everything but the
//! nodes. `read_lines` collects them and `Stream` passes them on, so both report the same errors.

use super::arguments::{NodeAnnotations, count, flag, integer, is_name, number, string};
use super::directive_table::{Directive, DirectiveKind, EXTRA};
use super::id_ranges::IdRanges;
use super::lex::{self, Form, Line, LineError, Token};
use super::suggest_opcode::suggestion;
use crate::cad::error::{ParseError, Truncated};
use crate::cad::json::extra_values::{self, Position};
use crate::cad::model::ir::{Arc, Document, Extra, Node, Op, Root, Sections, Segment};
use crate::cad::model::number;
use crate::cad::model::operations::{FieldKind, OpCode, OpSpec};
use crate::interrupt::polled;
use crate::memory;
use std::borrow::Cow;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};

/// The dialect of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum Dialect {
    /// The dialect that the header names; 0.1 without a header.
    #[default]
    Auto,
    /// Dialect 0.1, that of the specification.
    V0_1,
    /// Dialect 0.2, which is lossless.
    V0_2,
}

/// Reads a whole text.
///
/// # Errors
/// As [`read_bytes`].
pub fn read_text(text: &str, dialect: Dialect) -> Result<Document<'_>, ParseError> {
    read_bytes(text.as_bytes(), dialect)
}

/// Reads a whole text from bytes. Invalid UTF-8 is an error of the line that contains it.
///
/// # Errors
/// [`ParseError`] at the first line that is invalid.
pub fn read_bytes(bytes: &[u8], dialect: Dialect) -> Result<Document<'_>, ParseError> {
    let (nodes, reader) = read_lines(bytes, dialect)?;
    reader.finish(nodes, true)
}

/// Reads all lines of a text. Returns the nodes, and the reader, whose `finish` the caller calls.
pub(crate) fn read_lines(
    bytes: &[u8],
    dialect: Dialect,
) -> Result<(Vec<Node<'_>>, Reader), ParseError> {
    let mut nodes = Vec::new();
    // An estimate: one node per 24 bytes. If the text has more nodes, or there is not enough memory for
    // the estimate, the list grows as needed.
    let _ = nodes.try_reserve(bytes.len() / 24);
    let reader = each_node(bytes, dialect, |_, node| {
        memory::push(&mut nodes, node);
        Ok::<_, ParseError>(())
    })?;
    Ok((nodes, reader))
}

/// Reads all lines of a text, and passes each node to `take` with the reader after its last line.
pub(crate) fn each_node<'a, E: From<ParseError>>(
    bytes: &'a [u8],
    dialect: Dialect,
    mut take: impl FnMut(&Reader, Node<'a>) -> Result<(), E>,
) -> Result<Reader, E> {
    let bytes = bytes.strip_prefix(BOM).unwrap_or(bytes);
    let (text, is_invalid) = match crate::text::from_utf8(bytes) {
        Ok(text) => (text, false),
        Err(error) => (std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or(""), true),
    };
    let mut reader = Reader::new(dialect, memchr::memchr(b'$', bytes).is_some());
    let mut start = 0;
    for end in polled(memchr::memchr_iter(b'\n', text.as_bytes())) {
        if let Some(node) = reader.line(&text[start..end])? {
            take(&reader, node)?;
        }
        start = end + 1;
    }
    let last = &text[start..];
    if is_invalid {
        return Err(reader.not_utf8(last).into());
    }
    if let Some(node) = reader.line(last)? {
        take(&reader, node)?;
    }
    Ok(reader)
}

pub(crate) const BOM: &[u8] = "\u{feff}".as_bytes();

/// The kind of a node, which the reader keeps to check references to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NodeKind {
    Op(OpCode),
    /// A node whose line has an error. Only `check` continues after an error.
    Unknown,
}

/// The node that has a quoted name, or two nodes that have the same.
#[derive(Debug, Clone, Copy)]
enum NameTarget {
    Unique(usize),
    Ambiguous(usize, usize),
}

/// A sketch before its `END`.
#[derive(Debug)]
pub(crate) struct OpenSketch {
    pub(crate) op: Op<'static>,
    pub(crate) name: Option<Cow<'static, str>>,
    /// The line and column of its `SK`.
    pub(crate) place: (usize, usize),
}

/// Reads a text line by line.
#[derive(Debug)]
pub(crate) struct Reader {
    /// Whether the dialect is 0.2; `None` before the first line that is not blank.
    pub(crate) v0_2: Option<bool>,
    /// The number of the current line, from 1.
    pub(crate) line_number: usize,
    pub(crate) tokens: Vec<Token>,
    pub(crate) node_kinds: Vec<NodeKind>,
    pub(crate) labels: HashMap<Box<str>, usize>,
    names: HashMap<Box<str>, NameTarget>,
    track_names: bool,
    pub(crate) sketch: Option<OpenSketch>,
    pub(crate) ids: IdRanges,
    pub(crate) sections: Sections,
    pub(crate) first_material: Option<String>,
    pub(crate) root_lines: RootLines,
    pub(crate) first_lines: FirstLines,
    /// The values of `XF` lines, with the position of each pointer.
    pub(crate) extra: VecDeque<(Position, Extra)>,
}

/// The line number of each directive that is allowed only once, by opcode.
pub(crate) type FirstLines = HashMap<&'static str, usize>;

/// Which `ROOT` lines the text has so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RootLines {
    Absent,
    Listed,
    /// `ROOT _`.
    ExplicitNone,
}

impl Reader {
    /// Creates a reader. Without `track_names`, `$name` does not resolve quoted names.
    pub(crate) fn new(dialect: Dialect, track_names: bool) -> Self {
        Self {
            v0_2: match dialect {
                Dialect::Auto => None,
                Dialect::V0_1 => Some(false),
                Dialect::V0_2 => Some(true),
            },
            line_number: 0,
            tokens: Vec::new(),
            node_kinds: Vec::new(),
            labels: HashMap::new(),
            names: HashMap::new(),
            track_names,
            sketch: None,
            ids: IdRanges::default(),
            sections: Sections::default(),
            first_material: None,
            root_lines: RootLines::Absent,
            first_lines: FirstLines::default(),
            extra: VecDeque::new(),
        }
    }

    /// Reads the next line, without its LF. Returns the node that the line completes, if any.
    pub(crate) fn line<'l>(&mut self, text: &'l str) -> Result<Option<Node<'l>>, ParseError> {
        self.line_number += 1;
        let mut tokens = std::mem::take(&mut self.tokens);
        let node = self.tokenize(text, &mut tokens).and_then(|()| {
            let line = Line { text, tokens: &tokens };
            if self.sketch.is_some() { self.segment(line) } else { self.statement(line) }
        });
        self.tokens = tokens;
        node.map_err(|error| parse_error(self.line_number, text, error))
    }

    pub(crate) fn tokenize(
        &mut self,
        text: &str,
        tokens: &mut Vec<Token>,
    ) -> Result<(), LineError> {
        if self.v0_2.is_none() && !text.trim().is_empty() {
            self.v0_2 = Some(header(text)?.unwrap_or(false));
        }
        if self.v0_2 == Some(true) {
            return lex::split_v0_2(text, tokens);
        }
        lex::split_v0_1(text, tokens);
        Ok(())
    }

    /// The error of a line with invalid UTF-8 after `text`.
    #[cold]
    pub(crate) fn not_utf8(&self, text: &str) -> ParseError {
        parse_error(self.line_number + 1, text, LineError::new(text.len(), "invalid UTF-8"))
    }

    pub(crate) fn is_v0_2(&self) -> bool {
        self.v0_2 == Some(true)
    }

    /// Reads a line inside a sketch.
    fn segment<'l>(&mut self, line: Line<'_, '_>) -> Result<Option<Node<'l>>, LineError> {
        let Some((&first, args)) = line.tokens.split_first() else {
            return Ok(None);
        };
        let opcode = if first.form == Form::Word { line.raw(first) } else { "" };
        match opcode {
            "L" => count(line, first, args, &[4])?,
            "A" => count(line, first, args, &[7])?,
            "END" => {
                count(line, first, args, &[0])?;
                return Ok(self.close_sketch());
            }
            _ => {
                let shown = line.content(first);
                let message = format!("expected L, A or END in sketch, got {}", Truncated(&shown));
                let suggestion = suggestion(&shown).filter(|&op| is_segment(op));
                return Err(LineError { suggestion, ..LineError::new(first.start, message) });
            }
        }
        let point = |at| Ok::<_, LineError>([number(line, args[at])?, number(line, args[at + 1])?]);
        let (start, end) = (point(0)?, point(2)?);
        let arc = match opcode {
            "A" => Some(Arc { center: point(4)?, ccw: flag(line, args[6])? }),
            _ => None,
        };
        if let Some(sketch) = &mut self.sketch {
            memory::push(&mut sketch.op.details_mut().segments, Segment { start, end, arc });
        }
        Ok(None)
    }

    /// Ends the open sketch and returns its node.
    pub(crate) fn close_sketch<'l>(&mut self) -> Option<Node<'l>> {
        let sketch = self.sketch.take()?;
        // The node was counted when the sketch began.
        let id = self.ids.get(self.node_kinds.len() - 1)?;
        Some(Node { id, name: sketch.name, op: sketch.op })
    }

    /// Reads a line outside a sketch.
    fn statement<'l>(&mut self, line: Line<'l, '_>) -> Result<Option<Node<'l>>, LineError> {
        let Some((&first, rest)) = line.tokens.split_first() else {
            return Ok(None);
        };
        let (label, opcode, args) = match line.raw(first) {
            raw if first.form == Form::Word && raw.starts_with('$') => {
                self.label(line, first, rest)?;
                (Some(&raw[1..]), rest[1], &rest[2..])
            }
            _ => (None, first, rest),
        };
        let word = if opcode.form == Form::Word { line.raw(opcode) } else { "" };
        match OpCode::from_opcode(word) {
            Some(code) if code.spec().in_v0_1 || self.is_v0_2() => {
                return self.node(line, code.spec(), opcode, args, label);
            }
            _ => {}
        }
        match Directive::from_opcode(word) {
            Some(found) if self.is_v0_2() || found.kind == DirectiveKind::MaterialHeader => {
                if label.is_some() {
                    let message = format!("only a node can be named, got {word}");
                    return Err(LineError::new(opcode.start, message));
                }
                self.directive(line, found, opcode, args)?;
                Ok(None)
            }
            _ => Err(self.unknown(line, opcode)),
        }
    }

    /// Checks the label of `$name = op`, without defining it.
    fn label(&self, line: Line<'_, '_>, first: Token, rest: &[Token]) -> Result<(), LineError> {
        let raw = line.raw(first);
        let fail = |message: String| Err(LineError::new(first.start, message));
        if !is_name(&raw[1..]) {
            return fail(format!("invalid name \"{}\"", Truncated(raw)));
        }
        if let Some(node) = self.labels.get(&raw[1..]) {
            return fail(format!("name {} is already defined (node {node})", Truncated(raw)));
        }
        match rest {
            [equals, ..] if !line.is(*equals, "=") => {
                Err(LineError::new(equals.start, format!("expected = after {}", Truncated(raw))))
            }
            [] => fail(format!("expected = after {}", Truncated(raw))),
            [_] => fail(format!("expected an opcode after {} =", Truncated(raw))),
            _ => Ok(()),
        }
    }

    #[cold]
    fn unknown(&self, line: Line<'_, '_>, opcode: Token) -> LineError {
        let shown = line.content(opcode);
        if opcode.form == Form::Word && is_segment(&shown) {
            return LineError::new(
                opcode.start,
                format!("{shown} is only allowed inside a sketch"),
            );
        }
        let known =
            OpCode::from_opcode(&shown).is_some() || Directive::from_opcode(&shown).is_some();
        if known && !self.is_v0_2() && shown != EXTRA {
            let message =
                format!("unknown opcode {shown} in dialect 0.1 (add the header \"# vcad 0.2\")");
            return LineError::new(opcode.start, message);
        }
        let suggestion = suggestion(&shown).filter(|&op| op != EXTRA);
        LineError {
            suggestion,
            ..LineError::new(opcode.start, format!("unknown opcode {}", Truncated(&shown)))
        }
    }

    /// Reads a geometry line. Returns its node, or `None` if the line begins a sketch.
    fn node<'l>(
        &mut self,
        line: Line<'l, '_>,
        spec: &'static OpSpec,
        opcode: Token,
        args: &[Token],
        label: Option<&'l str>,
    ) -> Result<Option<Node<'l>>, LineError> {
        // The common case: words only, and an operation without attributes.
        let plain = args.iter().all(|token| token.form == Form::Word) && spec.options.is_empty();
        let mut annotations = if plain || !self.is_v0_2() {
            NodeAnnotations::default()
        } else {
            NodeAnnotations::parse(line, spec, opcode, args)?
        };
        let args = if annotations.separated { &*annotations.args } else { args };
        let counts = [spec.min_args, spec.max_args];
        let counts = if counts[0] == counts[1] { &counts[..1] } else { &counts };
        count(line, opcode, args, counts)?;
        let mut op = self.arguments(line, spec, args)?;
        annotations.apply_options(line, spec, &mut op)?;
        let name = annotations.name.take().or(label.map(Cow::Borrowed));
        if let Some(label) = label {
            memory::require(self.labels.try_reserve(1));
            self.labels.insert(label.into(), self.node_kinds.len());
        }
        if annotations.named {
            self.register(name.as_deref());
        }
        memory::push(&mut self.node_kinds, NodeKind::Op(spec.code));
        if spec.code == OpCode::Sketch2D {
            let place = (self.line_number, column(line.text, opcode.start));
            let Node { op, name, .. } = Node { id: 0, name, op }.into_owned();
            self.sketch = Some(OpenSketch { op, name, place });
            return Ok(None);
        }
        Ok(self.ids.get(self.node_kinds.len() - 1).map(|id| Node { id, name, op }))
    }

    /// Records the quoted name of the next node, if `$name` can refer to it.
    fn register(&mut self, name: Option<&str>) {
        let Some(name) = name.filter(|name| self.track_names && is_name(name)) else {
            return;
        };
        let node = self.node_kinds.len();
        memory::require(self.names.try_reserve(1));
        match self.names.entry(name.into()) {
            Entry::Vacant(entry) => {
                entry.insert(NameTarget::Unique(node));
            }
            Entry::Occupied(mut entry) => {
                if let NameTarget::Unique(first) = *entry.get() {
                    entry.insert(NameTarget::Ambiguous(first, node));
                }
            }
        }
    }

    #[inline]
    fn arguments<'l>(
        &self,
        line: Line<'l, '_>,
        spec: &'static OpSpec,
        args: &[Token],
    ) -> Result<Op<'l>, LineError> {
        let mut op = Op::new(spec.code);
        let mut args = args.iter().copied();
        let mut next = || args.next().unwrap_or_default();
        for field in spec.args {
            match field.kind {
                FieldKind::Number => op.numbers[field.at] = number(line, next())?,
                FieldKind::Vector => {
                    for slot in &mut op.numbers[field.at..field.at + 3] {
                        *slot = number(line, next())?;
                    }
                }
                FieldKind::Count => op.count = integer(line, next())?,
                FieldKind::Segments => match args.next() {
                    None => break,
                    Some(token) => {
                        op.count = integer(line, token)?;
                        break;
                    }
                },
                FieldKind::Solid => {
                    op.refs[field.at] = self.reference(line, next(), spec, false)?;
                }
                FieldKind::Profile => {
                    op.refs[field.at] = self.reference(line, next(), spec, true)?;
                }
                FieldKind::Text => op.details_mut().texts[field.at] = string(line, next())?,
            }
        }
        Ok(op)
    }

    /// Parses a reference and checks that the node is a profile or a solid, as required.
    #[inline]
    fn reference(
        &self,
        line: Line<'_, '_>,
        token: Token,
        spec: &OpSpec,
        profile: bool,
    ) -> Result<usize, LineError> {
        let node = self.any_reference(line, token)?;
        match self.node_kinds[node] {
            NodeKind::Op(code) if code.is_profile() != profile => {
                let wanted = if profile { "sketch" } else { "solid" };
                let message = format!(
                    "{} expects a {wanted} but node {node} is {}",
                    spec.opcode,
                    code.name()
                );
                Err(LineError::new(token.start, message))
            }
            _ => Ok(node),
        }
    }

    /// Parses a reference to any earlier node.
    #[inline]
    pub(crate) fn any_reference(
        &self,
        line: Line<'_, '_>,
        token: Token,
    ) -> Result<usize, LineError> {
        let raw = line.raw(token);
        if token.form == Form::Word {
            match number::parse_u64(raw) {
                Ok(Some(node)) if node < self.node_kinds.len() as u64 => {
                    #[expect(clippy::cast_possible_truncation, reason = "compared with a usize")]
                    return Ok(node as usize);
                }
                Ok(_) => return Err(self.node_not_defined(raw, token)),
                Err(_) if raw.strip_prefix('$').is_some_and(is_name) => {
                    return self.named(raw, token);
                }
                Err(_) => {}
            }
        }
        let shown = line.content(token);
        Err(LineError::new(
            token.start,
            format!("invalid node reference \"{}\"", Truncated(&shown)),
        ))
    }

    #[cold]
    fn node_not_defined(&self, raw: &str, token: Token) -> LineError {
        let digits = match raw.trim_start_matches('0') {
            "" => "0",
            digits => digits,
        };
        let count = self.node_kinds.len();
        let message =
            format!("node {} referenced but only {count} nodes defined", Truncated(digits));
        LineError::new(token.start, message)
    }

    fn named(&self, raw: &str, token: Token) -> Result<usize, LineError> {
        if let Some(&node) = self.labels.get(&raw[1..]) {
            return Ok(node);
        }
        let shown = Truncated(raw);
        let message = match self.names.get(&raw[1..]) {
            Some(&NameTarget::Unique(node)) => return Ok(node),
            Some(NameTarget::Ambiguous(a, b)) => {
                format!("name {shown} is ambiguous (nodes {a} and {b})")
            }
            None => format!("name {shown} is not defined"),
        };
        Err(LineError::new(token.start, message))
    }

    /// Checks at the end of the text that no sketch is open and `IDS` lists all nodes.
    pub(crate) fn check_end(&self) -> Result<(), ParseError> {
        let at = |(line, column), message| ParseError { line, column, message, suggestion: None };
        if let Some(sketch) = &self.sketch {
            return Err(at(sketch.place, "sketch has no END".to_owned()));
        }
        match self.ids.mismatch(self.node_kinds.len()) {
            Some((place, message)) => Err(at(place, message)),
            None => Ok(()),
        }
    }

    /// Returns the document with these nodes. With `default_root`, a text without `ROOT` gets the
    /// default root and material.
    pub(crate) fn finish(
        self,
        nodes: Vec<Node<'_>>,
        default_root: bool,
    ) -> Result<Document<'_>, ParseError> {
        let (document, places) = self.finish_unchecked(nodes, default_root)?;
        extra_values::check_pointers(&document, &places)?;
        Ok(document)
    }

    /// Like [`Self::finish`], without checking pointers; returns their positions.
    pub(crate) fn finish_unchecked(
        mut self,
        nodes: Vec<Node<'_>>,
        default_root: bool,
    ) -> Result<(Document<'_>, Vec<Position>), ParseError> {
        let (places, extra) = std::mem::take(&mut self.extra).into_iter().unzip();
        let sections = self.finish_sections(default_root)?;
        Ok((Document { nodes, sections, extra }, places))
    }

    /// Returns everything but the nodes.
    pub(crate) fn finish_sections(mut self, default_root: bool) -> Result<Sections, ParseError> {
        self.check_end()?;
        if default_root && self.root_lines == RootLines::Absent && !self.node_kinds.is_empty() {
            let material = self.first_material.take().unwrap_or_else(|| "default".to_owned());
            if self.is_v0_2() && self.sections.materials.is_empty() {
                let fallback = crate::cad::model::ir::Material::fallback();
                self.sections.materials.insert(material.clone(), fallback);
            }
            let node = self.node_kinds.len() - 1;
            self.sections.roots.push(Root { node, material, visible: None });
        }
        Ok(self.sections)
    }
}

pub(crate) fn is_segment(opcode: &str) -> bool {
    matches!(opcode, "L" | "A" | "END")
}

/// Parses the header. Returns whether it selects dialect 0.2, or `None` if the line is not a
/// header.
fn header(line: &str) -> Result<Option<bool>, LineError> {
    let trimmed = line.trim();
    let at = line.len() - line.trim_start().len();
    let Some(rest) = trimmed.strip_prefix('#') else { return Ok(None) };
    let mut words = rest.split_whitespace();
    if words.next() != Some("vcad") {
        return Ok(None);
    }
    let Some(version) = words.next().filter(|word| word.starts_with(|c: char| c.is_ascii_digit()))
    else {
        return Ok(None);
    };
    let extension = words.next();
    let is_extension = |word: &str| {
        word.strip_prefix('x')
            .is_some_and(|n| !n.is_empty() && n.bytes().all(|c| c.is_ascii_digit()))
    };
    if words.next().is_some() || extension.is_some_and(|word| !is_extension(word)) {
        return Ok(None);
    }
    match (version, extension) {
        ("0.1", None) => Ok(Some(false)),
        ("0.2", None | Some("x1")) => Ok(Some(true)),
        (version, None) => {
            Err(LineError::new(at, format!("unsupported version {}", Truncated(version))))
        }
        (version, Some(extension)) => {
            let (version, extension) = (Truncated(version), Truncated(extension));
            Err(LineError::new(at, format!("unsupported version {version} {extension}")))
        }
    }
}

/// Returns the column of a byte offset, from 1 in code points.
pub(crate) fn column(line: &str, at: usize) -> usize {
    line[..at].chars().count() + 1
}

#[cold]
fn parse_error(line_number: usize, line: &str, error: LineError) -> ParseError {
    ParseError {
        line: line_number,
        column: column(line, error.at),
        message: error.message.into_owned(),
        suggestion: error.suggestion,
    }
}
