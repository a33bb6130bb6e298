//! Which agent version a trace ran.

use std::collections::BTreeMap;

use maud::{Markup, html};
use ratchet_core::record::trace::Trace;
use ratchet_store::catalog::StoredAgentVersion;
use ratchet_store::query::{Detail, Direction, ObservationQuery, Paging, TimeRange};
use ratchet_store::{StoreError, StoreResult};

use crate::page_error::PageResult;
use crate::request_context::RequestContext;
use crate::web::Web;

/// Observations whose prompts are compared with the version's.
const COMPARED: u64 = 500;

/// The version that the trace names, or the one that served its agent then; `None` if neither is
/// recorded.
pub(super) async fn agent_version(
    web: &Web,
    ctx: &RequestContext,
    trace: &Trace,
) -> PageResult<Option<Markup>> {
    let Some(agent) = &trace.agent else { return Ok(None) };
    let Some((version, is_named)) = version_of(web, ctx, (trace, agent)).await? else {
        return Ok(None);
    };
    let used = used_prompts(web, ctx, trace).await?;
    let other = used.iter().find(|(prompt, number)| {
        version.version.prompts.get(*prompt).is_some_and(|recorded| recorded != *number)
    });
    Ok(Some(html! {
        a href=(ctx.to(&["promotions", "agents", &version.agent])) { code { (version.id) } }
        @if !is_named { " " span.muted { "served then" } }
        @if let Some((prompt, number)) = other {
            " " strong { "but used " bdi { (prompt) } " v" (number) }
        }
    }))
}

async fn version_of(
    web: &Web,
    ctx: &RequestContext,
    (trace, agent): (&Trace, &str),
) -> PageResult<Option<(StoredAgentVersion, bool)>> {
    let catalog = &web.store.catalog;
    let find = async |id: String| -> StoreResult<Option<StoredAgentVersion>> {
        match catalog.agent_version(ctx.project_id(), id).await {
            Ok(found) => Ok(Some(found)),
            Err(StoreError::NotFound(_)) => Ok(None),
            Err(error) => Err(error),
        }
    };
    if let Some(named) = &trace.version
        && let Some(found) = find(named.clone()).await?
    {
        return Ok(Some((found, true)));
    }
    let which = (agent.to_owned(), trace.environment.as_str().to_owned());
    let serving = catalog.serving_at(ctx.project_id(), which, trace.timestamp).await?;
    match serving.and_then(|serving| serving.version) {
        Some(id) => Ok(find(id).await?.map(|found| (found, false))),
        None => Ok(None),
    }
}

/// Versions of prompts that the trace's model calls used.
async fn used_prompts(
    web: &Web,
    ctx: &RequestContext,
    trace: &Trace,
) -> PageResult<BTreeMap<String, u32>> {
    let query = ObservationQuery {
        project: ctx.project_id(),
        range: TimeRange::default(),
        trace: Some(trace.id.clone()),
        conditions: Vec::new(),
        direction: Direction::Ascending,
        paging: Paging::After { cursor: None, limit: COMPARED },
        detail: Detail::Row,
    };
    let rows = web.store.telemetry.observations(query).await?.rows;
    let prompts = rows.into_iter().filter_map(|row| row.prompt);
    Ok(prompts.map(|prompt| (prompt.name, prompt.version)).collect())
}
