use std::error::Error;

use serde_json::Value;

/// A trajectory with a known outcome.
#[derive(Clone, Debug)]
pub(crate) struct Labelled {
    /// The task; several trajectories may attempt the same.
    pub(crate) task: String,
    /// The chat messages, oldest first.
    pub(crate) messages: Vec<Value>,
    pub(crate) is_good: bool,
}

/// Parses a JSON list of `{task_id, traj, reward}`, or lines of `{task, messages, label}`.
pub(crate) fn read(text: &str) -> Result<Vec<Labelled>, Box<dyn Error>> {
    let records: Vec<Value> = if text.trim_start().starts_with('[') {
        serde_json::from_str(text)?
    } else {
        let lines = text.lines().filter(|line| !line.trim().is_empty());
        lines.map(serde_json::from_str).collect::<Result<_, _>>()?
    };
    let read = records.iter().zip(1..).map(|(record, nth)| {
        one(record).ok_or_else(|| format!("record {nth} has no task, messages and label").into())
    });
    read.collect()
}

fn one(record: &Value) -> Option<Labelled> {
    let first = |keys: &[&str]| keys.iter().find_map(|key| record.get(*key)).cloned();
    let task = first(&["task", "task_id"])?;
    let label = first(&["label", "reward", "is_good"])?;
    let is_good = label.as_bool().or_else(|| label.as_f64().map(|label| label >= 0.5))?;
    let messages = first(&["messages", "traj"])?.as_array()?.clone();
    Some(Labelled { task: task.to_string(), messages, is_good })
}
