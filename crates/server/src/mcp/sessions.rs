use ratchet_core::id::SessionId;
use ratchet_core::judge::evidence::{Evidence, NumberedTrace};
use ratchet_core::money::Money;
use ratchet_core::payload::Payload;
use ratchet_core::record::limit::elide;
use ratchet_core::record::observation::Observation;
use ratchet_core::record::score::Score;
use ratchet_core::record::session::Session;
use ratchet_core::record::trace::{Content, Trace};
use ratchet_remote::langfuse::client::{
    ObservationFilter, Position, ScoreFilter, Slice, TimeWindow, TraceFilter,
};
use ratchet_remote::langfuse::wire::score::ScoreView;
use ratchet_stages::source::{Source, SourceError};
use ratchet_store::catalog::Catalog;
use ratchet_store::project::ProjectId;
use rmcp::model::JsonObject;
use serde_json::{Value, json};

use super::api::ToolError;
use super::bounds::{MAX_TEXT_BYTES, cut_fields, fitting};
use super::session_arguments::{
    Question, ReportArguments, ScoresArguments, SessionArguments, SessionsArguments,
};
use crate::clock::Clock;
use crate::error::ApiError;

const DAY: i64 = 24 * 60 * 60 * 1_000_000_000;
type ToolResult<T = Value> = Result<T, ToolError>;

/// Observations of one trace; listObservations shows more.
const MAX_STEPS: usize = 1_000;
/// Slices that one answer reads at most; beyond that it says that there is more.
const MAX_SLICES: usize = 200;

/// The records that tools read.
#[derive(Clone, Debug)]
pub struct Records {
    pub source: Source,
    /// The catalog with the reports of a project; another server has its own.
    pub reports: Option<(Catalog, ProjectId)>,
    pub clock: Clock,
}

impl Records {
    /// Answers a call.
    ///
    /// # Errors
    /// Fails if the arguments are wrong, something is not there, or the records cannot be read.
    pub(super) async fn answer(&self, tool: &str, arguments: JsonObject) -> ToolResult {
        match &Question::read(tool, arguments)? {
            Question::Sessions(asked) => self.sessions(asked).await,
            Question::Session(asked) => self.session(asked).await,
            Question::Scores(asked) => self.scores(asked).await,
            Question::Report(asked) => self.report(asked).await,
        }
    }

    async fn sessions(&self, asked: &SessionsArguments) -> ToolResult {
        let between = self.since(asked.days);
        let mut found = Found::at_most(count(asked.limit));
        while let Some(at) = found.next() {
            found.add(self.source.sessions(&between, &at).await?);
        }
        let sessions: Vec<_> = found.rows.iter().map(session_view).collect();
        Ok(json!({"sessions": sessions, "has_more": found.has_more}))
    }

    async fn session(&self, asked: &SessionArguments) -> ToolResult {
        let id = SessionId::parse(&asked.session_id)
            .map_err(|_| ToolError(format!("{} is not a valid session ID", asked.session_id)))?;
        let missing = || ToolError(format!("session {id} not found"));
        let session = self.source.session(&id).await?.ok_or_else(missing)?;
        let of_session = TraceFilter { between: TimeWindow::default(), session: Some(id.clone()) };
        let mut found = Found::at_most(usize::MAX);
        while let Some(at) = found.next() {
            found.add(self.source.traces(&of_session, &at).await?);
        }
        if found.has_more {
            let read = found.rows.len();
            return Err(ToolError(format!("the session has more than {read} traces")));
        }
        let most = count(asked.max_bytes);
        let pairs = found.rows.into_iter().map(|trace| (trace, Vec::new())).collect();
        let Evidence { traces, .. } = Evidence::new(id.clone(), pairs);
        if let Some(number) = asked.trace {
            let wanted = traces.iter().find(|trace| trace.number == number);
            let missing = || ToolError(format!("the session has traces 1 to {}", traces.len()));
            let wanted = wanted.ok_or_else(missing)?;
            return self.trace(wanted, most).await;
        }
        let (scores, scores_left_out) = self.scores_of(&id).await?;
        let from = traces.iter().filter(|trace| trace.number >= asked.from_trace);
        let shown = from.take(count(asked.limit)).map(|numbered| trace_view(numbered, most));
        let (shown, traces_left_out) = fitting(shown);
        let answer = json!({
            "session": session_view(&session),
            "scores": scores,
            "trace_count": traces.len(),
            "traces": shown,
        });
        let answer = noted(answer, scores_left_out, "scores", "list_scores shows them by name");
        Ok(noted(answer, traces_left_out, "traces", "ask with from_trace or a smaller max_bytes"))
    }

    async fn trace(&self, numbered: &NumberedTrace, most: usize) -> ToolResult {
        let trace = Some(numbered.trace.id.clone());
        let of_trace = ObservationFilter { between: TimeWindow::default(), trace };
        let mut found = Found::at_most(MAX_STEPS);
        while let Some(at) = found.next() {
            found.add(self.source.observations(&of_trace, &at).await?);
        }
        found.rows.sort_by(|one, other| (one.start, &one.id).cmp(&(other.start, &other.id)));
        let (steps, left_out) = fitting(found.rows.iter().map(|step| step_view(step, most)));
        let has_more = found.has_more || left_out > 0;
        let trace = trace_view(numbered, most);
        let answer = json!({"trace": trace, "steps": steps, "has_more": has_more});
        Ok(noted(answer, left_out, "observations", "listObservations with the traceId shows all"))
    }

    async fn scores_of(&self, session: &SessionId) -> ToolResult<(Vec<Value>, usize)> {
        let asked = ScoreFilter { session: Some(session.clone()), ..ScoreFilter::default() };
        let mut found = Found::at_most(usize::MAX);
        while let Some(at) = found.next() {
            found.add(self.source.scores(&asked, &at).await?);
        }
        Ok(score_views(&found.rows))
    }

    async fn scores(&self, asked: &ScoresArguments) -> ToolResult {
        let session = asked.session_id.as_deref().map(SessionId::parse).transpose();
        let session = session.map_err(|why| ToolError(format!("session_id: {why}")))?;
        let between =
            if session.is_some() { TimeWindow::default() } else { self.since(asked.days) };
        let question = ScoreFilter { between, session, ..ScoreFilter::default() };
        let mut found = Found::at_most(count(asked.limit));
        while let Some(at) = found.next() {
            let mut slice = self.source.scores(&question, &at).await?;
            let is_wanted =
                |score: &Score| asked.name.as_ref().is_none_or(|name| *name == score.name);
            slice.rows.retain(is_wanted);
            found.add(slice);
        }
        let (scores, left_out) = score_views(&found.rows);
        let answer = json!({"scores": scores, "has_more": found.has_more || left_out > 0});
        Ok(noted(answer, left_out, "scores", "ask with a smaller limit"))
    }

    async fn report(&self, asked: &ReportArguments) -> ToolResult {
        let weeks = self.weeks().await?;
        let wanted = match &asked.week {
            Some(week) => weeks.iter().find(|known| *known == week),
            None => weeks.first(),
        };
        let missing = || match weeks.as_slice() {
            [] => ToolError("no report yet; `ratchet week` creates one".to_owned()),
            weeks => ToolError(format!("no report for that week; available: {}", weeks.join(", "))),
        };
        let week = wanted.ok_or_else(missing)?;
        let deleted = || ToolError(format!("the report of {week} was deleted"));
        let report = self.document(week).await?.ok_or_else(deleted)?;
        Ok(json!({"week": week, "report": report, "weeks": weeks}))
    }

    fn since(&self, days: u64) -> TimeWindow {
        let days = i64::try_from(days).unwrap_or(i64::MAX);
        let from = self.clock.now().plus_nanos(DAY.saturating_mul(days).saturating_neg());
        TimeWindow { from: Some(from), to: None }
    }

    /// The weeks that have a report, the newest first.
    async fn weeks(&self) -> ToolResult<Vec<String>> {
        match (&self.reports, &self.source) {
            (Some((catalog, project)), _) => {
                let reports = catalog.reports(project.clone()).await.map_err(ApiError::from)?;
                Ok(reports.into_iter().map(|report| report.week).collect())
            }
            (None, Source::Remote(server)) => {
                let weeks = server.report_weeks().await.map_err(SourceError::from)?;
                weeks.ok_or_else(|| {
                    ToolError("reports are available on Ratchet servers only".to_owned())
                })
            }
            (None, Source::Local(..)) => Ok(Vec::new()),
        }
    }

    async fn document(&self, week: &str) -> ToolResult<Option<Value>> {
        match (&self.reports, &self.source) {
            (Some((catalog, project)), _) => {
                let kept = catalog.report(project.clone(), week.to_owned()).await;
                let kept = kept.map_err(ApiError::from)?;
                let document = kept.map(|kept| serde_json::from_str(kept.document.as_str()));
                Ok(document.transpose().map_err(|why| ApiError::Internal(Box::new(why)))?)
            }
            (None, Source::Remote(server)) => {
                let kept = server.week_report(week).await.map_err(SourceError::from)?;
                Ok(kept.map(|kept| kept.report))
            }
            (None, Source::Local(..)) => Ok(None),
        }
    }
}

impl From<SourceError> for ToolError {
    fn from(error: SourceError) -> Self {
        match error {
            SourceError::Store(error) => ApiError::from(error).into(),
            SourceError::Client(error) => {
                let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}"));
                Self(format!("{error}{}", cause.unwrap_or_default()))
            }
        }
    }
}

/// Scores, within the limits of an answer.
fn score_views(scores: &[Score]) -> (Vec<Value>, usize) {
    let show = |score: &Score| {
        let mut view = json!(ScoreView::new(score));
        cut_fields(&mut view, MAX_TEXT_BYTES);
        view
    };
    fitting(scores.iter().map(show))
}

/// An answer that says what was left out of it, and how to get that.
fn noted(mut answer: Value, left_out: usize, what: &str, how: &str) -> Value {
    if left_out > 0 {
        let earlier = answer["note"].as_str().map(|note| format!("{note}; ")).unwrap_or_default();
        answer["note"] = json!(format!("{earlier}{left_out} {what} are left out: {how}"));
    }
    answer
}

/// What slice after slice has brought, up to a bound.
struct Found<T> {
    rows: Vec<T>,
    most: usize,
    slices: usize,
    at: Option<Position>,
    /// Whether there is more than it holds.
    has_more: bool,
}

impl<T> Found<T> {
    fn at_most(most: usize) -> Self {
        Self { rows: Vec::new(), most, slices: 0, at: Some(Position::Start), has_more: false }
    }

    /// Where to go on; `None` once there is enough or nothing more.
    fn next(&mut self) -> Option<Position> {
        self.at.take()
    }

    fn add(&mut self, slice: Slice<T>) {
        self.slices += 1;
        self.rows.extend(slice.rows);
        let is_enough = self.rows.len() > self.most || self.slices >= MAX_SLICES;
        self.has_more = self.rows.len() > self.most || (is_enough && slice.next.is_some());
        self.rows.truncate(self.most);
        self.at = slice.next.filter(|_| !is_enough);
    }
}

fn count(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

fn session_view(session: &Session) -> Value {
    json!({
        "session_id": session.id.to_string(),
        "created_at": session.created_at.to_string(),
        "last_at": session.last_at.to_string(),
        "environment": session.environment.to_string(),
        "traces": session.traces,
        "errors": session.errors,
        "total_tokens": session.total_tokens,
        "cost_dollars": session.cost.map(Money::dollars),
    })
}

fn trace_view(numbered: &NumberedTrace, most: usize) -> Value {
    let trace: &Trace = &numbered.trace;
    let [input, output] = texts(trace.content.as_ref(), most);
    json!({
        "number": numbered.number,
        "trace_id": trace.id.to_string(),
        "timestamp": trace.timestamp.to_string(),
        "name": trace.name,
        "agent": trace.agent,
        "user": trace.user,
        "tags": trace.tags,
        "total_tokens": trace.summary.total_tokens,
        "input": input,
        "output": output,
    })
}

fn step_view(step: &Observation, most: usize) -> Value {
    let [input, output] = texts(step.content.as_ref(), most);
    json!({
        "observation_id": step.id.to_string(),
        "parent_id": step.parent.as_ref().map(ToString::to_string),
        "kind": step.kind.as_str(),
        "name": step.name,
        "start": step.start.to_string(),
        "latency_ms": step.latency().map(|nanos| nanos / 1_000_000),
        "level": step.level.as_str(),
        "status_message": step.status_message,
        "model": step.model,
        "input": input,
        "output": output,
    })
}

/// Input and output as texts, cut in the middle where they are long.
fn texts(content: Option<&Content>, most: usize) -> [Option<String>; 2] {
    let text = |payload: &Option<Payload>| {
        payload.as_ref().map(|payload| elide(payload.as_str(), most).into_owned())
    };
    content.map_or([None, None], |content| [text(&content.input), text(&content.output)])
}
