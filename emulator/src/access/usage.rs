//! The permissions that a principal has used, and the statements that allow them and nothing else.

use std::collections::{BTreeMap, BTreeSet};

/// The actions, resources and leading keys that a principal has used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// The leading keys by resource and action; `None` where a request without leading keys used the permission.
    used: BTreeMap<(String, String), Option<BTreeSet<String>>>,
}

/// The values of a condition on the leading keys, if there is one.
type Restriction = Option<Vec<String>>;

/// An `Allow` statement of a derived policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsedStatement {
    /// The actions, with their prefix.
    pub actions: Vec<String>,
    /// The ARNs of the resources.
    pub resources: Vec<String>,
    /// The values that `dynamodb:LeadingKeys` is restricted to, as a policy of version 2012-10-17 writes them.
    pub leading_keys: Option<Vec<String>>,
}

impl Usage {
    /// Adds an action, without its prefix, on a resource. `leading_keys` is `None` for a request that has none.
    pub fn add<T: AsRef<str>>(&mut self, action: &str, resource: &str, leading_keys: Option<&[T]>) {
        let values = || {
            leading_keys
                .into_iter()
                .flatten()
                .map(|value| value.as_ref().to_owned())
        };
        let known = leading_keys.is_some();
        let used = self.used.entry((resource.to_owned(), action.to_owned()));
        let keys = used.or_insert_with(|| known.then(BTreeSet::new));
        match keys {
            Some(keys) if known => keys.extend(values()),
            keys => *keys = None,
        }
    }

    /// The statements that allow what was used. With `restrict_keys`, an action whose requests all had leading keys is
    /// restricted to those keys.
    pub fn statements(&self, restrict_keys: bool) -> Vec<UsedStatement> {
        let mut by_resource: BTreeMap<(&str, Restriction), Vec<String>> = BTreeMap::new();
        for ((resource, action), keys) in &self.used {
            let keys = keys.as_ref().filter(|_| restrict_keys).and_then(restriction);
            let actions = by_resource.entry((resource, keys)).or_default();
            actions.push(format!("dynamodb:{action}"));
        }
        let mut by_actions: BTreeMap<(Vec<String>, Restriction), Vec<String>> = BTreeMap::new();
        for ((resource, keys), actions) in by_resource {
            by_actions.entry((actions, keys)).or_default().push(resource.to_owned());
        }
        let statements = by_actions.into_iter();
        statements
            .map(|((actions, leading_keys), resources)| UsedStatement {
                actions,
                resources,
                leading_keys,
            })
            .collect()
    }
}

/// Leading keys as the values of a condition; `None` if a policy cannot express one of them.
fn restriction(keys: &BTreeSet<String>) -> Restriction {
    let expressible = |key: &String| key.chars().all(|char| matches!(char, ' '..='\u{ff}'));
    let values = keys.iter().map(|key| key.replace("${", "${$}{")).collect();
    keys.iter().all(expressible).then_some(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(usage: &Usage, restrict_keys: bool) -> Vec<String> {
        let statements = usage.statements(restrict_keys).into_iter();
        statements
            .map(|statement| {
                let keys = statement
                    .leading_keys
                    .map_or(String::new(), |keys| format!(" {keys:?}"));
                format!(
                    "{} {}{keys}",
                    statement.actions.join(","),
                    statement.resources.join(",")
                )
            })
            .collect()
    }

    #[test]
    fn statements_are_merged() {
        let mut usage = Usage::default();
        usage.add("GetItem", "t", Some(&["b"]));
        usage.add("GetItem", "t", Some(&["a"]));
        usage.add("PutItem", "t", Some(&["a"]));
        usage.add("GetItem", "u", Some(&["a", "b"]));
        usage.add::<&str>("ListTables", "*", None);
        assert_eq!(
            shown(&usage, false),
            [
                "dynamodb:GetItem u",
                "dynamodb:GetItem,dynamodb:PutItem t",
                "dynamodb:ListTables *"
            ]
        );
        assert_eq!(
            shown(&usage, true),
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
            (&[Some("${x}")], r#"dynamodb:Query t ["${$}{x}"]"#),
        ] {
            let mut usage = Usage::default();
            for key in keys {
                usage.add("Query", "t", key.map(|key| [key]).as_ref().map(|keys| &keys[..]));
            }
            assert_eq!(shown(&usage, true), [expect], "{keys:?}");
        }
    }

    #[test]
    fn actions_on_one_resource_become_one_statement() {
        let mut usage = Usage::default();
        let table = "arn:aws:dynamodb:us-east-1:123456789012:table/Orders";
        usage.add("PutItem", table, Some(&["a"]));
        usage.add("GetItem", table, Some(&["a"]));
        let statements = usage.statements(true);
        assert_eq!(statements[0].actions, ["dynamodb:GetItem", "dynamodb:PutItem"]);
        assert_eq!(statements[0].leading_keys.as_deref(), Some(&["a".to_owned()][..]));
    }
}
