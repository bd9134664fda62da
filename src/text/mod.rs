//! The parts that several formats share: digits of numbers, scanning.
//!
//! # Modules
//! - [`decimal`]: a finite double as sign, shortest digits and decimal point.
//! - [`scan`]: the first byte of a class, as of those that a quoted string escapes.

pub mod decimal;
pub mod scan;
