use maud::{Markup, html};
use ratchet_core::record::limit::elide;
use ratchet_core::record::observation::Observation;
use ratchet_core::record::trace::Trace;

use super::reader::PublicReader;
use super::{content, facts, name, sides_of};
use crate::components::{badge, figure};
use crate::message_preview::Side;
use crate::page_error::PageResult;
use crate::request_context::Link;
use crate::trace_tree::assemble;

/// How far observations are set in.
const MAX_DEPTH: usize = 8;
/// Bytes of a name that are shown.
const MAX_NAME: usize = 120;

/// A trace, or one of its observations, above the list of all.
pub(super) async fn page(reader: &PublicReader, trace: &Trace) -> PageResult<(String, Markup)> {
    let (steps, is_cut) = reader.observations(trace).await?;
    let selected = reader.asked_observation(trace).await?;
    let here = reader.link("");
    let here = if reader.is_session() { here.with("trace", trace.id.to_string()) } else { here };
    let body = html! {
        @if reader.is_session() { p { a href=(reader.link("")) { "Session" } } }
        p.turn-facts { (facts(reader, trace)) }
        @match &selected {
            Some(step) => { (observation(reader, step, &here)) },
            None => { h2 { "Trace" } (content(reader, trace, None)) },
        }
        @if !steps.is_empty() {
            h2 { "Observations" }
            ol.step-list {
                @for row in assemble(&steps) {
                    (line(&steps[row.step], row.depth.min(MAX_DEPTH), selected.as_ref(), &here))
                }
            }
            @if is_cut { p.muted { "Only the first " (steps.len()) " observations are listed." } }
        }
    };
    Ok((name(trace).to_owned(), body))
}

fn observation(reader: &PublicReader, step: &Observation, here: &Link) -> Markup {
    let content = step.content.as_ref();
    let sides = [
        (Side::Input, content.and_then(|content| content.input.as_ref())),
        (Side::Output, content.and_then(|content| content.output.as_ref())),
    ];
    let (trace, id) = (step.trace.to_string(), step.id.to_string());
    html! {
        p { a href=(here) { "Whole trace" } }
        h2 { (badge::glyph(step.kind)) " " bdi { (step_name(step)) } " " (badge::level(step.level)) }
        @if let Some(text) = &step.status_message { p.muted { bdi { (elide(text, 4_000)) } } }
        (sides_of(reader, &trace, Some(&id), sides))
    }
}

fn step_name(step: &Observation) -> String {
    elide(step.name.as_deref().unwrap_or("unnamed"), MAX_NAME).into_owned()
}

fn line(step: &Observation, depth: usize, selected: Option<&Observation>, here: &Link) -> Markup {
    let is_selected = selected.is_some_and(|selected| selected.id == step.id);
    let link = here.clone().with("observation", step.id.to_string());
    html! {
        li class={ "depth-" (depth) } {
            (badge::glyph(step.kind))
            a href=(link) aria-current=[is_selected.then_some("true")] { bdi { (step_name(step)) } }
            @if let Some(model) = &step.model { code.muted { (elide(model, MAX_NAME)) } }
            (badge::level(step.level))
            @if let Some(nanos) = step.latency() { span.muted { (figure::duration(nanos)) } }
        }
    }
}
