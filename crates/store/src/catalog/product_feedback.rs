use ratchet_core::time::Timestamp;
use uuid::Uuid;

use super::{Catalog, project};
use crate::StoreResult;
use crate::project::ProjectId;

/// A user's feedback on the product itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProductFeedback {
    pub target_type: String,
    /// Id of the object.
    pub target: String,
    pub feedback: String,
    pub goal: Option<String>,
    pub reference_url: Option<String>,
}

impl Catalog {
    /// Saves feedback, redacted by the project's rules, and returns its id.
    ///
    /// # Errors
    /// Fails if the project does not exist.
    pub async fn save_feedback(
        &self,
        project: ProjectId,
        said: ProductFeedback,
        now: Timestamp,
    ) -> StoreResult<String> {
        let settings = self.recording_settings(&project).await?;
        let clean = |text: String| settings.redactor.text(&text).into_owned();
        let said = ProductFeedback {
            target_type: said.target_type,
            target: clean(said.target),
            feedback: clean(said.feedback),
            goal: said.goal.map(clean),
            reference_url: said.reference_url.map(clean),
        };
        self.transact(move |tx| {
            if !tx.exists("SELECT 1 FROM project WHERE id = $1", &[(&project).into()])? {
                return Err(project::missing(&project));
            }
            let id = Uuid::new_v4().to_string();
            let ProductFeedback { target_type, target, feedback, goal, reference_url } = said;
            tx.execute(
                "INSERT INTO product_feedback (id, project, target_type, target, feedback, goal, \
                 reference_url, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
                &[
                    (&id).into(),
                    (&project).into(),
                    target_type.into(),
                    target.into(),
                    feedback.into(),
                    goal.into(),
                    reference_url.into(),
                    now.into(),
                ],
            )?;
            Ok(id)
        })
        .await
    }
}
