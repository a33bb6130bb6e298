use axum::Router;
use axum::extract::State;
use axum::response::Redirect;
use axum::routing::get;
use ratchet_core::id::{ObservationId, SessionId, TraceId};
use ratchet_store::query::{
    Condition, Detail, Direction, Paging, TimeRange, TraceColumn, TraceOrder, TraceQuery,
};

use crate::filter::{Filter, On, Term, What};
use crate::place::{Link, Place};
use crate::refusal::PageResult;
use crate::web::Web;

pub(super) fn routes() -> Router<Web> {
    Router::new().route("/project/{project}/find", get(find))
}

/// Leads to whatever has the id that was typed; to the traces that match where nothing has it.
async fn find(State(web): State<Web>, place: Place) -> PageResult<Redirect> {
    let typed = place.params.get("q").unwrap_or_default().trim().to_owned();
    let link = match by_id(&web, &place, &typed).await? {
        Some(link) => link,
        None => by_text(&place, &typed),
    };
    Ok(Redirect::to(&link.to_string()))
}

async fn by_id(web: &Web, place: &Place, typed: &str) -> PageResult<Option<Link>> {
    let (telemetry, project) = (&web.store.telemetry, place.project_id());
    let Ok(id) = TraceId::parse(typed) else { return Ok(None) };
    if !telemetry.find_traces(project.clone(), vec![id]).await?.is_empty() {
        return Ok(Some(place.to(&["traces", typed])));
    }
    if let Ok(id) = ObservationId::parse(typed)
        && let Some(found) = telemetry.observation(project.clone(), id).await?
    {
        let trace = found.trace.to_string();
        return Ok(Some(place.to(&["traces", &trace]).with("observation", typed)));
    }
    if let Ok(id) = SessionId::parse(typed)
        && telemetry.session(project.clone(), id).await?.is_some()
    {
        return Ok(Some(place.to(&["sessions", typed])));
    }
    let of_user = TraceQuery {
        project,
        range: TimeRange::default(),
        conditions: vec![Condition::equals(TraceColumn::User, typed)],
        order: (TraceOrder::Timestamp, Direction::Descending),
        paging: Paging::After { cursor: None, limit: 1 },
        detail: Detail::Row,
    };
    let is_user = !telemetry.traces(of_user).await?.rows.is_empty();
    Ok(is_user.then(|| place.to(&["users", typed])))
}

/// A filter where it reads as one, otherwise a text to search for.
fn by_text(place: &Place, typed: &str) -> Link {
    let list = place.to(&["traces"]);
    if typed.is_empty() {
        return list;
    }
    let parsed = Filter::parse(On::Traces, typed);
    if parsed.problems.is_empty() {
        return list.with("q", typed);
    }
    let text = Term { negated: false, what: What::Text(typed.to_owned()) };
    list.with("q", Filter { terms: vec![text] }.to_string())
}
