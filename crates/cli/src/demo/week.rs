//! One week of everything, from a seed and the moment it ends.

use ratchet_core::time::Timestamp;

use super::feedback;
use super::judges::{self, Verdict};
use super::people;
use super::people::{Agent, Place, Release};
use super::rhythm::{MINUTE, Week};
use super::scene::Scene;
use super::seeded_random::Chance;
use super::stories::support::Trial;
use super::stories::{Beginning, Visit, coding, research, support, travel};
use super::story::{Run, Thumb};

/// What happened in a week.
#[derive(Debug)]
pub(crate) struct Happenings {
    /// Every run, in order of its end.
    pub(crate) runs: Vec<Run>,
    pub(crate) thumbs: Vec<Thumb>,
    pub(crate) verdicts: Vec<Verdict>,
    /// What two releases made of each item of a dataset.
    pub(crate) trials: Vec<Vec<Trial>>,
}

/// How many coding sessions there are.
pub(crate) const CODING_SESSIONS: usize = 30;

/// Runs of each agent, together about a thousand.
const SUPPORT_RUNS: usize = 560;
const TRAVEL_RUNS: usize = 270;
const RESEARCH_RUNS: usize = 170;

const ITEMS: usize = 16;

/// The last visits of each agent happen just now, so that the newest page is never empty.
const JUST_NOW: usize = 4;

type Tell = fn(Beginning) -> Option<Visit>;

/// Makes the week up. The same seed and end give the same week.
pub(crate) fn imagine(seed: u64, end: Timestamp) -> Happenings {
    let author = Author { week: Week { end }, chance: Chance::new(seed).fork(&end.to_string()) };
    let mut runs = Vec::new();
    runs.extend(author.visits(&people::SUPPORT, SUPPORT_RUNS, support::visit));
    runs.extend(author.visits(&people::TRAVEL, TRAVEL_RUNS, travel::visit));
    runs.extend(author.visits(&people::RESEARCH, RESEARCH_RUNS, research::visit));
    let mut labelled_sessions = author.chance.fork("thumbs");
    let thumbs = runs
        .iter()
        .filter_map(|run| feedback::thumb(&mut labelled_sessions, run))
        .filter(|thumb| thumb.at <= end)
        .collect();
    runs.extend(author.coding());
    runs.sort_by_key(|run| (run.root.end, run.id));
    let trials = author.trials();
    let tried = trials.iter().flatten().map(|trial| &trial.run);
    let verdicts = judges::verdicts(&author.chance, runs.iter().chain(tried), end);
    Happenings { runs, thumbs, verdicts, trials }
}

/// Who makes the week up.
struct Author {
    week: Week,
    chance: Chance,
}

impl Author {
    /// Conversations with one agent until it has that many runs.
    fn visits(&self, agent: &'static Agent, count: usize, tell: Tell) -> Vec<Run> {
        let mut chance = self.chance.fork(agent.name);
        let mut runs = Vec::new();
        let mut nth = 0;
        while runs.len() < count {
            let at = if nth < JUST_NOW {
                self.just_now(&mut chance)
            } else {
                self.week.moment(&mut chance, agent.rhythm)
            };
            let place =
                if nth >= JUST_NOW && chance.odds(0.22) { Place::Beta } else { Place::Prod };
            let scene = Scene { chance: chance.fork(&format!("visit {nth}")), now: at };
            let beginning = Beginning {
                scene,
                place,
                release: agent.release_at(self.week, at, place),
                week: self.week,
            };
            runs.extend(tell(beginning).into_iter().flat_map(|visit| self.in_time(visit.runs)));
            nth += 1;
        }
        runs
    }

    fn just_now(&self, chance: &mut Chance) -> Timestamp {
        let minutes = i64::try_from(chance.between(3, 40)).unwrap_or(3);
        self.week.end.plus_nanos(-minutes * MINUTE)
    }

    /// The coding sessions: each way it can go, three times.
    fn coding(&self) -> Vec<Run> {
        let mut chance = self.chance.fork(people::CODING.name);
        let mut runs = Vec::new();
        for (nth, arc) in coding::Arc::ALL.into_iter().cycle().take(CODING_SESSIONS).enumerate() {
            let at = self.week.moment(&mut chance, people::CODING.rhythm);
            let place = Place::Prod;
            let scene = Scene { chance: chance.fork(&format!("session {nth}")), now: at };
            let beginning = Beginning {
                scene,
                place,
                release: people::CODING.release_at(self.week, at, place),
                week: self.week,
            };
            runs.extend(
                coding::session(beginning, arc)
                    .into_iter()
                    .flat_map(|visit| self.in_time(visit.runs)),
            );
        }
        runs
    }

    /// The items of the dataset, each tried by the bad release and by the one that mends it.
    fn trials(&self) -> Vec<Vec<Trial>> {
        let chance = self.chance.fork("trials");
        let newest = people::SUPPORT.releases.iter().rev().take(2).rev();
        let tried = |nth: usize| {
            let customer = chance.fork(&format!("item {nth}"));
            let at = |release: &Release| {
                let minutes = i64::try_from(nth).unwrap_or(0);
                self.week.days_ago(release.days_ago + 0.2).plus_nanos(minutes * MINUTE)
            };
            let tries = newest.clone();
            tries.filter_map(|release| support::trial(&customer, at(release), release)).collect()
        };
        (0..ITEMS).map(tried).collect()
    }

    /// Moves a conversation back if it would end after the week.
    fn in_time(&self, mut runs: Vec<Run>) -> Vec<Run> {
        let last = runs.iter().map(|run| run.root.end).max().unwrap_or(self.week.end);
        let late = last.since(self.week.end);
        if late > 0 {
            runs.iter_mut().for_each(|run| run.move_back(late + MINUTE / 6));
        }
        runs
    }
}
