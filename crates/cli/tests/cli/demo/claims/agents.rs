//! Statements about agents, environments, releases and prompts.

use std::collections::BTreeSet;

use ratchet_core::quality::synthesis::WEEKLY_LEVEL;
use serde_json::{Value, json};

use super::{Check, Part, holds, mean, same};
use crate::demo::planted::Planted;

/// The prompt of the support desk in each of its releases.
const PROMPTS: [(&str, &str); 3] = [
    ("4.7.2", "support-desk/system v2"),
    ("4.8.0", "support-desk/system v3"),
    ("4.8.1", "support-desk/system v4"),
];

impl Check<'_> {
    /// The sessions of this and the previous week that hold.
    fn in_both(&self, holds: impl Fn(&Planted) -> bool) -> Vec<(&str, &Planted)> {
        let weeks = [self.week - 1, self.week];
        let of = |week: u8| self.ledger.scored(week);
        let both = weeks.into_iter().flat_map(of).filter(|(_, it)| holds(it));
        both.map(|(session, it)| (session.as_str(), it)).collect()
    }

    fn overall_of(&self, sessions: &[(&str, &Planted)]) -> Vec<f64> {
        let marks = &self.marks["overall_quality"];
        sessions.iter().map(|(session, _)| marks[*session]).collect()
    }

    /// Only the planted release, and the one that mends it, may be found.
    pub(super) fn finding(&self, mut finding: Part) {
        let bad = &self.ledger.bad_release;
        assert_eq!(finding.take("agent"), json!(bad.agent));
        assert_eq!(finding.take("measure"), json!("overall_quality"));
        let environment = finding.take("environment").as_str().unwrap().to_owned();
        let basis = finding.take("basis");
        let (later, earlier) = self.pair(&basis);
        let group = |release: &str| {
            self.in_both(|it| {
                it.agent == bad.agent && it.environment == environment && it.release == release
            })
        };
        let (before, after) = (group(&earlier), group(&later));
        for (field, sessions) in [("before", &before), ("after", &after)] {
            let mut said = Part::of(field, finding.take(field));
            assert_eq!(said.take("n"), json!(sessions.len()), "{field} {basis}");
            same(&said.take("mean"), mean(&self.overall_of(sessions)));
            said.all_checked();
        }
        let change = finding.take("change").as_f64().unwrap();
        same(&json!(change), mean(&self.overall_of(&after)) - mean(&self.overall_of(&before)));
        assert_eq!(change < 0.0, later == bad.release, "{basis}: {change}");
        let interval: [f64; 2] = serde_json::from_value(finding.take("interval")).unwrap();
        assert!(holds(interval, change), "{interval:?}");
        assert!(interval[0] * interval[1] > 0.0, "{interval:?} holds 0");
        assert!(finding.take("p").as_f64().unwrap() < 0.05);
        for dimension in finding.list("dimensions") {
            assert_eq!(dimension["change"].as_f64().unwrap() < 0.0, change < 0.0, "{dimension}");
            assert!(self.marks.contains_key(dimension["name"].as_str().unwrap()));
        }
        let users: BTreeSet<&str> = after.iter().map(|(_, it)| it.user.as_str()).collect();
        assert_eq!(finding.take("users"), json!(users.len()));
        for session in finding.list("sessions") {
            assert!(after.iter().any(|(known, _)| session == json!(known)), "{session}");
        }
        finding.all_checked();
    }

    /// The later and the earlier release of a comparison.
    fn pair(&self, basis: &Value) -> (String, String) {
        let release_of = |prompt: &Value| {
            let of = PROMPTS.iter().find(|(_, name)| prompt == name);
            json!(of.unwrap_or_else(|| panic!("{prompt} was not planted")).0)
        };
        let (name, against) = match (&basis["release"], &basis["prompt"]) {
            (Value::Null, Value::Null) => panic!("nothing was planted that explains {basis}"),
            (Value::Null, prompt) => (release_of(&prompt["name"]), release_of(&prompt["against"])),
            (release, _) => (release["name"].clone(), release["against"].clone()),
        };
        let bad = &self.ledger.bad_release;
        let known = [(&bad.release, &bad.previous), (&bad.fixed_by, &bad.release)];
        let is_known = known.iter().any(|(new, old)| name == json!(new) && against == json!(old));
        assert!(is_known, "{name} against {against} was not planted");
        let text = |value: Value| value.as_str().unwrap().to_owned();
        (text(name), text(against))
    }

    pub(super) fn agent(&self, mut agent: Part) {
        let name = agent.take("agent").as_str().unwrap().to_owned();
        let environment = agent.take("environment").as_str().unwrap().to_owned();
        let is_its = |it: &Planted| it.agent == name && it.environment == environment;
        let sessions = self.in_both(|it| is_its(it) && it.week == self.week);
        assert_eq!(agent.take("sessions"), json!(sessions.len()), "{name} in {environment}");
        let users: BTreeSet<&str> = sessions.iter().map(|(_, it)| it.user.as_str()).collect();
        assert_eq!(agent.take("users"), json!(users.len()));
        self.measure(Part::of("agent.overall", agent.take("overall")), &name, &sessions);
        for dimension in agent.list("dimensions") {
            self.measure(Part::of("agent.dimension", dimension), &name, &sessions);
        }
        for release in agent.list("releases") {
            self.variant(Part::of("release", release), (&name, &is_its), |it| it.release.clone());
        }
        for prompt in agent.list("prompts") {
            let of = |it: &Planted| {
                let known = PROMPTS.iter().find(|(release, _)| it.release == *release);
                known.map_or("", |(_, prompt)| prompt).to_owned()
            };
            self.variant(Part::of("prompt", prompt), (&name, &is_its), of);
        }
        self.cost(Part::of("cost", agent.take("cost")), &sessions);
        let days: usize = self.days(agent.list("days"));
        assert_eq!(days, self.in_both(is_its).len());
        agent.all_checked();
    }

    fn measure(&self, mut measure: Part, agent: &str, sessions: &[(&str, &Planted)]) {
        let name = measure.take("name").as_str().unwrap().to_owned();
        let marks = &self.marks[&name];
        let values = sessions.iter().filter_map(|(session, _)| marks.get(*session).copied());
        let values: Vec<f64> = values.collect();
        assert_eq!(measure.take("n"), json!(values.len()), "{name}");
        self.figures(measure.take("marks"), &values);
        self.direction(&measure.take("change"), agent);
        measure.all_checked();
    }

    /// A change that is called significant must be of the agent with the planted release.
    fn direction(&self, change: &Value, agent: &str) {
        let Some(by) = change.get("by") else {
            assert!(change["unknown"].is_string(), "{change}");
            return;
        };
        let interval: [f64; 2] = serde_json::from_value(by["interval"].clone()).unwrap();
        let value = by["value"].as_f64().unwrap();
        assert!(holds(interval, value), "{change}");
        let is_significant = by["p"].as_f64().is_some_and(|p| p <= WEEKLY_LEVEL);
        assert!(!is_significant || agent == self.ledger.bad_release.agent, "{agent}: {change}");
    }

    fn variant(
        &self,
        mut variant: Part,
        (agent, is_its): (&str, &impl Fn(&Planted) -> bool),
        of: impl Fn(&Planted) -> String,
    ) {
        let name = variant.take("name").as_str().unwrap().to_owned();
        let sessions = self.in_both(|it| is_its(it) && of(it) == name);
        assert_eq!(variant.take("n"), json!(sessions.len()), "{name}");
        let day = |(_, it): &(&str, &Planted)| it.last.split('T').next().unwrap().to_owned();
        let first = sessions.iter().map(day).min().unwrap();
        assert_eq!(variant.take("first_day"), json!(first));
        let values = self.overall_of(&sessions);
        self.figures(variant.take("marks"), &values);
        let against = variant.take("against");
        let is_earlier = |(_, it): &(&str, &Planted)| json!(of(it)) == against;
        assert!(against.is_null() || self.in_both(is_its).iter().any(is_earlier), "{against}");
        self.direction(&variant.take("change"), agent);
        variant.all_checked();
    }

    fn cost(&self, mut cost: Part, sessions: &[(&str, &Planted)]) {
        let sum = |of: &[(&str, &Planted)]| of.iter().map(|(it, _)| self.costs[*it]).sum::<f64>();
        let all = self.in_both(|it| it.week == self.week);
        let close = |said: Value, is: f64| {
            assert!((said.as_f64().unwrap() - is).abs() < 1e-6, "{said} is said, {is} is true");
        };
        close(cost.take("total"), sum(sessions));
        close(cost.take("per_session"), sum(sessions) / sessions.len() as f64);
        close(cost.take("share"), sum(sessions) / sum(&all));
        assert_eq!(cost.take("n"), json!(sessions.len()));
        cost.all_checked();
    }

    /// Checks the days and returns the number of their sessions.
    pub(super) fn days(&self, days: Vec<Value>) -> usize {
        let mut sum = 0;
        for day in days {
            let mut day = Part::of("day", day);
            let date = day.take("day").as_str().unwrap().to_owned();
            let of_day = self.in_both(|it| it.last.starts_with(&date));
            let n = usize::try_from(day.take("n").as_u64().unwrap()).unwrap();
            assert!(n > 0 && n <= of_day.len(), "{date}: {n} of {}", of_day.len());
            let mean = day.take("mean").as_f64().unwrap();
            let interval: Option<[f64; 2]> = serde_json::from_value(day.take("interval")).unwrap();
            assert!(interval.is_none_or(|interval| holds(interval, mean)), "{date}");
            day.all_checked();
            sum += n;
        }
        sum
    }
}
