use serde::Deserialize;

use super::Edit;

/// A template for suggestions with its conditions.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Template {
    /// `*` for any dimension.
    pub dimension: String,
    /// Keywords, one of which an issue must contain; empty matches every issue.
    #[serde(default)]
    pub words: Vec<String>,
    pub edit: Edit,
    /// One line.
    pub title: String,
    /// The text to add; `{issue}` is replaced by the issue.
    pub text: String,
}

/// Templates in order of precedence.
///
/// Invariant: one of them matches everything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Templates(Vec<Template>);

/// Error of parsing a file of templates.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a file of suggestions: {0}")]
pub struct BadTemplate(String);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    suggestion: Vec<Template>,
}

const SHIPPED: &str = include_str!("../../../prompts/suggestions.toml");

impl Templates {
    /// Returns the built-in templates.
    pub fn shipped() -> Self {
        // A test validates the built-in file; if it were broken all the same, the fallback is a
        // text that names the issue.
        let templates = read(SHIPPED).unwrap_or_default();
        Self(templates)
    }

    /// Returns the templates of a user's file, followed by the built-in ones.
    ///
    /// # Errors
    /// Reports the fault.
    pub fn with_overrides(file: &str) -> Result<Self, BadTemplate> {
        let mut templates = read(file)?;
        templates.extend(Self::shipped().0);
        Ok(Self(templates))
    }

    /// Returns the first template for a dimension as a whole.
    pub fn for_dimension(&self, dimension: &str) -> Option<&Template> {
        self.first(dimension, |template| template.words.is_empty())
    }

    /// Returns the first template for an issue, by keyword or generic.
    pub fn for_issue(&self, dimension: &str, key: &str) -> Option<&Template> {
        let has = |word: &String| key.split(' ').any(|known| known.starts_with(word.as_str()));
        self.first(dimension, |template| {
            template.words.is_empty() || template.words.iter().any(has)
        })
    }

    fn first(&self, dimension: &str, fits: impl Fn(&Template) -> bool) -> Option<&Template> {
        let of = |wanted: &str| {
            self.0.iter().find(|template| template.dimension == wanted && fits(template))
        };
        of(dimension).or_else(|| of("*"))
    }
}

fn read(text: &str) -> Result<Vec<Template>, BadTemplate> {
    let file: File = toml::from_str(text).map_err(|error| BadTemplate(error.to_string()))?;
    let is_blank =
        |template: &&Template| template.text.trim().is_empty() || template.title.trim().is_empty();
    match file.suggestion.iter().find(is_blank) {
        Some(blank) => Err(BadTemplate(format!("one for {} says nothing", blank.dimension))),
        None => Ok(file.suggestion),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shipped_fits_every_dimension() {
        let templates = Templates::shipped();
        let six = [
            "task_completion",
            "execution_quality",
            "tool_mastery",
            "resource_efficiency",
            "security_compliance",
            "user_satisfaction",
        ];
        for dimension in six {
            assert_eq!(templates.for_dimension(dimension).unwrap().dimension, dimension);
        }
        assert_eq!(templates.for_dimension("kindness").unwrap().dimension, "*");
    }

    #[test]
    fn keywords_choose_the_template() {
        let templates = Templates::shipped();
        let failing = templates.for_issue("execution_quality", "fail test").unwrap();
        assert_eq!(failing.edit, Edit::Skill);
        let plain = templates.for_issue("execution_quality", "slow walk").unwrap();
        assert!(plain.words.is_empty());
    }

    #[test]
    fn a_users_file_comes_first_and_its_mistakes_are_named() {
        let file = "[[suggestion]]\ndimension = \"tool_mastery\"\nedit = \"prompt\"\n\
                    title = \"Ours\"\ntext = \"Do it so\"";
        let templates = Templates::with_overrides(file).unwrap();
        assert_eq!(templates.for_dimension("tool_mastery").unwrap().title, "Ours");
        let wrong = file.replace("prompt", "poem");
        assert!(Templates::with_overrides(&wrong).unwrap_err().to_string().contains("poem"));
    }
}
