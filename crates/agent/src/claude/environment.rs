use std::env;
use std::fmt;
use std::str::FromStr;

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

/// Entry of the allowlist that stands for the built-in list.
const DEFAULT: &str = "default";
/// Prefix of our own variables, which hold secrets and are never inherited.
const OURS: &str = "RATCHET_";

/// Allowlist of the environment variables that the program and its children inherit.
///
/// Written as names separated by commas; a trailing `*` is a wildcard, and `default` stands for the
/// built-in list.
///
/// ```
/// use ratchet_agent::claude::environment::EnvNames;
///
/// let names: EnvNames = "default, GITHUB_TOKEN, ACME_*".parse().unwrap();
/// assert_eq!(names.to_string(), "default,GITHUB_TOKEN,ACME_*");
/// assert!("RATCHET_SECRET_KEY".parse::<EnvNames>().is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnvNames(Vec<String>);

impl Default for EnvNames {
    fn default() -> Self {
        Self(vec![DEFAULT.to_owned()])
    }
}

impl FromStr for EnvNames {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let names = text.split(',').map(str::trim).filter(|name| !name.is_empty());
        let names: Vec<String> = names.map(str::to_owned).collect();
        for name in &names {
            let plain = name.strip_suffix('*').unwrap_or(name);
            let is_plain = plain.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
            if !is_plain {
                return Err(
                    "names of variables with commas, such as default,GITHUB_TOKEN,ACME_*; a \
                            * stands at the end only"
                        .to_owned(),
                );
            }
            if plain.starts_with(OURS) {
                return Err(format!("variables without {OURS}: those hold keys of ours"));
            }
        }
        Ok(Self(names))
    }
}

impl fmt::Display for EnvNames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { f.write_str("(none)") } else { f.write_str(&self.0.join(",")) }
    }
}

impl EnvNames {
    /// Whether a variable is among them; `clouds` are names of the default.
    fn has(&self, name: &str, clouds: &[&str]) -> bool {
        let is_usual =
            || NAMES.contains(&name) || name.starts_with("LC_") || clouds.contains(&name);
        let is_it = |one: &String| match one.strip_suffix('*') {
            _ if one == DEFAULT => is_usual(),
            Some(beginning) => name.starts_with(beginning),
            None => one == name,
        };
        // The program would take itself for a part of another one.
        let is_never = name.starts_with(OURS) || name == "CLAUDECODE";
        !is_never && self.0.iter().any(is_it)
    }
}

/// Of these variables, those that the program may see. Whatever it runs sees them too, so secrets
/// of ours are never among them.
///
/// ```
/// use ratchet_agent::claude::environment::{EnvNames, passed_variables};
///
/// let ours = [("PATH", "/bin"), ("RATCHET_SECRET_KEY", "sk"), ("LC_ALL", "C")];
/// let ours = ours.map(|(name, value)| (name.to_owned(), value.to_owned()));
/// let theirs = passed_variables(ours, &EnvNames::default());
/// let names: Vec<&str> = theirs.iter().map(|(name, _)| name.as_str()).collect();
/// assert_eq!(names, ["PATH", "LC_ALL"]);
/// ```
pub fn passed_variables(
    variables: impl IntoIterator<Item = (String, String)>,
    names: &EnvNames,
) -> Vec<(String, Secret)> {
    let variables: Vec<(String, String)> = variables.into_iter().collect();
    let is_used =
        |switch: &str| variables.iter().any(|(name, value)| name == switch && !value.is_empty());
    let clouds: Vec<&str> = CLOUDS
        .iter()
        .filter(|(switch, _)| is_used(switch))
        .flat_map(|(_, names)| names.iter().copied())
        .collect();
    let seen = variables.iter().filter(|(name, _)| names.has(name, &clouds));
    seen.map(|(name, value)| (name.clone(), Secret::new(value.clone()))).collect()
}

/// The same of this process's own environment.
pub fn inherited(names: &EnvNames) -> Vec<(String, Secret)> {
    let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
        Some((name.into_string().ok()?, value.into_string().ok()?))
    };
    passed_variables(env::vars_os().filter_map(text), names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(given: &[(&str, &str)], expected: &[&str]) {
        let given = given.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let passed = passed_variables(given, &EnvNames::default());
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
        let given = [("ANTHROPIC_API_KEY".to_owned(), "sk-1".to_owned())];
        let passed = passed_variables(given, &EnvNames::default());
        assert!(!format!("{passed:?}").contains("sk-1"));
    }

    #[test]
    fn whoever_runs_the_server_names_what_passes() {
        let given =
            ["PATH", "GITHUB_TOKEN", "ACME_A", "ACME_B", "RATCHET_SECRET_KEY", "CLAUDECODE"];
        let passed = |names: &str| {
            let given = given.map(|name| (name.to_owned(), "x".to_owned()));
            let passed = passed_variables(given, &names.parse().unwrap());
            passed.into_iter().map(|(name, _)| name).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(passed("default"), "PATH");
        assert_eq!(passed("default,GITHUB_TOKEN"), "PATH GITHUB_TOKEN");
        assert_eq!(passed("ACME_*"), "ACME_A ACME_B");
        assert_eq!(passed("*"), "PATH GITHUB_TOKEN ACME_A ACME_B", "never what is ours");
        assert_eq!(passed(""), "");
        for bad in ["A B", "*A", "RATCHET_*", "A=1"] {
            assert!(bad.parse::<EnvNames>().is_err(), "{bad}");
        }
    }
}
