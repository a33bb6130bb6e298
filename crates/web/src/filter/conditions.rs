use ratchet_store::query::{Compare, Condition, ObservationColumn, Test, TextTest, TraceColumn};

use super::{Filter, Flag, NumberField, Pattern, Term, Verdict, What, WordField};

impl Filter {
    /// The conditions on traces; texts are searched for another way.
    pub(crate) fn on_traces(&self) -> Vec<Condition<TraceColumn>> {
        let scores = Scores {
            numbers: TraceColumn::ScoreNumbers,
            labels: TraceColumn::ScoreLabels,
            truths: TraceColumn::ScoreTruths,
        };
        let flag = |flag| match flag {
            Flag::Bookmarked => Some(TraceColumn::Bookmarked),
            Flag::Public => Some(TraceColumn::Public),
            Flag::Root => None,
        };
        let columns = Columns { word: trace_word, number: trace_number, flag, scores };
        self.terms.iter().filter_map(|term| condition(term, &columns)).collect()
    }

    /// The conditions on observations; texts are searched for another way.
    pub(crate) fn on_observations(&self) -> Vec<Condition<ObservationColumn>> {
        let scores = Scores {
            numbers: ObservationColumn::ScoreNumbers,
            labels: ObservationColumn::ScoreLabels,
            truths: ObservationColumn::ScoreTruths,
        };
        let flag = |flag| {
            Some(match flag {
                Flag::Bookmarked => ObservationColumn::TraceBookmarked,
                Flag::Public => ObservationColumn::TracePublic,
                Flag::Root => ObservationColumn::Root,
            })
        };
        let columns = Columns { word: observation_word, number: observation_number, flag, scores };
        self.terms.iter().filter_map(|term| condition(term, &columns)).collect()
    }

    /// The texts to search for, and whether each must be there.
    pub(crate) fn texts(&self) -> impl Iterator<Item = (&str, bool)> {
        self.terms.iter().filter_map(|term| match &term.what {
            What::Text(text) => Some((text.as_str(), !term.negated)),
            What::Word(..) | What::Number(..) | What::Score(..) | What::Is(_) => None,
        })
    }
}

/// Where the fields of the language are found on a record.
struct Columns<C> {
    word: fn(WordField) -> Option<C>,
    number: fn(NumberField) -> Option<C>,
    flag: fn(Flag) -> Option<C>,
    scores: Scores<C>,
}

struct Scores<C> {
    numbers: C,
    labels: C,
    truths: C,
}

fn condition<C: Copy>(term: &Term, columns: &Columns<C>) -> Option<Condition<C>> {
    let negated = term.negated;
    match &term.what {
        What::Text(_) => None,
        What::Word(field, pattern) => {
            let test = word_test(*field, pattern, negated);
            Some(Condition { column: (columns.word)(*field)?, test })
        }
        What::Number(field, how, number) => {
            let test = Test::Number(turned(*how, negated), *number);
            Some(Condition { column: (columns.number)(*field)?, test })
        }
        What::Score(name, verdict) => {
            let (column, test) = verdict_test(verdict, negated, &columns.scores);
            Some(Condition { column, test: Test::Key(name.clone(), Box::new(test)) })
        }
        What::Is(flag) => {
            Some(Condition { column: (columns.flag)(*flag)?, test: Test::Is(!negated) })
        }
    }
}

fn word_test(field: WordField, pattern: &Pattern, negated: bool) -> Test {
    let text = |how, text: &String| Test::Text(how, text.clone());
    match (pattern, negated) {
        (Pattern::Any, false) => Test::IsNotNull,
        (Pattern::Any, true) => Test::IsNull,
        (Pattern::Exactly(words), _) => {
            let has_fixed_words = matches!(field, WordField::Level | WordField::Kind);
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

fn verdict_test<C: Copy>(verdict: &Verdict, negated: bool, scores: &Scores<C>) -> (C, Test) {
    let one_of = |word: &str| {
        let words = vec![word.to_owned()];
        if negated { Test::NoneOf(words) } else { Test::AnyOf(words) }
    };
    match verdict {
        Verdict::Number(how, number) => {
            (scores.numbers, Test::Number(turned(*how, negated), *number))
        }
        Verdict::Truth(true) => (scores.truths, one_of("True")),
        Verdict::Truth(false) => (scores.truths, one_of("False")),
        Verdict::Label(label) => (scores.labels, one_of(label)),
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

const fn trace_word(field: WordField) -> Option<TraceColumn> {
    Some(match field {
        WordField::Id => TraceColumn::Id,
        WordField::Name => TraceColumn::Name,
        WordField::User => TraceColumn::User,
        WordField::Session => TraceColumn::Session,
        WordField::Environment => TraceColumn::Environment,
        WordField::Tag => TraceColumn::Tags,
        WordField::Model => TraceColumn::Models,
        WordField::Agent => TraceColumn::Agent,
        WordField::Level => TraceColumn::Level,
        WordField::Release => TraceColumn::Release,
        WordField::Version => TraceColumn::Version,
        WordField::Kind
        | WordField::Trace
        | WordField::TraceName
        | WordField::Prompt
        | WordField::Status => return None,
    })
}

const fn trace_number(field: NumberField) -> Option<TraceColumn> {
    Some(match field {
        NumberField::Cost => TraceColumn::Cost,
        NumberField::Latency => TraceColumn::Latency,
        NumberField::Tokens => TraceColumn::TotalTokens,
        NumberField::InputTokens => TraceColumn::InputTokens,
        NumberField::OutputTokens => TraceColumn::OutputTokens,
        NumberField::Scores => TraceColumn::ScoreCount,
        NumberField::Steps => TraceColumn::ObservationCount,
        NumberField::Errors => TraceColumn::ErrorCount,
        NumberField::FirstToken => return None,
    })
}

const fn observation_word(field: WordField) -> Option<ObservationColumn> {
    Some(match field {
        WordField::Id => ObservationColumn::Id,
        WordField::Name => ObservationColumn::Name,
        WordField::User => ObservationColumn::TraceUser,
        WordField::Session => ObservationColumn::TraceSession,
        WordField::Environment => ObservationColumn::Environment,
        WordField::Tag => ObservationColumn::TraceTags,
        WordField::Model => ObservationColumn::Model,
        WordField::Agent => ObservationColumn::Agent,
        WordField::Level => ObservationColumn::Level,
        WordField::Release => ObservationColumn::TraceRelease,
        WordField::Version => ObservationColumn::Version,
        WordField::Kind => ObservationColumn::Kind,
        WordField::Trace => ObservationColumn::Trace,
        WordField::TraceName => ObservationColumn::TraceName,
        WordField::Prompt => ObservationColumn::PromptName,
        WordField::Status => ObservationColumn::StatusMessage,
    })
}

const fn observation_number(field: NumberField) -> Option<ObservationColumn> {
    Some(match field {
        NumberField::Cost => ObservationColumn::Cost,
        NumberField::Latency => ObservationColumn::Latency,
        NumberField::Tokens => ObservationColumn::TotalTokens,
        NumberField::InputTokens => ObservationColumn::InputTokens,
        NumberField::OutputTokens => ObservationColumn::OutputTokens,
        NumberField::Scores => ObservationColumn::ScoreCount,
        NumberField::FirstToken => ObservationColumn::TimeToFirstToken,
        NumberField::Steps | NumberField::Errors => return None,
    })
}
