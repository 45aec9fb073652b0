//! The permissions that a principal has used, and the statements that allow them and nothing else.

use crate::sorted::SortedMap;

/// The actions and resources that a principal has used, with the values of condition keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// The used condition keys, by resource and action.
    used: SortedMap<(String, String), UsedKeys>,
}

/// One use of an action on a resource. A condition key that is `None` is absent or unknown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsedPermission<'a> {
    /// The IAM action, without its prefix.
    pub action: &'a str,
    /// The ARN of the resource, or `*`.
    pub resource: &'a str,
    /// The values of `dynamodb:LeadingKeys`; `None` if the request has none.
    pub leading_keys: Option<Vec<&'a str>>,
    /// The values of `dynamodb:Attributes`; `None` if the request has none.
    pub attributes: Option<Vec<&'a str>>,
    /// The value of `dynamodb:Select`; `None` if the request has none.
    pub select: Option<&'a str>,
    /// The value of `dynamodb:ReturnValues`; `None` if the request has none.
    pub return_values: Option<&'a str>,
}

impl<'a> UsedPermission<'a> {
    /// An action on a resource, without condition keys.
    pub fn new(action: &'a str, resource: &'a str) -> UsedPermission<'a> {
        UsedPermission {
            action,
            resource,
            leading_keys: None,
            attributes: None,
            select: None,
            return_values: None,
        }
    }
}

/// Which condition keys the derived statements restrict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReportedKeys {
    /// `dynamodb:LeadingKeys`, of actions whose requests all had some.
    pub leading_keys: bool,
    /// `dynamodb:Attributes`, with `dynamodb:Select` and `dynamodb:ReturnValues`, of actions whose requests all had them.
    pub attributes: bool,
}

/// The values that condition keys had; `None` where a request without the key used the permission.
#[derive(Clone, Debug, PartialEq, Eq)]
struct UsedKeys {
    leading_keys: Option<SortedMap<String, ()>>,
    attributes: Option<SortedMap<String, ()>>,
    select: Option<SortedMap<String, ()>>,
    return_values: Option<SortedMap<String, ()>>,
}

impl Default for UsedKeys {
    /// The keys of no request.
    fn default() -> UsedKeys {
        let none = Some(SortedMap::new());
        UsedKeys {
            leading_keys: none.clone(),
            attributes: none.clone(),
            select: none.clone(),
            return_values: none,
        }
    }
}

/// An `Allow` statement of a derived policy. The values of condition keys are as a policy of version 2012-10-17 writes them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct UsedStatement {
    /// The actions, with their prefix.
    pub actions: Vec<String>,
    /// The values that `dynamodb:LeadingKeys` is restricted to.
    pub leading_keys: Option<Vec<String>>,
    /// The values that `dynamodb:Attributes` is restricted to.
    pub attributes: Option<Vec<String>>,
    /// The values that `dynamodb:Select` is restricted to.
    pub select: Option<Vec<String>>,
    /// The values that `dynamodb:ReturnValues` is restricted to.
    pub return_values: Option<Vec<String>>,
    /// The ARNs of the resources.
    pub resources: Vec<String>,
}

impl Usage {
    /// Adds a use of a permission.
    pub fn add(&mut self, permission: &UsedPermission<'_>) {
        let used = self
            .used
            .get_or_default(&(permission.resource.to_owned(), permission.action.to_owned()));
        let one = |value: Option<&'_ str>| value.map(|value| vec![value.to_owned()]);
        let all = |values: &Option<Vec<&str>>| {
            let values = values.as_ref()?.iter();
            Some(values.map(|value| (*value).to_owned()).collect::<Vec<_>>())
        };
        for (known, values) in [
            (&mut used.leading_keys, all(&permission.leading_keys)),
            (&mut used.attributes, all(&permission.attributes)),
            (&mut used.select, one(permission.select)),
            (&mut used.return_values, one(permission.return_values)),
        ] {
            match (known.as_mut(), values) {
                (Some(known), Some(values)) => values.into_iter().for_each(|value| {
                    known.insert(value, ());
                }),
                _ => *known = None,
            }
        }
    }

    /// The statements that allow the used permissions, restricted to the values of condition keys.
    pub fn statements(&self, keys: ReportedKeys) -> Vec<UsedStatement> {
        let mut by_resource: SortedMap<UsedStatement, Vec<String>> = SortedMap::new();
        for ((resource, action), used) in &self.used {
            let of = |wanted: bool, values: &Option<SortedMap<String, ()>>| {
                values.as_ref().filter(|_| wanted).and_then(restriction)
            };
            let statement = UsedStatement {
                actions: Vec::new(),
                leading_keys: of(keys.leading_keys, &used.leading_keys),
                attributes: of(keys.attributes, &used.attributes),
                select: of(keys.attributes, &used.select),
                return_values: of(keys.attributes, &used.return_values),
                resources: vec![resource.clone()],
            };
            let actions = by_resource.get_or_default(&statement);
            actions.push(format!("dynamodb:{action}"));
        }
        let mut by_actions: SortedMap<UsedStatement, Vec<String>> = SortedMap::new();
        for (mut statement, actions) in by_resource {
            let resources = std::mem::take(&mut statement.resources);
            by_actions
                .get_or_default(&UsedStatement { actions, ..statement })
                .extend(resources);
        }
        let statements = by_actions.into_iter();
        statements
            .map(|(statement, resources)| UsedStatement { resources, ..statement })
            .collect()
    }
}

/// The values of a condition; `None` if there are none, or if a policy cannot express one of them.
fn restriction(values: &SortedMap<String, ()>) -> Option<Vec<String>> {
    let expressible = |value: &String| value.chars().all(|char| matches!(char, ' '..='\u{ff}'));
    let written = values.keys().map(|value| value.replace("${", "${$}{")).collect();
    (!values.is_empty() && values.keys().all(expressible)).then_some(written)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEADING: ReportedKeys = ReportedKeys {
        leading_keys: true,
        attributes: false,
    };

    fn shown(usage: &Usage, keys: ReportedKeys) -> Vec<String> {
        let statements = usage.statements(keys).into_iter();
        statements
            .map(|statement| {
                let values = [
                    statement.leading_keys,
                    statement.attributes,
                    statement.select,
                    statement.return_values,
                ];
                let mut parts = vec![statement.actions.join(","), statement.resources.join(",")];
                parts.extend(values.into_iter().flatten().map(|values| format!("{values:?}")));
                parts.join(" ")
            })
            .collect()
    }

    fn with<'a>(action: &'a str, resource: &'a str, keys: &[&'a str]) -> UsedPermission<'a> {
        UsedPermission {
            leading_keys: Some(keys.to_vec()),
            ..UsedPermission::new(action, resource)
        }
    }

    #[test]
    fn statements_are_merged() {
        let mut usage = Usage::default();
        usage.add(&with("GetItem", "t", &["b"]));
        usage.add(&with("GetItem", "t", &["a"]));
        usage.add(&with("PutItem", "t", &["a"]));
        usage.add(&with("GetItem", "u", &["a", "b"]));
        usage.add(&UsedPermission::new("ListTables", "*"));
        assert_eq!(
            shown(&usage, ReportedKeys::default()),
            [
                "dynamodb:GetItem u",
                "dynamodb:GetItem,dynamodb:PutItem t",
                "dynamodb:ListTables *"
            ]
        );
        assert_eq!(
            shown(&usage, LEADING),
            [
                r#"dynamodb:GetItem t,u ["a", "b"]"#,
                "dynamodb:ListTables *",
                r#"dynamodb:PutItem t ["a"]"#
            ]
        );
    }

    #[test]
    fn keys_are_restricted_only_where_every_request_has_some() {
        for (keys, expect) in [
            (&[Some("a"), None][..], "dynamodb:Query t"),
            (&[None, Some("a")], "dynamodb:Query t"),
            (&[Some("→")], "dynamodb:Query t"),
            (&[Some("a"), Some("→")], "dynamodb:Query t"),
            (&[Some("a\nb")], "dynamodb:Query t"),
            (&[Some("ÿ ~")], r#"dynamodb:Query t ["ÿ ~"]"#),
            (&[Some("b"), Some("a"), Some("b")], r#"dynamodb:Query t ["a", "b"]"#),
            (&[Some("${x}${y}$")], r#"dynamodb:Query t ["${$}{x}${$}{y}$"]"#),
            (&[Some("${x}")], r#"dynamodb:Query t ["${$}{x}"]"#),
        ] {
            let mut usage = Usage::default();
            for key in keys {
                usage.add(&UsedPermission {
                    leading_keys: key.map(|key| vec![key]),
                    ..UsedPermission::new("Query", "t")
                });
            }
            assert_eq!(shown(&usage, LEADING), [expect], "{keys:?}");
        }
    }

    #[test]
    fn attributes_come_with_what_is_returned() {
        let mut usage = Usage::default();
        for (action, names, select, return_values) in [
            ("GetItem", &["id", "a"][..], Some("SPECIFIC_ATTRIBUTES"), None),
            ("GetItem", &["id", "b"], Some("SPECIFIC_ATTRIBUTES"), None),
            ("Scan", &[], Some("ALL_ATTRIBUTES"), None),
            ("UpdateItem", &["id", "a"], None, Some("NONE")),
            ("UpdateItem", &["id"], None, Some("ALL_NEW")),
        ] {
            usage.add(&UsedPermission {
                attributes: Some(names.to_vec()),
                select,
                return_values,
                ..UsedPermission::new(action, "t")
            });
        }
        let keys = ReportedKeys {
            leading_keys: false,
            attributes: true,
        };
        assert_eq!(
            shown(&usage, keys),
            [
                r#"dynamodb:GetItem t ["a", "b", "id"] ["SPECIFIC_ATTRIBUTES"]"#,
                r#"dynamodb:Scan t ["ALL_ATTRIBUTES"]"#,
                r#"dynamodb:UpdateItem t ["a", "id"] ["ALL_NEW", "NONE"]"#
            ]
        );
    }
}
