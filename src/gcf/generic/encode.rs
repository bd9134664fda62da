//! The canonical encoder.
//!
//! The text depends only on the value and the options, and is byte for byte the same as that of any
//! other canonical encoder. GCF 3.6 sections 5 to 7.

use super::columns::VALUE_SIZE;
use super::groups::write::write_shorter;
use super::one_pass;
use super::table::{self, Column, ColumnClass, Table, TableOptions, rows};
use super::tree::{Array, ArrayKind, Builder, KeyId, Node, Object, Tree};
use crate::gcf::error::{Code, Error, Fault};
use crate::gcf::limits::{Limits, is_readable};
use crate::gcf::syntax::header::GENERIC;
use crate::gcf::syntax::string::{write_quoted, write_value};
use crate::interrupt::{Steps, polled};
use crate::json;
use crate::memory::Meter;
use crate::text::output::{Memory, Output};
use crate::value::{Value, ValueWalk};
use crate::walk::{Stop, Walk};
use bumpalo::Bump;
use std::collections::TryReserveError;

/// Options of the encoder.
///
/// ```
/// use compactwire::gcf::{EncodeOptions, from_json};
///
/// let options = EncodeOptions { list_columns: true, ..EncodeOptions::default() };
/// let text = from_json(r#"[{"id":1,"tags":["a","b"]},{"id":2,"tags":["c"]}]"#, &options).unwrap();
/// assert_eq!(text, "GCF profile=generic\n## [2]{id,tags[]}\n1|a,b\n2|c\n");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "independent options")]
pub struct EncodeOptions {
    /// Whether a column of objects with the same keys becomes columns `"a>b"`.
    pub flatten: bool,
    /// Whether a value that all rows share is written once, in the declaration. This syntax is
    /// newer than GCF 3.6, so not all readers support it.
    pub constant_columns: bool,
    /// Whether the rows of the root are grouped by the values of a column, if that makes the text
    /// shorter and keeps the order of the rows. This syntax, too, is newer than GCF 3.6. A grouped table
    /// also has constant columns.
    pub group_values: bool,
    /// Whether lists of scalars are written in the cells of their column, `a,b`, if each row has such a
    /// list, null or nothing there. This is an extension: [`DecodeOptions::extensions`] reads it, and other
    /// readers refuse it.
    ///
    /// [`DecodeOptions::extensions`]: crate::gcf::DecodeOptions::extensions
    pub list_columns: bool,
    /// Whether an array of at least two arrays of scalars, all of the same length, is written as rows. This
    /// is an extension, too.
    pub matrices: bool,
    /// Limits for the value.
    pub limits: Limits,
}

impl Default for EncodeOptions {
    fn default() -> Self {
        Self {
            flatten: true,
            constant_columns: false,
            group_values: false,
            list_columns: false,
            matrices: false,
            limits: Limits::default(),
        }
    }
}

/// Encodes a value.
///
/// # Errors
/// `out_of_range` for an integer beyond 64 bits; `not_finite`; `duplicate_key`; `limit_exceeded` for a
/// value that is nested too deep.
pub fn encode(value: &Value<'_>, options: &EncodeOptions) -> Result<String, Error> {
    let written = write_walk(&mut ValueWalk::default(), &value, options, Vec::new());
    if let Some(text) = written.ok().and_then(Output::into_string) {
        return Ok(text);
    }
    encode_tree(value, options)
}

/// Encodes the value of a walk in one pass, into `memory`. This is the common case.
///
/// # Errors
/// [`Stop::Unusual`] if one pass is not enough: the caller then builds a [`Tree`] and calls [`write()`],
/// which also reports errors in the value. Errors of `walk`.
pub fn write_walk<W: Walk, M: Memory>(
    walk: &mut W,
    value: &W::Value,
    options: &EncodeOptions,
    memory: M,
) -> Result<Output<M>, Stop<W::Error>> {
    let EncodeOptions { flatten, constant_columns, group_values, list_columns, matrices, limits } =
        *options;
    if constant_columns || group_values || list_columns || matrices {
        return Err(Stop::Unusual);
    }
    one_pass::write(walk, value, flatten, limits.max_depth, memory)
}

/// [`encode`] without the fast path: it builds a tree, which also reports errors in the value.
pub(crate) fn encode_tree(value: &Value<'_>, options: &EncodeOptions) -> Result<String, Error> {
    let bump = Bump::new();
    let mut builder = Builder::new(&bump, options.limits);
    value.emit(&mut builder)?;
    write(&builder.finish(), options)
}

/// Encodes the value of a JSON text. Numbers are exact, and members keep their order.
///
/// # Errors
/// As [`encode`]; an error in the JSON text has line and column and one of the codes `duplicate_key`,
/// `invalid_surrogate`, `limit_exceeded`, `out_of_range`, otherwise `invalid_json`.
pub fn from_json(text: &str, options: &EncodeOptions) -> Result<String, Error> {
    let bump = Bump::new();
    let mut builder = Builder::over(text, &bump, options.limits);
    let limits = json::Limits { max_depth: options.limits.max_depth, ..Default::default() };
    match json::read(text, limits, &mut builder) {
        Ok(end) => {
            let rest = text[end..].trim_start_matches([' ', '\t', '\r', '\n']);
            if !rest.is_empty() {
                let message = "unexpected characters after the JSON value".to_owned();
                return Err(json_fault(
                    text,
                    text.len() - rest.len(),
                    Code::TrailingCharacters,
                    message,
                ));
            }
            write(&builder.finish(), options)
        }
        Err(json::ReadError::Sink(error)) => Err(error),
        Err(json::ReadError::Json(error)) => {
            let message = match &error.problem {
                json::Problem::Depth(max_depth) => Limits::too_deep(*max_depth),
                problem => problem.to_string(),
            };
            let code = match error.problem {
                json::Problem::Syntax { .. }
                | json::Problem::Escape(_)
                | json::Problem::Control(_) => Code::InvalidJson,
                json::Problem::Surrogate => Code::InvalidSurrogate,
                json::Problem::Duplicate(_) => Code::DuplicateKey,
                json::Problem::Depth(_) => Code::LimitExceeded,
                json::Problem::Digits(_) | json::Problem::Overflow => Code::OutOfRange,
            };
            Err(json_fault(text, error.offset, code, message))
        }
    }
}

#[cold]
fn json_fault(text: &str, at: usize, code: Code, message: String) -> Error {
    Fault { code, message, at }.locate(text)
}

/// Encodes a tree.
///
/// A reader with the default [`Limits::max_expansion`] accepts the text: if it would not, no column is
/// flattened or constant, and if that is not enough, objects are not written as rows of tables.
///
/// # Errors
/// `out_of_memory`.
pub fn write(tree: &Tree<'_>, options: &EncodeOptions) -> Result<String, Error> {
    let (text, grouped) = write_forms(tree, options)?;
    Ok(grouped.unwrap_or(text))
}

/// The text of a tree without groups of rows; and the text with groups, if the options ask for groups and
/// that text is shorter.
///
/// # Errors
/// As [`write()`].
pub(crate) fn write_forms(
    tree: &Tree<'_>,
    options: &EncodeOptions,
) -> Result<(String, Option<String>), Error> {
    tree.ensure_memory()?;
    let plain = EncodeOptions { flatten: false, constant_columns: false, ..*options };
    let with = |options, tables| {
        let writer = Writer::written(tree, options, tables)?;
        Ok::<_, Error>(is_readable(writer.expansion, writer.out.len()).then_some(writer.out))
    };
    let text = match with(options, true)? {
        Some(text) => text,
        None => match with(&plain, true)? {
            Some(text) => text,
            None => Writer::written(tree, &plain, false)?.out,
        },
    };
    if !options.group_values {
        return Ok((text, None));
    }
    tree.ensure_memory_to_group(text.len())?;
    let grouped = write_shorter(tree, text.len());
    Ok((text, grouped))
}

struct Writer<'t, 'a> {
    tree: &'t Tree<'a>,
    options: &'t EncodeOptions,
    /// Whether objects are written as rows of tables where possible.
    tables: bool,
    out: String,
    /// The expansion of the text so far; see [`Limits::max_expansion`].
    expansion: u64,
    steps: Steps,
    /// Checks memory for the rest of the text.
    meter: Meter,
    /// Set if there was not enough memory. The text so far is then discarded.
    failed: Option<TryReserveError>,
}

/// The bytes of memory for each byte of the text: its buffer doubles.
const TEXT_FACTOR: usize = 2;
/// How many cells of a row are written between two checks of memory.
const FEW_CELLS: usize = 64;

/// The syntax in front of an array or object, which decides how its columns may be declared.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Prefix {
    /// `## name `, where columns can be constant.
    Section,
    /// `@i ` or `.name `.
    Nested,
    /// `.name `, where an earlier row has declared the columns.
    SharedSchema,
}

/// The rows of a table.
#[derive(Clone, Copy)]
struct TableRows<'t, 'a> {
    nodes: &'t [Node<'a>],
    /// The member key of each row, if it is a keyed table.
    member_keys: Option<&'t [KeyId]>,
}

const SPACES: &str = "                                                                ";

impl<'t, 'a> Writer<'t, 'a> {
    fn written(
        tree: &'t Tree<'a>,
        options: &'t EncodeOptions,
        tables: bool,
    ) -> Result<Self, Error> {
        let out = String::with_capacity(1024);
        let (steps, meter) = (Steps::default(), Meter::new(TEXT_FACTOR));
        let mut writer =
            Writer { tree, options, tables, out, expansion: 0, steps, meter, failed: None };
        writer.out.push_str(GENERIC);
        writer.root();
        match writer.failed {
            Some(error) => Err(error.into()),
            None => Ok(writer),
        }
    }

    /// Checks that there is memory for the next lines or cells.
    #[inline]
    fn expect_more(&mut self) {
        if let Err(error) = self.meter.reach(self.out.len()) {
            self.out = String::new();
            self.failed = Some(error);
        }
    }

    /// Checks memory before every [`FEW_CELLS`]th cell of a row or list; `index` is that of the next cell.
    #[inline]
    fn expect_cell(&mut self, index: usize) {
        if index.is_multiple_of(FEW_CELLS) {
            self.expect_more();
        }
    }

    /// Whether an object is written as a keyed table.
    fn is_keyed(&self, object: Object) -> bool {
        object.keyed && self.tables
    }

    /// Begins a line.
    fn indent(&mut self, mut depth: usize) {
        self.steps.step();
        self.expect_more();
        while depth > 0 {
            let step = depth.min(SPACES.len());
            self.out.push_str(&SPACES[..step]);
            depth -= step;
        }
    }

    fn key(&mut self, key: KeyId) {
        self.tree.key(key).write(&mut self.out);
    }

    fn root(&mut self) {
        match self.tree.root {
            Node::Object(object) if self.is_keyed(object) => {
                self.out.push_str("## ");
                self.keyed(object, 0, Prefix::Section);
            }
            Node::Object(object) => self.members(object, 0),
            Node::Array(array) => {
                self.out.push_str("## ");
                self.array(array, 0, Prefix::Section);
            }
            scalar => {
                self.out.push('=');
                scalar.write(&mut self.out);
                self.out.push('\n');
            }
        }
    }

    fn members(&mut self, object: Object, depth: usize) {
        let tree = self.tree;
        for (&key, &value) in tree.shape(object.shape).iter().zip(tree.values(object)) {
            self.indent(depth);
            self.member(key, value, depth);
        }
    }

    fn member(&mut self, key: KeyId, value: Node<'a>, depth: usize) {
        match value {
            Node::Array(array) if array.kind == ArrayKind::Scalars => {
                self.key(key);
                self.list(array);
            }
            Node::Array(array) => {
                self.section(key);
                self.out.push(' ');
                self.array(array, depth, Prefix::Section);
            }
            Node::Object(object) if self.is_keyed(object) => {
                self.section(key);
                self.out.push(' ');
                self.keyed(object, depth, Prefix::Section);
            }
            Node::Object(object) => {
                self.section(key);
                self.out.push('\n');
                self.members(object, depth + 2);
            }
            scalar => {
                self.key(key);
                self.out.push('=');
                scalar.write(&mut self.out);
                self.out.push('\n');
            }
        }
    }

    fn section(&mut self, key: KeyId) {
        self.out.push_str("## ");
        self.key(key);
    }

    /// Writes a value after `@i ` or `.name `; its body is indented by `depth`.
    fn nested(&mut self, value: Node<'a>, depth: usize, prefix: Prefix) {
        match value {
            Node::Array(array) => self.array(array, depth, prefix),
            Node::Object(object) if self.is_keyed(object) => self.keyed(object, depth, prefix),
            Node::Object(object) => {
                self.out.push_str("{}\n");
                self.members(object, depth);
            }
            scalar => {
                self.out.push('=');
                scalar.write(&mut self.out);
                self.out.push('\n');
            }
        }
    }

    fn count(&mut self, count: usize, close: &str) {
        self.out.push('[');
        self.out.push_str(itoa::Buffer::new().format(count));
        self.out.push_str(close);
    }

    /// Writes an array from its bracket on; rows and elements are indented by `depth`.
    fn array(&mut self, array: Array, depth: usize, prefix: Prefix) {
        let elements = self.tree.elements(array);
        match array.kind {
            ArrayKind::Empty => self.out.push_str("[0]\n"),
            ArrayKind::Scalars => self.list(array),
            ArrayKind::Rows if self.tables => {
                self.count(elements.len(), "]");
                self.table(TableRows { nodes: elements, member_keys: None }, depth, prefix);
            }
            ArrayKind::Mixed if self.options.matrices && is_matrix(elements) => {
                self.matrix(elements, depth);
            }
            ArrayKind::Rows | ArrayKind::Mixed => {
                self.count(elements.len(), "]\n");
                for (index, &element) in elements.iter().enumerate() {
                    self.indent(depth);
                    self.row_id(index);
                    self.nested(element, depth + 2, Prefix::Nested);
                }
            }
        }
    }

    /// Writes arrays of the same length from the bracket on; the rows are indented by `depth`.
    fn matrix(&mut self, arrays: &[Node<'a>], depth: usize) {
        self.count(arrays.len(), "]");
        let rows = || {
            arrays.iter().filter_map(|row| match row {
                Node::Array(row) => Some(self.tree.elements(*row)),
                _ => None,
            })
        };
        let width = rows().next().map_or(0, <[_]>::len);
        self.out.push('{');
        self.count(width, "]}\n");
        for row in rows() {
            self.indent(depth);
            self.elements(row, '|');
            self.out.push('\n');
        }
    }

    fn row_id(&mut self, index: usize) {
        self.out.push('@');
        self.out.push_str(itoa::Buffer::new().format(index));
        self.out.push(' ');
    }

    fn list(&mut self, array: Array) {
        let elements = self.tree.elements(array);
        self.count(elements.len(), "]: ");
        self.elements(elements, ',');
        self.out.push('\n');
    }

    /// Writes scalars with delimiters between them.
    fn elements(&mut self, elements: &[Node<'a>], delimiter: char) {
        for (index, &element) in polled(elements).enumerate() {
            if index > 0 {
                self.out.push(delimiter);
            }
            self.expect_cell(index);
            element.write(&mut self.out);
        }
    }

    fn keyed(&mut self, object: Object, depth: usize, prefix: Prefix) {
        let nodes = self.tree.values(object);
        self.count(nodes.len(), ":]");
        let member_keys = Some(self.tree.shape(object.shape));
        self.table(TableRows { nodes, member_keys }, depth, prefix);
    }

    /// Writes a table from its declaration on; rows are indented by `depth`.
    fn table(&mut self, rows: TableRows<'t, 'a>, depth: usize, prefix: Prefix) {
        let constants = prefix == Prefix::Section && rows.member_keys.is_none();
        let options = TableOptions {
            flatten: self.options.flatten,
            constants: constants && self.options.constant_columns,
            lists: self.options.list_columns,
            keyed: rows.member_keys.is_some(),
        };
        if rows.member_keys.is_none()
            && !options.constants
            && let Some(keys) = table::scalar_columns(self.tree, rows.nodes)
        {
            if prefix != Prefix::SharedSchema {
                self.fields(keys);
            }
            self.out.push('\n');
            self.expansion += rows.nodes.len() as u64 * self.names_size(keys);
            return self.scalar_rows(rows.nodes, depth);
        }
        let table = table::plan(self.tree, rows.nodes, options);
        self.expansion += rows.nodes.len() as u64 * self.row_expansion(&table, rows.nodes);
        if prefix != Prefix::SharedSchema {
            self.declaration(&table, rows);
        }
        self.out.push('\n');
        self.rows(&table, rows, depth);
    }

    fn names_size(&self, keys: &[KeyId]) -> u64 {
        keys.iter().map(|&key| self.tree.key(key).text.len() as u64).sum()
    }

    /// The expansion of each row of a table, without the objects of flattened fields.
    fn row_expansion(&self, table: &Table, nodes: &[Node<'a>]) -> u64 {
        let size = |(i, column): (usize, &Column)| {
            let name = self.tree.key(column.key).text;
            match column.class {
                ColumnClass::Undeclared => 0,
                ColumnClass::Plain | ColumnClass::Inline | ColumnClass::List => name.len() as u64,
                ColumnClass::Flattened { form, .. } => {
                    table::path_expansion(self.tree, name, form.0).0
                }
                ColumnClass::Constant => {
                    let first = rows(nodes).next();
                    let value = match first.and_then(|row| table.cell(self.tree, (0, row), i)) {
                        Some(Node::String(text)) => text.len() as u64,
                        _ => 0,
                    };
                    VALUE_SIZE + name.len() as u64 + value
                }
            }
        };
        table.columns.iter().enumerate().map(size).sum()
    }

    /// Writes `{a,b}`.
    fn fields(&mut self, keys: &[KeyId]) {
        let mut between = '{';
        for (i, &key) in keys.iter().enumerate() {
            self.expect_cell(i);
            self.out.push(between);
            between = ',';
            self.key(key);
        }
        self.out.push('}');
    }

    fn declaration(&mut self, table: &Table, rows: TableRows<'t, 'a>) {
        let mut between = '{';
        if rows.member_keys.is_some() {
            self.out.push('{');
            let mut label = "key".to_owned();
            while table.columns.iter().any(|column| self.tree.key(column.key).text == label) {
                label.insert(0, '_');
            }
            self.out.push_str(&label);
            between = ',';
        }
        for (i, column) in table.columns.iter().enumerate() {
            self.expect_cell(i);
            match column.class {
                ColumnClass::Undeclared => continue,
                ColumnClass::Flattened { form, .. } => {
                    let name = self.tree.key(column.key).text;
                    table::flattened_names(self.tree, name, form.0, &mut |path| {
                        self.out.push(between);
                        write_quoted(path, &mut self.out);
                        between = ',';
                    });
                    continue;
                }
                _ => {}
            }
            self.out.push(between);
            between = ',';
            self.key(column.key);
            match column.class {
                ColumnClass::Constant => self.constant(table, rows.nodes, i),
                ColumnClass::List => self.out.push_str("[]"),
                _ => {}
            }
        }
        self.out.push('}');
    }

    fn constant(&mut self, table: &Table, nodes: &[Node<'a>], column: usize) {
        let first = rows(nodes).next().and_then(|row| table.cell(self.tree, (0, row), column));
        if let Some(value) = first {
            self.out.push('=');
            value.write_constant(&mut self.out);
        }
    }

    /// Writes rows that have the same shape and only scalars.
    fn scalar_rows(&mut self, nodes: &[Node<'a>], depth: usize) {
        let tree = self.tree;
        for row in rows(nodes) {
            self.indent(depth);
            for (i, &value) in tree.values(row).iter().enumerate() {
                if i > 0 {
                    self.out.push('|');
                    self.expect_cell(i);
                }
                value.write(&mut self.out);
            }
            self.out.push('\n');
        }
    }

    fn rows(&mut self, table: &Table, all: TableRows<'t, 'a>, depth: usize) {
        for (index, row) in rows(all.nodes).enumerate() {
            let has_attachments = table.has_attachments(self.tree, (index, row));
            self.indent(depth);
            if has_attachments {
                self.row_id(index);
            }
            let mut first = true;
            if let Some(member_keys) = all.member_keys {
                write_value(self.tree.key(member_keys[index]).text, &mut self.out);
                first = false;
            }
            for (i, column) in table.columns.iter().enumerate() {
                if matches!(column.class, ColumnClass::Undeclared | ColumnClass::Constant) {
                    continue;
                }
                if !first {
                    self.out.push('|');
                }
                first = false;
                self.expect_cell(i);
                let value = table.cell(self.tree, (index, row), i);
                if let (ColumnClass::Flattened { form, .. }, Some(Node::Object(_))) =
                    (column.class, value)
                {
                    let name = self.tree.key(column.key).text;
                    self.expansion += table::path_expansion(self.tree, name, form.0).1;
                }
                self.cell(value, column.class, index == 0);
            }
            self.out.push('\n');
            if has_attachments {
                self.attachments(table, (index, row), depth);
            }
        }
    }

    fn cell(&mut self, value: Option<Node<'a>>, class: ColumnClass, first_row: bool) {
        match (class, value) {
            (ColumnClass::Flattened { leaves, .. }, None) => self.repeat('~', leaves),
            (ColumnClass::Flattened { .. }, Some(Node::Object(object))) => self.leaves(object),
            (ColumnClass::Flattened { leaves, .. }, Some(_)) => self.repeat('-', leaves),
            (_, None) => self.out.push('~'),
            (ColumnClass::Inline, Some(Node::Object(object))) if first_row => {
                self.out.push('^');
                self.fields(self.tree.shape(object.shape));
            }
            (ColumnClass::List, Some(Node::Array(list))) => {
                self.elements(self.tree.elements(list), ',');
            }
            (_, Some(Node::Array(_) | Node::Object(_))) => self.out.push('^'),
            (_, Some(scalar)) => scalar.write(&mut self.out),
        }
    }

    fn repeat(&mut self, cell: char, count: u32) {
        for i in 0..count {
            if i > 0 {
                self.out.push('|');
            }
            self.out.push(cell);
        }
    }

    fn leaves(&mut self, object: Object) {
        for (i, &value) in self.tree.values(object).iter().enumerate() {
            if i > 0 {
                self.out.push('|');
            }
            match value {
                Node::Object(inner) => self.leaves(inner),
                scalar => scalar.write(&mut self.out),
            }
        }
    }

    /// Writes the attachments of a row: those of columns in column order, then undeclared fields.
    fn attachments(&mut self, table: &Table, row: (usize, Object), depth: usize) {
        let tree = self.tree;
        for i in table::columns_where(table, |class| {
            matches!(class, ColumnClass::Plain | ColumnClass::Inline)
        }) {
            match table.cell(tree, row, i) {
                Some(Node::Object(object)) if table.columns[i].class == ColumnClass::Inline => {
                    self.indent(depth);
                    self.expansion += self.names_size(tree.shape(object.shape));
                    self.leaves(object);
                    self.out.push('\n');
                }
                Some(value) if !value.is_scalar() => self.attachment(table, row.0, i, value, depth),
                _ => {}
            }
        }
        for i in table::columns_where(table, |class| class == ColumnClass::Undeclared) {
            if let Some(value) = table.cell(tree, row, i) {
                self.attachment(table, row.0, i, value, depth);
            }
        }
    }

    fn attachment(
        &mut self,
        table: &Table,
        row: usize,
        column: usize,
        value: Node<'a>,
        depth: usize,
    ) {
        let column = table.columns[column];
        self.indent(depth);
        self.out.push('.');
        self.key(column.key);
        self.out.push(' ');
        let prefix =
            if column.shared_schema && row > 0 { Prefix::SharedSchema } else { Prefix::Nested };
        self.nested(value, depth + 4, prefix);
    }
}

/// Whether these are at least two arrays of scalars, all of the same length, which is not 0.
fn is_matrix(elements: &[Node<'_>]) -> bool {
    let width = |node: &Node<'_>| match node {
        Node::Array(array) if array.kind == ArrayKind::Scalars => Some(array.len()),
        _ => None,
    };
    let first = elements.first().and_then(width);
    elements.len() >= 2 && first.is_some() && elements.iter().all(|row| width(row) == first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gcf::error::Place;

    fn encoded(json: &str) -> Result<String, Error> {
        let value = json::parse(json, json::Limits::default()).unwrap();
        encode(&value, &EncodeOptions::default())
    }

    #[test]
    fn encode_and_from_json_write_the_same_text() {
        for (json, text) in [
            ("1.50", "=1.5\n"),
            ("{}", ""),
            (r#"{"a":[1,"x|y",null],"b":{"c":{}}}"#, "a[3]: 1,\"x|y\",-\n## b\n  ## c\n"),
            (r#"[{"a":1,"b":{"c":"x"}},{"a":2}]"#, "## [2]{a,\"b>c\"}\n1|x\n2|~\n"),
            (r#"{"x":{"v":1},"y":{"v":[]}}"#, "## [2:]{key,v}\nx|1\n@1 y|^\n.v [0]\n"),
            (r#"[[],{"a>b":1}]"#, "## [2]\n@0 [0]\n@1 {}\n  \"a>b\"=1\n"),
        ] {
            let text = format!("GCF profile=generic\n{text}");
            assert_eq!(encoded(json).as_ref(), Ok(&text), "{json}");
            assert_eq!(from_json(json, &EncodeOptions::default()), Ok(text), "{json}");
        }
    }

    #[test]
    fn an_invalid_value_is_reported_with_its_path() {
        let error = encoded(r#"{"a":[1,18446744073709551616]}"#).unwrap_err();
        assert_eq!((error.code, error.place), (Code::OutOfRange, Place::Value("$.a[1]".into())));
        let value = Value::Array(vec![Value::Float(f64::NAN)]);
        let error = encode(&value, &EncodeOptions::default()).unwrap_err();
        assert_eq!((error.code, error.place), (Code::NotFinite, Place::Value("$[0]".into())));
        let limits = Limits { max_depth: 1, ..Limits::default() };
        let options = EncodeOptions { limits, ..EncodeOptions::default() };
        let error = encode(&Value::Array(vec![value]), &options).unwrap_err();
        assert_eq!((error.code, error.place), (Code::LimitExceeded, Place::Value("$[0]".into())));
    }

    #[test]
    fn a_duplicate_member_is_rejected() {
        let twice = vec![("k".into(), Value::Null), ("k".into(), Value::Null)];
        for value in [Value::Object(twice.clone()), Value::Array(vec![Value::Object(twice)])] {
            let error = encode(&value, &EncodeOptions::default()).unwrap_err();
            assert_eq!(error.code, Code::DuplicateKey);
        }
    }
}
