//! KMS keys of encrypted tables.

use crate::chance::StableHash;
use crate::context::Context;
use crate::operation::tables::description;

/// The alias of the key that AWS manages for each account.
const SERVICE_KEY: &str = "alias/aws/dynamodb";

/// The ARN of a key named by its id, by an alias or by the ARN of either; the AWS-managed key by default.
///
/// The emulator stores no keys: an alias always resolves to the same one, as the service resolves it once and describes
/// the key.
pub fn key_arn(context: &Context<'_>, named: Option<&str>) -> String {
    key_arn_in(context, context.region, named)
}

/// Whether a name is that of the AWS-managed key.
pub fn is_service_key(named: &str) -> bool {
    named.ends_with(SERVICE_KEY)
}

/// The ARN of a key of a region.
pub fn key_arn_in(context: &Context<'_>, region: &str, named: Option<&str>) -> String {
    let named = named.unwrap_or(SERVICE_KEY);
    let arn = if named.starts_with("arn:") {
        named.to_owned()
    } else {
        let kind = if named.starts_with("alias/") { "" } else { "key/" };
        format!("arn:aws:kms:{region}:{}:{kind}{named}", context.account)
    };
    let Some((home, _)) = arn.split_once(":alias/") else {
        return arn;
    };
    let hash = StableHash::new(0).bytes(arn.as_bytes());
    let id = description::uuid(hash.finish(), hash.word(1).finish());
    format!("{home}:key/{id}")
}
