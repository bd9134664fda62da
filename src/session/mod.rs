//! Sessions: send only what the peer does not have (Compact Protocol v2 part 2).
//!
//! An agent repeats its tools, its system prompt and its whole conversation on every turn. A
//! [`Session`] on each side of a connection remembers what was sent, so that a turn only sends what is
//! new. A request is a list of frames, which are strings; the caller transports them.
//!
//! | frame | meaning |
//! |---|---|
//! | `TOOL\|def\|{"name":…}` | defines a tool as canonical JSON; its id is `t_` and the first 8 digits of its SHA-256 |
//! | `SYS\|full\|text` | defines a system prompt; its id is `s_` and the first 8 digits of its SHA-256 |
//! | `TOOL\|ref\|t_…`, `SYS\|ref\|s_…` | refers to one that the peer has |
//! | `REQ\|1\|tools\|system\|args\|deltas` | the request, the last frame: ids, JSON, and deltas of the context |
//!
//! ```
//! use compactwire::session::{DecodeOptions, Outgoing, Session, Style};
//!
//! let (mut ours, mut theirs) = (Session::default(), Session::default());
//! let mut turn = Outgoing { tools: vec![r#"{"name":"search"}"#], ..Outgoing::default() };
//! turn.args = r#"{"query":"hello"}"#;
//! turn.context = Some("User: Hi");
//! let frames = ours.encode_request(&turn, Style::default()).unwrap();
//! assert_eq!(frames[0], r#"TOOL|def|{"name":"search"}"#);
//! assert_eq!(frames[1], r#"REQ|1|t_6fe51985||{"query":"hello"}|D|=|c_a8963d04|D|F|User: Hi"#);
//! let request = theirs.decode_request(&frames, DecodeOptions::default()).unwrap();
//! assert_eq!(request.context.as_deref(), Some("User: Hi"));
//!
//! turn.context = Some("User: Hi\nAgent: Hello.");
//! let frames = ours.encode_request(&turn, Style::default()).unwrap();
//! assert!(frames[0].ends_with("|D|+|\nAgent: Hello."));
//! ```
//!
//! # Invariants
//! - Both sides update their memory in the same way and in the same order ([`Definitions`]), so that ids and
//!   evictions are equal.
//! - Decoding a list of frames either succeeds or leaves the session unchanged.
//! - A decoded request is the one that was encoded, or decoding fails, even after frames were lost,
//!   repeated or reordered: a request has a check (`D|=|c_…`, a hash of its tools, prompt and context).
//! - Memory is bounded: [`MAX_TOOLS`] tools and [`MAX_PROMPTS`] prompts, of which the least recently
//!   used is evicted first, and [`Limits`] in bytes.
//!
//! # Modules
//! | module | content |
//! |---|---|
//! | `memory` | the memory of one direction, with a part for each system |
//! | `definitions`, `context` | tools and prompts; the conversation |
//! | [`chat`] | a conversation of messages |
//! | `frames`, `pack` | parse and write frames and packed requests, without state |
//! | `history` | the packed requests that the next one is compressed against |
//! | `encode`, `decode` | requests to frames and back |
//! | `graph`, `keyed` | graphs and keyed sets |
//! | `stats`, `state` | counts; a session as bytes |
//! | `error` | [`DecodeError`], [`EncodeError`] and [`StateError`] |
//!
//! # Where we differ
//! The check `D|=|c_…` is our extension. Without it, a lost frame would look like a shorter
//! conversation, and after a lost definition one of two tools with the same short id could replace the
//! other. Compression of a packed request against the ones before it and the conversation is our extension,
//! too: without it, an edit in the middle costs the whole text. Requests without these extensions are decoded
//! as well. [`Style::checked`] can turn both off, for peers that do not support them.

pub mod chat;
mod context;
mod decode;
mod definitions;
mod encode;
mod error;
mod frames;
mod graph;
mod history;
mod keyed;
mod memory;
mod pack;
mod state;
mod stats;

pub use decode::{DecodeOptions, MAX_REJECTIONS};
pub use definitions::{Definitions, MAX_PROMPTS, MAX_TOOLS};
pub use encode::{Outgoing, Style};
pub use error::{DecodeError, EncodeError, StateError};
pub use pack::is_packed;
pub use stats::Stats;

use crate::limits::DEFAULT_MAX_SIZE;
use encode::LastSent;
use memory::Memory;
use std::sync::Arc;

/// Bounds of a session, per direction.
///
/// ```
/// use compactwire::session::{Limits, Outgoing, Session, Style};
///
/// let mut session = Session::new(Limits { max_size: 10 });
/// let turn = Outgoing { context: Some("more than ten bytes"), ..Outgoing::default() };
/// assert!(session.encode_request(&turn, Style::default()).is_err());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The largest size in bytes of the context, of all tools, of all prompts, and of decompressed
    /// data.
    pub max_size: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { max_size: DEFAULT_MAX_SIZE }
    }
}

/// One side of a connection. It remembers what it sent to the peer, and what it received.
#[derive(Debug, Clone, Default)]
pub struct Session {
    sent: Memory,
    received: Memory,
    stats: Stats,
    limits: Limits,
    /// To undo the last encoded request; not a part of the saved state.
    last_sent: Option<LastSent>,
}

/// A decoded request, with all references resolved.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Request {
    /// The tools: JSON objects.
    pub tools: Vec<Arc<str>>,
    /// The system prompt.
    pub system: Option<Arc<str>>,
    /// The arguments: JSON.
    pub args: String,
    /// The whole conversation; `None` if the request has no context.
    pub context: Option<String>,
}

impl Session {
    /// A session with an empty memory.
    pub fn new(limits: Limits) -> Self {
        Self { limits, ..Self::default() }
    }

    /// Forgets that the peer has a tool (`t_…`), a prompt (`s_…`) or the context (`c_…` and any
    /// digits), so that the next request sends it again. Returns whether there was one.
    ///
    /// An id `b_…` names the context that the peer has instead. It must be passed after the other ids: the
    /// next request then replaces that context.
    ///
    /// Callers use this when the peer reports [`DecodeError::UnknownReference`].
    pub fn forget(&mut self, id: &str) -> bool {
        self.last_sent = None;
        self.sent.forget(id)
    }

    /// Clears the memory of both directions. The statistics are kept.
    pub fn reset(&mut self) {
        self.sent = Memory::default();
        self.received = Memory::default();
        self.last_sent = None;
    }

    /// The approximate size in bytes of the memory of both directions.
    pub fn size(&self) -> usize {
        self.sent.size() + self.received.size() + self.last_sent.as_ref().map_or(0, LastSent::size)
    }

    /// The statistics so far.
    pub fn stats(&self) -> Stats {
        self.stats
    }

    /// The limits.
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

    fn read(session: &mut Session, frames: &[String]) -> Result<Request, DecodeError> {
        session.decode_request(frames, DecodeOptions::default())
    }

    fn unpack(session: &mut Session, packed: &str) -> Result<Request, DecodeError> {
        session.decode_packed(packed, DecodeOptions::default())
    }

    fn unknown(result: Result<Request, DecodeError>) -> Vec<String> {
        match result {
            Err(DecodeError::UnknownReference { unknown, undone, base, .. }) => {
                unknown.into_iter().chain(undone).chain(base).collect()
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_second_turn_refers_to_what_the_peer_has() {
        let (mut ours, mut theirs) = (Session::default(), Session::default());
        let first = sent(&mut ours, &turn(&[TOOL], "User: Hi"));
        assert_eq!(first.len(), 3);
        read(&mut theirs, &first).unwrap();
        let second = sent(&mut ours, &turn(&[TOOL], "User: Hi\nAgent: Hello"));
        assert_eq!(second.len(), 1);
        assert!(second[0].starts_with("REQ|1|t_6fe51985|s_"), "{second:?}");
        assert!(second[0].ends_with("|D|+|\nAgent: Hello"), "{second:?}");
        let request = read(&mut theirs, &second).unwrap();
        assert_eq!(request.context.as_deref(), Some("User: Hi\nAgent: Hello"));
        assert_eq!(request.tools, [TOOL.into()]);
        assert_eq!(ours.stats().plain_bytes, theirs.stats().plain_bytes);
        assert_eq!(ours.stats().bytes_out, theirs.stats().bytes_in);
    }

    #[test]
    fn a_lost_definition_is_reported_and_sent_again() {
        let (mut ours, mut theirs) = (Session::default(), Session::default());
        read(&mut theirs, &sent(&mut ours, &turn(&[], "a"))).unwrap();
        sent(&mut ours, &turn(&[TOOL], "ab"));
        let third = turn(&[TOOL], "abc");
        let before = theirs.clone().to_bytes();
        let ids = unknown(read(&mut theirs, &sent(&mut ours, &third)));
        assert_eq!(ids.iter().map(|id| &id[..2]).collect::<Vec<_>>(), ["t_", "c_", "b_"]);
        assert_eq!(theirs.to_bytes(), before);
        assert_eq!(ids.iter().map(|id| ours.forget(id)).collect::<Vec<_>>(), [true, true, false]);
        let request = read(&mut theirs, &sent(&mut ours, &third)).unwrap();
        assert_eq!(request.context.as_deref(), Some("abc"));
    }

    /// How often a request is rejected until the peer has it.
    fn rejections(
        ours: &mut Session,
        theirs: &mut Session,
        turn: &Outgoing<'_>,
        pack: bool,
    ) -> usize {
        for attempt in 0.. {
            let result = if pack {
                unpack(theirs, &ours.encode_packed(turn, Style::default()).unwrap())
            } else {
                read(theirs, &sent(ours, turn))
            };
            if let Ok(request) = result {
                assert_eq!(request.context.as_deref(), turn.context);
                return attempt;
            }
            for id in unknown(result) {
                ours.forget(&id);
            }
        }
        unreachable!()
    }

    #[test]
    fn a_request_is_accepted_after_the_documented_number_of_rejections() {
        let tools: Vec<_> = (0..=MAX_TOOLS).map(|i| format!("{{\"name\":{i}}}")).collect();
        let tools: Vec<_> = tools.iter().map(String::as_str).collect();
        let (last, known) = tools.split_last().unwrap();
        for (pack, restarted, limit) in [
            (false, false, MAX_REJECTIONS),
            (true, false, MAX_REJECTIONS + 1),
            (false, true, MAX_REJECTIONS),
            (true, true, MAX_REJECTIONS + 1),
        ] {
            let (mut ours, mut theirs) = (Session::default(), Session::default());
            read(&mut theirs, &sent(&mut ours, &turn(known, "a"))).unwrap();
            // The peer does not learn which tools were used last, and would evict some that are used next.
            sent(&mut ours, &turn(&known[..20], "ab"));
            if restarted {
                theirs = Session::default();
            }
            let used: Vec<_> = [*last].into_iter().chain(known[..20].iter().copied()).collect();
            let found = rejections(&mut ours, &mut theirs, &turn(&used, "abc"), pack);
            assert!((1..=limit).contains(&found), "{found} {pack} {restarted}");
            assert_eq!(rejections(&mut ours, &mut theirs, &turn(&used, "abcd"), pack), 0);
        }
    }

    #[test]
    fn a_repeated_addition_is_rejected() {
        let (mut ours, mut theirs) = (Session::default(), Session::default());
        read(&mut theirs, &sent(&mut ours, &turn(&[], "a"))).unwrap();
        let second = sent(&mut ours, &turn(&[], "ab"));
        read(&mut theirs, &second).unwrap();
        assert!(unknown(read(&mut theirs, &second))[0].starts_with("c_"));
        let third = read(&mut theirs, &sent(&mut ours, &turn(&[], "abc"))).unwrap();
        assert_eq!(third.context.as_deref(), Some("abc"));
    }

    #[test]
    fn a_first_request_delivered_again_does_not_rewind_the_conversation() {
        let (mut ours, mut theirs) = (Session::default(), Session::default());
        let first = sent(&mut ours, &turn(&[TOOL], "a"));
        for _ in 0..2 {
            assert_eq!(read(&mut theirs, &first).unwrap().context.as_deref(), Some("a"));
        }
        read(&mut theirs, &sent(&mut ours, &turn(&[TOOL], "ab"))).unwrap();
        let before = theirs.to_bytes();
        let error = read(&mut theirs, &first).unwrap_err();
        assert!(error.to_string().contains("starts the conversation over"), "{error}");
        assert_eq!(theirs.to_bytes(), before);
        assert_eq!(read(&mut theirs, &sent(&mut ours, &turn(&[TOOL], "abc"))).unwrap().args, "{}");

        let resync = DecodeOptions { resync: true, ..DecodeOptions::default() };
        let request = theirs.decode_request(&first, resync).unwrap();
        assert_eq!(request.context.as_deref(), Some("a"));
    }

    #[test]
    fn a_restarted_sender_replaces_the_conversation_after_one_rejection() {
        for pack in [false, true] {
            let (mut ours, mut theirs) = (Session::default(), Session::default());
            read(&mut theirs, &sent(&mut ours, &turn(&[TOOL], "a"))).unwrap();
            let mut ours = Session::default();
            assert_eq!(rejections(&mut ours, &mut theirs, &turn(&[TOOL], "b"), pack), 1);
            assert_eq!(rejections(&mut ours, &mut theirs, &turn(&[TOOL], "c"), pack), 0);
        }
    }

    #[test]
    fn a_request_that_was_not_delivered_is_rolled_back() {
        let (mut ours, mut theirs) = (Session::default(), Session::default());
        read(&mut theirs, &sent(&mut ours, &turn(&[TOOL], "a"))).unwrap();
        let before = ours.to_bytes();
        for context in ["ab", "other", "", "a"] {
            let lost = sent(&mut ours, &turn(&[TOOL, "{}"], context));
            assert!(ours.rollback() && !ours.rollback());
            assert_eq!(ours.to_bytes(), before);
            assert_eq!(sent(&mut ours, &turn(&[TOOL, "{}"], context)), lost);
            assert!(ours.rollback());
        }
        read(&mut theirs, &sent(&mut ours, &turn(&[TOOL], "abc"))).unwrap();
        sent(&mut ours, &turn(&[TOOL], "abcd"));
        ours.forget("c_");
        assert!(!ours.rollback());
    }

    #[test]
    fn a_request_of_which_the_caller_can_make_nothing_changes_nothing() {
        #[derive(Debug, PartialEq)]
        struct Failed;
        impl From<EncodeError> for Failed {
            fn from(error: EncodeError) -> Self {
                panic!("{error}")
            }
        }
        impl From<DecodeError> for Failed {
            fn from(error: DecodeError) -> Self {
                panic!("{error}")
            }
        }
        let (style, options) = (Style::default(), DecodeOptions::default());
        let (mut ours, mut theirs) = (Session::default(), Session::default());
        for text in ["hello", "hello world", "other"] {
            let turn = turn(&[TOOL], text);
            let state = ours.to_bytes().unwrap();
            assert_eq!(
                ours.encode_request_with(&turn, style, |_| Err::<(), _>(Failed)),
                Err(Failed)
            );
            assert_eq!(
                ours.encode_packed_with(&turn, style, |_| Err::<(), _>(Failed)),
                Err(Failed)
            );
            assert_eq!(ours.to_bytes().unwrap(), state);
            let packed = ours.encode_packed(&turn, style).unwrap();
            let state = theirs.to_bytes().unwrap();
            let failed = theirs.decode_packed_with(&*packed, options, |_| Err::<(), _>(Failed));
            assert_eq!(failed, Err(Failed));
            assert_eq!(theirs.to_bytes().unwrap(), state);
            let request = unpack(&mut theirs, &packed).unwrap();
            assert_eq!(request.context.as_deref(), Some(text));
        }
        let frames = sent(&mut ours, &turn(&[TOOL], "last"));
        let state = theirs.to_bytes().unwrap();
        let failed = theirs.decode_request_with(&frames, options, |_| Err::<(), _>(Failed));
        assert_eq!((failed, theirs.to_bytes().unwrap()), (Err(Failed), state));
    }

    #[test]
    fn deltas_with_the_separator_round_trip() {
        let (mut ours, mut theirs) = (Session::default(), Session::default());
        for text in ["|D|F|x", "|D|F|x|D", "|D|F|x|D|", "|D|F|x|D|D|+|D|y", "D|F|z"] {
            let frames = sent(&mut ours, &turn(&[], text));
            let request = read(&mut theirs, &frames).unwrap();
            assert_eq!(request.context.as_deref(), Some(text), "{frames:?}");
        }
    }

    #[test]
    fn a_content_evicted_by_a_definition_is_defined_again() {
        let tools: Vec<_> = (0..=MAX_TOOLS).map(|i| format!("{{\"name\":{i}}}")).collect();
        let tools: Vec<_> = tools.iter().map(String::as_str).collect();
        let (mut ours, mut theirs) = (Session::default(), Session::default());
        read(&mut theirs, &sent(&mut ours, &turn(&tools[..MAX_TOOLS], ""))).unwrap();
        // The oldest one and a new one: defining the new one evicts the oldest.
        let frames = sent(&mut ours, &turn(&[tools[0], tools[MAX_TOOLS]], ""));
        assert_eq!(frames.len(), 3);
        let request = read(&mut theirs, &frames).unwrap();
        assert_eq!(request.tools, [tools[0].into(), tools[MAX_TOOLS].into()]);
        let all = ours.encode_request(&turn(&tools, ""), Style::default()).unwrap_err();
        assert_eq!(all.field, "tool");
    }

    #[test]
    fn a_packed_request_decodes_to_the_same_request() {
        let (mut ours, mut theirs) = (Session::default(), Session::default());
        let context = "User: so it goes.\n".repeat(50);
        let mut other = ours.clone();
        let packed = ours.encode_packed(&turn(&[TOOL], &context), Style::default()).unwrap();
        assert!(packed.starts_with('S') && packed.len() < context.len() / 2);
        let mut again = theirs.clone();
        let plain = read(&mut again, &sent(&mut other, &turn(&[TOOL], &context)));
        assert_eq!(unpack(&mut theirs, &packed), plain);
        for end in 0..packed.len() {
            assert!(unpack(&mut theirs, &packed[..end]).is_err(), "cut at {end}");
        }
    }

    #[test]
    fn an_edit_is_compressed_against_the_conversation_of_the_peer() {
        let (mut ours, mut theirs) = (Session::default(), Session::default());
        let numbers: Vec<_> = (0..400).map(|i: i32| (i * i * 7919).to_string()).collect();
        let context = numbers.join("\n");
        let pack = |ours: &mut Session, context: &str| {
            ours.encode_packed(&turn(&[TOOL], context), Style::default()).unwrap()
        };
        unpack(&mut theirs, &pack(&mut ours, &context)).unwrap();
        let edited = context.replacen("7919", "eight thousand", 1);
        let packed = pack(&mut ours, &edited);
        assert!(packed.len() < 200, "{}", packed.len());
        let lost = pack(&mut ours.clone(), &context);
        assert_eq!(unpack(&mut theirs, &packed).unwrap().context, Some(edited));
        assert_eq!(unpack(&mut theirs, &lost).unwrap().context, Some(context.clone()));

        let packed = pack(&mut ours, &context);
        let ids = unknown(unpack(&mut Session::default(), &packed));
        assert!(ids[0].starts_with("c_") && ours.forget(&ids[0]));
        let whole = pack(&mut ours, &context);
        assert!(whole.len() > packed.len());
        let ids = unknown(unpack(&mut Session::default(), &whole));
        assert_eq!(ids.iter().map(|id| &id[..2]).collect::<Vec<_>>(), ["t_", "s_", "c_"]);
    }

    #[test]
    fn a_restored_session_continues() {
        let (mut ours, mut theirs) = (Session::default(), Session::default());
        read(&mut theirs, &sent(&mut ours, &turn(&[TOOL], "a"))).unwrap();
        let mut ours = Session::from_bytes(&ours.to_bytes().unwrap()).unwrap();
        let mut theirs = Session::from_bytes(&theirs.to_bytes().unwrap()).unwrap();
        let frames = sent(&mut ours, &turn(&[TOOL], "ab"));
        assert_eq!(frames.len(), 1);
        read(&mut theirs, &frames).unwrap();
        assert_eq!(ours.stats().messages, 2);
        assert!(Session::from_bytes(b"\x90").is_err());
    }

    #[test]
    fn sizes_above_max_size_are_rejected() {
        let limits = Limits { max_size: 10 };
        let (mut ours, mut theirs) = (Session::new(limits), Session::new(limits));
        let long = turn(&[], "12345678901");
        assert_eq!(ours.encode_request(&long, Style::default()).unwrap_err().field, "context");
        let mut other = Session::default();
        let error = read(&mut theirs, &sent(&mut other, &long)).unwrap_err();
        assert!(error.to_string().contains("larger than max_size"), "{error}");
        assert_eq!(
            ours.encode_request(&turn(&[TOOL], ""), Style::default()).unwrap_err().field,
            "tool"
        );
    }
}
