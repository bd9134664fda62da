//! A declaration, ready to read rows with: which cell is which member, and which cells one object.
//!
//! Columns `"a>b"`, `"a>c"` are the leaves of a member `a` (GCF 3.6 section 7.4.6).

use crate::excerpt::excerpt;
use crate::gcf::error::{Code, Fault};
use crate::gcf::syntax::declaration::Field;
use crate::gcf::syntax::name_index::NameIndex;
use crate::gcf::syntax::scalar::Token;
use std::borrow::Cow;

/// The columns of a table. `N` is a key that the sink knows.
pub(crate) struct TableColumns<N> {
    /// Members of a row in their order.
    pub members: Vec<Member<N>>,
    /// Nodes of all paths; a member points to its first.
    pub paths: Vec<PathNode<N>>,
    /// How many cells a row has, without that of a keyed table's label.
    pub width: usize,
    /// All members are cells, each its own.
    pub plain: bool,
    /// The names of cells that may hold a marker, in the order of members.
    names: NameIndex<'static>,
    /// For each of those names, its member.
    named: Vec<usize>,
}

pub(crate) struct Member<N> {
    pub name: String,
    pub key: N,
    pub source: Source,
}

/// Where a member's value comes from.
pub(crate) enum Source {
    Cell(usize),
    Constant(Token<'static>),
    Path(usize),
}

/// A member of a path's object: a leaf, or an object of other nodes.
pub(crate) struct PathNode<N> {
    pub key: N,
    pub name: String,
    pub value: PathValue,
    /// All cells below.
    pub cells: Vec<usize>,
}

pub(crate) enum PathValue {
    Leaf(usize),
    Object(Vec<usize>),
}

impl<N> TableColumns<N> {
    /// Makes columns of declared fields; `known` tells a key to the sink.
    pub(crate) fn new<E: From<Box<Fault>>>(
        fields: Vec<Field<'_>>,
        max_depth: usize,
        known: &mut impl FnMut(&str) -> Result<N, E>,
    ) -> Result<Self, E> {
        let mut columns = Self {
            members: Vec::with_capacity(fields.len()),
            paths: Vec::new(),
            width: 0,
            plain: true,
            names: NameIndex::new(),
            named: Vec::new(),
        };
        // The first segments of members: a path may not begin with another member's name.
        let mut firsts = NameIndex::new();
        let mut declared = NameIndex::new();
        for field in fields {
            if !declared.add(field.name.clone()) {
                return Err(duplicate(&field));
            }
            columns.add(field, &mut firsts, max_depth, known)?;
        }
        Ok(columns)
    }

    fn add<'t, E: From<Box<Fault>>>(
        &mut self,
        field: Field<'t>,
        firsts: &mut NameIndex<'t>,
        max_depth: usize,
        known: &mut impl FnMut(&str) -> Result<N, E>,
    ) -> Result<(), E> {
        let cell = self.width;
        if field.constant.is_none() {
            self.width += 1;
        }
        let is_path = field.quoted && field.constant.is_none() && is_path(&field.name);
        if is_path {
            self.plain = false;
            let depth = field.name.split('>').count();
            if depth >= max_depth {
                let message = format!("a path of more than {max_depth} segments");
                return Err(Fault::new(Code::LimitExceeded, field.at, message).into());
            }
            let first = field.name.split('>').next().unwrap_or_default().to_owned();
            let root = if let Some(member) = firsts.find(&first) {
                let Source::Path(root) = self.members[member].source else {
                    return Err(duplicate(&field));
                };
                root
            } else {
                let key = known(&first)?;
                let node = self.node(&first, known)?;
                let source = Source::Path(node);
                self.members.push(Member { name: first.clone(), key, source });
                firsts.add(first.into());
                node
            };
            return self.add_path(&field, root, cell, known);
        }
        if !firsts.add(field.name.clone()) {
            return Err(duplicate(&field));
        }
        let source = if let Some(token) = field.constant {
            self.plain = false;
            Source::Constant(token.into_owned())
        } else {
            self.named.push(self.members.len());
            self.names.add(Cow::Owned(field.name.clone().into_owned()));
            Source::Cell(cell)
        };
        let key = known(&field.name)?;
        self.members.push(Member { name: field.name.into_owned(), key, source });
        Ok(())
    }

    fn node<E>(
        &mut self,
        name: &str,
        known: &mut impl FnMut(&str) -> Result<N, E>,
    ) -> Result<usize, E> {
        let (key, name) = (known(name)?, name.to_owned());
        let value = PathValue::Object(Vec::new());
        self.paths.push(PathNode { key, name, value, cells: Vec::new() });
        Ok(self.paths.len() - 1)
    }

    fn add_path<E: From<Box<Fault>>>(
        &mut self,
        field: &Field<'_>,
        root: usize,
        cell: usize,
        known: &mut impl FnMut(&str) -> Result<N, E>,
    ) -> Result<(), E> {
        let mut at = root;
        self.paths[root].cells.push(cell);
        for segment in field.name.split('>').skip(1) {
            let PathValue::Object(children) = &self.paths[at].value else {
                return Err(duplicate(field));
            };
            let found = children.iter().copied().find(|&child| self.paths[child].name == segment);
            let child = if let Some(child) = found {
                child
            } else {
                let child = self.node(segment, known)?;
                if let PathValue::Object(children) = &mut self.paths[at].value {
                    children.push(child);
                }
                child
            };
            self.paths[child].cells.push(cell);
            at = child;
        }
        match &self.paths[at].value {
            PathValue::Object(children) if children.is_empty() => {
                self.paths[at].value = PathValue::Leaf(cell);
                Ok(())
            }
            _ => Err(duplicate(field)),
        }
    }

    /// The member whose cell has this name and may hold a marker.
    pub(crate) fn find(&self, name: &str) -> Option<usize> {
        self.names.find(name).map(|named| self.named[named])
    }

    /// The cell of a member, if it has one of its own.
    pub(crate) fn cell(&self, member: usize) -> Option<usize> {
        match self.members[member].source {
            Source::Cell(cell) => Some(cell),
            _ => None,
        }
    }
}

/// A name of several segments, none of them empty.
pub(crate) fn is_path(name: &str) -> bool {
    name.contains('>') && name.split('>').all(|segment| !segment.is_empty())
}

#[cold]
fn duplicate<E: From<Box<Fault>>>(field: &Field<'_>) -> E {
    let message =
        format!("the field {} is declared twice, or is also a path", excerpt(&field.name));
    Fault::new(Code::DuplicateFieldName, field.at, message).into()
}
