use std::env;

use ratchet_core::secret::Secret;

/// What is passed on by its whole name: finding programs, speaking the right language, getting
/// through a proxy, and reaching a model.
const NAMES: [&str; 40] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "TZ",
    "TERM",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "ALL_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "all_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
    // Says that the machine is one to be broken, without which the program will not skip
    // permissions as root.
    "IS_SANDBOX",
    "ANTHROPIC_BASE_URL",
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "ANTHROPIC_CUSTOM_HEADERS",
    "ANTHROPIC_MODEL",
    "ANTHROPIC_SMALL_FAST_MODEL",
    "ANTHROPIC_DEFAULT_OPUS_MODEL",
    "ANTHROPIC_DEFAULT_SONNET_MODEL",
    "ANTHROPIC_DEFAULT_HAIKU_MODEL",
    "ANTHROPIC_BEDROCK_BASE_URL",
    "ANTHROPIC_VERTEX_BASE_URL",
    "ANTHROPIC_VERTEX_PROJECT_ID",
    "CLAUDE_CODE_USE_BEDROCK",
    "CLAUDE_CODE_USE_VERTEX",
    "CLAUDE_CODE_USE_FOUNDRY",
    "CLAUDE_CODE_MAX_OUTPUT_TOKENS",
    "CLAUDE_CODE_MAX_RETRIES",
    "API_TIMEOUT_MS",
    "CLOUD_ML_REGION",
];

/// Credentials of a cloud, passed on only when the model is reached through it.
const CLOUDS: [(&str, &[&str]); 2] = [
    (
        "CLAUDE_CODE_USE_BEDROCK",
        &[
            "AWS_ACCESS_KEY_ID",
            "AWS_SECRET_ACCESS_KEY",
            "AWS_SESSION_TOKEN",
            "AWS_REGION",
            "AWS_DEFAULT_REGION",
            "AWS_PROFILE",
            "AWS_BEARER_TOKEN_BEDROCK",
            "AWS_WEB_IDENTITY_TOKEN_FILE",
            "AWS_ROLE_ARN",
            "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
            "AWS_CONTAINER_CREDENTIALS_FULL_URI",
        ],
    ),
    ("CLAUDE_CODE_USE_VERTEX", &["GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_CLOUD_PROJECT"]),
];

/// Of these variables, those that the program may see. Whatever it runs sees them too, so secrets
/// of ours are never among them.
///
/// ```
/// use ratchet_agent::claude::environment::passed_on;
///
/// let ours = [("PATH", "/bin"), ("RATCHET_SECRET_KEY", "sk"), ("LC_ALL", "C")];
/// let theirs = passed_on(ours.map(|(name, value)| (name.to_owned(), value.to_owned())));
/// let names: Vec<&str> = theirs.iter().map(|(name, _)| name.as_str()).collect();
/// assert_eq!(names, ["PATH", "LC_ALL"]);
/// ```
pub fn passed_on(variables: impl IntoIterator<Item = (String, String)>) -> Vec<(String, Secret)> {
    let variables: Vec<(String, String)> = variables.into_iter().collect();
    let is_used =
        |switch: &str| variables.iter().any(|(name, value)| name == switch && !value.is_empty());
    let clouds: Vec<&str> = CLOUDS
        .iter()
        .filter(|(switch, _)| is_used(switch))
        .flat_map(|(_, names)| names.iter().copied())
        .collect();
    let may_be_seen =
        |name: &str| NAMES.contains(&name) || name.starts_with("LC_") || clouds.contains(&name);
    let seen = variables.iter().filter(|(name, _)| may_be_seen(name));
    seen.map(|(name, value)| (name.clone(), Secret::new(value.clone()))).collect()
}

/// The same of this process's own environment.
pub fn inherited() -> Vec<(String, Secret)> {
    let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
        Some((name.into_string().ok()?, value.into_string().ok()?))
    };
    passed_on(env::vars_os().filter_map(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(given: &[(&str, &str)], expected: &[&str]) {
        let given = given.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let passed = passed_on(given);
        let names: Vec<&str> = passed.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, expected);
    }

    #[test]
    fn what_is_ours_stays_here() {
        check(
            &[
                ("ANTHROPIC_API_KEY", "sk"),
                ("LANGFUSE_SECRET_KEY", "sk"),
                ("DATABASE_URL", "postgres://"),
                ("OPENAI_API_KEY", "sk"),
                ("CLAUDECODE", "1"),
                ("CLAUDE_CODE_ENTRYPOINT", "cli"),
                ("LD_PRELOAD", "x.so"),
                ("NODE_OPTIONS", "--require x"),
            ],
            &["ANTHROPIC_API_KEY"],
        );
    }

    #[test]
    fn a_cloud_gets_its_keys_only_when_it_is_used() {
        check(&[("AWS_SECRET_ACCESS_KEY", "s")], &[]);
        check(
            &[("CLAUDE_CODE_USE_BEDROCK", "1"), ("AWS_SECRET_ACCESS_KEY", "s")],
            &["CLAUDE_CODE_USE_BEDROCK", "AWS_SECRET_ACCESS_KEY"],
        );
    }

    #[test]
    fn keys_are_not_shown() {
        let passed = passed_on([("ANTHROPIC_API_KEY".to_owned(), "sk-1".to_owned())]);
        assert!(!format!("{passed:?}").contains("sk-1"));
    }
}
