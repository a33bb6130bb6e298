use std::ops::RangeInclusive;

use ratchet_core::id::SessionId;
use ratchet_core::judge::chunk::Chunk;
use ratchet_core::judge::evidence::Evidence;
use ratchet_core::judge::judge_prompt::{EarlierSummary, JudgeCase, JudgePrompt};
use ratchet_core::judge::rubric::Rubric;
use ratchet_core::judge::session_timeline;
use ratchet_core::judge::verdict::{self, ChunkVerdict, Verdict};

use super::super::JudgingCost;
use super::super::write_scores::hash;
use super::{Briefing, Critic, ExternalJudge, JudgeContext, Judged, ModelJudge, NoVerdict};

/// A session that is judged chunk by chunk.
pub(in super::super) struct ChunkedSession<'a> {
    pub(super) judge_ctx: &'a JudgeContext<'a>,
    pub(super) session: SessionId,
    judge: &'a str,
    case: JudgeCase,
    critics: Vec<Critic>,
    /// Hash of the user's own notations, which decide who is shown to speak.
    notations: Option<&'a str>,
    /// Whether a user spoke again after the first request.
    has_reaction: bool,
}

/// The verdict on a chunk.
#[derive(Clone, Debug)]
pub(in super::super) struct ChunkScore {
    verdict: Verdict,
    traces: RangeInclusive<u32>,
    prompt: String,
    cost: JudgingCost,
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
    /// What is asked: all dimensions, or one.
    pub(in super::super) rubric: Rubric,
}

/// A verdict and its cost.
type Answer = (Verdict, JudgingCost);

/// A chunk with its questions, in the order of the critics; some are answered.
pub(in super::super) struct OpenChunk {
    parts: Vec<(Question, Option<Answer>)>,
}

impl OpenChunk {
    /// Which chunk, from 1.
    pub(in super::super) fn number(&self) -> usize {
        self.parts.first().map_or(0, |(question, _)| question.chunk)
    }

    /// The questions without an answer.
    pub(in super::super) fn unanswered(&self) -> impl Iterator<Item = &Question> {
        self.parts.iter().filter(|(_, answer)| answer.is_none()).map(|(question, _)| question)
    }
}

impl<'a> ChunkedSession<'a> {
    /// A session before a model: by the critics of the rubric, in chunks that the provider counted
    /// where it counts.
    pub(in super::super) async fn of_model(
        judge_ctx: &'a JudgeContext<'a>,
        evidence: &Evidence,
        judge: &'a ModelJudge,
    ) -> Self {
        let mut chunked = Self::new(judge_ctx, evidence, (&judge.name, &judge.briefing));
        if let Some(critic) = chunked.critics.first() {
            judge.plan(&mut chunked.case, critic).await;
        }
        chunked
    }

    /// A session for a judge outside that gets its prompts: one for each chunk and critic.
    pub(in super::super) fn external(
        judge_ctx: &'a JudgeContext<'a>,
        evidence: &Evidence,
        judge: &'a ExternalJudge,
    ) -> Self {
        Self::new(judge_ctx, evidence, (&judge.name, &judge.briefing))
    }

    fn new(
        judge_ctx: &'a JudgeContext<'a>,
        evidence: &Evidence,
        (judge, briefing): (&'a str, &'a Briefing),
    ) -> Self {
        let moves = session_timeline::of_with(evidence, &briefing.notations);
        Self {
            judge_ctx,
            session: evidence.session.clone(),
            judge,
            case: briefing.case(evidence),
            critics: briefing.critics(judge_ctx.rubric),
            notations: briefing.notations.own_hash(),
            has_reaction: session_timeline::has_reaction(&moves),
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
        while let Some(mut open) = self.next(&mut scored).await? {
            for (question, answer) in open.parts.iter_mut().filter(|(_, known)| known.is_none()) {
                let Some(judge) = asked else {
                    let (next, of) = (question.chunk, self.chunks());
                    return Err(NoVerdict::Waiting { next, of });
                };
                *answer = Some(judge.ask(self, question).await?);
            }
            scored.push(ChunkScore::new(open));
        }
        if scored.is_empty() {
            return Err(NoVerdict::Failed("there is nothing to judge".to_owned()));
        }
        Ok(self.sum_up(scored))
    }

    /// Adds stored verdicts, and returns the first chunk that has not all of them.
    pub(in super::super) async fn next(
        &self,
        scored: &mut Vec<ChunkScore>,
    ) -> Result<Option<OpenChunk>, NoVerdict> {
        while let Some(chunk) = self.case.chunks().get(scored.len()) {
            let mut parts = Vec::with_capacity(self.critics.len());
            for critic in &self.critics {
                let question = self.question(chunk, critic, scored);
                let answer = self.said(&question).await?;
                parts.push((question, answer));
            }
            let open = OpenChunk { parts };
            if open.unanswered().next().is_some() {
                return Ok(Some(open));
            }
            scored.push(ChunkScore::new(open));
        }
        Ok(None)
    }

    fn question(&self, chunk: &Chunk, critic: &Critic, scored: &[ChunkScore]) -> Question {
        let earlier: Vec<EarlierSummary<'_>> = scored
            .iter()
            .map(|scored| EarlierSummary {
                traces: scored.traces.clone(),
                verdict: &scored.verdict,
            })
            .collect();
        let prompt = self.case.prompt(chunk, &critic.instructions, &earlier);
        Question {
            key: hash(&[self.judge, &prompt.hash()]),
            prompt,
            traces: self.case.citable(chunk),
            chunk: scored.len() + 1,
            rubric: critic.rubric.clone(),
        }
    }

    /// The stored verdict on a chunk, if it can still be parsed.
    async fn said(&self, question: &Question) -> Result<Option<Answer>, NoVerdict> {
        let Some(paid) = self.judge_ctx.ledger.said(&question.key).await? else { return Ok(None) };
        let read = Verdict::read(&paid.answer, &question.rubric, &question.traces);
        let cost = JudgingCost { total: paid.cost, approximate: paid.approximate_cost };
        Ok(read.ok().map(|verdict| (verdict, cost)))
    }

    fn sum_up(&self, scored: Vec<ChunkScore>) -> Judged {
        let cost = scored.iter().fold(JudgingCost::default(), |sum, scored| sum + scored.cost);
        let prompt_hash = hash_of(scored.iter().map(|scored| scored.prompt.as_str()));
        let said: Vec<ChunkVerdict> = scored
            .into_iter()
            .zip(self.case.chunks())
            .map(|(mut scored, chunk)| {
                if !self.has_reaction {
                    scored.verdict.forget_satisfaction();
                }
                ChunkVerdict { verdict: scored.verdict, new_tokens: chunk.new_tokens.count }
            })
            .collect();
        let whole = verdict::aggregate(self.judge_ctx.rubric, &said);
        let versions: Vec<String> =
            self.critics.iter().map(|critic| critic.instructions.fingerprint()).collect();
        let version = hash_of(versions.iter().map(String::as_str).chain(self.notations));
        Judged { whole, prompt_hash: Some(prompt_hash), version, success: None, cost }
    }
}

impl ChunkScore {
    /// Joins the verdicts of the critics, which stand in the order of the dimensions.
    fn new(open: OpenChunk) -> Self {
        let traces = open.parts.first().map(|(question, _)| question.traces.clone());
        let prompts: Vec<String> =
            open.parts.iter().map(|(question, _)| question.prompt.hash()).collect();
        let (mut dimensions, mut cost) = (Vec::new(), JudgingCost::default());
        for (verdict, paid) in open.parts.into_iter().filter_map(|(_, answer)| answer) {
            dimensions.extend(verdict.dimensions);
            cost += paid;
        }
        Self {
            verdict: Verdict { dimensions },
            // Empty: every chunk has at least one critic.
            traces: traces.unwrap_or(RangeInclusive::new(1, 0)),
            prompt: hash_of(prompts.iter().map(String::as_str)),
            cost,
        }
    }
}

/// One hash as it is; several in one.
fn hash_of<'a>(hashes: impl Iterator<Item = &'a str>) -> String {
    let hashes: Vec<&str> = hashes.collect();
    match hashes.as_slice() {
        [only] => (*only).to_owned(),
        several => hash(several),
    }
}
