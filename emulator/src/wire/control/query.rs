//! The parameters of a control's query.

use super::{ControlError, ControlResult, shortened};

/// The parameters of a query that was checked to have no others than these, so that a misspelt one is not ignored.
///
/// ```
/// use dynatwin_engine::wire::control::Query;
///
/// let sent = [("limit".to_owned(), "5".to_owned())];
/// let query = Query::of(&sent, &["after", "limit"]).unwrap();
/// assert_eq!((query.whole("limit").unwrap(), query.text("after")), (Some(5), None));
/// let refusal = Query::of(&sent, &["after"]).err().unwrap();
/// assert_eq!(refusal.to_string(), "There is no parameter \"limit\": there are after.");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Query<'a>(&'a [(String, String)]);

impl<'a> Query<'a> {
    /// The parameters, if all of them are known.
    pub fn of(sent: &'a [(String, String)], known: &[&str]) -> ControlResult<Query<'a>> {
        match sent.iter().find(|(name, _)| !known.contains(&name.as_str())) {
            None => Ok(Query(sent)),
            Some((name, _)) => Err(ControlError::malformed(format!(
                "There is no parameter \"{}\": there are {}.",
                shortened(name),
                known.join(", ")
            ))),
        }
    }

    /// A parameter's text; of parameters sent twice the last one counts, and an empty one is absent.
    pub fn text(&self, name: &str) -> Option<&'a str> {
        let found = self.0.iter().rfind(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
    }

    /// A whole number.
    pub fn whole(&self, name: &str) -> ControlResult<Option<u64>> {
        let read = |text: &str| {
            let wrong =
                |_| ControlError::malformed(format!("{name} is a whole number, and not \"{}\".", shortened(text)));
            text.parse().map_err(wrong)
        };
        self.text(name).map(read).transpose()
    }

    /// A flag: `true` or `false`.
    pub fn flag(&self, name: &str) -> ControlResult<bool> {
        match self.text(name) {
            None | Some("false") => Ok(false),
            Some("true") => Ok(true),
            Some(_) => Err(ControlError::malformed(format!("{name} is true or false."))),
        }
    }

    /// How many elements a page has at most: `limit`, from 1 to `most`; without one, `usual`.
    pub fn limit(&self, usual: usize, most: usize) -> ControlResult<usize> {
        let limit = self
            .whole("limit")?
            .map_or(Some(usual), |limit| usize::try_from(limit).ok());
        limit
            .filter(|limit| (1..=most).contains(limit))
            .ok_or_else(|| ControlError::malformed(format!("limit is from 1 to {most}.")))
    }
}
