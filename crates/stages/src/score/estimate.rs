use ratchet_core::judging::JudgingEstimate;

use super::job::Job;
use super::journal::Ledger;
use super::judge::Briefing;
use super::keep::Configs;
use super::peers::PeerBook;
use super::{Request, ScoreError, ScoringDesk, ScoringProgress, fetch};

/// Says what judging would take, by whomever: sessions are read and planned, and nobody is asked.
///
/// # Errors
/// Fails if sessions cannot be read.
pub async fn estimate(
    desk: &ScoringDesk<'_>,
    request: &Request,
    briefing: &Briefing,
) -> Result<JudgingEstimate, ScoreError> {
    let ledger = Ledger::idle(desk, request, (desk.clock)());
    let configs = Configs::default();
    let peers = PeerBook::default();
    let job = Job { desk, request, ledger: &ledger, configs: &configs, peers: &peers };
    let instructions = briefing.instructions(&request.rubric);
    let mut found = fetch::find(desk.source, &request.wanted).await?;
    found.retain(|session| request.wanted.holds(session));
    let of = found.len() as u64;
    let mut sum = JudgingEstimate::default();
    for (session, done) in found.iter().zip(1..) {
        if (desk.is_stopping)() {
            break;
        }
        if let Ok(ready) = job.prepare(session).await? {
            let case = briefing.case(&ready.evidence);
            sum = sum + JudgingEstimate::of(&case, &instructions, &request.rubric);
        }
        (desk.watch)(&ScoringProgress { done, of, tally: ledger.tally() });
    }
    Ok(sum)
}
