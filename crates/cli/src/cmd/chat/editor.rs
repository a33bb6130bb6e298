use super::keys::Key;
use super::sanitize::char_columns;

/// A text editor with history.
#[derive(Clone, Debug, Default)]
pub(crate) struct Editor {
    text: Vec<char>,
    cursor: usize,
    history: Vec<String>,
    /// Index in the history; `history.len()` for the current text.
    at: usize,
    /// The current text while the history is shown.
    draft: Vec<char>,
}

/// Result of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Edited {
    Text,
    Entered(String),
}

/// A text in rows, and the position of the cursor: row and column.
pub(crate) type Rows = (Vec<String>, (usize, usize));

impl Editor {
    pub(crate) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    pub(crate) fn text(&self) -> String {
        self.text.iter().collect()
    }

    pub(crate) fn set(&mut self, text: &str) {
        self.text = text.chars().collect();
        self.cursor = self.text.len();
        self.at = self.history.len();
    }

    /// Adds to the history.
    pub(crate) fn remember(&mut self, text: &str) {
        if !text.is_empty() && self.history.last().is_none_or(|last| last != text) {
            self.history.push(text.to_owned());
        }
        self.at = self.history.len();
    }

    pub(crate) fn take(&mut self, key: &Key) -> Edited {
        match key {
            Key::Enter if self.text.get(self.cursor.wrapping_sub(1)) == Some(&'\\') => {
                self.cursor -= 1;
                self.text.remove(self.cursor);
                self.insert("\n");
            }
            Key::Enter => {
                let text = self.text();
                self.set("");
                return Edited::Entered(text);
            }
            Key::Char(c) => self.insert(c.encode_utf8(&mut [0; 4])),
            Key::Paste(text) => self.insert(text),
            Key::NewLine => self.insert("\n"),
            Key::Tab => self.insert("    "),
            Key::Backspace if self.cursor > 0 => self.cut(self.left(), self.cursor),
            Key::Delete => self.cut(self.cursor, self.right()),
            Key::Left | Key::Ctrl('b') => self.cursor = self.left(),
            Key::Right | Key::Ctrl('f') => self.cursor = self.right(),
            Key::WordLeft => self.cursor = self.word_left(),
            Key::WordRight => self.cursor = self.word_right(),
            Key::Home | Key::Ctrl('a') => self.cursor = self.line_begin(self.cursor),
            Key::End | Key::Ctrl('e') => self.cursor = self.line_end(self.cursor),
            Key::Ctrl('u') => self.cut(self.line_begin(self.cursor), self.cursor),
            Key::Ctrl('k') => self.cut(self.cursor, self.line_end(self.cursor)),
            Key::Ctrl('w') => self.cut(self.word_left(), self.cursor),
            Key::Up | Key::Ctrl('p') => self.up(),
            Key::Down | Key::Ctrl('n') => self.down(),
            Key::Backspace | Key::Ctrl(_) | Key::Escape => {}
        }
        Edited::Text
    }

    /// Lays the text out, with one margin in the first row and another in the others.
    pub(crate) fn rows(&self, width: usize, margins: (&str, &str)) -> Rows {
        let mut rows = vec![margins.0.to_owned()];
        let mut column = columns_of(margins.0);
        let mut cursor = (0, column);
        for (position, c) in self.text.iter().enumerate() {
            let wide = if *c == '\t' { 1 } else { char_columns(*c) };
            if *c != '\n' && column + wide > width {
                rows.push(margins.1.to_owned());
                column = columns_of(margins.1);
            }
            if position == self.cursor {
                cursor = (rows.len() - 1, column);
            }
            if *c == '\n' {
                rows.push(margins.1.to_owned());
                column = columns_of(margins.1);
            } else if let Some(row) = rows.last_mut() {
                row.push(if *c == '\t' { ' ' } else { *c });
                column += wide;
            }
        }
        if self.cursor >= self.text.len() {
            cursor = (rows.len() - 1, column);
        }
        (rows, cursor)
    }

    fn insert(&mut self, text: &str) {
        let chars: Vec<char> = text.chars().collect();
        let after = self.cursor + chars.len();
        self.text.splice(self.cursor..self.cursor, chars);
        self.cursor = after;
    }

    fn cut(&mut self, from: usize, to: usize) {
        self.text.drain(from..to);
        self.cursor = from;
    }

    /// Zero-width characters belong to the one before them.
    fn left(&self) -> usize {
        let mut position = self.cursor.saturating_sub(1);
        while position > 0 && self.text.get(position).is_some_and(|c| is_joined(*c)) {
            position -= 1;
        }
        position
    }

    fn right(&self) -> usize {
        let mut position = (self.cursor + 1).min(self.text.len());
        while self.text.get(position).is_some_and(|c| is_joined(*c)) {
            position += 1;
        }
        position
    }

    fn word_left(&self) -> usize {
        let mut position = self.cursor;
        for is_word in [false, true] {
            while position > 0
                && self.text.get(position - 1).is_some_and(|c| c.is_alphanumeric() == is_word)
            {
                position -= 1;
            }
        }
        position
    }

    fn word_right(&self) -> usize {
        let mut position = self.cursor;
        for is_word in [false, true] {
            while self.text.get(position).is_some_and(|c| c.is_alphanumeric() == is_word) {
                position += 1;
            }
        }
        position
    }

    fn line_begin(&self, from: usize) -> usize {
        let before = self.text.iter().take(from);
        before.rev().position(|c| *c == '\n').map_or(0, |length| from - length)
    }

    fn line_end(&self, from: usize) -> usize {
        let after = self.text.iter().skip(from).position(|c| *c == '\n');
        after.map_or(self.text.len(), |length| from + length)
    }

    /// Moves to the line above, or to the previous text.
    fn up(&mut self) {
        let begin = self.line_begin(self.cursor);
        if begin > 0 {
            let above = self.line_begin(begin - 1);
            self.cursor = (above + self.cursor - begin).min(begin - 1);
            return;
        }
        if self.at == 0 {
            return;
        }
        if self.at == self.history.len() {
            self.draft.clone_from(&self.text);
        }
        self.recall(self.at - 1);
    }

    /// Moves to the line below, or to the next text.
    fn down(&mut self) {
        let end = self.line_end(self.cursor);
        if end < self.text.len() {
            let column = self.cursor - self.line_begin(self.cursor);
            self.cursor = (end + 1 + column).min(self.line_end(end + 1));
            return;
        }
        if self.at < self.history.len() {
            self.recall(self.at + 1);
        }
    }

    fn recall(&mut self, at: usize) {
        self.text = match self.history.get(at) {
            Some(text) => text.chars().collect(),
            None => std::mem::take(&mut self.draft),
        };
        (self.at, self.cursor) = (at, self.text.len());
    }
}

fn is_joined(c: char) -> bool {
    c != '\n' && char_columns(c) == 0 || c == '\u{FE0F}'
}

fn columns_of(text: &str) -> usize {
    super::sanitize::columns(text)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn typed(keys: &[Key]) -> Editor {
        let mut editor = Editor::default();
        for key in keys {
            editor.take(key);
        }
        editor
    }

    fn words(text: &str) -> Vec<Key> {
        text.chars().map(Key::Char).collect()
    }

    #[test]
    fn text_is_edited_as_people_expect() {
        let mut keys = words("hello world");
        keys.extend([Key::WordLeft, Key::Backspace, Key::Char(','), Key::Home, Key::Delete]);
        keys.extend([Key::Char('H'), Key::End, Key::Ctrl('w'), Key::Char('!')]);
        assert_eq!(typed(&keys).text(), "Hello,!");
        let mut keys = words("e\u{301}x");
        keys.extend([Key::Left, Key::Backspace]);
        assert_eq!(typed(&keys).text(), "x");
        let mut keys = words("one\\");
        keys.extend([Key::Enter, Key::Char('2'), Key::Ctrl('u'), Key::Char('3')]);
        assert_eq!(typed(&keys).text(), "one\n3");
    }

    #[test]
    fn what_was_said_before_is_found_again() {
        let mut editor = Editor::default();
        editor.remember("first");
        editor.remember("second\nline");
        for key in words("draft") {
            editor.take(&key);
        }
        let mut seen = Vec::new();
        for key in [Key::Up, Key::Up, Key::Up, Key::Up, Key::Down, Key::Down, Key::Down] {
            editor.take(&key);
            seen.push(editor.text());
        }
        let second = "second\nline";
        assert_eq!(seen, [second, second, "first", "first", second, "draft", "draft"]);
        assert_eq!(editor.take(&Key::Enter), Edited::Entered("draft".to_owned()));
        assert!(editor.is_empty());
    }

    #[test]
    fn long_lines_are_broken_and_the_cursor_is_in_its_place() {
        let mut keys = words("abcdef");
        keys.extend([Key::NewLine, Key::Char('日'), Key::Left]);
        let (rows, cursor) = typed(&keys).rows(6, ("> ", "  "));
        assert_eq!((rows, cursor), (vec!["> abcd".into(), "  ef".into(), "  日".into()], (2, 2)));
    }

    fn any_key() -> impl Strategy<Value = Key> {
        let fixed = [
            Key::Enter,
            Key::NewLine,
            Key::Backspace,
            Key::Delete,
            Key::Left,
            Key::Right,
            Key::Up,
            Key::Down,
            Key::WordLeft,
            Key::WordRight,
            Key::Home,
            Key::End,
            Key::Tab,
            Key::Escape,
            Key::Ctrl('u'),
            Key::Ctrl('k'),
            Key::Ctrl('w'),
        ];
        prop_oneof![
            prop::sample::select(fixed.to_vec()),
            any::<char>().prop_map(Key::Char),
            ".{0,12}".prop_map(Key::Paste),
        ]
    }

    proptest! {
        #[test]
        fn no_keys_confuse_it(keys in prop::collection::vec(any_key(), 0..60), width in 8_usize..40) {
            let mut editor = Editor::default();
            for key in &keys {
                if let Edited::Entered(text) = editor.take(key) {
                    editor.remember(&text);
                }
                prop_assert!(editor.cursor <= editor.text.len());
                let (rows, (row, column)) = editor.rows(width, ("> ", "  "));
                prop_assert!(row < rows.len() && column <= width);
            }
        }
    }
}
