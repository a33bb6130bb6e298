use std::collections::BTreeMap;

use crate::record::score::{Score, ScoreSource, ScoreValue};

/// Score names with a meaning of their own.
const THUMBS: &str = "thumbs_feedback";
const QUALITY: &str = "quality";
const CORRECTNESS: &str = "correctness";
/// Parts of names of scores that users give.
const FEEDBACK: &[&str] = &["feedback", "thumb", "satisf", "csat", "rating", "user_score", "like"];
/// Parts of names of scores that say whether an answer is right.
const VERDICT: &[&str] = &["correct", "accura", "quality", "helpful", "resolved", "success"];
/// Labels of categories that mean a failure.
const BAD: &[&str] = &[
    "incorrect",
    "wrong",
    "bad",
    "fail",
    "failed",
    "failure",
    "down",
    "thumbs_down",
    "negative",
    "unhelpful",
    "not_helpful",
    "no",
    "false",
    "poor",
    "dissatisfied",
    "partially_correct",
];
/// Labels of categories that mean a success.
const GOOD: &[&str] = &[
    "correct",
    "right",
    "good",
    "pass",
    "passed",
    "up",
    "thumbs_up",
    "positive",
    "helpful",
    "yes",
    "true",
    "satisfied",
    "excellent",
];

/// What people and judges said of a trace.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Signals {
    /// A person's verdict.
    pub correct: Option<bool>,
    /// The user's feedback.
    pub thumb: Option<bool>,
    /// The judge's score.
    pub quality: Option<f64>,
    /// Comments of people.
    pub comments: Vec<String>,
    /// The answer that a person would have given.
    pub correction: Option<String>,
}

impl Signals {
    /// Returns whether a person explained or confirmed the failure.
    pub fn is_reviewed(&self) -> bool {
        self.correct.is_some() || self.correction.is_some() || !self.comments.is_empty()
    }
}

/// The scales of scores by name: clients rate from 0 to 1, from 1 to 5 or from -1 to 1.
#[derive(Clone, Debug, Default)]
pub struct Scales(BTreeMap<String, (f64, f64)>);

impl Scales {
    /// Learns scales from scores.
    pub fn of<'a>(scores: impl Iterator<Item = &'a Score>) -> Self {
        let mut scales = BTreeMap::new();
        for score in scores {
            let Some(number) = score.value.number().filter(|number| number.is_finite()) else {
                continue;
            };
            let (low, high) = scales.entry(score.name.clone()).or_insert((0.0_f64, 1.0_f64));
            *low = low.min(number);
            *high = high.max(number);
        }
        Self(scales)
    }

    /// The share of the scale; ratings above 1 start at 1.
    fn share(&self, name: &str, number: f64) -> f64 {
        let (low, high) = self.0.get(name).copied().unwrap_or((0.0, 1.0));
        let high = [1.0, 5.0, 10.0, 100.0].into_iter().find(|top| high <= *top).unwrap_or(high);
        let low = if (5.0..=10.0).contains(&high) && low >= 0.0 { 1.0 } else { low };
        (number - low) / (high - low)
    }
}

/// Returns the signals of a trace from its scores, oldest first: later ones replace earlier ones.
pub fn signals<'a>(scores: impl Iterator<Item = &'a Score>, scales: &Scales) -> Signals {
    let mut signals = Signals::default();
    for score in scores {
        let is_judge = score.source == ScoreSource::Eval;
        if let ScoreValue::Correction(text) = &score.value {
            signals.correction = Some(text.clone());
        }
        if let Some(comment) =
            score.comment.as_ref().filter(|text| !is_judge && !text.trim().is_empty())
        {
            signals.comments.push(comment.clone());
        }
        let Some(share) = share(score, scales) else { continue };
        let name = score.name.to_lowercase();
        let holds = |parts: &[&str]| parts.iter().any(|part| name.contains(part));
        if is_judge || (name == QUALITY && score.source == ScoreSource::Api) {
            if name == QUALITY || (signals.quality.is_none() && holds(VERDICT)) {
                signals.quality = Some(share);
            }
        } else if name == THUMBS || holds(FEEDBACK) {
            signals.thumb = Some(share >= 0.5);
        } else if name == CORRECTNESS || score.source == ScoreSource::Annotation || holds(VERDICT) {
            // One failed verdict is a failure, whatever the other dimensions say.
            let earlier = signals.correct.filter(|_| name != CORRECTNESS);
            signals.correct = Some(share >= 0.5 && earlier.unwrap_or(true));
        }
    }
    signals
}

/// The value as a share of its scale, or what its label means.
fn share(score: &Score, scales: &Scales) -> Option<f64> {
    if let ScoreValue::Categorical { label, .. } = &score.value {
        let label = label.to_lowercase().replace([' ', '-'], "_");
        if BAD.contains(&label.as_str()) {
            return Some(0.0);
        }
        return GOOD.contains(&label.as_str()).then_some(1.0);
    }
    let number = score.value.number().filter(|number| number.is_finite())?;
    Some(scales.share(&score.name, number))
}
