//! Base85 against its peers: the `z85` crate (the same digits, lower case first), `base64-simd` (an upper
//! limit for text encodings) and a plain copy (an upper limit for any encoding).
//!
//! The rows of the engines show how fast each is, and "checked" what a checked conversion to `String` costs.
//!
//! `cargo bench --bench base85`; throughput counts binary bytes in both directions.

use compactwire::base85::{decode_with_engine, encode_with_engine};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;

/// Bytes without a pattern, like the output of a compressor; the same in every run.
fn noise(len: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let next = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    std::iter::repeat_with(next).take(len).collect()
}

fn base85(criterion: &mut Criterion) {
    for len in [1 << 10, 20 << 10, 1 << 20] {
        let data = noise(len);
        let text = compactwire::base85::encode(&data);
        let base64 = base64_simd::STANDARD.encode_to_string(&data);
        let z85 = z85::encode(&data);
        assert_eq!(z85.len(), text.len(), "the peer does the same work");
        assert_eq!(z85::decode(&z85).as_ref(), Ok(&data));
        assert_eq!(compactwire::base85::decode(&text).as_ref(), Ok(&data));

        let mut group = criterion.benchmark_group("base85/encode");
        group.throughput(Throughput::Bytes(len as u64));
        group.bench_function(BenchmarkId::new("compactwire", len), |b| {
            b.iter(|| compactwire::base85::encode(black_box(&data)));
        });
        for engine in ["scalar", "avx2", "avx512", "checked"] {
            if encode_with_engine(engine, &data).as_ref() == Some(&text) {
                group.bench_function(BenchmarkId::new(engine, len), |b| {
                    b.iter(|| encode_with_engine(engine, black_box(&data)));
                });
            }
        }
        group.bench_function(BenchmarkId::new("z85", len), |b| {
            b.iter(|| z85::encode(black_box(&data)));
        });
        group.bench_function(BenchmarkId::new("base64-simd", len), |b| {
            b.iter(|| base64_simd::STANDARD.encode_to_string(black_box(&data)));
        });
        group.bench_function(BenchmarkId::new("memcpy", len), |b| {
            b.iter(|| black_box(&data).clone());
        });
        group.finish();

        let mut group = criterion.benchmark_group("base85/decode");
        group.throughput(Throughput::Bytes(len as u64));
        group.bench_function(BenchmarkId::new("compactwire", len), |b| {
            b.iter(|| compactwire::base85::decode(black_box(&text)));
        });
        for engine in ["scalar", "avx2", "avx512"] {
            if decode_with_engine(engine, &text).as_ref() == Some(&data) {
                group.bench_function(BenchmarkId::new(engine, len), |b| {
                    b.iter(|| decode_with_engine(engine, black_box(&text)));
                });
            }
        }
        group.bench_function(BenchmarkId::new("z85", len), |b| {
            b.iter(|| z85::decode(black_box(&z85)));
        });
        group.bench_function(BenchmarkId::new("base64-simd", len), |b| {
            b.iter(|| base64_simd::STANDARD.decode_to_vec(black_box(&base64)));
        });
        group.bench_function(BenchmarkId::new("memcpy", len), |b| {
            b.iter(|| black_box(&text).clone());
        });
        group.finish();
    }
}

criterion_group!(benches, base85);
criterion_main!(benches);
