//! Responses in the core: what the transport costs on top of the compressor.
//!
//! `cargo bench --bench compact`; throughput counts bytes of the result.

use compactwire::compact::{Choice, DecodeOptions, EncodeOptions, Format, Response, encode, open};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;

/// Text with the redundancy of prose, the same in every run.
fn prose(len: usize) -> String {
    const WORDS: [&str; 32] = [
        "the", "of", "and", "to", "in", "is", "that", "for", "with", "as", "function", "returns",
        "value", "error", "when", "request", "server", "response", "data", "which", "list", "key",
        "each", "message", "size", "bytes", "model", "answer", "tokens", "because", "should",
        "step",
    ];
    let mut text = String::with_capacity(len + 16);
    let mut state = 1u64;
    while text.len() < len {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        text.push_str(WORDS[(state >> 59) as usize]);
        text.push(if (state >> 40).is_multiple_of(16) { '\n' } else { ' ' });
    }
    text.truncate(len);
    text
}

fn compact(criterion: &mut Criterion) {
    for len in [200, 1 << 10, 20 << 10, 1 << 20] {
        let result = prose(len);
        let response = Response { model: "C45".into(), tokens: 150, ..Response::new(&*result) };
        for format in Format::ALL {
            let options =
                EncodeOptions { format: Choice::Format(format), ..EncodeOptions::default() };
            let Ok(wire) = encode(&response, &options) else { continue };
            let opened = open(&wire, &DecodeOptions::default()).map(|opened| {
                assert_eq!(opened.read().map(|decoded| decoded.response).as_ref(), Ok(&response));
            });
            assert_eq!(opened, Ok(()));

            let mut group = criterion.benchmark_group(format!("compact/{}", format.name()));
            group.throughput(Throughput::Bytes(len as u64));
            group.bench_function(BenchmarkId::new("encode", len), |b| {
                b.iter(|| encode(black_box(&response), &options));
            });
            group.bench_function(BenchmarkId::new("open and read", len), |b| {
                b.iter(|| {
                    let opened = open(black_box(&wire), &DecodeOptions::default());
                    opened.is_ok_and(|opened| opened.read().is_ok())
                });
            });
            group.finish();
        }
    }
}

criterion_group!(benches, compact);
criterion_main!(benches);
