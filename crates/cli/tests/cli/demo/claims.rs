//! Takes a report apart: each part is checked against what was planted, and a part that no check
//! takes fails the test.

/// Agents, environments, releases and prompts.
mod agents;

use std::collections::BTreeMap;

use ratchet_core::quality::report::{TextDetail, WeekReport};
use ratchet_core::record::score::{Score, ScoreTarget};
use serde_json::{Map, Value, json};

use super::Left;
use super::planted::{Course, Ledger, Planted};

/// Marks by dimension and session.
type Marks = BTreeMap<String, BTreeMap<String, f64>>;

/// An object of a report, whose parts are taken one by one.
struct Part {
    name: String,
    fields: Map<String, Value>,
}

impl Part {
    fn of(name: &str, value: Value) -> Self {
        let Value::Object(fields) = value else { panic!("{name} is no object: {value}") };
        Self { name: name.to_owned(), fields }
    }

    #[track_caller]
    fn take(&mut self, field: &str) -> Value {
        let taken = self.fields.remove(field);
        taken.unwrap_or_else(|| panic!("{}.{field} is missing", self.name))
    }

    fn list(&mut self, field: &str) -> Vec<Value> {
        serde_json::from_value(self.take(field)).unwrap()
    }

    /// Nothing may be left: what is said without a check here may be untrue.
    fn all_checked(self) {
        let left: Vec<&String> = self.fields.keys().collect();
        assert!(left.is_empty(), "{} says {left:?}, which nothing checks", self.name);
    }
}

/// What the checks of one report share.
struct Check<'a> {
    ledger: &'a Ledger,
    week: u8,
    marks: Marks,
    /// Cost in dollars by session.
    costs: &'a BTreeMap<String, f64>,
}

/// Checks every statement of a report.
pub(super) fn check(
    (delivery, markdown): &(Value, String),
    ledger: &Ledger,
    week: u8,
    left: &Left,
) {
    let check = Check { ledger, week, marks: marks(&left.scores), costs: &left.costs };
    let report: WeekReport = serde_json::from_value(delivery["report"].clone()).unwrap();
    assert_eq!(&report.to_markdown(), markdown, "the text says what the checked report holds");
    check.report(Part::of("report", delivery["report"].clone()));
    check.sentences(&report);
    if week == 2 {
        check_story(delivery, ledger);
    }
}

/// Checks that the summary of the report names what was planted.
pub(super) fn check_story(delivery: &Value, ledger: &Ledger) {
    let report: WeekReport = serde_json::from_value(delivery["report"].clone()).unwrap();
    let paragraph = report.summary();
    let (bad, first) = (&ledger.bad_release, paragraph.first().unwrap());
    assert!(first.contains(&bad.agent) && first.contains(&bad.release), "{paragraph:#?}");
    // The same everywhere that a report is read.
    assert!(report.to_message(None).text.starts_with(first.as_str()), "{paragraph:#?}");
    let terminal = report.to_text(TextDetail::Short).replace('\n', " ");
    assert!(terminal.contains(first.as_str()), "{terminal}");
    let drift = report.drift.iter().map(|alert| (alert.judge.as_str(), alert.dimension.as_str()));
    let planted = (ledger.drifted_judge.judge.as_str(), ledger.drifted_judge.dimension.as_str());
    assert_eq!(drift.collect::<Vec<_>>(), [planted]);
    let worst = &report.synthesis.poor;
    let of_bad = worst.iter().filter(|it| is_of_bad_release(ledger, &it.session)).count();
    assert!(of_bad * 2 > worst.len(), "{of_bad} of {} low outliers", worst.len());
}

fn is_of_bad_release(ledger: &Ledger, session: &str) -> bool {
    let planted = &ledger.sessions[session];
    planted.agent == ledger.bad_release.agent && planted.release == ledger.bad_release.release
}

/// The values of the grades that the rubric names.
fn value(score: &Score) -> Option<f64> {
    let grade = |label: &str| match label {
        "failed" | "violation" | "dissatisfied" => 0.0,
        "partial" => 0.4,
        "risky" | "neutral" => 0.5,
        "complete" => 0.85,
        "exceeded" | "compliant" | "satisfied" => 1.0,
        other => panic!("unknown grade {other}"),
    };
    score.value.text().map(grade).or_else(|| score.value.number())
}

fn marks(scores: &[Score]) -> Marks {
    let mut marks = Marks::new();
    for score in scores {
        let ScoreTarget::Session(session) = &score.target else { continue };
        let of_name: &mut BTreeMap<_, _> = marks.entry(score.name.clone()).or_default();
        of_name.extend(value(score).map(|value| (session.to_string(), value)));
    }
    marks
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Whether an interval holds a value, but for rounding.
fn holds([low, high]: [f64; 2], value: f64) -> bool {
    low <= value + 1e-9 && value <= high + 1e-9
}

#[track_caller]
fn same(said: &Value, is: f64) {
    assert!((said.as_f64().unwrap() - is).abs() < 1e-9, "{said} is said, {is} is true");
}

impl Check<'_> {
    fn planted(&self, session: &Value) -> &Planted {
        let session = session.as_str().unwrap();
        let planted = &self.ledger.sessions[session];
        assert_eq!(planted.week, self.week, "{session} is of another week");
        planted
    }

    /// The marks of a week's sessions.
    fn values(&self, name: &str, week: u8) -> Vec<f64> {
        let is_of_week = |session: &&String| self.ledger.sessions[*session].week == week;
        let marks = &self.marks[name];
        marks.keys().filter(is_of_week).map(|session| marks[session]).collect()
    }

    fn scored(&self) -> usize {
        self.ledger.scored(self.week).count()
    }

    fn report(&self, mut report: Part) {
        assert_eq!(report.take("week"), json!(self.ledger.weeks[usize::from(self.week) - 1]));
        let last = ["2026-11-07", "2026-11-14"][usize::from(self.week) - 1];
        assert_eq!(report.take("last_day"), json!(last));
        assert_eq!(report.take("zone"), json!("UTC"));
        assert!(report.take("project").as_str().is_some_and(|name| !name.is_empty()));
        assert_eq!(report.take("rubric"), json!("session-quality"));
        assert_eq!(report.take("advice")["by"], "templates");
        let synthesis = report.take("synthesis");
        for suggestion in report.list("suggestions") {
            self.suggestion(Part::of("suggestion", suggestion), &synthesis);
        }
        self.synthesis(Part::of("synthesis", synthesis));
        for metric in report.list("success") {
            self.metric(Part::of("success", metric));
        }
        for (session, card) in Part::of("sessions", report.take("sessions")).fields {
            self.card(&session, Part::of("session", card));
        }
        self.left_out(&report.list("left_out"));
        let drift = report.list("drift");
        assert_eq!(drift.len(), usize::from(self.week == 2));
        for alert in drift {
            self.drift(Part::of("drift", alert));
        }
        report.all_checked();
    }

    fn synthesis(&self, mut synthesis: Part) {
        assert_eq!(synthesis.take("sessions"), json!(self.scored()));
        let judge = synthesis.take("judge");
        assert_eq!((&judge["judge"], &judge["rubric_version"]), (&json!("offline"), &json!(1)));
        assert_eq!(synthesis.take("other_judges"), json!([]));
        assert_eq!(
            synthesis.take("is_uncalibrated"),
            json!(true),
            "the demo fits nothing to labels"
        );
        assert_eq!(synthesis.take("earlier_weeks"), json!(self.week - 1));
        let findings = synthesis.list("findings");
        assert_eq!(findings.is_empty(), self.week == 1);
        assert!(synthesis.take("comparisons").as_u64().unwrap() >= findings.len() as u64);
        for finding in findings {
            self.finding(Part::of("finding", finding));
        }
        for agent in synthesis.list("agents") {
            self.agent(Part::of("agent", agent));
        }
        let days = self.days(synthesis.list("days"));
        assert_eq!(days, self.scored() + self.ledger.scored(self.week - 1).count());
        self.stats(Part::of("overall", synthesis.take("overall")));
        for dimension in synthesis.list("dimensions") {
            self.stats(Part::of("dimension", dimension));
        }
        for (field, impossible) in [("excellent", Course::Failing), ("poor", Course::Good)] {
            for outlier in synthesis.list(field) {
                let mut outlier = Part::of(field, outlier);
                let session = outlier.take("session");
                let planted = self.planted(&session);
                assert_ne!(planted.course, impossible, "{field}: {session}");
                assert_eq!(outlier.take("agent"), json!(planted.agent));
                assert_eq!(outlier.take("environment"), json!(planted.environment));
                let overall = outlier.take("overall").as_f64().unwrap();
                same(&json!(overall), self.marks["overall_quality"][session.as_str().unwrap()]);
                self.reason_of(&session, &outlier.take("reason"));
                outlier.all_checked();
            }
        }
        for issue in synthesis.list("issues") {
            self.issue(Part::of("issue", issue));
        }
        let coding = synthesis.list("coding_agents");
        assert_eq!(coding, [json!("claude-code")], "the only one that edits files");
        synthesis.all_checked();
    }

    /// Figures of a dimension, computed once more from the stored scores.
    fn stats(&self, mut stats: Part) {
        let name = stats.take("name").as_str().unwrap().to_owned();
        let values = &self.values(&name, self.week);
        assert_eq!(stats.take("n"), json!(values.len()), "{name}");
        self.figures(stats.take("marks"), values);
        let history: Vec<Option<f64>> = serde_json::from_value(stats.take("history")).unwrap();
        same(&json!(history.last().unwrap()), mean(values));
        let counts: Vec<usize> = serde_json::from_value(stats.take("counts")).unwrap();
        let before = self.values(&name, self.week - 1);
        assert_eq!(counts.iter().sum::<usize>(), values.len() + before.len());
        assert!(stats.take("trend")["too_early"].is_string());
        self.low(values, Part::of("low", stats.take("low")));
        self.change(&name, &stats.take("change"));
        stats.all_checked();
    }

    /// The sessions below 0.7, counted once more.
    fn low(&self, values: &[f64], mut low: Part) {
        let count = values.iter().filter(|value| **value < 0.7).count();
        assert_eq!(low.take("count"), json!(count));
        assert!(usize::try_from(low.take("traces").as_u64().unwrap()).unwrap() >= count);
        assert_eq!(low.list("sessions").len(), count.min(10));
        let of = |share: &Value| share["sessions"].as_u64().unwrap();
        let agents: u64 = low.list("agents").iter().map(of).sum();
        assert_eq!(usize::try_from(agents).unwrap(), count);
        low.all_checked();
    }

    fn figures(&self, marks: Value, values: &[f64]) {
        if values.is_empty() {
            assert!(marks.is_null(), "{marks}");
            return;
        }
        let mut said = Part::of("marks", marks);
        let (least, most) = values
            .iter()
            .fold((1.0_f64, 0.0_f64), |(least, most), value| (least.min(*value), most.max(*value)));
        same(&said.take("mean"), mean(values));
        same(&said.take("min"), least);
        same(&said.take("max"), most);
        let interval: Option<[f64; 2]> = serde_json::from_value(said.take("interval")).unwrap();
        assert!(interval.is_none_or(|interval| holds(interval, mean(values))), "{interval:?}");
        let square = |value: &f64| (value - mean(values)).powi(2);
        let stdev = said.take("stdev");
        if values.len() > 1 {
            let variance = values.iter().map(square).sum::<f64>() / (values.len() - 1) as f64;
            same(&stdev, variance.sqrt());
        }
        said.all_checked();
    }

    /// What a report shows of a session.
    fn card(&self, session: &str, mut card: Part) {
        let planted = &self.ledger.sessions[session];
        let title = card.take("title").as_str().unwrap().to_owned();
        let shown = title.trim_end_matches('…').trim_end();
        assert!(planted.first_request.starts_with(shown), "{title}");
        assert_eq!(card.take("agent"), json!(planted.agent));
        assert_eq!(card.take("environment"), json!(planted.environment));
        let release = card.take("release");
        assert!(release.is_null() || release == json!(planted.release), "{session}: {release}");
        assert_eq!(card.take("user"), json!(planted.user));
        card.all_checked();
    }

    fn left_out(&self, reasons: &[Value]) {
        let all = self.ledger.sessions.values().filter(|it| it.week == self.week).count();
        let short = all - self.scored();
        let [said] = reasons else { panic!("{reasons:?}") };
        assert!(said["reason"].as_str().unwrap().starts_with("shorter than"), "{said}");
        assert_eq!(said["sessions"], json!(short));
    }

    fn reason_of(&self, session: &Value, reason: &Value) {
        if reason.is_null() {
            // A rule-based judge often finds only nothing against a good session.
            assert_eq!(self.planted(session).course, Course::Good, "{session}");
            return;
        }
        let planted = self.planted(session);
        assert!(self.marks.contains_key(reason["dimension"].as_str().unwrap()), "{reason}");
        assert!(!reason["text"].as_str().unwrap().is_empty(), "{reason}");
        let turn = usize::try_from(reason["turn"].as_u64().unwrap_or(1)).unwrap();
        assert!((1..=planted.traces).contains(&turn), "{session}: {reason}");
    }

    /// The planted release makes every dimension but security fall in the second week.
    fn change(&self, name: &str, change: &Value) {
        if self.week == 1 {
            assert_eq!(change["unknown"], "no sessions in the previous week");
            return;
        }
        let by = &change["by"];
        let (now, before) = (self.values(name, 2), self.values(name, 1));
        same(&by["value"], mean(&now) - mean(&before));
        assert!(self.ledger.failing(2) > self.ledger.failing(1) + 0.1);
        let falls = by["value"].as_f64().unwrap() < -1e-9;
        assert_eq!(falls, name != "security_compliance", "{name}: {by}");
    }

    /// Each session of an issue was planted so that the statement is true of it.
    fn issue(&self, mut issue: Part) {
        let title = issue.take("title").as_str().unwrap().to_owned();
        let sessions = issue.list("sessions");
        let count = issue.take("count").as_u64().unwrap();
        assert!(usize::try_from(count).unwrap() >= sessions.len() && sessions.len() > 1);
        assert!(self.marks.contains_key(issue.take("dimension").as_str().unwrap()));
        let example = issue.take("example");
        assert!(sessions.contains(&example["session"]), "{example}");
        assert!(issue.take("key").is_string());
        self.shares(issue.list("agents"), &sessions);
        assert!(issue.take("traces").is_u64());
        for also in issue.list("also") {
            let also = also.as_str().unwrap();
            let is_true = |id: &&Value| self.is_true_of(also, self.planted(id));
            assert!(2 * sessions.iter().filter(is_true).count() > sessions.len(), "{also}");
        }
        issue.all_checked();
        for session in sessions {
            assert!(self.is_true_of(&title, self.planted(&session)), "{title}: {session}");
        }
    }

    /// The sessions of each agent with an issue, of all that were scored.
    fn shares(&self, shares: Vec<Value>, sessions: &[Value]) {
        let mut all = 0;
        for share in shares {
            let is_its = |it: &Planted| {
                share["agent"] == json!(it.agent) && share["environment"] == json!(it.environment)
            };
            let with = sessions.iter().filter(|session| is_its(self.planted(session))).count();
            let of = self.ledger.scored(self.week).filter(|(_, it)| is_its(it)).count();
            assert_eq!((&share["sessions"], &share["of"]), (&json!(with), &json!(of)), "{share}");
            all += with;
        }
        assert_eq!(all, sessions.len());
    }

    fn is_true_of(&self, title: &str, planted: &Planted) -> bool {
        let says = |part: &str| title.to_lowercase().contains(part);
        // A title that names a tool is about the errors of that tool.
        let tool = title.split_once("alls of ").or(title.split_once("all of "));
        let tool = tool.and_then(|(_, rest)| rest.split(' ').next());
        let errors = tool.map_or_else(|| planted.errors(), |tool| planted.errors_of(tool));
        match () {
            () if says("retried unchanged") || says("with the same result") => errors > 1,
            () if says("three times or more") => errors > 1,
            () if says(" fail") || says("failed") => errors > 0,
            () if says("did not manage") => planted.course == Course::Failing,
            () if says("correct the agent") || says("annoyed") || says("repeat themselves") => {
                planted.course != Course::Good
            }
            () if says("nothing is changed") => planted.course != Course::Good,
            () if says("claims what nothing") => planted.course != Course::Good,
            () if says("longer than most") => {
                let peers =
                    self.ledger.scored(self.week).filter(|(_, it)| it.agent == planted.agent);
                planted.steps > peers.map(|(_, it)| it.steps).min().unwrap()
            }
            () => panic!("nothing checks the issue {title:?}"),
        }
    }

    fn suggestion(&self, mut suggestion: Part, synthesis: &Value) {
        for field in ["key", "title", "text", "edit", "severity"] {
            assert!(suggestion.take(field).as_str().is_some_and(|text| !text.is_empty()));
        }
        let dimension = suggestion.take("dimension").as_str().unwrap().to_owned();
        for session in suggestion.list("sessions") {
            self.planted(&session);
        }
        let reason = suggestion.take("reason").as_str().unwrap().to_owned();
        for statement in reason.split("; ") {
            self.reason(statement, &dimension, synthesis);
        }
        suggestion.all_checked();
    }

    /// `12 sessions below 0.7: TITLE`, or `mean 0.48 over 140 sessions`.
    fn reason(&self, statement: &str, dimension: &str, synthesis: &Value) {
        if let Some((count, title)) = statement.split_once(" sessions below 0.7: ") {
            let issues = synthesis["issues"].as_array().unwrap();
            let issue = issues.iter().find(|issue| issue["title"] == title).unwrap();
            assert_eq!(issue["sessions"].as_array().unwrap().len().to_string(), count);
            return;
        }
        let values = &self.values(dimension, self.week);
        let (mean, n) = (mean(values), values.len());
        assert_eq!(statement, format!("mean {mean:.2} over {n} sessions"));
    }

    fn metric(&self, mut metric: Part) {
        let (measure, reading) = (metric.take("measure"), metric.take("reading"));
        metric.take("target");
        metric.all_checked();
        match measure.as_str().unwrap() {
            "sessions_scored" => assert_eq!(reading["is"]["value"], json!(self.scored() as f64)),
            "human_correlation" => {
                assert!(reading["is"]["n"].as_u64().unwrap() >= 30, "{reading}");
                assert!(reading["is"]["value"].as_f64().unwrap() > 0.5, "{reading}");
            }
            // The month is not over, and eight weeks are not.
            "suggestions_done" | "quality_trend" => assert!(reading["unknown"].is_string()),
            other => panic!("nothing checks the metric {other}"),
        }
    }

    fn drift(&self, mut alert: Part) {
        let planted = &self.ledger.drifted_judge;
        assert_eq!(alert.take("judge"), json!(planted.judge));
        assert_eq!(alert.take("dimension"), json!(planted.dimension));
        assert_eq!(alert.take("rubric"), json!("session-quality"));
        same(&alert.take("change"), planted.change);
        assert_eq!(alert.take("moved"), json!(12));
        assert_eq!((alert.take("n"), alert.take("missing")), (json!(12), json!(0)));
        assert!(alert.take("detectable").is_null(), "all sessions moved alike");
        assert!(alert.take("p").as_f64().unwrap() < 0.01);
        assert_eq!(alert.take("since"), json!(self.ledger.weeks[1]));
        assert_eq!(alert.take("week"), json!("2026-11-15"));
        alert.all_checked();
    }

    /// The sentences that say a direction in words.
    fn sentences(&self, report: &WeekReport) {
        let headline = report.headline();
        let all = self.ledger.sessions.values().filter(|it| it.week == self.week).count();
        let scored = format!("{} of {all} sessions scored", self.scored());
        assert!(headline.starts_with(&scored), "{headline}");
        let overall =
            format!("overall quality {:.2}", mean(&self.values("overall_quality", self.week)));
        assert!(headline.contains(&overall), "{headline}");
        assert!(!headline.contains("better"), "{headline}");
        let has_fallen = report.synthesis.overall.change.clear_drop().is_some();
        assert_eq!(headline.contains("worse than the previous week"), has_fallen, "{headline}");
        for alert in &report.drift {
            assert!(alert.words().contains(" higher since "), "{}", alert.words());
        }
    }
}
