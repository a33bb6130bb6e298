//! From a chart to the list of the records behind it, with the same filter and time range.

use ratchet_core::catalog::dashboard::widget::{Widget, WidgetRecords};
use ratchet_core::catalog::filter::FilterCondition;
use ratchet_core::record::field_table::{FieldKind, OBSERVATION};
use ratchet_core::time::Timestamp;
use ratchet_store::query::Compare;

use crate::filter::saved::Counted;
use crate::filter::{Filter, Pattern, RecordField, Term, TermCondition};
use crate::request_context::{Link, RequestContext};
use crate::scope::Span;
use crate::score_summary;

/// Name of the rollup group for rare values, which no record has.
const RARE: &str = "(other)";

/// Where the records of a chart are listed.
pub(super) struct Drill<'a> {
    pub(super) ctx: &'a RequestContext,
    to: Target,
    /// What its keys are.
    by: Vec<&'a str>,
}

enum Target {
    /// The list of observations, filtered.
    Observations(Filter),
    /// The pages of scores; the name, if the chart is about one.
    Scores(Option<String>),
}

impl<'a> Drill<'a> {
    /// `None` if the list cannot have the filter of the chart.
    pub(super) fn of(
        chart: &'a Widget,
        besides: &[FilterCondition],
        ctx: &'a RequestContext,
    ) -> Option<Self> {
        let by = chart.dimensions.iter().map(|one| one.field.as_str()).collect();
        let filters: Vec<FilterCondition> = chart.filters.iter().chain(besides).cloned().collect();
        let to = match chart.view {
            WidgetRecords::Observations => {
                let (filter, unknown) = Filter::from_stored(&filters, Counted::Observations);
                if !unknown.is_empty() {
                    return None;
                }
                Target::Observations(filter)
            }
            WidgetRecords::ScoresNumeric
            | WidgetRecords::ScoresBoolean
            | WidgetRecords::ScoresCategorical => {
                let (filter, _) = Filter::from_stored(&filters, Counted::Scores);
                Target::Scores(filter.terms.iter().find_map(score_name))
            }
        };
        Some(Self { ctx, to, by })
    }

    /// The records of the whole chart.
    pub(super) fn all(&self) -> Link {
        match &self.to {
            Target::Observations(filter) => self.observations(filter),
            Target::Scores(Some(name)) => score_summary::link(self.ctx, name),
            Target::Scores(None) => self.ctx.to(&["scores"]),
        }
    }

    fn observations(&self, filter: &Filter) -> Link {
        let list = self.ctx.to(&["observations"]);
        if filter.terms.is_empty() { list } else { list.with("q", filter.to_string()) }
    }

    /// The records of each step of time.
    pub(super) fn steps(&self, spans: impl Iterator<Item = (Timestamp, Timestamp)>) -> Vec<Link> {
        spans.map(|(from, to)| self.all().with("range", Span::Between(from, to).word())).collect()
    }

    /// The records of a key, or of the first parts of one, if a filter can name them.
    pub(super) fn keys(&self, key: &[Option<String>]) -> Option<Link> {
        if key.is_empty() || key.len() > self.by.len() {
            return None;
        }
        match &self.to {
            Target::Scores(_) if self.by == ["name"] => {
                Some(score_summary::link(self.ctx, key.first()?.as_deref()?))
            }
            Target::Scores(_) => None,
            Target::Observations(filter) => {
                let mut filter = filter.clone();
                for (by, part) in self.by.iter().zip(key) {
                    let field = OBSERVATION.by_api_name(by)?.field?;
                    filter.terms.push(term(field, part.as_deref())?);
                }
                Some(self.observations(&filter))
            }
        }
    }

    /// The records whose measure lies between two values, if a filter can name them; the upper end
    /// belongs to the last part of a distribution only.
    pub(super) fn between(&self, measure: &str, ends: (f64, f64), is_last: bool) -> Option<Link> {
        let Target::Observations(filter) = &self.to else { return None };
        let field = OBSERVATION.by_api_name(measure)?.field?;
        let is_number = matches!(field.facts().kind, FieldKind::Number(_));
        if !is_number || OBSERVATION.filter(field).is_none() {
            return None;
        }
        let upper = if is_last { Compare::AtMost } else { Compare::Less };
        let mut filter = filter.clone();
        filter.terms.push(Term::number(field, Compare::AtLeast, ends.0));
        filter.terms.push(Term::number(field, upper, ends.1));
        Some(self.observations(&filter))
    }
}

/// A term for records whose field is a key, or that have none.
pub(super) fn term(field: RecordField, key: Option<&str>) -> Option<Term> {
    let kind = field.facts().kind;
    let is_word = matches!(kind, FieldKind::Text | FieldKind::Choice);
    if !is_word || OBSERVATION.filter(field).is_none() {
        return None;
    }
    match key {
        Some(RARE) => None,
        Some(key) if kind == FieldKind::Choice => {
            Some(Term::word(field, &key.to_ascii_lowercase()))
        }
        Some(key) => Some(Term::word(field, key)),
        None => Some(Term { negated: true, what: TermCondition::Word(field, Pattern::Any) }),
    }
}

fn score_name(term: &Term) -> Option<String> {
    match &term.what {
        TermCondition::Word(RecordField::Name, Pattern::Exactly(names)) if !term.negated => {
            names.first().filter(|_| names.len() == 1).cloned()
        }
        _ => None,
    }
}
