use std::collections::BTreeMap;
use std::path::Path;

use ratchet_core::id::SessionId;
use ratchet_core::judge::offline::overrides::draft::{self, LabelledMarks, OverrideDraft};
use ratchet_core::judge::offline::success::fit::MIN_LABELS;
use ratchet_core::judge::offline::{SignalOverrides, SignalSet};
use ratchet_core::judge::rubric::Rubric;
use ratchet_core::quality::calibration::Marks;
use ratchet_store::project::ProjectId;

use super::{LabelComparison, ReviewError};
use crate::score::judge_factory::own_signals;
use crate::score::{signal_overrides as files, success};
use crate::source::Source;
use crate::user_files::UserFileError;

impl LabelComparison {
    /// The mean of the labels of each session, by dimension.
    fn mean_labels(&self, rubric: &Rubric) -> BTreeMap<SessionId, Marks> {
        let mut sums: BTreeMap<SessionId, BTreeMap<String, (f64, f64)>> = BTreeMap::new();
        for label in &self.labels {
            let session = sums.entry(label.session.clone()).or_default();
            for (name, mark) in label.marks(rubric) {
                let (sum, n) = session.entry(name).or_default();
                (*sum, *n) = (*sum + mark, *n + 1.0);
            }
        }
        let mean = |(name, (sum, n)): (String, (f64, f64))| (name, sum / n);
        sums.into_iter().map(|(id, marks)| (id, marks.into_iter().map(mean).collect())).collect()
    }
}

/// Drafts overrides of the offline judge's signals from the labels of a project. Sessions are read
/// only if there are enough labels.
///
/// # Errors
/// Fails if sessions cannot be read.
pub async fn drafts(
    source: &Source,
    held: &LabelComparison,
    (signals, rubric): (&SignalSet, &Rubric),
) -> Result<Vec<OverrideDraft>, ReviewError> {
    let people = held.mean_labels(rubric);
    if people.len() < MIN_LABELS {
        return Ok(Vec::new());
    }
    let sessions: Vec<SessionId> = people.keys().cloned().collect();
    let found = success::of_sessions(source, (signals, rubric), &sessions).await?;
    let labelled: Vec<LabelledMarks> = found
        .into_iter()
        .filter_map(|(session, features)| {
            Some(LabelledMarks { features, people: people.get(&session)?.clone() })
        })
        .collect();
    Ok(draft::drafts(signals, rubric, &labelled))
}

/// Returns what the overrides of a project become when drafts are accepted. Overrides of other
/// signals are not in use, and are replaced. `models` is the folder that has the overrides.
///
/// # Errors
/// Fails if a file of the user cannot be read or is invalid.
pub fn accepted(
    (data, models): (Option<&Path>, &Path),
    project: &ProjectId,
    (signals, rubric): (&SignalSet, &Rubric),
    drafts: &[OverrideDraft],
) -> Result<SignalOverrides, UserFileError> {
    let earlier = files::read(models, project)?.map(|(earlier, _)| earlier);
    let own = own_signals(data)?.unwrap_or_default();
    let earlier = earlier.filter(|earlier| earlier.fits(own.signals()));
    Ok(SignalOverrides::new(signals, &rubric.name, drafts, earlier.as_ref()))
}
