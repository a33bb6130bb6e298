use ratchet_core::experiment::evaluator::ACCURACY;
use ratchet_core::gate::stored_answer::StoredAnswers;
use ratchet_core::id::{ScoreId, TraceId};
use ratchet_core::record::field::{Field, Stamp, WriteKind};
use ratchet_core::record::score::draft::ScoreDraft;
use ratchet_core::record::score::rule::SentValue;
use ratchet_core::record::score::{DataType, ScoreSource, ScoreTarget};
use ratchet_store::experiment::Experiment;
use serde_json::json;

use super::evaluator::{RunEvaluator, RunEvaluators};
use super::items::DatasetItems;
use super::lookup::{baseline, best, dataset, run};
use super::recorded::{self, Reading, RecordedRun};
use super::stored_answers::WantedAnswers;
use super::{EarlierRun, GateContext, GateError, GateOrder};
use crate::experiment::{EVALUATOR_VERSION, JUDGE_COST, metadata};
use crate::record::scores::{ScoreWriteError, write};

/// The run at the gate, with the evaluator of its score.
struct JudgedRun {
    run: Experiment,
    score: String,
    evaluator: Option<RunEvaluator>,
}

impl JudgedRun {
    async fn of(context: GateContext<'_>, order: &GateOrder) -> Result<Self, GateError> {
        let dataset = dataset(context, &order.dataset).await?;
        let run = run(context, &dataset, &order.run).await?;
        let score = match &order.score {
            Some(score) => score.clone(),
            None => recorded::only_score(context, &run).await?,
        };
        let evaluator = RunEvaluators::of(context, &run).await?.of_score(&score);
        Ok(Self { run, score, evaluator })
    }
}

/// Returns answers of the baseline and of the best promoted run that the evaluator of the run has
/// not judged, and cannot judge here: a command with the judge, or with the spans, does. Only those
/// to items that have not changed since, without those that the order has verdicts on, and as many as
/// fit.
///
/// # Errors
/// Something does not exist or is invalid.
pub async fn answers_to_judge(
    context: GateContext<'_>,
    order: &GateOrder,
) -> Result<StoredAnswers, GateError> {
    let candidate = JudgedRun::of(context, order).await?;
    let judge = candidate.evaluator.filter(RunEvaluator::judges_stored_answers);
    let Some(judge) = judge else {
        return Ok(StoredAnswers { score: candidate.score, ..StoredAnswers::default() });
    };
    let mut items = DatasetItems::new(context);
    let reading = Reading::stored(&candidate.score);
    let now = RecordedRun::read(context, &candidate.run, reading, &mut items).await?;
    let wanted = WantedAnswers {
        versions: now.items.into_iter().map(|item| (item.item, item.version)).collect(),
        judged: order.judged_again.iter().map(|verdict| verdict.trace.clone()).collect(),
    };
    let dataset = dataset(context, &order.dataset).await?;
    let found = baseline(context, &dataset, order, Some(&candidate.run)).await?.run;
    let best = best(context, &dataset, [Some(&candidate.run), found.as_ref()]).await?.run;
    let (mut answers, mut more) = (Vec::new(), false);
    for earlier in found.iter().chain(&best) {
        let reading = Reading { wanted: Some(&wanted), ..reading };
        let read = EarlierRun::read(context, earlier, Some(&judge), reading, &mut items).await?;
        answers.extend(read.run.answers.answers);
        more |= read.run.answers.has_more;
    }
    Ok(StoredAnswers {
        score: candidate.score,
        evaluator_version: judge.version.clone(),
        evaluator: Some(judge.text),
        answers,
        more,
    })
}

/// Records the verdicts of an order on answers of earlier runs, beside the scores that these have.
/// The same verdicts again change nothing. Returns what they cost.
pub(super) async fn record(
    context: GateContext<'_>,
    order: &GateOrder,
) -> Result<Option<f64>, GateError> {
    if order.judged_again.is_empty() {
        return Ok(None);
    }
    let candidate = JudgedRun::of(context, order).await?;
    let invalid = |why: String| GateError::Invalid(format!("judgedAgain: {why}"));
    let judge = candidate.evaluator.filter(RunEvaluator::judges_stored_answers);
    let judge = judge.ok_or_else(|| {
        invalid(format!("the evaluator of this run judges no stored answers; {ACCURACY} does"))
    })?;
    let name = judge.later_score(&candidate.score);
    let stamp = Stamp::stated(context.now, WriteKind::Create);
    let mut drafts = Vec::with_capacity(order.judged_again.len());
    for verdict in &order.judged_again {
        if !(0.0..=1.0).contains(&verdict.value) {
            return Err(invalid(format!("{}: must be from 0 to 1", verdict.value)));
        }
        let trace = TraceId::parse(&verdict.trace).map_err(|why| invalid(why.to_string()))?;
        let id = format!("{trace}-{}", judge.later_id(&candidate.score));
        let id = ScoreId::parse(&id).map_err(|why| invalid(why.to_string()))?;
        let mut facts = vec![(JUDGE_COST, json!(verdict.cost))];
        facts.extend(judge.version.as_ref().map(|version| (EVALUATOR_VERSION, json!(version))));
        drafts.push(ScoreDraft {
            name: Some(name.clone()),
            value: Some(SentValue::Number(verdict.value)),
            data_type: Some(DataType::Numeric),
            comment: Field::if_some(verdict.comment.clone(), stamp),
            metadata: metadata(facts, stamp),
            ..ScoreDraft::new(id, ScoreTarget::Trace(trace), ScoreSource::Eval, stamp)
        });
    }
    let (telemetry, catalog) = (&context.store.telemetry, &context.store.catalog);
    let written = write((telemetry, catalog), context.project.clone(), drafts, context.now).await;
    written.map_err(|error| match error {
        ScoreWriteError::Store(error) => GateError::Store(error),
        refused @ ScoreWriteError::Refused { .. } => invalid(refused.to_string()),
    })?;
    let costs: Vec<f64> = order.judged_again.iter().filter_map(|verdict| verdict.cost).collect();
    Ok((!costs.is_empty()).then(|| costs.iter().sum()))
}
