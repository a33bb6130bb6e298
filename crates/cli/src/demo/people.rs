//! Who takes part: models, agents with their releases, and people.

use ratchet_core::time::Timestamp;

use super::rhythm::{Rhythm, Week};
use super::seeded_random::Chance;

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

/// Anthropic's largest everyday model: leads research and coding.
pub(crate) static OPUS: Model = claude("claude-opus-5", 1_450.0, 58.0);
/// Anthropic's middle model: plans trips.
pub(crate) static SONNET: Model = claude("claude-sonnet-5", 900.0, 82.0);
/// Anthropic's small model: scouts and explores.
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
    /// How its spans are written.
    pub(crate) convention: Convention,
    /// The prompt it runs on, where it says so.
    pub(crate) prompt: Option<&'static str>,
    /// Its releases, oldest first.
    pub(crate) releases: &'static [Release],
    /// When its users are awake.
    pub(crate) rhythm: Rhythm,
}

/// One release of an agent.
#[derive(Debug)]
pub(crate) struct Release {
    pub(crate) version: &'static str,
    /// The version of the prompt in it.
    pub(crate) prompt_version: u64,
    /// When it went to production, in days before the end of the week.
    pub(crate) days_ago: f64,
    /// Whether it is the one that should not have gone out.
    pub(crate) is_bad: bool,
}

const fn release(version: &'static str, prompt_version: u64, days_ago: f64) -> Release {
    Release { version, prompt_version, days_ago, is_bad: false }
}

/// Answers the customers of Kettle & Crane, a shop for kitchen machines.
pub(crate) static SUPPORT: Agent = Agent {
    name: "support-desk",
    convention: Convention::Langfuse,
    prompt: Some("support-desk/system"),
    releases: &[
        release("4.7.2", 2, 30.0),
        Release { version: "4.8.0", prompt_version: 3, days_ago: 4.1, is_bad: true },
        release("4.8.1", 4, 2.9),
    ],
    rhythm: Rhythm::Home,
};
pub(crate) static TRAVEL: Agent = Agent {
    name: "trip-planner",
    convention: Convention::GenAi,
    prompt: None,
    releases: &[release("2.3.0", 5, 30.0), release("2.4.0", 6, 5.2)],
    rhythm: Rhythm::Home,
};
/// Looks things up and writes briefs, for people and for other agents.
pub(crate) static RESEARCH: Agent = Agent {
    name: "research-desk",
    convention: Convention::GenAi,
    prompt: None,
    releases: &[release("1.11.0", 3, 30.0), release("1.11.1", 3, 1.6)],
    rhythm: Rhythm::Office,
};
/// Writes code with a developer in a terminal.
pub(crate) static CODING: Agent = Agent {
    name: "claude-code",
    convention: Convention::ClaudeCode,
    prompt: None,
    releases: &[release("2.1.325", 1, 30.0)],
    rhythm: Rhythm::Office,
};

/// How long before production a release runs in beta, in days.
const BETA_LEAD_DAYS: f64 = 1.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Beta,
    Prod,
}

impl Place {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Beta => "beta",
            Self::Prod => "prod",
        }
    }
}

impl Agent {
    /// The release that ran at a moment; beta gets each a day before production.
    pub(crate) fn release_at(
        &'static self,
        week: Week,
        at: Timestamp,
        place: Place,
    ) -> &'static Release {
        let lead = match place {
            Place::Beta => BETA_LEAD_DAYS,
            Place::Prod => 0.0,
        };
        let is_out = |release: &&Release| week.days_ago(release.days_ago + lead) <= at;
        static NONE: Release = release("0.0.0", 0, 0.0);
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

/// Someone who talks to an agent.
#[derive(Clone, Debug)]
pub(crate) struct Person {
    pub(crate) given: &'static str,
    /// How the agents know them.
    pub(crate) id: String,
}

/// The same people every time: chance decides who comes, not who exists.
pub(crate) fn person(chance: &mut Chance, crowd: Crowd) -> Person {
    let (first, many) = match crowd {
        Crowd::Customers => (0, 180),
        Crowd::Travellers => (180, 70),
        Crowd::Analysts => (250, 14),
        Crowd::Developers => (264, 7),
    };
    // Squaring favours the first few: some people come back often.
    let share = chance.unit() * chance.unit();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share of at most 180 people"
    )]
    let nth = first + (share * f64::from(many)) as usize;
    let given = GIVEN.get(nth % GIVEN.len()).copied().unwrap_or("Mira");
    let family =
        FAMILY.get(nth / GIVEN.len() * 7 % FAMILY.len() + nth % 2).copied().unwrap_or("Marsh");
    Person { given, id: format!("{}.{}", given.to_lowercase(), family.to_lowercase()) }
}

/// Which people an agent serves.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Crowd {
    /// People with a kettle that leaks.
    Customers,
    /// People who want to be elsewhere.
    Travellers,
    Analysts,
    Developers,
}
