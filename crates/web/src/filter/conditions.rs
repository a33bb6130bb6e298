use ratchet_core::record::field_table::{FieldKind, OBSERVATION, RecordTable, SESSION, TRACE};
use ratchet_store::query::{
    Compare, Condition, ObservationColumn, SessionColumn, Test, TextTest, TraceColumn,
};

use super::{Filter, Pattern, RecordField, ScoreCondition, Term, TermCondition};

impl Filter {
    /// The conditions on traces; texts are searched for another way.
    pub(crate) fn on_traces(&self) -> Vec<Condition<TraceColumn>> {
        self.terms.iter().filter_map(|term| condition(term, &TRACE)).collect()
    }

    /// The conditions on observations; texts are searched for another way.
    pub(crate) fn on_observations(&self) -> Vec<Condition<ObservationColumn>> {
        self.terms.iter().filter_map(|term| condition(term, &OBSERVATION)).collect()
    }

    /// The conditions on sessions; texts are searched for another way.
    pub(crate) fn on_sessions(&self) -> Vec<Condition<SessionColumn>> {
        self.terms.iter().filter_map(|term| condition(term, &SESSION)).collect()
    }

    /// The texts to search for, and whether each must be there.
    pub(crate) fn texts(&self) -> impl Iterator<Item = (&str, bool)> {
        self.terms.iter().filter_map(|term| match &term.what {
            TermCondition::Text(text) => Some((text.as_str(), !term.negated)),
            TermCondition::Word(..)
            | TermCondition::Number(..)
            | TermCondition::Score(..)
            | TermCondition::Is(_) => None,
        })
    }
}

fn condition<C: Copy, O>(term: &Term, table: &'static RecordTable<C, O>) -> Option<Condition<C>> {
    let negated = term.negated;
    let column = |field: RecordField| table.filter(field).map(|found| found.column);
    match &term.what {
        TermCondition::Text(_) => None,
        TermCondition::Word(field, pattern) => {
            let test = word_test(*field, pattern, negated);
            Some(Condition { column: column(*field)?, test })
        }
        TermCondition::Number(field, how, number) => {
            let test = Test::Number(turned(*how, negated), *number);
            Some(Condition { column: column(*field)?, test })
        }
        TermCondition::Score(name, verdict) => {
            let (kind, test) = verdict_test(verdict, negated);
            let test = Test::Key(name.clone(), Box::new(test));
            Some(Condition { column: table.of_kind(kind)?.column, test })
        }
        TermCondition::Is(flag) => {
            Some(Condition { column: column(*flag)?, test: Test::Is(!negated) })
        }
    }
}

fn word_test(field: RecordField, pattern: &Pattern, negated: bool) -> Test {
    let text = |how, text: &String| Test::Text(how, text.clone());
    match (pattern, negated) {
        (Pattern::Any, false) => Test::IsNotNull,
        (Pattern::Any, true) => Test::IsNull,
        (Pattern::Exactly(words), _) => {
            let has_fixed_words = field.facts().kind == FieldKind::Choice;
            let word = |word: &String| {
                if has_fixed_words { word.to_ascii_uppercase() } else { word.clone() }
            };
            let words = words.iter().map(word).collect();
            if negated { Test::NoneOf(words) } else { Test::AnyOf(words) }
        }
        (Pattern::StartsWith(start), _) => text(TextTest::StartsWith, start),
        (Pattern::EndsWith(end), _) => text(TextTest::EndsWith, end),
        (Pattern::Contains(part), false) => text(TextTest::Matches, part),
        (Pattern::Contains(part), true) => text(TextTest::Misses, part),
    }
}

fn verdict_test(verdict: &ScoreCondition, negated: bool) -> (FieldKind, Test) {
    let one_of = |word: &str| {
        let words = vec![word.to_owned()];
        if negated { Test::NoneOf(words) } else { Test::AnyOf(words) }
    };
    match verdict {
        ScoreCondition::Number(how, number) => {
            (FieldKind::ScoreNumbers, Test::Number(turned(*how, negated), *number))
        }
        ScoreCondition::Truth(true) => (FieldKind::ScoreBooleans, one_of("True")),
        ScoreCondition::Truth(false) => (FieldKind::ScoreBooleans, one_of("False")),
        ScoreCondition::Label(label) => (FieldKind::ScoreLabels, one_of(label)),
    }
}

/// The comparison that holds when the other does not.
const fn turned(how: Compare, negated: bool) -> Compare {
    match (how, negated) {
        (how, false) => how,
        (Compare::Equal, true) => Compare::Unequal,
        (Compare::Unequal, true) => Compare::Equal,
        (Compare::Greater, true) => Compare::AtMost,
        (Compare::AtLeast, true) => Compare::Less,
        (Compare::Less, true) => Compare::AtLeast,
        (Compare::AtMost, true) => Compare::Greater,
    }
}
