use std::sync::LazyLock;

use super::Rubric;

/// The default rubric for sessions.
pub const DEFAULT: &str = "session-quality";

/// The built-in files, the default first.
const FILES: [&str; 2] = [
    include_str!("../../../../../rubrics/session-quality.toml"),
    include_str!("../../../../../rubrics/session-quality-v0.toml"),
];

static SHIPPED: LazyLock<Vec<(Rubric, &'static str)>> = LazyLock::new(|| {
    // A test validates the files.
    FILES.into_iter().filter_map(|file| Some((Rubric::parse(file).ok()?, file))).collect()
});

/// Returns the built-in rubrics, the default first.
pub fn shipped() -> impl Iterator<Item = &'static Rubric> {
    SHIPPED.iter().map(|(rubric, _)| rubric)
}

/// Returns the file of a built-in rubric, comments included.
pub fn shipped_file(name: &str) -> Option<&'static str> {
    SHIPPED.iter().find(|(rubric, _)| rubric.name == name).map(|(_, file)| *file)
}
