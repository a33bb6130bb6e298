use std::collections::BTreeMap;

use maud::{Markup, html};
use ratchet_core::catalog::review::is_superseded;
use ratchet_core::payload::Json;
use ratchet_core::record::limit::elide;
use ratchet_core::record::score::Score;
use ratchet_core::record::session::Session;
use ratchet_stages::score::previous_scores::{RUBRIC, SUPERSEDED_BY};

use super::page_of;
use crate::components::{badge, copy};
use crate::pages::annotation;
use crate::pages::reports::score_now;
use crate::request_context::{RequestContext, shell_word};
use crate::score_summary;

/// Maximum bytes shown of a rationale.
const MAX_REASON: usize = 1_000;

/// Scores of a session: current ones by judge, with the turns they cite.
pub(super) struct Verdicts<'a> {
    pub(super) scores: &'a [Score],
    pub(super) session: &'a Session,
    /// Numbers of the turns on this page.
    pub(super) shown: std::ops::Range<u64>,
}

impl Verdicts<'_> {
    pub(super) fn draw(&self, ctx: &RequestContext) -> Markup {
        let is_current = |score: &&Score| field(score, SUPERSEDED_BY).is_none();
        let mut by_judge: BTreeMap<String, Vec<&Score>> = BTreeMap::new();
        for score in self.scores.iter().filter(is_current) {
            by_judge.entry(judge(score)).or_default().push(score);
        }
        let id = self.session.id.to_string();
        let earlier = self.scores.len() - by_judge.values().map(Vec::len).sum::<usize>();
        html! {
            h2 { "Verdict" }
            @if self.scores.is_empty() {
                p.muted { "Not scored yet." }
                (score_now::button(ctx))
                p.muted { "Or this session alone, with any judge:" }
                (copy::snippet(&ctx.command(&format!("score session {}", shell_word(&id)))))
            }
            @for (judge, scores) in &by_judge {
                h3.judge-name { (judge) }
                dl.verdict { @for score in scores { (self.score(score, ctx)) } }
            }
            @if earlier > 0 {
                p.muted { (earlier) " earlier scores are superseded." }
            }
        }
    }

    fn score(&self, score: &Score, ctx: &RequestContext) -> Markup {
        let value = elide(&score_summary::value(&score.value), 60).into_owned();
        html! {
            dt {
                a href=(score_summary::link(ctx, &score.name)) { bdi { (elide(&score.name, 60)) } }
                " " (badge::decided(score_summary::decider(score), &value))
                @if is_superseded(score, self.scores) { " " (badge::tag("superseded by a person")) }
            }
            dd {
                @if let Some(reason) = &score.comment { p { bdi { (elide(reason, MAX_REASON)) } } }
                (self.evidence(score, ctx))
                (annotation::score_button(ctx, score))
            }
        }
    }

    /// Links to the cited turns, on this page or another one of the conversation.
    fn evidence(&self, score: &Score, ctx: &RequestContext) -> Markup {
        let cited = field(score, "evidence");
        let cited: Vec<u64> =
            cited.and_then(|json| serde_json::from_str(json.as_str()).ok()).unwrap_or_default();
        html! {
            @if !cited.is_empty() {
                p.evidence {
                    span.muted { "Evidence: " }
                    @for (place, turn) in cited.iter().enumerate() {
                        @if place > 0 { ", " }
                        @match self.link(*turn, ctx) {
                            Some(link) => { a href=(link) { "turn " (turn) } },
                            None => { "turn " (turn) },
                        }
                    }
                }
            }
        }
    }

    fn link(&self, turn: u64, ctx: &RequestContext) -> Option<String> {
        if self.shown.contains(&turn) {
            return Some(format!("#turn-{turn}"));
        }
        let page = page_of(turn).to_string();
        let link = ctx.to(&["sessions", &self.session.id.to_string()]).with("page", page);
        (1..=self.session.traces).contains(&turn).then(|| format!("{link}#turn-{turn}"))
    }
}

/// Who judged, by which rubric: `offline judge (rules), session-quality version 3`.
fn judge(score: &Score) -> String {
    let who = score_summary::judge_name(score);
    let text = |name: &str| field(score, name).map(|json| json.as_str().trim_matches('"'));
    match (text(RUBRIC), text("rubric_version")) {
        (Some(rubric), Some(version)) => format!("{who}, {rubric} version {version}"),
        _ => who,
    }
}

fn field<'a>(score: &'a Score, name: &str) -> Option<&'a Json> {
    score.metadata.iter().find(|(key, _)| key == name).map(|(_, value)| value)
}
