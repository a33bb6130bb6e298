//! Terms as the conditions that are kept with charts, and back.

use ratchet_remote::langfuse::wire::dashboard::WidgetFilter;
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
    pub(crate) fn to_kept(&self, on: Counted) -> Result<Vec<WidgetFilter>, Vec<String>> {
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
    pub(crate) fn of_kept(kept: &[WidgetFilter], on: Counted) -> (Self, Vec<WidgetFilter>) {
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

fn condition(column: &str, kind: &str, operator: &str, value: &Value) -> WidgetFilter {
    WidgetFilter {
        column: column.to_owned(),
        operator: operator.to_owned(),
        value_type: kind.to_owned(),
        value: serde_json::value::to_raw_value(value).ok().map(Into::into),
        key: None,
    }
}

fn term_to_kept(term: &Term, on: Counted) -> Option<WidgetFilter> {
    let negated = term.negated;
    match &term.what {
        What::Text(_) => None,
        What::Word(field, pattern) => {
            word_to_kept(word_column(*field, on)?, *field, pattern, negated)
        }
        What::Number(field, how, number) => {
            let operator = sign(*how, negated)?;
            Some(condition(number_column(*field, on)?, "number", operator, &json!(number)))
        }
        What::Score(name, verdict) if on == Counted::Observations => {
            let one_of = if negated { "none of" } else { "any of" };
            let filter = match verdict {
                Verdict::Number(how, number) => {
                    condition("scores_avg", "numberObject", sign(*how, negated)?, &json!(number))
                }
                Verdict::Truth(truth) => {
                    let is = if negated { "<>" } else { "=" };
                    condition("score_booleans", "booleanObject", is, &json!(truth))
                }
                Verdict::Label(label) => {
                    condition("score_categories", "categoryOptions", one_of, &json!([label]))
                }
            };
            Some(WidgetFilter { key: Some(name.clone()), ..filter })
        }
        What::Is(flag) if on == Counted::Observations => {
            Some(condition(flag_column(*flag), "boolean", "=", &json!(!negated)))
        }
        What::Score(..) | What::Is(_) => None,
    }
}

fn word_to_kept(
    column: &str,
    field: WordField,
    pattern: &Pattern,
    negated: bool,
) -> Option<WidgetFilter> {
    let text = |operator: &str, text: &str| condition(column, "string", operator, &json!(text));
    Some(match (pattern, negated) {
        (Pattern::Any, _) if field == WordField::Tag => return None,
        (Pattern::Any, false) => condition(column, "null", "is not null", &Value::Null),
        (Pattern::Any, true) => condition(column, "null", "is null", &Value::Null),
        (Pattern::Exactly(words), _) => {
            let kind = if field == WordField::Tag { "arrayOptions" } else { "stringOptions" };
            let operator = if negated { "none of" } else { "any of" };
            let has_fixed_words = matches!(field, WordField::Level | WordField::Kind);
            let word = |word: &String| {
                if has_fixed_words { word.to_ascii_uppercase() } else { word.clone() }
            };
            let words: Vec<String> = words.iter().map(word).collect();
            condition(column, kind, operator, &json!(words))
        }
        (Pattern::StartsWith(start), false) => text("starts with", start),
        (Pattern::EndsWith(end), false) => text("ends with", end),
        (Pattern::Contains(part), false) => text("matches", part),
        (Pattern::Contains(part), true) => text("does not contain", part),
        (Pattern::StartsWith(_) | Pattern::EndsWith(_), true) => return None,
    })
}

const fn sign(how: Compare, negated: bool) -> Option<&'static str> {
    Some(match (how, negated) {
        (Compare::Equal, false) | (Compare::Unequal, true) => "=",
        (Compare::Greater, false) | (Compare::AtMost, true) => ">",
        (Compare::AtLeast, false) | (Compare::Less, true) => ">=",
        (Compare::Less, false) | (Compare::AtLeast, true) => "<",
        (Compare::AtMost, false) | (Compare::Greater, true) => "<=",
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

fn term_of_kept(kept: &WidgetFilter, on: Counted) -> Option<Term> {
    let text = kept.value.as_ref().map_or("null", |value| value.get());
    let value: Value = serde_json::from_str(text).ok()?;
    let column = kept.column.as_str();
    let operator = kept.operator.as_str();
    let fields = WordField::ALL.into_iter();
    let word = || fields.clone().find(|field| word_column(*field, on) == Some(column));
    let term = |what: What, negated: bool| Some(Term { negated, what });
    match kept.value_type.as_str() {
        "string" => {
            let (field, text) = (word()?, value.as_str()?.to_owned());
            let (pattern, negated) = match operator {
                "=" => (Pattern::Exactly(vec![text]), false),
                "starts with" => (Pattern::StartsWith(text), false),
                "ends with" => (Pattern::EndsWith(text), false),
                "matches" => (Pattern::Contains(text), false),
                "does not contain" => (Pattern::Contains(text), true),
                _ => return None,
            };
            term(What::Word(field, pattern), negated)
        }
        "stringOptions" | "arrayOptions" if operator != "all of" => {
            let words: Option<Vec<String>> =
                value.as_array()?.iter().map(|word| word.as_str().map(str::to_owned)).collect();
            term(What::Word(word()?, Pattern::Exactly(words?)), operator == "none of")
        }
        "null" => term(What::Word(word()?, Pattern::Any), operator == "is null"),
        "number" => {
            let mut fields = NumberField::ALL.into_iter();
            let field = fields.find(|field| number_column(*field, on) == Some(column))?;
            term(What::Number(field, compare(operator)?, value.as_f64()?), false)
        }
        "boolean" if on == Counted::Observations => {
            let flag = Flag::ALL.into_iter().find(|flag| flag_column(*flag) == column)?;
            term(What::Is(flag), value.as_bool()? != (operator == "="))
        }
        _ if on == Counted::Observations => score_of_kept(kept, &value),
        _ => None,
    }
}

fn score_of_kept(kept: &WidgetFilter, value: &Value) -> Option<Term> {
    let name = kept.key.clone()?;
    let operator = kept.operator.as_str();
    let (verdict, negated) = match (kept.column.as_str(), kept.value_type.as_str()) {
        ("scores_avg" | "scores", "numberObject") => {
            (Verdict::Number(compare(operator)?, value.as_f64()?), false)
        }
        ("score_booleans", "booleanObject") => (Verdict::Truth(value.as_bool()?), operator == "<>"),
        ("score_categories", "categoryOptions") => match value.as_array()?.as_slice() {
            [label] => (Verdict::Label(label.as_str()?.to_owned()), operator == "none of"),
            _ => return None,
        },
        _ => return None,
    };
    Some(Term { negated, what: What::Score(name, verdict) })
}

fn compare(operator: &str) -> Option<Compare> {
    Some(match operator {
        "=" => Compare::Equal,
        ">" => Compare::Greater,
        ">=" => Compare::AtLeast,
        "<" => Compare::Less,
        "<=" => Compare::AtMost,
        _ => return None,
    })
}

/// A condition in words, where the language has none.
pub(crate) fn in_words(kept: &WidgetFilter) -> String {
    let key = kept.key.as_ref().map(|key| format!(".{key}")).unwrap_or_default();
    let value = kept.value.as_ref().map(|value| value.get()).unwrap_or_default();
    format!("{}{key} {} {value}", kept.column, kept.operator)
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
        let metadata = WidgetFilter {
            key: Some("team".to_owned()),
            ..condition("metadata", "stringObject", "=", &json!("red"))
        };
        let (filter, others) = Filter::of_kept(&[metadata], Counted::Observations);
        assert!(filter.terms.is_empty());
        assert_eq!(others.iter().map(in_words).collect::<Vec<_>>(), ["metadata.team = \"red\""]);
    }
}
