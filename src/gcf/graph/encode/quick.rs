//! Payloads as they nearly all are. No text is looked at byte by byte, and hardly one twice.
//!
//! These are: names of printable ASCII, each once; scores from 0 to below 9.99, and no -0.0; distances
//! below 64; at most 2^20 symbols, and in a session ids below 10^6; edges without a status, whose ends
//! are symbols; of each other field at most 64 words, none longer than 22 bytes as it is written.
//!
//! Invariant: the text is the one that `rules` writes, or there is none. Other words are checked when
//! they are seen first, and names that a session does not write one by one. Whether all names on the
//! page are fit is seen at its end: they are not empty, and a fit one has no blank, no control character
//! and nothing beyond ASCII, so that a page with no more of these than its lines need has fit names only.

use super::EncodeOptions;
use super::lines::{
    KNOWN, NODE_BLANKS, located, write_edges_label, write_group, write_header, write_locations,
};
use super::page::{Id, Line, Words, scan};
use crate::gcf::graph::names::{check_counts, is_word};
use crate::gcf::graph::resolved::Links;
use crate::gcf::graph::score;
use crate::gcf::graph::session_table::Planned;
use crate::gcf::graph::types::{Payload, Symbol};

/// The symbols of a payload, in order.
pub(super) struct Quick<'p> {
    payload: &'p Payload,
    /// In the order of the payload.
    rows: Vec<Row<'p>>,
    /// In the order of the text.
    keys: Vec<Key>,
    kinds: Words<'p>,
    provenances: Words<'p>,
    located: bool,
}

/// What the line of a symbol is made of.
#[derive(Clone, Copy)]
struct Row<'p> {
    name: &'p str,
    /// The smaller, the higher the score is.
    descent: u64,
    digits: [u8; 4],
    kind: u16,
    provenance: u16,
}

impl<'p> Quick<'p> {
    /// `None` where a symbol is not of that kind.
    pub(super) fn new(payload: &'p Payload) -> Option<Self> {
        check_counts(payload).ok()?;
        let symbols = &payload.symbols;
        let (mut kinds, mut provenances) = (Words::kinds(), Words::new("\n"));
        let capacity = symbols.len().min(Key::POSITIONS);
        let mut rows: Vec<Row<'p>> = Vec::with_capacity(capacity);
        let mut keys: Vec<Key> = Vec::with_capacity(capacity);
        let mut located = false;
        for (position, symbol) in symbols.iter().enumerate() {
            let Symbol { qualified_name, kind, score, provenance, distance, .. } = symbol;
            if qualified_name.is_empty() {
                return None;
            }
            let row = Row {
                name: qualified_name,
                descent: score::descending(*score),
                digits: score::digits(*score)?,
                kind: kinds.place(kind)?,
                provenance: provenances.place(provenance)?,
            };
            keys.push(Key::new(*distance, row.descent, position)?);
            rows.push(row);
            located |= symbol.location.is_some();
        }
        keys.sort_unstable();
        // The lowest bits of the descent are not in a key.
        let descent = |key: &Key| rows[key.position()].descent;
        if !keys.is_sorted_by(|a, b| !a.is_like(*b) || descent(a) <= descent(b)) {
            keys.chunk_by_mut(|a, b| a.is_like(*b)).for_each(|alike| alike.sort_by_key(descent));
        }
        Some(Self { payload, rows, keys, kinds, provenances, located })
    }

    /// The positions of the symbols, in the order of the text.
    #[expect(clippy::cast_possible_truncation, reason = "20 bits")]
    pub(super) fn order(&self) -> Vec<u32> {
        self.keys.iter().map(|key| key.position() as u32).collect()
    }

    /// The text: of a session where ids are planned, otherwise they count from 0.
    pub(super) fn write(
        &self,
        links: &Links,
        options: EncodeOptions,
        planned: Option<&Planned>,
    ) -> Option<String> {
        if !links.sound || planned.is_some_and(|planned| self.hides_unfit(planned)) {
            return None;
        }
        let (ids, ranks) = self.ids(planned)?;
        let mut types = Words::new("\n");
        let ends = self.ends(links, &ranks, &mut types)?;
        let mut header = String::new();
        write_header(self.payload, ends.len(), planned.is_some(), &mut header).ok()?;
        let mut page = vec![0; header.len() + self.size(ends.len(), &types)];
        let line = Line::new(&mut page).text(&header);
        let (line, groups) = self.nodes(&ids, &ranks, planned, line);
        let end = edges(&ends, &ids, &types, line).end()?;
        page.truncate(end);
        // Two of a group's label and of an edge's line, three of the label of edges.
        let label = 3 * usize::from(!ends.is_empty());
        let needed = NODE_BLANKS * self.rows.len() + 2 * (groups + ends.len()) + label;
        let found = scan(&page);
        if found.blanks != needed + scan(header.as_bytes()).blanks || !found.is_ascii {
            return None;
        }
        // SAFETY: it is ASCII.
        let mut text = unsafe { String::from_utf8_unchecked(page) };
        if options.locations && self.located {
            let counted = |position: usize| u64::from(ranks[position]);
            let id = |position| planned.map_or_else(|| counted(position), |p| p.ids[position]);
            write_locations(located(self.payload, id), &mut text).ok()?;
        }
        Some(text)
    }

    /// Whether a name that is not written, because the peer knows it, is not fit.
    fn hides_unfit(&self, planned: &Planned) -> bool {
        let mut rows = self.rows.iter().zip(&planned.known);
        rows.any(|(row, &known)| known && !is_word(row.name, false))
    }

    /// The ids in their order, and where in it the symbols stand.
    fn ids(&self, planned: Option<&Planned>) -> Option<(Vec<Id>, Vec<u32>)> {
        let mut order = self.order();
        if let Some(planned) = planned {
            order.sort_by_key(|&position| planned.ids[position as usize]);
        }
        let mut ids = Vec::with_capacity(order.len());
        let mut ranks = vec![0; order.len()];
        for (rank, position) in (0..).zip(order) {
            let position = position as usize;
            ids.push(Id::new(planned.map_or(u64::from(rank), |planned| planned.ids[position]))?);
            ranks[position] = rank;
        }
        Some((ids, ranks))
    }

    /// The edges in their order; `None` where one is not of that kind.
    fn ends(&self, links: &Links, ranks: &[u32], types: &mut Words<'p>) -> Option<Vec<Ends>> {
        let edges = self.payload.edges.iter();
        let mut ends = Vec::with_capacity(edges.len());
        // How many edges each symbol is the source and the target of.
        let (mut sources, mut targets) = (vec![0; ranks.len()], vec![0; ranks.len()]);
        for (edge, places) in edges.zip(&links.ends) {
            if !edge.status.is_empty() {
                return None;
            }
            let [source, target] = places.map(|place| ranks[place as usize]);
            sources[source as usize] += 1;
            targets[target as usize] += 1;
            ends.push(Ends::new(source, target, types.place(&edge.edge_type)?));
        }
        // By target first, and then, which keeps that order, by source.
        let mut by_target = ends.clone();
        put_by(|ends| ends.target(), &ends, &mut by_target, targets);
        put_by(|ends| ends.source(), &by_target, &mut ends, sources);
        if ends.windows(2).any(|pair| pair[0].are_like(pair[1])) {
            let edge_type = |ends: &Ends| types.text(ends.edge_type());
            ends.chunk_by_mut(|a, b| a.are_like(*b)).for_each(|alike| alike.sort_by_key(edge_type));
        }
        Some(ends)
    }

    /// How much room all lines but the header take, at most.
    fn size(&self, edges: usize, types: &Words<'_>) -> usize {
        let words = self.kinds.longest() + " 0.00".len() + self.provenances.longest();
        let names: usize = self.rows.iter().map(|row| row.name.len()).sum();
        let nodes = self.rows.len() * (Id::LENGTH + words.max(KNOWN.len())) + names;
        let labels = GROUP * (Key::DISTANCES + 1);
        nodes + labels + edges * (2 * Id::LENGTH + "<".len() + types.longest()) + Line::SURPLUS
    }

    /// The lines of the symbols, and how many groups they are.
    fn nodes<'b>(
        &self,
        ids: &[Id],
        ranks: &[u32],
        planned: Option<&Planned>,
        mut line: Line<'b>,
    ) -> (Line<'b>, usize) {
        let (mut groups, mut group) = (0, None);
        for key in &self.keys {
            if group != Some(key.distance()) {
                group = Some(key.distance());
                groups += 1;
                let mut label = String::new();
                write_group(key.distance(), &mut label);
                line = line.text(&label);
            }
            let position = key.position();
            line = line.id(ids[ranks[position] as usize]);
            if planned.is_some_and(|planned| planned.known[position]) {
                line = line.text(KNOWN);
                continue;
            }
            let Row { name, digits: [ones, _, tenths, hundredths], kind, provenance, .. } =
                self.rows[position];
            line = line
                .word(self.kinds.word(kind))
                .text(name)
                .block(&[b' ', ones, b'.', tenths, hundredths, 0, 0, 0], 5)
                .word(self.provenances.word(provenance));
        }
        (line, groups)
    }
}

/// The section of edges; nothing where there is none.
fn edges<'b>(ends: &[Ends], ids: &[Id], types: &Words<'_>, mut line: Line<'b>) -> Line<'b> {
    if ends.is_empty() {
        return line;
    }
    let mut label = String::new();
    write_edges_label(ends.len(), &mut label);
    line = line.text(&label);
    for ends in ends {
        line = line.id(ids[ends.target()]).block(b"<", 1).id(ids[ends.source()]);
        line = line.word(types.word(ends.edge_type()));
    }
    line
}

/// Room for the label of a group, or of the edges: at most 8 letters, and a number.
const GROUP: usize = "## edges []\n".len() + 20;

/// What a symbol is put into order by: 6 bits of distance, 38 of descent, 20 of position; as one
/// number, because that is compared without a branch.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Key(u64);

impl Key {
    const DISTANCES: usize = 1 << 6;
    const POSITION_BITS: u32 = 20;
    const POSITIONS: usize = 1 << Self::POSITION_BITS;

    /// `None` where it has no room.
    fn new(distance: i64, descent: u64, position: usize) -> Option<Self> {
        let distance = usize::try_from(distance).ok().filter(|&d| d < Self::DISTANCES)? as u64;
        // The highest bit of a descent is 0.
        let descent = descent >> 25 << Self::POSITION_BITS;
        let fits = position < Self::POSITIONS;
        fits.then_some(Self(distance << 58 | descent | position as u64))
    }

    fn distance(self) -> i64 {
        (self.0 >> 58).cast_signed()
    }

    #[expect(clippy::cast_possible_truncation, reason = "20 bits")]
    fn position(self) -> usize {
        self.0 as usize % Self::POSITIONS
    }

    fn is_like(self, other: Self) -> bool {
        (self.0 ^ other.0) >> Self::POSITION_BITS == 0
    }
}

/// An edge: 24 bits each for the ranks of source and target by their ids, 16 for the word of its type.
#[derive(Clone, Copy)]
struct Ends(u64);

const _: () = assert!(Key::POSITION_BITS <= 24);

impl Ends {
    fn new(source: u32, target: u32, edge_type: u16) -> Self {
        Self(u64::from(source) << 40 | u64::from(target) << 16 | u64::from(edge_type))
    }

    fn source(self) -> usize {
        (self.0 >> 40) as usize
    }

    fn target(self) -> usize {
        (self.0 >> 16) as usize % (1 << 24)
    }

    #[expect(clippy::cast_possible_truncation, reason = "the lowest part")]
    fn edge_type(self) -> u16 {
        self.0 as u16
    }

    fn are_like(self, other: Self) -> bool {
        self.0 >> 16 == other.0 >> 16
    }
}

/// Puts edges into the order of a rank, of each of which there are so many.
fn put_by(rank: impl Fn(&Ends) -> usize, from: &[Ends], to: &mut [Ends], mut counts: Vec<u32>) {
    let mut start = 0;
    for count in &mut counts {
        start += std::mem::replace(count, start);
    }
    for ends in from {
        let place = &mut counts[rank(ends)];
        to[*place as usize] = *ends;
        *place += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_keeps_what_it_is_made_of() {
        let descent = score::descending(0.5);
        let key = Key::new(63, descent, (1 << 20) - 1).unwrap();
        assert_eq!((key.distance(), key.position()), (63, (1 << 20) - 1));
        assert!(Key::new(0, descent, 1 << 20).is_none() && Key::new(64, descent, 0).is_none());
        assert!(Key::new(-1, descent, 0).is_none());
        assert!(key.is_like(Key::new(63, descent, 7).unwrap()));
        assert!(!key.is_like(Key::new(62, descent, 7).unwrap()));
        let of = |distance, score| Key::new(distance, score::descending(score), 0).unwrap();
        assert!(of(1, 0.2) < of(1, 0.1) && of(0, 0.0) < of(1, 9.0) && of(0, 9.0) < of(0, 0.0));
    }

    #[test]
    fn ends_keep_what_they_are_made_of() {
        let most = (1 << 20) - 1;
        let ends = Ends::new(most, 3, 7);
        assert_eq!((ends.source(), ends.target(), ends.edge_type()), (most as usize, 3, 7));
        assert!(ends.are_like(Ends::new(most, 3, 8)) && !ends.are_like(Ends::new(3, most, 7)));
    }
}
