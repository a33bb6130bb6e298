use std::collections::BTreeMap;

use crate::csv;
use crate::id::SessionId;
use crate::judge::rubric::Rubric;
use crate::time::Timestamp;

use super::{Label, MAX_BY, MAX_WHY, Mark};

const FIXED: [&str; 4] = ["session_id", "labeled_by", "labeled_at", "why"];

/// Formats labels as CSV: a row for each, a column for each dimension of the rubric.
pub fn written(labels: &[Label], rubric: &Rubric) -> String {
    let names = rubric.dimensions.iter().map(|dimension| dimension.name.as_str());
    let columns: Vec<&str> = FIXED.into_iter().chain(names).collect();
    let row = |label: &Label| {
        let mark = |name: &str| label.marks.get(name).map(Mark::text).unwrap_or_default();
        let marks = rubric.dimensions.iter().map(|dimension| mark(&dimension.name));
        let fixed = [
            label.session.to_string(),
            label.by.clone(),
            label.at.to_string(),
            label.why.clone().unwrap_or_default(),
        ];
        let cells: Vec<String> = fixed.into_iter().chain(marks).collect();
        csv::line(&cells.iter().map(String::as_str).collect::<Vec<_>>())
    };
    csv::head(&columns) + &labels.iter().map(row).collect::<String>()
}

/// The columns of an imported table.
#[derive(Clone, Debug)]
pub struct LabelColumns<'a> {
    names: Vec<String>,
    rubric: &'a Rubric,
}

/// Defaults for rows without author or time.
#[derive(Clone, Debug)]
pub struct LabelDefaults {
    pub by: String,
    pub at: Timestamp,
}

impl<'a> LabelColumns<'a> {
    /// Maps column names.
    ///
    /// # Errors
    /// Rejects a table without a session column or dimension, or with an unknown column.
    pub fn new(names: &[String], rubric: &'a Rubric) -> Result<Self, String> {
        let dimensions: Vec<&str> =
            rubric.dimensions.iter().map(|dimension| dimension.name.as_str()).collect();
        let is_known =
            |name: &String| FIXED.contains(&name.as_str()) || dimensions.contains(&name.as_str());
        if let Some(unknown) = names.iter().find(|name| !is_known(name)) {
            let known = dimensions.join(", ");
            return Err(format!(
                "unknown dimension {unknown} in {}; available: {known}",
                rubric.name
            ));
        }
        if !names.iter().any(|name| name == "session_id") {
            return Err("the column session_id is missing".to_owned());
        }
        if !names.iter().any(|name| dimensions.contains(&name.as_str())) {
            return Err(format!("no column matches a dimension: {}", dimensions.join(", ")));
        }
        Ok(Self { names: names.to_vec(), rubric })
    }

    /// Parses a row.
    ///
    /// # Errors
    /// Names the invalid cell and its valid values.
    pub fn label<'c>(
        &self,
        cells: impl Iterator<Item = &'c str>,
        unless: &LabelDefaults,
    ) -> Result<Label, String> {
        let cells = self.names.iter().map(String::as_str).zip(cells.map(csv::text));
        let cells: BTreeMap<&str, &str> =
            cells.filter(|(_, cell)| !cell.trim().is_empty()).collect();
        let cell = |name: &str| cells.get(name).copied();
        let session = cell("session_id").ok_or("session_id is empty")?;
        let session = SessionId::parse(session).map_err(|why| format!("session_id: {why}"))?;
        let at = match cell("labeled_at") {
            Some(at) => Timestamp::parse(at).map_err(|why| format!("labeled_at: {why}"))?,
            None => unless.at,
        };
        let mut marks = BTreeMap::new();
        for dimension in &self.rubric.dimensions {
            if let Some(text) = cell(&dimension.name) {
                marks.insert(dimension.name.clone(), Mark::parse(dimension, text)?);
            }
        }
        if marks.is_empty() {
            return Err(format!("the label of {session} has no score"));
        }
        let by = cell("labeled_by").unwrap_or(&unless.by).to_owned();
        let why = cell("why").map(str::to_owned);
        within("labeled_by", &by, MAX_BY)?;
        within("why", why.as_deref().unwrap_or_default(), MAX_WHY)?;
        let rubric = self.rubric.name.clone();
        Ok(Label { session, by, at, why, rubric, marks, drawn: None, judged: None })
    }
}

/// Checks the length of a text.
///
/// # Errors
/// The text is too long.
pub fn within(name: &str, text: &str, most: usize) -> Result<(), String> {
    let has = text.chars().count();
    if has > most {
        Err(format!("{name} has {has} characters; the limit is {most}"))
    } else {
        Ok(())
    }
}
