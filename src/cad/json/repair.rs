//! Repairs common errors in JSON documents written by language models and people.
//!
//! Repairs are made only on request and only where the meaning is unambiguous, and each is
//! reported. All other errors are left for the reader to report.

use crate::cad::error::{DocumentError, Truncated};
use crate::value::Value;
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

/// A repair that was made. It has the form of an error: a path and a message.
pub type Repair = DocumentError;

type Object = Vec<(Cow<'static, str>, Value<'static>)>;

/// Fields that name a node.
const REFS: [&str; 4] = ["child", "left", "right", "sketch"];

/// The keys in camel case that may be written in snake case, by section. Sections are renamed before
/// their members.
const NAMES: [(&str, &[&str]); 4] = [
    ("", &["partDefs", "groundInstanceId"]),
    ("partDefs", &["defaultMaterial"]),
    ("instances", &["partDefId"]),
    ("joints", &["parentInstanceId", "childInstanceId", "parentAnchor", "childAnchor"]),
];

/// Repairs a JSON document and returns the repairs made.
pub fn repair(value: &mut Value<'static>) -> Vec<Repair> {
    let mut repairer = Repairer::default();
    if let Value::Object(document) = value {
        repairer.names(document);
        repairer.ids(document);
        repairer.references(document);
    }
    repairer.repairs
}

#[derive(Default)]
struct Repairer {
    repairs: Vec<Repair>,
    /// The new ids of nodes whose keys were not ids.
    ids: HashMap<Cow<'static, str>, u64>,
}

impl Repairer {
    fn record(&mut self, path: impl Into<String>, what: impl Into<String>) {
        self.repairs.push(Repair::new(path, what));
    }

    /// Renames keys from snake case to camel case.
    fn names(&mut self, document: &mut Object) {
        let names = |(section, keys)| <[_]>::iter(keys).map(move |key| (section, key));
        for (section, key) in NAMES.into_iter().flat_map(names) {
            if section.is_empty() {
                self.rename(document, "document", key);
                continue;
            }
            match get(document, section) {
                Some(Value::Array(items)) => {
                    for (i, item) in items.iter_mut().enumerate() {
                        if let Value::Object(item) = item {
                            self.rename(item, &format!("{section}[{i}]"), key);
                        }
                    }
                }
                Some(Value::Object(items)) => {
                    for (name, item) in items {
                        if let Value::Object(item) = item {
                            let path = format!("{section} \"{}\"", Truncated(name));
                            self.rename(item, &path, key);
                        }
                    }
                }
                _ => {}
            }
        }
    }

    fn rename(&mut self, object: &mut Object, path: &str, after: &'static str) {
        if get(object, after).is_some() {
            return;
        }
        let before = snake_case(after);
        if let Some((name, _)) = object.iter_mut().find(|(name, _)| *name == before) {
            *name = after.into();
            self.record(path, format!("renamed {before} to {after}"));
        }
    }

    /// Makes the key and the id of each node the same number.
    fn ids(&mut self, document: &mut Object) {
        let numbered = highest_reference(document).is_some();
        let Some(Value::Object(nodes)) = get(document, "nodes") else { return };
        let all_named = nodes.iter().all(|(key, node)| has_name_as_id(key, node));
        if all_named && numbered {
            // No node has a numeric id, so numeric references are errors. With ids assigned, they
            // would silently refer to nodes.
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
                self.record(format!("node {}", Truncated(key)), format!("assigned id {id}"));
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
            // Two nodes would have the same key, so references would be ambiguous.
            return;
        }
        for ((key, _), id) in nodes.iter_mut().zip(ids) {
            let Some(id) = id.filter(|id| id.to_string() != **key) else { continue };
            self.record(
                format!("node {}", Truncated(key)),
                format!("changed the key to the id {id}"),
            );
            let before = std::mem::replace(key, id.to_string().into());
            if parse_id(&before).is_none() {
                self.ids.insert(before, id);
            }
        }
    }

    /// Turns numeric strings, names and inline operations into references.
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
                self.record(path(), format!("changed \"{}\" to {id}", Truncated(text)));
                *value = number(id);
            }
            Value::Object(op) if op.iter().any(|(name, _)| name == "type") => {
                let Some(id) = new_nodes.next else { return };
                self.record(path(), format!("moved the operation to node {id}"));
                new_nodes.ops.push((id, std::mem::take(op)));
                new_nodes.next = id.checked_add(1);
                *value = number(id);
            }
            _ => {}
        }
    }

    /// Turns a string of digits into a number.
    fn number(&mut self, value: &mut Value<'static>, path: impl Fn() -> String) {
        if let Value::String(text) = value
            && let Some(id) = parse_id(text)
        {
            self.record(path(), format!("changed \"{id}\" to a number"));
            *value = number(id);
        }
    }
}

/// Converts camel case to snake case.
fn snake_case(camel_case: &str) -> String {
    let mut snake = String::new();
    for char in camel_case.chars() {
        if char.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(char.to_ascii_lowercase());
    }
    snake
}

/// New nodes for operations that were written inline in place of references.
struct NewNodes {
    /// The next free id; `None` if no node can be added.
    next: Option<u64>,
    ops: Vec<(u64, Object)>,
}

/// Returns an id for a new node, above all ids and references of the document, so dangling
/// references stay dangling. Returns `None` if no node can be added, as to a hybrid, whose nodes are
/// text.
fn next_free(document: &mut Object) -> Option<u64> {
    if get(document, "compact").is_some_and(|compact| *compact != Value::Null) {
        return None;
    }
    let referenced = highest_reference(document);
    let Some(Value::Object(nodes)) = get(document, "nodes") else { return None };
    let highest = nodes.iter().filter_map(|(key, _)| parse_id(key)).max().max(referenced);
    highest.map_or(Some(0), |id| id.checked_add(1))
}

/// Returns the highest reference, written as a number or as a string.
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

/// Returns the highest reference in a reference or inline operation. The JSON limits bound the
/// depth.
fn highest_in(reference: &Value<'_>) -> Option<u64> {
    match reference {
        Value::String(text) => parse_id(text),
        Value::Object(_) => highest_operand(reference),
        _ => id_value(reference),
    }
}

fn highest_operand(op: &Value<'_>) -> Option<u64> {
    REFS.iter().filter_map(|name| op.get(name).and_then(highest_in)).max()
}

fn integer_id(node: &mut Value<'static>) -> Option<u64> {
    object(node).and_then(|node| get(node, "id")).and_then(|id| id_value(id))
}

/// Whether a node's key and id are the same string and not numeric.
fn has_name_as_id(key: &str, node: &Value<'_>) -> bool {
    let same = match node.get("id") {
        None | Some(Value::Null) => true,
        Some(Value::String(id)) => id == key,
        Some(_) => false,
    };
    // `01` and `+1` are numeric, but not ids.
    let numeric = crate::cad::model::number::parse(key.trim())
        != Err(crate::cad::model::number::NumberError::Invalid);
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

/// Parses a decimal id without leading zeros.
fn parse_id(text: &str) -> Option<u64> {
    let digits = text == "0" || !text.starts_with('0');
    crate::cad::model::number::parse_u64(text).ok().flatten().filter(|_| digits)
}

fn id_value(value: &Value<'_>) -> Option<u64> {
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
        let repairs = repair(&mut value).iter().map(ToString::to_string).collect();
        let mut out = String::new();
        crate::json::write_in_order(&value, crate::json::Escape::Needed, &mut out);
        (out, repairs)
    }

    #[test]
    fn numeric_strings_become_numbers() {
        let (json, repairs) = repaired(
            r#"{"nodes":{"2":{"id":"2","op":{"child":"10"}},"3":{"op":{"path":"4","left":"07"}}}}"#,
        );
        assert_eq!(
            json,
            r#"{"nodes":{"2":{"id":2,"op":{"child":10}},"3":{"op":{"path":"4","left":"07"}}}}"#
        );
        assert_eq!(
            repairs,
            ["node 2.id: changed \"2\" to a number", "node 2.child: changed \"10\" to a number"]
        );
    }

    #[test]
    fn numeric_id_replaces_a_different_key() {
        let (json, repairs) = repaired(
            r#"{"nodes":{"a":{"id":7,"op":{}},"1":{"id":"2","op":{"child":"a"}},"9":{}}}"#,
        );
        assert_eq!(
            json,
            r#"{"nodes":{"7":{"id":7,"op":{}},"2":{"id":2,"op":{"child":7}},"9":{}}}"#
        );
        assert_eq!(repairs.len(), 4, "{repairs:?}");
        assert_eq!(repairs[1], "node a: changed the key to the id 7");
    }

    #[test]
    fn ids_replace_keys_even_if_they_are_keys_of_other_nodes() {
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
    fn duplicate_ids_are_not_repaired() {
        for json in [
            r#"{"nodes":{"1":{"id":2},"2":{}}}"#,
            r#"{"nodes":{"a":{"id":7},"9":{"id":7},"1":{"id":3}}}"#,
        ] {
            assert_eq!(repaired(json), (json.to_owned(), Vec::new()));
        }
    }

    #[test]
    fn numeric_keys_and_references_prevent_new_ids() {
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
    fn names_as_ids_become_numbers_in_document_order() {
        let (json, repairs) = repaired(
            r#"{"nodes":{"b":{"id":"b","op":{"child":"a"}},"a":{"op":{}}},"roots":[{"root":"b"}]}"#,
        );
        assert_eq!(
            json,
            r#"{"nodes":{"0":{"id":0,"op":{"child":1}},"1":{"op":{}}},"roots":[{"root":0}]}"#
        );
        assert_eq!(repairs.len(), 4, "{repairs:?}");
    }

    #[test]
    fn inline_operations_become_nodes() {
        let (json, repairs) = repaired(
            r#"{"nodes":{"4":{"op":{"child":{"type":"T","child":{"type":"C"}},"left":{}}}}}"#,
        );
        assert_eq!(
            json,
            r#"{"nodes":{"4":{"op":{"child":5,"left":{}}},"5":{"id":5,"op":{"type":"T","child":6}},"6":{"id":6,"op":{"type":"C"}}}}"#
        );
        assert_eq!(repairs[1], "node 5.child: moved the operation to node 6");
        let full = r#"{"nodes":{"18446744073709551615":{"op":{"child":{"type":"C"}}}}}"#;
        assert_eq!(repaired(full), (full.to_owned(), Vec::new()));
    }

    #[test]
    fn inline_operations_stay_if_no_node_can_be_added() {
        for json in [
            r#"{"compact":"S 1","roots":[{"root":{"type":"Empty"}}]}"#,
            r#"{"compact":"S 1","nodes":{},"partDefs":{"p":{"root":{"type":"Empty"}}}}"#,
            r#"{"roots":[{"root":{"type":"Empty"}}]}"#,
        ] {
            assert_eq!(repaired(json), (json.to_owned(), Vec::new()));
        }
    }

    #[test]
    fn dangling_references_stay_dangling() {
        let (json, _) = repaired(
            r#"{"nodes":{"0":{"op":{"left":1,"right":{"type":"Empty"}}}},"roots":[{"root":2}]}"#,
        );
        assert_eq!(
            json,
            r#"{"nodes":{"0":{"op":{"left":1,"right":3}},"3":{"id":3,"op":{"type":"Empty"}}},"roots":[{"root":2}]}"#
        );
    }

    #[test]
    fn snake_case_becomes_camel_case_unless_both_exist() {
        let (json, repairs) = repaired(
            r#"{"part_defs":{"p":{"default_material":"m"}},"instances":[{"part_def_id":1}],"joints":[{"child_anchor":1,"childAnchor":2}]}"#,
        );
        assert_eq!(
            json,
            r#"{"partDefs":{"p":{"defaultMaterial":"m"}},"instances":[{"partDefId":1}],"joints":[{"child_anchor":1,"childAnchor":2}]}"#
        );
        assert_eq!(repairs.len(), 3, "{repairs:?}");
    }

    #[test]
    fn other_json_is_unchanged() {
        for json in ["[]", "1", r#"{"nodes":[]}"#, r#"{"nodes":{"a":1},"roots":{},"partDefs":[1]}"#]
        {
            let (same, repairs) = repaired(json);
            assert_eq!((same.as_str(), repairs.len()), (json, 0));
        }
    }
}
