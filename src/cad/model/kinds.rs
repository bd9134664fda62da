//! The tables of joints, lights and effects, and the names of presets, shared by all formats.

/// A kind of joint: its JSON type, its opcode, and whether it has an axis and may have limits. Its
/// index in [`JOINTS`] is the kind's number in the binary form.
#[derive(Debug)]
pub(crate) struct JointSpec {
    pub name: &'static str,
    pub opcode: &'static str,
    pub axis: bool,
    pub limits: bool,
}

pub(crate) static JOINTS: [JointSpec; 5] = [
    JointSpec { name: "Fixed", opcode: "JFIX", axis: false, limits: false },
    JointSpec { name: "Revolute", opcode: "JREV", axis: true, limits: true },
    JointSpec { name: "Slider", opcode: "JSLD", axis: true, limits: true },
    JointSpec { name: "Cylindrical", opcode: "JCYL", axis: true, limits: false },
    JointSpec { name: "Ball", opcode: "JBAL", axis: false, limits: false },
];

/// A kind of light. Its numbers are either all required or all optional.
#[derive(Debug)]
pub(crate) struct LightSpec {
    pub name: &'static str,
    pub opcode: &'static str,
    pub vectors: &'static [&'static str],
    pub numbers: &'static [&'static str],
    pub required: bool,
}

#[rustfmt::skip]
pub(crate) static LIGHTS: [LightSpec; 4] = [
    LightSpec { name: "Directional", opcode: "LDIR", vectors: &["direction"], numbers: &[], required: false },
    LightSpec { name: "Point", opcode: "LPNT", vectors: &["position"], numbers: &["distance"], required: false },
    LightSpec { name: "Spot", opcode: "LSPT", vectors: &["position", "direction"], numbers: &["angle", "penumbra"], required: false },
    LightSpec { name: "Area", opcode: "LAREA", vectors: &["position", "direction"], numbers: &["width", "height"], required: true },
];

/// A post-processing effect: its JSON member, its opcode and its two optional numbers.
#[derive(Debug)]
pub(crate) struct EffectSpec {
    pub name: &'static str,
    pub opcode: &'static str,
    pub numbers: [&'static str; 2],
}

pub(crate) static EFFECTS: [EffectSpec; 3] = [
    EffectSpec { name: "ambientOcclusion", opcode: "AO", numbers: ["intensity", "radius"] },
    EffectSpec { name: "bloom", opcode: "BLOOM", numbers: ["intensity", "threshold"] },
    EffectSpec { name: "vignette", opcode: "VIG", numbers: ["offset", "darkness"] },
];

/// The names of environment presets.
pub(crate) static PRESETS: [&str; 10] = [
    "studio",
    "warehouse",
    "apartment",
    "park",
    "city",
    "dawn",
    "night",
    "sunset",
    "forest",
    "neutral",
];

/// The names of tone mappings.
pub(crate) static TONES: [&str; 6] = ["none", "reinhard", "cineon", "acesFilmic", "agX", "neutral"];

/// The names of alignments, in the order of [`Align`](super::ir::Align).
pub(crate) static ALIGNMENTS: [&str; 3] = ["left", "center", "right"];

/// Returns the static name from the table that equals `name`, if any.
pub(crate) fn known(names: &'static [&'static str], name: &str) -> Option<&'static str> {
    names.iter().copied().find(|&known| known == name)
}
