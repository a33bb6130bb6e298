use maud::{Markup, html};
use ratchet_core::id::{SessionId, TraceId};
use ratchet_core::money::Money;
use ratchet_core::record::field_table::SESSION;
use ratchet_core::record::observation::Observation;
use ratchet_core::record::session::Session;
use ratchet_core::record::title::title;
use ratchet_core::record::trace::{Content, Trace};
use ratchet_core::time::Timestamp;
use ratchet_store::StoreResult;
use ratchet_store::deadline_query::DeadlinePage;
use ratchet_store::live_tail::{Arrival, RecordKind};
use ratchet_store::query::{
    Condition, Matching, Page, Paging, SessionColumn, SessionEnds, SessionQuery, TallyQuery, Test,
    TimeRange,
};
use ratchet_store::telemetry::Telemetry;

use super::column::ListColumn;
use super::row::{self, COUNTED, CellValue, ListedRow, RowFacts};
use super::state::ListQuery;
use crate::components::{badge, copy, figure};
use crate::filter::ListKind;
use crate::message_preview;
use crate::pages::marks;
use crate::request_context::RequestContext;

/// A session with its first and last trace.
#[derive(Clone, Debug)]
pub(in crate::pages) struct SessionRow {
    pub(in crate::pages) session: Session,
    pub(in crate::pages) ends: SessionEnds,
    pub(in crate::pages) bookmarked: bool,
}

/// The input of the first trace and the output of the last.
pub(super) fn first_and_last(ends: SessionEnds) -> Content {
    let output = ends.last.and_then(|last| last.content?.output);
    let first = ends.first.and_then(|first| first.content).unwrap_or_default();
    Content { output, ..first }
}

impl SessionRow {
    fn traces(&self) -> impl Iterator<Item = &Trace> {
        self.ends.first.iter().chain(&self.ends.last)
    }

    fn word<'a>(&'a self, of: fn(&'a Trace) -> Option<&'a str>) -> Option<&'a str> {
        self.traces().filter_map(of).find(|word| !word.is_empty())
    }

    fn end(&self) -> Timestamp {
        let ends = self.traces().filter_map(|trace| trace.summary.end);
        ends.chain([self.session.last_at]).max().unwrap_or(self.session.last_at)
    }

    fn input(&self) -> Option<&ratchet_core::payload::Payload> {
        self.ends.first.as_ref()?.content.as_ref()?.input.as_ref()
    }

    fn output(&self) -> Option<&ratchet_core::payload::Payload> {
        self.ends.last.as_ref()?.content.as_ref()?.output.as_ref()
    }

    /// The first message; without one, the ID.
    pub(in crate::pages) fn opening(&self) -> String {
        let opening = self.input().map(|input| {
            title(input.as_str()).unwrap_or_else(|| message_preview::opening(input.as_str()))
        });
        opening
            .filter(|text| !text.trim().is_empty())
            .unwrap_or_else(|| self.session.id.to_string())
    }

    fn duration(&self) -> i64 {
        self.end().since(self.session.created_at)
    }
}

async fn with_ends(
    telemetry: &Telemetry,
    ask: &ListQuery,
    sessions: Vec<Session>,
) -> StoreResult<Vec<SessionRow>> {
    let ids = sessions.iter().map(|session| session.id.clone()).collect();
    let ends = telemetry.session_ends(ask.project.clone(), ids).await?;
    let row = |(session, ends): (Session, SessionEnds)| {
        let bookmarked = ask.bookmarked.contains(&session.id.to_string());
        SessionRow { session, ends, bookmarked }
    };
    Ok(sessions.into_iter().zip(ends).map(row).collect())
}

/// Those of some sessions that match, newest first, whenever they were created.
async fn those(
    telemetry: &Telemetry,
    ask: &ListQuery,
    ids: Vec<SessionId>,
) -> StoreResult<Vec<SessionRow>> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let paging = Paging::After { cursor: None, limit: ids.len() as u64 };
    let test = Test::AnyOf(ids.iter().map(ToString::to_string).collect());
    let mut query = query(ask, paging);
    query.conditions.push(Condition { column: SessionColumn::Id, test });
    // A session may start before the time range of one of its observations.
    query.range = TimeRange { from: None, to: ask.range.to };
    let sessions = telemetry.sessions(query).await?.rows;
    with_ends(telemetry, ask, sessions).await
}

async fn sessions_of(
    telemetry: &Telemetry,
    ask: &ListQuery,
    traces: Vec<TraceId>,
) -> StoreResult<Vec<SessionId>> {
    let traces = telemetry.find_traces(ask.project.clone(), traces).await?;
    let mut ids: Vec<SessionId> = traces.into_iter().filter_map(|trace| trace.session).collect();
    ids.sort();
    ids.dedup();
    Ok(ids)
}

impl ListedRow for SessionRow {
    const ON: ListKind = ListKind::Sessions;

    /// A session changes with its traces.
    const WATCHED: RecordKind = RecordKind::Traces;

    async fn read(telemetry: &Telemetry, ask: &ListQuery) -> StoreResult<DeadlinePage<Self>> {
        let paging = Paging::After { cursor: ask.cursor.clone(), limit: ask.limit };
        let (column, direction) = ask.order;
        let order = SESSION.listed(column.0).and_then(|found| found.order).unwrap_or_default();
        let sought = telemetry.seek_sessions(query(ask, paging), (order, direction), ask.time);
        let DeadlinePage { page: Page { rows, total, cursor }, reached } = sought.await?;
        let rows = with_ends(telemetry, ask, rows).await?;
        Ok(DeadlinePage { page: Page { rows, total, cursor }, reached })
    }

    async fn arrived(
        telemetry: &Telemetry,
        ask: &ListQuery,
        records: Vec<Arrival>,
    ) -> StoreResult<Vec<Self>> {
        let traces = records.into_iter().map(|record| match record {
            Arrival::Trace(trace) | Arrival::Observation(trace, _) => trace,
        });
        let ids = sessions_of(telemetry, ask, traces.collect()).await?;
        those(telemetry, ask, ids).await
    }

    async fn matching(telemetry: &Telemetry, ask: &ListQuery) -> StoreResult<Matching> {
        telemetry.matching_sessions(tally(ask, COUNTED)).await
    }

    async fn found(
        telemetry: &Telemetry,
        ask: &ListQuery,
        hits: Vec<Observation>,
    ) -> StoreResult<Vec<Self>> {
        let ids = hits.into_iter().map(|hit| hit.trace).collect();
        let ids = sessions_of(telemetry, ask, ids).await?;
        those(telemetry, ask, ids).await
    }

    fn facts(&self) -> RowFacts {
        let id = self.session.id.to_string();
        RowFacts { id, failed: self.session.errors > 0, trace: None, session: None }
    }

    fn cell(&self, column: ListColumn, ctx: &RequestContext) -> Markup {
        let Some(listed) = SESSION.listed(column.0) else { return Markup::default() };
        let session = &self.session;
        let word = |word: Option<&str>| html! { bdi { (word.unwrap_or_default()) } };
        match listed.column {
            SessionColumn::FirstMessage => {
                let opening = self.opening();
                html! {
                    span title=(opening) { bdi { (opening) } }
                    @if self.bookmarked { " " (marks::bookmarked()) }
                }
            }
            SessionColumn::LastOutput => row::preview_cell(self.output()),
            SessionColumn::Id => copy::id(&session.id.to_string()),
            SessionColumn::Users => {
                let user = self.word(|trace| trace.user.as_deref());
                row::linked(user, |id| ctx.to(&["users", id]))
            }
            SessionColumn::Agents => word(self.word(|trace| trace.agent.as_deref())),
            SessionColumn::Releases => word(self.word(|trace| trace.release.as_deref())),
            SessionColumn::TraceCount => html! { (figure::grouped(session.traces)) },
            SessionColumn::Duration => html! { (figure::duration(self.duration())) },
            SessionColumn::TotalTokens => {
                figure::tokens_in_part(session.total_tokens, session.approximate_cost)
            }
            SessionColumn::Cost => figure::cost_in_part(session.cost, session.approximate_cost),
            SessionColumn::ErrorCount => errors(session.errors),
            SessionColumn::CreatedAt => figure::ago(session.created_at, &ctx.time),
            SessionColumn::LastActivity => figure::ago(session.last_at, &ctx.time),
            SessionColumn::Environment => badge::tag(session.environment.as_str()),
            SessionColumn::Tags
            | SessionColumn::Bookmarked
            | SessionColumn::ScoreCount
            | SessionColumn::ScoreNumbers
            | SessionColumn::ScoreLabels
            | SessionColumn::ScoreBooleans => Markup::default(),
        }
    }

    fn value(&self, column: ListColumn) -> CellValue {
        let Some(listed) = SESSION.listed(column.0) else { return CellValue::Text(None) };
        let session = &self.session;
        let text = |word: Option<&str>| CellValue::Text(word.map(str::to_owned));
        match listed.column {
            SessionColumn::FirstMessage => row::payload(self.input()),
            SessionColumn::LastOutput => row::payload(self.output()),
            SessionColumn::Id => CellValue::Text(Some(session.id.to_string())),
            SessionColumn::Users => text(self.word(|trace| trace.user.as_deref())),
            SessionColumn::Agents => text(self.word(|trace| trace.agent.as_deref())),
            SessionColumn::Releases => text(self.word(|trace| trace.release.as_deref())),
            SessionColumn::TraceCount => CellValue::Whole(session.traces),
            SessionColumn::Duration => CellValue::Number(Some(row::seconds(self.duration()))),
            SessionColumn::TotalTokens => CellValue::Whole(session.total_tokens),
            SessionColumn::Cost => CellValue::Number(session.cost.map(Money::dollars)),
            SessionColumn::ErrorCount => CellValue::Whole(session.errors),
            SessionColumn::CreatedAt => CellValue::Time(session.created_at),
            SessionColumn::LastActivity => CellValue::Time(session.last_at),
            SessionColumn::Environment => text(Some(session.environment.as_str())),
            SessionColumn::Tags
            | SessionColumn::Bookmarked
            | SessionColumn::ScoreCount
            | SessionColumn::ScoreNumbers
            | SessionColumn::ScoreLabels
            | SessionColumn::ScoreBooleans => CellValue::Text(None),
        }
    }
}

/// Number of errors.
pub(in crate::pages) fn errors(errors: u64) -> Markup {
    html! { @if errors > 0 { span.bad { (figure::grouped(errors)) } } @else { span.muted { "0" } } }
}

pub(super) fn tally(ask: &ListQuery, at_most: u64) -> TallyQuery<SessionColumn> {
    let (project, range) = (ask.project.clone(), ask.range);
    TallyQuery { project, range, conditions: conditions(ask), at_most }
}

fn query(ask: &ListQuery, paging: Paging) -> SessionQuery {
    let (project, range) = (ask.project.clone(), ask.range);
    SessionQuery { project, range, conditions: conditions(ask), paging }
}

fn conditions(ask: &ListQuery) -> Vec<Condition<SessionColumn>> {
    let equals = |column, word: &Option<String>| Some(Condition::equals(column, word.as_deref()?));
    let mut conditions = ask.filter.on_sessions();
    for condition in &mut conditions {
        if condition.column == SessionColumn::Bookmarked {
            let test = match condition.test {
                Test::Is(false) => Test::NoneOf(ask.bookmarked.clone()),
                _ => Test::AnyOf(ask.bookmarked.clone()),
            };
            *condition = Condition { column: SessionColumn::Id, test };
        }
    }
    conditions.extend(equals(SessionColumn::Environment, &ask.environment));
    conditions.extend(equals(SessionColumn::Agents, &ask.agent));
    conditions
}
