use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use ratchet_agent::error::ModelError;
use ratchet_agent::request::LlmRequest;
use ratchet_core::judge::judge_prompt::JudgeCase;
use ratchet_core::record::tokens::Tokens;
use tracing::debug;

use super::{Critic, ModelJudge};

/// Traces counted at a time.
const AT_ONCE: usize = 8;

/// What a provider counted, by the hash of a session's prompt: it is asked once, however often a
/// run looks at the session.
#[derive(Clone, Debug, Default)]
pub struct TokenCounts(Arc<Mutex<BTreeMap<String, Counted>>>);

/// What a provider counted of a session.
#[derive(Clone, Debug)]
enum Counted {
    /// The session fits into one chunk.
    Fits,
    /// Tokens of each trace.
    Traces(Vec<Tokens>),
    /// It did not count; local counts are used, which have headroom.
    Not,
}

impl ModelJudge {
    /// Plans the chunks of a session by the provider's own counts, where it counts. What it does
    /// not count stays as the local tokenizer counted it.
    pub(super) async fn plan(&self, case: &mut JudgeCase, critic: &Critic) {
        if !self.model.counts_tokens() || case.chunks().is_empty() {
            return;
        }
        let whole = case.as_one_chunk();
        let Some(chunk) = whole.chunks().first() else { return };
        let prompt = whole.prompt(chunk, &critic.instructions, &[]);
        let key = prompt.hash();
        let known = self.counts.lock().get(&key).cloned();
        let counted = match known {
            Some(counted) => counted,
            None => {
                let limits = &self.briefing.limits;
                // A request that is far too long need not be sent to know that.
                let may_fit = case.planned_size() <= limits.hard().saturating_mul(2);
                let ask = Self::request(&critic.rubric, &prompt);
                let fits = may_fit && self.fits(&ask, limits.plan_above()).await;
                let counted = if fits { Counted::Fits } else { self.count_traces(case).await };
                self.counts.lock().insert(key, counted.clone());
                counted
            }
        };
        match counted {
            Counted::Fits => *case = whole,
            Counted::Traces(counts) => case.replan(&counts, &self.briefing.limits),
            Counted::Not => {}
        }
    }

    async fn fits(&self, ask: &LlmRequest, limit: u64) -> bool {
        match self.model.count(ask).await {
            Ok(counted) => counted.count <= limit,
            Err(error) => {
                debug!(%error, "the provider does not count tokens");
                false
            }
        }
    }

    async fn count_traces(&self, case: &JudgeCase) -> Counted {
        let requests: Vec<LlmRequest> = case.trace_texts().map(LlmRequest::new).collect();
        let counts = stream::iter(requests.iter().map(|request| self.model.count(request)));
        let counts: Result<Vec<Tokens>, ModelError> = counts.buffered(AT_ONCE).try_collect().await;
        match counts {
            Ok(counts) => Counted::Traces(counts),
            Err(error) => {
                debug!(%error, "the provider does not count tokens");
                Counted::Not
            }
        }
    }
}

impl TokenCounts {
    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Counted>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
