//! Reads a document from the binary form, in any valid encoding.

use super::{ARC, CCW, CENTER, CHAINED, LAYOUT, MAGIC, NAMED, RIGHT, SPECIAL};
use crate::cad::error::{BinaryError, Truncated};
use crate::cad::model::ir::{
    Align, Arc, Document, Instance, Joint, Material, Node, Op, Part, Root, Scene, Sections,
    Segment, V2, V3,
};
use crate::cad::model::kinds::JOINTS;
use crate::cad::model::number;
use crate::cad::model::operations::{FieldKind, OpCode};
use crate::cad::text::read::{Dialect, read_text};
use crate::interrupt::polled;
use crate::memory::{self, Meter};
use crate::text::leb128;
use std::borrow::Cow;
use std::collections::BTreeMap;

type Result<T> = std::result::Result<T, BinaryError>;

/// Reads a document.
///
/// # Errors
/// As [`read_binary_within`].
pub fn read_binary(data: &[u8]) -> Result<Document<'_>> {
    read_binary_within(data, super::MAX_EXPANSION)
}

/// Reads a document whose strings, each counted as often as it is used, have at most
/// `max_expansion` bytes in total.
///
/// # Errors
/// [`BinaryError`](crate::cad::BinaryError) for data that is invalid or truncated, and for strings
/// larger than `max_expansion`.
pub fn read_binary_within(data: &[u8], max_expansion: usize) -> Result<Document<'_>> {
    let mut reader = Reader {
        data,
        at: 0,
        strings: Vec::new(),
        expanded: 0,
        copied: Meter::new(1),
        max_expansion,
    };
    if reader.take(4)? != MAGIC {
        return Err(error_at(0, "expected the bytes 89 56 43 42 of a binary document"));
    }
    match reader.byte()? {
        LAYOUT => {}
        other => return Err(error_at(4, format!("unknown layout {other}, expected {LAYOUT}"))),
    }
    let strings = reader.items()?;
    for _ in polled(0..strings) {
        let length = reader.count()?;
        let start = reader.at;
        let bytes = reader.take(length)?;
        let text = std::str::from_utf8(bytes)
            .map_err(|error| error_at(start + error.valid_up_to(), "invalid UTF-8"))?;
        reader.strings.push(text);
    }
    let nodes = reader.nodes()?;
    let sections = reader.sections(&nodes)?;
    if reader.at < data.len() {
        return Err(reader.error("unexpected data after the document"));
    }
    Ok(Document { nodes, sections, extra: Vec::new() })
}

struct Reader<'a> {
    data: &'a [u8],
    at: usize,
    strings: Vec<&'a str>,
    /// The length of all strings used so far.
    expanded: usize,
    /// Checks memory for the strings that are copied.
    copied: Meter,
    max_expansion: usize,
}

/// The memory estimated for an item of a list, in bytes. The largest item is a node. The factor of 4
/// covers the growth of the list.
const ITEM_SIZE: usize = 4 * size_of::<Node<'_>>();

impl<'a> Reader<'a> {
    #[cold]
    fn error(&self, message: impl Into<String>) -> BinaryError {
        error_at(self.at, message)
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8]> {
        let rest = &self.data[self.at..];
        match rest.get(..length) {
            Some(bytes) => {
                self.at += length;
                Ok(bytes)
            }
            None => Err(error_at(self.data.len(), "unexpected end")),
        }
    }

    #[inline]
    fn byte(&mut self) -> Result<u8> {
        match self.data.get(self.at) {
            Some(&byte) => {
                self.at += 1;
                Ok(byte)
            }
            None => Err(self.error("unexpected end")),
        }
    }

    /// Reads an unsigned integer.
    #[inline]
    fn u(&mut self) -> Result<u64> {
        match leb128::read(self.data, self.at) {
            Ok((value, after)) => {
                self.at = after;
                Ok(value)
            }
            Err(error) => Err(self.invalid_integer(error)),
        }
    }

    #[cold]
    fn invalid_integer(&self, error: leb128::Error) -> BinaryError {
        match error {
            leb128::Error::Truncated => error_at(self.data.len(), "unexpected end"),
            leb128::Error::TooLarge => error_at(self.at, "integer exceeds 64 bits"),
            leb128::Error::NotShortest => error_at(self.at, "integer is not in its shortest form"),
        }
    }

    /// Reads the count of items that take at least one byte each.
    fn count(&mut self) -> Result<usize> {
        let start = self.at;
        let n = self.u()?;
        let left = self.data.len() - self.at;
        match usize::try_from(n).ok().filter(|&n| n <= left) {
            Some(n) => Ok(n),
            None => Err(error_at(start, format!("count {n} exceeds the {left} remaining bytes"))),
        }
    }

    /// Reads the count of items, and checks that there is memory for them.
    fn items(&mut self) -> Result<usize> {
        let n = self.count()?;
        memory::ensure(n.saturating_mul(ITEM_SIZE))?;
        Ok(n)
    }

    fn bounded(&mut self, most: u64, what: &str) -> Result<u64> {
        let start = self.at;
        let n = self.u()?;
        if n <= most { Ok(n) } else { Err(error_at(start, format!("unknown {what} {n}"))) }
    }

    fn string(&mut self, index: u64, at: usize) -> Result<&'a str> {
        let found = usize::try_from(index).ok().and_then(|index| self.strings.get(index));
        let Some(&text) = found else {
            let strings = self.strings.len();
            let message = format!("string {index} does not exist, the table has {strings}");
            return Err(error_at(at, message));
        };
        self.expanded = self.expanded.saturating_add(text.len());
        if self.expanded > self.max_expansion {
            let (expanded, limit) = (self.expanded, self.max_expansion);
            let message = format!(
                "too large: the strings used so far have {expanded} bytes, more than max_expansion={limit}"
            );
            return Err(error_at(at, message));
        }
        self.copied.reach(self.expanded)?;
        Ok(text)
    }

    fn text(&mut self) -> Result<&'a str> {
        let at = self.at;
        let index = self.u()?;
        self.string(index, at)
    }

    fn owned(&mut self) -> Result<String> {
        self.text().map(str::to_owned)
    }

    fn optional_text(&mut self) -> Result<Option<String>> {
        let at = self.at;
        match self.u()? {
            0 => Ok(None),
            index => self.string(index - 1, at).map(|text| Some(text.to_owned())),
        }
    }

    #[inline]
    fn number(&mut self) -> Result<f64> {
        let start = self.at;
        let n = self.u()?;
        let x = match (n & 3, n >> 2) {
            (3, 0) => {
                let mut bytes = [0; 8];
                bytes.copy_from_slice(self.take(8)?);
                Some(f64::from_le_bytes(bytes)).filter(|x| x.is_finite())
            }
            (3, more) => {
                let z = self.u()?;
                let scale = u32::try_from(more + 2).unwrap_or(u32::MAX);
                number::unscaled(unzigzag(z), scale)
            }
            (scale, z) =>
            {
                #[expect(clippy::cast_possible_truncation, reason = "two bits of it")]
                number::unscaled(unzigzag(z), scale as u32)
            }
        };
        x.ok_or_else(|| error_at(start, "invalid number"))
    }

    fn numbers<const N: usize>(&mut self) -> Result<[f64; N]> {
        let mut numbers = [0.0; N];
        for slot in &mut numbers {
            *slot = self.number()?;
        }
        Ok(numbers)
    }

    fn option(&mut self, present: bool) -> Result<Option<f64>> {
        present.then(|| self.number()).transpose()
    }

    fn nodes(&mut self) -> Result<Vec<Node<'a>>> {
        let count = self.items()?;
        let ids = self.ids(count)?;
        // Memory is not reserved for `count` nodes: a node may take only one byte of input, but
        // takes more in memory.
        let mut nodes = Vec::new();
        for place in polled(0..count) {
            let id = match &ids {
                Ids::From(first) => first + place as u64,
                Ids::Listed(ids) => ids[place],
            };
            let node = self.node(id, &nodes)?;
            nodes.push(node);
        }
        Ok(nodes)
    }

    fn ids(&mut self, count: usize) -> Result<Ids> {
        let start = self.at;
        let mode = self.bounded(2, "id mode")?;
        if mode < 2 {
            return Ok(Ids::From(mode));
        }
        let mut ids = Vec::new();
        let mut previous = u64::MAX;
        for _ in polled(0..count) {
            let step = unzigzag(self.u()?).cast_unsigned();
            previous = previous.wrapping_add(step).wrapping_add(1);
            ids.push(previous);
        }
        let mut sorted = ids.clone();
        sorted.sort_unstable();
        match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(error_at(start, format!("duplicate node id {}", pair[0]))),
            None => Ok(Ids::Listed(ids)),
        }
    }

    fn node(&mut self, id: u64, before: &[Node<'a>]) -> Result<Node<'a>> {
        let start = self.at;
        let byte = self.byte()?;
        let Some(code) = OpCode::from_number(byte & 0x1f).filter(|_| byte < 0x80) else {
            return Err(error_at(start, format!("unknown op code {byte}")));
        };
        let spec = code.spec();
        let has_segments = spec.fields.iter().any(|field| field.kind == FieldKind::Segments);
        let special = byte & SPECIAL != 0;
        if special && !has_segments && !matches!(code, OpCode::Extrude | OpCode::Text2D) {
            return Err(error_at(start, format!("unknown op code {byte}")));
        }
        let name = match byte & NAMED {
            0 => None,
            _ => Some(Cow::Borrowed(self.text()?)),
        };
        let mut op = Op::new(code);
        for field in spec.fields {
            let at = field.at;
            match field.kind {
                FieldKind::Number => op.numbers[at] = self.number()?,
                FieldKind::Vector => op.numbers[at..at + 3].copy_from_slice(&self.numbers::<3>()?),
                FieldKind::Segments if special => {}
                FieldKind::Count | FieldKind::Segments => op.count = self.u32()?,
                FieldKind::Solid => op.refs[at] = self.reference(before, field.name, false)?,
                FieldKind::Profile => op.refs[at] = self.reference(before, field.name, true)?,
                FieldKind::Text => op.details_mut().texts[at] = Cow::Borrowed(self.text()?),
            }
        }
        match code {
            OpCode::Sketch2D => op.details_mut().segments = self.outline()?,
            OpCode::Extrude if special => {
                let mask = self.bounded(3, "option bits")?;
                op.details_mut().options = self.options(mask)?;
            }
            OpCode::Text2D if special => {
                let mask = self.bounded(CENTER + RIGHT - 1, "option bits")?;
                op.details_mut().align = match mask & (CENTER | RIGHT) {
                    0 => Align::Left,
                    CENTER => Align::Center,
                    _ => Align::Right,
                };
                op.details_mut().options = self.options(mask)?;
            }
            _ => {}
        }
        Ok(Node { id, name, op })
    }

    fn options(&mut self, mask: u64) -> Result<[Option<f64>; 2]> {
        Ok([self.option(mask & 1 != 0)?, self.option(mask & 2 != 0)?])
    }

    fn u32(&mut self) -> Result<u32> {
        let start = self.at;
        let n = self.u()?;
        u32::try_from(n)
            .map_err(|_| error_at(start, format!("expected an unsigned 32-bit integer, got {n}")))
    }

    fn reference(&mut self, before: &[Node<'_>], field: &str, profile: bool) -> Result<usize> {
        let start = self.at;
        let back = usize::try_from(self.u()?).ok();
        let target = back.and_then(|back| before.len().checked_sub(1)?.checked_sub(back));
        let Some(target) = target else {
            return Err(error_at(start, format!("{field} references a node that does not exist")));
        };
        let code = before[target].op.code;
        if code.is_profile() == profile {
            return Ok(target);
        }
        let wanted = if profile { "sketch" } else { "solid" };
        let (id, name) = (before[target].id, code.name());
        let message = format!("{field} expects a {wanted} but node {id} is {name}");
        Err(error_at(start, message))
    }

    fn outline(&mut self) -> Result<Vec<Segment>> {
        let count = self.items()?;
        let mut segments: Vec<Segment> = Vec::new();
        for _ in polled(0..count) {
            let start = self.at;
            let kind = self.byte()?;
            let begin: V2 = match (kind & CHAINED, segments.last()) {
                (0, _) => self.numbers()?,
                (_, Some(previous)) => previous.end,
                (_, None) => {
                    return Err(error_at(
                        start,
                        "the first segment cannot continue a previous one",
                    ));
                }
            };
            if kind > (ARC | CCW | CHAINED) || kind & (ARC | CCW) == CCW {
                return Err(error_at(start, format!("unknown segment type {kind}")));
            }
            let end = self.numbers()?;
            let arc = match kind & ARC {
                0 => None,
                _ => Some(Arc { center: self.numbers()?, ccw: kind & CCW != 0 }),
            };
            segments.push(Segment { start: begin, end, arc });
        }
        Ok(segments)
    }

    fn sections(&mut self, nodes: &[Node<'_>]) -> Result<Sections> {
        let mut sections = Sections::default();
        for _ in polled(0..self.items()?) {
            let start = self.at;
            let n = self.u()?;
            let node = shown_node(n / 3, nodes, start)?;
            let visible = [None, Some(false), Some(true)][usize::try_from(n % 3).unwrap_or(0)];
            sections.roots.push(Root { node, material: self.owned()?, visible });
        }
        for _ in polled(0..self.items()?) {
            let (start, (key, material)) = (self.at, self.material()?);
            insert_unique(&mut sections.materials, key, material, start)?;
        }
        for _ in polled(0..self.items()?) {
            let (start, part, material) = (self.at, self.owned()?, self.owned()?);
            insert_unique(&mut sections.part_materials, part, material, start)?;
        }
        let mask = self.bounded(0x3f, "section bits")?;
        let has = |bit: u32| mask >> bit & 1 != 0;
        sections.version = has(0).then(|| self.owned()).transpose()?;
        sections.parts = has(1).then(|| self.parts(nodes)).transpose()?;
        sections.instances = has(2).then(|| self.list(Self::instance)).transpose()?;
        sections.joints = has(3).then(|| self.list(Self::joint)).transpose()?;
        sections.ground = has(4).then(|| self.owned()).transpose()?;
        sections.scene = has(5).then(|| self.scene()).transpose()?;
        Ok(sections)
    }

    fn list<T>(&mut self, mut read: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        let count = self.items()?;
        let mut items = Vec::new();
        for _ in polled(0..count) {
            items.push(read(self)?);
        }
        Ok(items)
    }

    fn material(&mut self) -> Result<(String, Material)> {
        let mask = self.bounded(7, "material bits")?;
        let name = self.owned()?;
        let key = if mask & 1 == 0 { name.clone() } else { self.owned()? };
        let color = self.numbers()?;
        let [metallic, roughness] = self.numbers()?;
        let density = self.option(mask & 2 != 0)?;
        let friction = self.option(mask & 4 != 0)?;
        Ok((key, Material { name, color, metallic, roughness, density, friction }))
    }

    fn parts(&mut self, nodes: &[Node<'_>]) -> Result<BTreeMap<String, Part>> {
        let mut parts = BTreeMap::new();
        for _ in polled(0..self.items()?) {
            let start = self.at;
            let key = self.owned()?;
            let id = self.optional_text()?.unwrap_or_else(|| key.clone());
            let name = self.optional_text()?;
            let at = self.at;
            let index = self.u()?;
            let node = shown_node(index, nodes, at)?;
            let part = Part { id, name, node, material: self.optional_text()? };
            insert_unique(&mut parts, key, part, start)?;
        }
        Ok(parts)
    }

    fn instance(&mut self) -> Result<Instance> {
        let (id, part) = (self.owned()?, self.owned()?);
        let (name, material) = (self.optional_text()?, self.optional_text()?);
        let transform = match self.bounded(1, "transform")? {
            0 => None,
            _ => Some([self.numbers()?, self.numbers()?, self.numbers()?]),
        };
        Ok(Instance { id, part, name, transform, material })
    }

    fn joint(&mut self) -> Result<Joint> {
        let start = self.at;
        let n = self.u()?;
        let kind = usize::try_from(n / 2).unwrap_or(usize::MAX);
        let limited = n % 2 == 1;
        let Some(spec) = JOINTS.get(kind).filter(|spec| spec.limits || !limited) else {
            return Err(error_at(start, format!("unknown joint type {n}")));
        };
        Ok(Joint {
            id: self.owned()?,
            name: self.optional_text()?,
            parent: self.optional_text()?,
            child: self.owned()?,
            anchors: [self.numbers()?, self.numbers()?],
            kind,
            axis: if spec.axis { self.numbers::<3>()? } else { V3::default() },
            limits: limited.then(|| self.numbers()).transpose()?,
            state: self.number()?,
        })
    }

    fn scene(&mut self) -> Result<Scene> {
        let start = self.at;
        let text = self.text()?;
        let Document { nodes, mut sections, extra } = read_text(text, Dialect::V0_2)
            .map_err(|error| error_at(start, format!("in the scene: {error}")))?;
        let scene = sections.scene.take();
        match scene {
            Some(scene)
                if nodes.is_empty() && extra.is_empty() && sections == Sections::default() =>
            {
                Ok(scene)
            }
            _ => Err(error_at(start, "expected text with scene lines only")),
        }
    }
}

/// Returns the index of the node that a root or a part definition references.
fn shown_node(index: u64, nodes: &[Node<'_>], at: usize) -> Result<usize> {
    let found = usize::try_from(index).ok().filter(|&index| index < nodes.len());
    found.ok_or_else(|| error_at(at, format!("root references node {index}, which does not exist")))
}

fn insert_unique<T>(map: &mut BTreeMap<String, T>, key: String, value: T, at: usize) -> Result<()> {
    if map.contains_key(&key) {
        return Err(error_at(at, format!("duplicate key \"{}\"", Truncated(&key))));
    }
    map.insert(key, value);
    Ok(())
}

#[cold]
fn error_at(offset: usize, message: impl Into<String>) -> BinaryError {
    BinaryError { offset, message: message.into(), out_of_memory: false }
}

fn unzigzag(z: u64) -> i64 {
    (z >> 1).cast_signed() ^ -(z & 1).cast_signed()
}

/// The ids of all nodes.
enum Ids {
    /// Consecutive ids from this one on.
    From(u64),
    Listed(Vec<u64>),
}
