//! [ExecuteTransaction](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_ExecuteTransaction.html).

use super::check::{self, Report};
use super::transaction::{self, Attempt, Items};
use super::{dump, output, statement};
use crate::capacity::{Consumed, Direction};
use crate::change::Change;
use crate::error::{ApiError, ErrorKind, Violations, constraint};
use crate::execute::{self, Context, Get, Write, cancellation_reason};
use crate::limits;
use crate::partiql::{self, Columns, Prepared, Statement};
use crate::plan::{self, Target};
use crate::request::{BatchStatement, ExecuteTransaction};
use crate::value::Map;
use crate::wire::decode::Decode;
use crate::wire::encode::Writer;
use crate::wire::object::Object;

/// A statement that is bound to its table. One without a table cancels the transaction.
struct Step<'r> {
    statement: Statement<'r>,
    target: Result<Target, ApiError>,
    show_item: bool,
}

/// The key of a statement's item. A write without a whole key cancels the transaction, like one with a wrong key.
type StepKey = Result<Map, ApiError>;

pub(super) fn run(context: &Context<'_>, body: &[u8], out: &mut Writer) -> Result<(), ApiError> {
    out.order_number_sets_by_hash();
    let mut request = ExecuteTransaction::decode(body)?;
    let report = check_members(&request)?;
    let fingerprint = transaction::fingerprint(&request.transact_statements);
    let mut sent = request.transact_statements.take().unwrap_or_default();
    for statement in &mut sent {
        statement.faults.attributes.take().map_or(Ok(()), Err)?;
    }
    let prepared = prepare(&mut sent)?;
    let reads = prepared.iter().any(Prepared::reads);
    if reads && !prepared.iter().all(Prepared::reads) {
        return Err(ApiError::validation(
            "ExecuteTransaction API does not support both read and write operations in the same request.",
        ));
    }
    let (keys, steps) = steps(context, &sent, &prepared)?;
    let token = request.client_request_token.as_ref();
    let again = transaction::begin(context, token, || fingerprint)? == Attempt::Again;
    let result = if reads {
        read(context, &steps, &keys, report, out)
    } else if again {
        replay(context, &steps, &keys, report, out)
    } else {
        write(context, steps, &keys, report, out)
    };
    if !again {
        transaction::end(context, token, result.is_ok());
    }
    result
}

fn check_members(request: &ExecuteTransaction) -> Result<Report, ApiError> {
    let mut faults = Violations::new();
    transaction::check_token(&mut faults, request.client_request_token.as_ref());
    match request.transact_statements.as_deref() {
        None => faults.missing("transactStatements"),
        Some([]) => faults.value("[]", "transactStatements", constraint::min_length(1)),
        Some(statements) if statements.len() > limits::TRANSACTION_ACTIONS => {
            let most = constraint::max_length(limits::TRANSACTION_ACTIONS);
            faults.value(dump::statements(statements, false), "transactStatements", most);
        }
        Some(statements) => {
            for (at, sent) in statements.iter().enumerate() {
                statement::check_element(&mut faults, &format!("transactStatements.{}.member.", at + 1), sent);
            }
        }
    }
    let report = check::return_consumed_capacity(&mut faults, request.return_consumed_capacity.as_ref());
    faults.finish()?;
    Ok(report)
}

/// A statement's own fault is one of the request, and names the statement.
fn named(at: usize, error: ApiError) -> ApiError {
    match error.message() {
        Some(text) if error.kind() == ErrorKind::Validation => {
            ApiError::validation(format!("Validation failed in TransactStatements[{at}]: {text}"))
        }
        _ => error,
    }
}

/// What the statements alone tell: they are judged one after the other.
fn prepare(sent: &mut [BatchStatement]) -> Result<Vec<Prepared>, ApiError> {
    let one = |sent: &mut BatchStatement| {
        let parameters = sent.parameters.take().unwrap_or_default();
        let prepared = Prepared::new(sent.statement.as_deref().unwrap_or_default(), parameters)?;
        if prepared.returning().is_some() {
            return Err(ApiError::validation(
                "RETURNING clause is not supported in ExecuteTransaction.",
            ));
        }
        if prepared.index.is_some() {
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

/// The tables and keys of the statements, each item once.
fn steps<'r>(
    context: &Context<'_>,
    sent: &[BatchStatement],
    prepared: &'r [Prepared],
) -> Result<(Vec<StepKey>, Vec<Step<'r>>), ApiError> {
    let mut items = Items::default();
    let mut steps = Vec::with_capacity(prepared.len());
    let mut keys = Vec::with_capacity(prepared.len());
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
        steps.push(Step {
            statement,
            target,
            show_item,
        });
        keys.push(key);
    }
    Ok((keys, steps))
}

/// The key of a statement's item; a fault of the statement itself is one of the request.
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
            // Whatever is no key at all is the statement's own fault; of another type, or missing, the item's.
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

fn read(
    context: &Context<'_>,
    steps: &[Step<'_>],
    keys: &[StepKey],
    report: Report,
    out: &mut Writer,
) -> Result<(), ApiError> {
    let planned = steps
        .iter()
        .zip(keys)
        .map(|(step, key)| plan::transact_get(step.target.clone()?, key.as_ref().map_err(Clone::clone)?));
    let planned: Vec<Result<Get<'_>, ApiError>> = planned.collect();
    if planned.iter().any(Result::is_err) {
        let reasons = planned.into_iter().map(|each| cancellation_reason(each.err()));
        return Err(ApiError::transaction_cancelled(reasons.collect()));
    }
    let gets: Vec<Get<'_>> = planned.into_iter().flatten().collect();
    let items = execute::transact_get(context, &gets)?;
    transaction::check_response(&items)?;
    let mut answer = Object::open(out);
    let mut responses = answer.list("Responses");
    for (item, step) in items.iter().zip(steps) {
        let mut response = responses.object();
        match (item, columns(&step.statement)) {
            (Some(item), None) => response.item("Item", item),
            (Some(item), Some(columns)) => response.map("Item", &columns.apply(item)),
            (None, _) => {}
        }
        response.close();
    }
    responses.close();
    if report != Report::None {
        output::consumed_capacities(&mut answer, transaction::read(&gets, &items).iter(), report);
    }
    answer.close();
    Ok(())
}

fn columns<'s, 'r>(statement: &'s Statement<'r>) -> Option<&'s Columns<'r>> {
    match statement {
        Statement::Select(select) => select.columns.as_ref(),
        _ => None,
    }
}

fn write<'r>(
    context: &Context<'_>,
    steps: Vec<Step<'r>>,
    keys: &'r [StepKey],
    report: Report,
    out: &mut Writer,
) -> Result<(), ApiError> {
    let planned = steps.into_iter().zip(keys).map(|(step, key)| {
        let (target, key) = (step.target?, key.as_ref().map_err(Clone::clone)?);
        statement::write(step.statement, target, key, step.show_item)
    });
    let writes: Vec<Result<Write<'_>, ApiError>> = planned.collect();
    let changes = execute::transact_write(context, &writes)?;
    let writes: Vec<Write<'_>> = writes.into_iter().flatten().collect();
    answer(out, report, || consumed(&writes, &changes));
    Ok(())
}

fn consumed(writes: &[Write<'_>], changes: &[Change]) -> Vec<Consumed> {
    let mut consumed = Vec::new();
    for (write, change) in writes.iter().zip(changes) {
        let mut cost = change.consumed(&write.target.asked_name(), 2);
        cost.direction = Some(Direction::Write);
        output::merge(&mut consumed, cost);
    }
    consumed
}

/// The same statements again: nothing is done, and they are charged as the reads that found that out.
fn replay(
    context: &Context<'_>,
    steps: &[Step<'_>],
    keys: &[StepKey],
    report: Report,
    out: &mut Writer,
) -> Result<(), ApiError> {
    let mut places = Vec::with_capacity(steps.len());
    for (step, key) in steps.iter().zip(keys) {
        let target = step.target.as_ref().map_err(Clone::clone)?;
        places.push((target, key.as_ref().map_err(Clone::clone)?));
    }
    let consumed = transaction::replayed(context, places.into_iter())?;
    answer(out, report, || consumed);
    Ok(())
}

fn answer(out: &mut Writer, report: Report, consumed: impl FnOnce() -> Vec<Consumed>) {
    let mut answer = Object::open(out);
    answer.list("Responses").close();
    if report != Report::None {
        output::consumed_capacities(&mut answer, consumed().iter(), report);
    }
    answer.close();
}
