use axum::extract::{Path, State};
use axum::response::Redirect;
use maud::{Markup, html};
use ratchet_core::promotion::ab_test::comparison::{AbResult, ArmTraffic};
use ratchet_core::promotion::ab_test::{AbEnd, AbTest, MAX_UNIT_BYTES};
use ratchet_core::record::limit::elide;
use ratchet_stages::promote::ab;
use ratchet_store::catalog::{AuditEntry, AuditObject, AuditQuery, StoredAbTest};

use super::marks::marks;
use super::{NAME, TEXT, state};
use crate::components::table::{self, Column, Row, Table};
use crate::components::{copy, figure, toast};
use crate::form::PageForm;
use crate::frame::{Page, Section};
use crate::page_error::{PageError, PageResult};
use crate::pages::promotions::{context, refused};
use crate::request_context::RequestContext;
use crate::web::Web;

/// Entries of the audit log that are shown.
const CHANGES: u64 = 50;
const NANOS_PER_DAY: i64 = 24 * 3_600_000_000_000;

pub(super) async fn show(
    State(web): State<Web>,
    ctx: RequestContext,
    Path((_, id)): Path<(String, String)>,
) -> PageResult<Markup> {
    let stored = web.store.catalog.ab_test(ctx.project_id(), id).await?;
    let (test, spec) = (&stored.test, &stored.test.spec);
    let about =
        AuditQuery::about(ctx.project_id(), AuditObject::AbTest, stored.id.clone(), CHANGES);
    let changes = web.store.catalog.audit(about).await?.rows;
    let prompt = elide(&spec.prompt, NAME);
    let mut page = Page::new(Section::Prompts, format!("A/B test of {prompt}"));
    page.crumbs = vec![
        ("Prompts".to_owned(), Section::Prompts.link(&ctx)),
        (prompt.into_owned(), ctx.to(&["prompts", &spec.prompt])),
    ];
    page.summary = html! {
        (state(test)) " Agent " bdi { (elide(&spec.agent, NAME)) } ", started by "
        bdi { (elide(&test.author.name, NAME)) } " " (figure::ago(test.started_at, &ctx.time)) "."
    };
    page.action = copy::id(&stored.id);
    page.body = html! {
        @if let Some(done) = ctx.params.get("done") { (toast::toast(said(done))) }
        (outcome(&ctx, &stored))
        (arms(&ctx, test))
        @match &test.result {
            Some(result) => { (marks(result, spec.primary)) },
            None => { p.muted { "Not looked at yet: the server does so every minute." } },
        }
        (stop_rules(&ctx, test))
        (actions(&ctx, &stored))
        (assignment(&ctx, &stored))
        (changes_of(&ctx, &changes))
    };
    Ok(page.show(&ctx))
}

fn said(done: &str) -> &'static str {
    match done {
        "start" => "A/B test started",
        "stop" => "A/B test stopped",
        "promote" => "Draft promotion requested",
        _ => "Looked",
    }
}

/// How it ended, and what comes next.
fn outcome(ctx: &RequestContext, stored: &StoredAbTest) -> Markup {
    let test = &stored.test;
    let is_won = test.outcome.as_ref().is_some_and(|outcome| outcome.end == AbEnd::Winner);
    html! {
        @if let Some(outcome) = &test.outcome {
            p.notice {
                bdi { (elide(&outcome.text, TEXT)) } " " span.muted {
                    "by " bdi { (elide(&outcome.by.name, NAME)) } " " (figure::ago(outcome.at, &ctx.time))
                }
            }
        }
        @if let Some(promotion) = &test.promotion {
            p { a.button.primary href=(ctx.to(&["promotions", promotion])) { "Promote the winner" } " "
                span.muted { "Its draft promotion is open: it needs evidence and an approval like any other." } }
        } @else if is_won {
            @if let Some(why) = &test.offer_problem {
                p.problem role="alert" { "The winner's draft promotion could not be opened: " bdi { (elide(why, TEXT)) } }
            }
            @if ctx.viewer.can_change() { (button(ctx, stored, ("promote", "Open draft promotion"))) }
        }
    }
}

fn arms(ctx: &RequestContext, test: &AbTest) -> Markup {
    let columns = vec![
        Column::text("Arm"),
        Column::text("Label"),
        Column::text("Version"),
        Column::number("Share"),
        Column::number("Users"),
        Column::number("Traces"),
        Column::number("Users counted"),
    ];
    let traffic = test.result.as_ref().map(|result| result.traffic).unwrap_or_default();
    let counted = |of: fn(&AbResult) -> u32| test.result.as_ref().map_or(0, of);
    let spec = &test.spec;
    let rows = vec![
        ArmRow {
            name: "Control",
            label: &spec.control,
            version: test.control_version,
            share: 100_u32.saturating_sub(spec.share),
            traffic: traffic.control,
            counted: counted(|result| result.control_units),
        }
        .row(ctx, &spec.prompt),
        ArmRow {
            name: "Candidate",
            label: &spec.candidate,
            version: test.candidate_version,
            share: spec.share,
            traffic: traffic.candidate,
            counted: counted(|result| result.candidate_units),
        }
        .row(ctx, &spec.prompt),
    ];
    html! {
        h2 { "Arms" }
        (table::table(&Table { caption: "Arms".to_owned(), columns, rows, select_for: None }))
        p.muted {
            "Users are assigned at random by their id, and keep their arm. A user counts with the traces of "
            (spec.window_hours) @if spec.window_hours == 1 { " hour" } @else { " hours" }
            " after the first one, an hour after they are over."
        }
    }
}

/// A row of the arms.
struct ArmRow<'a> {
    name: &'static str,
    label: &'a str,
    version: u32,
    share: u32,
    traffic: ArmTraffic,
    counted: u32,
}

impl ArmRow<'_> {
    fn row(&self, ctx: &RequestContext, prompt: &str) -> Row {
        let link = ctx.to(&["prompts", prompt]).with("version", self.version.to_string());
        let number = |n: u32| html! { (figure::grouped(u64::from(n))) };
        Row {
            id: self.name.to_lowercase(),
            link: None,
            cells: vec![
                html! { (self.name) },
                html! { code { bdi { (elide(self.label, NAME)) } } },
                html! { a href=(link) { "v" (self.version) } },
                html! { (self.share) "%" },
                number(self.traffic.users),
                number(self.traffic.traces),
                number(self.counted),
            ],
            failed: false,
        }
    }
}

/// When the test ends, and how far it is.
fn stop_rules(ctx: &RequestContext, test: &AbTest) -> Markup {
    let spec = &test.spec;
    let counted = test
        .result
        .as_ref()
        .map_or(0, |result| result.control_units.saturating_add(result.candidate_units));
    let until = test.outcome.as_ref().map_or(ctx.now, |outcome| outcome.at);
    let day = until.since(test.started_at).max(0) / NANOS_PER_DAY + 1;
    html! {
        h2 { "Stop rules" }
        dl.run-means {
            div { dt { "Candidate worse" } dd { "in any row" } }
            div { dt { "Candidate wins" } dd { "better in " (spec.primary.title().to_lowercase()) ", worse in none" } }
            div { dt { "Users counted" } dd {
                (figure::grouped(u64::from(counted))) " of " (figure::grouped(u64::from(spec.max_units)))
            } }
            div { dt { "Day" } dd { (day.min(i64::from(spec.max_days))) " of " (spec.max_days) } }
            div { dt { "Labels" } dd { "the test ends if one is moved" } }
        }
    }
}

fn actions(ctx: &RequestContext, stored: &StoredAbTest) -> Markup {
    if !ctx.viewer.can_change() || !stored.test.is_running() {
        return Markup::default();
    }
    html! {
        div.actions { (button(ctx, stored, ("look", "Look now"))) }
        form.settings method="post" action=(ctx.to(&["ab-tests", &stored.id, "stop"])) {
            (ctx.viewer.form_token.field())
            div.form-row {
                label for="reason-stop" { "Reason" }
                input #reason-stop name="reason" type="text" maxlength="500" autocomplete="off";
            }
            button.button type="submit" { "Stop: everybody gets the control" }
        }
    }
}

fn button(ctx: &RequestContext, stored: &StoredAbTest, (action, words): (&str, &str)) -> Markup {
    html! {
        form method="post" action=(ctx.to(&["ab-tests", &stored.id, action])) {
            (ctx.viewer.form_token.field())
            button.button type="submit" { (words) }
        }
    }
}

/// How users get their version, and which one somebody gets.
fn assignment(ctx: &RequestContext, stored: &StoredAbTest) -> Markup {
    let test = &stored.test;
    let unit =
        ctx.params.get("unit").filter(|unit| !unit.is_empty() && unit.len() <= MAX_UNIT_BYTES);
    let prompt = serde_json::Value::from(test.spec.prompt.as_str());
    let code = format!(
        "from langfuse import get_client\n\nget_client().get_prompt({prompt}, label=f\"ab:{{user_id}}\")"
    );
    html! {
        h2 #assignment { "Assignment" }
        @if test.is_running() {
            p { "Fetch the prompt by the label " code { "ab:USER" } ", with the user's id as in traces, or the "
                "session's if traces have no user. It always gives the same user the same arm." }
            (copy::snippet(&ctx.sdk_code(&code)))
        } @else { p.muted { "The test has ended: everybody gets the control." } }
        form.inline method="get" action={ (ctx.to(&["ab-tests", &stored.id])) "#assignment" } {
            input type="text" name="unit" value=(unit.unwrap_or_default()) aria-label="User or session ID"
                  placeholder="user-17" size="24" autocomplete="off";
            button.button type="submit" { "Show arm" }
        }
        @if let Some(unit) = unit {
            @let (label, version) = test.served(test.arm(&stored.id, unit));
            p { bdi { (elide(unit, NAME)) } " gets " code { bdi { (elide(label, NAME)) } } ", v" (version) "." }
        }
    }
}

fn changes_of(ctx: &RequestContext, changes: &[AuditEntry]) -> Markup {
    html! {
        h2 { "Change history" }
        ol.changes { @for entry in changes {
            li {
                strong { bdi { (elide(entry.actor.name(), NAME)) } } ": "
                bdi { (elide(entry.became.as_deref().unwrap_or("started"), TEXT)) } " "
                span.muted { (figure::ago(entry.at, &ctx.time)) }
            }
        } }
    }
}

/// `POST …/ab-tests/{ab-test}/{action}`: looks, stops, or opens the winner's draft promotion.
pub(super) async fn act(
    State(web): State<Web>,
    Path((_, id, action)): Path<(String, String, String)>,
    PageForm { ctx, form }: PageForm,
) -> PageResult<Redirect> {
    ctx.viewer.may_change()?;
    let (catalog, project) = (ctx.viewer.catalog(&web), ctx.project_id());
    let context = context(&web, (&catalog, &project), &ctx);
    let done = match action.as_str() {
        "look" => ab::look(context, &id).await,
        "stop" => {
            let reason = form.get("reason").unwrap_or_default().to_owned();
            ab::stop(context.gate, &id, reason).await
        }
        "promote" => ab::offer(context, &id).await,
        _ => return Err(PageError::not_there("action")),
    };
    let stored = done.map_err(refused)?;
    let to = match (&*action, &stored.test.promotion) {
        ("promote", Some(promotion)) => ctx.to(&["promotions", promotion]),
        _ => ctx.to(&["ab-tests", &stored.id]).with("done", action),
    };
    Ok(Redirect::to(&to.to_string()))
}
