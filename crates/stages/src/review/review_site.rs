//! Where weekly reviews work: on a project of the local store, or on a Langfuse server.
//!
//! A draw and its inclusion probabilities are always kept in a catalog of ours, because a Langfuse
//! server has no place for them; its queues get the traces.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use ratchet_core::calendar::Week;
use ratchet_core::environment::Environment;
use ratchet_core::id::TraceId;
use ratchet_core::record::score::{Score, ScoreSource, ScoreTarget};
use ratchet_core::review::allocation::ReviewPlan;
use ratchet_core::review::category::Category;
use ratchet_core::review::draw::{DrawnTrace, TraceCandidate, WeekDraw, WeekSampler};
use ratchet_core::review::week_facts::TraceAnswer;
use ratchet_core::time::Timestamp;
use ratchet_remote::langfuse::client::{
    LangfuseClient, Position, ScoreFilter, TimeWindow, TraceRef, TraceRefFilter,
};
use ratchet_store::catalog::{Catalog, SourcedItem};
use ratchet_store::project::ProjectId;
use ratchet_store::query::TimeRange;
use ratchet_store::review_signals::{
    CORRECTNESS, DrawQuery, QUALITY, ReviewedSignal, SignalQuery, THUMBS, WeekSignals,
};
use ratchet_store::{Store, StoreError};

use crate::schedule::{EnvironmentError, JobEnvironment, work_place};
use crate::score::journal::Journal;
use crate::sink::{SinkError, langfuse};
use crate::source::{Source, SourceError};

/// Datasets of reviewed traces contain this.
const REVIEWED: &str = "-eval-";

/// Why reviews cannot be read or drawn.
#[derive(Debug, thiserror::Error)]
pub enum ReviewSiteError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Source(#[from] SourceError),
    #[error(transparent)]
    Sink(#[from] SinkError),
    #[error(transparent)]
    Environment(#[from] EnvironmentError),
}

pub type ReviewSiteResult<T> = Result<T, ReviewSiteError>;

/// Where reviews work.
#[derive(Clone, Debug)]
pub struct ReviewSite {
    /// Traces and scores.
    pub(super) source: Source,
    /// Draws, agents, and states of alerts.
    pub catalog: Catalog,
    /// The project of draws and alerts in the catalog.
    pub project: ProjectId,
    /// The project whose agents and schedules count: of a server's reviews, the one that names it.
    pub(super) settings: ProjectId,
    /// The last week that was read from a server: every agent's draw needs it.
    week: Arc<Mutex<Option<ReadWeek>>>,
}

/// A week of a server: its time range, and its traces.
type ReadWeek = (TimeRange, Arc<Vec<RemoteTrace>>);

/// A trace on a server, with its signals.
#[derive(Clone, Debug)]
struct RemoteTrace {
    id: TraceId,
    agent: Option<String>,
    candidate: TraceCandidate,
    correct: Option<bool>,
}

impl ReviewSite {
    /// A project of the local store.
    pub fn local(store: &Store, project: &ProjectId) -> Self {
        let source = Source::Local(store.telemetry.clone(), project.clone());
        Self::new(source, store.catalog.clone(), project.clone())
    }

    /// Traces and scores of a source; draws are kept in a project of the catalog.
    pub fn new(source: Source, catalog: Catalog, project: ProjectId) -> Self {
        Self { source, catalog, settings: project.clone(), project, week: Arc::default() }
    }

    /// The reviews of a project where the settings of its reports say: here, or on the Langfuse
    /// server that they name.
    ///
    /// # Errors
    /// Fails if the settings are incomplete.
    pub fn of_project(
        store: &Store,
        environment: &dyn JobEnvironment,
        project: &ProjectId,
    ) -> Result<Self, EnvironmentError> {
        let (source, _, journal) = work_place(store, environment, project)?;
        Ok(Self::of_place((&source, &journal), project))
    }

    /// The reviews of a project in the place where its scheduled jobs work.
    pub(crate) fn of_place(place: (&Source, &Journal), project: &ProjectId) -> Self {
        let (source, journal) = place;
        let site = Self::new(source.clone(), journal.catalog.clone(), journal.project.clone());
        Self { settings: project.clone(), ..site }
    }

    /// Returns where traces and scores are read from.
    pub const fn source(&self) -> &Source {
        &self.source
    }

    /// Returns the client of the server, if it is one.
    pub(super) const fn client(&self) -> Option<&LangfuseClient> {
        match &self.source {
            Source::Remote(client) => Some(client),
            Source::Local(..) => None,
        }
    }

    /// Returns the agents of matching traces with the number of traces, most first.
    pub(super) async fn traced_agents(
        &self,
        query: SignalQuery,
    ) -> ReviewSiteResult<Vec<(Option<String>, u64)>> {
        if let Source::Local(telemetry, _) = &self.source {
            return Ok(telemetry.traced_agents(query).await?);
        }
        let mut counts: BTreeMap<Option<String>, u64> = BTreeMap::new();
        for trace in self.matching(&query).await? {
            *counts.entry(trace.agent).or_default() += 1;
        }
        let mut counts: Vec<_> = counts.into_iter().collect();
        counts.sort_by(|(one, count), (other, more)| more.cmp(count).then_with(|| one.cmp(other)));
        Ok(counts)
    }

    /// Classifies matching traces by their signals.
    pub(super) async fn week_signals(&self, query: SignalQuery) -> ReviewSiteResult<WeekSignals> {
        if let Source::Local(telemetry, _) = &self.source {
            return Ok(telemetry.week_signals(query).await?);
        }
        let mut found = WeekSignals::default();
        let plan = ReviewPlan { capacity: 0, ..ReviewPlan::default() };
        let mut counter = WeekSampler::new(plan, "", "");
        for RemoteTrace { id: trace, candidate, correct, .. } in self.matching(&query).await? {
            found.traces += 1;
            found.thumbs_up += u64::from(candidate.thumb == Some(true));
            found.thumbs_down += u64::from(candidate.thumb == Some(false));
            let (category, quality) = (candidate.category(), candidate.quality);
            found.reviewed.extend(correct.map(|correct| ReviewedSignal {
                trace,
                correct,
                category,
                quality,
            }));
            counter.add(candidate);
        }
        found.cells = counter.finish().cells;
        Ok(found)
    }

    /// Classifies matching traces and draws a sample of them. Stores nothing.
    pub(super) async fn draw_week(&self, query: DrawQuery) -> ReviewSiteResult<WeekDraw> {
        if let Source::Local(telemetry, _) = &self.source {
            return Ok(telemetry.draw_week(query).await?);
        }
        let spots = format!("{}/spot-checks", query.seed);
        let mut sampler = WeekSampler::new(query.plan, &query.seed, &spots);
        for trace in self.matching(&query.traces).await? {
            sampler.add(trace.candidate);
        }
        Ok(sampler.finish())
    }

    /// Returns people's latest answers about drawn traces.
    pub(super) async fn answers(
        &self,
        drawn: &[&DrawnTrace],
    ) -> ReviewSiteResult<BTreeMap<String, TraceAnswer>> {
        if let Source::Local(telemetry, project) = &self.source {
            let ids = drawn.iter().filter_map(|drawn| TraceId::parse(&drawn.trace).ok()).collect();
            let reviewed = telemetry.review_answers(project.clone(), ids).await?;
            return Ok(super::weekly_metrics::answers(reviewed));
        }
        let mut correct = BTreeMap::new();
        for score in self.scores(CORRECTNESS, TimeWindow::default()).await? {
            if let Some((trace, number)) = said(&score) {
                correct.insert(trace.to_string(), number >= 0.5);
            }
        }
        let answer = |drawn: &&DrawnTrace| {
            let correct = *correct.get(&drawn.trace)?;
            let (category, quality) = (drawn.category, drawn.quality);
            Some((drawn.trace.clone(), TraceAnswer { correct, category, quality }))
        };
        Ok(drawn.iter().filter_map(answer).collect())
    }

    /// Returns the dataset items made since a time, newest first.
    pub(super) async fn sourced_items(
        &self,
        since: Timestamp,
    ) -> ReviewSiteResult<Vec<SourcedItem>> {
        match &self.source {
            Source::Local(..) => {
                Ok(self.catalog.sourced_items(self.project.clone(), since).await?)
            }
            Source::Remote(client) => {
                let is_read = |name: &str| name.contains(REVIEWED);
                Ok(langfuse::queues::sourced_items(client, is_read, since).await?)
            }
        }
    }

    /// Returns the times of traces, as far as they are known.
    pub(super) async fn trace_times(
        &self,
        traces: Vec<TraceId>,
    ) -> ReviewSiteResult<Vec<(String, Timestamp)>> {
        match &self.source {
            Source::Local(telemetry, project) => {
                let found = telemetry.find_traces(project.clone(), traces).await?;
                let time = |trace: ratchet_core::record::trace::Trace| {
                    (trace.id.to_string(), trace.timestamp)
                };
                Ok(found.into_iter().map(time).collect())
            }
            Source::Remote(_) => {
                let mut times = Vec::new();
                for id in traces {
                    let found = self.source.trace(&id).await?;
                    times.extend(found.map(|trace| (trace.id.to_string(), trace.timestamp)));
                }
                Ok(times)
            }
        }
    }

    /// Returns those of a week's traces that are there.
    pub(super) async fn recorded(
        &self,
        week: &Week,
        traces: &BTreeSet<String>,
    ) -> ReviewSiteResult<BTreeSet<String>> {
        if let Source::Local(telemetry, project) = &self.source {
            let ids = traces.iter().filter_map(|id| TraceId::parse(id).ok()).collect();
            let found = telemetry.find_traces(project.clone(), ids).await?;
            return Ok(found.into_iter().map(|trace| trace.id.to_string()).collect());
        }
        let range = TimeRange { from: Some(week.start()), to: Some(week.end()) };
        let found = self.remote_week(range).await?;
        let known = found.iter().map(|trace| trace.id.to_string());
        Ok(known.filter(|id| traces.contains(id)).collect())
    }

    /// Returns the newest traces of a category among those of a query; `None` on a server, whose
    /// traces have no pages here.
    pub(super) async fn traces_of_category(
        &self,
        query: SignalQuery,
        category: Category,
        limit: usize,
    ) -> ReviewSiteResult<Option<Vec<TraceId>>> {
        match &self.source {
            Source::Local(telemetry, _) => {
                Ok(Some(telemetry.traces_of_category(query, category, limit).await?))
            }
            Source::Remote(_) => Ok(None),
        }
    }

    /// The traces of a server's week that a query asks for.
    async fn matching(&self, query: &SignalQuery) -> ReviewSiteResult<Vec<RemoteTrace>> {
        let environments: Vec<_> =
            query.environments.iter().map(|name| Environment::normalise(name)).collect();
        let is_asked = |trace: &&RemoteTrace| {
            let found = &trace.candidate;
            query.agent.has(trace.agent.as_deref())
                && (environments.is_empty()
                    || environments.iter().any(|wanted| wanted.as_str() == found.environment))
                && query
                    .release
                    .as_ref()
                    .is_none_or(|wanted| found.release.as_ref() == Some(wanted))
        };
        let week = self.remote_week(query.range).await?;
        Ok(week.iter().filter(is_asked).cloned().collect())
    }

    async fn remote_week(&self, range: TimeRange) -> ReviewSiteResult<Arc<Vec<RemoteTrace>>> {
        let known = self.week.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some((of, week)) = known
            && of == range
        {
            return Ok(week);
        }
        let between = TimeWindow { from: range.from, to: range.to };
        let mut traces = self.traces(between).await?;
        // As here: the run of a dataset item is no traffic, whatever its environment.
        if let Some(client) = self.client() {
            for run in langfuse::queues::run_traces(client, between).await? {
                traces.remove(&run);
            }
        }
        // Signals come after their trace, at any time.
        let since = TimeWindow { from: range.from, to: None };
        for name in [THUMBS, QUALITY, CORRECTNESS] {
            for score in self.scores(name, since).await? {
                let Some((trace, number)) = said(&score) else { continue };
                let Some(found) = traces.get_mut(trace) else { continue };
                match name {
                    THUMBS => found.candidate.thumb = Some(number >= 0.5),
                    QUALITY => found.candidate.quality = Some(number),
                    _ => found.correct = Some(number >= 0.5),
                }
            }
        }
        let week = Arc::new(traces.into_values().collect::<Vec<_>>());
        let read = Some((range, Arc::clone(&week)));
        *self.week.lock().unwrap_or_else(PoisonError::into_inner) = read;
        Ok(week)
    }

    async fn traces(
        &self,
        between: TimeWindow,
    ) -> ReviewSiteResult<BTreeMap<TraceId, RemoteTrace>> {
        let asked = TraceRefFilter { between, ..TraceRefFilter::default() };
        let mut traces = BTreeMap::new();
        let mut next = Some(Position::Start);
        while let Some(at) = next {
            let slice = self.source.trace_refs(&asked, &at).await?;
            let is_counted = |found: &TraceRef| {
                between.holds(found.timestamp) && found.environment.is_production_traffic()
            };
            let found = slice.rows.into_iter().filter(is_counted);
            traces.extend(found.map(|found| (found.trace.clone(), remote_trace(found))));
            next = slice.next;
        }
        Ok(traces)
    }

    /// Scores of a name that count, oldest first: later ones replace earlier ones.
    async fn scores(&self, name: &str, between: TimeWindow) -> ReviewSiteResult<Vec<Score>> {
        let asked = ScoreFilter { between, name: Some(name.to_owned()), ..ScoreFilter::default() };
        let mut scores = Vec::new();
        let mut next = Some(Position::Start);
        while let Some(at) = next {
            let slice = self.source.scores(&asked, &at).await?;
            scores.extend(slice.rows.into_iter().filter(counts));
            next = slice.next;
        }
        scores.sort_by_key(|score| score.timestamp);
        Ok(scores)
    }
}

fn remote_trace(found: TraceRef) -> RemoteTrace {
    let candidate = TraceCandidate {
        trace: found.trace.to_string(),
        thumb: None,
        quality: None,
        environment: found.environment.as_str().to_owned(),
        release: found.release,
    };
    RemoteTrace { id: found.trace, agent: found.agent, candidate, correct: None }
}

/// An evaluator's correctness is no person's, and a person's quality is no judge's.
fn counts(score: &Score) -> bool {
    match score.name.as_str() {
        THUMBS => true,
        QUALITY => score.source != ScoreSource::Annotation,
        CORRECTNESS => score.source != ScoreSource::Eval,
        _ => false,
    }
}

/// The trace that a score is on, and its number.
fn said(score: &Score) -> Option<(&TraceId, f64)> {
    let ScoreTarget::Trace(trace) = &score.target else { return None };
    Some((trace, score.value.number()?))
}
