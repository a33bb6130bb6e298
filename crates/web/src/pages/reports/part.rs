//! The report of a week on a part of the project, made when it is looked at: one release, prompt
//! version, tag or user. The stored report knows agents and environments only.

use maud::{Markup, html};
use ratchet_core::calendar::{Week, Zone};
use ratchet_core::quality::report::{ReportScope, WeekReport};
use ratchet_core::quality::suggestion::Templates;
use ratchet_core::quality::synthesis::{AgentStats, VariantStats};
use ratchet_stages::weekly_report::{self, ReportStore, WeekError, WeekRequest};
use tokio::sync::Semaphore;

use super::agents::is_in_scope;
use super::success::judged_by;
use crate::page_error::{PageError, PageResult};
use crate::pages::calibration::{ends, refused};
use crate::request_context::{Link, RequestContext};
use crate::web::Web;

/// Reports made for pages at a time: each reads the scores of twelve weeks.
static MAKING: Semaphore = Semaphore::const_new(2);

/// Query parameters of a part, beside those of every page.
const RELEASE: &str = "release";
const PROMPT: &str = "prompt";
const TAG: &str = "tag";
const USER: &str = "user";

/// The part that the address names; `None` where it names no more than agent and environment.
pub(super) fn asked(ctx: &RequestContext) -> Option<ReportScope> {
    let named = |name: &str| {
        let value = ctx.params.get(name).map(str::trim).filter(|value| !value.is_empty());
        value.map(str::to_owned)
    };
    let part = ReportScope {
        agent: ctx.scope.agent.clone(),
        environment: ctx.scope.environment.clone(),
        release: named(RELEASE),
        prompt: named(PROMPT),
        tag: named(TAG),
        user: named(USER),
    };
    let is_named = [&part.release, &part.prompt, &part.tag, &part.user];
    let is_part = is_named.into_iter().any(Option::is_some);
    is_part.then_some(part)
}

/// Makes the report of a week on a part of its project. It is not stored.
pub(super) async fn report(
    web: &Web,
    ctx: &RequestContext,
    whole: &WeekReport,
    scope: ReportScope,
) -> PageResult<WeekReport> {
    if whole.source.is_some() {
        let why = "the sessions of this report are on another server: `ratchet week --server` \
                   reports on a part of them";
        return Err(PageError::Bad(why.to_owned()));
    }
    let _permit = MAKING.try_acquire().map_err(|_| {
        PageError::Bad("other reports are being made; reload this page in a moment".to_owned())
    })?;
    let zone = Zone::parse(&whole.zone).map_err(|_| PageError::not_there("report"))?;
    let week = Week::parse(&whole.week, &zone).map_err(|_| PageError::not_there("report"))?;
    let request = WeekRequest {
        week,
        rubric: judged_by(web, Some(whole))?,
        scope,
        templates: Templates::shipped(),
        adviser: None,
        unscored: std::collections::BTreeMap::new(),
        project: whole.project.clone(),
    };
    let (source, sink) = ends(web, ctx);
    let project = ctx.project_id();
    let archive = ReportStore::Catalog { catalog: &web.store.catalog, project: &project };
    let made = Box::pin(weekly_report::report((&source, &sink), archive, &request, ctx.now)).await;
    Ok(made.map_err(failed)?.report)
}

fn failed(why: WeekError) -> PageError {
    match why {
        WeekError::Store(why) => why.into(),
        WeekError::Labels(why) => refused(why),
        other => PageError::Bad(other.to_string()),
    }
}

/// The link to a version of an agent alone.
pub(super) fn of_version(
    ctx: &RequestContext,
    report: &WeekReport,
    agent: &AgentStats,
    (kind, version): (&str, &VariantStats),
) -> Option<Link> {
    if report.source.is_some() {
        return None;
    }
    let week = ctx.to(&["reports", &report.week]).with("env", &agent.environment);
    let week = agent.agent.iter().fold(week, |link, name| link.with("agent", name));
    Some(week.with(kind, &version.name))
}

/// The form that chooses a part, and what is chosen.
pub(super) fn choice(
    whole: &WeekReport,
    part: Option<&ReportScope>,
    ctx: &RequestContext,
) -> Markup {
    let page = ctx.to(&["reports", &whole.week]);
    let of = |read: fn(&ReportScope) -> Option<&String>| {
        part.and_then(read).map(String::as_str).unwrap_or_default()
    };
    let agents = || {
        let all = whole.synthesis.agents.iter();
        all.filter(|agent| is_in_scope(ctx, agent.agent.as_deref(), &agent.environment))
    };
    let releases = names(agents().flat_map(|agent| &agent.releases));
    let prompts = names(agents().flat_map(|agent| &agent.prompts));
    html! {
        @if whole.source.is_none() {
            @if let Some(part) = part {
                p { strong { "Only " bdi { (part.words()) } "." } " "
                    a href=(page) { "Show the whole report" } }
            }
            details {
                summary { "Report on a release, prompt version, tag or user" }
                form.inline-form method="get" action=(page.path()) {
                    @for (name, value) in ctx.scope.pairs() {
                        input type="hidden" name=(name) value=(value);
                    }
                    (select("Release", RELEASE, (&releases, of(|part| part.release.as_ref()))))
                    (select("Prompt version", PROMPT, (&prompts, of(|part| part.prompt.as_ref()))))
                    label { "Tag " input type="text" name=(TAG) value=(of(|part| part.tag.as_ref())); }
                    label { "User " input type="text" name=(USER) value=(of(|part| part.user.as_ref())); }
                    button.button type="submit" { "Show" }
                }
            }
        }
    }
}

fn names<'a>(versions: impl Iterator<Item = &'a VariantStats>) -> Vec<&'a str> {
    let mut names: Vec<&str> = versions.map(|version| version.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    names
}

fn select(label: &str, name: &str, (values, chosen): (&[&str], &str)) -> Markup {
    let is_listed = chosen.is_empty() || values.contains(&chosen);
    html! {
        label {
            (label) " "
            select name=(name) {
                option value="" { "all" }
                @for value in values {
                    option value=(value) selected[*value == chosen] { (value) }
                }
                @if !is_listed { option value=(chosen) selected { (chosen) } }
            }
        }
    }
}
