use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A run to create, or to continue if there is one of that name with the same plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExperimentPlan {
    /// Name of the dataset.
    pub dataset: String,
    /// Name of the run, unique in its dataset.
    pub run: String,
    /// What is run.
    pub target: PlannedTarget,
    /// Evaluators in their short form, such as `exact` or `numeric:0.01`.
    #[serde(default)]
    pub evaluators: Vec<String>,
    /// Versions of evaluators that ask a judge, by their short form: a hash of the judge's model and
    /// prompts. Gates compare scores of one version only.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub evaluator_versions: BTreeMap<String, String>,
    /// Trials per item, from 1 to 100.
    #[serde(default = "once")]
    pub repeats: u32,
    /// Which items, such as `metadata.split=test`; all by default.
    pub filter: Option<String>,
    /// At most so many items, the first ones.
    pub limit: Option<u64>,
    /// No further call is made once this was spent, in US dollars.
    pub max_cost: Option<f64>,
    /// Whether answers of earlier runs of the same target version are used. Only for targets with a
    /// named version.
    #[serde(default)]
    pub cache: bool,
    /// What the run is for.
    pub description: Option<String>,
}

const fn once() -> u32 {
    1
}

/// The target of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PlannedTarget {
    /// Its name. With nothing but a name, and perhaps an environment, the server runs its own target
    /// of that name by itself.
    pub name: String,
    /// `command`, `http`, `agentcore`, `agentcore-arn`, `claude` or `prompt`.
    #[serde(default)]
    pub kind: String,
    /// A hash of its definition, environment and version.
    #[serde(default)]
    pub fingerprint: String,
    /// Its version, if it names one.
    pub version: Option<String>,
    /// Its environment, such as `beta`.
    pub environment: Option<String>,
    /// Whether the server runs it by itself.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub on_server: bool,
}

impl PlannedTarget {
    /// Returns whether it is named and nothing more: one of the server's own targets.
    pub fn is_only_named(&self) -> bool {
        self.on_server || (self.kind.is_empty() && self.fingerprint.is_empty())
    }
}

/// Further repeats of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddedRepeats {
    /// Trials per item that the run has afterwards, from 1 to 100. Those that it has are kept.
    pub repeats: u32,
    /// Ids of the items that are run again; all items of the run by default.
    pub items: Vec<String>,
}

/// A run of an experiment.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ExperimentProgress {
    /// Unique id, the same as that of the dataset run.
    pub id: String,
    /// Name, unique in its dataset.
    pub name: String,
    /// Name of the dataset.
    pub dataset: String,
    /// `running`, `done` or `cancelled`; `recorded` for runs of other clients.
    pub state: String,
    /// What was run; null for runs of other clients.
    pub target: Option<PlannedTarget>,
    /// Evaluators of its trials.
    pub evaluators: Vec<String>,
    /// Trials per item.
    pub repeats: u32,
    /// Trials in all.
    pub trials: u64,
    /// Finished trials, with those that failed.
    pub done: u64,
    /// Trials whose last call failed: incorrect answers that are listed apart.
    pub faults: u64,
    /// Trials that were answered from the cache.
    pub cached: u64,
    /// Calls that were sent; each was counted before.
    pub calls: u64,
    /// Trials without a known cost.
    pub unpriced: u64,
    /// Known cost in US dollars.
    pub cost: f64,
    /// The cost cap in US dollars.
    pub max_cost: Option<f64>,
    /// RFC 3339.
    pub created_at: String,
    /// RFC 3339.
    pub finished_at: Option<String>,
}

/// A target that the server can run by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerTarget {
    /// Unique in its project.
    pub name: String,
    /// `command`, `http`, `agentcore`, `agentcore-arn`, `claude` or `prompt`.
    pub kind: String,
    /// `operator` for entries of `ratchet.toml`, which are in all projects; else `project`.
    pub source: String,
    /// Names of its environments.
    pub environments: Vec<String>,
    /// Its definition in TOML, without secrets; null for those of the operator.
    pub definition: Option<String>,
    /// Names of its secrets.
    pub secrets: Vec<String>,
    /// RFC 3339; null for those of the operator.
    pub updated_at: Option<String>,
}

/// A target to store.
#[derive(Clone, Debug)]
pub struct TargetDefinition {
    /// A target file in TOML, of the kind `http`, `agentcore`, `agentcore-arn` or `prompt`.
    pub definition: String,
    /// Secrets by the names that references `{ env = "NAME" }` of the definition have. Those that are
    /// stored already may be left out.
    pub secrets: BTreeMap<String, String>,
}
