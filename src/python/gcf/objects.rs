//! What the reader tells, as Python objects.
//!
//! Built from the leaves: values wait on a stack until their container ends, so that a list is made
//! in its size. Keys are made once each; a dict with the keys of the one before, as a table's rows
//! are, begins as a copy of an empty form, which has room and hashes already.

use crate::walk::{Columns, Sink};
use hashbrown::HashMap;
use pyo3::exceptions::PyMemoryError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString};

/// How many keys are remembered: more than one text's tables have.
const KEYS: usize = 1 << 12;

/// Makes Python objects of the value that it is told.
pub(super) struct Objects<'py> {
    py: Python<'py>,
    values: Vec<Bound<'py, PyAny>>,
    names: Vec<Bound<'py, PyString>>,
    open: Vec<Open>,
    keys: HashMap<Box<str>, Bound<'py, PyString>>,
    /// For each depth, the form of the last dict.
    forms: Vec<Form<'py>>,
}

#[derive(Clone, Copy)]
struct Open {
    values: usize,
    names: usize,
}

/// The keys of a dict, and from the second with them on a dict that has them.
struct Form<'py> {
    names: Vec<Bound<'py, PyString>>,
    dict: Option<Bound<'py, PyDict>>,
}

impl<'py> Objects<'py> {
    /// Nothing yet.
    pub(super) fn new(py: Python<'py>) -> Self {
        Self {
            py,
            values: Vec::new(),
            names: Vec::new(),
            open: Vec::new(),
            keys: HashMap::new(),
            forms: Vec::new(),
        }
    }

    /// The object, once the value has been told whole; `None` before.
    pub(super) fn finish(mut self) -> Bound<'py, PyAny> {
        let py = self.py;
        self.values.pop().unwrap_or_else(|| py.None().into_bound(py))
    }

    fn put(&mut self, object: Bound<'py, PyAny>) -> PyResult<()> {
        self.values.push(object);
        Ok(())
    }

    fn begin(&mut self) -> PyResult<()> {
        self.open.push(Open { values: self.values.len(), names: self.names.len() });
        Ok(())
    }

    fn end(&mut self) -> Open {
        self.open.pop().unwrap_or(Open { values: 0, names: 0 })
    }

    fn key_object(&mut self, key: &str) -> PyResult<Bound<'py, PyString>> {
        if let Some(known) = self.keys.get(key) {
            return Ok(known.clone());
        }
        // Not interned: some Pythons keep interned strings for ever, and a peer chose this one.
        let object = make_text(self.py, key)?;
        if self.keys.len() < KEYS {
            self.keys.insert(key.into(), object.clone());
        }
        Ok(object)
    }

    /// A dict with these keys, whose values are still to be set; or an empty one.
    fn dict_for(&mut self, names: usize, depth: usize) -> PyResult<Bound<'py, PyDict>> {
        let names = &self.names[names..];
        if self.forms.len() <= depth {
            self.forms.resize_with(depth + 1, || Form { names: Vec::new(), dict: None });
        }
        let form = &mut self.forms[depth];
        let same = form.names.len() == names.len()
            && form.names.iter().zip(names).all(|(known, name)| known.is(name));
        if !same {
            form.names.clear();
            form.names.extend_from_slice(names);
            form.dict = None;
            return Ok(PyDict::new(self.py));
        }
        if form.dict.is_none() {
            let dict = PyDict::new(self.py);
            for name in names {
                dict.set_item(name, self.py.None())?;
            }
            form.dict = Some(dict);
        }
        form.dict.as_ref().map_or_else(|| Ok(PyDict::new(self.py)), |dict| dict.copy())
    }
}

/// Makes a str, quicker than the interpreter where it is ASCII.
fn make_text<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyString>> {
    // Of one character there is one str for all, which the interpreter finds.
    if text.len() < 2 || !text.is_ascii() {
        return Ok(PyString::new(py, text));
    }
    let size = ffi::Py_ssize_t::try_from(text.len()).map_err(|_| PyMemoryError::new_err(()))?;
    // SAFETY: PyUnicode_New gives a new object of `size` one-byte characters, or an error; nobody
    // else knows it before it is filled, and it is filled whole.
    unsafe {
        let object = Bound::from_owned_ptr_or_err(py, ffi::PyUnicode_New(size, 127))?;
        let start = ffi::PyUnicode_DATA(object.as_ptr()).cast::<u8>();
        std::ptr::copy_nonoverlapping(text.as_ptr(), start, text.len());
        Ok(object.cast_into_unchecked())
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

    fn int(&mut self, value: i64) -> PyResult<()> {
        self.put(value.into_pyobject(self.py)?.into_any())
    }

    fn big_int(&mut self, digits: &str) -> PyResult<()> {
        self.put(self.py.get_type::<PyInt>().call1((digits,))?)
    }

    fn float(&mut self, value: f64) -> PyResult<()> {
        self.put(PyFloat::new(self.py, value).into_any())
    }

    fn text(&mut self, text: &str) -> PyResult<()> {
        let text = make_text(self.py, text)?;
        self.put(text.into_any())
    }

    fn begin_array(&mut self) -> PyResult<()> {
        self.begin()
    }

    fn end_array(&mut self) -> PyResult<()> {
        let first = self.end().values;
        let list = PyList::new(self.py, self.values.drain(first..))?;
        self.put(list.into_any())
    }

    fn begin_object(&mut self) -> PyResult<()> {
        self.begin()
    }

    fn key(&mut self, name: &str) -> PyResult<()> {
        let key = self.key_object(name)?;
        self.names.push(key);
        Ok(())
    }

    fn end_object(&mut self) -> PyResult<()> {
        let Open { values, names } = self.end();
        let dict = self.dict_for(names, self.open.len())?;
        for (name, value) in self.names.drain(names..).zip(self.values.drain(values..)) {
            dict.set_item(name, value)?;
        }
        self.put(dict.into_any())
    }
}

impl<'py> Columns for Objects<'py> {
    type Name = Bound<'py, PyString>;

    fn name(&mut self, key: &str) -> PyResult<Self::Name> {
        self.key_object(key)
    }

    fn known_key(&mut self, name: &Self::Name) -> PyResult<()> {
        self.names.push(name.clone());
        Ok(())
    }
}
