//! Writes compact text while a document is read, without the document in between.
//!
//! Invariant: the text is the one that [`write_v0_1`](super::write_v0_1) or [`write_v0_2`](super::write_v0_2)
//! gives for the same document. Documents in another order than that of the text, and those with an error, are
//! left to them.

use super::losses::{assembly, uncarried};
use super::write::{Options, Writer};
use crate::cad::json::read::read_in_order;
use crate::walk::Source;

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cad::json::json_text::parse;
    use crate::cad::json::read_json;
    use crate::cad::text::{write_v0_1, write_v0_2};

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
