//! The service's texts about expressions and the legacy parameters.
//!
//! The functions that return a `String` return the text after `Invalid <X>Expression: `, which [`invalid`] adds. The
//! envelope of the moved validation layer is added by the operations.

use std::fmt::Display;

use super::ExpressionKind;
use crate::error::{ApiError, KeyValueText};
use crate::limits;
use crate::value::{AttributeValue, Type};

pub(super) fn invalid(kind: ExpressionKind, rest: impl Display) -> ApiError {
    ApiError::validation(format!("Invalid {}: {rest}", kind.name()))
}

pub(super) const EMPTY: &str = "The expression can not be empty;";
pub(super) const REDUNDANT_PARENTHESES: &str = "The expression has redundant parentheses;";

/// The expression is too long. Updates and projections leave the size out.
pub(super) fn too_large(kind: ExpressionKind, size: usize) -> ApiError {
    const TEXT: &str = "Expression size has exceeded the maximum allowed size;";
    match kind {
        ExpressionKind::Update | ExpressionKind::Projection => invalid(kind, TEXT),
        _ => invalid(kind, format_args!("{TEXT} expression size: {size}")),
    }
}

pub(super) fn syntax(token: &str, near: &str) -> String {
    format!("Syntax error; token: \"{token}\", near: \"{near}\"")
}

pub(super) fn reserved(word: &str) -> String {
    format!("Attribute name is a reserved keyword; reserved keyword: {word}")
}

pub(super) fn list_index(index: &str) -> String {
    format!("List index is not within the allowable range; index: [{index}]")
}

pub(super) fn unknown_function(name: &str) -> String {
    format!("Invalid function name; function: {name}")
}

pub(super) fn not_in_condition(function: &str) -> String {
    format!("The function is not allowed in a condition expression; function: {function}")
}

pub(super) fn not_in_update(function: &str) -> String {
    format!("The function is not allowed in an update expression; function: {function}")
}

pub(super) fn misplaced_function(function: &str) -> String {
    format!("The function is not allowed to be used this way in an expression; function: {function}")
}

pub(super) fn section_twice(section: &str) -> String {
    format!("The \"{section}\" section can only be used once in an update expression;")
}

/// Counting stops at the first operator too many.
pub(super) fn too_many_operators() -> String {
    format!(
        "The expression contains too many operators; operator count: {}",
        limits::EXPRESSION_OPERATORS + 1
    )
}

pub(super) fn too_many_in_operands(count: usize) -> String {
    format!("The IN operator is provided with too many operands; number of operands: {count}")
}

pub(super) fn path_too_deep(levels: usize) -> String {
    format!("The document path has too many nesting levels; nesting levels: {levels}")
}

pub(super) fn undefined_name(placeholder: &str) -> String {
    format!("An expression attribute name used in the document path is not defined; attribute name: {placeholder}")
}

pub(super) fn undefined_value(placeholder: &str) -> String {
    format!("An expression attribute value used in expression is not defined; attribute value: {placeholder}")
}

pub(super) fn operand_count(function: &str, count: usize) -> String {
    format!(
        "Incorrect number of operands for operator or function; operator or function: {function}, number of operands: {count}"
    )
}

pub(super) fn requires_path(function: &str) -> String {
    format!("Operator or function requires a document path; operator or function: {function}")
}

pub(super) fn operand_type(operator: &str, kind: &str) -> String {
    format!("Incorrect operand type for operator or function; operator or function: {operator}, operand type: {kind}")
}

/// ADD and DELETE name types differently.
pub(super) fn section_operand_type(section: &str, kind: Type) -> String {
    let word = match kind {
        Type::S => "STRING",
        Type::N => "NUMBER",
        Type::B => "BINARY",
        Type::Bool => "BOOLEAN",
        Type::Null => "NULL",
        Type::L => "LIST",
        Type::M => "MAP",
        Type::Ss | Type::Ns | Type::Bs => kind.name(),
    };
    format!(
        "Incorrect operand type for operator or function; operator: {section}, operand type: {word}, typeSet: ALLOWED_FOR_{section}_OPERAND"
    )
}

/// All types, in the order captured; the service's own order is that of a hash.
pub(super) const ALL_TYPES: &str = "{N,BS,L,B,NULL,M,S,SS,NS,BOOL}";

pub(super) fn unknown_type(name: &str) -> String {
    format!("Invalid attribute type name found; type: {name}, valid types: {ALL_TYPES}")
}

pub(super) fn not_distinct(operator: &str, first: impl Display) -> String {
    format!(
        "The first operand must be distinct from the remaining operands for this operator or function; operator: {operator}, first operand: {first}"
    )
}

pub(super) fn between_types(lower: &AttributeValue, upper: &AttributeValue) -> String {
    format!(
        "The BETWEEN operator requires same data type for lower and upper bounds; lower bound operand: AttributeValue: {}, upper bound operand: AttributeValue: {}",
        KeyValueText(lower),
        KeyValueText(upper)
    )
}

pub(super) fn between_order(lower: &AttributeValue, upper: &AttributeValue) -> String {
    format!(
        "The BETWEEN operator requires upper bound to be greater than or equal to lower bound; lower bound operand: AttributeValue: {}, upper bound operand: AttributeValue: {}",
        KeyValueText(lower),
        KeyValueText(upper)
    )
}

pub(super) fn paths_overlap(one: impl Display, two: impl Display) -> String {
    format!(
        "Two document paths overlap with each other; must remove or rewrite one of these paths; path one: {one}, path two: {two}"
    )
}

pub(super) fn paths_conflict(one: impl Display, two: impl Display) -> String {
    format!(
        "Two document paths conflict with each other; must remove or rewrite one of these paths; path one: {one}, path two: {two}"
    )
}

// Errors of key conditions.
impl ApiError {
    /// An operator that no key condition has.
    pub(super) fn key_operator(operator: &str) -> ApiError {
        ApiError::validation(format!("Invalid operator used in KeyConditionExpression: {operator}"))
    }

    fn key_clause(rest: &str) -> ApiError {
        ApiError::validation(format!("Invalid condition in KeyConditionExpression: {rest}"))
    }

    /// Both operands are names: `a = b`.
    pub(super) fn key_clause_with_names() -> ApiError {
        ApiError::key_clause("Multiple attribute names used in one condition")
    }

    /// Neither operand is a name: `:a = :b`.
    pub(super) fn key_clause_without_name() -> ApiError {
        ApiError::key_clause("No key attribute specified")
    }

    /// The name is not the first operand: `begins_with(:v, sk)`.
    pub(super) fn key_not_first(operator: &str) -> ApiError {
        ApiError::key_clause(&format!(
            "{operator} operator must have the key attribute as its first operand"
        ))
    }

    /// An operand is a function: `size(sk) = :n`.
    pub(super) fn key_clause_nested() -> ApiError {
        invalid(
            ExpressionKind::KeyCondition,
            "KeyConditionExpressions cannot contain nested operations",
        )
    }

    /// The name is a nested path: `sk.a = :v`.
    pub(super) fn key_path_nested() -> ApiError {
        invalid(
            ExpressionKind::KeyCondition,
            "KeyConditionExpressions cannot have conditions on nested attributes",
        )
    }

    /// `pk = :a AND pk = :b`.
    pub(super) fn key_twice() -> ApiError {
        invalid(
            ExpressionKind::KeyCondition,
            "KeyConditionExpressions must only contain one condition per key",
        )
    }

    /// A clause that is not an equality of an attribute and a value.
    pub(super) fn search_comparator() -> ApiError {
        invalid(
            ExpressionKind::SearchCondition,
            "Invalid comparator used in SearchConditionExpression",
        )
    }

    /// The name is a nested path: `tenant.a = :v`.
    pub(super) fn search_path_nested() -> ApiError {
        invalid(
            ExpressionKind::SearchCondition,
            "SearchConditionExpression cannot have conditions on nested attributes",
        )
    }

    /// `tenant = :a AND tenant = :b`.
    pub(super) fn search_twice() -> ApiError {
        invalid(
            ExpressionKind::SearchCondition,
            "SearchConditionExpression must only contain one condition per attribute",
        )
    }
}

// Errors of `ExpressionAttributeNames` and `ExpressionAttributeValues`.
impl ApiError {
    /// A map of substitutions that is present and empty.
    pub(super) fn substitutions_empty(member: &str) -> ApiError {
        ApiError::validation(format!("{member} must not be empty"))
    }

    /// A placeholder without its prefix, or with a character that placeholders don't have.
    pub(super) fn placeholder_syntax(member: &str, key: &str) -> ApiError {
        ApiError::validation(format!("{member} contains invalid key: Syntax error; key: \"{key}\""))
    }

    /// A placeholder of more than 255 characters. Only names include the length.
    pub(super) fn placeholder_too_long(member: &str, size: Option<usize>) -> ApiError {
        let tail = size.map(|size| format!(" size of key: {size}")).unwrap_or_default();
        ApiError::validation(format!(
            "{member} contains invalid key: The expression attribute map contains a key that is too long;{tail}"
        ))
    }

    /// Names or values that are too large, or both together.
    pub(super) fn substitutions_too_large(what: &str) -> ApiError {
        ApiError::validation(format!("{what} exceeds max size"))
    }

    /// An alias whose value is empty.
    pub(super) fn alias_of_empty(key: &str) -> ApiError {
        ApiError::validation(format!(
            "ExpressionAttributeNames contains invalid value: Empty attribute name for key {key}"
        ))
    }

    /// An alias of a name over 64 KB.
    pub(super) fn alias_too_large(key: &str) -> ApiError {
        ApiError::validation(format!(
            "ExpressionAttributeNames contains invalid value: {} for key {key}",
            ApiError::LONG_NAME
        ))
    }

    /// Substitutions that no expression uses.
    pub(super) fn substitutions_unused(member: &str, keys: &[&str]) -> ApiError {
        ApiError::validation(format!(
            "Value provided in {member} unused in expressions: keys: {{{}}}",
            keys.join(", ")
        ))
    }

    /// `ExpressionAttributeNames` without any expression that could use them.
    pub fn names_without_expression() -> ApiError {
        ApiError::validation("ExpressionAttributeNames can only be specified when using expressions")
    }

    /// Values without any expression. Texts of writes end here (`None`); Scan adds `FilterExpression is null` and Query
    /// `FilterExpression and KeyConditionExpression are null`.
    pub fn values_without_expression(missing: Option<&str>) -> ApiError {
        const TEXT: &str = "ExpressionAttributeValues can only be specified when using expressions";
        match missing {
            None => ApiError::validation(TEXT),
            Some(missing) => ApiError::validation(format!("{TEXT}: {missing}")),
        }
    }
}

// Errors of legacy parameters.
impl ApiError {
    /// Legacy parameters together with expressions; only those present, in the service's order.
    pub fn mixed_parameters(legacy: &[&str], expressions: &[&str]) -> ApiError {
        ApiError::validation(format!(
            "Can not use both expression and non-expression parameters in the same request: Non-expression parameters: {{{}}} Expression parameters: {{{}}}",
            legacy.join(", "),
            expressions.join(", ")
        ))
    }

    pub(super) fn expected_without_value(exists: Option<bool>, name: &str) -> ApiError {
        let exists = exists.map_or("null".to_owned(), |exists| exists.to_string());
        ApiError::invalid(format_args!(
            "Value must be provided when Exists is {exists} for Attribute: {name}"
        ))
    }

    pub(super) fn expected_value_of_absent(name: &str) -> ApiError {
        ApiError::invalid(format_args!(
            "Value cannot be used when Exists is false for Attribute: {name}"
        ))
    }

    pub(super) fn expected_without_arguments(operator: &str, name: &str) -> ApiError {
        ApiError::invalid(format_args!(
            "Value or AttributeValueList must be used with ComparisonOperator: {operator} for Attribute: {name}"
        ))
    }

    pub(super) fn expected_value_and_list(name: &str) -> ApiError {
        ApiError::invalid(format_args!(
            "Value and AttributeValueList cannot be used together for Attribute: {name}"
        ))
    }

    pub(super) fn expected_exists_and_operator(name: &str) -> ApiError {
        ApiError::invalid(format_args!(
            "Exists and ComparisonOperator cannot be used together for Attribute: {name}"
        ))
    }

    pub(super) fn expected_list_without_operator(name: &str) -> ApiError {
        ApiError::invalid(format_args!(
            "AttributeValueList can only be used with a ComparisonOperator for Attribute: {name}"
        ))
    }

    pub(super) fn legacy_argument_count(operator: &str) -> ApiError {
        ApiError::invalid(format_args!(
            "Invalid number of argument(s) for the {operator} ComparisonOperator"
        ))
    }

    pub(super) fn legacy_argument_type(operator: &str, kind: &str) -> ApiError {
        ApiError::invalid(format_args!(
            "ComparisonOperator {operator} is not valid for {kind} AttributeValue type"
        ))
    }

    pub(super) fn legacy_argument_types_differ() -> ApiError {
        ApiError::invalid("AttributeValues inside AttributeValueList must be of same type")
    }

    pub(super) fn legacy_between_order() -> ApiError {
        ApiError::validation(
            "The BETWEEN condition was provided a range where the lower bound is greater than the upper bound",
        )
    }

    pub(super) fn legacy_operator_unknown() -> ApiError {
        ApiError::invalid("Invalid comparison operator")
    }

    pub(super) fn conditional_operator_alone() -> ApiError {
        ApiError::validation("ConditionalOperator cannot be used without Filter or Expected")
    }

    pub(super) fn conditional_operator_of_one() -> ApiError {
        ApiError::validation("ConditionalOperator can only be used when Filter or Expected has two or more elements")
    }

    pub(super) fn conditional_operator_unknown() -> ApiError {
        ApiError::validation("Failed to satisfy constraint: Member must satisfy enum value set: [ALL, OR]")
    }

    pub fn key_not_indexable() -> ApiError {
        ApiError::validation("Attempted conditional constraint is not an indexable operation")
    }

    pub(super) fn legacy_operator_missing(member: &str, name: &str) -> ApiError {
        ApiError::validation(format!(
            "{}Value null at '{member}.{name}.member.comparisonOperator' failed to satisfy constraint: Member must not be null",
            crate::error::ONE_VALIDATION_ERROR
        ))
    }

    pub(super) fn update_without_value() -> ApiError {
        ApiError::invalid("Only DELETE action is allowed when no attribute value is specified")
    }

    pub(super) fn update_add_type(kind: &str) -> ApiError {
        ApiError::invalid(format_args!("ADD action is not supported for the type {kind}"))
    }

    pub(super) fn update_delete_type(kind: &str) -> ApiError {
        ApiError::invalid(format_args!(
            "DELETE action with value is not supported for the type {kind}"
        ))
    }

    /// The stray quote is the service's.
    pub(super) fn update_action_unknown() -> ApiError {
        ApiError::validation("Member must satisfy enum value set: [ADD, DELETE, PUT]' for Action").enveloped()
    }

    pub(super) fn duplicate_attribute_to_get(name: &str) -> ApiError {
        ApiError::invalid(format_args!("Duplicate value in attribute name: {name}"))
    }
}
