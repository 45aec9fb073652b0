//! Errors on the wire: the HTTP status, the name of the exception with its package, and the body.

use super::encode::Writer;
use crate::error::{ApiError, CancellationReason, Detail, ErrorKind, ThrottlingReason};

/// The HTTP status of an error.
pub const fn status(kind: ErrorKind) -> u16 {
    match kind {
        ErrorKind::InternalServerError => 500,
        ErrorKind::ServiceUnavailable => 503,
        _ => 400,
    }
}

/// The name of an exception, without its package.
pub const fn exception(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::Validation => "ValidationException",
        ErrorKind::Serialization => "SerializationException",
        ErrorKind::UnknownOperation => "UnknownOperationException",
        ErrorKind::AccessDenied => "AccessDeniedException",
        ErrorKind::MissingAuthenticationToken => "MissingAuthenticationTokenException",
        ErrorKind::IncompleteSignature => "IncompleteSignatureException",
        ErrorKind::InvalidSignature => "InvalidSignatureException",
        ErrorKind::UnrecognizedClient => "UnrecognizedClientException",
        ErrorKind::ExpiredToken => "ExpiredTokenException",
        ErrorKind::Throttling => "ThrottlingException",
        ErrorKind::ProvisionedThroughputExceeded => "ProvisionedThroughputExceededException",
        ErrorKind::RequestLimitExceeded => "RequestLimitExceeded",
        ErrorKind::ResourceNotFound => "ResourceNotFoundException",
        ErrorKind::ResourceInUse => "ResourceInUseException",
        ErrorKind::PolicyNotFound => "PolicyNotFoundException",
        ErrorKind::GlobalTableNotFound => "GlobalTableNotFoundException",
        ErrorKind::GlobalTableAlreadyExists => "GlobalTableAlreadyExistsException",
        ErrorKind::IndexNotFound => "IndexNotFoundException",
        ErrorKind::ReplicaAlreadyExists => "ReplicaAlreadyExistsException",
        ErrorKind::ReplicaNotFound => "ReplicaNotFoundException",
        ErrorKind::ReplicatedWriteConflict => "ReplicatedWriteConflictException",
        ErrorKind::ConditionalCheckFailed => "ConditionalCheckFailedException",
        ErrorKind::DuplicateItem => "DuplicateItemException",
        ErrorKind::ItemCollectionSizeLimitExceeded => "ItemCollectionSizeLimitExceededException",
        ErrorKind::LimitExceeded => "LimitExceededException",
        ErrorKind::TransactionCanceled => "TransactionCanceledException",
        ErrorKind::TransactionConflict => "TransactionConflictException",
        ErrorKind::TransactionInProgress => "TransactionInProgressException",
        ErrorKind::ExpiredIterator => "ExpiredIteratorException",
        ErrorKind::TrimmedDataAccess => "TrimmedDataAccessException",
        ErrorKind::IdempotentParameterMismatch => "IdempotentParameterMismatchException",
        ErrorKind::InternalServerError => "InternalServerError",
        ErrorKind::ServiceUnavailable => "ServiceUnavailable",
        ErrorKind::TableNotFound => "TableNotFoundException",
        ErrorKind::TableAlreadyExists => "TableAlreadyExistsException",
        ErrorKind::TableInUse => "TableInUseException",
        ErrorKind::BackupNotFound => "BackupNotFoundException",
        ErrorKind::BackupInUse => "BackupInUseException",
        ErrorKind::ContinuousBackupsUnavailable => "ContinuousBackupsUnavailableException",
        ErrorKind::PointInTimeRecoveryUnavailable => "PointInTimeRecoveryUnavailableException",
        ErrorKind::InvalidRestoreTime => "InvalidRestoreTimeException",
        ErrorKind::InvalidExportTime => "InvalidExportTimeException",
        ErrorKind::ExportNotFound => "ExportNotFoundException",
        ErrorKind::ExportConflict => "ExportConflictException",
        ErrorKind::ImportNotFound => "ImportNotFoundException",
        ErrorKind::ImportConflict => "ImportConflictException",
    }
}

/// The exception of this name.
pub fn exception_named(name: &str) -> Option<ErrorKind> {
    ErrorKind::ALL.into_iter().find(|kind| exception(*kind) == name)
}

/// The package of an exception. Throttling with a reason comes from the database, without one from its front end.
fn package(error: &ApiError) -> &'static str {
    match error.kind() {
        ErrorKind::Validation => "com.amazon.coral.validate#",
        ErrorKind::Serialization
        | ErrorKind::UnknownOperation
        | ErrorKind::AccessDenied
        | ErrorKind::MissingAuthenticationToken
        | ErrorKind::IncompleteSignature
        | ErrorKind::InvalidSignature
        | ErrorKind::UnrecognizedClient
        | ErrorKind::ExpiredToken
        | ErrorKind::ServiceUnavailable => "com.amazon.coral.service#",
        ErrorKind::Throttling if *error.detail() == Detail::Nothing => "com.amazon.coral.service#",
        _ => "com.amazonaws.dynamodb.v20120810#",
    }
}

/// The member that holds the text: the model spells it with a capital for some exceptions.
const fn message_member(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::Serialization
        | ErrorKind::AccessDenied
        | ErrorKind::TransactionCanceled
        | ErrorKind::TransactionInProgress
        | ErrorKind::IdempotentParameterMismatch => "Message",
        _ => "message",
    }
}

/// The body of an error.
pub fn encode_error(error: &ApiError) -> Vec<u8> {
    let mut writer = Writer::with_capacity(128);
    writer
        .open_object()
        .name("__type")
        .string(&format!("{}{}", package(error), exception(error.kind())));
    if let Some(message) = error.message() {
        let member = match error.detail() {
            Detail::StatementItem(_) => "Message",
            _ => message_member(error.kind()),
        };
        writer.name(member).string(message);
    }
    match error.detail() {
        Detail::Nothing => {}
        Detail::Item(item) | Detail::StatementItem(item) => {
            writer.name("Item").item(item);
        }
        Detail::Throttling(reasons) => throttling(&mut writer, error.kind(), reasons),
        Detail::Cancellation(reasons) => cancellation(&mut writer, reasons),
    }
    writer.close_object();
    writer.finish()
}

fn throttling(writer: &mut Writer, kind: ErrorKind, reasons: &[ThrottlingReason]) {
    let member = if kind == ErrorKind::Throttling {
        "throttlingReasons"
    } else {
        "ThrottlingReasons"
    };
    writer.name(member).open_list();
    for reason in reasons {
        writer.open_object().name("reason").string(reason.reason);
        writer.name("resource").string(&reason.resource).close_object();
    }
    writer.close_list();
}

fn cancellation(writer: &mut Writer, reasons: &[CancellationReason]) {
    writer.name("CancellationReasons").open_list();
    for reason in reasons {
        writer.open_object().name("Code").string(reason.code);
        if let Some(item) = &reason.item {
            writer.name("Item").item(item);
        }
        if let Some(message) = &reason.message {
            writer.name("Message").string(message);
        }
        writer.close_object();
    }
    writer.close_list();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::crc32;
    use crate::value::{AttributeValue, Item};

    #[test]
    fn bodies() {
        let item = Item::new(&[("pk".into(), AttributeValue::string("a"))].into_iter().collect());
        let reason = || ThrottlingReason {
            reason: "TableReadProvisionedThroughputExceeded",
            resource: "arn".to_owned(),
        };
        let failed = CancellationReason {
            code: "ConditionalCheckFailed",
            message: Some("The conditional request failed".into()),
            item: Some(item.clone()),
        };
        for (error, expect) in [
            (
                ApiError::without_message(ErrorKind::Serialization),
                r#"{"__type":"com.amazon.coral.service#SerializationException"}"#,
            ),
            (
                ApiError::without_message(ErrorKind::UnknownOperation),
                r#"{"__type":"com.amazon.coral.service#UnknownOperationException"}"#,
            ),
            (
                ApiError::new(ErrorKind::Serialization, "x"),
                r#"{"__type":"com.amazon.coral.service#SerializationException","Message":"x"}"#,
            ),
            (
                ApiError::table_not_found(),
                r#"{"__type":"com.amazonaws.dynamodb.v20120810#ResourceNotFoundException","message":"Requested resource not found"}"#,
            ),
            (
                ApiError::condition_failed(Some(item)),
                r#"{"__type":"com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException","message":"The conditional request failed","Item":{"pk":{"S":"a"}}}"#,
            ),
            (
                ApiError::new(ErrorKind::Throttling, "t"),
                r#"{"__type":"com.amazon.coral.service#ThrottlingException","message":"t"}"#,
            ),
            (
                ApiError::new(ErrorKind::Throttling, "t").with(Detail::Throttling(vec![reason()])),
                r#"{"__type":"com.amazonaws.dynamodb.v20120810#ThrottlingException","message":"t","throttlingReasons":[{"reason":"TableReadProvisionedThroughputExceeded","resource":"arn"}]}"#,
            ),
            (
                ApiError::new(ErrorKind::RequestLimitExceeded, "t").with(Detail::Throttling(vec![reason()])),
                r#"{"__type":"com.amazonaws.dynamodb.v20120810#RequestLimitExceeded","message":"t","ThrottlingReasons":[{"reason":"TableReadProvisionedThroughputExceeded","resource":"arn"}]}"#,
            ),
            (
                ApiError::transaction_cancelled(vec![CancellationReason::NONE, failed]),
                r#"{"__type":"com.amazonaws.dynamodb.v20120810#TransactionCanceledException","Message":"Transaction cancelled, please refer cancellation reasons for specific reasons [None, ConditionalCheckFailed]","CancellationReasons":[{"Code":"None"},{"Code":"ConditionalCheckFailed","Item":{"pk":{"S":"a"}},"Message":"The conditional request failed"}]}"#,
            ),
        ] {
            assert_eq!(String::from_utf8(encode_error(&error)).unwrap(), expect);
        }
    }

    #[test]
    fn silent_bodies_have_the_measured_checksums() {
        for (kind, expect) in [
            (ErrorKind::UnknownOperation, 1_368_724_161),
            (ErrorKind::Serialization, 3_948_637_019),
        ] {
            assert_eq!(crc32(&encode_error(&ApiError::without_message(kind))), expect);
        }
    }

    #[test]
    fn statuses() {
        for (kind, expect) in [
            (ErrorKind::Validation, 400),
            (ErrorKind::AccessDenied, 400),
            (ErrorKind::InternalServerError, 500),
            (ErrorKind::ServiceUnavailable, 503),
        ] {
            assert_eq!(status(kind), expect);
        }
    }

    #[test]
    fn exceptions_are_found_by_name() {
        assert_eq!(
            exception_named("LimitExceededException"),
            Some(ErrorKind::LimitExceeded)
        );
        assert_eq!(exception_named("LimitExceeded"), None);
    }

    #[test]
    fn an_error_has_its_type_and_message() {
        assert_eq!(
            encode_error(&ApiError::key_mismatch()),
            br#"{"__type":"com.amazon.coral.validate#ValidationException","message":"The provided key element does not match the schema"}"#
        );
    }
}
