use serde::{Deserialize, Serialize};

/// Share of traffic per unit of effort from which on a priority is high.
const HIGH: f64 = 0.02;
/// The same for medium.
const MEDIUM: f64 = 0.005;

/// A priority as a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PriorityBand {
    Low,
    Medium,
    High,
}

impl PriorityBand {
    /// Returns the band of a priority: impact divided by effort.
    pub fn of(priority: f64) -> Self {
        if priority >= HIGH {
            Self::High
        } else if priority >= MEDIUM {
            Self::Medium
        } else {
            Self::Low
        }
    }

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }

    /// Returns the word in capitals.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Low => "LOW",
            Self::Medium => "MEDIUM",
            Self::High => "HIGH",
        }
    }
}
