//! The columns of a table, planned from all of its rows before the first line is written.
//!
//! For each field the canonical encoder chooses one form (GCF 3.6 section 7.4): a plain column, columns
//! `"a>b"` that flatten its objects, inline objects under a schema, or attachments below the rows.

use super::columns::{OBJECT_SIZE, VALUE_SIZE};
use super::tree::{Array, ArrayKind, KeyId, Node, Object, ShapeId, Tree, is_sparse};
use hashbrown::HashMap;
use std::borrow::Cow;

/// How a field is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ColumnClass {
    /// One cell per row; a value that is not a scalar is `^` and attached below the row.
    Plain,
    /// One cell per leaf of the field's objects, which all have the same form.
    Flattened { form: ObjectForm, leaves: u32 },
    /// `^` and a line of values below the row; the first row declares the keys, `^{a,b}`.
    Inline,
    /// No column, because the name contains `>`: always attached below the row.
    Undeclared,
    /// No cell: all rows have the same value, which is in the declaration.
    Constant,
    /// One cell per row, with the elements of a list of scalars.
    List,
}

/// An object that represents all objects with the same keys in the same order, recursively.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ObjectForm(pub Object);

impl PartialEq for ObjectForm {
    fn eq(&self, other: &Self) -> bool {
        self.0.shape == other.0.shape
    }
}

impl Eq for ObjectForm {}

/// A field of a table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Column {
    pub key: KeyId,
    pub class: ColumnClass,
    /// Whether its values are tables with the same columns, which only the first row declares.
    pub shared_schema: bool,
}

/// The columns of a table, and the position of each column in each row.
#[derive(Debug)]
pub(crate) struct Table {
    pub columns: Vec<Column>,
    /// Whether no row has attachments.
    pub flat: bool,
    /// `None` if all rows have the same shape.
    positions: Option<Positions>,
}

/// The positions of columns in rows of different shapes.
#[derive(Debug, Default)]
struct Positions {
    /// For each row, the index of its map.
    rows: Vec<u32>,
    /// One map per shape: the position of each column in the shape, or `MISSING`.
    maps: Vec<u32>,
}

/// The position of a column that a shape does not have. No shape has so many members.
const MISSING: u32 = u32::MAX;

impl Table {
    /// The value of a row in a column; `None` if the row does not have the field.
    pub(crate) fn cell<'a>(
        &self,
        tree: &Tree<'a>,
        (index, row): (usize, Object),
        column: usize,
    ) -> Option<Node<'a>> {
        let Some(positions) = &self.positions else { return Some(tree.value(row, column)) };
        let map = positions.rows[index] as usize * self.columns.len();
        let position = positions.maps[map + column];
        (position != MISSING).then(|| tree.value(row, position as usize))
    }

    /// Whether a row has attachments.
    pub(crate) fn has_attachments(&self, tree: &Tree<'_>, row: (usize, Object)) -> bool {
        !self.flat
            && self.columns.iter().enumerate().any(|(i, column)| match column.class {
                ColumnClass::Flattened { .. } | ColumnClass::Constant | ColumnClass::List => false,
                ColumnClass::Undeclared => self.cell(tree, row, i).is_some(),
                ColumnClass::Plain | ColumnClass::Inline => {
                    self.cell(tree, row, i).is_some_and(|value| !value.is_scalar())
                }
            })
    }
}

/// The rows of a table, whose nodes are all objects.
pub(crate) fn rows<'n>(nodes: &'n [Node<'_>]) -> impl Iterator<Item = Object> + Clone + 'n {
    nodes.iter().filter_map(|node| match node {
        Node::Object(object) => Some(*object),
        _ => None,
    })
}

/// Which forms of columns the encoder may use in a table.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "independent options")]
pub(crate) struct TableOptions {
    pub flatten: bool,
    pub constants: bool,
    pub lists: bool,
    /// Whether each row begins with the key of a keyed table.
    pub keyed: bool,
}

/// The columns of a table in the simplest case: all values are scalars, all rows have the same shape, and no
/// key contains `>`. `None` in all other cases.
pub(crate) fn scalar_columns<'t>(tree: &'t Tree<'_>, nodes: &[Node<'_>]) -> Option<&'t [KeyId]> {
    let mut rows = rows(nodes);
    let first = rows.next().filter(|first| first.flat && tree.is_plain(first.shape))?;
    rows.all(|row| row.flat && row.shape == first.shape).then(|| tree.shape(first.shape))
}

/// A table whose columns are all plain, even those with `>` in their names. This suits rows of scalars only;
/// for other rows, [`plan`] changes the classes of the columns.
pub(crate) fn of_scalars(tree: &Tree<'_>, nodes: &[Node<'_>]) -> Table {
    let (keys, positions) = union(tree, nodes);
    let plain = |key| Column { key, class: ColumnClass::Plain, shared_schema: false };
    Table { columns: keys.into_iter().map(plain).collect(), flat: true, positions }
}

/// Plans the table of these rows. There must be at least one.
pub(crate) fn plan(tree: &Tree<'_>, nodes: &[Node<'_>], options: TableOptions) -> Table {
    let mut table = of_scalars(tree, nodes);
    table.flat = rows(nodes).all(|row| row.flat && tree.is_plain(row.shape));
    if !table.flat {
        for i in 0..table.columns.len() {
            let (class, shared_schema) = classify(tree, nodes, &table, i, options);
            table.columns[i].class = class;
            table.columns[i].shared_schema = shared_schema;
        }
    }
    if options.constants && nodes.len() >= 2 {
        find_constants(tree, nodes, &mut table);
    }
    if options.lists && !options.keyed {
        keep_rows_visible(tree, nodes, &mut table);
    }
    table
}

/// The union of the rows' keys in order of first appearance, and the positions of each in the rows.
fn union(tree: &Tree<'_>, nodes: &[Node<'_>]) -> (Vec<KeyId>, Option<Positions>) {
    let mut shapes = rows(nodes).map(|row| row.shape);
    let Some(first) = shapes.next() else { return (Vec::new(), None) };
    let mut keys = tree.shape(first).to_vec();
    if shapes.all(|shape| shape == first) {
        return (keys, None);
    }
    let mut columns: HashMap<KeyId, usize> = keys.iter().copied().zip(0..).collect();
    let mut maps: HashMap<ShapeId, u32> = HashMap::new();
    let mut distinct = Vec::new();
    let mut positions = Positions::default();
    let mut last = (first, 0);
    maps.insert(first, 0);
    distinct.push(first);
    for row in rows(nodes) {
        if row.shape != last.0 {
            let next = *maps.entry(row.shape).or_insert_with(|| {
                for &key in tree.shape(row.shape) {
                    columns.entry(key).or_insert_with(|| {
                        keys.push(key);
                        keys.len() - 1
                    });
                }
                distinct.push(row.shape);
                #[expect(clippy::cast_possible_truncation, reason = "no more than rows")]
                {
                    distinct.len() as u32 - 1
                }
            });
            last = (row.shape, next);
        }
        positions.rows.push(last.1);
    }
    positions.maps = vec![MISSING; distinct.len() * keys.len()];
    for (map, shape) in positions.maps.chunks_mut(keys.len().max(1)).zip(distinct) {
        for (&key, position) in tree.shape(shape).iter().zip(0..) {
            map[columns[&key]] = position;
        }
    }
    (keys, Some(positions))
}

fn classify(
    tree: &Tree<'_>,
    nodes: &[Node<'_>],
    table: &Table,
    column: usize,
    options: TableOptions,
) -> (ColumnClass, bool) {
    let cells = || rows(nodes).enumerate().map(|row| table.cell(tree, row, column));
    let key = tree.key(table.columns[column].key);
    if key.path {
        return (ColumnClass::Undeclared, has_shared_schema(tree, cells()));
    }
    if cells().flatten().all(|value| value.is_scalar()) {
        return (ColumnClass::Plain, false);
    }
    if options.flatten
        && !key.text.is_empty()
        && let Some((form, leaves)) = flattened(tree, key.text, cells())
    {
        return (ColumnClass::Flattened { form: ObjectForm(form), leaves }, false);
    }
    if is_inline(tree, cells()) {
        return (ColumnClass::Inline, false);
    }
    if options.lists && is_list(tree, cells()) {
        return (ColumnClass::List, false);
    }
    (ColumnClass::Plain, has_shared_schema(tree, cells()))
}

/// The common form of a column's objects and its number of leaves; `None` if it cannot be flattened.
fn flattened<'a>(
    tree: &Tree<'a>,
    name: &str,
    cells: impl Iterator<Item = Option<Node<'a>>>,
) -> Option<(Object, u32)> {
    let mut form: Option<(Object, u32)> = None;
    let (mut rows, mut objects) = (0, 0);
    for value in cells {
        rows += 1;
        let object = match value {
            None | Some(Node::Null) => continue,
            Some(Node::Object(object)) => object,
            Some(_) => return None,
        };
        objects += 1;
        match form {
            None => form = Some((object, leaves(tree, object)?)),
            Some((form, _)) if has_form(tree, object, form) => {}
            Some(_) => return None,
        }
        // A reader would interpret the cells of this row as null.
        if all_null(tree, object) {
            return None;
        }
    }
    form.filter(|&(form, leaves)| {
        let mut length = PathLengths::default();
        length.add(tree, form, name.len() as u64);
        !is_sparse(rows * u64::from(leaves), objects * u64::from(leaves))
            && !is_sparse(length.paths, name.len() as u64 + length.keys)
    })
}

/// The lengths of the names of path columns.
#[derive(Default)]
struct PathLengths {
    /// The sum of the paths, which repeat the keys of outer objects.
    paths: u64,
    /// The sum of the keys.
    keys: u64,
}

impl PathLengths {
    /// Adds the columns of an object whose own path has the length `outer`.
    fn add(&mut self, tree: &Tree<'_>, form: Object, outer: u64) {
        for (&key, value) in tree.shape(form.shape).iter().zip(tree.values(form)) {
            let key = tree.key(key).text.len() as u64;
            self.keys += key;
            match value {
                Node::Object(inner) => self.add(tree, *inner, outer + 1 + key),
                _ => self.paths += outer + 1 + key,
            }
        }
    }
}

/// The number of leaves of an object; `None` if it contains an array, an empty object, or a key that is
/// empty or contains `>`.
fn leaves(tree: &Tree<'_>, object: Object) -> Option<u32> {
    let mut count = 0;
    for (&key, value) in tree.shape(object.shape).iter().zip(tree.values(object)) {
        let key = tree.key(key);
        if key.text.is_empty() || key.path {
            return None;
        }
        count += match value {
            Node::Array(_) => return None,
            Node::Object(inner) => leaves(tree, *inner)?,
            _ => 1,
        };
    }
    (count > 0).then_some(count)
}

/// Whether an object has the same keys as another in the same order, recursively.
fn has_form(tree: &Tree<'_>, object: Object, form: Object) -> bool {
    object.shape == form.shape
        && (object.flat && form.flat
            || tree.values(object).iter().zip(tree.values(form)).all(|pair| match pair {
                (Node::Object(inner), Node::Object(form)) => has_form(tree, *inner, *form),
                (value, form) => value.is_scalar() && form.is_scalar(),
            }))
}

fn all_null(tree: &Tree<'_>, object: Object) -> bool {
    tree.values(object).iter().all(|value| match value {
        Node::Null => true,
        Node::Object(inner) => all_null(tree, *inner),
        _ => false,
    })
}

fn is_inline<'a>(tree: &Tree<'a>, cells: impl Iterator<Item = Option<Node<'a>>>) -> bool {
    let mut shape = None;
    for (index, value) in cells.enumerate() {
        match value {
            Some(Node::Object(object)) if object.flat => match shape {
                None if index == 0 && tree.shape(object.shape).len() >= 3 => {
                    shape = Some(object.shape);
                }
                Some(shape) if shape == object.shape => {}
                _ => return false,
            },
            None if index > 0 => {}
            _ => return false,
        }
    }
    shape.is_some()
}

/// Whether a column that is not all scalars has only lists of scalars, nulls and absent values. A list with a
/// single null is excluded, because its cell would be the same as that of null.
fn is_list<'a>(tree: &Tree<'a>, mut cells: impl Iterator<Item = Option<Node<'a>>>) -> bool {
    cells.all(|value| match value {
        None | Some(Node::Null) => true,
        Some(Node::Array(array)) => match array.kind {
            ArrayKind::Empty => true,
            ArrayKind::Scalars => !matches!(tree.elements(array), [Node::Null]),
            ArrayKind::Rows | ArrayKind::Mixed => false,
        },
        Some(_) => false,
    })
}

/// Makes a list column plain if it is the only one with cells and a row has an empty list, whose line would
/// be blank: readers skip blank lines.
fn keep_rows_visible(tree: &Tree<'_>, nodes: &[Node<'_>], table: &mut Table) {
    let has_cells = |class| !matches!(class, ColumnClass::Undeclared | ColumnClass::Constant);
    let mut columns = columns_where(table, has_cells);
    let (Some(column), None) = (columns.next(), columns.next()) else { return };
    drop(columns);
    let is_empty = |row| match table.cell(tree, row, column) {
        Some(Node::Array(array)) => array.kind == ArrayKind::Empty,
        _ => false,
    };
    if table.columns[column].class == ColumnClass::List && rows(nodes).enumerate().any(is_empty) {
        table.columns[column].class = ColumnClass::Plain;
    }
}

fn has_shared_schema<'a>(tree: &Tree<'a>, cells: impl Iterator<Item = Option<Node<'a>>>) -> bool {
    let mut first: Option<Cow<'_, [KeyId]>> = None;
    for (index, value) in cells.enumerate() {
        let array = match value {
            Some(Node::Array(array)) => array,
            None | Some(Node::Null) if index > 0 => continue,
            _ => return false,
        };
        if !rows_of_scalars(tree, array) {
            return false;
        }
        let elements = tree.elements(array);
        match &first {
            None if index == 0 => first = Some(union_keys(tree, elements)),
            Some(first) if union_keys(tree, elements) == *first => {}
            _ => return false,
        }
    }
    first.is_some()
}

fn rows_of_scalars(tree: &Tree<'_>, array: Array) -> bool {
    array.kind == ArrayKind::Rows
        && rows(tree.elements(array)).all(|row| row.flat && tree.is_plain(row.shape))
}

/// The keys of [`union`], without their positions.
fn union_keys<'t>(tree: &'t Tree<'_>, nodes: &[Node<'_>]) -> Cow<'t, [KeyId]> {
    let mut shapes = rows(nodes).map(|row| row.shape);
    match shapes.next() {
        Some(first) if shapes.all(|shape| shape == first) => Cow::Borrowed(tree.shape(first)),
        _ => Cow::Owned(union(tree, nodes).0),
    }
}

fn find_constants(tree: &Tree<'_>, nodes: &[Node<'_>], table: &mut Table) {
    let count = table.columns.len();
    let mut constant = Vec::new();
    for i in 0..count {
        if matches!(table.columns[i].class, ColumnClass::Undeclared) {
            continue;
        }
        if table.columns[i].class == ColumnClass::Plain && is_constant(tree, nodes, table, i) {
            constant.push(i);
        } else {
            constant.push(count);
        }
    }
    // At least one column must remain, so that rows have a cell.
    if constant.iter().all(|&i| i < count) {
        constant.pop();
    }
    for i in constant {
        if i < count {
            table.columns[i].class = ColumnClass::Constant;
        }
    }
}

pub(crate) fn is_constant(
    tree: &Tree<'_>,
    nodes: &[Node<'_>],
    table: &Table,
    column: usize,
) -> bool {
    let mut cells = rows(nodes).enumerate().map(|row| table.cell(tree, row, column));
    let Some(Some(first)) = cells.next() else { return false };
    first.is_scalar() && cells.all(|cell| cell.is_some_and(|cell| same_scalar(first, cell)))
}

/// Whether two scalars have the same canonical text.
fn same_scalar(left: Node<'_>, right: Node<'_>) -> bool {
    let text = |node: Node<'_>| {
        let mut out = String::new();
        node.write(&mut out);
        out
    };
    right.is_scalar() && text(left) == text(right)
}

/// The expansion of a flattened field, as [`Limits::max_expansion`] defines it: the part in each row, and the
/// additional part in each row that has the field.
///
/// [`Limits::max_expansion`]: crate::gcf::Limits::max_expansion
pub(crate) fn path_expansion(tree: &Tree<'_>, name: &str, form: Object) -> (u64, u64) {
    let (mut leaves, mut objects) = (0, OBJECT_SIZE + VALUE_SIZE + name.len() as u64);
    for (&key, value) in tree.shape(form.shape).iter().zip(tree.values(form)) {
        let key = tree.key(key).text;
        if let Node::Object(inner) = value {
            let (inner_leaves, inner_objects) = path_expansion(tree, key, *inner);
            leaves += inner_leaves;
            objects += inner_objects;
        } else {
            leaves += key.len() as u64;
        }
    }
    (leaves, objects)
}

/// Calls `each` with the name of every column that a field is flattened into: `name>key`, recursively.
pub(crate) fn flattened_names(
    tree: &Tree<'_>,
    name: &str,
    form: Object,
    each: &mut impl FnMut(&str),
) {
    for (&key, value) in tree.shape(form.shape).iter().zip(tree.values(form)) {
        let path = format!("{name}>{}", tree.key(key).text);
        match value {
            Node::Object(inner) => flattened_names(tree, &path, *inner, each),
            _ => each(&path),
        }
    }
}

/// The indices of the columns whose class satisfies `keep`.
pub(crate) fn columns_where(
    table: &Table,
    keep: impl Fn(ColumnClass) -> bool,
) -> impl Iterator<Item = usize> {
    (0..table.columns.len()).filter(move |&i| keep(table.columns[i].class))
}
