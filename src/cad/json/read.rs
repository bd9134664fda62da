//! Reads and checks a JSON document.
//!
//! Unknown fields and operations are errors by default. With `lossy`, unknown fields are dropped
//! and unknown operations become `Empty`; the result says whether that happened. [`read_json_kept`]
//! keeps all values that do not fit the model, with their pointers.

use super::extra_values;
use super::object::{MOST_FIELDS, Object, Path, Result, boolean, count, node_id, text};
use crate::cad::error::{DocumentError, Truncated};
use crate::cad::model::ir::{
    Align, Arc, Document, Extra, Instance, Joint, Material, Node, Op, Part, Root, Scene, Sections,
    Segment, V2, V3,
};
use crate::cad::model::kinds::ALIGNMENTS;
use crate::cad::model::operations::{Field, FieldKind, OpCode};
use crate::cad::model::writing_order;
use crate::interrupt::polled;
use crate::json::pointer;
use crate::memory;
use crate::value::Value;
use crate::walk::{Shape, Source};
use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};

/// Reads a document. The flag is true if unknown content was dropped.
///
/// # Errors
/// [`DocumentError`](crate::cad::DocumentError) for values that are invalid or, unless `lossy`, outside
/// the model.
pub fn read_json<'a, S: Source<'a>>(source: S, lossy: bool) -> Result<(Document<'a>, bool)> {
    let mut reader = Reader::new(if lossy { Unknown::Drop } else { Unknown::Refuse });
    if !source.is_object() {
        return Err(Path::Top("document").expected("an object"));
    }
    let document = reader.document(source).map_err(DocumentError::outside_model)?;
    Ok((document, reader.dropped))
}

/// Reads any JSON object. Values outside the model become [`Document::extra`].
///
/// # Errors
/// [`DocumentError`](crate::cad::DocumentError) for a value that is not an object.
pub fn read_json_kept(value: Value<'static>) -> Result<Document<'static>> {
    let mut reader = Reader::new(Unknown::Keep);
    let mut document = Document::default();
    if value.as_object().is_some() && value.get("nodes").is_none() {
        // The model always has `nodes`. An object without it is therefore kept whole, as one value.
        reader.kept.push(String::new());
    } else {
        document = reader.document(&value)?.into_owned();
    }
    document.extra = keep_values(value, &reader.kept);
    Ok(document)
}

/// Reads a document in which no node uses a later one, and passes each node to `take`, in this order. Returns
/// the rest of the document and the number of nodes; `None` if the document is another one or not valid, which
/// [`read_json`] then reads whole, or as soon as `take` returns false.
pub(crate) fn read_in_order<'a, S: Source<'a>>(
    source: S,
    lossy: bool,
    mut take: impl FnMut(&Node<'a>) -> bool,
) -> Option<(Sections, usize)> {
    let mut reader = Reader::new(if lossy { Unknown::Drop } else { Unknown::Refuse });
    let path = Path::Top("document");
    let mut object = Object::new(source, &path).ok()?;
    let (members, index) = node_members(object.need("nodes").ok()?, &path).ok()?;
    let mut profiles = Vec::new();
    memory::require(profiles.try_reserve_exact(members.len()));
    for (id, value) in polled(members) {
        let mut node = Node::empty(id);
        reader.node(&mut node, value, &index).ok()?;
        let known = node.op.refs().iter().all(|&target| target < profiles.len());
        if !known || wrong_reference(&node.op, |target| profiles[target]).is_some() || !take(&node)
        {
            return None;
        }
        profiles.push(node.op.code.is_profile());
    }
    let present = reader.sections(&mut object, &index).ok()?;
    reader.check_unknown_fields(&object).ok()?;
    let mut sections = Sections::default();
    present.replace_in(&mut sections);
    Some((sections, profiles.len()))
}

/// Takes the values at these pointers. A pointer inside another one is ignored, because the outer value
/// contains the inner one.
pub(crate) fn keep_values(value: Value<'static>, kept: &[String]) -> Vec<Extra> {
    let all: HashSet<_> = polled(kept).map(String::as_str).collect();
    let within =
        |pointer: &str| pointer.match_indices('/').any(|(at, _)| all.contains(&pointer[..at]));
    let pointers = polled(kept).filter(|pointer| !within(pointer)).cloned().collect();
    extra_values::take_values(value, pointers)
}

/// Reads the sections of a hybrid document into `sections`, replacing those of its text. `nodes` are
/// the nodes of its member `compact`, which the caller has read. With `keep`, returns the pointers to
/// the values outside the model.
pub(crate) fn read_sections<'a, S: Source<'a>>(
    source: S,
    nodes: &[Node<'_>],
    sections: &mut Sections,
    keep: bool,
) -> Result<Vec<String>> {
    let mut reader = Reader::new(if keep { Unknown::Keep } else { Unknown::Refuse });
    let path = Path::Top("document");
    let mut object = Object::new(source, &path)?;
    object.get("compact");
    if let Some(nodes) = object.get("nodes") {
        let empty = Object::new(nodes, &path.field("nodes"))?.source.size() == 0;
        if !empty {
            return Err(path.error("has both \"nodes\" and \"compact\""));
        }
    }
    let index = Index::new(nodes.iter().map(|node| node.id));
    let outside = DocumentError::outside_model;
    let present = reader.sections(&mut object, &index).map_err(outside)?;
    reader.check_unknown_fields(&object).map_err(outside)?;
    present.replace_in(sections);
    Ok(reader.kept)
}

/// The indexes of nodes by id.
pub(crate) enum Index {
    /// The first id and the number of nodes; each other id is one more than the one before, as in most documents.
    Consecutive(u64, usize),
    /// By ascending id.
    Listed(Vec<(u64, usize)>),
}

impl Index {
    /// The indexes of nodes with these ids, which are distinct.
    fn new(ids: impl Iterator<Item = u64> + Clone) -> Self {
        let count = ids.clone().count();
        let first = ids.clone().next().unwrap_or_default();
        if ids.clone().eq((first..=u64::MAX).take(count)) {
            return Self::Consecutive(first, count);
        }
        let mut pairs: Vec<_> = ids.zip(0..).collect();
        pairs.sort_unstable();
        Self::Listed(pairs)
    }

    #[inline]
    pub(crate) fn get(&self, id: u64) -> Option<usize> {
        match self {
            Self::Consecutive(first, nodes) => {
                let node = usize::try_from(id.checked_sub(*first)?).ok()?;
                (node < *nodes).then_some(node)
            }
            Self::Listed(pairs) => {
                let place = pairs.binary_search_by_key(&id, |pair| pair.0).ok()?;
                Some(pairs[place].1)
            }
        }
    }
}

/// The sections that are present in a JSON document.
#[derive(Default)]
struct PresentSections {
    version: Option<String>,
    materials: Option<BTreeMap<String, Material>>,
    part_materials: Option<BTreeMap<String, String>>,
    roots: Option<Vec<Root>>,
    parts: Option<BTreeMap<String, Part>>,
    instances: Option<Vec<Instance>>,
    joints: Option<Vec<Joint>>,
    ground: Option<String>,
    scene: Option<Scene>,
}

impl PresentSections {
    /// Replaces the sections that are present in the JSON document.
    fn replace_in(self, sections: &mut Sections) {
        fn put<T>(slot: &mut T, present: Option<T>) {
            if let Some(section) = present {
                *slot = section;
            }
        }
        put(&mut sections.version, self.version.map(Some));
        put(&mut sections.materials, self.materials);
        put(&mut sections.part_materials, self.part_materials);
        put(&mut sections.roots, self.roots);
        put(&mut sections.parts, self.parts.map(Some));
        put(&mut sections.instances, self.instances.map(Some));
        put(&mut sections.joints, self.joints.map(Some));
        put(&mut sections.ground, self.ground.map(Some));
        put(&mut sections.scene, self.scene.map(Some));
    }
}

/// Checks that every member with the name of a field was found, and that none is there twice. A Python dict
/// can fail both: a lookup does not find a key whose `__eq__` says that it differs from its own text.
#[cold]
fn check_fields_once<'a, S: Source<'a>>(object: &Object<'_, S>) -> Result<()> {
    let fields = &object.fields[..object.field_count];
    let mut count = 0;
    let mut seen = [false; MOST_FIELDS];
    object.source.members(|name, _| {
        let Some(at) = fields.iter().position(|field| Some(*field) == name) else { return Ok(()) };
        count += 1;
        if std::mem::replace(&mut seen[at], true) {
            let message = format!("duplicate field \"{}\"", fields[at]);
            return Err(object.path.duplicate(message));
        }
        Ok(())
    })?;
    if count == object.found {
        return Ok(());
    }
    Err(object.path.duplicate("a key must be equal to its text, as every plain str is"))
}

/// The largest total length of pointers into one object; beyond it the whole object is kept.
const MOST_POINTERS: usize = 1 << 14;

/// How content outside the model is handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unknown {
    /// It is an error.
    Refuse,
    /// Unknown fields and operations are dropped.
    Drop,
    /// Everything is kept with its pointer.
    Keep,
}

pub(crate) struct Reader {
    unknown: Unknown,
    dropped: bool,
    /// Pointers to kept values, in any order. A pointer may be inside another one.
    kept: Vec<String>,
}

impl Reader {
    fn new(unknown: Unknown) -> Self {
        Self { unknown, dropped: false, kept: Vec::new() }
    }

    fn document<'a, S: Source<'a>>(&mut self, source: S) -> Result<Document<'a>> {
        let path = Path::Top("document");
        let mut object = Object::new(source, &path)?;
        let (mut nodes, index) = self
            .or_keep_whole(&path.field("nodes"), |reader| {
                reader.nodes(object.need("nodes")?, &path)
            })?
            .unwrap_or_else(|| (Vec::new(), Index::new(std::iter::empty())));
        self.check_node_kinds(&mut nodes)?;
        let present = self.sections(&mut object, &index)?;
        self.check_unknown_fields(&object)?;
        self.break_cycles(&mut nodes)?;
        let mut sections = Sections::default();
        present.replace_in(&mut sections);
        Ok(Document { nodes, sections, extra: Vec::new() })
    }

    /// Returns the result of `read`. If that is an error and unknown content is kept, returns
    /// `None` and keeps the whole value at `path`.
    #[inline]
    fn or_keep_whole<T>(
        &mut self,
        path: &Path<'_>,
        read: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<Option<T>> {
        let mark = self.kept.len();
        match read(self) {
            Err(_) if self.unknown == Unknown::Keep => {
                self.kept.truncate(mark);
                self.kept.push(path.pointer());
                Ok(None)
            }
            read => read.map(Some),
        }
    }

    /// Keeps the whole operation of a node, and replaces it by `Empty`.
    fn keep_op_whole(&mut self, node: &mut Node<'_>) {
        self.kept.push(Path::Op(node.id).pointer());
        node.op = Op::new(OpCode::Empty);
    }

    /// Checks that each reference names a node of the kind that its field requires, a sketch or a solid.
    /// If unknown content is kept, keeps the operation of a node with a wrong reference whole.
    fn check_node_kinds(&mut self, nodes: &mut [Node<'_>]) -> Result<()> {
        if self.unknown != Unknown::Keep {
            return check_kinds(nodes);
        }
        for i in polled(0..nodes.len()) {
            // Only solids use other nodes, so the node was a solid. It becomes `Empty`, a solid, too:
            // nodes that use it stay valid.
            if kind_error(nodes, &nodes[i]).is_some() {
                self.keep_op_whole(&mut nodes[i]);
            }
        }
        Ok(())
    }

    /// Checks that references form no cycle. If unknown content is kept, keeps the operations of the
    /// nodes on a cycle, and of those that depend on one, whole.
    fn break_cycles(&mut self, nodes: &mut [Node<'_>]) -> Result<()> {
        if self.unknown != Unknown::Keep {
            return writing_order::check_acyclic(nodes);
        }
        for node in writing_order::nodes_with_cycles(nodes) {
            self.keep_op_whole(&mut nodes[node]);
        }
        Ok(())
    }

    /// Reads an object, and checks that it has no members that were not read.
    #[inline]
    pub(crate) fn object<'a, S: Source<'a>, T>(
        &mut self,
        source: S,
        path: &Path<'_>,
        read: impl FnOnce(&mut Self, &mut Object<'_, S>) -> Result<T>,
    ) -> Result<T> {
        let mut object = Object::new(source, path)?;
        let value = read(self, &mut object)?;
        self.check_unknown_fields(&object)?;
        Ok(value)
    }

    /// Checks that the object has no members that were not read.
    #[inline]
    pub(crate) fn check_unknown_fields<'a, S: Source<'a>>(
        &mut self,
        object: &Object<'_, S>,
    ) -> Result<()> {
        if object.found == object.source.size() {
            return Ok(());
        }
        self.handle_unknown_fields(object)
    }

    #[cold]
    fn handle_unknown_fields<'a, S: Source<'a>>(&mut self, object: &Object<'_, S>) -> Result<()> {
        check_fields_once(object)?;
        self.dropped = true;
        if self.unknown == Unknown::Drop {
            return Ok(());
        }
        let unknown = object.source.size() - object.found;
        if self.unknown == Unknown::Keep
            && unknown.saturating_mul(object.path.pointer().len()) > MOST_POINTERS
        {
            // The pointer to each member would repeat the object's. The caller keeps the object whole
            // instead.
            return Err(object.path.error("too many unknown fields"));
        }
        object.source.members(|name, _| match name {
            None => Err(object.path.error("member names must be strings")),
            Some(name) if object.fields[..object.field_count].contains(&name) => Ok(()),
            Some(name) if self.unknown == Unknown::Keep => {
                self.kept.push(format!("{}/{}", object.path.pointer(), pointer::escape(name)));
                Ok(())
            }
            Some(name) => Err(object.path.error(format!("unknown field \"{}\"", Truncated(name)))),
        })
    }

    /// Reads an object whose members are exactly these numbers.
    #[inline]
    fn vector<'a, S: Source<'a>, const N: usize>(
        &mut self,
        source: S,
        names: [&'static str; N],
        path: &Path<'_>,
    ) -> Result<[f64; N]> {
        let mut object = Object::new(source, path)?;
        let vector = object.numbers(names)?;
        self.check_unknown_fields(&object)?;
        Ok(vector)
    }

    pub(crate) fn v3<'a, S: Source<'a>>(
        &mut self,
        o: &mut Object<'_, S>,
        name: &'static str,
    ) -> Result<V3> {
        self.vector(o.need(name)?, ["x", "y", "z"], &o.path.field(name))
    }

    fn v2<'a, S: Source<'a>>(&mut self, o: &mut Object<'_, S>, name: &'static str) -> Result<V2> {
        self.vector(o.need(name)?, ["x", "y"], &o.path.field(name))
    }

    /// Reads all nodes by ascending id, and indexes them.
    fn nodes<'a, S: Source<'a>>(
        &mut self,
        source: S,
        path: &Path<'_>,
    ) -> Result<(Vec<Node<'a>>, Index)> {
        let (members, index) = node_members(source, path)?;
        let mut nodes = Vec::new();
        memory::require(nodes.try_reserve_exact(members.len()));
        for (id, value) in polled(members) {
            let mut node = Node::empty(id);
            let path = Path::Node(id);
            let read = self.or_keep_whole(&path, |reader| reader.node(&mut node, value, &index))?;
            nodes.push(if read.is_some() { node } else { Node::empty(id) });
        }
        Ok((nodes, index))
    }

    /// Reads a node into one that is empty. It is changed also if this fails.
    fn node<'a, S: Source<'a>>(
        &mut self,
        node: &mut Node<'a>,
        source: S,
        index: &Index,
    ) -> Result<()> {
        let path = Path::Node(node.id);
        let mut object = Object::new(source, &path)?;
        if let Some(id) = object.get("id") {
            let id = node_id(&id, &path.field("id"))?;
            if id != node.id {
                return Err(path.error(format!("id {id} does not match its key")));
            }
        }
        node.name = object.optional_text("name")?;
        let op = object.need("op")?;
        if !op.is_object() {
            return Err(path.field("op").expected("an object"));
        }
        let path = Path::Op(node.id);
        if self.or_keep_whole(&path, |reader| reader.op(&mut node.op, op, &path, index))?.is_none()
        {
            node.op = Op::new(OpCode::Empty);
        }
        self.check_unknown_fields(&object)
    }

    /// Reads an operation into one that is empty. It is changed also if this fails.
    fn op<'a, S: Source<'a>>(
        &mut self,
        op: &mut Op<'a>,
        source: S,
        path: &Path<'_>,
        index: &Index,
    ) -> Result<()> {
        let mut object = Object::new(source, path)?;
        let Some(code) = self.op_code(&mut object)? else { return Ok(()) };
        op.code = code;
        let spec = code.spec();
        for field in spec.fields {
            self.op_field(op, field, &mut object, index)?;
        }
        for (slot, option) in spec.options.iter().enumerate() {
            if let Some(value) = object.optional_number(option.name)? {
                op.details_mut().options[slot] = Some(value);
            }
        }
        match code {
            OpCode::Sketch2D => op.details_mut().segments = self.segments(&mut object)?,
            OpCode::Text2D => op.details_mut().align = alignment(&mut object)?,
            _ => {}
        }
        self.check_unknown_fields(&object)
    }

    /// Reads the type of an operation; `None` if it is unknown and unknown content is dropped.
    #[inline]
    fn op_code<'a, S: Source<'a>>(&mut self, object: &mut Object<'_, S>) -> Result<Option<OpCode>> {
        let name = object.need("type")?;
        if let Some(code) = name.with_text(OpCode::from_name).flatten() {
            return Ok(Some(code));
        }
        let path = object.path;
        let name = text(&name, &path.field("type"))?;
        if self.unknown == Unknown::Drop {
            self.dropped = true;
            return Ok(None);
        }
        Err(path.error(format!("unknown op type \"{}\"", Truncated(&name))))
    }

    /// Reads a required field of an operation into its place.
    #[inline]
    fn op_field<'a, S: Source<'a>>(
        &mut self,
        op: &mut Op<'a>,
        field: &Field,
        object: &mut Object<'_, S>,
        index: &Index,
    ) -> Result<()> {
        let (path, name, at) = (object.path, field.name, field.at);
        match field.kind {
            FieldKind::Number => op.numbers[at] = object.number(name)?,
            FieldKind::Vector => {
                let vector = self.v3(object, name)?;
                op.numbers[at..at + 3].copy_from_slice(&vector);
            }
            FieldKind::Count | FieldKind::Segments => {
                op.count = count(&object.need(name)?, &path.field(name))?;
            }
            FieldKind::Solid | FieldKind::Profile => {
                let id = node_id(&object.need(name)?, &path.field(name))?;
                op.refs[at] = index.get(id).ok_or_else(|| missing_node(path, name, id))?;
            }
            FieldKind::Text => op.details_mut().texts[at] = object.text(name)?,
        }
        Ok(())
    }

    fn segments<'a, S: Source<'a>>(&mut self, object: &mut Object<'_, S>) -> Result<Vec<Segment>> {
        let path = object.path.field("segments");
        self.array(&object.need("segments")?, &path, |reader, source, i| {
            let path = Path::Index(&path, i);
            let mut object = Object::new(source, &path)?;
            let kind = object.text("type")?;
            let (start, end) = match &*kind {
                "Line" | "Arc" => {
                    (reader.v2(&mut object, "start")?, reader.v2(&mut object, "end")?)
                }
                _ => {
                    let kind = Truncated(&kind);
                    return Err(path.error(format!("unknown segment type \"{kind}\"")));
                }
            };
            let arc = match &*kind {
                "Arc" => Some(Arc {
                    center: reader.v2(&mut object, "center")?,
                    ccw: boolean(&object.need("ccw")?, &path.field("ccw"))?,
                }),
                _ => None,
            };
            reader.check_unknown_fields(&object)?;
            Ok(Segment { start, end, arc })
        })
    }

    /// Reads an array, element by element.
    pub(crate) fn array<'a, S: Source<'a>, T>(
        &mut self,
        source: &S,
        path: &Path<'_>,
        mut read: impl FnMut(&mut Self, S, usize) -> Result<T>,
    ) -> Result<Vec<T>> {
        if source.shape() != Shape::Array {
            return Err(path.expected("an array"));
        }
        let size = source.size();
        let mut items = Vec::with_capacity(size);
        for i in polled(0..size) {
            let element = source.element(i).ok_or_else(|| path.expected("an array"))?;
            items.push(read(self, element, i)?);
        }
        Ok(items)
    }

    /// Reads an object with arbitrary keys. Values outside the model are kept in the order of the keys,
    /// because members are written in that order.
    fn map<'a, S: Source<'a>, T>(
        &mut self,
        source: S,
        path: &Path<'_>,
        mut read: impl FnMut(&mut Self, S, &str) -> Result<T>,
    ) -> Result<BTreeMap<String, T>> {
        let object = Object::new(source, path)?;
        let mut map = BTreeMap::new();
        let mut kept = BTreeMap::new();
        object.source.members(|key, value| {
            let key = key.ok_or_else(|| path.error("member names must be strings"))?;
            let mark = self.kept.len();
            if map.insert(key.to_owned(), read(self, value, key)?).is_some() {
                return Err(path.duplicate(format!("duplicate key \"{}\"", Truncated(key))));
            }
            if self.kept.len() > mark {
                kept.insert(key.to_owned(), self.kept.split_off(mark));
            }
            Ok(())
        })?;
        self.kept.extend(kept.into_values().flatten());
        Ok(map)
    }

    fn sections<'a, S: Source<'a>>(
        &mut self,
        object: &mut Object<'_, S>,
        index: &Index,
    ) -> Result<PresentSections> {
        Ok(PresentSections {
            version: self.section(object, "version", |_, source, path| string(&source, path))?,
            materials: self.section(object, "materials", |reader, source, path| {
                reader.map(source, path, Self::material)
            })?,
            part_materials: self.section(object, "part_materials", |reader, source, path| {
                let read = |_: &mut Self, value: S, key: &str| {
                    string(&value, &Path::Key("part_materials", key))
                };
                reader.map(source, path, read)
            })?,
            roots: self.section(object, "roots", |reader, source, path| {
                reader.array(&source, path, |reader, value, i| reader.root(value, i, index))
            })?,
            parts: self.section(object, "partDefs", |reader, source, path| {
                reader.map(source, path, |reader, value, key| reader.part(value, key, index))
            })?,
            instances: self.section(object, "instances", |reader, source, path| {
                reader.array(&source, path, Self::instance)
            })?,
            joints: self.section(object, "joints", |reader, source, path| {
                reader.array(&source, path, Self::joint)
            })?,
            ground: self
                .section(object, "groundInstanceId", |_, source, path| string(&source, path))?,
            scene: self.section(object, "scene", |reader, source, _| reader.scene(source))?,
        })
    }

    /// Reads a section, if the document has it.
    fn section<'a, S: Source<'a>, T>(
        &mut self,
        object: &mut Object<'_, S>,
        name: &'static str,
        read: impl FnOnce(&mut Self, S, &Path<'_>) -> Result<T>,
    ) -> Result<Option<T>> {
        let path = object.path.field(name);
        let Some(source) = object.get(name) else { return Ok(None) };
        self.or_keep_whole(&path, |reader| read(reader, source, &path))
    }
}

/// The nodes in a document by ascending id, not read yet, and their indexes.
fn node_members<'a, S: Source<'a>>(source: S, path: &Path<'_>) -> Result<(Vec<(u64, S)>, Index)> {
    let object = Object::new(source, &path.field("nodes"))?.source;
    let mut members = Vec::new();
    memory::require(members.try_reserve_exact(object.size()));
    object.members(|key, value| {
        let id = key.and_then(|key| {
            let plain = key == "0" || !key.starts_with('0');
            crate::cad::model::number::parse_u64(key).ok().flatten().filter(|_| plain)
        });
        members.push((
            id.ok_or_else(|| {
                let path = format!("node {}", Truncated(key.unwrap_or("?")));
                DocumentError::new(path, "node keys must be unsigned integers")
            })?,
            value,
        ));
        Ok(())
    })?;
    if !members.is_sorted_by_key(|(id, _)| *id) {
        members.sort_by_key(|(id, _)| *id);
    }
    if let Some(pair) = members.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        return Err(Path::Node(pair[0].0).duplicate("duplicate key"));
    }
    let index = Index::new(members.iter().map(|(id, _)| *id));
    Ok((members, index))
}

/// Reads the alignment of a text, by default left.
fn alignment<'a, S: Source<'a>>(object: &mut Object<'_, S>) -> Result<Align> {
    let what = "\"left\", \"center\" or \"right\"";
    Ok(match object.optional_word("alignment", &ALIGNMENTS, what)? {
        Some("center") => Align::Center,
        Some("right") => Align::Right,
        _ => Align::Left,
    })
}

fn string<'a, S: Source<'a>>(source: &S, path: &Path<'_>) -> Result<String> {
    text(source, path).map(Cow::into_owned)
}

#[cold]
pub(crate) fn missing_node(path: &Path<'_>, field: &str, id: u64) -> DocumentError {
    path.error(format!("{field} references node {id}, which does not exist"))
}

/// Checks that each reference names a node of the kind that its field requires, a sketch or a solid.
pub(crate) fn check_kinds(nodes: &[Node<'_>]) -> Result<()> {
    nodes.iter().find_map(|node| kind_error(nodes, node)).map_or(Ok(()), Err)
}

fn kind_error(nodes: &[Node<'_>], node: &Node<'_>) -> Option<DocumentError> {
    let field = wrong_reference(&node.op, |target| nodes[target].op.code.is_profile())?;
    let target = &nodes[node.op.refs[field.at]];
    let (name, id, what) = (field.name, target.id, target.op.code.name());
    let wanted = if field.kind == FieldKind::Profile { "sketch" } else { "solid" };
    let message = format!("{name} expects a {wanted} but node {id} is {what}");
    Some(Path::Node(node.id).error(message))
}

/// The first field whose reference names a node of the wrong kind.
#[inline]
fn wrong_reference(op: &Op<'_>, is_profile: impl Fn(usize) -> bool) -> Option<&'static Field> {
    if op.refs().is_empty() {
        return None;
    }
    op.code.spec().fields.iter().find(|field| match field.kind {
        FieldKind::Solid => is_profile(op.refs[field.at]),
        FieldKind::Profile => !is_profile(op.refs[field.at]),
        _ => false,
    })
}
