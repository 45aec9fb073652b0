//! [BatchExecuteStatement](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchExecuteStatement.html).

use crate::capacity::Consumed;
use crate::change;
use crate::context::{Caches, Context};
use crate::error::{ApiError, Detail, ErrorKind, Violations, constraint};
use crate::execute::{self, RefusalScope, Refusals, cancellation_reason};
use crate::limits;
use crate::operation::check::{self, CapacityReport};
use crate::operation::drive::Stages;
use crate::operation::dump;
use crate::operation::output;
use crate::operation::statements::statement;
use crate::operation::transactions::transaction::TransactionItems;
use crate::partiql::{self, Columns, Prepared, Returning, Statement, StatementCache};
use crate::plan::{self, Access, Get, ItemAccess, ItemRequest, Target, Write};
use crate::request::{BatchExecuteStatement, BatchStatement};
use crate::value::{Map, Name};
use crate::wire::decode::Decode;
use crate::wire::encode::Writer;
use crate::wire::object::{List, Object};

pub struct Operation;

/// The request, and its statements once they are parsed.
pub struct Request {
    members: BatchExecuteStatement,
    prepared: Vec<Result<Prepared, ApiError>>,
}

impl Decode for Request {
    fn decode(body: &[u8]) -> Result<Request, ApiError> {
        Ok(Request {
            members: BatchExecuteStatement::decode(body)?,
            prepared: Vec::new(),
        })
    }
}

pub struct Checked<'r> {
    sent: &'r [BatchStatement],
    prepared: &'r [Result<Prepared, ApiError>],
    report: CapacityReport,
}

pub struct Plan<'r> {
    entries: Vec<Entry<'r>>,
    report: CapacityReport,
}

/// A planned statement, or its error.
struct Entry<'r> {
    /// The table, once the statement names one.
    table: Option<Name>,
    step: Result<StatementStep<'r>, ApiError>,
}

enum StatementStep<'r> {
    Get(Get<'r>, Option<Columns<'r>>),
    Write {
        write: Write<'r>,
        returning: Option<Returning>,
        show_item: bool,
    },
}

/// The result of a statement.
#[derive(Default)]
pub struct Outcome {
    item: Option<Map>,
    error: Option<ApiError>,
    consumed: Option<Consumed>,
}

impl Stages for Operation {
    type Request = Request;
    type Checked<'r> = Checked<'r>;
    type Plan<'r> = Plan<'r>;
    type Outcome = Vec<Outcome>;

    const REFUSAL: RefusalScope = RefusalScope::Entry;

    fn check<'r>(request: &'r mut Request, caches: &'r Caches) -> Result<Checked<'r>, ApiError> {
        let report = check_members(&request.members)?;
        let sent = request.members.statements.get_or_insert_default();
        let prepared = sent.iter_mut().map(|sent| prepare(sent, &caches.statements));
        request.prepared = prepared.collect();
        let prepared = &request.prepared;
        let reads = |reads: bool| prepared.iter().flatten().any(|prepared| prepared.reads() == reads);
        if reads(true) && reads(false) {
            return Err(ApiError::validation(
                "Read and write requests together in the same batch is not supported.",
            ));
        }
        Ok(Checked { sent, prepared, report })
    }

    fn plan<'r>(context: &'r Context<'_>, checked: Checked<'r>) -> Result<Plan<'r>, ApiError> {
        let mut entries = Vec::with_capacity(checked.sent.len());
        let mut items = TransactionItems::default();
        for (sent, prepared) in checked.sent.iter().zip(checked.prepared) {
            let bound = prepared.as_ref().map_err(Clone::clone);
            let bound = bound.and_then(|prepared| Ok((bind(context, prepared)?, prepared)));
            entries.push(match bound {
                Ok((bound, _)) if !items.add(&bound.target, &bound.key) => return Err(ApiError::duplicate_keys()),
                Ok((bound, prepared)) => Entry {
                    table: Some(bound.target.table.name.clone()),
                    step: bound.plan(sent, prepared),
                },
                Err(error) => {
                    let error = statement::overruled(context, sent.statement.as_deref(), error);
                    Entry::refused(error, prepared.as_ref().ok())
                }
            });
        }
        Ok(Plan {
            entries,
            report: checked.report,
        })
    }

    fn access(plan: &Plan<'_>, each: &mut dyn FnMut(Access<'_, '_>)) {
        for step in plan.entries.iter().flat_map(|entry| &entry.step) {
            let (request, returning) = match step {
                StatementStep::Get(get, columns) => {
                    let projection = columns.as_ref().map(|columns| &columns.projection);
                    (ItemRequest::Get(get, projection), None)
                }
                StatementStep::Write { write, returning, .. } => (ItemRequest::Write(write), *returning),
            };
            each(Access::Items(ItemAccess {
                return_consumed_capacity: Some(plan.report.name()),
                ..ItemAccess::of_statement(request, returning)
            }));
        }
    }

    fn execute(context: &Context<'_>, plan: &Plan<'_>, mut refusals: Refusals) -> Result<Vec<Outcome>, ApiError> {
        let mut planned = 0;
        let outcomes = plan.entries.iter().map(|entry| match &entry.step {
            Ok(step) => {
                planned += 1;
                step.run(context, refusals.of(planned - 1))
            }
            Err(error) => Outcome::of_error(error.clone()),
        });
        Ok(outcomes.collect())
    }

    fn encode(plan: &Plan<'_>, outcomes: Vec<Outcome>, out: &mut Writer) {
        out.order_number_sets_by_hash();
        let mut answer = Object::open(out);
        let mut responses = answer.list("Responses");
        for (entry, outcome) in plan.entries.iter().zip(&outcomes) {
            outcome.encode(entry.table.as_ref(), &mut responses);
        }
        responses.close();
        if plan.report != CapacityReport::None {
            let mut consumed = Vec::new();
            for cost in outcomes.into_iter().filter_map(|outcome| outcome.consumed) {
                output::merge(&mut consumed, cost);
            }
            output::consumed_capacities(&mut answer, consumed.iter(), plan.report);
        }
        answer.close();
    }
}

fn check_members(request: &BatchExecuteStatement) -> Result<CapacityReport, ApiError> {
    let mut violations = Violations::new();
    match request.statements.as_deref() {
        None => violations.missing("statements"),
        Some([]) => violations.value("[]", "statements", constraint::min_length(1)),
        Some(statements) if statements.len() > limits::BATCH_STATEMENTS => {
            let most = constraint::max_length(limits::BATCH_STATEMENTS);
            violations.value(dump::statements(statements, true), "statements", most);
        }
        Some(statements) => {
            for (at, sent) in statements.iter().enumerate() {
                statement::check_element(&mut violations, &format!("statements.{}.member.", at + 1), sent);
            }
        }
    }
    let report = check::return_consumed_capacity(&mut violations, request.return_consumed_capacity.as_ref());
    violations.finish()?;
    Ok(report)
}

fn prepare(sent: &mut BatchStatement, cache: &StatementCache) -> Result<Prepared, ApiError> {
    sent.violations.attributes.take().map_or(Ok(()), Err)?;
    let parameters = sent.parameters.take().unwrap_or_default();
    let prepared = Prepared::new(sent.statement.as_deref().unwrap_or_default(), parameters, cache)?;
    if prepared.is_exists() {
        return Err(ApiError::exists_misplaced());
    }
    Ok(prepared)
}

/// A statement bound to its table, and the key of its item.
struct BoundStatement<'r> {
    statement: Statement<'r>,
    target: Target,
    key: Map,
}

/// Binds a statement to its table, and finds its item's key.
fn bind<'r>(context: &Context<'_>, prepared: &'r Prepared) -> Result<BoundStatement<'r>, ApiError> {
    let statement = prepared.bind()?;
    let target = statement::table(context, prepared)?;
    let key = match &statement {
        Statement::Select(select) => {
            let condition = select.condition.as_ref().filter(|_| prepared.index().is_none());
            let key = condition.and_then(|condition| partiql::only_key(&target.definition().key, condition));
            key.ok_or_else(|| {
                ApiError::validation(
                    "Select statements within BatchExecuteStatement must specify the primary key in the where clause.",
                )
            })?
        }
        _ => statement::written_key(&statement, &target)?,
    };
    statement::check_key(&statement, &target, &key)?;
    Ok(BoundStatement { statement, target, key })
}

impl<'r> BoundStatement<'r> {
    fn plan(self, sent: &BatchStatement, prepared: &Prepared) -> Result<StatementStep<'r>, ApiError> {
        if let Statement::Select(select) = self.statement {
            let mut get = plan::get(self.target, self.key)?;
            get.consistent = sent.consistent_read.unwrap_or(false);
            return Ok(StatementStep::Get(get, select.columns));
        }
        Ok(StatementStep::Write {
            // The item of a failed condition is always read: its size determines the cost of the failure.
            write: statement::write(self.statement, self.target, self.key, true)?,
            returning: prepared.returning(),
            show_item: sent.return_values_on_condition_check_failure.as_deref() == Some("ALL_OLD"),
        })
    }
}

impl StatementStep<'_> {
    fn run(&self, context: &Context<'_>, verdict: Result<(), ApiError>) -> Outcome {
        let outcome = verdict.and_then(|()| match self {
            StatementStep::Get(get, columns) => read(context, get, columns.as_ref()),
            StatementStep::Write { write, returning, .. } => {
                let change = execute::write(context, write)?;
                Ok(Outcome {
                    item: statement::returned(*returning, write, &change),
                    consumed: Some(statement::cost(write, &change)),
                    error: None,
                })
            }
        });
        outcome.unwrap_or_else(|error| self.failed(error))
    }

    /// The outcome of a failed statement. A failed condition costs as much as the stored item.
    fn failed(&self, error: ApiError) -> Outcome {
        let StatementStep::Write { write, show_item, .. } = self else {
            return Outcome::of_error(error);
        };
        if error.kind() != ErrorKind::ConditionalCheckFailed {
            return Outcome::of_error(error);
        }
        let stored = match error.detail() {
            Detail::Item(item) => Some(item),
            _ => None,
        };
        let mut consumed = Consumed::new(write.target.requested_name());
        consumed.table = change::failure_units(write.target.definition(), stored);
        let error = if *show_item { error } else { error.with(Detail::Nothing) };
        Outcome {
            error: Some(error),
            consumed: Some(consumed),
            item: None,
        }
    }
}

fn read(context: &Context<'_>, get: &Get<'_>, columns: Option<&Columns<'_>>) -> Result<Outcome, ApiError> {
    let item = execute::get(context, get)?;
    let mut consumed = Consumed::new(get.target.requested_name());
    consumed.table = get.units(item.as_ref());
    let shown = item.map(|item| match columns {
        Some(columns) => columns.apply(&item),
        None => item.attributes(),
    });
    Ok(Outcome {
        item: shown,
        consumed: Some(consumed),
        error: None,
    })
}

impl Entry<'_> {
    fn refused(error: ApiError, prepared: Option<&Prepared>) -> Self {
        let missing = error.kind() == ErrorKind::ResourceNotFound;
        let table = prepared
            .filter(|_| missing)
            .map(|prepared| Name::new(plan::plain_name(prepared.table())));
        Entry {
            table,
            step: Err(error),
        }
    }
}

impl Outcome {
    fn of_error(error: ApiError) -> Outcome {
        Outcome {
            error: Some(error),
            ..Outcome::default()
        }
    }

    fn encode(&self, table: Option<&Name>, responses: &mut List<'_>) {
        let mut response = responses.object();
        if let Some(error) = &self.error {
            let reason = cancellation_reason(Some(error.clone()));
            let mut object = response.object("Error");
            object.string("Code", code(error.kind()).unwrap_or(reason.code));
            if let Some(message) = &reason.message {
                object.string("Message", message);
            }
            if let Some(item) = &reason.item {
                object.item("Item", item);
            }
            object.close();
        }
        if let Some(item) = &self.item {
            response.map("Item", item);
        }
        if let Some(table) = table {
            response.string("TableName", table);
        }
        response.close();
    }
}

/// The codes of errors that do not occur in cancelled transactions.
fn code(kind: ErrorKind) -> Option<&'static str> {
    match kind {
        ErrorKind::RequestLimitExceeded => Some("RequestLimitExceeded"),
        ErrorKind::InternalServerError | ErrorKind::ServiceUnavailable => Some("InternalServerError"),
        ErrorKind::AccessDenied => Some("AccessDenied"),
        _ => None,
    }
}
