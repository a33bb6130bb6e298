//! Everything that was measured, for programs and for people.

mod table;
mod chat_table;
/// The same for what a server bears.
mod hold_table;

use serde::Serialize;

use crate::chat::Relaying;
use crate::hold::Holding;
use crate::reads::Reading;
use crate::record::{Cell, Recording};
use crate::score::Scoring;
use crate::split::Split;

#[derive(Debug, Default, Serialize)]
pub(crate) struct Report {
    /// The machine and the load.
    pub(crate) setting: Setting,
    pub(crate) idle: Option<Idle>,
    pub(crate) recording: Vec<Recording>,
    /// Where the CPU time goes.
    pub(crate) split: Option<Split>,
    pub(crate) reading: Vec<Reading>,
    /// Sessions before a judge that answers at once.
    pub(crate) scoring: Option<Scoring>,
    /// Sessions with agents, crowd by crowd.
    pub(crate) relaying: Vec<Relaying>,
    /// Bodies that blow up, and a very long trace.
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
    /// Seconds for each load.
    pub(crate) seconds: f64,
}

#[derive(Debug, Serialize)]
pub(crate) struct Idle {
    /// From starting the process to its first answer, on a new folder.
    pub(crate) cold_start_ms: f64,
    pub(crate) memory_bytes: u64,
    pub(crate) program_bytes: u64,
    /// Bytes on disk for each span, recorded over HTTP in batches of a hundred.
    pub(crate) bytes_per_span: Option<f64>,
}

/// Another server under the same load.
#[derive(Debug, Serialize)]
pub(crate) struct Peer {
    pub(crate) url: String,
    /// What it did, load by load.
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

    /// What Ratchet did under a load.
    pub(crate) fn under(&self, cell: Cell) -> Option<&Recording> {
        self.recording.iter().find(|recording| recording.cell == cell)
    }
}
