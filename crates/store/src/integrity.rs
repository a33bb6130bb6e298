//! Checks of a data folder that no server has open.

pub use crate::embedded::{Finding, Health, check_checksums, check_integrity};
