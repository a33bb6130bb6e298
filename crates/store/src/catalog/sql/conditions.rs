use super::Value;

/// Conditions joined by AND, with their values.
#[derive(Clone, Debug)]
pub(crate) struct Conditions {
    /// The text after `WHERE`.
    pub(crate) sql: String,
    /// The values of `$1`, `$2` … in it.
    pub(crate) values: Vec<Value>,
}

impl Conditions {
    /// Starts with a condition whose value is `$1`.
    pub(crate) fn new(sql: &str, value: impl Into<Value>) -> Self {
        Self { sql: sql.to_owned(), values: vec![value.into()] }
    }

    /// Adds a condition if there is a value; `$` in it stands for that value.
    pub(crate) fn add<T: Into<Value>>(&mut self, condition: &str, value: Option<T>) {
        let Some(value) = value else { return };
        self.values.push(value.into());
        let placeholder = format!("${}", self.values.len());
        self.sql.push_str(" AND ");
        self.sql.push_str(&condition.replace('$', &placeholder));
    }
}

/// The `LIKE` pattern for a substring; `!` escapes.
pub(crate) fn contains(text: &str) -> String {
    let mut pattern = String::from("%");
    for c in text.chars() {
        if matches!(c, '%' | '_' | '!') {
            pattern.push('!');
        }
        pattern.push(c);
    }
    pattern.push('%');
    pattern
}
