use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::counted::counted;
use crate::id::SessionId;
use crate::judge::rubric::{OVERALL, Rubric};
use crate::quality::label::{LabelItem, item_id};
use crate::quality::report::signed;

use super::Marks;
use super::drift::{Drift, Judged, MIN_PAIRS, drift};

/// The dataset that stores judges' verdicts on the panel.
pub const DATASET: &str = "judge-panel";
/// The number of sessions in a new panel.
pub const SIZE: usize = 12;

/// A judge's verdict on one panel session in one week.
#[derive(Clone, Debug, PartialEq)]
pub struct PanelVerdict {
    pub session: SessionId,
    pub who: PanelKey,
    /// Hash of what the judge went by beside the rubric; `None` in old verdicts.
    pub version: Option<String>,
    /// First day of the week.
    pub week: String,
    /// Scores by dimension, with the overall score.
    pub marks: Marks,
}

/// A judge with a rubric. Panels are comparable only within the same key and judge version.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PanelKey {
    /// Judge name.
    pub judge: String,
    /// Rubric name.
    pub rubric: String,
    /// Hash of all rubric text that a judge sees.
    pub fingerprint: String,
}

/// The drift of a judge since the baseline of its newest version: the first week with enough sessions
/// that were judged in the newest week too.
#[derive(Clone, Debug, PartialEq)]
pub struct PanelDrift {
    pub who: PanelKey,
    /// The judge's newest version.
    pub version: Option<String>,
    /// The baseline week.
    pub first: String,
    /// The newest week.
    pub newest: String,
    /// Sessions that were judged in the baseline week.
    pub members: usize,
    /// Those of them that were judged in the newest week too: the others are gone, or could not be
    /// judged.
    pub compared: usize,
    /// By dimension, the overall score first.
    pub drifts: Vec<Drift>,
}

/// A drift alert for one judge and dimension.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DriftAlert {
    pub judge: String,
    pub rubric: String,
    pub dimension: String,
    /// The baseline week, by its first day.
    pub since: String,
    /// The newest week, by its first day.
    pub week: String,
    /// Change of the mean score.
    pub change: f64,
    /// Sessions with a score that changed in the same direction; `None` in old reports.
    #[serde(default)]
    pub moved: Option<usize>,
    /// Number of paired sessions.
    pub n: u64,
    /// Sessions of the panel that could not be compared; `None` in old reports.
    #[serde(default)]
    pub missing: Option<usize>,
    /// p-value, corrected for the number of dimensions.
    #[serde(default)]
    pub p: Option<f64>,
    /// The smallest change that would be found with a probability of 80%.
    #[serde(default)]
    pub detectable: Option<f64>,
}

impl DriftAlert {
    /// Formats the alert as a sentence without a full stop.
    pub fn words(&self) -> String {
        let Self { judge, rubric, dimension, since, .. } = self;
        format!(
            "{judge} scores {dimension} of {rubric} {} since the week of {since}: {} on the same \
             sessions",
            self.way(),
            self.measured()
        )
    }

    /// Returns the direction of the change.
    pub fn way(&self) -> &'static str {
        if self.change > 0.0 { "higher" } else { "lower" }
    }

    /// Formats the change, the number of sessions that changed so, the p-value of the test and the
    /// change it finds with a probability of 80%. An interval of the mean would come from another
    /// test and could contradict the alert.
    pub fn measured(&self) -> String {
        let Self { change, n, .. } = self;
        let p = self.p.map(|p| format!(", p = {p:.4}")).unwrap_or_default();
        let least = self.detectable.map(|least| format!(", detectable: ±{least:.2}"));
        let moved = match self.moved {
            Some(moved) => format!("{} in {moved} of {n}", self.way()),
            None => format!("n = {n}"),
        };
        let missing = self
            .missing
            .filter(|missing| *missing > 0)
            .map(|missing| format!(", {} of the panel missing", counted(missing, "session")));
        let (least, missing) = (least.unwrap_or_default(), missing.unwrap_or_default());
        format!("{} ({moved}{p}{least}{missing})", signed(*change))
    }
}

impl PanelKey {
    /// Creates the key of a judge with a rubric.
    pub fn new(judge: &str, rubric: &Rubric) -> Self {
        let (judge, name) = (judge.to_owned(), rubric.name.clone());
        Self { judge, rubric: name, fingerprint: rubric.fingerprint() }
    }
}

impl PanelDrift {
    /// Says in words how the judge stands where there is no alert, and how much of the panel that is
    /// known from.
    pub fn standing(&self) -> String {
        if self.first == self.newest {
            let members = counted(self.members, "session");
            let first = format!("first run, on {members}");
            return match self.members < MIN_PAIRS {
                true => format!("{first} of {MIN_PAIRS} needed; {}", self.remedy()),
                false => first,
            };
        }
        let standing = match self.compared {
            compared if compared < MIN_PAIRS => {
                format!("cannot tell ({compared} of {MIN_PAIRS} sessions needed)")
            }
            compared => format!("steady on {compared} sessions"),
        };
        let standing = match (self.members.saturating_sub(self.compared), self.members) {
            (0, _) => standing,
            (1, members) => format!("{standing}; 1 of {members} is gone or could not be judged"),
            (missing, members) => {
                format!("{standing}; {missing} of {members} are gone or could not be judged")
            }
        };
        match self.compared < MIN_PAIRS {
            true => format!("{standing}; {}", self.remedy()),
            false => standing,
        }
    }

    /// Says how a panel that is too small gets large enough.
    fn remedy(&self) -> String {
        format!(
            "once {MIN_PAIRS} sessions that are still recorded have labels (`ratchet label`), the \
             next run starts a new panel of them"
        )
    }

    /// Returns the alerts, if there are any.
    pub fn alerts(&self) -> Vec<DriftAlert> {
        let alert = |drift: &Drift| {
            let change = drift.change.ok().filter(|_| drift.bearing.is_alarming())?;
            Some(DriftAlert {
                judge: self.who.judge.clone(),
                rubric: self.who.rubric.clone(),
                dimension: drift.dimension.clone(),
                since: self.first.clone(),
                week: self.newest.clone(),
                change: change.value,
                moved: Some(if change.value > 0.0 { drift.higher } else { drift.lower }),
                n: change.n,
                missing: Some(self.members.saturating_sub(self.compared)),
                p: drift.p,
                detectable: drift.detectable,
            })
        };
        self.drifts.iter().filter_map(alert).collect()
    }
}

impl PanelVerdict {
    /// Converts the verdict to a dataset item.
    pub fn item(&self) -> LabelItem {
        let PanelKey { judge, rubric, fingerprint } = &self.who;
        let session = self.session.to_string();
        let marks = self.marks.iter().map(|(name, mark)| (name.clone(), json!(mark)));
        LabelItem {
            id: item_id("panel", &[judge, rubric, fingerprint, &self.week, &session]),
            input: json!({ "session_id": session }),
            expected_output: Some(Value::Object(marks.collect::<Map<_, _>>())),
            metadata: json!({
                "judge": judge,
                "rubric": rubric,
                "fingerprint": fingerprint,
                "judge_version": self.version,
                "week": self.week,
            }),
        }
    }

    /// Parses a dataset item; `None` where it is not a panel verdict.
    pub fn read(input: &Value, expected_output: &Value, metadata: &Value) -> Option<Self> {
        let text = |name: &str| metadata.get(name).and_then(Value::as_str).map(str::to_owned);
        let marks = expected_output.as_object()?.iter();
        let marks = marks.filter_map(|(name, mark)| Some((name.clone(), mark.as_f64()?)));
        let (judge, rubric, fingerprint) = (text("judge")?, text("rubric")?, text("fingerprint")?);
        Some(Self {
            session: SessionId::parse(input.get("session_id")?.as_str()?).ok()?,
            who: PanelKey { judge, rubric, fingerprint },
            version: text("judge_version"),
            week: text("week")?,
            marks: marks.collect(),
        })
    }
}

/// Returns the drift of each judge since the baseline of its newest version: scores of other versions
/// differ for a known reason.
pub fn drifts(verdicts: &[PanelVerdict]) -> Vec<PanelDrift> {
    let mut by_judge: BTreeMap<&PanelKey, Vec<&PanelVerdict>> = BTreeMap::new();
    for verdict in verdicts {
        by_judge.entry(&verdict.who).or_default().push(verdict);
    }
    let of = |(who, verdicts): (&PanelKey, Vec<&PanelVerdict>)| {
        let version = newest_version(&verdicts)?;
        let mut weeks: BTreeMap<&str, Judged> = BTreeMap::new();
        for verdict in verdicts.into_iter().filter(|verdict| verdict.version == version) {
            let judged = weeks.entry(&verdict.week).or_default();
            judged.insert(verdict.session.clone(), verdict.marks.clone());
        }
        let (newest, now) = weeks.last_key_value()?;
        // A panel that lost too many sessions was followed by another one.
        let is_comparable = |(_, then): &(&&str, &Judged)| common(then, now) >= MIN_PAIRS;
        let baseline = weeks.iter().find(is_comparable);
        let (first, then) = baseline.or_else(|| weeks.first_key_value())?;
        let names = then.values().flat_map(BTreeMap::keys).filter(|name| *name != OVERALL);
        let mut names: Vec<String> = names.cloned().collect();
        names.sort();
        names.dedup();
        names.insert(0, OVERALL.to_owned());
        let (members, compared) = (then.len(), common(then, now));
        // A week compared with itself shows nothing.
        let now = if first == newest { &Judged::new() } else { now };
        let drifts = drift(&names, then, now);
        let (first, newest) = ((*first).to_owned(), (*newest).to_owned());
        Some(PanelDrift { who: who.clone(), version, first, newest, members, compared, drifts })
    };
    by_judge.into_iter().filter_map(of).collect()
}

/// The number of sessions that were judged in both weeks.
fn common(then: &Judged, now: &Judged) -> usize {
    then.keys().filter(|session| now.contains_key(*session)).count()
}

/// The version that judged most sessions of the newest week.
fn newest_version(verdicts: &[&PanelVerdict]) -> Option<Option<String>> {
    let week = verdicts.iter().map(|verdict| &verdict.week).max()?;
    let mut counts: BTreeMap<&Option<String>, usize> = BTreeMap::new();
    for verdict in verdicts.iter().filter(|verdict| verdict.week == *week) {
        *counts.entry(&verdict.version).or_default() += 1;
    }
    counts.into_iter().max_by_key(|(_, count)| *count).map(|(version, _)| version.clone())
}

/// Returns the drift alerts of judges with a panel in these weeks, as of the end of the range.
/// Weeks are named by their first day.
pub fn alerts(verdicts: &[PanelVerdict], weeks: RangeInclusive<&str>) -> Vec<DriftAlert> {
    let known = verdicts.iter().filter(|verdict| verdict.week.as_str() <= *weeks.end());
    let drifts = drifts(&known.cloned().collect::<Vec<_>>());
    let is_new = |drift: &&PanelDrift| drift.newest.as_str() >= *weeks.start();
    drifts.iter().filter(is_new).flat_map(PanelDrift::alerts).collect()
}

/// Returns the sessions of a judge's panel: those of the first week of which enough are still
/// recorded. Where there is none, a new panel starts with the first of `labelled`, if they are enough,
/// or if there was no panel before. Otherwise what is left of the first one goes on.
///
/// `labelled` are sessions that are still recorded.
pub fn members(
    verdicts: &[PanelVerdict],
    who: &PanelKey,
    recorded: &BTreeSet<SessionId>,
    labelled: &[SessionId],
) -> Vec<SessionId> {
    let mut weeks: BTreeMap<&str, BTreeSet<&SessionId>> = BTreeMap::new();
    for verdict in verdicts.iter().filter(|verdict| verdict.who == *who) {
        let left = weeks.entry(&verdict.week).or_default();
        left.extend(recorded.get(&verdict.session));
    }
    let enough = weeks.values().find(|left| left.len() >= MIN_PAIRS);
    let is_new = enough.is_none() && (weeks.is_empty() || labelled.len() >= MIN_PAIRS);
    if is_new {
        return labelled.iter().take(SIZE).cloned().collect();
    }
    let left = enough.or_else(|| weeks.values().next());
    left.into_iter().flatten().map(|session| (*session).clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quality::calibration::drift::DriftVerdict;

    fn verdict(session: usize, week: &str, mark: f64) -> PanelVerdict {
        PanelVerdict {
            session: SessionId::parse(&format!("s{session}")).unwrap(),
            who: PanelKey {
                judge: "offline".to_owned(),
                rubric: "session-quality".to_owned(),
                fingerprint: "abc".to_owned(),
            },
            version: Some("v1".to_owned()),
            week: week.to_owned(),
            marks: [(OVERALL.to_owned(), mark), ("tool_mastery".to_owned(), 0.5)].into(),
        }
    }

    #[test]
    fn a_verdict_is_a_dataset_item() {
        let verdict = verdict(1, "2026-11-08", 0.25);
        let item = verdict.item();
        let read = PanelVerdict::read(&item.input, &item.expected_output.unwrap(), &item.metadata);
        assert_eq!(read, Some(verdict));
    }

    #[test]
    fn each_week_is_held_against_the_first() {
        let weeks = [("2026-11-01", 0.5), ("2026-11-08", 0.5), ("2026-11-15", 0.7)];
        let all: Vec<_> = weeks
            .into_iter()
            .flat_map(|(week, mark)| (0..12).map(move |n| verdict(n, week, mark)))
            .collect();
        let drifts = drifts(&all);
        let [panel] = drifts.as_slice() else { panic!("{drifts:?}") };
        assert_eq!((panel.first.as_str(), panel.newest.as_str()), ("2026-11-01", "2026-11-15"));
        let alerts_now = panel.alerts();
        assert_eq!(alerts_now.len(), 1);
        assert_eq!(
            alerts_now[0].words(),
            "offline scores overall_quality of session-quality higher since the week of 2026-11-01: +0.20 (higher in 12 of 12, p = 0.0005) on the same sessions"
        );
        assert_eq!(alerts(&all, "2026-11-09"..="2026-11-15"), alerts_now);
        assert_eq!(alerts(&all, "2026-11-02"..="2026-11-08"), [], "it was steady then");
        assert_eq!(alerts(&all, "2026-11-16"..="2026-11-22"), [], "nobody asked it then");
        let first_week: Vec<_> = all.into_iter().take(12).collect();
        let alone = super::drifts(&first_week);
        assert!(alone[0].drifts.iter().all(|drift| drift.bearing == DriftVerdict::CannotTell));
    }

    /// A session that is gone is not left out in silence: the verdict says what it is known from.
    #[test]
    fn what_is_missing_of_a_panel_is_said() {
        let week = |week: &str, sessions: std::ops::Range<usize>, mark: f64| -> Vec<PanelVerdict> {
            sessions.map(|n| verdict(n, week, mark)).collect()
        };
        let of = |first: usize, newest: usize, mark: f64| -> PanelDrift {
            let all = [week("2026-11-01", 0..first, 0.5), week("2026-11-15", 0..newest, mark)];
            drifts(&all.concat()).remove(0)
        };
        assert_eq!(of(12, 12, 0.5).standing(), "steady on 12 sessions");
        let one = "steady on 11 sessions; 1 of 12 is gone or could not be judged";
        assert_eq!(of(12, 11, 0.5).standing(), one);
        let few = "cannot tell (9 of 10 sessions needed); 3 of 12 are gone or could not be judged; \
                   once 10 sessions that are still recorded have labels (`ratchet label`), the \
                   next run starts a new panel of them";
        assert_eq!(of(12, 9, 0.9).standing(), few);
        assert_eq!(of(12, 9, 0.9).alerts(), []);
        // What is left is enough for an alarm, at the same level.
        let [alert] = of(12, 10, 0.9).alerts().try_into().unwrap();
        assert_eq!((alert.n, alert.missing), (10, Some(2)));
        assert!(alert.p.is_some_and(|p| p <= crate::quality::synthesis::WEEKLY_LEVEL), "{alert:?}");
        let [alert] = of(15, 13, 0.9).alerts().try_into().unwrap();
        assert!(alert.words().contains(", 2 sessions of the panel missing)"), "{}", alert.words());
        let alone = drifts(&week("2026-11-01", 0..12, 0.5)).remove(0);
        assert_eq!(alone.standing(), "first run, on 12 sessions");
    }

    /// Where a judge's signals or instructions were changed, its scores change for a known reason.
    #[test]
    fn a_change_of_the_judges_version_is_no_drift() {
        let of = |week: &str, version: &str, mark: f64| -> Vec<PanelVerdict> {
            let one = |n| {
                let version = Some(version.to_owned());
                PanelVerdict { version, ..verdict(n, week, mark) }
            };
            (0..12).map(one).collect()
        };
        let two = [of("2026-11-01", "v1", 0.5), of("2026-11-08", "v2", 0.7)].concat();
        assert_eq!(drifts(&two)[0].alerts(), [], "the second week is the first of its version");
        assert_eq!(drifts(&two)[0].first, "2026-11-08");
        let three = [two, of("2026-11-15", "v2", 0.9)].concat();
        let [alert] = drifts(&three)[0].alerts().try_into().unwrap();
        assert_eq!((alert.since.as_str(), signed(alert.change).as_str()), ("2026-11-08", "+0.20"));
    }

    #[test]
    fn a_panel_stays_the_same_while_enough_of_it_is_left() {
        let id = |name: &str| SessionId::parse(name).unwrap();
        let labelled: Vec<_> = (0..30).map(|n| id(&format!("o{n}"))).collect();
        let who = verdict(0, "2026-11-01", 0.5).who;
        let mut judged: Vec<_> = (0..12).map(|n| verdict(n, "2026-11-01", 0.5)).collect();
        let left = |count: usize| (0..count).map(|n| id(&format!("s{n}"))).collect();
        let drawn =
            |judged: &[PanelVerdict], count: usize, labelled: &[SessionId]| -> Vec<String> {
                let members = members(judged, &who, &left(count), labelled);
                members.iter().map(ToString::to_string).collect()
            };
        assert_eq!(drawn(&[], 0, &labelled).len(), SIZE);
        assert_eq!(drawn(&[], 0, &labelled[..5]).len(), 5, "what there is");
        assert_eq!(drawn(&judged, 12, &labelled).len(), 12);
        assert!(drawn(&judged, 10, &labelled).iter().all(|session| session.starts_with('s')));
        assert_eq!(drawn(&judged, 9, &labelled[..9]).len(), 9, "nothing better is there");
        let new = drawn(&judged, 9, &labelled);
        assert_eq!((new.len(), new[0].as_str()), (SIZE, "o0"));
        // The new panel has a baseline of its own.
        let with = |week: &str, mark: f64| -> Vec<PanelVerdict> {
            let of = |name: &String| PanelVerdict { session: id(name), ..verdict(0, week, mark) };
            new.iter().map(of).collect()
        };
        judged.extend(with("2026-11-08", 0.7));
        assert_eq!(drifts(&judged)[0].standing(), "first run, on 12 sessions");
        judged.extend(with("2026-11-15", 0.7));
        assert_eq!(drifts(&judged)[0].first, "2026-11-08");
        assert_eq!(drifts(&judged)[0].standing(), "steady on 12 sessions");
        judged.extend(with("2026-11-22", 0.9));
        assert_eq!(drifts(&judged)[0].alerts().len(), 1);
    }
}
