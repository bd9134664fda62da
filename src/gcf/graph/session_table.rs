//! The symbol ids that both sides of a session know. GCF 3.6 section 11.
//!
//! Invariant: an id never refers to two symbols, even after a session starts over, so that a reference
//! always resolves to the symbol that the sender meant. A symbol is identified by its kind and name.

use super::check::is_word;
use super::index::identity;
use super::shared_str::SharedStr;
use super::types::Symbol;
use super::vocabulary::abbreviated;
use crate::excerpt::excerpt;
use crate::gcf::error::{Code, Read, fault};
use crate::limits::DEFAULT_MAX_SIZE;
use crate::memory;
use hashbrown::{Equivalent, HashMap};
#[cfg(feature = "session")]
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, TryReserveError};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The limits of a session, beyond which it starts over.
///
/// ```
/// use compactwire::gcf::graph::{
///     EncodeOptions, Payload, SentSymbols, Symbol, TableLimits, encode_in,
/// };
/// use std::time::Duration;
///
/// let limits = TableLimits { max_idle: Duration::from_secs(60), ..TableLimits::default() };
/// let mut sent = SentSymbols::new(limits);
/// let symbols = vec![Symbol::new("a.f", "function", 0.5, "lsp")];
/// let payload = Payload { symbols, ..Payload::default() }.into();
/// let mut text_at = |seconds| {
///     encode_in(&payload, EncodeOptions::default(), &mut sent, Duration::from_secs(seconds))
/// };
/// assert!(text_at(0).unwrap().contains("@0 fn a.f"));
/// assert!(!text_at(60).unwrap().contains("a.f"));
/// assert!(text_at(121).unwrap().contains("@0 fn a.f"));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TableLimits {
    /// The maximum number of symbols.
    pub max_ids: usize,
    /// The maximum time between two payloads.
    pub max_idle: Duration,
    /// The maximum age of the session.
    pub max_age: Duration,
    /// The maximum total size in bytes of the strings received from a peer.
    pub max_size: usize,
}

impl Default for TableLimits {
    fn default() -> Self {
        Self {
            max_ids: 65_536,
            max_idle: Duration::from_secs(60 * 60),
            max_age: Duration::from_secs(24 * 60 * 60),
            max_size: DEFAULT_MAX_SIZE,
        }
    }
}

/// The symbols that were sent to the peer.
#[derive(Debug, Clone, Default)]
pub struct SentSymbols {
    limits: TableLimits,
    ids: HashMap<Key, Entry>,
    next: u64,
    /// The symbols of the last payload.
    last: Vec<Key>,
    /// The times of the first and the last payload.
    times: Option<(Duration, Duration)>,
    epoch: Epoch,
}

/// Distinguishes a session before and after it starts over, so that a stream cannot continue in the new one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Epoch(u64);

impl Default for Epoch {
    fn default() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// A symbol of the table. The strings are detached, so that the table does not keep whole payloads in
/// memory.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Key {
    kind: SharedStr,
    name: SharedStr,
}

#[derive(PartialEq, Eq, Hash)]
struct KeyRef<'p> {
    kind: &'p str,
    name: &'p str,
}

impl Equivalent<Key> for KeyRef<'_> {
    fn equivalent(&self, key: &Key) -> bool {
        *self.kind == *key.kind && *self.name == *key.name
    }
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    id: u64,
    delivered: bool,
}

/// The ids assigned to the symbols of a payload, by position.
pub(crate) struct IdPlan {
    pub(crate) ids: Vec<u64>,
    /// Whether the peer knows each symbol; empty if it knows none.
    pub(crate) known: Vec<bool>,
}

impl SentSymbols {
    /// Creates an empty table.
    pub fn new(limits: TableLimits) -> Self {
        Self { limits, ..Self::default() }
    }

    /// The number of symbols in the table.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether the table has no symbols.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// Marks the symbols of the last payload as not delivered, because it may be lost: they are declared
    /// again, with the same ids.
    pub fn forget_last(&mut self) {
        for key in std::mem::take(&mut self.last) {
            if let Some(entry) = self.ids.get_mut(&key) {
                entry.delivered = false;
            }
        }
    }

    /// Forgets all symbols. New ids continue after the old ones, because the peer may remember those.
    pub fn start_over(&mut self) {
        *self = Self { limits: self.limits, next: self.next, ..Self::default() };
    }

    /// Whether the session or the time since the last payload exceeds its limit.
    fn is_expired(&self, now: Duration) -> bool {
        self.times.is_some_and(|(first, last)| {
            let idle = now.saturating_sub(last) > self.limits.max_idle;
            idle || now.saturating_sub(first) > self.limits.max_age
        })
    }

    /// Assigns ids to the symbols of a payload, new ids in the order of its text. Returns `None` if the
    /// session has expired or would exceed its limit of symbols.
    pub(crate) fn plan(&self, symbols: &[Symbol], order: &[u32], now: Duration) -> Option<IdPlan> {
        if self.is_expired(now) {
            return None;
        }
        let mut plan = IdPlan { ids: vec![0; symbols.len()], known: vec![false; symbols.len()] };
        let mut next = self.next;
        for &index in order {
            let index = index as usize;
            let (kind, name) = identity(&symbols[index]);
            let entry = self.ids.get(&KeyRef { kind, name });
            plan.known[index] = entry.is_some_and(|entry| entry.delivered);
            plan.ids[index] = entry.map_or(next, |entry| entry.id);
            next += u64::from(entry.is_none());
        }
        let new = usize::try_from(next - self.next).unwrap_or(usize::MAX);
        (self.ids.len().saturating_add(new) <= self.limits.max_ids).then_some(plan)
    }

    /// Records that the payload was written with the ids of the plan.
    pub(crate) fn commit(&mut self, symbols: &[Symbol], plan: &IdPlan, now: Duration) {
        self.last.clear();
        for (symbol, &id) in symbols.iter().zip(&plan.ids) {
            let (kind, name) = identity(symbol);
            let key = match self.ids.get_key_value(&KeyRef { kind, name }) {
                Some((key, _)) => key.clone(),
                None => Key { kind: kind.into(), name: symbol.qualified_name.detached() },
            };
            self.last.push(key.clone());
            self.ids.insert(key, Entry { id, delivered: true });
            self.next = self.next.max(id + 1);
        }
        let first = self.times.map_or(now, |(first, _)| first);
        self.times = Some((first, now));
    }
}

/// Streams: a symbol is assigned its id when it is written, and counts as delivered when the stream ends.
impl SentSymbols {
    /// Starts a stream. Returns `None` if the session has expired: the session starts over, and the stream
    /// is written without a session.
    pub(crate) fn begin_stream(&mut self, now: Duration) -> Option<Epoch> {
        if self.is_expired(now) {
            self.start_over();
            return None;
        }
        Some(self.epoch)
    }

    /// Whether the session has not started over since the stream began.
    pub(crate) fn is_in(&self, epoch: Epoch) -> bool {
        self.epoch == epoch
    }

    /// Reserves memory for one more symbol of a stream, also for its end.
    pub(crate) fn reserve(&mut self) -> Result<(), TryReserveError> {
        self.last.try_reserve(self.ids.len() + 1)?;
        self.ids.try_reserve(1).map_err(|_| memory::exhausted())
    }

    /// Returns the id of a symbol, and whether the peer knows the symbol. Returns `None` if the session
    /// has started over since the stream began.
    pub(crate) fn assign(&mut self, symbol: &Symbol, epoch: Epoch) -> Option<(u64, bool)> {
        if self.epoch != epoch {
            return None;
        }
        let (kind, name) = identity(symbol);
        if let Some(entry) = self.ids.get(&KeyRef { kind, name }) {
            return Some((entry.id, entry.delivered));
        }
        let id = self.next;
        self.next += 1;
        if self.ids.len() < self.limits.max_ids {
            let key = Key { kind: kind.into(), name: symbol.qualified_name.detached() };
            self.ids.insert(key, Entry { id, delivered: false });
        }
        Some((id, false))
    }

    /// Ends a stream of these symbols. If the table cannot hold all of them, the session starts over.
    pub(crate) fn end_stream<'s>(
        &mut self,
        symbols: impl Iterator<Item = (&'s SharedStr, &'s SharedStr)>,
        epoch: Epoch,
        now: Duration,
    ) {
        if self.epoch != epoch {
            return;
        }
        self.last.clear();
        for (kind, name) in symbols {
            let Some((key, entry)) = self.ids.get_key_value_mut(&KeyRef { kind, name }) else {
                return self.start_over();
            };
            entry.delivered = true;
            self.last.push(key.clone());
        }
        let first = self.times.map_or(now, |(first, _)| first);
        self.times = Some((first, now));
    }
}

/// The serializable state of [`SentSymbols`].
#[derive(Debug, Clone, Default, PartialEq)]
#[cfg_attr(feature = "session", derive(Serialize, Deserialize))]
pub struct SentState {
    next: u64,
    /// Kind, name, id, and whether the symbol was delivered.
    ids: Vec<(String, String, u64, bool)>,
    times: Option<(Duration, Duration)>,
}

impl SentSymbols {
    /// Returns the serializable state.
    pub fn state(&self) -> SentState {
        let mut ids: Vec<_> = self
            .ids
            .iter()
            .map(|(key, entry)| {
                (key.kind.to_string(), key.name.to_string(), entry.id, entry.delivered)
            })
            .collect();
        ids.sort_unstable_by_key(|(_, _, id, _)| *id);
        SentState { next: self.next, ids, times: self.times }
    }

    /// Restores a table from its state; `None` if the state contradicts itself.
    pub fn restore(state: SentState) -> Option<Self> {
        let mut table = Self { next: state.next, times: state.times, ..Self::default() };
        // No session assigns this many ids. From a larger number, the next ids could overflow.
        let counted = i64::try_from(state.next).is_ok();
        let ordered = state.times.is_none_or(|(first, last)| first <= last);
        let delivered = state.ids.iter().any(|(_, _, _, delivered)| *delivered);
        if !counted || !ordered || (delivered && state.times.is_none()) {
            return None;
        }
        if state.ids.len() > table.limits.max_ids {
            return None;
        }
        let mut last = None;
        for (kind, name, id, delivered) in state.ids {
            let is_symbol =
                abbreviated(&kind) == kind && is_word(&kind, true) && is_word(&name, true);
            if id >= state.next || last >= Some(id) || !is_symbol {
                return None;
            }
            last = Some(id);
            let key = Key { kind: kind.into(), name: name.into() };
            if table.ids.insert(key, Entry { id, delivered }).is_some() {
                return None;
            }
        }
        Some(table)
    }
}

/// The serializable state of a symbol of [`SymbolTable`].
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "session", derive(Serialize, Deserialize))]
pub struct KnownSymbol {
    id: u64,
    kind: String,
    qualified_name: String,
    score: f64,
    provenance: String,
}

/// The symbols that were received from the peer.
#[derive(Debug, Clone, Default)]
pub struct SymbolTable {
    limits: TableLimits,
    // Ordered, because the lowest ids are removed first.
    symbols: BTreeMap<u64, Symbol>,
    /// The total size of the strings.
    size: usize,
}

impl SymbolTable {
    /// Creates an empty table.
    pub fn new(limits: TableLimits) -> Self {
        Self { limits, ..Self::default() }
    }

    /// The number of symbols in the table.
    pub fn len(&self) -> usize {
        self.symbols.len()
    }

    /// Whether the table has no symbols.
    pub fn is_empty(&self) -> bool {
        self.symbols.is_empty()
    }

    /// Changes the maximum total size in bytes of the strings.
    pub fn set_max_size(&mut self, max_size: usize) {
        self.limits.max_size = max_size;
    }

    /// Returns the serializable state.
    pub fn state(&self) -> Vec<KnownSymbol> {
        let known = |(&id, symbol): (&u64, &Symbol)| KnownSymbol {
            id,
            kind: symbol.kind.to_string(),
            qualified_name: symbol.qualified_name.to_string(),
            score: symbol.score,
            provenance: symbol.provenance.to_string(),
        };
        self.symbols.iter().map(known).collect()
    }

    /// Restores a table from its state; `None` if the state contradicts itself or exceeds the limits.
    pub fn restore(state: Vec<KnownSymbol>, max_size: usize) -> Option<Self> {
        let limits = TableLimits { max_size, ..TableLimits::default() };
        let mut table = Self::new(limits);
        let count = state.len();
        let is_symbol = |known: &KnownSymbol| {
            let words = [&known.kind, &known.qualified_name, &known.provenance];
            let is_field = |word: &&String| !word.is_empty() && !word.contains([' ', '\n']);
            words.iter().all(is_field) && known.score.is_finite()
        };
        if !state.is_sorted_by(|a, b| a.id < b.id) || !state.iter().all(is_symbol) {
            return None;
        }
        table.commit(state.into_iter().map(|known| {
            let KnownSymbol { id, kind, qualified_name, score, provenance } = known;
            (id, Symbol::new(qualified_name, kind, score, provenance))
        }));
        (table.len() == count).then_some(table)
    }

    /// Returns the symbol with an id, which the line at byte `at` refers to.
    pub(crate) fn resolve(&self, id: u64, at: usize) -> Read<Symbol> {
        let Some(symbol) = self.symbols.get(&id) else {
            let message =
                format!("no symbol of the session has the id @{id}; request a full payload");
            return fault(Code::UnknownSessionReference, at, message);
        };
        Ok(symbol.clone())
    }

    /// Returns an error if the line at byte `at` declares another symbol with a known id.
    pub(crate) fn check_declaration(&self, id: u64, symbol: &Symbol, at: usize) -> Read<()> {
        match self.symbols.get(&id) {
            Some(known) if identity(known) != identity(symbol) => {
                let message = format!(
                    "in this session the id @{id} is {} {}, not {}; start the session over",
                    known.kind,
                    excerpt(&known.qualified_name),
                    excerpt(&symbol.qualified_name)
                );
                fault(Code::SessionConflict, at, message)
            }
            _ => Ok(()),
        }
    }

    /// Adds the symbols that a payload declared. Beyond the limits, the lowest ids are removed.
    pub(crate) fn commit(&mut self, declared: impl Iterator<Item = (u64, Symbol)>) {
        for (id, symbol) in declared {
            self.size += size(&symbol);
            if let Some(previous) = self.symbols.insert(id, symbol) {
                self.size -= size(&previous);
            }
        }
        while self.symbols.len() > self.limits.max_ids || self.size > self.limits.max_size {
            let Some((_, symbol)) = self.symbols.pop_first() else { break };
            self.size -= size(&symbol);
        }
    }
}

/// The size of the strings of a symbol.
fn size(symbol: &Symbol) -> usize {
    symbol.qualified_name.len() + symbol.kind.len() + symbol.provenance.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gcf::graph::{Content, EncodeOptions, Payload, decode_in, encode_in};

    fn payload(names: &[&str]) -> Payload {
        let symbols = names.iter().map(|&name| Symbol::new(name, "function", 0.5, "lsp"));
        Payload { symbols: symbols.collect(), ..Payload::default() }
    }

    fn sent(table: &mut SentSymbols, names: &[&str], seconds: u64) -> String {
        let now = Duration::from_secs(seconds);
        encode_in(&payload(names).into(), EncodeOptions::default(), table, now).unwrap()
    }

    fn received(table: &mut SymbolTable, text: &str) -> Result<Payload, Code> {
        match decode_in(text, table).map(|decoded| decoded.content) {
            Ok(Content::Payload(payload)) => Ok(payload),
            Ok(other) => panic!("{other:?}"),
            Err(error) => Err(error.code),
        }
    }

    #[test]
    fn a_known_symbol_is_written_as_a_reference_and_resolved() {
        let (mut ours, mut theirs) = (SentSymbols::default(), SymbolTable::default());
        received(&mut theirs, &sent(&mut ours, &["a", "b"], 0)).unwrap();
        let second = sent(&mut ours, &["c", "b"], 1);
        assert!(second.contains("\n@2 fn c 0.50 lsp\n@1  # previously transmitted\n"), "{second}");
        assert_eq!(received(&mut theirs, &second).unwrap(), payload(&["c", "b"]));
        assert_eq!(theirs.len(), 3);
    }

    #[test]
    fn symbols_of_a_lost_payload_are_declared_again_with_their_ids() {
        let (mut ours, mut theirs) = (SentSymbols::default(), SymbolTable::default());
        received(&mut theirs, &sent(&mut ours, &["a"], 0)).unwrap();
        sent(&mut ours, &["b"], 0);
        ours.forget_last();
        let text = sent(&mut ours, &["a", "b"], 0);
        assert!(text.contains("@0  # previously transmitted\n@1 fn b"), "{text}");
        received(&mut theirs, &text).unwrap();
        let lost = sent(&mut ours, &["c"], 0);
        assert!(lost.contains("@2 fn c"));
        let next = sent(&mut ours, &["c"], 0);
        assert_eq!(received(&mut theirs, &next), Err(Code::UnknownSessionReference));
    }

    #[test]
    fn a_session_starts_over_beyond_its_limits() {
        let hour = 60 * 60;
        for (first, second, expired) in [(0, hour, false), (0, hour + 1, true)] {
            let mut ours = SentSymbols::default();
            sent(&mut ours, &["a"], first);
            assert_eq!(sent(&mut ours, &["a"], second).contains("session"), !expired);
            assert!(sent(&mut ours, &["a"], second).contains("session=true"));
        }
        let mut ours = SentSymbols::default();
        let texts: Vec<_> = (0..=48).map(|i| sent(&mut ours, &["a"], i * hour / 2 + 1)).collect();
        assert!(texts.iter().all(|text| text.contains("session=true")));
        assert!(!sent(&mut ours, &["a"], 24 * hour + 2).contains("session"));
        let limits = TableLimits { max_ids: 2, ..TableLimits::default() };
        let (mut ours, mut theirs) = (SentSymbols::new(limits), SymbolTable::new(limits));
        for names in [&["a", "b"][..], &["c"], &["d"], &["a", "d"], &["d", "e"], &["e"]] {
            let text = sent(&mut ours, names, 0);
            assert_eq!(received(&mut theirs, &text).unwrap(), payload(names), "{text}");
            assert!(theirs.len() <= 2);
        }
    }

    #[test]
    fn an_id_keeps_its_symbol_and_an_error_changes_nothing() {
        let mut theirs = SymbolTable::default();
        let text = |body: &str| format!("GCF profile=graph session=true\n{body}\n");
        received(&mut theirs, &text("@0 fn a 0.50 lsp")).unwrap();
        let conflict = text("@1 fn b 0.50 lsp\n@0 type a 0.50 lsp");
        assert_eq!(received(&mut theirs, &conflict), Err(Code::SessionConflict));
        assert_eq!(
            received(&mut theirs, &text("@1  # previously transmitted")),
            Err(Code::UnknownSessionReference)
        );
        let again = received(&mut theirs, &text("## related\n@0 fn a 0.70 ast")).unwrap();
        assert_eq!((again.symbols[0].score, again.symbols[0].distance), (0.7, 1));
        let reference = received(&mut theirs, &text("@0  # previously transmitted")).unwrap();
        assert_eq!((reference.symbols[0].score, reference.symbols[0].distance), (0.7, 0));
        let outside = received(&mut theirs, "GCF profile=graph\n@0 fn z 0.50 lsp\n").unwrap();
        assert_eq!(&*outside.symbols[0].qualified_name, "z");
        assert_eq!(theirs.len(), 1);
    }
}
