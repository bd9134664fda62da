//! Python objects as what a document is read from, and is told to.
//!
//! Every name that the format has is one `str` object for the life of the process: looking it up in a
//! dict, or putting it there, costs no new string.

use crate::cad::{self, Shape, Source};
use crate::walk::Sink;
use pyo3::IntoPyObject;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use std::borrow::Cow;

/// The names of the format, by their text.
struct Names {
    slots: Vec<Option<(&'static str, Py<PyString>)>>,
}

/// Slots of [`Names`]: a power of two, and enough for most names to have their first.
const SLOTS: usize = 1024;

static NAMES: PyOnceLock<Names> = PyOnceLock::new();

impl Names {
    fn get(py: Python<'_>) -> &'static Self {
        NAMES.get_or_init(py, || Self::new(py))
    }

    fn new(py: Python<'_>) -> Self {
        let mut names = Self { slots: (0..SLOTS).map(|_| None).collect() };
        for name in cad::names() {
            if names.find(name).is_none() {
                let mut at = hash(name.as_bytes());
                while names.slots[at].is_some() {
                    at = (at + 1) % SLOTS;
                }
                names.slots[at] = Some((name, PyString::intern(py, name).unbind()));
            }
        }
        names
    }

    #[inline]
    fn find(&self, name: &str) -> Option<&Py<PyString>> {
        let mut at = hash(name.as_bytes());
        while let Some((known, object)) = &self.slots[at] {
            if *known == name {
                return Some(object);
            }
            at = (at + 1) % SLOTS;
        }
        None
    }
}

/// Tells short names apart well enough; attackers gain nothing, because no name of theirs is kept.
#[inline]
fn hash(name: &[u8]) -> usize {
    let (first, last, middle) = match name {
        [] => (0, 0, 0),
        [.., last] => (name[0], *last, name[name.len() / 2]),
    };
    (name.len() * 31 + usize::from(first) * 71 + usize::from(last) * 147 + usize::from(middle) * 5)
        % SLOTS
}

/// A Python object to read a document from.
pub(super) struct PyValue<'py>(pub Bound<'py, PyAny>);

impl<'a> Source<'a> for PyValue<'_> {
    fn shape(&self) -> Shape<'a> {
        let object = &self.0;
        if let Ok(value) = object.cast::<PyFloat>() {
            Shape::Float(value.value())
        } else if object.is_instance_of::<PyDict>() {
            Shape::Object
        } else if let Ok(text) = object.cast::<PyString>() {
            // A lone surrogate is no text.
            text.to_str().map_or(Shape::Other, |text| Shape::Text(Cow::Owned(text.to_owned())))
        } else if let Ok(value) = object.cast::<PyBool>() {
            Shape::Bool(value.is_true())
        } else if let Ok(value) = object.cast::<PyInt>() {
            match value.extract::<i64>() {
                Ok(n) => Shape::Int(n),
                Err(_) => {
                    Shape::Big(value.extract().ok(), value.extract().unwrap_or(f64::INFINITY))
                }
            }
        } else if object.is_none() {
            Shape::Null
        } else if object.is_instance_of::<PyList>() || object.is_instance_of::<PyTuple>() {
            Shape::Array
        } else {
            Shape::Other
        }
    }

    fn is_null(&self) -> bool {
        self.0.is_none()
    }

    fn is_object(&self) -> bool {
        self.0.is_instance_of::<PyDict>()
    }

    fn with_text<R>(&self, look: impl FnOnce(&str) -> R) -> Option<R> {
        self.0.cast::<PyString>().ok()?.to_str().ok().map(look)
    }

    fn size(&self) -> usize {
        // Of the classes: a subclass may have its own, and no Python code is to run here.
        if let Ok(dict) = self.0.cast::<PyDict>() {
            dict.len()
        } else if let Ok(list) = self.0.cast::<PyList>() {
            list.len()
        } else {
            self.0.cast::<PyTuple>().map_or(0, PyTupleMethods::len)
        }
    }

    fn member(&self, name: &'static str) -> Option<Self> {
        let py = self.0.py();
        let dict = self.0.cast::<PyDict>().ok()?;
        let found = match Names::get(py).find(name) {
            Some(name) => dict.get_item(name.bind(py)),
            None => dict.get_item(name),
        };
        found.ok().flatten().map(Self)
    }

    fn element(&self, index: usize) -> Option<Self> {
        if let Ok(list) = self.0.cast::<PyList>() {
            return list.get_item(index).ok().map(Self);
        }
        self.0.cast::<PyTuple>().ok()?.get_item(index).ok().map(Self)
    }

    fn members<E>(
        &self,
        mut visit: impl FnMut(Option<&str>, Self) -> Result<(), E>,
    ) -> Result<(), E> {
        let Ok(dict) = self.0.cast::<PyDict>() else { return Ok(()) };
        // A copy: another thread may change the dict.
        for item in dict.items() {
            let Ok((key, value)) = item.extract::<(Bound<'_, PyAny>, Bound<'_, PyAny>)>() else {
                continue;
            };
            let text = key.cast::<PyString>().ok().and_then(|key| key.to_str().ok());
            visit(text, Self(value))?;
        }
        Ok(())
    }
}

/// Makes Python objects of the document that it is told.
pub(super) struct Objects<'py> {
    py: Python<'py>,
    names: &'static Names,
    open: Vec<Open<'py>>,
    done: Option<Bound<'py, PyAny>>,
}

enum Open<'py> {
    List(Bound<'py, PyList>),
    Dict(Bound<'py, PyDict>, Option<Bound<'py, PyString>>),
}

impl<'py> Objects<'py> {
    pub(super) fn new(py: Python<'py>) -> Self {
        Self { py, names: Names::get(py), open: Vec::with_capacity(8), done: None }
    }

    /// The object, once the document has been told whole.
    pub(super) fn finish(self) -> Bound<'py, PyAny> {
        let py = self.py;
        self.done.unwrap_or_else(|| py.None().into_bound(py))
    }

    #[inline]
    fn name(&self, text: &str) -> Bound<'py, PyString> {
        match self.names.find(text) {
            Some(name) => name.bind(self.py).clone(),
            None => PyString::new(self.py, text),
        }
    }

    #[inline]
    fn put(&mut self, object: Bound<'py, PyAny>) -> PyResult<()> {
        match self.open.last_mut() {
            None => self.done = Some(object),
            Some(Open::List(list)) => list.append(object)?,
            Some(Open::Dict(dict, key)) => dict.set_item(key.take(), object)?,
        }
        Ok(())
    }

    fn close(&mut self) -> PyResult<()> {
        match self.open.pop() {
            None => Ok(()),
            Some(Open::List(list)) => self.put(list.into_any()),
            Some(Open::Dict(dict, _)) => self.put(dict.into_any()),
        }
    }
}

impl Sink for Objects<'_> {
    type Error = PyErr;

    fn null(&mut self) -> PyResult<()> {
        self.put(self.py.None().into_bound(self.py))
    }

    fn bool(&mut self, value: bool) -> PyResult<()> {
        self.put(PyBool::new(self.py, value).to_owned().into_any())
    }

    #[inline]
    fn int(&mut self, value: i64) -> PyResult<()> {
        self.put(value.into_pyobject(self.py)?.into_any())
    }

    fn big_int(&mut self, digits: &str) -> PyResult<()> {
        self.put(self.py.get_type::<PyInt>().call1((digits,))?)
    }

    #[inline]
    fn float(&mut self, value: f64) -> PyResult<()> {
        self.put(PyFloat::new(self.py, value).into_any())
    }

    fn text(&mut self, text: &str) -> PyResult<()> {
        let text = self.name(text).into_any();
        self.put(text)
    }

    fn begin_array(&mut self) -> PyResult<()> {
        self.open.push(Open::List(PyList::empty(self.py)));
        Ok(())
    }

    fn end_array(&mut self) -> PyResult<()> {
        self.close()
    }

    #[inline]
    fn begin_object(&mut self) -> PyResult<()> {
        self.open.push(Open::Dict(PyDict::new(self.py), None));
        Ok(())
    }

    #[inline]
    fn key(&mut self, name: &str) -> PyResult<()> {
        let name = self.name(name);
        if let Some(Open::Dict(_, key)) = self.open.last_mut() {
            *key = Some(name);
        }
        Ok(())
    }

    #[inline]
    fn end_object(&mut self) -> PyResult<()> {
        self.close()
    }
}
