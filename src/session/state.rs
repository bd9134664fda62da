//! A session as bytes, so that another process can continue it.
//!
//! The bytes are `MessagePack` with a version. They are for this package only, not a format for peers.
//! Invalid bytes are still rejected, and so are fields that contradict each other, which no sequence of calls
//! leads to.

use super::context::{Context, ContextId};
use super::definitions::{Definitions, ID_STEP};
use super::error::StateError;
use super::frames::{self, json_len};
use super::history::History;
use super::keyed::Sets;
use super::memory::Memory;
use super::stats::Stats;
use super::{Limits, Session};
use crate::gcf;
use crate::gcf::graph::{KnownSymbol, SentState, SentSymbols, SymbolTable};
use crate::gcf::keyed::KeyedSet;
use rmp_serde::decode::Error;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The version of [`State`], increased whenever its fields or their meaning change.
const VERSION: u32 = 4;

#[derive(Debug, Clone, Serialize, Deserialize)]
struct State {
    version: u32,
    max_size: usize,
    stats: Stats,
    sent: Part,
    received: Part,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Part {
    tools: Vec<(String, String)>,
    prompts: Vec<(String, String)>,
    context: String,
    /// [`History::recent`].
    history: Vec<u8>,
    /// [`History::digest`].
    digest: [u8; 32],
    reported: Option<ContextId>,
    declared: SentState,
    symbols: Vec<KnownSymbol>,
    /// Each set as a full text, the oldest first.
    sets: Vec<String>,
}

impl Session {
    /// The session as bytes.
    ///
    /// # Errors
    /// [`StateError`]: a part is too large for `MessagePack`, or there is not enough memory.
    pub fn to_bytes(&self) -> Result<Vec<u8>, StateError> {
        let state = State {
            version: VERSION,
            max_size: self.limits.max_size,
            stats: self.stats,
            sent: Part::of(&self.sent)?,
            received: Part::of(&self.received)?,
        };
        rmp_serde::to_vec(&state).map_err(|error| StateError::Invalid(error.to_string()))
    }

    /// Restores a session from the bytes of [`Session::to_bytes`].
    ///
    /// # Errors
    /// [`StateError`]: the bytes are invalid or of another version, two fields contradict each other, or there is
    /// not enough memory.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, StateError> {
        let unknown =
            || StateError::Invalid("expected the output of to_bytes of this version".into());
        let mut reader = rmp_serde::Deserializer::from_read_ref(bytes);
        let State { version, max_size, stats, sent, received } =
            State::deserialize(&mut reader).map_err(|_| unknown())?;
        // A further value has no marker only if no byte is left.
        if !matches!(IgnoredAny::deserialize(&mut reader), Err(Error::InvalidMarkerRead(_))) {
            return Err(unknown());
        }
        if version != VERSION {
            return Err(StateError::Invalid(format!(
                "expected version {VERSION}, found {version}"
            )));
        }
        sent.check("sent", max_size)?;
        received.check("received", max_size)?;
        check_directions(&sent, &received)?;
        check_stats(stats, &sent, &received)?;
        let (sent, received) =
            (sent.memory("sent", max_size)?, received.memory("received", max_size)?);
        Ok(Self { sent, received, stats, limits: Limits { max_size }, last_sent: None })
    }
}

/// Returns an error about a part of the state unless `holds`.
fn ensure(holds: bool, part: &str, problem: &str) -> Result<(), StateError> {
    if holds { Ok(()) } else { Err(StateError::Invalid(format!("{part}: {problem}"))) }
}

/// Checks the fields that only one of the directions can have.
fn check_directions(sent: &Part, received: &Part) -> Result<(), StateError> {
    let problem = "expected none, because only received symbols are resolved";
    ensure(sent.symbols.is_empty(), "sent.symbols", problem)?;
    let problem = "expected none, because only sent symbols are declared";
    ensure(received.declared == SentState::default(), "received.declared", problem)?;
    let problem = "expected none, because a peer reports a context to the sender only";
    ensure(received.reported.is_none(), "received.reported", problem)?;
    let own = sent.tools.iter().chain(&sent.prompts);
    let whole =
        own.into_iter().all(|(id, _)| id.len() > 2 && (id.len() - 2).is_multiple_of(ID_STEP));
    ensure(whole, "sent", "the number of digits of an id is not a multiple of 8")
}

/// Checks the counts against each other and against what the requests left in memory.
fn check_stats(stats: Stats, sent: &Part, received: &Part) -> Result<(), StateError> {
    let Stats { messages, bytes_out, bytes_in, plain_bytes } = stats;
    let bytes = bytes_out.saturating_add(bytes_in);
    let problem = "the number of messages contradicts the number of bytes";
    ensure((messages == 0) == (bytes == 0), "stats", problem)?;
    ensure((messages == 0) == (plain_bytes == 0), "stats", problem)?;
    ensure(messages <= bytes.min(plain_bytes), "stats", problem)?;
    for (name, part, bytes) in [("sent", sent, bytes_out), ("received", received, bytes_in)] {
        let used = !(part.tools.is_empty() && part.prompts.is_empty() && part.context.is_empty());
        ensure(!used || bytes > 0, name, "has contents of requests, but stats count no bytes")?;
    }
    Ok(())
}

impl Part {
    fn of(memory: &Memory) -> Result<Self, StateError> {
        let pairs = |table: &Definitions| {
            table.iter().map(|entry| (entry.id.clone(), entry.content.to_string())).collect()
        };
        let sets = memory.sets.iter().map(|set| set.write("").map_err(|error| of_set("", &error)));
        Ok(Self {
            tools: pairs(&memory.tools),
            prompts: pairs(&memory.prompts),
            context: memory.context.text().to_owned(),
            history: memory.history.recent().to_owned(),
            digest: memory.history.digest(),
            reported: memory.reported,
            declared: memory.declared.state(),
            symbols: memory.symbols.state(),
            sets: sets.collect::<Result<_, _>>()?,
        })
    }

    /// Checks the fields that are restored unchanged.
    fn check(&self, name: &str, max_size: usize) -> Result<(), StateError> {
        let at = |field: &str| format!("{name}.{field}");
        ensure(self.context.len() <= max_size, &at("context"), "larger than max_size")?;
        for (id, tool) in &self.tools {
            frames::check_tool(tool)
                .map_err(|error| StateError::Invalid(format!("{}: {id}: {error}", at("tools"))))?;
        }
        for (field, table) in [("tools", &self.tools), ("prompts", &self.prompts)] {
            let size: usize = table.iter().map(|(_, content)| content.len()).sum();
            ensure(size <= max_size, &at(field), "larger than max_size")?;
        }
        Ok(())
    }

    fn memory(self, name: &str, max_size: usize) -> Result<Memory, StateError> {
        let wrong =
            |field: &str, problem: &str| StateError::Invalid(format!("{name}.{field}: {problem}"));
        let mismatch = |field| move || wrong(field, "an id does not match its content");
        let tools = restore(Definitions::tools(), self.tools, str::len);
        let prompts = restore(Definitions::prompts(), self.prompts, |text| json_len(text) + 2);
        let mut sets = Sets::default();
        let count = self.sets.len();
        for text in &self.sets {
            let set =
                KeyedSet::read(text).map_err(|error| of_set(&format!("{name}.sets: "), &error))?;
            sets.keep(Arc::new(set), max_size);
        }
        ensure(
            sets.iter().count() == count,
            &format!("{name}.sets"),
            "two sets have the same name, or the sets exceed the limits of number and size",
        )?;
        let problem = "an id is out of order or a symbol contradicts another";
        let history = History::restore(self.history, self.digest);
        let declared = SentSymbols::restore(self.declared);
        let symbols = SymbolTable::restore(self.symbols, max_size);
        Ok(Memory {
            sets,
            tools: tools.ok_or_else(mismatch("tools"))?,
            prompts: prompts.ok_or_else(mismatch("prompts"))?,
            context: Context::new(self.context),
            reported: self.reported,
            history: history
                .ok_or_else(|| wrong("history", "its length contradicts its digest"))?,
            declared: declared.ok_or_else(|| wrong("declared", problem))?,
            symbols: symbols.ok_or_else(|| wrong("symbols", problem))?,
        })
    }
}

/// The error for a set that cannot be written or read.
fn of_set(place: &str, error: &gcf::Error) -> StateError {
    match error.code {
        gcf::Code::OutOfMemory => StateError::OutOfMemory,
        _ => StateError::Invalid(format!("{place}{error}")),
    }
}

/// Restores a table from ids and contents; `None` if an id does not match its content.
fn restore(
    mut table: Definitions,
    entries: Vec<(String, String)>,
    json_len: impl Fn(&str) -> usize,
) -> Option<Definitions> {
    if entries.len() > table.limit() {
        return None;
    }
    let count = entries.len();
    for (id, content) in entries {
        let definition = table.define(&content, json_len(&content), [id.as_str()]);
        if definition.id != id {
            return None;
        }
    }
    Some(table).filter(|table| table.iter().count() == count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gcf::graph::{EncodeOptions, Payload, Symbol};
    use crate::gcf::keyed::Scalar;
    use crate::session::{DecodeOptions, Outgoing, Style};
    use proptest::prelude::*;
    use std::time::Duration;

    /// A session with something in every field.
    fn session() -> Session {
        let mut session = Session::default();
        let mut peer = Session::default();
        let symbol = |name| Symbol::new(name, "function", 0.5, "lsp");
        let payload = Payload { symbols: vec![symbol("a"), symbol("b")], ..Payload::default() };
        let rows = [1, 2].map(|id| vec![Scalar::Int(id), Scalar::String("text".into())]);
        let fields = vec!["id".to_owned(), "text".to_owned()];
        let set = Arc::new(KeyedSet::new("s".into(), "id", fields, rows.into()).unwrap());
        for (turn, context) in ["User: Hi", "User: Hi\nAgent: Hello"].into_iter().enumerate() {
            let (one, two) = (r#"{"name":"one"}"#, r#"{"name":"two"}"#);
            let request = Outgoing {
                tools: vec![one, two],
                system: Some("Be brief."),
                args: "{}",
                context: Some(context),
            };
            let now = Duration::from_secs(turn as u64);
            let options = EncodeOptions::default();
            let packed = session.encode_packed(&request, Style::default()).unwrap();
            peer.decode_packed(&packed, DecodeOptions::default()).unwrap();
            let packed = peer.encode_packed(&request, Style::default()).unwrap();
            session.decode_packed(&packed, DecodeOptions::default()).unwrap();
            session.encode_graph(&payload.clone().into(), options, now).unwrap();
            let text = peer.encode_graph(&payload.clone().into(), options, now).unwrap();
            session.decode_graph(&text).unwrap();
            session.encode_keyed(Arc::clone(&set), "").unwrap();
            session.decode_keyed(&peer.encode_keyed(Arc::clone(&set), "").unwrap()).unwrap();
        }
        session
    }

    fn state() -> State {
        rmp_serde::from_slice(&session().to_bytes().unwrap()).unwrap()
    }

    fn restored(state: &State) -> Result<Session, StateError> {
        Session::from_bytes(&rmp_serde::to_vec(state).unwrap())
    }

    #[test]
    fn a_saved_session_is_restored_whole() {
        let bytes = session().to_bytes().unwrap();
        assert_eq!(Session::from_bytes(&bytes).unwrap().to_bytes().unwrap(), bytes);
    }

    #[test]
    fn a_state_with_bytes_after_it_is_refused() {
        let bytes = session().to_bytes().unwrap();
        for rest in [&b"\0"[..], b"\xc1", b"\xdd", &bytes] {
            let refused = Session::from_bytes(&[&bytes, rest].concat()).unwrap_err();
            let expected = "invalid session state: expected the output of to_bytes of this version";
            assert_eq!(refused.to_string(), expected);
        }
    }

    #[test]
    fn a_state_that_contradicts_itself_is_refused() {
        type Change = fn(&mut State);
        let changes: &[(&str, Change)] = &[
            ("version", |s| s.version += 1),
            ("sent.context", |s| s.max_size = 9),
            ("sent.history", |s| s.sent.history.clear()),
            ("received.history", |s| s.received.history.resize((64 << 10) + 1, b'x')),
            ("sent.history", |s| s.sent.digest = [0; 32]),
            ("sent.tools", |s| s.sent.tools[0].1 = "[]".into()),
            ("sent.tools", |s| s.sent.tools[0].1.push(' ')),
            ("sent.tools", |s| s.sent.tools[0].0.push_str("00000000")),
            ("sent.tools", |s| s.sent.tools.push(s.sent.tools[0].clone())),
            ("received.prompts", |s| s.received.prompts[0].1.push(' ')),
            ("received.prompts", |s| s.received.prompts[0].0 = "t_00000000".into()),
            ("sent", |s| _ = s.sent.tools[0].0.pop()),
            ("sent.symbols", |s| s.sent.symbols = s.received.symbols.clone()),
            ("received.declared", |s| s.received.declared = s.sent.declared.clone()),
            ("received.reported", |s| s.received.reported = Some([0; 4])),
            ("received.symbols", |s| s.received.symbols.reverse()),
            ("received.symbols", |s| s.received.symbols.push(s.received.symbols[0].clone())),
            ("sent.sets", |s| s.sent.sets.push(s.sent.sets[0].clone())),
            ("sent.sets", |s| s.sent.sets[0].push('x')),
            ("stats", |s| s.stats.messages = 0),
            ("stats", |s| s.stats.plain_bytes = 0),
            ("stats", |s| s.stats.messages = u64::MAX),
            ("sent", |s| s.stats.bytes_out = 0),
            ("received", |s| s.stats.bytes_in = 0),
        ];
        for (place, change) in changes {
            let mut state = state();
            change(&mut state);
            let error = restored(&state).expect_err(place).to_string();
            assert!(error.contains(place), "{place}: {error}");
        }
    }

    proptest! {
        #[test]
        fn a_changed_state_is_refused_or_restored_whole(
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        ) {
            let mut bytes = session().to_bytes().unwrap();
            for (at, byte) in changes {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
            if let Ok(mut session) = Session::from_bytes(&bytes) {
                let saved = session.to_bytes().unwrap();
                prop_assert_eq!(Session::from_bytes(&saved).unwrap().to_bytes().unwrap(), saved);
                let request = Outgoing { context: Some("User: Hi again"), ..Outgoing::default() };
                let _ = session.encode_request(&request, Style::default());
                let _ = session.encode_packed(&request, Style::default());
            }
        }
    }
}
