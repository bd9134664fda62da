//! Writes a document in the binary form. Each document has exactly one encoding.

use super::{ARC, CCW, CENTER, CHAINED, LAYOUT, MAGIC, MAX_EXPANSION, NAMED, RIGHT, SPECIAL};
use crate::cad::error::DocumentError;
use crate::cad::model::ir::{Align, Document, Instance, Joint, Material, Node, Sections, Segment};
use crate::cad::model::kinds::JOINTS;
use crate::cad::model::number;
use crate::cad::model::operations::{FieldKind, OpCode};
use crate::cad::model::writing_order::order;
use crate::cad::text::write::write_scene;
use crate::interrupt::polled;
use crate::memory;
use crate::text::leb128;
use std::collections::HashMap;

/// Writes a document.
///
/// # Errors
/// [`DocumentError`] for values outside the model, for cycles, and for strings larger in total than
/// [`MAX_EXPANSION`].
pub fn write_binary(document: &Document<'_>) -> Result<Vec<u8>, DocumentError> {
    document.refuse_extra("binary")?;
    let order = order(&document.nodes, |_| false, None)?;
    let mut writer = Writer { positions: vec![0; order.len()], ..Writer::default() };
    for (place, &node) in order.iter().enumerate() {
        writer.positions[node] = place;
    }
    writer.nodes(document, &order);
    writer.sections(&document.sections);
    if writer.expanded > MAX_EXPANSION {
        let message = format!(
            "too large for the binary form: the strings have {} bytes, and readers accept {MAX_EXPANSION}",
            writer.expanded
        );
        return Err(DocumentError::new("document", message));
    }
    let mut bytes = Vec::with_capacity(writer.body.len() + writer.table.len() + 16);
    bytes.extend(MAGIC);
    bytes.push(LAYOUT);
    leb128::write(writer.strings.len() as u64, &mut bytes);
    bytes.append(&mut writer.table);
    bytes.append(&mut writer.body);
    Ok(bytes)
}

/// Maps small numbers of either sign to small unsigned numbers.
fn zigzag(n: i64) -> u64 {
    (n.cast_unsigned() << 1) ^ (n >> 63).cast_unsigned()
}

#[derive(Default)]
struct Writer {
    body: Vec<u8>,
    table: Vec<u8>,
    strings: HashMap<String, u64>,
    /// The length of all strings, each counted as often as it is used.
    expanded: usize,
    /// The position of each node in writing order.
    positions: Vec<usize>,
}

impl Writer {
    fn u(&mut self, n: u64) {
        leb128::write(n, &mut self.body);
    }

    fn intern(&mut self, text: &str) -> u64 {
        self.expanded = self.expanded.saturating_add(text.len());
        if let Some(&index) = self.strings.get(text) {
            return index;
        }
        let index = self.strings.len() as u64;
        leb128::write(text.len() as u64, &mut self.table);
        memory::require(self.table.try_reserve(text.len()));
        self.table.extend(text.as_bytes());
        memory::require(self.strings.try_reserve(1));
        self.strings.insert(text.to_owned(), index);
        index
    }

    fn text(&mut self, text: &str) {
        let index = self.intern(text);
        self.u(index);
    }

    fn optional_text(&mut self, text: Option<&String>) {
        let index = text.map_or(0, |text| self.intern(text) + 1);
        self.u(index);
    }

    fn number(&mut self, x: f64) {
        match number::scaled(x) {
            Some((m, scale @ 0..=2)) => self.u(4 * zigzag(m) + u64::from(scale)),
            Some((m, scale)) => {
                self.u(4 * u64::from(scale - 2) + 3);
                self.u(zigzag(m));
            }
            None => {
                self.u(3);
                self.body.extend(x.to_le_bytes());
            }
        }
    }

    fn numbers(&mut self, numbers: &[f64]) {
        for &x in numbers {
            self.number(x);
        }
    }

    fn options(&mut self, options: &[Option<f64>]) {
        options.iter().flatten().for_each(|&x| self.number(x));
    }

    fn nodes(&mut self, document: &Document<'_>, order: &[usize]) {
        self.u(order.len() as u64);
        let ids = order.iter().map(|&node| document.nodes[node].id);
        if ids.clone().zip(0..).all(|(id, place)| id == place) {
            self.u(0);
        } else if ids.clone().zip(1..).all(|(id, place)| id == place) {
            self.u(1);
        } else {
            self.u(2);
            let mut previous = u64::MAX;
            for id in ids {
                let step = id.wrapping_sub(previous).wrapping_sub(1);
                self.u(zigzag(step.cast_signed()));
                previous = id;
            }
        }
        for (place, &node) in polled(order).enumerate() {
            self.node(&document.nodes[node], place);
        }
    }

    fn node(&mut self, node: &Node<'_>, place: usize) {
        let op = &node.op;
        let options = op.options();
        let has_segments =
            op.code.spec().fields.iter().any(|field| field.kind == FieldKind::Segments);
        let special = match op.code {
            OpCode::Extrude | OpCode::Text2D => options != [None; 2] || op.align() != Align::Left,
            _ => has_segments && op.count == 0,
        };
        let name = if node.name.is_some() { NAMED } else { 0 };
        self.body.push(op.code as u8 | name | if special { SPECIAL } else { 0 });
        if let Some(name) = &node.name {
            self.text(name);
        }
        for field in op.code.spec().fields {
            match field.kind {
                FieldKind::Number => self.number(op.numbers[field.at]),
                FieldKind::Vector => self.numbers(&op.numbers[field.at..field.at + 3]),
                FieldKind::Segments if special => {}
                FieldKind::Count | FieldKind::Segments => self.u(op.count.into()),
                FieldKind::Solid | FieldKind::Profile => {
                    let target = self.positions[op.refs[field.at]];
                    // In writing order the target comes before the node.
                    self.u((place - target - 1) as u64);
                }
                FieldKind::Text => self.text(op.text(field.at)),
            }
        }
        if op.code == OpCode::Sketch2D {
            self.outline(op.segments());
        } else if special && !has_segments {
            let align = match op.align() {
                Align::Left => 0,
                Align::Center => CENTER,
                Align::Right => RIGHT,
            };
            self.u(mask(options.map(|option| option.is_some())) | align);
            self.options(&options);
        }
    }

    fn outline(&mut self, segments: &[Segment]) {
        self.u(segments.len() as u64);
        let mut previous = None;
        for segment in segments {
            let chained = previous == Some(segment.start.map(f64::to_bits));
            let kind = segment.arc.map_or(0, |arc| ARC | if arc.ccw { CCW } else { 0 });
            self.body.push(kind | if chained { CHAINED } else { 0 });
            if !chained {
                self.numbers(&segment.start);
            }
            self.numbers(&segment.end);
            if let Some(arc) = segment.arc {
                self.numbers(&arc.center);
            }
            previous = Some(segment.end.map(f64::to_bits));
        }
    }

    fn sections(&mut self, sections: &Sections) {
        self.u(sections.roots.len() as u64);
        for root in polled(&sections.roots) {
            let visible = root.visible.map_or(0, |visible| 1 + u64::from(visible));
            self.u(3 * self.positions[root.node] as u64 + visible);
            self.text(&root.material);
        }
        self.u(sections.materials.len() as u64);
        for (key, material) in polled(&sections.materials) {
            self.material(key, material);
        }
        self.u(sections.part_materials.len() as u64);
        for (part, material) in polled(&sections.part_materials) {
            self.text(part);
            self.text(material);
        }
        let version = sections.version.as_deref().filter(|&version| version != "0.1");
        self.u(mask([
            version.is_some(),
            sections.parts.is_some(),
            sections.instances.is_some(),
            sections.joints.is_some(),
            sections.ground.is_some(),
            sections.scene.is_some(),
        ]));
        if let Some(version) = version {
            self.text(version);
        }
        self.assembly(sections);
        if let Some(scene) = &sections.scene {
            self.text(&write_scene(scene));
        }
    }

    fn material(&mut self, key: &str, material: &Material) {
        let own_key = key != material.name;
        let options = [material.density, material.friction];
        self.u(mask([own_key, options[0].is_some(), options[1].is_some()]));
        self.text(&material.name);
        if own_key {
            self.text(key);
        }
        self.numbers(&material.color);
        self.numbers(&[material.metallic, material.roughness]);
        self.options(&options);
    }

    fn assembly(&mut self, sections: &Sections) {
        if let Some(parts) = &sections.parts {
            self.u(parts.len() as u64);
            for (key, part) in parts {
                self.text(key);
                self.optional_text(Some(&part.id).filter(|id| *id != key));
                self.optional_text(part.name.as_ref());
                self.u(self.positions[part.node] as u64);
                self.optional_text(part.material.as_ref());
            }
        }
        if let Some(instances) = &sections.instances {
            self.u(instances.len() as u64);
            for instance in instances {
                self.instance(instance);
            }
        }
        if let Some(joints) = &sections.joints {
            self.u(joints.len() as u64);
            for joint in joints {
                self.joint(joint);
            }
        }
        if let Some(ground) = &sections.ground {
            self.text(ground);
        }
    }

    fn instance(&mut self, instance: &Instance) {
        self.text(&instance.id);
        self.text(&instance.part);
        self.optional_text(instance.name.as_ref());
        self.optional_text(instance.material.as_ref());
        self.u(instance.transform.is_some().into());
        if let Some(transform) = &instance.transform {
            self.numbers(transform.as_flattened());
        }
    }

    fn joint(&mut self, joint: &Joint) {
        self.u(2 * joint.kind as u64 + u64::from(joint.limits.is_some()));
        self.text(&joint.id);
        self.optional_text(joint.name.as_ref());
        self.optional_text(joint.parent.as_ref());
        self.text(&joint.child);
        self.numbers(joint.anchors.as_flattened());
        if JOINTS[joint.kind].axis {
            self.numbers(&joint.axis);
        }
        self.numbers(joint.limits.as_ref().map_or(&[], |limits| &limits[..]));
        self.number(joint.state);
    }
}

/// Sets bit `i` if the `i`th part is present.
fn mask<const N: usize>(present: [bool; N]) -> u64 {
    present.into_iter().enumerate().map(|(i, present)| u64::from(present) << i).sum()
}
