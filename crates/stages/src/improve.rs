//! Suggestions of weekly reports, and proposals.

/// The backlog of proposals: what is stored, and what a person does with it.
pub mod backlog;
/// Files of an agent's code.
pub mod codebase;
/// Traces, scores and comments of an agent's weeks.
mod failure_source;
/// The weekly document of proposals.
pub mod feedback;
/// Tools that read a week and its code, for agents.
pub mod tools;
/// The agent that reads with these tools and writes proposals.
pub mod feedback_agent;
/// The trace of its run.
pub mod agent_trace;
/// Commits of a repository.
pub mod repository_log;
/// Sessions that traffic events are computed from.
mod traffic_sample;
/// Events of a week that were recorded.
mod week_events;
/// What weekly documents are made from besides recordings.
pub mod settings;
/// Publication of weekly documents.
pub mod publication;
/// New patterns of failures between two documents.
pub mod continuous;
/// Comments on the traces of a Langfuse server.
pub mod trace_comments;
/// The file that proposals are appended to.
pub mod learnings;

use ratchet_agent::error::ModelError;
use ratchet_agent::request::{CacheablePart, LlmRequest, ResponseFormat, Turn};
use ratchet_agent::response::LlmResponse;
use ratchet_core::judge::judge_prompt;
use ratchet_core::quality::report::WeekReport;
use ratchet_core::quality::suggestion::advice::{AdviceCase, AdviceOrigin, shown_hash};
use ratchet_core::quality::suggestion::{Suggestion, Templates, suggest};
use ratchet_core::quality::synthesis::{SessionMarks, Synthesis};

use crate::score::JudgingCost;
use crate::score::judge::ModelJudge;

/// How often a model may put an answer right that cannot be used.
const REPAIRS: usize = 2;
/// The most tokens of an answer.
const ANSWER_TOKENS: u32 = 8_192;

/// A model that writes suggestions.
#[derive(Clone, Debug)]
pub struct SuggestionModel {
    /// The model, and what may be spent on it.
    pub judge: ModelJudge,
    /// The system prompt.
    pub words: String,
}

/// Suggestions, their origin and the cost of the model call.
#[derive(Clone, Debug, Default)]
pub(super) struct Advice {
    pub(super) suggestions: Vec<Suggestion>,
    pub(super) origin: AdviceOrigin,
    pub(super) cost: JudgingCost,
    /// Whether the model was not asked because that could have exceeded the budget.
    pub(super) is_over_budget: bool,
}

/// Why a model gave no suggestions.
struct NoAdvice {
    why: String,
    is_over_budget: bool,
}

impl From<&ModelError> for NoAdvice {
    fn from(error: &ModelError) -> Self {
        let is_over_budget = matches!(error, ModelError::OverBudget(_));
        // All viewers of the project can read the report.
        Self { why: error.without_reply(), is_over_budget }
    }
}

/// The data of a week that suggestions are based on.
#[derive(Clone, Copy, Debug)]
pub(super) struct AdviceInput<'a> {
    pub(super) synthesis: &'a Synthesis,
    /// The marks of the week's sessions.
    pub(super) marks: &'a [SessionMarks],
    /// What is suggested where no model does.
    pub(super) templates: &'a Templates,
    /// The report of the week that is there already.
    pub(super) known: Option<&'a WeekReport>,
}

impl AdviceInput<'_> {
    /// The model's earlier response for the same week, which needs no new call.
    fn kept(&self) -> Option<Advice> {
        let known = self.known?;
        let shown = known.advice.shown_hash.as_ref()?;
        let is_same =
            shown_hash(self.synthesis, self.marks, self.templates).as_ref() == Some(shown);
        is_same.then(|| Advice {
            suggestions: known.suggestions.clone(),
            origin: known.advice.clone(),
            ..Advice::default()
        })
    }
}

/// Suggests what to change: from a model if there is one, from templates otherwise.
///
/// A model is not called again for the same prompt: its response is in the report.
/// If the call fails or the response is invalid, templates are used, and the reason is reported.
pub(super) async fn advise(adviser: Option<&SuggestionModel>, shown: AdviceInput<'_>) -> Advice {
    let from_templates = |origin: AdviceOrigin, cost: JudgingCost| {
        let suggestions = suggest(shown.synthesis, shown.templates);
        Advice { suggestions, origin, cost, is_over_budget: false }
    };
    let Some(adviser) = adviser else {
        return shown
            .kept()
            .unwrap_or_else(|| from_templates(AdviceOrigin::default(), JudgingCost::default()));
    };
    let seed = &adviser.judge.briefing.seed;
    let Some(case) = AdviceCase::new(shown.synthesis, shown.marks, (shown.templates, seed)) else {
        return from_templates(AdviceOrigin::default(), JudgingCost::default());
    };
    let origin = case.origin(&adviser.judge.name, &adviser.words);
    if let Some(known) = shown.known.filter(|known| known.advice == origin) {
        let suggestions = known.suggestions.clone();
        return Advice { suggestions, origin, ..Advice::default() };
    }
    let mut cost = JudgingCost::default();
    match adviser.ask(&case, &mut cost).await {
        Ok(suggestions) => Advice { suggestions, origin, cost, is_over_budget: false },
        Err(NoAdvice { why, is_over_budget }) => {
            let note = Some(format!("{} gave no suggestions: {why}", origin.by));
            let advice = from_templates(AdviceOrigin { note, ..AdviceOrigin::default() }, cost);
            Advice { is_over_budget, ..advice }
        }
    }
}

impl SuggestionModel {
    async fn ask(
        &self,
        case: &AdviceCase<'_>,
        cost: &mut JudgingCost,
    ) -> Result<Vec<Suggestion>, NoAdvice> {
        let mut ask = LlmRequest {
            system: vec![CacheablePart::new(self.words.trim())],
            response_format: ResponseFormat::Json(case.schema()),
            temperature: Some(0.0),
            max_tokens: ANSWER_TOKENS,
            ..LlmRequest::new(case.text())
        };
        let mut faults = Vec::new();
        for _ in 0..=REPAIRS {
            let answer = self.judge.model.complete(&ask, &self.judge.budget).await;
            match &answer {
                Ok(response) => *cost += response.into(),
                Err(error) => error.bill().into_iter().for_each(|bill| *cost += bill.into()),
            }
            let (said, wrong) = match answer {
                Ok(LlmResponse { text, .. }) => match case.read(&text) {
                    Ok(suggestions) => return Ok(suggestions),
                    Err(wrong) => (text, wrong),
                },
                Err(ModelError::InvalidResponse(bad)) => (bad.said, vec![bad.why]),
                Err(error) => {
                    tracing::warn!(%error, "a model was asked for suggestions in vain");
                    return Err(NoAdvice::from(&error));
                }
            };
            let repair = judge_prompt::repair(&wrong);
            ask.turns.push(Turn::Model { text: said, calls: Vec::new() });
            ask.turns.push(Turn::User(vec![CacheablePart::new(repair)]));
            faults = wrong;
        }
        let why = format!("no usable answer in {} attempts: {}", REPAIRS + 1, faults.join("; "));
        Err(NoAdvice { why, is_over_budget: false })
    }
}
