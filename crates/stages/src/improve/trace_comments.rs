use std::time::Duration;

use ratchet_core::backoff::{Backoff, FailedAttempt};
use ratchet_core::catalog::annotation::CommentedKind;
use ratchet_core::improve::proposal::Proposal;
use ratchet_core::improve::report::FeedbackReport;
use ratchet_core::job::{JobKind, Retry};
use ratchet_core::record::limit::elide;
use ratchet_core::time::Timestamp;
use ratchet_remote::backoff_clock::{BackoffClock as _, SystemBackoffClock};
use ratchet_remote::langfuse::client::ClientError;
use ratchet_store::catalog::{JobFailure, JobRecord, JobRequest, LeaseStatus, NewJob};
use ratchet_store::{Store, StoreResult};
use serde::{Deserialize, Serialize};

use crate::schedule::{JobEnvironment, work_place};
use crate::sink::Sink;

/// Commented traces of a proposal.
const MAX_TRACES: usize = 3;
/// Comments of a document.
const MAX_COMMENTS: usize = 30;
/// Bytes of a text in a comment.
const MAX_TEXT: usize = 1_000;
/// Longer than a comment takes, with its retries.
const LEASE: Duration = Duration::from_secs(5 * 60);
/// Pauses between attempts: for a day.
const RETRY: Backoff = Backoff {
    max_attempts: 30,
    first: Duration::from_secs(30),
    cap: Duration::from_secs(60 * 60),
    max_retry_after: Duration::from_secs(24 * 60 * 60),
    max_elapsed: Duration::MAX,
};

/// A comment to write.
#[derive(Debug, Serialize, Deserialize)]
struct CommentOrder {
    trace: String,
    content: String,
    /// A part of the content by which it is found again.
    mark: String,
}

/// The jobs that comment on the evidence of a document's proposals.
pub(super) fn jobs(report: &FeedbackReport, url: &str, now: Timestamp) -> Vec<NewJob> {
    let of = |proposal: &Proposal| {
        let traces = proposal.evidence.iter().take(MAX_TRACES);
        traces.map(|trace| job(proposal, (trace, url), now)).collect::<Vec<_>>()
    };
    report.proposals.iter().flat_map(of).take(MAX_COMMENTS).collect()
}

fn job(proposal: &Proposal, (trace, url): (&str, &str), now: Timestamp) -> NewJob {
    let mark = format!("ratchet proposal {}", proposal.id);
    let content = format!(
        "Example of: {} ({})\n\n{}\n\nImpact: {}\n{url}\n\n({mark})",
        elide(&proposal.title, MAX_TEXT),
        proposal.component.title(),
        elide(&proposal.change, MAX_TEXT),
        proposal.impact.text(),
    );
    let order = CommentOrder { trace: trace.to_owned(), content, mark };
    NewJob {
        kind: JobKind::TraceComment,
        id: format!("{}/{trace}", proposal.id),
        group: None,
        payload: serde_json::to_string(&order).unwrap_or_default(),
        priority: 0,
        run_at: now,
        max_attempts: RETRY.max_attempts,
        is_held: false,
    }
}

/// Writes the comments that are due. A comment that is there already is not written again.
///
/// # Errors
/// Fails only when the database does.
pub async fn write(
    store: &Store,
    environment: &dyn JobEnvironment,
    owner: &str,
    now: Timestamp,
) -> StoreResult<()> {
    let request = JobRequest {
        kind: JobKind::TraceComment,
        owner: owner.to_owned(),
        lease: LEASE,
        limit: 1,
        max_running: None,
    };
    while let Some(job) = store.catalog.claim_jobs(request.clone(), now).await?.pop() {
        let lease = job.lease();
        let status = match comment(store, environment, &job).await {
            Ok(()) => store.catalog.complete_job(lease, None, now).await?,
            Err(failed) => {
                tracing::warn!(job = job.id, error = failed.why, "a trace was not commented");
                let retry = failed.retry(job.state.attempts, now);
                let failure = JobFailure { error: failed.why, retry, result: None };
                store.catalog.fail_job(lease, failure, now).await?
            }
        };
        if status == LeaseStatus::Lost {
            tracing::info!(
                job = job.id,
                "another server comments this trace, and finds the comment"
            );
        }
    }
    Ok(())
}

/// Why a comment was not written.
struct NoComment {
    why: String,
    may_pass: bool,
    after: Option<Duration>,
}

impl NoComment {
    fn never(why: impl Into<String>) -> Self {
        Self { why: why.into(), may_pass: false, after: None }
    }

    fn retry(&self, attempt: u32, now: Timestamp) -> Retry {
        let jitter = SystemBackoffClock.jitter();
        let failed =
            FailedAttempt { attempt, jitter, retry_after: self.after, ..FailedAttempt::default() };
        match RETRY.delay(failed).filter(|_| self.may_pass) {
            Some(delay) => Retry::At(now.plus(delay)),
            None => Retry::Never,
        }
    }
}

impl From<ClientError> for NoComment {
    fn from(error: ClientError) -> Self {
        let (may_pass, after) = match &error {
            // Keys are corrected, and a trace may not be there yet.
            ClientError::Refused { status, .. } => {
                (matches!(status, 401 | 403 | 404 | 408 | 429 | 500..=599), None)
            }
            ClientError::Later { wait, .. } => (true, Some(*wait)),
            ClientError::Silent { .. } | ClientError::Distrusted { .. } => (true, None),
            _ => (false, None),
        };
        Self { why: error.to_string(), may_pass, after }
    }
}

async fn comment(
    store: &Store,
    environment: &dyn JobEnvironment,
    job: &JobRecord,
) -> Result<(), NoComment> {
    let order: CommentOrder =
        serde_json::from_str(&job.payload).map_err(|_| NoComment::never("malformed order"))?;
    let place = work_place(store, environment, &job.project);
    let (_, sink, _) = place.map_err(|error| NoComment::never(error.public))?;
    let Sink::Remote(client) = sink else {
        return Err(NoComment::never("the project's traces are on no Langfuse server"));
    };
    let on = (CommentedKind::Trace, order.trace.as_str());
    client.comment_once(on, (order.content, &order.mark)).await?;
    Ok(())
}
