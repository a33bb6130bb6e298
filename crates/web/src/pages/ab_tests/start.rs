use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use ratchet_core::catalog::prompt::{LATEST, PRODUCTION};
use ratchet_core::promotion::ab_test::AbSpec;
use ratchet_core::promotion::state::Refused;
use ratchet_core::promotion::watch::Mark;
use ratchet_core::record::limit::elide;
use ratchet_stages::promote::{PromoteError, ab};
use ratchet_store::StoreError;
use ratchet_store::catalog::StoredAbTest;
use ratchet_store::query::PageNumber;

use super::NAME;
use crate::components::field::{self, Entered, FormField};
use crate::form::PageForm;
use crate::frame::{Page, Section};
use crate::page_error::{PageError, PageResult};
use crate::pages::promotions::{context, refused};
use crate::request_context::RequestContext;
use crate::web::Web;

/// Versions whose labels are offered.
const VERSIONS: PageNumber = PageNumber { page: 1, limit: 100 };

const CANDIDATE: FormField<'_> =
    FormField { name: "candidate", label: "Candidate", hint: "Label of the version to try." };
const CONTROL: FormField<'_> = FormField {
    name: "control",
    label: "Control",
    hint: "Label of the version that the other users get.",
};
const AGENT: FormField<'_> =
    FormField { name: "agent", label: "Agent", hint: "The agent that uses the prompt." };
const PRIMARY: FormField<'_> = FormField {
    name: "primary",
    label: "Primary mark",
    hint: "What the candidate has to improve to win. In no mark may it be worse.",
};
const NUMBERS: [FormField<'_>; 4] = [
    FormField {
        name: "share",
        label: "Users with the candidate, %",
        hint: "From 1 to 99. Half of the users decides soonest.",
    },
    FormField { name: "maxUnits", label: "At most so many users", hint: "Then the test ends." },
    FormField { name: "maxDays", label: "At most so many days", hint: "Then the test ends." },
    FormField {
        name: "windowHours",
        label: "Hours per user",
        hint: "A user counts with the traces of so many hours after the first one.",
    },
];

/// `GET …/prompts/{name}/ab-tests`: the form that starts a test of a prompt.
pub(super) async fn show(
    State(web): State<Web>,
    ctx: RequestContext,
    Path((_, prompt)): Path<(String, String)>,
) -> PageResult<Markup> {
    ctx.viewer.may_change()?;
    let usual = AbSpec::new("", &prompt, "");
    let (primary, number) = (usual.primary.as_str(), |n: u32| n.to_string());
    let preset = Entered::preset(&[
        ("control", &usual.control),
        ("primary", primary),
        ("share", &number(usual.share)),
        ("maxUnits", &number(usual.max_units)),
        ("maxDays", &number(usual.max_days)),
        ("windowHours", &number(usual.window_hours)),
    ]);
    drawn(&web, &ctx, (&prompt, &preset)).await
}

async fn drawn(
    web: &Web,
    ctx: &RequestContext,
    (prompt, entered): (&str, &Entered),
) -> PageResult<Markup> {
    let catalog = &web.store.catalog;
    let versions =
        catalog.prompt_versions(ctx.project_id(), prompt.to_owned(), VERSIONS).await?.rows;
    if versions.is_empty() {
        return Err(PageError::not_there("prompt"));
    }
    let labels = versions.iter().flat_map(|version| {
        version
            .labels
            .iter()
            .map(move |label| (label.clone(), format!("{label}, v{}", version.version)))
    });
    let labels: Vec<(String, String)> = labels.filter(|(label, _)| label != LATEST).collect();
    let agents = catalog.agents(ctx.project_id()).await?;
    let agents: Vec<(String, String)> = agents
        .into_iter()
        .map(|agent| (agent.name.clone(), elide(&agent.name, NAME).into_owned()))
        .collect();
    let mut page = Page::new(Section::Prompts, "Start A/B test");
    page.crumbs = vec![
        ("Prompts".to_owned(), Section::Prompts.link(ctx)),
        (elide(prompt, NAME).into_owned(), ctx.to(&["prompts", prompt])),
    ];
    page.summary = html! {
        "Two labels of " bdi { (elide(prompt, NAME)) } " are served to users at random, until one does better."
    };
    let has_candidate = labels.iter().any(|(label, _)| label != PRODUCTION);
    page.body = html! {
        @if !has_candidate {
            p.notice { "Set a label, such as " code { "next" } ", at the version to try on "
                a href=(ctx.to(&["prompts", prompt])) { "the prompt's page" } " first." }
        }
        (form(ctx, (prompt, entered), (&labels, &agents)))
    };
    Ok(page.show(ctx))
}

/// Values and what people call them.
type Options = [(String, String)];

fn form(
    ctx: &RequestContext,
    (prompt, entered): (&str, &Entered),
    (labels, agents): (&Options, &Options),
) -> Markup {
    fn plain(options: &Options) -> Vec<(&str, &str)> {
        options.iter().map(|(value, words)| (value.as_str(), words.as_str())).collect()
    }
    let labels = plain(labels);
    let candidates: Vec<_> =
        labels.iter().filter(|(label, _)| *label != PRODUCTION).copied().collect();
    let marks = Mark::ALL.map(|mark| (mark.as_str(), mark.title()));
    html! {
        form.settings method="post" action=(ctx.to(&["prompts", prompt, "ab-tests"])) {
            (ctx.viewer.form_token.field())
            (field::problem(entered))
            fieldset {
                legend { "Arms" }
                (field::choice(CANDIDATE, &candidates, entered))
                (field::choice(CONTROL, &labels, entered))
                (field::choice(AGENT, &plain(agents), entered))
                (field::number(NUMBERS[0], entered))
            }
            fieldset {
                legend { "Stop rules" }
                (field::choice(PRIMARY, &marks, entered))
                @for field in &NUMBERS[1..] { (field::number(*field, entered)) }
            }
            button.button.primary type="submit" { "Start A/B test" }
        }
    }
}

/// `POST …/prompts/{name}/ab-tests`: starts it.
pub(super) async fn start(
    State(web): State<Web>,
    Path((_, prompt)): Path<(String, String)>,
    PageForm { ctx, form }: PageForm,
) -> PageResult<Response> {
    ctx.viewer.may_change()?;
    let mut entered = Entered::new(form);
    let spec = spec(&prompt, &mut entered);
    if entered.is_fine() {
        match started(&web, &ctx, spec).await {
            Ok(stored) => {
                let to = ctx.to(&["ab-tests", &stored.id]).with("done", "start");
                return Ok(Redirect::to(&to.to_string()).into_response());
            }
            Err(error) => match wrong_field(&error) {
                Some((field, why)) => entered.wrong(field, why),
                None => return Err(refused(error)),
            },
        }
    }
    let page = drawn(&web, &ctx, (&prompt, &entered)).await?;
    Ok((StatusCode::UNPROCESSABLE_ENTITY, page).into_response())
}

async fn started(
    web: &Web,
    ctx: &RequestContext,
    spec: AbSpec,
) -> Result<StoredAbTest, PromoteError> {
    let (catalog, project) = (ctx.viewer.catalog(web), ctx.project_id());
    ab::start(context(web, (&catalog, &project), ctx).gate, spec).await
}

/// What a form describes; notes what is wrong with it.
fn spec(prompt: &str, entered: &mut Entered) -> AbSpec {
    let mut spec = AbSpec::new(entered.text("agent"), prompt, entered.text("candidate"));
    if let Some(control) = entered.filled("control") {
        control.clone_into(&mut spec.control);
    }
    if let Some(name) = entered.filled("primary") {
        match Mark::parse(name) {
            Some(mark) => spec.primary = mark,
            None => entered.wrong("primary", "choose one of the list"),
        }
    }
    let numbers = [
        ("share", &mut spec.share),
        ("maxUnits", &mut spec.max_units),
        ("maxDays", &mut spec.max_days),
        ("windowHours", &mut spec.window_hours),
    ];
    for (field, value) in numbers {
        match entered.filled(field).map(str::parse::<u32>) {
            None => {}
            Some(Ok(number)) => *value = number,
            Some(Err(_)) => entered.wrong(field, "a whole number"),
        }
    }
    spec
}

/// The field of the form that is wrong, and why; `None` if it is not the form.
fn wrong_field(error: &PromoteError) -> Option<(&'static str, String)> {
    match error {
        PromoteError::Invalid(wrong) => Some((wrong.field, wrong.problem.clone())),
        PromoteError::Refused(Refused::Invalid { field, problem }) => {
            Some((field, problem.clone()))
        }
        PromoteError::Store(StoreError::NotFound(why)) => {
            Some(("agent", format!("{why} not found")))
        }
        PromoteError::Store(StoreError::Conflict(why)) => Some(("", why.clone())),
        _ => None,
    }
}
