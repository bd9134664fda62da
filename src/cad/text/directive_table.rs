//! The table of directives: how each is called, how many arguments and which attributes it takes.
//! Section 6.

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

/// What a directive line is about; joints and lights by their place in [`JOINTS`](crate::cad::model::kinds::JOINTS) and [`LIGHTS`](crate::cad::model::kinds::LIGHTS),
/// effects by theirs in [`EFFECTS`](crate::cad::model::kinds::EFFECTS).
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
