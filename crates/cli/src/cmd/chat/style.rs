/// Whether the terminal shows colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Style {
    /// A pipe, a file, or a terminal that cannot or shall not.
    #[default]
    Plain,
    /// One that can.
    Colours,
}

/// How a text is set off: any of these together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Marks(u16);

impl Marks {
    /// Not at all.
    pub(crate) const NONE: Self = Self(0);
    pub(crate) const BOLD: Self = Self(1);
    /// It is said with a certain tone.
    pub(crate) const ITALIC: Self = Self(1 << 1);
    /// It is to be taken literally.
    pub(crate) const CODE: Self = Self(1 << 2);
    /// It does not hold any more.
    pub(crate) const STRUCK: Self = Self(1 << 3);
    pub(crate) const UNDERLINED: Self = Self(1 << 4);
    /// It is beside the point.
    pub(crate) const DIM: Self = Self(1 << 5);
    pub(crate) const RED: Self = Self(1 << 6);
    pub(crate) const GREEN: Self = Self(1 << 7);
    pub(crate) const YELLOW: Self = Self(1 << 8);

    #[must_use]
    pub(crate) const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    const fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// ANSI escape sequences, in order.
    fn codes(self) -> String {
        let all = [
            (Self::BOLD, "1"),
            (Self::DIM, "2"),
            (Self::ITALIC, "3"),
            (Self::UNDERLINED, "4"),
            (Self::STRUCK, "9"),
            (Self::RED, "31"),
            (Self::GREEN, "32"),
            (Self::YELLOW, "33"),
            (Self::CODE, "36"),
        ];
        let held = all.iter().filter(|(mark, _)| self.has(*mark)).map(|(_, code)| *code);
        held.collect::<Vec<_>>().join(";")
    }
}

impl Style {
    /// A text, set off if the terminal can.
    pub(crate) fn paint(self, text: &str, marks: Marks) -> String {
        if self == Self::Plain || marks == Marks::NONE || text.is_empty() {
            return text.to_owned();
        }
        format!("\u{1b}[{}m{text}\u{1b}[0m", marks.codes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_terminal_with_colours_is_told_any() {
        let marks = Marks::BOLD.and(Marks::CODE);
        assert_eq!(Style::Colours.paint("x", marks), "\u{1b}[1;36mx\u{1b}[0m");
        assert_eq!(Style::Colours.paint("x", Marks::NONE), "x");
        assert_eq!(Style::Plain.paint("x", marks), "x");
    }
}
