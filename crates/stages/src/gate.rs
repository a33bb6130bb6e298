//! The gate: reads a recorded run and its baseline, decides in `core`, and keeps the decision.
//!
//! A run is what an experiment recorded, by Ratchet or by a Langfuse SDK: items, their traces, and
//! scores on these.

/// Which traces of a run are the results of its trials.
mod counted_traces;
/// Earlier runs, judged as the run at the gate is.
mod earlier;
/// Which evaluator judged a run, and its verdict on stored answers.
mod evaluator;
/// Answers of earlier runs that a command judges again.
mod judged_again;
/// Runs by name: the candidate, its baseline, the best one.
mod lookup;
/// Which versions of items runs were made with, and which items are pinned.
mod items;
/// Messages about blocked runs.
mod notice;
/// What a gate will be able to see.
mod planning;
/// Recorded runs as outcomes.
mod recorded;
/// Two runs by each of their scores.
mod run_comparison;
/// The trials of a recorded run, one by one.
mod run_trials;
/// Answers of earlier runs, for a command with the judge.
mod stored_answers;
/// What the traces of regressed items say of the cause.
mod regression;
/// Prompt versions that a run had.
mod tested_prompts;
/// What promotions need to know about a decision.
mod verdicts;
#[cfg(test)]
mod simulation;

use ratchet_core::experiment::plan::ExperimentPlan;
use ratchet_core::gate::correction;
use ratchet_core::gate::critical::PinnedItem;
use ratchet_core::gate::decision::{CouldNotRun, GateEvidence, GateRule, Look, Verdict};
use ratchet_core::gate::outcomes::ItemOutcomes;
use ratchet_core::gate::report::{GateFacts, GateReport};
use ratchet_core::gate::stored_answer::AnswerVerdict;
use ratchet_core::payload::Json;
use ratchet_core::time::Timestamp;
use ratchet_core::url_encoding::encoded;
use ratchet_store::catalog::{
    Catalog, Dataset, ExperimentRun, GateQuery, NewGate, RunCounts, StoredGate,
};
use ratchet_store::experiment::{Experiment, RunQuery};
use ratchet_store::project::ProjectId;
use ratchet_store::query::{PageNumber, Paging};
use ratchet_store::{Store, StoreError};

use earlier::EarlierRun;
use evaluator::{RunEvaluator, RunEvaluators};
use lookup::{FoundBest, baseline, best, run};
use recorded::{Reading, RecordedRun};

pub use items::DatasetItems;
pub use judged_again::answers_to_judge;
pub use lookup::dataset;
pub use planning::{GatePlan, plan};
pub use run_comparison::compare_runs;
pub(crate) use run_trials::scores_of_traces;
pub use run_trials::{
    MAX_TRIALS, RunTrial, RunTrials, TrialScores, newest_correction, scores_by_trace,
};
pub use verdicts::{PromotableGate, promotable};

/// Name of the baseline that is the run which users get.
pub const PRODUCTION: &str = "production";
/// Earlier runs in which the history of pinned items is looked up.
const HISTORY_RUNS: u64 = 20;

/// Why a gate did not decide.
#[derive(Debug, thiserror::Error)]
pub enum GateError {
    /// A field is invalid; the message names it.
    #[error("{0}")]
    Invalid(String),
    /// Something that was named does not exist.
    #[error("{0}")]
    NotFound(String),
    #[error(transparent)]
    CouldNotRun(#[from] CouldNotRun),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What to decide on.
#[derive(Clone, Debug, PartialEq)]
pub struct GateOrder {
    /// Name of the dataset.
    pub dataset: String,
    /// Name or id of the run.
    pub run: String,
    /// Name or id of the baseline's run, or `production`.
    pub baseline: Option<String>,
    /// Name of the score; the only one if `None`.
    pub score: Option<String>,
    pub rule: GateRule,
    pub look: Look,
    /// Verdicts of the run's evaluator on answers of earlier runs, see [`answers_to_judge`].
    pub judged_again: Vec<AnswerVerdict>,
}

/// A project's store, for one caller.
#[derive(Clone, Copy, Debug)]
pub struct GateContext<'a> {
    pub store: &'a Store,
    /// The catalog of the caller, who is named in the audit log.
    pub catalog: &'a Catalog,
    pub project: &'a ProjectId,
    /// Public URL of the server, without a slash at the end; empty for a data folder.
    pub server: &'a str,
    pub now: Timestamp,
}

/// Decides on a run and stores the decision.
///
/// # Errors
/// Something does not exist, is invalid, or says nothing about the agent.
pub async fn decide(
    context: GateContext<'_>,
    order: GateOrder,
) -> Result<(StoredGate, GateReport), GateError> {
    let judge_cost = judged_again::record(context, &order).await?;
    let (dataset, run, mut report) = read(context, &order).await?;
    report.cost = report.cost.into_iter().chain(judge_cost).reduce(|cost, more| cost + more);
    let document = serde_json::to_value(&report)
        .map_err(|error| GateError::Invalid(format!("report: {error}")))?;
    let prompts = tested_prompts::of(context, &run).await?;
    let new = NewGate {
        dataset: dataset.id.clone(),
        run: run.id.clone(),
        verdict: report.verdict,
        accuracy: report.accuracy.value,
        report: Json::from_value(&document),
        prompts,
    };
    let stored = context.catalog.save_gate(context.project.clone(), new, context.now).await?;
    if stored.verdict == Verdict::Block {
        notice::blocked(context, &dataset, (&stored, &report)).await?;
    }
    Ok((stored, report))
}

async fn read(
    context: GateContext<'_>,
    order: &GateOrder,
) -> Result<(Dataset, Experiment, GateReport), GateError> {
    let rule = order.rule.validated().map_err(GateError::Invalid)?;
    let dataset = dataset(context, &order.dataset).await?;
    let experiment = run(context, &dataset, &order.run).await?;
    let found = baseline(context, &dataset, order, Some(&experiment)).await?;
    planning::check_rule(&rule, &found)?;
    let score = match &order.score {
        Some(score) => score.clone(),
        None => recorded::only_score(context, &experiment).await?,
    };
    let mut items = DatasetItems::new(context);
    let reading = Reading::stored(&score);
    let run = RecordedRun::read(context, &experiment, reading, &mut items).await?;
    let catalog = &context.store.catalog;
    let driven = catalog.experiment_run(context.project.clone(), experiment.id.clone()).await?;
    let now = driven.as_ref().and_then(|run| RunEvaluators::of_run(run).of_score(&score));
    let FoundBest { run: best, why_none: why_no_best } =
        best(context, &dataset, [Some(&experiment), found.run.as_ref()]).await?;
    let now = now.as_ref();
    let before = earlier(context, found.run.as_ref(), (now, reading), &mut items).await?;
    let best_run = earlier(context, best.as_ref(), (now, reading), &mut items).await?;
    check_baseline(found.run.as_ref(), before.as_ref(), &score)?;
    let own = (&dataset, &experiment, run.items.as_slice());
    let pinned = pinned(context, own, (&score, now), &mut items).await?;
    let facts = GateFacts {
        dataset: dataset.name.clone(),
        run: experiment.name.clone(),
        baseline: found.run.map(|run| run.name),
        why_no_baseline: found.why_none,
        best_run: best.map(|run| run.name),
        cost: run.cost,
        not_run: items.not_run(&dataset, &run.items).await?,
        not_scored: run.not_scored,
        not_judged: run.not_judged.clone(),
        notes: notes([&before, &best_run]),
        not_seen: not_seen(driven.as_ref(), &run, [&before, &best_run], why_no_best),
        score,
    };
    let evidence = GateEvidence {
        run: &run.items,
        baseline: before.as_ref().map(|earlier| earlier.run.items.as_slice()),
        best: best_run.as_ref().map(|earlier| earlier.run.items.as_slice()),
        pinned: &pinned,
        planned_repeats: driven.as_ref().and_then(planned_repeats),
    };
    let look = match order.look {
        Look::First => Look::first(&run.items),
        look => look,
    };
    let mut report = GateReport::of(facts, rule, look, &evidence)?;
    let evidence = regression::evidence(context, &dataset, (driven.as_ref(), &report)).await?;
    report.suggest(&evidence);
    link(context, (&dataset, &experiment), &mut report);
    Ok((dataset, experiment, report))
}

async fn earlier(
    context: GateContext<'_>,
    run: Option<&Experiment>,
    (now, reading): (Option<&RunEvaluator>, Reading<'_>),
    items: &mut DatasetItems<'_>,
) -> Result<Option<EarlierRun>, GateError> {
    match run {
        Some(run) => Ok(Some(EarlierRun::read(context, run, now, reading, items).await?)),
        None => Ok(None),
    }
}

fn notes(earlier: [&Option<EarlierRun>; 2]) -> Vec<String> {
    earlier.into_iter().flatten().filter_map(|run| run.note.clone()).collect()
}

fn check_baseline(
    experiment: Option<&Experiment>,
    read: Option<&EarlierRun>,
    score: &str,
) -> Result<(), GateError> {
    match (experiment, read) {
        (Some(experiment), Some(read)) if read.run.items.is_empty() => {
            Err(GateError::Invalid(format!(
                "baseline: run {:?} has no score {score:?}, and its answers cannot be judged again: \
                 run it again with this evaluator",
                experiment.name
            )))
        }
        _ => Ok(()),
    }
}

/// Trials that every item of a run has, with those of its extension.
fn planned_repeats(run: &ExperimentRun) -> Option<usize> {
    let plan: ExperimentPlan = serde_json::from_str(run.plan.as_str()).ok()?;
    usize::try_from(run.extended_repeats.unwrap_or(plan.repeats)).ok()
}

/// What the records of the runs do not show.
fn not_seen(
    driven: Option<&ExperimentRun>,
    run: &RecordedRun,
    earlier: [&Option<EarlierRun>; 2],
    why_no_best: Option<String>,
) -> Vec<String> {
    let mut lines: Vec<String> = why_no_best.into_iter().collect();
    if let Some(driven) = driven.filter(|run| run.counts.done < run.counts.trials) {
        let RunCounts { done, trials, .. } = driven.counts;
        lines.push(format!(
            "The run is not finished: {done} of {trials} trials are. Run it to its end and decide again."
        ));
    }
    for earlier in earlier.into_iter().flatten() {
        lines.extend(earlier.not_seen.clone());
        // Ours are compared by their plans.
        lines.extend(version_note(run, &earlier.run).filter(|_| driven.is_none()));
    }
    lines
}

/// Evaluators of other clients name their version in the score's metadata.
fn version_note(run: &RecordedRun, before: &RecordedRun) -> Option<String> {
    let (now, then) = (run.evaluator.as_ref()?, before.evaluator.as_ref()?);
    (now != then).then(|| {
        format!(
            "The evaluator changed since the baseline ({then} before, {now} now), and it is not one \
             of Ratchet's, which could judge the baseline's answers again: part of the difference \
             may be the evaluator's. Run the baseline again with the new one."
        )
    })
}

/// Links each flip to the comparison of the two runs, with its item first.
fn link(
    context: GateContext<'_>,
    (dataset, run): (&Dataset, &Experiment),
    report: &mut GateReport,
) {
    let (project, name) = (context.project, encoded(&dataset.name));
    let base = format!("{}/project/{project}/datasets/{name}", context.server);
    let runs = report.baseline.as_ref().map(|baseline| {
        let (before, after) = (encoded(baseline), encoded(&run.id));
        format!("before={before}&after={after}&score={}", encoded(&report.score))
    });
    for flip in &mut report.flips {
        let item = encoded(&flip.item);
        flip.url = Some(match &runs {
            Some(runs) => format!("{base}/compare?{runs}&item={item}"),
            None => format!("{base}/items/{item}"),
        });
    }
}

/// Whether a run says what the agent in use can do. A candidate that did not pass says nothing of it;
/// a run without a decision may.
async fn is_accepted(context: GateContext<'_>, run: &Experiment) -> Result<bool, GateError> {
    let query = GateQuery {
        project: context.project.clone(),
        dataset: None,
        run: Some(run.id.clone()),
        page: PageNumber { page: 1, limit: 1 },
    };
    let newest = context.store.catalog.gates(query).await?.rows.into_iter().next();
    Ok(newest.is_none_or(|gate| gate.verdict == Verdict::Pass))
}

/// Pinned items, with their trials in earlier runs that did not fail a gate, as people corrected them.
async fn pinned(
    context: GateContext<'_>,
    (dataset, candidate, own): (&Dataset, &Experiment, &[ItemOutcomes]),
    (score, now): (&str, Option<&RunEvaluator>),
    items: &mut DatasetItems<'_>,
) -> Result<Vec<PinnedItem>, GateError> {
    let critical = items.critical().await?;
    if critical.is_empty() {
        return Ok(Vec::new());
    }
    let query = RunQuery {
        project: context.project.clone(),
        dataset: dataset.id.clone(),
        name: None,
        paging: Paging::After { cursor: None, limit: HISTORY_RUNS },
    };
    let mut history = Vec::new();
    for earlier in context.store.telemetry.runs(query).await?.rows {
        let is_earlier = earlier.id != candidate.id && earlier.created_at <= candidate.created_at;
        if !is_earlier || !is_accepted(context, &earlier).await? {
            continue;
        }
        let reading = Reading { only: &critical, ..Reading::stored(score) };
        let read = EarlierRun::read(context, &earlier, now, reading, items).await?.run;
        let current = |item: &ItemOutcomes| item.version == items.current(&item.item);
        history.extend(read.items.into_iter().filter(current));
    }
    let history = correction::corrected(&history, own);
    let pin = |item: String| {
        let trials = || history.iter().filter(|of| of.item == item).flat_map(|of| &of.trials);
        let right = trials().filter(|trial| trial.value >= 0.5).count();
        PinnedItem { history: (right, trials().count()), item }
    };
    Ok(critical.into_iter().map(pin).collect())
}
