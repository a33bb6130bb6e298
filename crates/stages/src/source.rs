//! Where stages read from: the local store, or a Langfuse server. Both answer with the same
//! records, in slices, newest first.

/// Titles of sessions.
pub mod session_title;

use ratchet_core::id::{SessionId, TraceId};
use ratchet_core::record::observation::Observation;
use ratchet_core::record::score::Score;
use ratchet_core::record::session::Session;
use ratchet_core::record::trace::Trace;
use ratchet_remote::langfuse::client::{
    ClientError, LangfuseClient, ObservationFilter, Position, ScoreFilter, Slice, TimeWindow,
    TraceFilter, TraceRef, TraceRefFilter, WholeTrace,
};
use ratchet_store::StoreError;
use ratchet_store::project::ProjectId;
use ratchet_store::query::{
    Condition, Detail, Direction, ObservationQuery, Page, PageNumber, Paging, ScoreColumn,
    ScoreQuery, ScoresOn, SessionQuery, Test, TimeRange, TraceColumn, TraceOrder, TraceQuery,
};
use ratchet_store::telemetry::Telemetry;
use ratchet_store::trace_stream::ObservationCursor;

/// Records in a slice of the local store.
const SLICE: u64 = 100;
/// Places in a slice of the local store: they are small.
const PLACES: u64 = 1_000;
/// Whole traces in a slice of the local store: they are large.
const WHOLE: u64 = 20;

#[derive(Clone, Debug)]
pub enum Source {
    /// A project of the local store.
    Local(Telemetry, ProjectId),
    /// The project of a Langfuse server that the client's key opens.
    Remote(LangfuseClient),
}

/// Why a source could not be read.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// The store could not.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The server is unreachable.
    #[error(transparent)]
    Client(#[from] ClientError),
}

pub type SourceResult<T> = Result<T, SourceError>;

impl Source {
    /// Returns the URL of the server; `None` for the local store.
    pub fn url(&self) -> Option<String> {
        match self {
            Self::Local(_, _) => None,
            Self::Remote(client) => Some(client.base().to_owned()),
        }
    }

    /// Returns the sessions that began in some time.
    ///
    /// # Errors
    /// Fails if the source cannot be read, or on a place in another source's list.
    pub async fn sessions(
        &self,
        between: &TimeWindow,
        at: &Position,
    ) -> SourceResult<Slice<Session>> {
        match self {
            Self::Local(telemetry, project) => {
                let query = SessionQuery {
                    project: project.clone(),
                    range: range(between),
                    conditions: Vec::new(),
                    paging: paging(at, SLICE),
                };
                Ok(slice(telemetry.sessions(query).await?))
            }
            Self::Remote(client) => Ok(client.sessions(between, at).await?),
        }
    }

    /// Returns one session; `None` if it is not there.
    ///
    /// # Errors
    /// Fails if the source cannot be read.
    pub async fn session(&self, id: &SessionId) -> SourceResult<Option<Session>> {
        match self {
            Self::Local(telemetry, project) => {
                Ok(telemetry.session(project.clone(), id.clone()).await?)
            }
            Self::Remote(client) => Ok(client.session(id).await?),
        }
    }

    /// Returns the traces that began in some time, with content.
    ///
    /// # Errors
    /// Fails if the source cannot be read, or on a place in another source's list.
    pub async fn traces(&self, asked: &TraceFilter, at: &Position) -> SourceResult<Slice<Trace>> {
        match self {
            Self::Local(telemetry, project) => {
                let query = TraceQuery { paging: paging(at, SLICE), ..traces(project, asked) };
                Ok(slice(telemetry.traces(query).await?))
            }
            Self::Remote(client) => {
                let Slice { rows, unreadable, next, total } = client.traces(asked, at).await?;
                let rows = rows.into_iter().map(|whole| whole.trace).collect();
                Ok(Slice { rows, unreadable, next, total })
            }
        }
    }

    /// Returns ids and times of traces, newest first, without content. A trace may occur several
    /// times.
    ///
    /// # Errors
    /// Fails if the source cannot be read, or on a place in another source's list.
    pub async fn trace_refs(
        &self,
        asked: &TraceRefFilter,
        at: &Position,
    ) -> SourceResult<Slice<TraceRef>> {
        match self {
            Self::Local(telemetry, project) => {
                let query = TraceQuery {
                    project: project.clone(),
                    range: range(&asked.between),
                    conditions: place_conditions(asked),
                    order: (TraceOrder::Timestamp, Direction::Descending),
                    paging: paging(at, PLACES),
                    detail: Detail::Row,
                };
                let Page { rows, total, cursor } = telemetry.traces(query).await?;
                let rows = rows.into_iter().map(|trace| TraceRef {
                    trace: trace.id,
                    session: trace.session,
                    timestamp: trace.timestamp,
                    environment: trace.environment,
                    agent: trace.agent,
                    user: trace.user,
                    release: trace.release,
                    tags: trace.tags,
                    cost: trace.summary.cost,
                    observations: Some(trace.summary.levels.total()),
                });
                Ok(slice(Page { rows: rows.collect(), total, cursor }))
            }
            Self::Remote(client) => Ok(client.trace_refs(asked, at).await?),
        }
    }

    /// Returns the stored number of observations of a session; `None` for a server, which does not
    /// tell without listing them.
    ///
    /// # Errors
    /// Fails if the store cannot be read.
    pub async fn observation_count(&self, session: &SessionId) -> SourceResult<Option<u64>> {
        let Self::Local(telemetry, project) = self else { return Ok(None) };
        let asked = TraceRefFilter { session: Some(session.clone()), ..TraceRefFilter::default() };
        let mut count = 0;
        let mut next = Some(Position::Start);
        while let Some(at) = next {
            let query = TraceQuery {
                project: project.clone(),
                range: range(&asked.between),
                conditions: place_conditions(&asked),
                order: (TraceOrder::Timestamp, Direction::Descending),
                paging: paging(&at, PLACES),
                detail: Detail::Row,
            };
            let page = slice(telemetry.traces(query).await?);
            count +=
                page.rows.iter().map(|trace: &Trace| trace.summary.levels.total()).sum::<u64>();
            next = page.next;
        }
        Ok(Some(count))
    }

    /// Returns the traces of a session with all their observations, some at a time, newest first.
    ///
    /// # Errors
    /// Fails if the source cannot be read, or on a place in another source's list.
    pub async fn whole_traces(
        &self,
        session: &SessionId,
        at: &Position,
    ) -> SourceResult<Slice<WholeTrace>> {
        let asked = TraceFilter { session: Some(session.clone()), ..TraceFilter::default() };
        match self {
            Self::Local(telemetry, project) => {
                let query = TraceQuery { paging: paging(at, WHOLE), ..traces(project, &asked) };
                let Slice { rows, unreadable, next, total } = slice(telemetry.traces(query).await?);
                let mut whole = Vec::with_capacity(rows.len());
                for trace in rows {
                    let observations = observations_of(telemetry, project, &trace.id).await?;
                    whole.push(WholeTrace { trace, observations });
                }
                Ok(Slice { rows: whole, unreadable, next, total })
            }
            Self::Remote(client) => Ok(client.traces(&asked, at).await?),
        }
    }

    /// Returns one trace with its content; `None` if it is not there.
    ///
    /// # Errors
    /// Fails if the source cannot be read.
    pub async fn trace(&self, id: &TraceId) -> SourceResult<Option<Trace>> {
        match self {
            Self::Local(telemetry, project) => {
                Ok(telemetry.trace(project.clone(), id.clone()).await?)
            }
            Self::Remote(client) => Ok(client.trace(id).await?.map(|whole| whole.trace)),
        }
    }

    /// Returns the observations that began in some time, with content.
    ///
    /// # Errors
    /// Fails if the source cannot be read, or on a place in another source's list.
    pub async fn observations(
        &self,
        asked: &ObservationFilter,
        at: &Position,
    ) -> SourceResult<Slice<Observation>> {
        match self {
            Self::Local(telemetry, project) => {
                let query = ObservationQuery {
                    project: project.clone(),
                    range: range(&asked.between),
                    trace: asked.trace.clone(),
                    conditions: Vec::new(),
                    direction: Direction::Descending,
                    paging: paging(at, SLICE),
                    detail: Detail::Content,
                };
                Ok(slice(telemetry.observations(query).await?))
            }
            Self::Remote(client) => Ok(client.observations(asked, at).await?),
        }
    }

    /// Returns the scores that were given in some time.
    ///
    /// # Errors
    /// Fails if the source cannot be read, or on a place in another source's list.
    pub async fn scores(&self, asked: &ScoreFilter, at: &Position) -> SourceResult<Slice<Score>> {
        match self {
            Self::Local(telemetry, project) => {
                let on_session = asked.session.clone().map(ScoresOn::Session);
                let on = asked.trace.clone().map(ScoresOn::Trace).or(on_session);
                let named = asked.name.as_ref();
                let named = named
                    .map(|name| Condition::equals(ScoreColumn::Name, name.clone()))
                    .into_iter();
                let sourced = asked
                    .source
                    .map(|source| Condition::equals(ScoreColumn::Source, source.as_str()))
                    .into_iter();
                let query = ScoreQuery {
                    project: project.clone(),
                    range: range(&asked.between),
                    on: on.unwrap_or_default(),
                    conditions: named.chain(sourced).collect(),
                    paging: paging(at, SLICE),
                };
                Ok(slice(telemetry.scores(query).await?))
            }
            Self::Remote(client) => Ok(client.scores(asked, at).await?),
        }
    }

    /// Returns all scores of a session.
    ///
    /// # Errors
    /// Fails if the source cannot be read.
    pub async fn scores_of_session(&self, session: &SessionId) -> SourceResult<Vec<Score>> {
        self.all_scores(&ScoreFilter { session: Some(session.clone()), ..ScoreFilter::default() })
            .await
    }

    /// Returns all scores of a trace.
    ///
    /// # Errors
    /// Fails if the source cannot be read.
    pub async fn scores_of_trace(&self, trace: &TraceId) -> SourceResult<Vec<Score>> {
        self.all_scores(&ScoreFilter { trace: Some(trace.clone()), ..ScoreFilter::default() }).await
    }

    /// Returns all scores that match.
    ///
    /// # Errors
    /// Fails if the source cannot be read.
    pub async fn all_scores(&self, asked: &ScoreFilter) -> SourceResult<Vec<Score>> {
        let mut scores = Vec::new();
        let mut next = Some(Position::Start);
        while let Some(at) = next {
            let slice = self.scores(asked, &at).await?;
            scores.extend(slice.rows);
            next = slice.next;
        }
        Ok(scores)
    }
}

/// All observations of a trace with content, newest first.
pub(crate) async fn observations_of(
    telemetry: &Telemetry,
    project: &ProjectId,
    trace: &TraceId,
) -> SourceResult<Vec<Observation>> {
    let mut found = Vec::new();
    let mut next = Some(ObservationCursor::new(project.clone(), trace.clone(), Detail::Content));
    while let Some(walk) = next {
        let walked = telemetry.observations_after(walk).await?;
        found.extend(walked.rows);
        next = walked.rest;
    }
    found.reverse();
    Ok(found)
}

fn range(between: &TimeWindow) -> TimeRange {
    TimeRange { from: between.from, to: between.to }
}

/// The question for traces, from the beginning.
fn traces(project: &ProjectId, asked: &TraceFilter) -> TraceQuery {
    TraceQuery {
        project: project.clone(),
        range: range(&asked.between),
        conditions: of_session(asked.session.as_ref()).into_iter().collect(),
        order: (TraceOrder::Timestamp, Direction::Descending),
        paging: paging(&Position::Start, SLICE),
        detail: Detail::Content,
    }
}

fn of_session(session: Option<&SessionId>) -> Option<Condition<TraceColumn>> {
    session.map(|session| Condition::equals(TraceColumn::Session, session.to_string()))
}

fn place_conditions(asked: &TraceRefFilter) -> Vec<Condition<TraceColumn>> {
    let equals = |column, text: &Option<String>| {
        text.as_ref().map(|text| Condition::equals(column, text.clone()))
    };
    let tag = asked
        .tag
        .as_ref()
        .map(|tag| Condition { column: TraceColumn::Tags, test: Test::AllOf(vec![tag.clone()]) });
    let agent = equals(TraceColumn::Agent, &asked.agent);
    let release = equals(TraceColumn::Release, &asked.release);
    let user = equals(TraceColumn::User, &asked.user);
    let environment = equals(TraceColumn::Environment, &asked.environment);
    let session = of_session(asked.session.as_ref());
    [session, agent, release, user, environment, tag].into_iter().flatten().collect()
}

fn paging(at: &Position, limit: u64) -> Paging {
    match at {
        Position::Start => Paging::After { cursor: None, limit },
        Position::Page(page) => Paging::Numbered(PageNumber { page: *page, limit }),
        Position::Cursor(cursor) => Paging::After { cursor: Some(cursor.clone()), limit },
    }
}

fn slice<T>(page: Page<T>) -> Slice<T> {
    let next = page.cursor.map(Position::Cursor);
    Slice { rows: page.rows, unreadable: Vec::new(), next, total: page.total }
}
