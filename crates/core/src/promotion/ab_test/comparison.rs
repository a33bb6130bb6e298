use serde::{Deserialize, Serialize};

use super::{AbEnd, Arm};
use crate::promotion::watch::{Mark, SessionMarks};
use crate::stats::float;
use crate::stats::interval::Interval;
use crate::stats::sequential::{SequentialTest, anytime_interval};

/// Chance of ending a test of equal versions as harm or with a winner, however often one looks.
pub const ALPHA: f64 = 0.05;
/// The part for harm, over all marks; the rest is for a winner in the primary mark.
const HARM: f64 = ALPHA / 2.0;
/// Values whose ranks a latency or cost is compared with.
const MAX_RANKED: usize = 500;

/// What a user got, and how it went; in the order in which users count.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UnitMarks {
    pub arm: Arm,
    pub marks: SessionMarks,
    /// Whether every trace used the version that the user was assigned.
    pub as_assigned: bool,
}

/// One mark of both arms. Intervals are 95% each and valid at any time; latency and cost, which
/// have no highest value, have none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AbMark {
    pub mark: Mark,
    pub control: Option<f64>,
    #[serde(default)]
    pub control_interval: Option<Interval>,
    pub control_units: u32,
    pub candidate: Option<f64>,
    #[serde(default)]
    pub candidate_interval: Option<Interval>,
    pub candidate_units: u32,
    /// Candidate less control.
    #[serde(default)]
    pub difference_interval: Option<Interval>,
    /// Evidence that the candidate is worse: 1 is none.
    pub worse: f64,
    pub worse_needed: f64,
    pub is_worse: bool,
    /// Evidence that the candidate is better, of the primary mark.
    pub better: Option<f64>,
    pub better_needed: f64,
    pub is_better: bool,
}

/// Users and traces of an arm, those included that do not count yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArmTraffic {
    pub users: u32,
    pub traces: u32,
}

/// What was recorded of both arms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AbTraffic {
    pub control: ArmTraffic,
    pub candidate: ArmTraffic,
}

impl AbTraffic {
    /// Counts a user.
    pub fn add(&mut self, arm: Arm, traces: u32) {
        let side = match arm {
            Arm::Control => &mut self.control,
            Arm::Candidate => &mut self.candidate,
        };
        side.users = side.users.saturating_add(1);
        side.traces = side.traces.saturating_add(traces);
    }
}

/// What a look finds: users in the order in which they count, and all traffic.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AbSample {
    pub units: Vec<UnitMarks>,
    pub traffic: AbTraffic,
}

/// Both arms of a test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AbResult {
    pub marks: Vec<AbMark>,
    pub control_units: u32,
    pub candidate_units: u32,
    /// Users who got another version than they were assigned. They are counted as assigned.
    pub other_version: u32,
    #[serde(default)]
    pub traffic: AbTraffic,
}

impl AbResult {
    /// Compares users in the order in which they count.
    ///
    /// Each user is a bet on the assignment: how far the value is from the mean of those before,
    /// weighted by the chance of the arm. Users are assigned at random, so that the bets are fair
    /// if the versions are equal, whoever the users are and whatever changes over time.
    pub fn compare(units: &[UnitMarks], share: u32, primary: Mark) -> Self {
        let of = |arm: Arm| count(units.iter().filter(|unit| unit.arm == arm).count());
        let marks = Mark::ALL.into_iter().enumerate();
        Self {
            marks: marks
                .map(|(index, mark)| compared(units, (index, mark), (share, primary)))
                .collect(),
            control_units: of(Arm::Control),
            candidate_units: of(Arm::Candidate),
            other_version: count(units.iter().filter(|unit| !unit.as_assigned).count()),
            traffic: AbTraffic::default(),
        }
    }

    /// Adds the intervals of what was compared: they take longer than the tests.
    #[must_use]
    pub fn with_intervals(mut self, units: &[UnitMarks], share: u32) -> Self {
        let marks = self.marks.iter_mut().enumerate();
        for (index, found) in marks.filter(|(_, found)| !found.mark.is_ranked()) {
            let Values { sides: [control, candidate], bets, scale } =
                Values::of(units, (index, found.mark), share);
            found.control_interval = interval(&control);
            found.candidate_interval = interval(&candidate);
            let has_both = !control.is_empty() && !candidate.is_empty();
            found.difference_interval = has_both.then(|| difference(&bets, scale));
        }
        self
    }

    /// Returns the end that the numbers decide, if they do. Harm comes first: a version that is
    /// better in one mark and worse in another does not win.
    pub fn decided(&self) -> Option<(AbEnd, String)> {
        let is_harm = self.marks.iter().any(|mark| mark.is_worse);
        let is_winner = self.marks.iter().any(|mark| mark.is_better);
        let end = match (is_harm, is_winner) {
            (true, _) => AbEnd::Harm,
            (false, true) => AbEnd::Winner,
            (false, false) => return None,
        };
        Some((end, self.sentence()))
    }

    /// Returns one sentence.
    pub fn sentence(&self) -> String {
        let titles = |is: fn(&AbMark) -> bool| -> String {
            let found = self.marks.iter().filter(|mark| is(mark));
            found.map(|mark| mark.mark.title()).collect::<Vec<_>>().join(", ").to_lowercase()
        };
        let (worse, better) = (titles(|mark| mark.is_worse), titles(|mark| mark.is_better));
        let (control, candidate) = (self.control_units, self.candidate_units);
        let over = format!("{control} users with control, {candidate} with candidate");
        match (worse.is_empty(), better.is_empty()) {
            (false, _) => format!("candidate is significantly worse: {worse}; {over}"),
            (true, false) => format!("candidate is significantly better: {better}; {over}"),
            (true, true) => format!("no significant difference; {over}"),
        }
    }
}

/// The values of a mark by arm, and the bet of each user.
struct Values {
    /// Control and candidate.
    sides: [Vec<f64>; 2],
    bets: Vec<f64>,
    /// What a bet is of the difference of its values.
    scale: f64,
}

impl Values {
    fn of(units: &[UnitMarks], (index, mark): (usize, Mark), share: u32) -> Self {
        let chance = f64::from(share.clamp(1, 99)) / 100.0;
        // Bets are at most the whole stake, in the arm with the lower chance.
        let scale = chance.min(1.0 - chance);
        let mut earlier = Earlier::default();
        let mut found = Self { sides: [Vec::new(), Vec::new()], bets: Vec::new(), scale };
        for unit in units {
            let Some(value) = unit.marks[index].filter(|value| value.is_finite()) else { continue };
            let (side, weight) = match unit.arm {
                Arm::Control => (0, -scale / (1.0 - chance)),
                Arm::Candidate => (1, scale / chance),
            };
            found.sides[side].push(value);
            found.bets.push(weight * earlier.goodness(mark, value));
        }
        found
    }
}

fn compared(
    units: &[UnitMarks],
    (index, mark): (usize, Mark),
    (share, primary): (u32, Mark),
) -> AbMark {
    let Values { sides: [control, candidate], bets, .. } = Values::of(units, (index, mark), share);
    let (mut worse, mut better) = (SequentialTest::new(), SequentialTest::new());
    for bet in bets {
        worse.add(-bet);
        better.add(bet);
    }
    let mean = |values: &[f64]| {
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / float(values.len()))
    };
    let is_primary = mark == primary;
    let tests = Mark::ALL.len();
    AbMark {
        mark,
        control: mean(&control),
        control_interval: None,
        control_units: count(control.len()),
        candidate: mean(&candidate),
        candidate_interval: None,
        candidate_units: count(candidate.len()),
        difference_interval: None,
        worse: worse.highest(),
        worse_needed: float(tests) / HARM,
        is_worse: worse.is_rejected(HARM, tests),
        better: is_primary.then(|| better.highest()),
        better_needed: 1.0 / (ALPHA - HARM),
        is_better: is_primary && better.is_rejected(ALPHA - HARM, 1),
    }
}

/// Interval of the difference of the arms: the mean of a bet is that difference, scaled.
fn difference(bets: &[f64], scale: f64) -> Interval {
    let Interval { lower, upper } = anytime_interval(bets, ALPHA);
    Interval { lower: (lower / scale).max(-1.0), upper: (upper / scale).min(1.0) }
}

/// Interval of the mean of values from 0 to 1.
fn interval(values: &[f64]) -> Option<Interval> {
    if values.is_empty() {
        return None;
    }
    let centred: Vec<f64> = values.iter().map(|value| 2.0 * value - 1.0).collect();
    let Interval { lower, upper } = anytime_interval(&centred, ALPHA);
    Some(Interval { lower: f64::midpoint(lower, 1.0), upper: f64::midpoint(upper, 1.0) })
}

/// Values of earlier users.
#[derive(Default)]
struct Earlier {
    sum: f64,
    n: usize,
    ranked: Vec<f64>,
}

impl Earlier {
    /// How much better a value is than those before, from -1 to 1; then it is one of them.
    fn goodness(&mut self, mark: Mark, value: f64) -> f64 {
        if !mark.is_ranked() {
            let value = value.clamp(0.0, 1.0);
            let found = if self.n == 0 { 0.0 } else { value - self.sum / float(self.n) };
            (self.sum, self.n) = (self.sum + value, self.n + 1);
            return found;
        }
        let slower = self.ranked.iter().filter(|other| **other > value).count();
        let faster = self.ranked.iter().filter(|other| **other < value).count();
        let found = (float(slower) - float(faster)) / float(self.ranked.len().max(1));
        if self.ranked.len() < MAX_RANKED {
            self.ranked.push(value);
        }
        found
    }
}

fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
