use std::collections::BTreeMap;

use maud::{Markup, html};
use ratchet_core::id::SessionId;
use ratchet_core::quality::report::{MAX_SHOWN, WeekReport};
use ratchet_core::quality::synthesis::{Outlier, Reason};
use ratchet_core::record::limit::elide;

use super::agents::is_in_scope;
use crate::request_context::{Link, RequestContext};

/// Those of some sessions in the page's scope, by their first request, with agent and release.
pub(super) fn list(ids: &[String], report: &WeekReport, ctx: &RequestContext) -> Markup {
    let is_whole = ctx.scope.agent.is_none() && ctx.scope.environment.is_none();
    let is_in = |id: &&String| {
        let card = report.sessions.get(*id);
        is_whole
            || card.is_some_and(|card| is_in_scope(ctx, card.agent.as_deref(), &card.environment))
    };
    let ids: Vec<&String> = ids.iter().filter(is_in).collect();
    html! {
        ul.named-sessions {
            @for id in ids.iter().take(MAX_SHOWN) {
                li { (named(id, report, None, ctx)) }
            }
            @if ids.len() > MAX_SHOWN { li.muted { (ids.len() - MAX_SHOWN) " more" } }
        }
    }
}

/// Sessions by their first request, where no report names them.
pub(super) fn titled(
    ids: &[String],
    titles: &BTreeMap<SessionId, String>,
    ctx: &RequestContext,
) -> Markup {
    let title = |id: &str| titles.get(&SessionId::parse(id).ok()?).map(String::as_str);
    html! {
        ul.named-sessions {
            @for id in ids.iter().take(MAX_SHOWN) {
                li {
                    a href=(ctx.to(&["sessions", id])) title=(elide(id, 300)) {
                        bdi { (elide(title(id).unwrap_or(id), 300)) }
                    }
                }
            }
            @if ids.len() > MAX_SHOWN { li.muted { (ids.len() - MAX_SHOWN) " more" } }
        }
    }
}

/// Outliers, each with its score and reason.
pub(super) fn outliers(
    title: &str,
    outliers: &[Outlier],
    report: &WeekReport,
    ctx: &RequestContext,
) -> Markup {
    let is_in = |outlier: &&Outlier| match report.sessions.get(&outlier.session) {
        _ if !outlier.environment.is_empty() => {
            is_in_scope(ctx, outlier.agent.as_deref(), &outlier.environment)
        }
        // In old reports.
        Some(card) => is_in_scope(ctx, card.agent.as_deref(), &card.environment),
        None => ctx.scope.agent.is_none() && ctx.scope.environment.is_none(),
    };
    let all: Vec<&Outlier> = outliers.iter().filter(is_in).collect();
    html! {
        h3 { (title) " " span.muted { (all.len()) } }
        @if all.is_empty() { p.muted { "None." } } @else {
            ul.named-sessions {
                @for outlier in all.iter().take(MAX_SHOWN) { (row(outlier, report, ctx)) }
                @if all.len() > MAX_SHOWN { li.muted { (all.len() - MAX_SHOWN) " more" } }
            }
        }
    }
}

fn row(outlier: &Outlier, report: &WeekReport, ctx: &RequestContext) -> Markup {
    let turn = outlier.reason.as_ref().and_then(|reason| reason.turn);
    html! {
        li {
            span.num { (format!("{:.2}", outlier.overall)) } " "
            (named(&outlier.session, report, turn, ctx))
            @if let Some(Reason { dimension, text, turn }) = &outlier.reason {
                p.muted {
                    bdi { (dimension) } ": " bdi { (elide(text, 300)) }
                    @if let Some(turn) = turn {
                        " " a href=[to_turn(&outlier.session, Some(*turn), report, ctx)] { "turn " (turn) }
                    }
                }
            }
        }
    }
}

/// A session by its first request.
fn named(id: &str, report: &WeekReport, turn: Option<u32>, ctx: &RequestContext) -> Markup {
    let card = report.sessions.get(id);
    let title = card.and_then(|card| card.title.as_deref()).unwrap_or(id);
    let facts = card.map(|card| {
        let release = card.release.as_ref().map(|release| format!("release {release}"));
        let known = [card.agent.clone(), Some(card.environment.clone()), release];
        let known = known.into_iter().flatten().filter(|fact| !fact.is_empty());
        known.map(|fact| elide(&fact, 80).into_owned()).collect::<Vec<_>>().join(" · ")
    });
    html! {
        a href=[to_turn(id, turn, report, ctx)] title=(elide(id, 300)) { bdi { (elide(title, 300)) } }
        @if let Some(facts) = facts { " " span.muted { bdi { (facts) } } }
    }
}

/// The turn of a session that shows something, or the session; `None` where it is on another
/// server.
pub(super) fn to_turn(
    session: &str,
    turn: Option<u32>,
    report: &WeekReport,
    ctx: &RequestContext,
) -> Option<String> {
    if report.source.is_some() {
        return None;
    }
    let link: Link = ctx.to(&["sessions", session]);
    Some(turn.map_or_else(|| link.to_string(), |turn| format!("{link}#turn-{turn}")))
}
