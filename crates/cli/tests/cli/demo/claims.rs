//! Takes a report apart: each part is checked against what was planted, and a part that no check
//! takes fails the test.

use std::collections::BTreeMap;

use ratchet_core::quality::report::WeekReport;
use ratchet_core::record::score::{Score, ScoreTarget};
use serde_json::{Map, Value, json};

use super::planted::{Course, Ledger, Planted};

type Marks = BTreeMap<String, Vec<f64>>;

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
    /// Marks of the week's and the previous week's sessions, by dimension.
    marks: Marks,
    before: Marks,
}

/// Checks every statement of a report.
pub(super) fn check(
    (delivery, markdown): &(Value, String),
    ledger: &Ledger,
    week: u8,
    scores: &[Score],
) {
    let (marks, before) = (marks(ledger, week, scores), marks(ledger, week - 1, scores));
    let check = Check { ledger, week, marks, before };
    let report: WeekReport = serde_json::from_value(delivery["report"].clone()).unwrap();
    assert_eq!(&report.to_markdown(), markdown, "the text says what the checked report holds");
    check.report(Part::of("report", delivery["report"].clone()));
    check.sentences(&report);
    if week == 2 {
        check_story(delivery, ledger);
    }
}

/// Checks that the report tells what was planted, in its summary.
pub(super) fn check_story(delivery: &Value, ledger: &Ledger) {
    let report: WeekReport = serde_json::from_value(delivery["report"].clone()).unwrap();
    let headline = report.headline();
    assert!(headline.contains("worse than the previous week"), "{headline}");
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

fn marks(ledger: &Ledger, week: u8, scores: &[Score]) -> Marks {
    let mut marks = Marks::new();
    for score in scores {
        let ScoreTarget::Session(session) = &score.target else { continue };
        let planted = &ledger.sessions[&session.to_string()];
        if planted.week == week {
            marks.entry(score.name.clone()).or_default().extend(value(score));
        }
    }
    marks
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
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

    fn scored(&self) -> usize {
        self.ledger.scored(self.week).count()
    }

    fn report(&self, mut report: Part) {
        assert_eq!(report.take("week"), json!(self.ledger.weeks[usize::from(self.week) - 1]));
        let last = ["2026-11-07", "2026-11-14"][usize::from(self.week) - 1];
        assert_eq!(report.take("last_day"), json!(last));
        assert_eq!(report.take("zone"), json!("UTC"));
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
        self.stats(Part::of("overall", synthesis.take("overall")));
        for dimension in synthesis.list("dimensions") {
            self.stats(Part::of("dimension", dimension));
        }
        for (field, impossible) in [("excellent", Course::Failing), ("poor", Course::Good)] {
            for outlier in synthesis.list(field) {
                let mut outlier = Part::of(field, outlier);
                let session = outlier.take("session");
                assert_ne!(self.planted(&session).course, impossible, "{field}: {session}");
                let overall = outlier.take("overall").as_f64().unwrap();
                let is_it = |mark: &f64| (mark - overall).abs() < 1e-9;
                assert!(self.marks["overall_quality"].iter().any(is_it), "{session}: {overall}");
                outlier.all_checked();
            }
        }
        for issue in synthesis.list("issues") {
            self.issue(Part::of("issue", issue));
        }
        synthesis.all_checked();
    }

    /// Figures of a dimension, computed once more from the stored scores.
    fn stats(&self, mut stats: Part) {
        let name = stats.take("name").as_str().unwrap().to_owned();
        let values = &self.marks[&name];
        assert_eq!(stats.take("n"), json!(values.len()), "{name}");
        let mut said = Part::of("marks", stats.take("marks"));
        let (least, most) = values
            .iter()
            .fold((1.0_f64, 0.0_f64), |(least, most), value| (least.min(*value), most.max(*value)));
        same(&said.take("mean"), mean(values));
        same(&said.take("min"), least);
        same(&said.take("max"), most);
        let interval: [f64; 2] = serde_json::from_value(said.take("interval")).unwrap();
        assert!(interval[0] <= mean(values) && mean(values) <= interval[1], "{interval:?}");
        let square = |value: &f64| (value - mean(values)).powi(2);
        let variance = values.iter().map(square).sum::<f64>() / (values.len() - 1) as f64;
        same(&said.take("stdev"), variance.sqrt());
        said.all_checked();
        let history: Vec<Option<f64>> = serde_json::from_value(stats.take("history")).unwrap();
        same(&json!(history.last().unwrap()), mean(values));
        let counts: Vec<usize> = serde_json::from_value(stats.take("counts")).unwrap();
        assert_eq!(counts.iter().sum::<usize>(), values.len() + self.count_before(&name));
        assert!(stats.take("trend")["too_early"].is_string());
        self.change(&name, &stats.take("change"));
        stats.all_checked();
    }

    fn count_before(&self, name: &str) -> usize {
        self.before.get(name).map_or(0, Vec::len)
    }

    /// The planted release makes every dimension but security fall in the second week.
    fn change(&self, name: &str, change: &Value) {
        if self.week == 1 {
            assert_eq!(change["unknown"], "no sessions in the previous week");
            return;
        }
        let by = &change["by"];
        same(&by["value"], mean(&self.marks[name]) - mean(&self.before[name]));
        assert!(self.ledger.failing(2) > self.ledger.failing(1) + 0.1);
        let falls = by["value"].as_f64().unwrap() < 0.0 && by["p"].as_f64().unwrap() < 0.01;
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
        issue.all_checked();
        for session in sessions {
            assert!(self.is_true_of(&title, self.planted(&session)), "{title}: {session}");
        }
    }

    fn is_true_of(&self, title: &str, planted: &Planted) -> bool {
        let errors = planted.errors();
        let says = |part: &str| title.to_lowercase().contains(part);
        match () {
            () if says("failed") || says("made good") => errors > 0,
            () if says("made again unchanged") || says("with the same result") => errors > 1,
            () if says("third time") => errors > 1,
            () if says("had not managed") => planted.course == Course::Failing,
            () if says("corrected") || says("annoyed") || says("nearly the same") => {
                planted.course != Course::Good
            }
            () if says("nothing was changed") => planted.course != Course::Good,
            () if says("of its peers") => {
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

    /// `12 sessions below 0.7: TITLE`, or `DIMENSION: mean 0.48 over 140 sessions`.
    fn reason(&self, statement: &str, dimension: &str, synthesis: &Value) {
        if let Some((count, title)) = statement.split_once(" sessions below 0.7: ") {
            let issues = synthesis["issues"].as_array().unwrap();
            let issue = issues.iter().find(|issue| issue["title"] == title).unwrap();
            assert_eq!(issue["sessions"].as_array().unwrap().len().to_string(), count);
            return;
        }
        let values = &self.marks[dimension];
        let (mean, n) = (mean(values), values.len());
        assert_eq!(statement, format!("{dimension}: mean {mean:.2} over {n} sessions"));
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
            "suggestions_done" => assert_eq!(reading["is"]["value"], json!(0.0)),
            "quality_trend" => assert!(reading["unknown"].is_string()),
            other => panic!("nothing checks the metric {other}"),
        }
    }

    fn drift(&self, mut alert: Part) {
        let planted = &self.ledger.drifted_judge;
        assert_eq!(alert.take("judge"), json!(planted.judge));
        assert_eq!(alert.take("dimension"), json!(planted.dimension));
        assert_eq!(alert.take("rubric"), json!("session-quality"));
        same(&alert.take("change"), planted.change);
        let interval: [f64; 2] = serde_json::from_value(alert.take("interval")).unwrap();
        assert!(interval[0] > 0.0 && interval[1] > planted.change, "{interval:?}");
        assert_eq!(alert.take("n"), json!(12));
        assert!(alert.take("p").as_f64().unwrap() < 0.01);
        assert_eq!(alert.take("since"), json!(self.ledger.weeks[1]));
        assert_eq!(alert.take("week"), json!("2026-11-15"));
        alert.all_checked();
    }

    /// The sentences that say a direction in words.
    fn sentences(&self, report: &WeekReport) {
        let headline = report.headline();
        assert!(headline.starts_with(&format!("{} sessions scored", self.scored())), "{headline}");
        let overall = format!("overall quality {:.2}", mean(&self.marks["overall_quality"]));
        assert!(headline.contains(&overall), "{headline}");
        assert!(!headline.contains("better"), "{headline}");
        for alert in &report.drift {
            assert!(alert.words().contains(" higher since "), "{}", alert.words());
        }
    }
}
