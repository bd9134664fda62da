//! Values outside the model, which text writes as lines `XF pointer json`.
//!
//! After the whole text is read, the value at each RFC 6901 pointer is set, in the order of lines.
//! Only the containers on the path of a pointer are expanded, each once, so many pointers into a
//! large document take time linear in its size.

use super::emit::emit_model;
use crate::cad::error::ParseError;
use crate::cad::model::ir::{Document, Extra};
use crate::interrupt::polled;
use crate::json::{Limits, pointer};
use crate::value::{Builder, Value};
use crate::walk::Sink;
use std::borrow::Cow;
use std::collections::HashMap;

/// The line and column of a pointer in the text.
pub(crate) type Position = (usize, usize);

/// The limits for a value at this pointer, so that the whole document stays within the JSON depth
/// limit.
pub(crate) fn depth_left(pointer: &str) -> Limits {
    let limits = Limits::default();
    let steps = pointer.bytes().filter(|&c| c == b'/').count();
    Limits { max_depth: limits.max_depth.saturating_sub(steps), ..limits }
}

/// Emits a document with its values outside the model.
///
/// # Errors
/// The error of the sink.
pub fn emit_document<S: Sink>(document: &Document<'_>, sink: &mut S) -> Result<(), S::Error> {
    if document.extra.is_empty() {
        emit_model(document, sink)
    } else {
        with_extra_values(document).emit(sink)
    }
}

/// Returns the document with its values outside the model, as JSON. Values whose pointer does not
/// match the document are left out; documents from a reader have no such pointers.
fn with_extra_values(document: &Document<'_>) -> Value<'static> {
    let mut tree = Tree::of(document);
    for extra in polled(&document.extra) {
        tree.set(&extra.pointer, &extra.value);
    }
    tree.into_value()
}

/// Checks that each pointer matches the document.
pub(crate) fn check_pointers(
    document: &Document<'_>,
    positions: &[Position],
) -> Result<(), ParseError> {
    unresolved_pointers(document, positions, 1).pop().map_or(Ok(()), Err)
}

/// Returns an error for each pointer that does not match the document, at most `limit`. Values with
/// such pointers are skipped, and later ones are applied.
pub(crate) fn unresolved_pointers(
    document: &Document<'_>,
    positions: &[Position],
    limit: usize,
) -> Vec<ParseError> {
    if document.extra.is_empty() {
        return Vec::new();
    }
    let mut tree = Tree::of(document);
    let extras = polled(&document.extra).zip(positions);
    let unmatched = extras.filter(|(extra, _)| !tree.set(&extra.pointer, &extra.value));
    let errors = unmatched.map(|(extra, &(line, column))| {
        let pointer = crate::cad::error::Truncated(&extra.pointer);
        let message = format!("pointer \"{pointer}\" does not match the document");
        ParseError { line, column, message, suggestion: None }
    });
    errors.take(limit).collect()
}

/// Takes the values at these pointers, none of which is inside another.
pub(crate) fn take_values(value: Value<'static>, pointers: Vec<String>) -> Vec<Extra> {
    let mut tree = Tree::Value(value);
    let taken = polled(pointers).filter_map(|pointer| {
        let found = tree.at(&pointer)?;
        let value = std::mem::replace(found, Tree::Value(Value::Null)).into_value();
        Some(Extra { pointer, value })
    });
    taken.collect()
}

/// A JSON value. Only the containers on the paths of pointers are expanded to trees.
enum Tree {
    Value(Value<'static>),
    Array(Vec<Tree>),
    /// Members by key, with their index in the order.
    Object(HashMap<Cow<'static, str>, (usize, Tree)>),
}

impl Tree {
    fn of(document: &Document<'_>) -> Self {
        let mut builder = Builder::default();
        let Ok(()) = emit_model(document, &mut builder);
        Self::Value(builder.finish().unwrap_or(Value::Null))
    }

    /// Expands a container by one level.
    fn expand(&mut self) {
        let empty = Tree::Value(Value::Null);
        *self = match std::mem::replace(self, empty) {
            Self::Value(Value::Array(items)) => {
                Self::Array(polled(items).map(Self::Value).collect())
            }
            Self::Value(Value::Object(members)) => {
                let members = polled(members).enumerate();
                Self::Object(members.map(|(i, (k, v))| (k, (i, Self::Value(v)))).collect())
            }
            other => other,
        };
    }

    fn child(&mut self, step: &str) -> Option<&mut Self> {
        self.expand();
        match self {
            Self::Value(_) => None,
            Self::Array(items) => items.get_mut(pointer::index(step)?),
            Self::Object(members) => members.get_mut(step).map(|(_, child)| child),
        }
    }

    fn at(&mut self, pointer: &str) -> Option<&mut Self> {
        pointer::steps(pointer).try_fold(self, |tree, step| tree.child(&step))
    }

    /// Sets the value at a pointer and returns true if the pointer matches: all its steps but the
    /// last must exist, and the last may be a new member. An empty pointer matches only if the
    /// value is an object.
    fn set(&mut self, pointer: &str, value: &Value<'static>) -> bool {
        let value = Self::Value(value.clone());
        let (parent, last) = pointer.rsplit_once('/').unwrap_or(("", ""));
        let Some(parent) = self.at(parent) else { return false };
        if pointer.is_empty() {
            let is_object = matches!(value, Self::Value(Value::Object(_)));
            if is_object {
                *parent = value;
            }
            return is_object;
        }
        let Some(last) = pointer::steps(&pointer[pointer.len() - last.len() - 1..]).next() else {
            return false;
        };
        parent.expand();
        match parent {
            Self::Object(members) => {
                let place = members.len();
                members.entry(last.into_owned().into()).or_insert((place, Self::Array(vec![]))).1 =
                    value;
                true
            }
            _ => parent.child(&last).map(|slot| *slot = value).is_some(),
        }
    }

    fn into_value(self) -> Value<'static> {
        match self {
            Self::Value(value) => value,
            Self::Array(items) => Value::Array(polled(items).map(Self::into_value).collect()),
            Self::Object(members) => {
                let mut members: Vec<_> = polled(members).collect();
                members.sort_unstable_by_key(|(_, (place, _))| *place);
                let members = polled(members);
                Value::Object(members.map(|(name, (_, tree))| (name, tree.into_value())).collect())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(json: &str) -> Value<'static> {
        crate::json::parse(json, Limits::default()).unwrap()
    }

    fn set(json: &str, pointer: &str, new: &str) -> Option<Value<'static>> {
        assert!(pointer::is_valid(pointer));
        let mut tree = Tree::Value(value(json));
        tree.set(pointer, &value(new)).then(|| tree.into_value())
    }

    #[test]
    fn setting_a_pointer_changes_the_value_it_names() {
        for (json, pointer, new, wanted) in [
            ("{\"a\":1}", "", "{}", "{}"),
            ("{\"a\":1}", "/a", "2", "{\"a\":2}"),
            ("{\"a\":1}", "/b", "2", "{\"a\":1,\"b\":2}"),
            ("{\"a\":1}", "/", "2", "{\"a\":1,\"\":2}"),
            ("{\"a/b\":{\"~1\":0}}", "/a~1b/~01", "2", "{\"a/b\":{\"~1\":2}}"),
            ("[1,[2]]", "/1/0", "3", "[1,[3]]"),
        ] {
            assert_eq!(set(json, pointer, new), Some(value(wanted)), "{pointer}");
        }
    }

    #[test]
    fn setting_a_pointer_that_does_not_match_fails() {
        for (json, pointer) in [
            ("{}", ""),
            ("{\"a\":1}", "/a/b"),
            ("{}", "/a/b"),
            ("[1]", "/1"),
            ("[1]", "/00"),
            ("[1]", "/-"),
        ] {
            assert_eq!(set(json, pointer, "0"), None, "{pointer}");
        }
    }
}
