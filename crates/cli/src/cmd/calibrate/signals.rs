use std::path::PathBuf;

use anyhow::Context;
use ratchet_core::judge::offline::Signal;
use ratchet_core::judge::offline::overrides::draft::OverrideDraft;
use ratchet_core::judge::rubric::Rubric;
use ratchet_stages::data_target::ScoringTarget;
use ratchet_stages::review::{LabelComparison, signal_overrides};
use ratchet_stages::score::ScoringContext;
use ratchet_stages::score::judge::Judge;
use ratchet_stages::score::signal_overrides as files;
use serde_json::{Map, Value, json};

use super::view::statistic;
use super::{CalibrateArgs, Found, revise};

/// Drafts of signal overrides, and what became of them.
pub(super) struct SignalDrafts {
    drafts: Vec<OverrideDraft>,
    saved: Option<(PathBuf, u32)>,
}

impl SignalDrafts {
    pub(super) fn drafts(&self) -> &[OverrideDraft] {
        &self.drafts
    }

    /// Whether they are used from now on.
    pub(super) const fn is_saved(&self) -> bool {
        self.saved.is_some()
    }
}

/// Drafts signal overrides from labels; `None` for other judges than the offline one.
pub(super) async fn draft(
    ctx: &ScoringContext<'_>,
    held: &LabelComparison,
    (judge, rubric): (&Judge, &Rubric),
) -> anyhow::Result<Option<SignalDrafts>> {
    let Some(signals) = judge.signals() else { return Ok(None) };
    let drafts = signal_overrides::drafts(ctx.source, held, (signals, rubric)).await?;
    Ok(Some(SignalDrafts { drafts, saved: None }))
}

/// Saves the drafts after confirmation. Returns whether they were saved.
pub(super) fn save(
    target: &ScoringTarget,
    args: &CalibrateArgs,
    found: &mut Found,
    judge: &Judge,
) -> anyhow::Result<bool> {
    let (Some(made), Some(set)) = (&found.signals, judge.signals()) else { return Ok(false) };
    if made.drafts.is_empty() {
        return Ok(false);
    }
    if !args.change.yes {
        eprint!("{}", text(made));
        if !revise::agreed("Score with these signal overrides from now on? [y/N] ")? {
            return Ok(false);
        }
    }
    let (models, project) = (target.models(), &target.journal.project);
    let about = (set, &found.rubric);
    let folders = (target.data(), models);
    let overrides = signal_overrides::accepted(folders, project, about, &made.drafts)?;
    let file = files::write(models, project, &overrides).context("cannot save the overrides")?;
    if let Some(signals) = &mut found.signals {
        signals.saved = Some((file, overrides.version));
    }
    Ok(true)
}

/// The drafts, for people.
pub(super) fn text(made: &SignalDrafts) -> String {
    if made.drafts.is_empty() {
        return String::new();
    }
    let mut text = "\nDraft of signal overrides for the offline judge:\n".to_owned();
    for draft in &made.drafts {
        text += &format!("  {}: {}\n    {}.\n", draft.dimension, draft.change(), draft.checked());
        let effects = draft.effects.iter().filter(|(_, [before, after])| before != after);
        let effects: Vec<String> = effects
            .map(|(signal, [before, after])| format!("{} {before} to {after}", signal.name()))
            .collect();
        if !effects.is_empty() {
            text += &format!("    Effects: {}.\n", effects.join(", "));
        }
    }
    text += &match &made.saved {
        Some((file, version)) => format!(
            "  Version {version} saved to {}; scores use it from now on. Run `ratchet score --rescore` for earlier sessions.\n",
            file.display()
        ),
        None => "  Nothing is changed yet; --apply scores with them from now on.\n".to_owned(),
    };
    text
}

/// The drafts, for programs.
pub(super) fn view(made: &SignalDrafts) -> Value {
    let draft = |draft: &OverrideDraft| {
        let effect = |(signal, [before, after]): &(Signal, [f64; 2])| {
            (signal.name(), json!({ "before": before, "after": after }))
        };
        json!({
            "dimension": draft.dimension,
            "base": { "before": draft.base[0], "after": draft.base[1] },
            "factor": draft.factor,
            "effects": draft.effects.iter().map(effect).collect::<Map<_, _>>(),
            "labels": draft.labels,
            "tasks": draft.tasks,
            "error": { "before": draft.error[0], "after": draft.error[1] },
            "gain": statistic(Ok(draft.gain)),
            "checked": draft.checked(),
        })
    };
    json!({
        "drafts": made.drafts.iter().map(draft).collect::<Vec<_>>(),
        "saved": made.saved.as_ref().map(|(file, _)| file.display().to_string()),
        "version": made.saved.as_ref().map(|(_, version)| version),
    })
}
