//! Shared by PutItem, UpdateItem and DeleteItem.

use crate::change::Change;
use crate::error::{ApiError, Violations, constraint};
use crate::expression::{Bindings, Condition, ExpressionKind, legacy};
use crate::operation::check::{self, CapacityReport, ReturnValues, words};
use crate::operation::output::{self, Collection};
use crate::plan::{Access, ItemAccess, Write, WriteAction, WriteCondition};
use crate::request::{Expected, Substitutions};
use crate::value::{Name, Text};
use crate::wire::encode::Writer;
use crate::wire::object::Object;

/// The return options of a write.
#[derive(Clone, Copy)]
pub struct ReturnOptions {
    pub report: CapacityReport,
    pub values: ReturnValues,
    pub metrics: bool,
    pub show_item: bool,
}

/// A write whose request is checked, before its table is known. `A` is its action.
pub struct CheckedWrite<'r, A> {
    pub table: &'r str,
    pub condition: WriteCondition<'r>,
    pub returns: ReturnOptions,
    pub action: A,
}

/// A planned write and its return options.
pub struct WritePlan<'r> {
    pub write: Write<'r>,
    pub returns: ReturnOptions,
}

impl<'r> WritePlan<'r> {
    /// The access that the request requires.
    pub fn access(&self) -> Access<'_, 'r> {
        Access::Items(ItemAccess {
            return_values: Some(self.returns.values.name()),
            return_consumed_capacity: Some(self.returns.report.name()),
            ..ItemAccess::from(&self.write)
        })
    }
}

/// The members of a request that set its return options.
pub struct ReturnMembers<'r> {
    pub capacity: Option<&'r Text>,
    pub values: Option<&'r Text>,
    pub metrics: Option<&'r Text>,
    pub on_failure: Option<&'r Text>,
}

impl ReturnMembers<'_> {
    /// Checks the values, in the order in which PutItem and DeleteItem report violations.
    pub fn check(&self, violations: &mut Violations) -> ReturnOptions {
        let report = check::return_consumed_capacity(violations, self.capacity);
        if check::return_values(self.values).is_none() {
            violations.push(check::unknown_return_values());
        }
        let metrics = check::return_item_collection_metrics(violations, self.metrics);
        let path = "returnValuesOnConditionCheckFailure";
        let show_item = check::return_values_on_failure(violations, self.on_failure, path);
        ReturnOptions {
            report,
            values: ReturnValues::None,
            metrics,
            show_item,
        }
    }
}

/// The members that the older framework checks, in an UpdateItem without a key and in a write with a value that is nested too
/// deeply.
pub struct OlderFrameworkMembers<'r> {
    pub table: Option<&'r Text>,
    pub capacity: Option<&'r Text>,
    pub values: Option<&'r Text>,
    pub operator: Option<&'r Text>,
    /// The key or item, if it is missing.
    pub missing: Option<&'static str>,
}

impl OlderFrameworkMembers<'_> {
    /// Checks the members, and reports all violations at once.
    pub fn check(&self) -> Result<(), ApiError> {
        let mut violations = Violations::new();
        check::return_consumed_capacity(&mut violations, self.capacity);
        check::echoed_table_name(&mut violations, self.table, "tableName");
        if let (None, Some(word)) = (check::return_values(self.values), self.values) {
            violations.value(word, "returnValues", constraint::one_of(words::RETURN_VALUES_OLDER));
        }
        check::echoed_conditional_operator(&mut violations, self.operator);
        if let Some(missing) = self.missing {
            violations.missing(missing);
        }
        violations.finish()
    }

    /// Checks the members of a PutItem or DeleteItem, which return no new values.
    pub fn check_with_old_values(&self) -> Result<(), ApiError> {
        self.check()?;
        match check::return_values(self.values) {
            Some(ReturnValues::None | ReturnValues::AllOld) | None => Ok(()),
            Some(_) => Err(ApiError::validation(OLD_OR_NONE)),
        }
    }
}

const OLD_OR_NONE: &str = "ReturnValues can only be ALL_OLD or NONE";

/// `ReturnValues` of PutItem and DeleteItem: the old item or nothing.
pub fn old_or_none(word: Option<&Text>) -> Result<ReturnValues, ApiError> {
    match check::return_values(word) {
        None => Ok(ReturnValues::None),
        Some(values @ (ReturnValues::None | ReturnValues::AllOld)) => Ok(values),
        Some(_) => Err(ApiError::validation(OLD_OR_NONE).enveloped()),
    }
}

/// For PutItem and DeleteItem: a condition and the legacy parameters cannot be combined, and substitutions require the
/// condition.
pub fn check_kinds(
    condition: bool,
    expected: bool,
    operator: bool,
    substitutions: &Substitutions,
) -> Result<(), ApiError> {
    let legacy = [("Expected", expected), ("ConditionalOperator", operator)];
    check::mixing(&legacy, &[("ConditionExpression", condition)])
        .and_then(|()| check::substitutions_need_expression(substitutions, condition, None))
        .map_err(ApiError::enveloped)
}

/// Lowers `Expected` and `ConditionalOperator`, if given.
pub fn expected<'r>(
    expected: Option<&'r Vec<(Name, Expected)>>,
    operator: Option<&Text>,
) -> Result<Option<Condition<'r>>, ApiError> {
    if expected.is_none() && operator.is_none() {
        return Ok(None);
    }
    legacy::expected(expected, operator.map(Text::as_str)).map(Some)
}

/// Binds a `ConditionExpression`, if given.
pub fn condition<'r>(scope: &mut Bindings<'r>, text: Option<&'r Text>) -> Result<Option<Condition<'r>>, ApiError> {
    text.map(|text| scope.condition(ExpressionKind::Condition, text))
        .transpose()
}

pub fn encode(plan: &WritePlan<'_>, change: &Change, out: &mut Writer) {
    let WritePlan { write, returns } = plan;
    let mut answer = Object::open(out);
    attributes(write, returns.values, change, &mut answer);
    if returns.report != CapacityReport::None {
        let consumed = change.consumed(&write.target.requested_name());
        output::consumed_capacity(answer.member("ConsumedCapacity"), &consumed, returns.report);
    }
    if returns.metrics && !write.target.definition().locals.is_empty() {
        output::item_collection_metrics(answer.member("ItemCollectionMetrics"), &collection(write, change));
    }
    answer.close();
}

/// Writes the attributes requested by `ReturnValues`, unless there are none.
fn attributes(write: &Write<'_>, returns: ReturnValues, change: &Change, answer: &mut Object<'_>) {
    let side = match returns {
        ReturnValues::None => return,
        ReturnValues::AllOld | ReturnValues::UpdatedOld => &change.old,
        ReturnValues::AllNew | ReturnValues::UpdatedNew => &change.new,
    };
    let Some(item) = side else { return };
    if matches!(returns, ReturnValues::AllOld | ReturnValues::AllNew) {
        answer.item("Attributes", item);
    } else if let WriteAction::Update {
        update: Some(update), ..
    } = &write.action
    {
        let touched = update.touched(item);
        if !touched.is_empty() {
            answer.map("Attributes", &touched);
        }
    }
}

/// The item collection of a write: its hash key attribute, and its size after the write.
pub fn collection(write: &Write<'_>, change: &Change) -> Collection {
    let gigabyte = (write.target.shape.conditions.item_collection_size / 10).max(1);
    let name = write
        .target
        .definition()
        .key
        .hash
        .first()
        .map(|attribute| attribute.name.clone());
    Collection {
        key: name.into_iter().zip(write.partition().cloned()).collect(),
        gigabytes: change.collection / gigabyte,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::caller::Caller;
    use crate::chance;
    use crate::clock::Moment;
    use crate::conditions::Conditions;
    use crate::context::{Context, EngineState};
    use crate::operation;
    use crate::storage::Scope as Place;
    use crate::wire::envelope::Service;

    const TABLE: &str = r#"{"TableName": "tab", "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}, {"AttributeName": "sk", "AttributeType": "S"},
            {"AttributeName": "l", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
        "LocalSecondaryIndexes": [{"IndexName": "by-l", "Projection": {"ProjectionType": "KEYS_ONLY"}, "KeySchema":
            [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "l", "KeyType": "RANGE"}]}]}"#;

    #[test]
    fn collections_have_the_size_of_what_is_in_them() {
        let state = EngineState::new(1, &Conditions::CALM);
        let place = Place {
            account: "me".into(),
            region: "us-east-1".into(),
        };
        let caller = Caller {
            access_key: "me".into(),
            region: "us-east-1".into(),
        };
        let context = Context::new(&state, place, &caller, "PutItem", Moment::START);
        let send = |name: &str, body: &str| {
            let operation = operation::find(Service::DynamoDb, name).unwrap();
            (operation.run)(&context, body.as_bytes(), &mut Writer::new()).unwrap();
        };
        send("CreateTable", TABLE);
        for step in 0..400 {
            let draw = |what: &str, of: u64| chance::decide(7, what, &[], step) % of;
            let key = format!(
                r#""pk": {{"S": "{}"}}, "sk": {{"S": "{}"}}"#,
                draw("pk", 3),
                draw("sk", 5)
            );
            let l = format!(r#""l": {{"S": "{}"}}"#, "l".repeat(1 + draw("l", 9) as usize));
            let filler = format!(r#""f": {{"S": "{}"}}"#, "f".repeat(draw("f", 50) as usize));
            match draw("what", 4) {
                0 => send(
                    "PutItem",
                    &format!(r#"{{"TableName": "tab", "Item": {{{key}, {filler}}}}}"#),
                ),
                1 => send(
                    "PutItem",
                    &format!(r#"{{"TableName": "tab", "Item": {{{key}, {l}, {filler}}}}}"#),
                ),
                2 => send("DeleteItem", &format!(r#"{{"TableName": "tab", "Key": {{{key}}}}}"#)),
                _ => send(
                    "TransactWriteItems",
                    &format!(r#"{{"TransactItems": [{{"Put": {{"TableName": "tab", "Item": {{{key}, {l}}}}}}}]}}"#),
                ),
            }
            let table = state.catalog().table(&context.scope, "tab").unwrap();
            for partition in table.partitions() {
                let contents = partition.read();
                let mut sizes: BTreeMap<u64, u64> = BTreeMap::new();
                for (key, item) in contents.items().chain(contents.local_entries(0)) {
                    *sizes.entry(key.token).or_default() += item.size() as u64;
                }
                for (token, size) in sizes {
                    assert_eq!(contents.collection(token), size, "step {step}");
                }
            }
        }
    }
}
