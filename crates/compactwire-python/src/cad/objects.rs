//! Python objects as what a document is read from, and is told to.
//!
//! Every name that the format has is one `str` object for the life of the process: looking it up in a
//! dict, or putting it there, costs no new string.

use super::super::make_str;
use compactwire::cad::{self, Shape, Source};
use compactwire::walk::Sink;
use pyo3::IntoPyObject;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use std::borrow::Cow;
use std::cell::RefCell;

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

/// An integer beyond 64 bits as a number, if it is one.
fn double(value: &Bound<'_, PyInt>) -> Option<f64> {
    // Of the class: a subclass may have its own, and no Python code is to run here.
    let int = value.py().get_type::<PyInt>();
    match int.call_method1(intern!(value.py(), "__repr__"), (value,)) {
        Ok(digits) => cad::double(digits.cast::<PyString>().ok()?.to_str().ok()?),
        // Python writes no integers of thousands of digits.
        Err(_) => Some(f64::INFINITY),
    }
}

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
                Err(_) => Shape::Big(value.extract().ok(), double(value)),
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
        // Taken out first, because what looks at them may run Python code, and that change the dict.
        let items = RefCell::new(Vec::with_capacity(dict.len()));
        let taken = dict.locked_for_each(|key, value| {
            items.borrow_mut().push((key, value));
            Ok(())
        });
        debug_assert!(taken.is_ok(), "nothing here fails");
        for (key, value) in items.into_inner() {
            let text = key.cast::<PyString>().ok().and_then(|key| key.to_str().ok());
            visit(text, Self(value))?;
        }
        Ok(())
    }
}

/// No collection of garbage while a large document is built: what is built is no garbage, and half of
/// the time would be spent to find that out again and again. The collector is as it was when this is
/// dropped.
///
/// No Python code runs meanwhile that could see it, and the interpreter's lock holds other threads.
/// From 3.12 on collections wait for Python code by themselves, so that nothing is to be done there,
/// nor where there is no such lock.
pub(super) struct Pause<'py>(Option<Bound<'py, PyModule>>);

/// A collection begins after some 700 new containers; a node is two or three.
const MANY_NODES: usize = 500;

impl<'py> Pause<'py> {
    pub(super) fn new(py: Python<'py>, nodes: usize) -> PyResult<Self> {
        if nodes < MANY_NODES || py.version_info() >= (3, 12) {
            return Ok(Self(None));
        }
        let gc = py.import(intern!(py, "gc"))?;
        if !gc.call_method0(intern!(py, "isenabled"))?.is_truthy()? {
            return Ok(Self(None));
        }
        gc.call_method0(intern!(py, "disable"))?;
        Ok(Self(Some(gc)))
    }
}

impl Drop for Pause<'_> {
    fn drop(&mut self) {
        if let Some(gc) = &self.0 {
            // It takes nothing and fails never.
            let enabled = gc.call_method0(intern!(gc.py(), "enable"));
            debug_assert!(enabled.is_ok());
        }
    }
}

/// Makes Python objects of the document that it is told.
///
/// Values wait on a stack until their container ends, so that a list is made in its size, and a dict
/// as a copy of its [`Form`].
pub(super) struct Objects<'py> {
    py: Python<'py>,
    names: &'static Names,
    values: Vec<Bound<'py, PyAny>>,
    keys: Vec<Bound<'py, PyString>>,
    open: Vec<Open>,
}

/// How many values and keys there were when a container began, and whether it has only names of the
/// format as keys so far.
#[derive(Clone, Copy)]
struct Open {
    values: usize,
    keys: usize,
    known: bool,
}

/// A kind of dict: its keys, and a dict that has them, of which a copy has room and hashes already.
/// Nobody else ever sees that dict.
struct Form {
    keys: Vec<Py<PyString>>,
    dict: Py<PyDict>,
}

/// Forms by a hash of their keys, for the life of the process. The first that comes to a place stays
/// there; the format has far fewer kinds of dicts.
static FORMS: [PyOnceLock<Form>; 512] = [const { PyOnceLock::new() }; 512];

impl<'py> Objects<'py> {
    pub(super) fn new(py: Python<'py>) -> Self {
        Self {
            py,
            names: Names::get(py),
            values: Vec::with_capacity(32),
            keys: Vec::with_capacity(32),
            open: Vec::with_capacity(8),
        }
    }

    /// The object, once the document has been told whole.
    pub(super) fn finish(mut self) -> Bound<'py, PyAny> {
        let py = self.py;
        self.values.pop().unwrap_or_else(|| py.None().into_bound(py))
    }

    #[inline]
    fn begin(&mut self) {
        let open = Open { values: self.values.len(), keys: self.keys.len(), known: true };
        self.open.push(open);
    }

    #[inline]
    fn end(&mut self) -> Open {
        self.open.pop().unwrap_or(Open { values: 0, keys: 0, known: false })
    }

    /// A dict for these keys, which has them already if they are names of the format.
    #[inline]
    fn dict_for(&self, open: Open) -> PyResult<Bound<'py, PyDict>> {
        let keys = &self.keys[open.keys..];
        if keys.is_empty() || !open.known {
            return Ok(PyDict::new(self.py));
        }
        // Names of the format are one object each, so that their addresses tell forms apart.
        let mixed = keys.iter().fold(keys.len(), |mixed, key| {
            mixed.wrapping_mul(31).wrapping_add(key.as_ptr().addr() >> 4)
        });
        let form = FORMS[mixed % FORMS.len()].get_or_try_init(self.py, || self.form(keys))?;
        let same = form.keys.len() == keys.len()
            && form.keys.iter().zip(keys).all(|(known, key)| known.is(key));
        if same { form.dict.bind(self.py).copy() } else { Ok(PyDict::new(self.py)) }
    }

    fn form(&self, keys: &[Bound<'py, PyString>]) -> PyResult<Form> {
        let dict = PyDict::new(self.py);
        keys.iter().try_for_each(|key| dict.set_item(key, self.py.None()))?;
        Ok(Form {
            keys: keys.iter().map(|key| key.clone().unbind()).collect(),
            dict: dict.unbind(),
        })
    }
}

impl Sink for Objects<'_> {
    type Error = PyErr;

    fn null(&mut self) -> PyResult<()> {
        self.values.push(self.py.None().into_bound(self.py));
        Ok(())
    }

    fn bool(&mut self, value: bool) -> PyResult<()> {
        self.values.push(PyBool::new(self.py, value).to_owned().into_any());
        Ok(())
    }

    #[inline]
    fn int(&mut self, value: i64) -> PyResult<()> {
        self.values.push(value.into_pyobject(self.py)?.into_any());
        Ok(())
    }

    fn big_int(&mut self, digits: &str) -> PyResult<()> {
        self.values.push(self.py.get_type::<PyInt>().call1((digits,))?);
        Ok(())
    }

    #[inline]
    fn float(&mut self, value: f64) -> PyResult<()> {
        self.values.push(PyFloat::new(self.py, value).into_any());
        Ok(())
    }

    fn string(&mut self, text: &str) -> PyResult<()> {
        let text = match self.names.find(text) {
            Some(name) => name.bind(self.py).clone(),
            None => make_str(self.py, text)?,
        };
        self.values.push(text.into_any());
        Ok(())
    }

    #[inline]
    fn begin_array(&mut self) -> PyResult<()> {
        self.begin();
        Ok(())
    }

    fn end_array(&mut self) -> PyResult<()> {
        let values = self.end().values;
        let list = PyList::new(self.py, self.values.drain(values..))?;
        self.values.push(list.into_any());
        Ok(())
    }

    #[inline]
    fn begin_object(&mut self) -> PyResult<()> {
        self.begin();
        Ok(())
    }

    #[inline]
    fn key(&mut self, name: &str) -> PyResult<()> {
        let key = if let Some(key) = self.names.find(name) {
            key.bind(self.py).clone()
        } else {
            if let Some(open) = self.open.last_mut() {
                open.known = false;
            }
            make_str(self.py, name)?
        };
        self.keys.push(key);
        Ok(())
    }

    #[inline]
    fn end_object(&mut self) -> PyResult<()> {
        let open = self.end();
        let dict = self.dict_for(open)?;
        for (key, value) in self.keys.drain(open.keys..).zip(self.values.drain(open.values..)) {
            dict.set_item(key, value)?;
        }
        self.values.push(dict.into_any());
        Ok(())
    }
}
