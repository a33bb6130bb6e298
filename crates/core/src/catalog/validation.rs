//! Validation of project settings, shared by the API and the pages.

use crate::catalog::cors_origin::PageOrigin;

/// The maximum length of a project name.
pub const MAX_PROJECT_NAME_CHARS: usize = 100;
/// The maximum length of a person's name.
pub const MAX_PERSON_NAME_CHARS: usize = 100;
/// The maximum length of an API key's note.
pub const MAX_NOTE_CHARS: usize = 500;
/// A hundred years; more than that means "forever".
pub const MAX_RETENTION_DAYS: u32 = 36_500;
/// The maximum number of CORS origins of a project.
pub const MAX_ORIGINS: usize = 100;

/// A validation error: the field and the reason.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {problem}")]
pub struct Invalid {
    pub field: &'static str,
    pub problem: String,
}

fn refused<T>(field: &'static str, problem: impl Into<String>) -> Result<T, Invalid> {
    Err(Invalid { field, problem: problem.into() })
}

/// Validates a project name and trims it.
///
/// # Errors
/// Rejects names that are empty, too long or not printable.
pub fn project_name(text: &str) -> Result<String, Invalid> {
    let name = text.trim();
    if name.is_empty() || !is_printable(name, MAX_PROJECT_NAME_CHARS) {
        return refused("name", format!("1 to {MAX_PROJECT_NAME_CHARS} printable characters"));
    }
    Ok(name.to_owned())
}

/// Validates an optional person name.
///
/// # Errors
/// Rejects names that are too long or not printable.
pub fn person_name(text: Option<String>) -> Result<Option<String>, Invalid> {
    let name = text.filter(|name| !name.trim().is_empty());
    if name.as_ref().is_some_and(|name| !is_printable(name, MAX_PERSON_NAME_CHARS)) {
        let problem = format!("at most {MAX_PERSON_NAME_CHARS} printable characters");
        return refused("name", problem);
    }
    Ok(name)
}

fn is_printable(text: &str, most: usize) -> bool {
    text.chars().count() <= most && !text.chars().any(char::is_control)
}

/// Validates the retention of telemetry in days; `None` is forever.
///
/// # Errors
/// Rejects zero and values above the limit.
pub fn retention(days: Option<u32>) -> Result<Option<u32>, Invalid> {
    match days {
        Some(days) if !(1..=MAX_RETENTION_DAYS).contains(&days) => {
            let problem = format!("1 to {MAX_RETENTION_DAYS}, or null to keep telemetry forever");
            refused("days", problem)
        }
        days => Ok(days),
    }
}

/// Validates the note of an API key.
///
/// # Errors
/// Rejects notes that are too long.
pub fn key_note(note: Option<String>) -> Result<Option<String>, Invalid> {
    if note.as_ref().is_some_and(|note| note.chars().count() > MAX_NOTE_CHARS) {
        return refused("note", format!("at most {MAX_NOTE_CHARS} characters"));
    }
    Ok(note)
}

/// Parses the CORS origins of a project.
///
/// # Errors
/// Names the first invalid origin.
pub fn origins(texts: &[String]) -> Result<Vec<PageOrigin>, Invalid> {
    if texts.len() > MAX_ORIGINS {
        return refused("origins", format!("at most {MAX_ORIGINS}"));
    }
    let mut origins = Vec::with_capacity(texts.len());
    for text in texts {
        let Some(origin) = PageOrigin::parse(text) else {
            let why = "is no origin such as https://app.example.com";
            return refused("origins", format!("{} {why}", text.escape_debug()));
        };
        origins.push(origin);
    }
    Ok(origins)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check<T: std::fmt::Debug>(settled: Result<T, Invalid>, refusal: &str) {
        assert_eq!(settled.unwrap_err().to_string(), refusal);
    }

    #[test]
    fn names_are_short_and_printable() {
        assert_eq!(project_name(" shop ").unwrap(), "shop");
        for bad in ["", "  ", "a\nb", &"x".repeat(101)] {
            check(project_name(bad), "name: 1 to 100 printable characters");
        }
        assert_eq!(person_name(Some(" ".to_owned())).unwrap(), None);
        check(person_name(Some("a\tb".to_owned())), "name: at most 100 printable characters");
    }

    #[test]
    fn nothing_is_kept_for_zero_days() {
        assert_eq!(retention(None).unwrap(), None);
        assert_eq!(retention(Some(36_500)).unwrap(), Some(36_500));
        for bad in [0, 36_501, u32::MAX] {
            check(retention(Some(bad)), "days: 1 to 36500, or null to keep telemetry forever");
        }
    }

    #[test]
    fn the_first_bad_origin_is_named() {
        let texts =
            |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        assert_eq!(
            origins(&texts(&["https://A.example/"])).unwrap()[0].as_str(),
            "https://a.example"
        );
        check(
            origins(&texts(&["https://a.example", "javascript:1"])),
            "origins: javascript:1 is no origin such as https://app.example.com",
        );
        check(origins(&texts(&["x"; 101])), "origins: at most 100");
    }
}
