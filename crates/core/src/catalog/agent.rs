//! Agents: what is scored, reviewed, gated and promoted, and who is responsible for it.

use std::collections::BTreeSet;

use super::validation::Invalid;
use crate::calendar::Week;
use crate::promotion::policy::PromotionPolicy;
use crate::review::allocation::HALF_WIDTH;
use crate::time::Timestamp;

/// Agents that a project gets from its traffic. A program that puts an id into its agent's name
/// must not fill the catalog.
pub const MAX_DISCOVERED: usize = 100;
/// Agents that a project can have.
pub const MAX_AGENTS: usize = 500;
/// The longest name of an agent, in characters.
pub const MAX_NAME_CHARS: usize = 200;
/// The most entries of each list of an agent.
pub const MAX_ENTRIES: usize = 50;
/// Traces that people review per week, unless an agent says otherwise.
pub const DEFAULT_REVIEW_CAPACITY: u32 = 50;
/// The largest weekly review capacity.
pub const MAX_REVIEW_CAPACITY: u32 = 10_000;
/// The largest share of spot checks: estimates need the rest.
pub const MAX_SPOT_SHARE: f64 = 0.5;

/// The queue of weekly reviews in a project with one agent; in others its name has the agent's
/// before it.
const WEEKLY_REVIEW: &str = "weekly-review";
const WEEK_NANOS: i64 = 7 * 24 * 60 * 60 * 1_000_000_000;

/// An agent's settings.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentSettings {
    /// Other values of the agent column that mean this agent.
    pub aliases: Vec<String>,
    pub owner: Option<String>,
    /// The people on call, a week each, in order.
    pub on_call: Vec<String>,
    pub environments: Vec<String>,
    /// The name of its review queue; the usual one when `None`.
    pub queue: Option<String>,
    pub datasets: Vec<String>,
    pub targets: AgentTargets,
    /// Traces that people review per week.
    pub review_capacity: u32,
    /// Share of the reviews without feedback for traces that the judge flagged, accepted by a
    /// person; the default split when `None`.
    pub flagged_share: Option<f64>,
    /// Half-width of the accuracy's interval that its samples are planned for.
    pub half_width: f64,
    /// Share of the reviews for spot checks, which count for no estimate.
    pub spot_share: f64,
    pub promotion: PromotionPolicy,
}

/// The targets that an agent's weekly metrics are compared with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AgentTargets {
    pub agent_accuracy: f64,
    pub judge_accuracy: f64,
    pub user_satisfaction: f64,
    pub traces_reviewed: u32,
}

impl Default for AgentTargets {
    fn default() -> Self {
        Self {
            agent_accuracy: 0.9,
            judge_accuracy: 0.85,
            user_satisfaction: 0.8,
            traces_reviewed: 30,
        }
    }
}

impl Default for AgentSettings {
    fn default() -> Self {
        Self {
            aliases: Vec::new(),
            owner: None,
            on_call: Vec::new(),
            environments: Vec::new(),
            queue: None,
            datasets: Vec::new(),
            targets: AgentTargets::default(),
            review_capacity: DEFAULT_REVIEW_CAPACITY,
            flagged_share: None,
            half_width: HALF_WIDTH,
            spot_share: 0.0,
            promotion: PromotionPolicy::default(),
        }
    }
}

impl AgentSettings {
    /// Validates the settings of an agent with this name; trims texts and drops repeats.
    ///
    /// # Errors
    /// Rejects names and entries that are empty, too long or not printable, lists that are too
    /// long, targets outside 0 to 1, and a capacity out of range.
    pub fn checked(self, name: &str) -> Result<Self, Invalid> {
        check_name("name", name)?;
        for (field, target) in [
            ("agentAccuracy", self.targets.agent_accuracy),
            ("judgeAccuracy", self.targets.judge_accuracy),
            ("userSatisfaction", self.targets.user_satisfaction),
        ] {
            if !(0.0..=1.0).contains(&target) {
                return invalid(field, "a number from 0 to 1");
            }
        }
        if self.flagged_share.is_some_and(|share| !(0.0..=1.0).contains(&share)) {
            return invalid("flaggedShare", "a number from 0 to 1");
        }
        if !(self.half_width > 0.0 && self.half_width < 1.0) {
            return invalid("halfWidth", "a number between 0 and 1");
        }
        if !(0.0..=MAX_SPOT_SHARE).contains(&self.spot_share) {
            return invalid("spotShare", format!("a number from 0 to {MAX_SPOT_SHARE}"));
        }
        if !(1..=MAX_REVIEW_CAPACITY).contains(&self.review_capacity) {
            return invalid("reviewCapacity", format!("from 1 to {MAX_REVIEW_CAPACITY}"));
        }
        let aliases = entries("aliases", self.aliases)?;
        if aliases.iter().any(|alias| alias == name) {
            return invalid("aliases", format!("{name} is the agent's own name"));
        }
        Ok(Self {
            aliases,
            owner: entry("owner", self.owner)?,
            on_call: entries("onCall", self.on_call)?,
            environments: entries("environments", self.environments)?,
            queue: entry("queue", self.queue)?,
            datasets: entries("datasets", self.datasets)?,
            promotion: self.promotion.checked()?,
            ..self
        })
    }

    /// Returns the person on call in a week; turns follow the order of the list.
    pub fn on_call_in(&self, week: &Week) -> Option<&str> {
        let people = i64::try_from(self.on_call.len()).ok().filter(|people| *people > 0)?;
        let turn = usize::try_from(week_number(week.start()).rem_euclid(people)).ok()?;
        self.on_call.get(turn).map(String::as_str)
    }

    /// Returns the name of the review queue, in a project with this number of agents.
    pub fn queue_name(&self, agent: &str, agents: usize) -> String {
        match &self.queue {
            Some(queue) => queue.clone(),
            None if agents <= 1 => WEEKLY_REVIEW.to_owned(),
            None => format!("{agent}-{WEEKLY_REVIEW}"),
        }
    }
}

/// The number of a week since 1970. The start of a week lies within a day of midnight UTC in any
/// time zone; half a week later is the same week everywhere.
fn week_number(start: Timestamp) -> i64 {
    start.plus_nanos(WEEK_NANOS / 2).nanos().div_euclid(WEEK_NANOS)
}

/// Returns the dataset for reviewed traces of a month, and the one for those of all time.
///
/// A reviewed trace goes into both: the month's shows what was new, the other one guards against
/// regressions.
pub fn review_datasets(agent: &str, at: Timestamp) -> [String; 2] {
    let month = crate::calendar::month(at);
    [format!("{agent}-eval-{month}"), format!("{agent}-eval-global")]
}

/// Selects the names that become agents: those that no agent has as its name or alias, most
/// frequent first, as many as a project has room for.
pub fn new_agents(
    mut seen: Vec<(String, u64)>,
    known: &BTreeSet<String>,
    agents: usize,
) -> Vec<String> {
    seen.retain(|(name, _)| !known.contains(name) && check_name("name", name).is_ok());
    seen.sort_by(|(one, count), (other, more)| more.cmp(count).then_with(|| one.cmp(other)));
    let room = MAX_DISCOVERED.saturating_sub(agents);
    seen.into_iter().take(room).map(|(name, _)| name).collect()
}

fn check_name(field: &'static str, name: &str) -> Result<(), Invalid> {
    let is_long = name.chars().count() > MAX_NAME_CHARS;
    if name.trim().is_empty() || is_long || name.chars().any(char::is_control) {
        return invalid(field, format!("from 1 to {MAX_NAME_CHARS} printable characters"));
    }
    Ok(())
}

fn entry(field: &'static str, text: Option<String>) -> Result<Option<String>, Invalid> {
    let text = text.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
    text.map(|text| check_name(field, &text).map(|()| text)).transpose()
}

fn entries(field: &'static str, texts: Vec<String>) -> Result<Vec<String>, Invalid> {
    let mut kept: Vec<String> = Vec::new();
    for text in texts {
        let Some(text) = entry(field, Some(text))? else { continue };
        if !kept.contains(&text) {
            kept.push(text);
        }
    }
    if kept.len() > MAX_ENTRIES {
        return invalid(field, format!("at most {MAX_ENTRIES} entries"));
    }
    Ok(kept)
}

fn invalid<T>(field: &'static str, problem: impl Into<String>) -> Result<T, Invalid> {
    Err(Invalid { field, problem: problem.into() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calendar::Zone;

    fn settings(on_call: &[&str]) -> AgentSettings {
        let on_call = on_call.iter().map(|name| (*name).to_owned()).collect();
        AgentSettings { on_call, ..AgentSettings::default() }
    }

    #[test]
    fn each_week_has_the_next_person_on_call_in_every_time_zone() {
        let rota = settings(&["ann", "ben", "cem"]);
        for zone in ["UTC", "Pacific/Kiritimati", "Pacific/Pago_Pago"] {
            let zone = Zone::parse(zone).unwrap();
            let mut week = Week::parse("2026-01-04", &zone).unwrap();
            let mut last = rota.on_call_in(&week).unwrap().to_owned();
            for _ in 0..60 {
                week = week.after();
                let turn = rota.on_call.iter().position(|name| *name == last).unwrap();
                let next = rota.on_call_in(&week).unwrap();
                assert_eq!(next, rota.on_call[(turn + 1) % 3]);
                last = next.to_owned();
            }
        }
        assert_eq!(
            settings(&[]).on_call_in(&Week::parse("2026-01-04", &Zone::utc()).unwrap()),
            None
        );
    }

    #[test]
    fn a_queue_is_named_after_its_agent_where_there_are_several() {
        let usual = AgentSettings::default();
        assert_eq!(usual.queue_name("shop", 1), "weekly-review");
        assert_eq!(usual.queue_name("shop", 2), "shop-weekly-review");
        let own = AgentSettings { queue: Some("mine".to_owned()), ..usual };
        assert_eq!(own.queue_name("shop", 2), "mine");
    }

    #[test]
    fn only_the_most_frequent_unknown_names_become_agents() {
        let seen = (0..100_000_u64).map(|n| (format!("run-{n}"), n)).collect();
        let known = BTreeSet::from(["run-99999".to_owned()]);
        let new = new_agents(seen, &known, 1);
        assert_eq!(new.len(), MAX_DISCOVERED - 1);
        assert_eq!(new[0], "run-99998");
        assert!(new_agents(vec![("a".to_owned(), 1)], &known, MAX_DISCOVERED).is_empty());
        let odd = vec![(" ".to_owned(), 9), ("a\nb".to_owned(), 9), ("x".repeat(201), 9)];
        assert!(new_agents(odd, &known, 0).is_empty());
    }

    #[test]
    fn settings_are_trimmed_and_an_error_names_its_field() {
        let repeats = AgentSettings { aliases: vec![" a ".into(), "a".into()], ..settings(&[""]) };
        let checked = repeats.checked("shop").unwrap();
        assert_eq!((checked.aliases, checked.on_call.len()), (vec!["a".to_owned()], 0));
        let field = |settings: AgentSettings| settings.checked("shop").unwrap_err().field;
        let own = AgentSettings { aliases: vec!["shop".into()], ..AgentSettings::default() };
        assert_eq!(field(own), "aliases");
        let none = AgentSettings { review_capacity: 0, ..AgentSettings::default() };
        assert_eq!(field(none), "reviewCapacity");
        let targets = AgentTargets { judge_accuracy: f64::NAN, ..AgentTargets::default() };
        assert_eq!(field(AgentSettings { targets, ..AgentSettings::default() }), "judgeAccuracy");
        assert_eq!(AgentSettings::default().checked(" ").unwrap_err().field, "name");
    }

    #[test]
    fn a_reviewed_trace_goes_to_the_months_dataset_and_to_the_global_one() {
        let at = Timestamp::parse("2026-11-18T02:00:00Z").unwrap();
        assert_eq!(review_datasets("shop", at), ["shop-eval-2026-11", "shop-eval-global"]);
    }
}
