//! Other people's servers: what they say on the wire, and how to ask them.

/// HTTP clients.
pub mod http;
/// Programs that are told of reports.
pub mod hook;
/// Weekly reports on other Ratchet servers.
pub mod week;
/// Langfuse, whose API Ratchet also serves.
pub mod langfuse;
/// Servers that vouch for people.
pub mod oidc;
