//! Alerts: what changed its state in the weekly review, once per change.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::metrics::{Standing, WeeklyMetric};
use super::phase_rules::RuleState;
use super::split_proposal::SplitProposal;
use super::weekly::{WeeklyMetrics, interval_text, value_text};
use crate::message::{Message, MessageLine, MessageSection};
use crate::time::Timestamp;

const SHIPPED: &str = include_str!("../../review/alerts.toml");
/// A sample that is not reviewed after a week is overdue: the next one is drawn then.
const OVERDUE_NANOS: i64 = 7 * 24 * 60 * 60 * 1_000_000_000;
/// Changes that a message describes in full; push services take few bytes.
const MAX_LISTED: usize = 5;

/// States by subject, as they were last known.
pub type AlertStates = BTreeMap<String, String>;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct AlertText {
    kind: String,
    metric: Option<String>,
    state: String,
    title: String,
    text: String,
    action: String,
}

#[derive(Deserialize)]
struct AlertFile {
    alert: Vec<AlertText>,
}

static TEXTS: LazyLock<Vec<AlertText>> = LazyLock::new(|| {
    toml::from_str::<AlertFile>(SHIPPED).map_or_else(|_| Vec::new(), |file| file.alert)
});

/// The state of something that people are alerted about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObservedState {
    /// Such as `metric/agent_accuracy`, `rule/judge-accuracy` or `review/2026-11-08`.
    pub subject: String,
    pub state: &'static str,
    /// What texts say of it, by placeholder.
    facts: BTreeMap<&'static str, String>,
}

/// A change of state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AlertChange {
    pub subject: String,
    /// `None` where nothing was known.
    pub from: Option<String>,
    pub state: String,
    /// The notification; `None` for a change that is no news, such as the first good state. Stored
    /// changes may have its former name.
    #[serde(alias = "told")]
    pub news: Option<AlertNews>,
}

/// The notification of a change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AlertNews {
    pub title: String,
    pub text: String,
    /// What to do next.
    pub action: String,
}

/// What a week's metrics and rules are; nothing while the week is provisional. What is unknown
/// has no state: it neither confirms nor ends the last one.
pub fn observed(metrics: &WeeklyMetrics) -> Vec<ObservedState> {
    if metrics.provisional {
        return Vec::new();
    }
    let week = &metrics.scope.week;
    let known = metrics.metrics.iter().filter(|one| one.standing != Standing::CannotTell);
    let of_metric = known.map(|metric| observed_metric(metric, week));
    let of_rule = metrics.signals.iter().filter_map(|signal| {
        let state = match signal.state {
            RuleState::On => "on",
            RuleState::Off => "off",
            RuleState::Possible | RuleState::Unknown => return None,
        };
        let facts = [("name", &signal.title), ("week", week), ("action", &signal.action)];
        let facts = facts.map(|(name, text)| (name, text.clone())).into();
        Some(ObservedState { subject: format!("rule/{}", signal.name), state, facts })
    });
    of_metric.chain(of_rule).collect()
}

fn observed_metric(metric: &WeeklyMetric, week: &str) -> ObservedState {
    let name = metric.name;
    let value = metric.weighted.value.map(|value| value_text(name, value)).unwrap_or_default();
    let interval = metric.weighted.interval.map(|ends| interval_text(name, ends));
    let facts = [
        ("name", name.title().to_owned()),
        ("value", value),
        ("interval", interval.unwrap_or_default()),
        ("target", value_text(name, metric.target)),
        ("week", week.to_owned()),
    ];
    let subject = format!("metric/{}", name.as_str());
    ObservedState { subject, state: metric.standing.as_str(), facts: facts.into() }
}

/// Whether a week's sample is reviewed in time.
pub fn review(metrics: &WeeklyMetrics, drawn_at: Timestamp, now: Timestamp) -> ObservedState {
    let week = &metrics.scope.week;
    let state = match metrics.provisional {
        false => "done",
        true if now.since(drawn_at) >= OVERDUE_NANOS => "overdue",
        true => "open",
    };
    let facts = [
        ("week", week.clone()),
        ("done", metrics.drawn_reviewed.to_string()),
        ("drawn", metrics.drawn.to_string()),
    ];
    ObservedState { subject: format!("review/{week}"), state, facts: facts.into() }
}

/// Whether the reviews of a quarter (such as `2026-Q4`) propose another split.
pub fn split(proposal: &SplitProposal, quarter: &str) -> Option<ObservedState> {
    let (split, current) = (proposal.proposed?, proposal.current?);
    let value = format!(
        "{} flagged and {} quiet traces instead of {} and {}",
        split.flagged, split.quiet, current.flagged, current.quiet
    );
    let week = proposal.from.clone().unwrap_or_default();
    let facts = [("value", value), ("week", week)].into();
    Some(ObservedState { subject: format!("split/{quarter}"), state: "proposed", facts })
}

/// Returns what changed since the last known states.
pub fn changes(known: &AlertStates, observed: &[ObservedState]) -> Vec<AlertChange> {
    let is_new = |one: &&ObservedState| known.get(&one.subject).is_none_or(|was| was != one.state);
    let change = |one: &ObservedState| {
        let from = known.get(&one.subject).cloned();
        // A first good state is no news.
        let is_news = from.is_some() || !matches!(one.state, "met" | "off");
        let news = is_news.then(|| one.news()).flatten();
        AlertChange { subject: one.subject.clone(), from, state: one.state.to_owned(), news }
    };
    observed.iter().filter(is_new).map(change).collect()
}

impl ObservedState {
    fn news(&self) -> Option<AlertNews> {
        let (kind, name) = self.subject.split_once('/')?;
        let applies = |text: &&AlertText| {
            text.kind == kind
                && text.state == self.state
                && text.metric.as_deref().is_none_or(|metric| metric == name)
        };
        let text = TEXTS.iter().find(applies)?;
        Some(AlertNews {
            title: self.filled(&text.title),
            text: self.filled(&text.text),
            action: self.filled(&text.action),
        })
    }

    fn filled(&self, template: &str) -> String {
        let replace = |text: String, (name, value): (&&str, &String)| {
            text.replace(&format!("{{{name}}}"), value)
        };
        self.facts.iter().fold(template.to_owned(), replace)
    }
}

/// Where an alert comes from.
#[derive(Clone, Copy, Debug)]
pub struct AlertSource<'a> {
    pub project: &'a str,
    /// `None` for traces without an agent.
    pub agent: Option<&'a str>,
    pub week: &'a str,
    /// Public URL of the server, without a trailing slash.
    pub server: &'a str,
}

/// Returns the message about changes; `None` if none is news.
pub fn message(event: &str, source: AlertSource<'_>, changes: &[AlertChange]) -> Option<Message> {
    let news: Vec<(&AlertChange, &AlertNews)> =
        changes.iter().filter_map(|change| Some((change, change.news.as_ref()?))).collect();
    let (_, first) = news.first()?;
    let about = source.agent.map_or_else(String::new, |agent| format!("{agent}: "));
    let title = match news.len() {
        1 => format!("{about}{}", first.title),
        many => format!("{about}{} (and {} more)", first.title, many - 1),
    };
    let path = format!("/project/{}/metrics", source.project);
    let url = format!("{}{path}", source.server);
    let text = format!("{} {}", first.text, first.action);
    let section = |(_, news): &(&AlertChange, &AlertNews)| MessageSection {
        title: Some(news.title.clone()),
        lines: vec![MessageLine::Item(news.text.clone()), MessageLine::Item(news.action.clone())],
    };
    let facts = |(change, news): &(&AlertChange, &AlertNews)| {
        json!({
            "subject": change.subject,
            "from": change.from,
            "state": change.state,
            "title": news.title,
            "text": news.text,
            "action": news.action,
        })
    };
    let data = json!({
        "project": source.project,
        "agent": source.agent,
        "week": source.week,
        "title": title,
        "text": text,
        "changes": news.iter().take(MAX_LISTED).map(facts).collect::<Vec<Value>>(),
        "more": news.len().saturating_sub(MAX_LISTED),
        "path": path,
        "url": url,
    });
    let sections = news.iter().map(section).collect();
    Some(Message { event: event.to_owned(), title, text, sections, link: Some(url), data })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::review::metrics::WeekFacts;
    use crate::review::weekly::MetricsScope;

    fn week(thumbs: (u64, u64), drawn: u64) -> WeeklyMetrics {
        let (thumbs_up, thumbs_down) = thumbs;
        let facts =
            WeekFacts { traces: 500, thumbs_up, thumbs_down, drawn, ..WeekFacts::default() };
        let scope = MetricsScope { week: "2026-11-08".to_owned(), ..MetricsScope::default() };
        WeeklyMetrics::new(scope, &facts, None)
    }

    const SATISFACTION: &str = "metric/user_satisfaction";

    fn after(known: &mut AlertStates, metrics: &WeeklyMetrics) -> Vec<AlertChange> {
        let changes = changes(known, &observed(metrics));
        for change in &changes {
            known.insert(change.subject.clone(), change.state.clone());
        }
        changes
    }

    fn news_of<'a>(changes: &'a [AlertChange], subject: &str) -> Option<&'a AlertNews> {
        changes.iter().find(|change| change.subject == subject)?.news.as_ref()
    }

    #[test]
    fn a_change_of_state_is_told_once_with_what_to_do() {
        let mut known = AlertStates::new();
        let good = after(&mut known, &week((300, 10), 0));
        assert_eq!(news_of(&good, SATISFACTION), None, "a first good state is no news");
        let bad = after(&mut known, &week((100, 200), 0));
        let news = news_of(&bad, SATISFACTION).unwrap();
        assert_eq!(news.title, "User satisfaction: target not met");
        assert!(news.text.starts_with("33.3% (") && news.text.ends_with("the target is 80.0%."));
        assert!(news_of(&bad, "rule/user-satisfaction").unwrap().action.contains("thumbs down"));
        assert_eq!(after(&mut known, &week((100, 200), 0)), [], "nothing changed");
        // Too few thumbs to tell: the last state stays.
        assert_eq!(after(&mut known, &week((4, 2), 0)), []);
        let again = after(&mut known, &week((300, 10), 0));
        assert!(news_of(&again, SATISFACTION).unwrap().title.ends_with("target met again"));
    }

    #[test]
    fn a_provisional_week_says_nothing_until_it_is_overdue() {
        let open = week((100, 200), 50);
        assert_eq!(observed(&open), []);
        let day = 86_400 * 1_000_000_000;
        let drawn_at = Timestamp::from_nanos(0);
        let state = |days: i64| review(&open, drawn_at, Timestamp::from_nanos(days * day));
        assert_eq!((state(6).state, state(7).state), ("open", "overdue"));
        let late = changes(&AlertStates::new(), &[state(8)]);
        let news = late[0].news.as_ref().unwrap();
        assert_eq!(news.title, "The review of the week of 2026-11-08 is overdue");
        assert!(news.text.starts_with("0 of 50 traces are reviewed"));
        assert_eq!(changes(&AlertStates::new(), &[state(1)])[0].news, None);
    }

    #[test]
    fn every_text_is_complete_and_a_message_stays_small() {
        let worst = week((0, 400), 0);
        let all = changes(&AlertStates::new(), &observed(&worst));
        let agent = "x".repeat(200);
        let source = AlertSource {
            project: "p",
            agent: Some(&agent),
            week: "2026-11-08",
            server: "http://s",
        };
        let message = message("review.alert", source, &all).unwrap();
        let payload = message.payload(Timestamp::from_nanos(0)).to_string();
        assert!(payload.len() < 3_500 && !payload.contains("{name}"), "{payload}");
        assert!(TEXTS.len() >= 9, "the file can be read");
    }
}
