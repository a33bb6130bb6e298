use ratchet_core::record::field::WriteKind;
use ratchet_core::record::observation::ObservationKind;

use crate::langfuse::wire::wire_name::{WireEnum, WireName};

/// The type of an ingestion event: its record type, and whether it creates or updates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventType {
    /// Creates or updates a trace.
    Trace,
    /// Creates or updates a score.
    Score,
    /// An observation of this type; of the type in its body when `None`.
    Observation(Option<ObservationKind>, WriteKind),
    /// A log message of an SDK.
    SdkLog,
}

/// The API name of an event type.
pub type EventTypeName = WireName<EventType>;

const WORDS: [(&str, EventType); 24] = [
    ("trace-create", EventType::Trace),
    ("score-create", EventType::Score),
    ("event-create", create(ObservationKind::Event)),
    ("span-create", create(ObservationKind::Span)),
    ("span-update", update(ObservationKind::Span)),
    ("generation-create", create(ObservationKind::Generation)),
    ("generation-update", update(ObservationKind::Generation)),
    ("agent-create", create(ObservationKind::Agent)),
    ("agent-update", update(ObservationKind::Agent)),
    ("tool-create", create(ObservationKind::Tool)),
    ("tool-update", update(ObservationKind::Tool)),
    ("chain-create", create(ObservationKind::Chain)),
    ("chain-update", update(ObservationKind::Chain)),
    ("retriever-create", create(ObservationKind::Retriever)),
    ("retriever-update", update(ObservationKind::Retriever)),
    ("evaluator-create", create(ObservationKind::Evaluator)),
    ("evaluator-update", update(ObservationKind::Evaluator)),
    ("embedding-create", create(ObservationKind::Embedding)),
    ("embedding-update", update(ObservationKind::Embedding)),
    ("guardrail-create", create(ObservationKind::Guardrail)),
    ("guardrail-update", update(ObservationKind::Guardrail)),
    ("observation-create", EventType::Observation(None, WriteKind::Create)),
    ("observation-update", EventType::Observation(None, WriteKind::Update)),
    ("sdk-log", EventType::SdkLog),
];

const fn create(kind: ObservationKind) -> EventType {
    EventType::Observation(Some(kind), WriteKind::Create)
}

const fn update(kind: ObservationKind) -> EventType {
    EventType::Observation(Some(kind), WriteKind::Update)
}

impl WireEnum for EventType {
    const WHAT: &'static str = "event type";

    fn all() -> Vec<Self> {
        WORDS.iter().map(|(_, kind)| *kind).collect()
    }

    fn wire_name(self) -> &'static str {
        let known = WORDS.iter().find(|(_, kind)| *kind == self);
        // No SDK sends updates of events; the name follows the pattern.
        known.map_or("event-update", |(word, _)| word)
    }
}
