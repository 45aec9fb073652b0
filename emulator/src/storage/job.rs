//! Changes of a table that take their time, and those that may come only so often.

use crate::clock::Moment;

/// When what may change only so often was changed last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recent {
    /// The tags.
    pub tags: Option<Moment>,
}
