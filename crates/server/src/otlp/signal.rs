use ratchet_core::time::Timestamp;

use super::limits::Bounds;
use super::span_builder::Fault;
use super::wire;

/// One of the things that OTLP carries, while it is being read.
///
/// Spans, log records and metrics come in the same envelope: by process, then by library.
pub(crate) trait Draft: Default {
    type Item;

    /// What its envelope calls it.
    const ENVELOPE: Envelope;

    /// About how many bytes one takes from being decoded until it is written, beside its texts and
    /// values.
    const ITEM_BYTES: usize;

    /// What it is called itself, to be named when it is rejected.
    fn name(&self) -> &str;

    /// Reads a message in protobuf.
    fn read_protobuf(
        &mut self,
        fields: wire::Fields<'_>,
        bounds: &mut Bounds<'_>,
    ) -> Result<(), Fault>;

    /// Reads a whole text that holds one JSON object.
    fn read_json(&mut self, text: &[u8], bounds: &mut Bounds<'_>) -> Result<(), serde_json::Error>;

    /// Ends reading. Leaves the name for whoever rejects it.
    fn finish(&mut self, received_at: Timestamp) -> Result<Self::Item, Fault>;
}

/// What an envelope calls its parts; names of fields in camel case and in snake case.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Envelope {
    /// The message of the protocol.
    pub(crate) message: &'static str,
    /// What one thing is called in errors.
    pub(crate) noun: &'static str,
    pub(crate) resources: [&'static str; 2],
    pub(crate) scopes: [&'static str; 2],
    pub(crate) items: [&'static str; 2],
}
