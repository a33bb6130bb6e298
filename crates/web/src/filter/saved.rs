//! Terms as the conditions that are kept with charts and rules, and back.

use ratchet_core::catalog::filter::{FilterCondition, FilterKind, Operator};
use ratchet_core::record::field_table::{FieldFacts, FieldKind, OBSERVATION, SCORE, TRACE};
use ratchet_store::query::Compare;
use serde_json::{Value, json};

use super::{Filter, Pattern, RecordField, ScoreCondition, Term, TermCondition};

/// What a chart counts or a rule selects: its conditions have other names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counted {
    Observations,
    Scores,
    Traces,
}

impl Filter {
    /// The conditions to keep.
    ///
    /// # Errors
    /// What cannot be kept, term by term.
    pub(crate) fn to_stored(&self, on: Counted) -> Result<Vec<FilterCondition>, Vec<String>> {
        let mut kept = Vec::new();
        let mut problems = Vec::new();
        for term in &self.terms {
            match term_to_stored(term, on) {
                Some(filter) => kept.push(filter),
                None => problems.push(format!("the filter “{term}” is for lists only")),
            }
        }
        if problems.is_empty() { Ok(kept) } else { Err(problems) }
    }

    /// What kept conditions mean in the language, and those it has no words for.
    pub(crate) fn from_stored(
        kept: &[FilterCondition],
        on: Counted,
    ) -> (Self, Vec<FilterCondition>) {
        let mut filter = Self::default();
        let mut others = Vec::new();
        for one in kept {
            match term_from_stored(one, on) {
                Some(term) => filter.terms.push(term),
                None => others.push(one.clone()),
            }
        }
        (filter, others)
    }
}

fn condition(column: &str, kind: FilterKind, operator: Operator, value: Value) -> FilterCondition {
    FilterCondition { column: column.to_owned(), operator, kind, value, key: None }
}

fn term_to_stored(term: &Term, on: Counted) -> Option<FilterCondition> {
    let negated = term.negated;
    match &term.what {
        TermCondition::Text(_) => None,
        TermCondition::Word(field, pattern) => {
            word_to_stored(column(*field, on)?, *field, pattern, negated)
        }
        TermCondition::Number(field, how, number) => {
            let operator = sign(*how, negated)?;
            Some(condition(column(*field, on)?, FilterKind::Number, operator, json!(number)))
        }
        TermCondition::Score(name, verdict) if on != Counted::Scores => {
            let one_of = if negated { Operator::NoneOf } else { Operator::AnyOf };
            let filter = match verdict {
                ScoreCondition::Number(how, number) => condition(
                    score_column(FieldKind::ScoreNumbers, on)?,
                    FilterKind::NumberObject,
                    sign(*how, negated)?,
                    json!(number),
                ),
                ScoreCondition::Truth(truth) => {
                    let is = if negated { Operator::NotEqual } else { Operator::Equal };
                    condition(
                        score_column(FieldKind::ScoreBooleans, on)?,
                        FilterKind::BooleanObject,
                        is,
                        json!(truth),
                    )
                }
                ScoreCondition::Label(label) => condition(
                    score_column(FieldKind::ScoreLabels, on)?,
                    FilterKind::CategoryOptions,
                    one_of,
                    json!([label]),
                ),
            };
            Some(FilterCondition { key: Some(name.clone()), ..filter })
        }
        TermCondition::Is(flag) if on != Counted::Scores => Some(condition(
            column(*flag, on)?,
            FilterKind::Boolean,
            Operator::Equal,
            json!(!negated),
        )),
        TermCondition::Score(..) | TermCondition::Is(_) => None,
    }
}

fn word_to_stored(
    column: &str,
    field: RecordField,
    pattern: &Pattern,
    negated: bool,
) -> Option<FilterCondition> {
    let text = |operator: Operator, text: &str| {
        condition(column, FilterKind::String, operator, json!(text))
    };
    Some(match (pattern, negated) {
        (Pattern::Any, _) if field == RecordField::Tags => return None,
        (Pattern::Any, false) => {
            condition(column, FilterKind::Null, Operator::IsNotNull, Value::Null)
        }
        (Pattern::Any, true) => condition(column, FilterKind::Null, Operator::IsNull, Value::Null),
        (Pattern::Exactly(words), _) => {
            let kind = if field == RecordField::Tags {
                FilterKind::ArrayOptions
            } else {
                FilterKind::StringOptions
            };
            let operator = if negated { Operator::NoneOf } else { Operator::AnyOf };
            let has_fixed_words = field.facts().kind == FieldKind::Choice;
            let word = |word: &String| {
                if has_fixed_words { word.to_ascii_uppercase() } else { word.clone() }
            };
            let words: Vec<String> = words.iter().map(word).collect();
            condition(column, kind, operator, json!(words))
        }
        (Pattern::StartsWith(start), false) => text(Operator::StartsWith, start),
        (Pattern::EndsWith(end), false) => text(Operator::EndsWith, end),
        (Pattern::Contains(part), false) => text(Operator::Matches, part),
        (Pattern::Contains(part), true) => text(Operator::Lacks, part),
        (Pattern::StartsWith(_) | Pattern::EndsWith(_), true) => return None,
    })
}

const fn sign(how: Compare, negated: bool) -> Option<Operator> {
    Some(match (how, negated) {
        (Compare::Equal, false) | (Compare::Unequal, true) => Operator::Equal,
        (Compare::Greater, false) | (Compare::AtMost, true) => Operator::Greater,
        (Compare::AtLeast, false) | (Compare::Less, true) => Operator::AtLeast,
        (Compare::Less, false) | (Compare::AtLeast, true) => Operator::Less,
        (Compare::AtMost, false) | (Compare::Greater, true) => Operator::AtMost,
        (Compare::Equal, true) | (Compare::Unequal, false) => return None,
    })
}

/// The name of a field in stored conditions, if what is counted has it.
fn column(field: RecordField, on: Counted) -> Option<&'static str> {
    let names = match on {
        Counted::Observations => OBSERVATION.filter(field)?.api,
        Counted::Scores => SCORE.filter(field)?.api,
        Counted::Traces => TRACE.filter(field)?.api,
    };
    names.first().copied()
}

/// The name of the scores of a kind in stored conditions on traces or observations.
fn score_column(kind: FieldKind, on: Counted) -> Option<&'static str> {
    let names = match on {
        Counted::Observations => OBSERVATION.of_kind(kind)?.api,
        Counted::Scores => return None,
        Counted::Traces => TRACE.of_kind(kind)?.api,
    };
    names.first().copied()
}

/// The field of a name in stored conditions.
fn field_of(name: &str, on: Counted) -> Option<&'static FieldFacts> {
    let (field, is_filter) = match on {
        Counted::Observations => {
            OBSERVATION.by_api_name(name).map(|found| (found.field, found.is_filter))?
        }
        Counted::Scores => SCORE.by_api_name(name).map(|found| (found.field, found.is_filter))?,
        Counted::Traces => TRACE.by_api_name(name).map(|found| (found.field, found.is_filter))?,
    };
    field.filter(|_| is_filter).map(RecordField::facts)
}

fn term_from_stored(kept: &FilterCondition, on: Counted) -> Option<Term> {
    let (operator, value) = (kept.operator, &kept.value);
    let field = |is_kind: fn(FieldKind) -> bool| {
        field_of(&kept.column, on).filter(|facts| is_kind(facts.kind)).map(|facts| facts.field)
    };
    let word =
        || field(|kind| matches!(kind, FieldKind::Text | FieldKind::Choice | FieldKind::Tags));
    let term = |what: TermCondition, negated: bool| Some(Term { negated, what });
    match kept.kind {
        FilterKind::String => {
            let (field, text) = (word()?, value.as_str()?.to_owned());
            let (pattern, negated) = match operator {
                Operator::Equal => (Pattern::Exactly(vec![text]), false),
                Operator::StartsWith => (Pattern::StartsWith(text), false),
                Operator::EndsWith => (Pattern::EndsWith(text), false),
                Operator::Matches => (Pattern::Contains(text), false),
                Operator::Lacks => (Pattern::Contains(text), true),
                _ => return None,
            };
            term(TermCondition::Word(field, pattern), negated)
        }
        FilterKind::StringOptions | FilterKind::ArrayOptions if operator != Operator::AllOf => {
            let words: Option<Vec<String>> =
                value.as_array()?.iter().map(|word| word.as_str().map(str::to_owned)).collect();
            term(
                TermCondition::Word(word()?, Pattern::Exactly(words?)),
                operator == Operator::NoneOf,
            )
        }
        FilterKind::Null => {
            term(TermCondition::Word(word()?, Pattern::Any), operator == Operator::IsNull)
        }
        FilterKind::Number => {
            let field = field(|kind| matches!(kind, FieldKind::Number(_)))?;
            term(TermCondition::Number(field, compare(operator)?, value.as_f64()?), false)
        }
        FilterKind::Boolean if on != Counted::Scores => {
            let flag = field(|kind| kind == FieldKind::Boolean)?;
            term(TermCondition::Is(flag), value.as_bool()? != (operator == Operator::Equal))
        }
        _ if on != Counted::Scores => score_from_stored(kept, on),
        _ => None,
    }
}

fn score_from_stored(kept: &FilterCondition, on: Counted) -> Option<Term> {
    let name = kept.key.clone()?;
    let (operator, value) = (kept.operator, &kept.value);
    let (verdict, negated) = match (score_kind(&kept.column, on)?, kept.kind) {
        (FieldKind::ScoreNumbers, FilterKind::NumberObject) => {
            (ScoreCondition::Number(compare(operator)?, value.as_f64()?), false)
        }
        (FieldKind::ScoreBooleans, FilterKind::BooleanObject) => {
            (ScoreCondition::Truth(value.as_bool()?), operator == Operator::NotEqual)
        }
        (FieldKind::ScoreLabels, FilterKind::CategoryOptions) => match value.as_array()?.as_slice()
        {
            [label] => {
                (ScoreCondition::Label(label.as_str()?.to_owned()), operator == Operator::NoneOf)
            }
            _ => return None,
        },
        _ => return None,
    };
    Some(Term { negated, what: TermCondition::Score(name, verdict) })
}

/// What kind of scores a name in stored conditions stands for.
fn score_kind(name: &str, on: Counted) -> Option<FieldKind> {
    match on {
        Counted::Observations => Some(OBSERVATION.by_api_name(name)?.kind),
        Counted::Scores => None,
        Counted::Traces => Some(TRACE.by_api_name(name)?.kind),
    }
}

fn compare(operator: Operator) -> Option<Compare> {
    Some(match operator {
        Operator::Equal => Compare::Equal,
        Operator::Greater => Compare::Greater,
        Operator::AtLeast => Compare::AtLeast,
        Operator::Less => Compare::Less,
        Operator::AtMost => Compare::AtMost,
        _ => return None,
    })
}

/// A condition in words, where the language has none.
pub(crate) fn in_words(kept: &FilterCondition) -> String {
    let key = kept.key.as_ref().map(|key| format!(".{key}")).unwrap_or_default();
    let value = if kept.value.is_null() { String::new() } else { kept.value.to_string() };
    format!("{}{key} {} {value}", kept.column, kept.operator.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::ListKind;

    #[test]
    fn what_is_kept_comes_back_as_it_was_typed() {
        for text in [
            "model:gpt-5",
            "-env:test,staging",
            "name:refund*",
            "name:*fund*",
            "-name:*fund*",
            "user:*",
            "-user:*",
            "tag:vip",
            "level:error",
            "type:generation",
            "cost>0.1",
            "latency>=2s",
            "tokens<1000",
            "score.helpful>0.5",
            "score.safe:true",
            "-score.safe:true",
            "score.verdict:\"good\"",
            "is:root",
            "-is:public",
        ] {
            let typed = Filter::parse(ListKind::Observations, text).filter;
            assert_eq!(typed.terms.len(), 1, "{text}");
            let kept = typed.to_stored(Counted::Observations).unwrap();
            let (back, others) = Filter::from_stored(&kept, Counted::Observations);
            let upper = |filter: &Filter| filter.to_string().to_uppercase();
            assert_eq!((upper(&back), others.len()), (upper(&typed), 0), "{text}");
        }
    }

    #[test]
    fn conditions_on_traces_come_back_as_they_were_typed() {
        for text in [
            "name:refund*",
            "-env:test,staging",
            "tag:vip",
            "level:error",
            "cost>0.1",
            "latency>=2s",
            "score.helpful>0.5",
            "-score.safe:true",
            "is:bookmarked",
        ] {
            let typed = Filter::parse(ListKind::Traces, text).filter;
            assert_eq!(typed.terms.len(), 1, "{text}");
            let kept = typed.to_stored(Counted::Traces).unwrap();
            assert!(kept.iter().all(|one| one.check().is_ok()), "{kept:?}");
            let (back, others) = Filter::from_stored(&kept, Counted::Traces);
            let upper = |filter: &Filter| filter.to_string().to_uppercase();
            assert_eq!((upper(&back), others.len()), (upper(&typed), 0), "{text}");
        }
    }

    #[test]
    fn what_cannot_be_kept_is_named() {
        let refused = |text: &str, on| {
            Filter::parse(ListKind::Observations, text).filter.to_stored(on).unwrap_err().join(" ")
        };
        assert!(refused("\"free text\"", Counted::Observations).contains("free text"));
        assert!(refused("name:x level:error", Counted::Scores).contains("level:error"));
    }

    #[test]
    fn conditions_without_words_are_kept_beside() {
        let metadata = FilterCondition {
            key: Some("team".to_owned()),
            ..condition("metadata", FilterKind::StringObject, Operator::Equal, json!("red"))
        };
        let (filter, others) = Filter::from_stored(&[metadata], Counted::Observations);
        assert!(filter.terms.is_empty());
        assert_eq!(others.iter().map(in_words).collect::<Vec<_>>(), ["metadata.team = \"red\""]);
    }
}
