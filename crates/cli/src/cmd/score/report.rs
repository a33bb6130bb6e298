/// Tables of scored sessions.
mod table;

use std::collections::{BTreeMap, BTreeSet};

use ratchet_core::counted::{counted, noun_of};
use ratchet_core::id::SessionId;
use ratchet_core::judge::rubric::{OVERALL, Rubric};
use ratchet_core::quality::synthesis::JudgeVersion;
use ratchet_stages::score::previous_scores::{PreviousScores, generation, value};
use ratchet_stages::score::{Report, Request, Scored};
use ratchet_store::catalog::RunOutcome;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use crate::exit::Outcome;
pub(super) use table::{MAX_ROWS, short, wide};
use table::{bar, mark, shown};

#[derive(Debug, Serialize)]
pub(super) struct ScoringView {
    pub(super) sessions: Vec<SessionView>,
    pub(super) skipped: Vec<UnscoredSession>,
    pub(super) failed: Vec<UnscoredSession>,
    pub(super) counts: Counts,
    pub(super) rubric: String,
    /// The judge of the run; of the scores that are shown, where the run gave none.
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
    /// First requests of the sessions that a table shows.
    #[serde(skip)]
    pub(super) titles: BTreeMap<SessionId, String>,
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
    /// Who gave these scores.
    judge: String,
    rubric_version: Option<u64>,
    judge_version: Option<String>,
    /// How many labels P(success) of the offline judge is fitted to.
    labels: Option<u64>,
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
                .map(|scored| SessionView::new(scored, request))
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
            titles: BTreeMap::new(),
        }
    }

    /// The sessions, worst first.
    fn worst_first(&self) -> Vec<&SessionView> {
        let mut sessions: Vec<&SessionView> = self.sessions.iter().collect();
        let mark = |session: &SessionView| session.overall_quality.unwrap_or(f64::INFINITY);
        sessions.sort_by(|one, other| mark(one).total_cmp(&mark(other)));
        sessions
    }

    /// The sessions of the short table.
    pub(super) fn listed(&self) -> Vec<SessionId> {
        let ids = self.worst_first().into_iter().take(MAX_ROWS);
        ids.filter_map(|session| SessionId::parse(&session.session_id).ok()).collect()
    }

    /// Shows a session that was scored before as if it had been scored now.
    pub(super) fn show_known(&mut self, session: &SessionId, known: &PreviousScores) {
        let id = session.to_string();
        let is_there = self.sessions.iter().any(|view| view.session_id == id);
        if !is_there && known.generation().is_some() {
            let view = SessionView::known(id, known, &self.dimensions);
            if self.sessions.is_empty() && !view.judge.is_empty() {
                self.judge.clone_from(&view.judge);
                self.labels = view.labels;
            }
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
    fn new(scored: &Scored, request: &Request) -> Self {
        let rubric: &Rubric = &request.rubric;
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
            judge: request.judge.name().to_owned(),
            rubric_version: Some(u64::from(rubric.version)),
            judge_version: Some(scored.judged.version.clone()),
            labels: scored.judged.success.as_ref().map(|success| success.labels),
        }
    }

    /// Who gave these scores.
    fn by(&self) -> JudgeVersion {
        let (judge, version) = (self.judge.clone(), self.judge_version.clone());
        JudgeVersion { judge, rubric_version: self.rubric_version, fingerprint: None, version }
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
        let by = newest.first().map(|score| JudgeVersion::of(score)).unwrap_or_default();
        Self {
            judge: by.judge,
            rubric_version: by.rubric_version,
            judge_version: by.version,
            labels: newest.iter().find_map(|score| read(score, "labels").as_u64()),
            session_id,
            overall_quality: overall.and_then(|score| score.value.number()),
            dimensions: Dimensions(dimensions.collect()),
            traces: overall.and_then(|score| read(score, "traces").as_u64()),
            generation: newest.first().and_then(|score| generation(score)).unwrap_or(1),
        }
    }
}

/// All scores of each session, with rationales.
pub(super) fn detail(view: &ScoringView) -> String {
    let mut text = String::new();
    for session in &view.sessions {
        text += &format!("{}  {}\n", session.session_id, mark(session.overall_quality, 10));
        let by = session.by().exact_words();
        text += &format!("  by {by}, rubric {}\n", view.rubric);
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
                format!(" ({} {})", noun_of(numbers.len(), "trace"), numbers.join(", "))
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
    let mut text = format!(
        "scored {scored} of {}, skipped {skipped}, failed {failed}",
        counted(all, "session")
    );
    if calls > 0 {
        let (mark, note) = match view.approximate_cost {
            0.0 => ("", String::new()),
            part => ("≈", format!(" (${part:.4} of it approximate: no usage reported)")),
        };
        let calls = counted(calls, "call");
        text += &format!("; {calls} of {} for {mark}${:.4}{note}", view.judge, view.cost);
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
    text += &judges(view);
    for left_out in &view.failed {
        text += &format!("  {} failed: {}\n", shown(&left_out.session_id), left_out.reason);
    }
    text + next_step(view)
}

/// Who judged, and whether the levels of the offline judge mean something.
fn judges(view: &ScoringView) -> String {
    let of = |session: &SessionView| (session.by(), session.labels);
    let judges: BTreeSet<(JudgeVersion, Option<u64>)> = view.sessions.iter().map(of).collect();
    let line = |(judge, labels): &(JudgeVersion, Option<u64>)| {
        let level = match labels {
            Some(labels) => {
                format!("calibrated: P(success) is fitted to {labels} labels of this project")
            }
            None if judge.is_offline() => "uncalibrated: the offline judge ranks sessions; only \
                                           labels tell what a mark means"
                .to_owned(),
            None => return format!("  by {}, rubric {}\n", judge.words(), view.rubric),
        };
        format!("  by {}, rubric {}\n  {level}\n", judge.words(), view.rubric)
    };
    judges.iter().map(line).collect()
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
}
