use serde_json::value::to_raw_value;

use super::request::ApiRequest;
use super::retry::Idempotency;
use super::{ClientError, LangfuseClient};
use crate::langfuse::wire::ingestion::{Envelope, IngestionBatch, IngestionResult};
use crate::langfuse::wire::json::Raw;
use ratchet_core::issue::Issue;

impl LangfuseClient {
    /// Sends ingestion events, and returns the result of each.
    ///
    /// All servers accept scores this way. Newer Langfuse servers reject everything else; Ratchet
    /// accepts all events. Idempotent, because events contain the ids of their records.
    ///
    /// # Errors
    /// Fails if the request fails or the batch is rejected as a whole.
    pub async fn record(&self, events: &[Envelope]) -> Result<IngestionResult, ClientError> {
        let written = events.iter().map(|event| to_raw_value(event).map(Raw::from));
        let batch = written.collect::<Result<Vec<_>, _>>();
        let batch = batch.map_err(|why| ClientError::Unreadable {
            request: "POST /api/public/ingestion".to_owned(),
            issue: Issue { path: Vec::new(), message: why.to_string() },
        })?;
        let body = IngestionBatch { batch, metadata: None };
        self.get(&ApiRequest::post(&["ingestion"], &body, Idempotency::Idempotent)).await
    }
}
