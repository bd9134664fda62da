//! The value as the encoder sees it: flat, with every object's keys told once.
//!
//! The canonical form needs to see a table whole before its first line, so that a value is looked at
//! several times. It is walked once, into arrays: scalars are copied, texts borrowed, the values of
//! an object or array stand side by side, and objects with the same keys in the same order share a
//! shape. Whether rows make a table, and what each column is, is then mostly a matter of comparing
//! shapes; and nothing of where the value came from is touched again.
//!
//! Invariant: numbers are in the domain of GCF, keys of an object are different, the depth is bounded.

use crate::excerpt::excerpt;
use crate::gcf::error::{Code, Error, Place};
use crate::gcf::limits::Limits;
use crate::gcf::syntax::{number, string};
use crate::walk::Sink;
use bumpalo::Bump;
use hashbrown::HashMap;
use std::ops::Range;

/// A key of a [`Tree`].
pub type KeyId = u32;
/// The keys of an object, in their order, in a [`Tree`].
pub type ShapeId = u32;

const NONE: u32 = u32::MAX;

/// A value; what is in it stands elsewhere in the tree.
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
    /// An array, held by the tree.
    Array(Array),
    /// An object, held by the tree.
    Object(Object),
}

/// An array: `len` nodes from `first` on.
#[derive(Debug, Clone, Copy)]
pub struct Array {
    first: u32,
    len: u32,
    pub kind: Elements,
}

/// Which form an array has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Elements {
    /// No elements.
    Empty,
    /// All are scalars.
    Scalars,
    /// All are objects, and one has a name that can be a column.
    Rows,
    /// Anything else.
    Mixed,
}

/// An object: the values of its shape's keys from `first` on.
#[derive(Debug, Clone, Copy)]
pub struct Object {
    pub shape: ShapeId,
    first: u32,
    /// All values are scalars.
    pub flat: bool,
    /// The values are rows of a keyed table.
    pub keyed: bool,
}

impl Node<'_> {
    pub(crate) fn is_scalar(&self) -> bool {
        !matches!(self, Self::Array(_) | Self::Object(_))
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

/// A key, and what its text makes of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Key<'a> {
    pub text: &'a str,
    /// It can stand without quotes.
    pub bare: bool,
    /// It has a `>` and can be no column.
    pub path: bool,
}

#[derive(Debug, Clone)]
struct Shape {
    keys: Range<u32>,
    /// It has a key that can be a column.
    columns: bool,
    /// It has a key that cannot.
    paths: bool,
}

/// A value, whole.
#[derive(Debug)]
pub struct Tree<'a> {
    nodes: Vec<Node<'a>>,
    keys: Vec<Key<'a>>,
    shapes: Vec<Shape>,
    shape_keys: Vec<KeyId>,
    /// The whole value.
    pub root: Node<'a>,
}

impl<'a> Tree<'a> {
    pub(crate) fn key(&self, id: KeyId) -> Key<'a> {
        self.keys[id as usize]
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

    /// The value at a position among an object's keys.
    pub(crate) fn value(&self, object: Object, position: usize) -> Node<'a> {
        self.nodes[object.first as usize + position]
    }
}

/// Builds a [`Tree`] from the events of one value.
pub struct Builder<'a> {
    bump: &'a Bump,
    tree: Tree<'a>,
    /// Values whose container is open.
    stack: Vec<Node<'a>>,
    /// Keys of the objects that are open.
    key_stack: Vec<KeyId>,
    open: Vec<Open>,
    key_ids: HashMap<&'a str, KeyId>,
    shape_ids: HashMap<Box<[KeyId]>, ShapeId>,
    /// The last shape of an object under a key; of elements, under that of their array.
    under_key: Vec<ShapeId>,
    /// The last shape of an object at a depth.
    at_depth: Vec<ShapeId>,
    /// The last new shape with a key.
    shape_with: Vec<ShapeId>,
    limits: Limits,
}

#[derive(Debug, Clone, Copy)]
struct Open {
    first: usize,
    first_key: usize,
    /// The key that this stands under.
    context: KeyId,
    is_object: bool,
}

impl<'a> Builder<'a> {
    /// Nothing yet. Texts that are not borrowed are kept in `bump`.
    pub fn new(bump: &'a Bump, limits: Limits) -> Self {
        let tree = Tree {
            nodes: Vec::new(),
            keys: Vec::new(),
            shapes: Vec::new(),
            shape_keys: Vec::new(),
            root: Node::Null,
        };
        Self {
            bump,
            tree,
            stack: Vec::new(),
            key_stack: Vec::new(),
            open: Vec::new(),
            key_ids: HashMap::new(),
            shape_ids: HashMap::new(),
            under_key: Vec::new(),
            at_depth: Vec::new(),
            shape_with: Vec::new(),
            limits,
        }
    }

    /// The tree, once the value has been told whole.
    pub fn finish(mut self) -> Tree<'a> {
        self.tree.root = self.stack.pop().unwrap_or(Node::Null);
        self.tree
    }

    /// Adds a scalar.
    pub fn push(&mut self, scalar: Node<'a>) {
        self.stack.push(scalar);
    }

    /// Adds a copy of a text.
    pub fn push_copy(&mut self, text: &str) {
        let text = self.bump.alloc_str(text);
        self.stack.push(Node::String(text));
    }

    /// Adds a double.
    ///
    /// # Errors
    /// `not_finite`.
    pub fn push_float(&mut self, value: f64) -> Result<(), Error> {
        if !value.is_finite() {
            let message = format!("{value} is no number; use null or a text");
            return Err(self.error(Code::NotFinite, message));
        }
        self.stack.push(Node::Float(value));
        Ok(())
    }

    /// The shape that the object that just began probably has.
    pub fn expected(&self) -> Option<ShapeId> {
        let context = self.open.last()?.context;
        let under = self.under_key.get(context as usize).copied().unwrap_or(NONE);
        let beside = || self.at_depth.get(self.open.len()).copied().unwrap_or(NONE);
        Some(if under == NONE { beside() } else { under }).filter(|&shape| shape != NONE)
    }

    /// A key of [`Builder::expected`].
    pub fn expected_key(&self, shape: ShapeId, position: usize) -> Option<KeyId> {
        self.tree.shape(shape).get(position).copied()
    }

    /// Adds a key that has been seen.
    pub fn push_key(&mut self, id: KeyId) {
        self.key_stack.push(id);
    }

    /// Adds a key, a copy of which is kept.
    pub fn push_key_copy(&mut self, key: &str) {
        let id = match self.key_ids.get(key) {
            Some(&id) => id,
            None => self.key_of(self.bump.alloc_str(key)),
        };
        self.push_key(id);
    }

    /// The id of a key whose text outlives the tree.
    pub fn key_of(&mut self, key: &'a str) -> KeyId {
        if let Some(&id) = self.key_ids.get(key) {
            return id;
        }
        #[expect(clippy::cast_possible_truncation, reason = "fewer than the nodes, checked there")]
        let id = self.tree.keys.len() as KeyId;
        let path = key.contains('>');
        self.tree.keys.push(Key { text: key, bare: string::is_bare_key(key), path });
        self.key_ids.insert(key, id);
        id
    }

    /// A container begins.
    ///
    /// # Errors
    /// `limit_exceeded` when it is too deep.
    pub fn begin(&mut self, is_object: bool) -> Result<(), Error> {
        if self.open.len() >= self.limits.max_depth {
            let message = format!("nested more than {} levels deep", self.limits.max_depth);
            return Err(self.error(Code::LimitExceeded, message));
        }
        let context = match self.open.last() {
            Some(Open { is_object: true, .. }) => self.key_stack.last().copied().unwrap_or(NONE),
            Some(array) => array.context,
            None => NONE,
        };
        let (first, first_key) = (self.stack.len(), self.key_stack.len());
        self.open.push(Open { first, first_key, context, is_object });
        Ok(())
    }

    /// The innermost container ends.
    ///
    /// # Errors
    /// `duplicate_key` for an object that has one twice, `limit_exceeded` when the value has more than
    /// 2^32 parts.
    pub fn end(&mut self) -> Result<(), Error> {
        self.end_as(None)
    }

    /// [`Builder::end`], of an object that is known to have just the keys of `shape`.
    ///
    /// # Errors
    /// As [`Builder::end`].
    pub fn end_as(&mut self, shape: Option<ShapeId>) -> Result<(), Error> {
        let Some(&Open { first, first_key, context, is_object }) = self.open.last() else {
            return Ok(());
        };
        let node = if is_object {
            let shape = match shape {
                Some(shape) => {
                    self.remember(shape, context, self.open.len());
                    shape
                }
                None => self.shape_of(first_key, context)?,
            };
            self.object(shape, first)
        } else {
            self.array(first)
        };
        if self.tree.nodes.len() + (self.stack.len() - first) >= NONE as usize {
            return Err(self.error(Code::LimitExceeded, "the value has too many parts".into()));
        }
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
            None => Elements::Empty,
            Some(Node::Object(_)) => {
                let rows = elements.iter().all(|node| matches!(node, Node::Object(_)));
                if rows && elements.iter().any(has_columns) {
                    Elements::Rows
                } else {
                    Elements::Mixed
                }
            }
            Some(Node::Array(_)) => Elements::Mixed,
            Some(_) if elements.iter().all(Node::is_scalar) => Elements::Scalars,
            Some(_) => Elements::Mixed,
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
            && values.iter().any(has_columns);
        Node::Object(Object { shape, first: self.tree.nodes.len() as u32, flat, keyed })
    }

    fn shape_of(&mut self, first_key: usize, context: KeyId) -> Result<ShapeId, Error> {
        let keys = &self.key_stack[first_key..];
        let depth = self.open.len();
        let under = self.under_key.get(context as usize).copied().unwrap_or(NONE);
        let beside = self.at_depth.get(depth).copied().unwrap_or(NONE);
        if under != NONE && self.tree.shape(under) == keys {
            return Ok(under);
        }
        if beside != NONE && self.tree.shape(beside) == keys {
            self.remember(beside, context, depth);
            return Ok(beside);
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
            if self.under_key.len() <= context as usize {
                self.under_key.resize(self.tree.keys.len(), NONE);
            }
            self.under_key[context as usize] = shape;
        }
        if self.at_depth.len() <= depth {
            self.at_depth.resize(depth + 1, NONE);
        }
        self.at_depth[depth] = shape;
    }

    #[expect(clippy::cast_possible_truncation, reason = "fewer than the nodes, which are checked")]
    fn new_shape(&mut self, first_key: usize) -> Result<ShapeId, Error> {
        let keys = &self.key_stack[first_key..];
        let id = self.tree.shapes.len() as ShapeId;
        self.shape_with.resize(self.tree.keys.len(), NONE);
        for &key in keys {
            if std::mem::replace(&mut self.shape_with[key as usize], id) == id {
                let name = excerpt(self.tree.key(key).text);
                let message = format!("two members are named {name}");
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

    /// An error at the value that would come next.
    #[cold]
    pub fn error(&self, code: Code, message: String) -> Error {
        Error { code, message, place: Place::Value(self.path(self.open.len())) }
    }

    /// An error at the innermost container.
    #[cold]
    pub fn container_error(&self, code: Code, message: String) -> Error {
        let levels = self.open.len().saturating_sub(1);
        Error { code, message, place: Place::Value(self.path(levels)) }
    }

    /// Where the value that comes next stands, so many levels deep: `$.orders[3].total`.
    fn path(&self, levels: usize) -> String {
        let mut path = "$".to_owned();
        for (level, open) in self.open.iter().take(levels).enumerate() {
            let next = self.open.get(level + 1);
            if open.is_object {
                let keys = next.map_or(self.key_stack.len(), |next| next.first_key);
                if keys > open.first_key {
                    step(self.tree.key(self.key_stack[keys - 1]).text, &mut path);
                }
            } else {
                let index = next.map_or(self.stack.len(), |next| next.first) - open.first;
                path.extend(["[", itoa::Buffer::new().format(index), "]"]);
            }
        }
        path
    }
}

/// Appends the step to a member.
fn step(key: &str, path: &mut String) {
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
        self.push(Node::Null);
        Ok(())
    }

    fn bool(&mut self, value: bool) -> Result<(), Error> {
        self.push(Node::Bool(value));
        Ok(())
    }

    fn int(&mut self, value: i64) -> Result<(), Error> {
        self.push(Node::Int(value));
        Ok(())
    }

    fn big_int(&mut self, digits: &str) -> Result<(), Error> {
        Err(self.error(Code::OutOfRange, too_large(digits)))
    }

    fn float(&mut self, value: f64) -> Result<(), Error> {
        self.push_float(value)
    }

    fn string(&mut self, text: &str) -> Result<(), Error> {
        self.push_copy(text);
        Ok(())
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
        self.push_key_copy(key);
        Ok(())
    }

    fn end_object(&mut self) -> Result<(), Error> {
        self.end()
    }
}

/// What to say of an integer beyond 64 bits.
pub fn too_large(digits: &str) -> String {
    let digits = if digits.len() > 40 { excerpt(digits) } else { digits.to_owned() };
    format!("the integer {digits} is not within -2^63 to 2^63 - 1; write it as a text")
}
