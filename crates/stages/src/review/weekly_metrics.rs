use std::collections::{BTreeMap, BTreeSet};

use ratchet_core::calendar::{Week, Zone};
use ratchet_core::id::TraceId;
use ratchet_core::review::category::Category;
use ratchet_core::review::draw::DrawnTrace;
use ratchet_core::review::metrics::WeekFacts;
use ratchet_core::review::week_facts::{Cut, DrawnWeek, TraceAnswer, WeekInput};
use ratchet_core::review::weekly::{MetricsScope, MonthAccuracy, WeeklyMetrics};
use ratchet_core::time::Timestamp;
use ratchet_store::StoreResult;
use ratchet_store::catalog::{REVIEW, SourcedItem, StoredDraw};
use ratchet_store::project::ProjectId;
use ratchet_store::review_signals::{AgentScope, ReviewedSignal, SignalQuery, WeekSignals};

use super::failure_patterns;
use super::known_agents::KnownAgents;
use super::review_site::{ReviewSite, ReviewSiteResult};
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

impl MetricsFilter {
    fn agents(&self, known: &KnownAgents) -> AgentScope {
        self.agent.as_deref().map_or(AgentScope::All, |name| known.scope(name))
    }

    /// The traces of a week that it selects. An agent's own environments count unless one is named.
    pub(super) fn query(
        &self,
        project: &ProjectId,
        week: &Week,
        known: &KnownAgents,
    ) -> SignalQuery {
        let agent = self.agent.as_deref().and_then(|name| known.find(name));
        let own = || agent.map(|agent| agent.settings.environments.clone()).unwrap_or_default();
        let named = self.environment.clone().map(|environment| vec![environment]);
        SignalQuery {
            environments: named.unwrap_or_else(own),
            release: self.release.clone(),
            ..traces_of(project, week, self.agents(known))
        }
    }

    fn cut(&self) -> Cut {
        Cut { environment: self.environment.clone(), release: self.release.clone() }
    }
}

/// Returns the zone of a project's weeks: that of its review schedule, or this machine's.
///
/// # Errors
/// Fails only when the database does.
pub async fn zone(site: &ReviewSite) -> StoreResult<Zone> {
    let schedules = site.catalog.schedules(site.settings.clone()).await?;
    let review = schedules.into_iter().find(|schedule| schedule.name == REVIEW);
    Ok(review.map_or_else(Zone::of_this_machine, |schedule| schedule.zone))
}

/// Returns the week that people look at first: the last full one, or the current one of a project
/// that had no traces then.
///
/// # Errors
/// Fails if the traces cannot be read.
pub async fn default_week(
    site: &ReviewSite,
    (zone, now): (&Zone, Timestamp),
) -> ReviewSiteResult<Week> {
    let last = Week::last_ended(now, zone);
    let seen = site.traced_agents(traces_of(&site.project, &last, AgentScope::All)).await?;
    Ok(if seen.is_empty() { Week::of(now, zone) } else { last })
}

/// Returns the newest traces of a week that are in a category now, as many as a limit allows; `None`
/// if they are on another server.
///
/// # Errors
/// Fails if the traces cannot be read.
pub async fn traces_of_category(
    site: &ReviewSite,
    (week, filter): (&Week, &MetricsFilter),
    category: Category,
    limit: usize,
) -> ReviewSiteResult<Option<Vec<TraceId>>> {
    let known = KnownAgents::read(site).await?;
    let query = filter.query(&site.project, week, &known);
    site.traces_of_category(query, category, limit).await
}

/// Returns the metrics of a week, compared with the week before.
///
/// # Errors
/// Fails if traces, scores or draws cannot be read.
pub async fn metrics(
    site: &ReviewSite,
    week: &Week,
    filter: &MetricsFilter,
) -> ReviewSiteResult<WeeklyMetrics> {
    let mut facts = week_facts(site, week, filter).await?;
    let agents = KnownAgents::read(site).await?;
    let of = (&filter.agents(&agents), &filter.cut());
    facts.new_patterns = failure_patterns::new_patterns(site, week, of, &facts.failed).await?;
    let before = week_facts(site, &week.before(), filter).await?;
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
    site: &ReviewSite,
    week: &Week,
    filter: &MetricsFilter,
) -> ReviewSiteResult<WeekFacts> {
    let project = &site.project;
    let agents = KnownAgents::read(site).await?;
    let name = filter.agent.as_deref().map(|name| agents.name_of(name));
    let agent = filter.agent.as_deref().and_then(|name| agents.find(name));
    let targets = agent.map(|agent| agent.settings.targets).unwrap_or_default();
    let scope = filter.agents(&agents);
    let signals = site.week_signals(filter.query(project, week, &agents)).await?;
    let mut draws = site.catalog.draws(project.clone(), week.to_string()).await?;
    draws.retain(|draw| scope.has(draw.agent.as_deref()));
    let items = site.sourced_items(week.start()).await?;
    let items_added = added_in(site, week, (&items, name.as_deref())).await?;
    let input = input(signals, draws, &items, filter);
    let deleted = deleted(site, week, &input).await?;
    Ok(WeekInput { items_added, targets, deleted, ..input }.facts())
}

/// The drawn traces that were deleted, so that they cannot be reviewed.
async fn deleted(
    site: &ReviewSite,
    week: &Week,
    input: &WeekInput,
) -> ReviewSiteResult<BTreeSet<String>> {
    let open = unanswered(input);
    if open.is_empty() {
        return Ok(open);
    }
    let there = site.recorded(week, &open).await?;
    Ok(open.into_iter().filter(|trace| !there.contains(trace)).collect())
}

fn unanswered(input: &WeekInput) -> BTreeSet<String> {
    let drawn = input.draws.iter().flat_map(|draw| &draw.traces).map(|drawn| &drawn.trace);
    drawn.filter(|trace| !input.answers.contains_key(*trace)).cloned().collect()
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
        cut: filter.cut(),
        ..WeekInput::default()
    }
}

pub(super) fn drawn_week(draw: StoredDraw) -> DrawnWeek {
    DrawnWeek { cells: draw.cells, traces: draw.traces }
}

pub(super) fn answers(reviewed: Vec<ReviewedSignal>) -> BTreeMap<String, TraceAnswer> {
    let answer = |one: ReviewedSignal| {
        let answer =
            TraceAnswer { correct: one.correct, category: one.category, quality: one.quality };
        (one.trace.to_string(), answer)
    };
    reviewed.into_iter().map(answer).collect()
}

/// The items that a week added to the global dataset of an agent, or of all: those made from its
/// traces, whenever that was, and those without a trace by their date.
async fn added_in(
    site: &ReviewSite,
    week: &Week,
    (items, agent): (&[SourcedItem], Option<&str>),
) -> ReviewSiteResult<u64> {
    let global: Vec<_> = items.iter().filter(|item| is_global(&item.dataset, agent)).collect();
    let ids: BTreeSet<TraceId> =
        global.iter().filter_map(|item| TraceId::parse(item.trace.as_deref()?).ok()).collect();
    let found = site.trace_times(ids.into_iter().collect()).await?;
    let is_within = |at: Timestamp| week.start() <= at && at < week.end();
    let of_week: BTreeSet<String> =
        found.into_iter().filter(|(_, at)| is_within(*at)).map(|(trace, _)| trace).collect();
    let counts = |item: &&&SourcedItem| match &item.trace {
        Some(trace) => of_week.contains(trace),
        None => is_within(item.created_at),
    };
    Ok(global.iter().filter(counts).count() as u64)
}

/// Returns the facts of a week's draws, without traffic outside of them.
pub(super) async fn drawn_facts(
    site: &ReviewSite,
    week: String,
    (agents, cut): (&AgentScope, Cut),
    items: &[SourcedItem],
) -> ReviewSiteResult<WeekFacts> {
    let mut draws = site.catalog.draws(site.project.clone(), week).await?;
    draws.retain(|draw| agents.has(draw.agent.as_deref()));
    let drawn = draws.iter().flat_map(|draw| &draw.traces);
    let drawn: Vec<&DrawnTrace> =
        drawn.filter(|drawn| cut.has(&drawn.environment, drawn.release.as_deref())).collect();
    let answers = site.answers(&drawn).await?;
    let draws: Vec<DrawnWeek> = draws.into_iter().map(drawn_week).collect();
    let traces = draws.iter().flat_map(|draw| &draw.cells).map(|cell| cell.population).sum();
    let in_dataset = items.iter().filter_map(|item| item.trace.clone()).collect();
    Ok(WeekInput { traces, answers, draws, in_dataset, cut, ..WeekInput::default() }.facts())
}

/// Returns agent and judge accuracy by month, oldest first, from the weeks that have samples. A week
/// belongs to the month of its first day. Datasets belong to agents: their size is not cut by
/// environment or release.
///
/// # Errors
/// Fails if scores or draws cannot be read.
pub async fn months(
    site: &ReviewSite,
    filter: &MetricsFilter,
) -> ReviewSiteResult<Vec<MonthAccuracy>> {
    let agents = KnownAgents::read(site).await?;
    let name = filter.agent.as_deref().map(|name| agents.name_of(name));
    let scope = filter.agents(&agents);
    let weeks = site.catalog.drawn_weeks(site.project.clone(), MAX_WEEKS).await?;
    let items = site.sourced_items(Timestamp::from_nanos(0)).await?;
    let mut months: BTreeMap<String, Vec<WeekFacts>> = BTreeMap::new();
    for week in weeks {
        let month: String = week.chars().take(7).collect();
        let facts = drawn_facts(site, week, (&scope, filter.cut()), &items).await?;
        if facts.strata.is_empty() {
            continue;
        }
        months.entry(month).or_default().push(facts);
    }
    let size = |month: &str| {
        let until =
            |item: &&SourcedItem| item.created_at.to_string().as_str() < next(month).as_str();
        let global = items.iter().filter(|item| is_global(&item.dataset, name.as_deref()));
        global.filter(until).count() as u64
    };
    let month = |(month, weeks): (String, Vec<WeekFacts>)| {
        let size = size(&month);
        MonthAccuracy::new(month, &weeks, size)
    };
    Ok(months.into_iter().map(month).collect())
}

/// Whether a dataset is the global one of an agent, or of any.
fn is_global(dataset: &str, agent: Option<&str>) -> bool {
    let of = dataset.strip_suffix(GLOBAL);
    of.is_some_and(|of| agent.is_none_or(|agent| of == agent))
}

/// A text that sorts after all moments of a month such as `2026-11`.
fn next(month: &str) -> String {
    format!("{month}-99")
}
