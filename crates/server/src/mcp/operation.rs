use axum::http::Method;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use rmcp::model::JsonObject;
use serde_json::Value;

use super::api::{ApiCall, ToolError};
use super::tool::{ArgumentLocation, Need, ToolParameter};

/// An operation of the REST API as a tool.
#[derive(Debug)]
pub(super) struct Operation {
    pub(super) method: Method,
    /// The path; `{name}` stands for the argument of that name.
    pub(super) path: &'static str,
    /// Values that the client cannot choose.
    pub(super) fixed: &'static [(ArgumentLocation, &'static str, &'static str)],
    /// Changes arguments where the tool differs from the route.
    pub(super) prepare: fn(&mut JsonObject) -> Result<(), ToolError>,
    /// Bytes of a value in the answer, unless the client says.
    pub(super) text_bytes: usize,
}

impl Operation {
    /// Puts arguments into a request.
    ///
    /// # Errors
    /// Fails if one is missing, unknown, or of a type that fits no request. The route checks the
    /// rest.
    pub(super) fn request(
        &self,
        parameters: &[ToolParameter],
        mut arguments: JsonObject,
    ) -> Result<ApiCall, ToolError> {
        (self.prepare)(&mut arguments)?;
        let mut request = CallBuilder::new(self.path);
        for (location, name, value) in self.fixed {
            request.put(*location, name, Value::from(*value))?;
        }
        for parameter in parameters {
            let given = arguments.remove(parameter.name).filter(|value| !value.is_null());
            match (given, parameter.need) {
                (Some(value), _) => request.put(parameter.location, parameter.sent_as, value)?,
                (None, Need::Optional) => {}
                (None, Need::Required) => {
                    return Err(ToolError(format!("{} is required", parameter.name)));
                }
                (None, Need::Unless(other)) => {
                    return Err(ToolError(format!("{} or {other} is required", parameter.name)));
                }
            }
        }
        if let Some(unknown) = arguments.keys().next() {
            let known: Vec<_> = parameters.iter().map(|parameter| parameter.name).collect();
            let known = known.join(", ");
            return Err(ToolError(format!("unknown argument {unknown}; the tool takes {known}")));
        }
        Ok(request.finish(self.method.clone()))
    }
}

struct CallBuilder {
    path: String,
    query: form_urlencoded::Serializer<'static, String>,
    body: JsonObject,
}

impl CallBuilder {
    fn new(path: &str) -> Self {
        let query = form_urlencoded::Serializer::new(String::new());
        Self { path: path.to_owned(), query, body: JsonObject::new() }
    }

    fn put(
        &mut self,
        location: ArgumentLocation,
        name: &str,
        value: Value,
    ) -> Result<(), ToolError> {
        match location {
            ArgumentLocation::Path => {
                let segment = segment(name, &scalar(name, &value)?)?;
                self.path = self.path.replace(&format!("{{{name}}}"), &segment);
            }
            ArgumentLocation::Query => match &value {
                Value::Array(values) => {
                    for value in values {
                        self.query.append_pair(name, &scalar(name, value)?);
                    }
                }
                value => {
                    self.query.append_pair(name, &scalar(name, value)?);
                }
            },
            ArgumentLocation::Commas => {
                let words: Result<Vec<_>, _> = match &value {
                    Value::Array(values) => values.iter().map(|one| scalar(name, one)).collect(),
                    value => Ok(vec![scalar(name, value)?]),
                };
                self.query.append_pair(name, &words?.join(","));
            }
            ArgumentLocation::JsonText => {
                self.query.append_pair(name, &value.to_string());
            }
            ArgumentLocation::Body => {
                self.body.insert(name.to_owned(), value);
            }
            ArgumentLocation::Tool => {}
        }
        Ok(())
    }

    fn finish(mut self, method: Method) -> ApiCall {
        let query = self.query.finish();
        if !query.is_empty() {
            self.path = format!("{}?{query}", self.path);
        }
        let has_body = method != Method::GET && method != Method::DELETE;
        ApiCall { method, path: self.path, body: has_body.then_some(Value::Object(self.body)) }
    }
}

fn scalar(name: &str, value: &Value) -> Result<String, ToolError> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Number(number) => Ok(number.to_string()),
        Value::Bool(truth) => Ok(truth.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => {
            Err(ToolError(format!("{name} must be a text, a number or a boolean")))
        }
    }
}

/// A path segment. Those that URL parsers drop would lead to another route.
fn segment(name: &str, text: &str) -> Result<String, ToolError> {
    if ["", ".", ".."].contains(&text) {
        return Err(ToolError(format!("{name} cannot be \"{text}\"")));
    }
    Ok(utf8_percent_encode(text, NON_ALPHANUMERIC).to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn request(arguments: Value) -> Result<ApiCall, String> {
        let operation = Operation {
            method: Method::PATCH,
            path: "/things/{name}/versions/{version}",
            fixed: &[
                (ArgumentLocation::Query, "resolve", "false"),
                (ArgumentLocation::Body, "type", "text"),
            ],
            prepare: |_| Ok(()),
            text_bytes: 1,
        };
        let parameters = [
            ToolParameter::text("name", "").required().at(ArgumentLocation::Path),
            ToolParameter::count("version", "").unless("label").at(ArgumentLocation::Path),
            ToolParameter::texts("tags", ""),
            ToolParameter::texts("ids", "").at(ArgumentLocation::Commas),
            ToolParameter::any("filter", "").at(ArgumentLocation::JsonText),
            ToolParameter::any("config", "").at(ArgumentLocation::Body),
            ToolParameter::any("maxBytes", "").at(ArgumentLocation::Tool),
        ];
        let Value::Object(arguments) = arguments else { panic!("not an object") };
        operation.request(&parameters, arguments).map_err(|error| error.to_string())
    }

    #[test]
    fn every_argument_goes_to_its_place() {
        let call = request(json!({
            "name": "a/b ?", "version": 3, "tags": ["x", "y&z"], "ids": ["1", 2],
            "filter": [{"a": 1}], "config": {"t": 0.5}, "maxBytes": 9,
        }));
        let call = call.unwrap();
        assert_eq!(
            call.path,
            "/things/a%2Fb%20%3F/versions/3?resolve=false&tags=x&tags=y%26z&ids=1%2C2\
             &filter=%5B%7B%22a%22%3A1%7D%5D"
        );
        assert_eq!(call.body.unwrap(), json!({"type": "text", "config": {"t": 0.5}}));
    }

    #[test]
    fn nulls_count_as_absent_and_the_rest_is_refused() {
        assert!(request(json!({"name": "a", "version": "1", "tags": null})).is_ok());
        for (arguments, why) in [
            (json!({"version": 1}), "name is required"),
            (json!({"name": "a"}), "version or label is required"),
            (json!({"name": "..", "version": 1}), "name cannot be \"..\""),
            (json!({"name": "", "version": 1}), "name cannot be \"\""),
            (json!({"name": ["a"], "version": 1}), "name must be a text"),
            (json!({"name": "a", "version": 1, "tags": [{}]}), "tags must be a text"),
            (json!({"name": "a", "version": 1, "nam": 1}), "unknown argument nam"),
        ] {
            let refused = request(arguments).unwrap_err();
            assert!(refused.contains(why), "{refused}");
        }
    }
}
