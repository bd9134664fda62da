//! Any frames decode to a request or an error; an error leaves the session unchanged, and a decoded
//! request round-trips. The state of a session with any changes gives a session that works, or an error.
#![no_main]

use compactwire::compact::Wire;
use compactwire::session::{DecodeOptions, Limits, Outgoing, Session, Style};
use libfuzzer_sys::fuzz_target;

#[path = "support/bounded.rs"]
mod bounded;

/// Restores the state of a session with some bytes replaced.
fn restore(session: &Session, changes: &[u8]) {
    let mut state = session.to_bytes().unwrap();
    for change in changes.chunks_exact(3) {
        let at = usize::from(u16::from_le_bytes([change[0], change[1]])) % state.len();
        state[at] = change[2];
    }
    let Ok(mut session) = Session::from_bytes(&state) else { return };
    let bytes = session.to_bytes().unwrap();
    assert_eq!(Session::from_bytes(&bytes).unwrap().to_bytes().unwrap(), bytes);
    let turn = Outgoing { args: "null", context: Some("User: Hi"), ..Outgoing::default() };
    if let Ok(frames) = session.encode_request(&turn, Style::default()) {
        let _ = session.decode_request(&frames, DecodeOptions::default());
    }
    let _ = session.size();
}

/// Decodes bytes as a packed request.
fn unpack(data: &[u8]) {
    let mut session = Session::new(Limits { max_size: 1 << 17 });
    let before = session.to_bytes();
    if session.decode_packed(Wire::Bytes(data), DecodeOptions::default()).is_err() {
        assert_eq!(session.to_bytes(), before);
    }
}

fuzz_target!(|data: &[u8]| bounded::run(data.len(), || {
    unpack(data);
    let Ok(text) = std::str::from_utf8(data) else { return };
    let mut session = Session::new(Limits { max_size: 1 << 17 });
    // NUL separates frames, two NULs separate requests.
    for batch in text.split("\0\0") {
        let before = session.to_bytes();
        let read = if batch.starts_with('S') && !batch.starts_with("SYS|") {
            session.decode_packed(batch, DecodeOptions::default())
        } else {
            session.decode_request(&batch.split('\0').collect::<Vec<_>>(), DecodeOptions::default())
        };
        match read {
            Err(_) => assert_eq!(session.to_bytes(), before),
            Ok(request) => {
                let tools = request.tools.iter().map(|tool| &**tool).collect();
                let context = request.context.as_deref();
                let (system, args) = (request.system.as_deref(), &*request.args);
                let turn = Outgoing { tools, system, args, context };
                let frames = Session::default().encode_request(&turn, Style::default());
                let again = Session::default().decode_request(&frames.unwrap(), DecodeOptions::default()).unwrap();
                assert_eq!(again, request);
            }
        }
    }
    restore(&session, data);
    restore(&session, &data[data.len().saturating_sub(9)..]);
}));
