//! The encoder's representation of a value: flat arrays of nodes, keys and shapes.
//!
//! The canonical encoder inspects all rows of a table before it writes the first line, so it visits a
//! value several times. The [`Builder`] therefore copies the value once: scalars by value, strings by
//! reference, the children of an array or object side by side. Objects with the same keys in the same
//! order share a *shape*, so that most decisions about tables and columns only compare shapes.
//!
//! Invariant: numbers are in the domain of GCF, the keys of an object are distinct, and the depth is
//! bounded.

use crate::excerpt::excerpt;
use crate::gcf::error::{Code, Error, Place};
use crate::gcf::limits::Limits;
use crate::gcf::syntax::append::push_short;
use crate::gcf::syntax::{number, string};
use crate::interrupt::Steps;
use crate::memory::{self, Meter};
use crate::text::slice_of;
use crate::walk::{Found, Sink, Stop, Walk};
use bumpalo::Bump;
use hashbrown::{HashMap, HashSet};
use std::ops::Range;

/// Identifies a key in a [`Tree`].
pub type KeyId = u32;
/// Identifies a shape in a [`Tree`]: the keys of an object in their order.
pub type ShapeId = u32;

/// No shape and no key. No tree has so many.
const NONE: u32 = u32::MAX;

/// A value. The children of an array or object are elsewhere in the tree.
#[derive(Debug, Clone, Copy)]
pub enum Node<'a> {
    /// Null.
    Null,
    /// A boolean.
    Bool(bool),
    /// A 64-bit integer.
    Int(i64),
    /// A finite double.
    Float(f64),
    /// A string.
    String(&'a str),
    /// An array.
    Array(Array),
    /// An object.
    Object(Object),
}

/// An array: `len` nodes of the tree from `first` on.
#[derive(Debug, Clone, Copy)]
pub struct Array {
    first: u32,
    len: u32,
    pub kind: ArrayKind,
}

impl Array {
    /// The number of elements.
    pub(crate) fn len(self) -> u32 {
        self.len
    }
}

/// The kind of an array's elements, which decides how the array is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArrayKind {
    /// No elements.
    Empty,
    /// All are scalars.
    Scalars,
    /// All are objects, and at least one key can be a column.
    Rows,
    /// Anything else.
    Mixed,
}

/// An object: the values of its shape's keys are the nodes from `first` on.
#[derive(Debug, Clone, Copy)]
pub struct Object {
    pub shape: ShapeId,
    first: u32,
    /// Whether all values are scalars.
    pub flat: bool,
    /// Whether it is written as a keyed table.
    pub keyed: bool,
}

impl Node<'_> {
    pub(crate) fn is_scalar(&self) -> bool {
        !matches!(self, Self::Array(_) | Self::Object(_))
    }

    /// Appends the value of a constant column. It is followed by `,` or `}`.
    pub(crate) fn write_constant(self, out: &mut String) {
        match self {
            Self::String(text) if text.contains('}') => string::write_quoted(text, out),
            scalar => scalar.write(out),
        }
    }

    /// Appends the text of a scalar.
    pub(crate) fn write(self, out: &mut String) {
        match self {
            Self::String(text) => string::write_value(text, out),
            Self::Int(value) => number::write_int(value, out),
            Self::Float(value) => number::write_float(value, out),
            Self::Bool(true) => out.push_str("true"),
            Self::Bool(false) => out.push_str("false"),
            Self::Null | Self::Array(_) | Self::Object(_) => out.push('-'),
        }
    }
}

/// Whether a table would consist mostly of absent cells, `~`. Its rows are then written one by one, because
/// the table of rows with different keys grows like the square of their number. This differs from GCF 3.6,
/// whose encoders write such a table.
pub(crate) fn is_sparse(cells: u64, present: u64) -> bool {
    cells > SMALL_TABLE && cells > SPARSENESS * present
}

/// A table of at most this many cells is never sparse: the text stays within a small factor of the value.
const SMALL_TABLE: u64 = 4096;

/// How many cells a table may have for each cell that is not absent. Each cell saves a repetition of the
/// member's name, which takes about as much text as this many absent cells.
const SPARSENESS: u64 = 8;

/// A key and how it can be written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Key<'a> {
    pub text: &'a str,
    /// Whether it is written without quotes.
    pub bare: bool,
    /// Whether it contains `>`, so that it cannot be a column.
    pub path: bool,
}

impl Key<'_> {
    /// Appends the key, in quotes unless it is a bare key.
    pub(crate) fn write(self, out: &mut String) {
        if self.bare {
            push_short(self.text, out);
        } else {
            string::write_quoted(self.text, out);
        }
    }
}

#[derive(Debug, Clone)]
struct Shape {
    keys: Range<u32>,
    /// Whether at least one key can be a column.
    columns: bool,
    /// Whether at least one key cannot be a column.
    paths: bool,
}

/// A complete value.
#[derive(Debug)]
pub struct Tree<'a> {
    nodes: Vec<Node<'a>>,
    keys: Vec<Key<'a>>,
    shapes: Vec<Shape>,
    shape_keys: Vec<KeyId>,
    /// The value itself.
    pub root: Node<'a>,
    /// The total size of the strings of at least [`LONG`] bytes.
    long: usize,
}

/// Strings of at least this length are counted by [`Builder::count`], because a few of them take more memory
/// than a [`Meter`] checks at a time.
pub const LONG: usize = 16 << 10;

impl<'a> Tree<'a> {
    pub(crate) fn key(&self, id: KeyId) -> Key<'a> {
        self.keys[id as usize]
    }

    /// Checks that there is memory for planning the tables of the value, and for its long strings as text,
    /// where a character takes up to six bytes.
    ///
    /// # Errors
    /// `out_of_memory`.
    pub(crate) fn ensure_memory(&self) -> Result<(), Error> {
        let size = 16 * self.nodes.len() + 128 * self.keys.len();
        Ok(memory::ensure(self.long.saturating_mul(16).saturating_add(size))?)
    }

    /// Checks that there is memory for grouping the rows of a value whose text has `size` bytes.
    ///
    /// # Errors
    /// `out_of_memory`.
    pub(crate) fn ensure_memory_to_group(&self, size: usize) -> Result<(), Error> {
        Ok(memory::ensure(64 * self.nodes.len() + 2 * size)?)
    }

    /// The keys of a shape.
    pub(crate) fn shape(&self, id: ShapeId) -> &[KeyId] {
        let Range { start, end } = self.shapes[id as usize].keys;
        &self.shape_keys[start as usize..end as usize]
    }

    /// Whether all keys of a shape can be columns.
    pub(crate) fn is_plain(&self, id: ShapeId) -> bool {
        !self.shapes[id as usize].paths
    }

    pub(crate) fn elements(&self, array: Array) -> &[Node<'a>] {
        &self.nodes[array.first as usize..][..array.len as usize]
    }

    pub(crate) fn values(&self, object: Object) -> &[Node<'a>] {
        &self.nodes[object.first as usize..][..self.shape(object.shape).len()]
    }

    /// The value of an object's key at `position`.
    pub(crate) fn value(&self, object: Object, position: usize) -> Node<'a> {
        self.nodes[object.first as usize + position]
    }
}

/// Builds a [`Tree`] from the events of one value.
pub struct Builder<'a> {
    bump: &'a Bump,
    /// Strings that are slices of this text are borrowed, not copied.
    source: &'a str,
    tree: Tree<'a>,
    /// The children so far of all open containers.
    stack: Vec<Node<'a>>,
    /// The keys so far of all open objects.
    key_stack: Vec<KeyId>,
    open: Vec<OpenContainer>,
    key_ids: HashMap<&'a str, KeyId>,
    shape_ids: HashMap<Box<[KeyId]>, ShapeId>,
    /// For each key, the shape of the last object that is the value of a member with this key, or
    /// an element of such a value.
    shape_under_key: Vec<ShapeId>,
    /// For each depth, the shape of the last object.
    shape_at_depth: Vec<ShapeId>,
    /// For each key, the last new shape that has it, to find duplicate keys.
    last_shape_with_key: Vec<ShapeId>,
    limits: Limits,
    steps: Steps,
    /// Checks memory for the rest of the value; the unit of work is a node.
    meter: Meter,
    /// The bytes of the strings.
    copied: usize,
}

/// The bytes of memory for a node. It is stored twice, on the stack and in its container; keys and shapes are
/// included.
const NODE_FACTOR: usize = 64;
/// How many nodes take as much memory as a key.
const KEY: usize = 3;
/// How many copied bytes take as much memory as a node.
const COPIED: usize = 32;

#[derive(Debug, Clone, Copy)]
struct OpenContainer {
    /// The index of its first child in `stack`.
    first: usize,
    /// The index of its first key in `key_stack`.
    first_key: usize,
    /// The key of the nearest enclosing member.
    context: KeyId,
    is_object: bool,
    /// The shape that an object is expected to have, as long as its keys are those of this shape.
    expected: ShapeId,
}

impl<'a> Builder<'a> {
    /// An empty builder that borrows strings which are slices of `source`.
    pub fn over(source: &'a str, bump: &'a Bump, limits: Limits) -> Self {
        Self { source, ..Self::new(bump, limits) }
    }

    /// An empty builder. Strings that are copied live in `bump`.
    pub fn new(bump: &'a Bump, limits: Limits) -> Self {
        let tree = Tree {
            nodes: Vec::new(),
            keys: Vec::new(),
            shapes: Vec::new(),
            shape_keys: Vec::new(),
            root: Node::Null,
            long: 0,
        };
        Self {
            bump,
            source: "",
            tree,
            stack: Vec::new(),
            key_stack: Vec::new(),
            open: Vec::new(),
            key_ids: HashMap::new(),
            shape_ids: HashMap::new(),
            shape_under_key: Vec::new(),
            shape_at_depth: Vec::new(),
            last_shape_with_key: Vec::new(),
            limits,
            steps: Steps::default(),
            meter: Meter::new(NODE_FACTOR),
            copied: 0,
        }
    }

    /// Checks that there is memory for a container of `count` nodes, and as many new keys if it is an object.
    ///
    /// # Errors
    /// `out_of_memory`.
    #[inline]
    pub fn expect_container(&mut self, is_object: bool, count: usize) -> Result<(), Error> {
        self.expect(if is_object { (1 + KEY) * count } else { count })
    }

    /// Checks that there is memory for `more` nodes.
    ///
    /// # Errors
    /// `out_of_memory`.
    #[inline]
    fn expect(&mut self, more: usize) -> Result<(), Error> {
        let nodes = self.tree.nodes.len() + self.stack.len() + self.copied / COPIED;
        Ok(self.meter.reach(nodes + KEY * self.tree.keys.len() + more)?)
    }

    /// Counts the text of a string, for which the writer needs memory.
    #[inline]
    pub fn count(&mut self, text: &str) {
        if text.len() >= LONG {
            self.tree.long = self.tree.long.saturating_add(text.len());
        }
    }

    /// Returns the tree, once the value is complete.
    pub fn finish(mut self) -> Tree<'a> {
        self.tree.root = self.stack.pop().unwrap_or(Node::Null);
        self.tree
    }

    /// Adds a scalar.
    pub fn push(&mut self, scalar: Node<'a>) {
        self.stack.push(scalar);
    }

    /// Adds a string, and copies it unless it is a slice of the source.
    ///
    /// # Errors
    /// `out_of_memory`.
    pub fn push_copy(&mut self, text: &str) -> Result<(), Error> {
        self.count(text);
        let text = self.copy(text)?;
        self.stack.push(Node::String(text));
        Ok(())
    }

    fn copy(&mut self, text: &str) -> Result<&'a str, Error> {
        self.copied += text.len();
        self.expect(1)?;
        Ok(slice_of(self.source, text).unwrap_or_else(|| self.bump.alloc_str(text)))
    }

    /// Adds a double.
    ///
    /// # Errors
    /// `not_finite`.
    pub fn push_float(&mut self, value: f64) -> Result<(), Error> {
        if !value.is_finite() {
            let message = format!("{value} is not a finite number; use null or a string");
            return Err(self.error(Code::NotFinite, message));
        }
        self.stack.push(Node::Float(value));
        Ok(())
    }

    /// Adds the value that a walk finds, and copies its strings.
    ///
    /// # Errors
    /// [`Stop::Unusual`] for any error in the value; the errors of `walk`. The tree is then incomplete.
    pub fn add<W: Walk>(&mut self, walk: &mut W, value: &W::Value) -> Result<(), Stop<W::Error>> {
        self.expect(1).map_err(|_| Stop::Unusual)?;
        match walk.look(value)? {
            Found::Null => self.push(Node::Null),
            Found::Bool(value) => self.push(Node::Bool(value)),
            Found::Int(value) => self.push(Node::Int(value)),
            Found::Float(value) => self.push_float(value).map_err(|_| Stop::Unusual)?,
            Found::Text(text) => self.push_copy(text).map_err(|_| Stop::Unusual)?,
            Found::Array(array) => {
                let count = walk.length(&array);
                self.expect_container(false, count).map_err(|_| Stop::Unusual)?;
                self.begin(false).map_err(|_| Stop::Unusual)?;
                for index in 0..count {
                    let element = walk.element(&array, index);
                    self.add(walk, &element)?;
                }
                self.end().map_err(|_| Stop::Unusual)?;
            }
            Found::Object(object) => self.add_members(walk, object)?,
            Found::Foreign => {
                let value = walk.convert(value)?;
                self.add(walk, &value)?;
            }
        }
        Ok(())
    }

    fn add_members<W: Walk>(
        &mut self,
        walk: &mut W,
        mut object: W::Object,
    ) -> Result<(), Stop<W::Error>> {
        self.expect_container(true, walk.size(&object)).map_err(|_| Stop::Unusual)?;
        self.begin(true).map_err(|_| Stop::Unusual)?;
        while let Some((key, value)) = walk.next(&mut object) {
            let text = walk.key(&key)?;
            self.push_key(text).map_err(|_| Stop::Unusual)?;
            self.add(walk, &value)?;
        }
        self.end().map_err(|_| Stop::Unusual)
    }

    /// Adds a key to the innermost object, and copies it if it is new and not a slice of the source. Most objects
    /// have the same keys as the object before them, such as the rows of a table: then no key is searched by
    /// its hash.
    ///
    /// # Errors
    /// `out_of_memory`.
    pub fn push_key(&mut self, key: &str) -> Result<(), Error> {
        if let Some(open) = self.open.last_mut()
            && open.expected != NONE
        {
            let found = self.key_stack.len() - open.first_key;
            let expected = self.tree.shape(open.expected).get(found).copied();
            if let Some(id) = expected.filter(|&id| self.tree.key(id).text == key) {
                self.key_stack.push(id);
                return Ok(());
            }
            open.expected = NONE;
        }
        let id = if let Some(&id) = self.key_ids.get(key) {
            id
        } else {
            self.count(key);
            let key = self.copy(key)?;
            self.new_key(key)
        };
        self.key_stack.push(id);
        Ok(())
    }

    /// Predicts the shape of an object from objects before it: those under the key `context`, or at the same
    /// depth. [`NONE`] if there is none.
    fn expected(&self, context: KeyId, depth: usize) -> ShapeId {
        match self.shape_under_key.get(context as usize) {
            Some(&shape) if shape != NONE => shape,
            _ => self.shape_at_depth.get(depth).copied().unwrap_or(NONE),
        }
    }

    fn new_key(&mut self, key: &'a str) -> KeyId {
        self.steps.step();
        #[expect(clippy::cast_possible_truncation, reason = "fewer than the nodes, checked there")]
        let id = self.tree.keys.len() as KeyId;
        let path = key.contains('>');
        self.tree.keys.push(Key { text: key, bare: string::is_bare_key(key), path });
        self.key_ids.insert(key, id);
        id
    }

    /// Begins a container.
    ///
    /// # Errors
    /// `limit_exceeded` if it is nested too deep; `out_of_memory`.
    pub fn begin(&mut self, is_object: bool) -> Result<(), Error> {
        // Its own node: an empty one has no others that ask for it.
        self.expect(1)?;
        if self.open.len() >= self.limits.max_depth {
            let message = Limits::too_deep(self.limits.max_depth);
            return Err(self.error(Code::LimitExceeded, message));
        }
        let context = match self.open.last() {
            Some(OpenContainer { is_object: true, .. }) => {
                self.key_stack.last().copied().unwrap_or(NONE)
            }
            Some(array) => array.context,
            None => NONE,
        };
        let (first, first_key) = (self.stack.len(), self.key_stack.len());
        let expected = if is_object { self.expected(context, self.open.len() + 1) } else { NONE };
        self.open.push(OpenContainer { first, first_key, context, is_object, expected });
        Ok(())
    }

    /// Ends the innermost container.
    ///
    /// # Errors
    /// `duplicate_key`; `limit_exceeded` if the value has 2^32 nodes or more.
    pub fn end(&mut self) -> Result<(), Error> {
        let Some(&OpenContainer { first, first_key, context, is_object, expected }) =
            self.open.last()
        else {
            return Ok(());
        };
        let node = if is_object {
            let keys = self.key_stack.len() - first_key;
            let shape = if expected != NONE && self.tree.shape(expected).len() == keys {
                self.remember(expected, context, self.open.len());
                expected
            } else {
                self.shape_of(first_key, context)?
            };
            self.object(shape, first)
        } else {
            self.array(first)
        };
        if self.tree.nodes.len() + (self.stack.len() - first) >= NONE as usize {
            return Err(
                self.error(Code::LimitExceeded, "the value has more than 2^32 nodes".into())
            );
        }
        self.steps.add(self.stack.len() - first);
        self.open.pop();
        self.tree.nodes.extend_from_slice(&self.stack[first..]);
        self.stack.truncate(first);
        self.key_stack.truncate(first_key);
        self.stack.push(node);
        Ok(())
    }

    #[expect(clippy::cast_possible_truncation, reason = "checked by the caller")]
    fn array(&self, first: usize) -> Node<'a> {
        let elements = &self.stack[first..];
        let has_columns = |node: &Node<'_>| match node {
            Node::Object(object) => self.tree.shapes[object.shape as usize].columns,
            _ => false,
        };
        let kind = match elements.first() {
            None => ArrayKind::Empty,
            Some(Node::Object(_)) => {
                let rows = elements.iter().all(|node| matches!(node, Node::Object(_)));
                if rows && elements.iter().any(has_columns) && !self.is_sparse(elements) {
                    ArrayKind::Rows
                } else {
                    ArrayKind::Mixed
                }
            }
            Some(Node::Array(_)) => ArrayKind::Mixed,
            Some(_) if elements.iter().all(Node::is_scalar) => ArrayKind::Scalars,
            Some(_) => ArrayKind::Mixed,
        };
        Node::Array(Array { first: self.tree.nodes.len() as u32, len: elements.len() as u32, kind })
    }

    #[expect(clippy::cast_possible_truncation, reason = "checked by the caller")]
    fn object(&self, shape: ShapeId, first: usize) -> Node<'a> {
        let values = &self.stack[first..];
        let flat = values.iter().all(Node::is_scalar);
        let has_columns = |node: &Node<'_>| match node {
            Node::Object(object) => self.tree.shapes[object.shape as usize].columns,
            _ => false,
        };
        let keyed = !flat
            && values.len() >= 2
            && values.iter().all(|node| matches!(node, Node::Object(_)))
            && values.iter().any(has_columns)
            && !self.is_sparse(values);
        Node::Object(Object { shape, first: self.tree.nodes.len() as u32, flat, keyed })
    }

    /// Whether the table of these rows is sparse. All of them are objects. Keys that cannot be columns do not
    /// count.
    fn is_sparse(&self, rows: &[Node<'_>]) -> bool {
        let shapes = || {
            rows.iter().filter_map(|row| match row {
                Node::Object(object) => Some(object.shape),
                _ => None,
            })
        };
        // Each column occurs in at least one row, so at least one in `rows.len()` cells is present.
        if rows.len() as u64 <= SPARSENESS || shapes().all(|shape| Some(shape) == shapes().next()) {
            return false;
        }
        let columns =
            |shape| self.tree.shape(shape).iter().filter(|&&key| !self.tree.key(key).path);
        let mut last = NONE;
        let (mut seen, mut names) = (HashSet::new(), HashSet::<KeyId>::new());
        let mut present = 0;
        for shape in shapes() {
            present += columns(shape).count() as u64;
            if shape != last && seen.insert(shape) {
                names.extend(columns(shape));
            }
            last = shape;
        }
        is_sparse((rows.len() * names.len()) as u64, present)
    }

    fn shape_of(&mut self, first_key: usize, context: KeyId) -> Result<ShapeId, Error> {
        let keys = &self.key_stack[first_key..];
        let depth = self.open.len();
        let by_key = self.shape_under_key.get(context as usize).copied().unwrap_or(NONE);
        let by_depth = self.shape_at_depth.get(depth).copied().unwrap_or(NONE);
        if by_key != NONE && self.tree.shape(by_key) == keys {
            return Ok(by_key);
        }
        if by_depth != NONE && self.tree.shape(by_depth) == keys {
            self.remember(by_depth, context, depth);
            return Ok(by_depth);
        }
        let shape = match self.shape_ids.get(keys) {
            Some(&shape) => shape,
            None => self.new_shape(first_key)?,
        };
        self.remember(shape, context, depth);
        Ok(shape)
    }

    fn remember(&mut self, shape: ShapeId, context: KeyId, depth: usize) {
        if context != NONE {
            if self.shape_under_key.len() <= context as usize {
                self.shape_under_key.resize(self.tree.keys.len(), NONE);
            }
            self.shape_under_key[context as usize] = shape;
        }
        if self.shape_at_depth.len() <= depth {
            self.shape_at_depth.resize(depth + 1, NONE);
        }
        self.shape_at_depth[depth] = shape;
    }

    #[expect(clippy::cast_possible_truncation, reason = "fewer than the nodes, which are checked")]
    fn new_shape(&mut self, first_key: usize) -> Result<ShapeId, Error> {
        let keys = &self.key_stack[first_key..];
        let id = self.tree.shapes.len() as ShapeId;
        self.last_shape_with_key.resize(self.tree.keys.len(), NONE);
        for &key in keys {
            if std::mem::replace(&mut self.last_shape_with_key[key as usize], id) == id {
                let name = excerpt(self.tree.key(key).text);
                let message = format!("duplicate member {name}");
                return Err(self.container_error(Code::DuplicateKey, message));
            }
        }
        let start = self.tree.shape_keys.len() as u32;
        self.tree.shape_keys.extend_from_slice(keys);
        let columns = keys.iter().any(|&key| !self.tree.key(key).path);
        let paths = keys.iter().any(|&key| self.tree.key(key).path);
        let end = start + keys.len() as u32;
        self.tree.shapes.push(Shape { keys: start..end, columns, paths });
        self.shape_ids.insert(keys.into(), id);
        Ok(id)
    }

    /// An error whose place is the next value.
    #[cold]
    pub fn error(&self, code: Code, message: String) -> Error {
        Error { code, message, place: Place::Value(self.path(self.open.len())) }
    }

    /// An error whose place is the innermost container.
    #[cold]
    pub fn container_error(&self, code: Code, message: String) -> Error {
        let levels = self.open.len().saturating_sub(1);
        Error { code, message, place: Place::Value(self.path(levels)) }
    }

    /// The path of the next value within the outer `levels` containers: `$.orders[3].total`.
    fn path(&self, levels: usize) -> String {
        let mut path = "$".to_owned();
        for (level, open) in self.open.iter().take(levels).enumerate() {
            let next = self.open.get(level + 1);
            if open.is_object {
                let keys = next.map_or(self.key_stack.len(), |next| next.first_key);
                if keys > open.first_key {
                    push_path_key(self.tree.key(self.key_stack[keys - 1]).text, &mut path);
                }
            } else {
                let index = next.map_or(self.stack.len(), |next| next.first) - open.first;
                path.extend(["[", itoa::Buffer::new().format(index), "]"]);
            }
        }
        path
    }
}

/// Appends a member's key to a path.
pub(crate) fn push_path_key(key: &str, path: &mut String) {
    if string::is_bare_key(key) && key.len() <= 40 {
        path.push('.');
        path.push_str(key);
    } else {
        path.extend(["[", &excerpt(key), "]"]);
    }
}

impl Sink for Builder<'_> {
    type Error = Error;

    fn null(&mut self) -> Result<(), Error> {
        self.expect(1)?;
        self.push(Node::Null);
        Ok(())
    }

    fn bool(&mut self, value: bool) -> Result<(), Error> {
        self.expect(1)?;
        self.push(Node::Bool(value));
        Ok(())
    }

    fn int(&mut self, value: i64) -> Result<(), Error> {
        self.expect(1)?;
        self.push(Node::Int(value));
        Ok(())
    }

    fn big_int(&mut self, digits: &str) -> Result<(), Error> {
        Err(self.error(Code::OutOfRange, out_of_range_message(digits)))
    }

    fn float(&mut self, value: f64) -> Result<(), Error> {
        self.expect(1)?;
        self.push_float(value)
    }

    fn string(&mut self, text: &str) -> Result<(), Error> {
        self.push_copy(text)
    }

    fn begin_array(&mut self) -> Result<(), Error> {
        self.begin(false)
    }

    fn end_array(&mut self) -> Result<(), Error> {
        self.end()
    }

    fn begin_object(&mut self) -> Result<(), Error> {
        self.begin(true)
    }

    fn key(&mut self, key: &str) -> Result<(), Error> {
        self.push_key(key)
    }

    fn end_object(&mut self) -> Result<(), Error> {
        self.end()
    }
}

/// The error message for an integer outside the 64-bit range.
pub fn out_of_range_message(digits: &str) -> String {
    let digits = if digits.len() > 40 { excerpt(digits) } else { digits.to_owned() };
    format!("the integer {digits} is not within -2^63 to 2^63 - 1; write it as a string")
}
