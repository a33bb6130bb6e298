use ratchet_core::id::{ObservationId, TraceId};
use ratchet_core::json_size::small_tree;
use ratchet_core::payload::Payload;
use ratchet_core::record::message_formats::{self, ChatMessage, MessageRole, Part, Reading};
use ratchet_core::record::observation::{Observation, ObservationKind};
use ratchet_store::query::{
    Condition, Detail, Direction, ObservationColumn, ObservationQuery, Paging, Test, TimeRange,
};
use serde_json::{Value, json};

use super::fields::{CallInput, PlaygroundForm};
use crate::page_error::{PageError, PageResult};
use crate::request_context::RequestContext;
use crate::web::Web;

/// Fills the form in from a model call: the observation of the address, else the first of the trace.
pub(super) async fn form(
    web: &Web,
    ctx: &RequestContext,
    trace: &str,
) -> PageResult<PlaygroundForm> {
    let trace = TraceId::parse(trace).map_err(|_| PageError::not_there("trace"))?;
    let call = match ctx.params.get("observation") {
        Some(id) => {
            let id = ObservationId::parse(id).map_err(|_| PageError::not_there("observation"))?;
            let found = web.store.telemetry.observation(ctx.project_id(), id).await?;
            found.filter(|step| step.trace == trace)
        }
        None => first_call(web, ctx, &trace).await?,
    };
    let call = call.ok_or_else(|| PageError::not_there("model call"))?;
    let mut form = PlaygroundForm::of_call(input(&call));
    form.slots[0].1 = call.model.clone().unwrap_or_default();
    form.temperature = temperature(&call).unwrap_or_default();
    Ok(form)
}

async fn first_call(
    web: &Web,
    ctx: &RequestContext,
    trace: &TraceId,
) -> PageResult<Option<Observation>> {
    let is_call = Condition {
        column: ObservationColumn::Kind,
        test: Test::AnyOf(vec![ObservationKind::Generation.as_str().to_owned()]),
    };
    let query = ObservationQuery {
        project: ctx.project_id(),
        range: TimeRange::default(),
        trace: Some(trace.clone()),
        conditions: vec![is_call],
        direction: Direction::Ascending,
        paging: Paging::After { cursor: None, limit: 1 },
        detail: Detail::Content,
    };
    Ok(web.store.telemetry.observations(query).await?.rows.into_iter().next())
}

fn input(call: &Observation) -> CallInput {
    let input = call.content.as_ref().and_then(|content| content.input.as_ref());
    let Some(input) = input.map(Payload::to_json) else { return CallInput::Text(String::new()) };
    match message_formats::read(input.as_str()) {
        Reading::Messages(messages) => CallInput::Messages(messages.iter().map(message).collect()),
        Reading::Text(text) => CallInput::Text(text),
        Reading::Data(text) => CallInput::Text(text),
    }
}

/// A message with its texts; calls and results of tools are written out, because the playground
/// calls models without tools.
fn message(message: &ChatMessage) -> Value {
    let role = match &message.role {
        MessageRole::System => "system",
        MessageRole::User | MessageRole::Tool => "user",
        MessageRole::Assistant => "assistant",
        MessageRole::Other(role) => role,
    };
    let mut texts = Vec::new();
    for part in &message.parts {
        match part {
            Part::Text(text) => texts.push(text.clone()),
            Part::Call(call) => texts.push(format!("{}({})", call.name, call.arguments)),
            Part::Result(result) => texts.extend(result.parts.iter().filter_map(text)),
            Part::Data(data) => texts.push(data.to_string()),
            Part::Thinking(_) | Part::Picture(_) => {}
        }
    }
    json!({ "role": role, "content": texts.join("\n") })
}

fn text(part: &Part) -> Option<String> {
    match part {
        Part::Text(text) => Some(text.clone()),
        Part::Data(data) => Some(data.to_string()),
        Part::Thinking(_) | Part::Picture(_) | Part::Result(_) | Part::Call(_) => None,
    }
}

fn temperature(call: &Observation) -> Option<String> {
    let parameters = small_tree(call.model_parameters.as_ref()?.as_str()).ok()?;
    let temperature = parameters.get("temperature")?;
    temperature.as_f64().map(|number| number.to_string())
}
