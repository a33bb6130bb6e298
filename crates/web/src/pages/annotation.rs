//! Scores that people give by score configs: controls, what they send, and what becomes of an
//! earlier score of the same person.

/// Deleting scores and comments.
mod deletion;

use axum::Router;
use maud::{Markup, html};
use ratchet_core::environment::Environment;
use ratchet_core::id::ScoreId;
use ratchet_core::record::field::{Field, Stamp, WriteKind};
use ratchet_core::record::score::config::ConfigValues;
use ratchet_core::record::score::draft::ScoreDraft;
use ratchet_core::record::score::rule::SentValue;
use ratchet_core::record::score::{Score, ScoreSource, ScoreTarget};
use ratchet_stages::record::scores::{self, ScoreWriteError};
use ratchet_stages::review::own_scores;
use ratchet_store::catalog::StoredScoreConfig;
use ratchet_store::query::PageNumber;
use uuid::Uuid;

pub(super) use self::deletion::{comment_button, done, score_button};
use crate::page_error::{PageError, PageResult};
use crate::request_context::{Link, Params, RequestContext};
use crate::score_summary;
use crate::web::Web;

/// Maximum length of the comment of a score.
const MAX_COMMENT: usize = 2_000;
/// Maximum number of score configs shown.
const MAX_CONFIGS: usize = 20;
/// Score configs that are read to choose those from.
const READ_CONFIGS: u64 = 100;
/// Maximum length of a text that a score config asks for.
const MAX_TEXT: usize = 500;
/// Id of the place of the form.
pub(super) const ANNOTATE: &str = "annotate";
/// Prefix of the fields of score configs; the id of the config follows.
pub(super) const SCORE: &str = "score.";

pub(super) fn routes() -> Router<Web> {
    deletion::routes()
}

/// A record that people annotate.
pub(super) struct Annotated<'a> {
    pub(super) target: ScoreTarget,
    pub(super) environment: Environment,
    /// Scores on it.
    pub(super) scores: &'a [Score],
}

/// Annotation form for those who may annotate: all score configs, nothing preselected, and one
/// comment. `hidden` has the form token and what else the handler needs.
pub(super) async fn form(
    web: &Web,
    ctx: &RequestContext,
    (action, hidden): (&Link, &Markup),
    scores: &[Score],
) -> PageResult<Option<Markup>> {
    if !ctx.viewer.can_change() {
        return Ok(None);
    }
    let offered = configs(web, ctx).await?;
    let has_own = offered.iter().any(|one| own(ctx, scores, &one.config.id).is_some());
    Ok(Some(html! {
        @if offered.is_empty() {
            p.muted { "No score configs yet. "
                a href=(ctx.to(&["settings", "score-configs"])) { "Create one" } " to annotate." }
        } @else {
            form.annotate method="post" data-inline-errors action=(action) {
                (hidden)
                @for config in &offered { (control(config, own(ctx, scores, &config.config.id))) }
                label for="annotation-comment" { "Comment" }
                textarea #annotation-comment name="comment" maxlength=(MAX_COMMENT) {}
                @if has_own { p.hint { "A new value replaces your earlier one." } }
                button.button { "Save" }
            }
        }
    }))
}

/// Score configs that are in use, by name.
async fn configs(web: &Web, ctx: &RequestContext) -> PageResult<Vec<StoredScoreConfig>> {
    let page = PageNumber { page: 1, limit: READ_CONFIGS };
    let mut configs = web.store.catalog.score_configs(ctx.project_id(), page).await?.rows;
    configs.retain(|one| !one.config.is_archived);
    configs.sort_by(|one, other| one.config.name.cmp(&other.config.name));
    configs.truncate(MAX_CONFIGS);
    Ok(configs)
}

/// What the viewer said before by a config.
fn own<'a>(ctx: &RequestContext, scores: &'a [Score], config: &str) -> Option<&'a Score> {
    own_scores::of(scores, ctx.viewer.person(), config).next()
}

fn control(config: &StoredScoreConfig, own: Option<&Score>) -> Markup {
    let name = format!("{SCORE}{}", config.config.id);
    let input = match &config.config.values {
        ConfigValues::Numeric { min, max } => html! {
            label for=(name) { (config.config.name) (range(*min, *max)) }
            input id=(name) type="number" step="any" name=(name) min=[min] max=[max];
        },
        ConfigValues::Text => html! {
            label for=(name) { (config.config.name) }
            input id=(name) type="text" name=(name) maxlength=(MAX_TEXT);
        },
        ConfigValues::Boolean => choices(config, &name, [("1", "true"), ("0", "false")]),
        ConfigValues::Categorical(categories) => {
            let labels = categories.iter().map(|category| category.label.as_str());
            choices(config, &name, labels.map(|label| (label, label)))
        }
    };
    html! {
        (input)
        @if let Some(text) = &config.description { p.hint { bdi { (text) } } }
        @if let Some(own) = own { p.hint { "You: " bdi { (score_summary::value(&own.value)) } } }
    }
}

/// The bounds of a number, in words.
pub(super) fn range(min: Option<f64>, max: Option<f64>) -> Markup {
    html! {
        @match (min, max) {
            (Some(min), Some(max)) => { " " small.muted { (min) " to " (max) } },
            (Some(min), None) => { " " small.muted { "at least " (min) } },
            (None, Some(max)) => { " " small.muted { "at most " (max) } },
            (None, None) => {},
        }
    }
}

fn choices<'a>(
    config: &StoredScoreConfig,
    name: &str,
    values: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> Markup {
    html! {
        fieldset {
            legend { (config.config.name) }
            @for (value, label) in values {
                label.choice { input type="radio" name=(name) value=(value); span { (label) } }
            }
        }
    }
}

/// The value of a field of a score config.
pub(super) fn sent(values: &ConfigValues, text: &str) -> Option<SentValue> {
    match values {
        ConfigValues::Numeric { .. } | ConfigValues::Boolean => {
            text.trim().parse().ok().map(SentValue::Number)
        }
        ConfigValues::Categorical(_) | ConfigValues::Text => Some(SentValue::Text(text.to_owned())),
    }
}

/// Saves a human score for each score config that has a value. One that the same person gave before
/// is replaced.
pub(super) async fn save(
    web: &Web,
    ctx: &RequestContext,
    form: &Params,
    on: &Annotated<'_>,
) -> PageResult<()> {
    let settings = web.store.catalog.recording_settings(&ctx.project_id()).await?;
    let comment = comment(form)?;
    let given = form.pairs().filter_map(|(name, value)| Some((name.strip_prefix(SCORE)?, value)));
    let (mut drafts, mut replaced) = (Vec::new(), Vec::new());
    for (id, value) in given.filter(|(_, value)| !value.trim().is_empty()) {
        let config = settings.score_configs.get(id);
        let config = config.ok_or_else(|| PageError::not_there("score config"))?;
        let mut earlier = own_scores::of(on.scores, ctx.viewer.person(), id);
        let stamp = Stamp::stated(ctx.now, WriteKind::Create);
        let id = match earlier.next() {
            Some(score) => score.id.clone(),
            None => new_id()?,
        };
        replaced.extend(earlier.map(|score| score.id.clone()));
        drafts.push(ScoreDraft {
            value: sent(&config.values, value),
            config: Field::new(config.id.clone(), stamp),
            environment: Field::new(on.environment.clone(), stamp),
            author: Field::if_some(ctx.viewer.person().map(str::to_owned), stamp),
            // The comment of an earlier value does not explain this one.
            comment: comment.clone().map_or(Field::cleared(stamp), |text| Field::new(text, stamp)),
            ..ScoreDraft::new(id, on.target.clone(), ScoreSource::Annotation, stamp)
        });
    }
    if drafts.is_empty() {
        return Err(PageError::Bad("choose a value for at least one score".to_owned()));
    }
    write(web, ctx, drafts).await?;
    for id in replaced {
        web.store.telemetry.delete_score(ctx.project_id(), id).await?;
    }
    Ok(())
}

fn new_id() -> PageResult<ScoreId> {
    ScoreId::parse(&Uuid::new_v4().to_string()).map_err(|why| PageError::Bad(why.to_string()))
}

/// The comment of a form, if there is one.
pub(super) fn comment(form: &Params) -> PageResult<Option<String>> {
    let comment = form.get("comment").unwrap_or_default().replace("\r\n", "\n").trim().to_owned();
    if comment.chars().count() > MAX_COMMENT {
        return Err(PageError::Bad(format!("comment: at most {MAX_COMMENT} characters")));
    }
    Ok(Some(comment).filter(|comment| !comment.is_empty()))
}

/// Writes scores that were given on a page: all of them, or none.
pub(super) async fn write(
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
