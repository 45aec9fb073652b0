//! CloudFormation's intrinsic functions, except those whose values are unknown before a stack exists.

use std::collections::{HashMap, HashSet};

use crate::document::{Node, Value};
use crate::error::Problem;

/// How deeply functions may be nested, and conditions may refer to each other.
const DEPTH: usize = 32;

/// The value of `AWS::AccountId`, the account of unsigned requests.
const ACCOUNT: &str = "000000000000";
const REGION: &str = "us-east-1";

/// Members that have no effect here: the ARN of a key is only shown, destinations are not created, and nothing is imported from
/// Amazon S3.
const WITHOUT_EFFECT: [&str; 3] = [
    "KMSMasterKeyId",
    "KinesisStreamSpecification",
    "ImportSourceSpecification",
];

/// The parts of a template that its functions refer to.
pub(crate) struct Template<'t> {
    parameters: HashMap<&'t str, &'t Node>,
    conditions: HashMap<&'t str, &'t Node>,
    mappings: Option<&'t Node>,
    /// The names of resources that `Ref` can name: tables by logical id.
    names: HashMap<&'t str, String>,
    resources: HashSet<&'t str>,
    /// Whether macros, such as SAM's, add resources.
    is_transformed: bool,
}

impl<'t> Template<'t> {
    pub fn new(root: &'t Node) -> Result<Template<'t>, Problem> {
        let section = |name: &str| -> Result<HashMap<&'t str, &'t Node>, Problem> {
            let Some(section) = root.get(name) else {
                return Ok(HashMap::new());
            };
            let members = section.object(name)?;
            Ok(members.iter().map(|(name, node)| (name.as_str(), node)).collect())
        };
        Ok(Template {
            parameters: section("Parameters")?,
            conditions: section("Conditions")?,
            mappings: root.get("Mappings"),
            names: HashMap::new(),
            resources: section("Resources")?.into_keys().collect(),
            is_transformed: root.get("Transform").is_some(),
        })
    }

    /// Sets the value of `Ref` of a resource.
    pub fn name(&mut self, logical_id: &'t str, name: String) {
        self.names.insert(logical_id, name);
    }

    /// Returns a value with its functions evaluated; `None` for `AWS::NoValue`.
    pub fn resolve(&self, node: &Node) -> Result<Option<Node>, Problem> {
        self.resolve_at(node, 0)
    }

    /// Whether a condition of the template holds.
    pub fn holds(&self, name: &str, at: &Node) -> Result<bool, Problem> {
        self.condition(name, at, 0)
    }

    fn resolve_at(&self, node: &Node, depth: usize) -> Result<Option<Node>, Problem> {
        let next = depth + 1;
        if next > DEPTH * 4 {
            return Err(node.problem("functions are nested too deeply"));
        }
        let value = match &node.value {
            Value::Array(elements) => {
                let mut resolved = Vec::with_capacity(elements.len());
                for element in elements {
                    resolved.extend(self.resolve_at(element, next)?);
                }
                Value::Array(resolved)
            }
            Value::Object(members) => {
                if let [(function, argument)] = members.as_slice()
                    && (function == "Ref" || function.starts_with("Fn::"))
                {
                    return self.call(function, argument, node.line, next);
                }
                let mut resolved = Vec::with_capacity(members.len());
                for (name, member) in members {
                    let member = if WITHOUT_EFFECT.contains(&name.as_str()) {
                        self.resolve_if_known(member, next)?
                    } else {
                        self.resolve_at(member, next)?
                    };
                    resolved.extend(member.map(|member| (name.clone(), member)));
                }
                Value::Object(resolved)
            }
            other => other.clone(),
        };
        Ok(Some(Node::new(node.line, value)))
    }

    /// Returns a value with its functions evaluated, or `None` if it cannot be known here.
    fn resolve_if_known(&self, node: &Node, depth: usize) -> Result<Option<Node>, Problem> {
        self.resolve_at(node, depth).or_else(|_| {
            self.check_references(node, depth)?;
            Ok(None)
        })
    }

    /// Fails if a value refers to something that is not in the template.
    fn check_references(&self, node: &Node, depth: usize) -> Result<(), Problem> {
        if depth > DEPTH * 4 {
            return Err(node.problem("functions are nested too deeply"));
        }
        match &node.value {
            Value::Array(elements) => elements
                .iter()
                .try_for_each(|element| self.check_references(element, depth + 1)),
            Value::Object(members) => {
                members
                    .iter()
                    .try_for_each(|(name, member)| match (name.as_str(), &member.value) {
                        ("Ref", Value::String(name)) => self.check_known(name, member),
                        ("Fn::GetAtt", _) => self.check_resource(&attribute_path(member)?, member),
                        _ => self.check_references(member, depth + 1),
                    })
            }
            _ => Ok(()),
        }
    }

    /// Fails if a name is neither that of a resource nor of a parameter.
    fn check_known(&self, name: &str, at: &Node) -> Result<(), Problem> {
        let is_known = self.resources.contains(name) || self.parameters.contains_key(name);
        if is_known || self.is_transformed || name.starts_with("AWS::") {
            return Ok(());
        }
        Err(at.problem(format!("the template has no resource or parameter {name}")))
    }

    /// Fails if the path of an attribute begins with a name that is not that of a resource.
    fn check_resource(&self, path: &str, at: &Node) -> Result<(), Problem> {
        let name = path.split('.').next().unwrap_or_default();
        if self.resources.contains(name) || self.is_transformed {
            return Ok(());
        }
        Err(at.problem(format!("the template has no resource {name}")))
    }

    fn call(&self, function: &str, argument: &Node, line: usize, depth: usize) -> Result<Option<Node>, Problem> {
        let text = |text: String| Ok(Some(Node::new(line, Value::String(text))));
        match function {
            "Ref" => self.reference(argument.text("Ref")?, argument),
            "Fn::Sub" => text(self.substitute(argument, depth)?),
            "Fn::Join" => {
                let [separator, parts] = arguments(function, argument)?;
                let parts = self.required(parts, depth)?;
                let parts = parts.list("Fn::Join")?.iter().map(scalar);
                text(parts.collect::<Result<Vec<_>, _>>()?.join(separator.text("Fn::Join")?))
            }
            "Fn::Select" => {
                let [index, list] = arguments(function, argument)?;
                let index = self.required(index, depth)?.integer("Fn::Select")?;
                let list = self.required(list, depth)?;
                let element = usize::try_from(index).ok();
                let element = element.and_then(|index| list.list("Fn::Select").ok()?.get(index));
                let element = element.ok_or_else(|| argument.problem("Fn::Select has no such element"))?;
                Ok(Some(element.clone()))
            }
            "Fn::Split" => {
                let [separator, whole] = arguments(function, argument)?;
                let whole = scalar(&self.required(whole, depth)?)?;
                let parts = whole.split(separator.text("Fn::Split")?);
                let parts = parts.map(|part| Node::new(line, Value::String(part.to_owned())));
                Ok(Some(Node::new(line, Value::Array(parts.collect()))))
            }
            "Fn::If" => {
                let [condition, then, otherwise] = arguments(function, argument)?;
                let holds = self.condition(condition.text("Fn::If")?, condition, depth)?;
                self.resolve_at(if holds { then } else { otherwise }, depth)
            }
            "Fn::FindInMap" => {
                let [map, first, second] = arguments(function, argument)?;
                let key = |node: &Node| scalar(&self.required(node, depth)?);
                let (map, first, second) = (key(map)?, key(first)?, key(second)?);
                let found = self.mappings.and_then(|maps| maps.get(&map)?.get(&first)?.get(&second));
                let found = found
                    .ok_or_else(|| argument.problem(format!("the mapping {map} has no value for {first}, {second}")))?;
                Ok(Some(found.clone()))
            }
            "Fn::GetAtt" => {
                let path = attribute_path(argument)?;
                match path.split_once('.') {
                    Some((table, "Arn")) if self.names.contains_key(table) => text(format!(
                        "arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/{}",
                        self.names[table]
                    )),
                    _ => {
                        self.check_resource(&path, argument)?;
                        Err(argument.problem(format!("Fn::GetAtt of {path} is not known before the stack exists")))
                    }
                }
            }
            _ => Err(argument.problem(format!("{function} is not supported"))),
        }
    }

    fn required(&self, node: &Node, depth: usize) -> Result<Node, Problem> {
        self.resolve_at(node, depth)?
            .ok_or_else(|| node.problem("AWS::NoValue cannot be used here"))
    }

    fn reference(&self, name: &str, at: &Node) -> Result<Option<Node>, Problem> {
        let text = match name {
            "AWS::NoValue" => return Ok(None),
            "AWS::Region" => REGION.to_owned(),
            "AWS::AccountId" => ACCOUNT.to_owned(),
            "AWS::Partition" => "aws".to_owned(),
            "AWS::URLSuffix" => "amazonaws.com".to_owned(),
            "AWS::StackName" => "stack".to_owned(),
            _ => {
                if let Some(name) = self.names.get(name) {
                    name.clone()
                } else if let Some(parameter) = self.parameters.get(name) {
                    return default(name, parameter, at).map(Some);
                } else {
                    self.check_known(name, at)?;
                    return Err(at.problem(format!("`{name}` is not known before the stack exists")));
                }
            }
        };
        Ok(Some(Node::new(at.line, Value::String(text))))
    }

    fn substitute(&self, argument: &Node, depth: usize) -> Result<String, Problem> {
        let (template, own) = match &argument.value {
            Value::Array(_) => {
                let [template, own] = arguments("Fn::Sub", argument)?;
                (template, Some(own))
            }
            _ => (argument, None),
        };
        let mut rest = template.text("Fn::Sub")?;
        let mut out = String::new();
        while let Some((before, after)) = rest.split_once("${") {
            out += before;
            let (name, behind) = after
                .split_once('}')
                .ok_or_else(|| template.problem("`${` is not closed"))?;
            rest = behind;
            if let Some(literal) = name.strip_prefix('!') {
                out.extend(["${", literal, "}"]);
                continue;
            }
            let value = match own.and_then(|own| own.get(name)) {
                Some(value) => self.required(value, depth)?,
                None => match name.split_once('.') {
                    Some(_) => {
                        let path = Node::new(template.line, Value::String(name.to_owned()));
                        self.call("Fn::GetAtt", &path, template.line, depth)?.unwrap_or(path)
                    }
                    None => self
                        .reference(name, template)?
                        .ok_or_else(|| template.problem("AWS::NoValue cannot be used here"))?,
                },
            };
            out += &scalar(&value)?;
        }
        Ok(out + rest)
    }

    fn condition(&self, name: &str, at: &Node, depth: usize) -> Result<bool, Problem> {
        let condition = self.conditions.get(name);
        let condition = condition.ok_or_else(|| at.problem(format!("the condition {name} is not defined")))?;
        self.evaluate(condition, depth)
    }

    fn evaluate(&self, node: &Node, depth: usize) -> Result<bool, Problem> {
        let depth = depth + 1;
        if depth > DEPTH {
            return Err(node.problem("conditions are nested too deeply"));
        }
        let [(function, argument)] = node.object("a condition")? else {
            return Err(node.problem("a condition is one function"));
        };
        match function.as_str() {
            "Condition" => self.condition(argument.text("Condition")?, argument, depth),
            "Fn::Equals" => {
                let [left, right] = arguments(function, argument)?;
                Ok(scalar(&self.required(left, depth)?)? == scalar(&self.required(right, depth)?)?)
            }
            "Fn::Not" => {
                let [operand] = arguments(function, argument)?;
                Ok(!self.evaluate(operand, depth)?)
            }
            "Fn::And" | "Fn::Or" => {
                let results = argument
                    .list(function)?
                    .iter()
                    .map(|operand| self.evaluate(operand, depth));
                let results = results.collect::<Result<Vec<_>, _>>()?;
                Ok(if function == "Fn::And" {
                    results.iter().all(|holds| *holds)
                } else {
                    results.contains(&true)
                })
            }
            _ => Err(argument.problem(format!("{function} is not supported in a condition"))),
        }
    }
}

/// The argument of `Fn::GetAtt` as `RESOURCE.ATTRIBUTE`.
fn attribute_path(argument: &Node) -> Result<String, Problem> {
    match &argument.value {
        Value::Array(parts) => Ok(parts.iter().map(scalar).collect::<Result<Vec<_>, _>>()?.join(".")),
        _ => argument.text("Fn::GetAtt").map(str::to_owned),
    }
}

fn default(name: &str, parameter: &Node, at: &Node) -> Result<Node, Problem> {
    let value = parameter
        .get("Default")
        .ok_or_else(|| at.problem(format!("the parameter {name} has no default value")))?;
    let kind = parameter.get("Type").map_or(Ok(""), |kind| kind.text("Type"));
    let kind = kind.unwrap_or_default();
    if kind.starts_with("AWS::SSM::Parameter::Value<") {
        let stored = scalar(value)?;
        let message =
            format!("the parameter {name} has the value of the SSM parameter `{stored}`, which is not known here");
        return Err(at.problem(message));
    }
    if kind != "CommaDelimitedList" && !kind.starts_with("List<") {
        return Ok(Node::new(at.line, value.value.clone()));
    }
    let text = scalar(value)?;
    let parts = text
        .split(',')
        .map(|part| Node::new(at.line, Value::String(part.trim().to_owned())));
    Ok(Node::new(at.line, Value::Array(parts.collect())))
}

/// A string, or the text of a number or boolean.
fn scalar(node: &Node) -> Result<String, Problem> {
    match &node.value {
        Value::String(text) | Value::Number(text) => Ok(text.clone()),
        Value::Bool(flag) => Ok(flag.to_string()),
        _ => Err(node.problem(format!("{} stands where a string is expected", node.kind()))),
    }
}

fn arguments<'n, const N: usize>(function: &str, argument: &'n Node) -> Result<&'n [Node; N], Problem> {
    let list = argument.list(function)?;
    list.try_into()
        .map_err(|_| argument.problem(format!("{function} takes {N} arguments, not {}", list.len())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::yaml;

    const TEMPLATE: &str = "
Parameters:
  Stage: {Type: String, Default: test}
  Count: {Type: Number, Default: 5}
  Flag: {Default: true}
  Member: {Type: String, Default: name}
  Chosen: {Type: String, Default: Map}
  Names: {Type: CommaDelimitedList, Default: 'a, b,c'}
  Numbers: {Type: List<Number>, Default: '1,2'}
  Given: {Type: String}
  Stored: {Type: AWS::SSM::Parameter::Value<String>, Default: /app/table}
  StoredNames: {Type: 'AWS::SSM::Parameter::Value<List<String>>', Default: /app/names}
  NameOfStored: {Type: AWS::SSM::Parameter::Name, Default: /app/table}
Resources:
  Key: {Type: AWS::KMS::Key}
  Tab: {Type: AWS::DynamoDB::Table}
Mappings:
  Map: {test: {name: found, list: [x, y], index: 1}, back: {again: test}}
Conditions:
  Yes: !Equals [!Ref Stage, test]
  No: !Equals [!Ref Stage, prod]
  Numeric: !Equals [!Ref Count, '5']
  Right: !Equals [test, !Ref Stage]
  NotRight: !Equals [prod, !Ref Stage]
  Both: !Equals [!Ref Stage, !FindInMap [Map, back, again]]
  NotBoth: !Equals [!Ref Stage, !Ref Member]
  And: !And [!Condition Yes, !Condition Numeric]
  NotAnd: !And [!Condition Yes, !Condition No]
  Or: !Or [!Condition No, !Condition Yes]
  NotOr: !Or [!Condition No, !Condition No]
  Not: !Not [!Condition No]
  NotNot: !Not [!Condition Yes]
  Endless: !Not [!Condition Endless]
  Two: {Condition: Yes, Other: x}
  Unknown: !Exists [x]
";

    fn resolve(text: &str) -> Result<Option<Node>, Problem> {
        let root = yaml(TEMPLATE).unwrap();
        let mut template = Template::new(&root)?;
        template.name("Tab", "stack-tab".to_owned());
        template.resolve(&yaml(text)?)
    }

    #[test]
    fn functions() {
        for (text, expected) in [
            (
                "!Sub '${AWS::Partition} ${AWS::Region} ${AWS::AccountId} ${AWS::URLSuffix} ${AWS::StackName}'",
                "aws us-east-1 000000000000 amazonaws.com stack",
            ),
            ("!Ref AWS::Region", "us-east-1"),
            ("!Ref AWS::AccountId", "000000000000"),
            ("!Ref Stage", "test"),
            ("!Ref Tab", "stack-tab"),
            ("!Ref NameOfStored", "/app/table"),
            (
                "!Sub '${Stage}-${Count}-${Flag}-${!Literal}-${Tab}-$x'",
                "test-5-true-${Literal}-stack-tab-$x",
            ),
            (
                "!Sub ['${Own}/${Stage}/${Number}', {Own: !Ref Count, Stage: other, Number: 7}]",
                "5/other/7",
            ),
            (
                "!Sub ['${App.Stage}-${Tab.Arn}', {App.Stage: dev, Tab.Arn: own}]",
                "dev-own",
            ),
            (
                "!Sub '${Tab.Arn}'",
                "arn:aws:dynamodb:us-east-1:000000000000:table/stack-tab",
            ),
            (
                "!GetAtt Tab.Arn",
                "arn:aws:dynamodb:us-east-1:000000000000:table/stack-tab",
            ),
            (
                "!GetAtt [Tab, Arn]",
                "arn:aws:dynamodb:us-east-1:000000000000:table/stack-tab",
            ),
            ("!Join ['-', [a, 1, true, !Ref Stage]]", "a-1-true-test"),
            ("!Join ['', !Ref Names]", "abc"),
            ("!Join [':', !Ref Numbers]", "1:2"),
            ("!Select [0, [a, b]]", "a"),
            ("!Select ['1', !Split [',', 'a,b']]", "b"),
            ("!Select [!Ref Count, [a, b, c, d, e, f]]", "f"),
            ("!Select [!FindInMap [Map, test, index], [a, b]]", "b"),
            ("!Select [!If [No, 0, 2], !Split ['/', 'a/b/c']]", "c"),
            ("!Join ['+', !Split ['/', !Sub 'a/${Stage}']]", "a+test"),
            ("!FindInMap [Map, !Ref Stage, name]", "found"),
            ("!FindInMap [Map, test, !Ref Member]", "found"),
            ("!FindInMap [!Ref Chosen, test, name]", "found"),
            ("!FindInMap [!Ref Chosen, !Ref Stage, !Ref Member]", "found"),
            ("!FindInMap [Map, test, !Join ['', [na, me]]]", "found"),
            ("!Select [1, !FindInMap [Map, test, list]]", "y"),
            ("!If [Yes, a, b]", "a"),
            ("!If [No, a, !If [Yes, c, d]]", "c"),
        ] {
            let found = resolve(text).unwrap_or_else(|problem| panic!("{text}: {problem:?}"));
            assert_eq!(scalar(&found.unwrap()).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn conditions() {
        for (condition, holds) in [
            ("Yes", true),
            ("No", false),
            ("Numeric", true),
            ("Right", true),
            ("NotRight", false),
            ("Both", true),
            ("NotBoth", false),
            ("And", true),
            ("NotAnd", false),
            ("Or", true),
            ("NotOr", false),
            ("Not", true),
            ("NotNot", false),
        ] {
            let found = resolve(&format!("!If [{condition}, yes, no]")).unwrap().unwrap();
            assert_eq!(scalar(&found).unwrap() == "yes", holds, "{condition}");
        }
    }

    /// What is `AWS::NoValue` is as if it were not there.
    #[test]
    fn no_value_removes_members_and_elements() {
        assert_eq!(resolve("!Ref AWS::NoValue"), Ok(None));
        let found = resolve("a: !Ref AWS::NoValue\nb: [1, !If [No, 2, !Ref AWS::NoValue], 3]\n")
            .unwrap()
            .unwrap();
        assert_eq!(found.get("a"), None);
        assert_eq!(found.get("b").unwrap().list("b").unwrap().len(), 2);
    }

    #[test]
    fn functions_without_a_value_are_refused() {
        for (text, message) in [
            ("!Ref Given", "the parameter Given has no default value"),
            (
                "!Ref Stored",
                "the parameter Stored has the value of the SSM parameter `/app/table`, which is not known here",
            ),
            (
                "!Join ['', !Ref StoredNames]",
                "the parameter StoredNames has the value of the SSM parameter `/app/names`, which is not known here",
            ),
            ("!Ref Key", "`Key` is not known before the stack exists"),
            ("!Sub '${Key}'", "`Key` is not known before the stack exists"),
            (
                "!Ref AWS::StackId",
                "`AWS::StackId` is not known before the stack exists",
            ),
            ("!Ref Nowhere", "the template has no resource or parameter Nowhere"),
            ("!Sub '${Nowhere}'", "the template has no resource or parameter Nowhere"),
            ("!Sub '${Nowhere.Arn}'", "the template has no resource Nowhere"),
            ("!GetAtt [Stage, Arn]", "the template has no resource Stage"),
            ("!Sub '${Stage'", "`${` is not closed"),
            ("!Sub '${AWS::NoValue}'", "AWS::NoValue cannot be used here"),
            ("!Sub ['${Stage}']", "Fn::Sub takes 2 arguments, not 1"),
            ("!Sub '${Names}'", "a list stands where a string is expected"),
            (
                "!Join ['-', [!Ref AWS::NoValue, [x]]]",
                "a list stands where a string is expected",
            ),
            ("!Select [2, [a, b]]", "Fn::Select has no such element"),
            ("!Select [-1, [a, b]]", "Fn::Select has no such element"),
            ("!Select [0, a]", "Fn::Select has no such element"),
            ("!If [Yes, a]", "Fn::If takes 3 arguments, not 2"),
            ("!If [Nowhere, a, b]", "the condition Nowhere is not defined"),
            ("!If [Endless, a, b]", "conditions are nested too deeply"),
            ("!If [Two, a, b]", "a condition is one function"),
            ("!If [Unknown, a, b]", "Fn::Exists is not supported in a condition"),
            (
                "!FindInMap [Map, prod, name]",
                "the mapping Map has no value for prod, name",
            ),
            (
                "!FindInMap [Nowhere, a, b]",
                "the mapping Nowhere has no value for a, b",
            ),
            (
                "!GetAtt Tab.StreamArn",
                "Fn::GetAtt of Tab.StreamArn is not known before the stack exists",
            ),
            (
                "!GetAtt Key.Arn",
                "Fn::GetAtt of Key.Arn is not known before the stack exists",
            ),
            ("!ImportValue x", "Fn::ImportValue is not supported"),
        ] {
            assert_eq!(resolve(text).unwrap_err().message, message, "{text}");
        }
    }

    /// Values that nothing here depends on need not be known, but what they refer to must be in the template.
    #[test]
    fn values_without_effect_may_be_unknown() {
        for (value, expected) in [
            ("a key", Ok(Some("a key"))),
            ("!Ref Stage", Ok(Some("test"))),
            (
                "!GetAtt Tab.Arn",
                Ok(Some("arn:aws:dynamodb:us-east-1:000000000000:table/stack-tab")),
            ),
            ("!Ref AWS::NoValue", Ok(None)),
            ("!Ref Key", Ok(None)),
            ("!GetAtt Key.Arn", Ok(None)),
            ("!GetAtt [Key, Arn]", Ok(None)),
            ("!Sub '${Key.Arn}'", Ok(None)),
            ("!Ref Given", Ok(None)),
            ("!Ref Stored", Ok(None)),
            ("!ImportValue x", Ok(None)),
            ("!If [Yes, !Ref Key, !Ref Stage]", Ok(None)),
            ("!Ref Nowhere", Err("the template has no resource or parameter Nowhere")),
            ("!GetAtt Nowhere.Arn", Err("the template has no resource Nowhere")),
            (
                "!If [Yes, !Ref Key, !Ref Nowhere]",
                Err("the template has no resource or parameter Nowhere"),
            ),
            (
                "!Sub ['${x}', {x: !Ref Nowhere}]",
                Err("the template has no resource or parameter Nowhere"),
            ),
        ] {
            for (member, of) in [
                ("KMSMasterKeyId", None),
                ("KinesisStreamSpecification", Some("StreamArn")),
                ("ImportSourceSpecification", Some("S3BucketSource")),
            ] {
                let text = match of {
                    Some(inner) => format!("{member}: {{{inner}: {value}}}"),
                    None => format!("{member}: {value}"),
                };
                let found = resolve(&format!("a: {{{text}, b: 1}}"));
                let found = found.as_ref().map(|found| {
                    let found = found.as_ref().unwrap().get("a").unwrap();
                    assert!(found.get("b").is_some(), "{text}");
                    let found = found.get(member)?;
                    let found = of.map_or(Some(found), |inner| found.get(inner))?;
                    Some(scalar(found).unwrap())
                });
                let found = found.as_ref().map(|found| found.as_deref());
                assert_eq!(found.map_err(|problem| problem.message.as_str()), expected, "{text}");
            }
        }
        // The macros of a template may add resources.
        let root = yaml(&format!("Transform: AWS::Serverless-2016-10-31\n{TEMPLATE}")).unwrap();
        let template = Template::new(&root).unwrap();
        let found = |text: &str| template.resolve(&yaml(text).unwrap());
        let unknown = "Fn::GetAtt of FunctionRole.Arn is not known before the stack exists";
        assert_eq!(found("!GetAtt FunctionRole.Arn").unwrap_err().message, unknown);
        for text in [
            "!GetAtt FunctionRole.Arn",
            "!Ref FunctionRole",
            "!Sub '${FunctionRole}'",
            "[!Ref FunctionRole]",
        ] {
            assert!(found(&format!("KMSMasterKeyId: {text}")).is_ok(), "{text}");
        }
    }

    /// Flags and numbers are equal to their texts, such as the values of parameters, and to no other value.
    #[test]
    fn values_are_equal_if_their_texts_are() {
        for (one, other, holds) in [
            ("true", "true", true),
            ("true", "'true'", true),
            ("false", "'false'", true),
            ("true", "'false'", false),
            ("false", "'true'", false),
            ("true", "false", false),
            ("true", "'True'", false),
            ("!Ref Flag", "true", true),
            ("!Ref Flag", "'true'", true),
            ("!Ref Flag", "'false'", false),
            ("5", "'5'", true),
            ("5", "'6'", false),
            ("!Ref Count", "5", true),
            ("1", "true", false),
            ("0", "false", false),
            ("''", "false", false),
            ("''", "''", true),
            ("test", "Test", false),
        ] {
            for (left, right) in [(one, other), (other, one)] {
                let root = yaml(&format!("{TEMPLATE}  Same: !Equals [{left}, {right}]\n")).unwrap();
                let template = Template::new(&root).unwrap();
                assert_eq!(template.holds("Same", &root), Ok(holds), "{left} {right}");
            }
        }
    }

    /// Every operand of a condition counts, wherever it stands; CloudFormation allows up to ten.
    #[test]
    fn conditions_of_many_operands() {
        for count in 2..=10 {
            for differs in 0..=count {
                // All operands are alike but the one at this place, if there is one.
                for (others, other) in [("Yes", "No"), ("No", "Yes")] {
                    let operand = |at| if at == differs { other } else { others };
                    let operands: Vec<_> = (0..count).map(|at| format!("{{Condition: {}}}", operand(at))).collect();
                    let all = (0..count).all(|at| operand(at) == "Yes");
                    let any = (0..count).any(|at| operand(at) == "Yes");
                    let operands = operands.join(", ");
                    for (condition, holds) in [
                        (format!("!And [{operands}]"), all),
                        (format!("!Or [{operands}]"), any),
                        (format!("!Not [!And [{operands}]]"), !all),
                        (format!("!Not [!Or [{operands}]]"), !any),
                        (format!("!And [!Condition Yes, !Or [{operands}]]"), any),
                        (format!("!Or [!Condition No, !Condition No, !And [{operands}]]"), all),
                    ] {
                        let root = yaml(&format!("{TEMPLATE}  Many: {condition}\n")).unwrap();
                        let template = Template::new(&root).unwrap();
                        assert_eq!(template.holds("Many", &root), Ok(holds), "{condition}");
                        let chosen = template
                            .resolve(&yaml("!If [Many, yes, no]").unwrap())
                            .unwrap()
                            .unwrap();
                        assert_eq!(scalar(&chosen).unwrap() == "yes", holds, "{condition}");
                    }
                }
            }
        }
        for (condition, message) in [
            (
                "!And [!Condition Yes, !Condition Yes, !Condition Nowhere]",
                "the condition Nowhere is not defined",
            ),
            (
                "!Or [!Condition Yes, !Condition No, !Exists [x]]",
                "Fn::Exists is not supported in a condition",
            ),
            (
                "!Not [!Condition Yes, !Condition No]",
                "Fn::Not takes 1 arguments, not 2",
            ),
            ("!Equals [a]", "Fn::Equals takes 2 arguments, not 1"),
            ("!Equals [a, a, a]", "Fn::Equals takes 2 arguments, not 3"),
        ] {
            let root = yaml(&format!("{TEMPLATE}  Many: {condition}\n")).unwrap();
            let found = Template::new(&root).unwrap().holds("Many", &root);
            assert_eq!(
                found.map_err(|problem| problem.message),
                Err(message.to_owned()),
                "{condition}"
            );
        }
    }

    /// Every element of a list is used, and every variable of a text replaced.
    #[test]
    fn functions_of_many_elements() {
        for count in 1..=5 {
            let letters: Vec<String> = ('a'..).take(count).map(String::from).collect();
            let list = letters.join(", ");
            let joined = letters.join("-");
            let each = |form: fn(&String) -> String| letters.iter().map(form).collect::<Vec<_>>();
            let variables = each(|letter| format!("${{{letter}}}")).join("/");
            let own = each(|letter| format!("{letter}: {letter}1")).join(", ");
            let substituted = each(|letter| format!("{letter}1")).join("/");
            let mut cases = vec![
                (format!("!Join ['-', [{list}]]"), joined.clone()),
                (format!("!Join ['-', !Split ['-', {joined}]]"), joined.clone()),
                (format!("!Sub ['{variables}', {{{own}}}]"), substituted),
                (format!("!Sub '{}'", "${Stage}.".repeat(count)), "test.".repeat(count)),
            ];
            for (at, letter) in letters.iter().enumerate() {
                cases.push((format!("!Select [{at}, [{list}]]"), letter.clone()));
                cases.push((format!("!Select ['{at}', !Split ['-', {joined}]]"), letter.clone()));
            }
            for (text, expected) in cases {
                let found = resolve(&text).unwrap_or_else(|problem| panic!("{text}: {problem:?}"));
                assert_eq!(scalar(&found.unwrap()).unwrap(), expected, "{text}");
            }
            assert!(resolve(&format!("!Select [{count}, [{list}]]")).is_err());
        }
    }

    /// Every other member must be known.
    #[test]
    fn values_with_an_effect_are_known() {
        let root = yaml(TEMPLATE).unwrap();
        let template = Template::new(&root).unwrap();
        for member in ["TableName", "KMSMasterKey", "StreamArn", "kmsMasterKeyId"] {
            for (value, message) in [
                ("!Ref Key", "`Key` is not known before the stack exists"),
                ("!Ref Given", "the parameter Given has no default value"),
                ("!ImportValue x", "Fn::ImportValue is not supported"),
            ] {
                for text in [
                    format!("{member}: {value}"),
                    format!("a: [{{b: 1, {member}: {{c: [{value}]}}}}]"),
                ] {
                    let problem = template.resolve(&yaml(&text).unwrap()).unwrap_err();
                    assert_eq!(problem.message, message, "{text}");
                }
            }
        }
        let beside = "{KMSMasterKeyId: !Ref Key, SSEType: !Ref Given}";
        let problem = template.resolve(&yaml(beside).unwrap()).unwrap_err();
        assert_eq!(problem.message, "the parameter Given has no default value");
    }

    /// Values, functions and conditions have a greatest depth.
    #[test]
    fn templates_have_a_greatest_depth() {
        let too_deep = "functions are nested too deeply";
        let nested = |begin: &str, value: &str, end: &str, depth: usize| {
            format!("{}{value}{}", begin.repeat(depth), end.repeat(depth))
        };
        for (text, expected) in [
            (nested("[", "a", "]", 127), None),
            (nested("[", "a", "]", 128), Some(too_deep)),
            (nested("{a: ", "a", "}", 127), None),
            (nested("{a: ", "a", "}", 128), Some(too_deep)),
            (
                nested("!Split ['', ", "a", "]", 127),
                Some("a list stands where a string is expected"),
            ),
            (nested("!Split ['', ", "a", "]", 128), Some(too_deep)),
            // Values that need not be known are searched for references, at most as deeply.
            (
                format!("KMSMasterKeyId: [{}]", nested("!Split ['', ", "!Ref Key", "]", 63)),
                None,
            ),
            (
                format!("KMSMasterKeyId: {}", nested("!Split ['', ", "!Ref Key", "]", 64)),
                Some(too_deep),
            ),
            (
                format!("KMSMasterKeyId: {}", nested("!Join ['', [", "!Ref Key", "]]", 42)),
                None,
            ),
            (
                format!("KMSMasterKeyId: {}", nested("!Join ['', [", "!Ref Key", "]]", 43)),
                Some(too_deep),
            ),
        ] {
            let found = resolve(&text).err().map(|problem| problem.message);
            assert_eq!(found.as_deref(), expected, "{text}");
        }
        for (count, expected) in [(DEPTH, Ok(true)), (DEPTH + 1, Err("conditions are nested too deeply"))] {
            let chain = (1..count).map(|at| format!("  C{at}: {{Condition: C{}}}\n", at + 1));
            let chain: String = chain.collect();
            let text = format!("Conditions:\n{chain}  C{count}: !Equals [a, a]\n");
            let not = "!Not [".repeat(count - 1) + "!Equals [a, a]" + &"]".repeat(count - 1);
            let text = format!("{text}  Nested: {not}\n");
            let root = yaml(&text).unwrap();
            let template = Template::new(&root).unwrap();
            let holds = |name: &str| template.holds(name, &root).map_err(|problem| problem.message);
            let expected = expected.map_err(str::to_owned);
            assert_eq!(holds("C1"), expected, "{count}");
            assert_eq!(holds("Nested"), expected.clone().map(|_| count % 2 == 1), "{count}");
        }
    }
}
