//! All measurements, for programs and for people.

mod table;
mod chat_table;
mod experiment_table;
/// The table of robustness.
mod hold_table;

use serde::Serialize;

use crate::chat::Relaying;
use crate::cluster::Clustering;
use crate::evaluate::Evaluating;
use crate::experiment::Experimenting;
use crate::hold::Holding;
use crate::reads::Reading;
use crate::record::{Cell, Recording};
use crate::score::Scoring;
use crate::split::Split;

#[derive(Debug, Default, Serialize)]
pub(crate) struct Report {
    pub(crate) setting: Setting,
    pub(crate) idle: Option<Idle>,
    pub(crate) recording: Vec<Recording>,
    /// CPU time by stage.
    pub(crate) split: Option<Split>,
    pub(crate) reading: Vec<Reading>,
    /// Scoring with a judge that answers at once.
    pub(crate) scoring: Option<Scoring>,
    /// Clustering of a week's failures.
    pub(crate) clustering: Option<Clustering>,
    /// Recording while evaluators run.
    pub(crate) evaluating: Option<Evaluating>,
    /// Experiments with a target that answers at once.
    pub(crate) experiments: Option<Experimenting>,
    /// Relaying, crowd by crowd.
    pub(crate) relaying: Vec<Relaying>,
    /// Decompression bombs, and a very long trace.
    pub(crate) holding: Option<Holding>,
    /// The same load on another server.
    pub(crate) peer: Option<Peer>,
}

/// The machine and the load.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Setting {
    /// Cores, shared by server and client.
    pub(crate) cores: usize,
    /// Bytes of an encoded span.
    pub(crate) span_bytes: usize,
    /// Seconds per load.
    pub(crate) seconds: f64,
}

#[derive(Debug, Serialize)]
pub(crate) struct Idle {
    /// From starting the process to its first response, on a new folder.
    pub(crate) cold_start_ms: f64,
    pub(crate) memory_bytes: u64,
    pub(crate) program_bytes: u64,
    /// Bytes on disk per span, recorded over HTTP in batches of a hundred.
    pub(crate) bytes_per_span: Option<f64>,
}

/// Another server under the same load.
#[derive(Debug, Serialize)]
pub(crate) struct Peer {
    pub(crate) url: String,
    pub(crate) recording: Vec<Recording>,
}

impl Report {
    /// The report as JSON.
    ///
    /// # Errors
    /// Never, in practice.
    pub(crate) fn json(&self) -> anyhow::Result<String> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }

    /// The report as tables in Markdown, which reads well in a terminal too.
    pub(crate) fn markdown(&self) -> String {
        table::report(self)
    }

    /// Ratchet's result under a load.
    pub(crate) fn under(&self, cell: Cell) -> Option<&Recording> {
        self.recording.iter().find(|recording| recording.cell == cell)
    }
}
