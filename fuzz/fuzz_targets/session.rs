//! Any frames decode to a request or an error; an error leaves the session unchanged, and a decoded
//! request round-trips.
#![no_main]

use compactwire::session::{Limits, Outgoing, Session, Style};
use libfuzzer_sys::fuzz_target;

#[path = "support/bounded.rs"]
mod bounded;

fuzz_target!(|data: &[u8]| bounded::run(data.len(), || {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let mut session = Session::new(Limits { max_size: 1 << 17 });
    // NUL separates frames, two NULs separate requests.
    for batch in text.split("\0\0") {
        let before = session.to_bytes();
        let read = if batch.starts_with('S') && !batch.starts_with("SYS|") {
            session.decode_packed(batch)
        } else {
            session.decode_request(&batch.split('\0').collect::<Vec<_>>())
        };
        match read {
            Err(_) => assert_eq!(session.to_bytes(), before),
            Ok(request) => {
                let tools = request.tools.iter().map(|tool| &**tool).collect();
                let context = request.context.as_deref();
                let (system, args) = (request.system.as_deref(), &*request.args);
                let turn = Outgoing { tools, system, args, context };
                let frames = Session::default().encode_request(&turn, Style::default());
                let again = Session::default().decode_request(&frames.unwrap()).unwrap();
                assert_eq!(again, request);
            }
        }
    }
}));
