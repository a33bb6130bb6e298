//! What the runner of experiments costs: with a target that answers at once, only our own cost is
//! left.

use std::path::Path;
use std::pin::pin;
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use axum::routing::post;
use axum::{Json, Router};
use serde::Serialize;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::process::Command;
use tokio::task::JoinSet;

use crate::child::{AuthMode, PUBLIC_KEY, SECRET_KEY, Server};
use crate::client::Client;
use crate::clock::{cpu_of, memory_of, peak_memory_of};
use crate::sample::micros_each;

/// Target time of the runner per item.
pub(crate) const TARGET_MS: f64 = 2.0;
/// Calls at a time.
const CONCURRENCY: u32 = 8;
/// The small run has one of so many items: memory that grows with items shows in the difference.
const SMALL: u64 = 10;
/// Polling interval for memory.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// A small and a large run of the same target.
#[derive(Debug, Serialize)]
pub(crate) struct Experimenting {
    pub(crate) small: ExperimentPace,
    pub(crate) large: ExperimentPace,
}

#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct ExperimentPace {
    pub(crate) items: u64,
    /// Wall-clock milliseconds per item, starting the program included.
    pub(crate) ms_per_item: f64,
    /// CPU milliseconds per item, of the runner and of the server.
    pub(crate) runner_cpu_ms: f64,
    pub(crate) server_cpu_ms: f64,
    /// Peak memory of the runner.
    pub(crate) runner_bytes: u64,
    /// Memory of the server afterwards.
    pub(crate) server_bytes: u64,
}

/// Runs an instant target over so many items, and over a tenth of them.
///
/// # Errors
/// Fails if an item is not recorded or a trial has no answer.
pub(crate) async fn measure(
    program: &Path,
    data: &Path,
    items: u64,
) -> anyhow::Result<Experimenting> {
    let target = InstantTarget::start().await?;
    let server = Server::start(program, data, AuthMode::Keys).await?;
    let bench = ExperimentBench { program, data, server: &server, target: &target };
    let small = bench.run("small", items / SMALL).await?;
    let large = bench.run("large", items).await?;
    server.stop().await?;
    Ok(Experimenting { small, large })
}

/// An endpoint that answers at once.
struct InstantTarget {
    url: String,
    _serving: JoinSet<()>,
}

impl InstantTarget {
    async fn start() -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}/", listener.local_addr()?);
        let app = Router::new().route("/", post(async || Json(json!({ "text": "4" }))));
        let mut serving = JoinSet::new();
        serving.spawn(async move {
            // It serves until the benchmark ends; the runner reports failures.
            drop(axum::serve(listener, app).await);
        });
        Ok(Self { url, _serving: serving })
    }
}

struct ExperimentBench<'a> {
    program: &'a Path,
    data: &'a Path,
    server: &'a Server,
    target: &'a InstantTarget,
}

impl ExperimentBench<'_> {
    async fn run(&self, name: &str, items: u64) -> anyhow::Result<ExperimentPace> {
        eprintln!("  a dataset of {items} items");
        self.add_items(name, items).await?;
        let file = self.data.join(format!("{name}.toml"));
        let text = format!(
            "kind = \"http\"\nurl = \"{}\"\noutput = \"$.text\"\nconcurrency = {CONCURRENCY}\n",
            self.target.url
        );
        std::fs::write(&file, text)?;
        eprintln!("  a run over them");
        let server = self.server.pid()?;
        let (began, server_cpu) = (Instant::now(), cpu_of(server)?);
        let child = Command::new(self.program)
            .args(["experiment", "run", "--json", "--dataset", name, "--evaluator", "exact"])
            .args(["--server", &format!("http://{}", self.server.target.authority), "--target"])
            .arg(&file)
            .env("RATCHET_PUBLIC_KEY", PUBLIC_KEY)
            .env("RATCHET_SECRET_KEY", SECRET_KEY)
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("cannot start {}", self.program.display()))?;
        let pid = child.id().context("ratchet experiment has ended")?;
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
        let run: Value =
            serde_json::from_slice(&output.stdout).context("ratchet experiment said no JSON")?;
        ensure!(run["done"] == items && run["faults"] == 0, "the run is not whole: {run}");
        let ms = |time: Duration| micros_each(time, items) / 1e3;
        Ok(ExperimentPace {
            items,
            ms_per_item: ms(time),
            runner_cpu_ms: ms(cpu),
            server_cpu_ms: ms(cpu_of(server)?.saturating_sub(server_cpu)),
            runner_bytes: memory,
            server_bytes: memory_of(server)?,
        })
    }

    async fn add_items(&self, dataset: &str, items: u64) -> anyhow::Result<()> {
        let mut client = Client::connect(&self.server.target).await?;
        let (status, _) =
            client.post("/api/public/v2/datasets", &json!({ "name": dataset })).await?;
        ensure!(status.is_success(), "dataset: {status}");
        for nth in 0..items {
            let item = json!({
                "datasetName": dataset, "id": format!("{dataset}-{nth}"),
                "input": { "question": format!("What is {nth} - {nth} + 4?") },
                "expectedOutput": "4",
            });
            let (status, _) = client.post("/api/public/dataset-items", &item).await?;
            ensure!(status.is_success(), "item {nth}: {status}");
        }
        Ok(())
    }
}
