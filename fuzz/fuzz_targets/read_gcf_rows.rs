//! A text read in chunks of any size gives the same rows or error as the whole text.

#![no_main]

use compactwire::gcf::rows::{Event, RowReader, Status};
use compactwire::gcf::{self, Code, DecodeOptions, Error, Limits, ReadError};
use compactwire::value::{Builder, Value};
use libfuzzer_sys::fuzz_target;

#[path = "support/bounded.rs"]
mod bounded;

/// A small expansion: the default alone exceeds the bound of memory.
const OPTIONS: DecodeOptions =
    DecodeOptions { extensions: true, limits: Limits { max_depth: 128, max_expansion: 1 << 17 } };

/// The rows of the root of a text, read in chunks of `size` bytes. Without `keep` each row is dropped.
fn rows(text: &str, size: usize, keep: bool) -> (Vec<Value<'static>>, Result<(), Error>) {
    let mut rows = RowReader::new(Vec::new(), OPTIONS, 1 << 20);
    let mut builder = Builder::default();
    let mut found = Vec::new();
    let mut each = |builder: &mut Builder<'static>, event: Event| {
        match (event, std::mem::take(builder).finish()) {
            _ if !keep => {}
            (Event::Elements, Some(Value::Array(elements))) => found.extend(elements),
            (Event::Row | Event::Member, Some(row)) => found.push(row),
            _ => {}
        }
        Ok(())
    };
    let mut pieces = text.as_bytes().chunks(size);
    let done = loop {
        match rows.read(&mut builder, &mut each) {
            Ok(Status::Finished) => break Ok(()),
            Ok(Status::Paused) => {}
            Ok(Status::NeedMore) => match pieces.next() {
                Some(piece) => rows.feed(piece),
                None => rows.finish(),
            },
            Err(ReadError::Text(error)) => break Err(error),
            Err(ReadError::Sink(never)) => match never {},
        }
    };
    (found, done)
}

fuzz_target!(|data: &[u8]| bounded::run(data.len(), || {
    let [size, data @ ..] = data else { return };
    let Ok(text) = gcf::utf8(data) else { return };
    let body = format!("GCF profile=generic\n{text}");
    for text in [text, &body] {
        let whole = gcf::decode(text, OPTIONS);
        let (found, done) = rows(text, usize::from(*size) + 1, whole.is_ok());
        match whole {
            Ok(Value::Array(elements)) => assert_eq!((found, done), (elements, Ok(()))),
            Ok(Value::Object(members)) => {
                let members: Vec<_> =
                    members.into_iter().map(|member| Value::Object(vec![member])).collect();
                assert_eq!((found, done), (members, Ok(())));
            }
            Ok(_) => assert_eq!(done.unwrap_err().code, Code::MissingSection),
            // The row reader limits the expansion of each row, not that of the text.
            Err(Error { code: Code::LimitExceeded, .. }) => {}
            Err(error) => {
                let done = done.unwrap_err();
                // The row reader rejects a scalar root without reading it, and checks the depth
                // at the head of a container, not at its body.
                let early = [Code::MissingSection, Code::LimitExceeded].contains(&done.code);
                assert!(early || done == error, "{done:?} {error:?}");
            }
        }
    }
}));
