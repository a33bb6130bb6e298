use std::collections::BTreeSet;
use std::time::Duration;

use ratchet_agent::batch::{BatchFound, BatchId, BatchProgress, BatchRequest};
use ratchet_agent::error::ModelError;
use ratchet_agent::request::LlmRequest;
use ratchet_core::id::SessionId;
use ratchet_core::judge::verdict::Verdict;
use ratchet_core::money::Money;
use ratchet_store::catalog::ScoringBatch;

use super::job::Job;
use super::journal::JudgeAnswer;
use super::judge::chunks::{ChunkedSession, Question};
use super::judge::{Judge, ModelJudge, NoVerdict};
use super::{JudgingCost, ScoreError};

/// Bytes of questions that are held at once, and handed in together.
const BATCH_BYTES: usize = 40_000_000;
/// For so long a provider keeps the answers of a batch.
const KEPT_NANOS: i64 = 29 * 24 * 60 * 60 * 1_000_000_000;

/// A question of a session that waits for an answer.
struct Pending {
    session: SessionId,
    question: Question,
    ask: BatchRequest,
}

/// Has as much as possible answered in batches: wave after wave, each with the next chunk of every
/// session. Prompts without a batch result are sent directly afterwards.
///
/// A batch that an earlier run handed in is waited for, not handed in again. What it answers of
/// sessions that are not ours now stays for the run whose they are.
pub(super) async fn ask(
    job: &Job<'_>,
    sessions: &[SessionId],
    pause: Duration,
) -> Result<(), ScoreError> {
    let Judge::Model(judge) = &job.request.judge else { return Ok(()) };
    let wave = Wave { job, judge, pause };
    let mut asked = BTreeSet::new();
    while !(job.ctx.is_stopping)() && !job.ledger.is_spent() {
        let pending = wave.pending(sessions, &asked).await?;
        if pending.is_empty() {
            break;
        }
        let open = job.ledger.open_batches().await?;
        match open.iter().find(|batch| wave.is_wanted(batch, &pending)) {
            Some(batch) => asked.extend(wave.collect(batch, &pending).await?),
            None => wave.hand_in(&wave.affordable(&pending)).await?,
        }
    }
    Ok(())
}

struct Wave<'a> {
    job: &'a Job<'a>,
    judge: &'a ModelJudge,
    pause: Duration,
}

impl Wave<'_> {
    /// The questions on the next chunk of each session, as many as are held at once.
    async fn pending(
        &self,
        sessions: &[SessionId],
        asked: &BTreeSet<String>,
    ) -> Result<Vec<Pending>, ScoreError> {
        let judge_ctx = self.job.judge_ctx();
        let mut pending = Vec::new();
        let mut bytes = 0;
        for session in sessions {
            if bytes > BATCH_BYTES || (self.job.ctx.is_stopping)() {
                break;
            }
            let is_ours = self.job.request.wanted.holds(session)
                && self.job.ledger.claim(session, (self.job.ctx.clock)()).await?;
            if !is_ours {
                continue;
            }
            let Ok(ready) = self.job.prepare(session).await? else { continue };
            let chunked = ChunkedSession::of_model(&judge_ctx, &ready.evidence, self.judge).await;
            let open = match chunked.next(&mut Vec::new()).await {
                Ok(Some(open)) => open,
                Err(NoVerdict::Broken(error)) => return Err(error),
                Ok(None) | Err(_) => continue,
            };
            for question in open.unanswered().filter(|one| !asked.contains(&one.key)) {
                let ask = ModelJudge::request(&question.rubric, &question.prompt);
                bytes += question.prompt.chunk.len() + question.prompt.shared.len();
                let ask = BatchRequest { name: question.key.clone(), ask };
                let (session, question) = (session.clone(), question.clone());
                pending.push(Pending { session, question, ask });
            }
        }
        Ok(pending)
    }

    /// Whether a batch may still have results for the prompts.
    fn is_wanted(&self, batch: &ScoringBatch, pending: &[Pending]) -> bool {
        let is_kept = (self.job.ctx.clock)().since(batch.submitted_at) < KEPT_NANOS;
        is_kept && pending.iter().any(|one| batch.prompts.contains(&one.question.key))
    }

    /// The questions that the budget allows to be handed in together. If it allows none, those for
    /// a shorter answer, so that little of the budget is left over; all if it allows none of these
    /// either, so that the provider's client says why.
    fn affordable(&self, pending: &[Pending]) -> Vec<BatchRequest> {
        let whole = || pending.iter().map(|one| one.ask.clone());
        let Some(left) = self.judge.budget.left().money else { return whole().collect() };
        let mut sum = Money::ZERO;
        let mut fits = |ask: &LlmRequest| {
            let with = sum + self.judge.model.most_in_batch(ask).unwrap_or(Money::ZERO);
            if with <= left {
                sum = with;
            }
            with <= left
        };
        let some: Vec<BatchRequest> = whole().filter(|one| fits(&one.ask)).collect();
        if !some.is_empty() {
            return some;
        }
        let shortened = |one: &Pending| {
            let mut lengths = ModelJudge::shorter(&one.ask.ask, &one.question.rubric);
            let ask = lengths.find(|shorter| fits(shorter))?;
            Some(BatchRequest { name: one.ask.name.clone(), ask })
        };
        let some: Vec<BatchRequest> = pending.iter().filter_map(shortened).collect();
        if some.is_empty() { whole().collect() } else { some }
    }

    /// Submits prompts. They are recorded before, so that a batch can be found again by the
    /// names of its prompts even if the process ends before it gets the batch id.
    async fn hand_in(&self, asks: &[BatchRequest]) -> Result<(), ScoreError> {
        let prompts: Vec<String> = asks.iter().map(|one| one.name.clone()).collect();
        let mut batch = ScoringBatch {
            id: super::write_scores::hash(&prompts.iter().map(String::as_str).collect::<Vec<_>>()),
            judge: self.judge.name.clone(),
            remote: None,
            submitted_at: (self.job.ctx.clock)(),
            prompts,
        };
        self.job.ledger.save_batch(batch.clone()).await?;
        match self.judge.model.submit_batch(asks, &self.judge.budget).await {
            Ok(BatchId(remote)) => {
                batch.remote = Some(remote);
                Ok(self.job.ledger.save_batch(batch).await?)
            }
            Err(error) => {
                self.job.ledger.close_batch(&batch.id).await?;
                if let ModelError::OverBudget(_) = error {
                    self.job.ledger.stop_for_budget();
                    return Ok(());
                }
                Err(ScoreError::Judge(error))
            }
        }
    }

    /// Waits for a batch and saves its results. Returns which pending prompts it contained;
    /// nothing if the run is to end before, or if there is no such batch.
    async fn collect(
        &self,
        batch: &ScoringBatch,
        pending: &[Pending],
    ) -> Result<Vec<String>, ScoreError> {
        let model = &self.judge.model;
        let Some(id) = self.find(batch, pending).await? else { return Ok(Vec::new()) };
        while let BatchProgress::Working { .. } =
            model.batch_progress(&id).await.map_err(ScoreError::Judge)?
        {
            if !self.wait(pending).await? {
                return Ok(Vec::new());
            }
        }
        let asks: Vec<BatchRequest> = pending.iter().map(|one| one.ask.clone()).collect();
        let answers = model.batch_answers(&id, &asks, &self.judge.budget).await;
        for (name, answer) in answers.map_err(ScoreError::Judge)? {
            let Some(one) = pending.iter().find(|one| one.question.key == name) else { continue };
            let answer = match answer {
                Ok(answer) => answer,
                // On any error, the prompt is sent directly. It may have been billed.
                Err(error) => {
                    error.bill().into_iter().for_each(|bill| self.job.ledger.pay(bill.into()));
                    continue;
                }
            };
            let cost = JudgingCost::from(&answer);
            self.job.ledger.pay(cost);
            let read = Verdict::read(&answer.text, &one.question.rubric, &one.question.traces);
            if read.is_ok() {
                let (prompt, session) = (name.as_str(), &one.session);
                let said = JudgeAnswer { prompt, session, answer: &answer.text, cost };
                self.job.ledger.keep(said, (self.job.ctx.clock)()).await?;
            }
        }
        let keys = pending.iter().map(|one| &one.question.key);
        let answered = keys.filter(|key| batch.prompts.contains(key)).cloned();
        let answered: Vec<String> = answered.collect();
        self.job.ledger.collect_batch(&batch.id, answered.clone()).await?;
        Ok(answered)
    }

    /// The provider's name for a batch; `None` if it was never handed in, or the run is to end.
    async fn find(
        &self,
        batch: &ScoringBatch,
        pending: &[Pending],
    ) -> Result<Option<BatchId>, ScoreError> {
        if let Some(remote) = &batch.remote {
            return Ok(Some(BatchId(remote.clone())));
        }
        let Some(name) = batch.prompts.first() else {
            self.job.ledger.close_batch(&batch.id).await?;
            return Ok(None);
        };
        loop {
            let found = self.judge.model.find_batch(name).await.map_err(ScoreError::Judge)?;
            match found {
                BatchFound::Done(id) => return Ok(Some(id)),
                BatchFound::Nowhere => {
                    self.job.ledger.close_batch(&batch.id).await?;
                    return Ok(None);
                }
                BatchFound::Perhaps(_) => {
                    if !self.wait(pending).await? {
                        return Ok(None);
                    }
                }
            }
        }
    }

    /// Waits and renews the lease; false if the run is to end.
    async fn wait(&self, pending: &[Pending]) -> Result<bool, ScoreError> {
        if (self.job.ctx.is_stopping)() {
            return Ok(false);
        }
        tokio::time::sleep(self.pause).await;
        for one in pending {
            self.job.ledger.claim(&one.session, (self.job.ctx.clock)()).await?;
        }
        Ok(true)
    }
}
