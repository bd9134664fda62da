//! Writes a document as compact text. CAD IR "Format Specification".
//!
//! Dialect 0.1 holds only the shape. Writing it fails if the shape would change, unless the caller
//! allows that. Dialect 0.2 holds every document.

use super::id_ranges;
use super::losses::refuse_losses;
use crate::cad::error::DocumentError;
use crate::cad::model::ir::{Document, Extra, Node, Op, Scene, Sections};
use crate::cad::model::kinds::ALIGNMENTS;
use crate::cad::model::number;
use crate::cad::model::operations::{FieldKind, OpCode};
use crate::cad::model::writing_order::{dependents, order};
use crate::interrupt::polled;
use crate::json::{Escape, write_in_order};

/// The options for writing dialect 0.1.
///
/// ```
/// use compactwire::cad::{self, Dialect, Options};
///
/// let document = cad::read_text("# vcad 0.2\nC 50 30 5 \"plate\"", Dialect::Auto).unwrap();
/// let text = cad::write_v0_1(&document, Options { names: true, lossy: false }).unwrap();
/// assert_eq!(text, "C 50 30 5 # plate");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Write names as comments.
    pub names: bool,
    /// Write the document even if its shape changes.
    pub lossy: bool,
}

/// Writes dialect 0.1, without a final newline.
///
/// # Errors
/// [`DocumentError`] for nodes that refer to each other in a cycle and, unless `lossy`, for the first
/// value that this dialect cannot hold.
pub fn write_v0_1(document: &Document<'_>, options: Options) -> Result<String, DocumentError> {
    let nodes = &document.nodes;
    let root = document.sections.roots.last().map(|root| root.node);
    let dropped = match root {
        Some(root) if options.lossy => dependents(nodes, root)?,
        _ => Vec::new(),
    };
    let order = order(nodes, |node| dropped.get(node) == Some(&true), root)?;
    if !options.lossy {
        refuse_losses(document, &order)?;
    }
    let mut writer = Writer::new(nodes.len(), &order);
    for &node in polled(&order) {
        writer.node_v0_1(&nodes[node], options.names);
    }
    Ok(writer.out)
}

/// Writes dialect 0.2, without a final newline. It can hold every document.
///
/// # Errors
/// [`DocumentError`] for nodes that refer to each other in a cycle.
pub fn write_v0_2(document: &Document<'_>) -> Result<String, DocumentError> {
    let order = order(&document.nodes, |_| false, None)?;
    Ok(Writer::new(document.nodes.len(), &order).document(document, &order))
}

/// Writes a document that needs no extension, for a reader that supports only the escapes `\"` and `\\`.
pub(crate) fn write_reduced(document: &Document<'_>) -> Result<String, DocumentError> {
    let order = order(&document.nodes, |_| false, None)?;
    let mut writer = Writer::new(document.nodes.len(), &order);
    writer.escape_controls = false;
    let text = writer.document(document, &order);
    debug_assert!(!text.starts_with("# vcad 0.2 x1"), "{text}");
    Ok(text)
}

/// Writes the text of a hybrid document: header, `IDS` and geometry.
pub(crate) fn write_geometry(document: &Document<'_>) -> Result<String, DocumentError> {
    document.refuse_extra("a hybrid")?;
    let order = order(&document.nodes, |_| false, None)?;
    let mut writer = Writer::new(document.nodes.len(), &order);
    writer.geometry(document, &order);
    Ok(writer.finish())
}

/// Writes the lines of a scene, without a header.
pub(crate) fn write_scene(scene: &Scene) -> String {
    let mut writer = Writer::new(0, &[]);
    writer.scene(scene);
    writer.out
}

pub(crate) struct Writer {
    pub(crate) out: String,
    /// The position of each node in writing order; empty if that is its index.
    positions: Vec<usize>,
    /// Whether the text uses extension x1.
    pub(crate) extended: bool,
    /// Whether line breaks and tabs in strings are escaped.
    escape_controls: bool,
}

impl Writer {
    pub(crate) fn new(nodes: usize, order: &[usize]) -> Self {
        let mut positions = Vec::new();
        if order.iter().zip(0..).any(|(&node, place)| node != place) {
            positions.resize(nodes, 0);
            for (place, &node) in order.iter().enumerate() {
                positions[node] = place;
            }
        }
        Self {
            out: String::with_capacity(order.len() * 16),
            positions,
            extended: false,
            escape_controls: true,
        }
    }

    pub(crate) fn finish(self) -> String {
        let header = if self.extended { "# vcad 0.2 x1" } else { "# vcad 0.2" };
        match self.out.as_str() {
            "" => header.to_owned(),
            lines => format!("{header}\n{lines}"),
        }
    }

    /// Writes all lines of dialect 0.2.
    fn document(mut self, document: &Document<'_>, order: &[usize]) -> String {
        self.opening(&document.sections);
        self.geometry(document, order);
        self.closing(&document.sections, document.nodes.is_empty());
        for extra in polled(&document.extra) {
            self.extra(extra);
        }
        self.finish()
    }

    /// Writes what comes after the nodes.
    pub(crate) fn closing(&mut self, sections: &Sections, no_nodes: bool) {
        self.roots(sections, no_nodes);
        self.assembly(sections);
        if let Some(scene) = &sections.scene {
            self.scene(scene);
        }
    }

    /// Adds lines that are written already.
    pub(crate) fn lines(&mut self, lines: &str) {
        if !lines.is_empty() {
            self.line(lines);
        }
    }

    /// Begins a line with its opcode.
    pub(crate) fn line(&mut self, opcode: &str) {
        if !self.out.is_empty() {
            self.out.push('\n');
        }
        self.out.push_str(opcode);
    }

    pub(crate) fn word(&mut self, word: &str) {
        self.out.push(' ');
        self.out.push_str(word);
    }

    pub(crate) fn integer(&mut self, n: u64) {
        self.word(itoa::Buffer::new().format(n));
    }

    pub(crate) fn number(&mut self, x: f64) {
        self.out.push(' ');
        number::write(&mut self.out, x);
    }

    pub(crate) fn numbers(&mut self, numbers: &[f64]) {
        for &x in numbers {
            self.number(x);
        }
    }

    /// Writes ` key=` and the number, if it is present.
    pub(crate) fn attribute(&mut self, key: &str, x: Option<f64>) {
        let Some(x) = x else { return };
        self.extended = true;
        self.key(key);
        number::write(&mut self.out, x);
    }

    pub(crate) fn key(&mut self, key: &str) {
        self.word(key);
        self.out.push('=');
    }

    /// Writes a space and the string in quotes.
    pub(crate) fn quoted(&mut self, text: &str) {
        self.out.push(' ');
        self.push_quoted(text);
    }

    pub(crate) fn push_quoted(&mut self, text: &str) {
        self.out.push('"');
        for c in text.chars() {
            match c {
                '\\' => self.out.push_str("\\\\"),
                '"' => self.out.push_str("\\\""),
                '\n' if self.escape_controls => self.out.push_str("\\n"),
                '\r' if self.escape_controls => self.out.push_str("\\r"),
                '\t' if self.escape_controls => self.out.push_str("\\t"),
                c => self.out.push(c),
            }
        }
        self.out.push('"');
    }

    /// Writes an id, bare if it is read back as the same id.
    pub(crate) fn id(&mut self, id: &str) {
        if is_bare(id) { self.word(id) } else { self.quoted(id) }
    }

    /// Writes a bare `_`, which belongs to extension x1.
    pub(crate) fn underscore(&mut self) {
        self.extended = true;
        self.word("_");
    }

    pub(crate) fn number_or_underscore(&mut self, x: Option<f64>) {
        match x {
            Some(x) => self.number(x),
            None => self.underscore(),
        }
    }

    pub(crate) fn quoted_or_underscore(&mut self, text: Option<&String>) {
        match text {
            Some(text) => self.quoted(text),
            None => self.underscore(),
        }
    }

    pub(crate) fn node_position(&mut self, node: usize) {
        self.integer(self.positions.get(node).copied().unwrap_or(node) as u64);
    }

    pub(crate) fn have(&mut self, what: &str) {
        self.extended = true;
        self.line("HAVE");
        self.word(what);
    }

    /// Writes the arguments of an operation in the order of the table. `segments` says whether a number
    /// of segments belongs to extension x1.
    fn arguments(&mut self, op: &Op<'_>, segments: bool) {
        for field in op.code.spec().args {
            match field.kind {
                FieldKind::Number => self.number(op.numbers[field.at]),
                FieldKind::Vector => self.numbers(&op.numbers[field.at..field.at + 3]),
                FieldKind::Count => self.integer(op.count.into()),
                FieldKind::Segments if op.count == 0 => {}
                FieldKind::Segments => {
                    self.extended |= segments;
                    self.integer(op.count.into());
                }
                FieldKind::Solid | FieldKind::Profile => self.node_position(op.refs[field.at]),
                FieldKind::Text => self.quoted(op.text(field.at)),
            }
        }
    }

    fn outline(&mut self, op: &Op<'_>) {
        for segment in op.segments() {
            self.line(if segment.arc.is_some() { "A" } else { "L" });
            self.numbers(&segment.start);
            self.numbers(&segment.end);
            if let Some(arc) = segment.arc {
                self.numbers(&arc.center);
                self.integer(arc.ccw.into());
            }
        }
        self.line("END");
    }

    /// Writes a node in dialect 0.1.
    pub(crate) fn node_v0_1(&mut self, node: &Node<'_>, names: bool) {
        let op = &node.op;
        match op.code {
            OpCode::Empty | OpCode::StepImport => self.line("C 0 0 0"),
            OpCode::Fillet | OpCode::Chamfer => {
                self.line("T");
                self.node_position(op.refs[0]);
                self.numbers(&[0.0; 3]);
            }
            OpCode::Text2D => {
                self.line("SK");
                self.numbers(&op.numbers[..9]);
            }
            _ => {
                self.line(op.code.spec().opcode);
                self.arguments(op, false);
            }
        }
        if let Some(name) = node.name.as_deref().filter(|_| names) {
            self.comment(name);
        }
        if op.code.is_profile() {
            self.outline(op);
        }
    }

    /// Writes a name as a comment, without control characters; nothing if the name is blank.
    fn comment(&mut self, name: &str) {
        let control =
            |c: char| matches!(c, '\0'..='\u{1f}' | '\u{7f}' | '\u{85}' | '\u{2028}' | '\u{2029}');
        let clean: String = name.chars().map(|c| if control(c) { ' ' } else { c }).collect();
        let clean = clean.trim();
        if !clean.is_empty() {
            self.word("# ");
            self.out.push_str(clean);
        }
    }

    fn geometry(&mut self, document: &Document<'_>, order: &[usize]) {
        if let Some(ids) = id_ranges::write(order.iter().map(|&node| document.nodes[node].id)) {
            self.extended = true;
            self.line("IDS");
            self.word(&ids);
        }
        for &node in polled(order) {
            self.node_v0_2(&document.nodes[node]);
        }
    }

    /// Writes a node in dialect 0.2.
    pub(crate) fn node_v0_2(&mut self, node: &Node<'_>) {
        let op = &node.op;
        self.extended |= matches!(op.code, OpCode::Empty | OpCode::Text2D | OpCode::StepImport);
        self.line(op.code.spec().opcode);
        self.arguments(op, true);
        if op.align() != crate::cad::model::ir::Align::Left {
            self.key("align");
            self.out.push_str(ALIGNMENTS[op.align() as usize]);
        }
        for (option, value) in op.code.spec().options.iter().zip(op.options()) {
            self.attribute(option.attribute, value);
        }
        if let Some(name) = &node.name {
            self.quoted(name);
        }
        if op.code == OpCode::Sketch2D {
            self.outline(op);
        }
    }

    /// Writes `XF pointer json`.
    fn extra(&mut self, extra: &Extra) {
        self.extended = true;
        self.line("XF");
        let special = |c: char| c.is_whitespace() || matches!(c, '"' | '#' | '\\');
        if extra.pointer.is_empty() || extra.pointer.contains(special) {
            self.quoted(&extra.pointer);
        } else {
            self.word(&extra.pointer);
        }
        self.out.push(' ');
        write_in_order(&extra.value, Escape::Needed, &mut self.out);
    }
}

/// Whether an id is read back as itself without quotes, wherever ids are allowed.
pub(crate) fn is_bare(id: &str) -> bool {
    let special = |c: char| {
        c.is_whitespace() || matches!(c, '"' | '#' | '=' | '\\' | '\0'..='\u{1f}' | '\u{7f}')
    };
    !id.is_empty()
        && id != "_"
        && !id.starts_with(|c: char| c.is_ascii_digit())
        && !id.contains(special)
}
