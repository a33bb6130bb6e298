use axum::extract::{Path, State};
use axum::response::Redirect;
use maud::{Markup, html};
use ratchet_core::environment::Environment;
use ratchet_core::id::ScoreId;
use ratchet_core::record::field::{Field, Stamp, WriteKind};
use ratchet_core::record::score::config::{ConfigValues, ScoreConfig};
use ratchet_core::record::score::draft::ScoreDraft;
use ratchet_core::record::score::rule::SentValue;
use ratchet_core::record::score::{ScoreSource, ScoreTarget};
use ratchet_stages::record::scores::{self, ScoreWriteError};
use uuid::Uuid;

use super::run::{RecordDetail, Subject, TraceRun};
use super::{TracePath, content, run, trace_id};
use crate::form::PageForm;
use crate::page_error::{PageError, PageResult};
use crate::pages::{comments, marks};
use crate::request_context::{Link, Params, RequestContext};
use crate::web::Web;

/// Maximum length of the comment of a score.
const MAX_COMMENT: usize = 2_000;
/// Maximum number of score configs shown.
const MAX_CONFIGS: usize = 20;

/// Comment form of a trace or observation.
pub(super) fn comment_form(ctx: &RequestContext, subject: &Subject) -> Markup {
    comments::form(ctx, &action(ctx, subject, "comments"), &hidden(ctx, subject))
}

/// Id of the annotation form.
pub(super) const ANNOTATE: &str = "annotate";
/// Prefix of the fields of score configs.
const SCORE: &str = "score.";

/// Annotation form: all score configs, nothing preselected, and one comment.
pub(super) async fn annotation_form(
    web: &Web,
    ctx: &RequestContext,
    subject: &Subject,
) -> PageResult<Markup> {
    let settings = web.store.catalog.recording_settings(&ctx.project_id()).await?;
    let offered = settings.score_configs.values().filter(|config| !config.is_archived);
    let mut offered: Vec<&ScoreConfig> = offered.collect();
    offered.sort_by(|one, other| one.name.cmp(&other.name));
    offered.truncate(MAX_CONFIGS);
    Ok(html! {
        @if ctx.viewer.can_change() {
            h3 #(ANNOTATE) { "Annotate" }
            @if offered.is_empty() {
                p.muted { "No score configs yet. "
                    a href=(ctx.to(&["settings", "score-configs"])) { "Create one" } " to annotate." }
            } @else {
                form.annotate method="post" data-inline-errors action=(action(ctx, subject, "scores")) {
                    (hidden(ctx, subject))
                    @for config in offered { (control(config)) }
                    label for="annotation-comment" { "Comment" }
                    textarea #annotation-comment name="comment" maxlength=(MAX_COMMENT) {}
                    button.button { "Save" }
                }
            }
        }
    })
}

pub(super) fn action(ctx: &RequestContext, subject: &Subject, what: &str) -> Link {
    ctx.to(&["traces", &subject.trace.to_string(), what])
}

pub(super) fn hidden(ctx: &RequestContext, subject: &Subject) -> Markup {
    html! {
        (ctx.viewer.form_token.field())
        @if let Some(step) = subject.step_id() { input type="hidden" name="observation" value=(step); }
    }
}

fn control(config: &ScoreConfig) -> Markup {
    let name = format!("{SCORE}{}", config.id);
    html! {
        @match &config.values {
            ConfigValues::Numeric { min, max } => {
                label for=(name) { (config.name) }
                input id=(name) type="number" step="any" name=(name) min=[min] max=[max];
            },
            ConfigValues::Text => {
                label for=(name) { (config.name) }
                input id=(name) type="text" name=(name) maxlength="500";
            },
            ConfigValues::Boolean => { (choices(config, &name, [("1", "true"), ("0", "false")])) },
            ConfigValues::Categorical(categories) => {
                @let labels = categories.iter().map(|category| category.label.as_str());
                (choices(config, &name, labels.map(|label| (label, label))))
            },
        }
    }
}

fn choices<'a>(
    config: &ScoreConfig,
    name: &str,
    values: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> Markup {
    html! {
        fieldset {
            legend { (config.name) }
            @for (value, label) in values {
                label.choice { input type="radio" name=(name) value=(value); span { (label) } }
            }
        }
    }
}

/// Target of a form; an error if it does not exist.
pub(super) async fn subject(
    web: &Web,
    ctx: &RequestContext,
    trace: &str,
    form: &Params,
) -> PageResult<Subject> {
    let trace = trace_id(trace)?;
    match form.get("observation") {
        Some(step) => Subject::step(web, ctx, &trace, &run::step_id(step)?).await,
        None => Subject::trace(web, ctx, &TraceRun::load(web, ctx, trace).await?).await,
    }
}

/// `POST …/traces/{trace}/comments`: adds a comment.
pub(super) async fn comment(
    State(web): State<Web>,
    Path((_, trace)): TracePath,
    PageForm { ctx, form }: PageForm,
) -> PageResult<Redirect> {
    let content = comments::content(&form)?;
    let subject = subject(&web, &ctx, &trace, &form).await?;
    comments::add(&web, &ctx, subject.commented(), content).await?;
    Ok(back(&ctx, &subject, "commented"))
}

/// `POST …/traces/{trace}/scores`: adds a human score for each score config that has a value.
pub(super) async fn score(
    State(web): State<Web>,
    Path((_, trace)): TracePath,
    PageForm { ctx, form }: PageForm,
) -> PageResult<Redirect> {
    let subject = subject(&web, &ctx, &trace, &form).await?;
    let settings = web.store.catalog.recording_settings(&ctx.project_id()).await?;
    let given = form.pairs().filter_map(|(name, value)| Some((name.strip_prefix(SCORE)?, value)));
    let comment = form.get("comment").unwrap_or_default().trim().replace("\r\n", "\n");
    if comment.chars().count() > MAX_COMMENT {
        return Err(PageError::Bad(format!("comment: at most {MAX_COMMENT} characters")));
    }
    let mut drafts = Vec::new();
    for (id, value) in given.filter(|(_, value)| !value.trim().is_empty()) {
        let config = settings.score_configs.get(id);
        let config = config.ok_or_else(|| PageError::not_there("score config"))?;
        let draft = annotation(&ctx, &subject, config, value)?;
        let comment = Some(comment.clone()).filter(|comment| !comment.is_empty());
        drafts.push(ScoreDraft { comment: Field::if_some(comment, draft.stamp), ..draft });
    }
    if drafts.is_empty() {
        return Err(PageError::Bad("choose a value for at least one score".to_owned()));
    }
    write_scores(&web, &ctx, drafts).await?;
    Ok(back(&ctx, &subject, "judged"))
}

/// Writes scores that were given on a page: all of them, or none.
pub(in crate::pages) async fn write_scores(
    web: &Web,
    ctx: &RequestContext,
    drafts: Vec<ScoreDraft>,
) -> PageResult<()> {
    let store = (&web.store.telemetry, &web.store.catalog);
    let written = scores::write(store, ctx.project_id(), drafts, ctx.now).await;
    written.map_err(|error| match error {
        ScoreWriteError::Store(error) => error.into(),
        ScoreWriteError::Refused { why, .. } => PageError::Bad(why.to_string()),
    })
}

fn annotation(
    ctx: &RequestContext,
    subject: &Subject,
    config: &ScoreConfig,
    value: &str,
) -> PageResult<ScoreDraft> {
    let (target, environment): (ScoreTarget, &Environment) = match &subject.about {
        RecordDetail::Trace(trace, _) => (ScoreTarget::Trace(trace.id.clone()), &trace.environment),
        RecordDetail::Step(step) => {
            (ScoreTarget::Observation(step.trace.clone(), step.id.clone()), &step.environment)
        }
    };
    let number = || value.trim().parse().ok().map(SentValue::Number);
    let sent = match &config.values {
        ConfigValues::Numeric { .. } | ConfigValues::Boolean => number(),
        ConfigValues::Categorical(_) | ConfigValues::Text => {
            Some(SentValue::Text(value.to_owned()))
        }
    };
    let id = ScoreId::parse(&Uuid::new_v4().to_string());
    let id = id.map_err(|why| PageError::Bad(why.to_string()))?;
    let stamp = Stamp::stated(ctx.now, WriteKind::Create);
    Ok(ScoreDraft {
        value: sent,
        config: Field::new(config.id.clone(), stamp),
        environment: Field::new(environment.clone(), stamp),
        author: Field::if_some(ctx.viewer.person().map(str::to_owned), stamp),
        ..ScoreDraft::new(id, target, ScoreSource::Annotation, stamp)
    })
}

/// Toast message after a form.
pub(super) fn done(ctx: &RequestContext) -> Option<&'static str> {
    match ctx.params.get("done")? {
        "commented" => Some("Comment added"),
        "judged" => Some("Saved"),
        "queued" => Some("Added to queue"),
        "corrected" => Some("Correction saved"),
        "uncorrected" => Some("Correction removed"),
        "collected" => Some("Added to dataset"),
        other => marks::done(other),
    }
}

/// Redirect to the target of the form.
pub(super) fn back(ctx: &RequestContext, subject: &Subject, done: &str) -> Redirect {
    Redirect::to(&content::here(ctx, subject).with("done", done).to_string())
}
