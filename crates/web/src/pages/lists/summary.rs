use maud::{Markup, html};
use ratchet_store::StoreResult;
use ratchet_store::aggregate::{AggregateDimension, AggregateQuery, Step};
use ratchet_store::query::Matching;
use ratchet_store::telemetry::Telemetry;

use super::row::{COUNTED, ListedRow};
use super::search::Searched;
use super::state::ListQuery;
use crate::components::figure;
use crate::filter::ListKind;
use crate::request_context::RequestContext;

/// Numbers of all and of matching rows, as text. Reads hourly sums and the newest records
/// only, so it costs the same at any size.
pub(super) async fn summary<R: ListedRow>(
    telemetry: &Telemetry,
    ask: &ListQuery,
    ctx: &RequestContext,
) -> StoreResult<Markup> {
    let when = ctx.scope.span.within();
    let asks_sums =
        R::ON == ListKind::Observations && ask.agent.is_none() && ask.filter.terms.is_empty();
    if asks_sums {
        let (all, failed) = of_sums(telemetry, ask).await?;
        return Ok(html! { (counted(R::ON, all)) ", " (errors(failed)) " " (when) });
    }
    let found = R::matching(telemetry, ask).await?;
    let Matching { looked_at, matching, failed, is_cut } = found;
    Ok(html! {
        @match (is_cut, ask.is_narrowed()) {
            (false, false) => { (counted(R::ON, matching)) ", " (errors(failed)) },
            (false, true) => {
                (figure::grouped(matching)) " of " (counted(R::ON, looked_at)) " match, "
                (errors(failed))
            },
            (true, false) => {
                "More than " (counted(R::ON, COUNTED)) "; of the newest " (figure::grouped(COUNTED))
                ", " (errors(failed))
            },
            (true, true) => {
                "Of the newest " (counted(R::ON, COUNTED)) ", " (figure::grouped(matching))
                " match, " (errors(failed))
            },
        }
        " " (when)
    })
}

/// How far a search for a text came.
pub(super) fn of_search<R: ListedRow>(found: &Searched<R>, ctx: &RequestContext) -> Markup {
    let rows = found.rows.len() as u64;
    html! {
        (counted(R::ON, rows)) " found in " (counted(ListKind::Observations, found.steps))
        @if let Some(back_to) = found.back_to { ", back to " (figure::when(back_to, &ctx.time)) }
        @if found.cursor.is_none() { " (complete)" }
    }
}

async fn of_sums(telemetry: &Telemetry, ask: &ListQuery) -> StoreResult<(u64, u64)> {
    let query = AggregateQuery {
        project: ask.project.clone(),
        range: ask.range,
        by: vec![AggregateDimension::Environment],
        step: Step::Whole,
        conditions: Vec::new(),
    };
    let groups =
        telemetry.aggregate(query).await?.groups.into_iter().filter(|group| {
            ask.environment.is_none() || group.key.first() == Some(&ask.environment)
        });
    let whole = |n: i64| u64::try_from(n).unwrap_or_default();
    Ok(groups.fold((0, 0), |(all, failed), group| {
        (all + whole(group.sums.count), failed + whole(group.sums.errors))
    }))
}

fn counted(on: ListKind, count: u64) -> String {
    let noun = match on {
        ListKind::Traces => "trace",
        ListKind::Observations => "observation",
        ListKind::Sessions => "session",
    };
    figure::counted(count, noun)
}

fn errors(count: u64) -> String {
    match count {
        0 => "no errors".to_owned(),
        count => format!("{} with errors", figure::grouped(count)),
    }
}
