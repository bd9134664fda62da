//! GCF in the core against the public crates `gcf`, `etoon` and `serde_json`, on the same data.
//!
//! Slices of about 0.2 ms in turn, and the minimum and the 20th percentile of each, as in
//! `benches/measure.py`; dropping the result is not timed.
//!
//! `cargo bench --manifest-path benches/gcf_crate/Cargo.toml --target-dir target` writes the times for
//! `python -m benches`. `cargo test` with the same options only compares the answers.

#![expect(clippy::unwrap_used, reason = "a wrong answer ends the bench")]

use compactwire::gcf::{EncodeOptions, Limits, decode, decode_borrowed, encode, from_json, to_json};
use compactwire::json::Escape;
use gcf::{decode_generic, encode_generic};
use serde_json::{Value, json};
use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};
use std::{env, fs, io};

const CRATE: &str = "crate gcf";
const TOON: &str = "etoon, which writes TOON";
const JSON: &str = "serde_json";

const SLICE: Duration = Duration::from_micros(200);
const SLICES: usize = 2_000;
const MOST: Duration = Duration::from_secs(4);

/// Numbers without pattern, the same in every run.
struct Pick(u64);

impl Pick {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }

    fn word(&mut self) -> &'static str {
        const WORDS: [&str; 8] =
            ["alpha", "bravo", "delta", "Köln", "north", "order", "shipped", "a|b"];
        WORDS[usize::try_from(self.below(8)).unwrap()]
    }

    fn price(&mut self) -> f64 {
        let cents = self.below(500) * 100 + 1 + self.below(99);
        f64::from(u32::try_from(cents).unwrap()) / 100.0
    }
}

fn flat(rows: u64) -> Value {
    let mut pick = Pick(rows);
    let notes = [Value::Null, "gift".into(), "call before delivery".into()];
    let row = |id| {
        json!({
            "id": id,
            "customer": format!("{} {}", pick.word(), pick.word()),
            "email": format!("user{id}@example.com"),
            "total": pick.price(),
            "currency": "EUR",
            "paid": pick.below(10) < 7,
            "note": notes[usize::try_from(pick.below(3)).unwrap()],
        })
    };
    (0..rows).map(row).collect()
}

fn orders(count: u64) -> Value {
    let mut pick = Pick(count);
    let order = |id| {
        let items = (0..=pick.below(4))
            .map(|_| json!({"sku": format!("A{}", pick.below(999)), "n": 1 + pick.below(5), "price": 9.5}))
            .collect::<Value>();
        let tags = (0..pick.below(4)).map(|_| pick.word()).collect::<Value>();
        json!({
            "id": format!("o-{id}"),
            "customer": {
                "name": pick.word(),
                "address": {"city": pick.word(), "zip": (10_000 + pick.below(89_999)).to_string()},
            },
            "items": items,
            "tags": tags,
            "status": pick.word(),
        })
    };
    json!({"orders": (0..count).map(order).collect::<Value>(), "page": 1})
}

fn keyed(count: u64) -> Value {
    let mut pick = Pick(count);
    let member = |id| {
        let value = json!({"cpu": pick.price(), "memory": 1 + pick.below(64), "up": true});
        (format!("web-{id:04}"), value)
    };
    Value::Object((0..count).map(member).collect())
}

fn deep(levels: u64) -> Value {
    (0..levels).fold(json!({"leaf": [1, 2, 3]}), |child, level| {
        json!({"level": level, "name": format!("node {level}"), "kinds": ["a", "b"], "child": child})
    })
}

/// A value in every form that a call reads; what each reader makes of each writer's text is equal.
struct Forms<'a> {
    peer: &'a Value,
    ours: compactwire::value::Value<'static>,
    json: String,
    text: String,
    peer_text: String,
}

impl<'a> Forms<'a> {
    fn new(peer: &'a Value) -> Self {
        let json = peer.to_string();
        let text = from_json(&json, &EncodeOptions::default()).unwrap();
        let ours = decode(&text, Limits::default()).unwrap();
        let peer_text = encode_generic(peer).unwrap();
        assert_eq!(encode(&ours, &EncodeOptions::default()).unwrap(), text);
        for text in [&text, &peer_text] {
            let read = to_json(text, Limits::default(), Escape::Needed).unwrap();
            assert!(&serde_json::from_str::<Value>(&read).unwrap() == peer, "our reader");
            assert!(&decode_generic(text).unwrap() == peer, "the peer's reader");
        }
        assert!(_etoon::toon::encode(json.as_bytes()).is_ok());
        Self { peer, ours, json, text, peer_text }
    }

    /// Ours first, then its peers.
    fn comparisons(&self) -> Vec<(&'static str, Vec<Work<'_>>)> {
        let options = EncodeOptions::default();
        let limits = Limits::default();
        vec![
            (
                "encode of a value",
                vec![
                    work("", move || encode(&self.ours, &options)),
                    work(CRATE, || encode_generic(self.peer)),
                    work(JSON, || serde_json::to_string(self.peer)),
                ],
            ),
            (
                "from_json",
                vec![
                    work("", move || from_json(&self.json, &options)),
                    work(CRATE, || {
                        serde_json::from_str(&self.json).map(|value| encode_generic(&value))
                    }),
                    work(TOON, || _etoon::toon::encode(self.json.as_bytes())),
                    work(JSON, || serde_json::from_str::<Value>(&self.json)),
                ],
            ),
            (
                "decode to a value",
                vec![
                    work("", move || decode(&self.text, limits)),
                    work(CRATE, || decode_generic(&self.peer_text)),
                    work(JSON, || serde_json::from_str::<Value>(&self.json)),
                ],
            ),
            (
                "decode_borrowed",
                vec![
                    work("", move || decode_borrowed(&self.text, limits)),
                    work(CRATE, || decode_generic(&self.peer_text)),
                    work(JSON, || serde_json::from_str::<Value>(&self.json)),
                ],
            ),
            (
                "to_json",
                vec![
                    work("", move || to_json(&self.text, limits, Escape::Needed)),
                    work(CRATE, || decode_generic(&self.peer_text).map(|value| value.to_string())),
                    work(JSON, || serde_json::to_string(self.peer)),
                ],
            ),
        ]
    }
}

/// A name, and what takes one slice of so many calls.
type Work<'a> = (&'static str, Box<dyn FnMut(usize) -> Duration + 'a>);

/// Times the calls alone, and drops the results afterwards.
fn work<'a, T>(name: &'static str, mut call: impl FnMut() -> T + 'a) -> Work<'a> {
    let slice = move |calls| {
        let mut results = Vec::with_capacity(calls);
        let start = Instant::now();
        results.extend((0..calls).map(|_| black_box(call())));
        start.elapsed()
    };
    (name, Box::new(slice))
}

/// Measures slices in turn; gives the minimum and the 20th percentile of each in seconds per call.
fn compare(works: &mut [Work<'_>], slices: usize) -> Vec<[f64; 2]> {
    let calls: Vec<usize> = works
        .iter_mut()
        .map(|(_, slice)| {
            let call = slice(1).min(slice(1)).max(Duration::from_nanos(1));
            usize::try_from(SLICE.as_nanos() / call.as_nanos()).unwrap_or(1).max(1)
        })
        .collect();
    let mut times = vec![Vec::new(); works.len()];
    let start = Instant::now();
    while times[0].len() < slices && (times[0].len() < 9 || start.elapsed() < MOST) {
        for (((_, slice), &calls), times) in works.iter_mut().zip(&calls).zip(&mut times) {
            let count = u32::try_from(calls).unwrap_or(u32::MAX);
            times.push(slice(calls).as_secs_f64() / f64::from(count));
        }
    }
    for times in &mut times {
        times.sort_by(f64::total_cmp);
    }
    times.iter().map(|times| [times[0], times[times.len() / 5]]).collect()
}

fn main() -> io::Result<()> {
    let measured = env::args().any(|argument| argument == "--bench");
    let scale = if measured { 1 } else { 10 };
    let shapes = [
        ("500 flat rows", flat(500 / scale)),
        ("500 nested orders", orders(500 / scale)),
        ("keyed map of 1,000", keyed(1_000 / scale)),
        ("deep JSON, 100 levels", deep(100 / scale)),
    ];
    let mut rows = Vec::new();
    for (size, value) in &shapes {
        let forms = Forms::new(value);
        for (work, mut works) in forms.comparisons() {
            let times = compare(&mut works, if measured { SLICES } else { 1 });
            for ((peer, _), theirs) in works.iter().zip(&times).skip(1) {
                rows.push(json!({
                    "work": work, "size": size, "peer": peer,
                    "seconds": times[0][0], "fifth": times[0][1],
                    "peer_seconds": theirs[0], "peer_fifth": theirs[1],
                }));
            }
        }
    }
    if measured {
        let text = serde_json::to_string_pretty(&rows)?;
        fs::write(Path::new(env!("CARGO_TARGET_TMPDIR")).join("gcf.json"), &text)?;
        io::Write::write_all(&mut io::stdout(), format!("{text}\n").as_bytes())?;
    }
    Ok(())
}
