//! [TransactWriteItems](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html).

use crate::change::Change;
use crate::context::{Caches, Context};
use crate::error::{ApiError, Violations};
use crate::execute::{self, RefusalScope, Refusals};
use crate::expression::{Bindings, Condition, Update};
use crate::key;
use crate::operation::check::{self, CapacityReport};
use crate::operation::drive::Stages;
use crate::operation::dump;
use crate::operation::items::single_write;
use crate::operation::output;
use crate::operation::transactions::transaction::{self, Attempt, TransactionItems};
use crate::plan::{self, Access, DeferredError, Get, ItemAccess, Target, Write, WriteAction, WriteCondition};
use crate::request::{Substitutions, TransactWriteItem, TransactWriteItems};
use crate::schema::Definition;
use crate::sort;
use crate::value::{Item, Map, SentItem, Text};
use crate::wire::encode::Writer;
use crate::wire::object::Object;

/// An action with its expressions bound, before its table is known.
struct CheckedAction<'r> {
    table: &'r str,
    kind: ActionKind<'r>,
    condition: WriteCondition<'r>,
    /// The bytes of its expressions, and of the names and values that they refer to.
    expression_size: usize,
}

enum ActionKind<'r> {
    Put(&'r SentItem),
    Update(Option<Update<'r>>, &'r Map),
    Delete(&'r Map),
    Check(&'r Map),
}

/// The members that all four actions have.
struct Members<'r> {
    table: Option<&'r Text>,
    condition: Option<&'r Text>,
    substitutions: &'r Substitutions,
    on_failure: Option<&'r Text>,
}

pub struct Operation;

pub struct Checked<'r> {
    request: &'r TransactWriteItems,
    steps: Vec<CheckedAction<'r>>,
    report: CapacityReport,
    metrics: bool,
}

pub struct Plan<'r> {
    entries: Entries<'r>,
    attempt: Attempt<'r>,
    report: CapacityReport,
    metrics: bool,
}

/// The entries of a transaction.
enum Entries<'r> {
    /// Its actions. An action that cannot be planned cancels the transaction.
    Writes(Vec<Result<Write<'r>, ApiError>>),
    /// The writes of an earlier transaction with the same token, and reads of their items.
    Repeated(Vec<Write<'r>>, Vec<Get<'r>>),
}

pub enum Outcome {
    Written(Vec<Change>),
    Repeated(Vec<Option<Item>>),
}

impl Stages for Operation {
    type Request = TransactWriteItems;
    type Checked<'r> = Checked<'r>;
    type Plan<'r> = Plan<'r>;
    type Outcome = Outcome;

    const REFUSAL: RefusalScope = RefusalScope::Transaction;

    fn check<'r>(request: &'r mut TransactWriteItems, caches: &'r Caches) -> Result<Checked<'r>, ApiError> {
        let request = &*request;
        let (report, metrics) = check_members(request)?;
        let actions = request.transact_items.as_deref().unwrap_or_default();
        let steps = actions.iter().map(|action| bind(action, caches));
        Ok(Checked {
            request,
            steps: steps.collect::<Result<_, _>>()?,
            report,
            metrics,
        })
    }

    fn plan<'r>(context: &'r Context<'_>, checked: Checked<'r>) -> Result<Plan<'r>, ApiError> {
        let Checked {
            request,
            steps,
            report,
            metrics,
        } = checked;
        let targets = find_targets(context, &steps)?;
        let mut placed = steps.iter().zip(&targets);
        placed.try_for_each(|(step, target)| check_empty_keys(step, target))?;
        check_size(&steps)?;
        let actions = || request.transact_items.as_deref().unwrap_or_default();
        let token = request.client_request_token.as_ref();
        let attempt = Attempt::begin(context, token, || fingerprint(actions()))?;
        let writes = steps
            .into_iter()
            .zip(targets)
            .map(|(step, target)| plan_step(step, target));
        let entries = if attempt.is_repeated {
            let writes: Vec<Write<'r>> = writes.collect::<Result<_, _>>()?;
            let gets = transaction::plan_repeated(&writes)?;
            Entries::Repeated(writes, gets)
        } else {
            Entries::Writes(writes.collect())
        };
        Ok(Plan {
            entries,
            attempt,
            report,
            metrics,
        })
    }

    fn access(plan: &Plan<'_>, each: &mut dyn FnMut(Access<'_, '_>)) {
        let mut action = |access: ItemAccess<'_, '_>| {
            each(Access::Items(ItemAccess {
                return_values: Some("NONE"),
                return_consumed_capacity: Some(plan.report.name()),
                ..access
            }));
        };
        match &plan.entries {
            Entries::Writes(writes) => writes.iter().flatten().for_each(|write| action(write.into())),
            Entries::Repeated(writes, gets) => writes.iter().zip(gets).for_each(|(write, get)| {
                action(ItemAccess {
                    repeats: Some(write),
                    ..get.into()
                });
            }),
        }
    }

    fn execute(context: &Context<'_>, plan: &Plan<'_>, refusals: Refusals) -> Result<Outcome, ApiError> {
        let outcome = match &plan.entries {
            Entries::Writes(writes) => Outcome::Written(execute::transact_write(context, writes, refusals)?),
            Entries::Repeated(_, gets) => Outcome::Repeated(execute::read_again(context, gets, refusals)?),
        };
        plan.attempt.succeed();
        Ok(outcome)
    }

    fn encode(plan: &Plan<'_>, outcome: Outcome, out: &mut Writer) {
        let mut collections = Vec::new();
        let consumed = match (&plan.entries, &outcome) {
            (Entries::Writes(writes), Outcome::Written(changes)) => {
                if plan.metrics {
                    collections = collections_of(writes, changes);
                }
                transaction::written(writes, changes)
            }
            (Entries::Repeated(_, gets), Outcome::Repeated(items)) => transaction::read(gets, items),
            _ => Vec::new(),
        };
        let mut answer = Object::open(out);
        if plan.report != CapacityReport::None {
            output::consumed_capacities(&mut answer, consumed.iter(), plan.report);
        }
        output::batch_collection_metrics(&mut answer, &collections);
        answer.close();
    }
}

fn check_members(request: &TransactWriteItems) -> Result<(CapacityReport, bool), ApiError> {
    let mut violations = Violations::new();
    transaction::check_token(&mut violations, request.client_request_token.as_ref());
    let report = check::return_consumed_capacity(&mut violations, request.return_consumed_capacity.as_ref());
    let metrics =
        check::return_item_collection_metrics(&mut violations, request.return_item_collection_metrics.as_ref());
    match request.transact_items.as_deref() {
        None => violations.missing("transactItems"),
        Some(actions) => {
            transaction::check_count(&mut violations, actions.len(), || dump::transact_writes(actions));
            for (at, action) in actions.iter().enumerate() {
                check_action(&mut violations, action, &format!("transactItems.{}.member", at + 1));
            }
        }
    }
    violations.finish()?;
    Ok((report, metrics))
}

/// The required members of an action, and its enumerations.
fn check_action(violations: &mut Violations, action: &TransactWriteItem, path: &str) {
    let mut required = |kind: &str, table: Option<&Text>, members: &[(&str, bool)], on_failure: Option<&Text>| {
        let path = format!("{path}.{kind}");
        check::echoed_table_name(violations, table, &format!("{path}.tableName"));
        for (member, there) in members {
            if !there {
                violations.missing(format_args!("{path}.{member}"));
            }
        }
        let path = format!("{path}.returnValuesOnConditionCheckFailure");
        check::return_values_on_failure(violations, on_failure, &path);
    };
    if let Some(check) = &action.condition_check {
        let members = [
            ("key", check.key.is_some()),
            ("conditionExpression", check.condition_expression.is_some()),
        ];
        let on_failure = check.return_values_on_condition_check_failure.as_ref();
        required("conditionCheck", check.table_name.as_ref(), &members, on_failure);
    }
    if let Some(put) = &action.put {
        let on_failure = put.return_values_on_condition_check_failure.as_ref();
        required(
            "put",
            put.table_name.as_ref(),
            &[("item", put.item.is_some())],
            on_failure,
        );
    }
    if let Some(delete) = &action.delete {
        let on_failure = delete.return_values_on_condition_check_failure.as_ref();
        required(
            "delete",
            delete.table_name.as_ref(),
            &[("key", delete.key.is_some())],
            on_failure,
        );
    }
    if let Some(update) = &action.update {
        let members = [
            ("key", update.key.is_some()),
            ("updateExpression", update.update_expression.is_some()),
        ];
        let on_failure = update.return_values_on_condition_check_failure.as_ref();
        required("update", update.table_name.as_ref(), &members, on_failure);
    }
}

/// Binds one action: exactly one kind, and its expressions.
fn bind<'r>(action: &'r TransactWriteItem, caches: &'r Caches) -> Result<CheckedAction<'r>, ApiError> {
    let kinds = [
        action.condition_check.is_some(),
        action.put.is_some(),
        action.delete.is_some(),
        action.update.is_some(),
    ];
    match kinds.iter().filter(|there| **there).count() {
        0 => {
            return Err(ApiError::validation(
                "Invalid Request: TransactWriteRequest should contain Delete or Put or Update request",
            ));
        }
        1 => {}
        _ => {
            return Err(ApiError::validation(
                "TransactItems can only contain one of Check, Put, Update or Delete",
            ));
        }
    }
    // Expressions are checked before the item or key, and their values before their text.
    action.violations.substitutions.clone().map_or(Ok(()), Err)?;
    let step = bind_kind(action, caches)?;
    action.violations.attributes.clone().map_or(Ok(()), Err)?;
    if let ActionKind::Put(item) = step.kind {
        plan::check_item_size(&item.item)?;
    }
    Ok(step)
}

fn bind_kind<'r>(action: &'r TransactWriteItem, caches: &'r Caches) -> Result<CheckedAction<'r>, ApiError> {
    let key = |key: &'r Option<Map>| check::key(key.as_ref());
    if let Some(put) = &action.put {
        let Some(item) = &put.item else {
            return Err(ApiError::internal());
        };
        let members = Members {
            table: put.table_name.as_ref(),
            condition: put.condition_expression.as_ref(),
            substitutions: &put.substitutions,
            on_failure: put.return_values_on_condition_check_failure.as_ref(),
        };
        return members.bind(caches, None, |_| ActionKind::Put(item));
    }
    if let Some(delete) = &action.delete {
        let members = Members {
            table: delete.table_name.as_ref(),
            condition: delete.condition_expression.as_ref(),
            substitutions: &delete.substitutions,
            on_failure: delete.return_values_on_condition_check_failure.as_ref(),
        };
        return members.bind(caches, None, |_| ActionKind::Delete(key(&delete.key)));
    }
    if let Some(update) = &action.update {
        let members = Members {
            table: update.table_name.as_ref(),
            condition: update.condition_expression.as_ref(),
            substitutions: &update.substitutions,
            on_failure: update.return_values_on_condition_check_failure.as_ref(),
        };
        let kind = |bound: Option<Update<'r>>| ActionKind::Update(bound, key(&update.key));
        return members.bind(caches, update.update_expression.as_ref(), kind);
    }
    let Some(check) = &action.condition_check else {
        return Err(ApiError::internal());
    };
    let members = Members {
        table: check.table_name.as_ref(),
        condition: check.condition_expression.as_ref(),
        substitutions: &check.substitutions,
        on_failure: check.return_values_on_condition_check_failure.as_ref(),
    };
    members.bind(caches, None, |_| ActionKind::Check(key(&check.key)))
}

impl<'r> Members<'r> {
    fn bind(
        &self,
        caches: &'r Caches,
        update: Option<&'r Text>,
        kind: impl FnOnce(Option<Update<'r>>) -> ActionKind<'r>,
    ) -> Result<CheckedAction<'r>, ApiError> {
        let has_expression = self.condition.is_some() || update.is_some();
        let expression_size = self.expression_size(update);
        check::substitutions_need_expression(self.substitutions, has_expression, None)?;
        let mut scope = Bindings::new(self.substitutions, &caches.expressions)?;
        let update = update.map(|text| scope.update(text)).transpose()?;
        let condition: Option<Condition<'r>> = single_write::condition(&mut scope, self.condition)?;
        scope.check_all_used()?;
        let condition = WriteCondition {
            condition,
            show_item: self.on_failure.is_some_and(|word| word == "ALL_OLD"),
        };
        Ok(CheckedAction {
            table: self.table.map(Text::as_str).unwrap_or_default(),
            kind: kind(update),
            condition,
            expression_size,
        })
    }

    fn expression_size(&self, update: Option<&Text>) -> usize {
        let texts = self.condition.into_iter().chain(update).map(Text::len);
        let names = self.substitutions.names.iter().flatten();
        let values = self.substitutions.values.iter().flatten();
        texts.sum::<usize>()
            + names.map(|(_, name)| name.len()).sum::<usize>()
            + values
                .map(|(_, value)| crate::value::size::of_value(value))
                .sum::<usize>()
    }
}

/// Finds the tables and rejects duplicate items, action by action, so that the first error wins.
fn find_targets(context: &Context<'_>, steps: &[CheckedAction<'_>]) -> Result<Vec<Target>, ApiError> {
    let mut targets: Vec<Target> = Vec::with_capacity(steps.len());
    let mut seen = TransactionItems::default();
    for step in steps {
        let target = plan::table(context, step.table)?;
        let attributes = match &step.kind {
            ActionKind::Put(sent) => &sent.attributes,
            ActionKind::Update(_, key) | ActionKind::Delete(key) | ActionKind::Check(key) => key,
        };
        if !seen.add(&target, attributes) {
            return Err(ApiError::duplicate_transaction_item());
        }
        targets.push(target);
    }
    Ok(targets)
}

/// Empty keys, and empty index keys of items, are violations of the whole request, not reasons of a cancellation.
fn check_empty_keys(step: &CheckedAction<'_>, target: &Target) -> Result<(), ApiError> {
    let definition = target.definition();
    let attributes = match &step.kind {
        ActionKind::Put(sent) => &sent.attributes,
        ActionKind::Update(_, key) | ActionKind::Delete(key) | ActionKind::Check(key) => key,
    };
    for attribute in definition.key.attributes() {
        if let Some(kind) = attributes.get(&attribute.name).and_then(key::empty_key_type) {
            return Err(ApiError::empty_key(&attribute.name, kind));
        }
    }
    match &step.kind {
        ActionKind::Put(sent) => definition.indexes().try_for_each(|index| {
            let empty = index.key.attributes().find_map(|attribute| {
                let kind = sent.attributes.get(&attribute.name).and_then(key::empty_key_type)?;
                Some(ApiError::empty_index_key(&attribute.name, kind, &index.name))
            });
            empty.map_or(Ok(()), Err)
        }),
        ActionKind::Update(..) | ActionKind::Delete(_) | ActionKind::Check(_) => Ok(()),
    }
}

/// The error of an update that sets an attribute in the key of an index to an empty value.
fn empty_index_key(definition: &Definition, update: &Update<'_>) -> Option<ApiError> {
    let is_key = |name: &str| definition.indexes().any(|index| index.key.contains(name));
    update
        .targets()
        .filter(|target| !target.path.is_nested() && is_key(target.path.name()))
        .find_map(|target| target.constant.and_then(key::empty_key_type))
        .map(ApiError::empty_index_key_update)
}

/// Checks the size of a transaction: items, keys and expressions together.
fn check_size(steps: &[CheckedAction<'_>]) -> Result<(), ApiError> {
    let attributes = |step: &CheckedAction<'_>| match &step.kind {
        ActionKind::Put(sent) => sent.item.size(),
        ActionKind::Update(_, key) | ActionKind::Delete(key) | ActionKind::Check(key) => key
            .iter()
            .map(|(name, value)| crate::value::size::of_attribute(name, value))
            .sum(),
    };
    transaction::check_request_size(steps.iter().map(|step| attributes(step) + step.expression_size).sum())
}

fn plan_step(step: CheckedAction<'_>, target: Target) -> Result<Write<'_>, ApiError> {
    let condition = step.condition;
    match step.kind {
        ActionKind::Put(sent) => plan::put(target, sent, condition),
        ActionKind::Delete(key) => plan::keyed(target, key, WriteAction::Delete, condition),
        ActionKind::Check(key) => plan::keyed(target, key, WriteAction::Check, condition),
        ActionKind::Update(update, key) => {
            let action = WriteAction::Update { update, charged: false };
            let mut write = plan::keyed(target, key, action, condition)?;
            if write.deferred.is_some() {
                fail_transaction_if_empty(&mut write);
            }
            Ok(write)
        }
    }
}

/// An empty index key fails the whole request, unless the action's own condition fails.
#[cold]
fn fail_transaction_if_empty(write: &mut Write<'_>) {
    if let WriteAction::Update {
        update: Some(update), ..
    } = &write.action
        && let Some(error) = empty_index_key(write.target.definition(), update)
    {
        write.deferred = Some(DeferredError {
            error,
            fails_transaction: true,
        });
    }
}

/// The item collections written to, by table. A condition alone writes to none.
fn collections_of(writes: &[Result<Write<'_>, ApiError>], changes: &[Change]) -> Vec<(Text, Vec<output::Collection>)> {
    let mut collections: Vec<(Text, Vec<output::Collection>)> = Vec::new();
    let written = writes.iter().flatten().zip(changes);
    let written = written.filter(|(write, _)| !matches!(write.action, WriteAction::Check));
    for (write, change) in written.filter(|(write, _)| !write.target.definition().locals.is_empty()) {
        let name = write.target.requested_name();
        let collection = single_write::collection(write, change);
        match collections.iter_mut().find(|(table, _)| *table == name) {
            Some((_, there)) => output::note_collection(there, collection),
            None => collections.push((name, vec![collection])),
        }
    }
    collections
}

/// A hash of the actions for the client token, independent of the order of their members.
fn fingerprint(actions: &[TransactWriteItem]) -> u64 {
    let mut sorted = actions.to_vec();
    for action in &mut sorted {
        let substitutions = [
            action.put.as_mut().map(|put| &mut put.substitutions),
            action.update.as_mut().map(|update| &mut update.substitutions),
            action.delete.as_mut().map(|delete| &mut delete.substitutions),
            action.condition_check.as_mut().map(|check| &mut check.substitutions),
        ];
        for each in substitutions.into_iter().flatten() {
            if let Some(names) = &mut each.names {
                sort::sort(names);
            }
            if let Some(values) = &mut each.values {
                sort::sort_by(values, |left, right| left.0.cmp(&right.0));
            }
        }
    }
    transaction::fingerprint(&sorted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::decode::Decode;

    #[test]
    fn the_order_of_placeholders_does_not_distinguish_requests() {
        let of = |action: &str, names: [&str; 2], values: [&str; 2]| {
            let (names, values) = (names.join(","), values.join(","));
            let body = format!(
                r#"{{"TransactItems":[{{"Delete":{{"TableName":"two"}}}},{{{action},"ConditionExpression":"c","ExpressionAttributeNames":{{{names}}},"ExpressionAttributeValues":{{{values}}}}}}}]}}"#
            );
            let request = TransactWriteItems::decode(body.as_bytes()).unwrap();
            fingerprint(request.transact_items.as_deref().unwrap())
        };
        let (a, b, c) = (r##""#a":"a""##, r##""#b":"b""##, r##""#b":"c""##);
        let (one, two, three) = (r#"":a":{"N":"1"}"#, r#"":b":{"N":"2"}"#, r#"":b":{"N":"3"}"#);
        for action in [
            r#""Put":{"TableName":"one","Item":{"pk":{"S":"a"}}"#,
            r#""Update":{"TableName":"one","UpdateExpression":"u","Key":{"pk":{"S":"a"}}"#,
            r#""Delete":{"TableName":"one","Key":{"pk":{"S":"a"}}"#,
            r#""ConditionCheck":{"TableName":"one","Key":{"pk":{"S":"a"}}"#,
        ] {
            let first = of(action, [a, b], [one, two]);
            assert_eq!(of(action, [b, a], [one, two]), first, "{action}");
            assert_eq!(of(action, [a, b], [two, one]), first, "{action}");
            assert_ne!(of(action, [a, c], [one, two]), first, "{action}");
            assert_ne!(of(action, [a, b], [one, three]), first, "{action}");
        }
    }
}
