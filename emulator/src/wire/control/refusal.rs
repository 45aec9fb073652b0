//! What a control says when it does not do as it is told: one sentence, and its status.

use std::fmt;

use crate::wire::encode::Writer;
use crate::wire::object::Object;

/// Why a control was not carried out.
///
/// ```
/// use dynatwin_engine::wire::control::ControlError;
///
/// let refusal = ControlError::malformed("seconds is a number.");
/// assert_eq!((refusal.status(), refusal.body().as_slice()), (400, &br#"{"error":"seconds is a number."}"#[..]));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlError {
    status: u16,
    sentence: String,
    allow: Option<String>,
}

impl ControlError {
    fn new(status: u16, sentence: impl Into<String>) -> ControlError {
        ControlError {
            status,
            sentence: sentence.into(),
            allow: None,
        }
    }

    /// What was sent is not what the control takes.
    pub fn malformed(sentence: impl Into<String>) -> ControlError {
        ControlError::new(400, sentence)
    }

    /// Who asks may not.
    pub fn forbidden(sentence: impl Into<String>) -> ControlError {
        ControlError::new(403, sentence)
    }

    /// There is no such control, table, index or rule.
    pub fn not_found(sentence: impl Into<String>) -> ControlError {
        ControlError::new(404, sentence)
    }

    /// There is something of this name, which is asked for otherwise: by one of `methods`.
    pub fn not_allowed(methods: &str, sentence: impl Into<String>) -> ControlError {
        ControlError {
            allow: Some(methods.to_owned()),
            ..ControlError::new(405, sentence)
        }
    }

    /// It is larger than what a control takes.
    pub fn too_large(sentence: impl Into<String>) -> ControlError {
        ControlError::new(413, sentence)
    }

    /// It could not be carried out, and may be later.
    pub fn unavailable(sentence: impl Into<String>) -> ControlError {
        ControlError::new(503, sentence)
    }

    /// It is not said to be JSON.
    pub fn not_json(sentence: impl Into<String>) -> ControlError {
        ControlError::new(415, sentence)
    }

    /// The HTTP status.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// The methods of the `allow` header, if there is to be one.
    pub fn allow(&self) -> Option<&str> {
        self.allow.as_deref()
    }

    /// The answer's body.
    pub fn body(&self) -> Vec<u8> {
        let mut writer = Writer::with_capacity(self.sentence.len() + 16);
        let mut body = Object::open(&mut writer);
        body.string("error", &self.sentence);
        body.close();
        writer.finish()
    }
}

impl fmt::Display for ControlError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.sentence)
    }
}

impl std::error::Error for ControlError {}
