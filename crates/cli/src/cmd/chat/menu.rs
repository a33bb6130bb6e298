use super::ask::{Choices, Chosen};
use super::editor::{Edited, Editor, Rows};
use super::keys::Key;
use super::sanitize::fitted;
use super::style::{Marks, Style};

/// A menu: arrows and Enter, numbers, or free text.
#[derive(Clone, Debug)]
pub(crate) struct Menu {
    choices: Choices,
    selected: usize,
    checked: Vec<bool>,
    words: Editor,
}

impl Menu {
    /// Creates a menu with the first choice selected.
    pub(crate) fn new(choices: Choices) -> Self {
        let checked = vec![false; choices.options.len()];
        Self { choices, selected: 0, checked, words: Editor::default() }
    }

    /// Handles a key. Returns the choice, once there is one.
    pub(crate) fn take(&mut self, key: &Key) -> Option<Chosen> {
        let count = self.len();
        match key {
            Key::Up | Key::Ctrl('p') => self.selected = (self.selected + count - 1) % count,
            Key::Down | Key::Tab | Key::Ctrl('n') => self.selected = (self.selected + 1) % count,
            Key::Enter => return Some(self.chosen()),
            key if self.is_in_words() => {
                // Line breaks are removed from answers.
                let edited = self.words.take(key);
                debug_assert_eq!(edited, Edited::Text);
            }
            Key::Char(' ') if self.choices.takes_several => self.check(self.selected),
            Key::Char(c) => return self.letter(*c, key),
            Key::Paste(_) => self.write(key),
            _ => {}
        }
        None
    }

    /// Lays the menu out. Returns the position of the cursor.
    pub(crate) fn rows(&self, width: usize, style: Style) -> Rows {
        let mut rows: Vec<String> = Vec::new();
        let mut cursor = (self.selected, 0);
        for (index, (label, about)) in self.choices.options.iter().enumerate() {
            let about = if about.is_empty() { String::new() } else { format!(" — {about}") };
            let check = match (self.choices.takes_several, self.checked.get(index)) {
                (false, _) => "",
                (true, Some(true)) => "[x] ",
                (true, _) => "[ ] ",
            };
            let text = format!("{}{check}{label}{about}", self.begin(index));
            let marks = if index == self.selected { Marks::BOLD } else { Marks::NONE };
            rows.push(style.paint(&fitted(&text, width), marks));
        }
        if !self.choices.words.is_empty() {
            let index = self.choices.options.len();
            let label = format!("{}{}: ", self.begin(index), self.choices.words);
            let (words, at) = self.words.rows(width, (&label, "     "));
            if self.is_in_words() {
                cursor = (rows.len() + at.0, at.1);
            }
            let marks = if self.is_in_words() { Marks::BOLD } else { Marks::NONE };
            rows.extend(words.iter().map(|row| style.paint(row, marks)));
        }
        (rows, cursor)
    }

    fn begin(&self, index: usize) -> String {
        let sign = if index == self.selected { "❯" } else { " " };
        format!("{sign} {}. ", index + 1)
    }

    fn len(&self) -> usize {
        (self.choices.options.len() + usize::from(!self.choices.words.is_empty())).max(1)
    }

    fn is_in_words(&self) -> bool {
        !self.choices.words.is_empty() && self.selected == self.choices.options.len()
    }

    fn check(&mut self, index: usize) {
        if let Some(checked) = self.checked.get_mut(index) {
            *checked = !*checked;
        }
    }

    /// A number selects; any other character starts free text.
    fn letter(&mut self, c: char, key: &Key) -> Option<Chosen> {
        let number = c.to_digit(10).and_then(|number| usize::try_from(number).ok());
        let Some(index) = number.and_then(|number| number.checked_sub(1)) else {
            self.write(key);
            return None;
        };
        if index < self.len() {
            self.selected = index;
            if self.choices.takes_several {
                self.check(index);
            } else if index < self.choices.options.len() {
                return Some(self.chosen());
            }
        }
        None
    }

    fn write(&mut self, key: &Key) {
        if !self.choices.words.is_empty() {
            self.selected = self.choices.options.len();
            self.words.take(key);
        }
    }

    fn chosen(&self) -> Chosen {
        if self.is_in_words() {
            return Chosen::Words(self.words.text());
        }
        let checked: Vec<usize> = (0..self.checked.len())
            .filter(|index| self.checked.get(*index) == Some(&true))
            .collect();
        Chosen::Options(if checked.is_empty() { vec![self.selected] } else { checked })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn menu(takes_several: bool) -> Menu {
        let options = ["Red", "Blue"].map(|label| (label.to_owned(), "a colour".to_owned()));
        Menu::new(Choices { options: options.into(), takes_several, words: "something else" })
    }

    fn take(mut menu: Menu, keys: &[Key]) -> Option<Chosen> {
        keys.iter().find_map(|key| menu.take(key))
    }

    #[test]
    fn arrows_numbers_and_words_choose() {
        let (enter, space) = (Key::Enter, Key::Char(' '));
        let one = |index| Some(Chosen::Options(vec![index]));
        assert_eq!(take(menu(false), std::slice::from_ref(&enter)), one(0));
        assert_eq!(take(menu(false), &[Key::Down, enter.clone()]), one(1));
        assert_eq!(take(menu(false), &[Key::Up, Key::Up, enter.clone()]), one(1));
        assert_eq!(take(menu(false), &[Key::Char('2')]), one(1));
        assert_eq!(take(menu(false), &[Key::Char('9')]), None);
        let words = Some(Chosen::Words("x 1".to_owned()));
        let keys = [Key::Char('x'), space.clone(), Key::Char('1'), enter.clone()];
        assert_eq!(take(menu(false), &keys), words);
        let both = Some(Chosen::Options(vec![0, 1]));
        assert_eq!(take(menu(true), &[space.clone(), Key::Down, space, enter.clone()]), both);
        assert_eq!(take(menu(true), &[Key::Char('2'), Key::Char('1'), enter.clone()]), both);
        assert_eq!(take(menu(true), &[Key::Down, enter]), one(1));
    }

    #[test]
    fn the_selected_choice_is_seen_without_colours() {
        let mut menu = menu(true);
        menu.take(&Key::Char('2'));
        let (rows, cursor) = menu.rows(40, Style::Plain);
        assert_eq!(
            rows.join("\n"),
            "  1. [ ] Red — a colour\n❯ 2. [x] Blue — a colour\n  3. something else: "
        );
        assert_eq!(cursor, (1, 0));
    }
}
