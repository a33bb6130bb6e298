use std::collections::BTreeSet;

use maud::{Markup, html};
use ratchet_core::record::field_table::OBSERVATION;
use ratchet_core::record::observation::{Level, Observation};
use ratchet_core::record::usage::Cost;
use ratchet_store::StoreResult;
use ratchet_store::deadline_query::{DeadlinePage, ObservationOrder};
use ratchet_store::live_tail::{Arrival, RecordKind};
use ratchet_store::query::{
    Condition, Direction, Matching, ObservationColumn, ObservationQuery, Paging, TallyQuery, Test,
    TimeRange, TraceOrder,
};
use ratchet_store::telemetry::Telemetry;

use super::column::ListColumn;
use super::row::{self, COUNTED, CellValue, ListedRow, RowFacts};
use super::state::ListQuery;
use crate::components::{badge, copy, figure};
use crate::filter::{ListKind, RecordField};
use crate::request_context::RequestContext;

impl ListedRow for Observation {
    const ON: ListKind = ListKind::Observations;

    const WATCHED: RecordKind = RecordKind::Observations;

    async fn read(telemetry: &Telemetry, ask: &ListQuery) -> StoreResult<DeadlinePage<Self>> {
        let paging = Paging::After { cursor: ask.cursor.clone(), limit: ask.limit };
        let (column, direction) = ask.order;
        let order = OBSERVATION.listed(column.0).and_then(|found| found.order).unwrap_or_default();
        let query = query(ask, direction, paging);
        let by = match order {
            TraceOrder::Name => ObservationOrder::Name,
            TraceOrder::Latency => ObservationOrder::Latency,
            TraceOrder::Cost => ObservationOrder::Cost,
            TraceOrder::TotalTokens => ObservationOrder::TotalTokens,
            _ => return telemetry.seek_observations(query, ask.time).await,
        };
        let page = telemetry.sorted_observations(query, by, ask.time).await?;
        Ok(DeadlinePage { page, reached: None })
    }

    async fn arrived(
        telemetry: &Telemetry,
        ask: &ListQuery,
        records: Vec<Arrival>,
    ) -> StoreResult<Vec<Self>> {
        let (mut traces, mut ids) = (BTreeSet::new(), Vec::new());
        for record in records {
            let Arrival::Observation(trace, id) = record else { continue };
            traces.insert(trace.to_string());
            ids.push(id.to_string());
        }
        let paging = Paging::After { cursor: None, limit: ids.len() as u64 };
        let mut query = query(ask, Direction::Descending, paging);
        let any_of = |column, ids| Condition { column, test: Test::AnyOf(ids) };
        // By way of their traces they are found at once, whenever they began.
        let traces = traces.into_iter().collect();
        query.conditions.push(any_of(ObservationColumn::Trace, traces));
        query.conditions.push(any_of(ObservationColumn::Id, ids));
        Ok(telemetry.observations(query).await?.rows)
    }

    async fn matching(telemetry: &Telemetry, ask: &ListQuery) -> StoreResult<Matching> {
        telemetry.matching_observations(tally(ask, COUNTED)).await
    }

    async fn found(
        telemetry: &Telemetry,
        ask: &ListQuery,
        hits: Vec<Observation>,
    ) -> StoreResult<Vec<Self>> {
        let conditions = conditions(ask);
        let (Some(newest), Some(oldest)) = (hits.first(), hits.last()) else {
            return Ok(Vec::new());
        };
        if conditions.is_empty() {
            return Ok(hits);
        }
        let range = TimeRange { from: Some(oldest.start), to: Some(newest.start.plus_nanos(1)) };
        let ids: Vec<String> = hits.iter().map(|hit| hit.id.to_string()).collect();
        let paging = Paging::After { cursor: None, limit: ids.len() as u64 };
        let mut query =
            ObservationQuery { range, conditions, ..query(ask, Direction::Descending, paging) };
        query.conditions.push(Condition { column: ObservationColumn::Id, test: Test::AnyOf(ids) });
        Ok(telemetry.observations(query).await?.rows)
    }

    fn facts(&self) -> RowFacts {
        RowFacts {
            id: self.id.to_string(),
            failed: self.level == Level::Error,
            trace: Some(self.trace.to_string()),
            session: None,
        }
    }

    fn cell(&self, column: ListColumn, ctx: &RequestContext) -> Markup {
        let content = self.content.as_ref();
        let word = |word: Option<&str>| html! { bdi { (word.unwrap_or_default()) } };
        let tokens = |count: u64| figure::count_in_part(count, self.approximate_cost());
        let time = |nanos: Option<i64>| html! { @if let Some(nanos) = nanos { (figure::duration(nanos)) } };
        match column.0 {
            RecordField::Name => html! {
                (badge::glyph(self.kind)) " "
                bdi { (self.name.as_deref().unwrap_or("unnamed")) }
                (badge::level(self.level))
            },
            RecordField::Time => figure::when(self.start, &ctx.time),
            RecordField::Kind => html! { (badge::kind_name(self.kind)) },
            RecordField::Level => html! { (self.level.as_str().to_ascii_lowercase()) },
            RecordField::Status => word(self.status_message.as_deref()),
            RecordField::Environment => badge::tag(&self.environment.to_string()),
            RecordField::Agent => word(self.agent.as_deref()),
            RecordField::Model => word(self.model.as_deref()),
            RecordField::Prompt => html! {
                @if let Some(prompt) = &self.prompt { bdi { (prompt.name) } " v" (prompt.version) }
            },
            RecordField::Latency => time(self.latency()),
            RecordField::FirstToken => time(self.time_to_first_token()),
            RecordField::InputTokens => html! { (tokens(self.usage.input())) },
            RecordField::OutputTokens => html! { (tokens(self.usage.output())) },
            RecordField::Tokens => tokens_cell(self),
            RecordField::Cost => cost_cell(self),
            RecordField::Version => word(self.version.as_deref()),
            RecordField::Trace => {
                let trace = self.trace.to_string();
                let short: String = trace.chars().take(10).collect();
                html! { a.quiet-link href=(ctx.to(&["traces", &trace])) title=(trace) { code { (short) } } }
            }
            RecordField::Parent => {
                html! { @if let Some(parent) = &self.parent { (copy::id(&parent.to_string())) } }
            }
            RecordField::Id => copy::id(&self.id.to_string()),
            RecordField::Input => row::preview_cell(content.and_then(|c| c.input.as_ref())),
            RecordField::Output => row::preview_cell(content.and_then(|c| c.output.as_ref())),
            RecordField::Metadata => row::metadata_cell(content),
            RecordField::User
            | RecordField::Session
            | RecordField::Tags
            | RecordField::Observations
            | RecordField::Errors
            | RecordField::Release
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
        let content = self.content.as_ref();
        match column.0 {
            RecordField::Name => CellValue::Text(self.name.clone()),
            RecordField::Time => CellValue::Time(self.start),
            RecordField::Kind => CellValue::Text(Some(self.kind.as_str().to_owned())),
            RecordField::Level => CellValue::Text(Some(self.level.as_str().to_owned())),
            RecordField::Status => CellValue::Text(self.status_message.clone()),
            RecordField::Environment => CellValue::Text(Some(self.environment.to_string())),
            RecordField::Agent => CellValue::Text(self.agent.clone()),
            RecordField::Model => CellValue::Text(self.model.clone()),
            RecordField::Prompt => {
                let prompt = self.prompt.as_ref();
                CellValue::Text(prompt.map(|prompt| format!("{} v{}", prompt.name, prompt.version)))
            }
            RecordField::Latency => CellValue::Number(self.latency().map(row::seconds)),
            RecordField::FirstToken => {
                CellValue::Number(self.time_to_first_token().map(row::seconds))
            }
            RecordField::InputTokens => CellValue::Whole(self.usage.input()),
            RecordField::OutputTokens => CellValue::Whole(self.usage.output()),
            RecordField::Tokens => CellValue::Whole(self.usage.total()),
            RecordField::Cost => {
                CellValue::Number(self.cost.as_ref().map(|cost| cost.total().dollars()))
            }
            RecordField::Version => CellValue::Text(self.version.clone()),
            RecordField::Trace => CellValue::Text(Some(self.trace.to_string())),
            RecordField::Parent => CellValue::Text(self.parent.as_ref().map(ToString::to_string)),
            RecordField::Id => CellValue::Text(Some(self.id.to_string())),
            RecordField::Input => row::payload(content.and_then(|c| c.input.as_ref())),
            RecordField::Output => row::payload(content.and_then(|c| c.output.as_ref())),
            RecordField::Metadata => CellValue::Json(row::metadata(content)),
            RecordField::User
            | RecordField::Session
            | RecordField::Tags
            | RecordField::Observations
            | RecordField::Errors
            | RecordField::Release
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

fn query(ask: &ListQuery, direction: Direction, paging: Paging) -> ObservationQuery {
    ObservationQuery {
        project: ask.project.clone(),
        range: ask.range,
        trace: None,
        conditions: conditions(ask),
        direction,
        paging,
        detail: ask.detail,
    }
}

pub(super) fn tally(ask: &ListQuery, at_most: u64) -> TallyQuery<ObservationColumn> {
    let (project, range) = (ask.project.clone(), ask.range);
    TallyQuery { project, range, conditions: conditions(ask), at_most }
}

fn conditions(ask: &ListQuery) -> Vec<Condition<ObservationColumn>> {
    let equals = |column, word: &Option<String>| Some(Condition::equals(column, word.as_deref()?));
    let mut conditions = ask.filter.on_observations();
    conditions.extend(equals(ObservationColumn::Environment, &ask.environment));
    conditions.extend(equals(ObservationColumn::Agent, &ask.agent));
    conditions
}

fn tokens_cell(row: &Observation) -> Markup {
    let total = figure::count_in_part(row.usage.total(), row.approximate_cost());
    html! {
        @if !row.usage.is_empty() {
            span title={ (row.usage.input()) " in, " (row.usage.output()) " out" } { (total) }
        }
    }
}

fn cost_cell(row: &Observation) -> Markup {
    let total = row.cost.as_ref().map(Cost::total);
    html! {
        @if total.is_some() || !row.usage.is_empty() {
            (figure::cost_in_part(total, row.approximate_cost()))
        }
    }
}
