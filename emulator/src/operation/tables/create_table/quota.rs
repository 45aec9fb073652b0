//! The quotas of an account for tables and indexes (docs/behavior: 04 1.3).

use crate::context::Context;
use crate::error::{ApiError, ErrorKind};
use crate::limits;
use crate::schema::Throughput;

/// A table or index with its own throughput.
pub(in crate::operation) enum ThroughputOwner<'n> {
    Table,
    /// The index of this name.
    Index(&'n str),
}

impl ThroughputOwner<'_> {
    /// Its name in the texts on warm throughput.
    pub(in crate::operation) fn plain(&self) -> String {
        match self {
            ThroughputOwner::Table => "table".to_owned(),
            ThroughputOwner::Index(name) => format!("index {name}"),
        }
    }

    /// Its name in the texts on on-demand limits.
    pub(in crate::operation) fn spaced(&self) -> String {
        match self {
            ThroughputOwner::Table => "table".to_owned(),
            ThroughputOwner::Index(name) => format!("index : {name}"),
        }
    }
}

/// Checks the number of tables before another one is created.
pub(super) fn tables(count: usize) -> Result<(), ApiError> {
    if count < limits::TABLES {
        return Ok(());
    }
    Err(ApiError::subscriber_limit(format_args!(
        "There is a limit of {} tables per subscriber",
        limits::TABLES
    )))
}

pub(in crate::operation) fn provisioned(
    context: &Context<'_>,
    requested: Throughput,
    of: &ThroughputOwner<'_>,
) -> Result<(), ApiError> {
    let (whose, each) = match of {
        ThroughputOwner::Table => (String::new(), "table"),
        ThroughputOwner::Index(name) => (format!(" for index {name}"), "index"),
    };
    let most = limits::TABLE_UNITS;
    for (units, name) in [
        (requested.read, "ReadCapacityUnits"),
        (requested.write, "WriteCapacityUnits"),
    ] {
        if units > most as u64 {
            return Err(ApiError::new(
                ErrorKind::LimitExceeded,
                format!(
                    "The requested {name}{whose}, {units}, is above the per {each} maximum for the account in {}. Per {each} maximum: {most}. Refer to the Amazon DynamoDB Developer Guide for current limits and how to request higher limits.",
                    context.region
                ),
            ));
        }
    }
    Ok(())
}

/// Checks an on-demand limit; `name` is its member.
pub(in crate::operation) fn on_demand(
    context: &Context<'_>,
    units: i64,
    name: &str,
    of: &ThroughputOwner<'_>,
) -> Result<(), ApiError> {
    if units <= limits::TABLE_UNITS {
        return Ok(());
    }
    let of = of.spaced();
    Err(exceeded(
        context,
        format_args!("{name} for OnDemandThroughput for {of}"),
        name,
    ))
}

/// Checks warm units; `name` is their member.
pub(in crate::operation) fn warm(
    context: &Context<'_>,
    units: u64,
    name: &str,
    of: &ThroughputOwner<'_>,
) -> Result<(), ApiError> {
    if units <= limits::TABLE_UNITS as u64 {
        return Ok(());
    }
    let of = of.plain();
    Err(exceeded(
        context,
        format_args!("{name} for WarmThroughput for {of}"),
        name,
    ))
}

fn exceeded(context: &Context<'_>, what: std::fmt::Arguments<'_>, name: &str) -> ApiError {
    let quota = if name.contains("Read") {
        "TableMaxReadCapacityUnits"
    } else {
        "TableMaxWriteCapacityUnits"
    };
    ApiError::subscriber_limit(format_args!(
        "Requested {what} exceeds {quota} of the account in region {}",
        context.region
    ))
}
