//! Creates Python objects, and checks memory.
//!
//! Unlike the constructors of PyO3, which panic, these functions raise `MemoryError` if there is not enough
//! memory; `clippy.toml` refuses the constructors of PyO3.

use crate::abi;
use crate::calls::{Run, import};
use compactwire::memory::{self, NO_MEMORY};
use compactwire::walk::Text;
use pyo3::exceptions::{PyMemoryError, PyRuntimeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyDict, PyInt, PyList, PyString, PyTuple, PyType};
use pyo3::{PyErrArguments, PyTypeInfo};
use std::path::PathBuf;

/// A `MemoryError`; without its message if there is no memory for one.
pub(crate) fn memory_error(message: impl Into<String>) -> PyErr {
    struct Message(String);
    impl PyErrArguments for Message {
        fn arguments(self, py: Python<'_>) -> Py<PyAny> {
            make_str(py, &self.0).map_or_else(|_| py.None(), |text| text.into_any().unbind())
        }
    }
    PyMemoryError::new_err(Message(message.into()))
}

/// An exception with a message; a `MemoryError` if there is no memory for the message. `new_err` of PyO3 panics
/// then.
pub(crate) fn py_error<E: PyTypeInfo>(message: impl AsRef<str>) -> PyErr {
    Python::attach(|py| match make_str(py, message.as_ref()) {
        Ok(text) => PyErr::new::<E, _>(text.unbind()),
        Err(error) => error,
    })
}

/// An exception with several arguments, as [`py_error`].
pub(crate) fn py_error_of<E: PyTypeInfo>(arguments: PyResult<Bound<'_, PyTuple>>) -> PyErr {
    arguments.map_or_else(|error| error, |all| PyErr::new::<E, _>(all.unbind()))
}

/// Raises `MemoryError` unless there is memory for a call that takes about `bytes`. Most allocations of
/// the core would abort the process if they failed.
pub(crate) fn ensure_memory(bytes: usize) -> PyResult<()> {
    memory::ensure(bytes).map_err(|_| {
        let message = format!("not enough memory for a call that takes about {bytes} bytes");
        memory_error(message)
    })
}

/// Creates a bytes object; `PyBytes::new` panics if there is not enough memory.
pub(crate) fn make_bytes<'py>(py: Python<'py>, bytes: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
    PyBytes::new_with(py, bytes.len(), |target| {
        target.copy_from_slice(bytes);
        Ok(())
    })
}

/// Creates a str, faster than the interpreter; `PyString::new` panics if there is not enough memory.
pub(crate) fn make_str<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyString>> {
    if text.len() < 2 {
        #[expect(clippy::disallowed_methods, reason = "the interpreter shares these strings")]
        return Ok(PyString::new(py, text));
    }
    if text.is_ascii() {
        return make_ascii(py, text);
    }
    let size = ffi::Py_ssize_t::try_from(text.len()).map_err(|_| memory_error(NO_MEMORY))?;
    // SAFETY: the thread is attached to the interpreter. The function returns a new object or an error.
    unsafe {
        let object = abi::copy_of_text(text, size);
        Ok(Bound::from_owned_ptr_or_err(py, object)?.cast_into_unchecked())
    }
}

/// An interned str; `PyString::intern` panics if there is not enough memory.
pub(crate) fn intern<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyString>> {
    let mut object = make_str(py, text)?.into_ptr();
    // SAFETY: the thread is attached to the interpreter. The function takes the reference to a str, and puts
    // one to an equal str in its place.
    unsafe {
        ffi::PyUnicode_InternInPlace(&raw mut object);
        Ok(Bound::from_owned_ptr_or_err(py, object)?.cast_into_unchecked())
    }
}

/// The value of a cell, which `make` makes when it is first needed. Two threads may make one at the same time; the
/// first is kept.
///
/// `get_or_try_init` of PyO3 waits for the other thread instead, which a signal handler within `make` would do for
/// ever. It also detaches from the interpreter, so that other threads see the pause of the collector.
#[inline]
pub(crate) fn once<'a, T>(
    py: Python<'_>,
    cell: &'a PyOnceLock<T>,
    make: impl FnOnce() -> PyResult<T>,
) -> PyResult<&'a T> {
    if let Some(value) = cell.get(py) {
        return Ok(value);
    }
    let _second = cell.set(py, make()?);
    cell.get(py).ok_or_else(|| py_error::<PyRuntimeError>("a value that has been made is missing"))
}

/// An interned str that is made when it is first needed.
pub(crate) struct Name(PyOnceLock<Py<PyString>>, &'static str);

impl Name {
    pub(crate) const fn new(text: &'static str) -> Self {
        Self(PyOnceLock::new(), text)
    }

    #[inline]
    pub(crate) fn get<'py>(&self, py: Python<'py>) -> PyResult<&Bound<'py, PyString>> {
        Ok(once(py, &self.0, || intern(py, self.1).map(Bound::unbind))?.bind(py))
    }
}

/// The name of an attribute, a module or a key, as [`intern`] makes it.
macro_rules! name {
    ($py:expr, $text:expr) => {{
        static NAME: $crate::make::Name = $crate::make::Name::new($text);
        NAME.get($py)
    }};
}
pub(crate) use name;

/// The class `name` of a module, which is imported when the class is first needed; `import` of PyO3 panics if
/// there is no memory for the names then.
pub(crate) fn import_class<'py>(
    py: Python<'py>,
    class: &'py PyOnceLock<Py<PyType>>,
    module: &Bound<'py, PyString>,
    name: &Bound<'py, PyString>,
) -> PyResult<&'py Bound<'py, PyType>> {
    let found = once(py, class, || {
        Ok(import(py, module)?.run_getattr(name)?.cast_into::<PyType>()?.unbind())
    })?;
    Ok(found.bind(py))
}

/// The arguments of a call; PyO3 panics if there is not enough memory for a tuple that it makes itself.
macro_rules! args {
    ($py:expr, $($argument:expr),+) => {{
        use pyo3::IntoPyObjectExt as _;
        let py = $py;
        $crate::make::tuple_from(py, [$($argument.into_bound_py_any(py)),+])
    }};
}
pub(crate) use args;

/// A path that becomes the str of the file, as `os.fsdecode` has it. PyO3 decodes UTF-8 where it can: if the
/// names of the file system have another encoding, that is the str of another file.
#[derive(Debug)]
pub(crate) struct PathString(pub(crate) PathBuf);

impl<'py> IntoPyObject<'py> for PathString {
    type Target = PyString;
    type Output = Bound<'py, PyString>;
    type Error = PyErr;

    #[cfg(unix)]
    fn into_pyobject(self, py: Python<'py>) -> PyResult<Self::Output> {
        let name = self.0.as_os_str().as_encoded_bytes();
        let size = ffi::Py_ssize_t::try_from(name.len()).map_err(|_| memory_error(NO_MEMORY))?;
        // SAFETY: the thread is attached to the interpreter, and the bytes of a path are those of the system.
        // The function returns a new str or an error.
        unsafe {
            let object = ffi::PyUnicode_DecodeFSDefaultAndSize(name.as_ptr().cast(), size);
            Ok(Bound::from_owned_ptr_or_err(py, object)?.cast_into_unchecked())
        }
    }

    #[cfg(not(unix))]
    fn into_pyobject(self, py: Python<'py>) -> PyResult<Self::Output> {
        Ok(self.0.into_os_string().into_pyobject(py)?)
    }
}

/// A text that becomes a str by [`make_str`]; PyO3 converts a `&str` or `String` by a constructor that panics
/// if there is not enough memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Str<T>(pub(crate) T);

impl<'py, T: AsRef<str>> IntoPyObject<'py> for Str<T> {
    type Target = PyString;
    type Output = Bound<'py, PyString>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Self::Output> {
        make_str(py, self.0.as_ref())
    }
}

/// Joins texts. Python does it, because they may be too long for the memory: a repr contains attributes of
/// any size.
pub(crate) fn join<'py>(
    py: Python<'py>,
    separator: &str,
    texts: Vec<Bound<'py, PyString>>,
) -> PyResult<Bound<'py, PyString>> {
    let texts = make_list(py, texts.into_iter().map(|text| Ok(text.into_any())))?;
    let joined = make_str(py, separator)?.run_method(name!(py, "join")?, args!(py, texts)?)?;
    Ok(joined.cast_into()?)
}

/// [`make_str`] for a text that may be known to be ASCII.
#[inline]
pub(crate) fn make_text<'py>(py: Python<'py>, text: Text<'_>) -> PyResult<Bound<'py, PyString>> {
    if text.is_ascii && text.text.len() > 1 {
        make_ascii(py, text.text)
    } else {
        make_str(py, text.text)
    }
}

/// Creates a str from ASCII.
#[inline]
fn make_ascii<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyString>> {
    let size = ffi::Py_ssize_t::try_from(text.len()).map_err(|_| memory_error(NO_MEMORY))?;
    // SAFETY: the text has so many ASCII characters. The function returns a new object or an error.
    unsafe {
        let object = abi::copy_of_ascii(text.as_ptr(), size);
        Ok(Bound::from_owned_ptr_or_err(py, object)?.cast_into_unchecked())
    }
}

/// Creates a `str` of `len` ASCII characters that `fill` writes, in place if possible.
pub(crate) fn ascii_str(
    py: Python<'_>,
    len: usize,
    fill: impl FnOnce(&mut [u8]) -> PyResult<()>,
) -> PyResult<Bound<'_, PyString>> {
    let size = ffi::Py_ssize_t::try_from(len).map_err(|_| memory_error(NO_MEMORY))?;
    // With a `String` in between, `encode_base85` of 1 MiB takes two to three times as long: to measure it,
    // return `make_str(py, &base85::encode(bytes))` there and run the benches.
    // SAFETY: the callers write ASCII only.
    unsafe { Ok(abi::ascii(py, size, fill)?.cast_into_unchecked()) }
}

/// Appends an item to a list. Raises `MemoryError` also if what the item holds has used the reserve.
#[inline]
pub(crate) fn push<T>(list: &mut Vec<T>, item: T) -> PyResult<()> {
    let grows = list.len() == list.capacity();
    if memory::ensure(0).is_err() || (grows && list.try_reserve(1).is_err()) {
        return Err(memory_error(NO_MEMORY));
    }
    list.push(item);
    Ok(())
}

/// A float.
#[inline]
pub(crate) fn make_float(py: Python<'_>, value: f64) -> PyResult<Bound<'_, PyAny>> {
    // SAFETY: the thread is attached to the interpreter. The function returns a float or an error.
    unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyFloat_FromDouble(value)) }
}

/// A list of all objects of an iterator.
pub(crate) fn make_list<'py, T>(
    py: Python<'py>,
    objects: impl ExactSizeIterator<Item = PyResult<Bound<'py, T>>>,
) -> PyResult<Bound<'py, PyList>> {
    let size = ffi::Py_ssize_t::try_from(objects.len()).map_err(|_| memory_error(NO_MEMORY))?;
    let mut filled = 0;
    // SAFETY: PyList_New returns a new list of `size` empty places, or an error. Each place is filled once;
    // the list owns the object. A list that is not full is dropped here, which empty places allow.
    unsafe {
        let list = Bound::from_owned_ptr_or_err(py, ffi::PyList_New(size))?;
        for (at, object) in (0..size).zip(objects) {
            abi::fill(list.as_ptr(), at, object?.into_ptr());
            filled += 1;
        }
        if filled != size {
            return Err(py_error::<PyRuntimeError>("an iterator ended before its size"));
        }
        Ok(list.cast_into_unchecked())
    }
}

/// A tuple of all objects of an iterator.
pub(crate) fn make_tuple<'py, T>(
    py: Python<'py>,
    objects: impl ExactSizeIterator<Item = PyResult<Bound<'py, T>>>,
) -> PyResult<Bound<'py, PyTuple>> {
    tuple_of(&make_list(py, objects)?)
}

/// A tuple of these objects.
pub(crate) fn tuple_from<'py, const N: usize>(
    py: Python<'py>,
    objects: [PyResult<Bound<'py, PyAny>>; N],
) -> PyResult<Bound<'py, PyTuple>> {
    // SAFETY: PyTuple_New returns a new tuple of as many empty places, or an error. Each place is filled once;
    // the tuple owns the object. A tuple that is not full is dropped here, which empty places allow.
    unsafe {
        let tuple = Bound::from_owned_ptr_or_err(py, ffi::PyTuple_New(N.cast_signed()))?;
        for (at, object) in (0..).zip(objects) {
            ffi::PyTuple_SetItem(tuple.as_ptr(), at, object?.into_ptr());
        }
        Ok(tuple.cast_into_unchecked())
    }
}

/// The objects of a list, as they are now.
pub(crate) fn tuple_of<'py>(list: &Bound<'py, PyList>) -> PyResult<Bound<'py, PyTuple>> {
    // SAFETY: the thread is attached to the interpreter. The function returns a new tuple or an error.
    unsafe {
        let tuple = Bound::from_owned_ptr_or_err(list.py(), ffi::PyList_AsTuple(list.as_ptr()))?;
        Ok(tuple.cast_into_unchecked())
    }
}

/// The keys of a dict, as they are now.
pub(crate) fn keys_of<'py>(dict: &Bound<'py, PyDict>) -> PyResult<Bound<'py, PyList>> {
    // SAFETY: the thread is attached to the interpreter. The function returns a new list or an error.
    unsafe {
        let keys = Bound::from_owned_ptr_or_err(dict.py(), ffi::PyDict_Keys(dict.as_ptr()))?;
        Ok(keys.cast_into_unchecked())
    }
}

/// The items of a dict, as they are now.
pub(crate) fn items_of<'py>(dict: &Bound<'py, PyDict>) -> PyResult<Bound<'py, PyList>> {
    // SAFETY: the thread is attached to the interpreter. The function returns a new list or an error.
    unsafe {
        let items = Bound::from_owned_ptr_or_err(dict.py(), ffi::PyDict_Items(dict.as_ptr()))?;
        Ok(items.cast_into_unchecked())
    }
}

/// An empty dict.
#[inline]
pub(crate) fn make_dict(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    // SAFETY: the thread is attached to the interpreter. The function returns a new dict or an error.
    unsafe { Ok(Bound::from_owned_ptr_or_err(py, ffi::PyDict_New())?.cast_into_unchecked()) }
}

/// The largest initial capacity: the number of columns that a text declares is not trusted.
const MAX_CAPACITY: usize = 1 << 10;

/// An empty dict with the capacity for `entries`.
#[inline]
pub(crate) fn make_dict_for(py: Python<'_>, entries: usize) -> PyResult<Bound<'_, PyDict>> {
    let entries = ffi::Py_ssize_t::try_from(entries.min(MAX_CAPACITY)).unwrap_or(0);
    // SAFETY: the thread is attached to the interpreter. The function returns a new dict or an error.
    unsafe {
        let dict = Bound::from_owned_ptr_or_err(py, abi::dict(entries))?;
        Ok(dict.cast_into_unchecked())
    }
}

/// Sets the value of a key.
#[inline]
pub(crate) fn set(
    dict: &Bound<'_, PyDict>,
    key: &Bound<'_, PyString>,
    value: &Bound<'_, PyAny>,
) -> PyResult<()> {
    // SAFETY: the thread is attached to the interpreter, and all three are alive. The dict takes
    // references of its own.
    let result = unsafe { ffi::PyDict_SetItem(dict.as_ptr(), key.as_ptr(), value.as_ptr()) };
    if result == 0 { Ok(()) } else { Err(PyErr::fetch(dict.py())) }
}

/// A key, and its hash.
pub(crate) struct Hashed {
    key: Py<PyString>,
    hash: ffi::Py_hash_t,
}

impl Hashed {
    pub(crate) fn new(key: Bound<'_, PyString>) -> PyResult<Self> {
        let hash = key.hash()?;
        Ok(Self { key: key.unbind(), hash })
    }

    /// The key.
    #[inline]
    pub(crate) fn key<'py>(&self, py: Python<'py>) -> &Bound<'py, PyString> {
        self.key.bind(py)
    }

    /// Sets the value of the key, as [`set`].
    #[inline]
    pub(crate) fn set(&self, dict: &Bound<'_, PyDict>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        // SAFETY: as in `set`; the hash is that of the key.
        let result =
            unsafe { abi::set_known(dict.as_ptr(), self.key.as_ptr(), value.as_ptr(), self.hash) };
        if result == 0 { Ok(()) } else { Err(PyErr::fetch(dict.py())) }
    }
}

/// An int of a count.
pub(crate) fn make_count(py: Python<'_>, count: u64) -> PyResult<Bound<'_, PyAny>> {
    // SAFETY: the thread is attached to the interpreter. The function returns an int or an error.
    unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyLong_FromUnsignedLongLong(count)) }
}

/// An int of a size.
pub(crate) fn make_size(py: Python<'_>, size: usize) -> PyResult<Bound<'_, PyAny>> {
    // SAFETY: the thread is attached to the interpreter. The function returns an int or an error.
    unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyLong_FromSize_t(size)) }
}

/// An int.
#[inline]
pub(crate) fn make_int(py: Python<'_>, value: i64) -> PyResult<Bound<'_, PyAny>> {
    // SAFETY: the thread is attached to the interpreter. The function returns an int or an error.
    unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyLong_FromLongLong(value)) }
}

/// How many digits Python always converts: `sys.set_int_max_str_digits` takes no lower limit but 0, which is
/// none.
const DIGITS: usize = 640;

/// An int of decimal digits, after a sign if it is negative.
///
/// The readers limit the number of digits themselves. The limit of `sys.set_int_max_str_digits` may be lower,
/// but it is for `int` of a text: a document must not be valid in one process and raise in another.
pub(crate) fn make_big_int<'py>(py: Python<'py>, digits: &str) -> PyResult<Bound<'py, PyAny>> {
    let class = py.get_type::<PyInt>();
    match class.run(args!(py, Str(digits))?) {
        Err(error) if error.is_instance_of::<PyValueError>(py) => {}
        made => return made,
    }
    let unsigned = digits.trim_start_matches('-');
    let base = make_int(py, 10)?.pow(make_size(py, DIGITS)?, py.None())?;
    let (mut part, mut rest) = unsigned.split_at(unsigned.len() % DIGITS);
    let mut value = make_int(py, 0)?;
    loop {
        if !part.is_empty() {
            value = value.mul(&base)?.add(class.run(args!(py, Str(part))?)?)?;
        }
        if rest.is_empty() {
            break;
        }
        (part, rest) = rest.split_at(DIGITS);
    }
    if unsigned.len() < digits.len() { value.neg() } else { Ok(value) }
}

/// The decimal digits of an int, which may be of a subclass, after a sign if it is negative; `None` if there
/// are more than `most`, and more than `sys.set_int_max_str_digits` allows.
pub(crate) fn digits_of(value: &Bound<'_, PyInt>, most: usize) -> PyResult<Option<String>> {
    let py = value.py();
    // Calls the methods of `int` itself, because a subclass may override them.
    let class = py.get_type::<PyInt>();
    match class.run_method(name!(py, "__repr__")?, args!(py, value)?) {
        Ok(digits) => return digits.extract().map(Some),
        Err(error) if error.is_instance_of::<PyValueError>(py) => {}
        Err(error) => return Err(error),
    }
    let bits: usize = class.run_method(name!(py, "bit_length")?, args!(py, value)?)?.extract()?;
    // A digit has more than three bits.
    if bits > 4 * most {
        return Ok(None);
    }
    let value = class.run_method(name!(py, "__pos__")?, args!(py, value)?)?;
    let base = make_int(py, 10)?.pow(make_size(py, DIGITS)?, py.None())?;
    let mut rest = value.abs()?;
    let mut parts = Vec::new();
    while rest.is_truthy()? {
        let (above, part): (Bound<'_, PyAny>, Bound<'_, PyAny>) = rest.divmod(&base)?.extract()?;
        parts.push(part.str()?.extract::<String>()?);
        rest = above;
    }
    let mut digits = String::from(if value.lt(make_int(py, 0)?)? { "-" } else { "" });
    let first = digits.len();
    for (at, part) in parts.iter().rev().enumerate() {
        if at > 0 {
            digits.extend(std::iter::repeat_n('0', DIGITS - part.len()));
        }
        digits.push_str(part);
    }
    Ok((digits.len() - first <= most).then_some(digits))
}

/// A number that becomes an int or a float by one of the functions above; PyO3 converts a number by a
/// constructor that panics if there is not enough memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Number<T>(pub(crate) T);

macro_rules! converted {
    ($($number:ty: $make:ident),+) => { $(
        impl<'py> IntoPyObject<'py> for Number<$number> {
            type Target = PyAny;
            type Output = Bound<'py, PyAny>;
            type Error = PyErr;

            fn into_pyobject(self, py: Python<'py>) -> PyResult<Self::Output> {
                $make(py, self.0)
            }
        }
    )+ };
}

converted!(i64: make_int, u64: make_count, usize: make_size, f64: make_float);
