use axum::http::HeaderMap;
use ratchet_core::record::score::{Score, ScoreTarget, ScoreValue};
use ratchet_store::query::{Condition, ScoreColumn, Test};

use crate::langfuse::client::is_python_2;

/// Whether a score can be returned: corrections cannot, nor scores on sessions and dataset runs,
/// nor texts to an SDK that does not know them.
pub(in crate::langfuse) fn fits(score: &Score, headers: &HeaderMap) -> bool {
    let is_on_trace = match score.target {
        ScoreTarget::Trace(_) | ScoreTarget::Observation(..) => true,
        ScoreTarget::Session(_) | ScoreTarget::DatasetRun(_) => false,
    };
    let is_sayable = match score.value {
        ScoreValue::Numeric(_) | ScoreValue::Boolean(_) | ScoreValue::Categorical { .. } => true,
        ScoreValue::Text(_) => !is_python_2(headers),
        ScoreValue::Correction(_) => false,
    };
    is_on_trace && is_sayable
}

/// The same as conditions for a list.
pub(super) fn conditions(headers: &HeaderMap) -> [Condition<ScoreColumn>; 2] {
    let unsayable: &[&str] =
        if is_python_2(headers) { &["CORRECTION", "TEXT"] } else { &["CORRECTION"] };
    let unsayable = unsayable.iter().map(|word| (*word).to_owned()).collect();
    [
        Condition { column: ScoreColumn::Trace, test: Test::IsNotNull },
        Condition { column: ScoreColumn::DataType, test: Test::NoneOf(unsayable) },
    ]
}
