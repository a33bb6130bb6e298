use super::Value;

/// Conditions that must all hold, and their values.
#[derive(Clone, Debug)]
pub(crate) struct Conditions {
    /// What stands behind `WHERE`.
    pub(crate) sql: String,
    /// The values of `$1`, `$2` … in it.
    pub(crate) values: Vec<Value>,
}

impl Conditions {
    /// Begins with one that always holds; its value is `$1`.
    pub(crate) fn new(sql: &str, value: impl Into<Value>) -> Self {
        Self { sql: sql.to_owned(), values: vec![value.into()] }
    }

    /// Adds one if there is a value for it; `$` in it stands for that.
    pub(crate) fn add<T: Into<Value>>(&mut self, condition: &str, value: Option<T>) {
        let Some(value) = value else { return };
        self.values.push(value.into());
        let place = format!("${}", self.values.len());
        self.sql.push_str(" AND ");
        self.sql.push_str(&condition.replace('$', &place));
    }
}
