use ratchet_core::judge::offline;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use ratchet_core::id::SessionId;
use ratchet_core::judge::verdict;
use ratchet_core::unique_keys::UniqueKeys;
use ratchet_stages::data_target::ScoringTarget;
use ratchet_stages::score::external_verdicts::{self, SubmittedVerdict};
use ratchet_stages::score::judge::{ExternalJudge, Judge};
use ratchet_stages::score::{Request, Rescore, WritePolicy, select_sessions::SessionFilter};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::report::{self, ScoringView};
use super::{AttachArgs, RubricArgs, judge, scoring_context, session_id};
use crate::data_target::{self, ScoringArgs};
use crate::exit::Outcome;
use crate::print::OutputArgs;

/// The longest verdict that is read.
const MAX_VERDICT_BYTES: u64 = 1_000_000;

/// `ratchet score prompt`
#[derive(Args, Debug)]
pub(super) struct PromptArgs {
    /// Session ID
    #[arg(value_name = "SESSION", value_parser = session_id)]
    session: SessionId,
    /// Chunk number, from 1 [default: the next one without a verdict]
    #[arg(long, value_name = "N")]
    chunk: Option<usize>,
    /// Output file; its folder is created if missing [default: standard output]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    outside: OutsideArgs,
}

/// `ratchet score submit`
#[derive(Args, Debug)]
pub(super) struct SubmitArgs {
    /// Verdict file [default: standard input]
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    #[command(flatten)]
    outside: OutsideArgs,
}

/// Who judges outside, and by what.
#[derive(Args, Debug)]
struct OutsideArgs {
    #[command(flatten)]
    target: ScoringArgs,
    #[command(flatten)]
    rubric: RubricArgs,
    /// Judge name for the scores
    #[arg(long, value_name = "NAME", default_value = "claude-code", value_parser = judge_name)]
    judge: String,
    /// Rescore; earlier scores are kept and marked as superseded
    #[arg(long)]
    rescore: bool,
    #[command(flatten)]
    attach: AttachArgs,
    #[command(flatten)]
    output: OutputArgs,
}

fn judge_name(text: &str) -> Result<String, String> {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || "-_.:/".contains(char);
    let fits =
        (1..=60).contains(&text.len()) && text.chars().all(is_plain) && text != offline::NAME;
    if fits { Ok(text.to_owned()) } else { Err("1 to 60 letters, digits, - _ . : /".to_owned()) }
}

impl OutsideArgs {
    async fn request(
        &self,
        target: &ScoringTarget,
        session: &SessionId,
    ) -> anyhow::Result<Request> {
        let outsider =
            ExternalJudge { name: self.judge.clone(), briefing: judge::briefing(target).await? };
        Ok(Request {
            run: target.run.clone(),
            rubric: target.rubric(&self.rubric.rubric)?,
            judge: Judge::HandedIn(outsider),
            wanted: SessionFilter::These(vec![session.clone()]),
            again: if self.rescore { Rescore::Always } else { Rescore::IfGrown },
            keeping: WritePolicy::Write,
            attach: self.attach.target(),
            at_once: 1,
            batch: None,
        })
    }
}

/// The task of an external judge.
#[derive(Debug, Serialize)]
struct TaskView {
    session_id: String,
    rubric: String,
    chunk: usize,
    chunks: usize,
    /// Prompts of the chunk that wait for a verdict: several with a critic per dimension.
    waiting: usize,
    prompt_hash: String,
    system: String,
    message: String,
    schema: Value,
}

/// Runs `ratchet score prompt`.
pub(super) async fn prompt(args: &PromptArgs) -> anyhow::Result<Outcome> {
    let PromptArgs { session, chunk, out, outside } = args;
    data_target::with_scoring(&outside.target, "ratchet score prompt", async |target| {
        let request = outside.request(target, session).await?;
        let task =
            external_verdicts::task(&scoring_context(target), &request, session, *chunk).await?;
        let view = TaskView {
            session_id: session.to_string(),
            rubric: request.rubric.name.clone(),
            chunk: task.chunk,
            chunks: task.of,
            waiting: task.waiting,
            prompt_hash: task.prompt.hash(),
            message: task.prompt.message(),
            system: task.prompt.system,
            schema: verdict::schema(&task.rubric),
        };
        let as_text = |view: &TaskView| format!("{}\n\n{}", view.system, view.message);
        match out {
            Some(file) => write(file, &outside.output.text(&view, as_text)?)?,
            None => outside.output.show(&view, as_text)?,
        }
        Ok(Outcome::Done)
    })
    .await
}

fn write(file: &Path, text: &str) -> anyhow::Result<()> {
    let folder = file.parent().unwrap_or(file);
    let written = fs::create_dir_all(folder).and_then(|()| fs::write(file, text));
    written.with_context(|| format!("cannot write {}", file.display()))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Submission {
    session_id: String,
    chunk: Option<usize>,
    prompt_hash: Option<String>,
    verdict: UniqueKeys,
}

/// Runs `ratchet score submit`.
pub(super) async fn submit(args: &SubmitArgs) -> anyhow::Result<Outcome> {
    let (target, text) = match &args.file {
        Some(file) => (file.display().to_string(), File::open(file).and_then(read)),
        None => ("standard input".to_owned(), read(io::stdin())),
    };
    let text = text.with_context(|| format!("cannot read the verdict: {target}"))?;
    let handed: Submission = serde_json::from_str(&text).with_context(|| {
        format!("{target} is not {{\"session_id\", \"chunk\", \"prompt_hash\", \"verdict\"}}")
    })?;
    let session = SessionId::parse(&handed.session_id)?;
    let outside = &args.outside;
    data_target::with_scoring(&outside.target, "ratchet score submit", async |target| {
        let request = outside.request(target, &session).await?;
        let ctx = scoring_context(target);
        let verdict = SubmittedVerdict {
            chunk: handed.chunk.unwrap_or(1),
            prompt_hash: handed.prompt_hash.clone(),
            answer: handed.verdict.0.to_string(),
        };
        external_verdicts::hand_in(&ctx, &request, &session, &verdict).await?;
        let report = ratchet_stages::score::run(&ctx, &request).await?;
        let view = ScoringView::new(&request, &report);
        outside.output.show(&view, report::detail)?;
        Ok(view.outcome())
    })
    .await
}

fn read(from: impl Read) -> io::Result<String> {
    let mut text = String::new();
    from.take(MAX_VERDICT_BYTES).read_to_string(&mut text)?;
    Ok(text)
}
