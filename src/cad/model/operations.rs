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
