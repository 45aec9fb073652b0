//! [ExecuteStatement](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_ExecuteStatement.html).

mod select;

use crate::change::Change;
use crate::context::{Caches, Context};
use crate::error::{ApiError, Violations, constraint};
use crate::execute::{self, PageResult, Refusals};
use crate::limits;
use crate::operation::check::{self, CapacityReport};
use crate::operation::drive::Stages;
use crate::operation::output;
use crate::operation::statements::statement;
use crate::partiql::{Prepared, Returning, Statement};
use crate::plan::{Access, ItemAccess, ItemRequest, Write};
use crate::request::ExecuteStatement;
use crate::wire::decode::Decode;
use crate::wire::encode::Writer;
use crate::wire::object::Object;
use select::SelectPlan;

pub struct Operation;

/// The request, and its statement once it is parsed.
pub struct Request {
    members: ExecuteStatement,
    prepared: Option<Prepared>,
}

impl Decode for Request {
    fn decode(body: &[u8]) -> Result<Request, ApiError> {
        Ok(Request {
            members: ExecuteStatement::decode(body)?,
            prepared: None,
        })
    }
}

/// The return options of a statement.
struct ResponseOptions {
    report: CapacityReport,
    show_item: bool,
}

pub struct Checked<'r> {
    request: &'r ExecuteStatement,
    options: ResponseOptions,
    /// The statement, or its error: an error about its table may take precedence.
    prepared: Result<&'r Prepared, ApiError>,
}

pub enum Plan<'r> {
    Select(SelectPlan<'r>),
    Write {
        write: Write<'r>,
        returning: Option<Returning>,
        report: CapacityReport,
    },
}

pub enum Outcome {
    Page(PageResult),
    Written(Change),
}

impl Stages for Operation {
    type Request = Request;
    type Checked<'r> = Checked<'r>;
    type Plan<'r> = Plan<'r>;
    type Outcome = Outcome;

    fn check<'r>(request: &'r mut Request, caches: &'r Caches) -> Result<Checked<'r>, ApiError> {
        let Request { members, prepared } = request;
        let options = check_members(members)?;
        let parameters = members.parameters.take().unwrap_or_default();
        let statement = check::text(members.statement.as_ref());
        let parsed = Prepared::new(statement, parameters, &caches.statements);
        Ok(Checked {
            request: members,
            options,
            prepared: parsed.map(|parsed| &*prepared.insert(parsed)),
        })
    }

    fn plan<'r>(context: &'r Context<'_>, checked: Checked<'r>) -> Result<Plan<'r>, ApiError> {
        let text = checked.request.statement.as_deref();
        plan(context, checked).map_err(|error| statement::overruled(context, text, error))
    }

    fn access(plan: &Plan<'_>, each: &mut dyn FnMut(Access<'_, '_>)) {
        match plan {
            Plan::Select(select) => select.page.access(each),
            Plan::Write {
                write,
                returning,
                report,
            } => each(Access::Items(ItemAccess {
                return_consumed_capacity: Some(report.name()),
                ..ItemAccess::of_statement(ItemRequest::Write(write), *returning)
            })),
        }
    }

    fn execute(context: &Context<'_>, plan: &Plan<'_>, _: Refusals) -> Result<Outcome, ApiError> {
        match plan {
            Plan::Select(select) => execute::page(context, &select.page.read).map(Outcome::Page),
            Plan::Write { write, .. } => {
                let change = execute::write(context, write).map_err(ApiError::of_statement)?;
                Ok(Outcome::Written(change))
            }
        }
    }

    fn encode(plan: &Plan<'_>, outcome: Outcome, out: &mut Writer) {
        out.order_number_sets_by_hash();
        match (plan, outcome) {
            (Plan::Select(select), Outcome::Page(result)) => select.encode(&result, out),
            (
                Plan::Write {
                    write,
                    returning,
                    report,
                },
                Outcome::Written(change),
            ) => encode_write(write, *returning, &change, *report, out),
            _ => {}
        }
    }
}

fn plan<'r>(context: &'r Context<'_>, checked: Checked<'r>) -> Result<Plan<'r>, ApiError> {
    let Checked {
        request,
        options,
        prepared,
    } = checked;
    let prepared = prepared?;
    if prepared.is_exists() {
        return Err(ApiError::exists_misplaced());
    }
    let statement = prepared.bind()?;
    let target = statement::table(context, prepared)?;
    if let Statement::Select(select) = statement {
        let page = select::SelectPage {
            limit: request.limit,
            consistent: request.consistent_read.unwrap_or(false),
            token: request.next_token.as_deref(),
            report: options.report,
        };
        return page.plan(context, prepared, target, select).map(Plan::Select);
    }
    // A statement that writes one item ignores `Limit`, `ConsistentRead` and `NextToken`.
    let key = statement::written_key(&statement, &target)?;
    statement::check_key(&statement, &target, &key)?;
    Ok(Plan::Write {
        write: statement::write(statement, target, key, options.show_item)?,
        returning: prepared.returning(),
        report: options.report,
    })
}

fn encode_write(
    write: &Write<'_>,
    returning: Option<Returning>,
    change: &Change,
    report: CapacityReport,
    out: &mut Writer,
) {
    let mut answer = Object::open(out);
    let mut items = answer.list("Items");
    if let Some(item) = statement::returned(returning, write, change) {
        items.map(&item);
    }
    items.close();
    if report != CapacityReport::None {
        let consumed = statement::cost(write, change);
        output::consumed_capacity(answer.member("ConsumedCapacity"), &consumed, report);
    }
    answer.close();
}

fn check_members(request: &ExecuteStatement) -> Result<ResponseOptions, ApiError> {
    let mut violations = Violations::new();
    let (statement, parameters) = (request.statement.as_ref(), request.parameters.as_ref());
    statement::check_members(&mut violations, "", statement, parameters);
    let on_failure = request.return_values_on_condition_check_failure.as_ref();
    let path = "returnValuesOnConditionCheckFailure";
    let show_item = check::return_values_on_failure(&mut violations, on_failure, path);
    if let Some(limit) = request.limit.filter(|limit| *limit < 1) {
        violations.value(limit, "limit", constraint::min_value(1));
    }
    if let Some(token) = &request.next_token
        && token.chars().count() > limits::NEXT_TOKEN_LENGTH
    {
        let most = constraint::max_length(limits::NEXT_TOKEN_LENGTH);
        violations.value(token, "nextToken", most);
    }
    let report = check::return_consumed_capacity(&mut violations, request.return_consumed_capacity.as_ref());
    violations.finish()?;
    Ok(ResponseOptions { report, show_item })
}
