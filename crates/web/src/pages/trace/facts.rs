use maud::{Markup, html};
use ratchet_core::catalog::review::is_superseded;
use ratchet_core::json_size::small_tree;
use ratchet_core::record::limit::elide;
use ratchet_core::record::observation::Observation;
use ratchet_core::record::score::Score;
use ratchet_core::record::trace::Trace;
use ratchet_core::review::category::Category;
use ratchet_core::review::draw::DrawnTrace;
use ratchet_stages::source::Source;
use ratchet_stages::source::session_title::session_title;
use ratchet_store::review_signals::current_category;

use super::agent_version::agent_version;
use super::forms;
use super::kinds::{self, UsageTotals};
use super::run::{RecordDetail, Subject};
use crate::components::badge;
use crate::components::{copy, figure, json};
use crate::page_error::PageResult;
use crate::pages::calibration::refused;
use crate::pages::{annotation, comments};
use crate::request_context::RequestContext;
use crate::score_summary;
use crate::web::Web;

/// Maximum bytes shown of a metadata value.
const MAX_VALUE: usize = 4_000;

/// Details pane.
pub(super) async fn facts(
    web: &Web,
    ctx: &RequestContext,
    subject: &Subject,
) -> PageResult<Markup> {
    let comments = comments::read(web, ctx, subject.commented()).await?;
    let annotate = forms::annotation_form(web, ctx, subject).await?;
    let drawn = match &subject.about {
        RecordDetail::Trace(..) => {
            let catalog = &web.store.catalog;
            catalog.draws_of_trace(ctx.project_id(), subject.trace.to_string()).await?
        }
        RecordDetail::Step(_) => Vec::new(),
    };
    let title = match &subject.about {
        RecordDetail::Trace(trace, _) => session_of(web, ctx, trace).await?,
        RecordDetail::Step(_) => None,
    };
    let served = match &subject.about {
        RecordDetail::Trace(trace, _) => agent_version(web, ctx, trace).await?,
        RecordDetail::Step(_) => None,
    };
    Ok(html! {
        nav.jump aria-label="Jump to" {
            a href="#scores" { "Scores " span.muted { (subject.scores.len()) } }
            a href="#comments" { "Comments " span.muted { (comments.len()) } }
            a href="#metadata" { "Metadata " span.muted { (subject.content.metadata.len()) } }
        }
        @match &subject.about {
            RecordDetail::Trace(trace, spent) => {
                (of_trace(ctx, trace, (spent, served.as_ref(), title.as_deref())))
                (signals(trace, &subject.scores, &drawn))
            },
            RecordDetail::Step(step) => { (of_step(ctx, step)) },
        }
        (scores(&subject.scores, ctx))
        (annotate)
        (comments::list(&comments, ctx))
        (forms::comment_form(ctx, subject))
        (metadata(subject))
    })
}

/// The first request of a trace's session.
async fn session_of(web: &Web, ctx: &RequestContext, trace: &Trace) -> PageResult<Option<String>> {
    let Some(session) = &trace.session else { return Ok(None) };
    let source = Source::Local(web.store.telemetry.clone(), ctx.project_id());
    let title = session_title(&source, session).await;
    title.map_err(|why| refused(why.into()))
}

/// One term and its value.
fn fact(name: &str, value: &Markup) -> Markup {
    html! { dt { (name) } dd { (value) } }
}

fn of_trace(
    ctx: &RequestContext,
    trace: &Trace,
    (spent, served, title): (&UsageTotals, Option<&Markup>, Option<&str>),
) -> Markup {
    let sums = &trace.summary;
    let lasted = sums.start.zip(sums.end).map(|(start, end)| end.since(start));
    html! {
        h3 { "Trace" }
        dl.facts {
            (fact("Start", &figure::when(trace.timestamp, &ctx.time)))
            @if let Some(nanos) = lasted { (fact("Duration", &html! { (figure::duration(nanos)) })) }
            @if let Some(agent) = &trace.agent { (fact("Agent", &html! { bdi { (agent) } })) }
            @if let Some(served) = served { (fact("Agent version", served)) }
            @if let Some(user) = &trace.user {
                (fact("User", &html! { a href=(ctx.to(&["users", user])) { bdi { (user) } } }))
            }
            @if let Some(session) = &trace.session {
                @let session = session.to_string();
                (fact("Session", &html! {
                    a href=(ctx.to(&["sessions", &session])) title=(session) {
                        bdi { (elide(title.unwrap_or(&session), 80)) }
                    }
                }))
            }
            (fact("Environment", &html! { (trace.environment.as_str()) }))
            @if let Some(release) = &trace.release { (fact("Release", &html! { (release) })) }
            @if let Some(version) = &trace.version { (fact("Version", &html! { (version) })) }
            (fact("ID", &copy::id(&trace.id.to_string())))
        }
        (kinds::bars(spent))
        @if spent.is_cut { p.muted { "Only the first observations are included." } }
    }
}

/// The trace's cell of the signal matrix now, and what it was when it was drawn for review: estimates
/// use the latter.
fn signals(trace: &Trace, scores: &[Score], drawn: &[(String, DrawnTrace)]) -> Markup {
    let category =
        |category: Category| html! { b { (category) } " " span.muted { (category.signals()) } };
    html! {
        @if trace.environment.is_production_traffic() {
            h3 { "Review" }
            dl.facts {
                (fact("Category now", &category(current_category(scores))))
                @for (week, draw) in drawn {
                    (fact(&format!("Drawn for {week}"), &html! {
                        (category(draw.category)) br; bdi { (draw.reason) }
                    }))
                }
            }
        }
    }
}

fn of_step(ctx: &RequestContext, step: &Observation) -> Markup {
    html! {
        h3 { "Timing" }
        dl.facts {
            (fact("Type", &html! { (badge::kind_name(step.kind)) }))
            (fact("Start", &figure::when(step.start, &ctx.time)))
            @match step.latency() {
                Some(nanos) => { (fact("Duration", &html! { (figure::duration(nanos)) })) },
                None => { (fact("Duration", &html! { span.muted { "no end recorded" } })) },
            }
            @if let Some(nanos) = step.time_to_first_token() { (fact("Time to first token", &html! { (figure::duration(nanos)) })) }
            @if let Some(speed) = speed(step) { (fact("Speed", &html! { (speed) })) }
            @if let Some(agent) = &step.agent { (fact("Agent", &html! { bdi { (agent) } })) }
            @if let Some(version) = &step.version { (fact("Version", &html! { (version) })) }
            @if let Some(parent) = &step.parent {
                (fact("Parent", &html! {
                    a href=(super::link(ctx, &step.trace).with("observation", parent.to_string())) { "Open" }
                }))
            }
            (fact("ID", &copy::id(&step.id.to_string())))
        }
        (model(ctx, step))
    }
}

/// Output tokens per second, from the first token where known.
fn speed(step: &Observation) -> Option<String> {
    let began = step.completion_start.unwrap_or(step.start);
    let nanos = step.end?.since(began);
    let tokens = step.usage.output();
    if tokens == 0 || nanos <= 0 {
        return None;
    }
    #[expect(clippy::cast_precision_loss, reason = "shown with three digits")]
    let rate = tokens as f64 / (nanos as f64 / 1e9);
    Some(format!("{} tokens/s", figure::number((rate * 10.0).round() / 10.0)))
}

fn model(ctx: &RequestContext, step: &Observation) -> Markup {
    html! {
        @if step.model.is_some() || step.prompt.is_some() || step.model_parameters.is_some() {
            h3 { "Model" }
            dl.facts {
                @if let Some(model) = &step.model { (fact("Name", &html! { code { (model) } })) }
                @if let Some(prompt) = &step.prompt {
                    (fact("Prompt", &html! {
                        a href=(ctx.to(&["prompts", &prompt.name]).with("version", prompt.version.to_string())) {
                            bdi { (prompt.name) } " v" (prompt.version)
                        }
                    }))
                }
            }
            @if let Some(parameters) = &step.model_parameters { (json::json(&elide(parameters.as_str(), MAX_VALUE))) }
        }
        (kinds::bars(&UsageTotals::by_step(step)))
    }
}

/// Scores, those of people first: they supersede the judge's, which stay visible.
fn scores(scores: &[Score], ctx: &RequestContext) -> Markup {
    let ordered = score_summary::people_first(scores);
    html! {
        h3 #scores { "Scores" }
        @if scores.is_empty() { p.muted { "None yet." } }
        ul.verdicts {
            @for score in ordered {
                li {
                    span.verdict-name { bdi { (score.name) } }
                    " " (badge::decided(score_summary::decider(score), &elide(&score_summary::value(&score.value), 200)))
                    " " span.muted { (score_summary::judge_name(score)) ", " (figure::when(score.timestamp, &ctx.time)) }
                    @if is_superseded(score, scores) { " " (badge::tag("superseded by a person")) }
                    @if let Some(comment) = &score.comment { p { bdi { (elide(comment, MAX_VALUE)) } } }
                    (annotation::score_button(ctx, score))
                }
            }
        }
    }
}

fn metadata(subject: &Subject) -> Markup {
    html! {
        @if !subject.content.metadata.is_empty() {
            details.metadata #metadata open {
                summary { "Metadata " span.muted { (subject.content.metadata.len()) } }
                dl.facts {
                    @for (key, value) in &subject.content.metadata {
                        (fact(&elide(key, 200), &shown(value.as_str())))
                    }
                }
            }
        }
    }
}

/// Metadata value as text or JSON.
fn shown(value: &str) -> Markup {
    match small_tree(value) {
        Ok(serde_json::Value::String(text)) => html! { bdi { (elide(&text, MAX_VALUE)) } },
        Ok(serde_json::Value::Array(_) | serde_json::Value::Object(_)) => {
            json::json(&elide(value, MAX_VALUE))
        }
        _ => html! { code { (elide(value, MAX_VALUE)) } },
    }
}
