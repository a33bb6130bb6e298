//! Administration of projects and their members by owners.

use ratchet_core::payload::Json;
use ratchet_core::time::Timestamp;

use super::sql::{Row, Tx};
use super::{AuditAction, AuditObject, Catalog, Project, Role, User, identity, key, project, user};
use crate::project::ProjectId;
use crate::{StoreError, StoreResult};

/// Every table with project data, in deletion order: those that reference others first.
pub(crate) const TABLES: &[&str] = &[
    "review_alert",
    "announcement",
    "review_item",
    "review_draw",
    "evaluator_hour",
    "gate",
    "ab_test",
    "promotion",
    "run_version",
    "agent_serving",
    "agent_prompt",
    "agent_version",
    "experiment_answer",
    "experiment_run",
    "experiment_target",
    "agent",
    "annotation_assignment",
    "annotation_review",
    "review_settings",
    "annotation_item",
    "annotation_queue",
    "api_key",
    "audit_entry",
    "chat",
    "target_chat",
    "comment",
    "dataset_item",
    "dataset",
    "document",
    "llm_connection",
    "media_use",
    "media",
    "membership",
    "model",
    "job",
    "notice_receiver",
    "page_origin",
    "product_feedback",
    "project_note",
    "prompt_reference",
    "prompt_tag",
    "prompt_label",
    "prompt",
    "publication",
    "redaction_rule",
    "report",
    "saved_view",
    "schedule",
    "score_config",
    "scoring_batch_item",
    "scoring_batch",
    "scoring_call",
    "scoring_run",
    "scoring_verdict",
    "session_bookmark",
    "skill_file",
    "skill_content",
    "skill_tag",
    "skill_label",
    "skill",
    "proposal_step",
    "proposal",
    "feedback_report",
];

/// An owner's notes about a project.
#[derive(Clone, Debug, PartialEq)]
pub struct ProjectNote {
    /// Free-form JSON object.
    pub metadata: Json,
    pub updated_at: Timestamp,
}

/// A change of a project; `None` leaves a field as it is.
#[derive(Clone, Debug, Default)]
pub struct ProjectChange {
    pub name: Option<String>,
    /// Retention in days; `Some(None)` means forever.
    pub retention_days: Option<Option<u32>>,
    /// Free-form JSON object.
    pub metadata: Option<Json>,
}

/// A user's role in a project or on the whole server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Membership {
    pub user: User,
    pub role: Role,
}

impl Catalog {
    /// Returns the owner's notes about a project, if any.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn project_note(&self, id: ProjectId) -> StoreResult<Option<ProjectNote>> {
        self.transact(move |tx| {
            let sql = "SELECT metadata, updated_at FROM project_note WHERE project = $1";
            tx.one(sql, &[(&id).into()], |row| {
                Ok(ProjectNote { metadata: row.get(0)?, updated_at: row.get(1)? })
            })
        })
        .await
    }

    /// Changes a project.
    ///
    /// # Errors
    /// Fails if there is no such project or its new name is taken.
    pub async fn change_project(
        &self,
        id: ProjectId,
        change: ProjectChange,
        now: Timestamp,
    ) -> StoreResult<Project> {
        self.transact(move |tx| {
            let before = project::find(tx, &id)?;
            if let Some(name) = change.name.filter(|name| *name != before.name) {
                tx.insert(
                    "UPDATE project SET name = $1 WHERE id = $2",
                    &[(&name).into(), (&id).into()],
                    || format!("a project with the name {name}"),
                )?;
                let audited =
                    AuditAction::Changed.on(AuditObject::Project, id.as_str()).named(&name);
                tx.audit(&id, now, &audited.was(before.name).became(&name))?;
            }
            if let Some(days) = change.retention_days {
                project::keep_for(tx, &id, days, now)?;
            }
            if let Some(metadata) = change.metadata {
                tx.execute(
                    "INSERT INTO project_note (project, metadata, updated_at) \
                     VALUES ($1, $2, $3) ON CONFLICT (project) DO UPDATE \
                     SET metadata = excluded.metadata, updated_at = excluded.updated_at",
                    &[(&id).into(), (&metadata).into(), now.into()],
                )?;
                let audited =
                    AuditAction::Changed.on(AuditObject::Project, id.as_str()).named("metadata");
                tx.audit(&id, now, &audited)?;
            }
            project::find(tx, &id)
        })
        .await
    }

    /// Deletes a project and everything in the catalog that belongs to it. The caller must delete
    /// its telemetry next.
    ///
    /// # Errors
    /// Fails if there is no such project.
    pub async fn delete_project(&self, id: ProjectId, now: Timestamp) -> StoreResult<()> {
        let prices = self.prices.clone();
        let gone = id.clone();
        self.transact(move |tx| {
            let project = project::find(tx, &id)?;
            // Before the deletes, so that its number is greater than those of the deleted entries.
            let audited =
                AuditAction::Deleted.on(AuditObject::Project, id.as_str()).named(&project.name);
            tx.audit_server(now, &audited)?;
            for table in TABLES {
                tx.execute(&format!("DELETE FROM {table} WHERE project = $1"), &[(&id).into()])?;
            }
            tx.execute("DELETE FROM project WHERE id = $1", &[(&id).into()])?;
            tx.execute(
                "INSERT INTO deleted_project (id, deleted_at) VALUES ($1, $2) \
                 ON CONFLICT (id) DO UPDATE SET deleted_at = excluded.deleted_at",
                &[(&id).into(), now.into()],
            )?;
            prices.set(&id, Vec::new());
            Ok(())
        })
        .await?;
        self.keys.invalidate_project(&gone);
        self.recording_settings.invalidate(&gone);
        Ok(())
    }

    /// Returns recently deleted projects with the time of deletion.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn deleted_projects(&self) -> StoreResult<Vec<(ProjectId, Timestamp)>> {
        self.transact(deleted).await
    }

    /// Removes the tombstones of projects that were deleted before a moment.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn forget_deleted_projects(&self, before: Timestamp) -> StoreResult<()> {
        self.transact(move |tx| {
            let sql = "DELETE FROM deleted_project WHERE deleted_at < $1";
            tx.execute(sql, &[before.into()]).map(drop)
        })
        .await
    }

    /// Returns the members of a project, in the order in which they joined the server.
    ///
    /// # Errors
    /// Fails if there is no such project.
    pub async fn memberships(&self, id: ProjectId) -> StoreResult<Vec<Membership>> {
        self.transact(move |tx| {
            project::find(tx, &id)?;
            let sql = "SELECT person, membership.role FROM membership \
                       JOIN person ON person.id = membership.person \
                       WHERE project = $1 ORDER BY person.created_at, person.id";
            let read = |row: &Row<'_>| Ok((row.get::<String>(0)?, row.get::<Role>(1)?));
            let found = tx.rows(sql, &[(&id).into()], read)?;
            found
                .into_iter()
                .map(|(user, role)| Ok(Membership { user: user::find(tx, &user)?, role }))
                .collect()
        })
        .await
    }

    /// Sets a user's role in a project.
    ///
    /// # Errors
    /// Fails if there is no such project or person.
    pub async fn set_membership(
        &self,
        id: ProjectId,
        user: String,
        role: Role,
        now: Timestamp,
    ) -> StoreResult<Membership> {
        self.transact(move |tx| {
            let user = user::find(tx, &user)?;
            join(tx, (&id, &user), role, now)?;
            Ok(Membership { user, role })
        })
        .await
    }

    /// Returns the projects that a user may read, oldest first, with the role in each: owners of
    /// the server have every role everywhere, others what their membership grants.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn projects_of(&self, user: &User) -> StoreResult<Vec<(Project, Role)>> {
        if user.role == Role::Owner {
            let projects = self.projects().await?;
            return Ok(projects.into_iter().map(|project| (project, Role::Owner)).collect());
        }
        let person = user.id.clone();
        self.transact(move |tx| {
            let sql = "SELECT project, role FROM membership WHERE person = $1 AND role <> $2";
            let read = |row: &Row<'_>| Ok((row.get::<ProjectId>(0)?, row.get::<Role>(1)?));
            let found = tx.rows(sql, &[person.into(), Role::IngestOnly.into()], read)?;
            let mut projects = found
                .into_iter()
                .map(|(id, role)| Ok((project::find(tx, &id)?, role)))
                .collect::<StoreResult<Vec<_>>>()?;
            projects.sort_by(|(one, _), (other, _)| {
                (one.created_at, &one.id).cmp(&(other.created_at, &other.id))
            });
            Ok(projects)
        })
        .await
    }

    /// Removes a user from a project and from its queues.
    ///
    /// # Errors
    /// Fails if there is no such project, or if the user is not a member.
    pub async fn end_membership(
        &self,
        id: ProjectId,
        user: String,
        now: Timestamp,
    ) -> StoreResult<()> {
        self.transact(move |tx| {
            let role = role_in(tx, &id, &user)?;
            let role =
                role.ok_or_else(|| StoreError::NotFound(format!("the membership of {user}")))?;
            let sql = "DELETE FROM membership WHERE project = $1 AND person = $2";
            tx.execute(sql, &[(&id).into(), (&user).into()])?;
            // A key of theirs would go on seeing the queues.
            let sql = "DELETE FROM annotation_assignment WHERE project = $1 AND person = $2";
            tx.execute(sql, &[(&id).into(), (&user).into()])?;
            let user = user::find(tx, &user)?;
            let audited = AuditAction::Removed.on(AuditObject::Member, &user.id).named(&user.email);
            tx.audit(&id, now, &audited.was(role.as_str()))
        })
        .await
    }

    /// Sets a user's role on the whole server.
    ///
    /// # Errors
    /// Fails if there is no such user, or if no owner would be left.
    pub async fn set_role(&self, user: String, role: Role, now: Timestamp) -> StoreResult<User> {
        self.transact(move |tx| {
            let found = user::find(tx, &user)?;
            let sql = "UPDATE person SET role = $1 WHERE id = $2";
            tx.execute(sql, &[role.into(), (&user).into()])?;
            must_have_owner(tx)?;
            let audited = AuditAction::Changed.on(AuditObject::Person, &user).named(&found.email);
            tx.audit_server(now, &audited.was(found.role.as_str()).became(role.as_str()))?;
            Ok(User { role, ..found })
        })
        .await
    }

    /// Deletes a user, and revokes their keys. Their comments and labels stay.
    ///
    /// # Errors
    /// Fails if there is no such user, or if no owner would be left.
    pub async fn delete_user(&self, user: String, now: Timestamp) -> StoreResult<()> {
        let deleted = user.clone();
        let delete = self.transact(move |tx| {
            let found = user::find(tx, &user)?;
            identity::bar(tx, &user)?;
            key::revoke_of_person(tx, &user, now)?;
            for table in ["annotation_assignment", "membership", "web_session"] {
                tx.execute(&format!("DELETE FROM {table} WHERE person = $1"), &[(&user).into()])?;
            }
            tx.execute("DELETE FROM person WHERE id = $1", &[(&user).into()])?;
            must_have_owner(tx)?;
            let audited = AuditAction::Deleted.on(AuditObject::Person, &user).named(&found.email);
            tx.audit_server(now, &audited.was(found.role.as_str()))
        });
        delete.await?;
        self.keys.invalidate_person(&deleted);
        Ok(())
    }
}

/// Sets a user's role in a project.
///
/// # Errors
/// Fails if there is no such project.
pub(super) fn join(
    tx: &Tx<'_>,
    (id, user): (&ProjectId, &User),
    role: Role,
    now: Timestamp,
) -> StoreResult<()> {
    project::find(tx, id)?;
    let before = role_in(tx, id, &user.id)?;
    tx.execute(
        "INSERT INTO membership (project, person, role) VALUES ($1, $2, $3) \
         ON CONFLICT (project, person) DO UPDATE SET role = excluded.role",
        &[id.into(), (&user.id).into(), role.into()],
    )?;
    let verb = if before.is_some() { AuditAction::Changed } else { AuditAction::Added };
    let audited = verb.on(AuditObject::Member, &user.id).named(&user.email).became(role.as_str());
    let audited = match before {
        Some(before) => audited.was(before.as_str()),
        None => audited,
    };
    tx.audit(id, now, &audited)
}

/// A user's role in a project, if they are a member.
pub(super) fn role_in(tx: &Tx<'_>, id: &ProjectId, person: &str) -> StoreResult<Option<Role>> {
    let sql = "SELECT role FROM membership WHERE project = $1 AND person = $2";
    tx.one(sql, &[id.into(), person.into()], |row| row.get(0))
}

/// Recently deleted projects with the time of deletion.
pub(crate) fn deleted(tx: &Tx<'_>) -> StoreResult<Vec<(ProjectId, Timestamp)>> {
    let sql = "SELECT id, deleted_at FROM deleted_project ORDER BY id";
    tx.rows(sql, &[], |row| Ok((row.get(0)?, row.get(1)?)))
}

/// Fails if the server has users but no owner.
fn must_have_owner(tx: &Tx<'_>) -> StoreResult<()> {
    let has_users = tx.exists("SELECT 1 FROM person", &[])?;
    let owner = "SELECT 1 FROM person WHERE role = $1";
    if has_users && !tx.exists(owner, &[Role::Owner.into()])? {
        let what = "a server with people needs an owner among them; make another one first";
        return Err(StoreError::BadQuery(what.to_owned()));
    }
    Ok(())
}
