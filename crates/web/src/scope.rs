//! The scope of a page: environment, agent and time range, stored in the URL.

use ratchet_core::time::Timestamp;
use ratchet_store::query::TimeRange;

/// Environment, agent and time range of a page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scope {
    /// Only this environment.
    pub environment: Option<String>,
    /// Only this agent.
    pub agent: Option<String>,
    /// Only this time.
    pub span: Span,
}

/// A time range, relative to now or absolute.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Span {
    Hour,
    Day,
    /// The last seven days.
    #[default]
    Week,
    /// The last thirty days.
    Month,
    /// The last ninety days.
    Quarter,
    All,
    /// From one moment to another.
    Between(Timestamp, Timestamp),
}

const HOUR: i64 = 3_600 * 1_000_000_000;

impl Span {
    /// Selectable ranges, shortest first.
    pub const CHOICES: [Self; 6] =
        [Self::Hour, Self::Day, Self::Week, Self::Month, Self::Quarter, Self::All];

    /// Value of the URL parameter.
    pub fn word(self) -> String {
        match self {
            Self::Hour => "1h".to_owned(),
            Self::Day => "24h".to_owned(),
            Self::Week => "7d".to_owned(),
            Self::Month => "30d".to_owned(),
            Self::Quarter => "90d".to_owned(),
            Self::All => "all".to_owned(),
            Self::Between(from, to) => format!("{from}..{to}"),
        }
    }

    /// Parses the URL parameter.
    pub fn parse(word: &str) -> Option<Self> {
        if let Some((from, to)) = word.split_once("..") {
            let (from, to) = (Timestamp::parse(from).ok()?, Timestamp::parse(to).ok()?);
            return (from < to).then_some(Self::Between(from, to));
        }
        Self::CHOICES.into_iter().find(|span| span.word() == word)
    }

    pub fn label(self) -> String {
        match self {
            Self::Hour => "last hour".to_owned(),
            Self::Day => "last 24 hours".to_owned(),
            Self::Week => "last 7 days".to_owned(),
            Self::Month => "last 30 days".to_owned(),
            Self::Quarter => "last 90 days".to_owned(),
            Self::All => "all time".to_owned(),
            Self::Between(from, to) => {
                let day = ratchet_core::calendar::day;
                format!("{} to {}", day(from), day(to))
            }
        }
    }

    /// Phrase for sentences: `in the last 7 days`, `in all time`.
    pub fn within(self) -> String {
        match self {
            Self::All => "in all time".to_owned(),
            Self::Between(..) => format!("from {}", self.label()),
            Self::Hour | Self::Day | Self::Week | Self::Month | Self::Quarter => {
                format!("in the {}", self.label())
            }
        }
    }

    /// Absolute time range at the given time.
    pub fn range(self, now: Timestamp) -> TimeRange {
        let back = |hours: i64| TimeRange { from: Some(now.plus_nanos(-hours * HOUR)), to: None };
        match self {
            Self::Hour => back(1),
            Self::Day => back(24),
            Self::Week => back(7 * 24),
            Self::Month => back(30 * 24),
            Self::Quarter => back(90 * 24),
            Self::All => TimeRange::default(),
            Self::Between(from, to) => TimeRange { from: Some(from), to: Some(to) },
        }
    }

    /// The previous period of the same length; `None` for all time.
    ///
    /// It ends at a full hour: rollups are hourly, and the hour in which this range starts counts
    /// for this range only.
    pub fn before(self, now: Timestamp) -> Option<TimeRange> {
        let range = self.range(now);
        let from = range.from?;
        let length = range.to.unwrap_or(now).since(from);
        let to = from.plus_nanos(-from.nanos().rem_euclid(HOUR));
        Some(TimeRange { from: Some(to.plus_nanos(-length)), to: Some(to) })
    }
}

impl Scope {
    /// Parses the scope from query parameters. Invalid values are ignored, so that a damaged link
    /// still shows a page.
    pub fn read<'a>(pairs: impl Iterator<Item = (&'a str, &'a str)>) -> Self {
        let mut scope = Self::default();
        for (name, value) in pairs {
            match name {
                "env" if !value.is_empty() => scope.environment = Some(value.to_owned()),
                "agent" if !value.is_empty() => scope.agent = Some(value.to_owned()),
                "range" => scope.span = Span::parse(value).unwrap_or_default(),
                _ => {}
            }
        }
        scope
    }

    /// Query parameters of the scope, without defaults.
    pub fn pairs(&self) -> Vec<(&'static str, String)> {
        let mut pairs = Vec::new();
        pairs.extend(self.environment.clone().map(|value| ("env", value)));
        pairs.extend(self.agent.clone().map(|value| ("agent", value)));
        if self.span != Span::default() {
            pairs.push(("range", self.span.word()));
        }
        pairs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scope_survives_the_url() {
        let from = Timestamp::from_millis(1_700_000_000_000);
        let between = Span::Between(from, from.plus_nanos(HOUR));
        for span in Span::CHOICES.into_iter().chain([between]) {
            let scope = Scope { environment: Some("prod".into()), agent: None, span };
            let pairs = scope.pairs();
            let again = Scope::read(pairs.iter().map(|(name, value)| (*name, value.as_str())));
            assert_eq!(again, scope);
        }
    }

    #[test]
    fn nonsense_in_the_url_is_the_default() {
        let read = |pair| Scope::read([pair].into_iter());
        assert_eq!(read(("range", "yesterday")), Scope::default());
        assert_eq!(read(("range", "2026-01-02T00:00:00Z..2026-01-01T00:00:00Z")), Scope::default());
        assert_eq!(read(("env", "")), Scope::default());
    }

    #[test]
    fn the_time_before_is_as_long() {
        let now = Timestamp::from_millis(1_700_000_000_000);
        let before = Span::Day.before(now).unwrap();
        let (to, from) = (before.to.unwrap(), Span::Day.range(now).from.unwrap());
        assert!((0..HOUR).contains(&from.since(to)), "{to} {from}");
        assert_eq!(to.nanos() % HOUR, 0, "no hour counts on both sides");
        assert_eq!(to.since(before.from.unwrap()), 24 * HOUR);
        assert_eq!(Span::All.before(now), None);
    }
}
