//! How often reviewers found that the agent used each of its tools rightly.

use std::collections::{BTreeMap, BTreeSet};

use maud::{Markup, html};
use ratchet_core::catalog::review::TOOL_USAGE;
use ratchet_core::record::limit::elide;
use ratchet_core::record::score::{Score, ScoreSource, ScoreTarget};
use ratchet_core::stats::interval;
use ratchet_store::query::{
    Condition, Detail, Direction, Paging, ScoreColumn, ScoreQuery, ScoresOn, Test, TraceColumn,
    TraceOrder, TraceQuery,
};

use super::NAME;
use crate::components::figure;
use crate::components::table::{self, Column, Row, Table};
use crate::page_error::PageResult;
use crate::request_context::RequestContext;
use crate::web::Web;

/// The newest answers that are counted.
const ANSWERS: u64 = 2_000;
/// Traces per query.
const CHUNK: usize = 200;

/// Right answers and all of them, by tool.
type ToolCounts = BTreeMap<String, (u64, u64)>;

/// A table of the agent's tools in the time range; empty without answers.
pub(super) async fn tools(web: &Web, ctx: &RequestContext, agent: &str) -> PageResult<Markup> {
    let query = ScoreQuery {
        project: ctx.project_id(),
        range: ctx.range(),
        on: ScoresOn::Anything,
        conditions: vec![Condition::equals(ScoreColumn::Name, TOOL_USAGE)],
        paging: Paging::After { cursor: None, limit: ANSWERS },
    };
    let mut answers = web.store.telemetry.scores(query).await?.rows;
    answers.retain(|score| score.source == ScoreSource::Annotation);
    let own = traces_of(web, ctx, (agent, &answers)).await?;
    let mut counts = ToolCounts::new();
    for score in answers.iter().filter(|score| trace_of(score).is_some_and(|id| own.contains(&id)))
    {
        let (Some(tool), Some(value)) = (tool_of(score), score.value.number()) else { continue };
        let (right, all) = counts.entry(tool).or_default();
        *right += u64::from(value >= 0.5);
        *all += 1;
    }
    Ok(if counts.is_empty() { Markup::default() } else { table_of(ctx, counts) })
}

fn trace_of(score: &Score) -> Option<String> {
    match &score.target {
        ScoreTarget::Trace(trace) | ScoreTarget::Observation(trace, _) => Some(trace.to_string()),
        ScoreTarget::Session(_) | ScoreTarget::DatasetRun(_) => None,
    }
}

fn tool_of(score: &Score) -> Option<String> {
    let (_, value) = score.metadata.iter().find(|(key, _)| key == "tool")?;
    serde_json::from_str(value.as_str()).ok()
}

/// The traces of the answers that are the agent's.
async fn traces_of(
    web: &Web,
    ctx: &RequestContext,
    (agent, answers): (&str, &[Score]),
) -> PageResult<BTreeSet<String>> {
    let ids: BTreeSet<String> = answers.iter().filter_map(trace_of).collect();
    let ids: Vec<String> = ids.into_iter().collect();
    let mut own = BTreeSet::new();
    for some in ids.chunks(CHUNK) {
        let query = TraceQuery {
            project: ctx.project_id(),
            range: ratchet_store::query::TimeRange::default(),
            conditions: vec![
                Condition { column: TraceColumn::Id, test: Test::AnyOf(some.to_vec()) },
                Condition::equals(TraceColumn::Agent, agent),
            ],
            order: (TraceOrder::Timestamp, Direction::Descending),
            paging: Paging::After { cursor: None, limit: CHUNK as u64 },
            detail: Detail::Row,
        };
        let found = web.store.telemetry.traces(query).await?.rows;
        own.extend(found.into_iter().map(|trace| trace.id.to_string()));
    }
    Ok(own)
}

fn table_of(ctx: &RequestContext, counts: ToolCounts) -> Markup {
    let columns = vec![
        Column::wide("Tool"),
        Column::number("Right"),
        Column::number("Reviewed"),
        Column::number("Share"),
        Column::text("95% interval"),
    ];
    let row = |(tool, (right, all)): (String, (u64, u64))| {
        let share = interval::share(right, all);
        let bounds = share.as_ref().and_then(|share| share.interval);
        Row {
            cells: vec![
                html! { bdi { (elide(&tool, NAME)) } },
                html! { (figure::grouped(right)) },
                html! { (figure::grouped(all)) },
                html! { @if let Some(share) = &share { (figure::percent(share.value)) } },
                html! { @if let Some(bounds) = bounds {
                    (figure::percent(bounds.lower)) " to " (figure::percent(bounds.upper))
                } },
            ],
            id: tool,
            link: None,
            failed: false,
        }
    };
    let rows = counts.into_iter().map(row).collect();
    let caption = "Tools".to_owned();
    html! {
        h2 #tools { "Tools" }
        p.muted { "How reviewers judged its calls of each tool and sub-agent, in the " (ctx.scope.span.label()) "." }
        (table::table(&Table { caption, columns, rows, select_for: None }))
    }
}
