use std::ops::RangeInclusive;

use ratchet_core::id::SessionId;
use ratchet_core::judge::chunk::Chunk;
use ratchet_core::judge::evidence::Evidence;
use ratchet_core::judge::judge_prompt::{EarlierSummary, Instructions, JudgeCase, JudgePrompt};
use ratchet_core::judge::verdict::{self, ChunkVerdict, Verdict};
use ratchet_core::money::Money;

use super::super::write_scores::hash;
use super::{Briefing, JudgeContext, Judged, ModelJudge, NoVerdict};

/// A session that is judged chunk by chunk.
pub(in super::super) struct ChunkedSession<'a> {
    pub(super) judge_ctx: &'a JudgeContext<'a>,
    pub(super) session: SessionId,
    judge: &'a str,
    case: JudgeCase,
    instructions: Instructions,
}

/// The verdict on a chunk.
#[derive(Clone, Debug)]
pub(in super::super) struct ChunkScore {
    verdict: Verdict,
    traces: RangeInclusive<u32>,
    prompt: String,
    cost: Money,
}

/// The prompt for a chunk, and what the verdict may cite.
#[derive(Clone, Debug)]
pub(in super::super) struct Question {
    pub(in super::super) prompt: JudgePrompt,
    /// Key of the verdict in the journal.
    pub(in super::super) key: String,
    pub(in super::super) traces: RangeInclusive<u32>,
    /// Which chunk, from 1.
    pub(in super::super) chunk: usize,
}

impl<'a> ChunkedSession<'a> {
    pub(in super::super) fn new(
        judge_ctx: &'a JudgeContext<'a>,
        evidence: &Evidence,
        judge: &'a str,
        briefing: &Briefing,
    ) -> Self {
        Self {
            judge_ctx,
            session: evidence.session.clone(),
            judge,
            case: briefing.case(evidence),
            instructions: briefing.instructions(judge_ctx.rubric),
        }
    }

    /// How many chunks there are.
    pub(in super::super) fn chunks(&self) -> usize {
        self.case.chunks().len()
    }

    /// Judges all chunks. Stored verdicts are reused; without a model
    /// it ends at the first chunk without a verdict.
    pub(super) async fn to_the_end(&self, asked: Option<&ModelJudge>) -> Result<Judged, NoVerdict> {
        let mut scored = Vec::with_capacity(self.chunks());
        while let Some(question) = self.next(&mut scored).await? {
            let Some(judge) = asked else {
                let (next, of) = (question.chunk, self.chunks());
                return Err(NoVerdict::Waiting { next, of });
            };
            let (verdict, cost) = judge.ask(self, &question).await?;
            scored.push(ChunkScore::new(question, verdict, cost));
        }
        if scored.is_empty() {
            return Err(NoVerdict::Failed("there is nothing to judge".to_owned()));
        }
        Ok(self.sum_up(scored))
    }

    /// Adds stored verdicts, and returns the first chunk without one.
    pub(in super::super) async fn next(
        &self,
        scored: &mut Vec<ChunkScore>,
    ) -> Result<Option<Question>, NoVerdict> {
        while let Some(chunk) = self.case.chunks().get(scored.len()) {
            let question = self.question(chunk, scored);
            match self.said(&question).await? {
                Some((verdict, cost)) => scored.push(ChunkScore::new(question, verdict, cost)),
                None => return Ok(Some(question)),
            }
        }
        Ok(None)
    }

    fn question(&self, chunk: &Chunk, scored: &[ChunkScore]) -> Question {
        let earlier: Vec<EarlierSummary<'_>> = scored
            .iter()
            .map(|scored| EarlierSummary {
                traces: scored.traces.clone(),
                verdict: &scored.verdict,
            })
            .collect();
        let prompt = self.case.prompt(chunk, &self.instructions, &earlier);
        let key = hash(&[self.judge, &prompt.hash()]);
        Question { prompt, key, traces: self.case.citable(chunk), chunk: scored.len() + 1 }
    }

    /// The stored verdict on a chunk, if it can still be parsed.
    async fn said(&self, question: &Question) -> Result<Option<(Verdict, Money)>, NoVerdict> {
        let Some(paid) = self.judge_ctx.ledger.said(&question.key).await? else { return Ok(None) };
        let read = Verdict::read(&paid.answer, self.judge_ctx.rubric, &question.traces);
        Ok(read.ok().map(|verdict| (verdict, paid.cost)))
    }

    fn sum_up(&self, scored: Vec<ChunkScore>) -> Judged {
        let cost = scored.iter().fold(Money::ZERO, |sum, scored| sum + scored.cost);
        let prompt_hash = match scored.as_slice() {
            [only] => only.prompt.clone(),
            several => {
                hash(&several.iter().map(|scored| scored.prompt.as_str()).collect::<Vec<_>>())
            }
        };
        let said: Vec<ChunkVerdict> = scored
            .into_iter()
            .zip(self.case.chunks())
            .map(|(scored, chunk)| ChunkVerdict {
                verdict: scored.verdict,
                tokens: chunk.tokens.count,
            })
            .collect();
        let whole = verdict::aggregate(self.judge_ctx.rubric, &said);
        let version = self.instructions.fingerprint();
        Judged { whole, prompt_hash: Some(prompt_hash), version, success: None, cost }
    }
}

impl ChunkScore {
    fn new(question: Question, verdict: Verdict, cost: Money) -> Self {
        let prompt = question.prompt.hash();
        Self { verdict, traces: question.traces, prompt, cost }
    }
}
