use std::path::PathBuf;

use anyhow::Context;
use ratchet_core::judge::offline::success::model::feature_name;
use ratchet_core::judge::offline::success::{CrossCheck, NotFitted, SuccessFit};
use ratchet_core::judge::rubric::Rubric;
use ratchet_stages::data_target::ScoringTarget;
use ratchet_stages::review::{LabelComparison, success};
use ratchet_stages::score::judge::Judge;
use ratchet_stages::score::{ScoringContext, success as models};
use serde_json::{Value, json};

use super::view::statistic;
use super::{CalibrateArgs, Found, revise};

/// The number of signals that are named.
const NAMED: usize = 6;
/// Signals that change the odds by less are not named.
const MIN_NAMED: f64 = 0.05;

/// P(success) of the offline judge, as far as labels allow.
pub(super) struct Success {
    fitted: Result<SuccessFit, NotFitted>,
    saved: Option<PathBuf>,
}

/// Fits P(success) to labels; `None` for other judges than the offline one.
pub(super) async fn fit(
    ctx: &ScoringContext<'_>,
    held: &LabelComparison,
    (judge, rubric): (&Judge, &Rubric),
) -> anyhow::Result<Option<Success>> {
    let Some(signals) = judge.signals() else { return Ok(None) };
    let fitted = success::fit(ctx.source, held, (signals, rubric)).await?;
    Ok(Some(Success { fitted, saved: None }))
}

/// Saves the fit after confirmation, if it gains. Returns whether it was saved.
pub(super) fn save(
    target: &ScoringTarget,
    args: &CalibrateArgs,
    found: &mut Found,
) -> anyhow::Result<bool> {
    let Some(success) = &found.success else { return Ok(false) };
    let Some(fit) = success.fitted.as_ref().ok().filter(|fit| fit.check.gains()) else {
        return Ok(false);
    };
    if !args.change.yes {
        eprint!("{}", text(success));
        if !revise::agreed("Score with the fitted P(success) from now on? [y/N] ")? {
            return Ok(false);
        }
    }
    let file = models::write(target.models(), &target.journal.project, &fit.model)
        .context("cannot save the fitted P(success)")?;
    if let Some(success) = &mut found.success {
        success.saved = Some(file);
    }
    Ok(true)
}

/// What was fitted, for people.
pub(super) fn text(success: &Success) -> String {
    let fit = match &success.fitted {
        Ok(fit) => fit,
        Err(why) => return format!("\nP(success): not fitted; {why}.\n"),
    };
    let CrossCheck { share, auc, auc_uncalibrated, .. } = &fit.check;
    let area = |auc: &Option<f64>| auc.map_or("–".to_owned(), |auc| format!("{auc:.2}"));
    let mut text = format!(
        "\nP(success), fitted to the labels of this project:\n  {}.\n  {:.0}% of the labelled sessions are a success. AUC {} (uncalibrated judge {}).\n",
        fit.check.sentence(),
        share * 100.0,
        area(auc),
        area(auc_uncalibrated),
    );
    for (name, weight) in named(fit) {
        let direction = if weight > 0.0 { "more likely" } else { "less likely" };
        text += &format!("  {}: more of it makes success {direction}\n", feature_name(name));
    }
    text += &match &success.saved {
        Some(file) => format!(
            "  Saved to {}; scores use it from now on. Run `ratchet score --rescore` for earlier sessions.\n",
            file.display()
        ),
        None if fit.check.gains() => "  It gains: --apply scores with it from now on.\n".to_owned(),
        None => "  It does not gain beyond chance, so it is not offered; more labels may help.\n"
            .to_owned(),
    };
    text
}

fn named(fit: &SuccessFit) -> Vec<(&str, f64)> {
    let weights = fit.model.weights().into_iter();
    weights.filter(|(_, weight)| weight.abs() >= MIN_NAMED).take(NAMED).collect()
}

/// What was fitted, for programs.
pub(super) fn view(success: &Success) -> Value {
    let fit = match &success.fitted {
        Ok(fit) => fit,
        Err(why) => return json!({ "fitted": false, "reason": why.to_string() }),
    };
    let check = &fit.check;
    let weights = fit.model.weights().into_iter();
    json!({
        "fitted": true,
        "offered": check.gains(),
        "labels": check.labels,
        "tasks": check.tasks,
        "share": check.share,
        "brier": check.brier,
        "brier_uncalibrated": check.brier_uncalibrated,
        "brier_constant": check.brier_constant,
        "gain_over_uncalibrated": statistic(Ok(check.gain_uncalibrated)),
        "gain_over_constant": statistic(Ok(check.gain_constant)),
        "auc": check.auc,
        "auc_uncalibrated": check.auc_uncalibrated,
        "weights": weights.map(|(name, weight)| (name.to_owned(), json!(weight))).collect::<serde_json::Map<_, _>>(),
        "saved": success.saved.as_ref().map(|file| file.display().to_string()),
    })
}
