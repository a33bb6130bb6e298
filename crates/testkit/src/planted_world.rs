//! A demo agent system with twelve known defects: weeks of traffic with thumbs, judge scores and
//! people's answers, and the repository of its prompts and tools. What finds defects is measured
//! against it. Every defect can be left out: the twin world has the same requests without it.

mod defect;
mod grading;
mod observed;
#[cfg(test)]
mod report_tests;
mod repository;
mod texts;
mod traffic;
#[cfg(test)]
mod tests;

use std::path::Path;

use ratchet_core::time::Timestamp;
use serde_json::{Value, json};

pub use defect::{DefectComponent, DefectSet, ExpectedFinding, PlantedDefect};
pub use grading::{FindingGrades, grade};
pub use texts::PlantedWording;
pub use traffic::PlantedTrace;

/// The name that all traces have in their agent column.
pub const AGENT: &str = "kettle-crane";
const FIRST_MONDAY: &str = "2026-09-07T00:00:00Z";
/// Events of one batch.
const BATCH: usize = 500;

/// A generator of the world. The same settings give the same bytes.
#[derive(Clone, Debug)]
pub struct PlantedWorld {
    seed: u64,
    defects: DefectSet,
    weeks: usize,
    monday: Timestamp,
    /// The score config of people's answers.
    config: Option<String>,
    wording: PlantedWording,
}

impl PlantedWorld {
    /// Creates a world of three weeks with all defects.
    pub fn new(seed: u64) -> Self {
        let monday = Timestamp::parse(FIRST_MONDAY).unwrap();
        Self {
            seed,
            defects: DefectSet::all(),
            weeks: 3,
            monday,
            config: None,
            wording: PlantedWording::Known,
        }
    }

    /// Sets which defects there are, and in which weeks.
    #[must_use]
    pub fn with(self, defects: DefectSet) -> Self {
        Self { defects, ..self }
    }

    #[must_use]
    pub fn weeks(self, weeks: usize) -> Self {
        Self { weeks, ..self }
    }

    /// Sets the Monday, 00:00 UTC, on which the first week begins.
    #[must_use]
    pub fn starting(self, monday: Timestamp) -> Self {
        Self { monday, ..self }
    }

    /// Sets in whose words it speaks. Requests, tools and defects stay the same.
    #[must_use]
    pub fn worded(self, wording: PlantedWording) -> Self {
        Self { wording, ..self }
    }

    /// Returns the body of `POST /api/public/score-configs` for people's answers.
    pub fn score_config() -> Value {
        json!({"name": "correctness", "dataType": "BOOLEAN"})
    }

    /// Records people's answers as annotations by the score config with this id. Without one their
    /// source is the API: a server refuses annotations without a config.
    #[must_use]
    pub fn annotated_with(self, config: &str) -> Self {
        Self { config: Some(config.to_owned()), ..self }
    }

    /// Returns the traces of all weeks with their hidden truth.
    pub fn traces(&self) -> Vec<PlantedTrace> {
        (0..self.weeks).flat_map(|week| traffic::week(self, week)).collect()
    }

    /// Returns bodies for `POST /api/public/ingestion`.
    pub fn ingestion_batches(&self) -> Vec<Value> {
        let config = self.config.as_deref();
        let traces = self.traces();
        let events: Vec<Value> = traces.iter().flat_map(|trace| trace.events(config)).collect();
        events.chunks(BATCH).map(|batch| json!({ "batch": batch })).collect()
    }

    /// Writes the prompts, tools, configuration and judges as they are in the last week.
    pub fn write_repository(&self, folder: &Path) {
        repository::write(folder, self.files());
    }

    /// Returns what a report on the last week should name.
    pub fn expected(&self) -> Vec<ExpectedFinding> {
        self.expected_in(self.weeks.saturating_sub(1))
    }

    /// Returns what a report on a week, from 0, should name.
    pub fn expected_in(&self, week: usize) -> Vec<ExpectedFinding> {
        let active = PlantedDefect::ALL.into_iter().filter(|defect| self.is_active(*defect, week));
        active.map(PlantedDefect::finding).collect()
    }

    /// The repository's files in the last week.
    fn files(&self) -> Vec<(String, String)> {
        repository::files(|defect| self.is_active(defect, self.weeks.saturating_sub(1)))
    }

    fn is_active(&self, defect: PlantedDefect, week: usize) -> bool {
        self.defects.is_active(defect, week)
    }
}
