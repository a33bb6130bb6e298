use super::{Where, marks, text_clause, text_value};
use crate::query::{Test, TextTest};

/// Whether a condition applies to the models of a trace: to their names, and to whether there are
/// any.
pub(super) fn takes(test: &Test) -> bool {
    match test {
        Test::Text(..) | Test::AnyOf(_) | Test::NoneOf(_) | Test::IsNull | Test::IsNotNull => true,
        Test::Number(..)
        | Test::AnyNumber(_)
        | Test::Time(..)
        | Test::Is(_)
        | Test::AllOf(_)
        | Test::Key(..) => false,
    }
}

impl Where {
    /// Adds a condition that [`takes`]: some model passes it; a negated one, that no model fails
    /// it.
    pub(super) fn called(&mut self, test: &Test) {
        let (exists, clause, words) = match test {
            Test::Text(TextTest::Differs, text) => {
                ("NOT EXISTS", text_clause("c.model", TextTest::Equals, text), vec![text])
            }
            Test::Text(TextTest::Lacks, text) => {
                ("NOT EXISTS", text_clause("c.model", TextTest::Contains, text), vec![text])
            }
            Test::Text(TextTest::Misses, text) => {
                ("NOT EXISTS", text_clause("c.model", TextTest::Matches, text), vec![text])
            }
            Test::Text(how, text) => ("EXISTS", text_clause("c.model", *how, text), vec![text]),
            Test::AnyOf(words) => {
                ("EXISTS", format!("c.model IN ({})", marks(words)), words.iter().collect())
            }
            Test::NoneOf(words) => {
                ("NOT EXISTS", format!("c.model IN ({})", marks(words)), words.iter().collect())
            }
            Test::IsNull => ("NOT EXISTS", "c.model IS NOT NULL".to_owned(), Vec::new()),
            _ => ("EXISTS", "c.model IS NOT NULL".to_owned(), Vec::new()),
        };
        let calls = "SELECT 1 FROM observation c WHERE c.trace = t.no";
        let words = words.into_iter().map(|word| text_value(word));
        self.and(format!("{exists} ({calls} AND {clause})"), words);
    }
}
