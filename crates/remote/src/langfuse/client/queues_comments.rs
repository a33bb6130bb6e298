//! Media, annotation queues and comments. The same in both API generations.

use reqwest::{Method, Url};

use super::request::ApiRequest;
use super::retry::Idempotency;
use super::slice::{Position, Slice};
use super::{ClientError, Failure, LangfuseClient};
use crate::langfuse::wire::comment::{CommentCreated, CommentRequest, CommentView};
use crate::langfuse::wire::media::{MediaRequest, MediaUpload, MediaView};
use crate::langfuse::wire::project::{ProjectView, Projects};
use crate::langfuse::wire::queue::{QueueItemRequest, QueueItemView, QueueRequest, QueueView};
use crate::langfuse::wire::wire_name::WireName;
use ratchet_core::catalog::annotation::CommentedKind;
use ratchet_core::issue::Issue;

/// Pages of an object's comments that are searched for an earlier one.
const MAX_COMMENT_PAGES: usize = 20;

impl LangfuseClient {
    /// Returns the id of the API key's project.
    ///
    /// # Errors
    /// Fails if the request fails.
    pub async fn project_id(&self) -> Result<String, ClientError> {
        Ok(self.project().await?.id)
    }

    /// Returns the API key's project.
    ///
    /// # Errors
    /// Fails if the request fails.
    pub async fn project(&self) -> Result<ProjectView, ClientError> {
        let request = ApiRequest::get(&["projects"]);
        let projects: Projects = self.get(&request).await?;
        projects
            .data
            .into_iter()
            .next()
            .ok_or_else(|| self.unreadable(&request, Issue::at("data", "holds no project")))
    }

    /// Returns the annotation queues.
    ///
    /// # Errors
    /// Fails if the request fails.
    pub async fn queues(&self, at: &Position) -> Result<Slice<QueueView>, ClientError> {
        self.list(ApiRequest::get(&["annotation-queues"]), at).await
    }

    /// Creates an annotation queue.
    ///
    /// # Errors
    /// Fails if the request fails or is rejected.
    pub async fn create_queue(&self, new: &QueueRequest) -> Result<QueueView, ClientError> {
        self.get(&ApiRequest::post(&["annotation-queues"], new, Idempotency::NotIdempotent)).await
    }

    /// Returns the items of a queue, newest first.
    ///
    /// # Errors
    /// Fails if the request fails.
    pub async fn queue_items(
        &self,
        queue: &str,
        at: &Position,
    ) -> Result<Slice<QueueItemView>, ClientError> {
        self.list(ApiRequest::get(&["annotation-queues", queue, "items"]), at).await
    }

    /// Adds an item to a queue.
    ///
    /// # Errors
    /// Fails if the request fails or is rejected.
    pub async fn create_queue_item(
        &self,
        queue: &str,
        new: &QueueItemRequest,
    ) -> Result<QueueItemView, ClientError> {
        let path = ["annotation-queues", queue, "items"];
        self.get(&ApiRequest::post(&path, new, Idempotency::NotIdempotent)).await
    }

    /// Returns comments, newest first.
    ///
    /// # Errors
    /// Fails if the request fails.
    pub async fn comments(&self, at: &Position) -> Result<Slice<CommentView>, ClientError> {
        self.list(ApiRequest::get(&["comments"]), at).await
    }

    /// Comments on an object, unless one of its comments contains the mark: that of an earlier
    /// attempt. Returns whether it did.
    ///
    /// # Errors
    /// Fails if a request fails or is rejected.
    pub async fn comment_once(
        &self,
        (kind, object): (CommentedKind, &str),
        (content, mark): (String, &str),
    ) -> Result<bool, ClientError> {
        let mut next = Some(Position::Start);
        for _ in 0..MAX_COMMENT_PAGES {
            let Some(at) = next else { break };
            let request = ApiRequest::get(&["comments"]).with("objectType", kind.as_str());
            let slice: Slice<CommentView> =
                self.list(request.with("objectId", object), &at).await?;
            if slice.rows.iter().any(|one| one.content.contains(mark)) {
                return Ok(false);
            }
            next = slice.next;
        }
        let new = CommentRequest {
            project_id: self.project_id().await?,
            object_type: WireName(kind),
            object_id: object.to_owned(),
            content,
            author_user_id: None,
        };
        self.create_comment(&new).await?;
        Ok(true)
    }

    /// Creates a comment.
    ///
    /// # Errors
    /// Fails if the request fails or is rejected.
    pub async fn create_comment(
        &self,
        new: &CommentRequest,
    ) -> Result<CommentCreated, ClientError> {
        self.get(&ApiRequest::post(&["comments"], new, Idempotency::NotIdempotent)).await
    }

    /// Returns a media record with its download URL; `None` if it does not exist.
    ///
    /// # Errors
    /// Fails if the request fails.
    pub async fn media(&self, id: &str) -> Result<Option<MediaView>, ClientError> {
        self.find(&ApiRequest::get(&["media", id])).await
    }

    /// Announces a media file and returns its upload URL.
    ///
    /// # Errors
    /// Fails if the request fails or is rejected.
    pub async fn announce_media(&self, new: &MediaRequest) -> Result<MediaUpload, ClientError> {
        self.get(&ApiRequest::post(&["media"], new, Idempotency::Idempotent)).await
    }

    /// Downloads bytes from a URL that a server returned.
    ///
    /// # Errors
    /// Fails on errors, and above the size limit.
    pub async fn download(&self, url: &str) -> Result<Vec<u8>, ClientError> {
        let request = "GET of a piece of media".to_owned();
        let url = self.linked(&request, url)?;
        let got = async {
            let answer = self.0.http.get(url).send().await.map_err(Failure::Transport)?;
            let status = answer.status();
            let bytes = self.0.bytes(answer).await?;
            if status.is_success() {
                return Ok(bytes);
            }
            let message = "the link does not lead to the bytes".to_owned();
            Err(Failure::Status { code: status.as_u16(), retry_after: None, message })
        };
        got.await.map_err(|failure| self.0.give_up(request, failure, 1))
    }

    /// Uploads bytes to a URL that a server returned.
    ///
    /// # Errors
    /// Fails if the upload is rejected.
    pub async fn upload(
        &self,
        url: &str,
        announced: &MediaRequest,
        bytes: Vec<u8>,
    ) -> Result<(), ClientError> {
        let request = "PUT of a piece of media".to_owned();
        let url = self.linked(&request, url)?;
        let put = self
            .0
            .http
            .request(Method::PUT, url)
            .header("content-type", &announced.content_type)
            .header("x-amz-checksum-sha256", &announced.sha256_hash)
            .body(bytes);
        let sent = async {
            let answer = put.send().await.map_err(Failure::Transport)?;
            let status = answer.status();
            let text = self.0.text(answer).await?;
            if status.is_success() {
                return Ok(());
            }
            Err(Failure::Status {
                code: status.as_u16(),
                retry_after: None,
                message: super::refusal(&text),
            })
        };
        sent.await.map_err(|failure| self.0.give_up(request, failure, 1))
    }

    /// Parses a URL that a server returned. API keys are never sent to it.
    fn linked(&self, request: &str, url: &str) -> Result<Url, ClientError> {
        Url::parse(url).map_err(|why| ClientError::Unreadable {
            request: request.to_owned(),
            issue: Issue::at("url", why.to_string()),
        })
    }
}
