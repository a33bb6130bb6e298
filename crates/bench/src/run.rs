use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;

use crate::args::{Args, Part};
use crate::chat::Crowd;
use crate::child::{self, AuthMode, Server, folder_bytes};
use crate::client::Target;
use crate::clock::memory_of;
use crate::record::{Cell, Load, Recording};
use crate::report::{Idle, Peer, Report, Setting};
use crate::scratch::{Cleanup, Scratch};
use crate::template::Pool;
use crate::{chat, cluster, evaluate, experiment, fill, hold, reads, score, split};

/// Milliseconds between two lines of an agent: ten chunks of text per second.
const PACE_MS: u64 = 100;
/// Number of different traces; 40 MB of them.
const TRACES: usize = 2_000;

/// Runs the selected measurements.
///
/// # Errors
/// Fails as soon as something cannot be measured: half a report would be taken for a whole one.
pub(crate) fn run(args: &Args) -> anyhow::Result<Report> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(Bench::new(args)?.measure())
}

struct Bench<'a> {
    args: &'a Args,
    program: PathBuf,
    scratch: Scratch,
    pool: Arc<Pool>,
    lasts: Duration,
}

impl<'a> Bench<'a> {
    fn new(args: &'a Args) -> anyhow::Result<Self> {
        let seconds = if args.quick { args.seconds.min(1.5) } else { args.seconds };
        let (place, cleanup) = match &args.keep {
            Some(keep) => (Some(keep), Cleanup::Kept),
            None => (args.scratch.as_ref(), Cleanup::Removed),
        };
        Ok(Self {
            args,
            program: child::program(args.ratchet.as_deref())?,
            scratch: Scratch::new(place.map(PathBuf::as_path), cleanup)?,
            pool: Arc::new(Pool::write(TRACES, 1)),
            lasts: Duration::try_from_secs_f64(seconds).context("--seconds makes no sense")?,
        })
    }

    async fn measure(&self) -> anyhow::Result<Report> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let span_bytes = self.pool.span_bytes();
        let setting = Setting { cores, span_bytes, seconds: self.lasts.as_secs_f64() };
        let mut report = Report { setting, ..Report::default() };
        if self.args.wants(Part::Idle) {
            report.idle = Some(self.idle().await?);
        }
        if self.args.wants(Part::Recording) {
            report.recording = self.recording(&mut report.idle).await?;
        }
        if self.args.wants(Part::Split) {
            eprintln!("step by step");
            let spans = if self.args.quick { 50_000 } else { 200_000 };
            let data = self.scratch.place("split");
            report.split = Some(split::measure(&data, Arc::clone(&self.pool), spans).await?);
            self.scratch.clear("split")?;
        }
        if let Some(url) = &self.args.peer {
            report.peer = Some(self.peer(url).await?);
        }
        if self.args.wants(Part::Reading) {
            for rows in self.sizes() {
                report.reading.push(self.reading(rows).await?);
            }
        }
        if self.args.wants(Part::Scoring) {
            eprintln!("scoring");
            let sessions = if self.args.quick { 10 } else { 50 };
            let data = self.scratch.place("scoring");
            report.scoring = Some(score::measure(&self.program, &data, sessions).await?);
            self.scratch.clear("scoring")?;
        }
        if self.args.wants(Part::Clustering) {
            eprintln!("clustering");
            let failures = if self.args.quick { 2_000 } else { 20_000 };
            report.clustering = Some(cluster::measure(failures));
        }
        if self.args.wants(Part::Evaluating) {
            eprintln!("evaluating");
            let spans = if self.args.quick { 50_000 } else { 200_000 };
            let place = self.scratch.place("evaluating");
            let load = (Arc::clone(&self.pool), self.lasts);
            let measured = evaluate::measure((&self.program, &place), load, spans);
            report.evaluating = Some(measured.await?);
            self.scratch.clear("evaluating")?;
        }
        self.measure_programs(&mut report).await?;
        Ok(report)
    }

    /// What other programs do beside a server: runners, agents, hostile clients.
    async fn measure_programs(&self, report: &mut Report) -> anyhow::Result<()> {
        if self.args.wants(Part::Experiments) {
            eprintln!("experiments");
            let items = if self.args.quick { 1_000 } else { 10_000 };
            let data = self.scratch.place("experiments");
            let measured = experiment::measure(&self.program, &data, items).await?;
            report.experiments = Some(measured);
            self.scratch.clear("experiments")?;
        }
        if self.args.wants(Part::Chat) {
            eprintln!("relaying");
            let folder = self.scratch.place("chat");
            report.relaying = chat::measure(&self.program, &folder, &self.crowds()).await?;
        }
        if self.args.wants(Part::Holding) {
            eprintln!("holding");
            let spans = if self.args.quick { 20_000 } else { 1_000_000 };
            let data = self.scratch.place("holding");
            report.holding = Some(hold::measure(&self.program, &data, (self.lasts, spans)).await?);
            self.scratch.clear("holding")?;
        }
        Ok(())
    }

    /// From one chat with one client, to as many as a server should handle.
    fn crowds(&self) -> Vec<Crowd> {
        let sizes = [(1, 1), (20, 5), (200, 5)];
        let few = usize::from(self.args.quick);
        let sizes = sizes.into_iter().take(sizes.len() - few);
        let lines = if self.args.quick { 50 } else { 100 };
        sizes.map(|(chats, clients)| Crowd { chats, clients, lines, pace_ms: PACE_MS }).collect()
    }

    fn sizes(&self) -> Vec<u64> {
        if self.args.quick { vec![100_000] } else { self.args.rows.clone() }
    }

    fn cells(&self) -> Vec<Cell> {
        let quick = [(1, 1), (4, 100), (16, 100), (4, 1_000)];
        if self.args.quick {
            return quick.map(|(connections, batch)| Cell { connections, batch }).to_vec();
        }
        let Args { connections, batches, .. } = self.args;
        let pairs = connections
            .iter()
            .flat_map(|connections| batches.iter().map(move |batch| (*connections, *batch)));
        pairs.map(|(connections, batch)| Cell { connections, batch }).collect()
    }

    async fn idle(&self) -> anyhow::Result<Idle> {
        eprintln!("at rest");
        let mut starts = Vec::new();
        let mut memory_bytes = 0;
        for nth in 0..5 {
            let name = format!("idle-{nth}");
            let server =
                Server::start(&self.program, &self.scratch.place(&name), AuthMode::Keys).await?;
            starts.push(server.cold_start.as_secs_f64() * 1e3);
            tokio::time::sleep(Duration::from_millis(500)).await;
            memory_bytes = memory_of(server.pid()?)?;
            server.stop().await?;
            self.scratch.clear(&name)?;
        }
        starts.sort_by(f64::total_cmp);
        let cold_start_ms = starts.get(starts.len() / 2).copied().unwrap_or_default();
        let program_bytes = std::fs::metadata(&self.program)?.len();
        Ok(Idle { cold_start_ms, memory_bytes, program_bytes, bytes_per_span: None })
    }

    async fn recording(&self, idle: &mut Option<Idle>) -> anyhow::Result<Vec<Recording>> {
        let mut recordings = Vec::new();
        for cell in self.cells() {
            eprintln!("recording: {} connections, batches of {}", cell.connections, cell.batch);
            let name = format!("recording-{}x{}", cell.connections, cell.batch);
            let data = self.scratch.place(&name);
            let recording = self.record(&data, cell).await?;
            if let Some(idle) = idle
                && cell == (Cell { connections: 4, batch: 100 })
            {
                #[expect(clippy::cast_precision_loss, reason = "shown with three digits")]
                let each = folder_bytes(&data)? as f64 / recording.spans.max(1) as f64;
                idle.bytes_per_span = Some(each);
            }
            recordings.push(recording);
            self.scratch.clear(&name)?;
        }
        Ok(recordings)
    }

    /// Every load gets a new server and folder.
    async fn record(&self, data: &Path, cell: Cell) -> anyhow::Result<Recording> {
        let server = Server::start(&self.program, data, AuthMode::Keys).await?;
        let load = self.load(server.target.clone(), Some(server.pid()?), true);
        let recording = load.run(cell).await?;
        server.stop().await?;
        Ok(recording)
    }

    fn load(&self, target: Target, pid: Option<u32>, reads_back: bool) -> Load {
        Load { target, pid, lasts: self.lasts, pool: Arc::clone(&self.pool), reads_back }
    }

    async fn peer(&self, url: &str) -> anyhow::Result<Peer> {
        let mut target = Target::parse(url, &self.args.path)?;
        for header in &self.args.header {
            let (name, value) = header
                .split_once(':')
                .with_context(|| format!("--header {header} has no colon"))?;
            target = target.with_header(name.trim(), value.trim());
        }
        let mut recording = Vec::new();
        for cell in self.cells() {
            eprintln!("{url}: {} connections, batches of {}", cell.connections, cell.batch);
            let load = self.load(target.clone(), self.args.pid, false);
            recording.push(load.run(cell).await?);
        }
        Ok(Peer { url: url.to_owned(), recording })
    }

    async fn reading(&self, rows: u64) -> anyhow::Result<reads::Reading> {
        eprintln!("filling a folder with {rows} observations");
        let name = format!("reading-{rows}");
        let data = self.scratch.place(&name);
        let filled = fill::fill(&data, Arc::clone(&self.pool), rows).await?;
        eprintln!("  in {:.0} s; asking", filled.seconds);
        let with = (Arc::clone(&self.pool), self.lasts);
        let reading = reads::measure(&self.program, &data, &filled, with).await?;
        self.scratch.clear(&name)?;
        Ok(reading)
    }
}
