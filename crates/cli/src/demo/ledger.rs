//! What the generator planted, so that scores and reports can be checked against it.

use std::collections::BTreeMap;

use serde::Serialize;

use super::agents::{self, Release};
use super::story::{Course, Run, Work};
use super::timeline::Timeline;
use super::traffic::Traffic;

#[derive(Debug, Serialize)]
pub(crate) struct Ledger {
    pub(crate) seed: u64,
    pub(crate) end: String,
    /// First days of the two reported weeks.
    pub(crate) weeks: [String; 2],
    pub(crate) bad_release: BadRelease,
    /// The agent that costs more than its peers.
    pub(crate) costly_agent: &'static str,
    pub(crate) drifted_judge: super::review::PlantedDrift,
    pub(crate) traces: usize,
    pub(crate) spans: usize,
    pub(crate) thumbs: usize,
    pub(crate) sessions: BTreeMap<String, PlantedSession>,
}

#[derive(Debug, Serialize)]
pub(crate) struct BadRelease {
    pub(crate) agent: &'static str,
    pub(crate) release: &'static str,
    pub(crate) previous: &'static str,
    pub(crate) fixed_by: &'static str,
    /// The tool that fails.
    pub(crate) tool: &'static str,
    pub(crate) from: String,
    pub(crate) until: String,
}

/// A session as it was generated.
#[derive(Debug, Serialize)]
pub(crate) struct PlantedSession {
    pub(crate) agent: &'static str,
    pub(crate) environment: &'static str,
    pub(crate) release: &'static str,
    pub(crate) user: String,
    /// 1 and 2 for the reported weeks, 3 for the current one, by its start.
    pub(crate) week: u8,
    pub(crate) start: String,
    /// The start of its last trace.
    pub(crate) last: String,
    pub(crate) course: Course,
    pub(crate) first_request: String,
    pub(crate) traces: usize,
    pub(crate) steps: usize,
    pub(crate) tool_calls: usize,
    pub(crate) tool_errors: BTreeMap<&'static str, usize>,
    pub(crate) thumbs_up: usize,
    pub(crate) thumbs_down: usize,
}

impl Ledger {
    pub(crate) fn new(seed: u64, timeline: &Timeline, traffic: &Traffic) -> Self {
        let runs: Vec<&Run> = traffic.all_runs().collect();
        Self {
            seed,
            end: timeline.end.to_string(),
            weeks: [timeline.first.days().0, timeline.second.days().0],
            bad_release: bad_release(timeline),
            costly_agent: agents::ANALYST.name,
            drifted_judge: super::review::PLANTED_DRIFT,
            traces: runs.len(),
            spans: runs.iter().map(|run| run.root.all().len()).sum(),
            thumbs: traffic.thumbs.len(),
            sessions: sessions(timeline, traffic, &runs),
        }
    }
}

fn bad_release(timeline: &Timeline) -> BadRelease {
    let releases = agents::SUPPORT.releases;
    let at = releases.iter().position(|release| release.is_bad).unwrap_or(0);
    let version = |release: Option<&Release>| release.map_or("", |release| release.version);
    let hour = |release: Option<&Release>| {
        release.map(|release| timeline.at_hour(release.hour).to_string()).unwrap_or_default()
    };
    let (bad, next) = (releases.get(at), releases.get(at + 1));
    BadRelease {
        agent: agents::SUPPORT.name,
        release: version(bad),
        previous: version(at.checked_sub(1).and_then(|at| releases.get(at))),
        fixed_by: version(next),
        tool: &super::script::SUPPORT.failing.tool,
        from: hour(bad),
        until: hour(next),
    }
}

fn sessions(
    timeline: &Timeline,
    traffic: &Traffic,
    runs: &[&Run],
) -> BTreeMap<String, PlantedSession> {
    let mut sessions: BTreeMap<String, PlantedSession> = BTreeMap::new();
    let mut by_start: Vec<&Run> = runs.to_vec();
    by_start.sort_by_key(|run| (run.asked_by.is_some(), run.root.start));
    for run in by_start {
        let session = sessions.entry(run.session.clone()).or_insert_with(|| PlantedSession {
            agent: run.agent.name,
            environment: run.environment.name(),
            release: run.release.version,
            user: run.user.clone(),
            week: timeline.week_of(run.root.start),
            start: run.root.start.to_string(),
            last: run.root.start.to_string(),
            course: run.course,
            first_request: first_request(run),
            traces: 0,
            steps: 0,
            tool_calls: 0,
            tool_errors: BTreeMap::new(),
            thumbs_up: 0,
            thumbs_down: 0,
        });
        session.traces += 1;
        session.last = session.last.clone().max(run.root.start.to_string());
        for step in run.root.all() {
            session.steps += 1;
            if let Work::Tool(call) = &step.work {
                session.tool_calls += 1;
                if step.has_failed() {
                    *session.tool_errors.entry(call.name).or_default() += 1;
                }
            }
        }
        let of_run = traffic.thumbs.iter().filter(|thumb| thumb.trace == run.id);
        for thumb in of_run {
            let count = if thumb.up { &mut session.thumbs_up } else { &mut session.thumbs_down };
            *count += 1;
        }
    }
    sessions
}

fn first_request(run: &Run) -> String {
    match &run.root.work {
        Work::Agent { input, .. } => input.clone(),
        _ => String::new(),
    }
}
