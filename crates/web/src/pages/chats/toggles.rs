use std::collections::BTreeSet;

use maud::{Markup, html};
use ratchet_core::chat::event::EventKind;

use crate::request_context::{Link, RequestContext};

/// Types of events that can be hidden.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Toggle {
    Text,
    Tools,
    Results,
    Thinking,
    Notices,
    Raw,
}

impl Toggle {
    const ALL: [Self; 6] =
        [Self::Text, Self::Tools, Self::Results, Self::Thinking, Self::Notices, Self::Raw];

    /// Name in URLs, and label.
    const fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Text => ("text", "Text"),
            Self::Tools => ("tools", "Tool calls"),
            Self::Results => ("results", "Results"),
            Self::Thinking => ("thinking", "Thinking"),
            Self::Notices => ("notices", "Notices"),
            Self::Raw => ("raw", "Raw lines"),
        }
    }

    const fn kind(self) -> EventKind {
        match self {
            Self::Text => EventKind::TextDelta,
            Self::Tools => EventKind::ToolUse,
            Self::Results => EventKind::ToolResult,
            Self::Thinking => EventKind::ThinkingDelta,
            Self::Notices => EventKind::Notice,
            Self::Raw => EventKind::Raw,
        }
    }
}

/// Types of events to show. Messages, questions, results and errors are always shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Toggles(BTreeSet<Toggle>);

impl Toggles {
    /// Reads the URL; without the parameter all but raw lines are shown.
    pub(super) fn of(ctx: &RequestContext) -> Self {
        let said: Vec<&str> = ctx.params.all("show").collect();
        let is_on = |toggle: &Toggle| match said.is_empty() {
            true => *toggle != Toggle::Raw,
            false => said.contains(&toggle.words().0),
        };
        Self(Toggle::ALL.into_iter().filter(is_on).collect())
    }

    /// Whether a type of events is shown.
    fn shows(&self, kind: EventKind) -> bool {
        let toggle = Toggle::ALL.into_iter().find(|toggle| toggle.kind() == kind);
        toggle.is_none_or(|toggle| self.0.contains(&toggle))
    }

    /// Types of events to show.
    pub(super) fn kinds(&self) -> Vec<EventKind> {
        EventKind::ALL.into_iter().filter(|kind| self.shows(*kind)).collect()
    }

    /// Types of events that the stream must contain, separated by commas.
    pub(super) fn types(&self) -> String {
        self.kinds().into_iter().map(EventKind::as_str).collect::<Vec<_>>().join(",")
    }

    pub(super) fn all_types() -> String {
        EventKind::ALL.map(EventKind::as_str).join(",")
    }

    /// Link to the same page with these shown.
    pub(super) fn on(&self, link: Link) -> Link {
        let link = link.without("show").and("show", "");
        self.0.iter().fold(link, |link, toggle| link.and("show", toggle.words().0))
    }

    /// A form that changes them and works without JavaScript.
    pub(super) fn form(&self, ctx: &RequestContext) -> Markup {
        let here = ctx.here().without("show").without("done");
        html! {
            form.toggles method="get" action=(here.path()) data-toggles {
                @for (name, value) in here.pairs() { input type="hidden" name=(name) value=(value); }
                // Marks the parameter as present, even if nothing is selected.
                input type="hidden" name="show" value="";
                fieldset {
                    legend { "Show" }
                    @for toggle in Toggle::ALL {
                        @let (word, name) = toggle.words();
                        label { input type="checkbox" name="show" value=(word) data-kind=(toggle.kind().as_str())
                            checked[self.0.contains(&toggle)]; " " (name) }
                    }
                }
                button.button type="submit" { "Show these" }
            }
        }
    }
}
