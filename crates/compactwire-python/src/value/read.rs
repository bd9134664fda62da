//! The checked reader: Python objects as values, with owned references.
//!
//! It accepts what `json.dumps` accepts: dict (with `str` keys), list, tuple, str, int, float, bool, None
//! and their subclasses. Containers are copied before their content is read, because another thread
//! or `default=` may change them in the meantime. The content of a subclass is read without calling its
//! methods: only `default=` runs Python code.

use super::budget::{BYTES, Budget};
use super::conversions::{Conversions, Converted};
use super::kind::{Kind, digits, duplicate_key, items, kind};
use crate::args::{class_name, utf8_or};
use crate::calls::{Run, import};
use crate::column::{Unreadable, caused, if_column, lazy, lost_index};
use crate::errors::{Error, Result, unsupported};
use crate::interrupt::attached;
use crate::make::{args, name, tuple_of};
use compactwire::arrow::{self, Allowance, Table};
use compactwire::excerpt::{excerpt, path_step};
use compactwire::gcf::{Code, Limits};
use compactwire::interrupt::unchecked;
use compactwire::json;
use compactwire::memory;
use compactwire::value::{Builder, Value};
use compactwire::walk::Sink;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString, PyTuple, PyType};

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
    /// A key with the text of an earlier one.
    DuplicateKey(&'o str),
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

/// Emits an object to `target`. `default` converts objects that are not JSON types.
pub(crate) fn emit<'py>(
    object: &Bound<'py, PyAny>,
    default: Option<&Conversions<'py>>,
    target: &mut impl Target,
) -> Result<()> {
    Emitter { default, target, allowance: Allowance::default() }.emit(object)?;
    default.map_or(Ok(()), |default| Ok(default.check()?))
}

struct Emitter<'a, 'py, T> {
    default: Option<&'a Conversions<'py>>,
    target: &'a mut T,
    /// Of all columns in the object.
    allowance: Allowance,
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
        if let Some(text) = duplicate_key(&items) {
            return Err(self.target.invalid(Invalid::DuplicateKey(text)));
        }
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
        if self.column(object)? {
            return Ok(());
        }
        let mut refused = object.clone();
        if let Some(default) = self.default {
            match default.next(object)? {
                Converted::To(object) => return self.emit(&object),
                Converted::Column(object) if self.column(&object)? => return Ok(()),
                Converted::Column(_) | Converted::Endless => {
                    return Err(self.target.invalid(Invalid::Default));
                }
                Converted::Refused(object) => refused = object,
            }
        }
        let options = unchecked(|| options_for(&refused, self.default))?;
        Err(self.target.invalid(Invalid::Class(&refused, &options)))
    }

    /// Emits an object if it is a table or a column; returns whether it is one.
    fn column(&mut self, object: &Bound<'py, PyAny>) -> Result<bool> {
        if !self.default.map_or(Ok(true), |default| default.may_be_column(object))? {
            return Ok(false);
        }
        if let Some(message) = unchecked(|| lost_index(object))? {
            return Err(self.target.invalid(Invalid::Cell(Code::UnsupportedType, message)));
        }
        // A producer of columns may be written in Python.
        match unchecked(|| if_column(object)) {
            Ok(Some(column)) => {
                let table = Table::within(&column, &mut self.allowance)?;
                table.emit(&mut Cells(&mut *self.target))?;
                Ok(true)
            }
            Ok(None) => Ok(false),
            Err(Unreadable::Values { code, steps, message, cause }) => {
                let error = self.target.invalid(Invalid::Column(code, &steps, message));
                Err(caused(error, cause))
            }
            Err(Unreadable::Other(error)) => Err(error),
        }
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
    let module = import(object.py(), name!(object.py(), "compactwire._types")?)?;
    let used = default.map(|default| &default.default);
    module
        .run_method(name!(object.py(), "options_for")?, args!(object.py(), object, used)?)?
        .extract()
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
    read(object, root, None, None, false, invalid)
}

/// The value of a Python object in which `default` converts objects that are not JSON types; for
/// functions with `types=` and `default=`, which errors name. `max_depth` is the argument of the function, if
/// it has that option.
pub(crate) fn value_with<'py>(
    object: &Bound<'py, PyAny>,
    root: &str,
    default: Option<&Bound<'py, PyAny>>,
    max_depth: Option<usize>,
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
    max_depth: Option<usize>,
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
    /// The argument of `max_depth=`. Without it the limit is that of [`json::Limits`].
    max_depth: Option<usize>,
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
        let limit = self.max_depth.unwrap_or(json::Limits::default().max_depth);
        if self.path.len() >= limit {
            let advice = self.max_depth.map(Limits::depth_advice).unwrap_or_default();
            let message = format!("nested more than {limit} levels deep, or within itself{advice}");
            return Err(self.fail(Code::LimitExceeded, &message));
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
                (self.invalid)(Code::UnsupportedType, &self.path(false), &key_message(&class))
            }
            Invalid::DuplicateKey(text) => {
                self.fail(Code::DuplicateKey, &format!("duplicate member {}", excerpt(text)))
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

/// The message for a key that is not a `str`, which neither `types=` nor `default=` converts.
pub(crate) fn key_message(class: &Bound<'_, PyType>) -> String {
    format!("keys must be str, not {}; convert them with str()", class_name(class))
}

/// The message for `default=` that is called again and again.
pub(crate) const ENDLESS_DEFAULT: &str = "default= keeps returning objects that are not JSON types";

/// The message for an object that is not a JSON type, with the options that would convert it.
pub(crate) fn class_message(object: &Bound<'_, PyAny>, options: &str) -> String {
    let class = class_name(&object.get_type());
    if let Some(call) = lazy(object) {
        return format!("{class} is not in memory: pass the result of its {call}()");
    }
    if let Some(message) = unset_field(object) {
        return message;
    }
    let decode = if object.is_instance_of::<PyBytes>() { "decode it to a str, or " } else { "" };
    match options {
        "" => format!("{class} is not a JSON type"),
        _ => format!("{class} is not a JSON type; {decode}convert it with {options}"),
    }
}

/// The message for what `types="common"` writes in place of a field of a dataclass that has no value.
fn unset_field(object: &Bound<'_, PyAny>) -> Option<String> {
    let module = object.get_type().module().ok()?;
    let is_ours = module == "compactwire._types";
    is_ours.then(|| object.str().ok()?.extract().ok()).flatten()
}
