//! Queue items that are sessions: labelled by the dimensions of a rubric.

use std::collections::BTreeMap;

use maud::{Markup, html};
use ratchet_core::catalog::review::{REVIEW_HEARTBEAT, ReviewSettings};
use ratchet_core::id::SessionId;
use ratchet_core::judge::rubric::{Dimension, Rubric, Scale};
use ratchet_core::quality::calibration::draft::mark;
use ratchet_core::quality::label::{Label, MAX_WHY, Mark};
use ratchet_core::record::limit::elide;
use ratchet_core::record::session::Session;
use ratchet_stages::review::judge_scores::{self, JudgeScore};
use ratchet_stages::review::labels;
use ratchet_stages::review::session_answer::SessionAnswer;
use ratchet_store::catalog::{QueueId, QueueItem, ReviewLease, StoredScoreConfig};

use super::{config_form, form};
use crate::components::badge;
use crate::page_error::{PageError, PageResult};
use crate::pages::calibration::{ends, refused};
use crate::pages::session;
use crate::request_context::{Params, RequestContext};
use crate::score_summary;
use crate::viewer::{Identity, Viewer};
use crate::web::Web;

/// The steps of a numeric scale.
const STEPS: [&str; 5] = ["0", "0.25", "0.5", "0.75", "1"];
/// The key and the value of a dimension that the session does not show.
const NOT_OBSERVABLE: &str = "-";

/// Name of the reviewer in labels.
fn by(viewer: &Viewer) -> String {
    match &viewer.who {
        Identity::Person(signed_in) => signed_in.user.email.clone(),
        Identity::Anyone => viewer.name().to_owned(),
    }
}

/// The rubric that the sessions of a queue are labelled by.
pub(super) fn rubric(web: &Web, settings: &ReviewSettings) -> PageResult<Rubric> {
    let found = web.rubrics().rubrics.into_iter().find(|rubric| rubric.name == settings.rubric);
    found.ok_or_else(|| {
        let name = &settings.rubric;
        PageError::Bad(format!("rubric {name} not found; choose another in the review settings"))
    })
}

fn id(item: &QueueItem) -> PageResult<SessionId> {
    SessionId::parse(&item.object).map_err(|_| PageError::not_there("session"))
}

/// The item with its form.
pub(super) async fn show(
    web: &Web,
    ctx: &RequestContext,
    (of, lease): (&QueueId, &ReviewLease),
    settings: &ReviewSettings,
) -> PageResult<Markup> {
    let id = id(&lease.item)?;
    let rubric = &rubric(web, settings)?;
    let conversation = session::blind(web, ctx, &id).await?;
    let (source, sink) = ends(web, ctx);
    let me = by(&ctx.viewer);
    let given = labels::read(&sink, &settings.dataset).await;
    let given = given.map_err(|why| refused(why.into()))?;
    let is_mine = |label: &&Label| label.session == id && label.by == me && label.is_by(rubric);
    let judged = judge_scores::verdicts(&source, &id, rubric).await;
    let judged = judged.map_err(|why| refused(why.into()))?;
    let form = Form { rubric, settings, mine: given.iter().find(is_mine), judged: judged.first() };
    Ok(html! {
        div.review {
            section.review-record aria-label="Session" tabindex="0" { (conversation) }
            aside.review-side { (form.draw(ctx, of, lease)) }
        }
    })
}

/// The item with the form of a queue that has score configs.
pub(super) async fn show_configs(
    web: &Web,
    ctx: &RequestContext,
    (of, lease): (&QueueId, &ReviewLease),
    (settings, configs): (&ReviewSettings, &[StoredScoreConfig]),
) -> PageResult<Markup> {
    let id = id(&lease.item)?;
    let conversation = session::blind(web, ctx, &id).await?;
    let scores = session::own_scores(web, ctx, &id).await?;
    let said = html! {
        @for score in score_summary::people_first(&scores) { (form::verdict(score)) }
        @if scores.is_empty() { p.muted { "The session has no scores yet." } }
    };
    let form =
        config_form::form(ctx, (of, lease), (settings, configs), (&said, &Markup::default()));
    Ok(html! {
        div.review {
            section.review-record aria-label="Session" tabindex="0" { (conversation) }
            aside.review-side { (form) }
        }
    })
}

/// The session of an item.
pub(super) async fn load(web: &Web, ctx: &RequestContext, item: &QueueItem) -> PageResult<Session> {
    let found = web.store.telemetry.session(ctx.project_id(), id(item)?).await?;
    found.ok_or_else(|| PageError::not_there("session"))
}

struct Form<'a> {
    rubric: &'a Rubric,
    settings: &'a ReviewSettings,
    /// The reviewer's earlier label.
    mine: Option<&'a Label>,
    judged: Option<&'a JudgeScore>,
}

impl Form<'_> {
    fn draw(&self, ctx: &RequestContext, of: &QueueId, lease: &ReviewLease) -> Markup {
        let heartbeat = ctx.to(&["queues", &of.queue, "review", &lease.item.id, "heartbeat"]);
        let given = |name: &str| self.mine.and_then(|label| label.marks.get(name));
        let why = self.mine.and_then(|label| label.why.as_deref()).unwrap_or_default();
        html! {
            form.review-form data-review method="post" action=(form::action(ctx, of, lease))
                 data-heartbeat=(heartbeat) data-heartbeat-seconds=(REVIEW_HEARTBEAT.as_secs())
                 data-next=(ctx.to(&["queues", &of.queue, "review"])) {
                (form::hidden(ctx, lease))
                @for dimension in &self.rubric.dimensions {
                    (dimension_field(dimension, given(&dimension.name)))
                }
                (self.verdict())
                div.review-text {
                    label for="why" { "Comment " kbd { "c" } }
                    textarea #why name="why" rows="2" maxlength=(MAX_WHY) aria-keyshortcuts="c"
                             data-focus="c" { "\n" (why) }
                }
                (form::buttons())
                p.muted.keys-hint {
                    "A number selects an option of the framed dimension, " kbd { "-" } " not observable; "
                    kbd { "j" } " " kbd { "k" } " move the frame; " kbd { "Esc" } " leaves a text."
                }
            }
        }
    }

    /// What the judge says; hidden until every dimension is answered if the queue is blind.
    fn verdict(&self) -> Markup {
        let is_blind = self.settings.is_blind;
        html! {
            section.review-verdict aria-label="Verdicts" {
                @if is_blind {
                    p.muted data-until-answered {
                        "The judge's verdict appears when you have answered every dimension."
                    }
                }
                div data-verdicts hidden[is_blind] {
                    @match self.judged {
                        None => { p.muted { "The judge has not scored this session yet." } },
                        Some(judged) => {
                            @for dimension in &self.rubric.dimensions { (verdict(dimension, judged)) }
                        },
                    }
                }
            }
        }
    }
}

fn verdict(dimension: &Dimension, judged: &JudgeScore) -> Markup {
    let value = judged.marks.get(&dimension.name);
    let value = value.map_or_else(|| "not observable".to_owned(), |value| mark(dimension, *value));
    let words = format!("{} {value}", dimension.name);
    html! {
        p.review-judged {
            (badge::decided(score_summary::decider_of_judge(&judged.judge), &elide(&words, 60)))
            @if let Some(why) = judged.reasons.get(&dimension.name) { " " bdi { (elide(why, 400)) } }
        }
    }
}

fn dimension_field(dimension: &Dimension, given: Option<&Mark>) -> Markup {
    let name = &dimension.name;
    let typed = given.map(Mark::text);
    let typed = typed.as_deref();
    let values: Vec<&str> = match &dimension.scale {
        Scale::Numeric => STEPS.to_vec(),
        Scale::Ordered(grades) => grades.iter().map(|grade| grade.label.as_str()).collect(),
    };
    let is_step = |text: &&str| values.contains(text) || *text == NOT_OBSERVABLE;
    let exact = typed.filter(|text| !is_step(text));
    html! {
        fieldset.review-choice data-question data-reveals {
            legend title=(elide(&dimension.criteria, 2_000)) { (name) }
            @for (key, value) in values.iter().enumerate() {
                (option(name, (&key.to_string(), value, value), typed))
            }
            (option(name, (NOT_OBSERVABLE, NOT_OBSERVABLE, "not observable"), typed))
            @if dimension.scale == Scale::Numeric {
                label.exact { "exact "
                    input type="number" name={ (name) ".exact" } min="0" max="1" step="0.01"
                          value=[exact] aria-label={ (name) ", from 0 to 1" };
                }
            }
        }
    }
}

fn option(name: &str, (key, value, word): (&str, &str, &str), typed: Option<&str>) -> Markup {
    html! {
        label.mark {
            input type="radio" name=(name) value=(value) data-key=(key) checked[typed == Some(value)];
            kbd { (key) } span { (word) }
        }
    }
}

/// Reads the answer of a form.
pub(super) fn read(
    ctx: &RequestContext,
    form: &Params,
    item: &QueueItem,
    rubric: &Rubric,
) -> PageResult<SessionAnswer> {
    let marks = marks(form, rubric).map_err(PageError::Bad)?;
    let why = form.get("why").map(|why| why.replace("\r\n", "\n").trim().to_owned());
    let why = why.filter(|why| !why.is_empty());
    Ok(SessionAnswer { session: id(item)?, by: by(&ctx.viewer), marks, why })
}

fn marks(form: &Params, rubric: &Rubric) -> Result<BTreeMap<String, Mark>, String> {
    let mut marks = BTreeMap::new();
    for dimension in &rubric.dimensions {
        let exact = form.get(&format!("{}.exact", dimension.name));
        let exact = exact.filter(|text| !text.trim().is_empty());
        let Some(text) = exact.or_else(|| form.get(&dimension.name)) else { continue };
        marks.insert(dimension.name.clone(), Mark::parse(dimension, text)?);
    }
    Ok(marks)
}
