use axum::Router;
use axum::extract::State;
use axum::response::Redirect;
use axum::routing::post;
use maud::{Markup, html};
use ratchet_core::calendar::Zone;
use ratchet_core::cron::Cron;
use ratchet_store::catalog::{NewSchedule, ScheduleToggle, ScheduledJob, ScheduledScoring};

use super::Tab;
use crate::form::PageForm;
use crate::page_error::{PageError, PageResult};
use crate::request_context::RequestContext;
use crate::web::Web;

/// Name of the schedule that holds the runs; it stays paused.
const NAME: &str = "score-now";
const CRON: &str = "0 3 * * *";

pub(super) fn routes() -> Router<Web> {
    Router::new().route("/project/{project}/score-now", post(score))
}

/// A button that scores the last 7 days by rules; for owners, as all scheduled runs.
pub(in crate::pages) fn button(ctx: &RequestContext) -> Markup {
    html! {
        @if ctx.viewer.can_own() {
            form method="post" data-inline-errors action=(ctx.to(&["score-now"])) {
                (ctx.viewer.form_token.field())
                button.button.primary type="submit" { "Score now" }
                " " span.muted { "Sessions of the last 7 days, with the offline judge: rules, no model calls, free." }
            }
        }
    }
}

async fn score(State(web): State<Web>, PageForm { ctx, .. }: PageForm) -> PageResult<Redirect> {
    ctx.viewer.may_own()?;
    let catalog = ctx.viewer.catalog(&web);
    let known = web.store.catalog.schedules(ctx.project_id()).await?;
    if !known.iter().any(|schedule| schedule.name == NAME) {
        let cron = Cron::parse(CRON).map_err(|why| PageError::Bad(why.to_string()))?;
        let scoring = ScheduledScoring {
            judge: ratchet_core::judge::offline::NAME.to_owned(),
            rubric: ratchet_core::judge::rubric::DEFAULT.to_owned(),
            max_cost: None,
            scope: Default::default(),
        };
        let new = NewSchedule {
            name: NAME.to_owned(),
            cron,
            zone: Zone::of_this_machine(),
            job: ScheduledJob::Scoring(scoring),
            slack: None,
            webhook: None,
        };
        catalog.save_schedule(ctx.project_id(), new, web.store.secrets.clone(), ctx.now).await?;
        catalog
            .switch_schedule(ctx.project_id(), NAME.to_owned(), ScheduleToggle::Off, ctx.now)
            .await?;
    }
    catalog.request_run(ctx.project_id(), NAME.to_owned(), ctx.now).await?;
    Ok(Redirect::to(&Tab::Schedules.link(&ctx).with("done", "run").to_string()))
}
