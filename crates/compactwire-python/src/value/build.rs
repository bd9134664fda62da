//! Builds Python objects from the events of a value in a format that has its own names, as CAD has.
//!
//! Objects are built from the leaves: values stay on a stack until their container ends, so that a
//! list is allocated at its exact size. Each name of the format is one `str` object. A dict with the keys
//! of an earlier one starts as a copy of a *form*, a dict with these keys, which saves the allocation
//! and the hashes. The forms live as long as the process, because one small document has too few dicts
//! to gain from a form.

use super::read_fast::LOCKED;
use crate::make::{make_dict, make_float, make_int, make_list, make_str, push};
use compactwire::walk::Sink;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyInt, PyString};
use std::cell::Cell;
use std::marker::PhantomData;
use std::sync::OnceLock;

/// How many forms are kept: many more than the format has kinds of dicts, so that most have a slot of
/// their own. A power of two.
const KNOWN_FORMS: usize = 512;

/// The `str` objects of a format's names, and the forms of dicts with only such keys. Both live as
/// long as the process.
pub(crate) struct Vocabulary {
    /// The names by their hash, with linear probing: a lookup takes half of the instructions of one
    /// in a `HashMap`, and a document needs hundreds. At most a quarter of the slots is used.
    slots: Vec<Option<(&'static str, Py<PyString>)>>,
    /// The first form that is stored in a slot is never replaced.
    forms: Vec<OnceLock<Form>>,
}

impl Vocabulary {
    pub(crate) fn new(py: Python<'_>, names: impl Iterator<Item = &'static str>) -> Self {
        let names: Vec<_> = names.collect();
        let mut slots = Vec::new();
        slots.resize_with((4 * names.len()).next_power_of_two(), || None);
        let forms = (0..KNOWN_FORMS).map(|_| OnceLock::new()).collect();
        let mut vocabulary = Self { slots, forms };
        for name in names {
            let slot = vocabulary.slot(name);
            vocabulary.slots[slot] = Some((name, PyString::intern(py, name).unbind()));
        }
        vocabulary
    }

    /// The object of a name; `None` if it is not a name of the format.
    #[inline]
    pub(crate) fn get(&self, name: &str) -> Option<&Py<PyString>> {
        self.slots[self.slot(name)].as_ref().map(|(_, object)| object)
    }

    /// The slot of a name, or the free slot where it would be.
    #[inline]
    fn slot(&self, name: &str) -> usize {
        let last = self.slots.len() - 1;
        let mut slot = hash(name.as_bytes()) & last;
        while let Some((known, _)) = &self.slots[slot]
            // Usually both are the same constant, so comparing addresses is enough.
            && !std::ptr::eq(*known, name)
            && *known != name
        {
            slot = (slot + 1) & last;
        }
        slot
    }

    /// A dict with these keys, all of which are names of the format, or an empty dict.
    #[inline]
    fn dict_for<'py>(
        &self,
        py: Python<'py>,
        names: &[Bound<'py, PyString>],
    ) -> PyResult<Bound<'py, PyDict>> {
        let mixed = names
            .iter()
            .fold(names.len(), |mixed, name| mixed.wrapping_mul(31).wrapping_add(address(name)));
        let slot = &self.forms[mixed % KNOWN_FORMS];
        if slot.get().is_none() {
            // Not a `PyOnceLock`, which would let other threads run while the collector is paused.
            let _ = slot.set(Form::new(py, names)?);
        }
        match slot.get().filter(|form| form.has(names)) {
            Some(form) => form.dict.bind(py).copy(),
            None => make_dict(py),
        }
    }
}

/// A fast hash of short names. Only the names of a format are ever inserted, so that a peer cannot
/// cause collisions.
#[inline]
fn hash(name: &[u8]) -> usize {
    let (Some(first), Some(last)) = (name.first(), name.last()) else { return 0 };
    let [first, middle, last] = [*first, name[name.len() / 2], *last].map(usize::from);
    name.len() * 31 + first * 71 + last * 147 + middle * 5
}

/// A sink that builds a Python object.
pub(crate) struct ObjectBuilder<'py> {
    py: Python<'py>,
    values: Vec<Bound<'py, PyAny>>,
    names: Vec<Bound<'py, PyString>>,
    open: Vec<Open>,
    vocabulary: &'static Vocabulary,
}

/// Where the values and keys of an open container start, and whether all keys so far are names of
/// the format.
#[derive(Clone, Copy)]
struct Open {
    values: usize,
    names: usize,
    known: bool,
}

/// Keys, and a dict with these keys that no other code uses.
struct Form {
    names: Vec<Py<PyString>>,
    dict: Py<PyDict>,
}

impl Form {
    fn new(py: Python<'_>, names: &[Bound<'_, PyString>]) -> PyResult<Self> {
        let dict = dict_with(py, names)?.unbind();
        Ok(Self { names: names.iter().map(|name| name.clone().unbind()).collect(), dict })
    }

    fn has(&self, names: &[Bound<'_, PyString>]) -> bool {
        self.names.len() == names.len()
            && self.names.iter().zip(names).all(|(known, name)| known.is(name))
    }
}

/// A dict with these keys; the values are `None`.
fn dict_with<'py>(py: Python<'py>, names: &[Bound<'py, PyString>]) -> PyResult<Bound<'py, PyDict>> {
    let dict = make_dict(py)?;
    names.iter().try_for_each(|name| dict.set_item(name, py.None()))?;
    Ok(dict)
}

/// The address of a key without its lowest bits, which are 0. A key is one object, so that the
/// address identifies it.
#[inline]
fn address(name: &Bound<'_, PyString>) -> usize {
    name.as_ptr().addr() >> 4
}

impl<'py> ObjectBuilder<'py> {
    /// A builder for a format that has its own names as keys and as strings.
    pub(crate) fn with_vocabulary(py: Python<'py>, names: &'static Vocabulary) -> Self {
        Self {
            py,
            // Enough for most documents.
            values: Vec::with_capacity(32),
            names: Vec::with_capacity(32),
            open: Vec::with_capacity(8),
            vocabulary: names,
        }
    }

    /// The object, once the value is complete; `None` before.
    pub(crate) fn finish(mut self) -> Bound<'py, PyAny> {
        let py = self.py;
        self.take().unwrap_or_else(|| py.None().into_bound(py))
    }

    /// Takes the object of the last complete value.
    pub(crate) fn take(&mut self) -> Option<Bound<'py, PyAny>> {
        self.values.pop()
    }

    #[inline]
    fn begin(&mut self) {
        let open = Open { values: self.values.len(), names: self.names.len(), known: true };
        self.open.push(open);
    }

    #[inline]
    fn end(&mut self) -> Open {
        self.open.pop().unwrap_or(Open { values: 0, names: 0, known: false })
    }

    #[inline]
    fn key_object(&mut self, key: &str) -> PyResult<Bound<'py, PyString>> {
        if let Some(name) = self.vocabulary.get(key) {
            return Ok(name.bind(self.py).clone());
        }
        if let Some(open) = self.open.last_mut() {
            open.known = false;
        }
        make_str(self.py, key)
    }

    /// A dict with these keys, whose values are to be set, or an empty dict.
    #[inline]
    fn dict_for(&self, open: Open) -> PyResult<Bound<'py, PyDict>> {
        match &self.names[open.names..] {
            names if open.known && !names.is_empty() => self.vocabulary.dict_for(self.py, names),
            _ => make_dict(self.py),
        }
    }
}

impl Sink for ObjectBuilder<'_> {
    type Error = PyErr;

    fn null(&mut self) -> PyResult<()> {
        push(&mut self.values, self.py.None().into_bound(self.py))
    }

    fn bool(&mut self, value: bool) -> PyResult<()> {
        push(&mut self.values, PyBool::new(self.py, value).to_owned().into_any())
    }

    #[inline]
    fn int(&mut self, value: i64) -> PyResult<()> {
        push(&mut self.values, make_int(self.py, value)?)
    }

    fn big_int(&mut self, digits: &str) -> PyResult<()> {
        push(&mut self.values, self.py.get_type::<PyInt>().call1((digits,))?)
    }

    #[inline]
    fn float(&mut self, value: f64) -> PyResult<()> {
        push(&mut self.values, make_float(self.py, value)?)
    }

    fn string(&mut self, text: &str) -> PyResult<()> {
        let text = match self.vocabulary.get(text) {
            Some(name) => name.bind(self.py).clone(),
            None => make_str(self.py, text)?,
        };
        push(&mut self.values, text.into_any())
    }

    #[inline]
    fn begin_array(&mut self) -> PyResult<()> {
        self.begin();
        Ok(())
    }

    fn end_array(&mut self) -> PyResult<()> {
        let first = self.end().values;
        let list = make_list(self.py, self.values.drain(first..).map(Ok))?;
        push(&mut self.values, list.into_any())
    }

    #[inline]
    fn begin_object(&mut self) -> PyResult<()> {
        self.begin();
        Ok(())
    }

    #[inline]
    fn key(&mut self, name: &str) -> PyResult<()> {
        let key = self.key_object(name)?;
        push(&mut self.names, key)
    }

    #[inline]
    fn end_object(&mut self) -> PyResult<()> {
        let open = self.end();
        let dict = self.dict_for(open)?;
        let names = self.names.drain(open.names..);
        for (name, value) in names.zip(self.values.drain(open.values..)) {
            dict.set_item(name, value)?;
        }
        push(&mut self.values, dict.into_any())
    }
}

/// The cyclic garbage collector, off until this is dropped.
///
/// All objects that are being built are alive: collections would free none of them, but take half
/// of the total time for a large document.
///
/// Other code cannot observe the pause: until the drop, the thread stays attached to the interpreter, and
/// no Python code runs except signal handlers within [`with_collector`]. The lifetime `'py` keeps the pause
/// from outliving the attachment, and a pause cannot be sent into `detach`. The collector stays on from
/// Python 3.12, which collects only while Python code runs, and without a global lock, where other
/// threads run at the same time.
pub(crate) struct CollectorPause<'py> {
    _attached: PhantomData<Python<'py>>,
}

thread_local! {
    /// Whether a pause of this thread has switched the collector off.
    static PAUSED: Cell<bool> = const { Cell::new(false) };
}

/// Runs `work`, which may run Python code, with the collector in its state before a pause. The thread is
/// attached to the interpreter.
pub(crate) fn with_collector<T>(work: impl FnOnce() -> T) -> T {
    let paused = PAUSED.replace(false);
    if paused {
        // SAFETY: the thread is attached to the interpreter.
        unsafe { ffi::PyGC_Enable() };
    }
    let result = work();
    if paused {
        // If `work` itself switched the collector off, it stays off after the pause.
        // SAFETY: the thread is attached to the interpreter.
        PAUSED.set(unsafe { ffi::PyGC_Disable() } == 1);
    }
    result
}

/// A collection starts after some 700 new containers; fewer are built without a pause.
const MANY_CONTAINERS: usize = 1000;

impl<'py> CollectorPause<'py> {
    /// Switches the collector off if it is on and many containers are to be built. The caller runs
    /// no Python code until the drop, except within [`with_collector`].
    pub(crate) fn new(py: Python<'py>, containers: usize) -> Self {
        let useful = containers >= MANY_CONTAINERS && LOCKED && py.version_info() < (3, 12);
        // SAFETY: the thread is attached to the interpreter.
        if useful && unsafe { ffi::PyGC_Disable() } == 1 {
            PAUSED.set(true);
        }
        Self { _attached: PhantomData }
    }
}

impl Drop for CollectorPause<'_> {
    fn drop(&mut self) {
        if PAUSED.replace(false) {
            // SAFETY: the thread is attached to the interpreter for the lifetime `'py`.
            unsafe { ffi::PyGC_Enable() };
        }
    }
}
