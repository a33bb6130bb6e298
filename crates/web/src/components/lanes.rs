//! Who worked when: one lane for each agent, time from left to right. Long pauses are cut short.

use maud::{Markup, html};
use ratchet_core::time::Timestamp;

use super::figure;
use crate::request_context::Link;

const WIDTH: f64 = 960.0;
const LEFT: f64 = 150.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 22.0;
const LANE: f64 = 30.0;
const BAR: f64 = 16.0;
/// How wide a pause is drawn at most, however long it was.
const PAUSE: f64 = 28.0;
/// The share of the drawing that pauses take at most.
const PAUSES: f64 = 0.3;
/// Pauses that have their length written above them.
const NAMED_PAUSES: usize = 12;
/// Pauses shorter than this share of all work are drawn as they were.
const SHORT_PAUSE: f64 = 0.05;
/// The least a run is wide.
const LEAST: f64 = 3.0;
const MAX_LANES: usize = 12;

/// One run of one agent.
#[derive(Clone, Debug)]
pub struct Run {
    /// Whose lane it is in.
    pub agent: String,
    pub name: String,
    pub start: Timestamp,
    pub end: Timestamp,
    /// Whether something in it failed.
    pub failed: bool,
    pub link: Link,
}

/// Draws the runs, and a line from each run to those of other agents that it called: those that
/// began and ended while it was at work.
pub fn lanes(title: &str, runs: &[Run]) -> Markup {
    let agents = agents(runs);
    let line = Line::of(runs);
    let height = TOP + LANE * float(agents.len()) + 6.0;
    let lane = |agent: &str| {
        let at = agents.iter().position(|known| *known == agent)?;
        Some(TOP + LANE * float(at))
    };
    let drawn = || runs.iter().filter_map(|run| Some((run, lane(&run.agent)?)));
    html! {
        figure.chart.lanes {
            figcaption { (title) }
            div.lanes-wrap tabindex="0" role="region" aria-label=(title) {
                svg viewBox={ "0 0 " (WIDTH) " " (height) } role="group" aria-label=(title) {
                    (marks(&line, height))
                    @for (index, agent) in agents.iter().enumerate() {
                        @let y = TOP + LANE * float(index);
                        line.grid x1=(LEFT) x2=(WIDTH - RIGHT) y1=(y + LANE / 2.0) y2=(y + LANE / 2.0) {}
                        text class={ "direct hue-" (index % 6) } x="0" y=(y + LANE / 2.0 + 4.0) {
                            (cut(agent)) title { (agent) }
                        }
                    }
                    @for (run, y) in drawn() {
                        @if let Some(from) = caller(run, runs).and_then(|caller| lane(&caller.agent)) {
                            @let x = line.x(run.start);
                            path.call d={ "M" (x) " " (from + LANE / 2.0) " V" (y + LANE / 2.0) } {}
                        }
                    }
                    @for (run, y) in drawn() { (bar(run, &line, y, &agents)) }
                }
            }
            @if agents.len() == MAX_LANES {
                p.muted { small { "Only the first " (MAX_LANES) " agents are shown." } }
            }
        }
    }
}

fn bar(run: &Run, line: &Line, y: f64, agents: &[&str]) -> Markup {
    let hue = agents.iter().position(|agent| *agent == run.agent).unwrap_or_default() % 6;
    let x = line.x(run.start);
    let width = (line.x(run.end) - x).max(LEAST);
    let took = figure::duration(run.end.since(run.start));
    let words = format!(
        "{}, {}, {took}{}",
        run.name,
        figure::exact_moment(run.start),
        if run.failed { ", error" } else { "" }
    );
    html! {
        a href=(run.link) aria-label=(words) {
            rect class={ "hue-" (hue) } x=(x) y=(y + (LANE - BAR) / 2.0) width=(width) height=(BAR) rx="2" {
                title { (words) }
            }
            @if run.failed {
                rect.failed x=(x) y=(y + (LANE + BAR) / 2.0) width=(width) height="3" {}
            }
        }
    }
}

/// The pauses that were cut.
fn marks(line: &Line, height: f64) -> Markup {
    html! {
        @for (x, nanos) in &line.pauses {
            line.pause x1=(x) x2=(x) y1=(TOP - 2.0) y2=(height - 4.0) {
                title { "gap of " (figure::duration(*nanos)) }
            }
            @if line.pauses.len() <= NAMED_PAUSES {
                text.axis.middle x=(x) y=(TOP - 8.0) { (figure::duration(*nanos)) }
            }
        }
    }
}

/// The agents in the order they began.
fn agents(runs: &[Run]) -> Vec<&str> {
    let mut agents: Vec<&str> = Vec::new();
    for run in runs {
        if !agents.contains(&run.agent.as_str()) && agents.len() < MAX_LANES {
            agents.push(&run.agent);
        }
    }
    agents
}

/// The run of another agent that was at work all the while: the shortest, if there are several.
pub fn caller<'a>(run: &Run, runs: &'a [Run]) -> Option<&'a Run> {
    let length = |run: &Run| run.end.since(run.start);
    let is_caller = |other: &&Run| {
        other.agent != run.agent
            && other.start <= run.start
            && run.end <= other.end
            && length(other) > length(run)
    };
    runs.iter().filter(is_caller).min_by_key(|other| length(other))
}

/// Maps times to x positions: work to scale, long pauses cut.
#[derive(Clone, Debug)]
struct Line {
    /// Stretches of work: from, to, and where they begin on the drawing.
    work: Vec<(Timestamp, Timestamp, f64)>,
    /// How wide a nanosecond is.
    scale: f64,
    /// Where pauses are, and how long they were.
    pauses: Vec<(f64, i64)>,
}

impl Line {
    fn of(runs: &[Run]) -> Self {
        let mut spans: Vec<(Timestamp, Timestamp)> =
            runs.iter().map(|run| (run.start, run.end.max(run.start))).collect();
        spans.sort();
        let total: f64 = spans.iter().map(|(from, to)| nanos(to.since(*from))).sum();
        let mut work: Vec<(Timestamp, Timestamp)> = Vec::new();
        for (from, to) in spans {
            match work.last_mut() {
                Some(last) if nanos(from.since(last.1)) <= total * SHORT_PAUSE => {
                    last.1 = last.1.max(to);
                }
                _ => work.push((from, to)),
            }
        }
        let pauses = float(work.len().saturating_sub(1));
        let room = WIDTH - LEFT - RIGHT;
        let pause = (room * PAUSES / pauses.max(1.0)).min(PAUSE);
        let busy: f64 = work.iter().map(|(from, to)| nanos(to.since(*from))).sum();
        Self::placed(work, (room - pauses * pause) / busy.max(1.0), pause)
    }

    fn placed(work: Vec<(Timestamp, Timestamp)>, scale: f64, pause: f64) -> Self {
        let (mut x, mut pauses, mut placed) = (LEFT, Vec::new(), Vec::new());
        let mut last: Option<Timestamp> = None;
        for (from, to) in work {
            if let Some(last) = last {
                pauses.push((x + pause / 2.0, from.since(last)));
                x += pause;
            }
            placed.push((from, to, x));
            x += nanos(to.since(from)) * scale;
            last = Some(to);
        }
        Self { work: placed, scale, pauses }
    }

    fn x(&self, at: Timestamp) -> f64 {
        let before = self.work.partition_point(|(from, _, _)| *from <= at);
        let stretch = before.checked_sub(1).and_then(|index| self.work.get(index));
        let Some((from, to, x)) = stretch else { return LEFT };
        let x = x + nanos(at.min(*to).since(*from)) * self.scale;
        (x * 10.0).round() / 10.0
    }
}

fn cut(name: &str) -> String {
    let short: String = name.chars().take(22).collect();
    if short.len() < name.len() { format!("{short}…") } else { short }
}

#[expect(clippy::cast_precision_loss, reason = "positions in a drawing")]
fn nanos(nanos: i64) -> f64 {
    nanos as f64
}

#[expect(clippy::cast_precision_loss, reason = "positions in a drawing")]
fn float(count: usize) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(agent: &str, start: i64, end: i64) -> Run {
        let (start, end) = (Timestamp::from_millis(start), Timestamp::from_millis(end));
        let (name, link) = (format!("{agent}'s run"), Link::new("/x"));
        Run { agent: agent.to_owned(), name, start, end, failed: false, link }
    }

    #[test]
    fn an_agent_inside_another_was_called_by_it() {
        let runs = [run("desk", 0, 100), run("travel", 10, 50), run("travel", 200, 210)];
        assert_eq!(caller(&runs[1], &runs).map(|run| run.agent.as_str()), Some("desk"));
        assert!(caller(&runs[0], &runs).is_none() && caller(&runs[2], &runs).is_none());
        assert_eq!(lanes("Agents", &runs).into_string().matches("class=\"call\"").count(), 1);
    }

    #[test]
    fn a_night_is_no_wider_than_a_breath() {
        let day = 86_400_000;
        let runs =
            [run("a", 0, 1_000), run("a", day, day + 1_000), run("a", 2 * day, 2 * day + 500)];
        let line = Line::of(&runs);
        assert_eq!(line.pauses.len(), 2);
        let middle = line.x(Timestamp::from_millis(day));
        assert!(middle > LEFT + 300.0 && middle < WIDTH - 300.0, "{middle}");
        assert!(line.x(runs[2].end) <= WIDTH - RIGHT + 1.0);
    }

    #[test]
    fn runs_of_no_length_can_be_drawn() {
        for runs in [&[][..], &[run("<b>", 5, 5)], &[run("a", 5, 1), run("b", 5, 5)]] {
            let drawn = lanes("Agents", runs).into_string();
            assert!(!drawn.contains("NaN") && !drawn.contains("inf") && !drawn.contains("<b>"));
        }
    }
}
