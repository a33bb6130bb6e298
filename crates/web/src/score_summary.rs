//! Aggregates of scores by name, source and data type.

use std::collections::BTreeMap;

use maud::{Markup, html};
use ratchet_core::id::{SessionId, TraceId};
use ratchet_core::judge::code_evaluator::CODE_JUDGE;
use ratchet_core::judge::offline;
use ratchet_core::quality::synthesis::JudgeVersion;
use ratchet_core::record::score::user_feedback::{is_user_feedback, names_a_person};
use ratchet_core::record::score::{DataType, Score, ScoreSource, ScoreTarget, ScoreValue};
use ratchet_core::stats::bounded;
use ratchet_core::stats::distribution::{self, HistogramBin};
use ratchet_core::stats::interval::{self, Estimate};
use ratchet_core::time::Timestamp;
use ratchet_store::score_stats::{MAX_COUNTED, Sample, ScoreValueRow};

use crate::components::badge::{self, Decider};
use crate::components::figure;
use crate::request_context::{Link, RequestContext};

/// Aggregate of the scores of one name, source, data type and kind of judge.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ScoreSummary {
    pub(crate) source: ScoreSource,
    /// Who really judged.
    pub(crate) decider: Decider,
    /// Name and versions of the judge, where the scores say.
    pub(crate) judge: JudgeVersion,
    /// Data type of the values.
    pub(crate) data_type: DataType,
    pub(crate) together: ScoreAggregate,
    /// Number of scores in the sample.
    pub(crate) n: u64,
    /// Time of the last score.
    pub(crate) last_at: Timestamp,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ScoreAggregate {
    /// Mean and distribution.
    Numbers(Option<Estimate>, Vec<HistogramBin>),
    /// Share and number of true values.
    Truths(Option<Estimate>, u64),
    /// Count of each value, most frequent first.
    Labels(Vec<(String, u64)>),
    /// Text scores have no aggregate.
    Texts,
}

/// What the scores of a part have in common.
type PartKey = (ScoreSource, DataType, Decider, JudgeVersion);

/// Splits a sample by source, data type, judge and its version, most frequent first. Verdicts that a
/// newer one took the place of are left out.
pub(crate) fn parts(sample: &Sample) -> Vec<ScoreSummary> {
    let mut parts: BTreeMap<PartKey, Vec<&ScoreValueRow>> = BTreeMap::new();
    for judgement in sample.judgements.iter().filter(|judgement| !judgement.is_superseded) {
        parts.entry(part_key(&sample.name, judgement)).or_default().push(judgement);
    }
    let judged = |(key, judgements): (PartKey, Vec<&ScoreValueRow>)| {
        let (source, data_type, decider, judge) = key;
        let times = judgements.iter().map(|judgement| judgement.timestamp);
        ScoreSummary {
            source,
            decider,
            judge,
            data_type,
            together: together(data_type, &judgements),
            n: judgements.len() as u64,
            last_at: times.max().unwrap_or_default(),
        }
    };
    let mut parts: Vec<ScoreSummary> = parts.into_iter().map(judged).collect();
    parts.sort_by_key(|part| std::cmp::Reverse(part.n));
    parts
}

fn part_key(name: &str, row: &ScoreValueRow) -> PartKey {
    (row.source, row.value.data_type(), row_decider(name, row), row.judge.clone())
}

impl ScoreSummary {
    /// Whether the summary counts a score of this name.
    pub(crate) fn counts(&self, name: &str, row: &ScoreValueRow) -> bool {
        let own = (self.source, self.data_type, self.decider, self.judge.clone());
        !row.is_superseded && part_key(name, row) == own
    }
}

fn together(data_type: DataType, judgements: &[&ScoreValueRow]) -> ScoreAggregate {
    match data_type {
        DataType::Numeric => {
            let numbers: Vec<f64> =
                judgements.iter().filter_map(|judgement| judgement.value.number()).collect();
            ScoreAggregate::Numbers(
                bounded::mean_of_scores(&numbers).ok(),
                distribution::bins(&numbers, 20),
            )
        }
        DataType::Boolean => {
            let is_yes = |judgement: &&&ScoreValueRow| judgement.value == ScoreValue::Boolean(true);
            let yes = judgements.iter().filter(is_yes).count() as u64;
            ScoreAggregate::Truths(interval::share(yes, judgements.len() as u64), yes)
        }
        DataType::Categorical => {
            let labels = judgements.iter().filter_map(|judgement| judgement.value.text());
            let counts = distribution::labels(labels).into_iter();
            ScoreAggregate::Labels(counts.map(|(label, count)| (label.to_owned(), count)).collect())
        }
        DataType::Text | DataType::Correction => ScoreAggregate::Texts,
    }
}

/// Display name of a data type.
pub(crate) const fn form(data_type: DataType) -> &'static str {
    match data_type {
        DataType::Numeric => "Numeric",
        DataType::Boolean => "Boolean",
        DataType::Categorical => "Categorical",
        DataType::Text => "Text",
        DataType::Correction => "Correction",
    }
}

/// Who the scores of a source are by; `None` where that differs.
pub(crate) fn decider_of(source: ScoreSource, parts: &[ScoreSummary]) -> Option<Decider> {
    let mut deciders = parts.iter().filter(|part| part.source == source).map(|part| part.decider);
    let first = deciders.next()?;
    deciders.all(|decider| decider == first).then_some(first)
}

/// Display name of a score source.
pub(crate) const fn source_name(source: ScoreSource) -> &'static str {
    match source {
        ScoreSource::Api => "API",
        ScoreSource::Eval => "evaluator",
        ScoreSource::Annotation => "annotation",
    }
}

/// Who judged the scores of a part.
pub(crate) fn judge_badge(part: &ScoreSummary) -> Markup {
    html! {
        span title={ "source " (part.source.as_str())
                     @if let Some(judge) = judge_words(&part.judge) { ", by " (judge.exact) } } {
            (badge::decided(part.decider, part.decider.name()))
            @if let Some(judge) = judge_words(&part.judge) { " " span.muted { bdi { (judge.plain) } } }
        }
    }
}

/// A judge with its rubric version in words.
pub(crate) struct JudgeWords {
    pub(crate) plain: String,
    /// The same, with the judge's own version.
    pub(crate) exact: String,
}

/// Names a judge; `None` where scores do not say.
pub(crate) fn judge_words(judge: &JudgeVersion) -> Option<JudgeWords> {
    let is_known = !judge.judge.is_empty();
    is_known.then(|| JudgeWords { plain: judge.words(), exact: judge.exact_words() })
}

/// Who really judged: rules are code, models are models, users and annotators are people. A judge
/// that sends its scores over the API is what it is.
fn judged_by(
    (source, name): (ScoreSource, &str),
    judge: Option<&str>,
    names_a_person: bool,
) -> Decider {
    match (source, judge) {
        (ScoreSource::Annotation, _) => Decider::Human,
        (ScoreSource::Api | ScoreSource::Eval, Some(judge)) => decider_of_judge(judge),
        (ScoreSource::Eval, None) => Decider::Model,
        (ScoreSource::Api, None) if names_a_person || is_user_feedback(name) => Decider::Human,
        (ScoreSource::Api, None) => Decider::Code,
    }
}

/// Whether a judge is rules or a model.
pub(crate) fn decider_of_judge(judge: &str) -> Decider {
    let is_code = judge == offline::NAME || judge.starts_with(CODE_JUDGE);
    if is_code { Decider::Code } else { Decider::Model }
}

pub(crate) fn decider(score: &Score) -> Decider {
    judged_by((score.source, &score.name), judge_of(score), names_a_person(score))
}

/// Who judged a score of a sample.
pub(crate) fn row_decider(name: &str, row: &ScoreValueRow) -> Decider {
    let judge = Some(row.judge.judge.as_str()).filter(|judge| !judge.is_empty());
    judged_by((row.source, name), judge, row.names_a_person)
}

/// Name of the judge for people.
pub(crate) fn judge_name(score: &Score) -> String {
    match (decider(score), judge_of(score)) {
        (_, Some(offline::NAME)) => "Offline judge (rules)".to_owned(),
        (_, Some(judge)) => judge.to_owned(),
        (Decider::Human, None) if score.source == ScoreSource::Api => "User feedback".to_owned(),
        (Decider::Human, None) => "Annotator".to_owned(),
        (Decider::Model, None) => "Evaluator".to_owned(),
        (Decider::Code, None) => "API".to_owned(),
    }
}

/// The judge that a score names in its metadata.
fn judge_of(score: &Score) -> Option<&str> {
    let judge = score.metadata.iter().find(|(key, _)| key == "judge")?;
    Some(judge.1.as_str().trim_matches('"'))
}

/// Total number of scores, `at least` where counting stopped.
pub(crate) fn total(total: u64) -> String {
    let more = if total >= MAX_COUNTED { "at least " } else { "" };
    format!("{more}{}", figure::grouped(total))
}

/// A mean with its interval: `0.84`, `0.71 to 0.92`. Intervals of bounded values are not symmetric.
pub(crate) fn mean(estimate: Estimate) -> (String, Option<String>) {
    let ends = estimate.interval.map(|interval| {
        format!("{} to {}", figure::number(interval.lower), figure::number(interval.upper))
    });
    (figure::number(estimate.value), ends)
}

/// A share with its interval: `84%`, `79 to 88%`.
pub(crate) fn share(estimate: Estimate) -> (String, Option<String>) {
    let ends = estimate
        .interval
        .map(|interval| format!("{:.0} to {:.0}%", interval.lower * 100.0, interval.upper * 100.0));
    (figure::percent(estimate.value), ends)
}

/// Display text of a value.
pub(crate) fn value(value: &ScoreValue) -> String {
    match value {
        ScoreValue::Numeric(number) => figure::number(*number),
        ScoreValue::Boolean(yes) => if *yes { "true" } else { "false" }.to_owned(),
        ScoreValue::Categorical { label, .. } => label.clone(),
        ScoreValue::Text(text) | ScoreValue::Correction(text) => text.clone(),
    }
}

/// Scores with those of people first: they supersede the judge's, which stay visible.
pub(crate) fn people_first(scores: &[Score]) -> Vec<&Score> {
    let mut ordered: Vec<&Score> = scores.iter().collect();
    ordered.sort_by_key(|score| score.source != ScoreSource::Annotation);
    ordered
}

/// A score as a compact badge, with details in its tooltip.
pub(crate) fn chip(score: &Score, ctx: &RequestContext) -> Markup {
    let shown = ratchet_core::record::limit::elide(&value(&score.value), 60).into_owned();
    let comment =
        score.comment.as_deref().map(|comment| ratchet_core::record::limit::elide(comment, 500));
    html! {
        a class={ "badge score " (decider(score).class()) } href=(link(ctx, &score.name))
          title={ "by " (judge_name(score)) ", " (score.timestamp)
                  @if let Some(comment) = &comment { ": " (comment) } } {
            bdi { (ratchet_core::record::limit::elide(&score.name, 60)) } " " b { bdi { (shown) } }
        }
    }
}

/// Link to the page of a score.
pub(crate) fn link(ctx: &RequestContext, name: &str) -> Link {
    match name {
        // `compare` is the path of the comparison page.
        "compare" => ctx.to(&["scores", "named", name]),
        _ => ctx.to(&["scores", name]),
    }
}

/// What the targets of scores are called: first requests of sessions, and names of traces.
#[derive(Debug, Default)]
pub(crate) struct TargetTitles {
    pub(crate) sessions: BTreeMap<SessionId, String>,
    pub(crate) traces: BTreeMap<TraceId, String>,
}

/// Link to the target of a score, by its title where there is one.
pub(crate) fn target(target: &ScoreTarget, titles: &TargetTitles, ctx: &RequestContext) -> Markup {
    let short = |id: String| id.chars().take(12).collect::<String>();
    let named = |kind: &str, title: Option<&String>, id: String| {
        html! {
            (kind) " "
            @match title {
                Some(title) => { bdi { (ratchet_core::record::limit::elide(title, 80)) } },
                None => { code { (short(id)) } },
            }
        }
    };
    html! {
        @match target {
            ScoreTarget::Trace(trace) => {
                a href=(ctx.to(&["traces", &trace.to_string()])) title=(trace) {
                    (named("trace", titles.traces.get(trace), trace.to_string()))
                }
            },
            ScoreTarget::Observation(trace, observation) => {
                a href=(ctx.to(&["traces", &trace.to_string()])
                    .with("observation", observation.to_string())) title=(observation) {
                    "observation " code { (short(observation.to_string())) }
                }
            },
            ScoreTarget::Session(session) => {
                a href=(ctx.to(&["sessions", &session.to_string()])) title=(session) {
                    (named("session", titles.sessions.get(session), session.to_string()))
                }
            },
            ScoreTarget::DatasetRun(run) => { "run " code title=(run) { (short(run.clone())) } },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judgement(value: ScoreValue, source: ScoreSource) -> ScoreValueRow {
        let judge = if source == ScoreSource::Eval { offline::NAME } else { "" };
        let judge = JudgeVersion { judge: judge.to_owned(), ..JudgeVersion::default() };
        let timestamp = Timestamp::from_millis(1);
        let (is_superseded, names_a_person) = (false, false);
        ScoreValueRow { value, source, judge, is_superseded, names_a_person, timestamp }
    }

    #[test]
    fn judges_and_forms_stand_apart() {
        let yes = |yes| judgement(ScoreValue::Boolean(yes), ScoreSource::Eval);
        let number = judgement(ScoreValue::Numeric(0.5), ScoreSource::Annotation);
        let judgements = vec![yes(true), number, yes(false), yes(true)];
        let parts = parts(&Sample { name: "q".into(), total: 4, judgements });
        assert_eq!(parts.len(), 2);
        let deciders: Vec<Decider> = parts.iter().map(|part| part.decider).collect();
        assert_eq!(deciders, [Decider::Code, Decider::Human], "the offline judge is code");
        let ScoreAggregate::Truths(Some(truths), 2) = &parts[0].together else {
            panic!("{parts:?}")
        };
        assert_eq!((truths.n, share(*truths).0.as_str()), (3, "67%"));
        let ScoreAggregate::Numbers(Some(numbers), _) = &parts[1].together else {
            panic!("{parts:?}")
        };
        assert_eq!(mean(*numbers), ("0.5".to_owned(), None), "one number has no interval");
    }

    #[test]
    fn versions_of_a_judge_stand_apart_and_superseded_verdicts_do_not_count() {
        let by = |version: &str, is_superseded| {
            let one = judgement(ScoreValue::Numeric(1.0), ScoreSource::Eval);
            let judge = JudgeVersion { version: Some(version.to_owned()), ..one.judge.clone() };
            ScoreValueRow { judge, is_superseded, ..one }
        };
        let judgements = vec![by("1", true), by("1", false), by("2", false), by("2", false)];
        let parts = parts(&Sample { name: "q".into(), total: 4, judgements });
        let counts: Vec<u64> = parts.iter().map(|part| part.n).collect();
        assert_eq!(counts, [2, 1]);
    }

    /// Nothing is above 1 on a scale that ends there.
    #[test]
    fn the_interval_of_a_mean_stays_on_its_scale() {
        let estimate = bounded::mean_of_scores(&[1.0; 4]).unwrap();
        let (value, ends) = mean(estimate);
        assert_eq!(value, "1");
        assert!(ends.as_ref().is_some_and(|ends| ends.ends_with(" to 1")), "{ends:?}");
    }

    #[test]
    fn rules_are_code_and_models_are_models() {
        let by = |source, judge| judged_by((source, "quality"), judge, false);
        for judge in ["offline", "code:python", "code:exact", "code:command:tone"] {
            assert_eq!(by(ScoreSource::Eval, Some(judge)), Decider::Code, "{judge}");
        }
        for judge in [Some("anthropic"), Some("connection:ours:codex"), None] {
            assert_eq!(by(ScoreSource::Eval, judge), Decider::Model, "{judge:?}");
        }
        assert_eq!(by(ScoreSource::Annotation, Some("offline")), Decider::Human);
        assert_eq!(by(ScoreSource::Api, Some("anthropic")), Decider::Model, "sent by a client");
        assert_eq!(by(ScoreSource::Api, None), Decider::Code);
    }

    #[test]
    fn users_are_people_however_their_scores_arrive() {
        let by = |name, names_a_person| judged_by((ScoreSource::Api, name), None, names_a_person);
        for name in ["thumbs_feedback", "user-feedback"] {
            assert_eq!(by(name, false), Decider::Human, "{name}");
        }
        assert_eq!(by("quality", true), Decider::Human, "a visitor or an author");
        assert_eq!(by("quality", false), Decider::Code);
    }

    #[test]
    fn a_count_that_stopped_says_so() {
        assert_eq!(total(1_234), "1,234");
        assert_eq!(total(MAX_COUNTED), "at least 1,000,000");
    }
}
