use std::fmt::Write as _;

use maud::{Markup, html};
use ratchet_core::counted::verb_of;
use ratchet_core::json_size::small_tree;
use ratchet_core::payload::Payload;
use ratchet_core::record::limit::elide;
use ratchet_core::record::observation::{Observation, ObservationKind};
use ratchet_store::query::{
    Condition, Detail, Direction, ObservationColumn, ObservationQuery, Paging, Test, TimeRange,
};

use super::run::{self, RecordDetail, Subject};
use super::{link, outline};
use crate::components::diff;
use crate::components::figure;
use crate::page_error::PageResult;
use crate::request_context::RequestContext;
use crate::web::Web;
use ratchet_core::record::message_formats::{
    self, ChatMessage, MessageRole, Part, Reading, RecordedResult,
};

/// Maximum bytes compared per side.
const MAX_BYTES: usize = 60_000;
/// Number of earlier model calls searched for one with the same parent.
const LOOK_BACK: u64 = 100;

/// Input diff of a model call against the previous one.
pub(super) async fn changes(
    web: &Web,
    ctx: &RequestContext,
    subject: &Subject,
) -> PageResult<Markup> {
    let RecordDetail::Step(step) = &subject.about else { return Ok(Markup::default()) };
    let Some(before) = call_before(web, ctx, step).await? else {
        return Ok(html! { p.muted { "First model call of this trace; nothing to compare." } });
    };
    let before = run::step(web, ctx, &subject.trace, &before.id).await?;
    let old = before.content.as_ref().and_then(|content| content.input.as_ref());
    let (old, new) = (transcript(old), transcript(subject.content.input.as_ref()));
    let same = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let rest = |messages: &[String]| messages.get(same..).unwrap_or_default().join("\n\n");
    let (old, new) = (rest(&old), rest(&new));
    let (old, new) = (elide(&old, MAX_BYTES).into_owned(), elide(&new, MAX_BYTES).into_owned());
    let changes = diff::beside(old, new).await;
    let to_before = link(ctx, &subject.trace).with("observation", before.id.to_string());
    Ok(html! {
        p.muted {
            "Compared with " a href=(to_before.with("view", "changes")) { (outline::step_name(&before)) }
            ", the previous model call. " (figure::counted(same as u64, "message")) " at the start "
            (verb_of(same, ["is", "are"])) " unchanged."
        }
        (changes)
    })
}

/// The previous model call: the last with the same parent, else the last of all.
async fn call_before(
    web: &Web,
    ctx: &RequestContext,
    step: &Observation,
) -> PageResult<Option<Observation>> {
    let is_call = Condition {
        column: ObservationColumn::Kind,
        test: Test::AnyOf(vec![ObservationKind::Generation.as_str().to_owned()]),
    };
    let question = ObservationQuery {
        project: ctx.project_id(),
        range: TimeRange { from: None, to: Some(step.start) },
        trace: Some(step.trace.clone()),
        conditions: vec![is_call],
        direction: Direction::Descending,
        paging: Paging::After { cursor: None, limit: LOOK_BACK },
        detail: Detail::Row,
    };
    let mut calls = web.store.telemetry.observations(question).await?.rows;
    calls.retain(|call| call.id != step.id);
    let ctx = calls.iter().position(|call| call.parent == step.parent).unwrap_or(0);
    Ok((ctx < calls.len()).then(|| calls.swap_remove(ctx)))
}

/// Text of each message of a payload.
fn transcript(payload: Option<&Payload>) -> Vec<String> {
    let Some(payload) = payload else { return Vec::new() };
    match message_formats::read(payload.to_json().as_str()) {
        Reading::Messages(messages) => messages.iter().map(written).collect(),
        Reading::Text(text) => vec![text],
        Reading::Data(text) => vec![pretty(&text)],
    }
}

fn pretty(text: &str) -> String {
    let value = small_tree(text).ok();
    let pretty = value.and_then(|value| serde_json::to_string_pretty(&value).ok());
    pretty.unwrap_or_else(|| text.to_owned())
}

fn written(message: &ChatMessage) -> String {
    let role = match &message.role {
        MessageRole::System => "System",
        MessageRole::User => "User",
        MessageRole::Assistant => "Assistant",
        MessageRole::Tool => "Tool",
        MessageRole::Other(role) => role,
    };
    let mut text = format!("{role}:");
    for part in &message.parts {
        write_part(&mut text, part);
    }
    text
}

fn write_part(text: &mut String, part: &Part) {
    // Writing to a text cannot fail.
    let _infallible = match part {
        Part::Text(words) => write!(text, "\n{words}"),
        Part::Thinking(words) => write!(text, "\n(thinking) {words}"),
        Part::Picture(_) => write!(text, "\n(picture)"),
        Part::Data(value) => write!(text, "\n{value}"),
        Part::Result(result) => write_result(text, result),
        Part::Call(call) => {
            let called = write!(text, "\n{}({})", call.name, call.arguments);
            call.result.as_ref().map_or(called, |result| write_result(text, result))
        }
    };
}

fn write_result(text: &mut String, result: &RecordedResult) -> std::fmt::Result {
    text.write_str(if result.is_error { "\n-> failed:" } else { "\n->" })?;
    for part in &result.parts {
        write_part(text, part);
    }
    Ok(())
}
