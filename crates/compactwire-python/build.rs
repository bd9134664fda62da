//! Sets `Py_3_14` and the like, the versions of the interpreter that the crate is built for, and `profiled` if the
//! compiler has a profile, as `.ci/profile` makes it.

fn main() {
    pyo3_build_config::use_pyo3_cfgs();
    println!("cargo::rustc-check-cfg=cfg(profiled)");
    println!("cargo::rerun-if-env-changed=CARGO_ENCODED_RUSTFLAGS");
    if std::env::var("CARGO_ENCODED_RUSTFLAGS").is_ok_and(|flags| flags.contains("profile-use=")) {
        println!("cargo::rustc-cfg=profiled");
    }
}
