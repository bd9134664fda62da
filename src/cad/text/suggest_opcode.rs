//! Suggests the opcode that was probably meant by an unknown one.

use super::directive_table::Directive;
use crate::cad::model::operations::OpCode;

/// Other common names of opcodes.
const ALIASES: &[(&str, &str)] = &[
    ("CUBE", "C"),
    ("BOX", "C"),
    ("BLOCK", "C"),
    ("CYLINDER", "Y"),
    ("CYL", "Y"),
    ("CY", "Y"),
    ("SPHERE", "S"),
    ("SPH", "S"),
    ("BALL", "S"),
    ("CONE", "K"),
    ("CO", "K"),
    ("UNION", "U"),
    ("ADD", "U"),
    ("FUSE", "U"),
    ("DIFFERENCE", "D"),
    ("DIFF", "D"),
    ("SUBTRACT", "D"),
    ("SUB", "D"),
    ("CUT", "D"),
    ("INTERSECTION", "I"),
    ("INTERSECT", "I"),
    ("INT", "I"),
    ("TRANSLATE", "T"),
    ("TRANS", "T"),
    ("MOVE", "T"),
    ("TR", "T"),
    ("ROTATE", "R"),
    ("ROT", "R"),
    ("SCALE", "X"),
    ("SC", "X"),
    ("LINEARPATTERN", "LP"),
    ("LINEAR_PATTERN", "LP"),
    ("LIN", "LP"),
    ("CIRCULARPATTERN", "CP"),
    ("CIRCULAR_PATTERN", "CP"),
    ("CIRC", "CP"),
    ("SKETCH", "SK"),
    ("SKETCH2D", "SK"),
    ("LINE", "L"),
    ("ARC", "A"),
    ("EXTRUDE", "E"),
    ("EX", "E"),
    ("EXT", "E"),
    ("REVOLVE", "V"),
    ("REV", "V"),
    ("SHELL", "SH"),
    ("HOLLOW", "SH"),
    ("FILLET", "FI"),
    ("CHAMFER", "CH"),
    ("TEXT", "TX"),
    ("TEXT2D", "TX"),
    ("STEP_IMPORT", "STEP"),
    ("IMPORT", "STEP"),
    ("NONE", "EMPTY"),
    ("MAT", "@MAT"),
    ("MATERIAL", "@MAT"),
    ("ENDSKETCH", "END"),
    ("END_SKETCH", "END"),
    ("CAMERA", "CAM"),
    ("EXPOSURE", "EXP"),
    ("INSTANCE", "INST"),
    ("PART", "PDEF"),
    ("PARTDEF", "PDEF"),
    ("BACKGROUND", "BG"),
    ("ENVIRONMENT", "ENV"),
    ("VERSION", "VER"),
];

/// Returns the opcode that was probably meant by a word.
pub(crate) fn suggestion(word: &str) -> Option<&'static str> {
    let upper = word.trim_end_matches([':', ',', ';']).to_uppercase();
    let exact = |word: &str| match word {
        "L" => Some("L"),
        "A" => Some("A"),
        "END" => Some("END"),
        _ => OpCode::from_opcode(word)
            .map(|code| code.spec().opcode)
            .or_else(|| Directive::from_opcode(word).map(|directive| directive.opcode)),
    };
    let alias = |word: &str| ALIASES.iter().find(|(alias, _)| *alias == word).map(|(_, op)| *op);
    exact(&upper).or_else(|| alias(&upper)).or_else(|| {
        // A name without a space after it: `C50 30 5`, `C(50`, `cube(10,10,10)`
        let letters = upper.find(|c: char| !c.is_ascii_alphabetic()).filter(|&end| end > 0)?;
        exact(&upper[..letters]).or_else(|| alias(&upper[..letters]))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_opcodes_suggest_a_known_one() {
        for (word, meant) in [
            ("c", Some("C")),
            ("lp", Some("LP")),
            ("C50", Some("C")),
            ("cube(10,", Some("C")),
            ("Translate", Some("T")),
            ("@mat", Some("@MAT")),
            ("end", Some("END")),
            ("Q", None),
            ("//", None),
            ("", None),
        ] {
            assert_eq!(suggestion(word), meant, "{word}");
        }
    }
}
