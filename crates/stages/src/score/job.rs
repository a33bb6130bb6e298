use ratchet_core::id::SessionId;
use ratchet_core::judge::evidence::Evidence;
use ratchet_core::time::Timestamp;

use super::journal::RunJournal;
use super::judge::JudgeContext;
use super::outcome::{Outcome, Scored, Skip};
use super::peers::PeerCache;
use super::previous_scores::PreviousScores;
use super::select_sessions::SessionLength;
use super::write_scores;
use super::write_scores::{ScoreConfigs, ScoreSheet};
use super::{Request, Rescore, ScoreError, ScoringContext, WritePolicy, evidence, select_sessions};

/// A session that is to be judged.
pub(super) struct Ready {
    pub(super) evidence: Evidence,
    known: PreviousScores,
    last_at: Timestamp,
}

/// What all sessions of a run have in common.
pub(super) struct Job<'a> {
    pub(super) ctx: &'a ScoringContext<'a>,
    pub(super) request: &'a Request,
    pub(super) ledger: &'a RunJournal<'a>,
    pub(super) configs: &'a ScoreConfigs,
    pub(super) peers: &'a PeerCache,
}

impl Job<'_> {
    /// Does all that is to be done with a session, and names it again.
    pub(super) async fn session(
        &self,
        session: SessionId,
    ) -> Result<(SessionId, Outcome), ScoreError> {
        if !self.request.wanted.holds(&session) {
            return Ok((session, Outcome::Skipped(Skip::NotSampled)));
        }
        if (self.ctx.is_stopping)() || self.ledger.is_spent() {
            return Ok((session, Outcome::Skipped(Skip::Stopped)));
        }
        let outcome = match self.request.keeping {
            WritePolicy::Nothing => self.look(&session).await?,
            WritePolicy::Write | WritePolicy::NoScores | WritePolicy::Anew => {
                if !self.ledger.claim(&session, (self.ctx.clock)()).await? {
                    return Ok((session, Outcome::Skipped(Skip::Taken)));
                }
                let outcome = self.look(&session).await;
                match &outcome {
                    Ok(Outcome::Scored(_)) if self.request.keeping == WritePolicy::Write => {
                        self.ledger.settle(&session).await?;
                    }
                    Ok(_) | Err(_) => self.ledger.release(&session).await?,
                }
                outcome?
            }
        };
        Ok((session, outcome))
    }

    async fn look(&self, session: &SessionId) -> Result<Outcome, ScoreError> {
        let ready = match self.prepare(session).await? {
            Ok(ready) => ready,
            Err(outcome) => return Ok(outcome),
        };
        if self.request.keeping == WritePolicy::Nothing && self.request.judge.wants_money() {
            return Ok(Outcome::Skipped(Skip::WouldBeJudged));
        }
        let judged = match self.request.judge.judge(&self.judge_ctx(), &ready.evidence).await {
            Ok(judged) => judged,
            Err(why) => return why.outcome(),
        };
        let overall = judged.whole.verdict.overall(&self.request.rubric);
        if overall.is_none() {
            // There is no score, but the verdict stays in the journal: the model is not
            // called twice.
            return Ok(Outcome::Skipped(Skip::NothingSeen));
        }
        let Ready { evidence, known, last_at } = ready;
        let scored = Scored {
            session: session.clone(),
            traces: evidence.traces.len() as u64,
            last_at,
            judged,
            overall,
            generation: known.next_generation(),
        };
        if self.request.keeping == WritePolicy::Write {
            self.write(&scored, &evidence, &known).await?;
        }
        Ok(Outcome::Scored(Box::new(scored)))
    }

    /// Reads the evidence of a session, or returns why it is skipped.
    pub(super) async fn prepare(
        &self,
        session: &SessionId,
    ) -> Result<Result<Ready, Outcome>, ScoreError> {
        let Request { rubric, wanted, again, .. } = self.request;
        // Only now that the session is ours: another run may just have scored it.
        let by = (rubric.name.as_str(), self.request.attach);
        let known = PreviousScores::read(self.ctx.source, session, by).await?;
        if let Err(why) = self.is_due(session, &known).await? {
            if self.request.keeping == WritePolicy::Write {
                write_scores::mark_superseded(self.ctx.sink, &known, (self.ctx.clock)()).await?;
            }
            return Ok(Err(Outcome::Skipped(why)));
        }
        let evidence = evidence::evidence(self.ctx.source, session).await?;
        let Some(last) = evidence.traces.last() else {
            return Ok(Err(Outcome::Failed("it has no traces any more".to_owned())));
        };
        let last_at = last.trace.timestamp;
        let traces = evidence.traces.len() as u64;
        // It may have gone on between the first look and now.
        let observations = evidence.traces.iter().map(|trace| trace.steps.len() as u64).sum();
        let length = SessionLength { traces, observations: Some(observations), last_at };
        let fit = wanted.is_fit(&length, (self.ctx.clock)());
        let due = fit.and_then(|()| match again {
            Rescore::IfGrown => known.is_grown(traces),
            Rescore::Always => self.is_left(&known),
        });
        Ok(match due {
            Ok(()) => Ok(Ready { evidence, known, last_at }),
            Err(why) => Err(Outcome::Skipped(why)),
        })
    }

    pub(super) fn judge_ctx(&self) -> JudgeContext<'_> {
        JudgeContext {
            rubric: &self.request.rubric,
            source: self.ctx.source,
            peers: self.peers,
            ledger: self.ledger,
            clock: self.ctx.clock,
            is_stopping: self.ctx.is_stopping,
        }
    }

    /// Looks at what is cheap to see: how long the session is, and whether it is scored.
    async fn is_due(
        &self,
        session: &SessionId,
        known: &PreviousScores,
    ) -> Result<Result<(), Skip>, ScoreError> {
        let Some(span) = select_sessions::span(self.ctx.source, session).await? else {
            return Err(ScoreError::NoSession(session.clone()));
        };
        let wanted = &self.request.wanted;
        let span =
            select_sessions::count_observations(self.ctx.source, session, wanted, span).await?;
        let fit = wanted.is_fit(&span, (self.ctx.clock)());
        Ok(fit.and_then(|()| match self.request.again {
            Rescore::IfGrown => known.is_grown(span.traces),
            Rescore::Always => self.is_left(known),
        }))
    }

    /// Whether an interrupted rescoring has still to come to a session.
    fn is_left(&self, known: &PreviousScores) -> Result<(), Skip> {
        let Some(since) = self.ledger.rescore_since() else { return Ok(()) };
        let (judge, fingerprint) = (self.request.judge.name(), self.request.rubric.fingerprint());
        if known.is_scored_since(since, judge, &fingerprint) {
            return Err(Skip::Rescored);
        }
        Ok(())
    }

    async fn write(
        &self,
        scored: &Scored,
        evidence: &Evidence,
        known: &PreviousScores,
    ) -> Result<(), ScoreError> {
        let now = (self.ctx.clock)();
        let page = ScoreSheet {
            rubric: &self.request.rubric,
            judge: self.request.judge.name(),
            configs: self.configs,
            sampled: self.request.wanted.sampled(),
            attach: self.request.attach,
            now,
        };
        self.ctx.sink.scores(&page.scores(scored, evidence), now).await?;
        write_scores::supersede(self.ctx.sink, known, scored.generation, now).await
    }
}
