//! Decodes PartiQL statements.

use super::shape::{aliases, requests, structures};
use super::value_errors::ValueLayer;
use super::{Decoder, Read, StructureShape, ValuePosition};
use crate::request::{BatchExecuteStatement, BatchStatement, ExecuteStatement, ExecuteTransaction};

requests! {
    ExecuteStatement: ValueLayer::Older,
    BatchExecuteStatement: ValueLayer::Older,
    ExecuteTransaction: ValueLayer::Older,
}

aliases! {
    ParameterizedStatement of BatchStatement, "ParameterizedStatement";
}

structures! {
    ExecuteStatement => ExecuteStatement, "ExecuteStatementInput" {
        "Statement" => statement = Decoder::text,
        "Parameters" => parameters = Decoder::parameters,
        "ConsistentRead" => consistent_read = Decoder::boolean,
        "NextToken" => next_token = Decoder::text,
        "ReturnConsumedCapacity" => return_consumed_capacity = Decoder::text,
        "Limit" => limit = Decoder::integer,
        "ReturnValuesOnConditionCheckFailure" => return_values_on_condition_check_failure = Decoder::text,
    }

    BatchExecuteStatement => BatchExecuteStatement, "BatchExecuteStatementInput" {
        "Statements" => statements = Decoder::statements::<BatchStatement>,
        "ReturnConsumedCapacity" => return_consumed_capacity = Decoder::text,
    }

    BatchStatement => BatchStatement, "BatchStatementRequest" {
        "Statement" => statement = Decoder::text,
        "Parameters" => parameters = Decoder::parameters,
        "ConsistentRead" => consistent_read = Decoder::boolean,
        "ReturnValuesOnConditionCheckFailure" => return_values_on_condition_check_failure = Decoder::text,
    }

    ExecuteTransaction => ExecuteTransaction, "ExecuteTransactionInput" {
        "TransactStatements" => transact_statements = Decoder::statements::<ParameterizedStatement>,
        "ClientRequestToken" => client_request_token = Decoder::text,
        "ReturnConsumedCapacity" => return_consumed_capacity = Decoder::text,
    }
}

impl Decoder<'_> {
    fn statements<S: StructureShape<Into = BatchStatement>>(&mut self) -> Read<Vec<BatchStatement>> {
        self.structures::<S>(ValuePosition::Member, |decoder, statement| {
            statement.violations = decoder.value_errors.take();
        })
    }
}
