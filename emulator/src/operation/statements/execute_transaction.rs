//! [ExecuteTransaction](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_ExecuteTransaction.html).

use crate::change::Change;
use crate::context::{Caches, Context};
use crate::error::{ApiError, ErrorKind, Violations, constraint};
use crate::execute::{self, RefusalScope, Refusals, cancellation_reason};
use crate::limits;
use crate::operation::check::{self, CapacityReport};
use crate::operation::drive::Stages;
use crate::operation::dump;
use crate::operation::output;
use crate::operation::statements::statement;
use crate::operation::transactions::transaction::{self, Attempt, TransactionItems};
use crate::partiql::{self, Columns, Prepared, Statement, StatementCache};
use crate::plan::{self, Access, Get, ItemAccess, ItemRequest, Target, Write};
use crate::request::{BatchStatement, ExecuteTransaction};
use crate::value::{Item, Map, Text};
use crate::wire::decode::Decode;
use crate::wire::encode::Writer;
use crate::wire::object::Object;

/// A statement bound to its table. A missing table cancels the transaction.
struct TransactionStatement<'r> {
    statement: Statement<'r>,
    target: Result<Target, ApiError>,
    key: StepKey,
    show_item: bool,
}

/// The key of a statement's item. A write with an incomplete key cancels the transaction, like one with a wrong key.
type StepKey = Result<Map, ApiError>;

pub struct Operation;

/// The request, and its statements once they are parsed.
pub struct Request {
    members: ExecuteTransaction,
    prepared: Vec<Prepared>,
}

impl Decode for Request {
    fn decode(body: &[u8]) -> Result<Request, ApiError> {
        Ok(Request {
            members: ExecuteTransaction::decode(body)?,
            prepared: Vec::new(),
        })
    }
}

pub struct Checked<'r> {
    token: Option<&'r Text>,
    fingerprint: u64,
    sent: &'r [BatchStatement],
    prepared: &'r [Prepared],
    report: CapacityReport,
}

pub struct Plan<'r> {
    entries: Entries<'r>,
    attempt: Attempt<'r>,
    report: CapacityReport,
}

/// The entries of a transaction.
enum Entries<'r> {
    /// Reads, with the columns of each.
    Reads(Vec<Get<'r>>, Vec<Option<Columns<'r>>>),
    /// Writes and conditions. A write that cannot be planned cancels the transaction.
    Writes(Vec<Result<Write<'r>, ApiError>>),
    /// The writes of an earlier transaction with the same token, and reads of their items.
    Repeated(Vec<Write<'r>>, Vec<Get<'r>>),
}

pub enum Outcome {
    Read(Vec<Option<Item>>),
    Written(Vec<Change>),
}

impl Stages for Operation {
    type Request = Request;
    type Checked<'r> = Checked<'r>;
    type Plan<'r> = Plan<'r>;
    type Outcome = Outcome;

    const REFUSAL: RefusalScope = RefusalScope::Transaction;

    fn check<'r>(request: &'r mut Request, caches: &'r Caches) -> Result<Checked<'r>, ApiError> {
        let report = check_members(&request.members)?;
        // Only a client token needs it.
        let fingerprint = match request.members.client_request_token {
            Some(_) => transaction::fingerprint(&request.members.transact_statements),
            None => 0,
        };
        let sent = request.members.transact_statements.get_or_insert_default();
        for statement in &mut *sent {
            statement.violations.attributes.take().map_or(Ok(()), Err)?;
        }
        request.prepared = prepare(sent, &caches.statements)?;
        let prepared = &request.prepared;
        if prepared.iter().any(Prepared::reads) && !prepared.iter().all(Prepared::reads) {
            return Err(ApiError::validation(
                "ExecuteTransaction API does not support both read and write operations in the same request.",
            ));
        }
        Ok(Checked {
            token: request.members.client_request_token.as_ref(),
            fingerprint,
            sent,
            prepared,
            report,
        })
    }

    fn plan<'r>(context: &'r Context<'_>, checked: Checked<'r>) -> Result<Plan<'r>, ApiError> {
        let steps = steps(context, checked.sent, checked.prepared)?;
        // Only inserted items count toward the size of the transaction.
        let inserted = steps.iter().map(|step| match &step.statement {
            Statement::Insert(sent) => sent.item.size(),
            _ => 0,
        });
        transaction::check_request_size(inserted.sum())?;
        let attempt = Attempt::begin(context, checked.token, || checked.fingerprint)?;
        let entries = if checked.prepared.iter().any(Prepared::reads) {
            plan_reads(steps)?
        } else {
            let writes = steps
                .into_iter()
                .map(|step| statement::write(step.statement, step.target?, step.key?, step.show_item));
            if attempt.is_repeated {
                let writes: Vec<Write<'r>> = writes.collect::<Result<_, _>>()?;
                let gets = transaction::plan_repeated(&writes)?;
                Entries::Repeated(writes, gets)
            } else {
                Entries::Writes(writes.collect())
            }
        };
        Ok(Plan {
            entries,
            attempt,
            report: checked.report,
        })
    }

    fn access(plan: &Plan<'_>, each: &mut dyn FnMut(Access<'_, '_>)) {
        let mut statement = |request: ItemRequest<'_, '_>| each(Access::Items(ItemAccess::of_statement(request, None)));
        match &plan.entries {
            Entries::Reads(gets, columns) => gets.iter().zip(columns).for_each(|(get, columns)| {
                statement(ItemRequest::Get(
                    get,
                    columns.as_ref().map(|columns| &columns.projection),
                ));
            }),
            Entries::Writes(writes) => writes
                .iter()
                .flatten()
                .for_each(|write| statement(ItemRequest::Write(write))),
            Entries::Repeated(writes, gets) => writes.iter().zip(gets).for_each(|(write, get)| {
                each(Access::Items(ItemAccess {
                    repeats: Some(write),
                    ..ItemAccess::of_statement(ItemRequest::Get(get, None), None)
                }));
            }),
        }
    }

    fn execute(context: &Context<'_>, plan: &Plan<'_>, refusals: Refusals) -> Result<Outcome, ApiError> {
        let outcome = match &plan.entries {
            Entries::Reads(gets, _) => {
                let items = execute::transact_get(context, gets, refusals)?;
                transaction::check_response(&items)?;
                Outcome::Read(items)
            }
            Entries::Writes(writes) => Outcome::Written(execute::transact_write(context, writes, refusals)?),
            Entries::Repeated(_, gets) => Outcome::Read(execute::read_again(context, gets, refusals)?),
        };
        plan.attempt.succeed();
        Ok(outcome)
    }

    fn encode(plan: &Plan<'_>, outcome: Outcome, out: &mut Writer) {
        out.order_number_sets_by_hash();
        let mut answer = Object::open(out);
        let mut responses = answer.list("Responses");
        if let (Entries::Reads(_, columns), Outcome::Read(items)) = (&plan.entries, &outcome) {
            for (item, columns) in items.iter().zip(columns) {
                let mut response = responses.object();
                match (item, columns) {
                    (Some(item), None) => response.item("Item", item),
                    (Some(item), Some(columns)) => response.map("Item", &columns.apply(item)),
                    (None, _) => {}
                }
                response.close();
            }
        }
        responses.close();
        if plan.report != CapacityReport::None {
            let consumed = match (&plan.entries, &outcome) {
                (Entries::Writes(writes), Outcome::Written(changes)) => transaction::written(writes, changes),
                (Entries::Reads(gets, _) | Entries::Repeated(_, gets), Outcome::Read(items)) => {
                    transaction::read(gets, items)
                }
                _ => Vec::new(),
            };
            output::consumed_capacities(&mut answer, consumed.iter(), plan.report);
        }
        answer.close();
    }
}

/// Plans reads. A read that does not match its table cancels all.
fn plan_reads(steps: Vec<TransactionStatement<'_>>) -> Result<Entries<'_>, ApiError> {
    let mut columns = Vec::with_capacity(steps.len());
    let planned = steps.into_iter().map(|step| {
        columns.push(match step.statement {
            Statement::Select(select) => select.columns,
            _ => None,
        });
        plan::transact_get(step.target?, step.key?)
    });
    let planned: Vec<Result<Get<'_>, ApiError>> = planned.collect();
    if planned.iter().any(Result::is_err) {
        let reasons = planned.into_iter().map(|each| cancellation_reason(each.err()));
        return Err(ApiError::transaction_cancelled(reasons.collect()));
    }
    Ok(Entries::Reads(planned.into_iter().flatten().collect(), columns))
}

fn check_members(request: &ExecuteTransaction) -> Result<CapacityReport, ApiError> {
    let mut violations = Violations::new();
    transaction::check_token(&mut violations, request.client_request_token.as_ref());
    match request.transact_statements.as_deref() {
        None => violations.missing("transactStatements"),
        Some([]) => violations.value("[]", "transactStatements", constraint::min_length(1)),
        Some(statements) if statements.len() > limits::TRANSACTION_ACTIONS => {
            let most = constraint::max_length(limits::TRANSACTION_ACTIONS);
            violations.value(dump::statements(statements, false), "transactStatements", most);
        }
        Some(statements) => {
            for (at, sent) in statements.iter().enumerate() {
                statement::check_element(&mut violations, &format!("transactStatements.{}.member.", at + 1), sent);
            }
        }
    }
    let report = check::return_consumed_capacity(&mut violations, request.return_consumed_capacity.as_ref());
    violations.finish()?;
    Ok(report)
}

/// An error in a statement itself fails the request, and names the statement.
fn named(at: usize, error: ApiError) -> ApiError {
    match error.message() {
        Some(text) if error.kind() == ErrorKind::Validation => {
            ApiError::validation(format!("Validation failed in TransactStatements[{at}]: {text}"))
        }
        _ => error,
    }
}

/// Checks the statements alone, one after the other.
fn prepare(sent: &mut [BatchStatement], cache: &StatementCache) -> Result<Vec<Prepared>, ApiError> {
    let one = |sent: &mut BatchStatement| {
        let parameters = sent.parameters.take().unwrap_or_default();
        let prepared = Prepared::new(sent.statement.as_deref().unwrap_or_default(), parameters, cache)?;
        if prepared.returning().is_some() {
            return Err(ApiError::validation(
                "RETURNING clause is not supported in ExecuteTransaction.",
            ));
        }
        if prepared.index().is_some() {
            return Err(ApiError::validation(
                "Reads on indices are not supported within transactions.",
            ));
        }
        Ok(prepared)
    };
    let prepared = sent.iter_mut().enumerate();
    prepared
        .map(|(at, sent)| one(sent).map_err(|error| named(at, error)))
        .collect()
}

/// The tables and keys of the statements; each item may occur once.
fn steps<'r>(
    context: &Context<'_>,
    sent: &[BatchStatement],
    prepared: &'r [Prepared],
) -> Result<Vec<TransactionStatement<'r>>, ApiError> {
    let mut items = TransactionItems::default();
    let mut steps = Vec::with_capacity(prepared.len());
    for (at, (prepared, sent)) in prepared.iter().zip(sent).enumerate() {
        let statement = prepared.bind().map_err(|error| named(at, error))?;
        let target = match statement::table(context, prepared) {
            Err(error) if error.kind() != ErrorKind::ResourceNotFound => return Err(named(at, error)),
            found => found,
        };
        let key = match &target {
            Ok(target) => key(&statement, target).map_err(|error| named(at, error))?,
            Err(_) => Ok(Map::new()),
        };
        if let (Ok(target), Ok(key)) = (&target, &key)
            && !items.add(target, key)
        {
            return Err(ApiError::duplicate_transaction_item());
        }
        let show_item = sent.return_values_on_condition_check_failure.as_deref() == Some("ALL_OLD");
        steps.push(TransactionStatement {
            statement,
            target,
            key,
            show_item,
        });
    }
    Ok(steps)
}

/// The key of a statement's item; an error in the statement itself fails the request.
fn key(statement: &Statement<'_>, target: &Target) -> Result<StepKey, ApiError> {
    match statement {
        Statement::Select(select) => {
            let condition = select.condition.as_ref();
            let key = condition.and_then(|condition| partiql::only_key(&target.definition().key, condition));
            key.map(Ok).ok_or_else(|| {
                ApiError::validation(
                    "Select statements within ExecuteTransaction must specify the primary key in the where clause.",
                )
            })
        }
        Statement::Exists(_) => statement::written_key(statement, target).map(Ok),
        Statement::Insert(_) | Statement::Update { .. } | Statement::Delete { .. } => {
            let written = statement::written_key(statement, target);
            // A value that cannot be a key is the statement's error; a wrong type or a missing value is the item's.
            if let (Ok(key), false) = (&written, matches!(statement, Statement::Insert(_)))
                && let Some((name, value)) = key.iter().find(|(_, value)| !value.can_be_key())
            {
                return Err(ApiError::statement_key_value(name, value.type_name()));
            }
            match written {
                Err(error) if error == ApiError::mandatory_equality() => Ok(Err(ApiError::key_mismatch())),
                written => Ok(written),
            }
        }
    }
}
