//! One session: the conversation as people read it, with what it cost and what was said of it.

/// Turns as people read them.
mod turn;
/// Who worked when, what it cost and what it was worth.
mod outline;
/// The steps of a turn, fetched when someone opens them.
mod steps;
/// Scores of the session with reasons and evidence.
mod verdict;
/// Labels, comments and queues.
mod actions;

use std::collections::BTreeMap;

use axum::Router;
use axum::extract::{Path, State};
use axum::routing::get;
use maud::{Markup, html};
use ratchet_core::id::{SessionId, TraceId};
use ratchet_core::record::score::{Score, ScoreTarget};
use ratchet_core::record::session::Session;
use ratchet_core::record::trace::Trace;
use ratchet_store::query::{
    Condition, Detail, Direction, Page as Slice, PageNumber, Paging, ScoreColumn, ScoreQuery,
    ScoresOn, Test, TimeRange, TraceColumn, TraceOrder, TraceQuery,
};

use self::outline::Outline;
use self::turn::Turn;
use self::verdict::Verdicts;
use super::sessions;
use crate::assets;
use crate::components::stat::{self, Stat, Value};
use crate::components::{copy, figure, toast};
use crate::frame::{Page, Section};
use crate::page_error::{PageError, PageResult};
use crate::request_context::RequestContext;
use crate::web::Web;

const TURNS: u64 = 20;
/// Turns that the drawings know of.
const OUTLINED: u64 = 300;
/// Scores that are read for them.
const SCORES: u64 = 2_000;

pub(super) fn routes() -> Router<Web> {
    Router::new()
        .route("/project/{project}/sessions/{session}", get(show))
        .merge(steps::routes())
        .merge(actions::routes())
}

async fn show(
    State(web): State<Web>,
    ctx: RequestContext,
    Path((_, id)): Path<(String, String)>,
) -> PageResult<Markup> {
    let id = SessionId::parse(&id).map_err(|_| PageError::not_there("session"))?;
    let session = web.store.telemetry.session(ctx.project_id(), id.clone()).await?;
    let session = session.ok_or_else(|| PageError::not_there("session"))?;
    let read = Read::of(&web, &ctx, &id).await?;
    let mut page = Page::new(Section::Sessions, format!("Session {id}"));
    page.crumbs = vec![("Sessions".to_owned(), ctx.to(&["sessions"]))];
    page.summary = summary(&session, &read, &ctx);
    page.action = html! {
        a.button href=(ctx.to(&["sessions", &id.to_string(), "agents"])) { "Agents" }
        (actions::menu(&web, &ctx, &id).await?) (copy::id(&id.to_string()))
    };
    let comments = actions::comments(&web, &ctx, &id).await?;
    let annotate = actions::annotation_form(&web, &ctx, (&id, &read.scores)).await?;
    let side = html! { (annotate) (comments) };
    page.body = html! {
        @if let Some(words) = actions::done(&ctx) { (toast::toast(words)) }
        (body(&session, &read, &side, &ctx))
    };
    Ok(page.show(&ctx))
}

/// The conversation without a word of what was said about it, for those who are to judge it
/// themselves.
pub(super) async fn blind(web: &Web, ctx: &RequestContext, id: &SessionId) -> PageResult<Markup> {
    let session = web.store.telemetry.session(ctx.project_id(), id.clone()).await?;
    let session = session.ok_or_else(|| PageError::not_there("session"))?;
    let read = Read::of(web, ctx, id).await?;
    let nothing_said = BTreeMap::new();
    let outline = Outline { session: &session, turns: &read.outlined, scores: &nothing_said };
    let turns = read.numbered().map(|(trace, number, words)| Turn {
        trace,
        number,
        words,
        called_by: outline.caller(trace, ctx),
        scores: &[],
    });
    Ok(html! {
        section.conversation aria-labelledby="conversation" {
            h2 #conversation { "Outline" }
            (stats(&session, &read))
            @for turn in turns { (turn.draw(ctx)) }
            (pager(&session, &read, ctx))
        }
        script type="module" src=(assets::address("session.js")) {}
    })
}

/// What is read of a session.
struct Read {
    /// Its first turns, without what they carry.
    outlined: Vec<Trace>,
    /// The turns on this page, without content.
    turns: Slice<Trace>,
    /// What was asked and answered in each of them.
    words: Vec<Markup>,
    /// What was said of the session itself.
    scores: Vec<Score>,
    /// What was said of its turns.
    by_turn: BTreeMap<TraceId, Vec<Score>>,
    /// The number of the first turn on this page.
    first: u64,
}

impl Read {
    async fn of(web: &Web, ctx: &RequestContext, id: &SessionId) -> PageResult<Self> {
        let page = page(ctx);
        let first = (page - 1) * TURNS + 1;
        let telemetry = &web.store.telemetry;
        let numbered = Paging::Numbered(PageNumber { page, limit: TURNS });
        let mut turns =
            telemetry.traces(question(ctx, id, numbered, Detail::BoundedContent)).await?;
        let words = words(web, ctx, &mut turns.rows).await?;
        let all = Paging::After { cursor: None, limit: OUTLINED };
        let outlined = telemetry.traces(question(ctx, id, all, Detail::Row)).await?.rows;
        let scores = own_scores(web, ctx, id).await?;
        let judged = outlined.iter().chain(&turns.rows).map(|trace| trace.id.to_string());
        let of_turns =
            Condition { column: ScoreColumn::Trace, test: Test::AnyOf(judged.collect()) };
        let found = telemetry.scores(scores_of(ctx, of_turns)).await?.rows;
        Ok(Self { outlined, turns, words, scores, by_turn: by_turn(found), first })
    }

    /// The turns on this page with their numbers and their words.
    fn numbered(&self) -> impl Iterator<Item = (&Trace, u64, &Markup)> {
        let turns = self.turns.rows.iter().zip(self.first..).zip(&self.words);
        turns.map(|((trace, number), words)| (trace, number, words))
    }
}

/// Draws the words of turns, each before the next is read: what is drawn of a turn is short, the turn
/// may be not.
async fn words(web: &Web, ctx: &RequestContext, turns: &mut [Trace]) -> PageResult<Vec<Markup>> {
    let mut drawn = Vec::with_capacity(turns.len());
    for trace in turns {
        if trace.content.is_none() {
            let read = web.store.telemetry.trace(ctx.project_id(), trace.id.clone()).await?;
            trace.content = read.and_then(|read| read.content);
        }
        drawn.push(turn::words(trace, ctx));
        trace.content = None;
    }
    Ok(drawn)
}

/// The page of the conversation. Four bytes hold any there can be, and leave room to count from it.
fn page(ctx: &RequestContext) -> u64 {
    ctx.params.page().min(u64::from(u32::MAX))
}

/// The page that a turn is on.
pub(super) const fn page_of(turn: u64) -> u64 {
    turn.saturating_sub(1) / TURNS + 1
}

/// The turns of a session, oldest first, whatever the time looked at: a conversation is read whole.
fn question(ctx: &RequestContext, id: &SessionId, paging: Paging, detail: Detail) -> TraceQuery {
    TraceQuery {
        project: ctx.project_id(),
        range: TimeRange::default(),
        conditions: vec![Condition::equals(TraceColumn::Session, id.to_string())],
        order: (TraceOrder::Timestamp, Direction::Ascending),
        paging,
        detail,
    }
}

/// What was said of the session itself.
pub(super) async fn own_scores(
    web: &Web,
    ctx: &RequestContext,
    id: &SessionId,
) -> PageResult<Vec<Score>> {
    let query = scores(ctx, ScoresOn::Session(id.clone()), Vec::new());
    Ok(web.store.telemetry.scores(query).await?.rows)
}

fn scores(
    ctx: &RequestContext,
    on: ScoresOn,
    conditions: Vec<Condition<ScoreColumn>>,
) -> ScoreQuery {
    let paging = Paging::After { cursor: None, limit: SCORES };
    let (project, range) = (ctx.project_id(), TimeRange::default());
    ScoreQuery { project, range, on, conditions, paging }
}

fn scores_of(ctx: &RequestContext, condition: Condition<ScoreColumn>) -> ScoreQuery {
    scores(ctx, ScoresOn::Anything, vec![condition])
}

fn by_turn(scores: Vec<Score>) -> BTreeMap<TraceId, Vec<Score>> {
    let mut by_turn: BTreeMap<TraceId, Vec<Score>> = BTreeMap::new();
    for score in scores {
        if let ScoreTarget::Trace(trace) | ScoreTarget::Observation(trace, _) = &score.target {
            by_turn.entry(trace.clone()).or_default().push(score);
        }
    }
    by_turn
}

fn summary(session: &Session, read: &Read, ctx: &RequestContext) -> Markup {
    let user = read.outlined.iter().find_map(|trace| trace.user.as_deref());
    let agents: std::collections::BTreeSet<&str> =
        read.outlined.iter().filter_map(|trace| trace.agent.as_deref()).collect();
    html! {
        (figure::grouped(session.traces)) @if session.traces == 1 { " turn" } @else { " turns" }
        @if agents.len() > 1 { " by " (agents.len()) " agents" }
        @if let Some(user) = user.filter(|user| !user.is_empty()) {
            " with " (sessions::user_link(Some(user), ctx))
        }
        ", started " (figure::when(session.created_at, &ctx.time)) "."
    }
}

fn body(session: &Session, read: &Read, side: &Markup, ctx: &RequestContext) -> Markup {
    let outline = Outline { session, turns: &read.outlined, scores: &read.by_turn };
    let turns = read.numbered().map(|(trace, number, words)| Turn {
        trace,
        number,
        words,
        called_by: outline.caller(trace, ctx),
        scores: read.by_turn.get(&trace.id).map_or(&[], Vec::as_slice),
    });
    let shown = read.first..read.first.saturating_add(read.turns.rows.len() as u64);
    let verdicts = Verdicts { scores: &read.scores, session, shown };
    html! {
        (stats(session, read))
        div.session-page {
            div {
                (outline.draw(ctx))
                section.conversation aria-labelledby="conversation" {
                    h2 #conversation { "Conversation" }
                    @for turn in turns { (turn.draw(ctx)) }
                    (pager(session, read, ctx))
                }
            }
            aside.session-side aria-label="Verdict and comments" { (verdicts.draw(ctx)) (side) }
        }
        script type="module" src=(assets::address("session.js")) {}
    }
}

fn stats(session: &Session, read: &Read) -> Markup {
    let ended = read.outlined.iter().filter_map(|trace| trace.summary.end).max();
    let end = ended.unwrap_or(session.last_at).max(session.last_at);
    let known = |label: &str, text: String, provenance: &str| Stat {
        label: label.to_owned(),
        value: Value::of(text, provenance),
        ..Stat::default()
    };
    let cost = match session.cost {
        Some(cost) => {
            let known = format!("${} of priced model calls", cost.dollars());
            Value::of(figure::money_in_part(cost, session.approximate_cost), known)
        }
        None => Value::CannotTell("no price known for its models".to_owned()),
    };
    stat::row(&[
        known("Turns", figure::grouped(session.traces), "traces in this session"),
        known(
            "Duration",
            figure::duration(end.since(session.created_at)),
            "first start to last end",
        ),
        known(
            "Tokens",
            figure::count_in_part(session.total_tokens, session.approximate_cost),
            "total of all turns",
        ),
        Stat {
            label: "Cost".to_owned(),
            value: cost,
            change: figure::of_which(session.approximate_cost),
            ..Stat::default()
        },
        known("Errors", figure::grouped(session.errors), "observations with errors"),
    ])
}

/// The way on and back in a long conversation.
fn pager(session: &Session, read: &Read, ctx: &RequestContext) -> Markup {
    let (page, next) = (page(ctx), read.first.saturating_add(read.turns.rows.len() as u64));
    let to = |page: u64| ctx.here().without("done").with("page", page.to_string());
    html! {
        @if session.traces > TURNS || read.first > 1 {
            nav.pager aria-label="Conversation pages" {
                @if page > 1 { a.button href=(to(page - 1)) rel="prev" { "Previous turns" } }
                @if next <= session.traces {
                    a.button href=(to(page + 1)) rel="next" { "Next turns" }
                }
                span.muted { "Turns " (read.first) " to " (next.saturating_sub(1)) " of "
                    (figure::grouped(session.traces)) }
            }
        }
    }
}
