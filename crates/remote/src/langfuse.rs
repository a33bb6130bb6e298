/// Wire types of Langfuse's API, the same for client and server.
pub mod wire;
/// Stored records as ingestion events that recreate them.
pub mod replay;
/// The API client.
pub mod client;
/// Patches as ingestion events.
pub mod statement;
/// Ingestion events as patches, with validation of each event.
pub mod events;
/// Rows of CSV and JSONL files as ingestion events.
pub mod rows;
/// Copies a project from one Langfuse server to another, in slices with a checkpoint.
pub mod copy;
