use ratchet_core::record::score::DataType;
use rusqlite::types::Value;

use super::{Kind, Where, comparison, marks, text_value};
use crate::query::{Compare, Test};

/// The scores of one data type on a record.
#[derive(Clone, Copy, Debug)]
pub(in crate::embedded) struct Judged {
    data_type: DataType,
    /// SQL condition that selects the scores `c`.
    on: &'static str,
}

/// Scores of a trace `t` and its observations.
pub(super) fn of_trace(data_type: DataType) -> Kind {
    Kind::Judged(Judged { data_type, on: "c.project = t.project AND c.trace = t.id" })
}

/// Scores of an observation `o`; its trace is `t`.
pub(super) fn of_observation(data_type: DataType) -> Kind {
    let on = "c.project = o.project AND c.trace = t.id AND c.observation = o.id";
    Kind::Judged(Judged { data_type, on })
}

/// Scores on a session `s` itself.
pub(super) fn of_session(data_type: DataType) -> Kind {
    Kind::Judged(Judged { data_type, on: "c.project = s.project AND c.session = s.id" })
}

impl Judged {
    /// Whether a condition applies: numbers are compared, categories are matched against a list.
    pub(super) fn takes(self, test: &Test) -> bool {
        let is_numeric = self.data_type == DataType::Numeric;
        match test {
            Test::Number(..) => is_numeric,
            Test::Key(_, test) => match test.as_ref() {
                Test::Number(..) => is_numeric,
                Test::AnyOf(_) | Test::NoneOf(_) => !is_numeric,
                _ => false,
            },
            _ => false,
        }
    }

    fn scores(self, what: &str, named: &str) -> String {
        let Self { data_type, on } = self;
        let data_type = data_type.as_str();
        format!("SELECT {what} FROM score c WHERE {on} AND c.data_type = '{data_type}'{named}")
    }
}

const NAMED: &str = " AND c.name = ?";

impl Where {
    /// Adds a condition that [`Judged::takes`].
    pub(super) fn judged(&mut self, judged: Judged, test: &Test) {
        match test {
            Test::Number(how, number) => self.average(judged, None, (*how, *number)),
            Test::Key(name, test) => match test.as_ref() {
                Test::Number(how, number) => self.average(judged, Some(name), (*how, *number)),
                Test::AnyOf(words) => self.some(judged, "EXISTS", name, words),
                Test::NoneOf(words) => self.some(judged, "NOT EXISTS", name, words),
                _ => {}
            },
            _ => {}
        }
    }

    fn average(&mut self, judged: Judged, name: Option<&String>, (how, number): (Compare, f64)) {
        let named = if name.is_some() { NAMED } else { "" };
        let average = format!("({})", judged.scores("avg(c.number)", named));
        let name = name.map(|name| text_value(name));
        self.and(comparison(&average, how), name.into_iter().chain([Value::Real(number)]));
    }

    fn some(&mut self, judged: Judged, exists: &str, name: &str, words: &[String]) {
        let scores = judged.scores("1", NAMED);
        let clause = format!("{exists} ({scores} AND c.text IN ({}))", marks(words));
        let words = words.iter().map(|word| text_value(word));
        self.and(clause, std::iter::once(text_value(name)).chain(words));
    }
}
