//! Emits a document as events of its canonical JSON form.
//!
//! The events go to a sink, so the same code writes text and creates the objects of another
//! language. Numbers without a fraction are emitted as integers, as the specification writes them.

use crate::cad::model::ir::{
    Background, Camera, Document, EnvironmentSource, Instance, Joint, Light, Material, Node, Op,
    Part, Post, Root, Scene, Sections, V2, V3,
};
use crate::cad::model::kinds::{ALIGNMENTS, EFFECTS, JOINTS, LIGHTS};
use crate::cad::model::number;
use crate::cad::model::operations::{FieldKind, OpCode};
use crate::interrupt::polled;
use crate::walk::Sink;
use std::collections::BTreeMap;

/// Emits the document without its values outside the model.
pub(crate) fn emit_model<S: Sink>(document: &Document<'_>, sink: &mut S) -> Result<(), S::Error> {
    let id = |node: usize| document.nodes[node].id;
    sink.begin_object()?;
    emit_version(&document.sections, sink)?;
    sink.key("nodes")?;
    sink.begin_object()?;
    let mut order: Vec<_> = (0..document.nodes.len()).collect();
    // Ids ascend already, unless the document comes from text with `IDS` or from the binary form.
    order.sort_by_key(|&node| id(node));
    let mut digits = itoa::Buffer::new();
    for node in polled(order) {
        sink.key(digits.format(id(node)))?;
        emit_node(&document.nodes[node], id, sink)?;
    }
    sink.end_object()?;
    emit_sections(&document.sections, id, sink)?;
    sink.end_object()
}

/// Emits the document without its nodes.
///
/// # Errors
/// The error of the sink.
pub fn emit_without_nodes<S: Sink>(
    sections: &Sections,
    id: impl Fn(usize) -> u64,
    sink: &mut S,
) -> Result<(), S::Error> {
    sink.begin_object()?;
    emit_version(sections, sink)?;
    emit_sections(sections, id, sink)?;
    sink.end_object()
}

/// Emits the member `version`.
pub(crate) fn emit_version<S: Sink>(sections: &Sections, sink: &mut S) -> Result<(), S::Error> {
    sink.key("version")?;
    sink.string(sections.version.as_deref().unwrap_or("0.1"))
}

/// Emits a node. `id` maps the index of a node to its id.
///
/// # Errors
/// The error of the sink.
pub fn emit_node<S: Sink>(
    node: &Node<'_>,
    id: impl Fn(usize) -> u64,
    sink: &mut S,
) -> Result<(), S::Error> {
    sink.begin_object()?;
    sink.key("id")?;
    emit_id(node.id, sink)?;
    sink.key("name")?;
    match &node.name {
        None => sink.null()?,
        Some(name) => sink.string(name)?,
    }
    sink.key("op")?;
    emit_op(&node.op, id, sink)?;
    sink.end_object()
}

fn emit_op<S: Sink>(op: &Op<'_>, id: impl Fn(usize) -> u64, sink: &mut S) -> Result<(), S::Error> {
    let spec = op.code.spec();
    sink.begin_object()?;
    sink.key("type")?;
    sink.string(spec.name)?;
    for field in spec.fields {
        let at = field.at;
        sink.key(field.name)?;
        match field.kind {
            FieldKind::Number => emit_number(op.numbers[at], sink)?,
            FieldKind::Vector => emit_xyz(&op.numbers[at..at + 3], sink)?,
            FieldKind::Count | FieldKind::Segments => sink.int(op.count.into())?,
            FieldKind::Solid | FieldKind::Profile => emit_id(id(op.refs[at]), sink)?,
            FieldKind::Text => sink.string(op.text(at))?,
        }
    }
    for (option, value) in spec.options.iter().zip(op.options()) {
        optional_number(option.name, value, sink)?;
    }
    match op.code {
        OpCode::Sketch2D => emit_segments(op, sink)?,
        OpCode::Text2D => {
            sink.key("alignment")?;
            sink.string(ALIGNMENTS[op.align() as usize])?;
        }
        _ => {}
    }
    sink.end_object()
}

fn emit_segments<S: Sink>(op: &Op<'_>, sink: &mut S) -> Result<(), S::Error> {
    sink.key("segments")?;
    sink.begin_array()?;
    for segment in op.segments() {
        sink.begin_object()?;
        sink.key("type")?;
        sink.string(if segment.arc.is_some() { "Arc" } else { "Line" })?;
        emit_point("start", &segment.start, sink)?;
        emit_point("end", &segment.end, sink)?;
        if let Some(arc) = &segment.arc {
            emit_point("center", &arc.center, sink)?;
            sink.key("ccw")?;
            sink.bool(arc.ccw)?;
        }
        sink.end_object()?;
    }
    sink.end_array()
}

fn emit_number<S: Sink>(x: f64, sink: &mut S) -> Result<(), S::Error> {
    match number::integer(x) {
        Some(n) => sink.int(n),
        None => sink.float(x),
    }
}

fn emit_id<S: Sink>(id: u64, sink: &mut S) -> Result<(), S::Error> {
    match i64::try_from(id) {
        Ok(id) => sink.int(id),
        Err(_) => sink.big_int(&id.to_string()),
    }
}

fn emit_xyz<S: Sink>(vector: &[f64], sink: &mut S) -> Result<(), S::Error> {
    sink.begin_object()?;
    for (name, &x) in ["x", "y", "z"].into_iter().zip(vector) {
        sink.key(name)?;
        emit_number(x, sink)?;
    }
    sink.end_object()
}

fn emit_vector<S: Sink>(name: &str, vector: &V3, sink: &mut S) -> Result<(), S::Error> {
    sink.key(name)?;
    emit_xyz(vector, sink)
}

fn emit_point<S: Sink>(name: &str, point: &V2, sink: &mut S) -> Result<(), S::Error> {
    sink.key(name)?;
    emit_xyz(point, sink)
}

fn emit_array<S: Sink>(name: &str, numbers: &[f64], sink: &mut S) -> Result<(), S::Error> {
    sink.key(name)?;
    sink.begin_array()?;
    numbers.iter().try_for_each(|&x| emit_number(x, sink))?;
    sink.end_array()
}

fn member<S: Sink>(name: &str, x: f64, sink: &mut S) -> Result<(), S::Error> {
    sink.key(name)?;
    emit_number(x, sink)
}

fn text<S: Sink>(name: &str, text: &str, sink: &mut S) -> Result<(), S::Error> {
    sink.key(name)?;
    sink.string(text)
}

fn optional_number<S: Sink>(name: &str, x: Option<f64>, sink: &mut S) -> Result<(), S::Error> {
    x.map_or(Ok(()), |x| member(name, x, sink))
}

fn optional_text<S: Sink>(
    name: &str,
    value: Option<&String>,
    sink: &mut S,
) -> Result<(), S::Error> {
    value.map_or(Ok(()), |value| text(name, value, sink))
}

fn optional_bool<S: Sink>(name: &str, on: Option<bool>, sink: &mut S) -> Result<(), S::Error> {
    let Some(on) = on else { return Ok(()) };
    sink.key(name)?;
    sink.bool(on)
}

fn map<S: Sink, T>(
    name: &str,
    map: &BTreeMap<String, T>,
    sink: &mut S,
    emit: impl Fn(&T, &mut S) -> Result<(), S::Error>,
) -> Result<(), S::Error> {
    sink.key(name)?;
    sink.begin_object()?;
    for (key, value) in polled(map) {
        sink.key(key)?;
        emit(value, sink)?;
    }
    sink.end_object()
}

fn array<S: Sink, T>(
    name: &str,
    items: &[T],
    sink: &mut S,
    emit: impl Fn(&T, &mut S) -> Result<(), S::Error>,
) -> Result<(), S::Error> {
    sink.key(name)?;
    sink.begin_array()?;
    polled(items).try_for_each(|item| emit(item, sink))?;
    sink.end_array()
}

/// Emits the members of all sections but `version` and `nodes`.
pub(crate) fn emit_sections<S: Sink>(
    sections: &Sections,
    id: impl Fn(usize) -> u64,
    sink: &mut S,
) -> Result<(), S::Error> {
    map("materials", &sections.materials, sink, emit_material)?;
    map("part_materials", &sections.part_materials, sink, |key, sink| sink.string(key))?;
    array("roots", &sections.roots, sink, |root, sink| emit_root(root, id(root.node), sink))?;
    if let Some(parts) = &sections.parts {
        map("partDefs", parts, sink, |part, sink| emit_part(part, id(part.node), sink))?;
    }
    if let Some(instances) = &sections.instances {
        array("instances", instances, sink, emit_instance)?;
    }
    if let Some(joints) = &sections.joints {
        array("joints", joints, sink, emit_joint)?;
    }
    optional_text("groundInstanceId", sections.ground.as_ref(), sink)?;
    match &sections.scene {
        None => Ok(()),
        Some(scene) => {
            sink.key("scene")?;
            emit_scene(scene, sink)
        }
    }
}

fn emit_material<S: Sink>(material: &Material, sink: &mut S) -> Result<(), S::Error> {
    sink.begin_object()?;
    text("name", &material.name, sink)?;
    emit_array("color", &material.color, sink)?;
    member("metallic", material.metallic, sink)?;
    member("roughness", material.roughness, sink)?;
    optional_number("density", material.density, sink)?;
    optional_number("friction", material.friction, sink)?;
    sink.end_object()
}

fn emit_root<S: Sink>(root: &Root, node: u64, sink: &mut S) -> Result<(), S::Error> {
    sink.begin_object()?;
    sink.key("root")?;
    emit_id(node, sink)?;
    text("material", &root.material, sink)?;
    optional_bool("visible", root.visible, sink)?;
    sink.end_object()
}

fn emit_part<S: Sink>(part: &Part, node: u64, sink: &mut S) -> Result<(), S::Error> {
    sink.begin_object()?;
    text("id", &part.id, sink)?;
    optional_text("name", part.name.as_ref(), sink)?;
    sink.key("root")?;
    emit_id(node, sink)?;
    optional_text("defaultMaterial", part.material.as_ref(), sink)?;
    sink.end_object()
}

fn emit_instance<S: Sink>(instance: &Instance, sink: &mut S) -> Result<(), S::Error> {
    sink.begin_object()?;
    text("id", &instance.id, sink)?;
    text("partDefId", &instance.part, sink)?;
    optional_text("name", instance.name.as_ref(), sink)?;
    if let Some([translation, rotation, scale]) = &instance.transform {
        sink.key("transform")?;
        sink.begin_object()?;
        emit_vector("translation", translation, sink)?;
        emit_vector("rotation", rotation, sink)?;
        emit_vector("scale", scale, sink)?;
        sink.end_object()?;
    }
    optional_text("material", instance.material.as_ref(), sink)?;
    sink.end_object()
}

fn emit_joint<S: Sink>(joint: &Joint, sink: &mut S) -> Result<(), S::Error> {
    sink.begin_object()?;
    text("id", &joint.id, sink)?;
    optional_text("name", joint.name.as_ref(), sink)?;
    sink.key("parentInstanceId")?;
    match &joint.parent {
        None => sink.null()?,
        Some(parent) => sink.string(parent)?,
    }
    text("childInstanceId", &joint.child, sink)?;
    emit_vector("parentAnchor", &joint.anchors[0], sink)?;
    emit_vector("childAnchor", &joint.anchors[1], sink)?;
    sink.key("kind")?;
    sink.begin_object()?;
    let spec = &JOINTS[joint.kind];
    text("type", spec.name, sink)?;
    if spec.axis {
        emit_vector("axis", &joint.axis, sink)?;
    }
    if let Some(limits) = &joint.limits {
        emit_array("limits", limits, sink)?;
    }
    sink.end_object()?;
    member("state", joint.state, sink)?;
    sink.end_object()
}

fn emit_scene<S: Sink>(scene: &Scene, sink: &mut S) -> Result<(), S::Error> {
    sink.begin_object()?;
    if let Some(environment) = &scene.environment {
        sink.key("environment")?;
        sink.begin_object()?;
        match &environment.source {
            EnvironmentSource::Preset(preset) => {
                text("type", "Preset", sink)?;
                text("preset", preset, sink)?;
            }
            EnvironmentSource::Custom(url) => {
                text("type", "Custom", sink)?;
                text("url", url, sink)?;
            }
        }
        optional_number("intensity", environment.intensity, sink)?;
        sink.end_object()?;
    }
    if let Some(background) = &scene.background {
        emit_background(background, sink)?;
    }
    if let Some(lights) = &scene.lights {
        array("lights", lights, sink, emit_light)?;
    }
    if let Some(post) = &scene.post {
        emit_post(post, sink)?;
    }
    if let Some(cameras) = &scene.cameras {
        array("cameraPresets", cameras, sink, emit_camera)?;
    }
    sink.end_object()
}

fn emit_background<S: Sink>(background: &Background, sink: &mut S) -> Result<(), S::Error> {
    sink.key("background")?;
    sink.begin_object()?;
    match background {
        Background::Environment => text("type", "Environment", sink)?,
        Background::Transparent => text("type", "Transparent", sink)?,
        Background::Solid(color) => {
            text("type", "Solid", sink)?;
            emit_array("color", color, sink)?;
        }
        Background::Gradient([top, bottom]) => {
            text("type", "Gradient", sink)?;
            emit_array("top", top, sink)?;
            emit_array("bottom", bottom, sink)?;
        }
    }
    sink.end_object()
}

fn emit_light<S: Sink>(light: &Light, sink: &mut S) -> Result<(), S::Error> {
    sink.begin_object()?;
    text("id", &light.id, sink)?;
    sink.key("kind")?;
    sink.begin_object()?;
    let spec = &LIGHTS[light.kind];
    text("type", spec.name, sink)?;
    for (name, vector) in spec.vectors.iter().zip(&light.vectors) {
        emit_vector(name, vector, sink)?;
    }
    for (name, number) in spec.numbers.iter().zip(light.numbers) {
        optional_number(name, number, sink)?;
    }
    sink.end_object()?;
    emit_array("color", &light.color, sink)?;
    member("intensity", light.intensity, sink)?;
    optional_bool("enabled", light.enabled, sink)?;
    optional_bool("castShadow", light.shadow, sink)?;
    sink.end_object()
}

fn emit_post<S: Sink>(post: &Post, sink: &mut S) -> Result<(), S::Error> {
    sink.key("postProcessing")?;
    sink.begin_object()?;
    for (spec, effect) in EFFECTS.iter().zip(&post.effects) {
        let Some(effect) = effect else { continue };
        sink.key(spec.name)?;
        sink.begin_object()?;
        sink.key("enabled")?;
        sink.bool(effect.enabled)?;
        for (name, number) in spec.numbers.into_iter().zip(effect.numbers) {
            optional_number(name, number, sink)?;
        }
        sink.end_object()?;
    }
    if let Some(tone) = post.tone {
        text("toneMapping", tone, sink)?;
    }
    optional_number("exposure", post.exposure, sink)?;
    sink.end_object()
}

fn emit_camera<S: Sink>(camera: &Camera, sink: &mut S) -> Result<(), S::Error> {
    sink.begin_object()?;
    text("id", &camera.id, sink)?;
    optional_text("name", camera.name.as_ref(), sink)?;
    emit_vector("position", &camera.position, sink)?;
    emit_vector("target", &camera.target, sink)?;
    optional_number("fov", camera.fov, sink)?;
    sink.end_object()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cad::model::ir::Align;

    #[test]
    fn alignments_are_in_the_order_of_their_type() {
        assert_eq!(ALIGNMENTS[Align::Center as usize], "center");
        assert_eq!(ALIGNMENTS[Align::Right as usize], "right");
    }
}
