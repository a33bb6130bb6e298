//! The product, its stages in order. Each reads inputs, decides in `core`, and writes outputs.

/// An agent's work becomes a trace.
pub mod record;
/// Where stages read from.
pub mod source;
/// Where stages write to.
pub mod sink;
