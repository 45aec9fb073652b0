//! [BatchExecuteStatement](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchExecuteStatement.html).

use super::check::{self, Report};
use super::transaction::Items;
use super::{dump, output, statement};
use crate::capacity::Consumed;
use crate::capacity::units;
use crate::error::{ApiError, Detail, ErrorKind, Violations, constraint};
use crate::execute::{self, Context, cancellation_reason};
use crate::limits;
use crate::partiql::{self, Prepared, Statement};
use crate::plan::{self, Target};
use crate::request::{BatchExecuteStatement, BatchStatement};
use crate::value::{Item, Map, Name};
use crate::wire::decode::Decode;
use crate::wire::encode::Writer;
use crate::wire::object::{List, Object};

/// A statement that is ready to run on an item.
struct Ready<'r> {
    statement: Statement<'r>,
    target: Target,
    returning: Option<partiql::Returning>,
}

/// What became of a statement.
#[derive(Default)]
struct Outcome {
    /// The table, if the statement got as far as that.
    table: Option<Name>,
    item: Option<Map>,
    error: Option<ApiError>,
    consumed: Option<Consumed>,
}

pub(super) fn run(context: &Context<'_>, body: &[u8], out: &mut Writer) -> Result<(), ApiError> {
    out.order_number_sets_by_hash();
    let mut request = BatchExecuteStatement::decode(body)?;
    let report = check_members(&request)?;
    let mut sent = request.statements.take().unwrap_or_default();
    let prepared: Vec<Result<Prepared, ApiError>> = sent.iter_mut().map(prepare).collect();
    let reads = |reads: bool| prepared.iter().flatten().any(|prepared| prepared.reads() == reads);
    if reads(true) && reads(false) {
        return Err(ApiError::validation(
            "Read and write requests together in the same batch is not supported.",
        ));
    }
    let mut keys: Vec<Map> = Vec::with_capacity(sent.len());
    let mut ready: Vec<Result<Ready<'_>, ApiError>> = Vec::with_capacity(sent.len());
    let mut items = Items::default();
    for prepared in &prepared {
        let each = prepared.as_ref().map_err(Clone::clone);
        let each = each.and_then(|prepared| make_ready(context, prepared));
        if let Ok((ready, key)) = &each
            && !items.add(&ready.target, key)
        {
            return Err(ApiError::duplicate_keys());
        }
        let (each, key) = each.map_or_else(|error| (Err(error), Map::new()), |(ready, key)| (Ok(ready), key));
        ready.push(each);
        keys.push(key);
    }
    let mut outcomes = Vec::with_capacity(sent.len());
    for (((sent, ready), key), prepared) in sent.iter().zip(ready).zip(&keys).zip(&prepared) {
        outcomes.push(match ready {
            Ok(ready) => ready.run(context, sent, key),
            Err(error) => {
                let error = statement::overruled(context, sent.statement.as_deref(), error);
                Outcome::refused(error, prepared.as_ref().ok())
            }
        });
    }
    encode(out, &outcomes, report);
    Ok(())
}

fn check_members(request: &BatchExecuteStatement) -> Result<Report, ApiError> {
    let mut faults = Violations::new();
    match request.statements.as_deref() {
        None => faults.missing("statements"),
        Some([]) => faults.value("[]", "statements", constraint::min_length(1)),
        Some(statements) if statements.len() > limits::BATCH_STATEMENTS => {
            let most = constraint::max_length(limits::BATCH_STATEMENTS);
            faults.value(dump::statements(statements, true), "statements", most);
        }
        Some(statements) => {
            for (at, sent) in statements.iter().enumerate() {
                statement::check_element(&mut faults, &format!("statements.{}.member.", at + 1), sent);
            }
        }
    }
    let report = check::return_consumed_capacity(&mut faults, request.return_consumed_capacity.as_ref());
    faults.finish()?;
    Ok(report)
}

fn prepare(sent: &mut BatchStatement) -> Result<Prepared, ApiError> {
    sent.faults.attributes.take().map_or(Ok(()), Err)?;
    let parameters = sent.parameters.take().unwrap_or_default();
    let prepared = Prepared::new(sent.statement.as_deref().unwrap_or_default(), parameters)?;
    if prepared.is_exists() {
        return Err(ApiError::exists_misplaced());
    }
    Ok(prepared)
}

/// Binds a statement to its table, and finds out which item it is about.
fn make_ready<'r>(context: &Context<'_>, prepared: &'r Prepared) -> Result<(Ready<'r>, Map), ApiError> {
    let statement = prepared.bind()?;
    let target = statement::table(context, prepared)?;
    let key = match &statement {
        Statement::Select(select) => {
            let condition = select.condition.as_ref().filter(|_| prepared.index.is_none());
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
    let ready = Ready {
        statement,
        target,
        returning: prepared.returning(),
    };
    Ok((ready, key))
}

impl<'r> Ready<'r> {
    fn run(self, context: &Context<'_>, sent: &BatchStatement, key: &'r Map) -> Outcome {
        let table = self.target.table.name.clone();
        let outcome = match self.statement {
            Statement::Select(_) => self.read(context, sent.consistent_read.unwrap_or(false), key),
            _ => self.write(context, sent, key),
        };
        let outcome = outcome.unwrap_or_else(|error| Outcome {
            error: Some(error),
            ..Outcome::default()
        });
        Outcome {
            table: Some(table),
            ..outcome
        }
    }

    fn read(self, context: &Context<'_>, consistent: bool, key: &Map) -> Result<Outcome, ApiError> {
        let mut consumed = Consumed::new(self.target.asked_name());
        let mut get = plan::get(self.target, key)?;
        get.consistent = consistent;
        let item = execute::get(context, &get)?;
        consumed.table = units::read(item.as_ref().map_or(0, Item::size), consistent);
        let columns = match &self.statement {
            Statement::Select(select) => select.columns.as_ref(),
            _ => None,
        };
        let shown = item.map(|item| match columns {
            Some(columns) => columns.apply(&item),
            None => item.attributes(),
        });
        Ok(Outcome {
            item: shown,
            consumed: Some(consumed),
            ..Outcome::default()
        })
    }

    fn write(self, context: &Context<'_>, sent: &BatchStatement, key: &'r Map) -> Result<Outcome, ApiError> {
        let show_item = sent.return_values_on_condition_check_failure.as_deref() == Some("ALL_OLD");
        let table = self.target.asked_name();
        // The item of a failed condition is always asked for: its size is what the failure costs.
        let write = statement::write(self.statement, self.target, key, true)?;
        match execute::write(context, &write) {
            Ok(change) => Ok(Outcome {
                item: statement::returned(self.returning, &write, &change),
                consumed: Some(statement::cost(&write, &change)),
                ..Outcome::default()
            }),
            Err(error) if error.kind() == ErrorKind::ConditionalCheckFailed => {
                let size = match error.detail() {
                    Detail::Item(item) => item.size(),
                    _ => 0,
                };
                let mut consumed = Consumed::new(table);
                consumed.table = units::write(size);
                let error = if show_item { error } else { error.with(Detail::Nothing) };
                Ok(Outcome {
                    error: Some(error),
                    consumed: Some(consumed),
                    ..Outcome::default()
                })
            }
            Err(error) => Err(error),
        }
    }
}

impl Outcome {
    fn refused(error: ApiError, prepared: Option<&Prepared>) -> Outcome {
        let missing = error.kind() == ErrorKind::ResourceNotFound;
        let table = prepared
            .filter(|_| missing)
            .map(|prepared| Name::new(plan::plain_name(&prepared.table)));
        Outcome {
            table,
            error: Some(error),
            ..Outcome::default()
        }
    }

    fn encode(&self, responses: &mut List<'_>) {
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
        if let Some(table) = &self.table {
            response.string("TableName", table);
        }
        response.close();
    }
}

/// The codes that cancelled transactions do not have.
fn code(kind: ErrorKind) -> Option<&'static str> {
    match kind {
        ErrorKind::RequestLimitExceeded => Some("RequestLimitExceeded"),
        ErrorKind::InternalServerError | ErrorKind::ServiceUnavailable => Some("InternalServerError"),
        ErrorKind::AccessDenied => Some("AccessDenied"),
        _ => None,
    }
}

fn encode(out: &mut Writer, outcomes: &[Outcome], report: Report) {
    let mut answer = Object::open(out);
    let mut responses = answer.list("Responses");
    for outcome in outcomes {
        outcome.encode(&mut responses);
    }
    responses.close();
    if report != Report::None {
        let mut consumed = Vec::new();
        for cost in outcomes.iter().filter_map(|outcome| outcome.consumed.clone()) {
            output::merge(&mut consumed, cost);
        }
        output::consumed_capacities(&mut answer, consumed.iter(), report);
    }
    answer.close();
}
