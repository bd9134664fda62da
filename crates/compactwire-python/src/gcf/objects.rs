//! What the reader tells, as Python objects.
//!
//! Built from the leaves: values wait on a stack until their container ends, so that a list is made
//! in its size. Keys are made once each; a dict with the keys of the one before, as a table's rows
//! are, begins as a copy of an empty form, which has room and hashes already.

use super::super::make_str;
use compactwire::walk::{Columns, Sink};
use hashbrown::HashMap;
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
        self.take().unwrap_or_else(|| py.None().into_bound(py))
    }

    /// The object that was told last, once it is whole.
    pub(super) fn take(&mut self) -> Option<Bound<'py, PyAny>> {
        self.values.pop()
    }

    /// Forgets what was told and not taken.
    pub(super) fn clear(&mut self) {
        self.values.clear();
        self.names.clear();
        self.open.clear();
    }

    fn begin(&mut self) {
        self.open.push(Open { values: self.values.len(), names: self.names.len() });
    }

    fn end(&mut self) -> Open {
        self.open.pop().unwrap_or(Open { values: 0, names: 0 })
    }

    fn key_object(&mut self, key: &str) -> PyResult<Bound<'py, PyString>> {
        if let Some(known) = self.keys.get(key) {
            return Ok(known.clone());
        }
        // Not interned: some Pythons keep interned strings for ever, and a peer chose this one.
        let object = make_str(self.py, key)?;
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
        form.dict.as_ref().map_or_else(|| Ok(PyDict::new(self.py)), PyDictMethods::copy)
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

    fn int(&mut self, value: i64) -> PyResult<()> {
        self.values.push(value.into_pyobject(self.py)?.into_any());
        Ok(())
    }

    fn big_int(&mut self, digits: &str) -> PyResult<()> {
        self.values.push(self.py.get_type::<PyInt>().call1((digits,))?);
        Ok(())
    }

    fn float(&mut self, value: f64) -> PyResult<()> {
        self.values.push(PyFloat::new(self.py, value).into_any());
        Ok(())
    }

    fn string(&mut self, text: &str) -> PyResult<()> {
        let text = make_str(self.py, text)?;
        self.values.push(text.into_any());
        Ok(())
    }

    fn begin_array(&mut self) -> PyResult<()> {
        self.begin();
        Ok(())
    }

    fn end_array(&mut self) -> PyResult<()> {
        let first = self.end().values;
        let list = PyList::new(self.py, self.values.drain(first..))?;
        self.values.push(list.into_any());
        Ok(())
    }

    fn begin_object(&mut self) -> PyResult<()> {
        self.begin();
        Ok(())
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
        self.values.push(dict.into_any());
        Ok(())
    }
}

impl Columns for Objects<'_> {
    type Name = Py<PyString>;

    fn name(&mut self, key: &str) -> PyResult<Self::Name> {
        Ok(self.key_object(key)?.unbind())
    }

    fn known_key(&mut self, name: &Self::Name) -> PyResult<()> {
        self.names.push(name.bind(self.py).clone());
        Ok(())
    }
}
