//! Access control: the policy language, principals, and the authorization decision.
//!
//! Everything here is pure: policies and keys in, a decision out. The pipeline determines a request's actions, resources and
//! keys; the service's answers to denied requests are in `error`.

mod actions;
mod condition;
mod control;
mod directory;
mod document;
mod evaluate;
mod identity;
mod keys;
mod lint;
mod pattern;
mod principal;
mod read;
mod request;
mod secret;
mod template;
mod usage;
mod value;

pub use actions::actions;
pub use control::{AccessControl, KnownKey, SessionRequest, TemporaryCredentials};
pub use directory::{Credential, Directory, PolicyWarning};
pub use document::{PolicyDocument, PolicyKind, PolicyStatement, StatementInput};
pub use evaluate::{AttachedPolicy, DecidingStatement, Decision, Denial, PolicySet};
pub use identity::{Evaluation, Explanation, Identity, RequestOrigin, ResourceFacts, StatementReport};
pub use keys::{ConditionKeys, KeyValue};
pub use lint::Warning;
pub use principal::{Subject, SubjectKind};
pub use request::{AccessRequest, PartitionKeyValues};
pub use secret::Secret;
pub use usage::{ReportedKeys, Usage, UsedPermission, UsedStatement};
