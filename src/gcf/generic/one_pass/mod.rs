//! The encoder's fast path: one pass from values to text, without a tree.
//!
//! The first row of a table determines its columns, and rows are written as they are visited. If a later
//! row needs other columns, or the value is invalid or has an uncommon form, the writer stops with
//! [`Stop::Unusual`], and the caller encodes the whole value again with a tree and [`super::encode`].
//!
//! Invariant: this module writes the same text as [`super::encode`]. Only that path reports errors in a
//! value.
//!
//! Without it, `gcf.dumps` takes 1.2 (500 flat rows) to 1.75 (keyed) times as long, 1.45 times for nested
//! orders. To measure it again, let [`write`] return [`Stop::Unusual`] at once and run
//! `python -m benches.gcf`.
//!
//! This module writes scalars, objects and arrays; `plan` plans and declares the columns of a table, and
//! `rows` writes its rows.

mod plan;
mod rows;

use crate::gcf::limits::is_readable;
use crate::gcf::syntax::header::GENERIC;
use crate::gcf::syntax::number::put_float;
use crate::gcf::syntax::string::{put_key, put_value};
use crate::interrupt::{Steps, polled};
use crate::text::output::{Memory, Output};
use crate::walk::{Found, Stop, Type, Walk};

/// Writes a value.
///
/// # Errors
/// [`Stop::Unusual`] if the value has to be encoded with a tree; the errors of `walk`.
pub(crate) fn write<W: Walk, M: Memory>(
    walk: &mut W,
    value: &W::Value,
    flatten: bool,
    max_depth: usize,
    memory: M,
) -> Result<Output<M>, Stop<W::Error>> {
    let mut writer = Writer {
        walk,
        out: Output::new(memory),
        flatten,
        max_depth,
        expansion: 0,
        attached: Vec::new(),
        is_pending: false,
        steps: Steps::default(),
    };
    writer.out.str(GENERIC);
    writer.root(value)?;
    let Writer { out, expansion, .. } = writer;
    if out.failed() || is_readable(expansion, out.len()) { Ok(out) } else { Err(Stop::Unusual) }
}

/// Writes an array of `count` objects that all have these members in this order, with a scalar for each. `rows`
/// appends the lines of the rows. `None` if `rows` returns it, or if the value has to be encoded with a tree.
#[cfg(feature = "arrow")]
pub(crate) fn write_rows(
    names: &[&str],
    count: usize,
    max_depth: usize,
    rows: impl FnOnce(&mut Output<Vec<u8>>) -> Option<()>,
) -> Option<String> {
    let are_columns = !names.is_empty() && names.iter().all(|name| !name.contains('>'));
    if count == 0 || max_depth < 2 || !are_columns {
        return None;
    }
    let mut out = Output::new(Vec::new());
    out.str(GENERIC);
    out.bytes(*b"## [");
    out.int(count.try_into().ok()?);
    out.byte(b']');
    let mut between = b'{';
    for name in names {
        out.byte(between);
        put_key(name, &mut out);
        between = b',';
    }
    out.bytes(*b"}\n");
    rows(&mut out)?;
    let names: usize = names.iter().map(|name| name.len()).sum();
    let is_readable = is_readable((count as u64).saturating_mul(names as u64), out.len());
    is_readable.then(|| out.into_string()).flatten()
}

struct Writer<'w, W: Walk, M> {
    walk: &'w mut W,
    out: Output<M>,
    flatten: bool,
    max_depth: usize,
    /// The expansion of the text so far; see [`Limits::max_expansion`](crate::gcf::Limits::max_expansion).
    expansion: u64,
    /// The attachments of all open rows: the column and the value of each.
    attached: Vec<(usize, W::Value)>,
    /// Whether the row that is being written has attachments, which follow its cells.
    is_pending: bool,
    steps: Steps,
}

type Outcome<W, T = ()> = Result<T, Stop<<W as Walk>::Error>>;

/// Where a container is written.
#[derive(Clone, Copy)]
struct Place {
    /// The indentation of its body.
    indent: usize,
    /// How many containers are open around it.
    level: usize,
}

impl Place {
    fn inside(self, indent: usize) -> Self {
        Self { indent: self.indent + indent, level: self.level + 1 }
    }
}

/// The source of a table's rows: the elements of an array, or the members of an object.
enum Rows<W: Walk> {
    Elements(W::Array),
    Members(W::Object),
}

/// How an array is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Empty,
    Scalars,
    Rows,
    Mixed,
}

impl<W: Walk, M: Memory> Writer<'_, W, M> {
    /// The value, converted if it is foreign.
    fn converted(&mut self, value: &W::Value) -> Outcome<W, W::Value> {
        match self.walk.type_of(value) {
            Type::Foreign => self.convert(value),
            _ => Ok(value.clone()),
        }
    }

    /// Converts a foreign value. A cell is visited before the attachments of its row, even if these come
    /// first in the value.
    fn convert(&mut self, value: &W::Value) -> Outcome<W, W::Value> {
        if W::CONVERTS_IN_ORDER && self.is_pending {
            return Err(Stop::Unusual);
        }
        self.walk.convert(value)
    }

    /// Begins a line.
    #[inline]
    fn indent(&mut self, place: Place) {
        self.steps.step();
        self.out.spaces(place.indent);
    }

    /// Checks that one more container may be open.
    fn open(&self, place: Place) -> Outcome<W> {
        if place.level < self.max_depth { Ok(()) } else { Err(Stop::Unusual) }
    }

    fn root(&mut self, value: &W::Value) -> Outcome<W> {
        let value = self.converted(value)?;
        let place = Place { indent: 0, level: 0 };
        match self.walk.look(&value)? {
            Found::Object(object) => {
                if self.is_keyed(&object) {
                    self.out.bytes(*b"## ");
                    self.keyed(object, place)
                } else {
                    self.open(place)?;
                    self.members(object, Place { level: 1, ..place })
                }
            }
            Found::Array(array) => {
                self.out.bytes(*b"## ");
                self.array(array, place)
            }
            scalar => {
                self.out.byte(b'=');
                put(scalar, &mut self.out)?;
                self.out.byte(b'\n');
                Ok(())
            }
        }
    }

    /// Whether all members of an object are objects, so that it is written as a keyed table. Foreign
    /// values count as scalars; [`Self::members`] checks this assumption.
    fn is_keyed(&self, object: &W::Object) -> bool {
        self.walk.size(object) >= 2
            && self.walk.all_members(object, |member| member == Type::Object)
    }

    /// Writes the members of an object that is not a keyed table. The object itself is open.
    fn members(&mut self, mut object: W::Object, place: Place) -> Outcome<W> {
        if !self.walk.has_distinct_keys(&object) {
            return Err(Stop::Unusual);
        }
        let mut is_keyed = self.walk.size(&object) >= 2;
        while let Some((key, value)) = self.walk.next(&mut object) {
            self.indent(place);
            is_keyed &= self.member(&key, &value, place)?;
        }
        // Foreign values were converted to objects, so it should have been a keyed table.
        if is_keyed { Err(Stop::Unusual) } else { Ok(()) }
    }

    /// Writes a member. Returns whether it is an object.
    fn member(&mut self, key: &W::Key, value: &W::Value, place: Place) -> Outcome<W, bool> {
        let name = self.walk.key(key)?;
        match self.walk.look(value)? {
            Found::Foreign => {
                let value = self.convert(value)?;
                return self.member(key, &value, place);
            }
            Found::Array(array) => {
                let (kind, first) = self.array_kind(&array)?;
                if kind != Kind::Scalars {
                    self.out.bytes(*b"## ");
                }
                put_key(name, &mut self.out);
                if kind != Kind::Scalars {
                    self.out.byte(b' ');
                }
                self.array_of(kind, array, first, place)?;
            }
            Found::Object(object) => {
                self.out.bytes(*b"## ");
                put_key(name, &mut self.out);
                if self.is_keyed(&object) {
                    self.out.byte(b' ');
                    self.keyed(object, place)?;
                } else {
                    self.open(place)?;
                    self.out.byte(b'\n');
                    self.members(object, place.inside(2))?;
                }
                return Ok(true);
            }
            scalar => {
                put_key(name, &mut self.out);
                self.out.byte(b'=');
                put(scalar, &mut self.out)?;
                self.out.byte(b'\n');
            }
        }
        Ok(false)
    }

    /// Writes a container after `@i ` or `.name `, or a scalar after `@i `.
    fn nested(&mut self, value: &W::Value, place: Place) -> Outcome<W> {
        match self.walk.look(value)? {
            Found::Foreign => {
                let value = self.convert(value)?;
                self.nested(&value, place)
            }
            Found::Array(array) => self.array(array, place),
            Found::Object(object) => {
                if self.is_keyed(&object) {
                    return self.keyed(object, place);
                }
                self.open(place)?;
                self.out.bytes(*b"{}\n");
                self.members(object, Place { level: place.level + 1, ..place })
            }
            scalar => {
                self.out.byte(b'=');
                put(scalar, &mut self.out)?;
                self.out.byte(b'\n');
                Ok(())
            }
        }
    }

    fn count(&mut self, count: usize) {
        self.out.byte(b'[');
        self.out.int(count.try_into().unwrap_or(i64::MAX));
    }

    fn array(&mut self, array: W::Array, place: Place) -> Outcome<W> {
        let (kind, first) = self.array_kind(&array)?;
        self.array_of(kind, array, first, place)
    }

    /// How an array is written, and its first element. Other foreign elements are assumed to be of the same
    /// type as the rest; [`Self::array_of`] checks this.
    fn array_kind(&mut self, array: &W::Array) -> Outcome<W, (Kind, Option<W::Value>)> {
        let length = self.walk.length(array);
        if length == 0 {
            return Ok((Kind::Empty, None));
        }
        let first = self.walk.element(array, 0);
        let first = self.converted(&first)?;
        let all = |test: fn(Type) -> bool| {
            polled(1..length).all(|index| test(self.walk.type_of(&self.walk.element(array, index))))
        };
        let kind = match self.walk.type_of(&first) {
            Type::Object if all(|one| matches!(one, Type::Object | Type::Foreign)) => Kind::Rows,
            Type::Null | Type::Scalar if all(|one| !matches!(one, Type::Array | Type::Object)) => {
                Kind::Scalars
            }
            _ => Kind::Mixed,
        };
        Ok((kind, Some(first)))
    }

    /// Writes an array from its bracket on.
    fn array_of(
        &mut self,
        kind: Kind,
        array: W::Array,
        first: Option<W::Value>,
        place: Place,
    ) -> Outcome<W> {
        self.open(place)?;
        let length = self.walk.length(&array);
        self.count(length);
        let Some(first) = first.filter(|_| kind != Kind::Empty) else {
            self.out.bytes(*b"]\n");
            return Ok(());
        };
        match kind {
            Kind::Rows => {
                self.out.byte(b']');
                self.table(Rows::Elements(array), length, first, place)
            }
            Kind::Scalars => {
                self.out.bytes(*b"]: ");
                let mut next = first;
                for index in 1..=length {
                    self.steps.step();
                    self.list_element(&next)?;
                    let is_last = index == length;
                    self.out.byte(if is_last { b'\n' } else { b',' });
                    if !is_last {
                        next = self.walk.element(&array, index);
                    }
                }
                Ok(())
            }
            _ => {
                self.out.bytes(*b"]\n");
                let mut next = first;
                let (mut scalars, mut objects) = (0, 0);
                for index in 0..length {
                    if index > 0 {
                        let element = self.walk.element(&array, index);
                        next = self.converted(&element)?;
                    }
                    match self.walk.type_of(&next) {
                        Type::Object => objects += 1,
                        Type::Array => {}
                        _ => scalars += 1,
                    }
                    self.indent(place);
                    self.out.row_id(index);
                    self.nested(&next, place.inside(2))?;
                }
                // Foreign elements were converted, so it should have been a list or a table.
                if scalars == length || objects == length { Err(Stop::Unusual) } else { Ok(()) }
            }
        }
    }

    #[inline]
    fn list_element(&mut self, value: &W::Value) -> Outcome<W> {
        match self.walk.look(value)? {
            Found::Foreign => {
                let value = self.convert(value)?;
                put(self.walk.look(&value)?, &mut self.out)
            }
            found => put(found, &mut self.out),
        }
    }

    fn keyed(&mut self, object: W::Object, place: Place) -> Outcome<W> {
        self.open(place)?;
        if !self.walk.has_distinct_keys(&object) {
            return Err(Stop::Unusual);
        }
        let Some(first) = self.walk.first_member(&object) else { return Err(Stop::Unusual) };
        let count = self.walk.size(&object);
        self.count(count);
        self.out.bytes(*b":]");
        self.table(Rows::Members(object), count, first, place)
    }

    /// Writes a table from its declaration on. It is open already.
    fn table(&mut self, rows: Rows<W>, count: usize, first: W::Value, place: Place) -> Outcome<W> {
        let mut plan = self.plan(&first, place.level + 1, true)?;
        if let Rows::Elements(array) = &rows
            && count > UNPROBED
        {
            for index in [count / 2, count - 1] {
                let row = self.walk.element(array, index);
                self.probe(&plan, &row)?;
            }
        }
        self.declaration(&plan, matches!(rows, Rows::Members(_)))?;
        self.out.byte(b'\n');
        self.rows(&mut plan, rows, count, first, place)
    }
}

/// How many rows are written without a look at later ones: discarding them costs no more than the look.
const UNPROBED: usize = 16;

/// Writes a scalar. Anything else, such as a container, is [`Stop::Unusual`].
#[inline(always)]
#[expect(clippy::needless_pass_by_value, reason = "it comes from `look`, and is inlined")]
fn put<A, O, E, M: Memory>(found: Found<'_, A, O>, out: &mut Output<M>) -> Result<(), Stop<E>> {
    match found {
        Found::Text(text) => put_value(text, out),
        Found::Int(value) => out.int(value),
        Found::Float(value) if value.is_finite() => put_float(value, out),
        Found::Null => out.byte(b'-'),
        Found::Bool(value) => out.bool(value),
        _ => return Err(Stop::Unusual),
    }
    Ok(())
}

#[cfg(test)]
mod tests;
