use super::editor::Rows;
use super::markdown::seen_columns;

/// The area below the conversation: input, menu and activity. It is erased before text is added
/// above it, and redrawn below.
#[derive(Debug, Default)]
pub(crate) struct Pane {
    drawn: Option<Drawn>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Drawn {
    rows: Vec<String>,
    cursor: (usize, usize),
    /// Column in which the open line above ends; 0 if a new one starts.
    open: usize,
}

impl Pane {
    /// Adds text to the conversation and redraws the area below; nothing if nothing changes.
    ///
    /// `open` is the column in which the last line of the conversation ends, and `height` the
    /// terminal's.
    pub(crate) fn frame(&mut self, text: &str, open: usize, rows: Rows, height: usize) -> String {
        let (rows, cursor) = visible(rows, height);
        let next = Drawn { rows, cursor, open };
        if text.is_empty() && self.drawn.as_ref() == Some(&next) {
            return String::new();
        }
        let erase = self.erase();
        let draw = next.draw();
        self.drawn = Some(next);
        // Hides the cursor while this is written.
        format!("\u{1b}[?25l{erase}{text}{draw}\u{1b}[?25h")
    }

    /// Erases the area, and moves the cursor to the end of the conversation.
    pub(crate) fn erase(&mut self) -> String {
        let Some(drawn) = self.drawn.take() else { return String::new() };
        let mut out = "\r".to_owned();
        if drawn.cursor.0 > 0 {
            out.push_str(&format!("\u{1b}[{}A", drawn.cursor.0));
        }
        out.push_str("\u{1b}[J");
        if drawn.open > 0 {
            out.push_str(&format!("\u{1b}[A\u{1b}[{}C", drawn.open));
        }
        out
    }

    /// Adapts to a new width: rows that do not fit take several.
    pub(crate) fn resized(&mut self, width: usize) {
        let Some(drawn) = &mut self.drawn else { return };
        let width = width.max(1);
        let above = drawn.rows.iter().take(drawn.cursor.0);
        let broken: usize = above.map(|row| seen_columns(row).saturating_sub(1) / width).sum();
        drawn.cursor.0 += broken + drawn.cursor.1 / width;
        drawn.open = if drawn.open == 0 { 0 } else { (drawn.open - 1) % width + 1 };
    }
}

impl Drawn {
    fn draw(&self) -> String {
        let mut out = String::new();
        if self.open > 0 {
            out.push('\n');
        }
        out.push_str(&self.rows.join("\n"));
        let below = self.rows.len().saturating_sub(self.cursor.0 + 1);
        if below > 0 {
            out.push_str(&format!("\u{1b}[{below}A"));
        }
        out.push('\r');
        if self.cursor.1 > 0 {
            out.push_str(&format!("\u{1b}[{}C", self.cursor.1));
        }
        out
    }
}

/// The rows around the cursor that fit the terminal.
fn visible((mut rows, cursor): Rows, height: usize) -> Rows {
    let most = height.saturating_sub(1).max(1);
    if rows.len() <= most {
        return (rows, cursor);
    }
    let first = (cursor.0 + 1).saturating_sub(most);
    rows.drain(..first);
    rows.truncate(most);
    (rows, (cursor.0 - first, cursor.1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_takes_the_last_one_away() {
        let mut pane = Pane::default();
        let rows = |text: &str| vec![String::new(), text.to_owned()];
        let first = pane.frame("Hi", 2, (rows("> a"), (1, 3)), 24);
        assert_eq!(first, "\u{1b}[?25lHi\n\n> a\r\u{1b}[3C\u{1b}[?25h");
        assert_eq!(pane.frame("", 2, (rows("> a"), (1, 3)), 24), "");
        let second = pane.frame(" there\n", 0, (rows("> "), (1, 2)), 24);
        let erase = "\r\u{1b}[1A\u{1b}[J\u{1b}[A\u{1b}[2C";
        assert_eq!(second, format!("\u{1b}[?25l{erase} there\n\n> \r\u{1b}[2C\u{1b}[?25h"));
        assert_eq!(pane.erase(), "\r\u{1b}[1A\u{1b}[J");
        assert_eq!(pane.erase(), "");
    }

    #[test]
    fn no_more_is_drawn_than_there_is_room_for() {
        let rows: Vec<String> = (0..9).map(|row| row.to_string()).collect();
        let (shown, cursor) = visible((rows, (5, 0)), 4);
        assert_eq!((shown, cursor), (vec!["3".into(), "4".into(), "5".into()], (2, 0)));
    }
}
