//! Sessions as a Rust user sees them: a conversation of two sides, lost requests, saved states.

#![cfg(feature = "session")]

use compactwire::session::{DecodeOptions, Outgoing, Session, Style};

const TOOL: &str = r#"{"name":"search"}"#;

fn turn(context: &str) -> Outgoing<'_> {
    Outgoing {
        tools: vec![TOOL],
        system: Some("You are a helpful assistant."),
        args: r#"{"query":"hello"}"#,
        context: Some(context),
    }
}

#[test]
fn a_later_turn_sends_only_what_is_new() {
    let (mut ours, mut theirs) = (Session::default(), Session::default());
    let first = ours.encode_request(&turn("User: Hi"), Style::default()).unwrap();
    assert_eq!(first[0], format!("TOOL|def|{TOOL}"));
    assert_eq!(first[1], "SYS|full|You are a helpful assistant.");
    theirs.decode_request(&first, DecodeOptions::default()).unwrap();

    let context = "User: Hi\nAgent: Hello.";
    let second = ours.encode_request(&turn(context), Style::default()).unwrap();
    assert_eq!(second.len(), 1);
    assert!(second[0].ends_with("|D|+|\nAgent: Hello."), "{second:?}");
    let request = theirs.decode_request(&second, DecodeOptions::default()).unwrap();
    assert_eq!(request.tools.iter().map(|tool| &**tool).collect::<Vec<_>>(), [TOOL]);
    assert_eq!(request.context.as_deref(), Some(context));
}

#[test]
fn a_packed_request_is_one_text() {
    let (mut ours, mut theirs) = (Session::default(), Session::default());
    let context = "User: Hi. ".repeat(40);
    let packed = ours.encode_packed(&turn(&context), Style::default()).unwrap();
    assert!(packed.starts_with('S') && packed.is_ascii() && packed.len() < context.len());
    assert_eq!(
        theirs.decode_packed(&packed, DecodeOptions::default()).unwrap().context,
        Some(context)
    );
}

#[test]
fn a_lost_turn_is_an_error_and_a_reset_repairs_it() {
    let (mut ours, mut theirs) = (Session::default(), Session::default());
    ours.encode_request(&turn("User: Hi"), Style::default()).unwrap();
    let second = ours.encode_request(&turn("User: Hi!"), Style::default()).unwrap();
    let before = theirs.to_bytes();
    theirs.decode_request(&second, DecodeOptions::default()).unwrap_err();
    assert_eq!(theirs.to_bytes(), before);

    ours.reset();
    let again = ours.encode_request(&turn("User: Hi!"), Style::default()).unwrap();
    assert_eq!(
        theirs.decode_request(&again, DecodeOptions::default()).unwrap().context.as_deref(),
        Some("User: Hi!")
    );
}

#[test]
fn a_restored_session_continues_where_it_was() {
    let mut ours = Session::default();
    ours.encode_request(&turn("User: Hi"), Style::default()).unwrap();
    let mut restored = Session::from_bytes(&ours.to_bytes().unwrap()).unwrap();
    let frames = restored.encode_request(&turn("User: Hi!"), Style::default()).unwrap();
    assert_eq!(frames, ours.encode_request(&turn("User: Hi!"), Style::default()).unwrap());
    assert_eq!((frames.len(), restored.stats()), (1, ours.stats()));
}
