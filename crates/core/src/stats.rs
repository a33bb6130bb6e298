//! How sure a number is, and how values lie.

/// Between what a share or a mean lies.
pub mod interval;
/// How many values lie where.
pub mod distribution;
