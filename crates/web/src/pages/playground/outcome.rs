use maud::{Markup, html};
use ratchet_agent::response::{LlmResponse, StopReason};
use ratchet_core::record::limit::elide;
use ratchet_core::record::tokens::Provenance;

use super::model_calls::ModelResult;
use super::{PlaygroundState, tools};
use crate::components::table::{self, Column, Row, Table};
use crate::components::{diff, figure, json};
use crate::request_context::RequestContext;

/// Bytes of an answer that are shown and kept.
const SHOWN: usize = 200_000;
/// Bytes of an answer that are compared.
const COMPARED: usize = 20_000;

/// All that came back, side by side.
pub(super) async fn all(ctx: &RequestContext, state: &PlaygroundState) -> Markup {
    let mut cards = Vec::with_capacity(state.results.len());
    for result in &state.results {
        cards.push(one(ctx, state, result).await);
    }
    html! {
        @if !cards.is_empty() {
            section aria-label="Answers" {
                h2 { "Answers" }
                @if cards.len() > 1 { (table::table(&compared(state))) }
                div.answers { @for card in &cards { (card) } }
                (new_version(ctx, state, None))
            }
        }
    }
}

/// Time, tokens and cost of all answers.
fn compared(state: &PlaygroundState) -> Table {
    let row = |result: &ModelResult| {
        let answer = result.outcome.as_ref().ok();
        let tokens = |count: fn(&LlmResponse) -> u64| match answer {
            Some(answer) => html! { (figure::grouped(count(answer))) },
            None => html! { "–" },
        };
        Row {
            id: format!("answer-{}", result.slot),
            link: None,
            cells: vec![
                html! { (result.slot + 1) ". " bdi { (result.connection) } " " code { bdi { (result.model) } } },
                html! { @if state.request.has_own(result.slot) { "own" } @else { "common" } },
                html! { (figure::duration(result.took)) },
                tokens(|answer| answer.usage.input()),
                tokens(|answer| answer.usage.output()),
                html! { @match answer { Some(answer) => { (figure::cost(answer.cost)) }, None => { "–" } } },
                html! { @match answer {
                    Some(answer) => { (figure::grouped(answer.text.chars().count() as u64)) },
                    None => { "failed" },
                } },
            ],
            failed: answer.is_none(),
        }
    };
    let columns = vec![
        Column::wide("Model"),
        Column::text("Prompt"),
        Column::number("Time"),
        Column::number("Tokens in"),
        Column::number("Tokens out"),
        Column::number("Cost"),
        Column::number("Characters"),
    ];
    let rows = state.results.iter().map(row).collect();
    Table { caption: "Answers compared".to_owned(), columns, rows, select_for: None }
}

async fn one(ctx: &RequestContext, state: &PlaygroundState, result: &ModelResult) -> Markup {
    let changes = changes(state, result).await;
    html! {
        article.answer.failed[result.outcome.is_err()] {
            header { h3 { bdi { (result.connection) } } " " code { bdi { (result.model) } }
                @if state.request.has_own(result.slot) { " " span.muted { "own prompt" } } }
            @match &result.outcome {
                Ok(answer) => {
                    @if !answer.text.is_empty() || answer.calls.is_empty() {
                        pre.payload tabindex="0" { (elide(&answer.text, SHOWN)) }
                    }
                    (calls(answer))
                    (cut_off(answer))
                    (facts(result, answer))
                    (changes)
                    (keep(ctx, state, (result.slot, answer)))
                },
                Err(why) => {
                    p.wrong role="alert" { (why) }
                    p.muted { "after " (figure::duration(result.took)) }
                },
            }
            @if state.request.has_own(result.slot) { (new_version(ctx, state, Some(result.slot))) }
        }
    }
}

/// Calls of tools. An answer by a schema may come as one, and is shown as what it is.
fn calls(answer: &LlmResponse) -> Markup {
    html! {
        @if answer.json.is_none() {
            @for call in &answer.calls {
                h4 { "Tool call " code { bdi { (elide(&call.name, 200)) } } }
                (json::json(&call.input.to_string()))
            }
        }
    }
}

/// What differs from the first answer.
async fn changes(state: &PlaygroundState, result: &ModelResult) -> Markup {
    let first = state.results.first().filter(|first| first.slot != result.slot);
    let (Some(Ok(first)), Ok(answer)) = (first.map(|first| &first.outcome), &result.outcome) else {
        return Markup::default();
    };
    if first.text == answer.text {
        return html! { p.muted { "The same text as the first answer." } };
    }
    let short = |text: &str| elide(text, COMPARED).into_owned();
    let changes = diff::beside(short(&first.text), short(&answer.text)).await;
    html! { details { summary { "Changes to the first answer" } (changes) } }
}

fn cut_off(answer: &LlmResponse) -> Markup {
    html! {
        @if answer.stop == StopReason::MaxTokens {
            p.notice { "Truncated: max output tokens reached." }
        }
    }
}

pub(crate) fn facts(result: &ModelResult, answer: &LlmResponse) -> Markup {
    let usage = &answer.usage;
    html! {
        dl.facts {
            dt { "Time" } dd { (figure::duration(result.took))
                @if answer.attempts > 1 { ", " (answer.attempts) " attempts" } }
            dt { "Model" } dd { code { bdi { (elide(&answer.model, 200)) } } }
            dt { "Tokens" }
            dd {
                (figure::grouped(usage.input())) " in, " (figure::grouped(usage.output())) " out"
                @if answer.provenance == Provenance::Approximate { " (estimated)" }
            }
            dt { "Cost" } dd { (figure::cost(answer.cost)) }
        }
    }
}

/// The answer as what should come out for these variables.
fn keep(
    ctx: &RequestContext,
    state: &PlaygroundState,
    (slot, answer): (usize, &LlmResponse),
) -> Markup {
    html! {
        @if !state.datasets.is_empty() {
            form.inline method="post" data-inline-errors action=(ctx.to(&["playground", "item"])) {
                (ctx.viewer.form_token.field())
                input type="hidden" name="input" value=(state.request.input(slot));
                input type="hidden" name="output" value=(elide(&answer.text, SHOWN));
                input type="hidden" name="model" value=(answer.model);
                select name="dataset" aria-label="Dataset" {
                    @for dataset in &state.datasets { option value=(dataset) { (elide(dataset, 60)) } }
                }
                button.button type="submit" { "Save as dataset item" }
            }
        }
    }
}

/// A prompt as it is now, as a new version of the one it began as or of a new one: the common one,
/// or that of a slot.
fn new_version(ctx: &RequestContext, state: &PlaygroundState, slot: Option<usize>) -> Markup {
    let request = &state.request;
    let text = slot.map_or(request.text.as_str(), |slot| request.text_of(slot));
    let config = tools::into_config(&request.config, (&request.tools, &request.schema));
    let kind = request.body.as_ref().map(|body| body.kind().as_str());
    let of = slot.map(|slot| format!("-{slot}")).unwrap_or_default();
    let (name, why) = (format!("keep-name{of}"), format!("keep-why{of}"));
    html! {
        form.maker.keep-version method="post" data-inline-errors action=(ctx.to(&["playground", "version"])) {
            (ctx.viewer.form_token.field())
            @if slot.is_some() { h4 { "Save this prompt" } } @else { h3 { "Save prompt" } }
            input type="hidden" name="kind" value=[kind];
            input type="hidden" name="text" value=(text);
            input type="hidden" name="config" value=(config);
            div.form-row {
                label for=(name) { "Prompt name" }
                input id=(name) type="text" name="name" required maxlength="255"
                    value=[request.name.as_deref()] placeholder="prompt name" autocomplete="off";
            }
            div.form-row {
                label for=(why) { "Commit message" }
                input id=(why) type="text" name="message" maxlength="500" placeholder="optional" autocomplete="off";
            }
            button.button type="submit" { "Save as new version" }
        }
    }
}
