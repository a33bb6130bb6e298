//! Bodies of responses, read up to a limit: the SDK reads them whole.

use aws_sdk_bedrockruntime::config::http::{HttpRequest, HttpResponse};
use aws_sdk_bedrockruntime::config::{RuntimeComponents, SharedHttpClient};
use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_types::body::SdkBody;
use aws_smithy_types::byte_stream::ByteStream;

use crate::error::ModelError;
use crate::http::{MAX_BYTES, innermost};

/// How the path of a streamed answer ends. Its events are counted as they arrive.
const STREAMED: &str = "/converse-stream";

/// Why a body was not read to its end.
#[derive(Clone, Debug, thiserror::Error)]
pub(super) enum BodyError {
    #[error("it has more than {MAX_BYTES} bytes")]
    TooLong,
    #[error("{0}")]
    Cut(String),
}

impl BodyError {
    /// Finds the error among the causes of an SDK error.
    pub(super) fn among_causes(error: &(dyn std::error::Error + 'static)) -> Option<ModelError> {
        let causes = std::iter::successors(Some(error), |error| error.source());
        let found = causes.filter_map(|cause| cause.downcast_ref::<Self>()).next()?;
        Some(match found {
            Self::TooLong => ModelError::MalformedResponse(found.to_string()),
            Self::Cut(why) => ModelError::CutStream(why.clone()),
        })
    }
}

/// An HTTP client whose responses are bounded.
#[derive(Debug)]
pub(super) struct BoundedClient(pub(super) SharedHttpClient);

impl HttpClient for BoundedClient {
    fn http_connector(
        &self,
        settings: &HttpConnectorSettings,
        components: &RuntimeComponents,
    ) -> SharedHttpConnector {
        SharedHttpConnector::new(BoundedConnector(self.0.http_connector(settings, components)))
    }
}

#[derive(Clone, Debug)]
struct BoundedConnector(SharedHttpConnector);

impl HttpConnector for BoundedConnector {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let is_streamed = request.uri().split('?').next().is_some_and(|at| at.ends_with(STREAMED));
        let sent = self.0.call(request);
        if is_streamed {
            return sent;
        }
        HttpConnectorFuture::new(async move {
            let mut response = sent.await?;
            let whole = read(&mut response).await;
            let whole = whole.map_err(|error| ConnectorError::other(Box::new(error), None))?;
            *response.body_mut() = SdkBody::from(whole);
            Ok(response)
        })
    }
}

async fn read(response: &mut HttpResponse) -> Result<Vec<u8>, BodyError> {
    let mut pieces = ByteStream::new(response.take_body());
    let mut whole = Vec::new();
    while let Some(piece) = pieces.next().await {
        let piece = piece.map_err(|error| BodyError::Cut(innermost(&error)))?;
        if whole.len() + piece.len() > MAX_BYTES {
            return Err(BodyError::TooLong);
        }
        whole.extend_from_slice(&piece);
    }
    Ok(whole)
}
