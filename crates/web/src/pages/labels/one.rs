use std::collections::BTreeMap;

use axum::extract::{Path, State};
use axum::response::Redirect;
use maud::{Markup, html};
use ratchet_core::id::SessionId;
use ratchet_core::judge::rubric::{Dimension, Rubric, Scale};
use ratchet_core::quality::calibration::draft::mark;
use ratchet_core::quality::label::table::within;
use ratchet_core::quality::label::{DATASET, Label, MAX_WHY, Mark};
use ratchet_core::record::limit::elide;
use ratchet_stages::review::judge_scores::{self, JudgeScore};
use ratchet_stages::review::labels;

use super::{LabelingState, by};
use crate::assets;
use crate::components::badge::{self, Decider};
use crate::components::toast;
use crate::form::PageForm;
use crate::frame::{Page, Section};
use crate::page_error::{PageError, PageResult};
use crate::pages::calibration::{by_rubric, ends, refused, rubric};
use crate::pages::session;
use crate::request_context::{Params, RequestContext};
use crate::web::Web;

pub(super) async fn show(
    State(web): State<Web>,
    ctx: RequestContext,
    Path((_, id)): Path<(String, String)>,
) -> PageResult<Markup> {
    let id = SessionId::parse(&id).map_err(|_| PageError::not_there("session"))?;
    let rubric = &rubric(&web, &ctx)?;
    let labeling = LabelingState::read(&web, &ctx, rubric).await?;
    let me = by(&ctx.viewer);
    let mine = labeling.labels.iter().find(|label| label.session == id && label.by == me);
    let conversation = session::blind(&web, &ctx, &id).await?;
    let mut page = Page::new(Section::Labels, "Label session");
    page.crumbs = vec![("Ground truth".to_owned(), by_rubric(&ctx, &["labels"]))];
    page.summary = html! { "Session " bdi { code { (elide(&id.to_string(), 60)) } } };
    let side = match mine {
        Some(label) if ctx.params.get("again").is_none() => {
            let (source, _) = ends(&web, &ctx);
            let judged = judge_scores::first(&source, &id, rubric, None).await;
            let judged = judged.map_err(|why| refused(why.into()))?;
            revealed(label, judged.as_ref(), rubric, &labeling, &ctx)
        }
        mine => form(&id, mine, rubric, &ctx),
    };
    page.body = html! {
        @if ctx.params.get("done").is_some() { (toast::toast("Saved")) }
        div.labelling {
            aside.label-side { (side) }
            (conversation)
        }
        script type="module" src=(assets::address("label.js")) {}
    };
    Ok(page.show(&ctx))
}

/// Form with all dimensions and a comment.
fn form(id: &SessionId, before: Option<&Label>, rubric: &Rubric, ctx: &RequestContext) -> Markup {
    let given = |name: &str| before.and_then(|label| label.marks.get(name));
    let why = before.and_then(|label| label.why.as_deref()).unwrap_or_default();
    html! {
        form.label-form data-label method="post"
             action=(by_rubric(ctx, &["labels", "session", &id.to_string()])) {
            (ctx.viewer.form_token.field())
            @for dimension in &rubric.dimensions { (dimension_field(dimension, given(&dimension.name))) }
            label for="why" { "Comment" }
            textarea #why name="why" rows="3" maxlength=(MAX_WHY) { (why) }
            p.actions {
                button.button.primary { "Save & reveal judge" } " "
                a.button href=(ctx.to(&["labels"])) { "Back" }
            }
            p.muted.keys-hint {
                "Keys: a number sets the focused dimension, " kbd { "-" } " not observable, "
                kbd { "j" } " " kbd { "k" } " next / previous, " kbd { "w" } " comment, " kbd { "Ctrl Enter" } " save."
            }
        }
    }
}

fn dimension_field(dimension: &Dimension, given: Option<&Mark>) -> Markup {
    let name = &dimension.name;
    let typed = given.map(Mark::text);
    html! {
        fieldset data-dimension {
            legend { (name) }
            details.criteria { summary { "Criteria" } p { (elide(&dimension.criteria, 2_000)) } }
            div.marks {
                @match &dimension.scale {
                    Scale::Numeric => {
                        @for step in ["0", "0.25", "0.5", "0.75", "1"] { (choice(name, step, step, typed.as_deref())) }
                    },
                    Scale::Ordered(grades) => {
                        @for grade in grades { (choice(name, &grade.label, &grade.label, typed.as_deref())) }
                    },
                }
                (choice(name, "-", "not observable", typed.as_deref()))
            }
            @if dimension.scale == Scale::Numeric {
                @let exact = typed.as_deref().filter(|text| !["0", "0.25", "0.5", "0.75", "1", "-"].contains(text));
                label.exact { "or exact value "
                    input type="number" name={ (name) ".exact" } min="0" max="1" step="0.01" value=[exact]
                          aria-label={ (name) ", from 0 to 1" };
                }
            }
        }
    }
}

fn choice(name: &str, value: &str, shown: &str, typed: Option<&str>) -> Markup {
    html! {
        label.mark {
            input type="radio" name=(name) value=(value) checked[typed == Some(value)];
            span { (shown) }
        }
    }
}

/// Comparison with the judge's scores, after the label is saved.
fn revealed(
    label: &Label,
    judged: Option<&JudgeScore>,
    rubric: &Rubric,
    labeling: &LabelingState,
    ctx: &RequestContext,
) -> Markup {
    let marks = label.marks(rubric);
    let judge = |name: &str| judged.and_then(|judged| judged.marks.get(name)).copied();
    html! {
        h2 { "You vs. judge" }
        @if judged.is_none() {
            p.muted { "The judge has not scored this session yet." }
        }
        dl.revealed {
            @for dimension in &rubric.dimensions {
                @let (yours, theirs) = (marks.get(&dimension.name).copied(), judge(&dimension.name));
                @let differs = matches!((yours, theirs), (Some(yours), Some(theirs)) if (yours - theirs).abs() > 0.2);
                dt { (dimension.name) @if differs { " " span.badge.warn { "Disagrees" } } }
                dd {
                    (badge::decided(Decider::Human, &shown(dimension, yours))) " "
                    @if judged.is_some() { (badge::decided(Decider::Model, &shown(dimension, theirs))) }
                    @if let Some(why) = judged.and_then(|judged| judged.reasons.get(&dimension.name)) {
                        p.muted { bdi { (elide(why, 500)) } }
                    }
                }
            }
        }
        @if let Some(why) = &label.why { p { "Your comment: " bdi { (elide(why, 1_000)) } } }
        p.actions {
            @if let Some(next) = labeling.next() {
                a.button.primary href=(by_rubric(ctx, &["labels", "session", &next.to_string()])) data-next { "Next session" } " "
            } @else {
                a.button.primary href=(by_rubric(ctx, &["calibration"])) { "View calibration" } " "
            }
            a.button href=(ctx.here().without("done").with("again", "1")) { "Edit label" }
        }
    }
}

fn shown(dimension: &Dimension, value: Option<f64>) -> String {
    value.map_or_else(|| "not observable".to_owned(), |value| mark(dimension, value))
}

pub(super) async fn keep(
    State(web): State<Web>,
    Path((_, id)): Path<(String, String)>,
    PageForm { ctx, form }: PageForm,
) -> PageResult<Redirect> {
    let id = SessionId::parse(&id).map_err(|_| PageError::not_there("session"))?;
    let there = web.store.telemetry.session(ctx.project_id(), id.clone()).await?;
    there.ok_or_else(|| PageError::not_there("session"))?;
    let rubric = &rubric(&web, &ctx)?;
    let marks = marks(&form, rubric).map_err(PageError::Bad)?;
    let why = form.get("why").map(|why| why.replace("\r\n", "\n").trim().to_owned());
    let why = why.filter(|why| !why.is_empty());
    within("why", why.as_deref().unwrap_or_default(), MAX_WHY).map_err(PageError::Bad)?;
    let labeling = LabelingState::read(&web, &ctx, rubric).await?;
    let label = Label {
        by: by(&ctx.viewer),
        at: ctx.now,
        rubric: rubric.name.clone(),
        drawn: labeling.drawn(&id).cloned(),
        session: id.clone(),
        marks,
        why,
        judged: None,
    };
    let (source, sink) = ends(&web, &ctx);
    let kept = labels::keep((&source, &sink), (DATASET, rubric), &[label], ctx.now).await;
    kept.map_err(refused)?;
    let back = by_rubric(&ctx, &["labels", "session", &id.to_string()]).with("done", "1");
    Ok(Redirect::to(&back.to_string()))
}

fn marks(form: &Params, rubric: &Rubric) -> Result<BTreeMap<String, Mark>, String> {
    let mut marks = BTreeMap::new();
    for dimension in &rubric.dimensions {
        let exact = form.get(&format!("{}.exact", dimension.name));
        let exact = exact.filter(|text| !text.trim().is_empty());
        let Some(text) = exact.or_else(|| form.get(&dimension.name)) else { continue };
        marks.insert(dimension.name.clone(), Mark::parse(dimension, text)?);
    }
    if marks.is_empty() { Err("label at least one dimension".to_owned()) } else { Ok(marks) }
}
