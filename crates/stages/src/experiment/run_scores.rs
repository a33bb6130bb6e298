use ratchet_core::experiment::evaluator::TrialEvaluator;
use ratchet_core::experiment::run_summary::RunScore;
use ratchet_core::experiment::runner::{RunAnswer, RunAnswers, TrialScore};
use ratchet_core::id::ScoreId;
use ratchet_core::payload::{Json, Payload};
use ratchet_core::record::field::{Field, Stamp, WriteKind};
use ratchet_core::record::score::draft::ScoreDraft;
use ratchet_core::record::score::rule::SentValue;
use ratchet_core::record::score::{DataType, ScoreSource, ScoreTarget};
use ratchet_core::record::trace::Content;
use ratchet_core::time::Timestamp;
use ratchet_store::blocking::run_blocking;
use ratchet_store::experiment::{
    ExperimentItemQuery, ExperimentQuery, Outcome, StoredExperimentItem,
};
use ratchet_store::query::{Detail, Paging, ScoreQuery, ScoresOn, TimeRange};
use serde_json::{Value, json};

use super::records::metadata;
use super::service::{ExperimentService, ServiceResult, invalid, plan_of};
use crate::record::scores::write;

/// Answers that are read at a time.
const ANSWERS: u64 = 100;
/// Scores of a run that are shown.
const SHOWN: u64 = 50;

/// Scores of runs as a whole.
impl ExperimentService {
    /// Records scores of a run as a whole, of the evaluators in its plan.
    ///
    /// # Errors
    /// Fails without such a run, and if a score is none of its evaluators'.
    pub async fn score_run(
        &self,
        run: &str,
        scores: Vec<TrialScore>,
        now: Timestamp,
    ) -> ServiceResult<()> {
        let run = self.find(run).await?;
        let texts = plan_of(&run)?.evaluators;
        let planned: Vec<TrialEvaluator> =
            texts.iter().filter_map(|text| text.parse().ok()).collect();
        let stamp = Stamp::stated(now, WriteKind::Create);
        let mut drafts = Vec::with_capacity(scores.len());
        for score in scores {
            let is_it = |evaluator: &&TrialEvaluator| matches!(evaluator, TrialEvaluator::Run(run) if run.score_name() == score.name);
            let by = planned.iter().find(is_it).ok_or_else(|| {
                invalid(
                    "scores",
                    format!("{}: no evaluator of this run has this score", score.name),
                )
            })?;
            if !score.value.is_finite() {
                return Err(invalid("scores", format!("{}: is not a number", score.name)));
            }
            let id = ScoreId::parse(&format!("{}-{}", run.id, score.name));
            let id = id.map_err(|why| invalid("scores", why.to_string()))?;
            let target = ScoreTarget::DatasetRun(run.id.clone());
            drafts.push(ScoreDraft {
                name: Some(score.name),
                value: Some(SentValue::Number(score.value)),
                data_type: Some(DataType::Numeric),
                comment: Field::if_some(score.comment, stamp),
                metadata: metadata([("judge", json!(by.judge()))], stamp),
                ..ScoreDraft::new(id, target, ScoreSource::Eval, stamp)
            });
        }
        let at = (&self.store.telemetry, &self.store.catalog);
        Ok(write(at, self.project.clone(), drafts, now).await?)
    }

    /// Returns the scores of a run as a whole, by its id, those of Langfuse's SDKs too: the newest of
    /// each name.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn run_scores(&self, run: &str) -> ServiceResult<Vec<RunScore>> {
        let query = ScoreQuery {
            project: self.project.clone(),
            range: TimeRange::default(),
            on: ScoresOn::DatasetRun(run.to_owned()),
            conditions: Vec::new(),
            paging: Paging::After { cursor: None, limit: SHOWN },
        };
        let mut found: Vec<RunScore> = Vec::new();
        for score in self.store.telemetry.scores(query).await?.rows {
            let is_known = found.iter().any(|known| known.name == score.name);
            let Some(value) = score.value.number().filter(|_| !is_known) else { continue };
            found.push(RunScore { name: score.name, value, comment: score.comment });
        }
        found.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(found)
    }

    /// Returns answers of a run by its id, with what was asked and expected.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn answers(&self, run: &str, cursor: Option<String>) -> ServiceResult<RunAnswers> {
        let of = ExperimentQuery {
            project: self.project.clone(),
            range: TimeRange::default(),
            ids: vec![run.to_owned()],
            names: Vec::new(),
            datasets: Vec::new(),
            paging: Paging::After { cursor, limit: ANSWERS },
        };
        let query = ExperimentItemQuery { of, items: Vec::new(), detail: Detail::BoundedContent };
        let page = self.store.telemetry.experiment_items(query).await?;
        let mut answers = Vec::with_capacity(page.rows.len());
        for item in page.rows {
            let whole = self.store.telemetry.whole_experiment_item(self.project.clone(), item);
            if let Some(item) = whole.await? {
                answers.push(run_blocking(move || answer(&item)).await?);
            }
        }
        Ok(RunAnswers { answers, cursor: page.cursor })
    }
}

fn answer(item: &StoredExperimentItem) -> RunAnswer {
    let content: Option<&Content> = match item.outcome.as_ref() {
        Some(Outcome::Run(trace)) => trace.content.as_ref(),
        Some(Outcome::Step(step)) => step.content.as_ref(),
        None => None,
    };
    let input = content.and_then(|content| content.input.as_ref()).map(Payload::as_str);
    let output = content.and_then(|content| content.output.as_ref()).map(Payload::as_str);
    let expected = item.expected_output.as_ref().map(Json::as_str);
    RunAnswer {
        trace: item.trace.to_string(),
        input: value(input),
        output: value(output),
        expected_output: value(expected),
        bytes: [input, output, expected].into_iter().flatten().map(str::len).sum(),
    }
}

/// A text that is not JSON is itself.
fn value(text: Option<&str>) -> Value {
    text.map_or(Value::Null, |text| serde_json::from_str(text).unwrap_or_else(|_| text.into()))
}
