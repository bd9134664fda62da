//! Plans the columns of a table from its first row, and declares them.

use super::{Outcome, Writer};
use crate::gcf::generic::columns::{OBJECT_SIZE, VALUE_SIZE};
use crate::gcf::generic::tree::is_sparse;
use crate::gcf::syntax::string;
use crate::memory;
use crate::text::output::Memory;
use crate::text::quoted;
use crate::walk::{Found, Stop, Type, Walk};
use std::ops::Range;

/// The columns of a table, in the order of the members of its rows.
pub(super) struct Plan<K> {
    pub(super) columns: Vec<Column<K>>,
    /// The fields of flattened and inline objects.
    pub(super) fields: Vec<Field<K>>,
    /// The keys of the columns as they are written.
    pub(super) names: String,
    /// The expansion of each row.
    pub(super) row_expansion: u64,
    /// How many cells are absent so far.
    pub(super) absent: u64,
}

/// The memory that is reserved for the name of a column: more than most have.
const NAME_SIZE: usize = 12;

pub(super) struct Column<K> {
    pub(super) key: K,
    pub(super) kind: ColumnKind<K>,
    pub(super) name: Range<usize>,
    /// The byte after its last cell: `|`, or a line feed in the last column.
    pub(super) end: u8,
}

pub(super) enum ColumnKind<K> {
    /// Scalars only.
    Scalars,
    /// Scalars, and arrays below the row. Objects, too, if it is `certain` that no other kind applies.
    Plain { certain: bool },
    /// Tables of scalars with the same columns, which the first row declares.
    Shared(Option<Box<Plan<K>>>),
    /// Objects whose fields are columns.
    Flattened { fields: Range<usize>, leaves: u64, objects: u64, expansion: u64 },
    /// Objects with the same keys, which the first row declares.
    Inline { fields: Range<usize>, expansion: u64 },
}

/// A key of an object of a known form.
pub(super) struct Field<K> {
    pub(super) key: K,
    /// How many of the following fields belong to the object under this key; 0 for a scalar.
    pub(super) inner: usize,
}

/// The properties of an object that can be flattened.
struct Form {
    leaves: u64,
    /// The length of all keys.
    keys: u64,
    /// The length of the names of all columns.
    paths: u64,
    /// The expansion of an object.
    expansion: u64,
    all_null: bool,
}

impl<W: Walk, M: Memory> Writer<'_, W, M> {
    /// Plans the columns from the first row. Without `forms`, all values must be scalars.
    pub(super) fn plan(
        &mut self,
        first: &W::Value,
        level: usize,
        forms: bool,
    ) -> Outcome<W, Plan<W::Key>> {
        let Found::Object(mut object) = self.walk.look(first)? else { return Err(Stop::Unusual) };
        let size = self.walk.size(&object);
        if size == 0 || level >= self.max_depth || !self.walk.has_distinct_keys(&object) {
            return Err(Stop::Unusual);
        }
        let mut columns = Vec::new();
        memory::require(columns.try_reserve_exact(size));
        let mut names = String::new();
        memory::require(names.try_reserve(NAME_SIZE * size));
        let mut plan = Plan { columns, fields: Vec::new(), names, row_expansion: 0, absent: 0 };
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

    /// Whether the first array of a column is a table of scalars, judged by its first row.
    fn may_share_columns(&mut self, value: &W::Value, level: usize) -> Outcome<W, bool> {
        let Found::Array(array) = self.walk.look(value)? else { return Ok(false) };
        let length = self.walk.length(&array);
        let type_at = |index| self.walk.type_of(&self.walk.element(&array, index));
        let may_be_row = |index| matches!(type_at(index), Type::Object | Type::Foreign);
        if length == 0 || level >= self.max_depth || !(0..length).all(may_be_row) {
            return Ok(false);
        }
        let first = self.walk.element(&array, 0);
        // The type of a foreign value after conversion is not known yet.
        let Found::Object(object) = self.walk.look(&first)? else { return Err(Stop::Unusual) };
        let is_scalar = |member| !matches!(member, Type::Array | Type::Object);
        Ok(self.walk.size(&object) > 0 && self.walk.all_members(&object, is_scalar))
    }

    /// The kind of a column whose first value is this object.
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
            memory::push(&mut plan.fields, Field { key, inner: 0 });
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
                    memory::push(fields, Field { key, inner: 0 });
                    if !self.form(&value, path + 1 + size, level + 1, fields, form)? {
                        return Ok(false);
                    }
                    fields[at].inner = fields.len() - at - 1;
                }
                scalar => {
                    memory::push(fields, Field { key, inner: 0 });
                    form.leaves += 1;
                    form.paths += path + 1 + size;
                    form.all_null &= scalar == Type::Null;
                }
            }
        }
        Ok(true)
    }

    /// Stops if the types of a row's members contradict the plan. It is called before any row is written,
    /// because a later stop discards the rows.
    pub(super) fn probe(&mut self, plan: &Plan<W::Key>, row: &W::Value) -> Outcome<W> {
        let mut object = match self.walk.look(row)? {
            Found::Object(object) => object,
            Found::Foreign => return self.walk.expect_foreign(),
            _ => return Err(Stop::Unusual),
        };
        let mut at = 0;
        while let Some((key, value)) = self.walk.next(&mut object) {
            at = self.find(plan, at, &key)?;
            let fits = match (self.walk.type_of(&value), &plan.columns[at].kind) {
                (Type::Foreign, _) => {
                    self.walk.expect_foreign()?;
                    true
                }
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

    /// The column with this key, searched from `at` on; [`Stop::Unusual`] if there is none.
    #[inline(always)]
    pub(super) fn find(&self, plan: &Plan<W::Key>, at: usize, key: &W::Key) -> Outcome<W, usize> {
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

    pub(super) fn declaration(&mut self, plan: &Plan<W::Key>, keyed: bool) -> Outcome<W> {
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
}
