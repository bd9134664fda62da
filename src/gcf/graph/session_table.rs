//! What two sides of a session have in common: ids of symbols. GCF 3.6 section 11.
//!
//! Invariant: an id never means two symbols, also after a session starts over, so that what is
//! resolved is what the sender meant. A symbol is its kind and its name.

use super::index::identity;
use super::shared_str::SharedStr;
use super::types::Symbol;
use crate::excerpt::excerpt;
use crate::gcf::error::{Code, Read, fault};
use crate::limits::DEFAULT_MAX_SIZE;
use hashbrown::{Equivalent, HashMap};
#[cfg(feature = "session")]
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// How long a session may go on before it starts over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TableLimits {
    /// How many symbols are remembered.
    pub max_ids: usize,
    /// How long nothing may be written.
    pub max_idle: Duration,
    /// How old it may become.
    pub max_age: Duration,
    /// How many bytes the names of a peer may take, all together.
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

/// What the peer has from us.
#[derive(Debug, Clone, Default)]
pub struct SentSymbols {
    limits: TableLimits,
    ids: HashMap<Key, Entry>,
    next: u64,
    last: Vec<Key>,
    /// When the first and the last payload were written.
    times: Option<(Duration, Duration)>,
    epoch: Epoch,
}

/// Tells one beginning of a session from another, so that a stream does not go on in the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Epoch(u64);

impl Default for Epoch {
    fn default() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// Texts of its own: a part of a payload's would keep all of that payload's.
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

/// The ids of the symbols of a payload, and whether the peer has them.
pub(crate) struct IdPlan {
    pub(crate) ids: Vec<u64>,
    /// Empty for none.
    pub(crate) known: Vec<bool>,
}

impl SentSymbols {
    /// Nothing sent yet.
    pub fn new(limits: TableLimits) -> Self {
        Self { limits, ..Self::default() }
    }

    /// How many symbols the peer has.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether nothing was sent yet.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// It is not known whether the last payload arrived: its symbols are declared again, under the
    /// ids that they have.
    pub fn forget_last(&mut self) {
        for key in std::mem::take(&mut self.last) {
            if let Some(entry) = self.ids.get_mut(&key) {
                entry.delivered = false;
            }
        }
    }

    /// Forgets what was sent. Ids go on, because the peer may remember those given so far.
    pub fn start_over(&mut self) {
        *self = Self { limits: self.limits, next: self.next, ..Self::default() };
    }

    /// Whether the session went on for too long, or nothing was written for too long.
    fn is_over(&self, now: Duration) -> bool {
        self.times.is_some_and(|(first, last)| {
            let idle = now.saturating_sub(last) > self.limits.max_idle;
            idle || now.saturating_sub(first) > self.limits.max_age
        })
    }

    /// Ids for the symbols of a payload, new ones in the order of its text; `None` beyond a limit.
    pub(crate) fn plan(&self, symbols: &[Symbol], order: &[u32], now: Duration) -> Option<IdPlan> {
        if self.is_over(now) {
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

    /// What was plan has been written.
    pub(crate) fn commit(&mut self, symbols: &[Symbol], plan: &IdPlan, now: Duration) {
        self.last.clear();
        for (symbol, &id) in symbols.iter().zip(&plan.ids) {
            let (kind, name) = identity(symbol);
            let key = match self.ids.get_key_value(&KeyRef { kind, name }) {
                Some((key, _)) => key.clone(),
                None => Key { kind: kind.into(), name: symbol.qualified_name.clone() },
            };
            self.last.push(key.clone());
            self.ids.insert(key, Entry { id, delivered: true });
            self.next = self.next.max(id + 1);
        }
        let first = self.times.map_or(now, |(first, _)| first);
        self.times = Some((first, now));
    }
}

/// Of a stream: its symbols have ids at once, and are delivered when it ends.
impl SentSymbols {
    /// A stream begins; `None` for one that is written in full, because the session starts over.
    pub(crate) fn begin(&mut self, now: Duration) -> Option<Epoch> {
        if self.is_over(now) {
            self.start_over();
            return None;
        }
        Some(self.epoch)
    }

    /// The id of a symbol, and whether the peer has it; `None` if the stream began in another session.
    pub(crate) fn take(&mut self, symbol: &Symbol, epoch: Epoch) -> Option<(u64, bool)> {
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
            let key = Key { kind: kind.into(), name: symbol.qualified_name.clone() };
            self.ids.insert(key, Entry { id, delivered: false });
        }
        Some((id, false))
    }

    /// A stream of these symbols has ended; if not all found a place, the session starts over.
    pub(crate) fn end<'s>(
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
            let key = Key { kind: kind.clone(), name: name.clone() };
            let Some(entry) = self.ids.get_mut(&key) else { return self.start_over() };
            entry.delivered = true;
            self.last.push(key);
        }
        let first = self.times.map_or(now, |(first, _)| first);
        self.times = Some((first, now));
    }
}

/// [`SentSymbols`] as plain data.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "session", derive(Serialize, Deserialize))]
pub struct SentState {
    next: u64,
    /// Kind, name, id, whether it was delivered.
    ids: Vec<(String, String, u64, bool)>,
    times: Option<(Duration, Duration)>,
}

impl SentSymbols {
    /// What to keep.
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

    /// What was kept; `None` where that cannot be.
    pub fn restore(state: SentState) -> Option<Self> {
        let mut table = Self { next: state.next, times: state.times, ..Self::default() };
        if state.ids.len() > table.limits.max_ids {
            return None;
        }
        let mut last = None;
        for (kind, name, id, delivered) in state.ids {
            if id >= state.next || last >= Some(id) {
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

/// A symbol of a [`SymbolTable`] as plain data.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "session", derive(Serialize, Deserialize))]
pub struct KnownSymbol {
    id: u64,
    kind: String,
    qualified_name: String,
    score: f64,
    provenance: String,
}

/// What we have from the peer.
#[derive(Debug, Clone, Default)]
pub struct SymbolTable {
    limits: TableLimits,
    // Ordered, because the oldest ids go first.
    symbols: BTreeMap<u64, Symbol>,
    size: usize,
}

impl SymbolTable {
    /// Nothing received yet.
    pub fn new(limits: TableLimits) -> Self {
        Self { limits, ..Self::default() }
    }

    /// How many symbols are known.
    pub fn len(&self) -> usize {
        self.symbols.len()
    }

    /// Whether none is known.
    pub fn is_empty(&self) -> bool {
        self.symbols.is_empty()
    }

    /// Changes how many bytes the names may take.
    pub fn bound(&mut self, max_size: usize) {
        self.limits.max_size = max_size;
    }

    /// What to keep.
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

    /// What was kept.
    pub fn restore(state: Vec<KnownSymbol>) -> Self {
        let mut table = Self::default();
        table.commit(state.into_iter().map(|known| {
            let symbol = Symbol {
                qualified_name: known.qualified_name.into(),
                kind: known.kind.into(),
                score: known.score,
                provenance: known.provenance.into(),
                ..Symbol::default()
            };
            (known.id, symbol)
        }));
        table
    }

    /// The symbol of an id, which a line at `at` names.
    pub(crate) fn resolve(&self, id: u64, at: usize) -> Read<Symbol> {
        let Some(symbol) = self.symbols.get(&id) else {
            let message = format!("the session knows no symbol @{id}; ask for a full payload");
            return fault(Code::UnknownSessionReference, at, message);
        };
        Ok(symbol.clone())
    }

    /// Refuses a declaration of another symbol under an id that is known.
    pub(crate) fn check(&self, id: u64, symbol: &Symbol, at: usize) -> Read<()> {
        match self.symbols.get(&id) {
            Some(known) if identity(known) != identity(symbol) => {
                let message = format!(
                    "@{id} is {} {} in this session, not {}; start the session over",
                    known.kind,
                    excerpt(&known.qualified_name),
                    excerpt(&symbol.qualified_name)
                );
                fault(Code::SessionConflict, at, message)
            }
            _ => Ok(()),
        }
    }

    /// Remembers what a whole payload declared; beyond the limits the lowest ids go.
    pub(crate) fn commit(&mut self, declared: impl Iterator<Item = (u64, Symbol)>) {
        for (id, symbol) in declared {
            self.size += size(&symbol);
            if let Some(before) = self.symbols.insert(id, symbol) {
                self.size -= size(&before);
            }
        }
        while self.symbols.len() > self.limits.max_ids || self.size > self.limits.max_size {
            let Some((_, symbol)) = self.symbols.pop_first() else { break };
            self.size -= size(&symbol);
        }
    }
}

fn size(symbol: &Symbol) -> usize {
    symbol.qualified_name.len() + symbol.kind.len() + symbol.provenance.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gcf::graph::{Content, EncodeOptions, Payload, decode_in, encode_in};

    fn payload(names: &[&str]) -> Payload {
        let symbols = names.iter().map(|name| Symbol {
            qualified_name: (*name).into(),
            kind: "function".into(),
            score: 0.5,
            provenance: "lsp".into(),
            ..Symbol::default()
        });
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
    fn what_the_peer_has_is_named_and_resolved() {
        let (mut ours, mut theirs) = (SentSymbols::default(), SymbolTable::default());
        received(&mut theirs, &sent(&mut ours, &["a", "b"], 0)).unwrap();
        let second = sent(&mut ours, &["c", "b"], 1);
        assert!(second.contains("\n@2 fn c 0.50 lsp\n@1  # previously transmitted\n"), "{second}");
        assert_eq!(received(&mut theirs, &second).unwrap(), payload(&["c", "b"]));
        assert_eq!(theirs.len(), 3);
    }

    #[test]
    fn what_may_be_lost_is_declared_again_under_its_id() {
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
        for (first, second, over) in [(0, hour, false), (0, hour + 1, true)] {
            let mut ours = SentSymbols::default();
            sent(&mut ours, &["a"], first);
            assert_eq!(sent(&mut ours, &["a"], second).contains("session"), !over);
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
    fn an_id_does_not_change_its_meaning_and_a_failure_leaves_no_trace() {
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
