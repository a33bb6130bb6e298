use crate::experiment::{ExperimentPace, Experimenting, TARGET_MS};

use super::table::{megabytes, table};

/// The table of the runner of experiments.
pub(super) fn table_of(measured: &Experimenting) -> String {
    let row = |pace: &ExperimentPace| {
        vec![
            pace.items.to_string(),
            format!("{:.2} (aim < {TARGET_MS})", pace.ms_per_item),
            format!("{:.2}", pace.runner_cpu_ms),
            format!("{:.2}", pace.server_cpu_ms),
            megabytes(pace.runner_bytes),
            megabytes(pace.server_bytes),
        ]
    };
    let head = ["items", "ms/item", "CPU ms, runner", "CPU ms, server", "runner", "server"];
    let rows = [row(&measured.small), row(&measured.large)];
    table("Experiments, a target that answers at once", &head, &rows)
}
