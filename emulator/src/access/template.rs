//! Texts with policy variables: `${aws:PrincipalTag/team, 'default'}`, and the escapes `${*}`, `${?}` and `${$}`.

use super::keys::{ConditionKeys, KeyValue};
use super::pattern::{PatternElement, wildcard};

/// A text of a policy, with its variables found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Template {
    parts: Vec<TemplatePart>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum TemplatePart {
    /// A text in which wildcards may count.
    Text(String),
    /// A character that is itself.
    Literal(char),
    /// The value of a condition key.
    Variable { key: String, default: Option<String> },
}

impl Template {
    /// A text without variables: `${` is literal.
    pub fn literal(text: &str) -> Template {
        Template {
            parts: vec![TemplatePart::Text(text.to_owned())],
        }
    }

    /// Parses a text with variables, or describes what is wrong with one.
    pub fn parse(text: &str) -> Result<Template, String> {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some(at) = rest.find("${") {
            if at > 0 {
                parts.push(TemplatePart::Text(rest[..at].to_owned()));
            }
            let (part, after) =
                variable(&rest[at + 2..]).ok_or_else(|| format!("Invalid policy variable in {text:?}."))?;
            parts.push(part);
            rest = after;
        }
        if !rest.is_empty() || parts.is_empty() {
            parts.push(TemplatePart::Text(rest.to_owned()));
        }
        Ok(Template { parts })
    }

    /// Whether it has no variables.
    pub fn is_constant(&self) -> bool {
        self.variables().next().is_none()
    }

    /// The condition keys that its variables name.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            TemplatePart::Variable { key, .. } => Some(key.as_str()),
            _ => None,
        })
    }

    /// The text for a request; `None` if a variable has no value.
    pub fn text(&self, keys: &ConditionKeys) -> Option<String> {
        let mut text = String::new();
        for part in &self.parts {
            match part {
                TemplatePart::Text(plain) => text.push_str(plain),
                TemplatePart::Literal(char) => text.push(*char),
                TemplatePart::Variable { key, default } => text.push_str(value(keys, key, default.as_deref())?),
            }
        }
        Some(text)
    }

    /// The pattern for a request; `None` if a variable has no value. Wildcards in a variable's value are plain characters.
    pub fn pattern(&self, keys: &ConditionKeys) -> Option<Vec<PatternElement>> {
        let mut pattern_elements = Vec::new();
        for part in &self.parts {
            match part {
                TemplatePart::Text(plain) => pattern_elements.extend(plain.chars().map(wildcard)),
                TemplatePart::Literal(char) => pattern_elements.push(PatternElement::Exact(*char)),
                TemplatePart::Variable { key, default } => {
                    pattern_elements.extend(value(keys, key, default.as_deref())?.chars().map(PatternElement::Exact));
                }
            }
        }
        Some(pattern_elements)
    }

    /// The text as written, if it is constant.
    pub fn constant(&self) -> Option<&str> {
        match &self.parts[..] {
            [TemplatePart::Text(text)] => Some(text),
            _ => None,
        }
    }
}

/// The value of a variable; `None` for a key with several values.
fn value<'k>(keys: &'k ConditionKeys, key: &str, default: Option<&'k str>) -> Option<&'k str> {
    match keys.get(key) {
        Some(KeyValue::One(value)) => Some(value),
        Some(KeyValue::Many(_)) => None,
        None => default,
    }
}

/// Reads the text between `${` and `}`, and returns the rest.
fn variable(text: &str) -> Option<(TemplatePart, &str)> {
    for char in ['*', '?', '$'] {
        if let Some(rest) = text.strip_prefix(char).and_then(|rest| rest.strip_prefix('}')) {
            return Some((TemplatePart::Literal(char), rest));
        }
    }
    let end = text.find([',', '}', '{', '\''])?;
    let key = text[..end].trim().to_owned();
    if key.is_empty() {
        return None;
    }
    let rest = &text[end..];
    if let Some(rest) = rest.strip_prefix('}') {
        return Some((TemplatePart::Variable { key, default: None }, rest));
    }
    let quoted = rest.strip_prefix(',')?.trim_start().strip_prefix('\'')?;
    let (default, rest) = quoted.split_once('\'')?;
    let default = Some(default.to_owned());
    Some((
        TemplatePart::Variable { key, default },
        rest.trim_start().strip_prefix('}')?,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables() {
        let mut keys = ConditionKeys::default();
        keys.set("aws:username", "ann");
        keys.set("aws:PrincipalTag/a", "x*y");
        keys.set_all("aws:TagKeys", ["one"]);
        for (text, expect) in [
            ("", Some("")),
            ("plain", Some("plain")),
            ("${aws:username}", Some("ann")),
            ("a-${AWS:UserName}-b", Some("a-ann-b")),
            ("${aws:nobody}", None),
            ("${aws:nobody, 'all'}", Some("all")),
            ("${aws:username, 'all'}", Some("ann")),
            ("${aws:TagKeys}", None),
            ("${aws:TagKeys, 'x'}", None),
            ("${*}${?}${$}{", Some("*?${")),
            ("$5", Some("$5")),
        ] {
            let template = Template::parse(text).unwrap();
            assert_eq!(template.text(&keys).as_deref(), expect, "{text}");
        }
        for text in ["${", "${}", "${a", "${a,}", "${a, 'x}", "${a, x}", "${${a}}"] {
            assert!(Template::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_text_without_variables_is_constant() {
        for (text, constant, expect) in [
            ("", true, Some("")),
            ("plain", true, Some("plain")),
            ("a{b}$", true, Some("a{b}$")),
            // Constant, but not as written.
            ("${*}", true, None),
            ("a${$}", true, None),
            ("${aws:username}", false, None),
            ("a-${aws:username, 'x'}", false, None),
        ] {
            let template = Template::parse(text).unwrap();
            assert_eq!(
                (template.is_constant(), template.constant()),
                (constant, expect),
                "{text}"
            );
        }
        assert_eq!(Template::literal("${aws:username}").constant(), Some("${aws:username}"));
    }

    #[test]
    fn only_the_policys_own_wildcards_count() {
        let mut keys = ConditionKeys::default();
        keys.set("aws:PrincipalTag/a", "x*y");
        let pattern = |text: &str| Template::parse(text).unwrap().pattern(&keys).unwrap();
        let matches = |text: &str, value: &str| super::super::pattern::matches(&pattern(text), value, false);
        assert!(matches("${aws:PrincipalTag/a}*", "x*yz"));
        assert!(!matches("${aws:PrincipalTag/a}*", "xxyz"));
        // Nor do those in a variable's default.
        assert!(matches("${aws:nobody, 'x*y?'}*", "x*y?z"));
        assert!(!matches("${aws:nobody, 'x*y?'}*", "xxyyz"));
        assert!(matches("a${*}", "a*"));
        assert!(!matches("a${*}", "ab"));
    }
}
