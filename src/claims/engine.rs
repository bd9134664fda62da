//! Which code verifies signatures: `curve25519-dalek` chooses it and does not say. These are the rules of its version 5.

/// On x86-64, AVX2 is compiled unless the configuration names code without vectors.
const AVX2: bool = cfg!(all(
    target_arch = "x86_64",
    not(any(curve25519_dalek_backend = "serial", curve25519_dalek_backend = "fiat"))
));
const AVX512: bool = AVX2 && cfg!(curve25519_dalek_backend = "avx512");

/// The engine that this processor runs: `serial`, `avx2` or `avx512`.
pub fn engine() -> &'static str {
    #[cfg(target_arch = "x86_64")]
    if AVX512 && is_x86_feature_detected!("avx512ifma") && is_x86_feature_detected!("avx512vl") {
        return "avx512";
    } else if AVX2 && is_x86_feature_detected!("avx2") {
        return "avx2";
    }
    "serial"
}

/// The engines that are compiled for this kind of processor, the slowest first.
pub fn engines() -> Vec<&'static str> {
    let known = [("serial", true), ("avx2", AVX2), ("avx512", AVX512)];
    known.into_iter().filter_map(|(name, compiled)| compiled.then_some(name)).collect()
}
