//! What the columns of a table are: decided for all rows together, before the first line.
//!
//! The canonical encoder's choices (GCF 3.6 section 7.4): a field is a column, is flattened into
//! columns `"a>b"`, is written inline under a schema, or stands in blocks below its rows.

use super::tree::{Array, Elements, KeyId, Node, Object, ShapeId, Tree};
use hashbrown::HashMap;
use std::borrow::Cow;

/// What becomes of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    /// A cell; what is no scalar stands below.
    Plain,
    /// Cells for the leaves of its objects, which all have one form: that of this object's, so many.
    Flattened { form: Form, leaves: u32 },
    /// `^{a,b}` and a line of cells below.
    Inline,
    /// No column: its name has a `>`.
    Bare,
    /// One value for all rows, in the declaration.
    Constant,
}

/// The values of an object whose form others share.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Form(pub Object);

impl PartialEq for Form {
    fn eq(&self, other: &Self) -> bool {
        self.0.shape == other.0.shape
    }
}

impl Eq for Form {}

/// A field of a table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Column {
    pub key: KeyId,
    pub class: Class,
    /// Its arrays' columns are declared once, in the first row.
    pub shared: bool,
}

/// The columns of a table, and where each row has them.
#[derive(Debug)]
pub(crate) struct Table {
    pub columns: Vec<Column>,
    /// No row has anything below it.
    pub flat: bool,
    places: Option<Places>,
}

/// Where the rows of a table have its columns, when they have not all the same shape.
#[derive(Debug, Default)]
struct Places {
    /// For each row, which of the maps is its.
    rows: Vec<u32>,
    /// For each shape, the position of each column, or `ABSENT`.
    maps: Vec<u32>,
}

const ABSENT: u32 = u32::MAX;

impl Table {
    /// The value of a row in a column; `None` where it is absent.
    pub(crate) fn cell<'a>(
        &self,
        tree: &Tree<'a>,
        (index, row): (usize, Object),
        column: usize,
    ) -> Option<Node<'a>> {
        let Some(places) = &self.places else { return Some(tree.value(row, column)) };
        let map = places.rows[index] as usize * self.columns.len();
        let position = places.maps[map + column];
        (position != ABSENT).then(|| tree.value(row, position as usize))
    }

    /// Whether a row has something below it.
    pub(crate) fn has_blocks(&self, tree: &Tree<'_>, row: (usize, Object)) -> bool {
        !self.flat
            && self.columns.iter().enumerate().any(|(i, column)| match column.class {
                Class::Flattened { .. } | Class::Constant => false,
                Class::Bare => self.cell(tree, row, i).is_some(),
                Class::Plain | Class::Inline => {
                    self.cell(tree, row, i).is_some_and(|value| !value.is_scalar())
                }
            })
    }
}

/// The objects among nodes that are all objects.
pub(crate) fn rows<'n>(nodes: &'n [Node<'_>]) -> impl Iterator<Item = Object> + Clone + 'n {
    nodes.iter().filter_map(|node| match node {
        Node::Object(object) => Some(*object),
        _ => None,
    })
}

/// What the encoder may do with a table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Choices {
    pub flatten: bool,
    pub constants: bool,
}

/// The columns of rows that have nothing but scalars, and all the same.
pub(crate) fn simple<'t>(tree: &'t Tree<'_>, nodes: &[Node<'_>]) -> Option<&'t [KeyId]> {
    let mut rows = rows(nodes);
    let first = rows.next().filter(|first| first.flat && tree.is_plain(first.shape))?;
    rows.all(|row| row.flat && row.shape == first.shape).then(|| tree.shape(first.shape))
}

/// Plans the table of these rows, of which there is at least one.
pub(crate) fn plan(tree: &Tree<'_>, nodes: &[Node<'_>], choices: Choices) -> Table {
    let (keys, places) = union(tree, nodes);
    let plain = Column { key: 0, class: Class::Plain, shared: false };
    let columns = keys.iter().map(|&key| Column { key, ..plain }).collect();
    let mut table = Table { columns, flat: false, places };
    table.flat = rows(nodes).all(|row| row.flat && tree.is_plain(row.shape));
    if !table.flat {
        for i in 0..table.columns.len() {
            let (class, shared) = classify(tree, nodes, &table, i, choices);
            table.columns[i].class = class;
            table.columns[i].shared = shared;
        }
    }
    if choices.constants && nodes.len() >= 2 {
        find_constants(tree, nodes, &mut table);
    }
    table
}

/// The names of all fields, in the order in which they come first, and where the rows have them.
fn union(tree: &Tree<'_>, nodes: &[Node<'_>]) -> (Vec<KeyId>, Option<Places>) {
    let mut shapes = rows(nodes).map(|row| row.shape);
    let Some(first) = shapes.next() else { return (Vec::new(), None) };
    let mut keys = tree.shape(first).to_vec();
    if shapes.all(|shape| shape == first) {
        return (keys, None);
    }
    let mut columns: HashMap<KeyId, usize> = keys.iter().copied().zip(0..).collect();
    let mut maps: HashMap<ShapeId, u32> = HashMap::new();
    let mut distinct = Vec::new();
    let mut places = Places::default();
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
        places.rows.push(last.1);
    }
    places.maps = vec![ABSENT; distinct.len() * keys.len()];
    for (map, shape) in places.maps.chunks_mut(keys.len().max(1)).zip(distinct) {
        for (&key, position) in tree.shape(shape).iter().zip(0..) {
            map[columns[&key]] = position;
        }
    }
    (keys, Some(places))
}

fn classify(
    tree: &Tree<'_>,
    nodes: &[Node<'_>],
    table: &Table,
    column: usize,
    choices: Choices,
) -> (Class, bool) {
    let cells = || rows(nodes).enumerate().map(|row| table.cell(tree, row, column));
    let key = tree.key(table.columns[column].key);
    if key.path {
        return (Class::Bare, is_shared(tree, cells()));
    }
    if cells().flatten().all(|value| value.is_scalar()) {
        return (Class::Plain, false);
    }
    if choices.flatten
        && !key.text.is_empty()
        && let Some((form, leaves)) = flattened(tree, cells())
    {
        return (Class::Flattened { form: Form(form), leaves }, false);
    }
    if is_inline(tree, cells()) {
        return (Class::Inline, false);
    }
    (Class::Plain, is_shared(tree, cells()))
}

/// The common form of a column's objects and how many leaves it has, if it can be flattened.
fn flattened<'a>(
    tree: &Tree<'a>,
    cells: impl Iterator<Item = Option<Node<'a>>>,
) -> Option<(Object, u32)> {
    let mut form: Option<(Object, u32)> = None;
    for value in cells.flatten() {
        let object = match value {
            Node::Null => continue,
            Node::Object(object) => object,
            _ => return None,
        };
        match form {
            None => form = Some((object, leaves(tree, object)?)),
            Some((form, _)) if has_form(tree, object, form) => {}
            Some(_) => return None,
        }
        // Such a row would come back as null.
        if all_null(tree, object) {
            return None;
        }
    }
    form
}

/// How many leaves an object has; `None` when it has not only scalars and named objects.
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

/// Whether an object has the keys of another in the same order, recursively.
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

fn is_shared<'a>(tree: &Tree<'a>, cells: impl Iterator<Item = Option<Node<'a>>>) -> bool {
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
            None if index == 0 => first = Some(names(tree, elements)),
            Some(first) if names(tree, elements) == *first => {}
            _ => return false,
        }
    }
    first.is_some()
}

fn rows_of_scalars(tree: &Tree<'_>, array: Array) -> bool {
    array.kind == Elements::Rows
        && rows(tree.elements(array)).all(|row| row.flat && tree.is_plain(row.shape))
}

/// The names of all fields of rows, as [`union`] gives them.
fn names<'t>(tree: &'t Tree<'_>, nodes: &[Node<'_>]) -> Cow<'t, [KeyId]> {
    let mut shapes = rows(nodes).map(|row| row.shape);
    match shapes.next() {
        Some(first) if shapes.all(|shape| shape == first) => Cow::Borrowed(tree.shape(first)),
        _ => Cow::Owned(union(tree, nodes).0),
    }
}

fn find_constants(tree: &Tree<'_>, nodes: &[Node<'_>], table: &mut Table) {
    let count = table.columns.len();
    let mut left = Vec::new();
    for i in 0..count {
        if matches!(table.columns[i].class, Class::Bare) {
            continue;
        }
        if table.columns[i].class == Class::Plain && is_constant(tree, nodes, table, i) {
            left.push(i);
        } else {
            left.push(count);
        }
    }
    // One column must stay, for the rows to have something.
    if left.iter().all(|&i| i < count) {
        left.pop();
    }
    for i in left {
        if i < count {
            table.columns[i].class = Class::Constant;
        }
    }
}

fn is_constant(tree: &Tree<'_>, nodes: &[Node<'_>], table: &Table, column: usize) -> bool {
    let mut cells = rows(nodes).enumerate().map(|row| table.cell(tree, row, column));
    let Some(Some(first)) = cells.next() else { return false };
    first.is_scalar() && cells.all(|cell| cell.is_some_and(|cell| same_scalar(first, cell)))
}

/// Whether two scalars have one canonical text.
fn same_scalar(left: Node<'_>, right: Node<'_>) -> bool {
    let text = |node: Node<'_>| {
        let mut out = String::new();
        node.write(&mut out);
        out
    };
    right.is_scalar() && text(left) == text(right)
}

/// The names of the columns that a field is flattened into: paths joined by `>`.
pub(crate) fn paths(tree: &Tree<'_>, name: &str, form: Object, each: &mut impl FnMut(&str)) {
    for (&key, value) in tree.shape(form.shape).iter().zip(tree.values(form)) {
        let path = format!("{name}>{}", tree.key(key).text);
        match value {
            Node::Object(inner) => paths(tree, &path, *inner, each),
            _ => each(&path),
        }
    }
}

/// Positions of the columns of a class.
pub(crate) fn of_class(table: &Table, keep: impl Fn(Class) -> bool) -> impl Iterator<Item = usize> {
    (0..table.columns.len()).filter(move |&i| keep(table.columns[i].class))
}
