use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A change of what the program may do without asking.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum PermissionUpdate {
    AddRules {
        rules: Vec<PermissionRule>,
        behavior: RuleBehaviour,
        /// How long they are kept.
        destination: RuleDestination,
    },
    /// More folders that tools may touch.
    AddDirectories {
        directories: Vec<String>,
        /// How long they are kept.
        destination: RuleDestination,
    },
}

/// A rule about a tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PermissionRule {
    pub tool_name: String,
    /// Which uses of it, as `git log:*`; all when `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule_content: Option<String>,
}

/// What a rule says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum RuleBehaviour {
    Allow,
    Deny,
    Ask,
}

/// How long a rule is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum RuleDestination {
    UserSettings,
    /// In the workspace, for everyone.
    ProjectSettings,
    /// In the workspace, for one person.
    LocalSettings,
    /// As long as the process runs.
    Session,
}

/// How long a person wants a permission to be remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remember {
    /// Not at all.
    Once,
    /// As long as the process runs.
    Session,
    /// In the workspace, for this person.
    Workspace,
}

impl PermissionUpdate {
    /// A rule that allows all uses of a tool as long as the process runs.
    pub fn tool(name: &str) -> Self {
        let rule = PermissionRule { tool_name: name.to_owned(), rule_content: None };
        let (behavior, destination) = (RuleBehaviour::Allow, RuleDestination::Session);
        Self::AddRules { rules: vec![rule], behavior, destination }
    }
}

/// What of the program's suggestions is to be sent back when a person said how long a permission
/// is remembered.
///
/// Only rules and folders that are added, and only for as long as was said. Suggestions also switch
/// the mode, remove rules and write into shared settings, which the user has not approved.
/// Nothing comes back when there is nothing to remember: then the tool is asked about again.
///
/// ```
/// use ratchet_agent::claude::permission::{Remember, remembered};
/// use serde_json::json;
///
/// let suggested = [
///     json!({"type": "setMode", "mode": "acceptEdits", "destination": "session"}),
///     json!({"type": "addRules", "rules": [{"toolName": "Bash", "ruleContent": "ls"}],
///            "behavior": "allow", "destination": "projectSettings"}),
/// ];
/// assert_eq!(
///     json!(remembered(&suggested, Remember::Session)),
///     json!([{"type": "addRules", "rules": [{"toolName": "Bash", "ruleContent": "ls"}],
///             "behavior": "allow", "destination": "session"}]),
/// );
/// assert!(remembered(&suggested, Remember::Once).is_empty());
/// ```
pub fn remembered(suggestions: &[Value], how_long: Remember) -> Vec<PermissionUpdate> {
    let kept = match how_long {
        Remember::Once => return Vec::new(),
        Remember::Session => RuleDestination::Session,
        Remember::Workspace => RuleDestination::LocalSettings,
    };
    let known = suggestions.iter().filter_map(|one| PermissionUpdate::deserialize(one).ok());
    let harmless = known.filter_map(|update| match update {
        PermissionUpdate::AddRules { rules, behavior: RuleBehaviour::Allow, .. } => {
            let behavior = RuleBehaviour::Allow;
            Some(PermissionUpdate::AddRules { rules, behavior, destination: kept })
        }
        PermissionUpdate::AddRules { .. } => None,
        PermissionUpdate::AddDirectories { directories, .. } => {
            Some(PermissionUpdate::AddDirectories { directories, destination: kept })
        }
    });
    harmless.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn suggestion() -> impl Strategy<Value = Value> {
        let kinds = ["addRules", "replaceRules", "removeRules", "setMode", "addDirectories", "new"];
        let places = ["userSettings", "projectSettings", "localSettings", "session", "elsewhere"];
        let behaviours = ["allow", "deny", "ask"];
        (prop::sample::select(kinds.to_vec()), prop::sample::select(places.to_vec()), prop::sample::select(behaviours.to_vec()))
            .prop_map(|(kind, place, behaviour)| {
                json!({"type": kind, "destination": place, "behavior": behaviour, "mode": "acceptEdits",
                       "rules": [{"toolName": "Edit"}], "directories": ["/srv"]})
            })
    }

    proptest! {
        #[test]
        fn no_more_is_remembered_than_was_said(
            suggestions in prop::collection::vec(suggestion(), 0..6),
        ) {
            prop_assert!(remembered(&suggestions, Remember::Once).is_empty());
            for (how_long, place) in
                [(Remember::Session, "session"), (Remember::Workspace, "localSettings")]
            {
                for update in json!(remembered(&suggestions, how_long)).as_array().unwrap() {
                    prop_assert_eq!(&update["destination"], place);
                    let kind = update["type"].as_str().unwrap();
                    prop_assert!(kind == "addRules" || kind == "addDirectories");
                    prop_assert!(kind != "addRules" || update["behavior"] == "allow");
                }
            }
        }
    }
}
