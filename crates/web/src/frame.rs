//! What is around every page: the rail with the loop, the bar with the scope, the head.

/// The rail with the loop; a bar at the bottom of a phone.
mod sidebar;
/// The bar with the scope.
mod top_bar;

use maud::{DOCTYPE, Markup, Render, html};

use crate::assets;
use crate::components::icon::{Icon, icon};
use crate::request_context::{Link, RequestContext, Theme};

pub(crate) use top_bar::menu;

/// A page, before the frame is put around it.
#[derive(Debug)]
pub(crate) struct Page {
    /// Which entry of the rail it belongs to.
    pub(crate) section: Section,
    /// What stands above it and how to get there, below the project.
    pub(crate) crumbs: Vec<(String, Link)>,
    pub(crate) title: String,
    /// One line in words, written from the data.
    pub(crate) summary: Markup,
    /// The one thing to do.
    pub(crate) action: Markup,
    pub(crate) body: Markup,
}

impl Page {
    /// A page that says nothing yet but its name.
    pub(crate) fn new(section: Section, title: impl Into<String>) -> Self {
        let nothing = Markup::default;
        let (crumbs, title) = (Vec::new(), title.into());
        Self { section, crumbs, title, summary: nothing(), action: nothing(), body: nothing() }
    }

    pub(crate) fn show(&self, ctx: &RequestContext) -> Markup {
        let title = format!("{} · {}", self.title, ctx.project.name);
        let body = html! {
            a.skip href="#main" { "Skip to content" }
            (sidebar::rail(ctx, self.section))
            (top_bar::bar(ctx))
            main #main tabindex="-1" data-form-token=(ctx.viewer.form_token.expose()) {
                header.head {
                    (self.breadcrumbs(ctx))
                    div.head-line {
                        h1 { (self.title) }
                        p.summary { (self.summary) }
                        div.actions { (self.action) }
                    }
                }
                (self.body)
            }
            (crate::components::toast::container())
        };
        document(&title, ctx.theme, &body)
    }

    /// The way up: the project, and what the page names above itself.
    fn breadcrumbs(&self, ctx: &RequestContext) -> Markup {
        html! {
            @if self.section != Section::Home {
                nav.crumbs aria-label="Breadcrumbs" {
                    a href=(Section::Home.link(ctx)) { bdi { (ctx.project.name) } }
                    @for (name, link) in &self.crumbs { a href=(link) { bdi { (name) } } }
                }
            }
        }
    }
}

/// A page without a project: errors, signing in.
pub fn bare(title: &str, body: &Markup) -> Markup {
    let body = html! {
        main.bare #main {
            p.brand { (icon(Icon::Ratchet)) "Ratchet" }
            h1 { (title) }
            (body)
        }
    };
    document(title, None, &body)
}

/// A page that is read without signing in, by a public link.
pub(crate) fn shared(title: &str, body: &Markup) -> Markup {
    let body = html! {
        main.alone.shared #main {
            p.brand { (icon(Icon::Ratchet)) "Ratchet" }
            h1 { bdi { (title) } }
            (body)
        }
    };
    document(title, None, &body)
}

/// The page that shows every component.
pub(crate) fn gallery(body: &Markup) -> Markup {
    let body = html! { main.alone #main { h1 { "Gallery" } (body) } };
    document("Gallery", None, &body)
}

fn document(title: &str, theme: Option<Theme>, body: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" data-theme=[theme.map(Theme::as_str)] {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) " · Ratchet" }
                link rel="icon" href=(assets::address("icon.svg")) type="image/svg+xml";
                link rel="stylesheet" href=(assets::address("ratchet.css"));
                script type="module" src=(assets::address("ratchet.js")) {}
            }
            body { (body) }
        }
    }
}

/// An entry of the rail. The stages of the loop are its headings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    Home,
    Traces,
    Observations,
    Sessions,
    Users,
    Scores,
    Calibration,
    Quality,
    Queues,
    Matrix,
    Metrics,
    Evaluators,
    Proposals,
    Datasets,
    Targets,
    Experiments,
    Gates,
    Promotions,
    Agents,
    Prompts,
    Chats,
    Dashboards,
    Settings,
}

impl Section {
    /// The rail from top to bottom: each stage of the loop with its pages.
    const RAIL: [(Option<&'static str>, &'static [Self]); 9] = [
        (None, &[Self::Home]),
        (Some("Record"), &[Self::Traces, Self::Observations, Self::Sessions, Self::Users]),
        (Some("Score"), &[Self::Quality, Self::Scores, Self::Calibration]),
        (Some("Review"), &[Self::Queues, Self::Matrix, Self::Metrics, Self::Evaluators]),
        (Some("Improve"), &[Self::Proposals]),
        (Some("Gate"), &[Self::Datasets, Self::Targets, Self::Experiments, Self::Gates]),
        (Some("Promote"), &[Self::Promotions, Self::Agents, Self::Prompts]),
        (Some("Run"), &[Self::Chats]),
        (Some("Analyze"), &[Self::Dashboards, Self::Settings]),
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Home => "Home",
            Self::Traces => "Traces",
            Self::Observations => "Observations",
            Self::Sessions => "Sessions",
            Self::Users => "Users",
            Self::Scores => "Scores",
            Self::Calibration => "Calibration",
            Self::Quality => "Quality",
            Self::Queues => "Queues",
            Self::Matrix => "Matrix",
            Self::Metrics => "Metrics",
            Self::Evaluators => "Evaluators",
            Self::Proposals => "Proposals",
            Self::Datasets => "Datasets",
            Self::Targets => "Targets",
            Self::Experiments => "Experiments",
            Self::Gates => "Gates",
            Self::Promotions => "Promotions",
            Self::Agents => "Agents",
            Self::Prompts => "Prompts",
            Self::Chats => "Chat",
            Self::Dashboards => "Dashboards",
            Self::Settings => "Settings",
        }
    }

    /// Its place in the address; none for the start of a project.
    pub const fn segment(self) -> Option<&'static str> {
        match self {
            Self::Home => None,
            Self::Traces => Some("traces"),
            Self::Observations => Some("observations"),
            Self::Sessions => Some("sessions"),
            Self::Users => Some("users"),
            Self::Scores => Some("scores"),
            Self::Calibration => Some("calibration"),
            Self::Quality => Some("reports"),
            Self::Queues => Some("queues"),
            Self::Matrix => Some("matrix"),
            Self::Metrics => Some("metrics"),
            Self::Evaluators => Some("evaluators"),
            Self::Proposals => Some("proposals"),
            Self::Datasets => Some("datasets"),
            Self::Targets => Some("targets"),
            Self::Experiments => Some("experiments"),
            Self::Gates => Some("gates"),
            Self::Promotions => Some("promotions"),
            Self::Agents => Some("agents"),
            Self::Prompts => Some("prompts"),
            Self::Chats => Some("chats"),
            Self::Dashboards => Some("dashboards"),
            Self::Settings => Some("settings"),
        }
    }

    /// The entry of `/project/{project}/{segment}/…`; home if there is none.
    pub(crate) fn of_path(path: &str) -> Self {
        let segment = path.split('/').nth(3);
        let entries = Self::RAIL.iter().flat_map(|(_, entries)| entries.iter().copied());
        entries.into_iter().find(|entry| entry.segment() == segment).unwrap_or(Self::Home)
    }

    const fn icon(self) -> Icon {
        match self {
            Self::Home => Icon::Home,
            Self::Traces => Icon::Trace,
            Self::Observations => Icon::Observation,
            Self::Sessions => Icon::Session,
            Self::Users => Icon::User,
            Self::Scores => Icon::Score,
            Self::Calibration => Icon::Calibration,
            Self::Quality => Icon::Evaluator,
            Self::Queues => Icon::Queue,
            Self::Matrix => Icon::Evaluator,
            Self::Metrics => Icon::Score,
            Self::Evaluators => Icon::Observation,
            Self::Proposals => Icon::Prompt,
            Self::Datasets => Icon::Dataset,
            Self::Targets => Icon::Agent,
            Self::Experiments => Icon::Observation,
            Self::Gates => Icon::Calibration,
            Self::Promotions => Icon::Ratchet,
            Self::Agents => Icon::Agent,
            Self::Prompts => Icon::Prompt,
            Self::Chats => Icon::Chat,
            Self::Dashboards => Icon::Dashboard,
            Self::Settings => Icon::Settings,
        }
    }

    pub fn link(self, ctx: &RequestContext) -> Link {
        ctx.to(self.segment().as_slice())
    }
}

impl Render for Link {
    fn render_to(&self, buffer: &mut String) {
        self.to_string().render_to(buffer);
    }
}
