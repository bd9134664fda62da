//! The columns of a table, prepared for reading rows: which cells make up which member.
//!
//! Flattened columns `"a>b"`, `"a>c"` are the leaves of one member `a` (GCF 3.6 section 7.4.6).

use crate::excerpt::excerpt;
use crate::gcf::error::{Code, Fault};
use crate::gcf::syntax::declaration::Field;
use crate::gcf::syntax::name_index::NameIndex;
use crate::gcf::syntax::scalar::Token;
use crate::gcf::syntax::string;
use crate::interrupt::{poll, polled};
use crate::memory::{self, push, require};
use crate::walk::Scalar;
use hashbrown::HashMap;
use std::ops::Range;

/// A key or scalar for a sink to prepare.
pub(crate) enum Prepare<'t> {
    Key(&'t str),
    Constant(Scalar<'t>),
}

/// The columns of a table. `N` is a key or constant prepared by the sink.
pub(crate) struct TableColumns<N> {
    /// The members of a row in their order.
    pub members: Vec<Member<N>>,
    /// The names of all members.
    names: String,
    /// The nodes of all flattened members; [`Source::Path`] is the index of a member's root.
    pub paths: Vec<PathNode<N>>,
    /// The leaves among `paths`.
    leaves: Vec<PathLeaf>,
    /// The number of cells of a row, without the key of a keyed table.
    pub width: usize,
    /// Whether each cell holds a list; the cells after the last list are left out.
    pub lists: Vec<bool>,
    /// Whether each member has one cell of its own.
    pub plain: bool,
    /// The expansion of each row as [`Limits::max_expansion`] defines it, without the objects of paths.
    ///
    /// [`Limits::max_expansion`]: crate::gcf::Limits::max_expansion
    pub expansion: u64,
    /// The additional expansion of a row that has all objects of the paths.
    pub path_expansion: u64,
    /// The members after the first [`SCANNED`], by their names.
    later: HashMap<Box<str>, usize>,
    /// How an ordinary row is read; `None` if all rows are read by the general reader.
    pub plan: Option<Plan>,
}

pub(crate) struct Member<N> {
    /// Its place in the names of all members.
    name: Range<usize>,
    /// Whether the name is written without quotes where a value is attached.
    pub has_bare_key: bool,
    pub key: N,
    pub source: Source<N>,
}

/// Where the value of a member comes from.
pub(crate) enum Source<N> {
    /// A cell.
    Cell(usize),
    /// The cell of a list column.
    List(usize),
    /// A constant column.
    Constant(N),
    /// Flattened columns, with the index of their root node.
    Path(usize),
}

/// A node of a flattened member: a leaf, or an object of other nodes.
pub(crate) struct PathNode<N> {
    pub key: N,
    pub value: PathValue,
    pub expansion: u64,
    /// The object that holds it; `None` for a root.
    parent: Option<usize>,
    /// The number of leaves, if it is a root.
    leaves: u32,
}

pub(crate) enum PathValue {
    Leaf(usize),
    Object(Vec<usize>),
}

impl<N> PathNode<N> {
    /// The number of leaves, if it is a root.
    pub(crate) fn root_leaves(&self) -> Option<usize> {
        self.parent.is_none().then_some(self.leaves as usize)
    }
}

struct PathLeaf {
    cell: usize,
    node: usize,
    root: usize,
}

/// Which nodes of flattened members the current row has.
#[derive(Default)]
pub(crate) struct PathMarks {
    row: u64,
    nodes: Vec<PathMark>,
}

#[derive(Clone, Copy, Default)]
struct PathMark {
    /// The last row that has the node.
    row: u64,
    /// How many leaves of a root are null in that row.
    nulls: u32,
}

impl PathMarks {
    /// Marks the nodes that a row has. The work is linear in the number of cells and marked nodes.
    pub(crate) fn mark<N>(&mut self, columns: &TableColumns<N>, cells: &[Token<'_>]) {
        self.row += 1;
        require(self.nodes.try_reserve(columns.paths.len().saturating_sub(self.nodes.len())));
        self.nodes.resize(columns.paths.len(), PathMark::default());
        for leaf in &columns.leaves {
            if cells[leaf.cell] == Token::Missing {
                continue;
            }
            let mut next = Some(leaf.node);
            while let Some(at) = next.filter(|&at| self.nodes[at].row != self.row) {
                self.nodes[at] = PathMark { row: self.row, nulls: 0 };
                next = columns.paths[at].parent;
            }
            if cells[leaf.cell] == Token::Null {
                self.nodes[leaf.root].nulls += 1;
            }
        }
    }

    /// Whether the row has a node.
    pub(crate) fn has(&self, node: usize) -> bool {
        self.nodes[node].row == self.row
    }

    /// Whether all leaves of a root are null.
    pub(crate) fn is_null<N>(&self, columns: &TableColumns<N>, root: usize) -> bool {
        self.nodes[root].nulls == columns.paths[root].leaves
    }
}

/// How many members are compared one by one, which is faster than hashing. Most tables have fewer.
const SCANNED: usize = 12;

/// The bytes of memory that a field takes at most, without its name.
pub(crate) const FIELD_SIZE: usize = 512;

/// How many steps are planned between two polls.
const POLLED: usize = 4096;

/// How much the expansion counts for a value, and in addition for an object.
pub(crate) const VALUE_SIZE: u64 = 16;
pub(crate) const OBJECT_SIZE: u64 = 128;

/// Prepares declared fields.
struct Planner<'p, 't, N, F> {
    columns: TableColumns<N>,
    /// The declared names with `>`: a path, and a member whose name is not one.
    with_bracket: NameIndex<'t>,
    /// The children of the path nodes, by the node and the name; `None` before the first.
    children: Option<HashMap<(usize, Box<str>), usize>>,
    max_depth: usize,
    prepare: &'p mut F,
}

impl<N> TableColumns<N> {
    /// Prepares declared fields. `prepare` passes a key or constant to the sink, which prepares it.
    pub(crate) fn new<E: From<Box<Fault>>>(
        fields: &[Field<'_>],
        max_depth: usize,
        prepare: &mut impl FnMut(Prepare<'_>) -> Result<N, E>,
    ) -> Result<Self, E> {
        let names: usize = fields.iter().map(|field| field.name.len()).sum();
        memory::ensure(FIELD_SIZE * fields.len() + 4 * names).map_err(Box::<Fault>::from)?;
        let columns = Self {
            members: Vec::with_capacity(fields.len()),
            names: String::with_capacity(names),
            paths: Vec::new(),
            leaves: Vec::new(),
            width: 0,
            lists: Vec::new(),
            plain: true,
            expansion: 0,
            path_expansion: 0,
            later: HashMap::new(),
            plan: None,
        };
        let mut planner =
            Planner { columns, with_bracket: NameIndex::new(), children: None, max_depth, prepare };
        for field in polled(fields) {
            planner.add(field)?;
        }
        let mut columns = planner.columns;
        columns.plan = Plan::new(&columns);
        Ok(columns)
    }
}

impl<'t, N, E, F> Planner<'_, 't, N, F>
where
    E: From<Box<Fault>>,
    F: FnMut(Prepare<'_>) -> Result<N, E>,
{
    #[inline]
    fn add(&mut self, field: &Field<'t>) -> Result<(), E> {
        // Two names without a bracket, as all without quotes, are two members, whose names are compared below.
        if field.quoted
            && field.name.contains('>')
            && !self.with_bracket.add(field.name.clone()).map_err(Box::<Fault>::from)?
        {
            return Err(duplicate(field));
        }
        let cell = self.columns.width;
        if field.constant.is_none() {
            self.columns.width += 1;
        }
        if field.quoted && field.constant.is_none() && is_path(&field.name) {
            self.columns.plain = false;
            return self.add_path(field, cell);
        }
        if self.columns.member(&field.name).is_some() {
            return Err(duplicate(field));
        }
        self.columns.expansion += field.name.len() as u64;
        let source = if let Some(constant) = field.constant.as_ref().and_then(Token::scalar) {
            self.columns.plain = false;
            self.columns.expansion += VALUE_SIZE + scalar_size(constant);
            Source::Constant((self.prepare)(Prepare::Constant(constant))?)
        } else if field.list {
            self.columns.plain = false;
            self.columns.lists.resize(cell, false);
            self.columns.lists.push(true);
            Source::List(cell)
        } else {
            Source::Cell(cell)
        };
        let key = (self.prepare)(Prepare::Key(&field.name))?;
        self.member(&field.name, !field.quoted, key, source)
    }

    /// Adds a member. Its name may be known to be `bare`.
    #[inline]
    fn member(&mut self, name: &str, bare: bool, key: N, source: Source<N>) -> Result<(), E> {
        let columns = &mut self.columns;
        let index = columns.members.len();
        if index >= SCANNED {
            let reserved = columns.later.try_reserve(1);
            reserved.map_err(|_| Box::<Fault>::from(memory::exhausted()))?;
            columns.later.insert(name.into(), index);
        }
        let start = columns.names.len();
        columns.names.push_str(name);
        let has_bare_key = bare || string::is_bare_key(name);
        columns.members.push(Member {
            name: start..columns.names.len(),
            has_bare_key,
            key,
            source,
        });
        Ok(())
    }

    fn node(&mut self, name: &str, parent: Option<usize>) -> Result<usize, E> {
        let key = (self.prepare)(Prepare::Key(name))?;
        self.columns.paths.try_reserve(1).map_err(Box::<Fault>::from)?;
        let value = PathValue::Object(Vec::new());
        let expansion = name.len() as u64;
        self.columns.paths.push(PathNode { key, value, expansion, parent, leaves: 0 });
        Ok(self.columns.paths.len() - 1)
    }

    fn add_path(&mut self, field: &Field<'t>, cell: usize) -> Result<(), E> {
        let depth = field.name.split('>').count();
        memory::ensure(FIELD_SIZE * depth).map_err(Box::<Fault>::from)?;
        if depth >= self.max_depth {
            let max_depth = self.max_depth;
            let message = format!("a path has {max_depth} or more segments, nested too deep");
            return Err(Fault::new(Code::LimitExceeded, field.at, message).into());
        }
        let root = self.path_root(field)?;
        self.columns.paths[root].leaves += 1;
        let mut at = root;
        for segment in field.name.split('>').skip(1) {
            if matches!(self.columns.paths[at].value, PathValue::Leaf(_)) {
                return Err(duplicate(field));
            }
            let place = (at, Box::from(segment));
            let known = self.children.as_ref().and_then(|children| children.get(&place));
            at = if let Some(&child) = known {
                child
            } else {
                let child = self.node(segment, Some(at))?;
                let parent = &mut self.columns.paths[at];
                if let PathValue::Object(children) = &mut parent.value {
                    if children.is_empty() {
                        parent.expansion += OBJECT_SIZE + VALUE_SIZE;
                        self.columns.path_expansion += parent.expansion;
                    }
                    children.try_reserve(1).map_err(Box::<Fault>::from)?;
                    children.push(child);
                }
                let children = self.children.get_or_insert_default();
                let reserved = children.try_reserve(1);
                reserved.map_err(|_| Box::<Fault>::from(memory::exhausted()))?;
                children.insert(place, child);
                child
            };
        }
        self.columns.leaves.try_reserve(1).map_err(Box::<Fault>::from)?;
        let node = &mut self.columns.paths[at];
        match &node.value {
            PathValue::Object(children) if children.is_empty() => {
                node.value = PathValue::Leaf(cell);
                self.columns.expansion += node.expansion;
                self.columns.leaves.push(PathLeaf { cell, node: at, root });
                Ok(())
            }
            _ => Err(duplicate(field)),
        }
    }

    /// The root node of a path.
    fn path_root(&mut self, field: &Field<'t>) -> Result<usize, E> {
        let first = field.name.split('>').next().unwrap_or_default();
        if let Some(member) = self.columns.member(first) {
            return match self.columns.members[member].source {
                Source::Path(root) => Ok(root),
                _ => Err(duplicate(field)),
            };
        }
        let key = (self.prepare)(Prepare::Key(first))?;
        let root = self.node(first, None)?;
        self.member(first, false, key, Source::Path(root))?;
        Ok(root)
    }
}

/// The size of a string; 0 for other scalars.
pub(crate) fn scalar_size(scalar: Scalar<'_>) -> u64 {
    match scalar {
        Scalar::String(text) => text.len() as u64,
        _ => 0,
    }
}

impl<N> TableColumns<N> {
    /// The member with this name. That of a flattened member is the first segment of its paths.
    fn member(&self, name: &str) -> Option<usize> {
        let names = self.names.as_bytes();
        let is_named = |member: &Member<N>| names[member.name.clone()] == *name.as_bytes();
        let first = self.members.iter().take(SCANNED).position(is_named);
        first.or_else(|| self.later.get(name).copied())
    }

    /// The name of a member.
    #[inline]
    pub(crate) fn name(&self, member: usize) -> &str {
        &self.names[self.members[member].name.clone()]
    }

    /// The member with a cell of its own and this name.
    pub(crate) fn find(&self, name: &str) -> Option<usize> {
        self.member(name).filter(|&member| matches!(self.members[member].source, Source::Cell(_)))
    }

    /// The cell of a member that has one of its own.
    pub(crate) fn cell(&self, member: usize) -> Option<usize> {
        match self.members[member].source {
            Source::Cell(cell) => Some(cell),
            _ => None,
        }
    }
}

/// How the cells of a row become members, in the order of the cells.
pub(crate) struct Plan {
    pub steps: Vec<Step>,
    /// How many containers a row nests, itself included.
    pub depth: usize,
}

/// A step through a row.
#[derive(Clone, Copy)]
pub(crate) enum Step {
    /// A member with a cell of its own.
    Cell { member: usize },
    /// A constant column.
    Constant { member: usize },
    /// The start of the object of a path node. The step `after` follows its end.
    Open { node: usize, after: usize },
    /// A cell of a path.
    Leaf { node: usize },
    /// The end of the innermost object of a path.
    Close,
}

impl Plan {
    /// Plans the rows of a table; `None` if its members do not follow the order of the cells, or if it has
    /// list columns.
    fn new<N>(columns: &TableColumns<N>) -> Option<Self> {
        let mut plan = Self { steps: Vec::new(), depth: 1 };
        require(plan.steps.try_reserve(columns.members.len()));
        let mut cells = 0..columns.width;
        for (member, declared) in columns.members.iter().enumerate() {
            match declared.source {
                Source::Constant(_) => push(&mut plan.steps, Step::Constant { member }),
                Source::Cell(cell) if cells.next() == Some(cell) => {
                    push(&mut plan.steps, Step::Cell { member });
                }
                Source::Path(root) if plan.add_node(columns, root, 1, &mut cells) => {}
                Source::Cell(_) | Source::List(_) | Source::Path(_) => return None,
            }
        }
        (columns.width > 0 && cells.is_empty()).then_some(plan)
    }

    fn add_node<N>(
        &mut self,
        columns: &TableColumns<N>,
        node: usize,
        depth: usize,
        cells: &mut impl Iterator<Item = usize>,
    ) -> bool {
        if self.steps.len().is_multiple_of(POLLED) {
            poll();
        }
        match &columns.paths[node].value {
            PathValue::Leaf(cell) => {
                push(&mut self.steps, Step::Leaf { node });
                cells.next() == Some(*cell)
            }
            PathValue::Object(children) => {
                self.depth = self.depth.max(depth + 1);
                let open = self.steps.len();
                push(&mut self.steps, Step::Open { node, after: 0 });
                let ordered =
                    children.iter().all(|&child| self.add_node(columns, child, depth + 1, cells));
                push(&mut self.steps, Step::Close);
                self.steps[open] = Step::Open { node, after: self.steps.len() };
                ordered
            }
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
