//! Agents: who is responsible for each, and what it is to reach.

/// The promotion policy.
mod policy;

use axum::Router;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use maud::{Markup, html};
use ratchet_core::calendar::{Week, Zone};
use ratchet_core::catalog::agent::{AgentSettings, AgentTargets, MAX_DISCOVERED, review_datasets};
use ratchet_core::record::limit::elide;
use ratchet_stages::review::agents::{self, AgentWindow};
use ratchet_store::catalog::Agent;

use crate::components::field::{self, Entered, FormField};
use crate::components::table::{self, Column, Row, Table};
use crate::components::{copy, empty, figure, toast};
use crate::form::PageForm;
use crate::frame::{Page, Section};
use crate::page_error::PageResult;
use crate::pages::agent_runs::accuracy;
use crate::pages::dataset_guide;
use crate::request_context::RequestContext;
use crate::web::Web;

/// Characters of a name in a list.
const NAME: usize = 60;

pub(super) fn routes() -> Router<Web> {
    Router::new()
        .route("/project/{project}/agents", get(list))
        .route("/project/{project}/agents/discover", post(discover))
        .route("/project/{project}/agents/agent/{agent}", get(show).post(save))
}

async fn list(State(web): State<Web>, ctx: RequestContext) -> PageResult<Markup> {
    let mut found = web.store.catalog.agents(ctx.project_id()).await?;
    if found.is_empty() {
        agents::discover(&web.store, ctx.project_id(), AgentWindow::First, ctx.now).await?;
        found = web.store.catalog.agents(ctx.project_id()).await?;
    }
    let mut page = Page::new(Section::Agents, "Agents");
    let number = found.len();
    page.summary = html! {
        (figure::grouped(number as u64)) @if number == 1 { " agent" } @else { " agents" }
        ", found in traces by name."
    };
    if ctx.viewer.can_change() {
        page.action = html! {
            form method="post" action=(ctx.to(&["agents", "discover"])) {
                (ctx.viewer.form_token.field())
                button.button type="submit" { "Find agents in traces" }
            }
        };
    }
    page.body = html! {
        @if ctx.params.get("done") == Some("found") { (toast::toast("All traces were searched for agents")) }
        @if number >= MAX_DISCOVERED {
            p.notice role="status" {
                "Traces create at most " (MAX_DISCOVERED) " agents. If a program puts ids into the names of its "
                "agents, set the attribute " code { "gen_ai.agent.name" } " or the metadata key " code { "agent" } "."
            }
        }
        @if found.is_empty() { (nothing(&ctx)) } @else { (table_of(&ctx, &found)) }
    };
    Ok(page.show(&ctx))
}

fn nothing(ctx: &RequestContext) -> Markup {
    let how = html! {
        p { "An agent appears here with its first trace. Its name is the attribute " code { "gen_ai.agent.name" }
            ", else the metadata key " code { "agent" } ", the service name, or the name of the trace." }
        (copy::snippet(&ctx.command("import claude-code --follow")))
        p { a.button href=(ctx.to(&[])) { "Connect an SDK" } }
    };
    empty::empty("No agents yet", &how)
}

fn table_of(ctx: &RequestContext, agents: &[Agent]) -> Markup {
    let week = Week::of(ctx.now, &Zone::of_this_machine());
    let row = |agent: &Agent| {
        let settings = &agent.settings;
        let (owner, on_call) = (settings.owner.as_deref(), settings.on_call_in(&week));
        Row {
            id: agent.name.clone(),
            link: Some(ctx.to(&["agents", "agent", &agent.name])),
            cells: vec![
                html! { bdi { (elide(&agent.name, NAME)) } },
                html! { bdi { (elide(owner.unwrap_or("none"), NAME)) } },
                html! { bdi { (elide(on_call.unwrap_or("none"), NAME)) } },
                html! { bdi { (elide(&settings.queue_name(&agent.name, agents.len()), NAME)) } },
                html! { bdi { (elide(&settings.aliases.join(", "), NAME)) } },
                html! { (figure::grouped(u64::from(settings.review_capacity))) },
            ],
            failed: false,
        }
    };
    let columns = vec![
        Column::text("Agent"),
        Column::text("Owner"),
        Column::text("On call this week"),
        Column::text("Review queue"),
        Column::wide("Aliases"),
        Column::number("Reviews per week"),
    ];
    let rows = agents.iter().map(row).collect();
    table::table(&Table { caption: "Agents".to_owned(), columns, rows, select_for: None })
}

async fn discover(State(web): State<Web>, ctx: RequestContext) -> PageResult<Redirect> {
    ctx.viewer.may_change()?;
    agents::discover(&web.store, ctx.project_id(), AgentWindow::All, ctx.now).await?;
    Ok(Redirect::to(&ctx.to(&["agents"]).with("done", "found").to_string()))
}

async fn show(
    State(web): State<Web>,
    ctx: RequestContext,
    Path((_, name)): Path<(String, String)>,
) -> PageResult<Markup> {
    let agent = web.store.catalog.agent(ctx.project_id(), name).await?;
    let entered = entered(&agent.settings);
    shown(&web, &ctx, &agent, &entered).await
}

/// The datasets of an agent; if its settings name none, the one of its reviewed traces.
async fn datasets(web: &Web, ctx: &RequestContext, agent: &Agent) -> PageResult<Vec<String>> {
    if !agent.settings.datasets.is_empty() {
        return Ok(agent.settings.datasets.clone());
    }
    let [_, global] = review_datasets(&agent.name, ctx.now);
    let found = web.store.catalog.dataset(ctx.project_id(), global).await?;
    Ok(found.into_iter().map(|dataset| dataset.name).collect())
}

async fn shown(
    web: &Web,
    ctx: &RequestContext,
    agent: &Agent,
    entered: &Entered,
) -> PageResult<Markup> {
    let agents = web.store.catalog.agents(ctx.project_id()).await?.len();
    let datasets = datasets(web, ctx, agent).await?;
    let guide = dataset_guide::guide(web, ctx, Some(&agent.name), &datasets).await?;
    let tools = accuracy::accuracy(web, ctx, std::iter::once(agent.name.as_str())).await?;
    let mut page = Page::new(Section::Agents, agent.name.clone());
    page.crumbs = vec![("Agents".to_owned(), Section::Agents.link(ctx))];
    page.summary = html! {
        "Review queue " bdi { (agent.settings.queue_name(&agent.name, agents)) } ", changed "
        (figure::ago(agent.updated_at, &ctx.time)) "."
    };
    page.action = html! {
        a.button href=(ctx.to(&["promotions", "agents", &agent.name])) { "Versions" } " "
        a.button href=(ctx.to(&["traces"]).without("agent").with("agent", &agent.name)) { "View traces" }
    };
    page.body = html! {
        @if ctx.params.get("done") == Some("saved") { (toast::toast("Saved")) }
        (guide)
        form.settings method="post" action=(ctx.to(&["agents", "agent", &agent.name])) {
            (ctx.viewer.form_token.field())
            (field::problem(entered))
            fieldset disabled[!ctx.viewer.can_change()] {
                legend { "Agent" }
                @for field in TEXTS { (field::line(field, entered)) }
                @for field in LISTS { (field::area(field, 3, entered)) }
            }
            fieldset disabled[!ctx.viewer.can_change()] {
                legend { "Targets and review" }
                @for field in NUMBERS { (field::line(field, entered)) }
            }
            (policy::fields(entered, !ctx.viewer.can_change()))
            @if ctx.viewer.can_change() { button.button.primary type="submit" { "Save" } }
        }
        (tools)
    };
    Ok(page.show(ctx))
}

const TEXTS: [FormField<'_>; 2] = [
    FormField { name: "owner", label: "Owner", hint: "The person or team responsible for it." },
    FormField {
        name: "queue",
        label: "Review queue",
        hint: "Empty: weekly-review, with the agent's name before it where there are several.",
    },
];
const LISTS: [FormField<'_>; 4] = [
    FormField {
        name: "aliases",
        label: "Aliases",
        hint: "One per line: other names in traces that mean this agent.",
    },
    FormField {
        name: "onCall",
        label: "On call",
        hint: "One person per line, by email address; each has a week in turn.",
    },
    FormField {
        name: "environments",
        label: "Environments",
        hint: "One per line; only their traces are drawn and measured.",
    },
    FormField { name: "datasets", label: "Datasets", hint: "One per line." },
];
const NUMBERS: [FormField<'_>; 8] = [
    FormField {
        name: "agentAccuracy",
        label: "Agent accuracy, %",
        hint: "Share of reviewed traces that are correct.",
    },
    FormField {
        name: "judgeAccuracy",
        label: "Judge accuracy, %",
        hint: "Share of reviewed traces where judge and person agree.",
    },
    FormField {
        name: "userSatisfaction",
        label: "User satisfaction, %",
        hint: "Share of thumbs up.",
    },
    FormField {
        name: "tracesReviewed",
        label: "Traces reviewed per week",
        hint: "The least that is wanted.",
    },
    FormField {
        name: "reviewCapacity",
        label: "Review capacity per week",
        hint: "Traces that are drawn for review.",
    },
    FormField {
        name: "flaggedShare",
        label: "Flagged traces (W5) among reviews without feedback, %",
        hint: "The rest are quiet ones (W6, U3). Empty: 80, less what the planned precision needs.",
    },
    FormField {
        name: "halfWidth",
        label: "Planned precision, ± points",
        hint: "Half-width of the accuracy's 95% interval; smaller values take more quiet traces.",
    },
    FormField {
        name: "spotShare",
        label: "Spot checks, %",
        hint: "Share of the capacity for traces from anywhere; they count for no estimate.",
    },
];

/// A share in percent, as it is typed.
fn percent(share: f64) -> String {
    ((share * 1_000.0).round() / 10.0).to_string()
}

fn entered(settings: &AgentSettings) -> Entered {
    let targets = &settings.targets;
    let mut entered = Entered::preset(&[
        ("owner", settings.owner.as_deref().unwrap_or_default()),
        ("queue", settings.queue.as_deref().unwrap_or_default()),
        ("aliases", &settings.aliases.join("\n")),
        ("onCall", &settings.on_call.join("\n")),
        ("environments", &settings.environments.join("\n")),
        ("datasets", &settings.datasets.join("\n")),
        ("agentAccuracy", &percent(targets.agent_accuracy)),
        ("judgeAccuracy", &percent(targets.judge_accuracy)),
        ("userSatisfaction", &percent(targets.user_satisfaction)),
        ("tracesReviewed", &targets.traces_reviewed.to_string()),
        ("reviewCapacity", &settings.review_capacity.to_string()),
        ("flaggedShare", &settings.flagged_share.map(percent).unwrap_or_default()),
        ("halfWidth", &percent(settings.half_width)),
        ("spotShare", &percent(settings.spot_share)),
    ]);
    policy::preset(&settings.promotion, &mut entered);
    entered
}

async fn save(
    State(web): State<Web>,
    Path((_, name)): Path<(String, String)>,
    PageForm { ctx, form }: PageForm,
) -> PageResult<Response> {
    let agent = web.store.catalog.agent(ctx.project_id(), name).await?;
    let mut entered = Entered::new(form);
    let flagged_share = flagged_share(&mut entered, agent.settings.flagged_share);
    // Forms from before there were policies, and programs that fill in these fields only.
    let promotion = match entered.has("environment") {
        true => policy::read(&mut entered, &agent.settings.promotion),
        false => agent.settings.promotion.clone(),
    };
    let settings = AgentSettings { flagged_share, promotion, ..read(&mut entered) };
    let settings = match settings.checked(&agent.name) {
        Ok(settings) if entered.is_fine() => settings,
        Ok(_) => return refused(&web, &ctx, &agent, &entered).await,
        Err(wrong) => {
            let entered = entered.and_wrong(wrong.field, wrong.problem);
            return refused(&web, &ctx, &agent, &entered).await;
        }
    };
    let catalog = ctx.viewer.catalog(&web);
    let saved = catalog.save_agent(ctx.project_id(), agent.name.clone(), settings, ctx.now).await;
    match saved {
        Ok(agent) => {
            let back = ctx.to(&["agents", "agent", &agent.name]).with("done", "saved");
            Ok(Redirect::to(&back.to_string()).into_response())
        }
        Err(ratchet_store::StoreError::BadQuery(why)) => {
            refused(&web, &ctx, &agent, &entered.and_wrong("", why)).await
        }
        Err(error) => Err(error.into()),
    }
}

async fn refused(
    web: &Web,
    ctx: &RequestContext,
    agent: &Agent,
    entered: &Entered,
) -> PageResult<Response> {
    let shown = shown(web, ctx, agent, entered).await?;
    Ok((StatusCode::UNPROCESSABLE_ENTITY, shown).into_response())
}

/// The split of the form. A share that was not changed stays as it was accepted, to the last digit.
fn flagged_share(entered: &mut Entered, was: Option<f64>) -> Option<f64> {
    if !entered.has("flaggedShare") {
        return was;
    }
    let text = entered.text("flaggedShare").trim_end_matches('%').trim();
    if text.is_empty() {
        return None;
    }
    match text.parse::<f64>() {
        Ok(percent) => {
            let share = percent / 100.0;
            was.filter(|was| (was - share).abs() < 0.0005).or(Some(share))
        }
        Err(_) => {
            entered.wrong("flaggedShare", "a number from 0 to 100, or nothing");
            None
        }
    }
}

fn read(entered: &mut Entered) -> AgentSettings {
    let mut numbers = [0.0; 5];
    let shares = ["agentAccuracy", "judgeAccuracy", "userSatisfaction", "halfWidth", "spotShare"];
    for (number, field) in numbers.iter_mut().zip(shares) {
        match entered.text(field).trim_end_matches('%').trim().parse::<f64>() {
            Ok(percent) => *number = percent / 100.0,
            Err(_) => entered.wrong(field, "a number from 0 to 100"),
        }
    }
    let [agent_accuracy, judge_accuracy, user_satisfaction, half_width, spot_share] = numbers;
    let mut whole = [1; 2];
    for (number, field) in whole.iter_mut().zip(["tracesReviewed", "reviewCapacity"]) {
        match entered.text(field).parse() {
            Ok(found) => *number = found,
            Err(_) => entered.wrong(field, "a whole number"),
        }
    }
    let [traces_reviewed, review_capacity] = whole;
    AgentSettings {
        aliases: entered.lines("aliases"),
        owner: entered.filled("owner").map(str::to_owned),
        on_call: entered.lines("onCall"),
        environments: entered.lines("environments"),
        queue: entered.filled("queue").map(str::to_owned),
        datasets: entered.lines("datasets"),
        targets: AgentTargets {
            agent_accuracy,
            judge_accuracy,
            user_satisfaction,
            traces_reviewed,
        },
        review_capacity,
        half_width,
        spot_share,
        ..AgentSettings::default()
    }
}
