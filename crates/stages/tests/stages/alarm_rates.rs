//! How often reports raise an alarm without a cause, by simulation: short in `make test`, long in
//! `make soak`.

use std::collections::{BTreeMap, BTreeSet};

use ratchet_core::environment::Environment;
use ratchet_core::id::SessionId;
use ratchet_core::quality::synthesis::{
    JudgeVersion, Mark, RecordedFacts, SessionMarks, WeekFinding, synthesize,
};
use ratchet_core::time::Timestamp;
use ratchet_testkit::soak::scaled;

const DIMENSIONS: [&str; 2] = ["task_completion", "tool_mastery"];
const HOUR: i64 = 3_600_000_000_000;
/// The agent that falls where one does.
const FALLING: (&str, &str) = ("support-bot", "prod");

/// Random numbers from 0 to 1 (xorshift): the same seed gives the same weeks.
pub(crate) struct Noise(u64);

impl Noise {
    pub(crate) fn new(seed: u64) -> Self {
        Self((seed + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15))
    }

    pub(crate) fn next(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        f64::from(u32::try_from(self.0 >> 32).unwrap()) / f64::from(u32::MAX)
    }
}

/// Two weeks of three agents; `drop` is how far one of them falls.
fn weeks(seed: u64, drop: f64) -> [Vec<SessionMarks>; 2] {
    let mut noise = Noise::new(seed);
    let agents =
        [(FALLING, 0.81, 20), (("support-bot", "staging"), 0.81, 15), (("coder", "prod"), 0.6, 30)];
    [0, 1].map(|week: i64| {
        let of_agent = |((agent, environment), mean, n): ((&str, &str), f64, i64)| {
            let is_falling = week == 1 && (agent, environment) == FALLING;
            let mean = if is_falling { mean - drop } else { mean };
            let one = |at: i64| session((agent, environment), mean, week * 168 + at);
            (0..n).map(|at| one(at)(&mut noise)).collect::<Vec<_>>()
        };
        agents.map(of_agent).concat()
    })
}

fn session<'a>(
    (agent, environment): (&'a str, &'a str),
    mean: f64,
    hour: i64,
) -> impl FnOnce(&mut Noise) -> SessionMarks + 'a {
    move |noise| {
        let mut mark = || {
            let value = (mean + (noise.next() - 0.5) * 0.5).clamp(0.0, 1.0);
            Mark { value, ..Mark::default() }
        };
        let marks = DIMENSIONS.map(|name| (name.to_owned(), mark()));
        let overall = f64::midpoint(marks[0].1.value, marks[1].1.value);
        // Each agent has a new release in the second week.
        let release = if hour < 168 { "1" } else { "2" };
        SessionMarks {
            session: SessionId::parse(&format!("{agent}-{environment}-{hour}")).unwrap(),
            overall,
            marks: BTreeMap::from(marks),
            judge: JudgeVersion::default(),
            facts: RecordedFacts {
                agent: Some(agent.to_owned()),
                environment: Environment::normalise(environment),
                releases: BTreeSet::from([release.to_owned()]),
                last_at: Timestamp::from_nanos(hour * HOUR),
                ..RecordedFacts::default()
            },
        }
    }
}

fn findings(seed: u64, drop: f64) -> Vec<WeekFinding> {
    synthesize(&DIMENSIONS, &weeks(seed, drop)).findings
}

/// At 5% a quarter one of 260 calm weeks has a finding. More than 2 of 40, or 7 of 600, have a
/// probability below 1%.
#[test]
fn calm_weeks_have_no_findings_beyond_the_stated_rate() {
    let (seeds, most) = scaled((40, 2), (600, 7));
    let alarms = (0..seeds).filter(|seed| !findings(*seed, 0.0).is_empty()).count();
    assert!(alarms <= most, "{alarms} of {seeds}");
}

/// Where one agent fell, the others are not blamed more often than in calm weeks.
#[test]
fn a_drop_of_one_agent_is_no_finding_about_another() {
    let (seeds, most) = scaled((30, 2), (600, 7));
    let is_other = |finding: &WeekFinding| {
        (finding.agent.as_deref(), finding.environment.as_str()) != (Some(FALLING.0), FALLING.1)
    };
    let (mut blamed, mut found) = (0, 0);
    for seed in 0..seeds {
        let findings = findings(seed, 0.4);
        blamed += usize::from(findings.iter().any(is_other));
        found += usize::from(findings.iter().any(|finding| !is_other(finding)));
    }
    assert!(blamed <= most, "{blamed} of {seeds}");
    assert!(found as u64 * 10 >= seeds * 9, "the drop was found in {found} of {seeds}");
}
