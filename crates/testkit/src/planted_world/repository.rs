use std::fs;
use std::path::Path;

use super::PlantedDefect;

/// The files as (path, text). Blocks of a defect depend on whether it is there.
pub(super) fn files(is_active: impl Fn(PlantedDefect) -> bool) -> Vec<(String, String)> {
    let text = include_str!("../../fixtures/planted_world/repository.toml");
    let data: toml::Table = toml::from_str(text).unwrap();
    let file = |file: &toml::Value| {
        let text = rendered(file["text"].as_str().unwrap(), &is_active);
        (file["path"].as_str().unwrap().to_owned(), text)
    };
    data["file"].as_array().unwrap().iter().map(file).collect()
}

/// Writes files below a folder.
pub(super) fn write(folder: &Path, files: Vec<(String, String)>) {
    for (path, text) in files {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

fn rendered(template: &str, is_active: impl Fn(PlantedDefect) -> bool) -> String {
    let mut is_shown = true;
    let mut text = String::new();
    for line in template.trim_start().lines() {
        if let Some(topic) = line.strip_prefix("@defect ") {
            let is_it = |defect: &PlantedDefect| defect.topic() == topic;
            let found = PlantedDefect::ALL.into_iter().find(is_it);
            is_shown = is_active(found.unwrap_or_else(|| panic!("no defect is about {topic}")));
        } else if line == "@otherwise" {
            is_shown = !is_shown;
        } else if line == "@end" {
            is_shown = true;
        } else if is_shown {
            text += line;
            text.push('\n');
        }
    }
    text
}
