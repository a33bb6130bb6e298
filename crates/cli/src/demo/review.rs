//! The people who label the demo's sessions, and a scripted judge that drifts.

use std::collections::BTreeMap;

use ratchet_core::id::SessionId;
use ratchet_core::judge::rubric::{OVERALL, Rubric};
use ratchet_core::quality::calibration::panel::{PanelKey, PanelVerdict, SIZE};
use ratchet_core::quality::label::{Label, LabelOrigin, Mark};
use ratchet_core::time::Timestamp;
use serde::Serialize;

use super::ledger::{Ledger, PlantedSession};
use super::remarks::{Occasion, remark};
use super::seeded_random::Chance;
use super::story::Course;
use super::timeline::MINUTE;

/// Sessions of the first week that people are asked to label.
pub(crate) const SAMPLE: usize = 36;
/// Every so many sessions a second person labels, too.
const SECOND_OPINION: usize = 4;
const REVIEWERS: [&str; 2] = ["ada.marsh", "noor.weber"];

/// How the scripted judge drifts.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct PlantedDrift {
    /// The name says what it is: no model, but a script of the demo.
    pub(crate) judge: &'static str,
    pub(crate) dimension: &'static str,
    /// What it adds to each of its earlier marks.
    pub(crate) change: f64,
}

pub(crate) const PLANTED_DRIFT: PlantedDrift =
    PlantedDrift { judge: "demo-scripted-judge", dimension: "task_completion", change: 0.35 };

/// When the scripted judge judges its panel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sitting {
    First,
    /// After it became kinder.
    Second,
}

/// Labels a sample as people who know how each session went.
pub(crate) fn labels(
    ledger: &Ledger,
    rubric: &Rubric,
    drawn: &[(SessionId, LabelOrigin)],
    now: Timestamp,
) -> Vec<Label> {
    let mut labels = Vec::new();
    for (nth, (session, origin)) in drawn.iter().enumerate() {
        let Some(planted) = ledger.sessions.get(&session.to_string()) else { continue };
        let people = if nth % SECOND_OPINION == 0 { &REVIEWERS[..] } else { &REVIEWERS[..1] };
        for by in people {
            let chance = Chance::new(ledger.seed).fork(&format!("{by} {session}"));
            let minutes = i64::try_from(nth).unwrap_or(0);
            labels.push(Label {
                session: session.clone(),
                by: (*by).to_owned(),
                at: now.plus_nanos(2 * minutes * MINUTE),
                why: why(planted, &format!("{by} {session}")),
                rubric: rubric.name.clone(),
                marks: marks(planted, chance),
                drawn: Some(origin.clone()),
                // Filled in when the label is kept.
                judged: None,
            });
        }
    }
    labels
}

fn why(planted: &PlantedSession, about: &str) -> Option<String> {
    let turns = planted.traces.to_string();
    let failing = planted.tool_errors.iter().max_by_key(|(_, count)| **count);
    match planted.course {
        Course::Good => None,
        Course::Rocky => {
            Some(remark(Occasion::Corrected, about, &[("turns", &turns), ("agent", planted.agent)]))
        }
        Course::Failing => failing.map(|(tool, count)| {
            let count = count.to_string();
            let slots = [("tool", *tool), ("count", count.as_str()), ("agent", planted.agent)];
            remark(Occasion::Unfinished, about, &slots)
        }),
    }
}

/// What a person says of a session, from how it was planted.
fn marks(planted: &PlantedSession, mut chance: Chance) -> BTreeMap<String, Mark> {
    let mut near = |value: f64| {
        let mark = value + (chance.unit() - 0.5) * 0.2;
        Mark::Number((mark.clamp(0.0, 1.0) * 20.0).round() / 20.0)
    };
    let [completion, satisfaction] = match planted.course {
        Course::Good => ["complete", "satisfied"],
        Course::Rocky => ["partial", "neutral"],
        Course::Failing => ["failed", "dissatisfied"],
    };
    let quality = planted.course.quality();
    let tools = if planted.course == Course::Failing { 0.2 } else { 0.9 };
    let effort = if planted.agent == super::agents::ANALYST.name { 0.35 } else { 0.8 };
    let grade = |label: &str| Mark::Grade(label.to_owned());
    [
        ("task_completion", grade(completion)),
        ("execution_quality", near(quality)),
        ("tool_mastery", near(tools)),
        ("resource_efficiency", near(effort)),
        ("user_satisfaction", grade(satisfaction)),
    ]
    .into_iter()
    .map(|(name, mark)| (name.to_owned(), mark))
    .collect()
}

/// Returns the scripted judge's verdicts on the first labelled sessions. Its second sitting adds
/// the planted change to one dimension.
pub(crate) fn scripted_verdicts(
    ledger: &Ledger,
    rubric: &Rubric,
    labelled: &[SessionId],
    (sitting, week): (Sitting, &str),
) -> Vec<PanelVerdict> {
    let who = PanelKey::new(PLANTED_DRIFT.judge, rubric);
    let verdict = |session: &SessionId| {
        let planted = ledger.sessions.get(&session.to_string())?;
        let mut chance = Chance::new(ledger.seed).fork(&format!("panel {session}"));
        // Room above, so that a kinder mark stays on the scale.
        let mut near = || 0.55 * planted.course.quality() + 0.1 * chance.unit();
        let (overall, completion) = (near(), near());
        let added = if sitting == Sitting::Second { PLANTED_DRIFT.change } else { 0.0 };
        let marks = BTreeMap::from([
            (OVERALL.to_owned(), overall),
            (PLANTED_DRIFT.dimension.to_owned(), completion + added),
        ]);
        let (session, who, week) = (session.clone(), who.clone(), week.to_owned());
        let version = Some("scripted-1".to_owned());
        Some(PanelVerdict { session, who, version, week, marks })
    };
    labelled.iter().take(SIZE).filter_map(verdict).collect()
}
