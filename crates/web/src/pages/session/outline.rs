use std::collections::BTreeMap;

use maud::{Markup, html};
use ratchet_core::id::TraceId;
use ratchet_core::money::Money;
use ratchet_core::quality::synthesis::{JudgeVersion, is_superseded};
use ratchet_core::record::score::{DataType, Score};
use ratchet_core::record::session::Session;
use ratchet_core::record::trace::Trace;

use crate::components::chart::{self, Form, OverTime, Series};
use crate::components::figure;
use crate::components::lanes::{self, Run};
use crate::request_context::RequestContext;

/// Kinds of scores that are drawn.
const MAX_SERIES: usize = 4;
/// Characters of a score's name beside its line.
const MAX_NAME_CHARS: usize = 14;

/// A session at a glance.
pub(super) struct Outline<'a> {
    pub(super) session: &'a Session,
    pub(super) turns: &'a [Trace],
    pub(super) scores: &'a BTreeMap<TraceId, Vec<Score>>,
}

impl Outline<'_> {
    /// Draws who worked when, what each turn cost and what was said of it.
    pub(super) fn draw(&self, ctx: &RequestContext) -> Markup {
        let runs = self.runs(ctx);
        let agents: std::collections::BTreeSet<&str> =
            runs.iter().map(|run| run.agent.as_str()).collect();
        let scores = self.score_series();
        html! {
            @if agents.len() > 1 { (lanes::lanes("Agent timeline", &runs)) }
            @if self.turns.len() > 1 {
                div.charts.small {
                    (chart::over_time(&self.costs()))
                    @if !scores.is_empty() { (chart::over_time(&self.over_turns(chart::named("Scores by turn", &scores), scores))) }
                }
            }
            @if self.session.traces > self.turns.len() as u64 {
                p.muted { "Only the first " (self.turns.len()) " turns are shown of "
                    (figure::grouped(self.session.traces)) "." }
            }
        }
    }

    /// The agent that called this turn as a tool, if it looks like one did.
    pub(super) fn caller(&self, trace: &Trace, ctx: &RequestContext) -> Option<String> {
        let runs = self.runs(ctx);
        lanes::caller(&run(trace, ctx)?, &runs).map(|caller| caller.agent.clone())
    }

    fn runs(&self, ctx: &RequestContext) -> Vec<Run> {
        self.turns.iter().filter_map(|trace| run(trace, ctx)).collect()
    }

    fn costs(&self) -> OverTime {
        let dollars = |trace: &Trace| trace.summary.cost.map(Money::dollars);
        let values = self.turns.iter().map(dollars).collect();
        let series = vec![Series { name: "cost".to_owned(), hue: 0, values }];
        let (read, exact) = (figure::dollars, figure::exact_dollars);
        let plain = self.over_turns("Cost by turn".to_owned(), series);
        let approximate = self.turns.iter().map(|trace| trace.summary.approximate_cost).sum();
        let note = format!("{}{}", plain.note, figure::and_of_which(approximate));
        OverTime { form: Form::Bars, note, read, exact, ..plain }
    }

    /// The mean of each kind of number or truth by each judge, turn by turn. Scores of different
    /// judges, or of versions of one, are lines of their own.
    fn score_series(&self) -> Vec<Series> {
        let all = || self.turns.iter().filter_map(|turn| self.scores.get(&turn.id)).flatten();
        let mut lines: Vec<ScoreLine<'_>> = Vec::new();
        for score in all().filter(|score| is_drawn(score)) {
            let line = ScoreLine::of(score);
            if !lines.contains(&line) && lines.len() < MAX_SERIES {
                lines.push(line);
            }
        }
        let of_turn = |turn: &Trace, line: &ScoreLine<'_>| {
            let scores = self.scores.get(&turn.id)?.iter().filter(|score| is_drawn(score));
            let scores = scores.filter(|score| ScoreLine::of(score) == *line);
            let numbers: Vec<f64> = scores.filter_map(|score| score.value.number()).collect();
            ratchet_core::stats::interval::mean(&numbers).ok().map(|mean| mean.value)
        };
        let series = |(hue, line): (usize, &ScoreLine<'_>)| Series {
            name: line.label(&lines),
            hue,
            values: self.turns.iter().map(|turn| of_turn(turn, line)).collect(),
        };
        lines.iter().enumerate().map(series).collect()
    }

    fn over_turns(&self, title: String, series: Vec<Series>) -> OverTime {
        let steps = (1..=self.turns.len()).map(|turn| turn.to_string()).collect();
        let note = format!("n = {}", figure::counted(self.turns.len() as u64, "turn"));
        OverTime { title, note, steps, series, ..OverTime::default() }
    }
}

/// Scores that one line shows.
#[derive(PartialEq)]
struct ScoreLine<'a> {
    name: &'a str,
    judge: JudgeVersion,
}

impl<'a> ScoreLine<'a> {
    fn of(score: &'a Score) -> Self {
        Self { name: &score.name, judge: JudgeVersion::of(score) }
    }

    /// The name of the score, and of the judge where one is known; with its version where two have
    /// the same name.
    fn label(&self, all: &[Self]) -> String {
        let name: String = self.name.chars().take(MAX_NAME_CHARS).collect();
        if self.judge.judge.is_empty() {
            return name;
        }
        let plain = self.judge.words();
        let is_alike = |other: &&Self| other.name == self.name && other.judge.words() == plain;
        let is_alone = all.iter().filter(is_alike).count() == 1;
        format!("{name}, {}", if is_alone { plain } else { self.judge.exact_words() })
    }
}

/// Whether a score is a number that no newer verdict took the place of.
fn is_drawn(score: &Score) -> bool {
    matches!(score.value.data_type(), DataType::Numeric | DataType::Boolean)
        && !is_superseded(&score.metadata)
}

fn run(trace: &Trace, ctx: &RequestContext) -> Option<Run> {
    let start = trace.summary.start.unwrap_or(trace.timestamp);
    Some(Run {
        agent: agent(trace)?.to_owned(),
        name: trace.name.clone().unwrap_or_else(|| "unnamed".to_owned()),
        start,
        end: trace.summary.end.unwrap_or(start),
        failed: trace.summary.levels.error > 0,
        link: ctx.to(&["traces", &trace.id.to_string()]),
    })
}

pub(super) fn agent(trace: &Trace) -> Option<&str> {
    trace.agent.as_deref().or(trace.name.as_deref()).filter(|agent| !agent.is_empty())
}
