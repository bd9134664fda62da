//! Writes compact text while a document is read, and emits the document of a compact text while its lines are
//! read: both without the document in between.
//!
//! Invariant: the text is the one that [`write_v0_1`](super::write_v0_1) or [`write_v0_2`](super::write_v0_2)
//! gives for the same document, and the events are those of [`emit_document`](crate::cad::emit_document).
//! Documents in another order than that of the text, and those with an error, are left to them.

use super::losses::{assembly, uncarried};
use super::read::{Dialect, Reader, each_node};
use super::write::{Options, Writer};
use crate::cad::error::ParseError;
use crate::cad::json::emit::{emit_node, emit_sections, emit_version};
use crate::cad::json::read::read_in_order;
use crate::cad::model::ir::{Node, Sections};
use crate::walk::{Sink, Source};

/// Reads a document and writes it in dialect 0.1; `None` if [`read_json`](crate::cad::read_json) and
/// [`write_v0_1`](super::write_v0_1) must do that, or find the error.
pub fn write_v0_1_from<'a, S: Source<'a>>(source: S, options: Options) -> Option<String> {
    let Options { names, lossy } = options;
    let mut writer = Writer::new(0, &[]);
    let (sections, nodes) = read_in_order(source, lossy, |node| {
        let carried = lossy || uncarried(&node.op).is_none();
        if carried {
            writer.node_v0_1(node, names);
        }
        carried
    })?;
    let [root] = &*sections.roots else { return None };
    let carried = lossy || assembly(&sections, |length| length > 0).is_none();
    (carried && root.node + 1 == nodes).then_some(writer.out)
}

/// Reads a document and writes it in dialect 0.2; `None` if [`read_json`](crate::cad::read_json) and
/// [`write_v0_2`](super::write_v0_2) must do that, or find the error.
pub fn write_v0_2_from<'a, S: Source<'a>>(source: S, lossy: bool) -> Option<String> {
    let mut writer = Writer::new(0, &[]);
    let mut place = 0;
    let (sections, nodes) = read_in_order(source, lossy, |node| {
        let numbered = node.id == place;
        if numbered {
            writer.node_v0_2(node);
            place += 1;
        }
        numbered
    })?;
    // The lines before the nodes depend on what a document may have after them.
    let geometry = std::mem::take(&mut writer.out);
    writer.opening(&sections);
    writer.lines(&geometry);
    writer.closing(&sections, nodes == 0);
    Some(writer.finish())
}

/// Why a text is not emitted while it is read.
enum Stop<E> {
    /// It has an error, or is in another order than its document.
    NotInOrder,
    /// The error of the sink.
    Sink(E),
}

impl<E> From<ParseError> for Stop<E> {
    fn from(_: ParseError) -> Self {
        Self::NotInOrder
    }
}

/// Reads a text and emits its document. Returns `false`, after any of the events, if
/// [`read_bytes`](super::read_bytes) and [`emit_document`](crate::cad::emit_document) must do that, or find the
/// error.
///
/// # Errors
/// The error of the sink.
pub fn emit_text<S: Sink>(bytes: &[u8], dialect: Dialect, sink: &mut S) -> Result<bool, S::Error> {
    match emit_in_order(bytes, dialect, sink) {
        Ok(()) => Ok(true),
        Err(Stop::NotInOrder) => Ok(false),
        Err(Stop::Sink(error)) => Err(error),
    }
}

/// How many nodes are read before they are emitted: few enough to stay in the nearest cache of a processor, and
/// so many that reading and emitting do not push each other's code out of it.
const BATCH: usize = 128;

/// Emits the nodes of a text in batches.
struct Nodes<'a, 's, S> {
    sink: &'s mut S,
    batch: Vec<Node<'a>>,
    /// The id of the last node emitted.
    last: Option<u64>,
    /// The version emitted.
    version: Option<String>,
    digits: itoa::Buffer,
}

impl<S: Sink> Nodes<'_, '_, S> {
    fn flush(&mut self, reader: &Reader) -> Result<(), Stop<S::Error>> {
        if self.last.is_none() {
            self.version.clone_from(&reader.sections.version);
            self.begin(&reader.sections).map_err(Stop::Sink)?;
        }
        for node in &self.batch {
            if self.last >= Some(node.id) {
                return Err(Stop::NotInOrder);
            }
            self.last = Some(node.id);
            self.sink.key(self.digits.format(node.id)).map_err(Stop::Sink)?;
            emit_node(node, |node| reader.ids.id(node), self.sink).map_err(Stop::Sink)?;
        }
        self.batch.clear();
        Ok(())
    }

    /// Emits what is before the nodes.
    fn begin(&mut self, sections: &Sections) -> Result<(), S::Error> {
        self.sink.begin_object()?;
        emit_version(sections, self.sink)?;
        self.sink.key("nodes")?;
        self.sink.begin_object()
    }
}

fn emit_in_order<S: Sink>(
    bytes: &[u8],
    dialect: Dialect,
    sink: &mut S,
) -> Result<(), Stop<S::Error>> {
    let mut nodes =
        Nodes { sink, batch: Vec::new(), last: None, version: None, digits: itoa::Buffer::new() };
    let mut reader = each_node(bytes, dialect, |reader, node| {
        if nodes.batch.len() == BATCH {
            nodes.flush(reader)?;
        }
        nodes.batch.push(node);
        Ok::<_, Stop<S::Error>>(())
    })?;
    nodes.flush(&reader)?;
    let Nodes { sink, version, .. } = nodes;
    reader.check_end()?;
    let (ids, extra) = (std::mem::take(&mut reader.ids), reader.extra.len());
    let sections = reader.finish_sections(true)?;
    if version != sections.version || extra > 0 {
        return Err(Stop::NotInOrder);
    }
    sink.end_object().map_err(Stop::Sink)?;
    emit_sections(&sections, |node| ids.id(node), sink).map_err(Stop::Sink)?;
    sink.end_object().map_err(Stop::Sink)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cad::json::json_text::parse;
    use crate::cad::json::{emit_document, read_json};
    use crate::cad::text::{read_bytes, write_v0_1, write_v0_2};
    use crate::value::{Builder, Value};

    const STRICT: Options = Options { names: true, lossy: false };

    /// A document with these nodes and other members.
    fn document(nodes: &str, rest: &str) -> String {
        format!("{{\"nodes\": {{{nodes}}}{rest}}}")
    }

    #[test]
    fn a_document_in_order_has_the_text_that_is_written_from_the_whole() {
        let nodes = r#"
            "0": {"id": 0, "name": "a b", "op": {"type": "Empty"}},
            "1": {"op": {"segments": [], "y_dir": {"z": 0, "y": 1, "x": 0}, "type": "Sketch2D",
                "origin": {"x": 0, "y": 0, "z": 0.5}, "x_dir": {"x": 1, "y": 0, "z": 0}}, "id": 1},
            "2": {"op": {"type": "Extrude", "sketch": 1, "direction": {"x": 0, "y": 0, "z": 5}}},
            "3": {"op": {"type": "Union", "left": 0, "right": 2}}"#;
        let rest =
            r#", "version": "7", "materials": {}, "roots": [{"root": 3, "material": "steel"}]"#;
        let value = parse(&document(nodes, rest)).unwrap();
        let (whole, _) = read_json(&value, false).unwrap();
        let text = write_v0_1(&whole, STRICT).unwrap();
        assert_eq!(write_v0_1_from(&value, STRICT), Some(text));
        assert_eq!(write_v0_2_from(&value, false), Some(write_v0_2(&whole).unwrap()));
        let value = parse("{\"nodes\": {}}").unwrap();
        assert_eq!(write_v0_2_from(&value, false), Some("# vcad 0.2".to_owned()));
    }

    /// The value of the document, if it is emitted while the text is read.
    fn emitted(text: &str) -> Option<Value<'static>> {
        let mut builder = Builder::default();
        let Ok(complete) = emit_text(text.as_bytes(), Dialect::Auto, &mut builder);
        complete.then(|| builder.finish().unwrap())
    }

    #[test]
    fn a_text_in_order_has_the_events_of_its_document() {
        let many = format!("# vcad 0.2 x1\nIDS 5 7-900\nVER \"9\"\n{}", "C 1 2 3\n".repeat(895));
        for text in [
            "",
            "# vcad 0.2",
            "C 1 2.5 -3\nT 0 1 1 1\n",
            "$a = C 1 1 1\nSK 0 0 0 1 0 0 0 1 0\nL 0 0 1 1\nEND\nU $a $a\n",
            "# vcad 0.2\nC 1 1 1 \"a\"\nROOT 0 steel\n",
            &many,
        ] {
            let mut whole = Builder::default();
            let Ok(()) =
                emit_document(&read_bytes(text.as_bytes(), Dialect::Auto).unwrap(), &mut whole);
            assert_eq!(emitted(text), whole.finish(), "{text}");
        }
    }

    #[test]
    fn other_texts_are_left_to_the_other_reader() {
        let nodes = "C 1 1 1\n".repeat(BATCH + 1);
        for text in [
            "C 1 1".to_owned(),
            "# vcad 0.2\nIDS 1-2\nC 1 1 1".to_owned(),
            "SK 0 0 0 1 0 0 0 1 0".to_owned(),
            "# vcad 0.2\nIDS 2 1\nC 1 1 1\nC 1 1 1".to_owned(),
            format!("# vcad 0.2\nIDS {}-{} 1\n{nodes}", 2, BATCH + 1),
            format!("# vcad 0.2\n{nodes}VER \"9\""),
            "# vcad 0.2 x1\nC 1 1 1\nXF /more 1".to_owned(),
        ] {
            assert_eq!(emitted(&text), None, "{text}");
        }
    }

    #[test]
    fn other_documents_are_left_to_the_other_writers() {
        let [cube, root] =
            [r#""3": {"op": {"type": "Empty"}}"#, r#", "roots": [{"root": 3, "material": "m"}]"#];
        let both = |dialects: [bool; 2], nodes: &str, rest: &str| {
            let text = document(nodes, rest);
            let value = parse(&text).unwrap();
            let written = [
                write_v0_1_from(&value, STRICT).is_some(),
                write_v0_2_from(&value, false).is_some(),
            ];
            assert_eq!(written, dialects, "{text}");
        };
        both([true, false], cube, root);
        both([false, true], r#""0": {"op": {"type": "Empty"}}"#, "");
        both([false, false], cube, r#", "roots": [{"root": 3, "material": "m"}], "more": 1"#);
        both([false, false], cube, r#", "roots": [{"root": 4, "material": "m"}]"#);
        both([false, false], &format!(r#"{cube}, "4": {{"op": {{"type": "Empty"}}}}"#), root);
        let translated =
            r#""op": {"type": "Translate", "child": 3, "offset": {"x": 0, "y": 0, "z": 0}}"#;
        both([false, false], &format!(r#""2": {{{translated}}}, {cube}"#), root);
        both([false, false], &format!(r#""3": {{{translated}}}"#), root);
        let shell = r#""op": {"type": "Fillet", "child": 2, "radius": 1}"#;
        both(
            [false, false],
            &format!(r#""2": {{"op": {{"type": "Empty"}}}}, "3": {{{shell}}}"#),
            root,
        );
        let instances = r#", "instances": [{"id": "a", "partDefId": "b"}]"#;
        both([false, false], cube, &format!("{root}{instances}"));
        let extrude =
            r#""op": {"type": "Extrude", "sketch": 2, "direction": {"x": 0, "y": 0, "z": 5}}"#;
        both(
            [false, false],
            &format!(r#""2": {{"op": {{"type": "Empty"}}}}, "3": {{{extrude}}}"#),
            root,
        );
    }
}
