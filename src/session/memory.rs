//! The memory of a session in one direction, with a part for each system.
//!
//! Each part limits its own size. A part can be copied cheaply, or can plan a change without applying
//! it, so that a failed request leaves it unchanged. `Default` is the empty memory.

use super::context::{Context, ContextId, Next};
use super::definitions::{Definition, Definitions, short_id};
use super::history::History;
use super::keyed::Sets;
use crate::gcf::graph::{SentSymbols, SymbolTable};
use crate::gcf::keyed::KeyedSet;
use crate::text::hex;
use sha2::{Digest, Sha256};
use std::sync::Arc;

/// One direction of a session.
#[derive(Debug, Clone)]
pub(super) struct Memory {
    pub(super) tools: Definitions,
    pub(super) prompts: Definitions,
    pub(super) context: Context,
    /// The id of the context that the peer has in place of `context`, if it reported one; only in the sent
    /// direction.
    pub(super) reported: Option<ContextId>,
    pub(super) history: History,
    /// The graph symbols that this side declared; empty in the received direction.
    pub(super) declared: SentSymbols,
    /// The graph symbols that the peer declared; empty in the sent direction.
    pub(super) symbols: SymbolTable,
    pub(super) sets: Sets,
}

impl Default for Memory {
    fn default() -> Self {
        Self {
            tools: Definitions::tools(),
            prompts: Definitions::prompts(),
            context: Context::default(),
            reported: None,
            history: History::default(),
            declared: SentSymbols::default(),
            symbols: SymbolTable::default(),
            sets: Sets::default(),
        }
    }
}

/// The hash of a resolved request as a short id. It is `c_` and the first 8 digits of the SHA-256 of the
/// concatenated SHA-256 of each tool, the prompt and the context; `None` if the request has none.
///
/// `base` is the id of the context that the request replaces as a whole. It is hashed last.
pub(super) fn meaning<'a>(
    used: impl IntoIterator<Item = &'a Arc<Definition>>,
    context: Option<&Next>,
    base: Option<ContextId>,
) -> Option<String> {
    let hashes = used.into_iter().map(|definition| definition.hash);
    let hashes: Vec<_> = hashes.chain(context.map(Next::hash)).collect();
    if hashes.is_empty() {
        return None;
    }
    let digest = Sha256::new_with_prefix(hashes.concat());
    let digest = base.iter().fold(digest, Sha256::chain_update);
    Some(short_id('c', &digest.finalize()))
}

/// The name of a context that a peer reports as the one that it has.
pub(super) fn reported_name(id: ContextId) -> String {
    short_id(REPORTED, &id)
}

/// The letter of [`reported_name`].
const REPORTED: char = 'b';

impl Memory {
    /// Whether there is a tool or prompt with this id.
    pub(super) fn has(&self, id: &str) -> bool {
        let mut known = self.tools.iter().chain(self.prompts.iter());
        known.any(|definition| definition.id == id)
    }

    /// The id of the context that the peer has, as far as this side knows; `None` for an empty context.
    pub(super) fn base(&self) -> Option<ContextId> {
        self.context.id().or(self.reported)
    }

    /// The approximate size in bytes.
    pub(super) fn size(&self) -> usize {
        const SYMBOL: usize = 64;
        let symbols = SYMBOL * (self.declared.len() + self.symbols.len());
        let sets: usize = self.sets.iter().map(KeyedSet::size).sum();
        self.tools.memory()
            + self.prompts.memory()
            + self.context.text().len()
            + self.history.recent().len()
            + symbols
            + sets
    }

    /// Forgets the content of an id. Returns whether there was one.
    pub(super) fn forget(&mut self, id: &str) -> bool {
        match id.as_bytes() {
            [b't', ..] => self.tools.forget(id),
            [b's', ..] => self.prompts.forget(id),
            // The id may be that of an earlier context. A peer that lacks an earlier context also
            // lacks this one.
            [b'c', b'_', ..] => {
                let known = self.context.id().is_some() || !self.history.is_empty();
                self.context = Context::default();
                self.history = History::default();
                self.reported = None;
                known
            }
            [b'b', b'_', digits @ ..] => {
                self.reported = hex::decode(digits);
                false
            }
            _ => false,
        }
    }
}
