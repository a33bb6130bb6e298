//! Other people's servers: what they say on the wire, and how to ask them.

/// HTTP clients.
pub mod http;
/// One try to hand a message over.
pub mod delivery;
/// Programs that are told of reports and of news.
pub mod webhook;
/// Browsers that are told of news.
pub mod web_push;
/// Weekly reports on other Ratchet servers.
pub mod weekly_report;
/// Langfuse, whose API Ratchet also serves.
pub mod langfuse;
/// Servers that vouch for people.
pub mod oidc;
