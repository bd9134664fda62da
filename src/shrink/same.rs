//! Compares a value with the events of another, as a language model would understand them: `1` equals
//! `1.0` but not `true`, and the order of members does not count.
//!
//! Nothing is built, so that reading a text back costs little more than parsing it. A difference is not an
//! error of the sink, because a parser may discard the events after a mark.

use crate::gcf::{KeyId, Node, Tree};
use crate::memory;
use crate::value::Value;
use crate::walk::{Columns, Scalar, Sink};
use std::borrow::Cow;
use std::collections::HashMap;
use std::convert::Infallible;

/// Up to this many members are searched one by one.
const FEW_MEMBERS: usize = 8;

/// A sink that compares the events it receives with a value.
pub(super) struct Comparison<'v> {
    tree: &'v Tree<'v>,
    /// The value, until its first event.
    root: Option<&'v Node<'v>>,
    open: Vec<Open<'v>>,
    /// Whether a difference was found. Then all events are ignored.
    differs: bool,
}

/// A container of the value whose entries are being compared.
enum Open<'v> {
    Array { elements: &'v [Node<'v>], next: usize },
    Object(Object<'v>),
}

struct Object<'v> {
    keys: &'v [KeyId],
    values: &'v [Node<'v>],
    /// The member after the one that was found last: most objects have the same order.
    next: usize,
    /// How many members were found.
    found: usize,
    /// The value that the next event is compared with.
    value: Option<&'v Node<'v>>,
    /// The members by key, made when the first one is not where it was expected.
    by_key: HashMap<&'v str, usize>,
}

/// A position in the events, and what had been found there.
#[derive(Clone, Copy)]
pub(super) struct Mark {
    open: usize,
    next: usize,
    found: usize,
    differs: bool,
}

impl<'v> Comparison<'v> {
    pub(super) fn new(tree: &'v Tree<'v>) -> Self {
        Self { tree, root: Some(&tree.root), open: Vec::new(), differs: false }
    }

    /// Whether the events so far were those of an equal value.
    pub(super) fn is_same(&self) -> bool {
        !self.differs && self.root.is_none() && self.open.is_empty()
    }

    /// The value that the next event is compared with.
    fn expected(&mut self) -> Option<&'v Node<'v>> {
        match self.open.last_mut() {
            None => self.root.take(),
            Some(Open::Array { elements, next }) => {
                *next += 1;
                elements.get(*next - 1)
            }
            Some(Open::Object(object)) => object.value.take(),
        }
    }

    #[expect(clippy::unnecessary_wraps, reason = "the result of the methods of `Sink`")]
    fn compare(&mut self, test: impl FnOnce(&Node<'_>) -> bool) -> Result<(), Infallible> {
        if !self.differs {
            self.differs = !self.expected().is_some_and(test);
        }
        Ok(())
    }

    #[expect(clippy::unnecessary_wraps, reason = "the result of the methods of `Sink`")]
    fn begin(
        &mut self,
        open: impl FnOnce(&'v Tree<'v>, &'v Node<'v>) -> Option<Open<'v>>,
    ) -> Result<(), Infallible> {
        if !self.differs {
            match self.expected().and_then(|expected| open(self.tree, expected)) {
                Some(open) => self.open.push(open),
                None => self.differs = true,
            }
        }
        Ok(())
    }

    #[expect(clippy::unnecessary_wraps, reason = "the result of the methods of `Sink`")]
    fn end(&mut self) -> Result<(), Infallible> {
        if !self.differs {
            self.differs = !match self.open.pop() {
                None => false,
                Some(Open::Array { elements, next }) => next == elements.len(),
                Some(Open::Object(object)) => object.found == object.keys.len(),
            };
        }
        Ok(())
    }

    /// Finds a member of the innermost object. Returns its index; 0 after a difference.
    fn find(&mut self, key: &str) -> usize {
        if self.differs {
            return 0;
        }
        let found = match self.open.last_mut() {
            Some(Open::Object(object)) => object.find(self.tree, key),
            _ => None,
        };
        self.differs = found.is_none();
        found.unwrap_or_default()
    }

    /// Compares the next event with the member at `index` of the innermost object.
    fn expect_member(&mut self, index: usize) {
        if let Some(Open::Object(object)) = self.open.last_mut() {
            object.value = object.values.get(index);
        }
    }
}

impl<'v> Object<'v> {
    /// The index of the member with this key. No key is searched twice.
    fn find(&mut self, tree: &'v Tree<'v>, key: &str) -> Option<usize> {
        let has_key = |id: &KeyId| tree.key(*id).text == key;
        let index = if self.keys.get(self.next).is_some_and(has_key) {
            self.next
        } else if self.keys.len() <= FEW_MEMBERS {
            self.keys.iter().position(has_key)?
        } else {
            self.index_of(tree, key)?
        };
        self.next = index + 1;
        self.found += 1;
        Some(index)
    }

    fn index_of(&mut self, tree: &'v Tree<'v>, key: &str) -> Option<usize> {
        if self.by_key.is_empty() {
            memory::require(self.by_key.try_reserve(self.keys.len()));
            let keys = self.keys.iter().map(|&id| tree.key(id).text);
            self.by_key.extend(keys.zip(0..));
        }
        self.by_key.get(key).copied()
    }
}

impl Sink for Comparison<'_> {
    type Error = Infallible;

    fn null(&mut self) -> Result<(), Infallible> {
        self.compare(|expected| matches!(expected, Node::Null))
    }

    fn bool(&mut self, value: bool) -> Result<(), Infallible> {
        self.compare(|expected| matches!(expected, Node::Bool(expected) if *expected == value))
    }

    fn int(&mut self, value: i64) -> Result<(), Infallible> {
        self.compare(|expected| match expected {
            Node::Int(expected) => *expected == value,
            Node::Float(expected) => same_number(value, *expected),
            _ => false,
        })
    }

    fn big_int(&mut self, _: &str) -> Result<(), Infallible> {
        // A tree has none.
        self.compare(|_| false)
    }

    fn float(&mut self, value: f64) -> Result<(), Infallible> {
        self.compare(|expected| match expected {
            Node::Int(expected) => same_number(*expected, value),
            #[expect(clippy::float_cmp, reason = "the same double")]
            Node::Float(expected) => *expected == value,
            _ => false,
        })
    }

    fn string(&mut self, text: &str) -> Result<(), Infallible> {
        self.compare(|expected| matches!(expected, Node::String(expected) if *expected == text))
    }

    fn begin_array(&mut self) -> Result<(), Infallible> {
        self.begin(|tree, expected| match expected {
            Node::Array(array) => Some(Open::Array { elements: tree.elements(*array), next: 0 }),
            _ => None,
        })
    }

    fn end_array(&mut self) -> Result<(), Infallible> {
        self.end()
    }

    fn begin_object(&mut self) -> Result<(), Infallible> {
        self.begin(|tree, expected| match expected {
            Node::Object(object) => Some(Open::Object(Object {
                keys: tree.shape(object.shape),
                values: tree.values(*object),
                next: 0,
                found: 0,
                value: None,
                by_key: HashMap::new(),
            })),
            _ => None,
        })
    }

    fn key(&mut self, key: &str) -> Result<(), Infallible> {
        let index = self.find(key);
        self.expect_member(index);
        Ok(())
    }

    fn end_object(&mut self) -> Result<(), Infallible> {
        self.end()
    }
}

/// A prepared key is a [`Value::String`].
impl Columns for Comparison<'_> {
    type Prepared = Value<'static>;
    type Mark = Mark;

    fn name(&mut self, key: &str) -> Result<Value<'static>, Infallible> {
        Ok(Value::String(Cow::Owned(key.to_owned())))
    }

    fn known_key(&mut self, name: &Value<'static>) -> Result<(), Infallible> {
        self.key(name.as_str().unwrap_or_default())
    }

    fn constant(&mut self, scalar: Scalar<'_>) -> Result<Value<'static>, Infallible> {
        Ok(match scalar {
            Scalar::Null => Value::Null,
            Scalar::Bool(value) => Value::Bool(value),
            Scalar::Int(value) => Value::Int(value),
            Scalar::Float(value) => Value::Float(value),
            Scalar::String(text) => Value::String(Cow::Owned(text.to_owned())),
        })
    }

    fn known_scalar(&mut self, constant: &Value<'static>) -> Result<(), Infallible> {
        constant.emit(self)
    }

    fn reserve(&mut self, name: &Value<'static>) -> Result<Option<usize>, Infallible> {
        Ok(Some(self.find(name.as_str().unwrap_or_default())))
    }

    fn reserved_key(&mut self, _: &Value<'static>, place: usize) -> Result<(), Infallible> {
        if !self.differs {
            self.expect_member(place);
        }
        Ok(())
    }

    fn mark(&self) -> Mark {
        let (next, found) = match self.open.last() {
            None => (0, 0),
            Some(Open::Array { next, .. }) => (*next, 0),
            Some(Open::Object(object)) => (object.next, object.found),
        };
        Mark { open: self.open.len(), next, found, differs: self.differs }
    }

    fn reset(&mut self, mark: Mark) {
        self.open.truncate(mark.open);
        self.differs = mark.differs;
        match self.open.last_mut() {
            None => {}
            Some(Open::Array { next, .. }) => *next = mark.next,
            Some(Open::Object(object)) => (object.next, object.found) = (mark.next, mark.found),
        }
    }
}

#[expect(clippy::cast_possible_truncation, reason = "within 2^63 a whole double is an i128")]
fn same_number(int: i64, float: f64) -> bool {
    float.fract() == 0.0 && float.abs() <= 9.3e18 && float as i128 == i128::from(int)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gcf::{self, Builder, Bump, Limits};
    use crate::json;

    /// Whether a value is the same as that of the events.
    fn is_same(value: &Value<'_>, events: impl FnOnce(&mut Comparison<'_>)) -> bool {
        let bump = Bump::new();
        let mut builder = Builder::new(&bump, Limits::default());
        value.emit(&mut builder).unwrap();
        let tree = builder.finish();
        let mut comparison = Comparison::new(&tree);
        events(&mut comparison);
        comparison.is_same()
    }

    #[test]
    fn values_are_equal_whatever_their_order_and_spelling() {
        let many = |keys: &mut dyn Iterator<Item = u32>| {
            let members: Vec<_> = keys.map(|key| format!("\"{key}\":{key}")).collect();
            format!("{{{}}}", members.join(","))
        };
        for (left, right, expected) in [
            ("[1]", "[1.0]", true),
            ("[1]", "[true]", false),
            ("[0]", "[-0.0]", true),
            ("[0]", "[false]", false),
            ("[1.5]", "[1]", false),
            ("9223372036854775807", "9.223372036854775807e18", false),
            ("9007199254740992", "9007199254740992.0", true),
            (r#"{"a":1,"b":[{}]}"#, r#"{"b":[{}],"a":1}"#, true),
            (r#"{"a":1,"b":2}"#, r#"{"a":1,"c":2}"#, false),
            (r#"{"a":1}"#, r#"{"a":1,"b":2}"#, false),
            (&many(&mut (0..20)), &many(&mut (0..20).rev()), true),
            (&many(&mut (0..20)), &many(&mut (1..21).rev()), false),
            (r#"{"a":null}"#, "{}", false),
            (r#"["1"]"#, "[1]", false),
            ("[1,2]", "[2,1]", false),
            ("[1,2]", "[1]", false),
            ("[[]]", "[{}]", false),
            ("[[1],2]", "[[1,2]]", false),
        ] {
            for (left, right) in [(left, right), (right, left)] {
                let [left, right] =
                    [left, right].map(|text| json::parse(text, json::Limits::default()).unwrap());
                let same = is_same(&left, |comparison| {
                    let Ok(()) = right.emit(comparison);
                });
                assert_eq!(same, expected, "{left:?} {right:?}");
            }
        }
    }

    /// All values that differ from `value` in one scalar.
    fn changed<'a>(value: &Value<'a>, found: &mut dyn FnMut(Value<'a>)) {
        match value {
            Value::Array(elements) => {
                for (at, element) in elements.iter().enumerate() {
                    changed(element, &mut |other| {
                        let mut elements = elements.clone();
                        elements[at] = other;
                        found(Value::Array(elements));
                    });
                }
            }
            Value::Object(members) => {
                for (at, (_, member)) in members.iter().enumerate() {
                    changed(member, &mut |other| {
                        let mut members = members.clone();
                        members[at].1 = other;
                        found(Value::Object(members));
                    });
                }
            }
            _ => found(Value::String("changed".into())),
        }
    }

    #[test]
    fn a_text_is_compared_as_it_is_read_whatever_the_reader_discards() {
        for table in [
            "## [4]{id,name}\n1|ann\n2| bob\n3|\"a|b\"\n4|Köln\n",
            "## [3:]{key,a,b}\nk1|1|2\nk2|3| 4\nk3|5|6\n",
            "## [4]{id,\"p>q\",\"p>r>s\",t=1}\n1|2|3\n2|~|3\n3|~|~\n4|-|-\n",
            "## [2]{id,a,b}\n@0 1|^|x\n  .a [1]{n,m}\n    1|2\n@1 2|^|^\n  .b [2]: 1,2\n  .a [0]:\n",
            "## u\n  ## t [2]{a,b=1}\n  w\n  x\n",
        ] {
            let text = format!("GCF profile=generic\n{table}");
            let value = gcf::decode(&text, Limits::default()).unwrap();
            let reads_as = |value: &Value<'_>| {
                is_same(value, |comparison| {
                    gcf::read(&text, Limits::default(), comparison).unwrap();
                })
            };
            assert!(reads_as(&value), "{text}");
            let mut changes = 0;
            changed(&value, &mut |other| {
                changes += 1;
                assert!(!reads_as(&other), "{other:?}\n{text}");
            });
            assert!(changes > 2);
        }
    }
}
