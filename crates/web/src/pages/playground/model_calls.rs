use std::time::Duration;

use futures_util::future::join_all;
use ratchet_agent::budget::{Allowance, Budget};
use ratchet_agent::model::Model;
use ratchet_agent::request::{LlmRequest, ResponseFormat};
use ratchet_agent::response::LlmResponse;
use ratchet_agent::retry::MODEL_BACKOFF;
use ratchet_core::backoff::Backoff;
use ratchet_stages::llm_connections;
use ratchet_stages::llm_connections::ConnectError;
use ratchet_store::catalog::LlmConnection;

use super::PlaygroundState;
use super::fields::PlaygroundForm;
use crate::page_error::PageResult;
use crate::request_context::RequestContext;
use crate::web::Web;

/// How long all of it may take.
const TIME: Duration = Duration::from_secs(90);
/// Token limit of a run without a known price.
const UNPRICED_TOKENS: u64 = 200_000;

/// Result of one model call.
#[derive(Debug)]
pub(crate) struct ModelResult {
    /// Which of the models that were chosen, from 0.
    pub(crate) slot: usize,
    pub(crate) connection: String,
    /// The requested model.
    pub(crate) model: String,
    /// Duration in nanoseconds.
    pub(crate) took: i64,
    /// The response or the error.
    pub(crate) outcome: Result<LlmResponse, String>,
}

/// Asks all chosen models at once.
pub(super) async fn ask(
    web: &Web,
    ctx: &RequestContext,
    state: &PlaygroundState,
) -> PageResult<Vec<ModelResult>> {
    let request = &state.request;
    let _permit = ctx.viewer.take(&web.model_calls, "model calls")?;
    let priced = budget(Allowance { money: request.money(), ..Allowance::default() });
    let unpriced = budget(Allowance { tokens: Some(UNPRICED_TOKENS), ..Allowance::default() });
    let chosen = request.chosen(&state.connections).into_iter();
    let asked: Vec<_> = chosen
        .filter_map(|(slot, connection, model)| {
            Some((slot, (connection, model), question(request, slot)?))
        })
        .collect();
    let budgets = [&priced, &unpriced];
    let calls = asked.iter().map(|(slot, chosen, question)| async move {
        let result = one(web, ctx, *chosen, question, budgets).await;
        ModelResult { slot: *slot, ..result }
    });
    Ok(join_all(calls).await)
}

/// What a slot is asked.
fn question(request: &PlaygroundForm, slot: usize) -> Option<LlmRequest> {
    let body = request.body_of(slot)?;
    let schema = request.response_schema.clone();
    Some(LlmRequest {
        temperature: request.temperature().ok().flatten(),
        max_tokens: request.max_tokens().unwrap_or(1),
        tools: request.tool_specs.clone(),
        response_format: schema.map_or(ResponseFormat::Text, ResponseFormat::Json),
        ..llm_connections::ask(&body.filled(&request.variables))
    })
}

fn budget(allowance: Allowance) -> Budget {
    Budget::new(Allowance { time: Some(TIME), ..allowance })
}

/// Asks one model, by the first budget where its price is known, by the second where it is not.
async fn one(
    web: &Web,
    ctx: &RequestContext,
    (connection, name): (&LlmConnection, &str),
    question: &LlmRequest,
    [priced, unpriced]: [&Budget; 2],
) -> ModelResult {
    let began = web.now();
    let request = async {
        let model = open(web, ctx, (connection, name)).await?;
        let budget = if model.most(question).is_some() { priced } else { unpriced };
        model.complete(question, budget).await.map_err(ConnectError::from)
    };
    // An error from a user-defined address may contain what members must not see.
    let outcome = request.await.map_err(|why| match ctx.viewer.owns_server() {
        true => why.to_string(),
        false => why.without_reply(),
    });
    ModelResult {
        slot: 0,
        connection: connection.provider.clone(),
        model: name.to_owned(),
        took: web.now().since(began),
        outcome,
    }
}

/// A model that is asked while somebody waits: once more at most.
async fn open(
    web: &Web,
    ctx: &RequestContext,
    chosen: (&LlmConnection, &str),
) -> Result<Model, ConnectError> {
    let (project, outbound) = (&ctx.project.id, &web.outbound);
    let model = llm_connections::model(&web.store, project, chosen, outbound, ctx.now).await?;
    Ok(model.with_backoff(Backoff { max_attempts: 2, ..MODEL_BACKOFF }))
}

/// Asks the model behind a connection for a word, to see whether it answers.
///
/// # Errors
/// Fails only if too much is asked already.
pub(crate) async fn test_connection(
    web: &Web,
    ctx: &RequestContext,
    chosen: (&LlmConnection, &str),
) -> PageResult<ModelResult> {
    let question =
        LlmRequest { max_tokens: 16, ..LlmRequest::new("Answer with the one word: ready") };
    let _permit = ctx.viewer.take(&web.model_calls, "model calls")?;
    let time = Some(Duration::from_secs(30));
    let budget = Budget::new(Allowance { time, ..Allowance::default() });
    Ok(one(web, ctx, chosen, &question, [&budget, &budget]).await)
}
