//! Sets `Py_3_14` and the like, the versions of the interpreter that the crate is built for.

fn main() {
    pyo3_build_config::use_pyo3_cfgs();
}
