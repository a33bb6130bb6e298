use axum::Router;
use axum::extract::State;
use axum::response::Redirect;
use axum::routing::get;
use maud::{Markup, html};
use ratchet_core::id::{ObservationId, SessionId, TraceId};
use ratchet_stages::source::session_title::session_title;
use ratchet_store::catalog::PromptQuery;
use ratchet_store::query::{
    Condition, Detail, Direction, PageNumber, Paging, TimeRange, TraceColumn, TraceOrder,
    TraceQuery,
};
use ratchet_store::user::{UserOrder, UserQuery};

use super::calibration::{ends, refused};
use super::lists::SessionRow;
use super::{sessions, users};
use crate::filter::{Filter, ListKind, Pattern, RecordField, Term, TermCondition};
use crate::page_error::PageResult;
use crate::request_context::{Link, RequestContext};
use crate::web::Web;

/// Prompts and datasets that are looked through for a name, and how many of a kind are offered.
const LOOKED_THROUGH: u64 = 200;
const OFFERED: usize = 5;
/// Sessions whose first request is looked at: the newest.
const SESSIONS_LOOKED_THROUGH: u64 = 50;

pub(super) fn routes() -> Router<Web> {
    Router::new()
        .route("/project/{project}/find", get(find))
        .route("/project/{project}/find/offers", get(offers))
}

/// Leads to whatever has the id that was typed; to the traces that match where nothing has it.
async fn find(State(web): State<Web>, ctx: RequestContext) -> PageResult<Redirect> {
    let typed = ctx.params.get("q").unwrap_or_default().trim().to_owned();
    let link = match by_id(&web, &ctx, &typed).await? {
        Some(link) => link,
        None => by_text(&ctx, &typed),
    };
    Ok(Redirect::to(&link.to_string()))
}

/// What the palette offers for what is typed so far: things by their names and ids.
async fn offers(State(web): State<Web>, ctx: RequestContext) -> PageResult<Markup> {
    let typed: String = ctx.params.get("q").unwrap_or_default().trim().chars().take(200).collect();
    if typed.is_empty() {
        return Ok(html! {});
    }
    let mut found: Vec<(&str, String, Link)> = Vec::new();
    if let Some(link) = by_id(&web, &ctx, &typed).await? {
        let (source, _) = ends(&web, &ctx);
        let title = match SessionId::parse(&typed) {
            Ok(id) => session_title(&source, &id).await.map_err(|why| refused(why.into()))?,
            Err(_) => None,
        };
        let name = title.map_or_else(|| typed.clone(), |title| format!("{title} ({typed})"));
        found.push(("open", name, link));
    }
    found.extend(by_name(&web, &ctx, &typed.to_lowercase()).await?);
    found.extend(by_first_request(&web, &ctx, &typed.to_lowercase()).await?);
    let named = Term {
        negated: false,
        what: TermCondition::Word(RecordField::Name, Pattern::Contains(typed.clone())),
    };
    let named = Filter { terms: vec![named] }.to_string();
    let called = format!("named “{typed}”");
    found.push(("traces", called.clone(), ctx.to(&["traces"]).with("q", named.clone())));
    found.push(("observations", called, ctx.to(&["observations"]).with("q", named)));
    found.push(("traces", format!("containing “{typed}”"), by_text(&ctx, &typed)));
    Ok(html! {
        ul {
            @for (kind, name, link) in found {
                li { a href=(link) { span.muted { (kind) } " " bdi { (name) } } }
            }
        }
    })
}

/// Prompts, datasets and users whose names contain a word, a few of each.
async fn by_name(
    web: &Web,
    ctx: &RequestContext,
    word: &str,
) -> PageResult<Vec<(&'static str, String, Link)>> {
    let page = PageNumber { page: 1, limit: LOOKED_THROUGH };
    let query = PromptQuery {
        project: ctx.project_id(),
        name: None,
        text: None,
        folder: None,
        label: None,
        tag: None,
        updated: TimeRange::default(),
        page,
    };
    let prompts = web.store.catalog.prompts(query).await?.rows;
    let datasets = web.store.catalog.datasets(ctx.project_id(), page).await?.rows;
    let containing = word.to_owned();
    let (scope, order) = (users::scope(ctx), UserOrder::default());
    let users = UserQuery { scope, containing, order, limit: OFFERED as u64 };
    let users = web.store.telemetry.users(users).await?.rows;
    let few = |kind: &'static str, section: &str, names: &mut dyn Iterator<Item = String>| {
        let is_meant = |name: &String| name.to_lowercase().contains(word);
        let link = |name: String| (kind, name.clone(), ctx.to(&[section, &name]));
        names.filter(is_meant).take(OFFERED).map(link).collect::<Vec<_>>()
    };
    let mut found = few("prompt", "prompts", &mut prompts.into_iter().map(|prompt| prompt.name));
    found.extend(few("dataset", "datasets", &mut datasets.into_iter().map(|set| set.name)));
    found.extend(few("user", "users", &mut users.into_iter().map(|user| user.id)));
    Ok(found)
}

/// The newest sessions whose first request contains a word.
async fn by_first_request(
    web: &Web,
    ctx: &RequestContext,
    word: &str,
) -> PageResult<Vec<(&'static str, String, Link)>> {
    let newest = sessions::newest(web, ctx, SESSIONS_LOOKED_THROUGH).await?;
    let offer = |row: &SessionRow| {
        let (title, id) = (row.opening(), row.session.id.to_string());
        let is_meant = title.to_lowercase().contains(word);
        is_meant.then(|| ("session", title, ctx.to(&["sessions", &id])))
    };
    Ok(newest.iter().filter_map(offer).take(OFFERED).collect())
}

async fn by_id(web: &Web, ctx: &RequestContext, typed: &str) -> PageResult<Option<Link>> {
    let (telemetry, project) = (&web.store.telemetry, ctx.project_id());
    let Ok(id) = TraceId::parse(typed) else { return Ok(None) };
    if !telemetry.find_traces(project.clone(), vec![id]).await?.is_empty() {
        return Ok(Some(ctx.to(&["traces", typed])));
    }
    if let Ok(id) = ObservationId::parse(typed)
        && let Some(found) = telemetry.observation(project.clone(), id).await?
    {
        let trace = found.trace.to_string();
        return Ok(Some(ctx.to(&["traces", &trace]).with("observation", typed)));
    }
    if let Ok(id) = SessionId::parse(typed)
        && telemetry.session(project.clone(), id).await?.is_some()
    {
        return Ok(Some(ctx.to(&["sessions", typed])));
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
    Ok(is_user.then(|| ctx.to(&["users", typed])))
}

/// A filter where it reads as one, otherwise a text to search for.
fn by_text(ctx: &RequestContext, typed: &str) -> Link {
    let list = ctx.to(&["traces"]);
    if typed.is_empty() {
        return list;
    }
    let parsed = Filter::parse(ListKind::Traces, typed);
    if parsed.problems.is_empty() {
        return list.with("q", typed);
    }
    let text = Term { negated: false, what: TermCondition::Text(typed.to_owned()) };
    list.with("q", Filter { terms: vec![text] }.to_string())
}
