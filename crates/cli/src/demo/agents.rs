//! Who takes part: models, agents with their releases, and users.

use ratchet_core::time::Timestamp;

use super::seeded_random::Chance;
use super::timeline::{Rhythm, Timeline};

/// A model and how it behaves on an ordinary day.
#[derive(Debug)]
pub(crate) struct Model {
    /// As the provider names it.
    pub(crate) name: &'static str,
    /// Who serves it, in the words of the OpenTelemetry conventions.
    pub(crate) provider: &'static str,
    /// Milliseconds to the first token, at the median.
    pub(crate) first_token_ms: f64,
    /// Output tokens a second.
    pub(crate) speed: f64,
    /// Whether its provider charges for writing to the prompt cache.
    pub(crate) caching: Caching,
    /// Tokens of reasoning for each token of answer.
    pub(crate) reasoning: f64,
}

/// How a provider counts cached prompt tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Caching {
    /// Only what was read from the cache is reported.
    Reads,
    /// What was written to the cache is reported too.
    ReadsAndWrites,
    /// There is no cache.
    Off,
}

const fn claude(name: &'static str, first_token_ms: f64, speed: f64) -> Model {
    let caching = Caching::ReadsAndWrites;
    Model { name, provider: "anthropic", first_token_ms, speed, caching, reasoning: 0.0 }
}

/// Anthropic's largest everyday model: leads coding.
pub(crate) static OPUS: Model = claude("claude-opus-5", 1_450.0, 58.0);
/// The same without a prompt cache: every call pays for its whole prompt.
pub(crate) static OPUS_UNCACHED: Model =
    Model { caching: Caching::Off, ..claude("claude-opus-5", 1_450.0, 58.0) };
/// Anthropic's middle model: leads coding.
pub(crate) static SONNET: Model = claude("claude-sonnet-5", 900.0, 82.0);
/// Anthropic's small model: explores code.
pub(crate) static HAIKU: Model = claude("claude-haiku-4-5-20251001", 420.0, 150.0);
/// OpenAI's middle model: answers customers, thinking first.
pub(crate) static TERRA: Model = Model {
    name: "gpt-5.6-terra",
    provider: "openai",
    first_token_ms: 780.0,
    speed: 95.0,
    caching: Caching::Reads,
    reasoning: 0.6,
};
/// OpenAI's small model: sorts requests.
pub(crate) static LUNA: Model = Model {
    name: "gpt-5.6-luna",
    provider: "openai",
    first_token_ms: 310.0,
    speed: 190.0,
    caching: Caching::Reads,
    reasoning: 0.0,
};
/// Google's quick model: reads web pages.
pub(crate) static FLASH: Model = Model {
    name: "gemini-3.7-flash",
    provider: "gcp.gemini",
    first_token_ms: 380.0,
    speed: 210.0,
    caching: Caching::Reads,
    reasoning: 0.3,
};
pub(crate) static EMBEDDING: Model = Model {
    name: "text-embedding-3-small",
    provider: "openai",
    first_token_ms: 70.0,
    speed: 1e9,
    caching: Caching::Off,
    reasoning: 0.0,
};

/// How an agent's spans are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Convention {
    /// The `langfuse.*` attributes of its SDKs.
    Langfuse,
    /// The `gen_ai.*` attributes of OpenTelemetry.
    GenAi,
    ClaudeCode,
}

/// An agent: the unit that is scored, gated and promoted.
#[derive(Debug)]
pub(crate) struct Agent {
    pub(crate) name: &'static str,
    pub(crate) convention: Convention,
    /// The prompt it runs on, where it says so.
    pub(crate) prompt: Option<&'static str>,
    pub(crate) model: &'static Model,
    /// The model of its sub-agents and small tasks.
    pub(crate) helper: &'static Model,
    /// Oldest first.
    pub(crate) releases: &'static [Release],
    pub(crate) rhythm: Rhythm,
    /// The first of its users in the list of names, and how many there are.
    pub(crate) users: (usize, u32),
    pub(crate) sessions_per_day: f64,
}

/// One release of an agent.
#[derive(Debug)]
pub(crate) struct Release {
    pub(crate) version: &'static str,
    pub(crate) prompt_version: u64,
    /// When it went to production, in hours since the second week began.
    pub(crate) hour: i64,
    /// Whether it is the planted bad release.
    pub(crate) is_bad: bool,
}

const fn release(version: &'static str, prompt_version: u64, hour: i64) -> Release {
    Release { version, prompt_version, hour, is_bad: false }
}

const LONG_AGO: i64 = -10_000;

/// Answers the customers of Kettle & Crane, a shop for kitchen machines. Release 4.8.0, out from
/// Tuesday to Friday of the second week, calls the order tool with an argument it does not have.
pub(crate) static SUPPORT: Agent = Agent {
    name: "support-desk",
    convention: Convention::Langfuse,
    prompt: Some("support-desk/system"),
    model: &TERRA,
    helper: &LUNA,
    releases: &[
        release("4.7.2", 2, LONG_AGO),
        Release { version: "4.8.0", prompt_version: 3, hour: 2 * 24 + 9, is_bad: true },
        release("4.8.1", 4, 5 * 24 + 16),
    ],
    rhythm: Rhythm::Home,
    users: (0, 140),
    sessions_per_day: 13.0,
};
/// Looks things up and writes briefs, for people and for other agents.
pub(crate) static RESEARCH: Agent = Agent {
    name: "research-desk",
    convention: Convention::GenAi,
    prompt: None,
    model: &SONNET,
    helper: &FLASH,
    releases: &[release("1.11.0", 3, LONG_AGO), release("1.11.1", 3, 24 + 10)],
    rhythm: Rhythm::Office,
    users: (140, 14),
    sessions_per_day: 4.5,
};
/// Answers questions about the shop from its warehouse, and costs more than the others together.
pub(crate) static ANALYST: Agent = Agent {
    name: "data-analyst",
    convention: Convention::GenAi,
    prompt: None,
    model: &OPUS_UNCACHED,
    helper: &HAIKU,
    releases: &[release("0.9.4", 1, LONG_AGO), release("0.9.5", 1, -3 * 24)],
    rhythm: Rhythm::Office,
    users: (154, 12),
    sessions_per_day: 4.5,
};
/// Writes code with a developer in a terminal.
pub(crate) static CODING: Agent = Agent {
    name: "claude-code",
    convention: Convention::ClaudeCode,
    prompt: None,
    model: &SONNET,
    helper: &HAIKU,
    releases: &[release("2.1.325", 1, LONG_AGO), release("2.1.331", 1, 24 + 8)],
    rhythm: Rhythm::Office,
    users: (166, 7),
    sessions_per_day: 1.6,
};
pub(crate) static AGENTS: [&Agent; 4] = [&SUPPORT, &RESEARCH, &ANALYST, &CODING];

/// How long before production a release runs in beta, in hours.
const BETA_LEAD: i64 = 24;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Environment {
    Beta,
    Prod,
}

impl Environment {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Beta => "beta",
            Self::Prod => "prod",
        }
    }
}

impl Agent {
    /// Returns the release that ran at a moment; beta gets each a day before production.
    pub(crate) fn release_at(
        &'static self,
        timeline: &Timeline,
        at: Timestamp,
        environment: Environment,
    ) -> &'static Release {
        let lead = match environment {
            Environment::Beta => BETA_LEAD,
            Environment::Prod => 0,
        };
        let is_out = |release: &&Release| timeline.at_hour(release.hour - lead) <= at;
        static NONE: Release = release("0.0.0", 0, 0);
        self.releases.iter().rev().find(is_out).or(self.releases.first()).unwrap_or(&NONE)
    }
}

const GIVEN: [&str; 28] = [
    "Mira", "Tomas", "Ifeoma", "Jonas", "Leila", "Piotr", "Hana", "Diego", "Saoirse", "Kwame",
    "Anika", "Rafael", "Yuki", "Elena", "Marcus", "Noor", "Bram", "Chiara", "Omar", "Freya",
    "Luca", "Priya", "Sven", "Amara", "Theo", "Katya", "Idris", "Mei",
];
const FAMILY: [&str; 20] = [
    "Okafor",
    "Lindqvist",
    "Moreau",
    "Tanaka",
    "Alvarez",
    "Novak",
    "Haddad",
    "Byrne",
    "Kowalski",
    "Mensah",
    "Rossi",
    "Iyer",
    "Petrov",
    "Larsen",
    "Costa",
    "Weber",
    "Diallo",
    "Sato",
    "Marsh",
    "Vega",
];

/// A user of an agent.
#[derive(Clone, Debug)]
pub(crate) struct Person {
    pub(crate) given: &'static str,
    /// The user id that agents record.
    pub(crate) id: String,
}

/// Returns one of an agent's users. A seed decides who comes, not who exists.
pub(crate) fn person(chance: &mut Chance, agent: &Agent) -> Person {
    let (first, many) = agent.users;
    // The product favours the first few: some people come back often.
    let share = chance.unit() * chance.unit();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share of at most 140 people"
    )]
    let nth = first + (share * f64::from(many)) as usize;
    let given = GIVEN.get(nth % GIVEN.len()).copied().unwrap_or("Mira");
    // Both steps share no factor with the number of names, so that nobody has a namesake.
    let family = (nth * 7 + nth / GIVEN.len()) % FAMILY.len();
    let family = FAMILY.get(family).copied().unwrap_or("Marsh");
    Person { given, id: format!("{}.{}", given.to_lowercase(), family.to_lowercase()) }
}
