use ratchet_agent::budget::Budget;
use ratchet_agent::judge::{DefaultModels, JudgeName};
use ratchet_agent::model::PriceList;
use ratchet_core::judge::rubric::Rubric;
use ratchet_core::quality::calibration::Calibration;
use ratchet_server::clock::Clock;
use ratchet_stages::data_target::ScoringTarget;
use ratchet_stages::llm_connections::judge::{self, JudgeAccess};
use ratchet_stages::review::{LabelComparison, RewrittenDrafts};

use crate::cmd::score::prices;

/// Drafts criteria: by template, or by a model if one is named.
pub(super) async fn drafts(
    target: &ScoringTarget,
    (with, budget): (Option<&str>, &Budget),
    held: &LabelComparison,
    (rubric, calibration): (&Rubric, &Calibration),
) -> anyhow::Result<RewrittenDrafts> {
    let drafts = held.drafts(rubric, calibration);
    let by_template = RewrittenDrafts { drafts, is_over_budget: false };
    let (Some(with), false) = (with, by_template.drafts.is_empty()) else {
        return Ok(by_template);
    };
    let name = JudgeName::parse(with, &DefaultModels::builtin())?;
    let means = JudgeAccess {
        variables: &|name| std::env::var(name).ok(),
        prices: PriceList { table: prices(target), at: Clock::System.now() },
        connections: target.store().map(|store| (store, &target.journal.project)),
        outbound: target.outbound(),
        supervision: target.supervision(),
    };
    match judge::open(&name, means).await? {
        None => Ok(by_template),
        Some(model) => Ok(held.rewritten(&model, budget, (rubric, calibration)).await?),
    }
}
