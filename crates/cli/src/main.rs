//! The `ratchet` binary.
fn main() {}
