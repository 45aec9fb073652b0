//! The access control of an engine: the configuration, and the sessions issued since.

use std::sync::Arc;
use std::time::Duration;

use super::directory::{Credential, Directory, Session};
use super::document::PolicyKind;
use super::identity::{Identity, RequestOrigin};
use super::keys::ConditionKeys;
use super::principal::SubjectKind;
use super::read::{self, SESSION_DURATION};
use super::secret::Secret;
use crate::chance;
use crate::clock::Moment;
use crate::error::ApiError;
use crate::sorted::SortedMap;
use crate::sync::{AtomicBool, Ordering, RwLock};
use crate::wire::policy::Node;

/// The number of issued sessions that are stored besides the configured ones; those that expire first are evicted first.
const MOST_SESSIONS: usize = 10_000;

/// The access control in force. Without a configuration everything is allowed.
#[derive(Debug, Default)]
pub struct AccessControl {
    configured: AtomicBool,
    state: RwLock<Configured>,
}

#[derive(Debug, Default)]
struct Configured {
    directory: Arc<Directory>,
    /// Sessions that were issued since, by access key id.
    issued: SortedMap<String, Credential>,
    count: u64,
    /// The configuration that [`AccessControl::restore`] restores.
    initial: Option<Arc<Directory>>,
}

impl Configured {
    /// The credential of an access key, configured or issued. This is the one place where secrets are looked up.
    fn credential(&self, access_key_id: &str) -> Option<&Credential> {
        let configured = self.directory.credential(access_key_id);
        configured.or_else(|| self.issued.get(access_key_id))
    }

    fn add(&mut self, id: &str, secret: Secret, role: &str, session: Session) -> Result<(), String> {
        let principal = self.directory.principal(role);
        let principal = principal.ok_or_else(|| format!("There is no principal {role}."))?;
        read::check_session(&principal, Some(&session))?;
        if self.directory.credential(id).is_some() {
            return Err(format!("The access key {id} is configured already."));
        }
        if self.issued.len() >= MOST_SESSIONS
            && let Some(first) = self
                .issued
                .iter()
                .min_by_key(|(_, credential)| credential.session.as_ref().map(|session| session.expires))
        {
            let first = first.0.clone();
            self.issued.remove(&first);
        }
        self.count += 1;
        let credential = Credential {
            secret,
            principal,
            session: Some(Arc::new(session)),
        };
        self.issued.insert(id.to_owned(), credential);
        Ok(())
    }
}

/// An access key of a request, as one configuration knows it.
#[derive(Debug, Default)]
pub struct KnownKey {
    /// The configured accounts, principals and policies.
    pub directory: Arc<Directory>,
    /// The key's secret, principal and session; `None` if the key is unknown.
    pub credential: Option<Credential>,
}

impl KnownKey {
    /// The caller of a request by its session token, without its signature (docs/behavior: 07 1.2).
    pub fn authenticate(self, token: Option<&str>, origin: RequestOrigin, now: Moment) -> Result<Identity, ApiError> {
        let credential = self.credential.ok_or_else(ApiError::unrecognized_client)?;
        match (&credential.session, token) {
            (None, None) => {}
            (None, Some(_)) => return Err(ApiError::invalid_session_token()),
            (Some(_), None) => return Err(ApiError::unrecognized_client()),
            (Some(session), Some(token)) => {
                if session.token.expose() != token {
                    return Err(ApiError::invalid_session_token());
                }
                if session.expires <= now {
                    return Err(ApiError::expired_token());
                }
            }
        }
        Ok(Identity::new(self.directory, &credential, origin))
    }
}

/// A request to issue a session of a role, user or root user.
///
/// ```
/// use dynatwin_engine::iam::SessionRequest;
///
/// let request = SessionRequest::new("arn:aws:iam::123456789012:role/Reader");
/// assert_eq!(request.name, "session");
/// ```
#[derive(Clone, Debug)]
pub struct SessionRequest {
    /// The ARN of the role, user or root user.
    pub role: String,
    /// The session's name, or the name of the federated user.
    pub name: String,
    /// Whether it is a session of a federated user, which the user of `role` requests.
    pub is_federated: bool,
    /// Condition keys of its requests, such as `www.amazon.com:user_id` or `aws:MultiFactorAuthPresent`.
    pub keys: ConditionKeys,
    /// Session tags as pairs of key and value: the keys `aws:PrincipalTag/…` of the session.
    pub tags: Vec<(String, String)>,
    /// Session policies, as JSON documents or ARNs of managed policies.
    pub policies: Vec<String>,
    /// How long the credentials last.
    pub duration: Duration,
}

impl SessionRequest {
    /// A session of a role that lasts an hour, without tags and policies.
    pub fn new(role: impl Into<String>) -> SessionRequest {
        SessionRequest {
            role: role.into(),
            name: "session".to_owned(),
            is_federated: false,
            keys: ConditionKeys::default(),
            tags: Vec::new(),
            policies: Vec::new(),
            duration: SESSION_DURATION,
        }
    }
}

/// Temporary credentials. Their `Debug` form shows no secret.
///
/// ```
/// use dynatwin_engine::Moment;
/// use dynatwin_engine::iam::{Secret, TemporaryCredentials};
///
/// let credentials = TemporaryCredentials {
///     access_key_id: "ASIA1".into(),
///     secret_access_key: Secret::new("wJalr"),
///     session_token: Secret::new("FwoG"),
///     expires: Moment::START,
/// };
/// assert!(!format!("{credentials:?}").contains("wJalr"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemporaryCredentials {
    /// The access key id, which selects the session when a request is authenticated.
    pub access_key_id: String,
    /// Signs the requests of the session.
    pub secret_access_key: Secret,
    /// Sent as `x-amz-security-token` with each request.
    pub session_token: Secret,
    /// From this moment on requests are refused as expired.
    pub expires: Moment,
}

impl AccessControl {
    /// Whether access control is configured. Without a configuration a request pays this relaxed load.
    #[inline]
    pub fn is_configured(&self) -> bool {
        self.configured.load(Ordering::Relaxed)
    }

    /// Replaces the configuration, or removes it; sessions issued so far are forgotten.
    pub fn configure(&self, directory: Option<Directory>) {
        let mut state = self.state.write();
        self.configured.store(directory.is_some(), Ordering::Relaxed);
        state.directory = Arc::new(directory.unwrap_or_default());
        state.issued.clear();
        state.count = 0;
    }

    /// Makes the present configuration the one that [`restore`](AccessControl::restore) restores.
    pub fn keep(&self) {
        let mut state = self.state.write();
        state.initial = self.is_configured().then(|| state.directory.clone());
    }

    /// Restores the configuration that was kept, if any.
    pub fn restore(&self) {
        let mut state = self.state.write();
        self.configured.store(state.initial.is_some(), Ordering::Relaxed);
        state.directory = state.initial.clone().unwrap_or_default();
        state.issued.clear();
        state.count = 0;
    }

    /// The configuration; empty if there is none.
    pub fn directory(&self) -> Arc<Directory> {
        self.state.read().directory.clone()
    }

    /// What the present configuration knows of an access key; `None` if there is no configuration.
    pub fn find(&self, access_key_id: &str) -> Option<KnownKey> {
        let state = self.state.read();
        self.is_configured().then(|| KnownKey {
            directory: state.directory.clone(),
            credential: state.credential(access_key_id).cloned(),
        })
    }

    /// The caller that a role, a user or a root user is, in its session if there is one; a role always has one.
    pub fn identity_of(
        &self,
        arn: &str,
        session: Option<&SessionRequest>,
        origin: RequestOrigin,
        now: Moment,
    ) -> Result<Identity, String> {
        let directory = self.directory();
        let principal = directory
            .principal(arn)
            .ok_or_else(|| format!("There is no principal {arn}."))?;
        let secret = Secret::new("");
        let default = SessionRequest::new(arn);
        let session = session.or_else(|| (principal.kind == SubjectKind::RoleSession).then_some(&default));
        let session = session.map(|session| new_session(&directory, session, secret.clone(), now).map(Arc::new));
        let session = session.transpose()?;
        read::check_session(&principal, session.as_deref())?;
        let credential = Credential {
            secret,
            principal,
            session,
        };
        Ok(Identity::new(directory, &credential, origin))
    }

    /// Issues temporary credentials of a configured role, user or root user, derived from the seed and the number of earlier
    /// sessions.
    pub fn issue(&self, request: &SessionRequest, seed: u64, now: Moment) -> Result<TemporaryCredentials, String> {
        let mut state = self.state.write();
        let count = state.count;
        let part = |what: &str| format!("{:016X}", chance::decide(seed, what, request.role.as_bytes(), count));
        let credentials = TemporaryCredentials {
            access_key_id: format!("ASIA{}", part("access key")),
            secret_access_key: Secret::new(part("secret access key")),
            session_token: Secret::new(part("session token")),
            expires: now.plus(request.duration),
        };
        let session = new_session(&state.directory, request, credentials.session_token.clone(), now)?;
        let secret = credentials.secret_access_key.clone();
        state.add(&credentials.access_key_id, secret, &request.role, session)?;
        Ok(credentials)
    }

    /// Adds a session of a role with credentials that the caller has chosen: `role`, `accessKeyId`, `secretAccessKey`,
    /// `sessionToken` and what a session of the configuration has. Returns the access key id and the expiry.
    pub fn add_session(&self, session: &Node, now: Moment) -> Result<(String, Moment), String> {
        let role = session
            .member("role")
            .and_then(Node::text)
            .ok_or("session needs role.")?;
        let (id, secret, read) = read::session(session, "session", &self.directory().managed, now)?;
        let expires = read.expires;
        self.state.write().add(id, secret, role, read)?;
        Ok((id.to_owned(), expires))
    }
}

fn new_session(directory: &Directory, request: &SessionRequest, token: Secret, now: Moment) -> Result<Session, String> {
    read::check_session_name(&request.name)?;
    let policies = request.policies.iter().enumerate().map(|(at, text)| {
        let label = format!("session policy {}", at + 1);
        read::attached_text(text, PolicyKind::Session, label, &directory.managed)
    });
    let policies = policies.collect::<Result<Vec<_>, String>>()?;
    Ok(Session {
        name: request.name.clone(),
        token,
        tags: request.tags.clone(),
        is_federated: request.is_federated,
        keys: request.keys.clone(),
        policies: Some(policies).filter(|policies| request.is_federated || !policies.is_empty()),
        issued: now,
        expires: now.plus(request.duration),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIGURATION: &str = r#"{"accounts": {"123456789012": {
        "users": {"ann": {"accessKeys": [{"accessKeyId": "AKIAANN", "secretAccessKey": "very secret"}]}},
        "roles": {"Reader": {}}
    }}}"#;

    fn control() -> AccessControl {
        let control = AccessControl::default();
        control.configure(Some(Directory::read(CONFIGURATION, Moment::START).unwrap()));
        control
    }

    fn arn(control: &AccessControl, key: &str, token: Option<&str>, now: Moment) -> String {
        let known = control.find(key).unwrap();
        let identity = known.authenticate(token, RequestOrigin::default(), now);
        identity.map_or_else(
            |error| error.message().unwrap_or_default().to_owned(),
            |identity| identity.subject().arn.clone(),
        )
    }

    #[test]
    fn principals_of_explanations() {
        let control = control();
        let request = |name: &str, is_federated: bool| SessionRequest {
            name: name.to_owned(),
            is_federated,
            ..SessionRequest::new("")
        };
        let (user, role) = (
            "arn:aws:iam::123456789012:user/ann",
            "arn:aws:iam::123456789012:role/Reader",
        );
        for (principal, session, expect) in [
            (user, None, user),
            (role, None, "arn:aws:sts::123456789012:assumed-role/Reader/session"),
            (
                role,
                Some(request("mine", false)),
                "arn:aws:sts::123456789012:assumed-role/Reader/mine",
            ),
            (
                user,
                Some(request("visitor", true)),
                "arn:aws:sts::123456789012:federated-user/visitor",
            ),
            (
                role,
                Some(request("visitor", true)),
                "arn:aws:iam::123456789012:role/Reader is not a user, so it has no federated sessions.",
            ),
            (
                "arn:aws:iam::123456789012:user/bob",
                None,
                "There is no principal arn:aws:iam::123456789012:user/bob.",
            ),
        ] {
            let identity = control.identity_of(principal, session.as_ref(), RequestOrigin::default(), Moment::START);
            let found = identity.map_or_else(|why| why, |identity| identity.subject().arn.clone());
            assert_eq!(found, expect, "{principal}");
        }
    }

    /// Without session policies a role's session has the role's permissions, and a federated user has none.
    #[test]
    fn sessions_have_the_policies_they_are_issued_with() {
        let directory = Directory::read(CONFIGURATION, Moment::START).unwrap();
        let policy = r#"{"Statement": {"Effect": "Allow", "Action": "*", "Resource": "*"}}"#.to_owned();
        for (is_federated, policies, expect) in [
            (false, vec![], None),
            (false, vec![policy.clone()], Some(1)),
            (true, vec![], Some(0)),
            (true, vec![policy.clone(), policy], Some(2)),
        ] {
            let request = SessionRequest {
                is_federated,
                policies,
                ..SessionRequest::new("arn:aws:iam::123456789012:role/Reader")
            };
            let session = new_session(&directory, &request, Secret::new("t"), Moment::START).unwrap();
            assert_eq!(
                session.policies.map(|policies| policies.len()),
                expect,
                "{is_federated}"
            );
            assert_eq!(session.expires, Moment::START.plus(request.duration));
        }
        for (name, fits) in [("a", false), ("ab", true), ("a b", false)] {
            let request = SessionRequest {
                name: name.to_owned(),
                ..SessionRequest::new("arn:aws:iam::123456789012:role/Reader")
            };
            let session = new_session(&directory, &request, Secret::new("t"), Moment::START);
            assert_eq!(session.is_ok(), fits, "{name}");
        }
    }

    #[test]
    fn callers_are_known_by_their_keys() {
        let control = control();
        let request = SessionRequest::new("arn:aws:iam::123456789012:role/Reader");
        let issued = control.issue(&request, 7, Moment::START).unwrap();
        let (id, token) = (issued.access_key_id.as_str(), issued.session_token.expose());
        let session = "arn:aws:sts::123456789012:assumed-role/Reader/session";
        let unknown = "The security token included in the request is invalid.";
        let invalid = "The security token included in the request is invalid";
        let expired = "The security token included in the request is expired";
        for (key, token, now, expect) in [
            ("AKIAANN", None, Moment::START, "arn:aws:iam::123456789012:user/ann"),
            ("AKIABOB", None, Moment::START, unknown),
            ("AKIAANN", Some("x"), Moment::START, invalid),
            (id, Some(token), Moment::START, session),
            (id, None, Moment::START, unknown),
            (id, Some("x"), Moment::START, invalid),
            (id, Some(token), issued.expires, expired),
        ] {
            assert_eq!(arn(&control, key, token, now), expect, "{key} {token:?}");
        }
        let shown = format!("{control:?} {issued:?}");
        assert!(!shown.contains("very secret") && !shown.contains(token), "{shown}");
    }

    #[test]
    fn sessions_are_refused() {
        let control = control();
        let nobody = SessionRequest::new("arn:aws:iam::123456789012:role/Nobody");
        assert!(control.issue(&nobody, 7, Moment::START).is_err());
        let mut wrong = SessionRequest::new("arn:aws:iam::123456789012:role/Reader");
        wrong.policies.push("{}".to_owned());
        assert_eq!(
            control.issue(&wrong, 7, Moment::START).unwrap_err(),
            "session policy 1: The policy has no statement."
        );
        let node = Node::parse(
            r#"{"role": "arn:aws:iam::123456789012:role/Reader", "accessKeyId": "AKIAANN", "secretAccessKey": "s", "sessionToken": "t"}"#,
            4,
        );
        assert_eq!(
            control.add_session(&node.unwrap(), Moment::START).unwrap_err(),
            "The access key AKIAANN is configured already."
        );
    }

    #[test]
    fn sessions_take_managed_policies() {
        let configuration = CONFIGURATION.replace(
            r#""users""#,
            r#""managedPolicies": {"Reads": {"Statement": {"Effect": "Allow", "Action": "dynamodb:Get*", "Resource": "*"}}}, "users""#,
        );
        let control = AccessControl::default();
        control.configure(Some(Directory::read(&configuration, Moment::START).unwrap()));
        let mut request = SessionRequest::new("arn:aws:iam::123456789012:role/Reader");
        for arn in [
            "arn:aws:iam::123456789012:policy/Reads",
            "arn:aws:iam::aws:policy/AmazonDynamoDBReadOnlyAccess",
        ] {
            request.policies = vec![arn.to_owned()];
            assert!(control.issue(&request, 7, Moment::START).is_ok(), "{arn}");
            let node = format!(
                r#"{{"role": "{}", "accessKeyId": "{arn}", "secretAccessKey": "s", "sessionToken": "t", "policies": ["{arn}"]}}"#,
                request.role
            );
            assert!(
                control
                    .add_session(&Node::parse(&node, 4).unwrap(), Moment::START)
                    .is_ok(),
                "{arn}"
            );
        }
        request.policies = vec!["arn:aws:iam::123456789012:policy/None".to_owned()];
        let refused = control.issue(&request, 7, Moment::START).unwrap_err();
        assert!(
            refused.ends_with("there is no managed policy arn:aws:iam::123456789012:policy/None."),
            "{refused}"
        );
    }

    #[test]
    fn a_configuration_is_removed_and_restored() {
        let control = control();
        control.keep();
        control.configure(None);
        assert!(!control.is_configured() && control.find("AKIAANN").is_none());
        control.restore();
        assert!(control.is_configured() && control.find("AKIAANN").unwrap().credential.is_some());
    }

    #[test]
    fn issued_sessions_are_forgotten_with_their_configuration() {
        let configure: fn(&AccessControl) = |control| {
            let directory = Directory::read(CONFIGURATION, Moment::START);
            control.configure(Some(directory.unwrap()));
        };
        let changes: [fn(&AccessControl); 2] = [AccessControl::restore, configure];
        for change in changes {
            let control = control();
            control.keep();
            let request = SessionRequest::new("arn:aws:iam::123456789012:role/Reader");
            let issue = || control.issue(&request, 7, Moment::START).unwrap().access_key_id;
            let known = |id: &str| control.find(id).unwrap().credential.is_some();
            let id = issue();
            assert!(known(&id));
            change(&control);
            assert!(!known(&id) && known("AKIAANN"));
            assert_eq!(issue(), id, "the sessions of a seed begin again");
        }
    }

    /// A session with the access key of an earlier one takes its place.
    #[test]
    fn a_session_is_added_again_with_other_credentials() {
        let control = control();
        let add = |name: &str| {
            let role = "arn:aws:iam::123456789012:role/Reader";
            let session = format!(
                r#"{{"role": "{role}", "name": "{name}", "accessKeyId": "ASIAONE", "secretAccessKey": "s", "sessionToken": "token of {name}"}}"#
            );
            control
                .add_session(&Node::parse(&session, 4).unwrap(), Moment::START)
                .unwrap();
        };
        let invalid = "The security token included in the request is invalid";
        let caller = |token: &str| arn(&control, "ASIAONE", Some(token), Moment::START);
        for (name, other) in [("first", "second"), ("second", "first"), ("first", "second")] {
            add(name);
            let session = format!("arn:aws:sts::123456789012:assumed-role/Reader/{name}");
            assert_eq!(caller(&format!("token of {name}")), session);
            assert_eq!(caller(&format!("token of {other}")), invalid);
        }
    }

    #[test]
    fn the_session_that_expires_first_makes_room() {
        let control = control();
        let issue = |hours: u64| {
            let mut request = SessionRequest::new("arn:aws:iam::123456789012:role/Reader");
            request.duration = Duration::from_hours(hours);
            control.issue(&request, 7, Moment::START).unwrap().access_key_id
        };
        let known = |id: &str| control.find(id).unwrap().credential.is_some();
        let [long, short] = [9, 1].map(issue);
        let others: Vec<_> = (2..MOST_SESSIONS).map(|_| issue(5)).collect();
        assert!(known(&long) && known(&short));
        let new = issue(3);
        assert!(known(&long) && !known(&short) && others.iter().all(|id| known(id)) && known(&new));
    }

    /// A reset to the beginning ends access control that was configured since.
    #[test]
    fn without_an_initial_configuration_there_is_none_after_a_reset() {
        let control = AccessControl::default();
        control.keep();
        control.configure(Some(Directory::read(CONFIGURATION, Moment::START).unwrap()));
        assert!(control.is_configured());
        control.restore();
        assert!(!control.is_configured() && control.find("AKIAANN").is_none());
    }
}
