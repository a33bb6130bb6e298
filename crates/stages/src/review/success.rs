use std::collections::BTreeMap;

use ratchet_core::id::SessionId;
use ratchet_core::judge::offline::SignalSet;
use ratchet_core::judge::offline::success::fit::MIN_LABELS;
use ratchet_core::judge::offline::success::{
    LabelledFeatures, NotFitted, OUTCOME, SuccessFit, fit as fit_features, is_success,
};
use ratchet_core::judge::rubric::Rubric;

use super::{LabelComparison, ReviewError};
use crate::score::success;
use crate::source::Source;

impl LabelComparison {
    /// Returns whether people called the work of each labelled session a success: by the mean of
    /// their labels. Sessions without a clear label are left out.
    pub fn successes(&self, rubric: &Rubric) -> BTreeMap<&SessionId, bool> {
        let mut marks: BTreeMap<&SessionId, Vec<f64>> = BTreeMap::new();
        for label in &self.labels {
            let mark = label.marks(rubric).get(OUTCOME).copied();
            marks.entry(&label.session).or_default().extend(mark);
        }
        let labelled = marks.into_iter().filter(|(_, marks)| !marks.is_empty());
        #[expect(clippy::cast_precision_loss, reason = "a handful of labels")]
        let mean = |marks: &[f64]| marks.iter().sum::<f64>() / marks.len() as f64;
        labelled.map(|(session, marks)| (session, is_success(mean(&marks)))).collect()
    }
}

/// Fits P(success) to the labels of a project, if there are enough. Sessions are read only then.
///
/// # Errors
/// Fails if sessions cannot be read.
pub async fn fit(
    source: &Source,
    held: &LabelComparison,
    (signals, rubric): (&SignalSet, &Rubric),
) -> Result<Result<SuccessFit, NotFitted>, ReviewError> {
    let labelled = held.successes(rubric);
    if labelled.len() < MIN_LABELS {
        return Ok(Err(NotFitted::TooFew { have: labelled.len() }));
    }
    let sessions: Vec<SessionId> = labelled.keys().map(|session| (*session).clone()).collect();
    let found = success::of_sessions(source, (signals, rubric), &sessions).await?;
    let labelled: Vec<LabelledFeatures> = found
        .into_iter()
        .filter_map(|(session, features)| {
            Some(LabelledFeatures { features, is_success: *labelled.get(&session)? })
        })
        .collect();
    Ok(fit_features(signals, &rubric.name, &labelled))
}
