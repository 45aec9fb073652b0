//! Warnings about policies that are valid but probably do not mean what they seem to (docs/behavior: 07 3.4).

use super::actions::{actions, carries, is_known_key, is_own_key};
use super::condition::{PolicyCondition, Quantifier};
use super::document::{PolicyDocument, PolicyKind, PolicyStatement};
use super::keys::is_multivalued;
use super::pattern;
use super::template::Template;

/// A warning about a valid statement that may not mean what its author intends.
///
/// ```
/// # use dynatwin_engine::iam::{AttachedPolicy, ConditionKeys, PolicyDocument, PolicyKind, PolicySet, StatementInput, Subject};
/// # let text = r#"{"Version": "2012-10-17", "Statement": [
/// #     {"Sid": "Reads", "Effect": "Allow", "Action": "dynamodb:GetItem", "Resource": "*"}]}"#;
/// let text = text.replace("dynamodb:GetItem", "dynamodb:GetItems");
/// let policy = PolicyDocument::parse(&text, PolicyKind::Identity)?;
/// let warning = &policy.warnings()[0];
/// assert_eq!(warning.statement, 1);
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// Its name, which stays the same from version to version.
    pub code: &'static str,
    /// The statement's place, from 1.
    pub statement: usize,
    /// What is wrong, and what to do.
    pub message: String,
}

const READS: &[&str] = &[
    "dynamodb:GetItem",
    "dynamodb:BatchGetItem",
    "dynamodb:Query",
    "dynamodb:Scan",
    "dynamodb:PartiQLSelect",
];
/// Writes that can answer attributes that they do not name.
const RETURNING: &[&str] = &["dynamodb:PutItem", "dynamodb:UpdateItem", "dynamodb:DeleteItem"];
const ATTRIBUTES: &str = "dynamodb:Attributes";
const SELECT: &str = "dynamodb:Select";
const RETURN_VALUES: &str = "dynamodb:ReturnValues";

impl PolicyDocument {
    /// Warnings about statements that allow more, or less, than their author is likely to intend.
    pub fn warnings(&self) -> Vec<Warning> {
        let mut found = Vec::new();
        for (at, statement) in self.statements().iter().enumerate() {
            let mut warn = |code, message| {
                found.push(Warning {
                    code,
                    statement: at + 1,
                    message,
                });
            };
            unknown_names(statement, &mut warn);
            if !self.substitutes() {
                literal_variables(statement, &mut warn);
            }
            statement
                .conditions
                .iter()
                .for_each(|condition| operator_traps(statement, condition, &mut warn));
            attribute_traps(self, statement, &mut warn);
            if self.kind() == PolicyKind::Resource && statement.allows() {
                index_traps(statement, &mut warn);
            }
        }
        found
    }
}

type WarningSink<'a> = dyn FnMut(&'static str, String) + 'a;

fn unknown_names(statement: &PolicyStatement, warn: &mut WarningSink<'_>) {
    let named = statement.actions();
    for action in named.filter(|action| is_own_key(action)) {
        let pattern_elements = pattern::pattern_elements(action);
        if !actions().any(|known| pattern::matches(&pattern_elements, &known, true)) {
            warn(
                "UnknownAction",
                format!("{action} is not an action of DynamoDB, so it matches nothing."),
            );
        }
    }
    for condition in &statement.conditions {
        if is_own_key(&condition.key) && !is_known_key(&condition.key) {
            warn(
                "UnknownConditionKey",
                format!(
                    "{} is not a condition key of DynamoDB: it is always absent.",
                    condition.key
                ),
            );
        }
    }
}

fn literal_variables(statement: &PolicyStatement, warn: &mut WarningSink<'_>) {
    let conditions = statement.conditions.iter().flat_map(|condition| &condition.values);
    let (resources, _) = statement.resources();
    let has = |template: &Template| template.constant().is_some_and(|text| text.contains("${"));
    if conditions.chain(resources).any(has) {
        warn(
            "VariablesAreLiteral",
            "Policy variables are plain text unless Version is 2012-10-17.".to_owned(),
        );
    }
}

/// Whether the statement demands that a key be present.
fn requires_key(statement: &PolicyStatement, key: &str) -> bool {
    let demands = |condition: &PolicyCondition| {
        condition.operator.is_null_test()
            && condition.key.eq_ignore_ascii_case(key)
            && condition.values.iter().all(|value| value.constant() == Some("false"))
    };
    statement.conditions.iter().any(demands)
}

fn operator_traps(statement: &PolicyStatement, condition: &PolicyCondition, warn: &mut WarningSink<'_>) {
    let (operator, key) = (condition.operator, condition.key.as_str());
    let name = &condition.name;
    if operator.is_null_test() {
        return;
    }
    if operator.quantifier.is_none() && is_multivalued(key) {
        let effect = if statement.allows() {
            "allows nothing"
        } else {
            "denies nothing"
        };
        warn(
            "BareOperatorOnMultivaluedKey",
            format!(
                "{name} never matches {key}, which is multivalued, so the statement {effect}: use ForAllValues: or ForAnyValue:."
            ),
        );
        return;
    }
    if !is_own_key(key) || !is_known_key(key) {
        if operator.quantifier == Some(Quantifier::All) && statement.allows() && !requires_key(statement, key) {
            warn("ForAllValuesOnAbsentKey", absent(name, key));
        }
        return;
    }
    let known: Vec<String> = actions().filter(|action| statement.covers_action(action)).collect();
    let lacking: Vec<&str> = known
        .iter()
        .map(String::as_str)
        .filter(|action| !carries(action, key))
        .collect();
    if lacking.is_empty() || requires_key(statement, key) {
        return;
    }
    let holds = operator.is_lenient()
        || match operator.quantifier {
            Some(Quantifier::All) => true,
            Some(Quantifier::Any) => false,
            None => operator.is_negated(),
        };
    let leading = key.to_ascii_lowercase().ends_with("leadingkeys");
    if lacking.contains(&"dynamodb:Scan") && leading {
        match (statement.allows(), holds) {
            (true, true) => warn(
                "ScanIgnoresLeadingKeys",
                format!(
                    "A Scan has no {key}, so {name} holds and the statement lets it read every item: leave out dynamodb:Scan, or add \"Null\": {{\"{key}\": \"false\"}}."
                ),
            ),
            (false, false) => warn(
                "ScanIgnoresLeadingKeys",
                format!(
                    "A Scan has no {key}, so the statement never denies it: deny dynamodb:Scan without this condition."
                ),
            ),
            _ => {}
        }
    } else if statement.allows() && operator.quantifier == Some(Quantifier::All) {
        warn(
            "ForAllValuesOnAbsentKey",
            format!(
                "{} Requests for {} do not have it.",
                absent(name, key),
                lacking.join(", ")
            ),
        );
    } else if !holds && lacking.len() == known.len() {
        warn(
            "KeyNeverPresent",
            format!(
                "Requests for {} have no {key}, so the condition never holds.",
                lacking.join(", ")
            ),
        );
    }
}

fn absent(name: &str, key: &str) -> String {
    format!("{name} also holds when {key} is absent: add \"Null\": {{\"{key}\": \"false\"}}.")
}

fn attribute_traps(policy: &PolicyDocument, statement: &PolicyStatement, warn: &mut WarningSink<'_>) {
    let has = |statement: &PolicyStatement, key: &str| {
        statement
            .conditions
            .iter()
            .any(|condition| condition.key.eq_ignore_ascii_case(key))
    };
    if !has(statement, ATTRIBUTES) {
        return;
    }
    let covered = |actions: &[&'static str]| -> Vec<&'static str> {
        let covered = actions.iter().copied();
        covered.filter(|action| statement.covers_action(action)).collect()
    };
    let elsewhere = |key: &str| {
        let others = policy.statements().iter().filter(|other| !other.allows());
        others.into_iter().any(|other| has(other, key))
    };
    let reads = covered(READS);
    if !reads.is_empty() && !has(statement, SELECT) && !elsewhere(SELECT) {
        warn(
            "AttributesWithoutSelect",
            format!(
                "{} without a projection names no attributes and returns all of them: demand SPECIFIC_ATTRIBUTES of {SELECT}.",
                reads.join(", ")
            ),
        );
    }
    let writes = covered(RETURNING);
    if statement.allows() && !writes.is_empty() && !has(statement, RETURN_VALUES) && !elsewhere(RETURN_VALUES) {
        warn(
            "ReturnValuesLeakAttributes",
            format!(
                "{} can return attributes that the request does not name: limit {RETURN_VALUES} to NONE, UPDATED_OLD and UPDATED_NEW.",
                writes.join(", ")
            ),
        );
    }
}

/// A table's policy does not cover its indexes, which have their own ARNs.
fn index_traps(statement: &PolicyStatement, warn: &mut WarningSink<'_>) {
    let (resources, excludes) = statement.resources();
    let reads = ["dynamodb:Query", "dynamodb:Scan"]
        .iter()
        .any(|action| statement.covers_action(action));
    let names_index = |template: &Template| {
        template
            .constant()
            .is_none_or(|text| text.contains("/index/") || text.ends_with('*'))
    };
    if reads && !excludes && !resources.iter().any(names_index) {
        warn(
            "IndexesNotNamed",
            "A table's ARN does not match its indexes: name table/NAME/index/* if they are to be read.".to_owned(),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn codes(statement: &str) -> Vec<&'static str> {
        let text = format!(r#"{{"Version": "2012-10-17", "Statement": [{statement}]}}"#);
        let policy = PolicyDocument::parse(&text, PolicyKind::Identity).unwrap();
        policy.warnings().into_iter().map(|warning| warning.code).collect()
    }

    #[test]
    fn traps() {
        let with = |effect: &str, action: &str, condition: &str| {
            codes(&format!(
                r#"{{"Effect": "{effect}", "Action": {action}, "Resource": "*", "Condition": {condition}}}"#
            ))
        };
        for (effect, action, condition, expect) in [
            (
                "Allow",
                r#"["dynamodb:GetItem", "dynamodb:Query"]"#,
                r#"{"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": "a"}}"#,
                &[][..],
            ),
            (
                "Allow",
                r#"["dynamodb:GetItem", "dynamodb:Scan"]"#,
                r#"{"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": "a"}}"#,
                &["ScanIgnoresLeadingKeys"],
            ),
            (
                "Allow",
                r#""dynamodb:*""#,
                r#"{"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": "a"}, "Null": {"dynamodb:LeadingKeys": "false"}}"#,
                &[],
            ),
            (
                "Deny",
                r#""*""#,
                r#"{"ForAnyValue:StringEquals": {"dynamodb:LeadingKeys": "a"}}"#,
                &["ScanIgnoresLeadingKeys"],
            ),
            (
                "Allow",
                r#""dynamodb:GetRecords""#,
                r#"{"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": "a"}}"#,
                &["ForAllValuesOnAbsentKey"],
            ),
            (
                "Deny",
                r#""dynamodb:GetRecords""#,
                r#"{"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": "a"}}"#,
                &[],
            ),
            (
                "Deny",
                r#"["dynamodb:GetItem", "dynamodb:Scan"]"#,
                r#"{"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": "a"}}"#,
                &[],
            ),
            (
                "Allow",
                r#"["dynamodb:GetItem", "dynamodb:Scan"]"#,
                r#"{"ForAnyValue:StringEquals": {"dynamodb:LeadingKeys": "a"}}"#,
                &[],
            ),
            (
                "Allow",
                r#""dynamodb:Scan""#,
                r#"{"ForAnyValue:StringEquals": {"dynamodb:LeadingKeys": "a"}}"#,
                &[],
            ),
            (
                "Allow",
                r#"["dynamodb:GetItem", "dynamodb:Scan"]"#,
                r#"{"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": "a"}, "Null": {"DynamoDB:leadingkeys": "false"}}"#,
                &[],
            ),
            (
                "Allow",
                r#""dynamodb:TagResource""#,
                r#"{"ForAllValues:StringEquals": {"aws:TagKeys": "a"}}"#,
                &["ForAllValuesOnAbsentKey"],
            ),
            (
                "Deny",
                r#""dynamodb:GetItem""#,
                r#"{"StringEquals": {"dynamodb:LeadingKeys": "a"}}"#,
                &["BareOperatorOnMultivaluedKey"],
            ),
            (
                "Deny",
                r#""dynamodb:Scan""#,
                r#"{"Bool": {"dynamodb:FullTableScan": true}}"#,
                &["KeyNeverPresent"],
            ),
            (
                "Deny",
                r#""dynamodb:GetItem""#,
                r#"{"ForAnyValue:StringEquals": {"dynamodb:Attributes": "ssn"}}"#,
                &["AttributesWithoutSelect"],
            ),
            (
                "Allow",
                r#""dynamodb:Query""#,
                r#"{"ForAllValues:StringEquals": {"dynamodb:Attributes": "a"}, "StringEquals": {"dynamodb:Select": "SPECIFIC_ATTRIBUTES"}}"#,
                &[],
            ),
            (
                "Allow",
                r#""dynamodb:UpdateItem""#,
                r#"{"ForAllValues:StringEquals": {"dynamodb:Attributes": "a"}}"#,
                &["ReturnValuesLeakAttributes"],
            ),
            (
                "Deny",
                r#""dynamodb:GetItem""#,
                r#"{"StringEquals": {"aws:username": "ann"}, "ForAnyValue:StringEquals": {"dynamodb:Attributes": "ssn"}}"#,
                &["AttributesWithoutSelect"],
            ),
            (
                "Allow",
                r#""dynamodb:UpdateItem""#,
                r#"{"ForAllValues:StringEquals": {"dynamodb:Attributes": "a"}, "StringEquals": {"aws:username": "ann", "dynamodb:ReturnValues": "NONE"}}"#,
                &[],
            ),
            // A condition that allows the absence of a key, or demands it, does not make the key present.
            (
                "Allow",
                r#""dynamodb:*""#,
                r#"{"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": "a"}, "Null": {"dynamodb:LeadingKeys": ["false", "true"]}}"#,
                &["ScanIgnoresLeadingKeys"],
            ),
            (
                "Allow",
                r#""dynamodb:*""#,
                r#"{"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": "a"}, "Null": {"dynamodb:LeadingKeys": "true"}}"#,
                &["ScanIgnoresLeadingKeys"],
            ),
            // So does only the test for absence.
            (
                "Allow",
                r#""dynamodb:*""#,
                r#"{"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": "false"}}"#,
                &["ScanIgnoresLeadingKeys"],
            ),
            (
                "Allow",
                r#"["dynamodb:GetItem", "dynamodb:Scan"]"#,
                r#"{"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": "a"}, "Null": {"aws:TagKeys": "false"}}"#,
                &["ScanIgnoresLeadingKeys"],
            ),
            // Of several tests for absence, one about the key is enough.
            (
                "Allow",
                r#"["dynamodb:GetItem", "dynamodb:Scan"]"#,
                r#"{"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": "a"}, "Null": {"aws:TagKeys": "false", "dynamodb:LeadingKeys": "false"}}"#,
                &[],
            ),
            (
                "Allow",
                r#"["dynamodb:GetItem", "dynamodb:Scan"]"#,
                r#"{"Null": {"dynamodb:LeadingKeys": "false", "aws:TagKeys": "true"}, "ForAllValues:StringEquals": {"dynamodb:LeadingKeys": "a"}}"#,
                &[],
            ),
            (
                "Allow",
                r#"["dynamodb:GetItem", "dynamodb:Scan"]"#,
                r#"{"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": "a"}, "Null": {"aws:TagKeys": "false", "aws:username": "false"}}"#,
                &["ScanIgnoresLeadingKeys"],
            ),
            (
                "Deny",
                r#""dynamodb:PutItem""#,
                r#"{"ForAnyValue:StringEquals": {"dynamodb:Attributes": "ssn"}}"#,
                &[],
            ),
            (
                "Allow",
                r#""dynamodb:PutItem""#,
                r#"{"ForAllValues:StringEquals": {"dynamodb:Attributes": "a"}, "StringEquals": {"dynamodb:ReturnValues": "NONE"}}"#,
                &[],
            ),
            (
                "Allow",
                r#""dynamodb:GetItem""#,
                r#"{"StringEquals": {"dynamodb:LeadingKey": "a"}}"#,
                &["UnknownConditionKey"],
            ),
            (
                "Allow",
                r#""dynamodb:GetItem""#,
                r#"{"ForAllValues:StringEquals": {"dynamodb:LeadingKey": "a"}}"#,
                &["UnknownConditionKey", "ForAllValuesOnAbsentKey"],
            ),
            // Keys of other services are not known to be absent, unless an operator holds then.
            (
                "Allow",
                r#""dynamodb:GetItem""#,
                r#"{"StringEquals": {"aws:username": "ann"}}"#,
                &[],
            ),
            (
                "Allow",
                r#""dynamodb:GetItem""#,
                r#"{"ForAllValues:StringEquals": {"aws:PrincipalOrgPaths": "a"}}"#,
                &["ForAllValuesOnAbsentKey"],
            ),
            (
                "Allow",
                r#""dynamodb:GetItem""#,
                r#"{"ForAllValues:StringEquals": {"aws:PrincipalOrgPaths": "a"}, "Null": {"aws:PrincipalOrgPaths": "false"}}"#,
                &[],
            ),
            (
                "Allow",
                r#""dynamodb:GetItem""#,
                r#"{"ForAnyValue:StringEquals": {"aws:PrincipalOrgPaths": "a"}}"#,
                &[],
            ),
            (
                "Deny",
                r#""dynamodb:GetItem""#,
                r#"{"ForAllValues:StringEquals": {"aws:PrincipalOrgPaths": "a"}}"#,
                &[],
            ),
            (
                "Deny",
                r#""dynamodb:GetItem""#,
                r#"{"BoolIfExists": {"dynamodb:FullTableScan": true}}"#,
                &[],
            ),
            (
                "Allow",
                r#""dynamodb:GetItem""#,
                r#"{"StringNotEquals": {"dynamodb:FullTableScan": "true"}}"#,
                &[],
            ),
            (
                "Deny",
                r#""dynamodb:GetItem""#,
                r#"{"ForAnyValue:StringEquals": {"dynamodb:FullTableScan": "true"}}"#,
                &["KeyNeverPresent"],
            ),
            (
                "Allow",
                r#"["dynamodb:Scan", "dynamodb:GetItem"]"#,
                r#"{"Bool": {"dynamodb:FullTableScan": true}}"#,
                &["KeyNeverPresent"],
            ),
            (
                "Deny",
                r#"["dynamodb:Scan", "dynamodb:PartiQLSelect"]"#,
                r#"{"Bool": {"dynamodb:FullTableScan": true}}"#,
                &[],
            ),
            (
                "Deny",
                r#""dynamodb:Scan""#,
                r#"{"Bool": {"dynamodb:FullTableScan": true}, "Null": {"dynamodb:FullTableScan": "false"}}"#,
                &[],
            ),
            (
                "Allow",
                r#""dynamodb:GetItems""#,
                r#"{"StringEquals": {"dynamodb:LeadingKey": "a"}}"#,
                &["UnknownAction", "UnknownConditionKey"],
            ),
            // Neither actions nor condition keys are case-sensitive.
            (
                "Allow",
                r#"["dynamodb:getitem", "DynamoDB:PUT*"]"#,
                r#"{"StringEquals": {"dynamodb:enclosingoperation": "TransactWriteItems"}}"#,
                &[],
            ),
            (
                "Allow",
                r#"["dynamodb:getitem", "dynamodb:scan"]"#,
                r#"{"ForAllValues:StringEquals": {"dynamodb:LEADINGKEYS": "a"}}"#,
                &["ScanIgnoresLeadingKeys"],
            ),
            (
                "Allow",
                r#""dynamodb:UpdateItem""#,
                r#"{"ForAllValues:StringEquals": {"dynamodb:attributes": "a"}}"#,
                &["ReturnValuesLeakAttributes"],
            ),
            (
                "Allow",
                r#""dynamodb:UpdateItem""#,
                r#"{"ForAllValues:StringEquals": {"dynamodb:Attributes": "a"}, "StringEquals": {"dynamodb:returnvalues": "NONE"}}"#,
                &[],
            ),
        ] {
            assert_eq!(with(effect, action, condition), expect, "{effect} {action} {condition}");
        }
        let variable = "arn:aws:dynamodb:r:1:table/${aws:username}";
        for (version, resources, condition, expect) in [
            ("", variable, "{}", &["VariablesAreLiteral"][..]),
            (r#""Version": "2008-10-17","#, variable, "{}", &["VariablesAreLiteral"]),
            (r#""Version": "2012-10-17","#, variable, "{}", &[]),
            (
                "",
                "*",
                r#"{"StringEquals": {"aws:username": ["a", "${aws:userid}"]}}"#,
                &["VariablesAreLiteral"],
            ),
            ("", "*", r#"{"StringEquals": {"aws:username": ["a", "b"]}}"#, &[]),
        ] {
            let old = format!(
                r#"{{{version} "Statement": {{"Effect": "Allow", "Action": "dynamodb:GetItem", "Resource": ["*", "{resources}"], "Condition": {condition}}}}}"#
            );
            let warnings = PolicyDocument::parse(&old, PolicyKind::Identity).unwrap().warnings();
            let codes: Vec<&str> = warnings.iter().map(|warning| warning.code).collect();
            assert_eq!(codes, expect, "{old}");
            let text = "Policy variables are plain text unless Version is 2012-10-17.";
            assert!(warnings.iter().all(|warning| warning.message == text));
        }
    }

    #[test]
    fn warnings_say_what_is_wrong_and_where() {
        let text = |statement: &str| {
            let text = format!(
                r#"{{"Version": "2012-10-17", "Statement": [
                    {{"Effect": "Allow", "Action": "s3:GetObject", "Resource": "*"}}, {{{statement}, "Resource": "*"}}]}}"#
            );
            let warnings = PolicyDocument::parse(&text, PolicyKind::Identity).unwrap().warnings();
            let texts = warnings
                .iter()
                .map(|warning| format!("{}: {}", warning.statement, warning.message));
            texts.collect::<Vec<_>>()
        };
        for (statement, expect) in [
            (
                r#""Effect": "Allow", "Action": ["dynamodb:Get", "dynamodb:GetItem", "dynamodb:Put*"]"#,
                "2: dynamodb:Get is not an action of DynamoDB, so it matches nothing.",
            ),
            (
                r#""Effect": "Deny", "Action": "dynamodb:GetItem", "Condition": {"StringEquals": {"dynamodb:X": "a"}}"#,
                "2: dynamodb:X is not a condition key of DynamoDB: it is always absent.",
            ),
            (
                r#""Effect": "Allow", "Action": "dynamodb:GetItem", "Condition": {"StringLike": {"dynamodb:LeadingKeys": "a"}}"#,
                "2: StringLike never matches dynamodb:LeadingKeys, which is multivalued, so the statement allows nothing: use ForAllValues: or ForAnyValue:.",
            ),
            (
                r#""Effect": "Deny", "Action": "dynamodb:GetItem", "Condition": {"StringEquals": {"aws:TagKeys": "a"}}"#,
                "2: StringEquals never matches aws:TagKeys, which is multivalued, so the statement denies nothing: use ForAllValues: or ForAnyValue:.",
            ),
            (
                r#""Effect": "Allow", "Action": "s3:*", "Condition": {"ForAllValues:StringEquals": {"aws:TagKeys": "a"}}"#,
                "2: ForAllValues:StringEquals also holds when aws:TagKeys is absent: add \"Null\": {\"aws:TagKeys\": \"false\"}.",
            ),
            (
                r#""Effect": "Allow", "Action": ["dynamodb:Query", "dynamodb:Scan"], "Condition": {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": "a"}}"#,
                "2: A Scan has no dynamodb:LeadingKeys, so ForAllValues:StringLike holds and the statement lets it read every item: leave out dynamodb:Scan, or add \"Null\": {\"dynamodb:LeadingKeys\": \"false\"}.",
            ),
            (
                r#""Effect": "Deny", "Action": ["dynamodb:Query", "dynamodb:Scan"], "Condition": {"ForAnyValue:StringLike": {"dynamodb:LeadingKeys": "a"}}"#,
                "2: A Scan has no dynamodb:LeadingKeys, so the statement never denies it: deny dynamodb:Scan without this condition.",
            ),
            (
                r#""Effect": "Allow", "Action": ["dynamodb:GetRecords", "dynamodb:GetItem", "dynamodb:DescribeTable"], "Condition": {"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": "a"}}"#,
                "2: ForAllValues:StringEquals also holds when dynamodb:LeadingKeys is absent: add \"Null\": {\"dynamodb:LeadingKeys\": \"false\"}. Requests for dynamodb:DescribeTable, dynamodb:GetRecords do not have it.",
            ),
            (
                r#""Effect": "Allow", "Action": ["dynamodb:GetItem", "dynamodb:Query"], "Condition": {"Bool": {"dynamodb:FullTableScan": "true"}}"#,
                "2: Requests for dynamodb:GetItem, dynamodb:Query have no dynamodb:FullTableScan, so the condition never holds.",
            ),
            (
                r#""Effect": "Deny", "Action": ["dynamodb:Query", "dynamodb:GetItem"], "Condition": {"ForAnyValue:StringEquals": {"dynamodb:Attributes": "a"}}"#,
                "2: dynamodb:GetItem, dynamodb:Query without a projection names no attributes and returns all of them: demand SPECIFIC_ATTRIBUTES of dynamodb:Select.",
            ),
            (
                r#""Effect": "Allow", "Action": ["dynamodb:UpdateItem", "dynamodb:DeleteItem"], "Condition": {"ForAnyValue:StringEquals": {"dynamodb:Attributes": "a"}}"#,
                "2: dynamodb:UpdateItem, dynamodb:DeleteItem can return attributes that the request does not name: limit dynamodb:ReturnValues to NONE, UPDATED_OLD and UPDATED_NEW.",
            ),
        ] {
            assert_eq!(text(statement), [expect], "{statement}");
        }
    }

    /// Reads answer all attributes unless they name some, and writes may answer those that they do not name.
    #[test]
    fn actions_that_answer_attributes() {
        let with = |effect: &str, action: &str| {
            codes(&format!(
                r#"{{"Effect": "{effect}", "Action": "dynamodb:{action}", "Resource": "*",
                    "Condition": {{"ForAnyValue:StringEquals": {{"dynamodb:Attributes": "a"}}}}}}"#
            ))
        };
        for (actions, of_allow, of_deny) in [
            (
                &["GetItem", "BatchGetItem", "Query", "Scan", "PartiQLSelect"][..],
                &["AttributesWithoutSelect"][..],
                &["AttributesWithoutSelect"][..],
            ),
            (
                &["PutItem", "UpdateItem", "DeleteItem"],
                &["ReturnValuesLeakAttributes"],
                &[],
            ),
            (&["BatchWriteItem", "ConditionCheckItem", "PartiQLInsert"], &[], &[]),
        ] {
            for action in actions {
                assert_eq!(with("Allow", action), of_allow, "{action}");
                assert_eq!(with("Deny", action), of_deny, "{action}");
            }
        }
    }

    #[test]
    fn a_denial_elsewhere_removes_a_warning() {
        for (action, key, value, code) in [
            ("GetItem", "Select", "ALL_ATTRIBUTES", "AttributesWithoutSelect"),
            ("DeleteItem", "ReturnValues", "ALL_OLD", "ReturnValuesLeakAttributes"),
        ] {
            let and = |effect: &str| {
                codes(&format!(
                    r#"{{"Effect": "Allow", "Action": "dynamodb:{action}", "Resource": "*",
                        "Condition": {{"ForAnyValue:StringEquals": {{"dynamodb:Attributes": "a"}}}}}},
                    {{"Effect": "{effect}", "Action": "dynamodb:{action}", "Resource": "*",
                        "Condition": {{"StringEquals": {{"dynamodb:{key}": "{value}"}}}}}}"#
                ))
            };
            assert_eq!((and("Deny"), and("Allow")), (vec![], vec![code]), "{action}");
        }
    }

    #[test]
    fn a_policy_of_a_table_that_leaves_out_its_indexes_gets_a_warning() {
        let table = "arn:aws:dynamodb:us-east-1:123456789012:table/Tab";
        let not_named = &["IndexesNotNamed"][..];
        for (effect, action, element, resources, expect) in [
            ("Allow", "dynamodb:Query", "Resource", format!("{table:?}"), not_named),
            ("Allow", "dynamodb:*", "Resource", format!("{table:?}"), not_named),
            (
                "Allow",
                "dynamodb:Scan",
                "Resource",
                format!("[{table:?}, \"{table}/stream/1\"]"),
                not_named,
            ),
            ("Allow", "dynamodb:GetItem", "Resource", format!("{table:?}"), &[]),
            ("Allow", "dynamodb:Query", "Resource", format!("\"{table}*\""), &[]),
            (
                "Allow",
                "dynamodb:Query",
                "Resource",
                format!("[{table:?}, \"{table}/index/by-a\"]"),
                &[],
            ),
            ("Allow", "dynamodb:Query", "NotResource", format!("{table:?}"), &[]),
            ("Deny", "dynamodb:Query", "Resource", format!("{table:?}"), &[]),
            (
                "Allow",
                "dynamodb:Query",
                "Resource",
                format!("[{table:?}, \"{table}-${{aws:username}}\"]"),
                &[],
            ),
        ] {
            let text = format!(
                r#"{{"Version": "2012-10-17", "Statement": {{"Effect": "{effect}", "Principal": "*", "Action": "{action}", "{element}": {resources}}}}}"#
            );
            let policy = PolicyDocument::parse(&text, PolicyKind::Resource).unwrap();
            let found: Vec<_> = policy.warnings().into_iter().map(|warning| warning.code).collect();
            assert_eq!(found, expect, "{text}");
            let message = "A table's ARN does not match its indexes: name table/NAME/index/* if they are to be read.";
            assert!(policy.warnings().iter().all(|warning| warning.message == message));
        }
    }

    #[test]
    fn a_scan_that_leading_keys_should_limit_gets_a_warning() {
        let text = r#"{"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Action": "dynamodb:Scan", "Resource": "*",
            "Condition": {"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": "ann"}}}}"#;
        let warnings = PolicyDocument::parse(text, PolicyKind::Identity).unwrap().warnings();
        assert_eq!(warnings[0].code, "ScanIgnoresLeadingKeys");
    }
}
