//! Errors of controls: one sentence, and its status.

use std::fmt;

use crate::wire::encode::Writer;
use crate::wire::object::Object;

/// The reason why a control failed.
///
/// ```
/// use dynatwin_engine::controls::ControlError;
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

/// The parsed value, or why it is refused.
pub type ControlResult<T> = Result<T, ControlError>;

impl ControlError {
    fn new(status: u16, sentence: impl Into<String>) -> ControlError {
        ControlError {
            status,
            sentence: sentence.into(),
            allow: None,
        }
    }

    /// The request is not one that the control accepts.
    pub fn malformed(sentence: impl Into<String>) -> ControlError {
        ControlError::new(400, sentence)
    }

    /// The caller is not allowed to do this.
    pub fn forbidden(sentence: impl Into<String>) -> ControlError {
        ControlError::new(403, sentence)
    }

    /// The control, table, index or rule does not exist.
    pub fn not_found(sentence: impl Into<String>) -> ControlError {
        ControlError::new(404, sentence)
    }

    /// The resource exists, but supports other methods: one of `methods`.
    pub fn not_allowed(methods: &str, sentence: impl Into<String>) -> ControlError {
        ControlError {
            allow: Some(methods.to_owned()),
            ..ControlError::new(405, sentence)
        }
    }

    /// The body is larger than the control accepts.
    pub fn too_large(sentence: impl Into<String>) -> ControlError {
        ControlError::new(413, sentence)
    }

    /// The emulator cannot do it at the moment: status 503.
    pub fn unavailable(sentence: impl Into<String>) -> ControlError {
        ControlError::new(503, sentence)
    }

    /// Its content type is not JSON.
    pub fn not_json(sentence: impl Into<String>) -> ControlError {
        ControlError::new(415, sentence)
    }

    /// The HTTP status code of the answer.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// The methods of the `allow` header, if the response has one.
    pub fn allow(&self) -> Option<&str> {
        self.allow.as_deref()
    }

    /// The JSON body of the answer: the sentence as `error`.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_have_their_status() {
        for (error, status) in [
            (ControlError::malformed("a"), 400),
            (ControlError::forbidden("a"), 403),
            (ControlError::not_found("a"), 404),
            (ControlError::not_allowed("GET", "a"), 405),
            (ControlError::too_large("a"), 413),
            (ControlError::not_json("a"), 415),
            (ControlError::unavailable("a"), 503),
        ] {
            assert_eq!((error.status(), error.to_string().as_str()), (status, "a"));
            assert_eq!(error.allow(), (status == 405).then_some("GET"));
        }
    }
}
