//! [ExecuteStatement](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_ExecuteStatement.html).

mod select;

use super::check::{self, Report};
use super::{output, statement};
use crate::error::{ApiError, Violations, constraint};
use crate::execute::{self, Context};
use crate::limits;
use crate::partiql::Prepared;
use crate::request::ExecuteStatement;
use crate::value::AttributeValue;
use crate::wire::decode::Decode;
use crate::wire::encode::Writer;
use crate::wire::object::Object;

/// What a statement was asked to do besides what it says.
struct ResponseOptions {
    report: Report,
    show_item: bool,
}

pub(super) fn run(context: &Context<'_>, body: &[u8], out: &mut Writer) -> Result<(), ApiError> {
    let mut request = ExecuteStatement::decode(body)?;
    let asked = check_members(&request)?;
    let parameters = request.parameters.take();
    carry_out(context, &request, parameters, &asked, out)
        .map_err(|error| statement::overruled(context, request.statement.as_deref(), error))
}

fn carry_out(
    context: &Context<'_>,
    request: &ExecuteStatement,
    parameters: Option<Vec<AttributeValue>>,
    asked: &ResponseOptions,
    out: &mut Writer,
) -> Result<(), ApiError> {
    let text = request.statement.as_deref().unwrap_or_default();
    let prepared = Prepared::new(text, parameters.unwrap_or_default())?;
    if prepared.is_exists() {
        return Err(ApiError::exists_misplaced());
    }
    out.order_number_sets_by_hash();
    if !prepared.reads() {
        return write(context, &prepared, asked, out);
    }
    let page = select::Page {
        limit: request.limit,
        consistent: request.consistent_read.unwrap_or(false),
        statement: text,
        token: request.next_token.as_deref(),
        report: asked.report,
    };
    page.run(context, &prepared, out)
}

fn check_members(request: &ExecuteStatement) -> Result<ResponseOptions, ApiError> {
    let mut faults = Violations::new();
    let (statement, parameters) = (request.statement.as_ref(), request.parameters.as_ref());
    statement::check_members(&mut faults, "", statement, parameters);
    let on_failure = request.return_values_on_condition_check_failure.as_ref();
    let path = "returnValuesOnConditionCheckFailure";
    let show_item = check::return_values_on_failure(&mut faults, on_failure, path);
    if let Some(limit) = request.limit.filter(|limit| *limit < 1) {
        faults.value(limit, "limit", constraint::min_value(1));
    }
    if let Some(token) = &request.next_token
        && token.chars().count() > limits::NEXT_TOKEN_LENGTH
    {
        let most = constraint::max_length(limits::NEXT_TOKEN_LENGTH);
        faults.value(token, "nextToken", most);
    }
    let report = check::return_consumed_capacity(&mut faults, request.return_consumed_capacity.as_ref());
    faults.finish()?;
    Ok(ResponseOptions { report, show_item })
}

/// A statement that writes one item. `Limit`, `ConsistentRead` and `NextToken` mean nothing to it.
fn write(
    context: &Context<'_>,
    prepared: &Prepared,
    asked: &ResponseOptions,
    out: &mut Writer,
) -> Result<(), ApiError> {
    let key;
    let statement = prepared.bind()?;
    let target = statement::table(context, prepared)?;
    key = statement::written_key(&statement, &target)?;
    statement::check_key(&statement, &target, &key)?;
    let write = statement::write(statement, target, &key, asked.show_item)?;
    let change = execute::write(context, &write).map_err(ApiError::of_statement)?;
    let mut answer = Object::open(out);
    let mut items = answer.list("Items");
    if let Some(item) = statement::returned(prepared.returning(), &write, &change) {
        items.map(&item);
    }
    items.close();
    if asked.report != Report::None {
        let consumed = statement::cost(&write, &change);
        output::consumed_capacity(answer.member("ConsumedCapacity"), &consumed, asked.report);
    }
    answer.close();
    Ok(())
}
