//! Any text as a keyed set gives a set or an error, and any delta between two sets leads to the second.

#![no_main]

use compactwire::gcf::Code;
use compactwire::gcf::keyed::{Delta, KeyedSet, receive};
use libfuzzer_sys::fuzz_target;

#[path = "support/bounded.rs"]
mod bounded;

/// The root that an error of this form reports as the actual one.
fn actual_root(message: &str) -> &str {
    message.split([' ', ',']).find(|word| word.starts_with("sha256:")).expect("a root")
}

/// The set of the lines after a header, which gets the root of their rows.
fn set(key: &str, body: &str) -> Option<KeyedSet> {
    let text = |root: &str| format!("GCF profile=generic pack_root={root} key={key}\n{body}");
    let error = KeyedSet::read(&text("sha256:0")).expect_err("no set has this root");
    assert!(error.message.len() < 1000);
    if error.code != Code::RootMismatch {
        return None;
    }
    let set = KeyedSet::read(&text(actual_root(&error.message))).expect("the root is right");
    let written = set.write("").expect("a set that was read can be written");
    assert_eq!(KeyedSet::read(&written).as_ref(), Ok(&set), "{written}");
    Some(set)
}

/// Asserts that a delta round-trips, and that applying it is an error or leads to its root.
fn applied(base: &KeyedSet, body: &str) {
    let (from, key) = (base.root(), base.key());
    let read = |root: &str| {
        let header = format!("delta=true base_root={from} new_root={root} key={key}");
        Delta::read(&format!("GCF profile=generic {header}\n{body}"))
    };
    let Ok(delta) = read("sha256:0") else { return };
    let error = base.apply(&delta).expect_err("no set has this root");
    if error.code != Code::RootMismatch {
        return assert_eq!(error.code, Code::DeltaInvalid, "{error:?}");
    }
    let delta = read(actual_root(&error.message)).expect("only the root differs");
    let new = base.apply(&delta).expect("the root is right");
    let text = delta.write("", None).expect("a delta that was read can be written");
    assert_eq!(receive(Some(base), &text), Ok(new), "{text}");
}

fn between(base: &KeyedSet, new: &KeyedSet) {
    let Ok(Some(delta)) = Delta::between(base, new) else { return };
    assert_eq!(base.apply(&delta).as_ref(), Ok(new));
    let text = delta.write("", None).expect("a delta of two sets can be written");
    assert_eq!(receive(Some(base), &text).as_ref(), Ok(new), "{text}");
}

fuzz_target!(|data: &[u8]| bounded::run(data.len(), || {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let _ = receive(None, text);
    // A key, a base, a new set and a delta, separated by NUL.
    let mut parts = text.splitn(4, '\0');
    let mut part = || parts.next().unwrap_or_default();
    let (key, base, new, delta) = (part(), part(), part(), part());
    let Some(base) = set(key, base) else { return };
    if let Some(new) = set(key, new) {
        between(&base, &new);
        between(&new, &base);
    }
    applied(&base, delta);
}));
