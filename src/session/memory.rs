//! What one side has of the other, in one direction: a part for each system.
//!
//! A system that remembers something across calls adds its part here. A part bounds itself, can be
//! copied cheaply or planned on without a change (all or nothing), and is forgotten by `Default`.

use super::context::{Context, Next};
use super::definitions::{Definition, Definitions, short_id};
use super::keyed::Sets;
use crate::gcf::graph::{SentSymbols, SymbolTable};
use sha2::{Digest, Sha256};
use std::sync::Arc;

/// One direction of a session.
#[derive(Debug, Clone)]
pub(super) struct Memory {
    pub(super) tools: Definitions,
    pub(super) prompts: Definitions,
    pub(super) context: Context,
    /// Symbols of graphs that the writer of this direction declared.
    pub(super) declared: SentSymbols,
    /// The same, as the reader has them.
    pub(super) symbols: SymbolTable,
    pub(super) sets: Sets,
}

impl Default for Memory {
    fn default() -> Self {
        Self {
            tools: Definitions::tools(),
            prompts: Definitions::prompts(),
            context: Context::default(),
            declared: SentSymbols::default(),
            symbols: SymbolTable::default(),
            sets: Sets::default(),
        }
    }
}

/// What a request means, as a short id: `c_` and the first 8 digits of the SHA-256 of the SHA-256 of
/// each tool, of the prompt and of the context, one after the other; `None` where it has none of them.
pub(super) fn meaning<'a>(
    used: impl IntoIterator<Item = &'a Arc<Definition>>,
    context: Option<&Next>,
) -> Option<String> {
    let hashes = used.into_iter().map(|definition| definition.hash);
    let hashes: Vec<_> = hashes.chain(context.map(Next::hash)).collect();
    (!hashes.is_empty()).then(|| short_id('c', &Sha256::digest(hashes.concat())))
}

impl Memory {
    /// Forgets what the id names; whether there was something.
    pub(super) fn forget(&mut self, id: &str) -> bool {
        match id.as_bytes() {
            [b't', ..] => self.tools.forget(id),
            [b's', ..] => self.prompts.forget(id),
            // A peer that has not this context, which may be an earlier one, has no later one.
            [b'c', b'_', ..] => {
                let known = self.context.has_history();
                self.context = Context::default();
                known
            }
            _ => false,
        }
    }
}
