//! What models and people write instead of a document, new_nodes one: section 12.
//!
//! Only on demand, only what has one meaning, and every change is told. What stays wrong is the
//! reader's to refuse.

use crate::cad::error::{DocumentError, Truncated};
use crate::value::Value;
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

/// A change that was new_nodes: shown as errors are, but nothing is wrong any more.
pub type Repair = DocumentError;

type Object = Vec<(Cow<'static, str>, Value<'static>)>;

/// Fields that name a node.
const REFS: [&str; 4] = ["child", "left", "right", "sketch"];

/// In which section, as it is called before, and as it should be. Sections come before what is in them.
const NAMES: [(&str, &str, &str); 8] = [
    ("", "part_defs", "partDefs"),
    ("", "ground_instance_id", "groundInstanceId"),
    ("partDefs", "default_material", "defaultMaterial"),
    ("instances", "part_def_id", "partDefId"),
    ("joints", "parent_instance_id", "parentInstanceId"),
    ("joints", "child_instance_id", "childInstanceId"),
    ("joints", "parent_anchor", "parentAnchor"),
    ("joints", "child_anchor", "childAnchor"),
];

/// Repairs a JSON document, and says what was done.
pub fn repair(value: &mut Value<'static>) -> Vec<Repair> {
    let mut repairer = Repairer::default();
    if let Value::Object(document) = value {
        repairer.names(document);
        repairer.ids(document);
        repairer.references(document);
    }
    repairer.done
}

#[derive(Default)]
struct Repairer {
    done: Vec<Repair>,
    /// The ids of nodes whose keys were no ids.
    ids: HashMap<Cow<'static, str>, u64>,
}

impl Repairer {
    fn record(&mut self, path: impl Into<String>, what: impl Into<String>) {
        self.done.push(Repair::new(path, what));
    }

    /// Snake case becomes camel case.
    fn names(&mut self, document: &mut Object) {
        for (section, before, after) in NAMES {
            if section.is_empty() {
                self.rename(document, "document", before, after);
                continue;
            }
            match get(document, section) {
                Some(Value::Array(items)) => {
                    for (i, item) in items.iter_mut().enumerate() {
                        if let Value::Object(item) = item {
                            self.rename(item, &format!("{section}[{i}]"), before, after);
                        }
                    }
                }
                Some(Value::Object(items)) => {
                    for (key, item) in items {
                        if let Value::Object(item) = item {
                            let path = format!("{section} \"{}\"", Truncated(key));
                            self.rename(item, &path, before, after);
                        }
                    }
                }
                _ => {}
            }
        }
    }

    fn rename(
        &mut self,
        object: &mut Object,
        path: &str,
        before: &'static str,
        after: &'static str,
    ) {
        if get(object, after).is_some() {
            return;
        }
        if let Some((name, _)) = object.iter_mut().find(|(name, _)| name == before) {
            *name = after.into();
            self.record(path, format!("{before} is {after} now"));
        }
    }

    /// Keys and ids become numbers, and equal.
    fn ids(&mut self, document: &mut Object) {
        let numbered = highest_reference(document).is_some();
        let Some(Value::Object(nodes)) = get(document, "nodes") else { return };
        let all_named = nodes.iter().all(|(key, node)| is_called_by_name(key, node));
        if all_named && numbered {
            // A number means none of the names, and would mean a place once they are numbers.
            return;
        }
        for (key, node) in nodes.iter_mut() {
            let Value::Object(node) = node else { continue };
            if let Some(id) = get(node, "id") {
                self.number(id, || format!("node {}.id", Truncated(key)));
            }
        }
        if all_named {
            for (id, (key, node)) in (0..).zip(nodes) {
                self.record(format!("node {}", Truncated(key)), format!("its id is {id} now"));
                if let Some(slot) = object(node).and_then(|node| get(node, "id")) {
                    *slot = number(id);
                }
                self.ids.insert(std::mem::replace(key, id.to_string().into()), id);
            }
            return;
        }
        let ids: Vec<_> = nodes.iter_mut().map(|(_, node)| integer_id(node)).collect();
        let mut taken = HashSet::with_capacity(ids.len());
        let mut after = nodes.iter().zip(&ids).map(|((key, _), id)| match id {
            Some(id) => id.to_string().into(),
            None => key.clone(),
        });
        if !after.all(|key| taken.insert(key)) {
            // Which of two nodes an id means, nobody knows.
            return;
        }
        for ((key, _), id) in nodes.iter_mut().zip(ids) {
            let Some(id) = id.filter(|id| id.to_string() != **key) else { continue };
            self.record(format!("node {}", Truncated(key)), format!("its key is its id {id} now"));
            let before = std::mem::replace(key, id.to_string().into());
            if plain(&before).is_none() {
                self.ids.insert(before, id);
            }
        }
    }

    /// Whatever stands where a reference should: a number as a text, a name, or the node itself.
    fn references(&mut self, document: &mut Object) {
        let mut new_nodes = NewNodes { next: next_free(document), ops: Vec::new() };
        if let Some(Value::Object(nodes)) = get(document, "nodes") {
            for (key, node) in nodes {
                let Some(node) = object(node) else { continue };
                let Some(Value::Object(op)) = get(node, "op") else { continue };
                self.operation(op, key, &mut new_nodes);
            }
        }
        if let Some(Value::Array(roots)) = get(document, "roots") {
            for (i, root) in roots.iter_mut().enumerate() {
                self.root(root, || format!("roots[{i}].root"), &mut new_nodes);
            }
        }
        if let Some(Value::Object(parts)) = get(document, "partDefs") {
            for (key, part) in parts {
                self.root(part, || format!("partDefs \"{}\".root", Truncated(key)), &mut new_nodes);
            }
        }
        let mut at = 0;
        while let Some((id, op)) = new_nodes.ops.get_mut(at) {
            let (id, mut op) = (*id, std::mem::take(op));
            self.operation(&mut op, &id.to_string(), &mut new_nodes);
            new_nodes.ops[at].1 = op;
            at += 1;
        }
        if let Some(Value::Object(nodes)) = get(document, "nodes") {
            nodes.extend(new_nodes.ops.into_iter().map(|(id, op)| {
                let node = vec![("id".into(), number(id)), ("op".into(), Value::Object(op))];
                (id.to_string().into(), Value::Object(node))
            }));
        }
    }

    fn operation(&mut self, op: &mut Object, key: &str, new_nodes: &mut NewNodes) {
        for (name, value) in op {
            if REFS.contains(&&**name) {
                self.reference(value, || format!("node {}.{name}", Truncated(key)), new_nodes);
            }
        }
    }

    fn root(
        &mut self,
        shown: &mut Value<'static>,
        path: impl Fn() -> String,
        new_nodes: &mut NewNodes,
    ) {
        if let Some(root) = object(shown).and_then(|shown| get(shown, "root")) {
            self.reference(root, path, new_nodes);
        }
    }

    fn reference(
        &mut self,
        value: &mut Value<'static>,
        path: impl Fn() -> String,
        new_nodes: &mut NewNodes,
    ) {
        self.number(value, &path);
        match value {
            Value::String(text) => {
                let Some(&id) = self.ids.get(text) else { return };
                self.record(path(), format!("\"{}\" is {id} now", Truncated(text)));
                *value = number(id);
            }
            Value::Object(op) if op.iter().any(|(name, _)| name == "type") => {
                let Some(id) = new_nodes.next else { return };
                self.record(path(), format!("its operation is node {id} now"));
                new_nodes.ops.push((id, std::mem::take(op)));
                new_nodes.next = id.checked_add(1);
                *value = number(id);
            }
            _ => {}
        }
    }

    /// Digits in quotes become a number.
    fn number(&mut self, value: &mut Value<'static>, path: impl Fn() -> String) {
        if let Value::String(text) = value
            && let Some(id) = plain(text)
        {
            self.record(path(), format!("\"{id}\" is a number now"));
            *value = number(id);
        }
    }
}

/// The operations that stood in the place of references, as nodes of their own.
struct NewNodes {
    /// The next free id; `None` where no node can be added.
    next: Option<u64>,
    ops: Vec<(u64, Object)>,
}

/// The id of a new node: above all ids there are, and all that are spoken of, so that a reference to
/// nothing stays one. The nodes of a hybrid are its text, to which none can be added.
fn next_free(document: &mut Object) -> Option<u64> {
    if get(document, "compact").is_some_and(|compact| *compact != Value::Null) {
        return None;
    }
    let spoken = highest_reference(document);
    let Some(Value::Object(nodes)) = get(document, "nodes") else { return None };
    let highest = nodes.iter().filter_map(|(key, _)| plain(key)).max().max(spoken);
    highest.map_or(Some(0), |id| id.checked_add(1))
}

/// The highest number, in quotes or not, that stands where a reference should.
fn highest_reference(document: &mut Object) -> Option<u64> {
    let mut highest = None;
    if let Some(Value::Object(nodes)) = get(document, "nodes") {
        let ops = nodes.iter().filter_map(|(_, node)| node.get("op"));
        highest = ops.filter_map(highest_operand).max();
    }
    if let Some(Value::Array(roots)) = get(document, "roots") {
        let roots = roots.iter().filter_map(|root| root.get("root"));
        highest = highest.max(roots.filter_map(highest_in).max());
    }
    if let Some(Value::Object(parts)) = get(document, "partDefs") {
        let roots = parts.iter().filter_map(|(_, part)| part.get("root"));
        highest = highest.max(roots.filter_map(highest_in).max());
    }
    highest
}

/// Of a reference, or of the operation in its place: as deep as JSON may nest, and no deeper.
fn highest_in(reference: &Value<'_>) -> Option<u64> {
    match reference {
        Value::String(text) => plain(text),
        Value::Object(_) => highest_operand(reference),
        _ => natural(reference),
    }
}

fn highest_operand(op: &Value<'_>) -> Option<u64> {
    REFS.iter().filter_map(|name| op.get(name).and_then(highest_in)).max()
}

fn integer_id(node: &mut Value<'static>) -> Option<u64> {
    object(node).and_then(|node| get(node, "id")).and_then(|id| natural(id))
}

/// Whether a node's key and id are the same word that is no number.
fn is_called_by_name(key: &str, node: &Value<'_>) -> bool {
    let same = match node.get("id") {
        None | Some(Value::Null) => true,
        Some(Value::String(id)) => id == key,
        Some(_) => false,
    };
    // `01` and `+1` are no names, and no ids.
    let numeric = crate::cad::model::number::parse(key.trim())
        != Err(crate::cad::model::number::Fault::Invalid);
    same && node.as_object().is_some() && !numeric
}

fn get<'o>(object: &'o mut Object, name: &str) -> Option<&'o mut Value<'static>> {
    object.iter_mut().find(|(key, _)| key == name).map(|(_, value)| value)
}

fn object<'o>(value: &'o mut Value<'static>) -> Option<&'o mut Object> {
    match value {
        Value::Object(members) => Some(members),
        _ => None,
    }
}

/// An id in decimal, without leading zeros.
fn plain(text: &str) -> Option<u64> {
    let digits = text == "0" || !text.starts_with('0');
    crate::cad::model::number::parse_u64(text).ok().flatten().filter(|_| digits)
}

fn natural(value: &Value<'_>) -> Option<u64> {
    match value {
        Value::Int(n) => u64::try_from(*n).ok(),
        Value::BigInt(digits) => digits.parse().ok(),
        _ => None,
    }
}

fn number(id: u64) -> Value<'static> {
    i64::try_from(id).map_or_else(|_| Value::BigInt(id.to_string().into()), Value::Int)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repaired(json: &str) -> (String, Vec<String>) {
        let mut value = crate::json::parse(json, crate::json::Limits::default()).unwrap();
        let done = repair(&mut value).iter().map(ToString::to_string).collect();
        let mut out = String::new();
        crate::json::write_in_order(&value, crate::json::Escape::Needed, &mut out);
        (out, done)
    }

    #[test]
    fn numbers_in_quotes_become_numbers() {
        let (json, done) = repaired(
            r#"{"nodes":{"2":{"id":"2","op":{"child":"10"}},"3":{"op":{"path":"4","left":"07"}}}}"#,
        );
        assert_eq!(
            json,
            r#"{"nodes":{"2":{"id":2,"op":{"child":10}},"3":{"op":{"path":"4","left":"07"}}}}"#
        );
        assert_eq!(
            done,
            ["node 2.id: \"2\" is a number now", "node 2.child: \"10\" is a number now"]
        );
    }

    #[test]
    fn a_number_as_id_wins_over_the_key() {
        let (json, done) = repaired(
            r#"{"nodes":{"a":{"id":7,"op":{}},"1":{"id":"2","op":{"child":"a"}},"9":{}}}"#,
        );
        assert_eq!(
            json,
            r#"{"nodes":{"7":{"id":7,"op":{}},"2":{"id":2,"op":{"child":7}},"9":{}}}"#
        );
        assert_eq!(done.len(), 4, "{done:?}");
        assert_eq!(done[1], "node a: its key is its id 7 now");
    }

    #[test]
    fn ids_win_though_they_are_keys_of_other_nodes() {
        for (before, after) in [
            (
                r#"{"nodes":{"1":{"id":0},"2":{"id":1},"3":{"id":2}}}"#,
                r#"{"nodes":{"0":{"id":0},"1":{"id":1},"2":{"id":2}}}"#,
            ),
            (
                r#"{"nodes":{"0":{"id":1},"1":{"id":2},"2":{"id":3}}}"#,
                r#"{"nodes":{"1":{"id":1},"2":{"id":2},"3":{"id":3}}}"#,
            ),
            (
                r#"{"nodes":{"1":{"id":2},"2":{"id":1},"3":{}}}"#,
                r#"{"nodes":{"2":{"id":2},"1":{"id":1},"3":{}}}"#,
            ),
        ] {
            assert_eq!(repaired(before).0, after);
        }
    }

    #[test]
    fn an_id_of_two_nodes_wins_over_no_key() {
        for json in [
            r#"{"nodes":{"1":{"id":2},"2":{}}}"#,
            r#"{"nodes":{"a":{"id":7},"9":{"id":7},"1":{"id":3}}}"#,
        ] {
            assert_eq!(repaired(json), (json.to_owned(), Vec::new()));
        }
    }

    #[test]
    fn keys_of_digits_and_numbers_as_references_are_no_names() {
        for json in [
            r#"{"nodes":{"01":{},"02":{"op":{"child":"01"}}}}"#,
            r#"{"nodes":{" 1":{},"a":{}}}"#,
            r#"{"nodes":{"+3":{}}}"#,
            r#"{"nodes":{"2 ":{}}}"#,
            r#"{"nodes":{"a":{},"b":{"op":{"child":0}}}}"#,
            r#"{"nodes":{"a":{},"b":{"op":{"child":"0"}}}}"#,
            r#"{"nodes":{"a":{},"b":{"op":{"left":{"type":"T","child":1}}}}}"#,
            r#"{"nodes":{"a":{}},"roots":[{"root":0}]}"#,
            r#"{"nodes":{"a":{}},"partDefs":{"p":{"root":0}}}"#,
        ] {
            let (same, _) = repaired(json);
            let first_key = |json: &str| json.split('"').nth(3).map(str::to_owned);
            assert_eq!(first_key(&same), first_key(json));
        }
    }

    #[test]
    fn names_as_ids_become_numbers_in_the_order_of_the_document() {
        let (json, done) = repaired(
            r#"{"nodes":{"b":{"id":"b","op":{"child":"a"}},"a":{"op":{}}},"roots":[{"root":"b"}]}"#,
        );
        assert_eq!(
            json,
            r#"{"nodes":{"0":{"id":0,"op":{"child":1}},"1":{"op":{}}},"roots":[{"root":0}]}"#
        );
        assert_eq!(done.len(), 4, "{done:?}");
    }

    #[test]
    fn an_operation_in_place_of_a_reference_becomes_a_node() {
        let (json, done) = repaired(
            r#"{"nodes":{"4":{"op":{"child":{"type":"T","child":{"type":"C"}},"left":{}}}}}"#,
        );
        assert_eq!(
            json,
            r#"{"nodes":{"4":{"op":{"child":5,"left":{}}},"5":{"id":5,"op":{"type":"T","child":6}},"6":{"id":6,"op":{"type":"C"}}}}"#
        );
        assert_eq!(done[1], "node 5.child: its operation is node 6 now");
        let full = r#"{"nodes":{"18446744073709551615":{"op":{"child":{"type":"C"}}}}}"#;
        assert_eq!(repaired(full), (full.to_owned(), Vec::new()));
    }

    #[test]
    fn an_operation_in_place_of_a_reference_stays_where_no_node_can_be_added() {
        for json in [
            r#"{"compact":"S 1","roots":[{"root":{"type":"Empty"}}]}"#,
            r#"{"compact":"S 1","nodes":{},"partDefs":{"p":{"root":{"type":"Empty"}}}}"#,
            r#"{"roots":[{"root":{"type":"Empty"}}]}"#,
        ] {
            assert_eq!(repaired(json), (json.to_owned(), Vec::new()));
        }
    }

    #[test]
    fn a_reference_to_nothing_stays_one_beside_a_new_node() {
        let (json, _) = repaired(
            r#"{"nodes":{"0":{"op":{"left":1,"right":{"type":"Empty"}}}},"roots":[{"root":2}]}"#,
        );
        assert_eq!(
            json,
            r#"{"nodes":{"0":{"op":{"left":1,"right":3}},"3":{"id":3,"op":{"type":"Empty"}}},"roots":[{"root":2}]}"#
        );
    }

    #[test]
    fn snake_case_becomes_camel_case_unless_both_are_there() {
        let (json, done) = repaired(
            r#"{"part_defs":{"p":{"default_material":"m"}},"instances":[{"part_def_id":1}],"joints":[{"child_anchor":1,"childAnchor":2}]}"#,
        );
        assert_eq!(
            json,
            r#"{"partDefs":{"p":{"defaultMaterial":"m"}},"instances":[{"partDefId":1}],"joints":[{"child_anchor":1,"childAnchor":2}]}"#
        );
        assert_eq!(done.len(), 3, "{done:?}");
    }

    #[test]
    fn what_is_no_document_stays() {
        for json in ["[]", "1", r#"{"nodes":[]}"#, r#"{"nodes":{"a":1},"roots":{},"partDefs":[1]}"#]
        {
            let (same, done) = repaired(json);
            assert_eq!((same.as_str(), done.len()), (json, 0));
        }
    }
}
