//! Other people's servers: what they say on the wire.

/// Langfuse, whose API Ratchet also serves.
pub mod langfuse;
