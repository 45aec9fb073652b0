//! Condition keys of one request and their values.

/// The value of a condition key.
///
/// ```
/// use dynatwin_engine::iam::KeyValue;
///
/// assert_eq!(KeyValue::One("blue".to_owned()).values(), ["blue"]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyValue {
    /// The value of a single-valued key.
    One(String),
    /// The values of a multivalued key, even if there is only one or none.
    Many(Vec<String>),
}

impl KeyValue {
    /// The one value, or all values in the order in which they were set.
    pub fn values(&self) -> &[String] {
        match self {
            KeyValue::One(value) => std::slice::from_ref(value),
            KeyValue::Many(values) => values,
        }
    }
}

/// Keys whose type is a list (docs/behavior: 07 3.1, 07 3.3).
const MULTIVALUED: &[&str] = &[
    "aws:CalledVia",
    "aws:PrincipalOrgPaths",
    "aws:PrincipalServiceNamesList",
    "aws:ResourceOrgPaths",
    "aws:SourceOrgPaths",
    "aws:TagKeys",
    "dynamodb:Attributes",
    "dynamodb:FirstPartitionKeyValues",
    "dynamodb:FourthPartitionKeyValues",
    "dynamodb:LeadingKeys",
    "dynamodb:SecondPartitionKeyValues",
    "dynamodb:ThirdPartitionKeyValues",
];

/// Whether a key is multivalued by its type.
pub fn is_multivalued(key: &str) -> bool {
    MULTIVALUED.iter().any(|known| known.eq_ignore_ascii_case(key))
}

/// The condition keys of a request. Names ignore case, values do not.
///
/// ```
/// use dynatwin_engine::iam::{ConditionKeys, KeyValue};
///
/// let mut keys = ConditionKeys::default();
/// keys.set("aws:PrincipalTag/Team", "blue");
/// assert_eq!(keys.get("aws:principaltag/team"), Some(&KeyValue::One("blue".to_owned())));
/// assert_eq!(keys.get("aws:username"), None);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConditionKeys(Vec<(String, KeyValue)>);

impl ConditionKeys {
    /// Sets a key. A key that is multivalued by its type gets a list of one.
    pub fn set(&mut self, name: &str, value: impl Into<String>) {
        let value = value.into();
        let value = if is_multivalued(name) {
            KeyValue::Many(vec![value])
        } else {
            KeyValue::One(value)
        };
        self.insert(name, value);
    }

    /// Sets a key to a list. A key without values counts as absent.
    pub fn set_all<T: Into<String>>(&mut self, name: &str, values: impl IntoIterator<Item = T>) {
        self.insert(name, KeyValue::Many(values.into_iter().map(Into::into).collect()));
    }

    fn insert(&mut self, name: &str, value: KeyValue) {
        self.remove(name);
        self.0.push((name.to_owned(), value));
    }

    /// Removes a key by its name, ignoring case.
    pub fn remove(&mut self, name: &str) {
        self.0.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
    }

    /// The value of a key; `None` if it is absent or an empty list.
    pub fn get(&self, name: &str) -> Option<&KeyValue> {
        let found = self.0.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value).filter(|value| !value.values().is_empty())
    }

    /// All keys that have a value, in the order in which they were set.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &KeyValue)> {
        let set = self.0.iter().filter(|(_, value)| !value.values().is_empty());
        set.map(|(name, value)| (name.as_str(), value))
    }

    /// These keys and those of `others`, which replace keys of the same name.
    #[must_use]
    pub fn with(&self, others: &ConditionKeys) -> ConditionKeys {
        let mut all = self.clone();
        for (name, value) in &others.0 {
            all.insert(name, value.clone());
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn multivalued_keys_are_known_in_any_case() {
        assert!(is_multivalued("dynamodb:leadingkeys"));
        assert!(!is_multivalued("dynamodb:Select"));
    }

    #[test]
    fn replacements_without_values_are_absent() {
        let name = "dynamodb:Attributes";
        for (others, expect) in [
            (None, Some(&["a", "b"][..])),
            (Some(&["c"][..]), Some(&["c"][..])),
            (Some(&[]), None),
        ] {
            let mut keys = ConditionKeys::default();
            keys.set_all(name, ["a", "b"]);
            let mut replacements = ConditionKeys::default();
            if let Some(values) = others {
                replacements.set_all(name, values.iter().copied());
            }
            let all = keys.with(&replacements);
            let found = all.get(name).map(KeyValue::values);
            assert_eq!(
                found,
                expect
                    .map(|values| values.iter().map(ToString::to_string).collect::<Vec<_>>())
                    .as_deref(),
                "{others:?}"
            );
        }
    }
}
