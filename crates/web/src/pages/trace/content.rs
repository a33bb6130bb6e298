use maud::{Markup, html};
use ratchet_core::payload::Payload;
use ratchet_core::record::observation::ObservationKind;

use super::run::{RecordDetail, Subject, TraceRun};
use super::{actions, changes, correction, link, name, outline};
use crate::call_graph;
use crate::components::icon::{Icon, icon};
use crate::components::message::{ContentLinks, MessageStyle};
use crate::components::{badge, figure, graph, json};
use crate::message_preview::Side;
use crate::page_error::PageResult;
use crate::request_context::{Link, RequestContext};
use crate::web::Web;
use ratchet_core::record::message_formats::{self, Reading};

/// Bytes of a raw payload shown before "Load all".
const MAX_RAW: usize = 100_000;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum View {
    #[default]
    Conversation,
    Raw,
    /// Diff against the previous model call.
    Changes,
    /// Call graph of the trace.
    Graph,
}

impl View {
    const ALL: [Self; 4] = [Self::Conversation, Self::Raw, Self::Changes, Self::Graph];

    /// URL parameter value.
    const fn as_str(self) -> &'static str {
        match self {
            Self::Conversation => "conversation",
            Self::Raw => "raw",
            Self::Changes => "changes",
            Self::Graph => "graph",
        }
    }

    const fn label(self) -> &'static str {
        match self {
            Self::Conversation => "Conversation",
            Self::Raw => "Raw",
            Self::Changes => "Changes",
            Self::Graph => "Graph",
        }
    }

    /// View selected by the URL.
    pub(super) fn asked(ctx: &RequestContext) -> Self {
        let word = ctx.params.get("view").unwrap_or_default();
        Self::ALL.into_iter().find(|view| view.as_str() == word).unwrap_or_default()
    }

    /// Whether the view is available for a subject.
    fn fits(self, subject: &Subject) -> bool {
        match (self, &subject.about) {
            (Self::Changes, RecordDetail::Step(step)) => step.kind == ObservationKind::Generation,
            (Self::Changes, RecordDetail::Trace(..)) => false,
            _ => true,
        }
    }
}

pub(super) async fn content(
    web: &Web,
    ctx: &RequestContext,
    subject: &Subject,
    view: View,
) -> PageResult<Markup> {
    let view = if view.fits(subject) { view } else { View::default() };
    let body = match view {
        View::Conversation => html! {
            (conversation(ctx, subject)) (correction::shown(ctx, subject).await)
        },
        View::Raw => raw(ctx, subject),
        View::Changes => changes::changes(web, ctx, subject).await?,
        View::Graph => {
            let run = TraceRun::load(web, ctx, subject.trace.clone()).await?;
            let drawn = call_graph::draw(&name(&run.trace), &run.tree.steps, &run.tree.rows);
            graph::graph(&drawn, |step| {
                let to = link(ctx, &run.trace.id)
                    .with("observation", run.tree.steps[step].id.to_string());
                to.to_string()
            })
        }
    };
    let actions = actions::bar(web, ctx, subject).await?;
    Ok(html! { (head(ctx, subject, view, &actions)) div.content-body { (body) } })
}

/// Link to the current subject.
pub(super) fn here(ctx: &RequestContext, subject: &Subject) -> Link {
    let to = link(ctx, &subject.trace);
    match subject.step_id() {
        Some(id) => to.with("observation", id),
        None => to,
    }
}

fn head(ctx: &RequestContext, subject: &Subject, view: View, actions: &Markup) -> Markup {
    let here = here(ctx, subject);
    html! {
        header.content-head {
            h2 {
                @match &subject.about {
                    RecordDetail::Trace(trace, _) => { (icon(Icon::Trace)) " " bdi { (name(trace)) } },
                    RecordDetail::Step(step) => { (badge::glyph(step.kind)) " " bdi { (outline::step_name(step)) } " " (badge::level(step.level)) },
                }
            }
            button.quiet type="button" data-copy-link=(here) aria-keyshortcuts="c" title="Copy link to this observation (c)" {
                (icon(Icon::Copy)) span { "Link" }
            }
        }
        (actions)
        nav.tabs aria-label="Views" {
            @for one in View::ALL.into_iter().filter(|view| view.fits(subject)) {
                @let to = if one == View::default() { here.clone() } else { here.clone().with("view", one.as_str()) };
                a href=(to) data-view=(one.as_str()) aria-current=[(one == view).then_some("true")] { (one.label()) }
            }
        }
    }
}

fn conversation(ctx: &RequestContext, subject: &Subject) -> Markup {
    let status = match &subject.about {
        RecordDetail::Step(step) => step.status_message.as_deref().map(|text| (text, step.level)),
        RecordDetail::Trace(..) => None,
    };
    let (input, output) = (&subject.content.input, &subject.content.output);
    html! {
        @if let Some((text, level)) = status {
            p class={ "status " (level.as_str().to_lowercase()) } { bdi { (ratchet_core::record::limit::elide(text, 4_000)) } }
        }
        @if let Some(input) = input { (read(ctx, subject, Side::Input, input)) }
        @if let Some(output) = output { (read(ctx, subject, Side::Output, output)) }
        @if input.is_none() && output.is_none() {
            p.muted { "No input or output recorded." }
        }
    }
}

/// Input or output, rendered.
fn read(ctx: &RequestContext, subject: &Subject, side: Side, payload: &Payload) -> Markup {
    let at = content_links(ctx, subject, side);
    let mut pen = MessageStyle::new(&at);
    let body = match message_formats::read(payload.to_json().as_str()) {
        Reading::Messages(messages) => pen.conversation(&messages),
        Reading::Text(text) => pen.lone_text(&text),
        Reading::Data(text) => cut_json(&text, &at.whole),
    };
    html! { section.side { h3 { (side.label()) (copy_button(side, &at.whole)) } (body) } }
}

/// Copies the whole payload, which a script fetches.
fn copy_button(side: Side, whole: &str) -> Markup {
    html! {
        button.quiet.copy-payload type="button" data-copy-payload=(whole) title={ "Copy " (side.as_str()) } {
            (icon(Icon::Copy)) span.sr { "Copy " (side.as_str()) }
        }
    }
}

fn content_links(ctx: &RequestContext, subject: &Subject, side: Side) -> ContentLinks {
    let trace = subject.trace.to_string();
    match subject.step_id() {
        Some(step) => side.content_links(ctx, &[&trace, "observations", &step]),
        None => side.content_links(ctx, &[&trace]),
    }
}

fn cut_json(text: &str, whole: &str) -> Markup {
    if text.len() <= MAX_RAW {
        return json::json(text);
    }
    let shown = text.get(..text.floor_char_boundary(MAX_RAW)).unwrap_or_default();
    html! {
        pre.payload tabindex="0" { (shown) }
        p.cut { span.muted { (figure::bytes(shown.len())) " of " (figure::bytes(text.len())) ". " }
            a href=(whole) data-load { "Load all" } }
    }
}

/// Raw input, output and metadata.
fn raw(ctx: &RequestContext, subject: &Subject) -> Markup {
    let sides = [(Side::Input, &subject.content.input), (Side::Output, &subject.content.output)];
    html! {
        @for (side, payload) in sides {
            @if let Some(payload) = payload {
                @let at = content_links(ctx, subject, side);
                section.side {
                    h3 { (side.label()) (copy_button(side, &at.whole)) " " a.quiet href=(at.whole) { (figure::bytes(payload.as_str().len())) " as text" } }
                    (cut_json(payload.to_json().as_str(), &at.whole))
                }
            }
        }
        section.side {
            h3 { "Metadata" }
            @if subject.content.metadata.is_empty() { p.muted { "None." } }
            @for (key, value) in &subject.content.metadata {
                p.meta-key { code { (key) } }
                (cut_json(value.as_str(), &here(ctx, subject).to_string()))
            }
        }
    }
}
