use std::collections::BTreeMap;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use ratchet_core::experiment::plan::{ExperimentPlan, PlannedTarget};
use ratchet_store::query::PageNumber;

use super::{refused, targets, worker};
use crate::components::field::{self, Entered, FormField};
use crate::form::PageForm;
use crate::frame::{Page, Section};
use crate::page_error::PageResult;
use crate::pages::experiments::service;
use crate::request_context::RequestContext;
use crate::web::Web;

/// Datasets to choose from.
const SHOWN: PageNumber = PageNumber { page: 1, limit: 200 };

const DATASET: FormField<'_> = FormField { name: "dataset", label: "Dataset", hint: "" };
const TARGET: FormField<'_> = FormField { name: "target", label: "Target", hint: "" };
const ENVIRONMENT: FormField<'_> = FormField {
    name: "environment",
    label: "Environment",
    hint: "One of the target's environments, such as beta. Leave empty for none.",
};
const EVALUATORS: FormField<'_> = FormField {
    name: "evaluators",
    label: "Evaluators",
    hint: "One per line: exact, contains, regex:…, json-match, numeric:0.01, trajectory, routing, \
           command:NAME, experiment-accuracy:JUDGE, each-agent:EVALUATOR.",
};
const RUN: FormField<'_> = FormField {
    name: "run",
    label: "Name of the run",
    hint: "Unique in its dataset. Leave empty for the target's name and the time.",
};
const REPEATS: FormField<'_> =
    FormField { name: "repeats", label: "Trials per item", hint: "From 1 to 100." };
const MAX_COST: FormField<'_> = FormField {
    name: "maxCost",
    label: "Cost cap in US dollars",
    hint: "No further call is made once it is spent. Leave empty for none.",
};

const FILTER: FormField<'_> = FormField {
    name: "filter",
    label: "Items",
    hint: "Such as metadata.split=test. Leave empty for all.",
};
const LIMIT: FormField<'_> = FormField {
    name: "limit",
    label: "At most so many items",
    hint: "The first ones. Leave empty for all.",
};
const CACHE: FormField<'_> = FormField {
    name: "cache",
    label: "Answers of earlier runs",
    hint: "Used again for the same version of the target, which must name its version.",
};
const CACHED: [(&str, &str); 2] = [("no", "Call the target"), ("yes", "Use cached answers")];

pub(super) async fn show(State(web): State<Web>, ctx: RequestContext) -> PageResult<Markup> {
    ctx.viewer.may_change()?;
    let chosen = |name: &str| ctx.params.get(name).unwrap_or_default().to_owned();
    let (dataset, target) = (chosen("dataset"), chosen("target"));
    let preset = Entered::preset(&[
        ("dataset", &dataset),
        ("target", &target),
        ("evaluators", "exact"),
        ("repeats", "1"),
    ]);
    drawn(&web, &ctx, &preset).await
}

async fn drawn(web: &Web, ctx: &RequestContext, entered: &Entered) -> PageResult<Markup> {
    let known = targets(web, ctx).await?;
    let datasets = web.store.catalog.datasets(ctx.project_id(), SHOWN).await?.rows;
    let names: Vec<(&str, &str)> =
        datasets.iter().map(|one| (one.name.as_str(), one.name.as_str())).collect();
    let agents: Vec<(&str, &str)> =
        known.iter().map(|one| (one.name.as_str(), one.name.as_str())).collect();
    let mut page = Page::new(Section::Targets, "Start run");
    page.crumbs = vec![("Targets".to_owned(), ctx.to(&["targets"]))];
    page.summary = html! { "The server runs the target on the items of the dataset." };
    page.body = html! {
        section.settings {
            h2 { "Run" }
            form method="post" action=(ctx.to(&["experiments", "start"])) {
                (ctx.viewer.form_token.field())
                (field::problem(entered))
                (field::choice(DATASET, &names, entered))
                (field::choice(TARGET, &agents, entered))
                (field::line(ENVIRONMENT, entered))
                (field::area(EVALUATORS, 3, entered))
                (field::line(FILTER, entered))
                (field::line(LIMIT, entered))
                (field::number(REPEATS, entered))
                (field::choice(CACHE, &CACHED, entered))
                (field::line(MAX_COST, entered))
                (field::line(RUN, entered))
                button.button.primary type="submit" { "Start run" }
            }
        }
    };
    Ok(page.show(ctx))
}

pub(super) async fn start(
    State(web): State<Web>,
    PageForm { ctx, form }: PageForm,
) -> PageResult<Response> {
    let mut entered = Entered::new(form);
    if let Some(request) = read(&mut entered, &ctx) {
        match worker(&web)?.start(&service(&web, &ctx), request, ctx.now).await {
            Ok(run) => {
                let to = ctx.to(&["datasets", &run.dataset, "runs", &run.id]);
                return Ok(Redirect::to(&to.to_string()).into_response());
            }
            Err(error) => entered = refused(entered, error, "run")?,
        }
    }
    let shown = drawn(&web, &ctx, &entered).await?;
    Ok((StatusCode::UNPROCESSABLE_ENTITY, shown).into_response())
}

/// Parses the form; adds validation errors.
fn read(entered: &mut Entered, ctx: &RequestContext) -> Option<ExperimentPlan> {
    let repeats = entered.text("repeats").parse();
    if repeats.is_err() {
        entered.wrong("repeats", "must be a number from 1 to 100");
    }
    let max_cost = entered.filled("maxCost").map(str::parse::<f64>).transpose();
    if max_cost.is_err() {
        entered.wrong("maxCost", "must be an amount in US dollars, such as 2.50");
    }
    let limit = entered.filled("limit").map(str::parse::<u64>).transpose();
    if limit.is_err() {
        entered.wrong("limit", "must be a number, such as 20");
    }
    let name = entered.text("target").to_owned();
    let usual = || format!("{name} {}", ctx.now);
    let request = ExperimentPlan {
        dataset: entered.text("dataset").to_owned(),
        run: entered.filled("run").map_or_else(usual, str::to_owned),
        target: PlannedTarget {
            name: name.clone(),
            environment: entered.filled("environment").map(str::to_owned),
            ..PlannedTarget::default()
        },
        evaluators: entered.lines("evaluators"),
        evaluator_versions: BTreeMap::new(),
        repeats: repeats.ok()?,
        filter: entered.filled("filter").map(str::to_owned),
        limit: limit.ok()?,
        max_cost: max_cost.ok()?,
        cache: entered.text("cache") == "yes",
        description: None,
    };
    entered.is_fine().then_some(request)
}
