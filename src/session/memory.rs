//! What one side has of the other, in one direction: a part for each system.
//!
//! A system that remembers something across calls adds its part here. A part bounds itself, can be
//! copied cheaply or planned on without a change (all or nothing), and is forgotten by `Default`.

use super::context::Context;
use super::definitions::Definitions;

/// One direction of a session.
#[derive(Debug, Clone)]
pub(super) struct Memory {
    pub(super) tools: Definitions,
    pub(super) prompts: Definitions,
    pub(super) context: Context,
}

impl Default for Memory {
    fn default() -> Self {
        Self {
            tools: Definitions::tools(),
            prompts: Definitions::prompts(),
            context: Context::default(),
        }
    }
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
