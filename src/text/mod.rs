//! What every text format needs once: the digits of numbers.
//!
//! # Modules
//! - [`decimal`]: a finite double as sign, shortest digits and decimal point.

pub mod decimal;
