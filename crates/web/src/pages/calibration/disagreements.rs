use std::collections::BTreeMap;

use maud::{Markup, html};
use ratchet_core::id::SessionId;
use ratchet_core::judge::rubric::Rubric;
use ratchet_core::quality::calibration::draft::mark;
use ratchet_core::quality::calibration::{Calibration, DisagreedSession};
use ratchet_core::record::limit::elide;
use ratchet_stages::review::LabelComparison;

use crate::components::agreement::two;
use crate::components::badge::{self, Decider};
use crate::request_context::RequestContext;
use crate::score_summary;

const SHOWN: usize = 10;
/// Dimensions of a session that are shown.
const DIMENSIONS: usize = 3;
const REASON: usize = 400;

/// The sessions that both see most differently.
pub(super) fn listed(calibration: &Calibration) -> Vec<&DisagreedSession> {
    calibration.apart.iter().filter(|apart| apart.distance > 0.0).take(SHOWN).collect()
}

/// Draws the sessions that both see most differently, side by side, by their first requests.
pub(super) fn draw(
    calibration: &Calibration,
    (held, rubric): (&LabelComparison, &Rubric),
    titles: &BTreeMap<SessionId, String>,
    ctx: &RequestContext,
) -> Markup {
    let far = listed(calibration);
    html! {
        section aria-labelledby="apart" {
            h2 #apart { "Largest disagreements" }
            @if far.is_empty() { p.muted { "None: all scores are the same." } }
            ol.apart { @for apart in far { li {
                (session(apart, titles.get(&apart.session), (held, rubric), ctx))
            } } }
        }
    }
}

fn session(
    apart: &DisagreedSession,
    title: Option<&String>,
    (held, rubric): (&LabelComparison, &Rubric),
    ctx: &RequestContext,
) -> Markup {
    let id = apart.session.to_string();
    let spoken = held.spoken.get(&apart.session);
    let judge = spoken.map_or(Decider::Model, |it| score_summary::decider_of_judge(&it.judge));
    let shown = apart.marks.iter().filter(|(_, pair)| (pair.judge - pair.human).abs() > 0.0);
    html! {
        article {
            header {
                h3 { a href=(ctx.to(&["sessions", &id])) title=(id) {
                    @match title {
                        Some(title) => { bdi { (elide(title, 100)) } },
                        None => { "Session " bdi { code { (elide(&id, 60)) } } },
                    }
                } }
                span.muted { (two(apart.distance)) " mean difference" }
            }
            div.table-wrap tabindex="0" role="region" aria-label={ "Scores of session " (id) } {
                table {
                    thead { tr {
                        th scope="col" { "Dimension" }
                        th scope="col" { (badge::decided(judge, "judge")) }
                        th scope="col" { (badge::decided(Decider::Human, "human")) }
                        th scope="col" { "Judge's rationale" }
                    } }
                    tbody {
                        @for (name, pair) in shown.take(DIMENSIONS) {
                            @let text = |value| rubric.dimension(name).map_or_else(|| two(value), |one| mark(one, value));
                            @let reason = spoken.and_then(|spoken| spoken.reasons.get(name));
                            tr {
                                th scope="row" { (name) }
                                td { (text(pair.judge)) }
                                td { (text(pair.human)) }
                                td { bdi { (elide(reason.map_or("", String::as_str), REASON)) } }
                            }
                        }
                    }
                }
            }
            @if let Some(why) = held.why(&apart.session) {
                p { span.muted { "Reviewer comment: " } bdi { (elide(&why, REASON)) } }
            }
        }
    }
}
