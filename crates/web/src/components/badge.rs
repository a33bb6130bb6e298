use maud::{Markup, html};
use ratchet_core::record::observation::{Level, ObservationKind};

use super::icon::{Icon, icon};

/// Who decided: the one meaning of colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Decider {
    Code,
    Model,
    Human,
}

impl Decider {
    /// The class that colours it.
    pub const fn class(self) -> &'static str {
        match self {
            Self::Code => "code",
            Self::Model => "model",
            Self::Human => "human",
        }
    }

    pub const fn name(self) -> &'static str {
        self.class()
    }

    /// Who is at work in a kind of step.
    pub const fn of_kind(kind: ObservationKind) -> Self {
        match kind {
            ObservationKind::Generation
            | ObservationKind::Agent
            | ObservationKind::Evaluator
            | ObservationKind::Embedding => Self::Model,
            ObservationKind::Span
            | ObservationKind::Event
            | ObservationKind::Tool
            | ObservationKind::Chain
            | ObservationKind::Retriever
            | ObservationKind::Guardrail => Self::Code,
        }
    }
}

/// The drawing of a kind of step, in the colour of who is at work.
pub fn glyph(kind: ObservationKind) -> Markup {
    html! {
        span class={ "glyph " (Decider::of_kind(kind).class()) } title=(kind_name(kind)) {
            (icon(kind_icon(kind))) span.sr { (kind_name(kind)) }
        }
    }
}

/// Label of an observation type.
pub const fn kind_name(kind: ObservationKind) -> &'static str {
    match kind {
        ObservationKind::Span => "span",
        ObservationKind::Generation => "generation",
        ObservationKind::Event => "event",
        ObservationKind::Agent => "agent",
        ObservationKind::Tool => "tool",
        ObservationKind::Chain => "chain",
        ObservationKind::Retriever => "retriever",
        ObservationKind::Evaluator => "evaluator",
        ObservationKind::Embedding => "embedding",
        ObservationKind::Guardrail => "guardrail",
    }
}

const fn kind_icon(kind: ObservationKind) -> Icon {
    match kind {
        ObservationKind::Span => Icon::Span,
        ObservationKind::Generation => Icon::Generation,
        ObservationKind::Event => Icon::Event,
        ObservationKind::Agent => Icon::Agent,
        ObservationKind::Tool => Icon::Tool,
        ObservationKind::Chain => Icon::Chain,
        ObservationKind::Retriever => Icon::Retriever,
        ObservationKind::Evaluator => Icon::Evaluator,
        ObservationKind::Embedding => Icon::Embedding,
        ObservationKind::Guardrail => Icon::Guardrail,
    }
}

/// A level, where it wants attention; nothing where all is as it should be.
pub fn level(level: Level) -> Markup {
    html! {
        @match level {
            Level::Error => { span.badge.bad { (icon(Icon::Error)) "error" } },
            Level::Warning => { span.badge.warn { (icon(Icon::Warning)) "warning" } },
            Level::Debug => { span.badge { "debug" } },
            Level::Default => {},
        }
    }
}

/// A word that hangs on something: a tag, a label, an environment.
pub fn tag(word: &str) -> Markup {
    html! { span.badge title=(word) { bdi { (word) } } }
}

/// A word in the colour of who decided it.
pub fn decided(by: Decider, word: &str) -> Markup {
    html! { span class={ "badge " (by.class()) } { bdi { (word) } } }
}
