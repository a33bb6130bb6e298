//! The product, its stages in order. Each reads inputs, decides in `core`, and writes outputs.

/// An agent's work becomes a trace.
pub mod record;
