//! Results of a run: outputs and scores, by item.

use std::collections::BTreeMap;

use maud::{Markup, html};
use ratchet_core::catalog::dataset::DatasetStatus;
use ratchet_core::catalog::run_comparison::ItemScores;
use ratchet_core::id::TraceId;
use ratchet_core::record::limit::elide;
use ratchet_core::record::score::{Score, ScoreTarget};
use ratchet_core::record::trace::Content;
use ratchet_core::stats::bounded;
use ratchet_store::catalog::{Dataset, DatasetItem, DatasetItemQuery};
use ratchet_store::experiment::{
    ExperimentItemQuery, ExperimentQuery, Outcome, StoredExperimentItem,
};
use ratchet_store::query::{
    Condition, Detail, PageNumber, Paging, ScoreColumn, ScoreQuery, ScoresOn, Test, TimeRange,
};

use super::{PREVIEW, as_read};
use crate::components::badge::{self, Decider};
use crate::components::figure;
use crate::page_error::PageResult;
use crate::request_context::RequestContext;
use crate::score_summary;
use crate::web::Web;

/// Maximum number of items of a run that are read; pages say if there are more.
pub(super) const ITEMS: u64 = 500;
/// Scores of each run that are read.
const SCORES: u64 = 5_000;

/// Result of one item in a run.
#[derive(Clone, Debug)]
pub(super) struct RunResult {
    pub(super) trace: TraceId,
    pub(super) output: String,
    pub(super) expected: Option<String>,
    pub(super) scores: ItemScores,
    /// Who judged, by the name of the score.
    pub(super) deciders: BTreeMap<String, Decider>,
}

/// Results of a run by item; of an item that was tried again, the last.
pub(super) async fn results(
    web: &Web,
    ctx: &RequestContext,
    run: String,
    detail: Detail,
) -> PageResult<BTreeMap<String, RunResult>> {
    let of = ExperimentQuery {
        project: ctx.project_id(),
        range: TimeRange::default(),
        ids: vec![run],
        names: Vec::new(),
        datasets: Vec::new(),
        paging: Paging::After { cursor: None, limit: ITEMS },
    };
    let query = ExperimentItemQuery { of, items: Vec::new(), detail };
    let items = web.store.telemetry.experiment_items(query).await?.rows;
    let mut scores = scores(web, ctx, &items).await?;
    // Newest first.
    let mut results = BTreeMap::new();
    for item in items {
        let (numbers, deciders) = scores.remove(&item.trace).unwrap_or_default();
        let expected = item.expected_output.as_ref();
        let result = RunResult {
            output: output(&item),
            expected: expected.map(|json| shortened(json.as_str())),
            trace: item.trace,
            scores: numbers,
            deciders,
        };
        results.entry(item.item).or_insert(result);
    }
    Ok(results)
}

fn shortened(json: &str) -> String {
    elide(&as_read(json), PREVIEW * 4).into_owned()
}

fn output(item: &StoredExperimentItem) -> String {
    let content: Option<&Content> = match &item.outcome {
        Some(Outcome::Step(step)) => step.content.as_ref(),
        Some(Outcome::Run(run)) => run.content.as_ref(),
        None => None,
    };
    let output = content.and_then(|content| content.output.as_ref());
    output.map(|output| shortened(output.as_str())).unwrap_or_default()
}

type Judged = (ItemScores, BTreeMap<String, Decider>);

/// The numbers of the scores on the traces of a run, and who judged.
async fn scores(
    web: &Web,
    ctx: &RequestContext,
    items: &[StoredExperimentItem],
) -> PageResult<BTreeMap<TraceId, Judged>> {
    let traces = items.iter().map(|item| item.trace.to_string()).collect();
    let query = ScoreQuery {
        project: ctx.project_id(),
        range: TimeRange::default(),
        on: ScoresOn::Anything,
        conditions: vec![Condition { column: ScoreColumn::Trace, test: Test::AnyOf(traces) }],
        paging: Paging::After { cursor: None, limit: SCORES },
    };
    let mut judged: BTreeMap<TraceId, Judged> = BTreeMap::new();
    for score in web.store.telemetry.scores(query).await?.rows {
        let (Some(trace), Some(number)) = (trace_of(&score), score.value.number()) else {
            continue;
        };
        let (numbers, deciders) = judged.entry(trace).or_default();
        deciders.entry(score.name.clone()).or_insert(score_summary::decider(&score));
        numbers.entry(score.name).or_insert(number);
    }
    Ok(judged)
}

fn trace_of(score: &Score) -> Option<TraceId> {
    match &score.target {
        ScoreTarget::Trace(trace) | ScoreTarget::Observation(trace, _) => Some(trace.clone()),
        ScoreTarget::Session(_) | ScoreTarget::DatasetRun(_) => None,
    }
}

/// The current items of a dataset, by id.
pub(super) async fn items(
    web: &Web,
    ctx: &RequestContext,
    dataset: &Dataset,
) -> PageResult<BTreeMap<String, DatasetItem>> {
    let query = DatasetItemQuery {
        project: ctx.project_id(),
        dataset_name: Some(dataset.name.clone()),
        source_trace: None,
        source_observation: None,
        status: DatasetStatus::Active,
        as_of: None,
        page: PageNumber { page: 1, limit: ITEMS },
    };
    let items = web.store.catalog.dataset_items(query).await?.rows;
    Ok(items.into_iter().map(|item| (item.id.clone(), item)).collect())
}

/// The input of an item.
pub(super) fn input_of(item: Option<&DatasetItem>) -> Option<String> {
    item?.input.as_ref().map(|json| shortened(json.as_str()))
}

/// The expected output of an item: as it was when it ran, else as it is now.
pub(super) fn expected_of(
    result: Option<&RunResult>,
    item: Option<&DatasetItem>,
) -> Option<String> {
    let then = result.and_then(|result| result.expected.clone());
    let now = || item?.expected_output.as_ref().map(|json| shortened(json.as_str()));
    then.or_else(now)
}

/// The values of one score in a run.
#[derive(Clone, Debug, Default)]
pub(super) struct ScoreValues {
    pub(super) name: String,
    values: Vec<f64>,
    decider: Option<Decider>,
}

/// Values of each score of a run, most frequent first.
pub(super) fn by_score(results: &BTreeMap<String, RunResult>) -> Vec<ScoreValues> {
    let mut scores: BTreeMap<&String, ScoreValues> = BTreeMap::new();
    for result in results.values() {
        for (name, value) in &result.scores {
            let score = scores.entry(name).or_default();
            score.values.push(*value);
            score.decider = score.decider.or(result.deciders.get(name).copied());
        }
    }
    let named = scores.into_iter().map(|(name, score)| ScoreValues { name: name.clone(), ..score });
    let mut scores: Vec<ScoreValues> = named.collect();
    scores.sort_by_key(|score| std::cmp::Reverse(score.values.len()));
    scores
}

/// A mean with its interval, its n and who judged.
pub(super) fn mean(ScoreValues { values, decider, .. }: &ScoreValues) -> Markup {
    let Ok(estimate) = bounded::mean_of_scores(values) else {
        return html! { span.muted { "–" } };
    };
    let (value, half) = score_summary::mean(estimate);
    let class = decider.map_or("", Decider::class);
    html! {
        span class={ "score-mean " (class) } { (value) }
        " " small.muted {
            @if let Some(half) = half { (half) ", " } "n = " (figure::grouped(estimate.n))
            @if let Some(decider) = decider { ", " (decider.class()) }
        }
    }
}

/// Scores as badges, coloured by who judged.
pub(super) fn badges(result: &RunResult) -> Markup {
    html! {
        span.badges {
            @for (name, value) in &result.scores {
                @let text = format!("{name} {}", figure::number(*value));
                @match result.deciders.get(name) {
                    Some(decider) => { (badge::decided(*decider, &text)) },
                    None => { (badge::tag(&text)) },
                }
            }
        }
    }
}
