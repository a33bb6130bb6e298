/// A terminal emulator for the escape sequences that our programs use, which panics at others: they
/// would be a bug, or hostile text that got through.
#[derive(Clone, Debug)]
pub struct Display {
    rows: Vec<Vec<char>>,
    cursor: (usize, usize),
    size: (usize, usize),
}

/// The cell after a wide character.
const WIDE: char = '\0';

impl Display {
    /// The screen of this size after these bytes.
    ///
    /// # Panics
    /// On escape sequences that none of our programs should send.
    pub fn of(bytes: &[u8], size: (u16, u16)) -> Self {
        let size = (size.0.into(), size.1.into());
        let mut display = Self { rows: vec![Vec::new()], cursor: (0, 0), size };
        let text = String::from_utf8_lossy(bytes);
        let mut chars = text.chars();
        while let Some(c) = chars.next() {
            match c {
                '\r' => display.cursor.1 = 0,
                '\n' => display.down(),
                '\u{1b}' => {
                    // A truncated sequence continues with the next bytes.
                    if chars.next().is_some_and(|next| next != '[') {
                        panic!("an escape that is none of ours in {text:?}");
                    }
                    display.control(&up_to_letter(&mut chars));
                }
                c => display.put(c),
            }
        }
        display
    }

    /// The screen, with its scrollback.
    pub fn text(&self) -> String {
        let row = |row: &Vec<char>| {
            let text: String = row.iter().filter(|c| **c != WIDE).collect();
            text.trim_end().to_owned()
        };
        let rows: Vec<String> = self.rows.iter().map(row).collect();
        rows.join("\n").trim_end().to_owned()
    }

    pub fn cursor_row(&self) -> String {
        let row = self.rows.get(self.cursor.0).map_or(&[][..], Vec::as_slice);
        row.iter().filter(|c| **c != WIDE).collect::<String>().trim_end().to_owned()
    }

    fn top(&self) -> usize {
        self.rows.len().saturating_sub(self.size.1)
    }

    fn down(&mut self) {
        self.cursor.0 += 1;
        if self.cursor.0 >= self.rows.len() {
            self.rows.push(Vec::new());
        }
    }

    fn put(&mut self, c: char) {
        assert!(!c.is_control(), "{c:?} reached the terminal");
        // Good enough for what tests write.
        let wide = (0x2e80..0xfe00).contains(&u32::from(c)) || u32::from(c) >= 0x1f300;
        if self.cursor.1 + usize::from(wide) >= self.size.0 {
            self.cursor.1 = 0;
            self.down();
        }
        let row = &mut self.rows[self.cursor.0];
        if row.len() <= self.cursor.1 + 1 {
            row.resize(self.cursor.1 + 2, ' ');
        }
        row[self.cursor.1] = c;
        if wide {
            row[self.cursor.1 + 1] = WIDE;
        }
        self.cursor.1 += 1 + usize::from(wide);
    }

    fn control(&mut self, said: &str) {
        let Some(last) = said.chars().last() else { return };
        let number = said.trim_end_matches(last).parse::<usize>().unwrap_or(1);
        match last {
            'A' => self.cursor.0 = self.cursor.0.saturating_sub(number).max(self.top()),
            'C' => self.cursor.1 = (self.cursor.1 + number).min(self.size.0 - 1),
            'H' => self.cursor = (self.top(), 0),
            'J' if said == "2J" => {
                let top = self.top();
                self.rows[top..].iter_mut().for_each(Vec::clear);
            }
            'J' => {
                self.rows[self.cursor.0].truncate(self.cursor.1);
                self.rows.truncate(self.cursor.0 + 1);
            }
            'm' | 'h' | 'l' => {}
            last if last.is_ascii_alphabetic() => panic!("{said:?} reached the terminal"),
            // Truncated.
            _ => {}
        }
    }
}

/// The characters up to and including a letter.
fn up_to_letter(chars: &mut impl Iterator<Item = char>) -> String {
    let mut taken = String::new();
    for c in chars {
        taken.push(c);
        if c.is_ascii_alphabetic() {
            break;
        }
    }
    taken
}
