use super::seeded_random::Chance;

/// Values for the `{names}` in a template.
pub(crate) type Slots<'a> = &'a [(&'a str, &'a str)];

/// Writes a sentence from a template: `[this|that]` is a choice, which may nest, and `{name}` is
/// filled in. A name without a value stays as it is, which a test forbids.
pub(crate) fn say(chance: &mut Chance, template: &str, slots: Slots<'_>) -> String {
    let mut text = String::with_capacity(template.len());
    let mut rest = template;
    while let Some(open) = rest.find(['[', '{']) {
        let (before, from_open) = rest.split_at(open);
        text.push_str(before);
        rest = from_open;
        let Some((inside, after)) = enclosed(from_open) else {
            break;
        };
        if from_open.starts_with('[') {
            let choices = alternatives(inside);
            let choice = chance.choose(&choices).copied().unwrap_or(inside);
            text.push_str(&say(chance, choice, slots));
        } else {
            fill(&mut text, inside, slots);
        }
        rest = after;
    }
    text.push_str(rest);
    text
}

fn fill(text: &mut String, name: &str, slots: Slots<'_>) {
    match slots.iter().find(|(slot, _)| *slot == name) {
        Some((_, value)) => text.push_str(value),
        None => {
            text.push('{');
            text.push_str(name);
            text.push('}');
        }
    }
}

/// Splits `[inside]after` or `{inside}after`, minding nested brackets of the same kind.
fn enclosed(text: &str) -> Option<(&str, &str)> {
    let (open, close) = if text.starts_with('[') { ('[', ']') } else { ('{', '}') };
    let mut depth = 0usize;
    for (at, c) in text.char_indices() {
        if c == open {
            depth += 1;
        } else if c == close {
            depth -= 1;
            if depth == 0 {
                return Some((text.get(1..at)?, text.get(at + 1..)?));
            }
        }
    }
    None
}

/// Splits at the bars that are not inside further brackets.
fn alternatives(inside: &str) -> Vec<&str> {
    let mut depth = 0usize;
    inside
        .split(|c| {
            match c {
                '[' => depth += 1,
                ']' => depth = depth.saturating_sub(1),
                _ => {}
            }
            c == '|' && depth == 0
        })
        .collect()
}

/// How many tokens a model provider would have counted for a text, near enough for a story.
pub(crate) fn tokens(text: &str) -> u64 {
    let words = text.split_whitespace().count();
    let marks = text.chars().filter(char::is_ascii_punctuation).count();
    u64::try_from(words + words / 5 + marks / 2).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(template: &str, slots: Slots<'_>, expected: &[&str]) {
        for seed in 0..20 {
            let said = say(&mut Chance::new(seed), template, slots);
            assert!(expected.contains(&said.as_str()), "{said:?}");
        }
    }

    #[test]
    fn slots_are_filled() {
        check("My {thing} is late.", &[("thing", "kettle")], &["My kettle is late."]);
        check("Keep {this}.", &[], &["Keep {this}."]);
    }

    #[test]
    fn choices_nest_and_hold_slots() {
        check(
            "[Hi|Hello[, there| {who}]].",
            &[("who", "Ana")],
            &["Hi.", "Hello, there.", "Hello Ana."],
        );
    }

    #[test]
    fn an_open_bracket_is_only_a_character() {
        check("a [b", &[], &["a [b"]);
    }
}
