//! The table of directives, the lines that do not define a node: their opcodes, argument counts and
//! attributes.

/// The table entry of a directive.
#[derive(Debug)]
pub(crate) struct Directive {
    pub opcode: &'static str,
    pub kind: DirectiveKind,
    /// The valid argument counts, ascending. Attributes may begin after the smallest count.
    pub counts: &'static [usize],
    pub attributes: &'static [&'static str],
    /// Whether a text may have only one such line.
    pub at_most_once: bool,
}

/// The kind of a directive. Joints, lights and effects have their index in the tables of
/// [`kinds`](crate::cad::model::kinds).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DirectiveKind {
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

const fn directive(
    opcode: &'static str,
    kind: DirectiveKind,
    counts: &'static [usize],
) -> Directive {
    let attributes: &'static [&'static str] = match kind {
        DirectiveKind::Material | DirectiveKind::MaterialHeader | DirectiveKind::Part => &["key"],
        DirectiveKind::Joint(_) => &["name", "state"],
        DirectiveKind::Light(_) => &["enabled", "shadow"],
        _ => &[],
    };
    let at_most_once = matches!(
        kind,
        DirectiveKind::Ground
            | DirectiveKind::Version
            | DirectiveKind::Ids
            | DirectiveKind::Environment
            | DirectiveKind::Background
            | DirectiveKind::Effect(_)
            | DirectiveKind::Tone
            | DirectiveKind::Exposure
    );
    Directive { opcode, kind, counts, attributes, at_most_once }
}

/// The opcode of the lines that end with JSON.
pub(crate) const EXTRA: &str = "XF";

/// All directives. Counts missing from the table: `INST` with `_` as its transform has 4 or 5,
/// `ROOT _` has 1, `BG` depends on its first argument.
pub(crate) static DIRECTIVES: [Directive; 28] = [
    directive("M", DirectiveKind::Material, &[6, 7, 8]),
    directive("@MAT", DirectiveKind::MaterialHeader, &[6, 7, 8]),
    directive("ROOT", DirectiveKind::Root, &[2, 3]),
    directive("PDEF", DirectiveKind::Part, &[3, 4]),
    directive("INST", DirectiveKind::Instance, &[12, 13]),
    directive("JFIX", DirectiveKind::Joint(0), &[9]),
    directive("JREV", DirectiveKind::Joint(1), &[12, 14]),
    directive("JSLD", DirectiveKind::Joint(2), &[12, 14]),
    directive("JCYL", DirectiveKind::Joint(3), &[12]),
    directive("JBAL", DirectiveKind::Joint(4), &[9]),
    directive("GROUND", DirectiveKind::Ground, &[1]),
    directive("ENV", DirectiveKind::Environment, &[2]),
    directive("BG", DirectiveKind::Background, &[]),
    directive("LDIR", DirectiveKind::Light(0), &[8, 9]),
    directive("LPNT", DirectiveKind::Light(1), &[8, 9]),
    directive("LSPT", DirectiveKind::Light(2), &[11, 12, 13]),
    directive("LAREA", DirectiveKind::Light(3), &[13]),
    directive("AO", DirectiveKind::Effect(0), &[3]),
    directive("BLOOM", DirectiveKind::Effect(1), &[3]),
    directive("VIG", DirectiveKind::Effect(2), &[3]),
    directive("TONE", DirectiveKind::Tone, &[1]),
    directive("EXP", DirectiveKind::Exposure, &[1]),
    directive("CAM", DirectiveKind::Camera, &[7, 8, 9]),
    directive("VER", DirectiveKind::Version, &[1]),
    directive("PMAT", DirectiveKind::PartMaterial, &[2]),
    directive("IDS", DirectiveKind::Ids, &[]),
    directive("HAVE", DirectiveKind::Have, &[1]),
    directive(EXTRA, DirectiveKind::Extra, &[2]),
];

impl Directive {
    pub(crate) fn from_opcode(opcode: &str) -> Option<&'static Self> {
        DIRECTIVES.iter().find(|directive| directive.opcode == opcode)
    }
}
