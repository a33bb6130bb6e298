//! Ground truth: sessions that reviewers label blind to the judge's scores.

/// Label form of one session.
mod one;

use std::collections::{BTreeMap, BTreeSet};

use axum::Router;
use axum::extract::State;
use axum::response::Redirect;
use axum::routing::{get, post};
use maud::{Markup, html};
use ratchet_core::id::SessionId;
use ratchet_core::judge::rubric::Rubric;
use ratchet_core::quality::calibration::sample::SIZE;
use ratchet_core::quality::label::{DATASET, Label, LabelOrigin};
use ratchet_stages::review::labels;
use ratchet_stages::review::sampling::{self, SamplePlan};
use ratchet_stages::source::session_title::session_titles;

use super::calibration::{by_rubric, ends, refused, rubric, rubrics};
use super::reports::score_now;
use crate::components::badge::{self, Decider};
use crate::components::table::{self, Column, Row, Table};
use crate::components::{copy, empty, figure, toast};
use crate::frame::{Page, Section};
use crate::page_error::PageResult;
use crate::request_context::RequestContext;
use crate::viewer::{Identity, Viewer};
use crate::web::Web;

/// Sampling window, in days.
const DAYS: u16 = 7;

pub(super) fn routes() -> Router<Web> {
    Router::new()
        .route("/project/{project}/labels", get(list))
        .route("/project/{project}/labels/draw", post(draw))
        .route("/project/{project}/labels/session/{session}", get(one::show).post(one::keep))
}

/// Stable reviewer ID of a label.
fn by(viewer: &Viewer) -> String {
    match &viewer.who {
        Identity::Person(signed_in) => signed_in.user.email.clone(),
        Identity::Anyone => viewer.name().to_owned(),
    }
}

/// The current sample and the existing labels.
struct LabelingState {
    sampled: Vec<(SessionId, LabelOrigin)>,
    labels: Vec<Label>,
    /// Sessions labelled by this user.
    done: BTreeSet<SessionId>,
    /// First requests of the sampled sessions.
    titles: BTreeMap<SessionId, String>,
}

impl LabelingState {
    async fn read(web: &Web, ctx: &RequestContext, rubric: &Rubric) -> PageResult<Self> {
        let (source, sink) = ends(web, ctx);
        let week = sampling::week(ctx.now);
        let sampled = labels::asked(&sink, DATASET).await.map_err(|why| refused(why.into()))?;
        let mut sampled: Vec<_> =
            sampled.into_iter().filter(|(_, draw)| draw.week == week).collect();
        // By lot, not by time: an order that the judge's marks have no part in.
        sampled.sort_by(|(one, _), (other, _)| one.cmp(other));
        let mut labels = labels::read(&sink, DATASET).await.map_err(|why| refused(why.into()))?;
        labels.retain(|label| label.is_by(rubric));
        let me = by(&ctx.viewer);
        let mine = labels.iter().filter(|label| label.by == me);
        let done = mine.map(|label| label.session.clone()).collect();
        let ids = sampled.iter().map(|(session, _)| session.clone()).collect();
        let titles = session_titles(&source, ids).await.map_err(|why| refused(why.into()))?;
        Ok(Self { sampled, labels, done, titles })
    }

    /// First session of the sample that this user has not labelled.
    fn next(&self) -> Option<&SessionId> {
        let mut waiting = self.sampled.iter().map(|(session, _)| session);
        waiting.find(|session| !self.done.contains(*session))
    }

    fn drawn(&self, session: &SessionId) -> Option<&LabelOrigin> {
        self.sampled.iter().find(|(sampled, _)| sampled == session).map(|(_, draw)| draw)
    }
}

async fn list(State(web): State<Web>, ctx: RequestContext) -> PageResult<Markup> {
    let rubric = rubric(&web, &ctx)?;
    let labeling = LabelingState::read(&web, &ctx, &rubric).await?;
    let mut page = Page::new(Section::Labels, "Ground truth");
    let waiting =
        labeling.sampled.iter().filter(|(session, _)| !labeling.done.contains(session)).count();
    page.summary = html! {
        @if labeling.sampled.is_empty() { "No sample for this week yet." }
        @else { (figure::grouped(waiting as u64)) " of " (labeling.sampled.len()) " sessions waiting for your label this week." }
    };
    page.action = html! {
        @if let Some(next) = labeling.next() {
            a.button.primary href=(by_rubric(&ctx, &["labels", "session", &next.to_string()])) data-next { "Label next session" }
        }
    };
    page.body = html! {
        @match ctx.params.get("done") {
            Some("drawn") if labeling.sampled.is_empty() => {
                (toast::toast("No sessions to sample: the judge has scored none this week"))
            },
            Some("drawn") => { (toast::toast("This week's sample is created")) },
            _ => {},
        }
        @if labeling.sampled.is_empty() { (nothing(&ctx)) } @else { (sample(&labeling, &ctx)) }
        p.muted {
            (figure::grouped(labeling.labels.len() as u64)) " labels in the dataset "
            a href=(ctx.to(&["datasets", DATASET])) { (DATASET) } ". "
            a href=(by_rubric(&ctx, &["calibration"])) { "View calibration" }
        }
        (rubrics(&web, &ctx, &rubric))
    };
    Ok(page.show(&ctx))
}

fn nothing(ctx: &RequestContext) -> Markup {
    let how = html! {
        p {
            "Each week " (SIZE) " scored sessions are sampled, stratified by score and agent. You label them "
            "without seeing the judge's scores; calibration then measures the agreement."
        }
        @if ctx.viewer.can_change() {
            form method="post" action=(by_rubric(ctx, &["labels", "draw"])) {
                (ctx.viewer.form_token.field())
                button.button.primary { "Create this week's sample" }
            }
        }
        p.muted { "Score sessions first:" }
        (score_now::button(ctx))
        (copy::snippet(&ctx.command("score")))
    };
    empty::empty("No sessions to label yet", &how)
}

fn sample(labeling: &LabelingState, ctx: &RequestContext) -> Markup {
    let columns =
        vec![Column::wide("Session"), Column::text("Status"), Column::text("Labelled by")];
    let row = |(session, _): &(SessionId, LabelOrigin)| {
        let id = session.to_string();
        let people: Vec<&str> = labeling
            .labels
            .iter()
            .filter(|label| label.session == *session)
            .map(|label| label.by.as_str())
            .collect();
        let state = if labeling.done.contains(session) {
            badge::decided(Decider::Human, "done")
        } else {
            badge::tag("waiting")
        };
        Row {
            link: Some(by_rubric(ctx, &["labels", "session", &id])),
            cells: vec![
                html! {
                    @match labeling.titles.get(session) {
                        Some(title) => { span title=(id) { bdi { (title) } } },
                        None => { code { bdi { (ratchet_core::record::limit::elide(&id, 60)) } } },
                    }
                },
                state,
                html! { bdi { (people.join(", ")) } },
            ],
            id,
            failed: false,
        }
    };
    let rows = labeling.sampled.iter().map(row).collect();
    let caption = "This week's sample".to_owned();
    table::table(&Table { caption, columns, rows, select_for: None })
}

async fn draw(State(web): State<Web>, ctx: RequestContext) -> PageResult<Redirect> {
    ctx.viewer.may_change()?;
    let (source, sink) = ends(&web, &ctx);
    let rubric = &rubric(&web, &ctx)?;
    let asking = SamplePlan { dataset: DATASET, rubric, days: DAYS, size: SIZE };
    sampling::this_week(&source, &sink, asking, ctx.now).await.map_err(refused)?;
    Ok(Redirect::to(&by_rubric(&ctx, &["labels"]).with("done", "drawn").to_string()))
}
