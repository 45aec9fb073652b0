//! Secrets, which no log, answer or error text may show.

use std::fmt;

/// A secret access key or session token. Its `Debug` form hides it.
///
/// ```
/// use dynatwin_engine::iam::Secret;
///
/// let secret = Secret::new("wJalr");
/// assert_eq!(secret.expose(), "wJalr");
/// assert!(!format!("{secret:?}").contains("wJalr"));
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// A secret with this text, which its `Debug` form does not show.
    pub fn new(text: impl Into<String>) -> Secret {
        Secret(text.into())
    }

    /// The text of the secret: for signing and encoding, never for logs.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Secret(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_not_printed() {
        let secret = Secret::new("wJalrXUtnFEMI");
        assert_eq!(format!("{secret:?}"), "Secret(…)");
        assert_eq!(secret.expose(), "wJalrXUtnFEMI");
    }
}
