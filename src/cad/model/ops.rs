//! The one table of operations: what each is called in JSON, in text and in binary, and what it takes.
//!
//! Readers and writers of every form go by it, so that none can know an operation that another does
//! not. Sections 2, 3.2, 6 and 9.

/// What an operation is; its number is the op code of the binary form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
#[expect(missing_docs, reason = "the names say it; the table below says the rest")]
pub enum Code {
    Cube,
    Cylinder,
    Sphere,
    Cone,
    Empty,
    Union,
    Difference,
    Intersection,
    Translate,
    Rotate,
    Scale,
    Sketch2D,
    Extrude,
    Revolve,
    LinearPattern,
    CircularPattern,
    Shell,
    Fillet,
    Chamfer,
    Text2D,
    StepImport,
}

/// What a field holds, and in which slots of [`Op`](super::ir::Op) from [`Field::at`] on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// One of `numbers`.
    Number,
    /// Three of `numbers`.
    Vector,
    /// `count`.
    Count,
    /// `count`, where text may leave out a zero: it is the last argument.
    Segments,
    /// One of `refs`, to a solid.
    Solid,
    /// One of `refs`, to a profile.
    Profile,
    /// One of `texts`.
    Text,
}

/// A required field of an operation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Field {
    pub name: &'static str,
    pub kind: Kind,
    pub at: usize,
}

/// An optional number of an operation, by its place in `options`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Choice {
    pub name: &'static str,
    pub attribute: &'static str,
}

/// What there is to know of an operation.
#[derive(Debug)]
pub(crate) struct Spec {
    pub code: Code,
    /// JSON: the `type`.
    pub name: &'static str,
    /// Text: the opcode.
    pub opcode: &'static str,
    /// Dialect 0.1 has it.
    pub in_first: bool,
    /// The required fields, in the order of the model.
    pub fields: &'static [Field],
    /// The same in the order of the text.
    pub args: &'static [Field],
    pub options: &'static [Choice],
    pub min_args: usize,
    pub max_args: usize,
}

const fn number(name: &'static str, at: usize) -> Field {
    Field { name, kind: Kind::Number, at }
}

const fn vector(name: &'static str, at: usize) -> Field {
    Field { name, kind: Kind::Vector, at }
}

const fn solid(name: &'static str, at: usize) -> Field {
    Field { name, kind: Kind::Solid, at }
}

const fn text(name: &'static str, at: usize) -> Field {
    Field { name, kind: Kind::Text, at }
}

const CHILD: Field = solid("child", 0);
const SKETCH: Field = Field { name: "sketch", kind: Kind::Profile, at: 0 };
const SEGMENTS: Field = Field { name: "segments", kind: Kind::Segments, at: 0 };
const COUNT: Field = Field { name: "count", kind: Kind::Count, at: 0 };
const BOTH: &[Field] = &[solid("left", 0), solid("right", 1)];
const AXIS: [Field; 2] = [vector("axis_origin", 0), vector("axis_dir", 3)];
const PLANE: [Field; 3] = [vector("origin", 0), vector("x_dir", 3), vector("y_dir", 6)];

const TEXT_FIELDS: &[Field] =
    &[PLANE[0], PLANE[1], PLANE[2], text("text", 0), text("font", 1), number("height", 9)];
const TEXT_ARGS: &[Field] =
    &[PLANE[0], PLANE[1], PLANE[2], number("height", 9), text("text", 0), text("font", 1)];

const fn spec(
    code: Code,
    name: &'static str,
    opcode: &'static str,
    fields: &'static [Field],
) -> Spec {
    let (mut min_args, mut max_args, mut i) = (0, 0, 0);
    while i < fields.len() {
        let (min, max) = match fields[i].kind {
            Kind::Vector => (3, 3),
            Kind::Segments => (0, 1),
            _ => (1, 1),
        };
        min_args += min;
        max_args += max;
        i += 1;
    }
    let in_first = (code as u8) < Code::Fillet as u8 && !matches!(code, Code::Empty);
    Spec { code, name, opcode, in_first, fields, args: fields, options: &[], min_args, max_args }
}

const fn with(spec: &Spec, args: &'static [Field], options: &'static [Choice]) -> Spec {
    Spec { args, options, ..*spec }
}

const EXTRUDE: &[Field] = &[SKETCH, vector("direction", 0)];

/// In the order of their codes.
pub(crate) static SPECS: [Spec; 21] = [
    spec(Code::Cube, "Cube", "C", &[vector("size", 0)]),
    spec(Code::Cylinder, "Cylinder", "Y", &[number("radius", 0), number("height", 1), SEGMENTS]),
    spec(Code::Sphere, "Sphere", "S", &[number("radius", 0), SEGMENTS]),
    spec(
        Code::Cone,
        "Cone",
        "K",
        &[number("radius_bottom", 0), number("radius_top", 1), number("height", 2), SEGMENTS],
    ),
    spec(Code::Empty, "Empty", "EMPTY", &[]),
    spec(Code::Union, "Union", "U", BOTH),
    spec(Code::Difference, "Difference", "D", BOTH),
    spec(Code::Intersection, "Intersection", "I", BOTH),
    spec(Code::Translate, "Translate", "T", &[CHILD, vector("offset", 0)]),
    spec(Code::Rotate, "Rotate", "R", &[CHILD, vector("angles", 0)]),
    spec(Code::Scale, "Scale", "X", &[CHILD, vector("factor", 0)]),
    spec(Code::Sketch2D, "Sketch2D", "SK", &PLANE),
    with(
        &spec(Code::Extrude, "Extrude", "E", EXTRUDE),
        EXTRUDE,
        &[
            Choice { name: "twist_angle", attribute: "twist" },
            Choice { name: "scale_end", attribute: "taper" },
        ],
    ),
    spec(Code::Revolve, "Revolve", "V", &[SKETCH, AXIS[0], AXIS[1], number("angle_deg", 6)]),
    spec(
        Code::LinearPattern,
        "LinearPattern",
        "LP",
        &[CHILD, vector("direction", 0), COUNT, number("spacing", 3)],
    ),
    spec(
        Code::CircularPattern,
        "CircularPattern",
        "CP",
        &[CHILD, AXIS[0], AXIS[1], COUNT, number("angle_deg", 6)],
    ),
    spec(Code::Shell, "Shell", "SH", &[CHILD, number("thickness", 0)]),
    spec(Code::Fillet, "Fillet", "FI", &[CHILD, number("radius", 0)]),
    spec(Code::Chamfer, "Chamfer", "CH", &[CHILD, number("distance", 0)]),
    with(
        &spec(Code::Text2D, "Text2D", "TX", TEXT_FIELDS),
        TEXT_ARGS,
        &[
            Choice { name: "letter_spacing", attribute: "letter" },
            Choice { name: "line_spacing", attribute: "line" },
        ],
    ),
    spec(Code::StepImport, "step_import", "STEP", &[text("path", 0)]),
];

impl Code {
    /// What JSON calls it.
    pub fn name(self) -> &'static str {
        self.spec().name
    }

    /// Whether it is a profile (a flat shape, to be extruded or revolved), not a solid.
    pub fn is_profile(self) -> bool {
        matches!(self, Self::Sketch2D | Self::Text2D)
    }

    #[inline]
    pub(crate) fn spec(self) -> &'static Spec {
        &SPECS[self as usize]
    }

    /// By the `type` of JSON.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        SPECS.iter().find(|spec| spec.name == name).map(|spec| spec.code)
    }

    /// By the op code of the binary form.
    pub(crate) fn from_number(number: u8) -> Option<Self> {
        SPECS.get(usize::from(number)).map(|spec| spec.code)
    }

    /// By the opcode of the text.
    #[inline]
    pub(crate) fn from_opcode(opcode: &str) -> Option<Self> {
        Some(match opcode.as_bytes() {
            b"C" => Self::Cube,
            b"Y" => Self::Cylinder,
            b"S" => Self::Sphere,
            b"K" => Self::Cone,
            b"U" => Self::Union,
            b"D" => Self::Difference,
            b"I" => Self::Intersection,
            b"T" => Self::Translate,
            b"R" => Self::Rotate,
            b"X" => Self::Scale,
            b"E" => Self::Extrude,
            b"V" => Self::Revolve,
            _ => return SPECS.iter().find(|spec| spec.opcode == opcode).map(|spec| spec.code),
        })
    }
}

/// How a directive line is called, how many arguments it takes, and which attributes.
#[derive(Debug)]
pub(crate) struct Directive {
    pub opcode: &'static str,
    pub is: Is,
    /// The counts that are right, ascending; the first is where attributes may begin.
    pub counts: &'static [usize],
    pub attributes: &'static [&'static str],
    /// At most one such line.
    pub once: bool,
}

/// What a directive line is about; joints and lights by their place in [`JOINTS`] and [`LIGHTS`],
/// effects by theirs in [`EFFECTS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Is {
    Material,
    MaterialHeader,
    Root,
    Part,
    Instance,
    Joint(usize),
    Ground,
    Environment,
    Background,
    Light(usize),
    Effect(usize),
    Tone,
    Exposure,
    Camera,
    Version,
    PartMaterial,
    Ids,
    Have,
    Extra,
}

const fn directive(opcode: &'static str, is: Is, counts: &'static [usize]) -> Directive {
    let attributes: &'static [&'static str] = match is {
        Is::Material | Is::MaterialHeader | Is::Part => &["key"],
        Is::Joint(_) => &["name", "state"],
        Is::Light(_) => &["enabled", "shadow"],
        _ => &[],
    };
    let once = matches!(
        is,
        Is::Ground
            | Is::Version
            | Is::Ids
            | Is::Environment
            | Is::Background
            | Is::Effect(_)
            | Is::Tone
            | Is::Exposure
    );
    Directive { opcode, is, counts, attributes, once }
}

/// The opcode whose line ends with JSON.
pub(crate) const EXTRA: &str = "XF";

/// Counts that are not in the table: `INST` with `_` as its transform has 4 or 5, `ROOT _` has 1.
pub(crate) static DIRECTIVES: [Directive; 28] = [
    directive("M", Is::Material, &[6, 7, 8]),
    directive("@MAT", Is::MaterialHeader, &[6, 7, 8]),
    directive("ROOT", Is::Root, &[2, 3]),
    directive("PDEF", Is::Part, &[3, 4]),
    directive("INST", Is::Instance, &[12, 13]),
    directive("JFIX", Is::Joint(0), &[9]),
    directive("JREV", Is::Joint(1), &[12, 14]),
    directive("JSLD", Is::Joint(2), &[12, 14]),
    directive("JCYL", Is::Joint(3), &[12]),
    directive("JBAL", Is::Joint(4), &[9]),
    directive("GROUND", Is::Ground, &[1]),
    directive("ENV", Is::Environment, &[2]),
    directive("BG", Is::Background, &[]),
    directive("LDIR", Is::Light(0), &[8, 9]),
    directive("LPNT", Is::Light(1), &[8, 9]),
    directive("LSPT", Is::Light(2), &[11, 12, 13]),
    directive("LAREA", Is::Light(3), &[13]),
    directive("AO", Is::Effect(0), &[3]),
    directive("BLOOM", Is::Effect(1), &[3]),
    directive("VIG", Is::Effect(2), &[3]),
    directive("TONE", Is::Tone, &[1]),
    directive("EXP", Is::Exposure, &[1]),
    directive("CAM", Is::Camera, &[7, 8, 9]),
    directive("VER", Is::Version, &[1]),
    directive("PMAT", Is::PartMaterial, &[2]),
    directive("IDS", Is::Ids, &[]),
    directive("HAVE", Is::Have, &[1]),
    directive(EXTRA, Is::Extra, &[2]),
];

impl Directive {
    pub(crate) fn from_opcode(opcode: &str) -> Option<&'static Self> {
        DIRECTIVES.iter().find(|directive| directive.opcode == opcode)
    }
}

/// A kind of joint: its JSON type, its opcode, and whether it has an axis and may have limits. The
/// place in the list is the kind's number in the binary form.
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

/// A kind of light: its vectors, then its numbers, all required or all optional.
#[derive(Debug)]
pub(crate) struct LightSpec {
    pub name: &'static str,
    pub opcode: &'static str,
    pub vectors: &'static [&'static str],
    pub numbers: &'static [&'static str],
    pub required: bool,
}

pub(crate) static LIGHTS: [LightSpec; 4] = [
    LightSpec {
        name: "Directional",
        opcode: "LDIR",
        vectors: &["direction"],
        numbers: &[],
        required: false,
    },
    LightSpec {
        name: "Point",
        opcode: "LPNT",
        vectors: &["position"],
        numbers: &["distance"],
        required: false,
    },
    LightSpec {
        name: "Spot",
        opcode: "LSPT",
        vectors: &["position", "direction"],
        numbers: &["angle", "penumbra"],
        required: false,
    },
    LightSpec {
        name: "Area",
        opcode: "LAREA",
        vectors: &["position", "direction"],
        numbers: &["width", "height"],
        required: true,
    },
];

/// An effect of post-processing: its JSON member, its opcode, and its two optional numbers.
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

/// The names of environments.
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

/// The name itself, as the table has it.
pub(crate) fn known(names: &'static [&'static str], name: &str) -> Option<&'static str> {
    names.iter().copied().find(|&known| known == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_the_order_of_the_codes() {
        for (number, spec) in SPECS.iter().enumerate() {
            assert_eq!(spec.code as usize, number);
            assert_eq!(Code::from_opcode(spec.opcode), Some(spec.code));
            assert_eq!(Code::from_name(spec.name), Some(spec.code));
            assert_eq!(Code::from_number(u8::try_from(number).unwrap()), Some(spec.code));
        }
        assert_eq!(Code::from_number(21), None);
    }
}
