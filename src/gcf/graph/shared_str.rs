//! The string type of graphs: immutable and cheap to clone.
//!
//! A graph repeats most of its strings: every edge repeats two names, and kinds, provenances and types
//! come from a small vocabulary. Names are reference-counted; words of the vocabulary are static.
//!
//! A string type that shares one buffer and one reference count among all names of a payload was
//! measured and removed: it made decoding with access to all symbols and edges 1.2 to 1.3 times as fast,
//! which is not worth its unsafe code.

use super::vocabulary;
use std::borrow::Borrow;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::sync::Arc;

/// An immutable string that is cheap to clone. The empty string and words of the vocabulary take no
/// memory.
#[derive(Clone)]
pub struct SharedStr(Repr);

#[derive(Clone)]
enum Repr {
    Static(&'static str),
    Counted(Arc<str>),
}

impl SharedStr {
    /// Wraps a static string.
    pub(crate) const fn from_static(string: &'static str) -> Self {
        Self(Repr::Static(string))
    }

    /// Copies a string, unless it is a word of the vocabulary.
    pub fn interned(string: &str) -> Self {
        vocabulary::word(string).map_or_else(|| string.into(), Self::from_static)
    }
}

impl Default for SharedStr {
    fn default() -> Self {
        Self::from_static("")
    }
}

impl Deref for SharedStr {
    type Target = str;

    #[inline]
    fn deref(&self) -> &str {
        match &self.0 {
            Repr::Static(string) => string,
            Repr::Counted(string) => string,
        }
    }
}

impl From<&str> for SharedStr {
    fn from(string: &str) -> Self {
        if string.is_empty() { Self::default() } else { Self(Repr::Counted(string.into())) }
    }
}

impl From<String> for SharedStr {
    fn from(string: String) -> Self {
        string.as_str().into()
    }
}

impl Borrow<str> for SharedStr {
    fn borrow(&self) -> &str {
        self
    }
}

impl PartialEq for SharedStr {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for SharedStr {}

impl PartialOrd for SharedStr {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for SharedStr {
    fn cmp(&self, other: &Self) -> Ordering {
        (**self).cmp(&**other)
    }
}

impl Hash for SharedStr {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

impl fmt::Debug for SharedStr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl fmt::Display for SharedStr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clone_shares_the_memory_of_the_original() {
        let name = SharedStr::from("pkg.Auth");
        assert_eq!(name.clone().as_ptr(), name.as_ptr());
    }

    #[test]
    fn empty_strings_and_words_of_the_vocabulary_are_static() {
        for string in ["", "calls", "lsp_resolved"] {
            assert!(
                matches!(SharedStr::interned(string).0, Repr::Static(found) if found == string)
            );
        }
        assert!(matches!(SharedStr::from("").0, Repr::Static("")));
        assert!(matches!(SharedStr::interned("pkg.Auth").0, Repr::Counted(_)));
    }

    #[test]
    fn strings_compare_by_content() {
        assert_eq!(SharedStr::interned("calls"), SharedStr::from("calls"));
        assert_ne!(SharedStr::from("a"), SharedStr::from("b"));
        assert!(SharedStr::from("a") < SharedStr::from("b"));
    }
}
