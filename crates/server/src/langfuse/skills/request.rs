use std::borrow::Cow;

use ratchet_core::catalog::prompt::check_message;
use ratchet_core::catalog::skill::{
    FrontMatter, MAIN_FILE, MAX_FILE_BYTES, MAX_FILES, check_folder, check_path,
};
use ratchet_core::issue::{Issue, PathStep};
use ratchet_core::record::media::MediaHash;
use ratchet_remote::langfuse::wire::skill::SkillFileInput;
use ratchet_store::StoreError;
use ratchet_store::catalog::{NewSkillFile, SkillContent};
use ratchet_store::project::ProjectId;

use crate::app::App;
use crate::error::{ApiError, ApiResult};
use crate::langfuse::prompts::refuse;

/// Maximum number of files in a request.
const MAX_HASHES: usize = 50;

/// Parses the requested hashes, without duplicates.
pub(super) fn read_hashes(asked: &str) -> Result<Vec<MediaHash>, String> {
    let mut hashes = Vec::new();
    // An unencoded plus arrives as a space.
    for text in asked.split(',').map(|text| text.replace(' ', "+")) {
        let hash = MediaHash::parse(&text).map_err(|why| why.to_string())?;
        if !hashes.contains(&hash) {
            hashes.push(hash);
        }
        if hashes.len() > MAX_HASHES {
            return Err(format!("must be at most {MAX_HASHES}"));
        }
    }
    Ok(hashes)
}

/// The error for a list that is too long.
pub(super) fn too_many(field: &str, len: usize, most: usize) -> Option<Issue> {
    (len > most).then(|| Issue::at(field, format!("must have at most {most} entries")))
}

/// Parses the files of a skill.
///
/// # Errors
/// 400 with all errors.
pub(super) fn read_files(
    sent: Vec<SkillFileInput>,
    message: Option<&str>,
) -> ApiResult<Vec<NewSkillFile>> {
    // Checked first: a million invalid files must not become a million messages.
    refuse(Vec::from_iter(too_many("files", sent.len(), MAX_FILES)))?;
    let message = message.map(check_message).and_then(Result::err);
    let mut issues = Vec::from_iter(message.map(|why| Issue::at("commitMessage", why.to_string())));
    let paths: Vec<&str> = sent.iter().map(|file| file.path.as_str()).collect();
    issues.extend(check_folder(&paths).err().map(|why| Issue::at("files", why.to_string())));
    let mut files = Vec::with_capacity(sent.len());
    for (index, file) in sent.into_iter().enumerate() {
        let bad_path = check_path(&file.path).err();
        issues.extend(bad_path.map(|why| issue(index, "path", why.to_string())));
        match read_content(file.content, file.sha256_hash.as_deref()) {
            Ok(content) => files.push(NewSkillFile { path: file.path, content }),
            Err((field, why)) => issues.push(issue(index, field, why)),
        }
    }
    refuse(issues)?;
    Ok(files)
}

fn read_content(
    content: Option<String>,
    hash: Option<&str>,
) -> Result<SkillContent, (&'static str, String)> {
    match (content, hash) {
        (Some(text), None) if text.len() > MAX_FILE_BYTES => {
            Err(("content", format!("must have at most {MAX_FILE_BYTES} bytes")))
        }
        (Some(text), None) if text.contains('\0') => {
            Err(("content", "must be text, without null bytes".to_owned()))
        }
        (Some(text), None) => Ok(SkillContent::Text(text)),
        (None, Some(hash)) => MediaHash::parse(hash)
            .map(SkillContent::Known)
            .map_err(|why| ("sha256Hash", why.to_string())),
        _ => Err(("content", "needs either content or sha256Hash".to_owned())),
    }
}

/// The front matter of the main file, be it sent or stored already.
pub(super) async fn read_front(
    app: &App,
    project: &ProjectId,
    files: &[NewSkillFile],
) -> ApiResult<FrontMatter> {
    let main = files.iter().enumerate().find(|(_, file)| file.path == MAIN_FILE);
    let (index, main) = main.ok_or_else(|| ApiError::internal("a skill without a main file"))?;
    let at = |(field, message): (&str, String)| {
        ApiError::InvalidFields(vec![issue(index, field, message)])
    };
    let text = match &main.content {
        SkillContent::Text(text) => Cow::Borrowed(text),
        SkillContent::Known(hash) => {
            let found = app.store.catalog.skill_contents(project.clone(), vec![*hash]).await;
            let found = found.map_err(|error| match error {
                StoreError::NotFound(_) => {
                    at(("sha256Hash", "unknown in this project; send its content".to_owned()))
                }
                other => other.into(),
            })?;
            Cow::Owned(found.into_iter().map(|(_, text)| text).collect())
        }
    };
    FrontMatter::read(&text).map_err(|why| at(("content", format!("{MAIN_FILE} {why}"))))
}

/// The error for a field of a file.
fn issue(index: usize, field: &str, message: String) -> Issue {
    let named = |name: &str| PathStep::Field(name.to_owned());
    Issue { path: vec![named("files"), PathStep::Index(index), named(field)], message }
}
