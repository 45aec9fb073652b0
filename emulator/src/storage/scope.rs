//! The owner of tables, backups and transfers.

use compact_str::CompactString;

use crate::caller::Caller;
use crate::chance::StableHash;

/// The owner of tables: an account in a region.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Scope {
    /// The account: the access key, or empty if all callers share one.
    pub account: CompactString,
    /// The region, or empty if all callers share one.
    pub region: CompactString,
}

impl Scope {
    /// Separates the counters of random decisions: those of an account do not depend on other accounts.
    pub fn hash(&self) -> u64 {
        let name = StableHash::new(0).bytes(self.account.as_bytes());
        name.bytes(self.region.as_bytes()).finish()
    }

    /// The owner of the tables: one without a name, if all callers share them.
    pub fn owner(&self) -> Caller {
        Caller {
            access_key: self.account.clone(),
            region: self.region.clone(),
        }
    }
}
