//! Tests of the reader of rows, against the reader of whole texts.

use crate::gcf;
use crate::gcf::rows::reader::*;
use crate::value::{Builder, Value};

type Found = (Vec<Value<'static>>, Result<(), Error>);

/// Feeds `pieces` to a reader; returns the rows that it emits, and its error, if any.
fn rows(pieces: &[&[u8]], path: &[&str], max_row_size: usize) -> Found {
    let keys = path.iter().map(|&key| key.to_owned()).collect();
    let mut rows = RowReader::new(keys, gcf::Limits::default(), max_row_size);
    let mut builder = Builder::default();
    let mut found = Vec::new();
    let mut handler = |builder: &mut Builder<'static>, event: Event| {
        let value = std::mem::take(builder).finish();
        match (event, value) {
            (Event::Skipped | Event::Incomplete, _) => {}
            (Event::Elements, Some(Value::Array(elements))) => found.extend(elements),
            (Event::Enclosing { matched }, Some(value)) => {
                found.extend(elements(&value, &path[matched..]));
            }
            (_, value) => found.push(value.unwrap()),
        }
        Ok(())
    };
    let mut pieces = pieces.iter();
    let result = loop {
        match rows.read(&mut builder, &mut handler) {
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
    (found, result)
}

/// The rows of `path` in the decoded value of the whole text.
fn expected(text: &str, path: &[&str]) -> Vec<Value<'static>> {
    elements(&gcf::decode(text, gcf::Limits::default()).unwrap(), path)
}

fn elements(root: &Value<'static>, path: &[&str]) -> Vec<Value<'static>> {
    match path.iter().fold(root, |value, key| value.get(key).unwrap()) {
        Value::Array(elements) => elements.clone(),
        Value::Object(members) => {
            members.iter().map(|member| Value::Object(vec![member.clone()])).collect()
        }
        _ => unreachable!(),
    }
}

const MIXED: &str = "GCF profile=generic
n=1
tags[2]: a,\"b\"
## s
  x=1
  ## rows [4]{id,\"c>n\",m,s}
  # a comment
  @0 1|A|^|^{a,b}
  .m {}
      t=-
      ## deep [?]{k}
      1
      2
  1|2
  @1 2|~|^|^
  3|4
  .m [2]: é,\"\\u00e9\"

  3|-|-|-
  @3 4|B|^|-
  .m [1]
      @0 =1
## keyed [?:]{key,v}
a|1
b|2
## items [3]
@0 =1
@1 {}
  y=2
@2 [0]
## none [0]
## last
  only=1
##! summary counts=2,2
";

#[test]
fn rows_equal_the_decoded_text_for_any_piece_size() {
    let text = MIXED.replace('\n', "\r\n");
    for path in
        [&["s", "rows"][..], &["keyed"], &["items"], &["tags"], &["none"], &["last"], &["s"], &[]]
    {
        for text in [MIXED, &text] {
            let expected = expected(text, path);
            for size in (1..40).chain([text.len()]) {
                let pieces: Vec<_> = text.as_bytes().chunks(size).collect();
                let found = rows(&pieces, path, 1 << 20);
                assert_eq!(found, (expected.clone(), Ok(())), "{path:?} in pieces of {size}");
            }
        }
    }
    for (text, path) in [
        ("GCF profile=generic\n## [2]{a}\n1\n2", &[][..]),
        ("GCF profile=generic\n## [2]: 1,2\n", &[]),
        ("GCF profile=generic\n## [2:]{key,a}\nx|1\ny|~\n", &[]),
        ("GCF profile=generic\n", &[]),
    ] {
        assert_eq!(rows(&[text.as_bytes()], path, 1 << 20), (expected(text, path), Ok(())));
    }
}

#[test]
fn errors_equal_those_of_the_whole_text_for_any_piece_size() {
    for (from, to) in [
        ("counts=2,2", "counts=2,3"),
        ("[4]", "[5]"),
        ("[4]", "[3]"),
        ("b|2", "a|2"),
        ("3|-|-|-", "3|-|-"),
        ("@2 [0]", "@3 [0]"),
        (".m [1]\n", ".x [1]\n"),
        ("only=1", "only=\"1"),
        ("## last", "## none"),
        ("## none", "##\tnone"),
        ("      t=-", "     t=-"),
        ("## items [3]", "## items [4]"),
        ("n=1", "n=99999999999999999999"),
        ("  1|2\n", "  1|2|3\n"),
    ] {
        let text = MIXED.replacen(from, to, 1);
        let error = gcf::decode(&text, gcf::Limits::default()).unwrap_err();
        for size in [1, 7, 64, text.len()] {
            for path in [&["s", "rows"][..], &["keyed"], &["items"]] {
                let pieces: Vec<_> = text.as_bytes().chunks(size).collect();
                let (_, result) = rows(&pieces, path, 1 << 20);
                assert_eq!(result, Err(error.clone()), "{from:?} as {to:?}, pieces of {size}");
            }
        }
    }
}

#[test]
fn a_path_that_leads_to_no_container_is_rejected() {
    let code = |text: &str, path: &[&str]| rows(&[text.as_bytes()], path, 1 << 20).1.unwrap_err();
    let error = code(MIXED, &["s", "missing"]);
    assert_eq!(error.code, Code::MissingSection);
    assert!(error.message.contains("\"missing\"; the object has \"x\", \"rows\""), "{error}");
    for path in [&["n"][..], &["tags", "x"], &["s", "x"], &["s", "rows", "id"]] {
        assert_eq!(code(MIXED, path).code, Code::MissingSection, "{path:?}");
    }
    assert_eq!(code("GCF profile=generic\n=1\n", &[]).code, Code::MissingSection);
    assert_eq!(code("GCF profile=generic\n## [1]: 1\n", &["a"]).code, Code::MissingSection);
    assert_eq!(code("GCF profile=graph\n", &[]).code, Code::WrongProfile);
    assert_eq!(code("", &[]).code, Code::MissingHeader);
}

#[test]
fn an_endless_row_exceeds_the_limit() {
    let long = "x".repeat(100);
    let pieces: Vec<_> = std::iter::repeat_n(long.as_bytes(), 100).collect();
    let mut text = vec![&b"GCF profile=generic\n## [?]{a}\n1\n"[..]];
    text.extend(pieces);
    let (found, result) = rows(&text, &[], 1000);
    assert_eq!((found.len(), result.unwrap_err().code), (0, Code::LimitExceeded));
    assert!(rows(&text, &[], 20_000).1.is_ok());
}

#[test]
fn the_row_limit_is_independent_of_the_piece_size() {
    let comments = "# a comment\n".repeat(20);
    let list = "1,".repeat(30);
    let text = format!(
        "GCF profile=generic\n## [3]{{a}}\n12345678\n{comments}@1 ^\n.a [31]: {list}1\n3\n"
    );
    for size in [1, 5, 50, text.len()] {
        let pieces: Vec<_> = text.as_bytes().chunks(size).collect();
        assert_eq!(rows(&pieces, &[], 80).1, Ok(()), "pieces of {size}");
        let (found, result) = rows(&pieces, &[], 70);
        assert_eq!((found.len(), result.unwrap_err().code), (1, Code::LimitExceeded));
    }
}

#[test]
fn a_long_row_is_not_parsed_again_for_each_piece() {
    let count = 4000;
    let lines: Vec<_> = (0..count).map(|i| format!("    @{i} =x\n")).collect();
    let lines = lines.concat();
    let text = format!("GCF profile=generic\n## [1]{{a}}\n@0 ^\n.a [{count}]\n{lines}");
    let mut rows = RowReader::new(Vec::new(), gcf::Limits::default(), 1 << 20);
    let mut builder = Builder::default();
    let mut repeated = 0;
    for piece in text.as_bytes().chunks(20) {
        rows.feed(piece);
        let mut handler = |builder: &mut Builder, event: Event| {
            repeated += usize::from(event == Event::Incomplete);
            *builder = Builder::default();
            Ok(())
        };
        assert!(rows.read(&mut builder, &mut handler).is_ok());
    }
    assert!(repeated < 500, "{repeated} times");
}

#[test]
fn rows_before_invalid_utf8_are_complete() {
    // The line with the byte may have another error, or belong to the row before it.
    for (lines, complete) in [
        ("1|x\n2|y\n", 2),
        ("1|x\n2|y\n    ", 2),
        ("1|x\n2|y\n7|8|9", 2),
        ("1|x\n@1 2|^\n.b {}\n", 2),
        ("1|x\n@1 2|^\n.b {}\n    c=", 1),
        ("1|x\n@1 2|^\n.b", 1),
    ] {
        let text = format!("GCF profile=generic\n## [3]{{a,b}}\n{lines}");
        let bytes = [text.as_bytes(), b"\xff\n3|z\n"].concat();
        for size in [1, 9, 100] {
            let pieces: Vec<_> = bytes.chunks(size).collect();
            let (found, result) = rows(&pieces, &[], 1000);
            let found = (found.len(), result.unwrap_err().code);
            assert_eq!(found, (complete, Code::InvalidUtf8), "{lines}");
        }
    }
}

#[test]
fn invalid_utf8_is_reported_with_line_and_column() {
    let text = b"GCF profile=generic\n## [?]{a}\n1\n2\nx\xff\n";
    for size in [1, 5, 64] {
        let pieces: Vec<_> = text.chunks(size).collect();
        let (found, result) = rows(&pieces, &[], 1000);
        let error = result.unwrap_err();
        assert_eq!((found.len(), error.code), (2, Code::InvalidUtf8));
        assert_eq!(error.message, "not UTF-8 from byte 35 on");
        assert_eq!(error.place, Place::Text { line: 5, column: 2 });
    }
}
