use std::collections::{BTreeMap, BTreeSet};

use axum::Router;
use axum::extract::{Path, State};
use axum::response::Redirect;
use axum::routing::{get, post};
use maud::{Markup, html};
use ratchet_core::counted::counted;
use ratchet_core::id::SessionId;
use ratchet_core::quality::report::WeekReport;
use ratchet_core::quality::suggestion::{Progress, Severity, Suggestion};
use ratchet_stages::source::Source;
use ratchet_stages::source::session_title::session_titles;
use ratchet_store::catalog::StoredSuggestion;

use super::{Tab, sessions, tabs};
use crate::components::badge::{self, Decider};
use crate::components::{copy, empty, figure, toast};
use crate::form::PageForm;
use crate::frame::{Page, Section};
use crate::page_error::{PageError, PageResult};
use crate::pages::calibration::refused;
use crate::request_context::{Link, RequestContext};
use crate::web::Web;

/// Sessions whose first request is looked up, of the newest suggestions.
const MAX_TITLES: usize = 100;

pub(super) fn routes() -> Router<Web> {
    Router::new()
        .route("/project/{project}/reports/suggestions", get(show))
        .route("/project/{project}/reports/suggestions/{id}", post(decide))
}

async fn show(State(web): State<Web>, ctx: RequestContext) -> PageResult<Markup> {
    let tracked = web.store.catalog.suggestions(ctx.project_id()).await?;
    let titles = titles(&web, &ctx, &tracked).await?;
    let count = |progress: Progress| tracked.iter().filter(|k| k.progress == progress).count();
    let mut page = Page::new(Section::Quality, "Suggestions");
    page.crumbs = vec![("Quality".to_owned(), Section::Quality.link(&ctx))];
    page.summary = html! {
        (counted(tracked.len(), "suggestion")) ": " (count(Progress::Open)) " open, "
        (count(Progress::Accepted)) " accepted, " (count(Progress::Done)) " done, "
        (count(Progress::Dismissed)) " dismissed."
    };
    page.action = tabs(&ctx, Tab::Suggestions);
    let open_first = [Progress::Open, Progress::Accepted, Progress::Done, Progress::Dismissed];
    page.body = html! {
        @if let Some(done) = ctx.params.get("done").and_then(done_words) { (toast::toast(done)) }
        @if tracked.is_empty() { (nothing(&ctx)) }
        @for progress in open_first {
            @if count(progress) > 0 {
                section.report-part {
                    h2 { (title(progress)) " " span.muted { (count(progress)) } }
                    @for kept in tracked.iter().filter(|kept| kept.progress == progress) {
                        (card(&kept.suggestion, Some(kept), ShownSessions::Titles(&titles), &ctx))
                    }
                }
            }
        }
    };
    Ok(page.show(&ctx))
}

/// What names the sessions of a suggestion.
#[derive(Clone, Copy)]
pub(super) enum ShownSessions<'a> {
    Report(&'a WeekReport),
    /// First requests by session.
    Titles(&'a BTreeMap<SessionId, String>),
}

/// The first requests of the sessions that suggestions show; their ids will do for old ones.
async fn titles(
    web: &Web,
    ctx: &RequestContext,
    tracked: &[StoredSuggestion],
) -> PageResult<BTreeMap<SessionId, String>> {
    let ids = tracked.iter().flat_map(|kept| &kept.suggestion.sessions);
    let ids: BTreeSet<SessionId> =
        ids.filter_map(|id| SessionId::parse(id).ok()).take(MAX_TITLES).collect();
    let source = Source::Local(web.store.telemetry.clone(), ctx.project_id());
    let found = session_titles(&source, ids.into_iter().collect()).await;
    found.map_err(|why| refused(why.into()))
}

const fn title(progress: Progress) -> &'static str {
    match progress {
        Progress::Open => "Open",
        Progress::Accepted => "Accepted",
        Progress::Done => "Done",
        Progress::Dismissed => "Dismissed",
    }
}

/// What the page that led here has done.
pub(super) fn done_words(word: &str) -> Option<&'static str> {
    match Progress::parse(word)? {
        Progress::Open => Some("Suggestion reopened"),
        Progress::Accepted => Some("Suggestion accepted"),
        Progress::Done => Some("Suggestion marked as done"),
        Progress::Dismissed => Some("Suggestion dismissed"),
    }
}

/// What is tracked of a suggestion: the newest row of its advice.
pub(super) fn newest<'a>(
    tracked: &'a [StoredSuggestion],
    suggestion: &Suggestion,
) -> Option<&'a StoredSuggestion> {
    tracked.iter().find(|kept| kept.suggestion.key == suggestion.key)
}

/// One suggestion: change, reason and decision.
pub(super) fn card(
    suggestion: &Suggestion,
    kept: Option<&StoredSuggestion>,
    evidence: ShownSessions<'_>,
    ctx: &RequestContext,
) -> Markup {
    html! {
        article.suggestion {
            h3 { bdi { (suggestion.title) } }
            p.muted {
                (severity(suggestion.severity)) " " (badge::tag(&suggestion.dimension)) " "
                bdi { (ratchet_core::record::limit::elide(&suggestion.reason, 600)) }
            }
            p { strong { (suggestion.edit.words()) } ":" }
            (copy::snippet(&suggestion.text))
            @if !suggestion.sessions.is_empty() {
                details {
                    summary { (counted(suggestion.sessions.len(), "session")) " as evidence" }
                    @match evidence {
                        ShownSessions::Report(report) => {
                            (sessions::list(&suggestion.sessions, report, ctx))
                        },
                        ShownSessions::Titles(titles) => {
                            (sessions::titled(&suggestion.sessions, titles, ctx))
                        },
                    }
                }
            }
            @if let Some(kept) = kept { (progress(kept, ctx)) }
        }
    }
}

fn severity(severity: Severity) -> Markup {
    match severity {
        Severity::High => html! { span.badge.bad { "high" } },
        Severity::Medium => html! { span.badge.warn { "medium" } },
    }
}

/// How far it has come, who decided, and what can be decided now.
fn progress(kept: &StoredSuggestion, ctx: &RequestContext) -> Markup {
    let back = ctx.here().without("done");
    let action = Link::to_project(&ctx.project.id, &["reports", "suggestions", &kept.id]);
    html! {
        div.decide {
            p {
                @match kept.steps.last() {
                    None => { (badge::tag("open")) " since the week of " (kept.first_week) },
                    Some(step) => {
                        (badge::decided(Decider::Human, step.progress.as_str()))
                        " by " bdi { (step.actor) } " " (figure::ago(step.at, &ctx.time))
                    },
                }
            }
            @if ctx.viewer.can_change() {
                form.inline method="post" action=(action) {
                    (ctx.viewer.form_token.field())
                    input type="hidden" name="back" value=(back.path());
                    @for next in kept.progress.next() {
                        button.button.primary[*next == Progress::Accepted] type="submit" name="to"
                            value=(next.as_str()) {
                            (verb(*next)) span.sr { " " (kept.suggestion.title) }
                        }
                    }
                }
            }
        }
    }
}

const fn verb(progress: Progress) -> &'static str {
    match progress {
        Progress::Open => "Reopen",
        Progress::Accepted => "Accept",
        Progress::Done => "Mark as done",
        Progress::Dismissed => "Dismiss",
    }
}

async fn decide(
    State(web): State<Web>,
    Path((_, id)): Path<(String, String)>,
    PageForm { ctx, form }: PageForm,
) -> PageResult<Redirect> {
    let to = form.get("to").and_then(Progress::parse);
    let to = to.ok_or_else(|| PageError::Bad("to: must be a suggestion status".to_owned()))?;
    let catalog = ctx.viewer.catalog(&web);
    catalog.decide_suggestion(ctx.project_id(), id, to, ctx.now).await?;
    let reports = Link::to_project(&ctx.project.id, &["reports"]);
    // Only back to a page of the reports: an address from outside leads nowhere else.
    let back = form.get("back").filter(|back| {
        back.strip_prefix(reports.path())
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    });
    let back = back.map_or_else(|| Tab::Suggestions.link(&ctx), Link::new);
    Ok(Redirect::to(&back.with("done", to.as_str()).to_string()))
}

fn nothing(ctx: &RequestContext) -> Markup {
    let how = html! {
        p { "When the mean of a dimension is below 0.7, or sessions below 0.7 share an issue, the weekly "
            "report suggests changes to CLAUDE.md, a skill or a prompt. Accept what you want to try, "
            "and mark it as done once it is in place; the following weeks show whether it helped." }
        p { a.button href=(Tab::Schedules.link(ctx)) { "Schedules" } }
        (copy::snippet(&ctx.command("week")))
    };
    empty::empty("No suggestions yet", &how)
}
