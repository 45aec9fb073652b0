//! The parts of an OpenAPI document from which code is generated.

use indexmap::IndexMap;
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
pub struct Document {
    pub paths: IndexMap<String, PathItem>,
    pub components: Components,
}

#[derive(Deserialize)]
pub struct Components {
    pub schemas: IndexMap<String, Schema>,
    pub parameters: IndexMap<String, Parameter>,
}

#[derive(Deserialize)]
pub struct PathItem {
    get: Option<Operation>,
    post: Option<Operation>,
    put: Option<Operation>,
    delete: Option<Operation>,
}

#[derive(Clone, Copy)]
pub enum Method {
    Get,
    Post,
    Put,
    Delete,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Operation {
    #[serde(rename = "operationId")]
    pub name: String,
    pub summary: String,
    /// The parameters of the query string.
    #[serde(default)]
    pub parameters: Vec<Parameter>,
    pub request_body: Option<Body>,
    responses: IndexMap<String, Body>,
}

#[derive(Deserialize)]
pub struct Parameter {
    pub name: String,
    #[serde(default)]
    pub required: bool,
    pub schema: Schema,
}

/// A body of a request or a response.
#[derive(Deserialize)]
pub struct Body {
    #[serde(default)]
    pub required: bool,
    #[serde(default)]
    content: IndexMap<String, Media>,
}

#[derive(Deserialize)]
struct Media {
    schema: Option<Schema>,
}

/// A JSON schema: the keywords that decide a type.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct Schema {
    #[serde(rename = "$ref")]
    reference: Option<String>,
    pub description: Option<String>,
    #[serde(rename = "type")]
    pub kind: Option<TypeNames>,
    #[serde(rename = "const")]
    pub constant: Option<Value>,
    #[serde(rename = "enum")]
    pub values: Vec<Value>,
    pub any_of: Vec<Schema>,
    pub items: Option<Box<Schema>>,
    pub properties: IndexMap<String, Schema>,
    pub required: Vec<String>,
    pub additional_properties: Option<Additional>,
    pub property_names: Option<Box<Schema>>,
    pub maximum: Option<u64>,
    #[serde(rename = "default")]
    default_value: Option<Value>,
}

#[derive(Deserialize)]
#[serde(untagged)]
pub enum TypeNames {
    One(String),
    Several(Vec<String>),
}

/// The schema of an object's further members, or whether there are any.
#[derive(Deserialize)]
#[serde(untagged)]
pub enum Additional {
    Schema(Box<Schema>),
    Flag(serde::de::IgnoredAny),
}

impl PathItem {
    pub fn operations(&self) -> impl Iterator<Item = (Method, &Operation)> {
        let operations = [
            (Method::Get, &self.get),
            (Method::Post, &self.post),
            (Method::Put, &self.put),
            (Method::Delete, &self.delete),
        ];
        operations
            .into_iter()
            .filter_map(|(method, operation)| Some((method, operation.as_ref()?)))
    }
}

impl Method {
    pub fn name(self) -> &'static str {
        match self {
            Method::Get => "GET",
            Method::Post => "POST",
            Method::Put => "PUT",
            Method::Delete => "DELETE",
        }
    }
}

impl Operation {
    /// The body of a response with status 200.
    pub fn response(&self) -> Option<&Body> {
        self.responses.get("200")
    }

    /// The summary as a sentence.
    pub fn sentence(&self) -> String {
        format!("{}.", self.summary)
    }
}

impl Body {
    /// The schema of a JSON body.
    pub fn json(&self) -> Option<&Schema> {
        self.content.get("application/json")?.schema.as_ref()
    }

    /// Whether it has this media type.
    pub fn is(&self, media: &str) -> bool {
        self.content.contains_key(media)
    }
}

impl Schema {
    /// The name of the schema that it refers to.
    pub fn reference(&self) -> Option<&str> {
        self.reference.as_ref()?.rsplit('/').next()
    }

    /// Its default, if that is a whole number.
    pub fn default_number(&self) -> Option<u64> {
        self.default_value.as_ref()?.as_u64()
    }
}
