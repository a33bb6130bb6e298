use maud::{Markup, html};
use ratchet_core::money::Money;
use ratchet_core::record::field_table::TRACE;
use ratchet_core::record::observation::{Level, Observation};
use ratchet_core::record::trace::Trace;
use ratchet_store::StoreResult;
use ratchet_store::deadline_query::DeadlinePage;
use ratchet_store::live_tail::{Arrival, RecordKind};
use ratchet_store::query::{
    Condition, Direction, Matching, Paging, TallyQuery, Test, TraceColumn, TraceOrder, TraceQuery,
};
use ratchet_store::telemetry::Telemetry;

use super::column::ListColumn;
use super::row::{self, COUNTED, CellValue, ListedRow, RowFacts};
use super::search;
use super::state::{ListQuery, ListState};
use crate::components::{badge, copy, figure};
use crate::filter::{Filter, ListKind, RecordField, Term};
use crate::pages::marks;
use crate::request_context::RequestContext;

impl ListedRow for Trace {
    const ON: ListKind = ListKind::Traces;

    const WATCHED: RecordKind = RecordKind::Traces;

    async fn read(telemetry: &Telemetry, ask: &ListQuery) -> StoreResult<DeadlinePage<Self>> {
        let paging = Paging::After { cursor: ask.cursor.clone(), limit: ask.limit };
        telemetry.seek_traces(query(ask, order(ask.order), paging), ask.time).await
    }

    async fn arrived(
        telemetry: &Telemetry,
        ask: &ListQuery,
        records: Vec<Arrival>,
    ) -> StoreResult<Vec<Self>> {
        let ids = records.into_iter().map(|record| match record {
            Arrival::Trace(trace) | Arrival::Observation(trace, _) => trace.to_string(),
        });
        let query = those(ask, ids.collect());
        Ok(telemetry.traces(query).await?.rows)
    }

    async fn matching(telemetry: &Telemetry, ask: &ListQuery) -> StoreResult<Matching> {
        telemetry.matching_traces(tally(ask, COUNTED)).await
    }

    async fn found(
        telemetry: &Telemetry,
        ask: &ListQuery,
        hits: Vec<Observation>,
    ) -> StoreResult<Vec<Self>> {
        let mut query = those(ask, hits.iter().map(|hit| hit.trace.to_string()).collect());
        // A trace may start before the time range of one of its observations.
        query.range.from = None;
        Ok(telemetry.traces(query).await?.rows)
    }

    fn facts(&self) -> RowFacts {
        RowFacts {
            id: self.id.to_string(),
            failed: self.summary.levels.error > 0,
            trace: Some(self.id.to_string()),
            session: self.session.clone(),
        }
    }

    fn texts(&self) -> impl Iterator<Item = &str> {
        let content = self.content.iter().flat_map(search::texts_of);
        self.name.as_deref().into_iter().chain(content)
    }

    fn cell(&self, column: ListColumn, ctx: &RequestContext) -> Markup {
        let sums = &self.summary;
        let tokens = |count: u64| figure::count_in_part(count, sums.approximate_cost);
        let content = self.content.as_ref();
        match column.0 {
            RecordField::Name => html! {
                bdi { (self.name.as_deref().unwrap_or("unnamed")) }
                @if self.bookmarked { " " (marks::bookmarked()) }
                (badge::level(worst(self)))
            },
            RecordField::Time => figure::when(self.timestamp, &ctx.time),
            RecordField::Level => html! { (worst(self).as_str().to_ascii_lowercase()) },
            RecordField::User => row::linked(self.user.as_deref(), |id| ctx.to(&["users", id])),
            RecordField::Session => {
                let session = self.session.as_ref().map(ToString::to_string);
                row::linked(session.as_deref(), |id| ctx.to(&["sessions", id]))
            }
            RecordField::Environment => badge::tag(&self.environment.to_string()),
            RecordField::Agent => html! { bdi { (self.agent.as_deref().unwrap_or_default()) } },
            RecordField::Tags => tags(&self.tags, ctx),
            RecordField::Observations => html! { (figure::count(sums.levels.total())) },
            RecordField::Errors => html! { (figure::count(sums.levels.error)) },
            RecordField::Latency => {
                html! { @if let Some(nanos) = sums.latency() { (figure::duration(nanos)) } }
            }
            RecordField::InputTokens => html! { (tokens(sums.input_tokens)) },
            RecordField::OutputTokens => html! { (tokens(sums.output_tokens)) },
            RecordField::Tokens => html! {
                span title={ (sums.input_tokens) " in, " (sums.output_tokens) " out" } {
                    (tokens(sums.total_tokens))
                }
            },
            RecordField::Cost => figure::cost_in_part(sums.cost, sums.approximate_cost),
            RecordField::Release => html! { bdi { (self.release.as_deref().unwrap_or_default()) } },
            RecordField::Version => html! { bdi { (self.version.as_deref().unwrap_or_default()) } },
            RecordField::Id => copy::id(&self.id.to_string()),
            RecordField::Input => row::preview_cell(content.and_then(|c| c.input.as_ref())),
            RecordField::Output => row::preview_cell(content.and_then(|c| c.output.as_ref())),
            RecordField::Metadata => row::metadata_cell(content),
            RecordField::Kind
            | RecordField::Status
            | RecordField::Model
            | RecordField::Prompt
            | RecordField::FirstToken
            | RecordField::Trace
            | RecordField::Parent
            | RecordField::Scores
            | RecordField::TraceName
            | RecordField::Bookmarked
            | RecordField::Public
            | RecordField::Root
            | RecordField::FirstMessage
            | RecordField::Duration
            | RecordField::Traces
            | RecordField::LastActivity => Markup::default(),
        }
    }

    fn value(&self, column: ListColumn) -> CellValue {
        let sums = &self.summary;
        let content = self.content.as_ref();
        match column.0 {
            RecordField::Name => CellValue::Text(self.name.clone()),
            RecordField::Time => CellValue::Time(self.timestamp),
            RecordField::Level => CellValue::Text(Some(worst(self).as_str().to_owned())),
            RecordField::User => CellValue::Text(self.user.clone()),
            RecordField::Session => CellValue::Text(self.session.as_ref().map(ToString::to_string)),
            RecordField::Environment => CellValue::Text(Some(self.environment.to_string())),
            RecordField::Agent => CellValue::Text(self.agent.clone()),
            RecordField::Tags => CellValue::Words(self.tags.clone()),
            RecordField::Observations => CellValue::Whole(sums.levels.total()),
            RecordField::Errors => CellValue::Whole(sums.levels.error),
            RecordField::Latency => CellValue::Number(sums.latency().map(row::seconds)),
            RecordField::InputTokens => CellValue::Whole(sums.input_tokens),
            RecordField::OutputTokens => CellValue::Whole(sums.output_tokens),
            RecordField::Tokens => CellValue::Whole(sums.total_tokens),
            RecordField::Cost => CellValue::Number(sums.cost.map(Money::dollars)),
            RecordField::Release => CellValue::Text(self.release.clone()),
            RecordField::Version => CellValue::Text(self.version.clone()),
            RecordField::Id => CellValue::Text(Some(self.id.to_string())),
            RecordField::Input => row::payload(content.and_then(|c| c.input.as_ref())),
            RecordField::Output => row::payload(content.and_then(|c| c.output.as_ref())),
            RecordField::Metadata => CellValue::Json(row::metadata(content)),
            RecordField::Kind
            | RecordField::Status
            | RecordField::Model
            | RecordField::Prompt
            | RecordField::FirstToken
            | RecordField::Trace
            | RecordField::Parent
            | RecordField::Scores
            | RecordField::TraceName
            | RecordField::Bookmarked
            | RecordField::Public
            | RecordField::Root
            | RecordField::FirstMessage
            | RecordField::Duration
            | RecordField::Traces
            | RecordField::LastActivity => CellValue::Text(None),
        }
    }
}

/// The order of a list as the store has it.
fn order((column, direction): (ListColumn, Direction)) -> (TraceOrder, Direction) {
    let order = TRACE.listed(column.0).and_then(|found| found.order);
    (order.unwrap_or_default(), direction)
}

fn query(ask: &ListQuery, order: (TraceOrder, Direction), paging: Paging) -> TraceQuery {
    TraceQuery {
        project: ask.project.clone(),
        range: ask.range,
        conditions: conditions(ask),
        order,
        paging,
        detail: ask.detail,
    }
}

/// Asks for those of some traces that match, newest first.
fn those(ask: &ListQuery, ids: Vec<String>) -> TraceQuery {
    let paging = Paging::After { cursor: None, limit: ids.len() as u64 };
    let mut query = query(ask, (TraceOrder::Timestamp, Direction::Descending), paging);
    query.conditions.push(Condition { column: TraceColumn::Id, test: Test::AnyOf(ids) });
    query
}

pub(super) fn tally(ask: &ListQuery, at_most: u64) -> TallyQuery<TraceColumn> {
    let (project, range) = (ask.project.clone(), ask.range);
    TallyQuery { project, range, conditions: conditions(ask), at_most }
}

fn conditions(ask: &ListQuery) -> Vec<Condition<TraceColumn>> {
    let equals = |column, word: &Option<String>| Some(Condition::equals(column, word.as_deref()?));
    let mut conditions = ask.filter.on_traces();
    conditions.extend(equals(TraceColumn::Environment, &ask.environment));
    conditions.extend(equals(TraceColumn::Agent, &ask.agent));
    conditions
}

/// The level that wants most attention.
fn worst(trace: &Trace) -> Level {
    let levels = &trace.summary.levels;
    match levels {
        _ if levels.error > 0 => Level::Error,
        _ if levels.warning > 0 => Level::Warning,
        _ if levels.default > 0 || levels.debug == 0 => Level::Default,
        _ => Level::Debug,
    }
}

/// Tags that a row shows; the others are one hover away.
const TAGS: usize = 3;

fn tags(tags: &[String], ctx: &RequestContext) -> Markup {
    let filter = Filter::parse(ListKind::Traces, ctx.params.get("q").unwrap_or_default()).filter;
    let toggled = |tag: &String| filter.toggled(&Term::word(RecordField::Tags, tag));
    html! {
        span.badges {
            @for tag in tags.iter().take(TAGS) {
                a href=(ListState::with_filter(ctx, ListKind::Traces, &toggled(tag))) {
                    (badge::tag(tag))
                }
            }
            @if tags.len() > TAGS {
                span.muted title=(tags.join(", ")) { "+" (tags.len() - TAGS) }
            }
        }
    }
}
