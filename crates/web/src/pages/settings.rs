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
/// What must not be kept, and whose pages may call.
mod redaction;
/// Who is told of news.
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
    Redaction,
    Notifications,
    Audit,
    Projects,
}

impl Tab {
    const ALL: [Self; 9] = [
        Self::General,
        Self::Members,
        Self::Keys,
        Self::Models,
        Self::Connections,
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
            Self::Redaction => Some("redaction"),
            Self::Notifications => Some("notifications"),
            Self::Audit => Some("audit"),
            Self::Projects => Some("projects"),
        }
    }

    fn link(self, place: &RequestContext) -> Link {
        let segments: Vec<&str> = std::iter::once("settings").chain(self.segment()).collect();
        place.to(&segments)
    }

    /// The way to something it does.
    fn action(self, place: &RequestContext, what: &[&str]) -> Link {
        let segments = std::iter::once("settings").chain(self.segment());
        let segments: Vec<&str> = segments.chain(what.iter().copied()).collect();
        Link::to_project(&place.project.id, &segments)
    }

    /// The way to the file of what it shows.
    fn file(self, place: &RequestContext) -> Link {
        let name = format!("{}.csv", self.segment().unwrap_or("settings"));
        let file = Link::to_project(&place.project.id, &["settings", &name]);
        let shown = place.here().without("cursor").without("done");
        shown.pairs().fold(file, |link, (name, value)| link.with(name, value))
    }

    /// Whether a visitor may look at it.
    fn is_for(self, place: &RequestContext) -> bool {
        match self {
            Self::General | Self::Models | Self::Connections => true,
            Self::Notifications => place.visitor.can_change(),
            Self::Members | Self::Keys | Self::Redaction | Self::Audit => place.visitor.can_own(),
            Self::Projects => place.visitor.owns_server(),
        }
    }
}

/// What was done just now.
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

    /// Back to a page of the settings, which tells what was done.
    fn back(self, place: &RequestContext, tab: Tab) -> Response {
        Redirect::to(&tab.link(place).with("done", self.word()).to_string()).into_response()
    }
}

/// A page of the settings, with the list of them beside.
fn page(place: &RequestContext, tab: Tab, summary: Markup, body: &Markup) -> Markup {
    let done = place.params.get("done").and_then(Done::parse);
    let mut page = Page::new(Section::Settings, tab.name());
    page.crumbs = vec![("Settings".to_owned(), Tab::General.link(place))];
    page.summary = summary;
    page.body = html! {
        @if let Some(done) = done { (toast::toast(done.words())) }
        div.settled {
            nav.settled-tabs aria-label="Settings" {
                @for other in Tab::ALL.into_iter().filter(|tab| tab.is_for(place)) {
                    a href=(other.link(place)) aria-current=[(other == tab).then_some("page")] {
                        (other.name())
                    }
                }
            }
            div.settled-body { (body) }
        }
    };
    page.show(place)
}

/// A page that shows a form again, with what is wrong with it.
fn wrong(shown: Markup) -> Response {
    (StatusCode::UNPROCESSABLE_ENTITY, shown).into_response()
}

/// A page that shows a secret this once: nothing may keep it.
fn once(shown: Markup) -> Response {
    ([(CACHE_CONTROL, "no-store")], shown).into_response()
}

/// A question before something goes for good: its own page, with what is lost in words.
fn question(place: &RequestContext, tab: Tab, ask: &Ask<'_>) -> Markup {
    let body = html! {
        section.settings data-question=(ask.title) {
            h2 { (ask.title) }
            p { (ask.lost) }
            form method="post" action=(ask.action) {
                (place.visitor.form_token.field())
                input type="hidden" name="sure" value="yes";
                @for (name, value) in ask.fields { input type="hidden" name=(name) value=(value); }
                button.button.danger type="submit" { (ask.verb) } " "
                a.button href=(tab.link(place)) data-keep { "Cancel" }
            }
        }
    };
    page(place, tab, Markup::default(), &body)
}

struct Ask<'a> {
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
