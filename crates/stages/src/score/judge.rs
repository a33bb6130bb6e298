use ratchet_core::evidence::Evidence;
use ratchet_core::money::Money;
use ratchet_core::offline::{self, Peers};
use ratchet_core::rubric::Rubric;
use ratchet_core::verdict::Verdict;

/// Who judges.
#[derive(Clone, Debug)]
pub enum Judge {
    /// Nobody but the program itself, by the session's own signals.
    Offline,
}

/// What a judge said of a session, and what that took.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// What it said.
    pub verdict: Verdict,
    /// How far the chunks were apart, by dimension, where there were several.
    pub spreads: Vec<(String, f64)>,
    /// How many chunks were judged.
    pub chunks: u64,
    /// The hash of all that the judge was told; `None` if it was told nothing.
    pub prompt_hash: Option<String>,
    /// What it cost.
    pub cost: Money,
}

impl Judged {
    /// How far the chunks were apart in a dimension; `None` if there was one only.
    pub fn spread(&self, dimension: &str) -> Option<f64> {
        self.spreads.iter().find(|(name, _)| name == dimension).map(|(_, spread)| *spread)
    }
}

impl Judge {
    /// What it is called.
    pub fn name(&self) -> &str {
        match self {
            Self::Offline => "offline",
        }
    }

    /// Whether it costs anything.
    pub fn wants_money(&self) -> bool {
        match self {
            Self::Offline => false,
        }
    }

    pub(super) fn judge(&self, rubric: &Rubric, evidence: &Evidence) -> Judged {
        match self {
            Self::Offline => Judged {
                verdict: offline::judge(rubric, evidence, &Peers::default()),
                spreads: Vec::new(),
                chunks: 1,
                prompt_hash: None,
                cost: Money::ZERO,
            },
        }
    }
}
