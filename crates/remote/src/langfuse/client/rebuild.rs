//! Rebuilds traces and sessions from observations, for servers without lists of them.
//!
//! Observations are listed newest first. Each names a trace, but only the first of a trace's
//! observations in that order returns the trace: so each trace is returned once, without state
//! between pages.

use std::collections::{BTreeMap, BTreeSet};

use ratchet_core::id::TraceId;
use ratchet_core::record::session::Session;

use super::observations_v2::{Fields, ObservationV2Query};
use super::record::{SessionSum, id};
use super::route::{Route, no_route};
use super::sessions::without_sums;
use super::slice::{Position, Slice, TimeWindow};
use super::traces::{TraceFilter, WholeTrace};
use super::{ClientError, LangfuseClient, observations_v2};
use crate::langfuse::wire::observation_v2::ObservationV2View;
use ratchet_core::issue::Issue;

const LIST_PAGE_SIZE: u64 = 100;
/// Page size when all observations of a trace or session are read.
const FULL_PAGE_SIZE: u64 = 200;

impl LangfuseClient {
    /// Returns the traces of a time range.
    pub(super) async fn rebuilt_traces(
        &self,
        query: &TraceFilter,
        at: &Position,
    ) -> Result<Slice<WholeTrace>, ClientError> {
        let walked = self.walk(&query.between, query, at).await?;
        let mut rows = Vec::new();
        let mut unreadable = walked.unreadable;
        let mut seen = BTreeSet::new();
        for row in &walked.rows {
            let Some(trace) = row.trace_id.as_ref().filter(|id| seen.insert((*id).clone())) else {
                continue;
            };
            let views = self.all_of(trace).await?;
            if !is_first(row, &views, &query.between) {
                continue;
            }
            match whole(&views) {
                Ok(Some(whole)) if query.between.holds(whole.trace.timestamp) => rows.push(whole),
                Ok(_) => {}
                Err(issue) => unreadable.push(issue),
            }
        }
        Ok(Slice { rows, unreadable, next: walked.next, total: None })
    }

    /// Returns a trace; `None` if it has no observations.
    pub(super) async fn rebuilt_trace(
        &self,
        id: &TraceId,
    ) -> Result<Option<WholeTrace>, ClientError> {
        let views = self.all_of(&id.to_string()).await?;
        whole(&views).map_err(|issue| ClientError::Unreadable {
            request: format!("GET /api/public/v2/observations?traceId={id}"),
            issue,
        })
    }

    /// Returns the sessions of a time range.
    pub(super) async fn rebuilt_sessions(
        &self,
        between: &TimeWindow,
        at: &Position,
    ) -> Result<Slice<Session>, ClientError> {
        let walked = self.walk(between, &TraceFilter::default(), at).await?;
        let mut rows = Vec::new();
        let mut unreadable = walked.unreadable;
        let mut seen = BTreeSet::new();
        for row in &walked.rows {
            let named = row.session_id.as_value();
            let Some(session) = named.filter(|id| seen.insert((*id).clone())) else { continue };
            let session = match id("sessionId", session) {
                Ok(session) => session,
                Err(issue) => {
                    unreadable.push(issue);
                    continue;
                }
            };
            let query = TraceFilter { session: Some(session.clone()), ..TraceFilter::default() };
            let views = self.all_newer(&sums(&query)).await?.ok_or_else(gone)?;
            if !is_first(row, &views, between) {
                continue;
            }
            let summed = summed(SessionSum::new(without_sums(session)), &views);
            match summed {
                Ok(session) if between.holds(session.created_at) => rows.push(session),
                Ok(_) => {}
                Err(issue) => unreadable.push(issue),
            }
        }
        Ok(Slice { rows, unreadable, next: walked.next, total: None })
    }

    async fn walk(
        &self,
        between: &TimeWindow,
        query: &TraceFilter,
        at: &Position,
    ) -> Result<Slice<ObservationV2View>, ClientError> {
        let query = ObservationV2Query {
            between: *between,
            trace: None,
            session: query.session.clone(),
            fields: Fields::Place,
            limit: LIST_PAGE_SIZE,
        };
        self.newer_observations(&query, at).await?.ok_or_else(gone)
    }

    async fn all_of(&self, trace: &str) -> Result<Vec<ObservationV2View>, ClientError> {
        let trace = id("traceId", trace).map_err(|issue| ClientError::Unreadable {
            request: "GET /api/public/v2/observations".to_owned(),
            issue,
        })?;
        let query = ObservationV2Query {
            between: TimeWindow::default(),
            trace: Some(trace),
            session: None,
            fields: Fields::All,
            limit: FULL_PAGE_SIZE,
        };
        self.all_newer(&query).await?.ok_or_else(gone)
    }
}

fn gone() -> ClientError {
    no_route("traces", &[Route::Traces, Route::ObservationsV2])
}

fn sums(query: &TraceFilter) -> ObservationV2Query {
    ObservationV2Query {
        between: TimeWindow::default(),
        trace: None,
        session: query.session.clone(),
        fields: Fields::Sums,
        limit: FULL_PAGE_SIZE,
    }
}

/// Returns whether this row is the first of its trace or session in list order.
fn is_first(row: &ObservationV2View, all: &[ObservationV2View], between: &TimeWindow) -> bool {
    let first = all.iter().find(|view| between.holds(view.start_time.0));
    first.is_some_and(|first| first.id == row.id && first.trace_id == row.trace_id)
}

fn whole(views: &[ObservationV2View]) -> Result<Option<WholeTrace>, Issue> {
    let observations = views.iter().map(observations_v2::observation);
    let mut observations = observations.collect::<Result<Vec<_>, _>>()?;
    observations.sort_by(|a, b| (a.start, &a.id).cmp(&(b.start, &b.id)));
    let trace = observations_v2::trace(views, &observations)?;
    Ok(trace.map(|trace| WholeTrace { trace, observations }))
}

fn summed(mut sum: SessionSum, views: &[ObservationV2View]) -> Result<Session, Issue> {
    let mut traces: BTreeMap<&str, Vec<ObservationV2View>> = BTreeMap::new();
    for view in views {
        let trace = view.trace_id.as_deref().unwrap_or(&view.id);
        traces.entry(trace).or_default().push(view.clone());
    }
    for views in traces.values() {
        if let Some(whole) = whole(views)? {
            sum.add(&whole.trace);
        }
    }
    Ok(sum.into_session())
}
