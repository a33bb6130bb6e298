/// Kind of a line, by its first characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Lead {
    /// An empty one.
    Blank,
    /// A heading: how deep, and what follows the marker.
    Heading(usize, String),
    /// A list item: its indent, its marker and the rest.
    Item(usize, Bullet, String),
    /// A quotation, and what follows the marker.
    Quote(String),
    /// The first line of code that is to be taken literally.
    Fence(Fence),
    /// A line across the page.
    Rule,
    /// A row of a table, perhaps.
    Row,
    /// Words: their indent, and they themselves.
    Words(usize, String),
}

/// Marker of a list item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Bullet {
    Dot,
    /// A number as it was written.
    Number(String),
}

/// What code begins and ends with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fence {
    /// How far the first line is indented; so far all others are.
    pub(super) indent: usize,
    marker: char,
    length: usize,
    /// The language, if it is named.
    pub(super) language: String,
}

impl Fence {
    /// Whether a line ends the code.
    pub(super) fn is_ended_by(&self, line: &str) -> bool {
        let line = line.trim();
        line.chars().all(|c| c == self.marker) && line.chars().count() >= self.length
    }
}

/// Whether more of a line may come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extent {
    Part,
    Whole,
}

impl Lead {
    /// Reads the beginning of a line; `None` if it could still be one thing or another.
    pub(super) fn read(line: &str, extent: Extent) -> Option<Self> {
        let body = line.trim_start();
        let indent = line.chars().take_while(|c| c.is_whitespace());
        let indent = indent.map(|c| if c == '\t' { 4 } else { 1 }).sum();
        let is_whole = extent == Extent::Whole;
        let words = || Some(Self::Words(indent, body.to_owned()));
        let Some(first) = body.chars().next() else { return is_whole.then_some(Self::Blank) };
        let run = body.chars().take_while(|c| *c == first).count();
        let is_all_run = run == body.chars().count();
        match first {
            '#' | '>' | '`' | '~' if is_all_run && !is_whole => None,
            '#' if run <= 6 => {
                let rest = body.trim_start_matches('#');
                let is_heading = rest.is_empty() || rest.starts_with(' ');
                let rest = rest.trim_start().to_owned();
                if is_heading { Some(Self::Heading(run, rest)) } else { words() }
            }
            '>' => {
                let rest = body.strip_prefix('>').unwrap_or_default();
                Some(Self::Quote(rest.strip_prefix(' ').unwrap_or(rest).to_owned()))
            }
            '`' | '~' if run >= 3 => {
                let language = body.trim_start_matches(first).trim();
                if first == '`' && language.contains('`') {
                    return words();
                }
                let language = language.split_whitespace().next().unwrap_or_default().to_owned();
                let fence = Fence { indent, marker: first, length: run, language };
                is_whole.then_some(Self::Fence(fence))
            }
            '|' => is_whole.then_some(Self::Row),
            '-' | '*' | '+' | '_' => Self::dot_or_rule(body, indent, extent),
            '0'..='9' => Self::numbered(body, indent, extent),
            _ => words(),
        }
    }

    fn dot_or_rule(body: &str, indent: usize, extent: Extent) -> Option<Self> {
        let first = body.chars().next()?;
        let may_be_rule = first != '+' && body.chars().all(|c| c == first || c == ' ');
        match extent {
            Extent::Part if may_be_rule => return None,
            Extent::Whole if may_be_rule && body.chars().filter(|c| *c == first).count() >= 3 => {
                return Some(Self::Rule);
            }
            Extent::Part if body.chars().count() == 1 => return None,
            Extent::Part | Extent::Whole => {}
        }
        let rest = body.strip_prefix(first).unwrap_or_default();
        let is_item = first != '_' && (rest.is_empty() || rest.starts_with(' '));
        Some(match is_item {
            true => Self::Item(indent, Bullet::Dot, rest.trim_start().to_owned()),
            false => Self::Words(indent, body.to_owned()),
        })
    }

    fn numbered(body: &str, indent: usize, extent: Extent) -> Option<Self> {
        let rest = body.trim_start_matches(|c: char| c.is_ascii_digit());
        let digits = body.strip_suffix(rest).unwrap_or_default();
        let after = rest.strip_prefix(['.', ')']);
        let is_undecided = rest.is_empty() || after == Some("");
        if digits.len() <= 9 && is_undecided && extent == Extent::Part {
            return None;
        }
        Some(match after.and_then(|after| after.strip_prefix(' ')) {
            Some(words) if digits.len() <= 9 => {
                let mark = rest.chars().next().unwrap_or('.');
                let bullet = Bullet::Number(format!("{digits}{mark}"));
                Self::Item(indent, bullet, words.trim_start().to_owned())
            }
            _ => Self::Words(indent, body.to_owned()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, expected: &Option<Lead>) {
        assert_eq!(&Lead::read(line, Extent::Part), expected, "{line}");
    }

    #[test]
    fn a_line_is_known_as_soon_as_it_can_be() {
        check("", &None);
        check("##", &None);
        check("## ", &Some(Lead::Heading(2, String::new())));
        check("#x", &Some(Lead::Words(0, "#x".into())));
        check("- ", &None);
        check("- a", &Some(Lead::Item(0, Bullet::Dot, "a".into())));
        check("  * a", &Some(Lead::Item(2, Bullet::Dot, "a".into())));
        check("**", &None);
        check("**a", &Some(Lead::Words(0, "**a".into())));
        check("12", &None);
        check("12.", &None);
        check("12) a", &Some(Lead::Item(0, Bullet::Number("12)".into()), "a".into())));
        check("12.5", &Some(Lead::Words(0, "12.5".into())));
        check("> a", &Some(Lead::Quote("a".into())));
        check("`a", &Some(Lead::Words(0, "`a".into())));
        check("```ru", &None);
        check("| a", &None);
    }

    #[test]
    fn a_whole_line_is_always_known() {
        for (line, expected) in [
            ("", Lead::Blank),
            ("   ", Lead::Blank),
            ("---", Lead::Rule),
            ("* * *", Lead::Rule),
            ("-", Lead::Item(0, Bullet::Dot, String::new())),
            ("--", Lead::Words(0, "--".into())),
            ("| a |", Lead::Row),
            ("```a`", Lead::Words(0, "```a`".into())),
            ("#######", Lead::Words(0, "#######".into())),
        ] {
            assert_eq!(Lead::read(line, Extent::Whole), Some(expected), "{line}");
        }
    }
}
