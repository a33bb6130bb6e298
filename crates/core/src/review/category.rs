use std::fmt;

use serde::{Deserialize, Serialize};

/// The judge's score from which on a trace counts as good.
pub const GOOD_FROM: f64 = 0.5;

/// A cell of the signal matrix: user feedback by judge verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Category {
    /// Thumbs down, judge bad.
    W1,
    /// Thumbs down, judge good.
    W2,
    /// Thumbs up, judge bad.
    W3,
    /// Thumbs up, judge good.
    W4,
    /// No feedback, judge bad.
    W5,
    /// No feedback, judge good.
    W6,
    /// Thumbs down, not judged.
    U1,
    /// Thumbs up, not judged.
    U2,
    /// No feedback, not judged.
    U3,
}

impl Category {
    pub const ALL: [Self; 9] =
        [Self::W1, Self::W2, Self::W3, Self::W4, Self::W5, Self::W6, Self::U1, Self::U2, Self::U3];

    /// Returns the category of a trace: its latest thumb and the judge's score.
    ///
    /// ```
    /// use ratchet_core::review::category::Category;
    /// assert_eq!(Category::of(Some(false), Some(0.5)), Category::W2);
    /// ```
    pub fn of(thumb: Option<bool>, quality: Option<f64>) -> Self {
        let good = quality.filter(|quality| !quality.is_nan()).map(|quality| quality >= GOOD_FROM);
        match (thumb, good) {
            (Some(false), Some(false)) => Self::W1,
            (Some(false), Some(true)) => Self::W2,
            (Some(true), Some(false)) => Self::W3,
            (Some(true), Some(true)) => Self::W4,
            (None, Some(false)) => Self::W5,
            (None, Some(true)) => Self::W6,
            (Some(false), None) => Self::U1,
            (Some(true), None) => Self::U2,
            (None, None) => Self::U3,
        }
    }

    /// Returns the user's latest thumb.
    pub const fn thumb(self) -> Option<bool> {
        match self {
            Self::W1 | Self::W2 | Self::U1 => Some(false),
            Self::W3 | Self::W4 | Self::U2 => Some(true),
            Self::W5 | Self::W6 | Self::U3 => None,
        }
    }

    /// Returns the judge's verdict.
    pub const fn judged_good(self) -> Option<bool> {
        match self {
            Self::W1 | Self::W3 | Self::W5 => Some(false),
            Self::W2 | Self::W4 | Self::W6 => Some(true),
            Self::U1 | Self::U2 | Self::U3 => None,
        }
    }

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::W1 => "W1",
            Self::W2 => "W2",
            Self::W3 => "W3",
            Self::W4 => "W4",
            Self::W5 => "W5",
            Self::W6 => "W6",
            Self::U1 => "U1",
            Self::U2 => "U2",
            Self::U3 => "U3",
        }
    }

    /// Parses the API name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|category| category.as_str() == name)
    }

    /// Returns the two signals in words, such as "thumbs down, judge good".
    pub const fn signals(self) -> &'static str {
        match self {
            Self::W1 => "thumbs down, judge bad",
            Self::W2 => "thumbs down, judge good",
            Self::W3 => "thumbs up, judge bad",
            Self::W4 => "thumbs up, judge good",
            Self::W5 => "no feedback, judge bad",
            Self::W6 => "no feedback, judge good",
            Self::U1 => "thumbs down, not judged",
            Self::U2 => "thumbs up, not judged",
            Self::U3 => "no feedback, not judged",
        }
    }
}

impl fmt::Display for Category {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_combination_of_signals_has_a_category_of_its_own() {
        let thumbs = [Some(false), Some(true), None];
        let judged = [Some(0.49), Some(0.5), None];
        let mut seen = Vec::new();
        for thumb in thumbs {
            for quality in judged {
                let category = Category::of(thumb, quality);
                assert_eq!(category.thumb(), thumb);
                assert_eq!(category.judged_good(), quality.map(|quality| quality >= GOOD_FROM));
                assert_eq!(Category::parse(category.as_str()), Some(category));
                seen.push(category);
            }
        }
        seen.sort();
        assert_eq!(seen, Category::ALL);
        assert_eq!(Category::of(None, Some(f64::NAN)), Category::U3, "NaN is no verdict");
    }
}
