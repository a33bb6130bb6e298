use axum::extract::State;
use axum::response::Redirect;
use maud::{Markup, html};
use ratchet_core::calendar::{Week, Zone};
use ratchet_core::improve::backlog::{ProposalAction, ProposalContent};
use ratchet_core::judge::offline::overrides::draft::OverrideDraft;
use ratchet_core::judge::offline::success::fit::MIN_LABELS;
use ratchet_core::judge::rubric::Rubric;
use ratchet_core::quality::label::DATASET;
use ratchet_core::quality::report::signed;
use ratchet_stages::review::{JudgeSelection, LabelComparison, signal_overrides};

use super::{by_rubric, ends, refused, rubric};
use crate::components::table::{self, Column, Row, Table};
use crate::components::{copy, figure};
use crate::form::PageForm;
use crate::page_error::{PageError, PageResult};
use crate::request_context::RequestContext;
use crate::web::Web;

/// The parameter that asks for drafts: every labelled session is read for them.
const ASKED: &str = "drafts";
/// The field with the drafts that a person has seen.
const SEEN: &str = "seen";

/// Says what signals count in this project, and what labels would change about it.
pub(super) async fn draw(
    web: &Web,
    ctx: &RequestContext,
    held: &LabelComparison,
    rubric: &Rubric,
) -> PageResult<Markup> {
    let used = web.signal_overrides(&ctx.project_id()).map_err(|_| unreadable())?;
    let has_labels = held.labelled() >= MIN_LABELS;
    if used.is_none() && !has_labels {
        return Ok(html! {});
    }
    let drafts = match has_labels && ctx.params.get(ASKED).is_some() {
        true => Some(drafts(web, ctx, held, rubric).await?),
        false => None,
    };
    Ok(html! {
        h2 #overrides { "Signal overrides of the offline judge" }
        @match &used {
            Some((overrides, is_used)) => {
                p {
                    "Version " (overrides.version) ", drafted from labels and applied by a person. "
                    @if !is_used { b { "Not in use" } ": they are about other signals." }
                }
                ul {
                    @for (name, change) in &overrides.dimension {
                        li { (name) ": base " (change.base) ". " span.muted { (change.checked) "." } }
                    }
                }
            },
            None => { p { "None: signals count as they ship." } },
        }
        @match &drafts {
            Some(drafts) => { (shown(ctx, drafts)) },
            None if has_labels => {
                p {
                    a.button href=(format!("{}#overrides", ctx.here().with(ASKED, "overrides"))) {
                        "Draft overrides from labels"
                    }
                    " " span.muted { "Reads the labelled sessions. Nothing changes until an owner accepts the draft." }
                }
            },
            None => {},
        }
    })
}

async fn drafts(
    web: &Web,
    ctx: &RequestContext,
    held: &LabelComparison,
    rubric: &Rubric,
) -> PageResult<Vec<OverrideDraft>> {
    let signals = web.signals(&ctx.project_id()).map_err(|_| unreadable())?;
    let (source, _) = ends(web, ctx);
    signal_overrides::drafts(&source, held, (&signals, rubric)).await.map_err(refused)
}

fn shown(ctx: &RequestContext, drafts: &[OverrideDraft]) -> Markup {
    if drafts.is_empty() {
        return html! {
            p {
                "No draft: no other weight of the signals agrees better with people, beyond chance, on "
                "sessions that it was not fitted to."
            }
        };
    }
    let columns = vec![
        Column::text("Dimension"),
        Column::wide("Change"),
        Column::number("Error now"),
        Column::number("Error with the draft"),
        Column::number("Better by"),
        Column::text("95% CI"),
        Column::number("Labels"),
        Column::number("Tasks"),
    ];
    let rows = drafts.iter().map(row).collect();
    let caption = "Draft of signal overrides".to_owned();
    html! {
        (table::table(&Table { caption, columns, rows, select_for: None }))
        p.muted {
            "Error: mean absolute difference from people, on a scale from 0 to 1. With the draft it is "
            "cross-validated: measured on tasks that the draft was not fitted to."
        }
        @if ctx.viewer.can_own() {
            form method="post" data-inline-errors action=(by_rubric(ctx, &["calibration", "overrides"])) {
                (ctx.viewer.form_token.field())
                input type="hidden" name=(SEEN) value=(seen(drafts));
                button.button.primary type="submit" { "Score with this draft from now on" }
            }
            p.muted { "Scores that exist stay as they are; score earlier sessions again with:" }
            (copy::snippet(&ctx.command("score --rescore")))
        } @else {
            p.muted { "An owner of the project can accept the draft." }
        }
    }
}

fn row(draft: &OverrideDraft) -> Row {
    let effects = draft.effects.iter().filter(|(_, [before, after])| before != after);
    let effects: Vec<String> = effects
        .map(|(signal, [before, after])| format!("{} {before} to {after:.2}", signal.name()))
        .collect();
    let two = |value: f64| html! { (format!("{value:.2}")) };
    let interval =
        draft.gain.interval.map(|it| format!("{} to {}", signed(it.lower), signed(it.upper)));
    Row {
        id: format!("draft-{}", draft.dimension),
        link: None,
        cells: vec![
            html! { (draft.dimension) },
            html! {
                (draft.change())
                @if !effects.is_empty() { details { summary { "Effects" } (effects.join(", ")) } }
            },
            two(draft.error[0]),
            two(draft.error[1]),
            two(draft.gain.value),
            html! { (interval.unwrap_or_default()) },
            html! { (figure::grouped(draft.labels as u64)) },
            html! { (figure::grouped(draft.tasks as u64)) },
        ],
        failed: false,
    }
}

/// What a person agrees to: other labels may give other drafts by the time the form arrives.
fn seen(drafts: &[OverrideDraft]) -> String {
    let one = |draft: &OverrideDraft| {
        format!("{} {:.4} {:.4}", draft.dimension, draft.base[1], draft.factor)
    };
    drafts.iter().map(one).collect::<Vec<_>>().join("; ")
}

/// Accepts the drafts that were shown.
pub(super) async fn accept(
    State(web): State<Web>,
    PageForm { ctx, form }: PageForm,
) -> PageResult<Redirect> {
    ctx.viewer.may_own()?;
    let rubric = &rubric(&web, &ctx)?;
    let (source, sink) = ends(&web, &ctx);
    let whom = JudgeSelection { dataset: DATASET, rubric, judge: None };
    let held = LabelComparison::read(&source, &sink, whom).await.map_err(refused)?;
    let drafts = drafts(&web, &ctx, &held, rubric).await?;
    if drafts.is_empty() || form.get(SEEN) != Some(seen(&drafts).as_str()) {
        let why = "the draft is another one now, because labels or signals changed; nothing was \
                   changed: open the calibration page and look at it again";
        return Err(PageError::Bad(why.to_owned()));
    }
    let project = ctx.project_id();
    let signals = web.signals(&project).map_err(|_| unreadable())?;
    let overrides = web.accepted_overrides(&project, (&signals, rubric), &drafts);
    let overrides = overrides.map_err(|_| unreadable())?;
    let dimensions: Vec<&str> = drafts.iter().map(|draft| draft.dimension.as_str()).collect();
    let (catalog, version) = (ctx.viewer.catalog(&web), overrides.version);
    catalog.note_signal_overrides(project.clone(), version, dimensions.join(", "), ctx.now).await?;
    web.write_signal_overrides(&project, &overrides).map_err(|error| unwritable(&error))?;
    let week = Week::of(ctx.now, &Zone::utc()).days().0;
    let found = drafts.iter().map(|draft| ProposalContent::of_overrides(&rubric.name, draft));
    let tracked = catalog.track_proposals(project.clone(), week, found.collect(), ctx.now).await?;
    for stored in tracked {
        for action in [ProposalAction::Accept, ProposalAction::Done { note: None }] {
            let done = catalog.act_on_proposal(project.clone(), stored.id.clone(), action, ctx.now);
            // One that was rejected before stays so, with its reason.
            drop(done.await?);
        }
    }
    Ok(Redirect::to(&format!("{}#overrides", by_rubric(&ctx, &["calibration"]))))
}

/// The error of a file names a path of the data folder.
fn unreadable() -> PageError {
    PageError::Bad("the signal overrides of this project cannot be read".to_owned())
}

fn unwritable(error: &std::io::Error) -> PageError {
    tracing::error!(error = error as &dyn std::error::Error, "cannot write signal overrides");
    let why = "the server cannot write the signal overrides; nothing was changed";
    PageError::Bad(why.to_owned())
}
