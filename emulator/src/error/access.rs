//! Texts about credentials and permissions (docs/behavior: 07 1.2, 07 8).

use super::{ApiError, ErrorKind};

impl ApiError {
    /// An unknown access key, or a temporary one without its session token.
    pub fn unrecognized_client() -> ApiError {
        ApiError::new(
            ErrorKind::UnrecognizedClient,
            "The security token included in the request is invalid.",
        )
    }

    /// A session token that does not belong to its access key.
    pub fn invalid_session_token() -> ApiError {
        ApiError::new(
            ErrorKind::UnrecognizedClient,
            "The security token included in the request is invalid",
        )
    }

    /// Temporary credentials that have expired.
    pub fn expired_token() -> ApiError {
        ApiError::new(
            ErrorKind::ExpiredToken,
            "The security token included in the request is expired",
        )
    }

    /// An action that policies deny or do not allow, with the reason.
    pub fn not_permitted(caller_arn: &str, action: &str, resource: &str, reason: &str) -> ApiError {
        ApiError::new(
            ErrorKind::AccessDenied,
            format!("User: {caller_arn} is not authorized to perform: {action} on resource: {resource} {reason}"),
        )
    }

    /// A request without credentials.
    pub fn missing_token() -> ApiError {
        ApiError::new(
            ErrorKind::MissingAuthenticationToken,
            "Request is missing Authentication Token",
        )
    }

    /// A resource of another account, which nothing allows the caller to use.
    pub fn not_authorized(account: &str, operation: &str, arn: &str) -> ApiError {
        ApiError::new(
            ErrorKind::AccessDenied,
            format!(
                "User: arn:aws:iam::{account}:root is not authorized to perform: dynamodb:{operation} on resource: {arn} because no resource-based policy allows the dynamodb:{operation} action"
            ),
        )
    }

    /// A resource without a policy.
    pub fn policy_not_found(arn: &str) -> ApiError {
        ApiError::new(
            ErrorKind::PolicyNotFound,
            format!("Resource-based policy not found for the provided ResourceArn: {arn}"),
        )
    }
}
