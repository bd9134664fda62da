//! Builds Python objects from the events of a value, each as early as possible.
//!
//! A member is added to its dict as soon as its value is complete. The elements of open lists stay on a
//! stack, so that a list is allocated at its exact size. Short texts, keys and values alike, are those of
//! [`super::texts`].

use super::texts::{Keys, SHORT, Texts};
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

/// A sink that builds a Python object.
pub(crate) struct Objects<'py> {
    py: Python<'py>,
    /// The elements of open lists, and the complete value.
    values: Vec<Bound<'py, PyAny>>,
    open: Vec<Open<'py>>,
    texts: Texts,
    /// The short keys, if they are not those of `texts`.
    keys: Keys,
    long_keys: HashMap<Box<str>, Bound<'py, PyString>>,
    /// Whether the last member that was put into an open dict has replaced another.
    repeated: bool,
    /// Whether each open dict contains all earlier members of its object: not if the caller takes members
    /// one by one.
    whole: bool,
}

/// An open container.
enum Open<'py> {
    /// A list, and where its elements begin.
    List(usize),
    /// A dict, the key of its next member, and its size before that member.
    Dict(Bound<'py, PyDict>, Option<Bound<'py, PyString>>, usize),
}

impl<'py> Objects<'py> {
    /// An empty builder, for a document of `size` bytes.
    pub(crate) fn new(py: Python<'py>, size: usize) -> Self {
        Self::with(py, Texts::new(size), Keys::take())
    }

    /// A builder for a document of `size` bytes with the names of a format. Its readers, and constants in the
    /// code of a user, find members by these objects without comparing texts.
    pub(crate) fn with_names(py: Python<'py>, size: usize, names: &'static Vocabulary) -> Self {
        // Keys that were kept would be found before the names.
        Self::with(py, Texts::with_names(size, names), Keys::none())
    }

    fn with(py: Python<'py>, texts: Texts, keys: Keys) -> Self {
        Self {
            py,
            values: Vec::new(),
            open: Vec::new(),
            texts,
            keys,
            long_keys: HashMap::new(),
            repeated: false,
            whole: true,
        }
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
        if key.len() < SHORT {
            let table = self.keys.table().unwrap_or(&mut self.texts);
            return table.get(self.py, Text::new(key));
        }
        if let Some(known) = self.long_keys.get(key) {
            return Ok(known.clone());
        }
        // The key is not interned: some versions of Python never free interned strings, and a peer chose
        // this one.
        let object = make_text(self.py, Text::new(key))?;
        if self.long_keys.len() < MAX_KEYS {
            ensure_memory(key.len())?;
            self.long_keys.insert(key.into(), object.clone());
        }
        Ok(object)
    }

    /// Adds a value to the innermost container.
    #[inline(always)]
    fn put(&mut self, value: Bound<'py, PyAny>) -> Result<()> {
        if let Some(Open::Dict(dict, Some(key), size)) = self.open.last() {
            set(dict, key, &value)?;
            self.repeated = dict.len() == *size;
            return Ok(());
        }
        Ok(push(&mut self.values, value)?)
    }

    /// Adds a member to the innermost container, a dict.
    #[inline]
    fn put_member(&self, name: &Prepared, value: &Bound<'py, PyAny>) -> Result<()> {
        if let (Some(Open::Dict(dict, ..)), Prepared::Name(name)) = (self.open.last(), name) {
            name.set(dict, value)?;
        }
        Ok(())
    }

    #[inline]
    fn set_key(&mut self, name: Bound<'py, PyString>) {
        if let Some(Open::Dict(dict, key, size)) = self.open.last_mut() {
            *key = Some(name);
            *size = dict.len();
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
        self.open.push(Open::Dict(make_dict(self.py)?, None, 0));
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
            Some(Open::Dict(dict, ..)) => self.put(dict.into_any()),
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
        self.open.push(Open::Dict(make_dict_for(self.py, members)?, None, 0));
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

    fn finds_repeated_keys(&self) -> bool {
        self.whole
    }

    fn has_repeated(&self) -> bool {
        self.repeated
    }

    fn has_key(&self) -> bool {
        match self.open.last() {
            // The member may have been put into the dict before its error was found.
            Some(Open::Dict(dict, Some(key), size)) => {
                dict.len() == *size && dict.contains(key).unwrap_or(false)
            }
            _ => false,
        }
    }
}
