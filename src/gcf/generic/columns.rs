//! The columns of a table, prepared for reading rows: which cells make up which member.
//!
//! Flattened columns `"a>b"`, `"a>c"` are the leaves of one member `a` (GCF 3.6 section 7.4.6).

use crate::excerpt::excerpt;
use crate::gcf::error::{Code, Fault};
use crate::gcf::syntax::declaration::Field;
use crate::gcf::syntax::name_index::NameIndex;
use crate::gcf::syntax::scalar::Token;
use std::borrow::Cow;

/// The columns of a table. `N` is a key prepared by the sink.
pub(crate) struct TableColumns<N> {
    /// The members of a row in their order.
    pub members: Vec<Member<N>>,
    /// The nodes of all flattened members; [`Source::Path`] is the index of a member's root.
    pub paths: Vec<PathNode<N>>,
    /// The number of cells of a row, without the key of a keyed table.
    pub width: usize,
    /// Whether each member has one cell of its own.
    pub plain: bool,
    /// The names of the members with a cell of their own, which may hold an attachment marker.
    cell_names: NameIndex<'static>,
    /// The member of each of those names.
    cell_members: Vec<usize>,
}

pub(crate) struct Member<N> {
    pub name: String,
    pub key: N,
    pub source: Source,
}

/// Where the value of a member comes from.
pub(crate) enum Source {
    /// A cell.
    Cell(usize),
    /// A constant column.
    Constant(Token<'static>),
    /// Flattened columns, with the index of their root node.
    Path(usize),
}

/// A node of a flattened member: a leaf, or an object of other nodes.
pub(crate) struct PathNode<N> {
    pub key: N,
    pub name: String,
    pub value: PathValue,
    /// The cells of all leaves below.
    pub cells: Vec<usize>,
}

pub(crate) enum PathValue {
    Leaf(usize),
    Object(Vec<usize>),
}

impl<N> TableColumns<N> {
    /// Prepares declared fields. `prepare` passes a key to the sink, which prepares it.
    pub(crate) fn new<E: From<Box<Fault>>>(
        fields: Vec<Field<'_>>,
        max_depth: usize,
        prepare: &mut impl FnMut(&str) -> Result<N, E>,
    ) -> Result<Self, E> {
        let mut columns = Self {
            members: Vec::with_capacity(fields.len()),
            paths: Vec::new(),
            width: 0,
            plain: true,
            cell_names: NameIndex::new(),
            cell_members: Vec::new(),
        };
        // The names of members. For a flattened member it is the first segment of its paths.
        let mut member_names = NameIndex::new();
        let mut declared = NameIndex::new();
        for field in fields {
            if !declared.add(field.name.clone()) {
                return Err(duplicate(&field));
            }
            columns.add(field, &mut member_names, max_depth, prepare)?;
        }
        Ok(columns)
    }

    fn add<'t, E: From<Box<Fault>>>(
        &mut self,
        field: Field<'t>,
        member_names: &mut NameIndex<'t>,
        max_depth: usize,
        prepare: &mut impl FnMut(&str) -> Result<N, E>,
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
                let message = format!("a path has {max_depth} or more segments, nested too deep");
                return Err(Fault::new(Code::LimitExceeded, field.at, message).into());
            }
            let first = field.name.split('>').next().unwrap_or_default().to_owned();
            let root = if let Some(member) = member_names.find(&first) {
                let Source::Path(root) = self.members[member].source else {
                    return Err(duplicate(&field));
                };
                root
            } else {
                let key = prepare(&first)?;
                let node = self.node(&first, prepare)?;
                let source = Source::Path(node);
                self.members.push(Member { name: first.clone(), key, source });
                member_names.add(first.into());
                node
            };
            return self.add_path(&field, root, cell, prepare);
        }
        if !member_names.add(field.name.clone()) {
            return Err(duplicate(&field));
        }
        let source = if let Some(token) = field.constant {
            self.plain = false;
            Source::Constant(token.into_owned())
        } else {
            self.cell_members.push(self.members.len());
            self.cell_names.add(Cow::Owned(field.name.clone().into_owned()));
            Source::Cell(cell)
        };
        let key = prepare(&field.name)?;
        self.members.push(Member { name: field.name.into_owned(), key, source });
        Ok(())
    }

    fn node<E>(
        &mut self,
        name: &str,
        prepare: &mut impl FnMut(&str) -> Result<N, E>,
    ) -> Result<usize, E> {
        let (key, name) = (prepare(name)?, name.to_owned());
        let value = PathValue::Object(Vec::new());
        self.paths.push(PathNode { key, name, value, cells: Vec::new() });
        Ok(self.paths.len() - 1)
    }

    fn add_path<E: From<Box<Fault>>>(
        &mut self,
        field: &Field<'_>,
        root: usize,
        cell: usize,
        prepare: &mut impl FnMut(&str) -> Result<N, E>,
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
                let child = self.node(segment, prepare)?;
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

    /// The member with a cell of its own and this name.
    pub(crate) fn find(&self, name: &str) -> Option<usize> {
        self.cell_names.find(name).map(|index| self.cell_members[index])
    }

    /// The cell of a member that has one of its own.
    pub(crate) fn cell(&self, member: usize) -> Option<usize> {
        match self.members[member].source {
            Source::Cell(cell) => Some(cell),
            _ => None,
        }
    }
}

/// Whether a name has several segments, none of them empty.
pub(crate) fn is_path(name: &str) -> bool {
    name.contains('>') && name.split('>').all(|segment| !segment.is_empty())
}

#[cold]
fn duplicate<E: From<Box<Fault>>>(field: &Field<'_>) -> E {
    let name = excerpt(&field.name);
    let message = format!("duplicate field {name}, or a field and a path have the same name");
    Fault::new(Code::DuplicateFieldName, field.at, message).into()
}
