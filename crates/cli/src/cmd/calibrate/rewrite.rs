use std::sync::Arc;

use ratchet_agent::budget::Budget;
use ratchet_agent::judge::{DefaultModels, JudgeName};
use ratchet_agent::model::PriceList;
use ratchet_core::calibration::Calibration;
use ratchet_core::calibration::draft::CriterionDraft;
use ratchet_core::price::PriceTable;
use ratchet_core::rubric::Rubric;
use ratchet_server::clock::Clock;
use ratchet_stages::connect::judge::{self, Means};
use ratchet_stages::trust::Held;

/// Drafts criteria: by template, or by a model if one is named.
pub(super) async fn drafts(
    with: Option<&str>,
    held: &Held,
    rubric: &Rubric,
    calibration: &Calibration,
) -> anyhow::Result<Vec<CriterionDraft>> {
    let by_template = held.drafts(rubric, calibration);
    let (Some(with), false) = (with, by_template.is_empty()) else { return Ok(by_template) };
    let name = JudgeName::parse(with, &DefaultModels::builtin())?;
    let prices = PriceList { table: Arc::new(PriceTable::builtin()), at: Clock::System.now() };
    let variables = &|name: &str| std::env::var(name).ok();
    let model = judge::open(&name, Means { variables, prices, connections: None }).await?;
    match model {
        None => Ok(by_template),
        Some(model) => {
            Ok(held.rewritten(&model, &Budget::unlimited(), (rubric, calibration)).await?)
        }
    }
}
