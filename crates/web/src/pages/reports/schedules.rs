use axum::Router;
use axum::extract::{Path, State};
use axum::response::Redirect;
use axum::routing::{get, post};
use maud::{Markup, html};
use ratchet_core::calendar::Zone;
use ratchet_core::counted::counted;
use ratchet_store::catalog::{
    Schedule, ScheduleOutcome, ScheduleRun, ScheduleToggle, ScheduledJob,
};

use super::{Tab, tabs};
use crate::components::table::{self, Column, Row, Table};
use crate::components::{badge, copy, figure, toast};
use crate::form::PageForm;
use crate::frame::{Page, Section};
use crate::page_error::{PageError, PageResult};
use crate::request_context::{Link, RequestContext};
use crate::web::Web;

/// Runs that a schedule shows.
const RUNS: u64 = 10;

pub(super) fn routes() -> Router<Web> {
    Router::new()
        .route("/project/{project}/reports/schedules", get(show))
        .route("/project/{project}/reports/schedules/{name}", post(switch))
}

async fn show(State(web): State<Web>, ctx: RequestContext) -> PageResult<Markup> {
    let catalog = &web.store.catalog;
    catalog.ensure_weekly(ctx.project_id(), Zone::of_this_machine(), ctx.now).await?;
    let mut parts = Vec::new();
    let schedules = catalog.schedules(ctx.project_id()).await?;
    for schedule in &schedules {
        let name = schedule.name.clone();
        let runs = catalog.schedule_runs(ctx.project_id(), name, RUNS).await?;
        parts.push(part(schedule, &runs, &ctx));
    }
    let on = schedules.iter().filter(|schedule| schedule.is_on).count();
    let mut page = Page::new(Section::Quality, "Schedules");
    page.crumbs = vec![("Quality".to_owned(), Section::Quality.link(&ctx))];
    page.summary = html! { (on) " of " (counted(schedules.len(), "schedule")) " enabled. They run while a server is up." };
    page.action = tabs(&ctx, Tab::Schedules);
    page.body = html! {
        @match ctx.params.get("done") {
            Some("on") => { (toast::toast("Schedule enabled")) },
            Some("off") => { (toast::toast("Schedule paused")) },
            Some("run") => { (toast::toast("Queued, starts within 30 s")) },
            _ => {},
        }
        @for part in parts { (part) }
        section.report-part {
            h2 { "Add a schedule" }
            p { "With an owner's key in " code { "RATCHET_PUBLIC_KEY" } " and "
                code { "RATCHET_SECRET_KEY" } ", and this server's address:" }
            (copy::snippet(&format!("ratchet schedule add nightly --cron \"30 1 * * MON-FRI\" --zone Europe/Berlin \\\n  --judge anthropic --max-cost 5 --server {}", ctx.server)))
        }
    };
    Ok(page.show(&ctx))
}

fn part(schedule: &Schedule, runs: &[ScheduleRun], ctx: &RequestContext) -> Markup {
    let next = schedule.is_on.then(|| schedule.cron.next(ctx.now, &schedule.zone)).flatten();
    let action = Link::to_project(&ctx.project.id, &["reports", "schedules", &schedule.name]);
    let (to, verb) = if schedule.is_on { ("off", "Pause") } else { ("on", "Resume") };
    html! {
        section.report-part {
            h2 { bdi { (schedule.name) } " "
                @if schedule.is_on { span.badge.good { "on" } } @else { span.badge.warn { "paused" } } }
            p {
                (description(&schedule.job)) " " (times(&schedule.cron.to_string(), schedule.zone.name()))
                @if let Some(scoring) = schedule.job.scoring() {
                    ", judge " (badge::tag(&scoring.judge))
                    ", rubric " (badge::tag(&scoring.rubric))
                    @if !scoring.scope.is_all() { ", only " (badge::tag(&scoring.scope.words())) }
                    @if let Some(most) = scoring.max_cost { ", max " (figure::money(most)) }
                }
                ". "
                @if let Some(next) = next { "Next run: " (figure::when(next, &ctx.time)) "." }
                @if schedule.notifies_slack { " Notifies Slack." }
                @if schedule.notifies_webhook { " Notifies a webhook." }
            }
            @if ctx.viewer.can_own() {
                form.inline method="post" action=(action) {
                    (ctx.viewer.form_token.field())
                    button.button type="submit" name="to" value=(to) {
                        (verb) span.sr { " " (schedule.name) }
                    }
                    button.button type="submit" name="to" value="run" {
                        "Run now" span.sr { " " (schedule.name) }
                    }
                }
            }
            @if runs.is_empty() { p.muted { "No runs yet." } } @else { (history(runs, ctx)) }
        }
    }
}

const fn description(job: &ScheduledJob) -> &'static str {
    match job {
        ScheduledJob::WeeklyReport { .. } => "Scores and reports the previous week.",
        ScheduledJob::Scoring(_) => "Scores the sessions of the last 7 days.",
        ScheduledJob::ReviewDraw => "Draws the previous week's review sample.",
        ScheduledJob::Feedback => {
            "Publishes the weekly document of the latest week whose review is finished."
        }
    }
}

/// Description of a simple cron expression: `Sundays 02:00 UTC`.
fn times(cron: &str, zone: &str) -> Markup {
    let zone = if zone == "Etc/UTC" { "UTC" } else { zone };
    match readable(cron) {
        Some(words) => html! { span title=(cron) { (words) " " (zone) } },
        None => html! { code { (cron) } " " (zone) },
    }
}

fn readable(cron: &str) -> Option<String> {
    let fields: Vec<&str> = cron.split_whitespace().collect();
    let [minute, hour, "*", "*", day] = fields[..] else { return None };
    let (minute, hour): (u8, u8) = (minute.parse().ok()?, hour.parse().ok()?);
    let days = match day.to_ascii_uppercase().as_str() {
        "*" => "Daily",
        "MON-FRI" | "1-5" => "Weekdays",
        "MON" | "1" => "Mondays",
        "TUE" | "2" => "Tuesdays",
        "WED" | "3" => "Wednesdays",
        "THU" | "4" => "Thursdays",
        "FRI" | "5" => "Fridays",
        "SAT" | "6" => "Saturdays",
        "SUN" | "0" | "7" => "Sundays",
        _ => return None,
    };
    Some(format!("{days} {hour:02}:{minute:02}"))
}

fn history(runs: &[ScheduleRun], ctx: &RequestContext) -> Markup {
    let columns = vec![
        Column::text("Due"),
        Column::text("Outcome"),
        Column::number("Duration"),
        Column::wide("Result"),
        Column::text("End"),
    ];
    let row = |run: &ScheduleRun| Row {
        id: run.due_at.to_string(),
        link: None,
        cells: vec![
            figure::when(run.due_at, &ctx.time),
            match run.outcome {
                ScheduleOutcome::Done => html! { span.badge.good { "done" } },
                ScheduleOutcome::Failed => html! { span.badge.bad { "failed" } },
                ScheduleOutcome::Running => html! { span.badge { "running" } },
            },
            html! { @if let Some(end) = run.ended_at { (figure::duration(end.since(run.began_at))) } },
            html! { bdi title=(run.message) { (run.message) } },
            html! { @if let Some(end) = run.ended_at { (figure::ago(end, &ctx.time)) } },
        ],
        failed: run.outcome == ScheduleOutcome::Failed,
    };
    let rows = runs.iter().map(row).collect();
    table::table(&Table { caption: "Runs".to_owned(), columns, rows, select_for: None })
}

async fn switch(
    State(web): State<Web>,
    Path((_, name)): Path<(String, String)>,
    PageForm { ctx, form }: PageForm,
) -> PageResult<Redirect> {
    // As in the API: a run costs money, so schedules need the owner role.
    ctx.viewer.may_own()?;
    let catalog = ctx.viewer.catalog(&web);
    let (project, now) = (ctx.project_id(), ctx.now);
    let done = match form.get("to") {
        Some("on") => {
            catalog.switch_schedule(project, name, ScheduleToggle::On, now).await?;
            "on"
        }
        Some("off") => {
            catalog.switch_schedule(project, name, ScheduleToggle::Off, now).await?;
            "off"
        }
        Some("run") => {
            catalog.request_run(project, name, now).await?;
            "run"
        }
        _ => return Err(PageError::Bad("to: must be on, off or run".to_owned())),
    };
    let back = Tab::Schedules.link(&ctx).with("done", done);
    Ok(Redirect::to(&back.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_simple_cron_expression_reads_as_words() {
        let shown = |cron, zone| times(cron, zone).into_string();
        assert!(shown("0 2 * * SUN", "Etc/UTC").contains(">Sundays 02:00 UTC<"));
        assert!(
            shown("30 1 * * MON-FRI", "Europe/Berlin").contains(">Weekdays 01:30 Europe/Berlin<")
        );
        assert_eq!(shown("*/5 * * * *", "Etc/UTC"), "<code>*/5 * * * *</code> UTC");
    }
}
