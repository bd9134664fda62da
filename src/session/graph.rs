//! Graphs in a session: a symbol is declared once and later referred to by id (GCF 3.6 section 11).

use super::Session;
use crate::gcf;
use crate::gcf::graph::{
    self, Decoded, EncodeOptions, Payload, ResolvedPayload, SentSymbols, StreamEncoder,
    StreamOptions,
};
use std::time::Duration;

impl Session {
    /// Encodes a graph payload. Symbols that the peer has are written as ids.
    ///
    /// `now` is the time since any fixed moment. The payload is written in full, and the ids start
    /// over, after an hour without a graph, after a day, and above 65,536 symbols.
    ///
    /// # Errors
    /// As [`graph::encode`]; the session is then unchanged.
    pub fn encode_graph(
        &mut self,
        payload: &ResolvedPayload,
        options: EncodeOptions,
        now: Duration,
    ) -> Result<String, gcf::Error> {
        self.encode_graph_with(payload, options, now, Ok)
    }

    /// Encodes a graph payload, and returns what `make` makes of the text.
    ///
    /// # Errors
    /// As [`Session::encode_graph`], and the error of `make`. The session is then unchanged.
    pub fn encode_graph_with<T, E: From<gcf::Error>>(
        &mut self,
        payload: &ResolvedPayload,
        options: EncodeOptions,
        now: Duration,
        make: impl FnOnce(String) -> Result<T, E>,
    ) -> Result<T, E> {
        graph::encode_in_with(payload, options, &mut self.sent.declared, now, make)
    }

    /// Begins a graph that is written symbol by symbol, as [`StreamEncoder::new_in`]. The other methods
    /// of the encoder take [`Session::sent_symbols`].
    ///
    /// # Errors
    /// As [`StreamEncoder::new`]; the session is then unchanged.
    pub fn stream_graph(
        &mut self,
        header: &Payload,
        options: StreamOptions,
        now: Duration,
        out: &mut String,
    ) -> Result<StreamEncoder, gcf::Error> {
        StreamEncoder::new_in(header, options, &mut self.sent.declared, now, out)
    }

    /// The symbols that the peer has.
    pub fn sent_symbols(&mut self) -> &mut SentSymbols {
        &mut self.sent.declared
    }

    /// Decodes a graph text of the peer: a payload, a delta, or "unchanged".
    ///
    /// # Errors
    /// As [`graph::decode`]; after `unknown_session_reference` and `session_conflict` the sender must
    /// send a full payload. The session is then unchanged.
    pub fn decode_graph(&mut self, text: &str) -> Result<Decoded, gcf::Error> {
        self.decode_graph_with(text, Ok)
    }

    /// Decodes a graph text of the peer, and returns what `make` makes of it.
    ///
    /// # Errors
    /// As [`Session::decode_graph`], and the error of `make`. The session is then unchanged.
    pub fn decode_graph_with<T, E: From<gcf::Error>>(
        &mut self,
        text: &str,
        make: impl FnOnce(Decoded) -> Result<T, E>,
    ) -> Result<T, E> {
        self.received.symbols.set_max_size(self.limits.max_size);
        graph::decode_in_with(text, &mut self.received.symbols, make)
    }

    /// Assumes that the peer did not receive the last graph: its symbols are declared again.
    pub fn forget_graph(&mut self) {
        self.sent.declared.forget_last();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gcf::graph::{Content, Symbol};

    fn payload(names: &[&str]) -> ResolvedPayload {
        let symbol = |&name: &&str| Symbol::new(name, "function", 0.5, "lsp");
        Payload { symbols: names.iter().map(symbol).collect(), ..Payload::default() }.into()
    }

    #[test]
    fn a_symbol_is_declared_once_and_the_saved_state_keeps_it() {
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
