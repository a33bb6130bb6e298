/// Experiments and their items.
mod experiments;
/// Observations, one or several.
mod observations;

use ratchet_core::catalog::experiment::ExperimentItem;
use ratchet_core::id::{ScoreId, SessionId, TraceId};
use ratchet_core::record::observation::{Observation, ObservationPatch};
use ratchet_core::record::redact::{LimitedRedactor, Redact, Redacted};
use ratchet_core::record::score::{Score, ScorePatch};
use ratchet_core::record::session::Session;
use ratchet_core::record::trace::{Trace, TracePatch};
use ratchet_core::time::Timestamp;

use crate::StoreResult;
use crate::agent_aliases::AgentAliases;
use crate::aggregate::{Aggregate, AggregateQuery};
use crate::embedded::{self, TelemetryDb};
use crate::metrics::{MetricsAnswer, MetricsQuery};
use crate::project::ProjectId;
use crate::query::{
    Matching, ObservationColumn, Page, ScoreColumn, ScoreQuery, SessionEnds, SessionQuery,
    TallyQuery, TextHits, TextQuery, TraceColumn, TraceQuery,
};
use crate::score_stats::{PairQuery, Pairs, Sample, SampleQuery};
use crate::user::{UserDay, UserQuery, UserScope, Users};

pub use crate::embedded::{Prepared, WritableBatch};

/// The records of one request: stored all or nothing.
#[derive(Clone, Debug)]
pub struct Batch {
    pub project: ProjectId,
    pub traces: Vec<TracePatch>,
    pub observations: Vec<ObservationPatch>,
    pub scores: Vec<ScorePatch>,
    pub experiment_items: Vec<ExperimentItem>,
    /// Time of arrival by the server's clock.
    pub received_at: Timestamp,
}

impl Batch {
    /// A batch that records nothing yet.
    pub const fn new(project: ProjectId, received_at: Timestamp) -> Self {
        Self {
            project,
            traces: Vec::new(),
            observations: Vec::new(),
            scores: Vec::new(),
            experiment_items: Vec::new(),
            received_at,
        }
    }
}

impl Redact for Batch {
    fn redact(self, rules: &LimitedRedactor<'_>) -> Self {
        // Every field by name, so that a new one cannot slip by.
        let Self { project, traces, observations, scores, experiment_items, received_at } = self;
        Self {
            project,
            traces: traces.redact(rules),
            observations: observations.redact(rules),
            scores: scores.redact(rules),
            experiment_items: experiment_items.redact(rules),
            received_at,
        }
    }
}

/// The telemetry store: one interface for every engine.
#[derive(Clone, Debug)]
pub struct Telemetry {
    pub(crate) engine: TelemetryEngine,
    pub(crate) agent_aliases: AgentAliases,
}

/// Where telemetry is stored.
#[derive(Clone, Debug)]
pub(crate) enum TelemetryEngine {
    /// SQLite in the data folder.
    Embedded(TelemetryDb),
}

impl Telemetry {
    pub(crate) fn embedded(db: TelemetryDb, agent_aliases: AgentAliases) -> Self {
        Self { engine: TelemetryEngine::Embedded(db), agent_aliases }
    }

    /// Prepares a batch without the database: merges duplicates, prices model calls, compresses
    /// payloads. CPU-bound: run it off the async runtime.
    pub fn prepare(&self, batch: Redacted<Batch>) -> Prepared {
        match &self.engine {
            TelemetryEngine::Embedded(engine) => engine.prepare(batch.into_inner()),
        }
    }

    /// Writes a prepared batch and returns once it is durable and readable.
    ///
    /// Only `stages::record` calls this; a repository rule holds that.
    ///
    /// # Errors
    /// On any error nothing of the batch is stored.
    pub async fn write_batch(&self, batch: WritableBatch) -> StoreResult<()> {
        match &self.engine {
            TelemetryEngine::Embedded(engine) => engine.write_batch(batch).await,
        }
    }

    /// Returns matching traces.
    ///
    /// # Errors
    /// Fails on a malformed cursor or on a condition that does not fit its column.
    pub async fn traces(&self, mut query: TraceQuery) -> StoreResult<Page<Trace>> {
        self.agent_aliases.resolve(&query.project, &mut query.conditions);
        match &self.engine {
            TelemetryEngine::Embedded(engine) => engine.traces(query).await,
        }
    }

    /// Returns a trace with its content, or `None`.
    ///
    /// # Errors
    /// Fails only when the database does; a trace that is not there is `None`.
    pub async fn trace(&self, project: ProjectId, id: TraceId) -> StoreResult<Option<Trace>> {
        match &self.engine {
            TelemetryEngine::Embedded(engine) => engine.trace(project, id).await,
        }
    }

    /// Returns those of the given traces that exist, in the order of their ids, without content.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn find_traces(
        &self,
        project: ProjectId,
        ids: Vec<TraceId>,
    ) -> StoreResult<Vec<Trace>> {
        match &self.engine {
            TelemetryEngine::Embedded(engine) => engine.find_traces(project, ids).await,
        }
    }

    /// Returns matching sessions, newest first.
    ///
    /// # Errors
    /// Fails on a malformed cursor.
    pub async fn sessions(&self, mut query: SessionQuery) -> StoreResult<Page<Session>> {
        self.agent_aliases.resolve(&query.project, &mut query.conditions);
        match &self.engine {
            TelemetryEngine::Embedded(engine) => engine.sessions(query).await,
        }
    }

    /// Returns a session, or `None`.
    ///
    /// # Errors
    /// Fails only when the database does; a session that is not there is `None`.
    pub async fn session(&self, project: ProjectId, id: SessionId) -> StoreResult<Option<Session>> {
        match &self.engine {
            TelemetryEngine::Embedded(engine) => engine.session(project, id).await,
        }
    }

    /// Returns the first and last trace of each session, in the order given.
    ///
    /// # Errors
    /// Fails only when the database does; an unknown session has neither.
    pub async fn session_ends(
        &self,
        project: ProjectId,
        ids: Vec<SessionId>,
    ) -> StoreResult<Vec<SessionEnds>> {
        match &self.engine {
            TelemetryEngine::Embedded(engine) => engine.session_ends(project, ids).await,
        }
    }

    /// Returns matching users, with sums over their traces, greatest first.
    ///
    /// # Errors
    /// Fails when the limit is too high.
    pub async fn users(&self, query: UserQuery) -> StoreResult<Users> {
        match &self.engine {
            TelemetryEngine::Embedded(engine) => engine.users(query).await,
        }
    }

    /// Returns one user's sums by day, oldest first; days without traces are absent.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn user_days(&self, scope: UserScope, user: String) -> StoreResult<Vec<UserDay>> {
        match &self.engine {
            TelemetryEngine::Embedded(engine) => engine.user_days(scope, user).await,
        }
    }

    /// Returns the newest scores of each name, by name. Names without scores are absent.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn score_samples(&self, query: SampleQuery) -> StoreResult<Vec<Sample>> {
        match &self.engine {
            TelemetryEngine::Embedded(engine) => engine.score_samples(query).await,
        }
    }

    /// Returns paired values of two scores on the same traces.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn score_pairs(&self, query: PairQuery) -> StoreResult<Pairs> {
        match &self.engine {
            TelemetryEngine::Embedded(engine) => engine.score_pairs(query).await,
        }
    }

    /// Returns matching scores, newest first.
    ///
    /// # Errors
    /// Fails on a malformed cursor or on a condition that does not fit its column.
    pub async fn scores(&self, query: ScoreQuery) -> StoreResult<Page<Score>> {
        match &self.engine {
            TelemetryEngine::Embedded(engine) => engine.scores(query).await,
        }
    }

    /// Returns matching scores like [`Telemetry::scores`], without comments and long metadata, and
    /// with the beginning of long texts: for readers of many scores.
    ///
    /// # Errors
    /// Fails on a malformed cursor or on a condition that does not fit its column.
    pub async fn score_values(&self, query: ScoreQuery) -> StoreResult<Page<Score>> {
        match &self.engine {
            TelemetryEngine::Embedded(engine) => engine.score_values(query).await,
        }
    }

    /// Returns a score, or `None`.
    ///
    /// # Errors
    /// Fails only when the database does; a score that is not there is `None`.
    pub async fn score(&self, project: ProjectId, id: ScoreId) -> StoreResult<Option<Score>> {
        match &self.engine {
            TelemetryEngine::Embedded(engine) => engine.score(project, id).await,
        }
    }

    /// Deletes a score; returns whether it existed.
    ///
    /// # Errors
    /// On any error the score is unchanged.
    pub async fn delete_score(&self, project: ProjectId, id: ScoreId) -> StoreResult<bool> {
        match &self.engine {
            TelemetryEngine::Embedded(engine) => engine.delete_score(project, id).await,
        }
    }

    /// Searches for a text, newest first, within a time budget.
    ///
    /// # Errors
    /// Fails on a malformed cursor.
    pub async fn search(&self, query: TextQuery) -> StoreResult<TextHits<Observation>> {
        match &self.engine {
            TelemetryEngine::Embedded(engine) => engine.search(query).await,
        }
    }

    /// Counts matches among the newest traces, with a limit on the rows read.
    ///
    /// # Errors
    /// Fails on a condition that does not fit its column, or that needs payloads.
    pub async fn matching_traces(
        &self,
        mut query: TallyQuery<TraceColumn>,
    ) -> StoreResult<Matching> {
        self.agent_aliases.resolve(&query.project, &mut query.conditions);
        match &self.engine {
            TelemetryEngine::Embedded(engine) => engine.matching_traces(query).await,
        }
    }

    /// Counts matches among the newest scores, with a limit on the rows read.
    ///
    /// # Errors
    /// Fails on a condition that does not fit its column, or that needs payloads.
    pub async fn matching_scores(&self, query: TallyQuery<ScoreColumn>) -> StoreResult<Matching> {
        match &self.engine {
            TelemetryEngine::Embedded(engine) => engine.matching_scores(query).await,
        }
    }

    /// Counts matches among the newest observations, with a limit on the rows read.
    ///
    /// # Errors
    /// Fails on a condition that does not fit its column, or that needs payloads.
    pub async fn matching_observations(
        &self,
        mut query: TallyQuery<ObservationColumn>,
    ) -> StoreResult<Matching> {
        self.agent_aliases.resolve(&query.project, &mut query.conditions);
        match &self.engine {
            TelemetryEngine::Embedded(engine) => engine.matching_observations(query).await,
        }
    }

    /// Sums observations by time and dimension.
    ///
    /// # Errors
    /// Fails on a condition that does not fit its column.
    pub async fn aggregate(&self, mut query: AggregateQuery) -> StoreResult<Aggregate> {
        self.agent_aliases.resolve(&query.project, &mut query.conditions);
        match &self.engine {
            TelemetryEngine::Embedded(engine) => engine.aggregate(query).await,
        }
    }

    /// Returns metrics of traces.
    ///
    /// # Errors
    /// Fails on a condition or metric that does not fit its column, and on a query that exceeds the
    /// limits of time or memory.
    pub async fn trace_metrics(
        &self,
        mut query: MetricsQuery<TraceColumn>,
    ) -> StoreResult<MetricsAnswer> {
        self.agent_aliases.resolve(&query.project, &mut query.conditions);
        match &self.engine {
            TelemetryEngine::Embedded(engine) => engine.trace_metrics(query).await,
        }
    }

    /// Returns metrics of observations.
    ///
    /// # Errors
    /// Fails on a condition or metric that does not fit its column, and on a query that exceeds the
    /// limits of time or memory.
    pub async fn observation_metrics(
        &self,
        mut query: MetricsQuery<ObservationColumn>,
    ) -> StoreResult<MetricsAnswer> {
        self.agent_aliases.resolve(&query.project, &mut query.conditions);
        match &self.engine {
            TelemetryEngine::Embedded(engine) => engine.observation_metrics(query).await,
        }
    }

    /// Whether the hourly rollup can answer, so that the query costs the same at any data size.
    pub fn has_sums_for(&self, query: &MetricsQuery<ObservationColumn>) -> bool {
        match &self.engine {
            TelemetryEngine::Embedded(_) => embedded::has_sums_for(query),
        }
    }

    /// Returns metrics of scores.
    ///
    /// # Errors
    /// Fails on a condition or metric that does not fit its column, and on a query that exceeds the
    /// limits of time or memory.
    pub async fn score_metrics(
        &self,
        query: MetricsQuery<ScoreColumn>,
    ) -> StoreResult<MetricsAnswer> {
        match &self.engine {
            TelemetryEngine::Embedded(engine) => engine.score_metrics(query).await,
        }
    }

    /// Deletes traces with their observations, payloads and scores, and updates sessions and sums.
    /// Returns the number deleted; unknown ids are ignored.
    ///
    /// Deletes in slices, so that recording continues in between; a crash leaves whole traces
    /// behind.
    ///
    /// # Errors
    /// On any error the slices before it are deleted and the rest is unchanged.
    pub async fn delete_traces(&self, project: ProjectId, ids: Vec<TraceId>) -> StoreResult<u64> {
        match &self.engine {
            TelemetryEngine::Embedded(engine) => engine.delete_traces(project, ids).await,
        }
    }

    /// Deletes one slice of the traces that started before a moment, and then of the events of
    /// chats without events since. Returns the number deleted; zero means there are none left.
    ///
    /// # Errors
    /// On any error the slice is unchanged.
    pub async fn delete_before(&self, project: ProjectId, before: Timestamp) -> StoreResult<u64> {
        match &self.engine {
            TelemetryEngine::Embedded(engine) => engine.delete_before(project, before).await,
        }
    }

    /// Returns the start of the newest trace of all projects that did not start after a moment.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn newest_time(&self, not_after: Timestamp) -> StoreResult<Option<Timestamp>> {
        match &self.engine {
            TelemetryEngine::Embedded(engine) => engine.newest_time(not_after).await,
        }
    }

    /// Marks all telemetry of a project as deleted, at once and permanently. Telemetry recorded
    /// afterwards belongs to a new project of that id.
    ///
    /// # Errors
    /// On any error nothing has changed.
    pub async fn abandon(&self, project: ProjectId) -> StoreResult<()> {
        match &self.engine {
            TelemetryEngine::Embedded(engine) => engine.abandon(project).await,
        }
    }

    /// Deletes one slice of the public scores that have waited too long for their target. Returns
    /// the number deleted; zero means there are none left.
    ///
    /// # Errors
    /// On any error the slice is unchanged.
    pub async fn delete_waiting_scores(&self, now: Timestamp) -> StoreResult<u64> {
        match &self.engine {
            TelemetryEngine::Embedded(engine) => engine.delete_waiting_scores(now).await,
        }
    }

    /// Deletes one slice of the telemetry of deleted projects. Returns the number of records
    /// deleted; zero means there are none left.
    ///
    /// # Errors
    /// On any error the slice is unchanged.
    pub async fn delete_abandoned(&self) -> StoreResult<u64> {
        match &self.engine {
            TelemetryEngine::Embedded(engine) => engine.delete_abandoned().await,
        }
    }
}
