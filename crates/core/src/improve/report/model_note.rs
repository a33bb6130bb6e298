use serde::{Deserialize, Serialize};

use crate::counted::counted;

/// The part that a model had in a document.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelNote {
    /// Its name.
    pub name: String,
    /// Calls of tools.
    pub steps: usize,
    /// What it proposed and what was refused, with the reasons.
    pub refused: Vec<String>,
    /// Why it did not finish.
    pub error: Option<String>,
    /// What its calls cost; `None` where a price is unknown.
    pub dollars: Option<f64>,
    /// The trace of the run, where it was recorded.
    pub trace: Option<String>,
}

impl ModelNote {
    /// Returns one line for readers.
    pub fn line(&self) -> String {
        let mut line = format!("{} used {}", self.name, counted(self.steps, "tool call"));
        if let Some(dollars) = self.dollars {
            line += &format!(" for {dollars:.4} USD");
        }
        if !self.refused.is_empty() {
            line += &format!("; {} refused", counted(self.refused.len(), "proposal"));
        }
        if let Some(error) = &self.error {
            line += &format!("; it did not finish: {error}");
        }
        line
    }
}
