//! Statements of PartiQL.

use super::fault::ValueLayer;
use super::shape::{requests, structures};
use super::{Decoder, Place, Read};
use crate::request::{BatchExecuteStatement, BatchStatement, ExecuteStatement, ExecuteTransaction};

requests! {
    ExecuteStatement: ValueLayer::Older,
    BatchExecuteStatement: ValueLayer::Older,
    ExecuteTransaction: ValueLayer::Older,
}

structures! {
    ExecuteStatement => ExecuteStatement, "ExecuteStatementInput" {
        "Statement" => statement = Decoder::text,
        "Parameters" => parameters = Decoder::value_list,
        "ConsistentRead" => consistent_read = Decoder::boolean,
        "NextToken" => next_token = Decoder::text,
        "ReturnConsumedCapacity" => return_consumed_capacity = Decoder::text,
        "Limit" => limit = Decoder::integer,
        "ReturnValuesOnConditionCheckFailure" => return_values_on_condition_check_failure = Decoder::text,
    }

    BatchExecuteStatement => BatchExecuteStatement, "BatchExecuteStatementInput" {
        "Statements" => statements = Decoder::statements,
        "ReturnConsumedCapacity" => return_consumed_capacity = Decoder::text,
    }

    BatchStatement => BatchStatement, "BatchStatementRequest" {
        "Statement" => statement = Decoder::text,
        "Parameters" => parameters = Decoder::value_list,
        "ConsistentRead" => consistent_read = Decoder::boolean,
        "ReturnValuesOnConditionCheckFailure" => return_values_on_condition_check_failure = Decoder::text,
    }

    ExecuteTransaction => ExecuteTransaction, "ExecuteTransactionInput" {
        "TransactStatements" => transact_statements = Decoder::statements,
        "ClientRequestToken" => client_request_token = Decoder::text,
        "ReturnConsumedCapacity" => return_consumed_capacity = Decoder::text,
    }
}

impl Decoder<'_> {
    fn statements(&mut self) -> Read<Vec<BatchStatement>> {
        self.structures::<BatchStatement>(Place::Member, |decoder, statement| {
            statement.faults = decoder.faults.take();
        })
    }
}
