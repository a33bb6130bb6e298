//! Texts and planning values of the signal matrix, read from a data file.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

use super::category::Category;

const SHIPPED: &str = include_str!("../../review/categories.toml");

/// What a category of traces is about.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CategoryGuide {
    pub title: String,
    /// Share of correct answers to plan with.
    pub expected: f64,
    pub teaches: String,
    /// What to do on a finding.
    pub action: String,
}

static GUIDES: LazyLock<BTreeMap<Category, CategoryGuide>> =
    LazyLock::new(|| toml::from_str(SHIPPED).unwrap_or_default());

/// Returns the guide of a category.
pub fn guide(category: Category) -> Option<&'static CategoryGuide> {
    GUIDES.get(&category)
}

/// Returns the expected accuracy of a category; one half where none is known.
pub fn expected(category: Category) -> f64 {
    guide(category).map_or(0.5, |guide| guide.expected)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_category_has_its_texts_and_a_share_to_plan_with() {
        let read: BTreeMap<Category, CategoryGuide> = toml::from_str(SHIPPED).unwrap();
        for category in Category::ALL {
            let guide = &read[&category];
            assert!((0.0..=1.0).contains(&guide.expected), "{category}");
            assert!(!guide.title.is_empty() && !guide.teaches.is_empty(), "{category}");
            assert!(guide.action.ends_with('.'), "{category}");
        }
    }
}
