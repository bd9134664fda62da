//! A session as bytes, so that another process can continue it.
//!
//! The bytes are `MessagePack` with a version. They are for this package only, not a format for peers.
//! Invalid bytes are still rejected.

use super::context::Context;
use super::definitions::Definitions;
use super::error::StateError;
use super::frames::json_len;
use super::keyed::Sets;
use super::memory::Memory;
use super::stats::Stats;
use super::{Limits, Session};
use crate::gcf::graph::{KnownSymbol, SentState, SentSymbols, SymbolTable};
use crate::gcf::keyed::KeyedSet;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

const VERSION: u32 = 3;

#[derive(Serialize, Deserialize)]
struct State {
    version: u32,
    max_size: usize,
    stats: Stats,
    sent: Part,
    received: Part,
}

#[derive(Serialize, Deserialize)]
struct Part {
    tools: Vec<(String, String)>,
    prompts: Vec<(String, String)>,
    context: String,
    last: Vec<u8>,
    declared: SentState,
    symbols: Vec<KnownSymbol>,
    /// Each set as a full text, the oldest first.
    sets: Vec<String>,
}

impl Session {
    /// The session as bytes.
    ///
    /// # Errors
    /// [`StateError`]: a part is too large for `MessagePack`.
    pub fn to_bytes(&self) -> Result<Vec<u8>, StateError> {
        let state = State {
            version: VERSION,
            max_size: self.limits.max_size,
            stats: self.stats,
            sent: Part::of(&self.sent),
            received: Part::of(&self.received),
        };
        rmp_serde::to_vec(&state).map_err(|error| StateError(error.to_string()))
    }

    /// Restores a session from the bytes of [`Session::to_bytes`].
    ///
    /// # Errors
    /// [`StateError`]: the bytes are invalid or of another version.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, StateError> {
        let State { version, max_size, stats, sent, received } =
            rmp_serde::from_slice(bytes).map_err(|error| StateError(error.to_string()))?;
        if version != VERSION {
            return Err(StateError(format!("expected version {VERSION}, found {version}")));
        }
        let (sent, received) = (sent.memory(max_size)?, received.memory(max_size)?);
        Ok(Self { sent, received, stats, limits: Limits { max_size } })
    }
}

impl Part {
    fn of(memory: &Memory) -> Self {
        let pairs = |table: &Definitions| {
            table.iter().map(|entry| (entry.id.clone(), entry.content.to_string())).collect()
        };
        Self {
            tools: pairs(&memory.tools),
            prompts: pairs(&memory.prompts),
            context: memory.context.text().to_owned(),
            last: memory.context.last().to_owned(),
            declared: memory.declared.state(),
            symbols: memory.symbols.state(),
            sets: memory.sets.iter().filter_map(|set| set.write("").ok()).collect(),
        }
    }

    fn memory(self, max_size: usize) -> Result<Memory, StateError> {
        let mismatch = || StateError("an id does not match its content".into());
        let tools = restore(Definitions::tools(), self.tools, str::len);
        let prompts = restore(Definitions::prompts(), self.prompts, |text| json_len(text) + 2);
        let mut sets = Sets::default();
        for text in &self.sets {
            let set = KeyedSet::read(text).map_err(|error| StateError(error.to_string()))?;
            sets.keep(Arc::new(set), max_size);
        }
        Ok(Memory {
            sets,
            tools: tools.ok_or_else(mismatch)?,
            prompts: prompts.ok_or_else(mismatch)?,
            context: Context::new(self.context, self.last),
            declared: SentSymbols::restore(self.declared).ok_or_else(mismatch)?,
            symbols: SymbolTable::restore(self.symbols),
        })
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
