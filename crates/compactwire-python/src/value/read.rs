//! The checked reader: Python objects as values, with owned references.
//!
//! It accepts what `json.dumps` accepts: dict (with `str` keys), list, tuple, str, int, float, bool, None
//! and their subclasses. Containers are copied before their content is read, because another thread
//! or `default=` may change them in the meantime. The content of a subclass is read without calling its
//! methods: only `default=` runs Python code.

use super::vocabulary::Vocabulary;
use crate::args::{class_name, utf8_if_whole, utf8_or};
use crate::arrow::{Unreadable, caused, if_column, is_column, lazy, lost_index};
use crate::errors::{Error, Result, unsupported};
use crate::interrupt::attached;
use crate::make::{push, tuple_of};
use compactwire::arrow::{self, Table};
use compactwire::excerpt::path_step;
use compactwire::gcf::Code;
use compactwire::interrupt::unchecked;
use compactwire::json;
use compactwire::memory::{self, Meter};
use compactwire::value::{Builder, Value};
use compactwire::walk::{Shape, Sink, Source};
use pyo3::exceptions::{PyKeyError, PyRuntimeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple, PyType};
use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

/// The JSON type of an object.
pub(crate) enum Kind<'o, 'py> {
    Null,
    Bool(bool),
    Int(i64),
    /// An integer beyond 64 bits.
    BigInt(&'o Bound<'py, PyInt>),
    Float(f64),
    String(&'o Bound<'py, PyString>),
    List(&'o Bound<'py, PyList>),
    Tuple(&'o Bound<'py, PyTuple>),
    Dict(&'o Bound<'py, PyDict>),
    /// Not a JSON type.
    Other,
}

/// The kind of an object. No Python code runs.
#[inline(always)]
pub(crate) fn kind<'o, 'py>(object: &'o Bound<'py, PyAny>) -> Kind<'o, 'py> {
    if let Ok(text) = object.cast::<PyString>() {
        Kind::String(text)
    } else if let Ok(value) = object.cast_exact::<PyInt>() {
        int(value)
    } else if let Ok(value) = object.cast_exact::<PyFloat>() {
        Kind::Float(value.value())
    } else if let Ok(value) = object.cast_exact::<PyBool>() {
        Kind::Bool(value.is_true())
    } else if object.is_none() {
        Kind::Null
    } else if let Ok(dict) = object.cast::<PyDict>() {
        Kind::Dict(dict)
    } else if let Ok(list) = object.cast::<PyList>() {
        Kind::List(list)
    } else if let Ok(tuple) = object.cast::<PyTuple>() {
        Kind::Tuple(tuple)
    } else if let Ok(value) = object.cast::<PyInt>() {
        int(value)
    } else if let Ok(value) = object.cast::<PyFloat>() {
        // The test for a subclass of float is slow, and therefore comes last.
        Kind::Float(value.value())
    } else {
        Kind::Other
    }
}

#[inline]
fn int<'o, 'py>(value: &'o Bound<'py, PyInt>) -> Kind<'o, 'py> {
    value.extract().map_or(Kind::BigInt(value), Kind::Int)
}

/// Whether an object is an array, an object, or not a JSON type.
fn is_container(object: &Bound<'_, PyAny>) -> bool {
    matches!(kind(object), Kind::List(_) | Kind::Tuple(_) | Kind::Dict(_) | Kind::Other)
}

/// The decimal digits of an integer; `None` if it has more digits than Python's limit allows.
pub(crate) fn digits(value: &Bound<'_, PyInt>) -> PyResult<Option<String>> {
    // Calls the method of `int` itself, because a subclass may override it.
    let class = value.py().get_type::<PyInt>();
    match class.call_method1(intern!(value.py(), "__repr__"), (value,)) {
        Ok(digits) => digits.extract().map(Some),
        Err(error) if error.is_instance_of::<PyValueError>(value.py()) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The class `OrderedDict`.
pub(crate) fn ordered_dict(py: Python<'_>) -> PyResult<&Bound<'_, PyType>> {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    CLASS.import(py, "collections", "OrderedDict")
}

/// The members of a dict, copied.
pub(crate) type Members<'py> = Vec<(Bound<'py, PyAny>, Bound<'py, PyAny>)>;

/// The items of a dict, copied; those of an `OrderedDict` in its own order, or `None` if this order has other keys
/// than the dict.
pub(crate) fn items<'py>(dict: &Bound<'py, PyDict>) -> PyResult<Option<Members<'py>>> {
    if !dict.is_exact_instance_of::<PyDict>() {
        let ordered = ordered_dict(dict.py())?;
        if dict.is_instance(ordered)? {
            return ordered_items(ordered, dict);
        }
    }
    let mut room = Vec::new();
    memory::require(room.try_reserve_exact(dict.len()));
    let items = RefCell::new(room);
    dict.locked_for_each(|key, value| push(&mut items.borrow_mut(), (key, value)))?;
    Ok(Some(items.into_inner()))
}

/// The items of an `OrderedDict`. Methods of `dict` that were called for it have changed only one of its two lists
/// of keys.
fn ordered_items<'py>(
    ordered: &Bound<'py, PyType>,
    dict: &Bound<'py, PyDict>,
) -> PyResult<Option<Members<'py>>> {
    let py = dict.py();
    let mut copied = Vec::new();
    for item in ordered.call_method1(intern!(py, "items"), (dict,))?.try_iter()? {
        match item {
            Ok(item) => push(&mut copied, item.extract()?)?,
            // An error without a traceback is not that of a key's `__eq__`.
            Err(error)
                if error.is_instance_of::<PyKeyError>(py) && error.traceback(py).is_none() =>
            {
                return Ok(None);
            }
            Err(error) => return Err(error),
        }
    }
    Ok((copied.len() == dict.len()).then_some(copied))
}

/// An object that a [`Target`] cannot receive.
pub(crate) enum Invalid<'o, 'py> {
    /// A string with a lone surrogate, which the message locates.
    Surrogate(String),
    /// A key with a lone surrogate, which the message locates.
    KeySurrogate(String),
    /// An `OrderedDict` whose order has other keys than the dict.
    Order,
    /// A key that is not a `str`.
    Key(Bound<'py, PyType>),
    /// An integer of more digits than Python converts.
    Digits,
    /// An object that is not a JSON type, and the options that would convert it.
    Class(&'o Bound<'py, PyAny>, &'o str),
    /// `default=` keeps returning objects that are not JSON types.
    Default,
    /// A value of an Arrow column that is not a JSON value, or an object whose column would not be all of it.
    Cell(Code, String),
    /// An object that gives no Arrow column, because of the values at these steps from it.
    Column(Code, &'o str, String),
}

/// A sink of the checked reader. It tracks the path, and creates the errors of its format.
pub(crate) trait Target: Sink<Error = Error> {
    /// The error for an invalid object at the current place.
    fn invalid(&self, invalid: Invalid<'_, '_>) -> Error;
}

/// How many times in a row `default=` is called, as long as its results are not JSON types.
const MAX_DEFAULTS: usize = 128;

/// The function that the caller passed as `default=`, and its results that are not read yet.
pub(crate) struct Conversions<'py> {
    default: Bound<'py, PyAny>,
    /// What [`Conversions::scalar`] has converted, in the order of the value.
    converted: RefCell<VecDeque<(Bound<'py, PyAny>, Converted<'py>)>>,
    /// The class of the last object that was not a column of Arrow.
    no_column: RefCell<Option<Bound<'py, PyType>>>,
}

impl<'py> Conversions<'py> {
    pub(crate) fn new(default: &Bound<'py, PyAny>) -> Self {
        Self {
            default: default.clone(),
            converted: RefCell::default(),
            no_column: RefCell::default(),
        }
    }

    /// Converts an object that is not a JSON type to a scalar; `None` if [`emit`] has to read it. [`emit`] must
    /// then read the value from its beginning; it does not call `default=` again for the same objects.
    pub(super) fn scalar(&self, object: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
        if self.may_be_column(object)? {
            return Ok(None);
        }
        let converted = self.convert(object)?;
        let scalar = match &converted {
            Converted::To(result) if !is_container(result) => Some(result.clone()),
            _ => None,
        };
        let mut before = self.converted.borrow_mut();
        memory::require(before.try_reserve(1));
        before.push_back((object.clone(), converted));
        Ok(scalar)
    }

    /// Converts an object; with the result of [`Conversions::scalar`], if that came so far.
    fn next(&self, object: &Bound<'py, PyAny>) -> PyResult<Converted<'py>> {
        let before = self.converted.borrow_mut().pop_front();
        match before {
            None => self.convert(object),
            Some((same, converted)) if same.is(object) => Ok(converted),
            Some(_) => Err(changed()),
        }
    }

    /// Checks that all results of [`Conversions::scalar`] are in the value that [`emit`] has read.
    fn check(&self) -> PyResult<()> {
        if self.converted.borrow().is_empty() { Ok(()) } else { Err(changed()) }
    }

    fn may_be_column(&self, object: &Bound<'py, PyAny>) -> PyResult<bool> {
        let class = object.get_type();
        if self.no_column.borrow().as_ref().is_some_and(|last| last.is(&class)) {
            return Ok(false);
        }
        let is_column = unchecked(|| is_column(object))?;
        if !is_column {
            drop(self.no_column.replace(Some(class)));
        }
        Ok(is_column)
    }

    /// Converts an object that is not a JSON type with `default=`.
    fn convert(&self, object: &Bound<'py, PyAny>) -> PyResult<Converted<'py>> {
        let mut object = object.clone();
        for _ in 0..MAX_DEFAULTS {
            let result = unchecked(|| self.default.call1((&object,)))?;
            if result.is(object.py().NotImplemented()) {
                return Ok(Converted::Refused(object));
            }
            if !matches!(kind(&result), Kind::Other) {
                return Ok(Converted::To(result));
            }
            object = result;
        }
        Ok(Converted::Endless)
    }
}

#[cold]
fn changed() -> PyErr {
    PyRuntimeError::new_err("default= changed the value while it was written")
}

/// The result of converting an object with `default=`.
enum Converted<'py> {
    To(Bound<'py, PyAny>),
    /// `default=` returned `NotImplemented` for this object, or for the one that it returned for it.
    Refused(Bound<'py, PyAny>),
    /// It keeps returning objects that are not JSON types.
    Endless,
}

/// Emits an object to `target`. `default` converts objects that are not JSON types.
pub(crate) fn emit<'py>(
    object: &Bound<'py, PyAny>,
    default: Option<&Conversions<'py>>,
    target: &mut impl Target,
) -> Result<()> {
    Emitter { default, target }.emit(object)?;
    default.map_or(Ok(()), |default| Ok(default.check()?))
}

struct Emitter<'a, 'py, T> {
    default: Option<&'a Conversions<'py>>,
    target: &'a mut T,
}

impl<'py, T: Target> Emitter<'_, 'py, T> {
    fn emit(&mut self, object: &Bound<'py, PyAny>) -> Result<()> {
        let target = &mut *self.target;
        match kind(object) {
            Kind::Null => target.null(),
            Kind::Bool(value) => target.bool(value),
            Kind::Int(value) => target.int(value),
            Kind::BigInt(value) => match digits(value)? {
                Some(digits) => target.big_int(&digits),
                None => Err(target.invalid(Invalid::Digits)),
            },
            Kind::Float(value) => target.float(value),
            Kind::String(text) => {
                let surrogate = |message: &str| target.invalid(Invalid::Surrogate(message.into()));
                let text = utf8_or(text, surrogate)?;
                target.string(text)
            }
            Kind::Dict(dict) => self.members(dict),
            Kind::List(list) => self.elements(&tuple_of(list)?),
            Kind::Tuple(tuple) => self.elements(tuple),
            Kind::Other => self.converted(object),
        }
    }

    fn members(&mut self, dict: &Bound<'py, PyDict>) -> Result<()> {
        let Some(items) = items(dict)? else { return Err(self.target.invalid(Invalid::Order)) };
        self.target.begin_object()?;
        for (key, value) in items {
            let Ok(name) = key.cast::<PyString>() else {
                return Err(self.target.invalid(Invalid::Key(key.get_type())));
            };
            let text = utf8_or(name, |message| {
                self.target.invalid(Invalid::KeySurrogate(message.to_owned()))
            })?;
            self.target.key(text)?;
            self.emit(&value)?;
        }
        self.target.end_object()
    }

    fn elements(&mut self, elements: &Bound<'py, PyTuple>) -> Result<()> {
        self.target.begin_array()?;
        for element in elements.iter() {
            self.emit(&element)?;
        }
        self.target.end_array()
    }

    #[cold]
    fn converted(&mut self, object: &Bound<'py, PyAny>) -> Result<()> {
        let may_be_column =
            self.default.map_or(Ok(true), |default| default.may_be_column(object))?;
        if may_be_column && let Some(message) = unchecked(|| lost_index(object))? {
            return Err(self.target.invalid(Invalid::Cell(Code::UnsupportedType, message)));
        }
        // A producer of columns may be written in Python.
        let column = if may_be_column { unchecked(|| if_column(object)) } else { Ok(None) };
        match column {
            Ok(Some(column)) => {
                return Table::new(&column)?.emit(&mut Cells(&mut *self.target));
            }
            Ok(None) => {}
            Err(Unreadable::Values { code, steps, message, cause }) => {
                let error = self.target.invalid(Invalid::Column(code, &steps, message));
                return Err(caused(error, cause));
            }
            Err(Unreadable::Other(error)) => return Err(error),
        }
        let mut refused = object.clone();
        if let Some(default) = self.default {
            match default.next(object)? {
                Converted::To(object) => return self.emit(&object),
                Converted::Endless => return Err(self.target.invalid(Invalid::Default)),
                Converted::Refused(object) => refused = object,
            }
        }
        let options = unchecked(|| options_for(&refused, self.default))?;
        Err(self.target.invalid(Invalid::Class(&refused, &options)))
    }
}

/// A target of the checked reader as one of Arrow columns.
struct Cells<'a, T>(&'a mut T);

impl<T: Target> arrow::Target for Cells<'_, T> {
    fn invalid(&self, code: Code, message: String) -> Error {
        self.0.invalid(Invalid::Cell(code, message))
    }
}

impl<T: Target> Sink for Cells<'_, T> {
    type Error = Error;

    fn null(&mut self) -> Result<()> {
        self.0.null()
    }

    fn bool(&mut self, value: bool) -> Result<()> {
        self.0.bool(value)
    }

    fn int(&mut self, value: i64) -> Result<()> {
        self.0.int(value)
    }

    fn big_int(&mut self, digits: &str) -> Result<()> {
        self.0.big_int(digits)
    }

    fn float(&mut self, value: f64) -> Result<()> {
        self.0.float(value)
    }

    fn string(&mut self, text: &str) -> Result<()> {
        self.0.string(text)
    }

    fn begin_array(&mut self) -> Result<()> {
        self.0.begin_array()
    }

    fn end_array(&mut self) -> Result<()> {
        self.0.end_array()
    }

    fn begin_object(&mut self) -> Result<()> {
        self.0.begin_object()
    }

    fn key(&mut self, key: &str) -> Result<()> {
        self.0.key(key)
    }

    fn end_object(&mut self) -> Result<()> {
        self.0.end_object()
    }
}

/// Which of `types=` and `default=` would convert an object, for an error.
fn options_for<'py>(
    object: &Bound<'py, PyAny>,
    default: Option<&Conversions<'py>>,
) -> PyResult<String> {
    let module = object.py().import("compactwire._types")?;
    let used = default.map(|default| &default.default);
    module.call_method1("options_for", (object, used))?.extract()
}

/// The value of a Python object. `root` is its name in errors: `args` in `args.rows[3].total`.
///
/// Fails with `UnsupportedValue` for invalid content, and for nesting beyond
/// [`json::Limits::max_depth`], for example in a cycle.
pub(crate) fn value(object: &Bound<'_, PyAny>, root: &str) -> Result<Value<'static>> {
    value_or(object, root, invalid_part)
}

/// The value of a Python object. `invalid` creates an error from a code, a path, and a message.
pub(crate) fn value_or(
    object: &Bound<'_, PyAny>,
    root: &str,
    invalid: impl Fn(Code, &str, &str) -> Error,
) -> Result<Value<'static>> {
    read(object, root, None, json::Limits::default().max_depth, false, invalid)
}

/// The value of a Python object in which `default` converts objects that are not JSON types; for
/// functions with `types=` and `default=`, which errors name.
pub(crate) fn value_with<'py>(
    object: &Bound<'py, PyAny>,
    root: &str,
    default: Option<&Bound<'py, PyAny>>,
    max_depth: usize,
) -> Result<Value<'static>> {
    read(object, root, default, max_depth, true, invalid_part)
}

#[cold]
fn invalid_part(code: Code, path: &str, message: &str) -> Error {
    Python::attach(|py| unsupported(py, code, path, message)).into()
}

fn read<'py>(
    object: &Bound<'py, PyAny>,
    root: &str,
    default: Option<&Bound<'py, PyAny>>,
    max_depth: usize,
    has_options: bool,
    invalid: impl Fn(Code, &str, &str) -> Error,
) -> Result<Value<'static>> {
    let builder = Builder::default();
    let mut target = ValueTarget {
        builder,
        root,
        path: Vec::new(),
        max_depth,
        has_options,
        invalid,
        budget: Budget::default(),
    };
    let conversions = default.map(Conversions::new);
    attached(|| emit(object, conversions.as_ref(), &mut target))??;
    Ok(target.builder.finish().unwrap_or(Value::Null))
}

/// Builds a [`Value`].
struct ValueTarget<'r, F> {
    builder: Builder<'static>,
    root: &'r str,
    /// One step per open container: to its current or next value.
    path: Vec<Step>,
    max_depth: usize,
    /// Whether the function has `types=` and `default=`.
    has_options: bool,
    invalid: F,
    budget: Budget,
}

enum Step {
    Member(String),
    /// The index of the next element.
    Element(usize),
}

impl<F: Fn(Code, &str, &str) -> Error> ValueTarget<'_, F> {
    /// The path to the current value, or to its container if `inside` is false.
    fn path(&self, inside: bool) -> String {
        let steps = if inside { self.path.len() } else { self.path.len().saturating_sub(1) };
        let mut path = self.root.to_owned();
        for step in &self.path[..steps] {
            let step = match step {
                Step::Element(index) => format!("[{index}]"),
                Step::Member(key) => path_step(key),
            };
            path += &step;
        }
        path
    }

    #[cold]
    fn fail(&self, code: Code, message: &str) -> Error {
        (self.invalid)(code, &self.path(true), message)
    }

    fn begin(&mut self, step: Step) -> Result<()> {
        let limit = self.max_depth;
        if self.path.len() >= limit {
            let message = format!("nested more than {limit} levels deep, or within itself");
            return Err((self.invalid)(Code::LimitExceeded, self.root, &message));
        }
        self.path.push(step);
        Ok(())
    }

    /// Counts a complete value, which takes as much memory as `size` values.
    fn next(&mut self, size: usize) -> Result<()> {
        if let Some(Step::Element(index)) = self.path.last_mut() {
            *index += 1;
        }
        if self.budget.take(size) { Ok(()) } else { Err(memory::exhausted().into()) }
    }
}

/// Passes an event on to the builder of a [`ValueTarget`], which never fails.
macro_rules! build {
    ($target:ident.$($event:tt)*) => {{
        let Ok(()) = $target.builder.$($event)*;
        Ok(())
    }};
}

impl<F: Fn(Code, &str, &str) -> Error> Sink for ValueTarget<'_, F> {
    type Error = Error;

    fn null(&mut self) -> Result<()> {
        self.next(1)?;
        build!(self.null())
    }

    fn bool(&mut self, value: bool) -> Result<()> {
        self.next(1)?;
        build!(self.bool(value))
    }

    fn int(&mut self, value: i64) -> Result<()> {
        self.next(1)?;
        build!(self.int(value))
    }

    fn big_int(&mut self, digits: &str) -> Result<()> {
        // Python's own limit can be changed; that of the readers cannot.
        if digits.trim_start_matches('-').len() > json::Limits::default().max_digits {
            return Err(self.invalid(Invalid::Digits));
        }
        self.next(1 + digits.len() / BYTES)?;
        build!(self.big_int(digits))
    }

    fn float(&mut self, value: f64) -> Result<()> {
        if !value.is_finite() {
            let message = format!("{value} is not a JSON number; use null or a string");
            return Err(self.fail(Code::NotFinite, &message));
        }
        self.next(1)?;
        build!(self.float(value))
    }

    fn string(&mut self, text: &str) -> Result<()> {
        self.next(1 + text.len() / BYTES)?;
        build!(self.string(text))
    }

    fn begin_array(&mut self) -> Result<()> {
        self.begin(Step::Element(0))?;
        build!(self.begin_array())
    }

    fn end_array(&mut self) -> Result<()> {
        self.path.pop();
        self.next(1)?;
        build!(self.end_array())
    }

    fn begin_object(&mut self) -> Result<()> {
        self.begin(Step::Member(String::new()))?;
        build!(self.begin_object())
    }

    fn key(&mut self, key: &str) -> Result<()> {
        if !self.budget.take(1 + key.len() / BYTES) {
            return Err(memory::exhausted().into());
        }
        if let Some(Step::Member(name)) = self.path.last_mut() {
            key.clone_into(name);
        }
        build!(self.key(key))
    }

    fn end_object(&mut self) -> Result<()> {
        self.path.pop();
        self.next(1)?;
        build!(self.end_object())
    }
}

impl<F: Fn(Code, &str, &str) -> Error> Target for ValueTarget<'_, F> {
    fn invalid(&self, invalid: Invalid<'_, '_>) -> Error {
        match invalid {
            Invalid::Surrogate(message) => self.fail(Code::InvalidSurrogate, &message),
            Invalid::KeySurrogate(message) => {
                let message = format!("in a key, {message}");
                (self.invalid)(Code::InvalidSurrogate, &self.path(false), &message)
            }
            Invalid::Key(class) => {
                let message = format!("keys must be str, not {}", class_name(&class));
                (self.invalid)(Code::UnsupportedType, &self.path(false), &message)
            }
            Invalid::Order => self.fail(Code::UnsupportedType, ORDER),
            Invalid::Digits => {
                let limit = json::Limits::default().max_digits;
                self.fail(Code::OutOfRange, &format!("the integer has more than {limit} digits"))
            }
            Invalid::Class(object, options) => {
                let options = if self.has_options { options } else { "" };
                self.fail(Code::UnsupportedType, &class_message(object, options))
            }
            Invalid::Default => self.fail(Code::LimitExceeded, ENDLESS_DEFAULT),
            Invalid::Cell(code, message) => self.fail(code, &message),
            Invalid::Column(code, steps, message) => {
                (self.invalid)(code, &(self.path(true) + steps), &message)
            }
        }
    }
}

/// The message for an `OrderedDict` whose order has other keys than the dict.
pub(crate) const ORDER: &str = "the OrderedDict was changed by a method of dict, and its order has other keys; pass a copy of it as a dict";

/// The message for `default=` that is called again and again.
pub(crate) const ENDLESS_DEFAULT: &str = "default= keeps returning objects that are not JSON types";

/// The message for an object that is not a JSON type, with the options that would convert it.
pub(crate) fn class_message(object: &Bound<'_, PyAny>, options: &str) -> String {
    let class = class_name(&object.get_type());
    if let Some(call) = lazy(object) {
        return format!("{class} is not in memory: pass the result of its {call}()");
    }
    let decode = if object.is_instance_of::<PyBytes>() { "decode it to a str, or " } else { "" };
    match options {
        "" => format!("{class} is not a JSON type"),
        _ => format!("{class} is not a JSON type; {decode}convert it with {options}"),
    }
}

/// Checks memory for a document that is read from Python objects, and for the text that is written from it.
pub(crate) struct Budget {
    meter: RefCell<Meter>,
    /// The values so far.
    values: Cell<usize>,
    /// The last error, such as too little memory.
    failed: Cell<Option<Error>>,
}

/// A member of an object, which may be a node, counts as this many values.
const NODE_VALUES: usize = 4;
/// The bytes of memory for a value: its share of a node, and its text.
const VALUE_SIZE: usize = 96;
/// The number of bytes of a string that count as one value.
const BYTES: usize = 12;
/// Strings of at least this length are counted.
const MANY_BYTES: usize = 128;

impl Default for Budget {
    fn default() -> Self {
        Self {
            meter: RefCell::new(Meter::new(VALUE_SIZE)),
            values: Cell::new(0),
            failed: Cell::new(None),
        }
    }
}

impl Budget {
    /// Whether there is memory for `more` values. If not, the caller treats the container as empty, and
    /// [`Budget::check`] returns the error afterwards.
    #[inline]
    fn take(&self, more: usize) -> bool {
        self.values.set(self.values.get() + more);
        match self.meter.borrow_mut().reach(self.values.get()) {
            Ok(()) => true,
            Err(error) => {
                self.fail(error);
                false
            }
        }
    }

    #[cold]
    fn fail(&self, error: impl Into<Error>) {
        self.failed.set(Some(error.into()));
    }

    /// Returns the error, if there was one.
    pub(crate) fn check(self) -> Result<()> {
        self.failed.into_inner().map_or(Ok(()), Err)
    }
}

/// The state that all sources of one CAD document share.
pub(crate) struct DocumentReading {
    /// The names of members.
    names: &'static Vocabulary,
    pub(crate) budget: Budget,
}

impl DocumentReading {
    pub(crate) fn new(names: &'static Vocabulary) -> Self {
        Self { names, budget: Budget::default() }
    }

    /// A Python object from which a document is read.
    #[inline]
    pub(crate) fn source<'py>(&self, object: Bound<'py, PyAny>) -> DocumentSource<'_, 'py> {
        DocumentSource { object, reading: self }
    }

    /// The result of a conversion or a lookup; `None` also after an error, which [`Budget::check`] returns: too
    /// little memory, or what the `__eq__` of a key raised.
    #[inline]
    fn found<T>(&self, found: PyResult<Option<T>>) -> Option<T> {
        found.unwrap_or_else(|error| {
            self.budget.fail(error);
            None
        })
    }
}

/// A Python object from which a CAD document is read. It has two words, so that functions return it in
/// registers.
pub(crate) struct DocumentSource<'r, 'py> {
    object: Bound<'py, PyAny>,
    reading: &'r DocumentReading,
}

impl<'a> Source<'a> for DocumentSource<'_, '_> {
    fn shape(&self) -> Shape<'a> {
        // `kind` is not used: testing for floats and dicts first, without a second `match`, saves a
        // tenth of the time. The test for a subclass of float is slow, and therefore comes last.
        let object = &self.object;
        if let Ok(value) = object.cast_exact::<PyFloat>() {
            Shape::Float(value.value())
        } else if object.is_instance_of::<PyDict>() {
            Shape::Object
        } else if let Ok(text) = object.cast::<PyString>() {
            // A string with a lone surrogate is not text.
            let text = self.reading.found(utf8_if_whole(text)).filter(|text| {
                // A short string is included in the estimate for its node.
                text.len() < MANY_BYTES || self.reading.budget.take(text.len() / BYTES)
            });
            text.map_or(Shape::Other, |text| Shape::Text(Cow::Owned(text.to_owned())))
        } else if let Ok(value) = object.cast::<PyBool>() {
            Shape::Bool(value.is_true())
        } else if let Ok(value) = object.cast::<PyInt>() {
            value.extract::<i64>().map_or_else(
                |_| Shape::BigInt(self.reading.found(digits(value)).map(Cow::Owned)),
                Shape::Int,
            )
        } else if object.is_none() {
            Shape::Null
        } else if object.is_instance_of::<PyList>() || object.is_instance_of::<PyTuple>() {
            Shape::Array
        } else if let Ok(value) = object.cast::<PyFloat>() {
            Shape::Float(value.value())
        } else {
            Shape::Other
        }
    }

    fn is_null(&self) -> bool {
        self.object.is_none()
    }

    fn is_object(&self) -> bool {
        self.object.is_instance_of::<PyDict>()
    }

    fn with_text<R>(&self, look: impl FnOnce(&str) -> R) -> Option<R> {
        self.reading.found(utf8_if_whole(self.object.cast().ok()?)).map(look)
    }

    fn size(&self) -> usize {
        if let Ok(dict) = self.object.cast::<PyDict>() {
            // Its members are counted where they are visited, or included in the estimate for its node.
            return dict.len();
        }
        let size = match self.object.cast::<PyList>() {
            Ok(list) => list.len(),
            Err(_) => self.object.cast::<PyTuple>().map_or(0, PyTupleMethods::len),
        };
        if self.reading.budget.take(size) { size } else { 0 }
    }

    fn member(&self, name: &'static str) -> Option<Self> {
        let dict = self.object.cast::<PyDict>().ok()?;
        let found = match self.reading.names.get(name) {
            Some(name) => dict.get_item(name.bind(dict.py())),
            None => dict.get_item(name),
        };
        self.reading.found(found).map(|object| self.reading.source(object))
    }

    fn element(&self, index: usize) -> Option<Self> {
        let element = match self.object.cast::<PyList>() {
            Ok(list) => list.get_item(index),
            Err(_) => self.object.cast::<PyTuple>().ok()?.get_item(index),
        };
        element.ok().map(|object| self.reading.source(object))
    }

    fn members<E>(
        &self,
        mut visit: impl FnMut(Option<&str>, Self) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        let Ok(dict) = self.object.cast::<PyDict>() else { return Ok(()) };
        if !self.reading.budget.take(NODE_VALUES * dict.len()) {
            return Ok(());
        }
        // Copied first, because a lookup by `visit` may run a key's `__eq__`, which may change the
        // dict.
        let items = RefCell::new(Vec::new());
        let copied = dict.locked_for_each(|key, value| push(&mut items.borrow_mut(), (key, value)));
        if let Err(error) = copied {
            self.reading.budget.fail(error);
        }
        for (key, value) in items.into_inner() {
            let text = key.cast().ok().and_then(|key| self.reading.found(utf8_if_whole(key)));
            visit(text, self.reading.source(value))?;
        }
        Ok(())
    }
}
