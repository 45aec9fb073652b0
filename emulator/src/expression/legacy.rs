//! Legacy parameters: refused until they are lowered onto the expressions' AST.

use super::{Condition, KeyCondition, Projection, Update};
use crate::error::ApiError;
use crate::request::{AttributeUpdate, Expected, LegacyCondition};
use crate::value::{Name, Text};

fn refused<T, U>(legacy: Option<T>) -> Result<Option<U>, ApiError> {
    legacy.map_or(Ok(None), |_| {
        Err(ApiError::validation("Legacy parameters are not served yet"))
    })
}

pub fn expected<'r>(
    expected: Option<&'r [(Name, Expected)]>,
    _: Option<&Text>,
) -> Result<Option<Condition<'r>>, ApiError> {
    refused(expected)
}

pub fn filter<'r>(
    filter: Option<&'r [(Name, LegacyCondition)]>,
    _: Option<&Text>,
) -> Result<Option<Condition<'r>>, ApiError> {
    refused(filter)
}

pub fn check_operator(_: Option<&Text>, _: Option<&[(Name, LegacyCondition)]>) -> Result<(), ApiError> {
    Ok(())
}

pub fn attribute_updates<'r>(updates: Option<&'r [(Name, AttributeUpdate)]>) -> Result<Option<Update<'r>>, ApiError> {
    refused(updates)
}

pub fn key_conditions<'r>(_: &'r [(Name, LegacyCondition)]) -> Result<KeyCondition<'r>, ApiError> {
    Err(ApiError::validation("Legacy parameters are not served yet"))
}

pub fn attributes_to_get<'r>(_: &'r [Name]) -> Result<Projection<'r>, ApiError> {
    Err(ApiError::validation("Legacy parameters are not served yet"))
}
