//! What the model does not have, and a text carries all the same: lines `XF pointer json`. Section 12.
//!
//! Once the whole text is read, the value at each RFC 6901 pointer is set, in the order of lines. Only
//! containers on the way to a pointer are opened, each once, so that many pointers into a large
//! document take no longer than its size.

use super::emit::emit_model;
use crate::cad::error::ParseError;
use crate::cad::model::ir::{Document, Extra};
use crate::json::Limits;
use crate::value::{Builder, Value};
use crate::walk::Sink;
use std::borrow::Cow;
use std::collections::HashMap;

/// Line and column of a pointer.
pub(crate) type Position = (usize, usize);

/// How deep a value at this pointer may nest, so that the document stays as deep as JSON may be.
pub(crate) fn depth_left(pointer: &str) -> Limits {
    let limits = Limits::default();
    let steps = pointer.bytes().filter(|&c| c == b'/').count();
    Limits { max_depth: limits.max_depth.saturating_sub(steps), ..limits }
}

/// Whether it is a pointer: nothing, or steps that each begin with `/`; `~` only as `~0` and `~1`.
pub(crate) fn is_pointer(text: &str) -> bool {
    let escapes = |rest: &str| rest.starts_with(['0', '1']);
    (text.is_empty() || text.starts_with('/')) && text.split('~').skip(1).all(escapes)
}

/// A member name as a step of a pointer.
pub(crate) fn step(name: &str) -> Cow<'_, str> {
    if name.contains(['~', '/']) {
        return Cow::Owned(name.replace('~', "~0").replace('/', "~1"));
    }
    Cow::Borrowed(name)
}

fn steps(pointer: &str) -> impl Iterator<Item = Cow<'_, str>> {
    pointer.split('/').skip(1).map(|step| {
        if step.contains('~') {
            return Cow::Owned(step.replace("~1", "/").replace("~0", "~"));
        }
        Cow::Borrowed(step)
    })
}

/// Tells a document, with what is not in the model.
pub fn emit_document<S: Sink>(document: &Document<'_>, sink: &mut S) -> Result<(), S::Error> {
    if document.extra.is_empty() {
        emit_model(document, sink)
    } else {
        with_extra_values(document).emit(sink)
    }
}

/// The document with its extras, as JSON. An extra without a place in it is left out; a reader has
/// none such.
fn with_extra_values(document: &Document<'_>) -> Value<'static> {
    let mut tree = Tree::of(document);
    for extra in &document.extra {
        tree.set(&extra.pointer, &extra.value);
    }
    tree.into_value()
}

/// Checks that each extra has a place in the document.
pub(crate) fn check_pointers(
    document: &Document<'_>,
    places: &[Position],
) -> Result<(), ParseError> {
    unresolved_pointers(document, places, 1).pop().map_or(Ok(()), Err)
}

/// The extras without a place in the document, at most `limit`; later ones are set without them.
pub(crate) fn unresolved_pointers(
    document: &Document<'_>,
    places: &[Position],
    limit: usize,
) -> Vec<ParseError> {
    if document.extra.is_empty() {
        return Vec::new();
    }
    let mut tree = Tree::of(document);
    let extras = document.extra.iter().zip(places);
    let lost = extras.filter(|(extra, _)| !tree.set(&extra.pointer, &extra.value));
    let told = lost.map(|(extra, &(line, column))| {
        let pointer = crate::cad::error::Truncated(&extra.pointer);
        let message = format!("pointer \"{pointer}\" does not match the document");
        ParseError { line, column, message, suggestion: None }
    });
    told.take(limit).collect()
}

/// The values at these pointers, none of which is within another.
pub(crate) fn take_values(value: Value<'static>, pointers: Vec<String>) -> Vec<Extra> {
    let mut tree = Tree::Value(value);
    let taken = pointers.into_iter().filter_map(|pointer| {
        let found = tree.at(&pointer)?;
        let value = std::mem::replace(found, Tree::Value(Value::Null)).into_value();
        Some(Extra { pointer, value })
    });
    taken.collect()
}

/// A value whose containers are opened where a pointer leads through them.
enum Tree {
    Value(Value<'static>),
    Array(Vec<Tree>),
    /// Members by name, with their place in the order.
    Object(HashMap<Cow<'static, str>, (usize, Tree)>),
}

impl Tree {
    fn of(document: &Document<'_>) -> Self {
        let mut builder = Builder::default();
        let Ok(()) = emit_model(document, &mut builder);
        Self::Value(builder.finish().unwrap_or(Value::Null))
    }

    /// Opens a container, one level.
    fn expand(&mut self) {
        let closed = Tree::Value(Value::Null);
        *self = match std::mem::replace(self, closed) {
            Self::Value(Value::Array(items)) => {
                Self::Array(items.into_iter().map(Self::Value).collect())
            }
            Self::Value(Value::Object(members)) => {
                let members = members.into_iter().enumerate();
                Self::Object(members.map(|(i, (k, v))| (k, (i, Self::Value(v)))).collect())
            }
            other => other,
        };
    }

    fn child(&mut self, step: &str) -> Option<&mut Self> {
        self.expand();
        match self {
            Self::Value(_) => None,
            Self::Array(items) => items.get_mut(index(step)?),
            Self::Object(members) => members.get_mut(step).map(|(_, child)| child),
        }
    }

    fn at(&mut self, pointer: &str) -> Option<&mut Self> {
        steps(pointer).try_fold(self, |tree, step| tree.child(&step))
    }

    /// Sets a value: a member may be new, all before it must be there, and a document is an object.
    /// Says whether it could.
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
        let Some(last) = steps(&pointer[pointer.len() - last.len() - 1..]).next() else {
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
            Self::Array(items) => Value::Array(items.into_iter().map(Self::into_value).collect()),
            Self::Object(members) => {
                let mut members: Vec<_> = members.into_iter().collect();
                members.sort_unstable_by_key(|(_, (place, _))| *place);
                let members = members.into_iter();
                Value::Object(members.map(|(name, (_, tree))| (name, tree.into_value())).collect())
            }
        }
    }
}

/// A place in an array.
fn index(step: &str) -> Option<usize> {
    let plain = step == "0" || !step.starts_with('0');
    let digits = plain && step.bytes().all(|c| c.is_ascii_digit());
    digits.then(|| step.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(json: &str) -> Value<'static> {
        crate::json::parse(json, Limits::default()).unwrap()
    }

    fn set(json: &str, pointer: &str, new: &str) -> Option<Value<'static>> {
        assert!(is_pointer(pointer));
        let mut tree = Tree::Value(value(json));
        tree.set(pointer, &value(new)).then(|| tree.into_value())
    }

    #[test]
    fn a_pointer_sets_what_it_leads_to() {
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
    fn a_pointer_without_a_place_sets_nothing() {
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
        for text in ["a", "/~", "/~2", "~0", " /a"] {
            assert!(!is_pointer(text), "{text}");
        }
    }

    #[test]
    fn a_step_reads_back() {
        for name in ["a", "", "~", "/", "~1", "a/b~c", "~01"] {
            let pointer = format!("/{}", step(name));
            assert!(is_pointer(&pointer));
            assert_eq!(steps(&pointer).collect::<Vec<_>>(), [name]);
        }
    }
}
