//! The encoder's fast path: one pass from values to text, without a tree.
//!
//! The first row of a table decides its columns, which are then written row by row. A row that would
//! have decided otherwise, and all else that is not common, makes the writer stop with
//! [`Stop::Unusual`]; the tree and [`super::encode`] then take the whole value. So the text is always that
//! of the tree, and the tree alone decides what is invalid.

use super::columns::{OBJECT_SIZE, VALUE_SIZE};
use super::tree::is_sparse;
use crate::gcf::limits::is_readable;
use crate::gcf::syntax::header::GENERIC;
use crate::gcf::syntax::number::put_float;
use crate::gcf::syntax::string::{self, put_key, put_value};
use crate::interrupt::Steps;
use crate::text::output::{Mark, Memory, Output};
use crate::text::quoted;
use crate::walk::{Found, Stop, Type, Walk};
use std::ops::Range;

/// Writes a value.
///
/// # Errors
/// [`Stop::Unusual`] for the tree to write the value; the errors of `walk`.
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
        steps: Steps::default(),
    };
    writer.out.str(GENERIC);
    writer.root(value)?;
    let Writer { out, expansion, .. } = writer;
    if out.failed() || is_readable(expansion, out.len()) { Ok(out) } else { Err(Stop::Unusual) }
}

struct Writer<'w, W: Walk, M> {
    walk: &'w mut W,
    out: Output<M>,
    flatten: bool,
    max_depth: usize,
    /// What the text implies without spelling it out, as for the tree.
    expansion: u64,
    /// The column and value of what is attached below the rows that are open.
    attached: Vec<(usize, W::Value)>,
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

/// The columns of a table, in the order of the members of its rows.
struct Plan<K> {
    columns: Vec<Column<K>>,
    /// The fields of flattened and inline objects.
    fields: Vec<Field<K>>,
    /// The keys of the columns as they are written.
    names: String,
    /// What each row implies without spelling it out.
    row_expansion: u64,
    /// How many cells are absent.
    absent: u64,
}

struct Column<K> {
    key: K,
    kind: ColumnKind<K>,
    name: Range<usize>,
    /// What follows its last cell: `|`, or a line feed in the last column.
    end: u8,
}

enum ColumnKind<K> {
    /// Scalars only.
    Scalars,
    /// Scalars, and arrays below the row. If it is `certain` that no form fits the column, objects too.
    Plain { certain: bool },
    /// Tables of scalars with the same columns, which the first row declares.
    Shared(Option<Box<Plan<K>>>),
    /// Objects whose fields are columns.
    Flattened { fields: Range<usize>, leaves: u64, objects: u64, expansion: u64 },
    /// Objects with the same keys, which the first row declares.
    Inline { fields: Range<usize>, expansion: u64 },
}

/// A key of an object of a known form.
struct Field<K> {
    key: K,
    /// How many of the following fields belong to the object under this key; 0 for a scalar.
    inner: usize,
}

/// What a table is made of.
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
    /// Writes the scalar that was found. A container is [`Stop::Unusual`].
    #[inline]
    #[expect(clippy::needless_pass_by_value, reason = "it comes from `look`, and is inlined")]
    fn put(&mut self, found: Found<'_, W::Array, W::Object>) -> Outcome<W> {
        match found {
            Found::Text(text) => put_value(text, &mut self.out),
            Found::Int(value) => self.out.int(value),
            Found::Float(value) if value.is_finite() => put_float(value, &mut self.out),
            Found::Null => self.out.byte(b'-'),
            Found::Bool(true) => self.out.bytes(*b"true"),
            Found::Bool(false) => self.out.bytes(*b"false"),
            _ => return Err(Stop::Unusual),
        }
        Ok(())
    }

    /// The value, or what replaces it.
    fn converted(&mut self, value: &W::Value) -> Outcome<W, W::Value> {
        match self.walk.type_of(value) {
            Type::Foreign => self.walk.convert(value),
            _ => Ok(value.clone()),
        }
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
                self.put(scalar)?;
                self.out.byte(b'\n');
                Ok(())
            }
        }
    }

    /// Whether all members of an object are objects, so that it is written as a keyed table. Foreign
    /// objects are taken for scalars.
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
        // Foreign objects have become what makes it a keyed table.
        if is_keyed { Err(Stop::Unusual) } else { Ok(()) }
    }

    /// Writes a member. Returns whether it is an object.
    fn member(&mut self, key: &W::Key, value: &W::Value, place: Place) -> Outcome<W, bool> {
        match self.walk.look(value)? {
            Found::Foreign => {
                let value = self.walk.convert(value)?;
                return self.member(key, &value, place);
            }
            Found::Array(array) => {
                let (kind, first) = self.array_kind(&array)?;
                if kind != Kind::Scalars {
                    self.out.bytes(*b"## ");
                }
                put_key(self.walk.key(key)?, &mut self.out);
                if kind != Kind::Scalars {
                    self.out.byte(b' ');
                }
                self.array_of(kind, array, first, place)?;
            }
            Found::Object(object) => {
                self.out.bytes(*b"## ");
                put_key(self.walk.key(key)?, &mut self.out);
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
                put_key(self.walk.key(key)?, &mut self.out);
                self.out.byte(b'=');
                self.put(scalar)?;
                self.out.byte(b'\n');
            }
        }
        Ok(false)
    }

    /// Writes a container after `@i ` or `.name `, or a scalar after `@i `.
    fn nested(&mut self, value: &W::Value, place: Place) -> Outcome<W> {
        match self.walk.look(value)? {
            Found::Foreign => {
                let value = self.walk.convert(value)?;
                self.nested(&value, place)
            }
            Found::Array(array) => self.array(array, place),
            Found::Object(object) if self.is_keyed(&object) => self.keyed(object, place),
            Found::Object(object) => {
                self.open(place)?;
                self.out.bytes(*b"{}\n");
                self.members(object, Place { level: place.level + 1, ..place })
            }
            scalar => {
                self.out.byte(b'=');
                self.put(scalar)?;
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

    /// How an array is written, and its first element. Other elements that are foreign are taken for what
    /// the rest is.
    fn array_kind(&mut self, array: &W::Array) -> Outcome<W, (Kind, Option<W::Value>)> {
        let length = self.walk.length(array);
        if length == 0 {
            return Ok((Kind::Empty, None));
        }
        let first = self.walk.element(array, 0);
        let first = self.converted(&first)?;
        let all = |test: fn(Type) -> bool| {
            (1..length).all(|index| test(self.walk.type_of(&self.walk.element(array, index))))
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
                // Foreign objects have become what makes it a list or a table.
                if scalars == length || objects == length { Err(Stop::Unusual) } else { Ok(()) }
            }
        }
    }

    #[inline]
    fn list_element(&mut self, value: &W::Value) -> Outcome<W> {
        match self.walk.look(value)? {
            Found::Foreign => {
                let value = self.walk.convert(value)?;
                let found = self.walk.look(&value)?;
                self.put(found)
            }
            found => self.put(found),
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
        if let Rows::Elements(array) = &rows {
            for index in [count / 2, count - 1] {
                let row = self.walk.element(array, index);
                self.probe(&plan, &row)?;
            }
        }
        self.declaration(&plan, matches!(rows, Rows::Members(_)))?;
        self.out.byte(b'\n');
        self.rows(&mut plan, rows, count, first, place)
    }

    /// Plans the columns from the first row. Without `forms`, all values must be scalars.
    fn plan(&mut self, first: &W::Value, level: usize, forms: bool) -> Outcome<W, Plan<W::Key>> {
        let Found::Object(mut object) = self.walk.look(first)? else { return Err(Stop::Unusual) };
        let size = self.walk.size(&object);
        if size == 0 || level >= self.max_depth || !self.walk.has_distinct_keys(&object) {
            return Err(Stop::Unusual);
        }
        let mut plan = Plan {
            columns: Vec::with_capacity(size),
            fields: Vec::new(),
            names: String::new(),
            row_expansion: 0,
            absent: 0,
        };
        while let Some((key, value)) = self.walk.next(&mut object) {
            let text = self.walk.key(&key)?;
            if text.contains('>') {
                return Err(Stop::Unusual);
            }
            let start = plan.names.len();
            string::write_key(text, &mut plan.names);
            let name = start..plan.names.len();
            let kind = match self.walk.type_of(&value) {
                Type::Array | Type::Object if !forms => return Err(Stop::Unusual),
                _ if !forms => ColumnKind::Scalars,
                Type::Foreign => ColumnKind::Scalars,
                Type::Null => ColumnKind::Plain { certain: false },
                Type::Array if self.may_share_columns(&value, level + 1)? => {
                    ColumnKind::Shared(None)
                }
                Type::Scalar | Type::Array => ColumnKind::Plain { certain: true },
                Type::Object => self.object_column(text, &value, &mut plan, level + 1)?,
            };
            plan.row_expansion += match &kind {
                ColumnKind::Flattened { fields, .. } => {
                    let mut sum = 0;
                    for field in &plan.fields[fields.clone()] {
                        if field.inner == 0 {
                            sum += self.walk.key(&field.key)?.len() as u64;
                        }
                    }
                    sum
                }
                _ => text.len() as u64,
            };
            plan.columns.push(Column { key, kind, name, end: b'|' });
        }
        if let Some(last) = plan.columns.last_mut() {
            last.end = b'\n';
        }
        Ok(plan)
    }

    /// Whether the first array of a column is a table of scalars, as far as its first row tells.
    fn may_share_columns(&mut self, value: &W::Value, level: usize) -> Outcome<W, bool> {
        let Found::Array(array) = self.walk.look(value)? else { return Ok(false) };
        let length = self.walk.length(&array);
        let type_at = |index| self.walk.type_of(&self.walk.element(&array, index));
        let may_be_row = |index| matches!(type_at(index), Type::Object | Type::Foreign);
        if length == 0 || level >= self.max_depth || !(0..length).all(may_be_row) {
            return Ok(false);
        }
        let first = self.walk.element(&array, 0);
        // A foreign object may become a row or not.
        let Found::Object(object) = self.walk.look(&first)? else { return Err(Stop::Unusual) };
        let is_scalar = |member| !matches!(member, Type::Array | Type::Object);
        Ok(self.walk.size(&object) > 0 && self.walk.all_members(&object, is_scalar))
    }

    /// How a column is written whose first value is this object.
    fn object_column(
        &mut self,
        name: &str,
        value: &W::Value,
        plan: &mut Plan<W::Key>,
        level: usize,
    ) -> Outcome<W, ColumnKind<W::Key>> {
        let start = plan.fields.len();
        let mut form = Form { leaves: 0, keys: 0, paths: 0, expansion: 0, all_null: true };
        form.expansion = OBJECT_SIZE + VALUE_SIZE + name.len() as u64;
        let fits = self.flatten
            && !name.is_empty()
            && self.form(value, name.len() as u64, level, &mut plan.fields, &mut form)?
            && !form.all_null
            && !is_sparse(form.paths, name.len() as u64 + form.keys);
        if fits {
            let Form { leaves, expansion, .. } = form;
            let fields = start..plan.fields.len();
            return Ok(ColumnKind::Flattened { fields, leaves, objects: 0, expansion });
        }
        plan.fields.truncate(start);
        let Found::Object(mut object) = self.walk.look(value)? else { return Err(Stop::Unusual) };
        let is_scalar = |member| !matches!(member, Type::Array | Type::Object);
        if self.walk.size(&object) < 3 || !self.walk.all_members(&object, is_scalar) {
            return Ok(ColumnKind::Plain { certain: true });
        }
        if !self.walk.has_distinct_keys(&object) {
            return Err(Stop::Unusual);
        }
        let mut expansion = 0;
        while let Some((key, _)) = self.walk.next(&mut object) {
            expansion += self.walk.key(&key)?.len() as u64;
            plan.fields.push(Field { key, inner: 0 });
        }
        Ok(ColumnKind::Inline { fields: start..plan.fields.len(), expansion })
    }

    /// Appends the fields of an object that could be flattened; returns whether it can.
    fn form(
        &mut self,
        value: &W::Value,
        path: u64,
        level: usize,
        fields: &mut Vec<Field<W::Key>>,
        form: &mut Form,
    ) -> Outcome<W, bool> {
        let Found::Object(mut object) = self.walk.look(value)? else { return Err(Stop::Unusual) };
        if level >= self.max_depth || !self.walk.has_distinct_keys(&object) {
            return Err(Stop::Unusual);
        }
        if self.walk.size(&object) == 0 {
            return Ok(false);
        }
        while let Some((key, value)) = self.walk.next(&mut object) {
            let text = self.walk.key(&key)?;
            let size = text.len() as u64;
            if text.is_empty() || text.contains('>') {
                return Ok(false);
            }
            form.keys += size;
            let at = fields.len();
            match self.walk.type_of(&value) {
                Type::Array => return Ok(false),
                Type::Object => {
                    form.expansion += OBJECT_SIZE + VALUE_SIZE + size;
                    fields.push(Field { key, inner: 0 });
                    if !self.form(&value, path + 1 + size, level + 1, fields, form)? {
                        return Ok(false);
                    }
                    fields[at].inner = fields.len() - at - 1;
                }
                scalar => {
                    fields.push(Field { key, inner: 0 });
                    form.leaves += 1;
                    form.paths += path + 1 + size;
                    form.all_null &= scalar == Type::Null;
                }
            }
        }
        Ok(true)
    }

    /// Stops if a row contradicts the plan, as far as can be told at a glance. The plan is then dropped
    /// before rows are written in vain.
    fn probe(&mut self, plan: &Plan<W::Key>, row: &W::Value) -> Outcome<W> {
        if self.walk.type_of(row) == Type::Foreign {
            return Ok(());
        }
        let Found::Object(mut object) = self.walk.look(row)? else { return Err(Stop::Unusual) };
        let mut at = 0;
        while let Some((key, value)) = self.walk.next(&mut object) {
            at = self.find(plan, at, &key)?;
            let fits = match (self.walk.type_of(&value), &plan.columns[at].kind) {
                (Type::Foreign, _) => true,
                (Type::Object, ColumnKind::Plain { certain }) => *certain,
                (Type::Object, kind) => {
                    matches!(kind, ColumnKind::Flattened { .. } | ColumnKind::Inline { .. })
                }
                (Type::Array, kind) => {
                    matches!(kind, ColumnKind::Plain { .. } | ColumnKind::Shared(_))
                }
                (Type::Null, kind) => !matches!(kind, ColumnKind::Inline { .. }),
                (Type::Scalar, kind) => {
                    matches!(kind, ColumnKind::Plain { .. } | ColumnKind::Scalars)
                }
            };
            if !fits {
                return Err(Stop::Unusual);
            }
            at += 1;
        }
        Ok(())
    }

    /// The column from `at` on with this key. A key out of order or without a column is unusual.
    #[inline]
    fn find(&self, plan: &Plan<W::Key>, at: usize, key: &W::Key) -> Outcome<W, usize> {
        match plan.columns.get(at) {
            Some(column) if self.walk.is_same(&column.key, key) => Ok(at),
            Some(column) if self.walk.key(&column.key)? == self.walk.key(key)? => Ok(at),
            _ => self.find_text(plan, at + 1, key),
        }
    }

    #[inline(never)]
    fn find_text(&self, plan: &Plan<W::Key>, from: usize, key: &W::Key) -> Outcome<W, usize> {
        let text = self.walk.key(key)?;
        for (index, column) in plan.columns.iter().enumerate().skip(from) {
            if self.walk.key(&column.key)? == text {
                return Ok(index);
            }
        }
        Err(Stop::Unusual)
    }

    fn declaration(&mut self, plan: &Plan<W::Key>, keyed: bool) -> Outcome<W> {
        let mut between = b'{';
        if keyed {
            let mut label = "key".to_owned();
            while plan.columns.iter().any(|column| plan.names[column.name.clone()] == label) {
                label.insert(0, '_');
            }
            self.out.byte(b'{');
            self.out.str(&label);
            between = b',';
        }
        for column in &plan.columns {
            if let ColumnKind::Flattened { fields, .. } = &column.kind {
                let mut path = self.walk.key(&column.key)?.to_owned();
                self.paths(&plan.fields[fields.clone()], &mut path, &mut between)?;
            } else {
                self.out.byte(between);
                self.out.short(&plan.names[column.name.clone()]);
            }
            between = b',';
        }
        self.out.byte(b'}');
        Ok(())
    }

    /// Writes the names of the columns of a flattened object whose own path is given.
    fn paths(
        &mut self,
        mut fields: &[Field<W::Key>],
        path: &mut String,
        between: &mut u8,
    ) -> Outcome<W> {
        let outer = path.len();
        while let Some((field, rest)) = fields.split_first() {
            path.push('>');
            path.push_str(self.walk.key(&field.key)?);
            let (inner, rest) = rest.split_at(field.inner);
            if inner.is_empty() {
                self.out.byte(*between);
                *between = b',';
                quoted::put(path, &mut self.out);
            } else {
                self.paths(inner, path, between)?;
            }
            path.truncate(outer);
            fields = rest;
        }
        Ok(())
    }

    /// Writes the rows of a table.
    fn rows(
        &mut self,
        plan: &mut Plan<W::Key>,
        mut rows: Rows<W>,
        count: usize,
        first: W::Value,
        place: Place,
    ) -> Outcome<W> {
        let mut first = Some(first);
        for index in 0..count {
            let (key, value) = match &mut rows {
                Rows::Elements(array) => (
                    None,
                    match first.take() {
                        Some(first) => first,
                        None => self.walk.element(array, index),
                    },
                ),
                Rows::Members(object) => match self.walk.next(object) {
                    Some((key, value)) => (Some(key), value),
                    None => return Err(Stop::Unusual),
                },
            };
            self.indent(place);
            let start = self.out.mark();
            if let Some(key) = &key {
                put_value(self.walk.key(key)?, &mut self.out);
                self.out.byte(b'|');
            }
            if self.out.failed() {
                return Ok(());
            }
            match self.walk.look(&value)? {
                Found::Object(object) => self.row(plan, object, index, start, place)?,
                Found::Foreign => {
                    let value = self.walk.convert(&value)?;
                    match self.walk.look(&value)? {
                        Found::Object(object) => self.row(plan, object, index, start, place)?,
                        _ => return Err(Stop::Unusual),
                    }
                }
                _ => return Err(Stop::Unusual),
            }
        }
        self.finish_table(plan, count as u64)
    }

    /// Checks what only the whole table tells.
    fn finish_table(&mut self, plan: &Plan<W::Key>, count: u64) -> Outcome<W> {
        let cells = count * plan.columns.len() as u64;
        self.expansion += count * plan.row_expansion;
        let mut sparse = is_sparse(cells, cells - plan.absent);
        for column in &plan.columns {
            if let ColumnKind::Flattened { leaves, objects, .. } = column.kind {
                sparse |= is_sparse(count * leaves, objects * leaves);
            }
        }
        if sparse { Err(Stop::Unusual) } else { Ok(()) }
    }

    /// Writes a row and what is attached below it.
    #[inline]
    fn row(
        &mut self,
        plan: &mut Plan<W::Key>,
        mut object: W::Object,
        index: usize,
        start: Mark,
        place: Place,
    ) -> Outcome<W> {
        let attached = self.attached.len();
        let mut at = 0;
        while let Some((key, value)) = self.walk.next(&mut object) {
            let found = self.find(plan, at, &key)?;
            while at < found {
                self.absent(plan, at, index)?;
                at += 1;
            }
            self.cell(plan, at, &value, index)?;
            at += 1;
        }
        if at < plan.columns.len() {
            for at in at..plan.columns.len() {
                self.absent(plan, at, index)?;
            }
            let cells = (index as u64 + 1) * plan.columns.len() as u64;
            if may_be_sparse(cells, cells - plan.absent) {
                return Err(Stop::Unusual);
            }
        }
        if self.attached.len() > attached {
            let end = self.out.mark();
            self.out.row_id(index);
            // The identifier precedes the cells, which tell that it is needed.
            self.out.move_end(end, start);
            self.attachments(plan, index, attached, place)?;
        }
        Ok(())
    }

    /// Writes the cell of a member.
    #[inline]
    fn cell(
        &mut self,
        plan: &mut Plan<W::Key>,
        at: usize,
        value: &W::Value,
        index: usize,
    ) -> Outcome<W> {
        let column = &mut plan.columns[at];
        let found = self.walk.look(value)?;
        let end = column.end;
        match (found, &mut column.kind) {
            (Found::Foreign, _) => {
                let value = self.walk.convert(value)?;
                return self.cell(plan, at, &value, index);
            }
            (Found::Object(object), ColumnKind::Flattened { fields, objects, expansion, .. }) => {
                *objects += 1;
                self.expansion += *expansion;
                let fields = fields.clone();
                let is_null = self.leaves(&plan.fields[fields], object)?;
                // A reader would take the object for null.
                if is_null {
                    return Err(Stop::Unusual);
                }
                self.out.replace_last(end);
                return Ok(());
            }
            (Found::Null, ColumnKind::Flattened { leaves, objects, .. }) => {
                let (leaves, objects) = (*leaves, *objects);
                self.without_object(b'-', leaves, objects, index)?;
                self.out.replace_last(end);
                return Ok(());
            }
            (Found::Object(_), ColumnKind::Inline { fields, .. }) => {
                self.out.byte(b'^');
                if index == 0 {
                    let mut between = b'{';
                    for field in &plan.fields[fields.clone()] {
                        self.out.byte(between);
                        between = b',';
                        put_key(self.walk.key(&field.key)?, &mut self.out);
                    }
                    self.out.byte(b'}');
                }
                self.attached.push((at, value.clone()));
            }
            (Found::Object(_), ColumnKind::Plain { certain: true })
            | (Found::Array(_), ColumnKind::Plain { .. } | ColumnKind::Shared(_)) => {
                self.out.byte(b'^');
                self.attached.push((at, value.clone()));
            }
            (Found::Null, ColumnKind::Shared(_)) if index > 0 => self.out.byte(b'-'),
            (scalar, ColumnKind::Plain { .. } | ColumnKind::Scalars) => self.put(scalar)?,
            _ => return Err(Stop::Unusual),
        }
        self.out.byte(end);
        Ok(())
    }

    /// Writes the cells of a member that a row does not have.
    #[inline(never)]
    fn absent(&mut self, plan: &mut Plan<W::Key>, at: usize, index: usize) -> Outcome<W> {
        // The first row decides the columns, so it has them all; in a table that shares its columns
        // with others, it decides the order of those.
        if index == 0 {
            return Err(Stop::Unusual);
        }
        plan.absent += 1;
        let column = &plan.columns[at];
        match &column.kind {
            ColumnKind::Flattened { leaves, objects, .. } => {
                let end = column.end;
                self.without_object(b'~', *leaves, *objects, index)?;
                self.out.replace_last(end);
            }
            _ => self.out.bytes([b'~', column.end]),
        }
        Ok(())
    }

    /// Writes the cells of a flattened column in a row without an object, with a `|` after each.
    fn without_object(&mut self, cell: u8, leaves: u64, objects: u64, index: usize) -> Outcome<W> {
        if may_be_sparse((index as u64 + 1) * leaves, objects * leaves) {
            return Err(Stop::Unusual);
        }
        for _ in 0..leaves {
            self.out.bytes([cell, b'|']);
        }
        Ok(())
    }

    /// Writes the leaves of an object, with a `|` after each. Returns whether all are null.
    fn leaves(&mut self, mut fields: &[Field<W::Key>], mut object: W::Object) -> Outcome<W, bool> {
        let mut is_null = true;
        while let Some((field, rest)) = fields.split_first() {
            let Some((key, value)) = self.walk.next(&mut object) else { return Err(Stop::Unusual) };
            if !self.walk.is_same(&field.key, &key)
                && self.walk.key(&field.key)? != self.walk.key(&key)?
            {
                return Err(Stop::Unusual);
            }
            let (inner, rest) = rest.split_at(field.inner);
            fields = rest;
            is_null &= self.leaf(inner, &value)?;
        }
        match self.walk.next(&mut object) {
            None => Ok(is_null),
            Some(_) => Err(Stop::Unusual),
        }
    }

    #[inline]
    fn leaf(&mut self, inner: &[Field<W::Key>], value: &W::Value) -> Outcome<W, bool> {
        match self.walk.look(value)? {
            Found::Foreign => {
                let value = self.walk.convert(value)?;
                self.leaf(inner, &value)
            }
            Found::Object(object) if !inner.is_empty() => self.leaves(inner, object),
            scalar if inner.is_empty() => {
                let is_null = matches!(scalar, Found::Null);
                self.put(scalar)?;
                self.out.byte(b'|');
                Ok(is_null)
            }
            _ => Err(Stop::Unusual),
        }
    }

    /// Writes what is attached below a row, in column order.
    fn attachments(
        &mut self,
        plan: &mut Plan<W::Key>,
        index: usize,
        first: usize,
        place: Place,
    ) -> Outcome<W> {
        // The row is open too.
        let place = Place { level: place.level + 2, ..place };
        for next in first..self.attached.len() {
            let (at, value) = self.attached[next].clone();
            self.indent(place);
            let column = &mut plan.columns[at];
            if let ColumnKind::Inline { fields, expansion } = &column.kind {
                let Found::Object(object) = self.walk.look(&value)? else {
                    return Err(Stop::Unusual);
                };
                self.open(place)?;
                self.expansion += *expansion;
                self.leaves(&plan.fields[fields.clone()], object)?;
                self.out.replace_last(b'\n');
                continue;
            }
            self.out.byte(b'.');
            self.out.short(&plan.names[column.name.clone()]);
            self.out.byte(b' ');
            let body = Place { indent: place.indent + 4, ..place };
            if let ColumnKind::Shared(shared) = &mut column.kind {
                self.shared(shared, &value, index, body)?;
            } else {
                self.nested(&value, body)?;
            }
        }
        self.attached.truncate(first);
        Ok(())
    }

    /// Writes a table of scalars, which declares its columns in the first row.
    fn shared(
        &mut self,
        plan: &mut Option<Box<Plan<W::Key>>>,
        value: &W::Value,
        index: usize,
        place: Place,
    ) -> Outcome<W> {
        let Found::Array(array) = self.walk.look(value)? else { return Err(Stop::Unusual) };
        self.open(place)?;
        let (Kind::Rows, Some(first)) = self.array_kind(&array)? else {
            return Err(Stop::Unusual);
        };
        let count = self.walk.length(&array);
        self.count(count);
        self.out.byte(b']');
        let plan = match plan {
            Some(plan) => plan,
            None if index == 0 => {
                let made = self.plan(&first, place.level + 1, false)?;
                self.declaration(&made, false)?;
                plan.insert(Box::new(made))
            }
            None => return Err(Stop::Unusual),
        };
        self.out.byte(b'\n');
        plan.absent = 0;
        self.rows(plan, Rows::Elements(array), count, first, place)
    }
}

/// Whether a table is so sparse after some of its rows that it is unlikely to become dense. Then the text
/// must not become long.
fn may_be_sparse(cells: u64, present: u64) -> bool {
    is_sparse(cells / 4, present)
}

/// What is known of an object that can be flattened.
struct Form {
    leaves: u64,
    /// The length of all keys.
    keys: u64,
    /// The length of the names of all columns.
    paths: u64,
    /// What an object implies without spelling it out.
    expansion: u64,
    all_null: bool,
}

#[cfg(test)]
mod tests {
    use crate::gcf::generic::encode::{EncodeOptions, encode_tree, write_walk};
    use crate::gcf::limits::Limits;
    use crate::json;
    use crate::value::{Value, ValueWalk};
    use proptest::prelude::*;
    use proptest::sample::select;

    /// The text of the fast path; `None` if it leaves the value to the tree.
    fn fast(value: &Value<'_>, options: &EncodeOptions) -> Option<String> {
        let written = write_walk(&mut ValueWalk::default(), &value, options, Vec::new());
        written.ok().map(|out| out.into_string().unwrap())
    }

    /// Checks that the fast path writes what the tree writes. Returns whether it wrote it.
    fn check(value: &Value<'_>) -> bool {
        let mut written = false;
        for flatten in [true, false] {
            for max_depth in [1, 2, 3, 4, 5, 128] {
                let limits = Limits { max_depth, ..Limits::default() };
                let options = EncodeOptions { flatten, limits, ..EncodeOptions::default() };
                if let Some(text) = fast(value, &options) {
                    assert_eq!(encode_tree(value, &options).as_ref(), Ok(&text), "{value:?}");
                    written = true;
                }
            }
        }
        written
    }

    fn parsed(json: &str) -> Value<'static> {
        json::parse(json, json::Limits::default()).unwrap()
    }

    #[test]
    fn common_values_are_written_in_one_pass() {
        for json in [
            "null",
            "{}",
            "[]",
            r#"[1,"x|y",null,-2.5e-9,true]"#,
            r#"{"a":[1],"b":{"c":{}},"d":[[1],{"e":1},2],"":"x","k v":[]}"#,
            r#"[{"a":1,"b":"x"},{"a":2,"b":"y"},{"a":null}]"#,
            r#"[{"a":{"x":1,"y":{"z":2}}},{"a":null},{},{"a":{"x":null,"y":{"z":3}}}]"#,
            r#"[{"a":1,"b":[{"c":1,"d":2}]},{"a":2,"b":[{"c":3,"d":4},{"d":5}]},{"a":2,"b":null}]"#,
            r#"[{"a":1,"b":[[1],{"c":[]}]},{"a":{"b":{}},"b":[]},{"a":[1,2],"b":5}]"#,
            r#"[{"a":{"x>":1,"y":2,"z":3}},{"a":{"x>":4,"y":5,"z":6}},{}]"#,
            r#"{"x":{"v":1},"y":{"v":2,"key":3},"@z":{}}"#,
            r#"{"x":{"v":1,"key":0},"y":{"v":2,"key":3},"a,b":{}}"#,
        ] {
            let value = parsed(json);
            let is_keyed_with_new_key = json.contains("\"v\":1}");
            assert_eq!(check(&value), !is_keyed_with_new_key, "{json}");
        }
    }

    /// A value whose containers often have keys and types in common.
    fn value() -> impl Strategy<Value = Value<'static>> {
        let scalar = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::Bool),
            any::<i64>().prop_map(Value::Int),
            prop_oneof![any::<f64>(), -1e3..1e3, Just(-0.0), Just(f64::NAN)].prop_map(Value::Float),
            select(vec!["", "a", "a,b", " x", "1", "Köln", "\u{2028}", "[a]:", "“q”"])
                .prop_map(|text| Value::String(text.into())),
            "\\PC{0,40}".prop_map(|text| Value::String(text.into())),
        ];
        scalar.prop_recursive(5, 60, 6, |inner| {
            let key = select(vec!["a", "b", "c", "key", "a>b", ">", "", "x y"]);
            let object = prop::collection::vec((key, inner.clone()), 0..5).prop_map(object);
            let rows = (object.clone(), prop::collection::vec((0..30_usize, inner.clone()), 1..6))
                .prop_map(|(row, changes)| rows(&row, changes));
            let members = rows.clone().prop_map(|rows| match rows {
                Value::Array(rows) => {
                    let member = |(index, row)| (format!("m{index}").into(), row);
                    Value::Object(rows.into_iter().enumerate().map(member).collect())
                }
                other => other,
            });
            let array = prop::collection::vec(inner, 0..5).prop_map(Value::Array);
            prop_oneof![object, array, rows, members]
        })
    }

    /// An object of the members with new keys.
    fn object(members: Vec<(&'static str, Value<'static>)>) -> Value<'static> {
        let mut distinct: Vec<(_, Value<'_>)> = Vec::new();
        for (key, value) in members {
            if distinct.iter().all(|(other, _)| *other != key) {
                distinct.push((key.into(), value));
            }
        }
        Value::Object(distinct)
    }

    /// Copies of a row, of which each has one change.
    fn rows(row: &Value<'static>, changes: Vec<(usize, Value<'static>)>) -> Value<'static> {
        let apply = |(change, value): (usize, Value<'static>)| {
            let mut row = row.clone();
            if let Value::Object(members) = &mut row {
                let count = members.len().max(1);
                match (change / count, members.get_mut(change % count)) {
                    (0, Some(member)) => member.1 = value,
                    (1, Some(_)) => drop(members.remove(change % count)),
                    (2, Some(_)) => members.rotate_left(1),
                    (3, _) => members.push(("new".into(), value)),
                    (4, _) => row = value,
                    _ => {}
                }
            }
            row
        };
        Value::Array(changes.into_iter().map(apply).collect())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn the_fast_path_writes_what_the_tree_writes(value in value()) {
            check(&value);
        }
    }

    /// Tables with one row that contradicts the others, in the first places, the middle and the last.
    #[test]
    fn a_contradicting_row_is_left_to_the_tree() {
        let row = r#"{"s":1,"n":null,"f":{"x":1,"y":{"z":"t"}},"t":[{"c":1,"d":2}],"l":[1,2]}"#;
        let others = [
            r#"{"s":{"x":1},"n":null,"f":{"x":1,"y":{"z":"t"}},"t":[{"c":1,"d":2}],"l":[1,2]}"#,
            r#"{"s":1,"n":{"x":1},"f":{"x":1,"y":{"z":"t"}},"t":[{"c":1,"d":2}],"l":[1,2]}"#,
            r#"{"s":1,"n":null,"f":{"y":{"z":"t"},"x":1},"t":[{"c":1,"d":2}],"l":[1,2]}"#,
            r#"{"s":1,"n":null,"f":{"x":1,"y":{"z":"t","w":1}},"t":[{"c":1,"d":2}],"l":[1,2]}"#,
            r#"{"s":1,"n":null,"f":{"x":null,"y":{"z":null}},"t":[{"c":1,"d":2}],"l":[1,2]}"#,
            r#"{"s":1,"n":null,"f":{"x":1,"y":{}},"t":[{"c":1,"d":2}],"l":[1,2]}"#,
            r#"{"s":1,"n":null,"f":5,"t":[{"c":1,"d":2}],"l":[1,2]}"#,
            r#"{"s":1,"n":null,"f":null,"t":[],"l":{"a":[]}}"#,
            r#"{"s":1,"n":null,"f":null,"t":[{"c":1}],"l":[[]]}"#,
            r#"{"s":1,"n":null,"f":null,"t":[{"c":1,"d":2},{"e":2}],"l":[{"a":1}]}"#,
            r#"{"s":1,"n":null,"f":null,"t":[{"c":1,"d":[]}],"l":7}"#,
            r#"{"s":1,"n":null,"f":null,"t":7,"l":null}"#,
            r#"{"s":1,"n":[{"c":1}],"f":null,"l":[1,2]}"#,
            r#"{"n":1,"s":null}"#,
            r#"{"s":1,"o":2}"#,
            r#"{"s":1,"s>t":2}"#,
            "{}",
            "[]",
            "3",
        ];
        for other in others {
            for at in [0, 1, 2, 12, 24] {
                let rows: Vec<_> = (0..25).map(|i| if i == at { other } else { row }).collect();
                check(&parsed(&format!("[{}]", rows.join(","))));
                let members: Vec<_> =
                    rows.iter().enumerate().map(|(i, row)| format!("\"m{i}\":{row}")).collect();
                check(&parsed(&format!("{{\"k\":{{{}}}}}", members.join(","))));
            }
        }
    }

    #[test]
    fn a_sparse_table_is_left_to_the_tree_before_it_is_long() {
        let names: Vec<_> = (0..3000).map(|i| format!("\"c{i}\":1")).collect();
        let mut rows = vec![format!("{{{}}}", names.join(","))];
        rows.resize(3000, "{\"c0\":1}".to_owned());
        let value = parsed(&format!("[{}]", rows.join(",")));
        let options = EncodeOptions::default();
        assert_eq!(fast(&value, &options), None);
        assert!(encode_tree(&value, &options).unwrap().len() < 200_000);
    }
}
