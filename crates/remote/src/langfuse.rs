/// What goes over the wire, the same types in both directions.
pub mod wire;
/// Records as the events that would record them again.
pub mod replay;
/// Asks a server and tells it things.
pub mod client;
/// What patches say, as events of theirs.
pub mod statement;
