use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;

/// What `ratchet demo --ledger` writes.
#[derive(Debug, Deserialize)]
pub(super) struct Ledger {
    /// First days of the reported weeks.
    pub(super) weeks: [String; 2],
    pub(super) bad_release: BadRelease,
    pub(super) costly_agent: String,
    pub(super) drifted_judge: Drift,
    pub(super) traces: usize,
    pub(super) thumbs: usize,
    pub(super) sessions: BTreeMap<String, Planted>,
}

#[derive(Debug, Deserialize)]
pub(super) struct BadRelease {
    pub(super) agent: String,
    pub(super) release: String,
    pub(super) previous: String,
    pub(super) fixed_by: String,
    pub(super) tool: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct Drift {
    pub(super) judge: String,
    pub(super) dimension: String,
    pub(super) change: f64,
}

#[derive(Debug, Deserialize)]
pub(super) struct Planted {
    pub(super) agent: String,
    pub(super) environment: String,
    pub(super) release: String,
    pub(super) user: String,
    pub(super) week: u8,
    /// The start of its last trace.
    pub(super) last: String,
    pub(super) first_request: String,
    pub(super) course: Course,
    pub(super) traces: usize,
    pub(super) steps: usize,
    pub(super) tool_errors: BTreeMap<String, i64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Course {
    Good,
    Rocky,
    Failing,
}

impl Ledger {
    pub(super) fn read(file: &Path) -> Self {
        serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap()
    }

    /// The sessions of a week that are long enough to be scored.
    pub(super) fn scored(&self, week: u8) -> impl Iterator<Item = (&String, &Planted)> {
        let is_long = |it: &Planted| it.traces >= 3 || it.steps >= 10;
        self.sessions.iter().filter(move |(_, it)| it.week == week && is_long(it))
    }

    /// The share of a week's scored sessions that fail.
    pub(super) fn failing(&self, week: u8) -> f64 {
        let failing = self.scored(week).filter(|(_, it)| it.course == Course::Failing).count();
        failing as f64 / self.scored(week).count() as f64
    }
}

impl Planted {
    pub(super) fn errors(&self) -> i64 {
        self.tool_errors.values().sum()
    }

    pub(super) fn errors_of(&self, tool: &str) -> i64 {
        self.tool_errors.get(tool).copied().unwrap_or(0)
    }
}
