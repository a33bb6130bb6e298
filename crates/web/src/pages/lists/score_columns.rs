use std::collections::BTreeMap;

use maud::{Markup, html};
use ratchet_core::catalog::review::{CORRECTNESS, QUALITY};
use ratchet_core::quality::synthesis::{JudgeVersion, is_superseded};
use ratchet_core::record::limit::elide;
use ratchet_core::record::score::{Score, ScoreSource, ScoreTarget, ScoreValue};
use ratchet_store::StoreResult;
use ratchet_store::project::ProjectId;
use ratchet_store::query::{Condition, Paging, ScoreColumn, ScoreQuery, ScoresOn, Test, TimeRange};
use ratchet_store::telemetry::Telemetry;
use serde_json::{Map, Value};

use super::row::{CellValue, ListedRow};
use super::state::ListQuery;
use crate::components::badge::Decider;
use crate::components::figure;
use crate::filter::ListKind;
use crate::score_summary;

/// Scores that are read for the rows of a page, newest first.
const READ: u64 = 5_000;
/// Scores that are looked at for the names there are.
const SAMPLE: u64 = 500;

/// What was judged of some rows, by row and by name.
#[derive(Debug, Default)]
pub(super) struct Scored(BTreeMap<String, BTreeMap<String, ByPeople>>);

/// Scores of one name on one row: where people gave some, they supersede the others, which stay
/// visible.
#[derive(Clone, Debug, Default, PartialEq)]
struct ByPeople {
    people: Verdicts,
    /// By judge and its version, the one of the newest score first.
    others: Vec<(Decider, JudgeVersion, Verdicts)>,
}

impl ByPeople {
    fn take(&mut self, score: &Score) {
        if score.source == ScoreSource::Annotation {
            return self.people.take(score);
        }
        let (decider, judge) = (score_summary::decider(score), JudgeVersion::of(score));
        let is_it = |(its, version, _): &&mut (Decider, JudgeVersion, Verdicts)| {
            (*its, version) == (decider, &judge)
        };
        match self.others.iter_mut().find(is_it) {
            Some((.., verdicts)) => verdicts.take(score),
            None => {
                let mut verdicts = Verdicts::default();
                verdicts.take(score);
                self.others.push((decider, judge, verdicts));
            }
        }
    }

    /// The scores that count: those of people, or of the newest judge.
    fn first(&self) -> Option<&Verdicts> {
        let people = Some(&self.people).filter(|people| people.count() > 0);
        people.or_else(|| self.others.first().map(|(.., verdicts)| verdicts))
    }
}

/// All scores of one name on one row.
#[derive(Clone, Debug, Default, PartialEq)]
struct Verdicts {
    /// The sum of those that are numbers or truths.
    sum: f64,
    numbers: u32,
    /// Count of each category.
    words: BTreeMap<String, u32>,
}

impl Verdicts {
    fn take(&mut self, score: &Score) {
        // Categories are shown instead of their numbers, and booleans as a share.
        let number = match &score.value {
            ScoreValue::Numeric(_) | ScoreValue::Boolean(_) => score.value.number(),
            ScoreValue::Categorical { .. } | ScoreValue::Text(_) | ScoreValue::Correction(_) => {
                None
            }
        };
        match (number, score.value.text()) {
            (Some(number), _) => {
                self.sum += number;
                self.numbers += 1;
            }
            (None, Some(word)) => *self.words.entry(word.to_owned()).or_default() += 1,
            (None, None) => {}
        }
    }

    fn mean(&self) -> Option<f64> {
        (self.numbers > 0).then(|| self.sum / f64::from(self.numbers))
    }

    /// The most frequent category.
    fn word(&self) -> Option<&str> {
        let most = self.words.iter().max_by_key(|(_, count)| **count);
        most.map(|(word, _)| word.as_str())
    }

    fn count(&self) -> u32 {
        self.numbers + self.words.values().sum::<u32>()
    }

    /// What the displayed value is: `mean of 3`.
    fn kind(&self) -> String {
        match (self.count(), self.word()) {
            (1, _) => "one score".to_owned(),
            (count, Some(_)) => format!("most frequent of {count}"),
            (count, None) => format!("mean of {count}"),
        }
    }

    fn shown(&self) -> Markup {
        let count = self.count();
        html! {
            @match (self.word(), self.mean()) {
                (Some(word), _) => { bdi { (elide(word, 60)) } },
                (None, Some(mean)) => { (figure::number(mean)) },
                (None, None) => {},
            }
            @if count > 1 { " " small.muted { "×" (count) } }
        }
    }

    fn value(&self) -> Value {
        match (self.word(), self.mean()) {
            (Some(word), _) => Value::from(word),
            (None, Some(mean)) => Value::from(mean),
            (None, None) => Value::Null,
        }
    }
}

/// Reads what was judged of rows, in one question: scores of these names, or of all.
pub(super) async fn scored<R: ListedRow>(
    telemetry: &Telemetry,
    project: ProjectId,
    rows: &[R],
    names: Option<&[String]>,
) -> StoreResult<Scored> {
    let ids: Vec<String> = rows.iter().map(|row| row.facts().id).collect();
    if ids.is_empty() || names.is_some_and(<[String]>::is_empty) {
        return Ok(Scored::default());
    }
    let column = match R::ON {
        ListKind::Traces => ScoreColumn::Trace,
        ListKind::Observations => ScoreColumn::Observation,
        ListKind::Sessions => ScoreColumn::Session,
    };
    let mut conditions = vec![Condition { column, test: Test::AnyOf(ids) }];
    let is_quality_asked = names.is_some_and(|names| names.iter().any(|name| name == QUALITY));
    conditions.extend(names.map(|names| {
        let also = is_quality_asked.then(|| CORRECTNESS.to_owned());
        let names = names.iter().cloned().chain(also).collect();
        Condition { column: ScoreColumn::Name, test: Test::AnyOf(names) }
    }));
    let query = ScoreQuery {
        project,
        range: TimeRange::default(),
        on: ScoresOn::Anything,
        conditions,
        paging: Paging::After { cursor: None, limit: READ },
    };
    let mut scored = Scored::default();
    for score in telemetry.scores(query).await?.rows {
        let Some(id) = row_of(&score.target, R::ON) else { continue };
        if is_superseded(&score.metadata) {
            continue;
        }
        let row = scored.0.entry(id).or_default();
        row.entry(score.name.clone()).or_default().take(&score);
        // The online judge's quality is superseded by a person's correctness.
        let is_by_person = score.source == ScoreSource::Annotation;
        if is_by_person && score.name == CORRECTNESS && is_quality_asked {
            row.entry(QUALITY.to_owned()).or_default().take(&score);
        }
    }
    Ok(scored)
}

/// The judge of a score with its versions, or the kind of it.
fn who(decider: Decider, judge: &JudgeVersion) -> String {
    let known = score_summary::judge_words(judge).map(|judge| judge.exact);
    known.unwrap_or_else(|| decider.name().to_owned())
}

/// The row of a score; scores of an observation count for its trace too.
fn row_of(target: &ScoreTarget, on: ListKind) -> Option<String> {
    match (target, on) {
        (ScoreTarget::Trace(trace) | ScoreTarget::Observation(trace, _), ListKind::Traces) => {
            Some(trace.to_string())
        }
        (ScoreTarget::Observation(_, step), ListKind::Observations) => Some(step.to_string()),
        (ScoreTarget::Session(session), ListKind::Sessions) => Some(session.to_string()),
        _ => None,
    }
}

impl Scored {
    /// The displayed values: the mean, or the most frequent category, of people or of each judge.
    pub(super) fn cell(&self, row: &str, name: &str) -> Markup {
        let Some(verdicts) = self.0.get(row).and_then(|names| names.get(name)) else {
            return Markup::default();
        };
        let is_superseded = verdicts.people.count() > 0;
        html! {
            @if is_superseded {
                span class=(Decider::Human.class()) title={ (verdicts.people.kind()) " by people" } {
                    (verdicts.people.shown())
                }
            }
            @for (at, (decider, judge, verdicts)) in verdicts.others.iter().enumerate() {
                @let who = who(*decider, judge);
                @if is_superseded {
                    " " small.muted title={ "by " (who) ", superseded by a person" } {
                        "judge " (verdicts.shown())
                    }
                } @else {
                    @if at > 0 { " " }
                    span class=(decider.class()) title={ (verdicts.kind()) " by " (who) } {
                        (verdicts.shown())
                    }
                }
            }
        }
    }

    /// All scores of a row, as they are exported.
    pub(super) fn exported(&self, row: &str) -> CellValue {
        let Some(names) = self.0.get(row) else { return CellValue::Json(None) };
        let value = |verdicts: &ByPeople| verdicts.first().map_or(Value::Null, Verdicts::value);
        let fields = names.iter().map(|(name, verdicts)| (name.clone(), value(verdicts)));
        CellValue::Json(Some(Value::Object(fields.collect::<Map<_, _>>()).to_string()))
    }
}

/// The names of the newest scores: what can be chosen as columns.
pub(super) async fn names(
    telemetry: &Telemetry,
    ask: &ListQuery,
    on: ListKind,
) -> StoreResult<Vec<String>> {
    let environment = ask.environment.as_deref();
    let query = ScoreQuery {
        project: ask.project.clone(),
        range: ask.range,
        on: ScoresOn::Anything,
        conditions: environment
            .map(|word| Condition::equals(ScoreColumn::Environment, word))
            .into_iter()
            .collect(),
        paging: Paging::After { cursor: None, limit: SAMPLE },
    };
    let scores = telemetry.scores(query).await?.rows;
    let fits = scores.into_iter().filter(|score| row_of(&score.target, on).is_some());
    let mut names: Vec<String> = fits.map(|score| score.name).collect();
    names.sort();
    names.dedup();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_averaged_and_words_counted() {
        let mut numbers = Verdicts::default();
        (numbers.sum, numbers.numbers) = (1.5, 2);
        assert_eq!((numbers.value(), numbers.count()), (Value::from(0.75), 2));
        let words = BTreeMap::from([("bad".to_owned(), 1), ("good".to_owned(), 2)]);
        let words = Verdicts { words, ..Verdicts::default() };
        assert_eq!((words.value(), words.count()), (Value::from("good"), 3));
        assert_eq!(Verdicts::default().value(), Value::Null);
    }
}
