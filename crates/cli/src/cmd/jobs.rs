use clap::{Args, Subcommand};
use ratchet_core::job::{JobKind, JobPhase};
use ratchet_server::api::jobs::{JobView, JobsRequest, JobsView};
use ratchet_store::catalog::JobKey;

use crate::data_target::{self, ProjectArgs};
use crate::exit::Outcome;
use crate::print::{one_line, table, without_control_characters};
use crate::runtime;

/// `ratchet jobs …`
#[derive(Args, Debug)]
pub(crate) struct JobsCommand {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List jobs, newest first
    List(ListArgs),
    /// Retry a dead letter, with all its attempts
    Retry(DeadLetterArgs),
    /// Delete a dead letter
    Discard(DeadLetterArgs),
}

#[derive(Args, Debug)]
struct ListArgs {
    /// Only jobs of this kind
    #[arg(long, value_name = "KIND", value_parser = JobKind::ALL.map(JobKind::as_str))]
    kind: Option<String>,
    /// Only jobs in this state; `dead` lists dead letters
    #[arg(long, value_name = "STATE", value_parser = JobPhase::NAMES)]
    state: Option<String>,
    /// Maximum number of jobs
    #[arg(long, value_name = "N", default_value_t = 50)]
    limit: u64,
    /// Continue from the cursor of the last page
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<String>,
    #[command(flatten)]
    jobs: ProjectArgs,
}

#[derive(Args, Debug)]
struct DeadLetterArgs {
    /// Kind of the job
    #[arg(value_parser = kind)]
    kind: JobKind,
    /// ID of the job, as listed
    id: String,
    #[command(flatten)]
    jobs: ProjectArgs,
}

fn kind(word: &str) -> Result<JobKind, String> {
    let kinds = || format!("must be one of {}", JobKind::ALL.map(JobKind::as_str).join(", "));
    JobKind::parse(word).ok_or_else(kinds)
}

impl DeadLetterArgs {
    fn key(&self) -> JobKey {
        (self.kind, self.id.clone())
    }
}

/// Runs `ratchet jobs`.
pub(crate) fn run(command: &JobsCommand) -> anyhow::Result<Outcome> {
    runtime::block_on(async {
        match &command.action {
            Action::List(args) => list(args).await,
            Action::Retry(args) => retry(args).await,
            Action::Discard(args) => discard(args).await,
        }
    })
}

async fn list(args: &ListArgs) -> anyhow::Result<Outcome> {
    let request = JobsRequest {
        kind: args.kind.clone(),
        state: args.state.clone(),
        limit: Some(args.limit),
        cursor: args.cursor.clone(),
    };
    let found = data_target::with_project(&args.jobs, "ratchet jobs", async |target, project| {
        target.jobs(&project.id, request).await
    });
    args.jobs.output.show(&found.await?, jobs_text)?;
    Ok(Outcome::Done)
}

async fn retry(args: &DeadLetterArgs) -> anyhow::Result<Outcome> {
    let revived = data_target::with_project(&args.jobs, "ratchet jobs", async |target, project| {
        target.retry_job(&project.id, args.key()).await
    });
    args.jobs
        .output
        .show(&revived.await?, |_| "queued; jobs run while `ratchet serve` is up\n".to_owned())?;
    Ok(Outcome::Done)
}

async fn discard(args: &DeadLetterArgs) -> anyhow::Result<Outcome> {
    let gone = data_target::with_project(&args.jobs, "ratchet jobs", async |target, project| {
        target.discard_job(&project.id, args.key()).await
    });
    args.jobs.output.show(&gone.await?, |gone| format!("discarded {}\n", gone.discarded))?;
    Ok(Outcome::Done)
}

fn jobs_text(found: &JobsView) -> String {
    let rows: Vec<_> = found.jobs.iter().map(row).collect();
    let mut text =
        table(["CREATED", "KIND", "ID", "STATE", "ATTEMPTS", "NEXT ATTEMPT", "REASON"], &rows);
    if let Some(cursor) = &found.cursor {
        text.push_str(&format!("More jobs: --cursor '{cursor}'\n"));
    }
    text
}

fn row(job: &JobView) -> [String; 7] {
    let next = job.next_attempt_at.as_deref().unwrap_or("-");
    // Whole: it is what the other commands take.
    let id = without_control_characters(&job.id).collect();
    let attempts = job.attempts.to_string();
    let reason = one_line(job.reason.as_deref().unwrap_or("-"));
    let state = if job.is_held { format!("{}, paused", job.state) } else { job.state.clone() };
    [job.created_at.clone(), job.kind.clone(), id, state, attempts, next.to_owned(), reason]
}
