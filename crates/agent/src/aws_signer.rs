//! Signature Version 4 for services of AWS that have no client here.

use std::time::SystemTime;

use aws_config::{BehaviorVersion, Region};
use aws_sdk_bedrockruntime::config::{
    Credentials, ProvideCredentials as _, SharedCredentialsProvider,
};
use aws_sigv4::http_request::{SignableBody, SignableRequest, SigningSettings, sign};
use aws_sigv4::sign::v4;
use ratchet_core::secret::Secret;

use crate::error::ModelError;
use crate::provider::bedrock::connection;

/// Signs requests to one service in one region.
#[derive(Clone, Debug)]
pub struct AwsSigner {
    credentials: SharedCredentialsProvider,
    region: String,
    service: &'static str,
}

/// Who signs.
#[derive(Clone, Debug)]
pub enum AwsIdentity {
    /// The default credential chain: environment, profile, container or instance.
    Ambient,
    /// An access key pair.
    Keys {
        id: String,
        secret: Secret,
        /// Session token of temporary credentials.
        session: Option<Secret>,
    },
}

/// A request to sign.
#[derive(Clone, Copy, Debug)]
pub struct UnsignedRequest<'a> {
    pub method: &'a str,
    pub url: &'a str,
    /// The headers that the signature covers, besides the host.
    pub headers: &'a [(&'a str, &'a str)],
    pub body: &'a [u8],
}

impl AwsSigner {
    /// Creates a signer; credentials are resolved at the first request.
    ///
    /// # Errors
    /// Fails if there are no credentials at all.
    pub async fn open(
        identity: AwsIdentity,
        region: &str,
        service: &'static str,
    ) -> Result<Self, ModelError> {
        let credentials = match identity {
            AwsIdentity::Keys { id, secret, session } => {
                let (session, ends) = (session.map(|token| token.expose().to_owned()), None);
                let keys = Credentials::new(id, secret.expose(), session, ends, "ratchet");
                SharedCredentialsProvider::new(keys)
            }
            AwsIdentity::Ambient => {
                let loader = aws_config::defaults(BehaviorVersion::latest());
                let loader = loader.http_client(connection(None));
                let config = loader.region(Region::new(region.to_owned())).load().await;
                config.credentials_provider().ok_or_else(missing)?
            }
        };
        Ok(Self { credentials, region: region.to_owned(), service })
    }

    /// Returns the headers to add to a request that is sent now.
    ///
    /// # Errors
    /// Fails if there are no credentials, or if the request cannot be signed.
    #[expect(clippy::disallowed_methods, reason = "AWS refuses any other time than now")]
    pub async fn sign(
        &self,
        request: UnsignedRequest<'_>,
    ) -> Result<Vec<(String, String)>, ModelError> {
        self.sign_at(request, SystemTime::now()).await
    }

    async fn sign_at(
        &self,
        request: UnsignedRequest<'_>,
        at: SystemTime,
    ) -> Result<Vec<(String, String)>, ModelError> {
        let credentials = self.credentials.provide_credentials().await.map_err(|_| missing())?;
        let unfit = |why: String| ModelError::NotSetUp(format!("cannot sign the request: {why}"));
        let identity = credentials.into();
        let params = v4::SigningParams::builder()
            .identity(&identity)
            .region(&self.region)
            .name(self.service)
            .time(at)
            .settings(SigningSettings::default())
            .build()
            .map_err(|error| unfit(error.to_string()))?
            .into();
        let headers = request.headers.iter().copied();
        let body = SignableBody::Bytes(request.body);
        let signable = SignableRequest::new(request.method, request.url, headers, body)
            .map_err(|error| unfit(error.to_string()))?;
        let signed = sign(signable, &params).map_err(|error| unfit(error.to_string()))?;
        let (instructions, _signature) = signed.into_parts();
        let added = instructions.headers();
        Ok(added.map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
    }
}

fn missing() -> ModelError {
    ModelError::NotSetUp(
        "there are no AWS credentials; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a profile"
            .to_owned(),
    )
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// The example "get-vanilla-query-order-key-case" of AWS's test suite for signers.
    #[tokio::test]
    async fn a_signature_is_the_one_of_the_test_suite() {
        let identity = AwsIdentity::Keys {
            id: "AKIDEXAMPLE".to_owned(),
            secret: Secret::new("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"),
            session: None,
        };
        let signer = AwsSigner::open(identity, "us-east-1", "service").await.unwrap();
        let request = UnsignedRequest {
            method: "GET",
            url: "https://example.amazonaws.com/?Param2=value2&Param1=value1",
            headers: &[],
            body: b"",
        };
        let at = SystemTime::UNIX_EPOCH + Duration::from_secs(1_440_938_160);
        let headers = signer.sign_at(request, at).await.unwrap();
        let value = |wanted: &str| {
            let found = headers.iter().find(|(name, _)| name == wanted);
            found.map(|(_, value)| value.as_str()).unwrap_or_default()
        };
        assert_eq!(value("x-amz-date"), "20150830T123600Z");
        assert!(
            value("authorization").ends_with(
                "Signature=b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"
            ),
            "{headers:?}"
        );
    }
}
