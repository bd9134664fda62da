//! Sessions: send only what the peer does not have (Compact Protocol v2 part 2).
//!
//! An agent repeats its tools, its system prompt and its whole conversation on every turn. Two
//! [`Session`]s, one on each side of a connection, remember what has passed, so that each turn costs
//! what is new in it. A request is a list of frames, plain texts; what carries them is the caller's.
//!
//! | frame | meaning |
//! |---|---|
//! | `TOOL\|def\|{"name":…}` | a tool: canonical JSON, remembered under `t_` and the first 8 digits of its SHA-256 |
//! | `SYS\|full\|text` | a system prompt, remembered under `s_` likewise |
//! | `TOOL\|ref\|t_…`, `SYS\|ref\|s_…` | the peer has this one |
//! | `REQ\|1\|tools\|system\|args\|deltas` | the request, last of its list: ids, JSON, and how the context changes |
//!
//! ```
//! use compactwire::session::{Outgoing, Session, Style};
//!
//! let (mut ours, mut theirs) = (Session::default(), Session::default());
//! let mut turn = Outgoing { tools: vec![r#"{"name":"search"}"#], ..Outgoing::default() };
//! turn.args = r#"{"query":"hello"}"#;
//! turn.context = Some("User: Hi");
//! let frames = ours.encode_request(&turn, Style::default()).unwrap();
//! assert_eq!(frames[0], r#"TOOL|def|{"name":"search"}"#);
//! assert_eq!(frames[1], r#"REQ|1|t_6fe51985||{"query":"hello"}|D|=|c_a8963d04|D|F|User: Hi"#);
//! assert_eq!(theirs.decode_request(&frames).unwrap().context.as_deref(), Some("User: Hi"));
//!
//! turn.context = Some("User: Hi\nAgent: Hello.");
//! let frames = ours.encode_request(&turn, Style::default()).unwrap();
//! assert!(frames[0].ends_with("|D|+|\nAgent: Hello."));
//! ```
//!
//! # Invariants
//! - Both sides change their memory by the same rules in the same order ([`Definitions`]), so that
//!   ids and evictions are the same on both.
//! - A list of frames is taken whole, or the session stays as it was.
//! - What is resolved is what the sender meant, or it is an error, also after frames were lost,
//!   repeated or mixed up: a request says what it means (`D|=|c_…`, a hash of its tools, prompt and
//!   context).
//! - Memory is bounded: [`MAX_TOOLS`] tools and [`MAX_PROMPTS`] prompts, least recently used out
//!   first, and [`Limits`] in bytes.
//!
//! # Rooms
//! `memory` is what one side knows of the other: parts, one per system (`definitions` for tools and
//! prompts, `context`, symbols of graphs, keyed sets). `frames` and `pack` know texts and remember
//! nothing; `encode` and `decode` go from one to the other, `graph` and `keyed` do for theirs; `stats`
//! counts, `state` moves a session elsewhere.
//!
//! # Where we differ
//! `D|=|c_…` is ours: without it a lost frame would pass for a shorter conversation, and of two tools
//! with one short id the one for the other after a definition was lost. So is packing
//! against what the peer has: without it an edit in the middle costs the whole text. Requests
//! without them are read, and [`Style::checked`] leaves both out for peers that do not know them.

mod context;
mod decode;
mod definitions;
mod encode;
mod error;
mod frames;
mod graph;
mod keyed;
mod memory;
mod pack;
mod state;
mod stats;

pub use definitions::{Definitions, MAX_PROMPTS, MAX_TOOLS};
pub use encode::{Outgoing, Style};
pub use error::{DecodeError, EncodeError, StateError};
pub use stats::Stats;

use crate::limits::DEFAULT_MAX_SIZE;
use memory::Memory;
use std::sync::Arc;

/// Bounds of a session, per direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The largest context, the most that all tools or all prompts may have together, and the
    /// largest decompressed size, each in bytes.
    pub max_size: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { max_size: DEFAULT_MAX_SIZE }
    }
}

/// What one side of a connection remembers: what the peer has from it, and what it has from the peer.
#[derive(Debug, Clone, Default)]
pub struct Session {
    sent: Memory,
    received: Memory,
    stats: Stats,
    limits: Limits,
}

/// A request as it was meant, with everything resolved.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Request {
    /// The tools: JSON objects.
    pub tools: Vec<Arc<str>>,
    /// The system prompt.
    pub system: Option<Arc<str>>,
    /// The arguments: JSON.
    pub args: String,
    /// The whole conversation; `None` if the request has none.
    pub context: Option<String>,
}

impl Session {
    /// A session that knows nothing yet.
    pub fn new(limits: Limits) -> Self {
        Self { limits, ..Self::default() }
    }

    /// Forgets that the peer has this tool (`t_…`), prompt (`s_…`) or, whatever its id, the context
    /// (`c_…`), so that the next request carries it again; whether there was something to forget.
    ///
    /// This is the answer to a peer that reports [`DecodeError::UnknownReference`].
    pub fn forget(&mut self, id: &str) -> bool {
        self.sent.forget(id)
    }

    /// Forgets everything, in both directions; the counts go on.
    pub fn reset(&mut self) {
        self.sent = Memory::default();
        self.received = Memory::default();
    }

    /// What was exchanged so far.
    pub fn stats(&self) -> Stats {
        self.stats
    }

    /// The bounds.
    pub fn limits(&self) -> Limits {
        self.limits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOOL: &str = r#"{"name":"search"}"#;

    fn turn<'a>(tools: &[&'a str], context: &'a str) -> Outgoing<'a> {
        Outgoing {
            tools: tools.to_vec(),
            system: Some("Be brief."),
            args: "{}",
            context: Some(context),
        }
    }

    fn sent(session: &mut Session, turn: &Outgoing<'_>) -> Vec<String> {
        session.encode_request(turn, Style::default()).unwrap()
    }

    fn unknown(result: Result<Request, DecodeError>) -> Vec<String> {
        match result {
            Err(DecodeError::UnknownReference { unknown, undone }) => [unknown, undone].concat(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_second_turn_names_what_the_peer_has() {
        let (mut ours, mut theirs) = (Session::default(), Session::default());
        let first = sent(&mut ours, &turn(&[TOOL], "User: Hi"));
        assert_eq!(first.len(), 3);
        theirs.decode_request(&first).unwrap();
        let second = sent(&mut ours, &turn(&[TOOL], "User: Hi\nAgent: Hello"));
        assert_eq!(second.len(), 1);
        assert!(second[0].starts_with("REQ|1|t_6fe51985|s_"), "{second:?}");
        assert!(second[0].ends_with("|D|+|\nAgent: Hello"), "{second:?}");
        let request = theirs.decode_request(&second).unwrap();
        assert_eq!(request.context.as_deref(), Some("User: Hi\nAgent: Hello"));
        assert_eq!(request.tools, [TOOL.into()]);
        assert_eq!(ours.stats().plain_bytes, theirs.stats().plain_bytes);
        assert_eq!(ours.stats().bytes_out, theirs.stats().bytes_in);
    }

    #[test]
    fn what_was_lost_is_named_and_sent_again() {
        let (mut ours, mut theirs) = (Session::default(), Session::default());
        theirs.decode_request(&sent(&mut ours, &turn(&[], "a"))).unwrap();
        sent(&mut ours, &turn(&[TOOL], "ab"));
        let third = turn(&[TOOL], "abc");
        let before = theirs.clone().to_bytes();
        let ids = unknown(theirs.decode_request(&sent(&mut ours, &third)));
        assert_eq!(ids.len(), 2, "{ids:?}");
        assert_eq!(theirs.to_bytes(), before);
        assert!(ids.iter().all(|id| ours.forget(id)));
        let request = theirs.decode_request(&sent(&mut ours, &third)).unwrap();
        assert_eq!(request.context.as_deref(), Some("abc"));
    }

    #[test]
    fn a_repeated_addition_is_noticed() {
        let (mut ours, mut theirs) = (Session::default(), Session::default());
        theirs.decode_request(&sent(&mut ours, &turn(&[], "a"))).unwrap();
        let second = sent(&mut ours, &turn(&[], "ab"));
        theirs.decode_request(&second).unwrap();
        assert!(unknown(theirs.decode_request(&second))[0].starts_with("c_"));
        let third = theirs.decode_request(&sent(&mut ours, &turn(&[], "abc"))).unwrap();
        assert_eq!(third.context.as_deref(), Some("abc"));
    }

    #[test]
    fn deltas_that_hold_the_divider_are_compressed() {
        let (mut ours, mut theirs) = (Session::default(), Session::default());
        for text in ["|D|F|x", "|D|F|x|D", "|D|F|x|D|", "|D|F|x|D|D|+|D|y", "D|F|z"] {
            let frames = sent(&mut ours, &turn(&[], text));
            let request = theirs.decode_request(&frames).unwrap();
            assert_eq!(request.context.as_deref(), Some(text), "{frames:?}");
        }
    }

    #[test]
    fn what_a_definition_evicts_is_defined_again() {
        let tools: Vec<_> = (0..=MAX_TOOLS).map(|i| format!("{{\"name\":{i}}}")).collect();
        let tools: Vec<_> = tools.iter().map(String::as_str).collect();
        let (mut ours, mut theirs) = (Session::default(), Session::default());
        theirs.decode_request(&sent(&mut ours, &turn(&tools[..MAX_TOOLS], ""))).unwrap();
        // The oldest one and a new one: defining the new one evicts the oldest.
        let frames = sent(&mut ours, &turn(&[tools[0], tools[MAX_TOOLS]], ""));
        assert_eq!(frames.len(), 3);
        let request = theirs.decode_request(&frames).unwrap();
        assert_eq!(request.tools, [tools[0].into(), tools[MAX_TOOLS].into()]);
        let all = ours.encode_request(&turn(&tools, ""), Style::default()).unwrap_err();
        assert_eq!(all.field, "tool");
    }

    #[test]
    fn packed_is_the_same_request() {
        let (mut ours, mut theirs) = (Session::default(), Session::default());
        let context = "User: so it goes.\n".repeat(50);
        let mut other = ours.clone();
        let packed = ours.encode_packed(&turn(&[TOOL], &context), Style::default()).unwrap();
        assert!(packed.starts_with('S') && packed.len() < context.len() / 2);
        let mut again = theirs.clone();
        let plain = again.decode_request(&sent(&mut other, &turn(&[TOOL], &context)));
        assert_eq!(theirs.decode_packed(&packed), plain);
        for end in 0..packed.len() {
            assert!(theirs.decode_packed(&packed[..end]).is_err(), "cut at {end}");
        }
    }

    #[test]
    fn an_edit_is_packed_against_what_the_peer_has() {
        let (mut ours, mut theirs) = (Session::default(), Session::default());
        let numbers: Vec<_> = (0..400).map(|i: i32| (i * i * 7919).to_string()).collect();
        let context = numbers.join("\n");
        let pack = |ours: &mut Session, context: &str| {
            ours.encode_packed(&turn(&[TOOL], context), Style::default()).unwrap()
        };
        theirs.decode_packed(&pack(&mut ours, &context)).unwrap();
        let edited = context.replacen("7919", "eight thousand", 1);
        let packed = pack(&mut ours, &edited);
        assert!(packed.len() < 200, "{}", packed.len());
        let lost = pack(&mut ours.clone(), &context);
        assert_eq!(theirs.decode_packed(&packed).unwrap().context, Some(edited));
        assert_eq!(theirs.decode_packed(&lost).unwrap().context, Some(context.clone()));

        let packed = pack(&mut ours, &context);
        let ids = unknown(Session::default().decode_packed(&packed));
        assert!(ids[0].starts_with("c_") && ours.forget(&ids[0]));
        let whole = pack(&mut ours, &context);
        assert!(whole.len() > packed.len());
        let ids = unknown(Session::default().decode_packed(&whole));
        assert_eq!(ids.iter().map(|id| &id[..2]).collect::<Vec<_>>(), ["t_", "s_", "c_"]);
    }

    #[test]
    fn a_session_goes_on_elsewhere() {
        let (mut ours, mut theirs) = (Session::default(), Session::default());
        theirs.decode_request(&sent(&mut ours, &turn(&[TOOL], "a"))).unwrap();
        let mut ours = Session::from_bytes(&ours.to_bytes().unwrap()).unwrap();
        let mut theirs = Session::from_bytes(&theirs.to_bytes().unwrap()).unwrap();
        let frames = sent(&mut ours, &turn(&[TOOL], "ab"));
        assert_eq!(frames.len(), 1);
        theirs.decode_request(&frames).unwrap();
        assert_eq!(ours.stats().messages, 2);
        assert!(Session::from_bytes(b"\x90").is_err());
    }

    #[test]
    fn sizes_are_bounded() {
        let limits = Limits { max_size: 10 };
        let (mut ours, mut theirs) = (Session::new(limits), Session::new(limits));
        let long = turn(&[], "12345678901");
        assert_eq!(ours.encode_request(&long, Style::default()).unwrap_err().field, "context");
        let mut other = Session::default();
        let error = theirs.decode_request(&sent(&mut other, &long)).unwrap_err();
        assert!(error.to_string().contains("larger than max_size"), "{error}");
        assert_eq!(
            ours.encode_request(&turn(&[TOOL], ""), Style::default()).unwrap_err().field,
            "tool"
        );
    }
}
