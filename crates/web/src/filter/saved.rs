//! Terms as the conditions that are kept with charts, and back.

use ratchet_core::catalog::filter::{FilterCondition, FilterKind, Operator};
use ratchet_store::query::Compare;
use serde_json::{Value, json};

use super::{Filter, Flag, NumberField, Pattern, Term, Verdict, What, WordField};

/// What a chart counts: its conditions have other names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counted {
    Observations,
    Scores,
}

impl Filter {
    /// The conditions to keep.
    ///
    /// # Errors
    /// What cannot be kept, term by term.
    pub(crate) fn to_kept(&self, on: Counted) -> Result<Vec<FilterCondition>, Vec<String>> {
        let mut kept = Vec::new();
        let mut problems = Vec::new();
        for term in &self.terms {
            match term_to_kept(term, on) {
                Some(filter) => kept.push(filter),
                None => problems.push(format!("charts do not support the filter “{term}”")),
            }
        }
        if problems.is_empty() { Ok(kept) } else { Err(problems) }
    }

    /// What kept conditions mean in the language, and those it has no words for.
    pub(crate) fn of_kept(kept: &[FilterCondition], on: Counted) -> (Self, Vec<FilterCondition>) {
        let mut filter = Self::default();
        let mut others = Vec::new();
        for one in kept {
            match term_of_kept(one, on) {
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

fn term_to_kept(term: &Term, on: Counted) -> Option<FilterCondition> {
    let negated = term.negated;
    match &term.what {
        What::Text(_) => None,
        What::Word(field, pattern) => {
            word_to_kept(word_column(*field, on)?, *field, pattern, negated)
        }
        What::Number(field, how, number) => {
            let operator = sign(*how, negated)?;
            Some(condition(number_column(*field, on)?, FilterKind::Number, operator, json!(number)))
        }
        What::Score(name, verdict) if on == Counted::Observations => {
            let one_of = if negated { Operator::NoneOf } else { Operator::AnyOf };
            let filter = match verdict {
                Verdict::Number(how, number) => condition(
                    "scores_avg",
                    FilterKind::NumberObject,
                    sign(*how, negated)?,
                    json!(number),
                ),
                Verdict::Truth(truth) => {
                    let is = if negated { Operator::NotEqual } else { Operator::Equal };
                    condition("score_booleans", FilterKind::BooleanObject, is, json!(truth))
                }
                Verdict::Label(label) => condition(
                    "score_categories",
                    FilterKind::CategoryOptions,
                    one_of,
                    json!([label]),
                ),
            };
            Some(FilterCondition { key: Some(name.clone()), ..filter })
        }
        What::Is(flag) if on == Counted::Observations => Some(condition(
            flag_column(*flag),
            FilterKind::Boolean,
            Operator::Equal,
            json!(!negated),
        )),
        What::Score(..) | What::Is(_) => None,
    }
}

fn word_to_kept(
    column: &str,
    field: WordField,
    pattern: &Pattern,
    negated: bool,
) -> Option<FilterCondition> {
    let text = |operator: Operator, text: &str| {
        condition(column, FilterKind::String, operator, json!(text))
    };
    Some(match (pattern, negated) {
        (Pattern::Any, _) if field == WordField::Tag => return None,
        (Pattern::Any, false) => {
            condition(column, FilterKind::Null, Operator::IsNotNull, Value::Null)
        }
        (Pattern::Any, true) => condition(column, FilterKind::Null, Operator::IsNull, Value::Null),
        (Pattern::Exactly(words), _) => {
            let kind = if field == WordField::Tag {
                FilterKind::ArrayOptions
            } else {
                FilterKind::StringOptions
            };
            let operator = if negated { Operator::NoneOf } else { Operator::AnyOf };
            let has_fixed_words = matches!(field, WordField::Level | WordField::Kind);
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

const fn word_column(field: WordField, on: Counted) -> Option<&'static str> {
    Some(match (field, on) {
        (WordField::Id, _) => "id",
        (WordField::Name, _) => "name",
        (WordField::User, _) => "userId",
        (WordField::Session, _) => "sessionId",
        (WordField::Environment, _) => "environment",
        (WordField::Tag, _) => "tags",
        (WordField::Release, _) => "release",
        (WordField::Trace, _) => "traceId",
        (WordField::TraceName, _) => "traceName",
        (WordField::Model, Counted::Observations) => "providedModelName",
        (WordField::Model, Counted::Scores) => "observationModelName",
        (WordField::Prompt, Counted::Observations) => "promptName",
        (WordField::Prompt, Counted::Scores) => "observationPromptName",
        (WordField::Version, Counted::Observations) => "version",
        (WordField::Version, Counted::Scores) => "traceVersion",
        (WordField::Agent, Counted::Observations) => "agent",
        (WordField::Level, Counted::Observations) => "level",
        (WordField::Kind, Counted::Observations) => "type",
        (WordField::Status, Counted::Observations) => "statusMessage",
        (
            WordField::Agent | WordField::Level | WordField::Kind | WordField::Status,
            Counted::Scores,
        ) => return None,
    })
}

const fn number_column(field: NumberField, on: Counted) -> Option<&'static str> {
    if matches!(on, Counted::Scores) {
        return None;
    }
    Some(match field {
        NumberField::Cost => "totalCost",
        NumberField::Latency => "latency",
        NumberField::Tokens => "totalTokens",
        NumberField::InputTokens => "inputTokens",
        NumberField::OutputTokens => "outputTokens",
        NumberField::FirstToken => "timeToFirstToken",
        NumberField::Scores | NumberField::Steps | NumberField::Errors => return None,
    })
}

const fn flag_column(flag: Flag) -> &'static str {
    match flag {
        Flag::Bookmarked => "bookmarked",
        Flag::Public => "public",
        Flag::Root => "isRootObservation",
    }
}

fn term_of_kept(kept: &FilterCondition, on: Counted) -> Option<Term> {
    let (column, operator, value) = (kept.column.as_str(), kept.operator, &kept.value);
    let fields = WordField::ALL.into_iter();
    let word = || fields.clone().find(|field| word_column(*field, on) == Some(column));
    let term = |what: What, negated: bool| Some(Term { negated, what });
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
            term(What::Word(field, pattern), negated)
        }
        FilterKind::StringOptions | FilterKind::ArrayOptions if operator != Operator::AllOf => {
            let words: Option<Vec<String>> =
                value.as_array()?.iter().map(|word| word.as_str().map(str::to_owned)).collect();
            term(What::Word(word()?, Pattern::Exactly(words?)), operator == Operator::NoneOf)
        }
        FilterKind::Null => term(What::Word(word()?, Pattern::Any), operator == Operator::IsNull),
        FilterKind::Number => {
            let mut fields = NumberField::ALL.into_iter();
            let field = fields.find(|field| number_column(*field, on) == Some(column))?;
            term(What::Number(field, compare(operator)?, value.as_f64()?), false)
        }
        FilterKind::Boolean if on == Counted::Observations => {
            let flag = Flag::ALL.into_iter().find(|flag| flag_column(*flag) == column)?;
            term(What::Is(flag), value.as_bool()? != (operator == Operator::Equal))
        }
        _ if on == Counted::Observations => score_of_kept(kept),
        _ => None,
    }
}

fn score_of_kept(kept: &FilterCondition) -> Option<Term> {
    let name = kept.key.clone()?;
    let (operator, value) = (kept.operator, &kept.value);
    let (verdict, negated) = match (kept.column.as_str(), kept.kind) {
        ("scores_avg" | "scores", FilterKind::NumberObject) => {
            (Verdict::Number(compare(operator)?, value.as_f64()?), false)
        }
        ("score_booleans", FilterKind::BooleanObject) => {
            (Verdict::Truth(value.as_bool()?), operator == Operator::NotEqual)
        }
        ("score_categories", FilterKind::CategoryOptions) => match value.as_array()?.as_slice() {
            [label] => (Verdict::Label(label.as_str()?.to_owned()), operator == Operator::NoneOf),
            _ => return None,
        },
        _ => return None,
    };
    Some(Term { negated, what: What::Score(name, verdict) })
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
    use crate::filter::On;

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
            let typed = Filter::parse(On::Observations, text).filter;
            assert_eq!(typed.terms.len(), 1, "{text}");
            let kept = typed.to_kept(Counted::Observations).unwrap();
            let (back, others) = Filter::of_kept(&kept, Counted::Observations);
            let upper = |filter: &Filter| filter.to_string().to_uppercase();
            assert_eq!((upper(&back), others.len()), (upper(&typed), 0), "{text}");
        }
    }

    #[test]
    fn what_cannot_be_kept_is_named() {
        let refused = |text: &str, on| {
            Filter::parse(On::Observations, text).filter.to_kept(on).unwrap_err().join(" ")
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
        let (filter, others) = Filter::of_kept(&[metadata], Counted::Observations);
        assert!(filter.terms.is_empty());
        assert_eq!(others.iter().map(in_words).collect::<Vec<_>>(), ["metadata.team = \"red\""]);
    }
}
