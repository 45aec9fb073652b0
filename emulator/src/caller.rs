//! The caller of a request.

use compact_str::CompactString;

/// The caller of a request: the account and region of its credentials. Each caller has its own tables.
///
/// ```
/// use dynatwin_engine::Caller;
///
/// let caller = Caller { access_key: "123456789012".into(), region: "eu-west-1".into() };
/// assert_eq!(caller.account(), "123456789012");
/// let caller = Caller { access_key: "abcdef012345".into(), region: "eu-west-1".into() };
/// assert_eq!(caller.account(), "000000000000");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Caller {
    /// The access key, which separates one set of tables from another.
    pub access_key: CompactString,
    /// The region of the credential scope.
    pub region: CompactString,
}

impl Caller {
    /// The account number in ARNs: the access key if it has the form of one.
    pub fn account(&self) -> &str {
        let key = self.access_key.as_str();
        if key.len() == 12 && key.bytes().all(|byte| byte.is_ascii_digit()) {
            key
        } else {
            "000000000000"
        }
    }
}
