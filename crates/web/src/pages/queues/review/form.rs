use maud::{Markup, html};
use ratchet_core::catalog::agent::review_datasets;
use ratchet_core::catalog::review::{
    CORRECTNESS, HELPFULNESS, MAX_COMMENT, REVIEW_HEARTBEAT, ReviewSettings,
};
use ratchet_core::record::limit::elide;
use ratchet_core::record::score::{Score, ScoreSource};
use ratchet_store::catalog::{QueueId, ReviewLease, StoredScoreConfig};
use ratchet_store::review_signals::current_category;

use super::config_form;
use super::record::{Record, ToolUse};
use crate::components::badge;
use crate::page_error::PageResult;
use crate::pages::comments;
use crate::pages::datasets::to_type;
use crate::request_context::{Link, RequestContext};
use crate::score_summary;
use crate::web::Web;

/// The prefix of fields about tools; the id of the first call follows.
pub(super) const TOOL: &str = "tool.";
/// Bytes of an output that can be edited here; a longer one is edited in the dataset.
const MAX_EDITED: usize = 100_000;
const NAME: usize = 30;

/// Values of an answer, each with its word.
const RIGHT: [(&str, &str); 2] = [("0", "incorrect"), ("1", "correct")];
const HELPFUL: [(&str, &str); 3] = [("0", "not helpful"), ("0.5", "partly"), ("1", "helpful")];
const USED: [(&str, &str); 2] = [("0", "wrong"), ("1", "right")];

pub(super) fn action(ctx: &RequestContext, of: &QueueId, lease: &ReviewLease) -> Link {
    ctx.to(&["queues", &of.queue, "review", &lease.item.id])
}

pub(super) fn hidden(ctx: &RequestContext, lease: &ReviewLease) -> Markup {
    html! {
        (ctx.viewer.form_token.field())
        input type="hidden" name="attempt" value=(lease.attempt);
        input type="hidden" name="lease" value=(lease.number);
        input type="hidden" name="seconds" value="0" data-seconds;
    }
}

/// A form that skips the item.
pub(super) fn skip(ctx: &RequestContext, of: &QueueId, lease: &ReviewLease) -> Markup {
    html! {
        form method="post" action=(action(ctx, of, lease)) {
            (hidden(ctx, lease))
            button.button.primary name="skip" value="yes" { "Skip" }
        }
    }
}

pub(super) async fn form(
    web: &Web,
    ctx: &RequestContext,
    (of, lease): (&QueueId, &ReviewLease),
    (record, settings): (&Record, &ReviewSettings),
) -> PageResult<Markup> {
    let heartbeat = ctx.to(&["queues", &of.queue, "review", &lease.item.id, "heartbeat"]);
    let datasets = datasets(web, ctx, record).await?;
    let tools = record.tools();
    let comments = comments::read(web, ctx, record.commented()).await?;
    let said = html! {
        (verdicts(record))
        @if !comments.is_empty() { (comments::quoted(&comments, ctx)) }
    };
    Ok(html! {
        form.review-form data-review method="post" action=(action(ctx, of, lease))
             data-heartbeat=(heartbeat) data-heartbeat-seconds=(REVIEW_HEARTBEAT.as_secs())
             data-next=(ctx.to(&["queues", &of.queue, "review"])) {
            (hidden(ctx, lease))
            (choice(CORRECTNESS, "Correctness", &RIGHT, true))
            (choice(HELPFULNESS, "Helpfulness", &HELPFUL, false))
            @if !tools.is_empty() { (tool_usage(&tools)) }
            (after_answer(settings, "correctness", &said))
            (area(("judge_error", "Judge was wrong because…", "w"), ""))
            (area(("comment", "Comment", "c"), ""))
            (case(record, &datasets))
            (buttons())
            p.muted.keys-hint {
                "A number selects an option of the framed question; " kbd { "j" } " " kbd { "k" } " move the frame; "
                kbd { "Esc" } " leaves a text."
            }
        }
    })
}

/// The form of a record in a queue with score configs.
pub(super) async fn config_form(
    web: &Web,
    ctx: &RequestContext,
    (of, lease): (&QueueId, &ReviewLease),
    (record, settings, configs): (&Record, &ReviewSettings, &[StoredScoreConfig]),
) -> PageResult<Markup> {
    let datasets = datasets(web, ctx, record).await?;
    let comments = comments::read(web, ctx, record.commented()).await?;
    let said = html! {
        (verdicts(record))
        @if !comments.is_empty() { (comments::quoted(&comments, ctx)) }
    };
    let after = html! { (case(record, &datasets)) };
    Ok(config_form::form(ctx, (of, lease), (settings, configs), (&said, &after)))
}

/// Buttons that save and skip, and what became of the answer.
pub(super) fn buttons() -> Markup {
    html! {
        p.review-actions {
            button.button.primary type="submit" aria-keyshortcuts="Enter" { "Save & next " kbd { "Enter" } }
            button.button type="submit" name="skip" value="yes" formnovalidate data-skip
                   aria-keyshortcuts="s" { "Skip " kbd { "s" } }
        }
        p.review-status role="status" aria-live="polite" data-status {}
    }
}

fn choice(name: &str, label: &str, options: &[(&str, &str)], is_required: bool) -> Markup {
    html! {
        fieldset.review-choice data-question data-reveals[is_required] {
            legend { (label) }
            @for (key, (value, word)) in options.iter().enumerate() {
                label.mark {
                    input type="radio" name=(name) value=(value) required[is_required] data-key=(key);
                    kbd { (key) } span { (word) }
                }
            }
        }
    }
}

pub(super) fn area((name, label, key): (&str, &str, &str), text: &str) -> Markup {
    html! {
        div.review-text {
            label for=(name) { (label) " " kbd { (key) } }
            textarea id=(name) name=(name) rows="1" maxlength=(MAX_COMMENT) aria-keyshortcuts=(key)
                     data-focus=(key) { "\n" (text) }
        }
    }
}

/// A question for each tool and sub-agent; many of them scroll.
fn tool_usage(tools: &[ToolUse]) -> Markup {
    html! {
        div.review-tools role="group" aria-label="Tool usage" tabindex="0" {
            @for tool in tools {
                @let calls = if tool.calls == 1 { String::new() } else { format!(", {} calls", tool.calls) };
                @let label = format!("Tool usage: {}{calls}", elide(&tool.name, NAME));
                (choice(&format!("{TOOL}{}", tool.first), &label, &USED, false))
            }
        }
    }
}

/// What judges and people have said; hidden until the reviewer has answered if the queue is blind.
pub(super) fn after_answer(settings: &ReviewSettings, asked: &str, said: &Markup) -> Markup {
    html! {
        section.review-verdict aria-label="Verdicts" {
            @if settings.is_blind {
                p.muted data-until-answered { "Scores and comments appear when you have answered " (asked) "." }
            }
            div.review-said role="group" aria-label="Scores and comments" data-verdicts tabindex="0" hidden[settings.is_blind] { (said) }
        }
    }
}

/// Scores of the record, those of people first: they supersede the judge's, which stay visible.
fn verdicts(record: &Record) -> Markup {
    let scores = record.own_scores();
    let is_judged = scores.iter().any(|score| score.source == ScoreSource::Eval);
    html! {
        // The reason tells the judge's verdict.
        @if let Some(reason) = &record.reason { p { "Drawn because: " bdi { (elide(reason, 400)) } } }
        @if record.trace.environment.is_production_traffic() {
            @let now = current_category(&record.scores);
            p { "Category now: " b { (now) } " " span.muted { (now.signals()) } }
        }
        @for score in score_summary::people_first(&scores) { (verdict(score)) }
        @if !is_judged { p.muted { "No judge has scored this." } }
    }
}

pub(super) fn verdict(score: &Score) -> Markup {
    let by = score_summary::decider(score);
    let words = format!("{} {}", elide(&score.name, NAME), score_summary::value(&score.value));
    html! {
        p.review-judged {
            (badge::decided(by, &elide(&words, 60))) " "
            span.muted { (score_summary::judge_name(score)) }
            @if let Some(why) = &score.comment { ": " bdi { (elide(why, 400)) } }
        }
    }
}

/// The names of the agent's datasets, if the record has an agent.
async fn datasets(
    web: &Web,
    ctx: &RequestContext,
    record: &Record,
) -> PageResult<Option<[String; 2]>> {
    // The case of an experiment is in a dataset already.
    if record.experiment.is_some() {
        return Ok(None);
    }
    let agent = super::answer::agent(web, ctx, record).await?;
    Ok(agent.map(|agent| review_datasets(&agent, ctx.now)))
}

fn case(record: &Record, datasets: &Option<[String; 2]>) -> Markup {
    let output = record.output().filter(|output| output.as_str().len() <= MAX_EDITED);
    html! {
        @if let Some([month, global]) = datasets {
            div.review-case data-case {
                label.tick {
                    input type="checkbox" name="case" value="yes" data-case-tick;
                    " Add to " bdi { (month) } " and " bdi { (global) } " " kbd { "d" }
                }
                label for="expected_output" { "Expected output " kbd { "x" } }
                textarea #expected_output name="expected_output" rows="3" spellcheck="false"
                         aria-keyshortcuts="x" data-focus="x" { "\n" (to_type(output.as_ref())) }
            }
        }
    }
}
