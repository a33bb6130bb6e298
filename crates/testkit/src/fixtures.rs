use std::fs;
use std::path::{Path, PathBuf};

/// The inputs in one folder of the fixtures, ordered by name.
///
/// Files ending in `.txt` have an input per line, `.hex` one in hexadecimal digits, and any other
/// one as it is.
pub fn all(folder: &str) -> Vec<Vec<u8>> {
    let folder = self::folder(folder);
    let mut files: Vec<PathBuf> =
        fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(!files.is_empty(), "{} is empty", folder.display());
    files.iter().flat_map(|file| inputs(file)).collect()
}

/// The path of a fixtures folder.
pub fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(name)
}

/// Prompt injections against a judge, with a name for each.
pub fn injections() -> Vec<(String, String)> {
    let file = fs::read_to_string(folder("injections").join("attempts.toml")).unwrap();
    let file: toml::Table = toml::from_str(&file).unwrap();
    let attempts = file["attempt"].as_array().unwrap();
    let text = |attempt: &toml::Value, key: &str| attempt[key].as_str().unwrap().to_owned();
    attempts.iter().map(|attempt| (text(attempt, "name"), text(attempt, "text"))).collect()
}

fn inputs(file: &Path) -> Vec<Vec<u8>> {
    let text = fs::read_to_string(file).unwrap();
    match file.extension().and_then(|extension| extension.to_str()) {
        Some("txt") => {
            let lines = text.lines().filter(|line| !line.starts_with('#'));
            lines.map(|line| line.as_bytes().to_vec()).collect()
        }
        Some("hex") => vec![unhex(&text)],
        _ => vec![text.into_bytes()],
    }
}

/// Bytes from hexadecimal digits, without white space and comments.
fn unhex(text: &str) -> Vec<u8> {
    let plain = text.lines().map(|line| line.split('#').next().unwrap_or_default());
    let digits: Vec<u8> = plain
        .flat_map(str::chars)
        .filter(|c| !c.is_whitespace())
        .map(|c| u8::try_from(c.to_digit(16).unwrap()).unwrap())
        .collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn injections_are_many_and_differ() {
        let attempts = injections();
        let texts: std::collections::BTreeSet<_> = attempts.iter().map(|(_, text)| text).collect();
        assert!(attempts.len() >= 40 && texts.len() == attempts.len());
    }

    #[test]
    fn hexadecimal_files_may_hold_remarks() {
        assert_eq!(unhex("# three bytes\n0a 0B # and\nff\n"), [0x0a, 0x0b, 0xff]);
    }
}
