//! The provider that people sign in with, from the settings that name it.

use anyhow::{Context, bail, ensure};
use ratchet_remote::oidc::{Provider, ProviderSettings};
use ratchet_store::catalog::{Admission, Role};
use ratchet_store::project::ProjectId;
use ratchet_web::sign_in::OidcLogin;
use reqwest::Url;

use crate::config::Oidc;

/// Checks the settings of a provider, if one is named. Newcomers work in the project that is
/// named, or else in the first one.
pub(crate) fn check(oidc: &Oidc, first_project: &ProjectId) -> anyhow::Result<Option<OidcLogin>> {
    let Some(issuer) = oidc.issuer.clone() else {
        ensure!(
            oidc.client_id.is_none(),
            "oidc.issuer is missing; it is required with oidc.client_id"
        );
        return Ok(None);
    };
    let client_id = oidc.client_id.clone();
    let client_id =
        client_id.context("oidc.client_id is missing; it is required with oidc.issuer")?;
    let host = Url::parse(&issuer).ok().and_then(|url| url.host_str().map(str::to_owned));
    let label = oidc.label.clone().or(host).unwrap_or_else(|| issuer.clone());
    let settings =
        ProviderSettings { issuer, client_id, client_secret: oidc.client_secret.clone() };
    let provider = Provider::new(settings).context("oidc.issuer cannot be used")?;
    let domains = oidc.domains.iter().flat_map(|list| list.split(','));
    let domains = domains.map(|domain| domain.trim().trim_start_matches('@').to_ascii_lowercase());
    let domains: Vec<String> = domains.filter(|domain| !domain.is_empty()).collect();
    let admission = admission(oidc, first_project)?;
    ensure!(
        admission.is_none() || !domains.is_empty(),
        "oidc.domains is missing: with oidc.role alone, every user of the provider could sign in; list the allowed email domains"
    );
    Ok(Some(OidcLogin { provider, label, domains, admission }))
}

fn admission(oidc: &Oidc, first_project: &ProjectId) -> anyhow::Result<Option<Admission>> {
    let Some(word) = oidc.role.as_deref().filter(|word| *word != "none") else {
        return Ok(None);
    };
    let role = match Role::parse(word) {
        Some(role @ (Role::Owner | Role::Member | Role::Viewer)) => role,
        Some(Role::Reviewer | Role::IngestOnly) | None => {
            bail!("oidc.role is \"{word}\"; it can be owner, member, viewer or none")
        }
    };
    let named = oidc.project.as_deref().map(ProjectId::parse).transpose();
    let named = named.context("oidc.project is not a valid ID")?;
    let project = named.unwrap_or_else(|| first_project.clone());
    Ok(Some(Admission { role, project: (role != Role::Owner).then_some(project) }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Option<String> {
        Some(text.to_owned())
    }

    fn named() -> Oidc {
        Oidc { issuer: text("https://id.example"), client_id: text("ratchet"), ..Oidc::default() }
    }

    fn read(oidc: &Oidc) -> anyhow::Result<Option<OidcLogin>> {
        check(oidc, &ProjectId::parse("first").unwrap())
    }

    #[track_caller]
    fn check_refused(oidc: &Oidc, expected: &str) {
        let message = format!("{:#}", read(oidc).unwrap_err());
        assert!(message.contains(expected), "{message}");
    }

    #[test]
    fn nobody_is_let_in_unless_it_is_said() {
        assert!(read(&Oidc::default()).unwrap().is_none());
        let alone = read(&named()).unwrap().unwrap();
        assert_eq!((alone.label.as_str(), alone.admission), ("id.example", None));
        let open =
            Oidc { role: text("viewer"), domains: text("@A.example, b.example,"), ..named() };
        let open = read(&open).unwrap().unwrap();
        assert_eq!(open.domains, ["a.example", "b.example"]);
        let project = Some(ProjectId::parse("first").unwrap());
        assert_eq!(open.admission, Some(Admission { role: Role::Viewer, project }));
    }

    #[test]
    fn settings_that_cannot_work_are_refused() {
        check_refused(&Oidc { client_id: None, ..named() }, "oidc.client_id is missing");
        check_refused(&Oidc { issuer: None, ..named() }, "oidc.issuer is missing");
        let clear = Oidc { issuer: text("http://id.example"), ..named() };
        check_refused(&clear, "must begin with https://");
        check_refused(&Oidc { role: text("king"), ..named() }, "oidc.role is \"king\"");
        check_refused(&Oidc { role: text("member"), ..named() }, "oidc.domains is missing");
        let odd = Oidc { role: text("member"), project: text("a/b"), ..named() };
        check_refused(&odd, "oidc.project is not a valid ID");
    }
}
