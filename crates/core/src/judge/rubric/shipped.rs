use std::sync::LazyLock;

use super::Rubric;

/// What sessions are judged by unless someone says otherwise.
pub const DEFAULT: &str = "session-quality";

/// The files that come with Ratchet, the default first.
const FILES: [&str; 2] = [
    include_str!("../../../../../rubrics/session-quality.toml"),
    include_str!("../../../../../rubrics/session-quality-v0.toml"),
];

static SHIPPED: LazyLock<Vec<(Rubric, &'static str)>> = LazyLock::new(|| {
    // A test holds the files to their shape.
    FILES.into_iter().filter_map(|file| Some((Rubric::parse(file).ok()?, file))).collect()
});

/// The rubrics that come with Ratchet, the default first.
pub fn shipped() -> impl Iterator<Item = &'static Rubric> {
    SHIPPED.iter().map(|(rubric, _)| rubric)
}

/// The file of the shipped rubric of that name, with its remarks.
pub fn shipped_file(name: &str) -> Option<&'static str> {
    SHIPPED.iter().find(|(rubric, _)| rubric.name == name).map(|(_, file)| *file)
}
