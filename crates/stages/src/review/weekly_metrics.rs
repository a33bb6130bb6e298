use std::collections::{BTreeMap, BTreeSet};

use ratchet_core::calendar::{Week, Zone};
use ratchet_core::id::TraceId;
use ratchet_core::review::draw::DrawnTrace;
use ratchet_core::review::metrics::WeekFacts;
use ratchet_core::review::week_facts::{Answer, Cut, DrawnWeek, WeekInput};
use ratchet_core::review::weekly::{MetricsScope, MonthAccuracy, WeeklyMetrics};
use ratchet_core::time::Timestamp;
use ratchet_store::catalog::{Agent, REVIEW, SourcedItem, StoredDraw};
use ratchet_store::project::ProjectId;
use ratchet_store::review_signals::{AgentScope, ReviewedSignal, SignalQuery, WeekSignals};
use ratchet_store::{Store, StoreResult};

use super::weekly_draw::traces_of;

/// Datasets that reviewed traces of all time are collected in end in this.
const GLOBAL: &str = "-eval-global";
/// Weeks that the monthly table looks back.
const MAX_WEEKS: u64 = 60;

/// The part of a project's traffic that metrics are about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MetricsFilter {
    pub agent: Option<String>,
    pub environment: Option<String>,
    pub release: Option<String>,
}

/// Returns the zone of a project's weeks: that of its review schedule, or this machine's.
///
/// # Errors
/// Fails only when the database does.
pub async fn zone(store: &Store, project: &ProjectId) -> StoreResult<Zone> {
    let schedules = store.catalog.schedules(project.clone()).await?;
    let review = schedules.into_iter().find(|schedule| schedule.name == REVIEW);
    Ok(review.map_or_else(Zone::of_this_machine, |schedule| schedule.zone))
}

/// Returns the week that people look at first: the last full one, or the current one of a project
/// that had no traces then.
///
/// # Errors
/// Fails only when the database does.
pub async fn default_week(
    store: &Store,
    project: &ProjectId,
    (zone, now): (&Zone, Timestamp),
) -> StoreResult<Week> {
    let last = Week::last_ended(now, zone);
    let seen = store.telemetry.traced_agents(traces_of(project, &last, AgentScope::All)).await?;
    Ok(if seen.is_empty() { Week::of(now, zone) } else { last })
}

/// Returns the metrics of a week, compared with the week before.
///
/// # Errors
/// Fails only when the database does.
pub async fn metrics(
    store: &Store,
    (project, week): (&ProjectId, &Week),
    filter: &MetricsFilter,
) -> StoreResult<WeeklyMetrics> {
    let facts = week_facts(store, (project, week), filter).await?;
    let before = week_facts(store, (project, &week.before()), filter).await?;
    let (first, last) = week.days();
    let scope = MetricsScope {
        week: first,
        last_day: last,
        zone: week.zone().name().to_owned(),
        agent: filter.agent.clone(),
        environment: filter.environment.clone(),
        release: filter.release.clone(),
    };
    let before = (before.traces > 0).then_some(&before);
    Ok(WeeklyMetrics::new(scope, &facts, before))
}

async fn week_facts(
    store: &Store,
    (project, week): (&ProjectId, &Week),
    filter: &MetricsFilter,
) -> StoreResult<WeekFacts> {
    let agents = store.catalog.agents(project.clone()).await?;
    let agent = filter.agent.as_ref().and_then(|name| {
        let is_alias = |agent: &Agent| agent.settings.aliases.contains(name);
        agents.into_iter().find(|agent| agent.name == *name || is_alias(agent))
    });
    let name = agent.as_ref().map(|agent| agent.name.clone()).or_else(|| filter.agent.clone());
    let targets = agent.as_ref().map(|agent| agent.settings.targets).unwrap_or_default();
    let aliases = agent.map(|agent| agent.settings.aliases).unwrap_or_default();
    let agent = match &name {
        Some(name) => AgentScope::Named(std::iter::once(name.clone()).chain(aliases).collect()),
        None => AgentScope::All,
    };
    let query = SignalQuery {
        environment: filter.environment.clone(),
        release: filter.release.clone(),
        ..traces_of(project, week, agent)
    };
    let signals = store.telemetry.week_signals(query).await?;
    let mut draws = store.catalog.draws(project.clone(), week.to_string()).await?;
    draws.retain(|draw| name.is_none() || draw.agent == name);
    let items = store.catalog.sourced_items(project.clone(), week.start()).await?;
    let items_added = added_in(store, project, week, &items).await?;
    let input = input(signals, draws, &items, filter);
    Ok(WeekInput { items_added, targets, ..input }.facts())
}

fn input(
    signals: WeekSignals,
    draws: Vec<StoredDraw>,
    items: &[SourcedItem],
    filter: &MetricsFilter,
) -> WeekInput {
    WeekInput {
        traces: signals.traces,
        cells: signals.cells,
        thumbs_up: signals.thumbs_up,
        thumbs_down: signals.thumbs_down,
        answers: answers(signals.reviewed),
        draws: draws.into_iter().map(drawn_week).collect(),
        in_dataset: items.iter().filter_map(|item| item.trace.clone()).collect(),
        cut: Cut { environment: filter.environment.clone(), release: filter.release.clone() },
        ..WeekInput::default()
    }
}

fn drawn_week(draw: StoredDraw) -> DrawnWeek {
    DrawnWeek { cells: draw.cells, traces: draw.traces }
}

fn answers(reviewed: Vec<ReviewedSignal>) -> BTreeMap<String, Answer> {
    let answer = |one: ReviewedSignal| {
        let answer = Answer { correct: one.correct, category: one.category, quality: one.quality };
        (one.trace.to_string(), answer)
    };
    reviewed.into_iter().map(answer).collect()
}

/// The items that a week added to global datasets: those made from its traces, whenever that was,
/// and those without a trace by their date.
async fn added_in(
    store: &Store,
    project: &ProjectId,
    week: &Week,
    items: &[SourcedItem],
) -> StoreResult<u64> {
    let global: Vec<_> = items.iter().filter(|item| item.dataset.ends_with(GLOBAL)).collect();
    let ids: BTreeSet<TraceId> =
        global.iter().filter_map(|item| TraceId::parse(item.trace.as_deref()?).ok()).collect();
    let found = store.telemetry.find_traces(project.clone(), ids.into_iter().collect()).await?;
    let is_within = |at: Timestamp| week.start() <= at && at < week.end();
    let of_week: BTreeSet<String> = found
        .into_iter()
        .filter(|trace| is_within(trace.timestamp))
        .map(|trace| trace.id.to_string())
        .collect();
    let counts = |item: &&&SourcedItem| match &item.trace {
        Some(trace) => of_week.contains(trace),
        None => is_within(item.created_at),
    };
    Ok(global.iter().filter(counts).count() as u64)
}

/// Returns agent and judge accuracy by month, oldest first, from the weeks that have samples. A week
/// belongs to the month of its first day.
///
/// # Errors
/// Fails only when the database does.
pub async fn months(store: &Store, project: &ProjectId) -> StoreResult<Vec<MonthAccuracy>> {
    let weeks = store.catalog.drawn_weeks(project.clone(), MAX_WEEKS).await?;
    let items = store.catalog.sourced_items(project.clone(), Timestamp::from_nanos(0)).await?;
    let mut months: BTreeMap<String, Vec<WeekFacts>> = BTreeMap::new();
    for week in weeks {
        let draws = store.catalog.draws(project.clone(), week.clone()).await?;
        let drawn = draws.iter().flat_map(|draw| &draw.traces);
        let ids = drawn.filter_map(|drawn: &DrawnTrace| TraceId::parse(&drawn.trace).ok());
        let reviewed = store.telemetry.review_answers(project.clone(), ids.collect()).await?;
        let draws: Vec<DrawnWeek> = draws.into_iter().map(drawn_week).collect();
        let traces = draws.iter().flat_map(|draw| &draw.cells).map(|cell| cell.population).sum();
        let input = WeekInput { traces, answers: answers(reviewed), draws, ..WeekInput::default() };
        let month: String = week.chars().take(7).collect();
        months.entry(month).or_default().push(input.facts());
    }
    let size = |month: &str| {
        let until =
            |item: &&SourcedItem| item.created_at.to_string().as_str() < next(month).as_str();
        let global = items.iter().filter(|item| item.dataset.ends_with(GLOBAL));
        global.filter(until).count() as u64
    };
    let month = |(month, weeks): (String, Vec<WeekFacts>)| {
        let size = size(&month);
        MonthAccuracy::new(month, &weeks, size)
    };
    Ok(months.into_iter().map(month).collect())
}

/// A text that sorts after all moments of a month such as `2026-11`.
fn next(month: &str) -> String {
    format!("{month}-99")
}
