use serde::{Deserialize, Serialize};

use super::nanos;
use super::policy::Signer;
use crate::gate::decision::Verdict;
use crate::time::Timestamp;

/// The longest reason, in characters.
pub const MAX_REASON_CHARS: usize = 2_000;

/// What a promotion rests on. It belongs to one agent version and one version of the dataset.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PromotionEvidence {
    pub tool_tests: Option<ToolTests>,
    pub gate: Option<GateResult>,
    /// People's verdicts on the items of the gate that need one.
    pub verdicts: Option<ItemVerdicts>,
    pub review: Option<Signature>,
    /// Why an inconclusive gate is accepted.
    pub waiver: Option<Waiver>,
    pub approval: Option<Signature>,
}

/// Results of the tests of an agent's tools.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolTests {
    pub tests: u32,
    pub failed: u32,
    pub skipped: u32,
    /// Where the results are from, such as the address of a CI job.
    pub source: Option<String>,
    /// The commit that was tested, if it is known.
    pub commit: Option<String>,
    pub by: Signer,
    #[serde(with = "nanos")]
    pub at: Timestamp,
}

/// How a gate compared the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Comparison {
    /// With the run that users get.
    Production,
    /// Nothing was promoted before.
    Nothing,
    /// With another run, or not at all although users get one.
    Other,
}

/// A gate's decision on a run of the agent version.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GateResult {
    pub gate: String,
    /// Id of the run.
    pub run: String,
    pub run_name: String,
    pub verdict: Verdict,
    pub accuracy: f64,
    /// Minimum accuracy that the gate demanded.
    pub min_accuracy: Option<f64>,
    pub comparison: Comparison,
    /// When the dataset was last changed before the run.
    #[serde(with = "nanos")]
    pub dataset_version: Timestamp,
    pub sentence: String,
    pub by: Signer,
    #[serde(with = "nanos")]
    pub at: Timestamp,
}

/// People's verdicts on failed and flipped items of a gate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ItemVerdicts {
    pub gate: String,
    /// Items that need a verdict.
    pub needed: u32,
    /// Those without one, as many as are shown.
    pub open: Vec<OpenItem>,
    pub open_count: u32,
}

/// An item that needs a person's verdict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenItem {
    pub item: String,
    /// The trace to look at.
    pub trace: Option<String>,
}

/// Who agreed to something, and when.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signature {
    pub by: Signer,
    #[serde(with = "nanos")]
    pub at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// Why an inconclusive gate was accepted, by whom.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiver {
    pub by: Signer,
    pub reason: String,
    #[serde(with = "nanos")]
    pub at: Timestamp,
}

impl PromotionEvidence {
    /// Returns whether nothing was given yet.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Removes what was said about a run and its results: they are others now.
    pub(super) fn void_run(&mut self) {
        let tool_tests = self.tool_tests.take();
        *self = Self { tool_tests, ..Self::default() };
    }
}
