use ratchet_core::judge::judge_prompt::JudgingEstimate;

use super::job::Job;
use super::journal::RunJournal;
use super::judge::Briefing;
use super::peers::PeerCache;
use super::write_scores::ScoreConfigs;
use super::{Request, ScoreError, ScoringContext, ScoringProgress, select_sessions};

/// Estimates the cost of scoring: sessions are read and split into chunks, without model calls.
///
/// # Errors
/// Fails if sessions cannot be read.
pub async fn estimate(
    ctx: &ScoringContext<'_>,
    request: &Request,
    briefing: &Briefing,
) -> Result<JudgingEstimate, ScoreError> {
    let ledger = RunJournal::idle(ctx, request, (ctx.clock)());
    let configs = ScoreConfigs::default();
    let peers = PeerCache::default();
    let job = Job { ctx, request, ledger: &ledger, configs: &configs, peers: &peers };
    let critics = briefing.critics(&request.rubric);
    let critics: Vec<_> = critics.into_iter().map(|critic| critic.instructions).collect();
    let mut found = select_sessions::find(ctx.source, &request.wanted).await?;
    found.retain(|session| request.wanted.holds(session));
    let of = found.len() as u64;
    let mut sum = JudgingEstimate::default();
    for (session, done) in found.iter().zip(1..) {
        if (ctx.is_stopping)() {
            break;
        }
        if let Ok(ready) = job.prepare(session).await? {
            let case = briefing.case(&ready.evidence);
            sum = sum + JudgingEstimate::of(&case, &critics, &request.rubric);
        }
        (ctx.watch)(&ScoringProgress { done, of, tally: ledger.tally() });
    }
    Ok(sum)
}
