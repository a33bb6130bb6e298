use super::{Where, marks, text_clause, text_value};
use crate::query::{Test, TextTest};

/// A text column of the records that belong to one.
#[derive(Clone, Copy, Debug)]
pub(in crate::embedded) struct Members {
    /// SQL that selects the records: a table and a `WHERE` clause.
    pub(super) rows: &'static str,
    pub(super) column: &'static str,
}

impl Members {
    /// SQL that selects the different texts as a JSON array.
    pub(super) fn shown(self) -> String {
        let Self { rows, column } = self;
        format!("(SELECT json_group_array(DISTINCT {column}) FROM {rows})")
    }

    /// Whether a condition applies: to the texts, and to whether there are any.
    pub(super) fn takes(test: &Test) -> bool {
        match test {
            Test::Text(..)
            | Test::AnyOf(_)
            | Test::AllOf(_)
            | Test::NoneOf(_)
            | Test::IsNull
            | Test::IsNotNull => true,
            Test::Number(..)
            | Test::AnyNumber(_)
            | Test::Time(..)
            | Test::Is(_)
            | Test::Key(..) => false,
        }
    }
}

impl Where {
    /// Adds a condition that [`Members::takes`]: some record passes it; a negated one, that no
    /// record fails it.
    pub(super) fn members(&mut self, members: Members, test: &Test) {
        if let Test::AllOf(words) = test {
            for word in words {
                self.members(members, &Test::Text(TextTest::Equals, word.clone()));
            }
            return;
        }
        let Members { rows, column } = members;
        let text = |how, text| (text_clause(column, how, text), vec![text]);
        let any = |words: &[String]| format!("{column} IN ({})", marks(words));
        let has_some = || (format!("{column} IS NOT NULL"), Vec::new());
        let (exists, (clause, words)) = match test {
            Test::Text(TextTest::Differs, word) => ("NOT EXISTS", text(TextTest::Equals, word)),
            Test::Text(TextTest::Lacks, word) => ("NOT EXISTS", text(TextTest::Contains, word)),
            Test::Text(TextTest::Misses, word) => ("NOT EXISTS", text(TextTest::Matches, word)),
            Test::Text(how, word) => ("EXISTS", text(*how, word)),
            Test::AnyOf(words) => {
                ("EXISTS", (any(words), words.iter().map(String::as_str).collect()))
            }
            Test::NoneOf(words) => {
                ("NOT EXISTS", (any(words), words.iter().map(String::as_str).collect()))
            }
            Test::IsNull => ("NOT EXISTS", has_some()),
            _ => ("EXISTS", has_some()),
        };
        let words = words.into_iter().map(text_value);
        self.and(format!("{exists} (SELECT 1 FROM {rows} AND {clause})"), words);
    }
}
