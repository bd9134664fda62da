//! The JSON-like data model that all systems share for free-form data.
//!
//! Objects keep the order of their members. Integers have any length, because a silent conversion to a double
//! would lose digits. Doubles are finite. The producer of a value, such as the JSON reader or the Python
//! binding, bounds its depth.

use crate::interrupt::{Steps, polled};
use crate::memory;
use crate::text::slice_of;
use crate::walk::{Columns, Found, Look, Scalar, Shape, Sink, Source, Stop, Type, Walk};
use std::borrow::Cow;
use std::collections::HashSet;
use std::convert::Infallible;
use std::marker::PhantomData;
use std::{slice, vec};

/// A JSON-like value.
#[derive(Debug, Clone, PartialEq)]
pub enum Value<'a> {
    /// Null.
    Null,
    /// A boolean.
    Bool(bool),
    /// An integer of 64 bits.
    Int(i64),
    /// An integer beyond 64 bits, as decimal digits.
    BigInt(Cow<'a, str>),
    /// A finite double.
    Float(f64),
    /// A string.
    String(Cow<'a, str>),
    /// The elements of an array.
    Array(Vec<Value<'a>>),
    /// The members of an object, in order. No key occurs twice.
    Object(Vec<(Cow<'a, str>, Value<'a>)>),
}

impl<'a> Value<'a> {
    /// The JSON name of the value's type, with its article.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "a boolean",
            Self::Int(_) | Self::BigInt(_) | Self::Float(_) => "a number",
            Self::String(_) => "a string",
            Self::Array(_) => "an array",
            Self::Object(_) => "an object",
        }
    }

    /// The content of a string, `None` for any other value.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    /// The elements of an array, `None` for any other value.
    pub fn as_array(&self) -> Option<&[Value<'a>]> {
        match self {
            Self::Array(elements) => Some(elements),
            _ => None,
        }
    }

    /// The members of an object, `None` for any other value.
    pub fn as_object(&self) -> Option<&[(Cow<'a, str>, Value<'a>)]> {
        match self {
            Self::Object(members) => Some(members),
            _ => None,
        }
    }

    /// The value of the member `key`, if the value is an object that has one.
    pub fn get(&self, key: &str) -> Option<&Value<'a>> {
        self.as_object()?.iter().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    /// An upper bound on the size of the value as compact JSON without escapes, in bytes.
    pub fn text_size(&self) -> usize {
        // The longest double has 24 bytes; a comma follows. Words and brackets are shorter.
        const NUMBER: usize = 25;
        NUMBER
            + match self {
                Self::String(text) | Self::BigInt(text) => text.len(),
                Self::Array(elements) => polled(elements).map(Self::text_size).sum(),
                Self::Object(members) => {
                    polled(members).map(|(key, member)| 4 + key.len() + member.text_size()).sum()
                }
                Self::Null | Self::Bool(_) | Self::Int(_) | Self::Float(_) => 0,
            }
    }

    /// Emits the value's events to a sink.
    ///
    /// # Errors
    /// The sink's error, if it stops.
    pub fn emit<S: Sink>(&self, sink: &mut S) -> Result<(), S::Error> {
        match self {
            Self::Null => sink.null(),
            Self::Bool(value) => sink.bool(*value),
            Self::Int(value) => sink.int(*value),
            Self::BigInt(digits) => sink.big_int(digits),
            Self::Float(value) => sink.float(*value),
            Self::String(text) => sink.string(text),
            Self::Array(elements) => {
                sink.begin_array()?;
                polled(elements).try_for_each(|element| element.emit(sink))?;
                sink.end_array()
            }
            Self::Object(members) => {
                sink.begin_object()?;
                for (key, value) in polled(members) {
                    sink.key(key)?;
                    value.emit(sink)?;
                }
                sink.end_object()
            }
        }
    }
}

impl<'a> Source<'a> for &'a Value<'_> {
    fn shape(&self) -> Shape<'a> {
        match self {
            Value::Null => Shape::Null,
            Value::Bool(value) => Shape::Bool(*value),
            Value::Int(value) => Shape::Int(*value),
            Value::BigInt(digits) => Shape::BigInt(Some(Cow::Borrowed(digits))),
            Value::Float(value) => Shape::Float(*value),
            Value::String(text) => Shape::Text(Cow::Borrowed(text)),
            Value::Array(_) => Shape::Array,
            Value::Object(_) => Shape::Object,
        }
    }

    fn is_null(&self) -> bool {
        **self == Value::Null
    }

    fn is_object(&self) -> bool {
        self.as_object().is_some()
    }

    fn with_text<R>(&self, look: impl FnOnce(&str) -> R) -> Option<R> {
        self.as_str().map(look)
    }

    fn size(&self) -> usize {
        self.as_array().map_or(0, <[_]>::len) + self.as_object().map_or(0, <[_]>::len)
    }

    fn member(&self, name: &'static str) -> Option<Self> {
        self.get(name)
    }

    fn element(&self, index: usize) -> Option<Self> {
        self.as_array()?.get(index)
    }

    fn members<E>(
        &self,
        mut visit: impl FnMut(Option<&str>, Self) -> Result<(), E>,
    ) -> Result<(), E> {
        let members = self.as_object().unwrap_or_default();
        members.iter().try_for_each(|(name, value)| visit(Some(name), value))
    }
}

/// A [`Walk`] over a value.
#[derive(Debug, Default)]
pub struct ValueWalk<'v, 'a>(PhantomData<&'v Value<'a>>);

impl<'v, 'a> Walk for ValueWalk<'v, 'a> {
    type Value = &'v Value<'a>;
    type Key = &'v str;
    type Array = &'v [Value<'a>];
    type Object = slice::Iter<'v, (Cow<'a, str>, Value<'a>)>;
    type Error = Infallible;

    fn look<'l>(&mut self, value: &'l &'v Value<'a>) -> Look<'l, Self> {
        Ok(match *value {
            Value::Null => Found::Null,
            Value::Bool(value) => Found::Bool(*value),
            Value::Int(value) => Found::Int(*value),
            Value::BigInt(_) => return Err(Stop::Unusual),
            Value::Float(value) => Found::Float(*value),
            Value::String(text) => Found::Text(text),
            Value::Array(elements) => Found::Array(elements),
            Value::Object(members) => Found::Object(members.iter()),
        })
    }

    fn type_of(&self, value: &&'v Value<'a>) -> Type {
        match value {
            Value::Null => Type::Null,
            Value::Array(_) => Type::Array,
            Value::Object(_) => Type::Object,
            _ => Type::Scalar,
        }
    }

    fn convert(&mut self, _: &&'v Value<'a>) -> Result<&'v Value<'a>, Stop<Infallible>> {
        Err(Stop::Unusual)
    }

    fn length(&self, array: &&'v [Value<'a>]) -> usize {
        array.len()
    }

    fn element(&self, array: &&'v [Value<'a>], index: usize) -> &'v Value<'a> {
        &array[index]
    }

    fn size(&self, object: &Self::Object) -> usize {
        object.len()
    }

    fn next(&self, object: &mut Self::Object) -> Option<(&'v str, &'v Value<'a>)> {
        object.next().map(|(key, value)| (&**key, value))
    }

    fn first_member(&self, object: &Self::Object) -> Option<&'v Value<'a>> {
        object.as_slice().first().map(|(_, value)| value)
    }

    fn all_members(&self, object: &Self::Object, mut test: impl FnMut(Type) -> bool) -> bool {
        object.clone().all(|(_, value)| test(self.type_of(&value)))
    }

    fn is_same(&self, left: &&'v str, right: &&'v str) -> bool {
        left == right
    }

    fn key<'k>(&self, key: &'k &'v str) -> Result<&'k str, Stop<Infallible>> {
        Ok(key)
    }

    fn has_distinct_keys(&self, object: &Self::Object) -> bool {
        let members = object.as_slice();
        // Comparing so few with each other is faster than hashing them.
        if members.len() <= 8 {
            let is_new = |i: usize| members[..i].iter().all(|(key, _)| *key != members[i].0);
            return (1..members.len()).all(is_new);
        }
        let mut seen = HashSet::new();
        memory::require(seen.try_reserve(members.len()));
        members.iter().all(|(key, _)| seen.insert(key))
    }
}

/// A member of an object.
type Member<'a> = (Cow<'a, str>, Value<'a>);

/// The entries of a container that are still to be visited, for functions with an explicit stack.
pub(crate) enum Entries<'v, 'a> {
    Elements(slice::Iter<'v, Value<'a>>),
    Members(slice::Iter<'v, Member<'a>>),
    Sorted(vec::IntoIter<&'v Member<'a>>),
}

impl<'v, 'a> Entries<'v, 'a> {
    /// The members of an object, in their order or sorted by the code points of their keys.
    pub(crate) fn of_members(members: &'v [Member<'a>], sort: bool) -> Self {
        if !sort || members.is_sorted_by_key(|(name, _)| name) {
            return Self::Members(members.iter());
        }
        let mut sorted: Vec<_> = members.iter().collect();
        sorted.sort_unstable_by_key(|(name, _)| name);
        Self::Sorted(sorted.into_iter())
    }
}

/// Yields names and values. The name of an element is `None`.
impl<'v, 'a> Iterator for Entries<'v, 'a> {
    type Item = (Option<&'v str>, &'v Value<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let (name, value) = match self {
            Self::Elements(elements) => return elements.next().map(|element| (None, element)),
            Self::Members(members) => members.next()?,
            Self::Sorted(members) => members.next()?,
        };
        Some((Some(name), value))
    }
}

/// Drops a value with an explicit stack. A plain drop recurses as deep as the value is nested.
pub fn drop_iteratively(value: Value<'_>) {
    enum Rest<'a> {
        Elements(vec::IntoIter<Value<'a>>),
        Members(vec::IntoIter<(Cow<'a, str>, Value<'a>)>),
    }
    let mut open = Vec::new();
    let mut next = Some(value);
    loop {
        match next {
            Some(Value::Array(elements)) => open.push(Rest::Elements(elements.into_iter())),
            Some(Value::Object(members)) => open.push(Rest::Members(members.into_iter())),
            Some(_) => {}
            None => drop(open.pop()),
        }
        next = match open.last_mut() {
            None => return,
            Some(Rest::Elements(elements)) => elements.next(),
            Some(Rest::Members(members)) => members.next().map(|(_, value)| value),
        };
    }
}

/// Builds a [`Value`] from events.
///
/// The elements and members of open containers lie on two shared stacks. A container is allocated when it
/// closes, at its exact size: growing one vector per container would cost several times as much memory
/// for a document of a million small arrays.
#[derive(Debug, Default)]
pub struct Builder<'a> {
    /// Strings that are slices of this text are borrowed, not copied.
    source: &'a str,
    open: Vec<Open<'a>>,
    elements: Vec<Value<'a>>,
    members: Vec<(Cow<'a, str>, Value<'a>)>,
    done: Option<Value<'a>>,
    steps: Steps,
}

/// An open container, and the index on its stack where its entries begin.
#[derive(Debug)]
enum Open<'a> {
    Array {
        start: usize,
    },
    /// The value of the next member goes to `place` if that is set, otherwise to the end.
    Object {
        start: usize,
        key: Cow<'a, str>,
        place: Option<usize>,
    },
}

/// A container with at least this many entries takes over the stack, if no other container has entries on it.
const MANY: usize = 4096;

/// Removes and returns the entries of a stack from `start` on.
fn top<T>(stack: &mut Vec<T>, start: usize) -> Vec<T> {
    if start == 0 && stack.len() >= MANY {
        let mut all = std::mem::take(stack);
        all.shrink_to_fit();
        return all;
    }
    stack.drain(start..).collect()
}

impl<'a> Builder<'a> {
    /// A builder that borrows strings which are slices of `source`.
    pub fn over(source: &'a str) -> Self {
        let mut builder = Self::default();
        builder.source = source;
        builder
    }

    /// The value, or `None` if it is incomplete.
    pub fn finish(mut self) -> Option<Value<'a>> {
        if self.open.is_empty() { self.done.take() } else { None }
    }

    fn keep(&self, text: &str) -> Cow<'a, str> {
        slice_of(self.source, text).map_or_else(|| Cow::Owned(text.to_owned()), Cow::Borrowed)
    }

    #[expect(clippy::unnecessary_wraps, reason = "the result of the methods of `Sink`")]
    fn put(&mut self, value: Value<'a>) -> Result<(), Infallible> {
        self.steps.step();
        match self.open.last_mut() {
            None => self.done = Some(value),
            Some(Open::Array { .. }) => memory::push(&mut self.elements, value),
            Some(Open::Object { key, place, .. }) => match place.take() {
                None => memory::push(&mut self.members, (std::mem::take(key), value)),
                Some(place) => self.members[place].1 = value,
            },
        }
        Ok(())
    }

    fn close(&mut self) -> Result<(), Infallible> {
        let value = match self.open.pop() {
            None => return Ok(()),
            Some(Open::Array { start }) => Value::Array(top(&mut self.elements, start)),
            Some(Open::Object { start, .. }) => Value::Object(top(&mut self.members, start)),
        };
        self.put(value)
    }
}

impl Drop for Builder<'_> {
    fn drop(&mut self) {
        self.elements.drain(..).for_each(drop_iteratively);
        self.members.drain(..).for_each(|(_, value)| drop_iteratively(value));
        self.done.take().map(drop_iteratively);
    }
}

impl Sink for Builder<'_> {
    type Error = Infallible;

    fn null(&mut self) -> Result<(), Infallible> {
        self.put(Value::Null)
    }

    fn bool(&mut self, value: bool) -> Result<(), Infallible> {
        self.put(Value::Bool(value))
    }

    fn int(&mut self, value: i64) -> Result<(), Infallible> {
        self.put(Value::Int(value))
    }

    fn big_int(&mut self, digits: &str) -> Result<(), Infallible> {
        self.put(Value::BigInt(self.keep(digits)))
    }

    fn float(&mut self, value: f64) -> Result<(), Infallible> {
        self.put(Value::Float(value))
    }

    fn string(&mut self, text: &str) -> Result<(), Infallible> {
        self.put(Value::String(self.keep(text)))
    }

    fn begin_array(&mut self) -> Result<(), Infallible> {
        self.open.push(Open::Array { start: self.elements.len() });
        Ok(())
    }

    fn end_array(&mut self) -> Result<(), Infallible> {
        self.close()
    }

    fn begin_object(&mut self) -> Result<(), Infallible> {
        let start = self.members.len();
        self.open.push(Open::Object { start, key: Cow::default(), place: None });
        Ok(())
    }

    fn key(&mut self, name: &str) -> Result<(), Infallible> {
        let name = self.keep(name);
        if let Some(Open::Object { key, .. }) = self.open.last_mut() {
            *key = name;
        }
        Ok(())
    }

    fn end_object(&mut self) -> Result<(), Infallible> {
        self.close()
    }
}

/// A prepared key is a [`Value::String`].
impl<'a> Columns for Builder<'a> {
    type Prepared = Value<'a>;
    type Mark = [usize; 3];

    fn reserve(&mut self, name: &Value<'a>) -> Result<Option<usize>, Infallible> {
        self.known_key(name)?;
        self.null()?;
        Ok(Some(self.members.len() - 1))
    }

    fn reserved_key(&mut self, _: &Value<'a>, at: usize) -> Result<(), Infallible> {
        if let Some(Open::Object { place, .. }) = self.open.last_mut() {
            *place = Some(at);
        }
        Ok(())
    }

    fn mark(&self) -> [usize; 3] {
        [self.open.len(), self.elements.len(), self.members.len()]
    }

    fn reset(&mut self, [open, elements, members]: [usize; 3]) {
        self.open.truncate(open);
        self.elements.truncate(elements);
        self.members.truncate(members);
    }

    fn name(&mut self, key: &str) -> Result<Value<'a>, Infallible> {
        Ok(Value::String(self.keep(key)))
    }

    fn known_key(&mut self, name: &Value<'a>) -> Result<(), Infallible> {
        self.key(name.as_str().unwrap_or_default())
    }

    fn constant(&mut self, scalar: Scalar<'_>) -> Result<Value<'a>, Infallible> {
        Ok(match scalar {
            Scalar::Null => Value::Null,
            Scalar::Bool(value) => Value::Bool(value),
            Scalar::Int(value) => Value::Int(value),
            Scalar::Float(value) => Value::Float(value),
            Scalar::String(text) => Value::String(self.keep(text)),
        })
    }

    fn known_scalar(&mut self, constant: &Value<'a>) -> Result<(), Infallible> {
        self.put(constant.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn builder_builds_the_emitted_value() {
        let value = Value::Object(vec![
            ("a".into(), Value::Array(vec![Value::Null, Value::Int(-1), Value::Float(0.5)])),
            ("b".into(), Value::Object(vec![("c".into(), Value::String("한".into()))])),
            ("d".into(), Value::BigInt("18446744073709551616".into())),
            ("e".into(), Value::Array(vec![])),
            ("f".into(), Value::Bool(true)),
        ]);
        let mut builder = Builder::default();
        let Ok(()) = value.emit(&mut builder);
        assert_eq!(builder.finish().as_ref(), Some(&value));
        assert_eq!(value.get("f"), Some(&Value::Bool(true)));
        assert_eq!(value.get("g"), None);
    }

    #[test]
    fn builder_borrows_only_slices_of_its_source() {
        let source = String::from("one two");
        let other = source.clone();
        for (text, borrowed) in [(&source[4..], true), (&other[..], false), ("", false)] {
            let mut builder = Builder::over(&source);
            let Ok(()) = builder.string(text);
            let Some(Value::String(kept)) = builder.finish() else { panic!("expected a string") };
            assert_eq!((&*kept, matches!(kept, Cow::Borrowed(_))), (text, borrowed));
        }
    }

    #[test]
    fn nested_containers_keep_their_own_entries() {
        let inner = |n: usize| Value::Array((0..n).map(|_| Value::Array(vec![])).collect());
        for n in [0, 1, 5, MANY - 1, MANY, MANY + 1] {
            let value = Value::Object(vec![
                ("a".into(), inner(n)),
                (
                    "b".into(),
                    Value::Object((0..n).map(|i| (format!("{i}").into(), inner(1))).collect()),
                ),
                ("c".into(), Value::Array(vec![Value::Int(1), inner(n), Value::Int(2)])),
            ]);
            let mut builder = Builder::default();
            let Ok(()) = value.emit(&mut builder);
            assert_eq!(builder.finish(), Some(value));
        }
    }

    #[test]
    fn a_deep_value_is_dropped_without_recursion() {
        let mut builder = Builder::default();
        for _ in 0..1_000_000 {
            let Ok(()) = builder.begin_array();
        }
        for _ in 0..999_999 {
            let Ok(()) = builder.end_array();
        }
    }

    #[test]
    fn incomplete_value_is_none() {
        let mut builder = Builder::default();
        let Ok(()) = builder.begin_array();
        let Ok(()) = builder.int(1);
        assert_eq!(builder.finish(), None);
    }
}
