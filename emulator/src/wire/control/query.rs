//! The parameters of a control's query.

use super::{ControlError, ControlResult, shortened};

/// A parameter of a control's query.
///
/// ```
/// use dynatwin_engine::controls::Parameter;
///
/// const LIMIT: Parameter = Parameter::number("limit", 100, 1000);
/// assert_eq!((LIMIT.default, LIMIT.maximum), (100, 1000));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// The name in the query string.
    pub name: &'static str,
    /// The value of a number that is not sent.
    pub default: u64,
    /// The maximum of a number.
    pub maximum: u64,
}

impl Parameter {
    /// A parameter that is not a bounded number.
    pub const fn new(name: &'static str) -> Parameter {
        Parameter::number(name, 0, u64::MAX)
    }

    /// A whole number from 1 to `maximum`, which is `default` if it is not sent.
    pub const fn number(name: &'static str, default: u64, maximum: u64) -> Parameter {
        Parameter { name, default, maximum }
    }
}

/// The query of a control that declares these parameters. Others are an error, so that a misspelt one is not ignored.
#[derive(Clone, Copy, Debug)]
pub struct Query<'a> {
    sent: &'a [(String, String)],
    declared: &'a [Parameter],
}

impl<'a> Query<'a> {
    /// The query, if all of its parameters are declared. A control that declares none ignores them.
    pub fn of(sent: &'a [(String, String)], declared: &'a [Parameter]) -> ControlResult<Query<'a>> {
        let is_unknown = |name: &str| !declared.is_empty() && declared.iter().all(|parameter| parameter.name != name);
        match sent.iter().find(|(name, _)| is_unknown(name)) {
            None => Ok(Query { sent, declared }),
            Some((name, _)) => {
                let known: Vec<&str> = declared.iter().map(|parameter| parameter.name).collect();
                Err(ControlError::malformed(format!(
                    "There is no parameter \"{}\"; the parameters are {}.",
                    shortened(name),
                    known.join(", ")
                )))
            }
        }
    }

    /// A parameter's text; of parameters sent twice the last one counts, and an empty one is absent.
    pub fn text(&self, name: &str) -> Option<&'a str> {
        let found = self.sent.iter().rfind(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
    }

    pub fn whole(&self, name: &str) -> ControlResult<Option<u64>> {
        let read = |text: &str| {
            let wrong =
                |_| ControlError::malformed(format!("{name} must be a whole number, not \"{}\".", shortened(text)));
            text.parse().map_err(wrong)
        };
        self.text(name).map(read).transpose()
    }

    /// A flag: `true` or `false`.
    pub fn flag(&self, name: &str) -> ControlResult<bool> {
        match self.text(name) {
            None | Some("false") => Ok(false),
            Some("true") => Ok(true),
            Some(_) => Err(ControlError::malformed(format!("{name} must be true or false."))),
        }
    }

    /// The maximum number of elements of a page: `limit`, from 1 to its maximum, or its default.
    pub fn limit(&self) -> ControlResult<usize> {
        let declared = self.declared.iter().find(|parameter| parameter.name == "limit");
        let Parameter { default, maximum, .. } = declared.copied().unwrap_or(Parameter::new("limit"));
        let limit = self.whole("limit")?.unwrap_or(default);
        if !(1..=maximum).contains(&limit) {
            return Err(ControlError::malformed(format!("limit must be from 1 to {maximum}.")));
        }
        Ok(usize::try_from(limit).unwrap_or(usize::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_parameter_is_refused() {
        const AFTER: Parameter = Parameter::new("after");
        let sent = [("limit".to_owned(), "5".to_owned())];
        let declared = [AFTER, Parameter::number("limit", 100, 1000)];
        let query = Query::of(&sent, &declared).unwrap();
        assert_eq!((query.limit(), query.text("after")), (Ok(5), None));
        let refusal = Query::of(&sent, &[AFTER]).err().unwrap();
        assert_eq!(
            refusal.to_string(),
            "There is no parameter \"limit\"; the parameters are after."
        );
        for sent in [
            ["afetr", "limit", "after"],
            ["limit", "afetr", "after"],
            ["limit", "after", "afetr"],
        ] {
            let sent = sent.map(|name| (name.to_owned(), "5".to_owned()));
            let refusal = Query::of(&sent, &declared).err().map(|error| error.to_string());
            let expect = "There is no parameter \"afetr\"; the parameters are after, limit.";
            assert_eq!(refusal.as_deref(), Some(expect), "{sent:?}");
        }
    }

    /// A parameter without a value has its default, or none.
    #[test]
    fn an_empty_parameter_is_absent() {
        let sent = ["limit", "after", "bodies"].map(|name| (name.to_owned(), String::new()));
        let declared = [
            Parameter::new("after"),
            Parameter::new("bodies"),
            Parameter::number("limit", 100, 1000),
        ];
        let query = Query::of(&sent, &declared).unwrap();
        assert_eq!((query.limit(), query.flag("bodies")), (Ok(100), Ok(false)));
        assert_eq!((query.whole("after"), query.text("after")), (Ok(None), None));
    }

    #[test]
    fn a_limit_is_at_least_one() {
        let declared = [Parameter::number("limit", 100, 1000)];
        for (limit, accepted) in [
            ("0", false),
            ("1", true),
            ("1000", true),
            ("1001", false),
            ("-1", false),
        ] {
            let sent = [("limit".to_owned(), limit.to_owned())];
            let query = Query::of(&sent, &declared).unwrap();
            assert_eq!(query.limit().is_ok(), accepted, "{limit}");
        }
    }

    /// Of a parameter sent several times the last counts.
    #[test]
    fn a_parameter_may_be_sent_twice() {
        let sent = ["1", "3", "2"].map(|limit| ("limit".to_owned(), limit.to_owned()));
        let declared = [Parameter::number("limit", 100, 1000)];
        for (count, expect) in [(0, 100), (1, 1), (2, 3), (3, 2)] {
            assert_eq!(
                Query::of(&sent[..count], &declared).unwrap().limit(),
                Ok(expect),
                "{count}"
            );
        }
    }
}
