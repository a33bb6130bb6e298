use ratchet_core::time::Timestamp;

use super::limits::Bounds;
use super::span_builder::Fault;
use super::wire;

/// A span, log record or metric while it is decoded.
///
/// All of them have the same envelope: resource, then scope.
pub(crate) trait Draft: Default {
    type Item;

    /// Names in its envelope.
    const ENVELOPE: Envelope;

    /// Approximate bytes of one item from decoding until it is written, besides its texts and
    /// values.
    const ITEM_BYTES: usize;

    /// Its name, for the reason of a rejection.
    fn name(&self) -> &str;

    /// Decodes a protobuf message.
    fn read_protobuf(
        &mut self,
        fields: wire::Fields<'_>,
        bounds: &mut Bounds<'_>,
    ) -> Result<(), Fault>;

    /// Decodes a text with one JSON object.
    fn read_json(&mut self, text: &[u8], bounds: &mut Bounds<'_>) -> Result<(), serde_json::Error>;

    /// Finishes decoding. Leaves the name for a rejection.
    fn finish(&mut self, received_at: Timestamp) -> Result<Self::Item, Fault>;
}

/// Names in an envelope; field names in camel case and in snake case.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Envelope {
    /// The protocol's message name.
    pub(crate) message: &'static str,
    /// The noun for an item in errors.
    pub(crate) noun: &'static str,
    pub(crate) resources: [&'static str; 2],
    pub(crate) scopes: [&'static str; 2],
    pub(crate) items: [&'static str; 2],
}
