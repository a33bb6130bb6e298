use std::fs;
use std::path::Path;

use super::PlantedDefect;

/// Writes the files. Blocks of a defect depend on whether it is there.
pub(super) fn write(folder: &Path, is_active: impl Fn(PlantedDefect) -> bool) {
    let text = include_str!("../../fixtures/planted_world/repository.toml");
    let data: toml::Table = toml::from_str(text).unwrap();
    for file in data["file"].as_array().unwrap() {
        let path = folder.join(file["path"].as_str().unwrap());
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, rendered(file["text"].as_str().unwrap(), &is_active)).unwrap();
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
