use ratchet_core::chat::event::{ChatEvent, UnorderedEvent};
use ratchet_core::chat::stream_redaction::StreamRedactor;
use ratchet_core::id::SessionId;
use ratchet_core::record::redact::Redactor;
use ratchet_store::StoreResult;
use ratchet_store::telemetry::Prepared;
use ratchet_store::telemetry::{Batch, Telemetry};

/// Records batches as tests do: without rules, without media, without the stages above the store.
pub trait RecordBatch {
    /// Writes a batch and returns once it is on disk.
    fn record(&self, batch: Batch) -> impl Future<Output = StoreResult<()>> + Send;

    /// Writes a batch together with events of a chat.
    fn record_with_events(
        &self,
        batch: Batch,
        chat: SessionId,
        events: Vec<ChatEvent>,
    ) -> impl Future<Output = StoreResult<()>> + Send;
}

impl RecordBatch for Telemetry {
    async fn record(&self, batch: Batch) -> StoreResult<()> {
        write(self, prepared(self, batch)).await
    }

    async fn record_with_events(
        &self,
        batch: Batch,
        chat: SessionId,
        events: Vec<ChatEvent>,
    ) -> StoreResult<()> {
        let mut prepared = prepared(self, batch);
        // A redactor numbers events without gaps; a gap begins a list of its own.
        for run in events.chunk_by(|one, next| one.seq + 1 == next.seq) {
            let Some(first) = run.first() else { continue };
            let timed = run.iter().map(|event| {
                (event.at, UnorderedEvent { kind: event.kind, body: event.body.clone() })
            });
            let (timed, rules) = (timed.collect(), Redactor::default());
            let run = StreamRedactor::default().redact(timed, &rules, first.seq - 1);
            prepared = prepared.with_events(chat.clone(), run);
        }
        write(self, prepared).await
    }
}

fn prepared(telemetry: &Telemetry, batch: Batch) -> Prepared {
    telemetry.prepare(Redactor::default().redact(batch, usize::MAX))
}

async fn write(telemetry: &Telemetry, prepared: Prepared) -> StoreResult<()> {
    // Media references are noted by stages, in a catalog that tests of the store alone have not.
    telemetry.write_batch(prepared.without_media().unwrap()).await
}
