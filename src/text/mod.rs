//! The parts that several formats share: numbers, quoted strings, hexadecimal digits.
//!
//! # Modules
//! - [`decimal`]: a finite double as sign, shortest digits and decimal point.
//! - [`hex`]: bytes as hexadecimal digits.
//! - [`quoted`]: quoted strings with escapes.
//! - [`scan`]: the first byte of a class, as of those that a quoted string escapes.

pub mod decimal;
pub mod hex;
pub mod quoted;
pub mod scan;
