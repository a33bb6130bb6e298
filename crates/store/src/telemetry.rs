use ratchet_core::catalog::experiment::ExperimentItem;
use ratchet_core::id::{ObservationId, ScoreId, SessionId, TraceId};
use ratchet_core::record::observation::{Observation, ObservationPatch};
use ratchet_core::record::redact::{ProjectRedactor, Redact, Redacted};
use ratchet_core::record::score::{Score, ScorePatch};
use ratchet_core::record::session::Session;
use ratchet_core::record::trace::{Trace, TracePatch};
use ratchet_core::time::Timestamp;

use crate::StoreResult;
use crate::aggregate::{Aggregate, AggregateQuery};
use crate::embedded::{self, Prepared, WritableBatch};
use crate::experiment::{
    Experiment, ExperimentItemQuery, ExperimentQuery, ExperimentSummary, KeptExperimentItem,
    RunQuery,
};
use crate::metrics::{MetricsAnswer, MetricsQuery};
use crate::project::ProjectId;
use crate::query::{
    Matching, ObservationColumn, ObservationQuery, Page, ScoreColumn, ScoreQuery, SessionEnds,
    SessionQuery, TallyQuery, TextHits, TextQuery, TraceColumn, TraceQuery,
};
use crate::score_stats::{PairQuery, Pairs, Sample, SampleQuery};
use crate::user::{UserDay, UserQuery, UserScope, Users};

/// What one request records: all of it or nothing.
#[derive(Clone, Debug)]
pub struct Batch {
    pub project: ProjectId,
    /// What it says about traces.
    pub traces: Vec<TracePatch>,
    /// What it says about observations.
    pub observations: Vec<ObservationPatch>,
    /// What it says about scores.
    pub scores: Vec<ScorePatch>,
    /// Which items of experiments were tried.
    pub experiment_items: Vec<ExperimentItem>,
    /// When it came in, by the server's clock.
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
    fn redact(self, rules: &ProjectRedactor<'_>) -> Self {
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

/// The telemetry interface: one behaviour, whichever engine keeps the data.
#[derive(Clone, Debug)]
pub enum Telemetry {
    /// SQLite in one folder.
    Embedded(embedded::Engine),
}

impl Telemetry {
    /// Works a batch out as far as possible without the database: merges what repeats, prices
    /// model calls, compresses payloads. Takes real CPU time: keep it off the async runtime.
    pub fn prepare(&self, batch: Redacted<Batch>) -> Prepared {
        match self {
            Self::Embedded(engine) => engine.prepare(batch.into_inner()),
        }
    }

    /// Writes a batch and returns once it is on disk. All of it is readable then.
    ///
    /// Only `stages::record` calls this; a repository rule holds that.
    ///
    /// # Errors
    /// On any error nothing of the batch was stored.
    pub async fn write_batch(&self, batch: WritableBatch) -> StoreResult<()> {
        match self {
            Self::Embedded(engine) => engine.write_batch(batch).await,
        }
    }

    /// Returns the traces that match.
    ///
    /// # Errors
    /// Fails on a cursor that is not ours or on a test that does not fit its column.
    pub async fn traces(&self, query: TraceQuery) -> StoreResult<Page<Trace>> {
        match self {
            Self::Embedded(engine) => engine.traces(query).await,
        }
    }

    /// Returns one trace with its content.
    ///
    /// # Errors
    /// Fails only when the database does; a trace that is not there is `None`.
    pub async fn trace(&self, project: ProjectId, id: TraceId) -> StoreResult<Option<Trace>> {
        match self {
            Self::Embedded(engine) => engine.trace(project, id).await,
        }
    }

    /// Returns those of some traces that are there, in the order of their ids, without content.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn find_traces(
        &self,
        project: ProjectId,
        ids: Vec<TraceId>,
    ) -> StoreResult<Vec<Trace>> {
        match self {
            Self::Embedded(engine) => engine.find_traces(project, ids).await,
        }
    }

    /// Returns the observations that match, by start.
    ///
    /// # Errors
    /// Fails on a cursor that is not ours or on a test that does not fit its column.
    pub async fn observations(&self, query: ObservationQuery) -> StoreResult<Page<Observation>> {
        match self {
            Self::Embedded(engine) => engine.observations(query).await,
        }
    }

    /// Returns one observation with its content, found by its id alone.
    ///
    /// # Errors
    /// Fails only when the database does; an observation that is not there is `None`.
    pub async fn observation(
        &self,
        project: ProjectId,
        id: ObservationId,
    ) -> StoreResult<Option<Observation>> {
        match self {
            Self::Embedded(engine) => engine.observation(project, id).await,
        }
    }

    /// Returns the sessions that match, newest first.
    ///
    /// # Errors
    /// Fails on a cursor that is not ours.
    pub async fn sessions(&self, query: SessionQuery) -> StoreResult<Page<Session>> {
        match self {
            Self::Embedded(engine) => engine.sessions(query).await,
        }
    }

    /// Returns one session.
    ///
    /// # Errors
    /// Fails only when the database does; a session that is not there is `None`.
    pub async fn session(&self, project: ProjectId, id: SessionId) -> StoreResult<Option<Session>> {
        match self {
            Self::Embedded(engine) => engine.session(project, id).await,
        }
    }

    /// Returns how each of some sessions begins and ends, in their order.
    ///
    /// # Errors
    /// Fails only when the database does; a session that is not there has no ends.
    pub async fn session_ends(
        &self,
        project: ProjectId,
        ids: Vec<SessionId>,
    ) -> StoreResult<Vec<SessionEnds>> {
        match self {
            Self::Embedded(engine) => engine.session_ends(project, ids).await,
        }
    }

    /// Returns the users that match, with sums over their traces, the greatest first.
    ///
    /// # Errors
    /// Fails when too many are asked for.
    pub async fn users(&self, query: UserQuery) -> StoreResult<Users> {
        match self {
            Self::Embedded(engine) => engine.users(query).await,
        }
    }

    /// Returns one user's sums by day, oldest first; days without a trace are left out.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn user_days(&self, scope: UserScope, user: String) -> StoreResult<Vec<UserDay>> {
        match self {
            Self::Embedded(engine) => engine.user_days(scope, user).await,
        }
    }

    /// Returns the newest scores of each name, by name. Names without a score are left out.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn score_samples(&self, query: SampleQuery) -> StoreResult<Vec<Sample>> {
        match self {
            Self::Embedded(engine) => engine.score_samples(query).await,
        }
    }

    /// Returns what two kinds of scores say about the same traces.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn score_pairs(&self, query: PairQuery) -> StoreResult<Pairs> {
        match self {
            Self::Embedded(engine) => engine.score_pairs(query).await,
        }
    }

    /// Returns the scores that match, newest first.
    ///
    /// # Errors
    /// Fails on a cursor that is not ours or on a test that does not fit its column.
    pub async fn scores(&self, query: ScoreQuery) -> StoreResult<Page<Score>> {
        match self {
            Self::Embedded(engine) => engine.scores(query).await,
        }
    }

    /// Returns one score.
    ///
    /// # Errors
    /// Fails only when the database does; a score that is not there is `None`.
    pub async fn score(&self, project: ProjectId, id: ScoreId) -> StoreResult<Option<Score>> {
        match self {
            Self::Embedded(engine) => engine.score(project, id).await,
        }
    }

    /// Deletes a score and says whether it was there.
    ///
    /// # Errors
    /// On any error the score is untouched.
    pub async fn delete_score(&self, project: ProjectId, id: ScoreId) -> StoreResult<bool> {
        match self {
            Self::Embedded(engine) => engine.delete_score(project, id).await,
        }
    }

    /// Returns experiments with what ran in a time, those that ran last first.
    ///
    /// # Errors
    /// Fails on a cursor that is not ours.
    pub async fn experiments(
        &self,
        query: ExperimentQuery,
    ) -> StoreResult<Page<ExperimentSummary>> {
        match self {
            Self::Embedded(engine) => engine.experiments(query).await,
        }
    }

    /// Returns the items of experiments, newest first.
    ///
    /// # Errors
    /// Fails on a cursor that is not ours.
    pub async fn experiment_items(
        &self,
        query: ExperimentItemQuery,
    ) -> StoreResult<Page<KeptExperimentItem>> {
        match self {
            Self::Embedded(engine) => engine.experiment_items(query).await,
        }
    }

    /// Returns the experiments over one dataset, newest first.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn runs(&self, query: RunQuery) -> StoreResult<Page<Experiment>> {
        match self {
            Self::Embedded(engine) => engine.runs(query).await,
        }
    }

    /// Forgets an experiment, its items and its scores; says whether it was there. The traces stay.
    ///
    /// # Errors
    /// On any error nothing is forgotten.
    pub async fn delete_experiment(&self, project: ProjectId, id: String) -> StoreResult<bool> {
        match self {
            Self::Embedded(engine) => engine.delete_experiment(project, id).await,
        }
    }

    /// Forgets that a dataset item was ever tried.
    ///
    /// # Errors
    /// On any error nothing is forgotten.
    pub async fn forget_item(&self, project: ProjectId, item: String) -> StoreResult<()> {
        match self {
            Self::Embedded(engine) => engine.forget_item(project, item).await,
        }
    }

    /// Searches for a text, newest first, within a time budget.
    ///
    /// # Errors
    /// Fails on a cursor that is not ours.
    pub async fn search(&self, query: TextQuery) -> StoreResult<TextHits<Observation>> {
        match self {
            Self::Embedded(engine) => engine.search(query).await,
        }
    }

    /// Counts how many of the newest traces match, reading no more than it is told to.
    ///
    /// # Errors
    /// Fails on a test that does not fit its column, or on what traces carry.
    pub async fn matching_traces(&self, query: TallyQuery<TraceColumn>) -> StoreResult<Matching> {
        match self {
            Self::Embedded(engine) => engine.matching_traces(query).await,
        }
    }

    /// Counts how many of the newest scores match, reading no more than it is told to.
    ///
    /// # Errors
    /// Fails on a test that does not fit its column, or on what scores carry.
    pub async fn matching_scores(&self, query: TallyQuery<ScoreColumn>) -> StoreResult<Matching> {
        match self {
            Self::Embedded(engine) => engine.matching_scores(query).await,
        }
    }

    /// Counts how many of the newest observations match, reading no more than it is told to.
    ///
    /// # Errors
    /// Fails on a test that does not fit its column, or on what observations carry.
    pub async fn matching_observations(
        &self,
        query: TallyQuery<ObservationColumn>,
    ) -> StoreResult<Matching> {
        match self {
            Self::Embedded(engine) => engine.matching_observations(query).await,
        }
    }

    /// Sums observations by time and dimension.
    ///
    /// # Errors
    /// Fails on a test that does not fit its column.
    pub async fn aggregate(&self, query: AggregateQuery) -> StoreResult<Aggregate> {
        match self {
            Self::Embedded(engine) => engine.aggregate(query).await,
        }
    }

    /// Returns figures over traces.
    ///
    /// # Errors
    /// Fails on a test or a figure that does not fit its column, and on a question that would read
    /// or keep too much.
    pub async fn trace_metrics(
        &self,
        query: MetricsQuery<TraceColumn>,
    ) -> StoreResult<MetricsAnswer> {
        match self {
            Self::Embedded(engine) => engine.trace_metrics(query).await,
        }
    }

    /// Returns figures over observations.
    ///
    /// # Errors
    /// Fails on a test or a figure that does not fit its column, and on a question that would read
    /// or keep too much.
    pub async fn observation_metrics(
        &self,
        query: MetricsQuery<ObservationColumn>,
    ) -> StoreResult<MetricsAnswer> {
        match self {
            Self::Embedded(engine) => engine.observation_metrics(query).await,
        }
    }

    /// Whether hourly sums have what is asked of observations, so that the answer costs the same
    /// at any size.
    pub fn has_sums_for(&self, query: &MetricsQuery<ObservationColumn>) -> bool {
        match self {
            Self::Embedded(_) => crate::embedded::has_sums_for(query),
        }
    }

    /// Returns figures over scores.
    ///
    /// # Errors
    /// Fails on a test or a figure that does not fit its column, and on a question that would read
    /// or keep too much.
    pub async fn score_metrics(
        &self,
        query: MetricsQuery<ScoreColumn>,
    ) -> StoreResult<MetricsAnswer> {
        match self {
            Self::Embedded(engine) => engine.score_metrics(query).await,
        }
    }

    /// Deletes some traces and whatever hangs on them: observations, payloads, scores, their part
    /// in sessions and sums. Returns how many went; those that are not there are passed over.
    ///
    /// Slice by slice, so that recording goes on in between; a crash leaves whole traces behind.
    ///
    /// # Errors
    /// On any error the slices before it are gone and the rest is untouched.
    pub async fn delete_traces(&self, project: ProjectId, ids: Vec<TraceId>) -> StoreResult<u64> {
        match self {
            Self::Embedded(engine) => engine.delete_traces(project, ids).await,
        }
    }

    /// Deletes one slice of the traces that began before a moment and whatever hangs on them, and
    /// then of the events of chats in which nothing was said since.
    /// Returns how many went; zero means there are none left.
    ///
    /// # Errors
    /// On any error the slice is untouched.
    pub async fn delete_before(&self, project: ProjectId, before: Timestamp) -> StoreResult<u64> {
        match self {
            Self::Embedded(engine) => engine.delete_before(project, before).await,
        }
    }

    /// Returns when the newest trace of all projects began, of those that did not begin after a
    /// moment.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn newest_time(&self, not_after: Timestamp) -> StoreResult<Option<Timestamp>> {
        match self {
            Self::Embedded(engine) => engine.newest_time(not_after).await,
        }
    }

    /// Puts all that was recorded for a project out of reach, at once and for good. What is
    /// recorded for it afterwards is another project's.
    ///
    /// # Errors
    /// On any error nothing has changed.
    pub async fn abandon(&self, project: ProjectId) -> StoreResult<()> {
        match self {
            Self::Embedded(engine) => engine.abandon(project).await,
        }
    }

    /// Deletes one slice of the public scores that have waited too long for what they judge.
    /// Returns how many went; zero means there are none left.
    ///
    /// # Errors
    /// On any error the slice is untouched.
    pub async fn delete_waiting_scores(&self, now: Timestamp) -> StoreResult<u64> {
        match self {
            Self::Embedded(engine) => engine.delete_waiting_scores(now).await,
        }
    }

    /// Deletes one slice of what was abandoned. Returns how many records went; zero means there
    /// are none left.
    ///
    /// # Errors
    /// On any error the slice is untouched.
    pub async fn delete_abandoned(&self) -> StoreResult<u64> {
        match self {
            Self::Embedded(engine) => engine.delete_abandoned().await,
        }
    }
}
