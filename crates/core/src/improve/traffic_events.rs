//! Events computed from traffic: a measure of a week's sessions left the range of the weeks before.
//!
//! All measures of all agents are tested at once (permutations of sessions between the weeks, step-down
//! maxT), at a level that a quarter's reports share.

use std::collections::{BTreeMap, BTreeSet};

use super::events::{EventKind, WeekEvent};
use crate::stats::float;
use crate::stats::permutation::{Contrast, Row, contrasts};
use crate::time::Timestamp;

/// A quarter has 13 weekly reports; at most 5 % of quarters have a false event.
const LEVEL: f64 = 0.05 / 13.0;
/// Sessions that each side of a comparison needs.
const MIN_SESSIONS: usize = 12;
/// Tools and terms of an agent that are compared at most: the most frequent ones.
const MAX_TOOLS: usize = 12;
const MAX_TERMS: usize = 40;
/// Terms that fewer or more sessions contain say nothing about topics.
const TERM_SHARES: (f64, f64) = (0.04, 0.6);
/// Terms whose sessions are this much the same are one topic.
const SAME_TOPIC: f64 = 0.4;
const SEED: u64 = 20;

/// What a session of an agent was like.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionActivity {
    /// In the reported week; otherwise in the weeks before.
    pub is_of_week: bool,
    /// The mean of its traces.
    pub latency_seconds: Option<f64>,
    /// The mean of its traces.
    pub cost_dollars: Option<f64>,
    /// The share of traces on which the judge said what people said.
    pub agreement: Option<f64>,
    /// The share of calls that failed, by tool.
    pub tool_errors: BTreeMap<String, f64>,
    /// Terms of what was asked.
    pub terms: BTreeSet<String>,
}

#[derive(Clone, Debug, PartialEq)]
enum Measure {
    Latency,
    Cost,
    Agreement,
    ToolErrors(String),
    Term(String),
}

impl Measure {
    fn of(&self, session: &SessionActivity) -> Option<f64> {
        match self {
            Self::Latency => session.latency_seconds,
            Self::Cost => session.cost_dollars,
            Self::Agreement => session.agreement,
            Self::ToolErrors(tool) => session.tool_errors.get(tool).copied(),
            Self::Term(term) => Some(f64::from(u8::from(session.terms.contains(term)))),
        }
    }

    /// What is compared: latencies and costs by their ratio, so that single large ones count less.
    fn compared(&self, session: &SessionActivity) -> Option<f64> {
        let value = self.of(session)?;
        let is_ratio = matches!(self, Self::Latency | Self::Cost);
        Some(if is_ratio { (value + f64::EPSILON).ln() } else { value })
    }
}

/// Returns the events of a week, computed from sessions by agent.
pub fn traffic_events(
    week: Timestamp,
    agents: &BTreeMap<String, Vec<SessionActivity>>,
) -> Vec<WeekEvent> {
    let measures: Vec<(&str, &[SessionActivity], Vec<Measure>)> = agents
        .iter()
        .map(|(agent, sessions)| (agent.as_str(), sessions.as_slice(), measures(sessions)))
        .collect();
    let width = measures.iter().map(|(_, _, of_agent)| of_agent.len()).max().unwrap_or_default();
    let (mut rows, mut strata, mut sides) = (Vec::new(), Vec::new(), Vec::new());
    for (_, sessions, of_agent) in &measures {
        let first = rows.len();
        let row = |session: &SessionActivity| -> Row {
            let cell = |at: usize| of_agent.get(at).and_then(|measure| measure.compared(session));
            (0..width).map(cell).collect()
        };
        rows.extend(sessions.iter().map(row));
        let indexes = |is_of_week: bool| {
            let of_side = (first..).zip(*sessions).filter(move |it| it.1.is_of_week == is_of_week);
            of_side.map(|(index, _)| index).collect()
        };
        strata.push((first..rows.len()).collect());
        sides.push(Contrast { earlier: indexes(false), later: indexes(true) });
    }
    let p_values = contrasts(&rows, &strata, &sides, SEED);
    let mut events = Vec::new();
    for ((agent, sessions, of_agent), p_values) in measures.iter().zip(p_values) {
        let found = of_agent.iter().zip(p_values).filter(|(_, p)| *p <= LEVEL);
        let found: Vec<&Measure> = found.map(|(measure, _)| measure).collect();
        events.extend(
            texts(&found, sessions)
                .into_iter()
                .map(|(kind, text)| WeekEvent::new(week, kind, Some(agent), &text)),
        );
    }
    events
}

/// The measures that both sides have often enough. Which side has them does not matter, so that the
/// choice does not favour a difference.
fn measures(sessions: &[SessionActivity]) -> Vec<Measure> {
    let (mut tools, mut terms): (BTreeMap<&str, usize>, BTreeMap<&str, usize>) = Default::default();
    for session in sessions {
        session.tool_errors.keys().for_each(|tool| *tools.entry(tool).or_default() += 1);
        session.terms.iter().for_each(|term| *terms.entry(term).or_default() += 1);
    }
    let (least, most) = TERM_SHARES;
    let all = float(sessions.len());
    terms.retain(|_, count| {
        let share = float(*count) / all;
        (least..=most).contains(&share)
    });
    let frequent = |counts: BTreeMap<&str, usize>, most: usize| {
        let mut sorted: Vec<(&str, usize)> = counts.into_iter().collect();
        sorted.sort_by(|one, other| other.1.cmp(&one.1).then(one.0.cmp(other.0)));
        sorted.into_iter().take(most).map(|(name, _)| name.to_owned()).collect::<Vec<_>>()
    };
    let named = frequent(tools, MAX_TOOLS).into_iter().map(Measure::ToolErrors);
    let mentioned = frequent(terms, MAX_TERMS).into_iter().map(Measure::Term);
    let all = [Measure::Latency, Measure::Cost, Measure::Agreement].into_iter();
    let has_both_sides = |measure: &Measure| {
        let count = |is_of_week: bool| side(measure, sessions, is_of_week).len();
        count(true) >= MIN_SESSIONS && count(false) >= MIN_SESSIONS
    };
    all.chain(named).chain(mentioned).filter(has_both_sides).collect()
}

fn side(measure: &Measure, sessions: &[SessionActivity], is_of_week: bool) -> Vec<f64> {
    let of_side = sessions.iter().filter(|session| session.is_of_week == is_of_week);
    of_side.filter_map(|session| measure.of(session)).collect()
}

/// A text for each measure; terms of one topic share theirs.
fn texts(found: &[&Measure], sessions: &[SessionActivity]) -> Vec<(EventKind, String)> {
    let mut texts = Vec::new();
    let mut topics: Vec<Vec<&str>> = Vec::new();
    for measure in found {
        let Measure::Term(term) = measure else {
            texts.push(text(measure, sessions));
            continue;
        };
        let rose = |term: &str| has_risen(&Measure::Term(term.to_owned()), sessions);
        let is_same = |topic: &&mut Vec<&str>| {
            topic.iter().any(|other| overlap(term, other, sessions) >= SAME_TOPIC)
                && topic.first().is_some_and(|other| rose(other) == rose(term))
        };
        match topics.iter_mut().find(is_same) {
            Some(topic) => topic.push(term),
            None => topics.push(vec![term]),
        }
    }
    texts.extend(topics.iter().map(|topic| topic_text(topic, sessions)));
    texts
}

/// Sessions with both terms among those with either.
fn overlap(one: &str, other: &str, sessions: &[SessionActivity]) -> f64 {
    let count = |is_counted: &dyn Fn(bool, bool) -> bool| {
        let has = |session: &&SessionActivity| {
            is_counted(session.terms.contains(one), session.terms.contains(other))
        };
        float(sessions.iter().filter(has).count())
    };
    count(&|a, b| a && b) / count(&|a, b| a || b).max(1.0)
}

fn has_risen(measure: &Measure, sessions: &[SessionActivity]) -> bool {
    mean(&side(measure, sessions, true)) > mean(&side(measure, sessions, false))
}

fn topic_text(topic: &[&str], sessions: &[SessionActivity]) -> (EventKind, String) {
    let first = Measure::Term(topic.first().copied().unwrap_or_default().to_owned());
    let shown: Vec<&str> = topic.iter().copied().take(3).collect();
    let subject = format!("Share of sessions about \u{201c}{}\u{201d}", shown.join(", "));
    (EventKind::TopicVolume, format!("{subject} {}", shares(&first, sessions)))
}

fn text(measure: &Measure, sessions: &[SessionActivity]) -> (EventKind, String) {
    match measure {
        Measure::Latency => (
            EventKind::Latency,
            format!("Latency of a trace {}", medians(measure, sessions, "", " s")),
        ),
        Measure::Cost => {
            (EventKind::Cost, format!("Cost of a trace {}", medians(measure, sessions, "$", "")))
        }
        Measure::Agreement => (
            EventKind::JudgeAgreement,
            format!("Agreement of the judge with people {}", shares(measure, sessions)),
        ),
        Measure::ToolErrors(tool) => {
            (EventKind::ToolErrors, format!("Error rate of {tool} {}", shares(measure, sessions)))
        }
        Measure::Term(term) => topic_text(&[term], sessions),
    }
}

/// `rose from 2% to 14% (n 80, before 200)`.
fn shares(measure: &Measure, sessions: &[SessionActivity]) -> String {
    let (later, earlier) = (side(measure, sessions, true), side(measure, sessions, false));
    let percent = |values: &[f64]| format!("{:.0}%", 100.0 * mean(values));
    change(&percent(&earlier), &percent(&later), mean(&later) > mean(&earlier))
        + &counts(&later, &earlier)
}

fn medians(measure: &Measure, sessions: &[SessionActivity], before: &str, unit: &str) -> String {
    let (mut later, mut earlier) = (side(measure, sessions, true), side(measure, sessions, false));
    let (late, early) = (median(&mut later), median(&mut earlier));
    let digits = if before.is_empty() { 1 } else { 4 };
    let shown = |value: f64| format!("{before}{value:.digits$}{unit}");
    change(&shown(early), &shown(late), late > early) + " (median)" + &counts(&later, &earlier)
}

fn change(from: &str, to: &str, has_risen: bool) -> String {
    format!("{} from {from} to {to}", if has_risen { "rose" } else { "fell" })
}

fn counts(later: &[f64], earlier: &[f64]) -> String {
    format!(" (n {} sessions, before {})", later.len(), earlier.len())
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / float(values.len()).max(1.0)
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests;
