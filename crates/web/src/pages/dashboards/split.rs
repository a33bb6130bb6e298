use maud::{Markup, html};
use ratchet_store::aggregate::AggregateDimension;

use crate::filter::{Filter, RecordField, Term};
use crate::frame::menu;
use crate::request_context::{Link, RequestContext};

/// What the figures are split by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Split {
    word: &'static str,
    pub(super) label: &'static str,
    /// What it is in the store; none for everything together.
    pub(super) by: Option<AggregateDimension>,
}

const fn by(word: &'static str, label: &'static str, by: AggregateDimension) -> Split {
    Split { word, label, by: Some(by) }
}

/// Dimensions to group by, most frequently used first.
const SPLITS: [Split; 14] = [
    Split { word: "none", label: "No grouping", by: None },
    by("model", "by model", AggregateDimension::Model),
    by("name", "by name", AggregateDimension::Name),
    by("type", "by type", AggregateDimension::Kind),
    by("env", "by environment", AggregateDimension::Environment),
    by("agent", "by agent", AggregateDimension::Agent),
    by("trace-name", "by trace name", AggregateDimension::TraceName),
    by("user", "by user", AggregateDimension::User),
    by("session", "by session", AggregateDimension::Session),
    by("tag", "by tags", AggregateDimension::Tags),
    by("release", "by release", AggregateDimension::Release),
    by("version", "by version", AggregateDimension::Version),
    by("level", "by level", AggregateDimension::Level),
    by("prompt", "by prompt", AggregateDimension::Prompt),
];

impl Split {
    /// Parses the query parameter `by`.
    pub(super) fn asked(ctx: &RequestContext) -> Self {
        let word = match ctx.params.get("by") {
            Some("kind") => "type",
            Some(word) => word,
            None => "none",
        };
        SPLITS.into_iter().find(|split| split.word == word).unwrap_or(SPLITS[0])
    }

    pub(super) fn noun(self) -> &'static str {
        if self.by.is_none() { "Group" } else { self.label.trim_start_matches("by ") }
    }

    /// The heading of the table: `Totals by model`.
    pub(super) fn title(self) -> String {
        if self.by.is_none() { "Totals".to_owned() } else { format!("Totals {}", self.label) }
    }

    /// The choice, without a script.
    pub(super) fn choice(self, ctx: &RequestContext) -> Markup {
        let here = ctx.here().without("all");
        let choices = html! {
            @for split in SPLITS {
                a href=(here.clone().with("by", split.word))
                  aria-current=[(split == self).then_some("true")] { (split.label) }
            }
        };
        html! { div.choice { (menu("Group by", self.label, &choices)) } }
    }

    /// Where the steps of a key that also pass a filter are listed, if the filter can name them.
    pub(super) fn steps_of(
        self,
        ctx: &RequestContext,
        key: &str,
        mut filter: Filter,
    ) -> Option<Link> {
        let field = match self.by? {
            AggregateDimension::Model => RecordField::Model,
            AggregateDimension::Name => RecordField::Name,
            AggregateDimension::Kind => RecordField::Kind,
            AggregateDimension::TraceName => RecordField::TraceName,
            AggregateDimension::User => RecordField::User,
            AggregateDimension::Session => RecordField::Session,
            AggregateDimension::Release => RecordField::Release,
            AggregateDimension::Version => RecordField::Version,
            AggregateDimension::Level => RecordField::Level,
            AggregateDimension::Prompt => RecordField::Prompt,
            // The rest of the pages follow: this is how one agent is chosen.
            AggregateDimension::Agent => {
                return Some(ctx.here().without("by").without("all").with("agent", key));
            }
            AggregateDimension::Environment => {
                return Some(observations(ctx, &filter).with("env", key));
            }
            AggregateDimension::Tags => return None,
        };
        filter.terms.push(Term::word(field, key));
        Some(observations(ctx, &filter))
    }

    /// What people call a key.
    pub(super) fn key_name(self, key: Option<&str>) -> String {
        match (self.by, key) {
            (None, _) => "all".to_owned(),
            (Some(AggregateDimension::Tags), Some(key)) => {
                let tags: Vec<String> = serde_json::from_str(key).unwrap_or_default();
                if tags.is_empty() { key.to_owned() } else { tags.join(", ") }
            }
            (Some(_), Some(key)) => key.to_owned(),
            (Some(_), None) => "none".to_owned(),
        }
    }
}

/// The list of observations that pass a filter.
pub(super) fn observations(ctx: &RequestContext, filter: &Filter) -> Link {
    let list = ctx.to(&["observations"]);
    if filter.terms.is_empty() { list } else { list.with("q", filter.to_string()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_named_together_and_nothing_is_none() {
        let tags =
            SPLITS.into_iter().find(|split| split.by == Some(AggregateDimension::Tags)).unwrap();
        assert_eq!(tags.key_name(Some("[\"a\",\"b\"]")), "a, b");
        assert_eq!(tags.key_name(None), "none");
        assert_eq!(SPLITS[0].key_name(None), "all");
    }
}
