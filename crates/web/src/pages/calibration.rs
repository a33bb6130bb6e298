//! How far the judge is to be trusted: what it said first, held against what people say.

/// One dimension, statistic by statistic.
mod dimension;
/// The sessions of which both think differently.
mod disagreements;
/// Drafts of signal overrides.
mod overrides;
/// P(success), fitted to labels.
mod success;

use std::collections::BTreeMap;

use axum::Router;
use axum::extract::State;
use axum::response::Redirect;
use axum::routing::{get, post};
use maud::{Markup, html};
use ratchet_core::counted::{counted, verb_of};
use ratchet_core::id::SessionId;
use ratchet_core::judge::rubric::{self, Rubric};
use ratchet_core::quality::calibration::advice;
use ratchet_core::quality::calibration::panel::{self, PanelDrift};
use ratchet_core::quality::calibration::weighted::{StratumCoverage, WeightedAgreement};
use ratchet_core::quality::calibration::{
    Agreement, Calibration, Headline, MIN_LABELS, OVERALL, TARGET, THRESHOLD, ThresholdResult,
};
use ratchet_core::quality::label::DATASET;
use ratchet_core::stats::undefined::Undefined;
use ratchet_stages::review::sampling::{self, SamplePlan};
use ratchet_stages::review::session_queue;
use ratchet_stages::review::{JudgeSelection, LabelComparison, ReviewError, panel as panels};
use ratchet_stages::score::rubrics::ReadableRubrics;
use ratchet_stages::sink::{LocalSink, Sink, SinkError};
use ratchet_stages::source::session_title::session_titles;
use ratchet_stages::source::{Source, SourceError};

use crate::components::agreement::Line;
use crate::components::stat::{self, Stat, Value};
use crate::components::table::{self, Column, Row, Table};
use crate::components::{agreement, alarm, copy, empty, figure};
use crate::frame::{Page, Section};
use crate::page_error::{PageError, PageResult};
use crate::pages::reports::score_now;
use crate::request_context::{Link, RequestContext};
use crate::web::Web;

/// Sampling window, in days.
const DAYS: u16 = 7;

pub(super) fn routes() -> Router<Web> {
    Router::new()
        .route("/project/{project}/calibration", get(show))
        .route("/project/{project}/calibration/sample", post(draw_sample))
        .route("/project/{project}/calibration/overrides", post(overrides::accept))
}

/// Where labels are read and written, and scores read.
pub(super) fn ends(web: &Web, ctx: &RequestContext) -> (Source, Sink) {
    let (telemetry, project) = (web.store.telemetry.clone(), ctx.project_id());
    let catalog = ctx.viewer.catalog(web);
    let source = Source::Local(telemetry.clone(), project.clone());
    (source, Sink::Local(LocalSink { telemetry, catalog, project }))
}

/// The rubric that the address names: the project's own, or one that comes with Ratchet.
pub(super) fn rubric(web: &Web, ctx: &RequestContext) -> PageResult<Rubric> {
    let name = ctx.params.get("rubric").unwrap_or(rubric::DEFAULT);
    let all = web.rubrics().rubrics;
    all.into_iter().find(|rubric| rubric.name == name).ok_or_else(|| PageError::not_there("rubric"))
}

/// A link that keeps to the rubric that the address names.
pub(super) fn by_rubric(ctx: &RequestContext, parts: &[&str]) -> Link {
    let link = ctx.to(parts);
    match ctx.params.get("rubric") {
        Some(name) => link.with("rubric", name),
        None => link,
    }
}

/// Says by which rubric, leads to the others, and names files that cannot be used.
pub(super) fn rubrics(web: &Web, ctx: &RequestContext, rubric: &Rubric) -> Markup {
    let ReadableRubrics { rubrics: all, faults } = web.rubrics();
    let others: Vec<&Rubric> = all.iter().filter(|other| other.name != rubric.name).collect();
    html! {
        (alarm::rubric_files(&faults, &ctx.viewer))
        p.muted {
            "Rubric " bdi { b { (rubric.name) } } ", version " (rubric.version) "."
            @if !others.is_empty() {
                " Other rubrics: "
                @for (at, other) in others.into_iter().enumerate() {
                    @if at > 0 { ", " }
                    a href=(ctx.here().with("rubric", &other.name)) { bdi { (other.name) } }
                }
                "."
            }
        }
    }
}

/// What went wrong with labels or scores, as pages tell it.
pub(super) fn refused(why: ReviewError) -> PageError {
    match why {
        ReviewError::Labels(SinkError::Store(why))
        | ReviewError::Scores(SourceError::Store(why)) => why.into(),
        ReviewError::Labels(why) => PageError::Bad(why.to_string()),
        ReviewError::Scores(why) => PageError::Bad(why.to_string()),
        ReviewError::Model(_) | ReviewError::Judging(_) | ReviewError::NoCriterion(_) => {
            PageError::Busy
        }
    }
}

async fn show(State(web): State<Web>, ctx: RequestContext) -> PageResult<Markup> {
    let rubric = &rubric(&web, &ctx)?;
    let (source, sink) = ends(&web, &ctx);
    let whom = JudgeSelection { dataset: DATASET, rubric, judge: ctx.params.get("judge") };
    let held = LabelComparison::read(&source, &sink, whom).await.map_err(refused)?;
    let threshold = ctx.params.get("threshold").and_then(|text| text.parse().ok());
    let threshold = threshold.filter(|line| (0.0..=1.0).contains(line)).unwrap_or(THRESHOLD);
    let calibration = held.calibration(rubric, threshold);
    let panels = panels::read(&sink).await.map_err(|why| refused(why.into()))?;
    let panels = panel::drifts(&panels);
    let drift: Vec<_> = panels.iter().flat_map(PanelDrift::alerts).collect();
    let success = html! {
        (success::draw(&web, &ctx, &held, rubric)?)
        (overrides::draw(&web, &ctx, &held, rubric).await?)
    };
    let far = disagreements::listed(&calibration).into_iter().map(|one| one.session.clone());
    let titles = session_titles(&source, far.collect()).await;
    let titles = titles.map_err(|why| refused(why.into()))?;
    let mut page = Page::new(Section::Calibration, "Calibration");
    page.summary = summary(&calibration);
    page.action = html! { @if calibration.sessions > 0 { (label_button(&ctx)) } };
    page.body = html! {
        (alarm::drift(&drift))
        (alarm::panels(&panels))
        @if calibration.sessions == 0 { (nothing(&held, &ctx)) }
        @else { (body(&calibration, (&held, rubric), (&success, &titles), &ctx)) }
        @if calibration.sessions == 0 { (success) }
        (rubrics(&web, &ctx, rubric))
    };
    Ok(page.show(&ctx))
}

/// Draws this week's sample, if there is none yet, and opens its review.
fn label_button(ctx: &RequestContext) -> Markup {
    html! {
        @if ctx.viewer.can_change() {
            form method="post" action=(by_rubric(ctx, &["calibration", "sample"])) {
                (ctx.viewer.form_token.field())
                button.button.primary { "Label this week's sample" }
            }
        }
    }
}

/// `POST …/calibration/sample`: draws this week's sample into its queue.
async fn draw_sample(State(web): State<Web>, ctx: RequestContext) -> PageResult<Redirect> {
    ctx.viewer.may_change()?;
    let rubric = &rubric(&web, &ctx)?;
    let (source, sink) = ends(&web, &ctx);
    let plan = SamplePlan { dataset: DATASET, rubric, days: DAYS, size: None };
    let drawn = sampling::this_week(&source, &sink, plan, ctx.now).await.map_err(refused)?;
    let name = session_queue::name(DATASET, &rubric.name);
    let queue = web.store.catalog.queue_named(ctx.project_id(), name).await?;
    let to = match queue {
        Some(queue) if !drawn.is_empty() => ctx.to(&["queues", &queue.id, "review"]),
        _ => by_rubric(&ctx, &["calibration"]).with("done", "none"),
    };
    Ok(Redirect::to(&to.to_string()))
}

fn summary(calibration: &Calibration) -> Markup {
    let correlation = calibration.correlation();
    html! {
        "Judge–human correlation: "
        @match correlation {
            Ok(estimate) => {
                b { (agreement::two(estimate.value)) }
                " (" (agreement::interval(correlation)) ", n = " (figure::grouped(estimate.n))
                @if calibration.is_weighted() { ", weighted" } ")."
            },
            Err(why) => { (advice::missing(why)) "." },
        }
    }
}

fn nothing(held: &LabelComparison, ctx: &RequestContext) -> Markup {
    let how = html! {
        p {
            "Reviewers label a few sessions each week without seeing the judge's scores. This page shows how "
            "well both agree, by dimension, and where they disagree."
        }
        @if held.labelled() > 0 {
            p {
                (counted(held.labelled(), "session")) " " (verb_of(held.labelled(), ["is", "are"]))
                " labelled, but the judge has scored none of them."
            }
            (score_now::button(ctx))
            (copy::snippet(&ctx.command("score")))
        } @else {
            (label_button(ctx))
            @if ctx.params.get("done") == Some("none") {
                p { "No sessions to sample: the judge has scored none this week." }
                (score_now::button(ctx))
            }
            (copy::snippet(&ctx.command("label")))
        }
    };
    empty::empty("No labels to compare yet", &how)
}

fn body(
    calibration: &Calibration,
    (held, rubric): (&LabelComparison, &Rubric),
    (success, titles): (&Markup, &BTreeMap<SessionId, String>),
    ctx: &RequestContext,
) -> Markup {
    let chosen = ctx.params.get("dimension").unwrap_or(OVERALL);
    let all = || std::iter::once(&calibration.overall).chain(&calibration.dimensions);
    let chosen = all().find(|one| one.dimension == chosen).unwrap_or(&calibration.overall);
    // A link to a dimension opens what it leads to.
    let is_open = ctx.params.get("dimension").is_some();
    html! {
        p.lead { (advice::advice(calibration)) }
        (stats(calibration, held))
        (who(held, ctx))
        (success)
        h2 { "By dimension" }
        (standings(calibration))
        @if let Some(weighted) = &calibration.weighted { (coverage(weighted)) }
        (disagreements::draw(calibration, (held, rubric), titles, ctx))
        details.experts open[is_open] {
            summary { "Statistics for experts" }
            @if let Some(weighted) = &calibration.weighted { (weighed(weighted)) }
            h2 { "Agreement by dimension" }
            (dimensions(calibration, chosen, ctx))
            (dimension::draw(chosen))
        }
    }
}

/// Coverage of the figures, and strata without labels.
fn coverage(weighted: &WeightedAgreement) -> Markup {
    let columns = vec![
        Column::text("Score band"),
        Column::text("Agent"),
        Column::number("Sessions"),
        Column::number("In the sample"),
        Column::number("Labelled"),
    ];
    let row = |stratum: &StratumCoverage| Row {
        id: format!("{}-{}", stratum.band.as_str(), stratum.agent.as_deref().unwrap_or_default()),
        link: None,
        cells: vec![
            html! { (stratum.band.as_str()) },
            html! { @match &stratum.agent { Some(agent) => { bdi { (agent) } }, None => { span.muted { "all" } } } },
            html! { (figure::grouped(stratum.population)) },
            html! { (figure::grouped(stratum.drawn)) },
            html! {
                @if stratum.labelled == 0 { span.badge.warn { "none" } }
                @else { (figure::grouped(stratum.labelled)) }
            },
        ],
        failed: false,
    };
    let rows = weighted.strata.iter().map(row).collect();
    let caption = "What the labels stand for".to_owned();
    html! {
        h2 { "What the labels stand for" }
        p.muted {
            "The figures stand for " (figure::grouped(weighted.stands_for)) " of "
            (figure::grouped(weighted.population)) " scored sessions ("
            (figure::percent(weighted.covered())) "): those of the kinds that have a label, over all weeks."
        }
        (table::table(&Table { caption, columns, rows, select_for: None }))
    }
}

/// Where the judge can be relied on, one line a dimension.
fn standings(calibration: &Calibration) -> Markup {
    let columns = vec![
        Column::text("Dimension"),
        Column::number("Labels"),
        Column::number("Mean difference"),
        Column::text("95% CI"),
        Column::text("Judge"),
    ];
    let words = ["can be relied on", "cannot be relied on", "not enough data"];
    let row = |one: &Agreement| {
        let is_told = one.pairs.len() >= MIN_LABELS;
        let error = if is_told { one.error } else { Err(too_few(one.pairs.len())) };
        Row {
            id: format!("standing-{}", one.dimension),
            link: None,
            cells: vec![
                html! { (one.dimension) },
                html! { (one.pairs.len()) },
                agreement::cell(error),
                html! { @match error {
                    Ok(_) => { (agreement::interval(error)) },
                    Err(why) => { span.muted { (advice::missing(why)) } },
                } },
                agreement::standing(
                    if is_told { one.standing } else { ThresholdResult::CannotTell },
                    words,
                ),
            ],
            failed: false,
        }
    };
    let rows =
        std::iter::once(&calibration.overall).chain(&calibration.dimensions).map(row).collect();
    let caption = "Reliability by dimension".to_owned();
    table::table(&Table { caption, columns, rows, select_for: None })
}

fn too_few(have: usize) -> Undefined {
    if have == 0 { Undefined::Empty } else { Undefined::TooFew { have, needed: MIN_LABELS } }
}

fn stats(calibration: &Calibration, held: &LabelComparison) -> Markup {
    let stat =
        |label: &str, statistic: ratchet_core::quality::calibration::Statistic, says: &str| Stat {
            label: label.to_owned(),
            value: match statistic {
                Ok(estimate) => Value::Known {
                    text: agreement::two(estimate.value),
                    interval: Some(agreement::interval(statistic)),
                    provenance: format!("{says}, n = {}", estimate.n),
                },
                Err(why) => Value::CannotTell(advice::missing(why)),
            },
            ..Stat::default()
        };
    let people = held.people().len();
    let Headline { is_weighted, correlation: follows, error, bias, .. } = calibration.headline();
    let how = if is_weighted { "weighted by sampling probability" } else { "unweighted" };
    html! {
        (stat::row(&[
            stat("Correlation", follows, &format!("Pearson, overall quality, {how}")),
            stat("Mean abs. error", error, &format!("overall quality, {how}")),
            stat("Bias (judge − human)", bias, &format!("overall quality, {how}")),
            Stat {
                label: "Labelled".to_owned(),
                value: Value::of(figure::grouped(held.labelled() as u64), "labelled sessions"),
                change: Some(format!("by {}", counted(people, "person"))),
                ..Stat::default()
            },
        ]))
        p.lead {
            (agreement::standing(calibration.target, ["target met", "target not met", "not enough data"]))
            " Target: the whole 95% CI of the correlation above " (agreement::two(TARGET)) "."
        }
    }
}

/// What the sessions that were drawn say of all.
fn weighed(weighted: &WeightedAgreement) -> Markup {
    let line = |name, statistic, says| Line { name, says, statistic };
    let lines = [
        line("Pearson", weighted.pearson, "linear correlation; 1 is perfect"),
        line("Mean absolute error", weighted.error, "average absolute difference"),
        line("Bias", weighted.bias, "judge minus human, on average"),
        line("Within threshold", weighted.within, "share of sessions within the threshold"),
        line("Sensitivity", weighted.sensitivity, "share of problem sessions the judge flags"),
        line("Specificity", weighted.specificity, "share of good sessions the judge passes"),
    ];
    html! {
        h2 { "Estimate for all sessions" }
        p.muted {
            (figure::grouped(weighted.sessions)) " labelled sessions from the weekly samples represent "
            (figure::counted(weighted.stands_for, "session")) ". The sample is stratified, so each session is weighted by the inverse of its "
            "sampling probability; the tables below are unweighted."
        }
        (agreement::table("Agreement on overall quality, weighted", &lines))
    }
}

/// Whose first scores these are.
fn who(held: &LabelComparison, ctx: &RequestContext) -> Markup {
    html! {
        p.muted {
            "Agreement uses the first score of each session. Judge: "
            @if let Some(judge) = &held.judge {
                bdi title=(judge.exact_words()) { (judge.words()) }
                " (" (figure::grouped(held.spoken.len() as u64)) ")"
            }
            @if !held.others.is_empty() {
                ". Not in these figures, because others scored first: "
                @for (at, (judge, count)) in held.others.iter().enumerate() {
                    @if at > 0 { ", " }
                    a href=(ctx.here().with("judge", judge.exact_words())) { bdi { (judge.exact_words()) } }
                    " (" (figure::grouped(*count)) ")"
                }
            }
            ". Reviewers: "
            @for (at, person) in held.people().into_iter().enumerate() {
                @if at > 0 { ", " } bdi { (person) }
            }
            "."
        }
    }
}

fn dimensions(calibration: &Calibration, chosen: &Agreement, ctx: &RequestContext) -> Markup {
    let columns = vec![
        Column::text("Dimension"),
        Column::number("n"),
        Column::number("Pearson"),
        Column::number("Spearman"),
        Column::number("MAE"),
        Column::number("Bias"),
        Column::number("Kappa"),
        Column::number("Weighted kappa"),
        Column::number("AC1"),
        Column::number("Sensitivity"),
        Column::number("Specificity"),
        Column::number("Human alpha"),
        Column::text("Threshold"),
    ];
    let row = |one: &Agreement| {
        let grades = one.grades.as_ref();
        let grade = |of: fn(
            &ratchet_core::quality::calibration::Grades,
        ) -> ratchet_core::quality::calibration::Statistic| {
            grades.map_or_else(
                || html! { span.muted title="not an ordinal scale" { "–" } },
                |grades| agreement::cell(of(grades)),
            )
        };
        let words = ["within", "beyond", "not enough data"];
        Row {
            id: one.dimension.clone(),
            link: Some(ctx.here().with("dimension", &one.dimension)),
            cells: vec![
                html! { @if one.dimension == chosen.dimension { strong { (one.dimension) } } @else { (one.dimension) } },
                html! { (one.pairs.len()) },
                agreement::cell(one.pearson),
                agreement::cell(one.spearman),
                agreement::cell(one.error),
                agreement::cell(one.bias),
                grade(|grades| grades.kappa),
                grade(|grades| grades.weighted_kappa),
                grade(|grades| grades.ac1),
                agreement::cell(one.sensitivity),
                agreement::cell(one.specificity),
                agreement::cell(one.people),
                agreement::standing(one.standing, words),
            ],
            failed: false,
        }
    };
    let rows =
        std::iter::once(&calibration.overall).chain(&calibration.dimensions).map(row).collect();
    let caption = "Agreement by dimension".to_owned();
    html! {
        (table::table(&Table { caption, columns, rows, select_for: None }))
        p.muted {
            "Hover a number for its 95% CI, or a dash for why it is missing. Beyond threshold: the whole interval "
            "of the mean absolute error is above " (agreement::two(calibration.threshold)) ". "
            code { "ratchet calibrate" } " then drafts a revised criterion for a model; overrides of the "
            "offline judge's signals are drafted above."
        }
    }
}
