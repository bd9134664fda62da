//! Graphs of a session: a symbol is declared once, then named (GCF 3.6 section 11).

use super::Session;
use crate::gcf;
use crate::gcf::graph::{
    self, Decoded, EncodeOptions, Linked, Payload, SentSymbols, StreamEncoder, StreamOptions,
};
use std::time::Duration;

impl Session {
    /// Writes a graph payload: symbols that the peer has are named by their ids.
    ///
    /// `now` is the time since any fixed moment; after an hour without a graph, or a day, and beyond
    /// 65,536 symbols, the payload is written in full and its symbols start over.
    ///
    /// # Errors
    /// As [`graph::encode`]; then the session is as it was.
    pub fn encode_graph(
        &mut self,
        payload: &Linked,
        options: EncodeOptions,
        now: Duration,
    ) -> Result<String, gcf::Error> {
        graph::encode_in(payload, options, &mut self.sent.declared, now)
    }

    /// Begins a graph that is written symbol by symbol, as [`StreamEncoder::new_in`]; its other methods
    /// need [`Session::sent_symbols`].
    ///
    /// # Errors
    /// As [`StreamEncoder::new`]; then the session is as it was.
    pub fn stream_graph(
        &mut self,
        header: &Payload,
        options: StreamOptions,
        now: Duration,
        out: &mut String,
    ) -> Result<StreamEncoder, gcf::Error> {
        StreamEncoder::new_in(header, options, &mut self.sent.declared, now, out)
    }

    /// What the peer has of graphs.
    pub fn sent_symbols(&mut self) -> &mut SentSymbols {
        &mut self.sent.declared
    }

    /// Reads a graph text of the peer: a payload, a delta, or that nothing changed.
    ///
    /// # Errors
    /// As [`graph::decode`]; `unknown_session_reference` and `session_conflict` ask for a full
    /// payload. The session is as it was.
    pub fn decode_graph(&mut self, text: &str) -> Result<Decoded, gcf::Error> {
        self.received.symbols.bound(self.limits.max_size);
        graph::decode_in(text, &mut self.received.symbols)
    }

    /// It is not known whether the peer got the last graph: its symbols are declared again.
    pub fn forget_graph(&mut self) {
        self.sent.declared.forget_last();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gcf::graph::{Content, Symbol};

    fn payload(names: &[&str]) -> Linked {
        let symbol = |name: &&str| Symbol {
            qualified_name: (**name).into(),
            kind: "function".into(),
            score: 0.5,
            provenance: "lsp".into(),
            ..Symbol::default()
        };
        Payload { symbols: names.iter().map(symbol).collect(), ..Payload::default() }.into()
    }

    #[test]
    fn a_symbol_is_declared_once_also_when_both_sides_go_on_elsewhere() {
        let (mut ours, mut theirs) = (Session::default(), Session::default());
        let options = EncodeOptions::default();
        let second = Duration::from_secs(1);
        theirs
            .decode_graph(&ours.encode_graph(&payload(&["a"]), options, second).unwrap())
            .unwrap();
        let mut ours = Session::from_bytes(&ours.to_bytes().unwrap()).unwrap();
        let mut theirs = Session::from_bytes(&theirs.to_bytes().unwrap()).unwrap();
        let text = ours.encode_graph(&payload(&["a", "b"]), options, 2 * second).unwrap();
        assert!(text.contains("@0  # previously transmitted\n@1 fn b 0.50 lsp\n"), "{text}");
        let read = theirs.decode_graph(&text).unwrap().content;
        assert_eq!(read, Content::Payload(Payload::clone(&payload(&["a", "b"]))));
        ours.forget_graph();
        let text = ours.encode_graph(&payload(&["b"]), options, 2 * second).unwrap();
        assert!(text.contains("@1 fn b"), "{text}");
        ours.reset();
        let text = ours.encode_graph(&payload(&["b"]), options, 2 * second).unwrap();
        assert!(text.contains("@0 fn b"), "{text}");
    }
}
