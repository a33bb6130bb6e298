//! The cost of scoring alone: with a judge that answers at once, only our own cost is left.

mod judge;
mod sessions;

use std::path::Path;
use std::pin::pin;
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use serde::Serialize;
use serde_json::Value;
use tokio::process::Command;

use crate::child::{AuthMode, Server};
use crate::client::Client;
use crate::clock::{cpu_of, peak_memory_of};
use crate::sample::{micros_each, rate};
use judge::InstantJudge;
pub(crate) use judge::Sent;
use sessions::Shape;

/// Target time per hundred traces.
pub(crate) const TARGET_PER_100_MS: f64 = 20.0;
/// Target memory for a session of a million tokens.
pub(crate) const TARGET_BYTES: f64 = 200e6;

/// Polling interval for the process's CPU time and memory.
const POLL_INTERVAL: Duration = Duration::from_millis(5);
/// The typical session: a hundred traces of a coding agent, some 25,000 tokens.
const USUAL: Shape = Shape { traces: 100, output_bytes: 600 };
/// The long session: a million tokens.
const LONG: Shape = Shape { traces: 300, output_bytes: 15_000 };

#[derive(Debug, Serialize)]
pub(crate) struct Scoring {
    /// Many sessions of a hundred traces.
    pub(crate) usual: Vec<ScoringPace>,
    /// One session of a million tokens.
    pub(crate) long: ScoringPace,
    /// What the model was sent for it.
    pub(crate) sent: Sent,
}

#[derive(Debug, Serialize)]
pub(crate) struct ScoringPace {
    pub(crate) judge: &'static str,
    pub(crate) sessions: u64,
    pub(crate) per_second: f64,
    /// CPU milliseconds per hundred traces, without starting the program.
    pub(crate) cpu_ms_per_100: f64,
    /// The same in wall-clock time, including waiting for the judge.
    pub(crate) ms_per_100: f64,
    /// Peak memory.
    pub(crate) memory_bytes: u64,
}

/// Scores sessions of both kinds.
///
/// # Errors
/// Fails if they cannot be recorded or scored.
pub(crate) async fn measure(program: &Path, data: &Path, sessions: u64) -> anyhow::Result<Scoring> {
    let judge = InstantJudge::start().await?;
    let bench = ScoringBench { program, data, judge: &judge };
    bench.record("usual", USUAL, sessions).await?;
    let start = bench.run(&["--tag", "nothing"]).await?;
    let mut usual = Vec::new();
    for (name, args) in [("offline", ["--judge", "offline"]), ("instant model", judge::ARGS)] {
        eprintln!("  {sessions} sessions with the judge {name}");
        let took = bench.run(&[&args[..], &["--rescore", "--tag", "usual"]].concat()).await?;
        usual.push(took.pace(name, (sessions, sessions * USUAL.traces), &start)?);
    }
    bench.record("long", LONG, 1).await?;
    judge.forget();
    eprintln!("  a session of a million tokens");
    let took = bench.run(&[&judge::ARGS[..], &["--tag", "long"]].concat()).await?;
    let long = took.pace("instant model", (1, LONG.traces), &start)?;
    Ok(Scoring { usual, long, sent: judge.sent() })
}

struct ScoringBench<'a> {
    program: &'a Path,
    data: &'a Path,
    judge: &'a InstantJudge,
}

/// What one run took.
struct Took {
    time: Duration,
    cpu: Duration,
    memory: u64,
    scored: u64,
}

impl ScoringBench<'_> {
    /// Records sessions on a server.
    async fn record(&self, name: &str, shape: Shape, sessions: u64) -> anyhow::Result<()> {
        eprintln!("  recording {sessions} {name} sessions of {} traces", shape.traces);
        let server = Server::start(self.program, self.data, AuthMode::Keys).await?;
        let mut client = Client::connect(&server.target).await?;
        for nth in 0..sessions {
            for body in sessions::bodies(name, nth, shape) {
                client.ingest(&body).await?;
            }
        }
        server.stop().await
    }

    /// Scores the sessions with a tag.
    async fn run(&self, args: &[&str]) -> anyhow::Result<Took> {
        let began = Instant::now();
        let child = Command::new(self.program)
            .args(["score", "--json", "--days", "36500", "--concurrency", "2", "--data"])
            .arg(self.data)
            .args(args)
            .env("ANTHROPIC_BASE_URL", &self.judge.url)
            .env("ANTHROPIC_API_KEY", "sk-bench")
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("cannot start {}", self.program.display()))?;
        let pid = child.id().context("ratchet score has ended")?;
        let (mut cpu, mut memory) = (Duration::ZERO, 0);
        let mut ended = pin!(child.wait_with_output());
        let output = loop {
            // Both only grow, so that the last poll sees nearly all of it.
            cpu = cpu_of(pid).unwrap_or_default().max(cpu);
            memory = peak_memory_of(pid).unwrap_or_default().max(memory);
            if let Ok(output) = tokio::time::timeout(POLL_INTERVAL, &mut ended).await {
                break output?;
            }
        };
        let time = began.elapsed();
        let report: Value =
            serde_json::from_slice(&output.stdout).context("ratchet score said no JSON")?;
        let count = |name: &str| report["counts"][name].as_u64().unwrap_or_default();
        ensure!(count("failed") == 0, "sessions could not be scored: {}", report["failed"]);
        Ok(Took { time, cpu, memory, scored: count("scored") })
    }
}

impl Took {
    /// The cost of so many sessions of so many traces, beyond starting the program.
    fn pace(
        &self,
        judge: &'static str,
        (sessions, traces): (u64, u64),
        start: &Self,
    ) -> anyhow::Result<ScoringPace> {
        ensure!(self.scored == sessions, "{} of {sessions} sessions were scored", self.scored);
        let [time, cpu] = [(self.time, start.time), (self.cpu, start.cpu)]
            .map(|(all, start)| all.saturating_sub(start));
        let per_100 = |time: Duration| micros_each(time, traces) * 100.0 / 1e3;
        Ok(ScoringPace {
            judge,
            sessions,
            per_second: rate(sessions, time),
            cpu_ms_per_100: per_100(cpu),
            ms_per_100: per_100(time),
            memory_bytes: self.memory,
        })
    }
}
