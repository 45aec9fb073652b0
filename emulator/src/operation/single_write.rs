//! What PutItem, UpdateItem and DeleteItem share.

use super::check::{self, Report, ReturnValues};
use super::output::{self, Collection};
use crate::change::Change;
use crate::error::{ApiError, Violations};
use crate::execute::{self, Context, Write};
use crate::expression::{Condition, ExpressionKind, Scope, legacy};
use crate::plan::Target;
use crate::request::{Expected, Substitutions};
use crate::value::{Name, Text};
use crate::wire::encode::Writer;
use crate::wire::object::Object;

/// What a write was asked to say afterwards.
#[derive(Clone, Copy)]
pub struct ReturnOptions {
    /// `ReturnConsumedCapacity`.
    pub report: Report,
    /// `ReturnItemCollectionMetrics`.
    pub metrics: bool,
    /// `ReturnValuesOnConditionCheckFailure`.
    pub show_item: bool,
}

/// The members that ask for it.
pub struct ReturnMembers<'r> {
    /// `ReturnConsumedCapacity`.
    pub capacity: Option<&'r Text>,
    /// `ReturnValues`.
    pub values: Option<&'r Text>,
    /// `ReturnItemCollectionMetrics`.
    pub metrics: Option<&'r Text>,
    /// `ReturnValuesOnConditionCheckFailure`.
    pub on_failure: Option<&'r Text>,
}

impl ReturnMembers<'_> {
    /// Checks the words, in the order in which PutItem and DeleteItem name their faults.
    pub fn check(&self, faults: &mut Violations) -> ReturnOptions {
        let report = check::return_consumed_capacity(faults, self.capacity);
        if check::return_values(self.values).is_none() {
            faults.push(check::unknown_return_values());
        }
        let metrics = check::return_item_collection_metrics(faults, self.metrics);
        let path = "returnValuesOnConditionCheckFailure";
        let show_item = check::return_values_on_failure(faults, self.on_failure, path);
        ReturnOptions {
            report,
            metrics,
            show_item,
        }
    }
}

/// PutItem and DeleteItem return the old item or nothing.
pub fn old_or_nothing(word: Option<&Text>) -> Result<bool, ApiError> {
    match check::return_values(word) {
        None | Some(ReturnValues::None) => Ok(false),
        Some(ReturnValues::AllOld) => Ok(true),
        Some(_) => Err(ApiError::validation("ReturnValues can only be ALL_OLD or NONE").enveloped()),
    }
}

/// For PutItem and DeleteItem: a condition and the legacy parameters do not go together, and substitutions need the
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

/// Lowers `Expected` and `ConditionalOperator`, if either is there.
pub fn expected<'r>(
    expected: Option<&'r Vec<(Name, Expected)>>,
    operator: Option<&Text>,
) -> Result<Option<Condition<'r>>, ApiError> {
    if expected.is_none() && operator.is_none() {
        return Ok(None);
    }
    legacy::expected(expected, operator.map(Text::as_str)).map(Some)
}

/// Binds a `ConditionExpression`, if there is one.
pub fn condition<'r>(scope: &mut Scope<'r>, text: Option<&'r Text>) -> Result<Option<Condition<'r>>, ApiError> {
    text.map(|text| scope.condition(ExpressionKind::Condition, text))
        .transpose()
}

/// Carries out a write and appends its answer; `attributes` picks what it returns of the item.
pub fn run(
    context: &Context<'_>,
    write: &Write<'_>,
    wanted: ReturnOptions,
    out: &mut Writer,
    attributes: impl FnOnce(&Change, &mut Object<'_>),
) -> Result<(), ApiError> {
    let change = execute::write(context, write)?;
    let mut answer = Object::open(out);
    attributes(&change, &mut answer);
    if wanted.report != Report::None {
        let consumed = change.consumed(&write.target.asked_name(), 1);
        output::consumed_capacity(answer.member("ConsumedCapacity"), &consumed, wanted.report);
    }
    if wanted.metrics && !write.target.definition().locals.is_empty() {
        output::item_collection_metrics(answer.member("ItemCollectionMetrics"), &collection(write, &change));
    }
    answer.close();
    Ok(())
}

/// The item collection that a write is about: its hash key attribute, and its size after the write.
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
        key: name.into_iter().zip(write.partition.cloned()).collect(),
        gigabytes: change.collection / gigabyte,
    }
}

/// The table of a write, and its place in the order of checks: after all that the request alone tells.
pub fn table(context: &Context<'_>, name: Option<&Text>) -> Result<Target, ApiError> {
    crate::plan::table(context, name.map(Text::as_str).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::caller::Caller;
    use crate::chance;
    use crate::clock::Moment;
    use crate::conditions::Conditions;
    use crate::execute::State;
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
        let state = State::new(1, Conditions::CALM);
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
