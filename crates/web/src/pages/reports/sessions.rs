use maud::{Markup, html};
use ratchet_core::quality::report::{MAX_SHOWN, WeekReport};
use ratchet_core::quality::synthesis::{Outlier, Reason};
use ratchet_core::record::limit::elide;

use super::agents::is_in_scope;
use crate::request_context::{Link, RequestContext};

/// Sessions by their first request, with agent and release.
pub(super) fn list(ids: &[String], report: &WeekReport, ctx: &RequestContext) -> Markup {
    html! {
        ul.named-sessions {
            @for id in ids.iter().take(MAX_SHOWN) {
                li { (named(id, report, None, ctx)) }
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
    let is_shown = |outlier: &&Outlier| match report.sessions.get(&outlier.session) {
        Some(card) => is_in_scope(ctx, card.agent.as_deref(), &card.environment),
        None => ctx.scope.agent.is_none() && ctx.scope.environment.is_none(),
    };
    let shown: Vec<&Outlier> = outliers.iter().take(MAX_SHOWN).filter(is_shown).collect();
    html! {
        h3 { (title) " " span.muted { (outliers.len()) } }
        @if shown.is_empty() { p.muted { "None." } } @else {
            ul.named-sessions {
                @for outlier in &shown { (row(outlier, report, ctx)) }
                @if outliers.len() > MAX_SHOWN { li.muted { (outliers.len() - MAX_SHOWN) " more" } }
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
