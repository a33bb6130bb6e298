use reqwest::Client;
use serde_json::{Value, json};

use crate::access::ModelAccess;
use crate::environment::{Clients, Variables, openai_access};
use crate::error::ModelError;
use crate::http::{self, KeyHeader, ProviderHttp};
use crate::retry::{MODEL_BACKOFF, RetryState};

const PATH: &str = "/embeddings";
/// Texts of one request.
const BATCH: usize = 128;
/// Characters of a text that are sent: more than a question has, and within the limits of models.
const MAX_CHARS: usize = 6_000;
/// Numbers of a vector at most.
const MAX_DIMENSIONS: usize = 8_192;

/// A model that gives texts as vectors, behind OpenAI's embeddings API or a compatible server.
#[derive(Clone, Debug)]
pub struct EmbeddingModel {
    wire: ProviderHttp,
    name: String,
}

impl EmbeddingModel {
    /// Creates a client; self-hosted servers may need no key.
    ///
    /// # Errors
    /// Fails if the key or a header cannot be sent over HTTP.
    pub fn new(
        client: Client,
        access: ModelAccess,
        name: impl Into<String>,
    ) -> Result<Self, ModelError> {
        let wire = ProviderHttp::new(client, access, KeyHeader::Bearer)?;
        Ok(Self { wire, name: name.into() })
    }

    /// Creates a client from `OPENAI_API_KEY` and `OPENAI_BASE_URL`. Sends nothing.
    ///
    /// # Errors
    /// Names the missing variable.
    pub fn open(
        name: &str,
        variables: Variables<'_>,
        clients: Clients<'_>,
    ) -> Result<Self, ModelError> {
        let access = openai_access(variables)?;
        Self::new(clients(&access.base_url)?, access, name)
    }

    /// Returns the model's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns a vector for each text, in their order. All have the same length.
    ///
    /// # Errors
    /// Fails if the server does not answer, or with something else than such vectors.
    pub async fn embed(&self, texts: &[String]) -> Result<Vec<Vec<f64>>, ModelError> {
        let mut vectors: Vec<Vec<f64>> = Vec::with_capacity(texts.len());
        for batch in texts.chunks(BATCH) {
            let of_batch = self.batch(batch).await?;
            let lengths = vectors.first().into_iter().chain(&of_batch).map(Vec::len);
            if lengths.collect::<std::collections::BTreeSet<_>>().len() > 1 {
                return Err(malformed("vectors have different lengths"));
            }
            vectors.extend(of_batch);
        }
        Ok(vectors)
    }

    async fn batch(&self, texts: &[String]) -> Result<Vec<Vec<f64>>, ModelError> {
        // Servers refuse empty texts.
        let shown = |text: &String| -> String {
            let text: String = text.chars().take(MAX_CHARS).collect();
            if text.trim().is_empty() { "-".to_owned() } else { text }
        };
        let input: Vec<String> = texts.iter().map(shown).collect();
        let body = json!({"model": self.name, "input": input, "encoding_format": "float"});
        let mut retries = RetryState::default();
        loop {
            let answer = match self.wire.post(PATH, &body).await {
                Ok(answer) => http::json(answer).await,
                Err(failure) => Err(failure),
            };
            match answer {
                Ok(answer) => return vectors(&answer, texts.len()),
                Err(failure) => retries.pause(&MODEL_BACKOFF, failure).await?,
            }
        }
    }
}

fn vectors(answer: &Value, count: usize) -> Result<Vec<Vec<f64>>, ModelError> {
    let rows = answer["data"].as_array().map(Vec::as_slice).unwrap_or_default();
    if rows.len() != count {
        return Err(malformed(&format!("{} vectors for {count} texts", rows.len())));
    }
    let mut found: Vec<Option<Vec<f64>>> = vec![None; count];
    for (at, row) in rows.iter().enumerate() {
        let index = row["index"].as_u64().and_then(|index| usize::try_from(index).ok());
        let numbers = row["embedding"].as_array().map(Vec::as_slice).unwrap_or_default();
        let vector: Option<Vec<f64>> = numbers
            .iter()
            .map(|number| number.as_f64().filter(|number| number.is_finite()))
            .collect();
        let vector = vector.filter(|vector| (1..=MAX_DIMENSIONS).contains(&vector.len()));
        let vector = vector.ok_or_else(|| malformed("an embedding is no list of numbers"))?;
        match found.get_mut(index.unwrap_or(at)) {
            Some(place) if place.is_none() => *place = Some(vector),
            _ => return Err(malformed("the indexes of embeddings are wrong")),
        }
    }
    Ok(found.into_iter().flatten().collect())
}

fn malformed(why: &str) -> ModelError {
    ModelError::MalformedResponse(why.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_come_in_the_order_of_texts_and_damaged_ones_are_refused() {
        let row = |index: usize, vector: Value| json!({"index": index, "embedding": vector});
        let of = |rows: Vec<Value>| vectors(&json!({"data": rows}), 2).map_err(|it| it.to_string());
        let found = of(vec![row(1, json!([0.5, 1])), row(0, json!([2, 3.0]))]).unwrap();
        assert_eq!(found, [[2.0, 3.0], [0.5, 1.0]]);
        for rows in [
            vec![row(0, json!([1]))],
            vec![row(0, json!([1])), row(0, json!([2]))],
            vec![row(0, json!([1])), row(2, json!([2]))],
            vec![row(0, json!([1])), row(1, json!(["x"]))],
            vec![row(0, json!([1])), row(1, json!([]))],
        ] {
            assert!(of(rows).is_err());
        }
    }
}
