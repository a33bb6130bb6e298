/// Wire types of Langfuse's API, the same for client and server.
pub mod wire;
/// Stored records as ingestion events that recreate them.
pub mod replay;
/// The API client.
pub mod client;
/// Patches as ingestion events.
pub mod statement;
