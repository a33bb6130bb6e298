use std::fmt;
use std::path::Path;

use crate::look::texts;
use crate::page::Page;

/// Where `scripts/setup` puts axe-core.
const AXE: &str = ".setup/npm-browser/node_modules/axe-core/axe.min.js";

/// A rule that the page breaks, so that some people cannot use it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The rule, by axe-core's name.
    pub rule: String,
    pub help: String,
    /// Where it is broken, and how.
    pub places: Vec<String>,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rule, help, places } = self;
        write!(f, "{rule}: {help}, at {} places", places.len())?;
        places.iter().take(5).try_for_each(|place| write!(f, "\n      {place}"))
    }
}

impl Page {
    /// What axe-core, with all its rules, finds wrong with the page as it is now.
    ///
    /// # Panics
    /// If axe-core is not installed; the message says what to do.
    #[track_caller]
    pub fn accessibility(&self) -> Vec<Violation> {
        self.violations(&[])
    }

    /// What axe-core finds wrong with the page's colours: all that another theme can change.
    ///
    /// # Panics
    /// If axe-core is not installed; the message says what to do.
    #[track_caller]
    pub fn contrast(&self) -> Vec<Violation> {
        self.violations(&["color-contrast", "link-in-text-block"])
    }

    /// The violations of some rules; of all if none is named.
    #[track_caller]
    fn violations(&self, rules: &[&str]) -> Vec<Violation> {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(AXE);
        let source = std::fs::read_to_string(path)
            .unwrap_or_else(|error| panic!("{AXE}: {error}: `make setup` installs it"));
        self.run(&format!("{source}\n;true")).unwrap_or_else(|error| panic!("{AXE}: {error}"));
        let found = self.tell("axe", &[rules.into()]);
        let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
        let read = |violation: &serde_json::Value| Violation {
            rule: text(&violation["rule"]),
            help: text(&violation["help"]),
            places: texts(&violation["places"]),
        };
        found.as_array().into_iter().flatten().map(read).collect()
    }
}
