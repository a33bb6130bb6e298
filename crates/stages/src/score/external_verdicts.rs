//! External judges: they take a prompt, judge it, and submit the verdict.

use std::ops::RangeInclusive;

use ratchet_core::id::SessionId;
use ratchet_core::judge::judge_prompt::JudgePrompt;
use ratchet_core::judge::rubric::Rubric;
use ratchet_core::judge::verdict::Verdict;

use super::job::Job;
use super::journal::{JudgeAnswer, RunJournal};
use super::judge::chunks::{ChunkedSession, OpenChunk, Question};
use super::judge::{Judge, NoVerdict};
use super::outcome::Outcome;
use super::peers::PeerCache;
use super::write_scores::ScoreConfigs;
use super::{JudgingCost, Request, ScoreError, ScoringContext};

/// The next task of an external judge.
#[derive(Clone, Debug, PartialEq)]
pub struct Task {
    pub prompt: JudgePrompt,
    /// Number of the chunk, from 1.
    pub chunk: usize,
    pub of: usize,
    /// The numbers of the traces that the verdict may cite.
    pub traces: RangeInclusive<u32>,
    /// What is asked: all dimensions, or the one of a critic.
    pub rubric: Rubric,
    /// Prompts of the chunk that wait for a verdict, this one included.
    pub waiting: usize,
}

/// Why there is no task, or why a verdict is not taken.
#[derive(Debug, thiserror::Error)]
pub enum TaskError {
    /// The session is not to be judged now.
    #[error("the session is not judged: {0}")]
    NotDue(String),
    /// There is no such chunk.
    #[error("the session has {of} chunks; there is no chunk {asked}")]
    NoChunk {
        /// The requested chunk.
        asked: usize,
        of: usize,
    },
    /// Chunks are judged in order, because each prompt contains the verdicts before it.
    #[error("chunk {next} comes first: what is said of it is part of the next prompt")]
    NotYet {
        /// The one that is next.
        next: usize,
    },
    /// The chunk has its verdict.
    #[error("chunk {0} has a verdict; the next one without is {1}")]
    Judged(usize, usize),
    #[error("all chunks have a verdict")]
    AllJudged,
    /// The prompt is another by now.
    #[error("the session has changed since the prompt was taken; take it again")]
    Changed,
    /// The verdict makes no sense.
    #[error("the verdict is refused: {}", .0.join("; "))]
    Refused(Vec<String>),
    /// Something else stood in the way.
    #[error(transparent)]
    Score(#[from] ScoreError),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubmittedVerdict {
    /// On which chunk, from 1.
    pub chunk: usize,
    /// Hash of the judged prompt, if known.
    pub prompt_hash: Option<String>,
    /// The verdict, in JSON.
    pub answer: String,
}

/// Returns the task: a given chunk, or the next one without a verdict. Where the rubric asks for a
/// critic per dimension, a chunk has a task for each of them.
///
/// # Errors
/// Says why there is nothing.
pub async fn task(
    ctx: &ScoringContext<'_>,
    request: &Request,
    session: &SessionId,
    chunk: Option<usize>,
) -> Result<Task, TaskError> {
    let tasks = next(ctx, request, session, chunk).await?;
    tasks.into_iter().next().map(|(_, task)| task).ok_or(TaskError::AllJudged)
}

/// Accepts a verdict on a chunk. It is validated like a model's, and stored until the session is
/// scored.
///
/// # Errors
/// Names everything that is wrong with it.
pub async fn hand_in(
    ctx: &ScoringContext<'_>,
    request: &Request,
    session: &SessionId,
    handed: &SubmittedVerdict,
) -> Result<(), TaskError> {
    let tasks = next(ctx, request, session, Some(handed.chunk)).await?;
    let is_meant = |(_, task): &(String, Task)| {
        handed.prompt_hash.as_ref().is_none_or(|hash| *hash == task.prompt.hash())
    };
    let Some((key, task)) = tasks.into_iter().find(is_meant) else {
        return Err(TaskError::Changed);
    };
    let read = Verdict::read(&handed.answer, &task.rubric, &task.traces);
    let faults = read.err().into_iter().flatten().map(|fault| fault.to_string());
    let faults: Vec<String> = faults.collect();
    if !faults.is_empty() {
        return Err(TaskError::Refused(faults));
    }
    let now = (ctx.clock)();
    let said =
        JudgeAnswer { prompt: &key, session, answer: &handed.answer, cost: JudgingCost::default() };
    let ledger = RunJournal::idle(ctx, request, now);
    ledger.keep(said, now).await.map_err(ScoreError::from)?;
    Ok(())
}

/// The tasks of a chunk, and the journal keys of their verdicts.
async fn next(
    ctx: &ScoringContext<'_>,
    request: &Request,
    session: &SessionId,
    chunk: Option<usize>,
) -> Result<Vec<(String, Task)>, TaskError> {
    let Judge::HandedIn(outsider) = &request.judge else {
        return Err(TaskError::NotDue("its judge is asked directly".to_owned()));
    };
    let ledger = RunJournal::idle(ctx, request, (ctx.clock)());
    let configs = ScoreConfigs::default();
    let peers = PeerCache::default();
    let job = Job { ctx, request, ledger: &ledger, configs: &configs, peers: &peers };
    let ready = match job.prepare(session).await? {
        Ok(ready) => ready,
        Err(Outcome::Skipped(why)) => return Err(TaskError::NotDue(why.to_string())),
        Err(Outcome::Failed(why)) => return Err(TaskError::NotDue(why)),
        Err(Outcome::Scored(_)) => return Err(TaskError::AllJudged),
    };
    let judge_ctx = job.judge_ctx();
    let chunked = ChunkedSession::external(&judge_ctx, &ready.evidence, outsider);
    let of = chunked.chunks();
    let mut calls = Vec::new();
    let found = chunked.next(&mut calls).await.map_err(|why| match why {
        NoVerdict::Broken(error) => TaskError::Score(error),
        NoVerdict::Stopped | NoVerdict::Waiting { .. } | NoVerdict::Failed(_) => {
            TaskError::AllJudged
        }
    })?;
    let next = found.as_ref().map(OpenChunk::number);
    let asked = chunk.or(next).unwrap_or(of);
    if asked == 0 || asked > of {
        return Err(TaskError::NoChunk { asked, of });
    }
    let (Some(open), Some(next)) = (found, next) else { return Err(TaskError::AllJudged) };
    match asked.cmp(&next) {
        std::cmp::Ordering::Less => return Err(TaskError::Judged(asked, next)),
        std::cmp::Ordering::Greater => return Err(TaskError::NotYet { next }),
        std::cmp::Ordering::Equal => {}
    }
    let waiting = open.unanswered().count();
    let task = |question: &Question| Task {
        prompt: question.prompt.clone(),
        chunk: asked,
        of,
        traces: question.traces.clone(),
        rubric: question.rubric.clone(),
        waiting,
    };
    Ok(open.unanswered().map(|question| (question.key.clone(), task(question))).collect())
}
