use ratchet_core::chat::notification::NotificationKind;
use ratchet_core::gate::report::GateReport;
use ratchet_core::message::Message;
use ratchet_store::catalog::{Dataset, NewNotice, NoticeReceiver, StoredGate};
use serde_json::json;

use super::{GateContext, GateError};

/// Notifies of a blocked run: the project's receivers, and the browsers of the owner of the agent
/// whose dataset it is, whatever they subscribe to. The owner is named in the message.
pub(super) async fn blocked(
    context: GateContext<'_>,
    dataset: &Dataset,
    (gate, report): (&StoredGate, &GateReport),
) -> Result<(), GateError> {
    let agents = context.store.catalog.agents(context.project.clone()).await?;
    let agent = agents.into_iter().find(|agent| agent.settings.datasets.contains(&dataset.name));
    let path = format!("/project/{}/gates/{}", context.project, gate.id);
    let url = format!("{}{path}", context.server);
    let owner = agent.as_ref().and_then(|agent| agent.settings.owner.clone());
    let kind = NotificationKind::GateBlocked;
    let title = format!("Gate blocked {} on {}", report.run, dataset.name);
    let data = json!({
        "project": context.project.as_str(),
        "title": title,
        "text": report.sentence,
        "dataset": dataset.name,
        "run": report.run,
        "agent": agent.map(|agent| agent.name),
        "owner": owner,
        "path": path,
        "url": url,
    });
    let message = Message {
        event: kind.as_str().to_owned(),
        title,
        text: report.sentence.clone(),
        sections: Vec::new(),
        link: Some(url),
        data,
    };
    let new = NewNotice {
        id: format!("gate-{}", gate.id),
        kind,
        session: None,
        is_minor: false,
        message: message.payload(context.now).to_string(),
    };
    let catalog = &context.store.catalog;
    let receivers = match &owner {
        Some(owner) => browsers_of(context, owner).await?,
        None => Vec::new(),
    };
    for receiver in receivers {
        let project = context.project.clone();
        catalog.post_notice_to(project, receiver.id, new.clone(), context.now).await?;
    }
    catalog.post_notice(context.project.clone(), new, context.now).await?;
    catalog.wake_delivery();
    Ok(())
}

/// Receivers of a person, by e-mail address or name, that do not get the message anyway.
async fn browsers_of(
    context: GateContext<'_>,
    owner: &str,
) -> Result<Vec<NoticeReceiver>, GateError> {
    let catalog = &context.store.catalog;
    let mut names = vec![owner.to_owned()];
    // An owner may be a team, which is no user.
    if let Ok(user) = catalog.user(owner.to_owned()).await {
        names.push(user.email);
        names.extend(user.name);
    }
    let receivers = catalog.notice_receivers(context.project.clone()).await?;
    let is_theirs = |one: &NoticeReceiver| one.person.as_ref().is_some_and(|it| names.contains(it));
    let is_missed = |one: &NoticeReceiver| {
        !one.is_paused && !one.events.contains(&NotificationKind::GateBlocked)
    };
    Ok(receivers.into_iter().filter(|one| is_theirs(one) && is_missed(one)).collect())
}
