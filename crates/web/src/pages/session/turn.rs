use maud::{Markup, html};
use ratchet_core::catalog::review::is_superseded;
use ratchet_core::payload::Payload;
use ratchet_core::record::observation::Level;
use ratchet_core::record::score::Score;
use ratchet_core::record::trace::Trace;

use super::outline::agent;
use crate::components::badge;
use crate::components::figure;
use crate::message_preview;
use crate::message_preview::Side;
use crate::request_context::RequestContext;
use crate::score_summary;

/// Scores shown beside a turn.
const MAX_SCORES: usize = 12;

/// One turn of a conversation: a trace.
pub(super) struct Turn<'a> {
    pub(super) trace: &'a Trace,
    /// Its place in the conversation, from 1.
    pub(super) number: u64,
    /// What was asked and answered.
    pub(super) words: &'a Markup,
    /// The agent that called it as a tool.
    pub(super) called_by: Option<String>,
    pub(super) scores: &'a [Score],
}

impl Turn<'_> {
    /// Draws what was asked and what was answered.
    pub(super) fn draw(&self, ctx: &RequestContext) -> Markup {
        let id = self.trace.id.to_string();
        let called = if self.called_by.is_some() { " called" } else { "" };
        let failed = if self.trace.summary.levels.error > 0 { " failed" } else { "" };
        html! {
            article class={ "turn" (called) (failed) } id={ "turn-" (self.number) } {
                (self.head(ctx))
                (self.words)
                footer.turn-foot {
                    @if !self.scores.is_empty() {
                        p.badges {
                            @for score in score_summary::people_first(self.scores).into_iter().take(MAX_SCORES) {
                                (score_summary::chip(score, ctx))
                                @if is_superseded(score, self.scores) { (badge::tag("superseded by a person")) }
                            }
                            @if self.scores.len() > MAX_SCORES {
                                span.muted { (self.scores.len() - MAX_SCORES) " more" }
                            }
                        }
                    }
                    @if ctx.viewer.can_change() {
                        a.quiet-link href=(ctx.to(&["traces", &id, "dataset"])) { "Add to dataset" }
                    }
                    @if ctx.viewer.can_read() { (self.steps(&id, ctx)) }
                }
            }
        }
    }

    fn head(&self, ctx: &RequestContext) -> Markup {
        let trace = self.trace;
        let summary = &trace.summary;
        html! {
            header.turn-head {
                h3 {
                    @let title = html! {
                        span.turn-number { (self.number) }
                        bdi { (ratchet_core::record::limit::elide(agent(trace).unwrap_or("unnamed"), 80)) }
                    };
                    @if ctx.viewer.can_read() {
                        a href=(ctx.to(&["traces", &trace.id.to_string()])) { (title) }
                    } @else { (title) }
                }
                @if let Some(caller) = &self.called_by {
                    span.muted { "called by " bdi { (ratchet_core::record::limit::elide(caller, 80)) } }
                }
                @if summary.levels.error > 0 { (badge::level(Level::Error)) }
                @else if summary.levels.warning > 0 { (badge::level(Level::Warning)) }
                span.turn-facts {
                    (figure::when(trace.timestamp, &ctx.time))
                    @if let Some(latency) = summary.latency() { span { (figure::duration(latency)) } }
                    @if summary.total_tokens > 0 {
                        span {
                            (figure::tokens_in_part(summary.total_tokens, summary.approximate_cost)) " tokens"
                        }
                        span { (figure::cost_in_part(summary.cost, summary.approximate_cost)) }
                    }
                }
            }
        }
    }

    /// The steps of the turn, in place where there is a script, on the trace's page where not.
    fn steps(&self, id: &str, ctx: &RequestContext) -> Markup {
        let total = self.trace.summary.levels.total();
        let session = self.trace.session.as_ref().map(ToString::to_string).unwrap_or_default();
        let source = ctx.to(&["sessions", &session, "steps", id]);
        html! {
            details.steps data-steps=(source) {
                summary { (figure::grouped(total)) @if total == 1 { " observation" } @else { " observations" } }
                div.steps-body aria-live="polite" {
                    p { a href=(ctx.to(&["traces", id])) { "Open trace" } " to see all observations." }
                }
            }
        }
    }
}

/// What was asked and answered in a trace.
pub(super) fn words(trace: &Trace, ctx: &RequestContext) -> Markup {
    let content = trace.content.as_ref();
    let input = content.and_then(|content| content.input.as_ref()).map(Payload::as_str);
    let output = content.and_then(|content| content.output.as_ref()).map(Payload::as_str);
    html! {
        div.words {
            @match input {
                Some(input) => { (message_preview::show(input, Side::Input, &trace.id, ctx)) },
                None => { p.muted { "No input recorded." } },
            }
            @match output {
                Some(output) => { (message_preview::show(output, Side::Output, &trace.id, ctx)) },
                None => { p.muted { "No output recorded." } },
            }
        }
    }
}
