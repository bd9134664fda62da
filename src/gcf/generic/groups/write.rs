//! Writes grouped tables: by the columns that the caller names, or by those that make the text shortest.
//!
//! Published writers reorder the rows of a group and write null for a missing value of the group column.
//! Decoding such a text does not return the same rows. Therefore this writer reorders rows only if the caller
//! allows it ([`Grouping::reorder`]), and a missing value is an error.

use super::ScalarKey;
use super::read::CLAUSE;
use crate::excerpt::excerpt;
use crate::gcf::error::{Code, Error, Place};
use crate::gcf::generic::columns::VALUE_SIZE;
use crate::gcf::generic::table::{self, Column, Table};
use crate::gcf::generic::tree::{ArrayKind, Builder, Node, Object, Tree, is_sparse, push_path_key};
use crate::gcf::limits::{Limits, is_readable};
use crate::gcf::syntax::header::GENERIC;
use crate::value::Value;
use bumpalo::Bump;
use hashbrown::{HashMap, HashSet};
use std::ops::Range;

/// How rows are grouped.
///
/// ```
/// use compactwire::gcf::{Grouping, Limits, encode_grouped};
/// use compactwire::json;
///
/// let rows = r#"[{"id":1,"state":"open"},{"id":2,"state":"open"}]"#;
/// let value = json::parse(rows, json::Limits::default()).unwrap();
/// let grouping = Grouping { key: "id", group: "state", reorder: false };
/// let text = encode_grouped(&value, grouping, Limits::default()).unwrap();
/// assert!(text.ends_with("{@id,state} group=state\nstate=open [2]\n1\n2\n"));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grouping<'n> {
    /// The name of the identity: every row has it, never null, and no two rows have the same.
    pub key: &'n str,
    /// The name of the group column: every row has it.
    pub group: &'n str,
    /// Whether the writer may reorder rows, so that those of a group follow each other.
    pub reorder: bool,
}

/// Encodes an array of objects of scalars as a grouped table, byte for byte as published writers do. Other
/// readers of GCF 3.6 may not read it.
///
/// # Errors
/// As [`encode`](crate::gcf::encode); `invalid_grouping`, with the path of row and field, if the rows cannot
/// be grouped so that decoding returns them.
pub fn encode_grouped(
    value: &Value<'_>,
    grouping: Grouping<'_>,
    limits: Limits,
) -> Result<String, Error> {
    let bump = Bump::new();
    let mut builder = Builder::new(&bump, limits);
    value.emit(&mut builder)?;
    write_grouped(&builder.finish(), grouping)
}

/// Encodes a tree as [`encode_grouped`] does.
///
/// # Errors
/// `invalid_grouping`.
pub fn write_grouped(tree: &Tree<'_>, grouping: Grouping<'_>) -> Result<String, Error> {
    let rows = rows_of_scalars(tree)?;
    tree.ensure_memory()?;
    let Grouping { key, group, reorder } = grouping;
    if key == group {
        let message = format!("{} cannot be both key and group", excerpt(key));
        return Err(invalid(message, None, None));
    }
    let table = table::of_scalars(tree, rows.nodes);
    let column = |name: &str| {
        let found = table.columns.iter().position(|column| tree.key(column.key).text == name);
        found.ok_or_else(|| invalid(format!("no row has a field {}", excerpt(name)), None, None))
    };
    let (key, group) = (column(key)?, column(group)?);
    let source = GroupedRows::new(tree, rows, &table);
    source.check_identity(key).map_err(|fault| source.error(fault, key))?;
    let groups = source.groups(group).map_err(|fault| source.error(fault, group))?;
    if let Some(row) = groups.first_apart.filter(|_| !reorder) {
        let message =
            "rows of this group do not follow each other; sort the rows, or allow reorder";
        return Err(source.error((row, message), group));
    }
    let constants = source.constants(|column| column != key && column != group);
    let columns = Columns { identity: key, group, constants: &constants };
    let text = source.write(columns, &groups);
    if is_readable(source.expansion(columns), text.len()) {
        return Ok(text);
    }
    let message = format!(
        "the rows repeat {} bytes of names and values that the text contains once, more than \
         a reader allows by default (max_expansion={}); use dumps",
        source.expansion(columns),
        Limits::EXPANSION
    );
    Err(Error { code: Code::LimitExceeded, message, place: Place::Value("$".to_owned()) })
}

/// The shortest grouped text of a tree; `None` if it has `limit` bytes or more, or if no grouping keeps the
/// order of all rows. The identity is the first column that can be one. Of group columns with equally short
/// texts, the first one is taken.
pub(crate) fn write_shorter(tree: &Tree<'_>, limit: usize) -> Option<String> {
    let rows = plain_rows(tree)?;
    let table = table::of_scalars(tree, rows.nodes);
    let source = GroupedRows::new(tree, rows, &table);
    let columns = 0..table.columns.len();
    let identity = columns.clone().find(|&column| source.check_identity(column).is_ok())?;
    let constants = source.constants(|column| column != identity);
    let sizes = source.sizes(identity, &constants);
    let mut best: Option<(usize, usize)> = None;
    for group in columns.filter(|&column| column != identity && !constants[column]) {
        let Ok(groups) = source.groups(group) else { continue };
        if groups.first_apart.is_some() || groups.first_rows.len() < 2 {
            continue;
        }
        let size = source.size(group, &groups, &sizes);
        if best.is_none_or(|(least, _)| size < least) {
            best = Some((size, group));
        }
    }
    let (_, group) = best.filter(|&(size, _)| size < limit)?;
    let groups = source.groups(group).ok()?;
    let columns = Columns { identity, group, constants: &constants };
    let text = source.write(columns, &groups);
    is_readable(source.expansion(columns), text.len()).then_some(text)
}

/// The rows of a table.
#[derive(Clone, Copy)]
struct Rows<'t, 'a> {
    nodes: &'t [Node<'a>],
}

/// The rows of the root, if they are at least two objects of scalars without `>` in their keys.
fn plain_rows<'t, 'a>(tree: &'t Tree<'a>) -> Option<Rows<'t, 'a>> {
    let Node::Array(array) = tree.root else { return None };
    let nodes = tree.elements(array);
    let plain = array.kind == ArrayKind::Rows
        && nodes.len() >= 2
        && table::rows(nodes).all(|row| row.flat && tree.is_plain(row.shape));
    plain.then_some(Rows { nodes })
}

/// Checks that the root is an array of objects of scalars.
fn rows_of_scalars<'t, 'a>(tree: &'t Tree<'a>) -> Result<Rows<'t, 'a>, Error> {
    let Node::Array(array) = tree.root else {
        return Err(invalid("only an array of objects can be grouped".to_owned(), None, None));
    };
    let nodes = tree.elements(array);
    for (index, node) in nodes.iter().enumerate() {
        let Node::Object(row) = *node else {
            let message = "each row must be an object".to_owned();
            return Err(invalid(message, Some(index), None));
        };
        if !row.flat {
            let fields = tree.shape(row.shape).iter().zip(tree.values(row));
            let nested = fields.clone().find(|(_, value)| !value.is_scalar());
            let name = nested.map(|(&key, _)| tree.key(key).text);
            let message = "the value must be a scalar in a grouped table".to_owned();
            return Err(invalid(message, Some(index), name));
        }
    }
    if table::rows(nodes).all(|row| tree.values(row).is_empty()) {
        let message = "at least one row with a field is needed for a grouped table".to_owned();
        return Err(invalid(message, None, None));
    }
    if has_few_cells(tree, nodes) {
        let message =
            "the rows have few fields in common, so most cells would be absent; use dumps";
        return Err(invalid(message.to_owned(), None, None));
    }
    Ok(Rows { nodes })
}

/// Whether most cells of the table would be absent, so that its text could grow like the square of the
/// number of rows.
fn has_few_cells(tree: &Tree<'_>, nodes: &[Node<'_>]) -> bool {
    let (mut shapes, mut names) = (HashSet::new(), HashSet::new());
    let mut present = 0;
    for row in table::rows(nodes) {
        let keys = tree.shape(row.shape);
        present += keys.len() as u64;
        if shapes.insert(row.shape) {
            names.extend(keys.iter().copied());
        }
    }
    is_sparse((nodes.len() * names.len()) as u64, present)
}

/// An error about a row and field, or about the whole value.
#[cold]
fn invalid(message: String, row: Option<usize>, field: Option<&str>) -> Error {
    let mut path = "$".to_owned();
    if let Some(row) = row {
        path.extend(["[", itoa::Buffer::new().format(row), "]"]);
    }
    if let Some(field) = field {
        push_path_key(field, &mut path);
    }
    Error { code: Code::InvalidGrouping, message, place: Place::Value(path) }
}

/// The index of a row and the problem with it.
type RowFault = (usize, &'static str);

/// The roles of the columns of a grouped table.
#[derive(Clone, Copy)]
struct Columns<'c> {
    identity: usize,
    group: usize,
    /// Whether each column is constant.
    constants: &'c [bool],
}

impl Columns<'_> {
    fn has_cell(&self, column: usize) -> bool {
        column != self.group && !self.constants[column]
    }
}

/// The groups of the rows, in the order of their first rows.
struct Groups {
    /// The first row of each group.
    first_rows: Vec<usize>,
    /// The rows, group by group.
    order: Vec<usize>,
    /// The rows of each group, as a range of `order`.
    ranges: Vec<Range<usize>>,
    /// The first row that is separated from the other rows of its group.
    first_apart: Option<usize>,
}

/// The sizes in bytes that do not depend on the group column.
struct Sizes {
    /// The whole text without the lines and the clause that name the group column.
    all: usize,
    /// The cells of each column, 0 if it is constant.
    columns: Vec<usize>,
}

struct GroupedRows<'t, 'a> {
    tree: &'t Tree<'a>,
    nodes: &'t [Node<'a>],
    rows: Vec<Object>,
    table: &'t Table,
}

impl<'t, 'a> GroupedRows<'t, 'a> {
    fn new(tree: &'t Tree<'a>, rows: Rows<'t, 'a>, table: &'t Table) -> Self {
        let nodes = rows.nodes;
        Self { tree, nodes, rows: table::rows(nodes).collect(), table }
    }

    #[cold]
    fn error(&self, (row, message): RowFault, column: usize) -> Error {
        let name = self.tree.key(self.table.columns[column].key).text;
        invalid(message.to_owned(), Some(row), Some(name))
    }

    fn cell(&self, row: usize, column: usize) -> Option<Node<'a>> {
        self.table.cell(self.tree, (row, self.rows[row]), column)
    }

    fn key(&self, row: usize, column: usize) -> Option<ScalarKey<&'a str>> {
        self.cell(row, column).and_then(ScalarKey::of_node)
    }

    /// Checks that every row has the column, that it is never null, and that no two values are equal.
    fn check_identity(&self, column: usize) -> Result<(), RowFault> {
        let mut seen = HashSet::new();
        for row in 0..self.rows.len() {
            match self.key(row, column) {
                None => return Err((row, "the row does not have its key")),
                Some(ScalarKey::Null) => return Err((row, "the key of the row is null")),
                Some(key) if !seen.insert(key) => {
                    return Err((row, "another row has the same key"));
                }
                Some(_) => {}
            }
        }
        Ok(())
    }

    /// Groups the rows by a column; an error if a row does not have it.
    fn groups(&self, column: usize) -> Result<Groups, RowFault> {
        let mut known = HashMap::new();
        let mut first_rows = Vec::new();
        let mut sizes: Vec<usize> = Vec::new();
        let mut group_of = Vec::with_capacity(self.rows.len());
        let mut first_apart = None;
        for row in 0..self.rows.len() {
            let Some(key) = self.key(row, column) else {
                return Err((row, "the row does not have the group column"));
            };
            let group = *known.entry(key).or_insert(sizes.len());
            if group == sizes.len() {
                first_rows.push(row);
                sizes.push(0);
            } else if first_apart.is_none() && group_of.last() != Some(&group) {
                first_apart = Some(row);
            }
            sizes[group] += 1;
            group_of.push(group);
        }
        let mut end = 0;
        let ranges: Vec<Range<usize>> = sizes
            .iter()
            .map(|size| {
                end += size;
                end - size..end
            })
            .collect();
        let mut next: Vec<usize> = ranges.iter().map(|range| range.start).collect();
        let mut order = vec![0; self.rows.len()];
        for (row, &group) in group_of.iter().enumerate() {
            order[next[group]] = row;
            next[group] += 1;
        }
        Ok(Groups { first_rows, order, ranges, first_apart })
    }

    /// Which columns are constant, of those that `may` accepts. A single row has no constant columns.
    fn constants(&self, may: impl Fn(usize) -> bool) -> Vec<bool> {
        let several = self.rows.len() >= 2;
        let is_constant = |column| {
            several && may(column) && table::is_constant(self.tree, self.nodes, self.table, column)
        };
        (0..self.table.columns.len()).map(is_constant).collect()
    }

    fn write(&self, columns: Columns<'_>, groups: &Groups) -> String {
        let mut out = String::with_capacity(1024);
        out.push_str(GENERIC);
        self.declaration(columns.identity, columns.constants, &mut out);
        self.clause(columns.group, &mut out);
        for (range, &first) in groups.ranges.iter().zip(&groups.first_rows) {
            self.group_line(columns.group, first, range.len(), &mut out);
            for &row in &groups.order[range.clone()] {
                self.row(row, columns, &mut out);
            }
        }
        out
    }

    /// The expansion of the text; see [`Limits::max_expansion`].
    fn expansion(&self, columns: Columns<'_>) -> u64 {
        let value = |row, column| match self.cell(row, column) {
            Some(Node::String(text)) => VALUE_SIZE + text.len() as u64,
            _ => VALUE_SIZE,
        };
        let of_column = |(i, column): (usize, &Column)| {
            let name = self.tree.key(column.key).text.len() as u64;
            name + if columns.constants[i] { value(0, i) } else { 0 }
        };
        let of_rows: u64 = self.table.columns.iter().enumerate().map(of_column).sum();
        let of_groups: u64 = (0..self.rows.len()).map(|row| value(row, columns.group)).sum();
        of_rows * self.rows.len() as u64 + of_groups
    }

    fn declaration(&self, identity: usize, constants: &[bool], out: &mut String) {
        out.push_str("## [");
        out.push_str(itoa::Buffer::new().format(self.rows.len()));
        out.push(']');
        for (i, column) in self.table.columns.iter().enumerate() {
            out.push(if i == 0 { '{' } else { ',' });
            if i == identity {
                out.push('@');
            }
            self.tree.key(column.key).write(out);
            if let Some(value) = self.cell(0, i).filter(|_| constants[i]) {
                out.push('=');
                value.write_constant(out);
            }
        }
        out.push('}');
    }

    fn clause(&self, group: usize, out: &mut String) {
        out.push(' ');
        out.push_str(CLAUSE);
        self.name(group, out);
        out.push('\n');
    }

    fn name(&self, column: usize, out: &mut String) {
        self.tree.key(self.table.columns[column].key).write(out);
    }

    fn group_line(&self, group: usize, row: usize, count: usize, out: &mut String) {
        self.name(group, out);
        out.push('=');
        self.write_cell(row, group, out);
        out.push_str(" [");
        out.push_str(itoa::Buffer::new().format(count));
        out.push_str("]\n");
    }

    fn row(&self, row: usize, columns: Columns<'_>, out: &mut String) {
        let mut first = true;
        for column in (0..self.table.columns.len()).filter(|&column| columns.has_cell(column)) {
            if !first {
                out.push('|');
            }
            first = false;
            self.write_cell(row, column, out);
        }
        out.push('\n');
    }

    fn write_cell(&self, row: usize, column: usize, out: &mut String) {
        match self.cell(row, column) {
            Some(value) => value.write(out),
            None => out.push('~'),
        }
    }

    /// Computes the sizes of the parts of [`GroupedRows::write`]'s text that do not depend on the group
    /// column.
    fn sizes(&self, identity: usize, constants: &[bool]) -> Sizes {
        let mut text = String::new();
        self.declaration(identity, constants, &mut text);
        let declaration = text.len();
        let mut size = |row, column| {
            text.clear();
            self.write_cell(row, column, &mut text);
            // A delimiter or line feed follows each cell.
            text.len() + 1
        };
        let columns: Vec<usize> = (0..constants.len())
            .map(|column| {
                let rows = if constants[column] { 0 } else { self.rows.len() };
                (0..rows).map(|row| size(row, column)).sum()
            })
            .collect();
        let all = GENERIC.len() + declaration + columns.iter().sum::<usize>();
        Sizes { all, columns }
    }

    /// The number of bytes that [`GroupedRows::write`] writes with this group column.
    fn size(&self, group: usize, groups: &Groups, sizes: &Sizes) -> usize {
        let mut lines = String::new();
        self.clause(group, &mut lines);
        for (range, &first) in groups.ranges.iter().zip(&groups.first_rows) {
            self.group_line(group, first, range.len(), &mut lines);
        }
        sizes.all - sizes.columns[group] + lines.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gcf::generic::{EncodeOptions, decode, encode};
    use proptest::collection::vec;
    use proptest::prelude::*;

    /// Rows with an identity, two columns that can be grouped, and one that some rows do not have.
    fn rows() -> impl Strategy<Value = Value<'static>> {
        let text = prop_oneof![Just("a"), Just("some long text"), Just("x}"), Just(""), Just("é,")];
        let row = (text.clone(), text, any::<bool>(), 0_i64..3);
        vec(row, 1..12).prop_map(|mut rows| {
            rows.sort_unstable();
            let fields =
                |(id, (a, b, has_c, c)): (i64, (&'static str, &'static str, bool, i64))| {
                    let mut row = vec![
                        ("id".into(), Value::Int(id)),
                        ("a a".into(), Value::String(a.into())),
                        ("b".into(), Value::String(b.into())),
                    ];
                    if has_c {
                        row.push(("c".into(), Value::Int(c)));
                    }
                    Value::Object(row)
                };
            Value::Array((0..).zip(rows).map(fields).collect())
        })
    }

    proptest! {
        #[test]
        fn the_shortest_text_that_keeps_the_order_is_chosen(rows in rows()) {
            let plain = EncodeOptions::default();
            let mut texts = vec![encode(&rows, &plain).unwrap()];
            if rows.as_array().unwrap().len() >= 2 {
                for group in ["a a", "b", "c"] {
                    let grouping = Grouping { key: "id", group, reorder: false };
                    let text = encode_grouped(&rows, grouping, Limits::default());
                    // A column with one group is not a candidate: it is constant.
                    texts.extend(text.ok().filter(|text| text.matches(" [").count() > 2));
                }
            }
            let shortest = texts.iter().min_by_key(|text| text.len()).unwrap();
            let found = encode(&rows, &EncodeOptions { group_values: true, ..plain }).unwrap();
            prop_assert_eq!(&found, shortest);
            prop_assert_eq!(decode(&found, Limits::default()).unwrap(), rows);
        }
    }
}
