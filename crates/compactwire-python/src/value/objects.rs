//! Builds Python objects from the events of a value, each as early as possible.
//!
//! A member is added to its dict as soon as its value is complete. The elements of open lists stay on a
//! stack, so that a list is allocated at its exact size. Equal short texts become one object, keys and
//! values alike, because texts repeat in most documents. Only the operator `is` can tell the difference.

use super::vocabulary::Vocabulary;
use crate::errors::{Error, Result};
use crate::make::{
    Hashed, ensure_memory, make_big_int, make_dict, make_dict_for, make_float, make_int, make_list,
    make_text, push, set,
};
use compactwire::walk::{Columns, Scalar, Sink, Text};
use hashbrown::HashMap;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyString};

/// How many long keys are kept: more than most documents have.
const MAX_KEYS: usize = 1 << 12;

/// The size of a few rows.
const ROW_SIZE: usize = 4096;

/// How many short texts are kept at most. A power of two.
const MAX_TEXTS: usize = 1 << 10;

/// A sink that builds a Python object.
pub(crate) struct Objects<'py> {
    py: Python<'py>,
    /// The elements of open lists, and the complete value.
    values: Vec<Bound<'py, PyAny>>,
    open: Vec<Open<'py>>,
    texts: Texts<'py>,
    /// The keys that are too long for `texts`.
    keys: HashMap<Box<str>, Bound<'py, PyString>>,
    /// Whether each open dict contains all earlier members of its object: not if the caller takes members
    /// one by one.
    whole: bool,
}

/// An open container.
enum Open<'py> {
    /// A list, and where its elements begin.
    List(usize),
    /// A dict, and the key of its next member.
    Dict(Bound<'py, PyDict>, Option<Bound<'py, PyString>>),
}

/// A hash table of short texts without collision lists: a text replaces the one in its slot.
struct Texts<'py> {
    slots: Vec<Slot<'py>>,
    /// Texts that exist already.
    names: Option<&'static Vocabulary>,
}

/// All slots together are half as large as the nearest cache of a processor.
#[derive(Default)]
struct Slot<'py> {
    /// The bytes of the text, and its length in the highest byte.
    text: [u64; 2],
    object: Option<Bound<'py, PyString>>,
}

impl<'py> Texts<'py> {
    /// A table for a document of `size` bytes.
    fn new(size: usize) -> Self {
        let mut slots = Vec::new();
        slots.resize_with((size / 32).next_power_of_two().clamp(16, MAX_TEXTS), Slot::default);
        Self { slots, names: None }
    }

    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "two halves; a few bits of a hash")]
    fn get(&mut self, py: Python<'py>, text: Text<'_>) -> Result<Bound<'py, PyString>> {
        let length = text.text.len();
        if !(1..16).contains(&length) {
            return Ok(make_text(py, text)?);
        }
        let [low, high] = [text.word as u64, (text.word >> 64) as u64 | (length as u64) << 56];
        let mixed = (low ^ high.rotate_left(29)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let last = self.slots.len() - 1;
        let slot = &mut self.slots[(mixed >> 48) as usize & last];
        if let Some(object) = &slot.object
            && slot.text == [low, high]
        {
            return Ok(object.clone());
        }
        let known = self.names.and_then(|names| names.get(text.text));
        let object = match known {
            Some(known) => known.bind(py).clone(),
            None => make_text(py, text)?,
        };
        *slot = Slot { text: [low, high], object: Some(object.clone()) };
        Ok(object)
    }
}

impl<'py> Objects<'py> {
    /// An empty builder, for a document of `size` bytes.
    pub(crate) fn new(py: Python<'py>, size: usize) -> Self {
        Self {
            py,
            values: Vec::new(),
            open: Vec::new(),
            texts: Texts::new(size),
            keys: HashMap::new(),
            whole: true,
        }
    }

    /// A builder for a document of `size` bytes with the names of a format. Its readers, and constants in the
    /// code of a user, find members by these objects without comparing texts.
    pub(crate) fn with_names(py: Python<'py>, size: usize, names: &'static Vocabulary) -> Self {
        let mut objects = Self::new(py, size);
        objects.texts.names = Some(names);
        objects
    }

    /// A builder for the rows of a document one by one: each row, and each member of an object of
    /// rows, is taken before the next begins.
    pub(crate) fn for_rows(py: Python<'py>) -> Self {
        Self { whole: false, ..Self::new(py, ROW_SIZE) }
    }

    /// The object of a complete value; Python's `None` if there is none.
    pub(crate) fn finish(mut self) -> Bound<'py, PyAny> {
        let py = self.py;
        self.take().unwrap_or_else(|| py.None().into_bound(py))
    }

    /// Takes the object of the last complete value.
    pub(crate) fn take(&mut self) -> Option<Bound<'py, PyAny>> {
        self.values.pop()
    }

    /// Drops all values that were received and not taken.
    pub(crate) fn clear(&mut self) {
        self.values.clear();
        self.open.clear();
    }

    #[inline(always)]
    fn key_object(&mut self, key: &str) -> Result<Bound<'py, PyString>> {
        if key.len() < 16 {
            return self.texts.get(self.py, Text::new(key));
        }
        if let Some(known) = self.keys.get(key) {
            return Ok(known.clone());
        }
        // The key is not interned: some versions of Python never free interned strings, and a peer chose
        // this one.
        let object = make_text(self.py, Text::new(key))?;
        if self.keys.len() < MAX_KEYS {
            ensure_memory(key.len())?;
            self.keys.insert(key.into(), object.clone());
        }
        Ok(object)
    }

    /// Adds a value to the innermost container.
    #[inline(always)]
    fn put(&mut self, value: Bound<'py, PyAny>) -> Result<()> {
        if let Some(Open::Dict(dict, Some(key))) = self.open.last() {
            return Ok(set(dict, key, &value)?);
        }
        Ok(push(&mut self.values, value)?)
    }

    /// Adds a member to the innermost container, a dict.
    #[inline]
    fn put_member(&self, name: &Prepared, value: &Bound<'py, PyAny>) -> Result<()> {
        if let (Some(Open::Dict(dict, _)), Prepared::Name(name)) = (self.open.last(), name) {
            name.set(dict, value)?;
        }
        Ok(())
    }

    #[inline]
    fn set_key(&mut self, name: Bound<'py, PyString>) {
        if let Some(Open::Dict(_, key)) = self.open.last_mut() {
            *key = Some(name);
        }
    }

    #[inline]
    fn scalar(&mut self, scalar: Scalar<'_>) -> Result<Bound<'py, PyAny>> {
        let py = self.py;
        Ok(match scalar {
            Scalar::Null => py.None().into_bound(py),
            Scalar::Bool(value) => PyBool::new(py, value).to_owned().into_any(),
            Scalar::Int(value) => make_int(py, value)?,
            Scalar::Float(value) => make_float(py, value)?,
            Scalar::String(text) => self.texts.get(py, Text::new(text))?.into_any(),
        })
    }
}

impl Sink for Objects<'_> {
    type Error = Error;

    fn null(&mut self) -> Result<()> {
        self.put(self.py.None().into_bound(self.py))
    }

    fn bool(&mut self, value: bool) -> Result<()> {
        self.put(PyBool::new(self.py, value).to_owned().into_any())
    }

    #[inline]
    fn int(&mut self, value: i64) -> Result<()> {
        self.put(make_int(self.py, value)?)
    }

    fn big_int(&mut self, digits: &str) -> Result<()> {
        self.put(make_big_int(self.py, digits)?)
    }

    #[inline]
    fn float(&mut self, value: f64) -> Result<()> {
        self.put(make_float(self.py, value)?)
    }

    #[inline(always)]
    fn string(&mut self, text: &str) -> Result<()> {
        let text = self.texts.get(self.py, Text::new(text))?;
        self.put(text.into_any())
    }

    #[inline]
    fn begin_array(&mut self) -> Result<()> {
        self.open.push(Open::List(self.values.len()));
        Ok(())
    }

    fn end_array(&mut self) -> Result<()> {
        if let Some(Open::List(first)) = self.open.pop() {
            let list = make_list(self.py, self.values.drain(first..).map(Ok))?;
            self.put(list.into_any())?;
        }
        Ok(())
    }

    #[inline]
    fn begin_object(&mut self) -> Result<()> {
        self.open.push(Open::Dict(make_dict(self.py)?, None));
        Ok(())
    }

    #[inline(always)]
    fn key(&mut self, key: &str) -> Result<()> {
        let name = self.key_object(key)?;
        self.set_key(name);
        Ok(())
    }

    #[inline]
    fn end_object(&mut self) -> Result<()> {
        match self.open.pop() {
            Some(Open::Dict(dict, _)) => self.put(dict.into_any()),
            _ => Ok(()),
        }
    }
}

/// A prepared key or constant: its Python object.
pub(crate) enum Prepared {
    Name(Hashed),
    Constant(Py<PyAny>),
}

impl Columns for Objects<'_> {
    type Prepared = Prepared;
    type Mark = [usize; 2];

    fn name(&mut self, key: &str) -> Result<Prepared> {
        Ok(Prepared::Name(Hashed::new(self.key_object(key)?)?))
    }

    #[inline]
    fn known_key(&mut self, name: &Prepared) -> Result<()> {
        if let Prepared::Name(name) = name {
            self.set_key(name.key(self.py).clone());
        }
        Ok(())
    }

    fn constant(&mut self, scalar: Scalar<'_>) -> Result<Prepared> {
        Ok(Prepared::Constant(self.scalar(scalar)?.unbind()))
    }

    #[inline]
    fn known_scalar(&mut self, constant: &Prepared) -> Result<()> {
        match constant {
            Prepared::Constant(object) => self.put(object.bind(self.py).clone()),
            Prepared::Name(_) => Ok(()),
        }
    }

    #[inline]
    fn begin_row(&mut self, members: usize) -> Result<()> {
        self.open.push(Open::Dict(make_dict_for(self.py, members)?, None));
        Ok(())
    }

    #[inline(always)]
    fn known_member(&mut self, name: &Prepared, value: Scalar<'_>) -> Result<()> {
        let value = self.scalar(value)?;
        self.put_member(name, &value)
    }

    #[inline(always)]
    fn known_int(&mut self, name: &Prepared, value: i64) -> Result<()> {
        let value = make_int(self.py, value)?;
        self.put_member(name, &value)
    }

    #[inline(always)]
    fn known_float(&mut self, name: &Prepared, value: f64) -> Result<()> {
        let value = make_float(self.py, value)?;
        self.put_member(name, &value)
    }

    #[inline(always)]
    fn known_text(&mut self, name: &Prepared, value: Text<'_>) -> Result<()> {
        let value = self.texts.get(self.py, value)?;
        self.put_member(name, value.as_any())
    }

    #[inline]
    fn reserve(&mut self, name: &Prepared) -> Result<Option<usize>> {
        // A dict keeps the order of its keys when a value is replaced.
        self.known_member(name, Scalar::Null)?;
        Ok(Some(0))
    }

    fn mark(&self) -> [usize; 2] {
        [self.open.len(), self.values.len()]
    }

    fn reset(&mut self, [open, values]: [usize; 2]) {
        self.open.truncate(open);
        self.values.truncate(values);
    }

    fn is_new_key(&self) -> Option<bool> {
        match self.open.last() {
            Some(Open::Dict(dict, Some(key))) if self.whole => {
                dict.contains(key).ok().map(|found| !found)
            }
            _ => None,
        }
    }
}
