use axum::extract::State;
use maud::{Markup, html};
use ratchet_core::id::{ObservationId, TraceId};
use ratchet_core::time::Timestamp;
use ratchet_core::trace::Content;
use ratchet_store::query::TimeRange;

use super::page::drawn;
use super::row::{ListedRow, preview};
use super::state::{Ask, ListState};
use crate::components::table;
use crate::filter::On;
use crate::place::Place;
use crate::refusal::{PageResult, Refusal};
use crate::web::Web;

/// The rows that came after a moment: what a live list asks for again and again.
pub(super) async fn newer<R: ListedRow>(
    State(web): State<Web>,
    place: Place,
) -> PageResult<Markup> {
    let after = place.params.get("after").and_then(|nanos| nanos.parse().ok());
    let after = after.map(Timestamp::from_nanos);
    let after = after.ok_or_else(|| Refusal::Bad("after must be a moment".to_owned()))?;
    let state = ListState { cursor: None, ..ListState::read(R::ON, &place.params) };
    let since = TimeRange { from: Some(after.plus_nanos(1)), to: None };
    let ask = state.ask(&place);
    let ask = Ask { range: ask.range.and(since), ..ask };
    let rows = R::read(&web.store.telemetry, &ask).await?.rows;
    let newest = rows.first().map_or(after, |row| row.facts().at);
    Ok(html! {
        table data-newest=(newest.nanos()) {
            tbody { (table::rows(&drawn(&place, &state, &rows))) }
        }
    })
}

/// Characters of an input and of an output that a preview shows.
const SHOWN: usize = 400;

/// The first words of what went into a row and came out of it.
pub(super) async fn peek<R: ListedRow>(State(web): State<Web>, place: Place) -> PageResult<Markup> {
    let id = place.params.get("id").unwrap_or_default();
    let (telemetry, project) = (&web.store.telemetry, place.project_id());
    let content = match R::ON {
        On::Traces => {
            let id = TraceId::parse(id).map_err(|why| Refusal::Bad(why.to_string()))?;
            telemetry.trace(project, id).await?.and_then(|trace| trace.content)
        }
        On::Observations => {
            let id = ObservationId::parse(id).map_err(|why| Refusal::Bad(why.to_string()))?;
            telemetry.observation(project, id).await?.and_then(|seen| seen.content)
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
