use maud::{Markup, html};
use ratchet_core::environment::Environment;

use super::Section;
use crate::components::icon::{Icon, icon};
use crate::request_context::{Link, RequestContext};
use crate::scope::Span;

/// Project, environment and time; what finds, helps and changes how it looks.
pub(super) fn bar(ctx: &RequestContext) -> Markup {
    html! {
        header.bar {
            (menu("Project", &ctx.project.name, &html! {
                @for project in &ctx.projects {
                    a href=(Link::to_project(&project.id, &[]).in_scope(&ctx.scope))
                      aria-current=[(project.id == ctx.project.id).then_some("true")] {
                        (project.name)
                    }
                }
                @if ctx.viewer.owns_server() {
                    a href=(ctx.to(&["settings", "projects"])) { "All projects / New project" }
                }
            }))
            (environment_menu(ctx))
            (agent_menu(ctx))
            (span_menu(ctx))
            span.zone.muted.on-desks data-zone=(ctx.time.zone_name()) title="Time zone of this browser; UTC on hover over a time. Days in charts are those of UTC." {
                (ctx.time.zone_name())
            }
            div.bar-end {
                button.find type="button" data-palette aria-keyshortcuts="Control+K" {
                    (icon(Icon::Find)) span { "Search" } kbd { "Ctrl K" }
                }
                button.quiet.on-desks type="button" data-help aria-keyshortcuts="?" title="Keyboard shortcuts (?)" {
                    (icon(Icon::Help)) span.sr { "Keyboard shortcuts" }
                }
                button.quiet.on-desks type="button" data-theme-switch title="Toggle theme" {
                    (icon(Icon::Theme)) span.sr { "Toggle theme" }
                }
                (who(ctx))
            }
        }
    }
}

/// Who is looking, and what concerns them alone.
fn who(ctx: &RequestContext) -> Markup {
    let name = ctx.viewer.name();
    let shown = html! {
        span.on-desks { (name) }
        span.on-phones { (icon(Icon::User)) }
    };
    menu_showing(
        ("Account", name),
        &shown,
        &html! {
                        button.on-phones type="button" data-theme-switch { "Toggle theme" }
                        a href=(Section::Settings.link(ctx)) { "Settings" }
                        @if ctx.viewer.person().is_some() {
                            a href="/account" { "Account settings" }
                            form method="post" action="/sign-out" {
                                (ctx.viewer.form_token.field())
                                button type="submit" { "Sign out" }
                            }
                        }
                        a href="/api/docs" { "API" }
                        a href="/ui/gallery" { "Gallery" }
        },
    )
}

fn environment_menu(ctx: &RequestContext) -> Markup {
    let chosen = ctx.scope.environment.as_deref();
    let here = ctx.here().without("cursor");
    let (all, short) = ("all environments", "all");
    let shown = html! {
        @match chosen {
            Some(environment) => bdi { (environment) },
            None => { span.on-desks { (all) } span.on-phones { (short) } },
        }
    };
    menu_showing(
        ("Environment", chosen.unwrap_or(all)),
        &shown,
        &html! {
            a href=(here.clone().without("env")) aria-current=[chosen.is_none().then_some("true")] {
                "all environments"
            }
            @for environment in &ctx.environments {
                a href=(here.clone().with("env", environment))
                  aria-current=[(chosen == Some(environment)).then_some("true")] { (environment) }
            }
            @if ctx.environments.iter().any(|name| !Environment::normalise(name).is_production_traffic()) {
                p.muted { "Charts of all environments leave out judges and experiments." }
            }
        },
    )
}

/// The agent that is looked at alone, and the way back to all. It is chosen where agents are named:
/// to list them here, every record would have to be read.
fn agent_menu(ctx: &RequestContext) -> Markup {
    let Some(agent) = &ctx.scope.agent else { return Markup::default() };
    let here = ctx.here().without("cursor");
    menu_showing(
        ("Agent", agent),
        &html! { bdi { (ratchet_core::record::limit::elide(agent, 40)) } },
        &html! {
            a href=(here.without("agent")) { "all agents" }
            a href=(ctx.here()) aria-current="true" { bdi { (ratchet_core::record::limit::elide(agent, 80)) } }
        },
    )
}

fn span_menu(ctx: &RequestContext) -> Markup {
    let here = ctx.here().without("cursor");
    let label = ctx.scope.span.label();
    let shown = html! {
        span.on-desks { (label) }
        span.on-phones {
            (label.trim_start_matches("last ")) " "
            small.muted data-zone-short { (ctx.time.zone_short()) }
        }
    };
    // What phones show of it is a part of what it is called.
    let called = format!("{label} {}", ctx.time.zone_short());
    menu_showing(
        ("Time", &called),
        &shown,
        &html! {
            @for span in Span::CHOICES {
                a href=(here.clone().with("range", span.word()))
                  aria-current=[(span == ctx.scope.span).then_some("true")] { (span.label()) }
            }
            (from_to(ctx))
            p.muted { "Times in " (ctx.time.zone_name()) "; UTC on hover. Days in charts are those of UTC." }
        },
    )
}

/// Any two moments, in the viewer's zone.
fn from_to(ctx: &RequestContext) -> Markup {
    let range = ctx.range();
    let to = range.to.unwrap_or(ctx.now);
    let minute = |at| ctx.time.form_minute(at);
    let zone = ctx.time.zone_name();
    let here = ctx.here();
    let kept = here.pairs().filter(|(name, _)| !["range", "cursor"].contains(name));
    html! {
        form.from-to method="get" action=(here.path()) {
            @for (name, value) in kept { input type="hidden" name=(name) value=(value); }
            label { "From" input type="datetime-local" name="from" required
                value=[range.from.map(minute)]; }
            label { "To (" (zone) ")" input type="datetime-local" name="to" required value=(minute(to)); }
            button.button type="submit" { "Apply" }
        }
    }
}

/// A choice that needs no script: what is chosen now, and links to everything else.
pub(crate) fn menu(what: &str, chosen: &str, choices: &Markup) -> Markup {
    menu_showing((what, chosen), &html! { (chosen) }, choices)
}

/// The same where less is shown of what is chosen than is said to those who do not see it.
fn menu_showing((what, chosen): (&str, &str), shown: &Markup, choices: &Markup) -> Markup {
    html! {
        details.menu {
            summary aria-label={ (what) ": " (chosen) } {
                span.chosen-now { (shown) } (icon(Icon::Down))
            }
            div.menu-list { (choices) }
        }
    }
}
