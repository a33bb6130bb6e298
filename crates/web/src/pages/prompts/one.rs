use axum::extract::{Path, State};
use maud::{Markup, html};
use ratchet_core::catalog::prompt::{PRODUCTION, Pick, PromptBody};
use ratchet_store::catalog::{Prompt, PromptReferences};
use ratchet_store::query::PageNumber;

use super::{changes, comments, compare, deletion, editor, labels, metrics, uses};
use crate::components::{diff, figure, json, toast};
use crate::frame::{Page, Section};
use crate::page_error::{PageError, PageResult};
use crate::pages::ab_tests;
use crate::pages::folders;
use crate::request_context::RequestContext;
use crate::web::Web;

/// Versions in the list beside the text; older ones are there by number.
const VERSIONS: u64 = 100;

/// The versions that the page shows.
struct Versions {
    /// Newest first.
    all: Vec<Prompt>,
    chosen: Prompt,
    /// Production, if the chosen one is not.
    live: Option<Prompt>,
    /// The version that the chosen one is compared with.
    against: Option<Prompt>,
}

impl Versions {
    async fn read(web: &Web, ctx: &RequestContext, name: &str) -> PageResult<Self> {
        let (project, page) = (ctx.project_id(), PageNumber { page: 1, limit: VERSIONS });
        let all = web.store.catalog.prompt_versions(project, name.to_owned(), page).await?.rows;
        let number = |param: &str| ctx.params.get(param).and_then(|text| text.parse::<u32>().ok());
        let find = async |pick: Pick| -> PageResult<Option<Prompt>> {
            let (project, raw) = (ctx.project_id(), PromptReferences::Raw);
            let found = web.store.catalog.prompt(project, name.to_owned(), pick, raw).await?;
            Ok(found.map(|(prompt, _)| prompt))
        };
        let live = find(Pick::Label(PRODUCTION.to_owned())).await?;
        let chosen = match number("version") {
            Some(number) => find(Pick::Version(number)).await?,
            None => live.clone().or_else(|| all.first().cloned()),
        };
        let chosen = chosen.ok_or_else(|| PageError::not_there("prompt version"))?;
        let live = live.filter(|live| live.version != chosen.version);
        let against = match (number("against"), &live, chosen.version.checked_sub(1)) {
            (Some(number), _, _) => find(Pick::Version(number)).await?,
            (None, Some(live), _) => Some(live.clone()),
            (None, None, Some(number)) => find(Pick::Version(number)).await?,
            (None, None, None) => None,
        };
        Ok(Self { all, chosen, live, against })
    }
}

pub(super) async fn show(
    State(web): State<Web>,
    ctx: RequestContext,
    Path((_, name)): Path<(String, String)>,
) -> PageResult<Markup> {
    let Versions { all: versions, chosen, live, against } =
        Versions::read(&web, &ctx, &name).await?;
    let chosen = &chosen;
    let uses = uses::uses(&web, &ctx, chosen).await?;
    let metrics = metrics::metrics(&web, &ctx, chosen).await?;
    let comments = comments::section(&web, &ctx, chosen).await?;
    let changes = changes::changes(&web, &ctx, &name).await?;
    let ab_tests = ab_tests::of_prompt(&web, &ctx, &name).await?;
    let changed = compare::changed(&versions, (against.as_ref(), chosen), &ctx).await;
    let lock = web.store.catalog.production_lock(ctx.project_id(), chosen.name.clone()).await?;
    let promotion = match &lock {
        None => promotion(chosen, live.as_ref(), &ctx).await,
        Some(agent) => locked(agent, &ctx),
    };
    let mut page = Page::new(Section::Prompts, name);
    page.crumbs = folders::crumbs((Section::Prompts, "Prompts"), &chosen.name, &ctx);
    page.summary = html! {
        (chosen.body.kind().as_str()) ", version " (chosen.version) " of "
        (versions.first().map_or(0, |newest| newest.version))
    };
    if ctx.viewer.can_change() {
        page.action = deletion::menu(&ctx, chosen);
    }
    page.body = html! {
        @match ctx.params.get("done") {
            Some("label") => { (toast::toast(&labelled(chosen.version, &ctx))) },
            Some("unlabelled") => { (toast::toast("Label removed")) },
            Some("tags") => { (toast::toast("Tags saved")) },
            Some("deleted") => { (toast::toast("Version deleted")) },
            Some("commented") => { (toast::toast("Comment added")) },
            Some("comment-deleted") => { (toast::toast("Comment deleted")) },
            Some("made") => { (toast::toast("Saved as a new version without labels")) },
            _ => {},
        }
        div.prompt {
            (history(&versions, chosen, &ctx))
            div {
                (promotion)
                (labels::removal(chosen, &ctx))
                (head(chosen, (live.as_ref(), lock.is_some()), &ctx))
                (labels::tags(chosen, &ctx))
                (body(&chosen.body))
                (changed)
                h2 #metrics { "Metrics per version" }
                (metrics)
                (ab_tests)
                h2 { "Config" }
                (json::json(chosen.config.as_str()))
                h2 { "Used by" }
                (uses::calls(&uses, &ctx))
                (comments)
                (changes)
            }
        }
    };
    Ok(page.show(&ctx))
}

/// The confirmation after a label was set: `v2 is now production`.
fn labelled(version: u32, ctx: &RequestContext) -> String {
    let label = ctx.params.get("label").unwrap_or("labelled");
    format!("v{version} is now {}", ratchet_core::record::limit::elide(label, 60))
}

fn history(versions: &[Prompt], chosen: &Prompt, ctx: &RequestContext) -> Markup {
    let here = ctx.here().without("against").without("done").without("confirm");
    html! {
        nav.versions aria-label="Versions" {
            ol {
                @for prompt in versions {
                    li {
                        a href=(here.clone().with("version", prompt.version.to_string()))
                          aria-current=[(prompt.version == chosen.version).then_some("true")] {
                            strong { "v" (prompt.version) } " " (labels::labels(&prompt.labels))
                            span.muted {
                                (prompt.commit_message.as_deref().unwrap_or("no message"))
                            }
                            small.muted { bdi { (prompt.created_by) } ", " (figure::ago(prompt.created_at, &ctx.time)) }
                        }
                    }
                }
            }
        }
    }
}

/// Why the label production does not move here.
fn locked(agent: &str, ctx: &RequestContext) -> Markup {
    html! {
        p.muted {
            "The label production of this prompt moves only by promotion or rollback of agent "
            a href=(ctx.to(&["promotions", "agents", agent])) { bdi { (agent) } } "; "
            a href=(ctx.to(&["promotions"])) { "create a promotion" } "."
        }
    }
}

fn head(
    chosen: &Prompt,
    (live, is_locked): (Option<&Prompt>, bool),
    ctx: &RequestContext,
) -> Markup {
    let is_live = chosen.labels.iter().any(|label| label == PRODUCTION);
    html! {
        div.prompt-head {
            h2 { "Version " (chosen.version) }
            (labels::labels(&chosen.labels))
            @if ctx.viewer.can_change() {
                a.button href=(ctx.to(&["playground"]).with("prompt", chosen.name.clone()).with("version", chosen.version.to_string())) { "Open in playground" }
                a.button href=(editor::link(ctx, Some(chosen))) { "New version" }
                a.button href=(editor::copy_link(ctx, chosen)) { "Duplicate" }
                @if !is_live && !is_locked {
                    a.button.primary href=(ctx.here().without("done").with("version", chosen.version.to_string()).with("confirm", PRODUCTION)) {
                        (promote_words(chosen, live))
                    }
                }
                (labels::form(chosen, is_locked, ctx))
            }
        }
    }
}

/// An older version than production is a rollback.
fn promote_words(chosen: &Prompt, live: Option<&Prompt>) -> &'static str {
    let is_older = live.is_some_and(|live| chosen.version < live.version);
    if is_older { "Roll back to this version" } else { "Set as production" }
}

/// The question before a version becomes production: what changes for agents.
async fn promotion(chosen: &Prompt, live: Option<&Prompt>, ctx: &RequestContext) -> Markup {
    let is_asked = ctx.params.get("confirm") == Some(PRODUCTION) && ctx.viewer.can_change();
    let is_live = chosen.labels.iter().any(|label| label == PRODUCTION);
    if !is_asked || is_live {
        return Markup::default();
    }
    let is_rollback = live.is_some_and(|live| chosen.version < live.version);
    let changes = match live {
        Some(live) => diff::beside(written(&live.body), written(&chosen.body)).await,
        None => html! { p.muted { "No version is production yet." } },
    };
    html! {
        section.promotion data-question="promotion" {
            h2 {
                @if is_rollback { "Roll back production to version " (chosen.version) "?" }
                @else { "Set version " (chosen.version) " as production?" }
            }
            p { "Agents that fetch the label production get it at once. Changes"
                @if let Some(live) = live { " since version " (live.version) } ":" }
            (changes)
            form.inline method="post" data-inline-errors action=(ctx.to(&["prompts", &chosen.name, "label"])) {
                (ctx.viewer.form_token.field())
                input type="hidden" name="version" value=(chosen.version);
                input type="hidden" name="label" value=(PRODUCTION);
                input type="hidden" name="confirmed" value="yes";
                button.button.primary type="submit" { @if is_rollback { "Roll back" } @else { "Set as production" } } " "
                a.button href=(ctx.here().without("confirm")) data-keep { "Cancel" }
            }
        }
    }
}

fn body(body: &PromptBody) -> Markup {
    html! {
        @match body {
            PromptBody::Text(text) => { pre.payload tabindex="0" { (text) } },
            PromptBody::Chat(_) => { (json::json(&body.to_json().to_string())) },
        }
    }
}

/// A body as one text, so that two of them can be compared word by word.
pub(super) fn written(body: &PromptBody) -> String {
    match body {
        PromptBody::Text(text) => text.clone(),
        PromptBody::Chat(_) => {
            serde_json::to_string_pretty(&body.to_json()).unwrap_or_else(|why| why.to_string())
        }
    }
}
