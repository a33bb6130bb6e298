//! Everything that happens in the two weeks and since, from a seed and the end.

use super::agents::{self, AGENTS, Agent, Environment, Release};
use super::conversation::{self, Beginning, SessionTraffic, Trial};
use super::seeded_random::Chance;
use super::story::{Run, Thumb};
use super::timeline::{MINUTE, Timeline};
use super::{coding, script};

/// All traces and thumbs.
#[derive(Debug)]
pub(crate) struct Traffic {
    /// In order of their end.
    pub(crate) runs: Vec<Run>,
    pub(crate) thumbs: Vec<Thumb>,
    /// What the releases made of each item of a dataset.
    pub(crate) trials: Vec<Vec<Trial>>,
}

impl Traffic {
    /// Returns all traces, with those of the dataset's trials.
    pub(crate) fn all_runs(&self) -> impl Iterator<Item = &Run> {
        self.runs.iter().chain(self.trials.iter().flatten().map(|trial| &trial.run))
    }
}

/// Enough that an unchanged release passes a gate.
const ITEMS: usize = 30;
/// When the release before the second week was tried, in hours since that week began.
const FIRST_TRIALS: i64 = -6 * 24;

/// The first sessions of each agent happen just now, so that the newest page is never empty.
const JUST_NOW: usize = 3;

const BETA: f64 = 0.2;

/// Generates the traffic. The same seed and timeline give the same traffic.
pub(crate) fn generate(seed: u64, timeline: &Timeline) -> Traffic {
    let chance = Chance::new(seed).fork(&timeline.end.to_string());
    let generator = Generator { timeline, chance };
    let sessions: Vec<SessionTraffic> =
        AGENTS.into_iter().flat_map(|agent| generator.sessions(agent)).collect();
    let (mut runs, mut thumbs) = (Vec::new(), Vec::new());
    for session in sessions {
        let (in_time, shift) = generator.in_time(session.runs);
        runs.extend(in_time);
        let earlier = |thumb: Thumb| Thumb { at: thumb.at.plus_nanos(-shift), ..thumb };
        thumbs.extend(session.thumbs.into_iter().map(earlier));
    }
    thumbs.retain(|thumb: &Thumb| thumb.at <= timeline.end);
    runs.sort_by_key(|run: &Run| (run.root.end, run.id));
    Traffic { runs, thumbs, trials: generator.trials() }
}

struct Generator<'a> {
    timeline: &'a Timeline,
    chance: Chance,
}

impl Generator<'_> {
    fn sessions(&self, agent: &'static Agent) -> Vec<SessionTraffic> {
        let mut chance = self.chance.fork(agent.name);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "some hundreds of sessions"
        )]
        let count = (agent.sessions_per_day * self.timeline.days()).round() as usize;
        let one = |nth: usize| {
            let is_now = nth < JUST_NOW;
            let at = if is_now {
                let minutes = i64::try_from(chance.between(3, 40)).unwrap_or(3);
                self.timeline.end.plus_nanos(-minutes * MINUTE)
            } else {
                self.timeline.moment(&mut chance, agent.rhythm)
            };
            let is_coding = agent.name == agents::CODING.name;
            let environment = if !is_now && !is_coding && chance.odds(BETA) {
                Environment::Beta
            } else {
                Environment::Prod
            };
            let begin = Beginning {
                chance: chance.fork(&format!("session {nth}")),
                at,
                environment,
                release: agent.release_at(self.timeline, at, environment),
            };
            match agent.name {
                "research-desk" => conversation::tell(agent, &script::RESEARCH, begin),
                "data-analyst" => conversation::tell(agent, &script::ANALYST, begin),
                "claude-code" => coding::tell(begin, nth),
                _ => conversation::tell(agent, &script::SUPPORT, begin),
            }
        };
        (0..count).map(one).collect()
    }

    /// The items of the dataset, each tried by the release of the first week, by the bad one and by
    /// the one that mends it.
    fn trials(&self) -> Vec<Vec<Trial>> {
        let chance = self.chance.fork("trials");
        let releases = agents::SUPPORT.releases.iter();
        let tried = |nth: usize| {
            let try_one = |release: &'static Release| {
                let minutes = i64::try_from(nth).unwrap_or(0);
                let hour = (release.hour - 5).max(FIRST_TRIALS);
                let begin = Beginning {
                    chance: chance.fork(&format!("item {nth}")),
                    at: self.timeline.at_hour(hour).plus_nanos(minutes * MINUTE),
                    environment: Environment::Beta,
                    release,
                };
                conversation::trial(&agents::SUPPORT, &script::SUPPORT, begin)
            };
            releases.clone().filter_map(try_one).collect()
        };
        (0..ITEMS).map(tried).collect()
    }

    /// Moves a session back if it would end too late; returns by how much.
    fn in_time(&self, mut runs: Vec<Run>) -> (Vec<Run>, i64) {
        let last = runs.iter().map(|run| run.root.end).max().unwrap_or(self.timeline.end);
        let late = last.since(self.timeline.end);
        if late <= 0 {
            return (runs, 0);
        }
        let shift = late + MINUTE / 6;
        runs.iter_mut().for_each(|run| run.move_back(shift));
        (runs, shift)
    }
}
