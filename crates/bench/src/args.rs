use std::path::PathBuf;

use clap::{Parser, ValueEnum};

/// Measures what recording, reading, scoring and relaying cost
#[derive(Debug, Parser)]
#[command(name = "ratchet-bench", version)]
pub(crate) struct Args {
    /// Quick version of about a minute: fewer and shorter loads, no large folders
    #[arg(long)]
    pub(crate) quick: bool,
    /// Measure only this; may be given several times
    #[arg(long, value_name = "PART")]
    pub(crate) only: Vec<Part>,
    /// Observations in the folders for read queries
    #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = [100_000, 1_000_000, 10_000_000])]
    pub(crate) rows: Vec<u64>,
    /// Concurrent connections
    #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = [1, 4, 16])]
    pub(crate) connections: Vec<usize>,
    /// Spans per request
    #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = [1, 10, 100, 1_000])]
    pub(crate) batches: Vec<usize>,
    /// Seconds per load
    #[arg(long, value_name = "N", default_value_t = 5.0)]
    pub(crate) seconds: f64,
    /// Another OTLP/HTTP server to put under the same load, such as `http://127.0.0.1:6006`
    #[arg(long, value_name = "URL")]
    pub(crate) peer: Option<String>,
    /// A header for that server, such as "Authorization: Bearer x"; may be given several times
    #[arg(long, value_name = "K:V", requires = "peer")]
    pub(crate) header: Vec<String>,
    /// That server's path for spans
    #[arg(long, value_name = "PATH", default_value = "/v1/traces")]
    pub(crate) path: String,
    /// That server's process id, to measure its CPU time
    #[arg(long, value_name = "PID", requires = "peer")]
    pub(crate) pid: Option<u32>,
    /// The program to measure [default: `ratchet` next to this one]
    #[arg(long, value_name = "FILE")]
    pub(crate) ratchet: Option<PathBuf>,
    /// Parent folder for the measured folders [default: the system's temporary folder]
    #[arg(long, value_name = "DIR")]
    pub(crate) scratch: Option<PathBuf>,
    /// Put the measured folders here and do not delete them
    #[arg(long, value_name = "DIR", conflicts_with = "scratch")]
    pub(crate) keep: Option<PathBuf>,
    /// Print JSON instead of tables
    #[arg(long, conflicts_with = "markdown")]
    pub(crate) json: bool,
    /// Print tables in Markdown, which is the default
    #[arg(long)]
    pub(crate) markdown: bool,
}

/// A part of the benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Part {
    /// Start, memory, size
    Idle,
    /// Recording over HTTP
    Recording,
    /// CPU time by stage
    Split,
    /// Queries at growing sizes
    Reading,
    /// Scoring with a judge that answers at once
    Scoring,
    /// Clustering of a week's failures
    Clustering,
    /// Recording while evaluators run, and their own cost
    Evaluating,
    /// Experiments with a target that answers at once
    Experiments,
    /// Chats that many clients follow
    Chat,
    /// Decompression bombs, and a very long trace
    Holding,
}

impl Args {
    /// Whether a part is selected.
    pub(crate) fn wants(&self, part: Part) -> bool {
        self.only.is_empty() || self.only.contains(&part)
    }
}
