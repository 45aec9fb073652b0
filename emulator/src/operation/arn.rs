//! ARNs: of tables and streams in `ResourceArn` (docs/behavior: 04 8), and of resources under tables (04 1.2).

use super::check;
use crate::chance;
use crate::clock::Moment;
use crate::context::Context;
use crate::error::{ApiError, ONE_VALIDATION_ERROR};
use crate::value::Text;

/// The resource that a `ResourceArn` names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArnResource<'r> {
    pub arn: &'r str,
    region: &'r str,
    account: &'r str,
    pub table: &'r str,
    /// The label of the stream, if it is a stream's.
    pub stream: Option<&'r str>,
}

/// Parses a `ResourceArn`: a table's or a stream's.
pub fn resource(arn: Option<&Text>) -> Result<ArnResource<'_>, ApiError> {
    let Some(arn) = arn.map(Text::as_str).filter(|arn| !arn.is_empty()) else {
        return Err(ApiError::validation("Invalid TableArn"));
    };
    let Some(rest) = arn.strip_prefix("arn:") else {
        return Err(ApiError::invalid(format_args!("ARNs must start with 'arn:': {arn}")));
    };
    let parts: Vec<&str> = rest.splitn(5, ':').collect();
    let [_, "dynamodb", region, account, resource] = parts[..] else {
        return Err(ApiError::invalid(format_args!(
            "Provided Arn is not a DynamoDB resource arn: {arn}"
        )));
    };
    let named = resource
        .strip_prefix("table/")
        .map(|name| match name.split_once("/stream/") {
            Some((table, label)) => (table, Some(label)),
            None => (name, None),
        });
    match named {
        Some((table, stream)) if check::is_name(table) && !stream.is_some_and(|label| label.contains('/')) => {
            Ok(ArnResource {
                arn,
                region,
                account,
                table,
                stream,
            })
        }
        _ => Err(ApiError::invalid(format_args!(
            "Invalid resource arn provided, only table or stream is accepted. Provided resource arn: {arn}"
        ))),
    }
}

/// Checks an ARN in `TableName` on the control plane. Its region is checked when its table is looked up.
pub fn table(arn: &str) -> Result<(), ApiError> {
    let parts: Vec<&str> = arn.splitn(6, ':').collect();
    let text = match parts[..] {
        ["arn", partition, ..] if !matches!(partition, "aws" | "aws-cn" | "aws-us-gov") => {
            format!("Invalid AWS partition in '{arn}'")
        }
        ["arn", _, "dynamodb", _, _, resource] => match resource.split_once('/') {
            Some(("table", name)) if check::is_name(name) => return Ok(()),
            Some(("table", _)) => VALID_FORM.to_owned(),
            _ => format!("Invalid resource type in '{arn}'"),
        },
        _ => VALID_FORM.to_owned(),
    };
    Err(ApiError::validation(format!("{ONE_VALIDATION_ERROR}{text}")))
}

/// Only the beginning of this text has been recorded.
const VALID_FORM: &str = "Valid ARN format is arn:<partition>:dynamodb:<region>:<account-id>:table/<table-name>";

impl ArnResource<'_> {
    /// Whether it belongs to another region than the caller's. With tables shared by all regions, a table keeps the
    /// region and the account it was created in.
    pub fn is_elsewhere(&self, context: &Context<'_>) -> bool {
        self.region != context.region && !context.scope.region.is_empty()
    }
    pub fn table_arn(&self) -> &str {
        self.arn.split_once("/stream/").map_or(self.arn, |(table, _)| table)
    }

    /// Whether it names a stream that exists, or existed until a day ago.
    pub fn is_stream(&self, context: &Context<'_>) -> bool {
        let region = context.engine.catalog().region(&context.scope_of(self.arn));
        region.is_some_and(|region| region.stream(self.arn, context.now).is_some())
    }

    /// Whether it belongs to another account than the caller's.
    pub fn is_foreign(&self, context: &Context<'_>) -> bool {
        self.account != context.account && !context.scope.region.is_empty()
    }
}

/// The parts of the ARN of a table, or of a resource under one:
/// `arn:aws:dynamodb:<region>:<account>:table/<table>/<kind>/<id>`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SubResource<'r> {
    pub region: &'r str,
    pub account: &'r str,
    pub table: &'r str,
}

/// Parses the ARN of a resource of this kind under a table.
pub fn sub_resource<'r>(arn: &'r str, kind: &str) -> Option<SubResource<'r>> {
    let parts: Vec<&str> = arn.splitn(6, ':').collect();
    let ["arn", _, "dynamodb", region, account, resource] = parts[..] else {
        return None;
    };
    let parts: Vec<&str> = resource.split('/').collect();
    match parts[..] {
        ["table", table, named, id] if named == kind && check::is_name(table) && !id.is_empty() => {
            Some(SubResource { region, account, table })
        }
        _ => None,
    }
}

pub fn table_arn(arn: &str) -> Option<SubResource<'_>> {
    let parts: Vec<&str> = arn.splitn(6, ':').collect();
    let ["arn", _, "dynamodb", region, account, resource] = parts[..] else {
        return None;
    };
    let table = resource.strip_prefix("table/").filter(|table| check::is_name(table))?;
    Some(SubResource { region, account, table })
}

/// Rejects an ARN under a table of another account. With tables shared by all accounts, a table keeps the account it
/// was created in.
pub fn check_own_account(context: &Context<'_>, arn: &str) -> Result<(), ApiError> {
    let account = arn.split(':').nth(4).unwrap_or_default();
    if account == context.account || context.scope.account.is_empty() {
        return Ok(());
    }
    Err(ApiError::access_denied(context.account, context.operation, arn))
}

/// The ARN of a new resource under a table: its id is the moment in milliseconds, and eight digits that no other resource
/// of this moment has or had.
pub fn new_arn(context: &Context<'_>, table_arn: &str, kind: &str, taken: impl Fn(&str) -> bool) -> String {
    let millis = context.now.micros().div_euclid(1000);
    let mut ordinal = 0_u64;
    loop {
        let decision = chance::decide(
            context.engine.seed(),
            kind,
            table_arn.as_bytes(),
            millis as u64 ^ ordinal.rotate_left(48),
        );
        let arn = format!("{table_arn}/{kind}/{millis:014}-{:08x}", decision as u32);
        if !taken(&arn) {
            return arn;
        }
        ordinal += 1;
    }
}

/// The ARN of a system backup: its id is the moment in milliseconds, or the next free one, since the clock may be
/// frozen, and eight zeros.
pub fn new_system_arn(table_arn: &str, created: Moment, taken: impl Fn(&str) -> bool) -> String {
    let mut millis = created.micros().div_euclid(1000);
    loop {
        let arn = format!("{table_arn}/backup/{millis:014}-00000000");
        if !taken(&arn) {
            return arn;
        }
        millis += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms() {
        const SUB: &str = "One or more parameter values were invalid: Invalid resource arn provided, only table or stream is accepted. Provided resource arn: ";
        for (arn, expect) in [
            ("arn:aws:dynamodb:r:1:table/tab", Ok(("tab", None))),
            ("arn:aws:dynamodb:r:1:table/tab/stream/2026", Ok(("tab", Some("2026")))),
            ("arn:aws:dynamodb:r:1:table/tab/index/i", Err(SUB)),
            ("arn:aws:dynamodb:r:1:table/tab/stream/2026/x", Err(SUB)),
            ("arn:aws:dynamodb:r:1:backup/x", Err(SUB)),
            (
                "arn:aws:sqs:r:1:q",
                Err("One or more parameter values were invalid: Provided Arn is not a DynamoDB resource arn: "),
            ),
            (
                "tab",
                Err("One or more parameter values were invalid: ARNs must start with 'arn:': "),
            ),
        ] {
            let text = Text::from(arn);
            let answer = resource(Some(&text)).map(|found| (found.table, found.stream));
            let answer = answer.map_err(|error| error.message().unwrap_or_default().to_owned());
            assert_eq!(answer, expect.map_err(|text| format!("{text}{arn}")));
        }
        for nothing in [None, Some(Text::default())] {
            let error = resource(nothing.as_ref()).unwrap_err();
            assert_eq!(error.message(), Some("Invalid TableArn"));
        }
    }

    #[test]
    fn resources_under_a_table() {
        let place = SubResource {
            region: "r",
            account: "1",
            table: "tab",
        };
        for (arn, expect) in [
            ("arn:aws:dynamodb:r:1:table/tab/backup/01", Some(place)),
            ("arn:aws:dynamodb:r:1:table/tab/backup/", None),
            ("arn:aws:dynamodb:r:1:table/tab/backup", None),
            ("arn:aws:dynamodb:r:1:table/tab/export/01", None),
            ("arn:aws:dynamodb:r:1:table/tab/backup/01/02", None),
            ("arn:aws:dynamodb:r:1:table/t$b/backup/01", None),
            ("arn:aws:dynamodb:r:1:stream/tab/backup/01", None),
            ("arn:aws:sqs:r:1:table/tab/backup/01", None),
            ("aws:dynamodb:r:1:table/tab/backup/01", None),
            ("", None),
        ] {
            assert_eq!(sub_resource(arn, "backup"), expect, "{arn}");
        }
        for (arn, expect) in [
            ("arn:aws:dynamodb:r:1:table/tab", Some(place)),
            ("arn:aws:dynamodb:r:1:table/tab/backup/01", None),
            ("arn:aws:dynamodb:r:1:table/", None),
            ("arn:aws:dynamodb:r:1:tab", None),
            ("arn:aws:sqs:r:1:table/tab", None),
            ("tab", None),
        ] {
            assert_eq!(table_arn(arn), expect, "{arn}");
        }
    }
}
