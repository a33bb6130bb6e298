use std::ops::RangeInclusive;

use ratchet_core::id::SessionId;
use ratchet_core::judge::chunk::Chunk;
use ratchet_core::judge::evidence::Evidence;
use ratchet_core::judge::judge_prompt::{EarlierSummary, Instructions, JudgeCase, JudgePrompt};
use ratchet_core::judge::verdict::{self, ChunkVerdict, Verdict};
use ratchet_core::money::Money;

use super::super::write_scores::hash;
use super::{Briefing, JudgeContext, Judged, ModelJudge, Unjudged};

/// A session before a judge, chunk after chunk.
pub(in super::super) struct Walk<'a> {
    pub(super) bench: &'a JudgeContext<'a>,
    pub(super) session: SessionId,
    judge: &'a str,
    case: JudgeCase,
    instructions: Instructions,
}

/// What was said of a chunk.
#[derive(Clone, Debug)]
pub(in super::super) struct Heard {
    verdict: Verdict,
    traces: RangeInclusive<u32>,
    prompt: String,
    cost: Money,
}

/// What a judge is to be told of a chunk, and what its answer may cite.
#[derive(Clone, Debug)]
pub(in super::super) struct Question {
    pub(in super::super) prompt: JudgePrompt,
    /// What the answer is kept under.
    pub(in super::super) key: String,
    pub(in super::super) traces: RangeInclusive<u32>,
    /// Which chunk, from 1.
    pub(in super::super) chunk: usize,
}

impl<'a> Walk<'a> {
    pub(in super::super) fn new(
        bench: &'a JudgeContext<'a>,
        evidence: &Evidence,
        judge: &'a str,
        briefing: &Briefing,
    ) -> Self {
        Self {
            bench,
            session: evidence.session.clone(),
            judge,
            case: briefing.case(evidence),
            instructions: briefing.instructions(bench.rubric),
        }
    }

    /// How many chunks there are.
    pub(in super::super) fn chunks(&self) -> usize {
        self.case.chunks().len()
    }

    /// Goes through all chunks. Whoever was heard before is not asked again; where nobody can be
    /// asked, it ends at the first chunk without a verdict.
    pub(super) async fn to_the_end(&self, asked: Option<&ModelJudge>) -> Result<Judged, Unjudged> {
        let mut heard = Vec::with_capacity(self.chunks());
        while let Some(question) = self.next(&mut heard).await? {
            let Some(judge) = asked else {
                let (next, of) = (question.chunk, self.chunks());
                return Err(Unjudged::Waiting { next, of });
            };
            let (verdict, cost) = judge.ask(self, &question).await?;
            heard.push(Heard::new(question, verdict, cost));
        }
        if heard.is_empty() {
            return Err(Unjudged::Failed("there is nothing to judge".to_owned()));
        }
        Ok(self.sum_up(heard))
    }

    /// Adds what was heard before, and returns the first question that nobody has answered.
    pub(in super::super) async fn next(
        &self,
        heard: &mut Vec<Heard>,
    ) -> Result<Option<Question>, Unjudged> {
        while let Some(chunk) = self.case.chunks().get(heard.len()) {
            let question = self.question(chunk, heard);
            match self.said(&question).await? {
                Some((verdict, cost)) => heard.push(Heard::new(question, verdict, cost)),
                None => return Ok(Some(question)),
            }
        }
        Ok(None)
    }

    fn question(&self, chunk: &Chunk, heard: &[Heard]) -> Question {
        let earlier: Vec<EarlierSummary<'_>> = heard
            .iter()
            .map(|heard| EarlierSummary { traces: heard.traces.clone(), verdict: &heard.verdict })
            .collect();
        let prompt = self.case.prompt(chunk, &self.instructions, &earlier);
        let key = hash(&[self.judge, &prompt.hash()]);
        Question { prompt, key, traces: self.case.citable(chunk), chunk: heard.len() + 1 }
    }

    /// What was said to a question before, if it still can be read.
    async fn said(&self, question: &Question) -> Result<Option<(Verdict, Money)>, Unjudged> {
        let Some(paid) = self.bench.ledger.said(&question.key).await? else { return Ok(None) };
        let read = Verdict::read(&paid.answer, self.bench.rubric, &question.traces);
        Ok(read.ok().map(|verdict| (verdict, paid.cost)))
    }

    fn sum_up(&self, heard: Vec<Heard>) -> Judged {
        let cost = heard.iter().fold(Money::ZERO, |sum, heard| sum + heard.cost);
        let prompt_hash = match heard.as_slice() {
            [only] => only.prompt.clone(),
            several => hash(&several.iter().map(|heard| heard.prompt.as_str()).collect::<Vec<_>>()),
        };
        let said: Vec<ChunkVerdict> = heard
            .into_iter()
            .zip(self.case.chunks())
            .map(|(heard, chunk)| ChunkVerdict {
                verdict: heard.verdict,
                tokens: chunk.tokens.count,
            })
            .collect();
        let whole = verdict::aggregate(self.bench.rubric, &said);
        Judged { whole, prompt_hash: Some(prompt_hash), cost }
    }
}

impl Heard {
    fn new(question: Question, verdict: Verdict, cost: Money) -> Self {
        let prompt = question.prompt.hash();
        Self { verdict, traces: question.traces, prompt, cost }
    }
}
