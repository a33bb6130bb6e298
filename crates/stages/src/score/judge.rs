/// Chunk after chunk, until there is a verdict on the whole.
pub(super) mod chunks;
/// Model calls with retries.
mod model_calls;
/// Chunks by the provider's own token counts.
mod token_counts;

use std::sync::Arc;

use ratchet_agent::budget::{Budget, BudgetExceeded};
use ratchet_agent::error::ModelError;
use ratchet_agent::model::Model;
use ratchet_core::judge::chunk::ChunkLimits;
use ratchet_core::judge::evidence::Evidence;
use ratchet_core::judge::judge_prompt::{Instructions, JudgeCase, Seed};
use ratchet_core::judge::notations::Notations;
use ratchet_core::judge::offline::{
    self, SignalOverrides, SignalSet, SuccessEstimate, SuccessModel,
};
use ratchet_core::judge::rubric::{Critics, Rubric};
use ratchet_core::judge::verdict::{self, ChunkVerdict, SessionVerdict};
use ratchet_core::time::Timestamp;
use ratchet_store::StoreError;

use super::journal::RunJournal;
use super::outcome::{Outcome, Skip};
use super::peers::PeerCache;
use super::write_scores::hash;
use super::{JudgingCost, ScoreError};
use crate::source::{Source, SourceError};
use chunks::ChunkedSession;
pub use token_counts::TokenCounts;

#[derive(Clone, Debug)]
pub enum Judge {
    /// The offline judge, by the session's own signals.
    Offline,
    /// The same, by signals of the user's own.
    OwnSignals(Arc<OwnSignals>),
    /// A model, called chunk by chunk.
    Model(ModelJudge),
    /// An external judge that gets prompts and submits verdicts: a session is
    /// scored once all of its chunks have one.
    HandedIn(ExternalJudge),
}

/// Signals or notations that are not those that come with Ratchet, or a model that was fitted to
/// labels of the project.
#[derive(Clone, Debug)]
pub struct OwnSignals {
    set: SignalSet,
    /// Hash of the user's files; `None` if there are none.
    hash: Option<String>,
    /// P(success), and the hash of its file.
    model: Option<(SuccessModel, String)>,
}

impl Default for OwnSignals {
    fn default() -> Self {
        Self::new(None, None, &[])
    }
}

impl OwnSignals {
    /// Takes files of the user's own; what has none is as it ships. Scores are marked with the hash
    /// of `texts`.
    pub fn new(signals: Option<SignalSet>, notations: Option<Notations>, texts: &[&str]) -> Self {
        let set = signals.unwrap_or_else(|| SignalSet::shipped().clone());
        let set = match notations {
            Some(notations) => set.with_notations(notations),
            None => set,
        };
        Self { set, hash: (!texts.is_empty()).then(|| hash(texts)), model: None }
    }

    /// Adds overrides of the signals, with the text of their file.
    #[must_use]
    pub fn with_overrides(self, overrides: &SignalOverrides, text: &str) -> Self {
        let known = self.hash.unwrap_or_default();
        let set = self.set.with_overrides(overrides, text);
        Self { set, hash: Some(hash(&[&known, text])), model: self.model }
    }

    /// Adds a model that was fitted to labels, with the text of its file.
    #[must_use]
    pub fn with_model(self, model: SuccessModel, text: &str) -> Self {
        Self { model: Some((model, hash(&[text]))), ..self }
    }

    pub fn signals(&self) -> &SignalSet {
        &self.set
    }

    /// Returns the model, if it is about these signals and this rubric.
    fn model(&self, rubric: &Rubric) -> Option<&(SuccessModel, String)> {
        self.model.as_ref().filter(|(model, _)| model.fits(&self.set, &rubric.name))
    }
}

/// A model as a judge.
#[derive(Clone, Debug)]
pub struct ModelJudge {
    /// What scores call it: `anthropic:claude-sonnet-5`.
    pub name: String,
    pub model: Arc<Model>,
    pub budget: Budget,
    /// How sessions are put before it.
    pub briefing: Briefing,
    /// Token counts of the provider.
    pub counts: TokenCounts,
}

#[derive(Clone, Debug)]
pub struct ExternalJudge {
    /// What scores call them: `claude-code`.
    pub name: String,
    /// How sessions are put before them.
    pub briefing: Briefing,
}

/// How sessions are put before a judge.
#[derive(Clone, Debug)]
pub struct Briefing {
    /// The system prompt of every judge.
    pub words: String,
    /// What the marks around evidence are made of.
    pub seed: Seed,
    pub limits: ChunkLimits,
    /// The name of the project, where it is known.
    pub project: Option<String>,
    /// How results and speakers are recognised.
    pub notations: Arc<Notations>,
}

/// The verdict on a session, and its cost.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// The verdict on the whole and on each chunk.
    pub whole: SessionVerdict,
    /// Hash of all prompts; `None` without one.
    pub prompt_hash: Option<String>,
    /// Hash of what the judge goes by beside the rubric, the same for all sessions: instructions, or
    /// signals with what was fitted to labels.
    pub version: String,
    /// P(success), where it was fitted to labels.
    pub success: Option<SuccessEstimate>,
    pub cost: JudgingCost,
}

impl Briefing {
    /// Prompt settings. `secret` must be unknown to the judged agents; the same
    /// one gives the same prompts.
    pub fn new(words: impl Into<String>, secret: &str) -> Self {
        let (seed, limits) = (Seed::of(secret), ChunkLimits::default());
        let notations = Arc::new(Notations::shipped().clone());
        Self { words: words.into(), seed, limits, project: None, notations }
    }

    pub(super) fn case(&self, evidence: &Evidence) -> JudgeCase {
        let context = (self.project.as_deref(), &*self.notations);
        JudgeCase::in_project(context, evidence, &self.seed, &self.limits)
    }

    /// One judge for all dimensions.
    fn one_judge(&self, rubric: &Rubric) -> Critic {
        let instructions = Instructions::new(&self.words, rubric, &verdict::schema(rubric));
        Critic { rubric: rubric.clone(), instructions }
    }

    /// The critics that a rubric asks for: one, or one for each dimension.
    pub(super) fn critics(&self, rubric: &Rubric) -> Vec<Critic> {
        match rubric.critics {
            Critics::Together => vec![self.one_judge(rubric)],
            Critics::PerDimension => rubric
                .critics()
                .into_iter()
                .map(|rubric| {
                    let schema = verdict::schema(&rubric);
                    let instructions = Instructions::critic(&self.words, &rubric, &schema);
                    Critic { rubric, instructions }
                })
                .collect(),
        }
    }
}

/// One of the judges of a chunk.
#[derive(Clone, Debug)]
pub(super) struct Critic {
    /// What it is asked about.
    pub(super) rubric: Rubric,
    pub(super) instructions: Instructions,
}

/// What a judge has before it besides the session.
#[derive(Clone, Copy)]
pub(super) struct JudgeContext<'a> {
    pub(super) rubric: &'a Rubric,
    pub(super) source: &'a Source,
    pub(super) peers: &'a PeerCache,
    pub(super) ledger: &'a RunJournal<'a>,
    pub(super) clock: &'a (dyn Fn() -> Timestamp + Sync),
    pub(super) is_stopping: &'a (dyn Fn() -> bool + Sync),
}

/// Reason for a missing verdict.
#[derive(Debug)]
pub(super) enum NoVerdict {
    /// The run is to end; verdicts so far are stored.
    Stopped,
    /// Some chunks have no verdict yet.
    Waiting {
        /// This one is next.
        next: usize,
        of: usize,
    },
    Failed(String),
    /// The run cannot go on.
    Broken(ScoreError),
}

impl NoVerdict {
    /// What becomes of the session.
    pub(super) fn outcome(self) -> Result<Outcome, ScoreError> {
        match self {
            Self::Stopped => Ok(Outcome::Skipped(Skip::Stopped)),
            Self::Waiting { next, of } => Ok(Outcome::Skipped(Skip::Waiting { next, of })),
            Self::Failed(why) => Ok(Outcome::Failed(why)),
            Self::Broken(error) => Err(error),
        }
    }
}

impl From<SourceError> for NoVerdict {
    fn from(error: SourceError) -> Self {
        Self::Broken(error.into())
    }
}

impl From<StoreError> for NoVerdict {
    fn from(error: StoreError) -> Self {
        Self::Broken(error.into())
    }
}

impl Judge {
    pub fn name(&self) -> &str {
        match self {
            Self::Offline | Self::OwnSignals(_) => offline::NAME,
            Self::Model(judge) => &judge.name,
            Self::HandedIn(outsider) => &outsider.name,
        }
    }

    /// Returns how it recognises results and speakers.
    pub fn notations(&self) -> &Notations {
        match self {
            Self::Offline => Notations::shipped(),
            Self::OwnSignals(own) => own.set.notations(),
            Self::Model(judge) => &judge.briefing.notations,
            Self::HandedIn(outsider) => &outsider.briefing.notations,
        }
    }

    pub fn wants_money(&self) -> bool {
        match self {
            Self::Offline | Self::OwnSignals(_) | Self::HandedIn(_) => false,
            Self::Model(_) => true,
        }
    }

    pub(super) async fn judge(
        &self,
        judge_ctx: &JudgeContext<'_>,
        evidence: &Evidence,
    ) -> Result<Judged, NoVerdict> {
        match self {
            Self::Offline => by_signals(SignalSet::shipped(), None, judge_ctx, evidence).await,
            Self::OwnSignals(own) => {
                let model = own.model(judge_ctx.rubric);
                let judged = by_signals(&own.set, model, judge_ctx, evidence).await?;
                Ok(Judged { prompt_hash: own.hash.clone(), ..judged })
            }
            Self::Model(judge) => {
                let chunked = ChunkedSession::of_model(judge_ctx, evidence, judge).await;
                chunked.to_the_end(Some(judge)).await
            }
            Self::HandedIn(outsider) => {
                let chunked = ChunkedSession::external(judge_ctx, evidence, outsider);
                chunked.to_the_end(None).await
            }
        }
    }
}

/// Judges a session beside its peers.
async fn by_signals(
    signals: &SignalSet,
    model: Option<&(SuccessModel, String)>,
    judge_ctx: &JudgeContext<'_>,
    evidence: &Evidence,
) -> Result<Judged, NoVerdict> {
    let around = (judge_ctx.source, signals.notations());
    let peers = judge_ctx.peers.of(around, evidence).await?;
    let rubric = judge_ctx.rubric;
    let (verdict, success) = match model {
        Some((model, _)) => {
            let (verdict, estimate) =
                offline::judge_calibrated((signals, model), rubric, evidence, &peers);
            (verdict, Some(estimate))
        }
        None => (offline::judge_with(signals, rubric, evidence, &peers), None),
    };
    let version = match model {
        Some((_, fitted)) => hash(&[&signals.fingerprint(), fitted]),
        None => signals.fingerprint(),
    };
    let whole = verdict::aggregate(rubric, &[ChunkVerdict { verdict, new_tokens: 1 }]);
    Ok(Judged { whole, prompt_hash: None, version, success, cost: JudgingCost::default() })
}

/// Whether the same would befall every other session.
fn is_hopeless(error: &ModelError) -> bool {
    matches!(
        error,
        ModelError::Unauthorised { .. }
            | ModelError::OutOfCredit { .. }
            | ModelError::NotThere { .. }
            | ModelError::NotSetUp(_)
            | ModelError::Unsupported { .. }
            | ModelError::OverBudget(BudgetExceeded::NoPrice { .. })
    )
}
