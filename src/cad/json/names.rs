//! The names of the JSON form, for callers that intern them.

use crate::cad::model::kinds::{ALIGNMENTS, EFFECTS, JOINTS, LIGHTS, PRESETS, TONES};
use crate::cad::model::operations::OP_SPECS;

/// All member names and enumeration values of the JSON form.
pub fn names() -> impl Iterator<Item = &'static str> {
    let ops = OP_SPECS.iter().flat_map(|spec| {
        let options = spec.options.iter().map(|option| option.name);
        spec.fields.iter().map(|field| field.name).chain(options).chain([spec.name])
    });
    let lights = LIGHTS.iter().flat_map(|spec| [spec.vectors, spec.numbers]);
    let effects = EFFECTS.iter().flat_map(|spec| [spec.name, spec.numbers[0], spec.numbers[1]]);
    ops.chain(lights.flatten().copied())
        .chain(effects)
        .chain(LIGHTS.iter().map(|spec| spec.name))
        .chain(JOINTS.iter().map(|spec| spec.name))
        .chain(PRESETS)
        .chain(TONES)
        .chain(ALIGNMENTS)
        .chain(OTHER_NAMES.iter().copied())
}

const OTHER_NAMES: &[&str] = &[
    "Arc",
    "Custom",
    "Environment",
    "Gradient",
    "Line",
    "Preset",
    "Solid",
    "Transparent",
    "alignment",
    "axis",
    "background",
    "bottom",
    "cameraPresets",
    "castShadow",
    "ccw",
    "center",
    "childAnchor",
    "childInstanceId",
    "color",
    "compact",
    "default",
    "defaultMaterial",
    "density",
    "enabled",
    "end",
    "environment",
    "exposure",
    "fov",
    "friction",
    "groundInstanceId",
    "id",
    "instances",
    "intensity",
    "joints",
    "kind",
    "lights",
    "limits",
    "material",
    "materials",
    "metallic",
    "name",
    "nodes",
    "op",
    "parentAnchor",
    "parentInstanceId",
    "partDefId",
    "partDefs",
    "part_materials",
    "position",
    "postProcessing",
    "preset",
    "root",
    "roots",
    "rotation",
    "roughness",
    "scale",
    "scene",
    "segments",
    "start",
    "state",
    "target",
    "toneMapping",
    "top",
    "transform",
    "translation",
    "type",
    "url",
    "version",
    "visible",
    "x",
    "y",
    "z",
];
