use std::path::PathBuf;

use clap::{Parser, ValueEnum};

/// Measures what recording, reading, scoring and relaying cost
#[derive(Debug, Parser)]
#[command(name = "ratchet-bench", version)]
pub(crate) struct Args {
    /// A version that takes about a minute: fewer loads, shorter, and no millions
    #[arg(long)]
    pub(crate) quick: bool,
    /// Measure only this; may be given several times
    #[arg(long, value_name = "PART")]
    pub(crate) only: Vec<Part>,
    /// Observations in the folders that questions are asked of
    #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = [100_000, 1_000_000, 10_000_000])]
    pub(crate) rows: Vec<u64>,
    /// Connections that send at once
    #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = [1, 4, 16])]
    pub(crate) connections: Vec<usize>,
    /// Spans in a request
    #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = [1, 10, 100, 1_000])]
    pub(crate) batches: Vec<usize>,
    /// Seconds for each load
    #[arg(long, value_name = "N", default_value_t = 5.0)]
    pub(crate) seconds: f64,
    /// Another OTLP/HTTP server to put under the same load, such as `http://127.0.0.1:6006`
    #[arg(long, value_name = "URL")]
    pub(crate) peer: Option<String>,
    /// A header for that server, such as "Authorization: Bearer x"; may be given several times
    #[arg(long, value_name = "K:V", requires = "peer")]
    pub(crate) header: Vec<String>,
    /// Where that server takes spans
    #[arg(long, value_name = "PATH", default_value = "/v1/traces")]
    pub(crate) path: String,
    /// That server's process, to tell its CPU time
    #[arg(long, value_name = "PID", requires = "peer")]
    pub(crate) pid: Option<u32>,
    /// The program to measure [default: `ratchet` beside this one]
    #[arg(long, value_name = "FILE")]
    pub(crate) ratchet: Option<PathBuf>,
    /// Where to put the folders that are measured [default: the system's temporary folder]
    #[arg(long, value_name = "DIR")]
    pub(crate) scratch: Option<PathBuf>,
    /// Put those folders here and leave them, for a closer look
    #[arg(long, value_name = "DIR", conflicts_with = "scratch")]
    pub(crate) keep: Option<PathBuf>,
    /// Print JSON instead of tables
    #[arg(long, conflicts_with = "markdown")]
    pub(crate) json: bool,
    /// Print tables in Markdown, which is the default
    #[arg(long)]
    pub(crate) markdown: bool,
}

/// A part of the whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Part {
    /// Starting, memory, size
    Idle,
    /// Recording over HTTP
    Recording,
    /// CPU time step by step
    Split,
    /// Questions at growing sizes
    Reading,
    /// Sessions before a judge that answers at once
    Scoring,
    /// Sessions with agents that many clients follow
    Chat,
    /// Bodies that blow up, and a very long trace
    Holding,
}

impl Args {
    /// Whether a part is to be measured.
    pub(crate) fn wants(&self, part: Part) -> bool {
        self.only.is_empty() || self.only.contains(&part)
    }
}
