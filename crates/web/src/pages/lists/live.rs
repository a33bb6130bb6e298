use axum::extract::State;
use maud::{Markup, html};
use ratchet_core::id::{IdError, ObservationId, SessionId, TraceId};
use ratchet_core::record::trace::Content;

use super::page::drawn;
use super::row::{ListedRow, preview};
use super::session_row::first_and_last;
use super::state::ListState;
use super::{score_columns, session_titles};
use crate::components::table;
use crate::filter::ListKind;
use crate::page_error::{PageError, PageResult};
use crate::request_context::RequestContext;
use crate::web::Web;

/// Rows that one answer holds.
const AT_ONCE: usize = 50;

/// The rows that arrived or changed after a time: polled by a live list, at
/// once while there are more.
pub(super) async fn newer<R: ListedRow>(
    State(web): State<Web>,
    ctx: RequestContext,
) -> PageResult<Markup> {
    let after = ctx.params.get("after").and_then(|moment| moment.parse().ok());
    let after = after.ok_or_else(|| PageError::Bad("after must be a timestamp".to_owned()))?;
    let telemetry = &web.store.telemetry;
    let came = telemetry.arrivals((&ctx.project_id(), R::WATCHED), after, AT_ONCE);
    let state = ListState::load(&web, &ctx, R::ON).await?.newest_first();
    let rows = match came.records.as_slice() {
        [] => Vec::new(),
        _ => R::arrived(telemetry, &state.ask(&ctx), came.records).await?,
    };
    let scores = Some(state.scores.as_slice());
    let scored = score_columns::scored(telemetry, ctx.project_id(), &rows, scores).await?;
    let titles = session_titles::of(telemetry, ctx.project_id(), (&state, &rows)).await?;
    Ok(html! {
        table data-arrived=(came.until) data-more[came.has_more] data-cut[came.is_cut] {
            tbody { (table::rows(&drawn(&ctx, &state, &rows, (&scored, &titles)))) }
        }
    })
}

/// Characters of an input and of an output that a preview shows.
const SHOWN: usize = 400;

/// Preview of a row's input and output.
pub(super) async fn peek<R: ListedRow>(
    State(web): State<Web>,
    ctx: RequestContext,
) -> PageResult<Markup> {
    let id = ctx.params.get("id").unwrap_or_default();
    let (telemetry, project) = (&web.store.telemetry, ctx.project_id());
    let bad = |why: IdError| PageError::Bad(why.to_string());
    let content = match R::ON {
        ListKind::Traces => {
            let id = TraceId::parse(id).map_err(bad)?;
            telemetry.trace(project, id).await?.and_then(|trace| trace.content)
        }
        ListKind::Observations => {
            let id = ObservationId::parse(id).map_err(bad)?;
            telemetry.observation(project, id).await?.and_then(|seen| seen.content)
        }
        ListKind::Sessions => {
            let id = SessionId::parse(id).map_err(bad)?;
            let ends = telemetry.session_ends(project, vec![id]).await?;
            ends.into_iter().next().map(first_and_last)
        }
    };
    let Content { input, output, .. } = content.unwrap_or_default();
    let [input, output] = [input, output].map(|payload| preview(payload.as_ref(), SHOWN));
    Ok(html! {
        dl.peek {
            dt { "Input" }
            dd { @match input { Some(text) => bdi { (text) }, None => span.muted { "none" } } }
            dt { "Output" }
            dd { @match output { Some(text) => bdi { (text) }, None => span.muted { "none" } } }
        }
    })
}
