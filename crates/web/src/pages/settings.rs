//! What a project has settled, and who changed it: one page for each topic, a list of them beside.

/// Name, retention, the end of the project.
mod general;
/// Jobs that were given up.
mod jobs;
mod members;
mod keys;
mod models;
/// A price as people type it.
mod tiers;
mod connections;
mod score_configs;
/// Redaction rules and CORS origins.
mod redaction;
/// Notification receivers.
mod notifications;
mod audit;
/// All projects of the server.
mod projects;

use axum::Router;
use axum::http::StatusCode;
use axum::http::header::CACHE_CONTROL;
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};

use crate::components::toast;
use crate::frame::{Page, Section};
use crate::request_context::{Link, RequestContext};
use crate::web::Web;

pub(super) fn routes() -> Router<Web> {
    Router::new()
        .merge(general::routes())
        .merge(jobs::routes())
        .merge(members::routes())
        .merge(keys::routes())
        .merge(models::routes())
        .merge(connections::routes())
        .merge(score_configs::routes())
        .merge(redaction::routes())
        .merge(notifications::routes())
        .merge(audit::routes())
        .merge(projects::routes())
}

/// A page of the settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tab {
    General,
    Members,
    Keys,
    Models,
    Connections,
    ScoreConfigs,
    Redaction,
    Notifications,
    Audit,
    Projects,
}

impl Tab {
    const ALL: [Self; 10] = [
        Self::General,
        Self::Members,
        Self::Keys,
        Self::Models,
        Self::Connections,
        Self::ScoreConfigs,
        Self::Redaction,
        Self::Notifications,
        Self::Audit,
        Self::Projects,
    ];

    const fn name(self) -> &'static str {
        match self {
            Self::General => "General",
            Self::Members => "Members",
            Self::Keys => "API keys",
            Self::Models => "Models and prices",
            Self::Connections => "LLM connections",
            Self::ScoreConfigs => "Score configs",
            Self::Redaction => "Redaction and origins",
            Self::Notifications => "Notifications",
            Self::Audit => "Audit log",
            Self::Projects => "Projects",
        }
    }

    const fn segment(self) -> Option<&'static str> {
        match self {
            Self::General => None,
            Self::Members => Some("members"),
            Self::Keys => Some("keys"),
            Self::Models => Some("models"),
            Self::Connections => Some("connections"),
            Self::ScoreConfigs => Some("score-configs"),
            Self::Redaction => Some("redaction"),
            Self::Notifications => Some("notifications"),
            Self::Audit => Some("audit"),
            Self::Projects => Some("projects"),
        }
    }

    fn link(self, ctx: &RequestContext) -> Link {
        let segments: Vec<&str> = std::iter::once("settings").chain(self.segment()).collect();
        ctx.to(&segments)
    }

    /// The way to something it does.
    fn action(self, ctx: &RequestContext, what: &[&str]) -> Link {
        let segments = std::iter::once("settings").chain(self.segment());
        let segments: Vec<&str> = segments.chain(what.iter().copied()).collect();
        Link::to_project(&ctx.project.id, &segments)
    }

    /// The way to the file of what it shows.
    fn file(self, ctx: &RequestContext) -> Link {
        let name = format!("{}.csv", self.segment().unwrap_or("settings"));
        let file = Link::to_project(&ctx.project.id, &["settings", &name]);
        let shown = ctx.here().without("cursor").without("done");
        shown.pairs().fold(file, |link, (name, value)| link.with(name, value))
    }

    /// Whether a visitor may look at it.
    fn is_for(self, ctx: &RequestContext) -> bool {
        match self {
            Self::General | Self::Models | Self::Connections | Self::ScoreConfigs => true,
            Self::Notifications => ctx.viewer.can_change(),
            Self::Members | Self::Keys | Self::Redaction | Self::Audit => ctx.viewer.can_own(),
            Self::Projects => ctx.viewer.owns_server(),
        }
    }
}

/// Result of a form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Done {
    Saved,
    Added,
    Removed,
    Revoked,
    Deleted,
    Sent,
}

impl Done {
    const ALL: [Self; 6] =
        [Self::Saved, Self::Added, Self::Removed, Self::Revoked, Self::Deleted, Self::Sent];

    const fn word(self) -> &'static str {
        match self {
            Self::Saved => "saved",
            Self::Added => "added",
            Self::Removed => "removed",
            Self::Revoked => "revoked",
            Self::Deleted => "deleted",
            Self::Sent => "sent",
        }
    }

    const fn words(self) -> &'static str {
        match self {
            Self::Saved => "Saved",
            Self::Added => "Added",
            Self::Removed => "Removed",
            Self::Revoked => "Key revoked",
            Self::Deleted => "Deleted",
            Self::Sent => "Queued; reload the page to see the result",
        }
    }

    fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|done| done.word() == word)
    }

    /// Redirects to a settings page with a toast.
    fn back(self, ctx: &RequestContext, tab: Tab) -> Response {
        Redirect::to(&tab.link(ctx).with("done", self.word()).to_string()).into_response()
    }
}

/// A page of the settings, with the list of them beside.
fn page(ctx: &RequestContext, tab: Tab, summary: Markup, body: &Markup) -> Markup {
    let done = ctx.params.get("done").and_then(Done::parse);
    let mut page = Page::new(Section::Settings, tab.name());
    page.crumbs = vec![("Settings".to_owned(), Tab::General.link(ctx))];
    page.summary = summary;
    page.body = html! {
        @if let Some(done) = done { (toast::toast(done.words())) }
        div.settled {
            nav.settled-tabs aria-label="Settings" {
                @for other in Tab::ALL.into_iter().filter(|tab| tab.is_for(ctx)) {
                    a href=(other.link(ctx)) aria-current=[(other == tab).then_some("page")] {
                        (other.name())
                    }
                }
            }
            div.settled-body { (body) }
        }
    };
    page.show(ctx)
}

/// A page that shows a form again, with what is wrong with it.
fn wrong(shown: Markup) -> Response {
    (StatusCode::UNPROCESSABLE_ENTITY, shown).into_response()
}

/// A page that shows a secret this once: nothing may keep it.
fn once(shown: Markup) -> Response {
    ([(CACHE_CONTROL, "no-store")], shown).into_response()
}

/// Confirmation page of a permanent deletion.
fn question(ctx: &RequestContext, tab: Tab, ask: &ConfirmDialog<'_>) -> Markup {
    let body = html! {
        section.settings data-question=(ask.title) {
            h2 { (ask.title) }
            p { (ask.lost) }
            form method="post" action=(ask.action) {
                (ctx.viewer.form_token.field())
                input type="hidden" name="sure" value="yes";
                @for (name, value) in ask.fields { input type="hidden" name=(name) value=(value); }
                button.button.danger type="submit" { (ask.verb) } " "
                a.button href=(tab.link(ctx)) data-keep { "Cancel" }
            }
        }
    };
    page(ctx, tab, Markup::default(), &body)
}

struct ConfirmDialog<'a> {
    title: String,
    lost: Markup,
    action: Link,
    verb: &'static str,
    fields: &'a [(&'a str, &'a str)],
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_done_survives_the_address() {
        for done in Done::ALL {
            assert_eq!(Done::parse(done.word()), Some(done));
        }
        assert_eq!(Done::parse("<script>"), None);
    }
}
