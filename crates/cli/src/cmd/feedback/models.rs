use std::env;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, bail};
use clap::Args;
use ratchet_agent::embedding::EmbeddingModel;
use ratchet_core::improve::learned::ConfirmedDiagnosis;
use ratchet_core::improve::report::FeedbackReport;
use ratchet_core::money::Money;
use ratchet_server::clock::Clock;
use ratchet_stages::data_target::ScoringTarget;
use ratchet_stages::improve::codebase::CodeFolder;
use ratchet_stages::improve::feedback::FeedbackWeek;
use ratchet_stages::improve::feedback_agent::{FeedbackAgent, FeedbackRun};
use ratchet_stages::improve::tools::FeedbackTools;
use ratchet_stages::improve::{agent_trace, feedback_agent};
use ratchet_stages::llm_connections::judge::open_embeddings;
use ratchet_stages::record;
use ratchet_stages::score::judge::Judge;
use ratchet_stages::source::Source;
use ratchet_stages::user_files;
use uuid::Uuid;

use crate::cmd::score::{JudgeArgs, dollars};

/// Bytes of a text of the agent's own trace.
const MAX_STEP_BYTES: usize = 1_000_000;

/// Models that take part; without any the document is made by rules and templates.
#[derive(Args, Debug)]
pub(super) struct ModelArgs {
    /// Let a model look into failures and code, and write proposals: a judge's name, such as
    /// `anthropic:MODEL`, `openai:MODEL` or `connection:NAME`
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
    /// Budget of that model in USD
    #[arg(long, value_name = "USD", value_parser = dollars, requires = "model")]
    max_cost: Option<Money>,
    /// Group failures by the vectors of this model of an OpenAI-compatible server, with
    /// `OPENAI_API_KEY` and `OPENAI_BASE_URL` [default: TF-IDF, in this program]
    #[arg(long, value_name = "MODEL")]
    embeddings: Option<String>,
    /// File with diagnoses that people confirmed, as JSON lines:
    /// {"features":[…],"diagnosed":"tool","confirmed":"model"}
    #[arg(long, value_name = "FILE")]
    labels: Option<PathBuf>,
}

impl ModelArgs {
    /// Returns the client of the embeddings API, where one was chosen.
    pub(super) fn embedder(&self) -> anyhow::Result<Option<EmbeddingModel>> {
        let name = self.embeddings.as_deref();
        let open = |name| open_embeddings(name, &|name: &str| env::var(name).ok());
        name.map(open).transpose().context("--embeddings")
    }

    /// Reads the diagnoses that people confirmed.
    pub(super) fn labels(&self) -> anyhow::Result<Vec<ConfirmedDiagnosis>> {
        let Some(file) = &self.labels else { return Ok(Vec::new()) };
        let named = || format!("--labels {}", file.display());
        let text = std::fs::read_to_string(file).with_context(named)?;
        let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        let label = |(at, line): (usize, &str)| {
            serde_json::from_str(line).with_context(|| format!("{}: line {}", named(), at + 1))
        };
        lines.map(label).collect()
    }

    /// Lets the model add its proposals. Without its answer the document is as it is.
    pub(super) async fn extend(
        &self,
        read: FeedbackWeek,
        (code, target): (Option<&Path>, &ScoringTarget),
    ) -> anyhow::Result<FeedbackReport> {
        let Some(name) = &self.model else { return Ok(read.report) };
        let judge = JudgeArgs::of_model(name, self.max_cost).open(target).await?;
        let Judge::Model(judge) = judge else { bail!("--model {name}: it is no model") };
        let folder = code.map(CodeFolder::open).transpose()?.map(Arc::new);
        let read = Arc::new(read);
        let tools = FeedbackTools::new(read.clone(), folder, &judge.name);
        let words =
            user_files::prompt(target.data(), feedback_agent::FILE, feedback_agent::SHIPPED)?;
        let clock = || Clock::System.now();
        let agent = FeedbackAgent { judge: &judge, words: &words, clock: &clock };
        let run = agent.run(&tools).await;
        let mut report = read.report.clone();
        let trace = record_run(&run, target, &report.week).await?;
        run.add_to(&mut report, (&judge.name, trace));
        Ok(report)
    }
}

/// Records the run where the records are in a data folder: a trace with each step.
async fn record_run(
    run: &FeedbackRun,
    target: &ScoringTarget,
    week: &str,
) -> anyhow::Result<Option<String>> {
    let Source::Local(telemetry, project) = &target.source else { return Ok(None) };
    let key = Uuid::new_v4();
    let batch = agent_trace::records(run, (key, week), project.clone(), Clock::System.now())?;
    record::write(telemetry, &target.journal.catalog, batch, MAX_STEP_BYTES).await?;
    Ok(Some(key.simple().to_string()))
}
