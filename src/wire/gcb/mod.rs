//! GCB version 1: a payload as bytes. Edges refer to symbols by position. Words (kinds, provenances, edge
//! types and statuses) are numeric ids.
//!
//! ```text
//! GCB1 01  tool tokens_used token_budget symbols edges
//! symbol:  qualified_name kind:u8 score:f32 provenance:u8 distance:u8 signature 4 * f32
//! edge:    source target type:u8 status:u8
//! ```
//! A string is its length in bytes followed by UTF-8. Lengths, counts and positions are LEB128, f32 is
//! little-endian. Symbols and edges keep their order.
//!
//! # What it cannot carry
//! A root, locations, words without an id, distances above 255, numbers that binary32 cannot
//! represent, and edges whose end is not a symbol or has a name that is not unique. Each is an
//! error, unless [`Lossy`] allows its loss.

mod decode;
mod encode;

pub use decode::decode;
pub use encode::encode;

const MAGIC: &[u8; 4] = b"GCB1";
const VERSION: u8 = 1;

/// The losses that a caller allows; none by default.
///
/// ```
/// use compactwire::gcf::graph::Payload;
/// use compactwire::wire::gcb::{self, Lossy};
///
/// let payload = Payload { pack_root: "sha256:0".into(), ..Payload::default() };
/// assert!(gcb::encode(&payload, Lossy::default()).is_err());
/// assert!(gcb::encode(&payload, Lossy { pack_root: true, ..Lossy::default() }).is_ok());
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "a set of losses")]
pub struct Lossy {
    /// Words without an id are written as 0, and read as empty.
    pub ids: bool,
    /// The root is omitted.
    pub pack_root: bool,
    /// Locations are omitted.
    pub location: bool,
    /// Only the lowest byte of a distance is written.
    pub distance: bool,
    /// Numbers are rounded to binary32.
    pub precision: bool,
    /// An end that has the name of several symbols refers to the last of them.
    pub duplicates: bool,
    /// What happens to an edge with an end that is not a symbol.
    pub dangling: Dangling,
}

/// What happens to an edge with an end that is not a symbol.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Dangling {
    /// It is an error, `gcb_dangling_edge`.
    #[default]
    Refuse,
    /// It is omitted.
    Drop,
    /// The end refers to the first symbol, as in the original codec.
    Zero,
}

/// Options of the reader.
///
/// ```
/// use compactwire::gcf::graph::{Payload, Symbol};
/// use compactwire::wire::gcb::{self, DecodeOptions, Lossy};
///
/// let symbols = vec![Symbol::new("a.f", "function", 0.1, "lsp_resolved")];
/// let payload = Payload { symbols, ..Payload::default() };
/// let bytes = gcb::encode(&payload, Lossy { precision: true, ..Lossy::default() }).unwrap();
/// let options = DecodeOptions { raw_float32: true, ..DecodeOptions::default() };
/// assert_eq!(gcb::decode(&bytes, DecodeOptions::default()).unwrap().symbols[0].score, 0.1);
/// assert_eq!(gcb::decode(&bytes, options).unwrap().symbols[0].score, f64::from(0.1_f32));
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DecodeOptions {
    /// Returns numbers as widened binary32, not as the shortest decimal that rounds to it.
    pub raw_float32: bool,
    /// Reads an unknown id as `unknown_N`.
    pub unknown_ids: bool,
    /// Accepts an edge to a symbol whose name is not unique: the decoded payload does not show which
    /// of the symbols the edge refers to.
    pub duplicates: bool,
}

/// The shortest decimal that rounds to this binary32, as a double.
fn shortest(narrow: f32) -> f64 {
    // Adding 1.5 * 2^52 rounds a small number to an integer: no bits are left for a fraction.
    const WHOLE: f64 = 6_755_399_441_055_744.0;
    let rounded = (f64::from(narrow) * 100.0 + WHOLE - WHOLE) / 100.0;
    // Most scores have two decimals. Decimals of up to six digits all round to different binary32,
    // so that no other decimal is shorter.
    #[expect(clippy::cast_possible_truncation, reason = "the comparison detects a loss")]
    if rounded.abs() < 1000.0 && (rounded as f32).to_bits() == narrow.to_bits() {
        return rounded;
    }
    zmij::Buffer::new().format_finite(narrow).parse().unwrap_or(f64::from(narrow))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gcf::graph::{Edge, Payload, SharedStr, Symbol};
    use crate::wire::error::Code;
    use proptest::prelude::*;

    fn payload() -> Payload {
        let symbol = |name: &str| Symbol {
            qualified_name: name.into(),
            kind: "function".into(),
            score: 0.78,
            provenance: "lsp_resolved".into(),
            distance: 255,
            signature: "func()".into(),
            components: [0.4, 0.25, 0.06, 1e-7].into(),
            location: None,
        };
        Payload {
            tool: "t".into(),
            tokens_used: 300,
            token_budget: i64::MAX,
            pack_root: SharedStr::default(),
            symbols: vec![symbol("a"), symbol("é")],
            edges: vec![Edge { status: "added".into(), ..Edge::new("é", "a", "calls") }],
        }
    }

    #[test]
    fn written_payload_is_read_back_and_every_prefix_is_truncated() {
        let bytes = encode(&payload(), Lossy::default()).unwrap();
        assert_eq!(decode(&bytes, DecodeOptions::default()).unwrap(), payload());
        for end in 0..bytes.len() {
            let error = decode(&bytes[..end], DecodeOptions::default()).unwrap_err();
            assert_eq!(error.code, Code::Truncated, "{end}: {error}");
        }
    }

    #[test]
    fn fields_without_a_place_in_the_layout_are_errors_unless_lossy() {
        type Change = fn(&mut Payload);
        let all = Lossy {
            ids: true,
            pack_root: true,
            location: true,
            distance: true,
            precision: true,
            duplicates: true,
            dangling: Dangling::Drop,
        };
        let cases: [(Change, Code, bool); 12] = [
            (|p| p.pack_root = "x".into(), Code::PackRoot, true),
            (|p| p.symbols[0].location = Some(Box::default()), Code::Location, true),
            (|p| p.symbols[0].kind = "widget".into(), Code::UnknownKind, true),
            (|p| p.symbols[0].provenance = "x".into(), Code::UnknownProvenance, true),
            (|p| p.edges[0].edge_type = "x".into(), Code::UnknownEdgeType, true),
            (|p| p.edges[0].status = "x".into(), Code::UnknownStatus, true),
            (|p| p.symbols[0].distance = 256, Code::DistanceRange, true),
            (|p| p.symbols[0].score = 0.123_456_789, Code::Precision, true),
            (|p| p.symbols[0].score = 1e300, Code::NotFinite, false),
            (|p| p.symbols[1].qualified_name = "a".into(), Code::DanglingEdge, true),
            (|p| p.edges[0].target = "z".into(), Code::DanglingEdge, true),
            (|p| p.tokens_used = -1, Code::CountRange, false),
        ];
        for (change, code, can_be_lossy) in cases {
            let mut payload = payload();
            change(&mut payload);
            assert_eq!(encode(&payload, Lossy::default()).unwrap_err().code, code);
            assert_eq!(encode(&payload, all).is_ok(), can_be_lossy, "{code}");
        }
        let mut twins = payload();
        twins.edges[0].source = "a".into();
        twins.symbols[1].qualified_name = "a".into();
        assert_eq!(encode(&twins, Lossy::default()).unwrap_err().code, Code::DuplicateSymbol);
    }

    proptest! {
        #[test]
        fn the_shortest_decimal_is_the_formatters(bits: u32, cents in -20_000..20_000_i16) {
            for narrow in [f32::from_bits(bits), f32::from(cents) / 100.0] {
                prop_assume!(narrow.is_finite());
                // Of two decimals equally short and near, the standard library takes the larger.
                let expected: f64 = zmij::Buffer::new().format_finite(narrow).parse().unwrap();
                prop_assert_eq!(shortest(narrow).to_bits(), expected.to_bits());
                let text = format!("{}", shortest(narrow));
                prop_assert_eq!(text.parse::<f32>().unwrap().to_bits(), narrow.to_bits());
                prop_assert_eq!(text.len(), format!("{narrow}").len());
            }
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes: Vec<u8>) {
            let with_magic = [&b"GCB1\x01"[..], &bytes].concat();
            if let Ok(payload) = decode(&with_magic, DecodeOptions::default()) {
                prop_assert_eq!(encode(&payload, Lossy::default()).ok(), Some(with_magic));
            }
        }
    }
}
