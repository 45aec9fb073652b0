//! One action on one resource, with the values of DynamoDB's condition keys.

use std::borrow::Cow;

use crate::sort;
use crate::value::{Name, Text};

/// One IAM action on one resource that a request needs to be allowed. A request with several entries has one for each entry,
/// except BatchGetItem and BatchWriteItem, which have one for each table.
///
/// A member that is `None` is a condition key that is absent from the request (docs/behavior: 07 3.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessRequest<'a> {
    /// The IAM action without its prefix `dynamodb:`, such as `PutItem`.
    pub action: &'static str,
    /// The ARN of the table, index, stream, backup, export, import or global table; `*` where the action takes no resource.
    pub resource: Cow<'a, str>,
    /// `dynamodb:LeadingKeys`, which is `dynamodb:FirstPartitionKeyValues` too, and the further partition key values.
    pub partition_keys: Option<PartitionKeyValues>,
    /// `dynamodb:Attributes`: the top-level names in the request, each once.
    pub attributes: Option<Vec<Name>>,
    /// `dynamodb:Select`, with the default of requests without it.
    pub select: Option<&'static str>,
    /// `dynamodb:ReturnValues`, with the default of requests without it.
    pub return_values: Option<&'static str>,
    /// `dynamodb:ReturnConsumedCapacity`.
    pub return_consumed_capacity: Option<&'static str>,
    /// `dynamodb:EnclosingOperation`: the transaction that the action is part of.
    pub enclosing_operation: Option<&'static str>,
    /// `dynamodb:FullTableScan` of a PartiQL SELECT.
    pub full_table_scan: Option<bool>,
    /// `aws:RequestTag/…`, and by its names `aws:TagKeys`. A tag that is removed has no value.
    pub tags: Option<Vec<(Text, Option<Text>)>>,
}

/// The values of each partition key attribute in a request: of the first, up to the fourth. Numbers are printed as DynamoDB
/// prints them, binary values in base64.
pub type PartitionKeyValues = [Vec<Text>; 4];

impl<'a> AccessRequest<'a> {
    /// An action on a resource, without any condition key.
    pub fn new(action: &'static str, resource: impl Into<Cow<'a, str>>) -> AccessRequest<'a> {
        AccessRequest {
            action,
            resource: resource.into(),
            partition_keys: None,
            attributes: None,
            select: None,
            return_values: None,
            return_consumed_capacity: None,
            enclosing_operation: None,
            full_table_scan: None,
            tags: None,
        }
    }

    /// A copy that borrows nothing.
    pub fn into_owned(self) -> AccessRequest<'static> {
        AccessRequest {
            resource: Cow::Owned(self.resource.into_owned()),
            action: self.action,
            partition_keys: self.partition_keys,
            attributes: self.attributes,
            select: self.select,
            return_values: self.return_values,
            return_consumed_capacity: self.return_consumed_capacity,
            enclosing_operation: self.enclosing_operation,
            full_table_scan: self.full_table_scan,
            tags: self.tags,
        }
    }

    /// Adds the keys and attributes of another entry of the same action.
    pub fn merge(&mut self, other: AccessRequest<'_>) {
        if let (Some(values), Some(others)) = (&mut self.partition_keys, other.partition_keys) {
            for (values, others) in values.iter_mut().zip(others) {
                values.extend(others);
                sort::sort_unique(values);
            }
        }
        if let (Some(names), Some(others)) = (&mut self.attributes, other.attributes) {
            names.extend(others);
            sort::sort_unique(names);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The entries of a batch are one request with the keys and attributes of all, each once and in order.
    #[test]
    fn entries_are_merged() {
        let texts = |texts: &[&str]| texts.iter().map(|text| Text::new(text)).collect::<Vec<_>>();
        let keys = |first: &[&str], second: &[&str]| Some([texts(first), texts(second), Vec::new(), Vec::new()]);
        let entry = |first: &[&str], second: &[&str], attributes: &[&str]| AccessRequest {
            partition_keys: keys(first, second),
            attributes: Some(texts(attributes)),
            ..AccessRequest::new("BatchGetItem", "*")
        };
        let mut merged = entry(&["b"], &["x"], &["n"]);
        merged.merge(entry(&["a"], &["x"], &["m", "n"]));
        merged.merge(entry(&["b"], &["w"], &["z"]));
        assert_eq!(merged.partition_keys, keys(&["a", "b"], &["w", "x"]));
        assert_eq!(merged.attributes, Some(texts(&["m", "n", "z"])));
    }
}
