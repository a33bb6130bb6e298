//! Thumbs on answers: each is a score of the turn's trace, one per person, which they can change.

use std::collections::BTreeMap;

use axum::extract::{Path, State};
use axum::http::HeaderMap;
use axum::response::Response;
use maud::{Markup, html};
use ratchet_core::id::{ScoreId, TraceId};
use ratchet_core::record::field::{Field, Stamp, WriteKind};
use ratchet_core::record::score::draft::ScoreDraft;
use ratchet_core::record::score::rule::SentValue;
use ratchet_core::record::score::{ScoreSource, ScoreTarget, ScoreValue};
use ratchet_store::query::{Condition, Paging, ScoreColumn, ScoreQuery, ScoresOn, Test, TimeRange};

use super::find;
use super::outcome::{self, ChatFormError};
use super::turns::ChatContext;
use crate::components::icon::{Icon, icon};
use crate::form::PageForm;
use crate::page_error::{PageError, PageResult};
use crate::pages::annotation;
use crate::request_context::RequestContext;
use crate::web::Web;

/// Name of the score, wherever thumbs come from.
const NAME: &str = "thumbs_feedback";
const MAX_COMMENT: usize = 2_000;
/// Maximum number of scores that are read for a page.
const MOST: u64 = 1_000;

/// A thumb and its comment.
#[derive(Clone, Debug)]
pub(super) struct Thumb {
    is_up: bool,
    comment: String,
}

/// Id of the one score of a person for a turn.
fn score_id(trace: &str, ctx: &RequestContext) -> PageResult<ScoreId> {
    let person = ctx.viewer.person().unwrap_or("anyone");
    ScoreId::parse(&format!("thumb-{trace}-{person}"))
        .map_err(|why| PageError::Bad(why.to_string()))
}

/// The viewer's thumbs, by trace id.
pub(super) async fn given(
    web: &Web,
    ctx: &RequestContext,
    traces: Vec<String>,
) -> PageResult<BTreeMap<String, Thumb>> {
    if traces.is_empty() {
        return Ok(BTreeMap::new());
    }
    let mut own = BTreeMap::new();
    for trace in &traces {
        own.insert(score_id(trace, ctx)?, trace.clone());
    }
    let question = ScoreQuery {
        project: ctx.project_id(),
        range: TimeRange::default(),
        on: ScoresOn::Anything,
        conditions: vec![
            Condition { column: ScoreColumn::Trace, test: Test::AnyOf(traces) },
            Condition::equals(ScoreColumn::Name, NAME),
        ],
        paging: Paging::After { cursor: None, limit: MOST },
    };
    let scores = web.store.telemetry.scores(question).await?.rows;
    let thumbs = scores.into_iter().filter_map(|score| {
        let ScoreValue::Boolean(is_up) = score.value else { return None };
        let trace = own.get(&score.id)?.clone();
        Some((trace, Thumb { is_up, comment: score.comment.unwrap_or_default() }))
    });
    Ok(thumbs.collect())
}

/// The two buttons, and a field for a comment.
pub(super) fn form(trace: &str, thumb: Option<&Thumb>, chat_ctx: &ChatContext<'_>) -> Markup {
    let ctx = chat_ctx.ctx;
    if !ctx.viewer.can_change() {
        return html! { @if let Some(thumb) = thumb { span { (word(thumb.is_up)) } } };
    }
    let button = |is_up: bool| {
        let is_given = thumb.is_some_and(|thumb| thumb.is_up == is_up);
        html! {
            button.quiet.thumb type="submit" name="thumb" value=(if is_up { "up" } else { "down" })
                   aria-pressed=(if is_given { "true" } else { "false" }) {
                (icon(if is_up { Icon::ThumbUp } else { Icon::ThumbDown })) span.sr { (word(is_up)) }
            }
        }
    };
    let comment = thumb.map(|thumb| thumb.comment.as_str()).unwrap_or_default();
    let field = format!("why-{trace}");
    html! {
        form.thumbs method="post" action=(ctx.to(&["chats", chat_ctx.chat, "thumbs"])) data-stay {
            (ctx.viewer.form_token.field())
            input type="hidden" name="turn" value=(trace);
            (button(true)) (button(false))
            @if let Some(thumb) = thumb {
                details.why {
                    summary { @if comment.is_empty() { "Say why" } @else { "Why" } }
                    label.sr for=(field) { "Why" }
                    input id=(field) type="text" name="comment" maxlength=(MAX_COMMENT)
                          value=(comment) autocomplete="off";
                    button.button type="submit" name="thumb"
                           value=(if thumb.is_up { "up" } else { "down" }) { "Save" }
                }
            }
        }
    }
}

const fn word(is_up: bool) -> &'static str {
    if is_up { "Good answer" } else { "Bad answer" }
}

/// `POST …/chats/{chat}/thumbs`: stores a thumb, which replaces the earlier one of the same person.
pub(super) async fn keep(
    State(web): State<Web>,
    Path((_, id)): Path<(String, String)>,
    headers: HeaderMap,
    PageForm { ctx, form }: PageForm,
) -> PageResult<Response> {
    let chat = find(&web, &ctx, &id).await?;
    let missing = || PageError::not_there("turn");
    let turn = form.get("turn").ok_or_else(missing)?;
    let trace = TraceId::parse(turn).map_err(|_| missing())?;
    let found = web.store.telemetry.trace(ctx.project_id(), trace.clone()).await?;
    let found =
        found.filter(|found| found.session.as_ref() == Some(&chat.id)).ok_or_else(missing)?;
    let comment = form.get("comment").unwrap_or_default().trim();
    let went = match form.get("thumb") {
        _ if comment.chars().count() > MAX_COMMENT => {
            Err(ChatFormError::bad(format!("a comment has at most {MAX_COMMENT} characters")))
        }
        Some(thumb @ ("up" | "down")) => {
            let stamp = Stamp::stated(ctx.now, WriteKind::Update);
            let (id, target) = (score_id(turn, &ctx)?, ScoreTarget::Trace(trace));
            let draft = ScoreDraft {
                name: Some(NAME.to_owned()),
                value: Some(SentValue::Bool(thumb == "up")),
                environment: Field::new(found.environment, stamp),
                comment: Field::new(comment.to_owned(), stamp),
                author: Field::if_some(ctx.viewer.person().map(str::to_owned), stamp),
                // As all feedback of users is; an annotation would follow a config.
                ..ScoreDraft::new(id, target, ScoreSource::Api, stamp)
            };
            annotation::write(&web, &ctx, vec![draft]).await?;
            Ok(Some("thumb"))
        }
        _ => Err(ChatFormError::bad("thumb: up or down")),
    };
    outcome::answer((&web, &ctx), &headers, &id, (went, "")).await
}
