//! From a chart to the list of the records behind it, with the same filter and time range.

use ratchet_core::catalog::dashboard::widget::{Widget, WidgetRecords};
use ratchet_core::catalog::filter::{FilterCondition, FilterKind, Operator};
use ratchet_core::record::field_table::{FieldKind, OBSERVATION, SCORE};
use ratchet_core::record::score::DataType;
use ratchet_core::time::Timestamp;
use ratchet_store::query::Compare;
use serde_json::Value;

use super::split::observations;
use crate::filter::saved::Counted;
use crate::filter::{Filter, Pattern, RecordField, Term, TermCondition};
use crate::pages::scores::{self, condition};
use crate::request_context::{Link, RequestContext};
use crate::scope::Span;

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
    /// The list of scores that pass some conditions.
    Scores(Vec<FilterCondition>),
}

impl<'a> Drill<'a> {
    /// `None` if the list cannot have the filter of the chart.
    pub(super) fn of(
        chart: &'a Widget,
        besides: &[FilterCondition],
        ctx: &'a RequestContext,
    ) -> Option<Self> {
        let by = chart.dimensions.iter().map(|one| one.field.as_str()).collect();
        let filters = chart.filters.iter().chain(besides).cloned();
        let scores = |data_types: &[DataType]| {
            // Those of the page are for all its charts, and scores do not have every column.
            let fits = |one: &FilterCondition| SCORE.by_api_name(&one.column).is_some();
            let of_view = one_of("dataType", data_types.iter().map(|one| one.as_str()));
            Target::Scores(filters.clone().filter(fits).chain([of_view]).collect())
        };
        let to = match chart.view {
            WidgetRecords::Observations => {
                let filters: Vec<FilterCondition> = filters.collect();
                let (filter, unknown) = Filter::from_stored(&filters, Counted::Observations);
                if !unknown.is_empty() {
                    return None;
                }
                Target::Observations(filter)
            }
            WidgetRecords::ScoresNumeric => scores(&[DataType::Numeric, DataType::Boolean]),
            WidgetRecords::ScoresBoolean => scores(&[DataType::Boolean]),
            WidgetRecords::ScoresCategorical => scores(&[DataType::Categorical]),
        };
        Some(Self { ctx, to, by })
    }

    /// The records of the whole chart.
    pub(super) fn all(&self) -> Link {
        match &self.to {
            Target::Observations(filter) => observations(self.ctx, filter),
            Target::Scores(conditions) => scores::filtered(self.ctx, conditions),
        }
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
        let parts = self.by.iter().zip(key);
        match &self.to {
            Target::Scores(conditions) => {
                let mut conditions = conditions.clone();
                for (by, part) in parts {
                    conditions.push(of_score(by, part.as_deref()?)?);
                }
                Some(scores::filtered(self.ctx, &conditions))
            }
            Target::Observations(filter) => {
                let mut filter = filter.clone();
                for (by, part) in parts {
                    let field = OBSERVATION.by_api_name(by)?.field?;
                    filter.terms.push(term(field, part.as_deref())?);
                }
                Some(observations(self.ctx, &filter))
            }
        }
    }

    /// The records whose measure lies between two values, if a filter can name them; the upper end
    /// belongs to the last part of a distribution only.
    pub(super) fn between(&self, measure: &str, ends: (f64, f64), is_last: bool) -> Option<Link> {
        match &self.to {
            Target::Observations(filter) => {
                let field = OBSERVATION.by_api_name(measure)?.field?;
                let is_number = matches!(field.facts().kind, FieldKind::Number(_));
                if !is_number || OBSERVATION.filter(field).is_none() {
                    return None;
                }
                let upper = if is_last { Compare::AtMost } else { Compare::Less };
                let mut filter = filter.clone();
                filter.terms.push(Term::number(field, Compare::AtLeast, ends.0));
                filter.terms.push(Term::number(field, upper, ends.1));
                Some(observations(self.ctx, &filter))
            }
            Target::Scores(conditions) => {
                let is_number = matches!(SCORE.by_api_name(measure)?.kind, FieldKind::Number(_));
                let upper = if is_last { Operator::AtMost } else { Operator::Less };
                let bound = |operator, end: f64| {
                    condition(measure, FilterKind::Number, operator, end.into())
                };
                let mut conditions = conditions.clone();
                conditions.push(bound(Operator::AtLeast, ends.0));
                conditions.push(bound(upper, ends.1));
                is_number.then(|| scores::filtered(self.ctx, &conditions))
            }
        }
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

fn one_of<'a>(column: &str, words: impl Iterator<Item = &'a str>) -> FilterCondition {
    let words: Vec<Value> = words.map(Value::from).collect();
    condition(column, FilterKind::StringOptions, Operator::AnyOf, words.into())
}

/// A condition for scores whose column is a key.
fn of_score(column: &str, key: &str) -> Option<FilterCondition> {
    match SCORE.by_api_name(column)?.kind {
        FieldKind::Text | FieldKind::Choice => Some(one_of(column, [key].into_iter())),
        FieldKind::Boolean => {
            let is_true = key.to_ascii_lowercase().parse::<bool>().ok()?;
            Some(condition(column, FilterKind::Boolean, Operator::Equal, is_true.into()))
        }
        FieldKind::Number(_) => {
            let number = key.parse::<f64>().ok()?;
            Some(condition(column, FilterKind::Number, Operator::Equal, number.into()))
        }
        _ => None,
    }
}
