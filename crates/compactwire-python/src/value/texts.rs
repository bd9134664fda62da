//! Short texts as Python strings: equal ones become one object, because texts repeat in most documents. Only
//! the operator `is` can tell the difference.
//!
//! A table without collision lists: a text replaces the one in its slot, so that a table never grows.

use super::read_fast::LOCKED;
use super::vocabulary::Vocabulary;
use crate::errors::Result;
use crate::make::make_text;
use compactwire::walk::Text;
use pyo3::prelude::*;
use pyo3::types::PyString;
use std::sync::Mutex;

/// Texts of fewer bytes are short.
pub(super) const SHORT: usize = 16;

/// How many texts of one document a table keeps at most. A power of two.
const MAX_TEXTS: usize = 1 << 10;

/// How many keys are kept between calls. A power of two.
const MAX_KEYS: usize = 1 << 11;

/// The short texts of documents that were read.
pub(super) struct Texts {
    slots: Vec<Slot>,
    /// Texts that exist already.
    names: Option<&'static Vocabulary>,
}

/// All slots together are half as large as the nearest cache of a processor.
#[derive(Default)]
struct Slot {
    /// The bytes of the text, and its length in the highest byte.
    text: [u64; 2],
    object: Option<Py<PyString>>,
}

impl Texts {
    /// A table for a document of `size` bytes.
    pub(super) fn new(size: usize) -> Self {
        Self::with_slots((size / 32).next_power_of_two().clamp(16, MAX_TEXTS))
    }

    /// A table of so many slots, a power of two.
    fn with_slots(count: usize) -> Self {
        let mut slots = Vec::new();
        slots.resize_with(count, Slot::default);
        Self { slots, names: None }
    }

    /// A table for a document of `size` bytes with the names of a format.
    pub(super) fn with_names(size: usize, names: &'static Vocabulary) -> Self {
        Self { names: Some(names), ..Self::new(size) }
    }

    /// The object of a text, which is kept only if it is short.
    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "two halves; a few bits of a hash")]
    pub(super) fn get<'py>(
        &mut self,
        py: Python<'py>,
        text: Text<'_>,
    ) -> Result<Bound<'py, PyString>> {
        let length = text.text.len();
        if !(1..SHORT).contains(&length) {
            return Ok(make_text(py, text)?);
        }
        let [low, high] = [text.word as u64, (text.word >> 64) as u64 | (length as u64) << 56];
        let mixed = (low ^ high.rotate_left(29)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let last = self.slots.len() - 1;
        let slot = &mut self.slots[(mixed >> 48) as usize & last];
        if let Some(object) = &slot.object
            && slot.text == [low, high]
        {
            return Ok(object.bind(py).clone());
        }
        let known = self.names.and_then(|names| names.get(text.text));
        let object = match known {
            Some(known) => known.bind(py).clone(),
            None => make_text(py, text)?,
        };
        slot.text = [low, high];
        // Without the check of `Py` whether the thread is attached.
        drop(slot.object.replace(object.clone().unbind()).map(|old| old.into_bound(py)));
        Ok(object)
    }
}

/// The keys of documents that were read before: most documents have the keys of one before them. `None` while
/// a call uses them.
static KEYS: Mutex<Option<Texts>> = Mutex::new(None);

/// The keys of documents, which are kept for the next call.
pub(super) struct Keys(Option<Texts>);

impl Keys {
    /// The keys that were kept. Without the interpreter's global lock, none: each call has its own then.
    pub(super) fn take() -> Self {
        let kept = || KEYS.try_lock().ok().and_then(|mut kept| kept.take());
        Self(LOCKED.then(|| kept().unwrap_or_else(|| Texts::with_slots(MAX_KEYS))))
    }

    /// No keys.
    pub(super) fn none() -> Self {
        Self(None)
    }

    /// The table of the keys, if there is one.
    #[inline]
    pub(super) fn table(&mut self) -> Option<&mut Texts> {
        self.0.as_mut()
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        if let (Some(keys), Ok(mut kept)) = (self.0.take(), KEYS.try_lock()) {
            // A call within this one, of a signal handler, may have put back its own.
            kept.get_or_insert(keys);
        }
    }
}
