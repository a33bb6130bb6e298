use std::collections::BTreeMap;

use ratchet_core::id::SessionId;
use ratchet_core::judge::offline;
use ratchet_core::judge::rubric::{OVERALL, Rubric};
use ratchet_stages::score::previous_scores::{PreviousScores, generation, value};
use ratchet_stages::score::{Report, Request, Scored};
use ratchet_store::catalog::RunOutcome;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use crate::exit::Outcome;

#[derive(Debug, Serialize)]
pub(super) struct ScoringView {
    pub(super) sessions: Vec<SessionView>,
    pub(super) skipped: Vec<UnscoredSession>,
    pub(super) failed: Vec<UnscoredSession>,
    pub(super) counts: Counts,
    pub(super) rubric: String,
    pub(super) judge: String,
    pub(super) run: String,
    pub(super) outcome: &'static str,
    /// Whether it stopped because the next call could have exceeded the budget.
    pub(super) is_over_budget: bool,
    /// Dollars.
    pub(super) cost: f64,
    /// The part of it that is approximate, because the provider did not report usage.
    pub(super) approximate_cost: f64,
    /// How many labels P(success) of the offline judge is fitted to.
    pub(super) labels: Option<u64>,
    #[serde(skip)]
    dimensions: Vec<String>,
}

#[derive(Debug, Serialize)]
pub(super) struct Counts {
    scored: usize,
    skipped: usize,
    failed: usize,
    calls: u64,
    repeated: u64,
}

/// A session that is scored.
#[derive(Debug, Serialize)]
pub(super) struct SessionView {
    session_id: String,
    overall_quality: Option<f64>,
    dimensions: Dimensions,
    traces: Option<u64>,
    generation: u32,
}

/// Scores of dimensions, in the order of the rubric.
#[derive(Debug)]
struct Dimensions(Vec<(String, Value)>);

impl Dimensions {
    /// The mark of a dimension; `None` where there is none.
    fn value(&self, name: &str) -> Option<f64> {
        self.0.iter().find(|(its, _)| its == name).and_then(|(_, about)| about["value"].as_f64())
    }
}

impl Serialize for Dimensions {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, about)| (name, about)))
    }
}

/// A session that is not.
#[derive(Debug, Serialize)]
pub(super) struct UnscoredSession {
    session_id: String,
    reason: String,
}

impl ScoringView {
    pub(super) fn new(request: &Request, report: &Report) -> Self {
        let left_out = |session: &SessionId, reason: String| UnscoredSession {
            session_id: session.to_string(),
            reason,
        };
        let skipped = report.skipped.iter().map(|(id, why)| left_out(id, why.to_string()));
        let failed = report.failed.iter().map(|(id, why)| left_out(id, why.clone()));
        Self {
            sessions: report
                .sessions
                .iter()
                .map(|scored| SessionView::new(scored, &request.rubric))
                .collect(),
            skipped: skipped.collect(),
            failed: failed.collect(),
            counts: Counts {
                scored: report.sessions.len(),
                skipped: report.skipped.len(),
                failed: report.failed.len(),
                calls: report.tally.calls,
                repeated: report.tally.repeated,
            },
            rubric: request.rubric.name.clone(),
            judge: request.judge.name().to_owned(),
            run: request.run.clone(),
            outcome: report.outcome.as_str(),
            is_over_budget: report.is_over_budget,
            cost: report.tally.cost.dollars(),
            approximate_cost: report.tally.approximate_cost.dollars(),
            labels: report
                .sessions
                .iter()
                .find_map(|scored| Some(scored.judged.success.as_ref()?.labels)),
            dimensions: request.rubric.dimensions.iter().map(|one| one.name.clone()).collect(),
        }
    }

    /// Shows a session that was scored before as if it had been scored now.
    pub(super) fn show_known(&mut self, session: &SessionId, known: &PreviousScores) {
        let id = session.to_string();
        let is_there = self.sessions.iter().any(|view| view.session_id == id);
        if !is_there && known.generation().is_some() {
            let view = SessionView::known(id, known, &self.dimensions);
            self.sessions.push(view);
        }
    }

    /// A run that stopped at its budget says so first; sessions that could not be scored are
    /// something bad.
    pub(super) fn outcome(&self) -> Outcome {
        match (self.is_over_budget, self.failed.is_empty()) {
            (true, _) => Outcome::OverBudget,
            (false, true) => Outcome::Done,
            (false, false) => Outcome::FoundBad,
        }
    }
}

impl SessionView {
    fn new(scored: &Scored, rubric: &Rubric) -> Self {
        let session_id = scored.session.to_string();
        let said = scored.judged.whole.to_json(&session_id, rubric);
        let dimensions = rubric.dimensions.iter().map(|dimension| {
            let name = dimension.name.clone();
            let about = said["dimensions"][name.as_str()].clone();
            (name, about)
        });
        Self {
            dimensions: Dimensions(dimensions.collect()),
            session_id,
            overall_quality: scored.overall,
            traces: Some(scored.traces),
            generation: scored.generation,
        }
    }

    /// A session from its stored scores.
    fn known(session_id: String, known: &PreviousScores, order: &[String]) -> Self {
        let newest: Vec<_> = known.newest().collect();
        let read = |score, key: &str| -> Value {
            value(score, key)
                .and_then(|json| serde_json::from_str(json.as_str()).ok())
                .unwrap_or_default()
        };
        let found = |name: &str| newest.iter().find(|score| score.name == name).copied();
        let dimensions = order.iter().map(|name| {
            let about = match found(name) {
                Some(score) => json!({
                    "score": score.value.text().map_or_else(|| json!(score.value.number()), |label| json!(label)),
                    "value": score.value.number(),
                    "rationale": score.comment,
                    "evidence": read(score, "evidence"),
                    "confidence": read(score, "confidence"),
                }),
                None => json!({"score": null, "value": null, "reason": "no score is stored"}),
            };
            (name.clone(), about)
        });
        let overall = found(OVERALL);
        Self {
            session_id,
            overall_quality: overall.and_then(|score| score.value.number()),
            dimensions: Dimensions(dimensions.collect()),
            traces: overall.and_then(|score| read(score, "traces").as_u64()),
            generation: newest.first().and_then(|score| generation(score)).unwrap_or(1),
        }
    }
}

/// A bar of a few characters for a mark from 0 to 1.
fn bar(value: f64, width: u32) -> String {
    const PARTS: [char; 9] = [' ', '▏', '▎', '▍', '▌', '▋', '▊', '▉', '█'];
    let eighths = (value.clamp(0.0, 1.0) * f64::from(width) * 8.0).round();
    (0..width)
        .map(|target| {
            let left = (eighths - f64::from(target) * 8.0).clamp(0.0, 8.0);
            let filled = PARTS.iter().zip(0_u32..).find(|(_, eighth)| f64::from(*eighth) >= left);
            filled.map_or('█', |(part, _)| *part)
        })
        .collect()
}

/// One line a session, with a bar for each dimension.
pub(super) fn table(view: &ScoringView) -> String {
    let mut text = String::new();
    if !view.sessions.is_empty() {
        text += &rows(view);
        text += "\n";
    }
    text + &summary(view)
}

fn rows(view: &ScoringView) -> String {
    let ids = view.sessions.iter().map(|session| shown(&session.session_id).chars().count());
    let id_width = ids.max().unwrap_or(0).max("SESSION".len());
    let widths: Vec<usize> = view.dimensions.iter().map(|name| name.len().max(10)).collect();
    let mut text = format!("{:id_width$}  {:>6}  {:15}", "SESSION", "TRACES", "OVERALL");
    for (name, width) in view.dimensions.iter().zip(&widths) {
        text += &format!("  {name:width$}");
    }
    text = text.trim_end().to_owned() + "\n";
    for session in &view.sessions {
        let traces = session.traces.map_or_else(|| "?".to_owned(), |traces| traces.to_string());
        let mut line = format!(
            "{:id_width$}  {traces:>6}  {}",
            shown(&session.session_id),
            mark(session.overall_quality, 10)
        );
        for (name, width) in view.dimensions.iter().zip(&widths) {
            line += &format!("  {:width$}", mark(session.dimensions.value(name), 5));
        }
        text += line.trim_end();
        text += "\n";
    }
    text
}

fn mark(value: Option<f64>, width: u32) -> String {
    match value {
        Some(value) => format!("{} {value:.2}", bar(value, width)),
        None => "–".to_owned(),
    }
}

/// A session's id, cut to what a line has room for.
fn shown(id: &str) -> String {
    const ROOM: usize = 36;
    if id.chars().count() <= ROOM {
        return id.to_owned();
    }
    id.chars().take(ROOM - 1).chain(['…']).collect()
}

/// All scores of each session, with rationales.
pub(super) fn detail(view: &ScoringView) -> String {
    let mut text = String::new();
    for session in &view.sessions {
        text += &format!("{}  {}\n", session.session_id, mark(session.overall_quality, 10));
        for (name, about) in &session.dimensions.0 {
            let score = match &about["score"] {
                Value::String(label) => label.clone(),
                Value::Null => "not observable".to_owned(),
                number => number.as_f64().map_or_else(String::new, |number| format!("{number:.2}")),
            };
            let bar =
                about["value"].as_f64().map_or_else(|| " ".repeat(10), |value| bar(value, 10));
            let why = about["rationale"].as_str().or(about["reason"].as_str()).unwrap_or_default();
            let evidence = about["evidence"].as_array().filter(|numbers| !numbers.is_empty());
            let evidence = evidence.map_or_else(String::new, |numbers| {
                let numbers: Vec<String> = numbers.iter().map(ToString::to_string).collect();
                format!(" (traces {})", numbers.join(", "))
            });
            text += &format!("  {name:20}  {bar}  {score}\n      {why}{evidence}\n");
        }
        text += "\n";
    }
    text + &summary(view)
}

fn summary(view: &ScoringView) -> String {
    let Counts { scored, skipped, failed, calls, repeated } = view.counts;
    let all = scored + skipped + failed;
    let mut text = format!("scored {scored} of {all} sessions, skipped {skipped}, failed {failed}");
    if calls > 0 {
        let (mark, note) = match view.approximate_cost {
            0.0 => ("", String::new()),
            part => ("≈", format!(" (${part:.4} of it approximate: no usage reported)")),
        };
        text += &format!("; {calls} calls of {} for {mark}${:.4}{note}", view.judge, view.cost);
    }
    if repeated > 0 {
        text += &format!(", {repeated} of them started by an interrupted run");
    }
    text += "\n";
    let mut reasons: BTreeMap<String, u64> = BTreeMap::new();
    for left_out in &view.skipped {
        *reasons.entry(gist(&left_out.reason)).or_default() += 1;
    }
    for (reason, count) in reasons {
        text += &format!("  {count} skipped: {reason}\n");
    }
    if let Some(labels) = view.labels {
        text += &format!("  calibrated: P(success) is fitted to {labels} labels of this project\n");
    } else if view.judge == offline::NAME && !view.sessions.is_empty() {
        text += "  uncalibrated: the offline judge ranks sessions; only labels tell what a mark means\n";
    }
    for left_out in &view.failed {
        text += &format!("  {} failed: {}\n", shown(&left_out.session_id), left_out.reason);
    }
    text + next_step(view)
}

/// A reason without what differs from session to session: what stands between a colon or a comma and
/// a semicolon.
fn gist(reason: &str) -> String {
    let head = reason.split([':', ',', ';']).next().unwrap_or(reason);
    match reason.split_once("; ") {
        Some((_, rule)) => format!("{head}; {rule}"),
        None => head.to_owned(),
    }
}

fn next_step(view: &ScoringView) -> &'static str {
    let is_stopped = view.outcome == RunOutcome::Stopped.as_str();
    if view.is_over_budget {
        return "next: the budget is used up; run the same command to continue\n";
    }
    if is_stopped {
        return "next: run the same command to continue\n";
    }
    match (view.counts.scored, view.sessions.len()) {
        (0, 0) => "next: `ratchet score session ID` scores any session, of any length\n",
        (0, _) => "next: --rescore scores it again\n",
        _ => {
            "next: `ratchet score session ID` shows the rationale, `ratchet week` the weekly report\n"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_keep_the_rule_and_not_the_session() {
        let long =
            "too short: 2 traces and 9 observations; at least 3 traces or 10 observations needed";
        assert_eq!(gist(long), "too short; at least 3 traces or 10 observations needed");
        assert_eq!(gist("already scored, with 2 new traces since"), "already scored");
        assert_eq!(gist("not in the sample"), "not in the sample");
    }

    #[test]
    fn bars_are_as_long_as_marks_are_high() {
        assert_eq!(bar(0.0, 4), "    ");
        assert_eq!(bar(1.0, 4), "████");
        assert_eq!(bar(0.5, 4), "██  ");
        assert_eq!(bar(0.3, 4), "█▎  ");
    }
}
