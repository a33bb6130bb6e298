use maud::{Markup, html};
use ratchet_agent::response::{LlmResponse, StopReason};
use ratchet_core::record::limit::elide;
use ratchet_core::record::tokens::Provenance;

use super::PlaygroundState;
use super::model_calls::ModelResult;
use crate::components::figure;
use crate::request_context::RequestContext;

/// Bytes of an answer that are shown and kept.
const SHOWN: usize = 200_000;

/// All that came back, side by side.
pub(super) fn all(ctx: &RequestContext, state: &PlaygroundState) -> Markup {
    html! {
        @if !state.results.is_empty() {
            section aria-label="Answers" {
                h2 { "Answers" }
                div.answers { @for result in &state.results { (one(ctx, state, result)) } }
                (new_version(ctx, state))
            }
        }
    }
}

fn one(ctx: &RequestContext, state: &PlaygroundState, result: &ModelResult) -> Markup {
    html! {
        article.answer.failed[result.outcome.is_err()] {
            header { h3 { bdi { (result.connection) } } " " code { bdi { (result.model) } } }
            @match &result.outcome {
                Ok(answer) => {
                    pre.payload tabindex="0" { (elide(&answer.text, SHOWN)) }
                    (cut_off(answer))
                    (facts(result, answer))
                    (keep(ctx, state, answer))
                },
                Err(why) => {
                    p.wrong role="alert" { (why) }
                    p.muted { "after " (figure::duration(result.took)) }
                },
            }
        }
    }
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
fn keep(ctx: &RequestContext, state: &PlaygroundState, answer: &LlmResponse) -> Markup {
    html! {
        @if !state.datasets.is_empty() {
            form.inline method="post" data-inline-errors action=(ctx.to(&["playground", "item"])) {
                (ctx.viewer.form_token.field())
                input type="hidden" name="input" value=(state.request.input());
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

/// The prompt as it is now, as a new version of the one it began as or of a new one.
fn new_version(ctx: &RequestContext, state: &PlaygroundState) -> Markup {
    let request = &state.request;
    let kind = request.body.as_ref().map(|body| body.kind().as_str());
    html! {
        form.maker.keep-version method="post" data-inline-errors action=(ctx.to(&["playground", "version"])) {
            (ctx.viewer.form_token.field())
            h3 { "Save prompt" }
            input type="hidden" name="kind" value=[kind];
            input type="hidden" name="text" value=(request.text);
            div.form-row {
                label for="keep-name" { "Prompt name" }
                input #keep-name type="text" name="name" required maxlength="255"
                    value=[request.name.as_deref()] placeholder="prompt name" autocomplete="off";
            }
            div.form-row {
                label for="keep-why" { "Commit message" }
                input #keep-why type="text" name="message" maxlength="500" placeholder="optional" autocomplete="off";
            }
            button.button type="submit" { "Save as new version" }
        }
    }
}
