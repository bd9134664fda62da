//! The table of operations: their names in JSON, text and binary, and their fields.
//!
//! All readers and writers use this table, so they support exactly the same operations.

/// The kind of an operation. Its discriminant is the op code of the binary form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
#[expect(missing_docs, reason = "the variants are documented by the table")]
pub enum OpCode {
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

/// The type of a field, and which slots of [`Op`](super::ir::Op) hold it, from [`Field::at`] on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FieldKind {
    /// One of `numbers`.
    Number,
    /// Three of `numbers`.
    Vector,
    /// `count`.
    Count,
    /// `count`, which text may omit if it is zero: it is the last argument.
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
    pub kind: FieldKind,
    pub at: usize,
}

/// An optional number of an operation; its index in the list is its slot in `options`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OptionalField {
    pub name: &'static str,
    pub attribute: &'static str,
}

/// The table entry of an operation.
#[derive(Debug)]
pub(crate) struct OpSpec {
    pub code: OpCode,
    /// The `type` in JSON.
    pub name: &'static str,
    /// The opcode in text.
    pub opcode: &'static str,
    /// Whether dialect 0.1 has the operation.
    pub in_v0_1: bool,
    /// The required fields, in the order of JSON and binary.
    pub fields: &'static [Field],
    /// The required fields, in the order of the text.
    pub args: &'static [Field],
    pub options: &'static [OptionalField],
    pub min_args: usize,
    pub max_args: usize,
}

const fn number(name: &'static str, at: usize) -> Field {
    Field { name, kind: FieldKind::Number, at }
}

const fn vector(name: &'static str, at: usize) -> Field {
    Field { name, kind: FieldKind::Vector, at }
}

const fn solid(name: &'static str, at: usize) -> Field {
    Field { name, kind: FieldKind::Solid, at }
}

const fn text(name: &'static str, at: usize) -> Field {
    Field { name, kind: FieldKind::Text, at }
}

const CHILD: Field = solid("child", 0);
const SKETCH: Field = Field { name: "sketch", kind: FieldKind::Profile, at: 0 };
const SEGMENTS: Field = Field { name: "segments", kind: FieldKind::Segments, at: 0 };
const COUNT: Field = Field { name: "count", kind: FieldKind::Count, at: 0 };
const BOTH: &[Field] = &[solid("left", 0), solid("right", 1)];
const AXIS: [Field; 2] = [vector("axis_origin", 0), vector("axis_dir", 3)];
const PLANE: [Field; 3] = [vector("origin", 0), vector("x_dir", 3), vector("y_dir", 6)];

const TEXT_FIELDS: &[Field] =
    &[PLANE[0], PLANE[1], PLANE[2], text("text", 0), text("font", 1), number("height", 9)];
const TEXT_ARGS: &[Field] =
    &[PLANE[0], PLANE[1], PLANE[2], number("height", 9), text("text", 0), text("font", 1)];

const fn spec(
    code: OpCode,
    name: &'static str,
    opcode: &'static str,
    fields: &'static [Field],
) -> OpSpec {
    let (mut min_args, mut max_args, mut i) = (0, 0, 0);
    while i < fields.len() {
        let (min, max) = match fields[i].kind {
            FieldKind::Vector => (3, 3),
            FieldKind::Segments => (0, 1),
            _ => (1, 1),
        };
        min_args += min;
        max_args += max;
        i += 1;
    }
    let in_v0_1 = (code as u8) < OpCode::Fillet as u8 && !matches!(code, OpCode::Empty);
    OpSpec { code, name, opcode, in_v0_1, fields, args: fields, options: &[], min_args, max_args }
}

const fn with(spec: &OpSpec, args: &'static [Field], options: &'static [OptionalField]) -> OpSpec {
    OpSpec { args, options, ..*spec }
}

const EXTRUDE: &[Field] = &[SKETCH, vector("direction", 0)];

/// All operations, in the order of their codes.
pub(crate) static OP_SPECS: [OpSpec; 21] = [
    spec(OpCode::Cube, "Cube", "C", &[vector("size", 0)]),
    spec(OpCode::Cylinder, "Cylinder", "Y", &[number("radius", 0), number("height", 1), SEGMENTS]),
    spec(OpCode::Sphere, "Sphere", "S", &[number("radius", 0), SEGMENTS]),
    spec(
        OpCode::Cone,
        "Cone",
        "K",
        &[number("radius_bottom", 0), number("radius_top", 1), number("height", 2), SEGMENTS],
    ),
    spec(OpCode::Empty, "Empty", "EMPTY", &[]),
    spec(OpCode::Union, "Union", "U", BOTH),
    spec(OpCode::Difference, "Difference", "D", BOTH),
    spec(OpCode::Intersection, "Intersection", "I", BOTH),
    spec(OpCode::Translate, "Translate", "T", &[CHILD, vector("offset", 0)]),
    spec(OpCode::Rotate, "Rotate", "R", &[CHILD, vector("angles", 0)]),
    spec(OpCode::Scale, "Scale", "X", &[CHILD, vector("factor", 0)]),
    spec(OpCode::Sketch2D, "Sketch2D", "SK", &PLANE),
    with(
        &spec(OpCode::Extrude, "Extrude", "E", EXTRUDE),
        EXTRUDE,
        &[
            OptionalField { name: "twist_angle", attribute: "twist" },
            OptionalField { name: "scale_end", attribute: "taper" },
        ],
    ),
    spec(OpCode::Revolve, "Revolve", "V", &[SKETCH, AXIS[0], AXIS[1], number("angle_deg", 6)]),
    spec(
        OpCode::LinearPattern,
        "LinearPattern",
        "LP",
        &[CHILD, vector("direction", 0), COUNT, number("spacing", 3)],
    ),
    spec(
        OpCode::CircularPattern,
        "CircularPattern",
        "CP",
        &[CHILD, AXIS[0], AXIS[1], COUNT, number("angle_deg", 6)],
    ),
    spec(OpCode::Shell, "Shell", "SH", &[CHILD, number("thickness", 0)]),
    spec(OpCode::Fillet, "Fillet", "FI", &[CHILD, number("radius", 0)]),
    spec(OpCode::Chamfer, "Chamfer", "CH", &[CHILD, number("distance", 0)]),
    with(
        &spec(OpCode::Text2D, "Text2D", "TX", TEXT_FIELDS),
        TEXT_ARGS,
        &[
            OptionalField { name: "letter_spacing", attribute: "letter" },
            OptionalField { name: "line_spacing", attribute: "line" },
        ],
    ),
    spec(OpCode::StepImport, "step_import", "STEP", &[text("path", 0)]),
];

impl OpCode {
    /// The `type` in JSON.
    pub fn name(self) -> &'static str {
        self.spec().name
    }

    /// Whether the operation creates a profile (a flat shape to extrude or revolve) instead of a
    /// solid.
    pub fn is_profile(self) -> bool {
        matches!(self, Self::Sketch2D | Self::Text2D)
    }

    #[inline]
    pub(crate) fn spec(self) -> &'static OpSpec {
        &OP_SPECS[self as usize]
    }

    /// Finds an operation by its `type` in JSON.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        OP_SPECS.iter().find(|spec| spec.name == name).map(|spec| spec.code)
    }

    /// Finds an operation by its op code in the binary form.
    pub(crate) fn from_number(number: u8) -> Option<Self> {
        OP_SPECS.get(usize::from(number)).map(|spec| spec.code)
    }

    /// Finds an operation by its opcode in text.
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
            _ => return OP_SPECS.iter().find(|spec| spec.opcode == opcode).map(|spec| spec.code),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_is_in_the_order_of_the_codes() {
        for (number, spec) in OP_SPECS.iter().enumerate() {
            assert_eq!(spec.code as usize, number);
            assert_eq!(OpCode::from_opcode(spec.opcode), Some(spec.code));
            assert_eq!(OpCode::from_name(spec.name), Some(spec.code));
            assert_eq!(OpCode::from_number(u8::try_from(number).unwrap()), Some(spec.code));
        }
        assert_eq!(OpCode::from_number(21), None);
    }
}
