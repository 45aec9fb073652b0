//! Access control in tests: clients of roles, users and root users.

use std::sync::Arc;
use std::time::Duration;

use aws_sdk_dynamodb::config::{Credentials, SharedHttpClient};
use aws_sdk_dynamodb::{Client, config};
use dynatwin_engine::Moment;
use dynatwin_engine::http::{HttpRequest, SECURE_TRANSPORT_HEADER, SOURCE_IP_HEADER, VPC_ENDPOINT_HEADER};
use dynatwin_engine::iam::{Directory, PolicyWarning, SessionRequest};

use crate::account::Account;
use crate::connector::Connector;
use crate::twin::Twin;

/// A principal of the configured accounts whose credentials clients use. Created by [`Twin::as_role`],
/// [`Twin::as_user`] and [`Twin::as_root`].
///
/// ```
/// use aws_sdk_dynamodb::types::AttributeValue;
/// use dynatwin::Twin;
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let twin = Twin::builder()
///     .access(r#"{"accounts": {"123456789012": {"roles": {"Tenant": {"policies": [{
///         "Version": "2012-10-17",
///         "Statement": [{
///             "Effect": "Allow", "Action": "dynamodb:GetItem", "Resource": "*",
///             "Condition": {"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": "${aws:PrincipalTag/tenant}"}}
///         }]
///     }]}}}}}"#)
///     .build();
/// twin.as_root("123456789012").account().table("Items").hash("PK").create().await?;
///
/// let blue = twin.as_role("arn:aws:iam::123456789012:role/Tenant").tags([("tenant", "blue")]).client();
/// let get = |tenant: &str| blue.get_item().table_name("Items").key("PK", AttributeValue::S(tenant.into())).send();
/// assert!(get("blue").await.is_ok());
/// assert!(format!("{:?}", get("red").await.unwrap_err()).contains("AccessDeniedException"));
/// # Ok(())
/// # }
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(example()).unwrap();
/// ```
#[derive(Clone, Debug)]
pub struct Principal {
    twin: Twin,
    region: String,
    session: SessionRequest,
    headers: Vec<(&'static str, String)>,
}

impl Principal {
    pub(crate) fn new(twin: Twin, arn: &str) -> Principal {
        Principal {
            twin,
            region: "us-east-1".to_owned(),
            session: SessionRequest::new(arn),
            headers: Vec::new(),
        }
    }

    /// Sets the region; `us-east-1` by default.
    pub fn region(mut self, region: &str) -> Principal {
        region.clone_into(&mut self.region);
        self
    }

    /// Sets the session's name, which is part of the ARN in error messages.
    pub fn session_name(mut self, name: &str) -> Principal {
        name.clone_into(&mut self.session.name);
        self
    }

    /// Makes this a federated user of this name, whose session the user requests, as by GetFederationToken. It may do what
    /// both the user's policies and [`session_policy`](Principal::session_policy) allow.
    pub fn federated(mut self, name: &str) -> Principal {
        self.session.is_federated = true;
        self.session_name(name)
    }

    /// Sets a condition key of requests, such as `www.amazon.com:user_id` after sign-in with an identity provider, or
    /// `aws:MultiFactorAuthPresent`.
    pub fn context_key(mut self, name: &str, value: &str) -> Principal {
        self.session.keys.set(name, value);
        self
    }

    /// Sets session tags, which override the role's tags of the same name.
    pub fn tags<'a>(mut self, tags: impl IntoIterator<Item = (&'a str, &'a str)>) -> Principal {
        let tags = tags.into_iter().map(|(tag, value)| (tag.to_owned(), value.to_owned()));
        self.session.tags.extend(tags);
        self
    }

    /// Adds a session policy, as a JSON document. An action is allowed if any of several session policies allows it.
    pub fn session_policy(mut self, document: &str) -> Principal {
        self.session.policies.push(document.to_owned());
        self
    }

    /// Sets the lifetime of the credentials by the twin's clock; an hour by default.
    pub fn duration(mut self, duration: Duration) -> Principal {
        self.session.duration = duration;
        self
    }

    /// Sets the source IP address of requests.
    pub fn source_ip(self, address: &str) -> Principal {
        self.header(SOURCE_IP_HEADER, address)
    }

    /// Sets the id of the VPC endpoint that requests pass through.
    pub fn vpc_endpoint(self, id: &str) -> Principal {
        self.header(VPC_ENDPOINT_HEADER, id)
    }

    /// Sets whether requests use TLS; `true` by default.
    pub fn secure_transport(self, secure: bool) -> Principal {
        self.header(SECURE_TRANSPORT_HEADER, if secure { "true" } else { "false" })
    }

    fn header(mut self, name: &'static str, value: &str) -> Principal {
        self.headers.retain(|(known, _)| *known != name);
        self.headers.push((name, value.to_owned()));
        self
    }

    /// Returns temporary credentials, which expire on the twin's clock.
    ///
    /// # Panics
    ///
    /// Panics if the principal does not exist or a session policy is malformed.
    #[track_caller]
    pub fn credentials(&self) -> Credentials {
        let issued = self.twin.engine().issue_session(&self.session);
        let issued = issued.unwrap_or_else(|why| panic!("{why}"));
        Credentials::new(
            issued.access_key_id,
            issued.secret_access_key.expose(),
            Some(issued.session_token.expose().to_owned()),
            None,
            "dynatwin",
        )
    }

    fn http_client(&self) -> SharedHttpClient {
        let connector = Connector::new(self.twin.shared_engine(), self.twin.clock());
        SharedHttpClient::new(connector.with_headers(Arc::from(self.headers.clone())))
    }

    /// Returns the principal's account, with clients that use the principal's credentials.
    ///
    /// # Panics
    ///
    /// Panics if the principal does not exist or a session policy is malformed.
    #[track_caller]
    pub fn account(&self) -> Account {
        let account = self.session.role.split(':').nth(4).unwrap_or_default();
        let tables = Account::new(self.twin.emulator().clone(), account, &self.region);
        tables.calling_as(self.credentials(), self.http_client())
    }

    /// Returns a client that uses the principal's credentials.
    ///
    /// # Panics
    ///
    /// Panics if the principal does not exist or a session policy is malformed.
    #[track_caller]
    pub fn client(&self) -> Client {
        self.account().client()
    }

    /// Returns the configuration of [`client`](Principal::client), to change it before the client is built.
    #[track_caller]
    pub fn config(&self) -> config::Builder {
        self.account().config()
    }

    /// Returns a DynamoDB Streams client that uses the principal's credentials.
    #[track_caller]
    pub fn streams(&self) -> aws_sdk_dynamodbstreams::Client {
        self.account().streams()
    }
}

impl Twin {
    /// Replaces the accounts, principals and policies (see `docs/access.md`), in JSON or YAML, and returns warnings
    /// about valid policies with a known trap. From then on every request needs credentials of a configured principal:
    /// those of [`as_role`](Twin::as_role), [`as_user`](Twin::as_user) and [`as_root`](Twin::as_root).
    ///
    /// # Errors
    ///
    /// Returns a sentence that describes the first invalid member.
    ///
    /// ```
    /// use dynatwin::Twin;
    ///
    /// let twin = Twin::seeded(7);
    /// let warnings = twin.set_access("accounts: {'123456789012': {roles: {Reader: {}}}}")?;
    /// assert!(warnings.is_empty());
    /// assert!(twin.set_access("accounts: {'1': {}}").is_err());
    /// # Ok::<(), String>(())
    /// ```
    pub fn set_access(&self, configuration: &str) -> Result<Vec<PolicyWarning>, String> {
        let directory = read(configuration, self.engine().clock().now())?;
        let warnings = directory.warnings();
        self.engine().configure_access(Some(directory));
        Ok(warnings)
    }

    /// Removes the configuration, so that every request is allowed again.
    pub fn remove_access(&self) {
        self.engine().configure_access(None);
    }

    /// Returns the decision on a request, with the deciding statement and the values of the condition keys. Question
    /// and answer are those of `POST /_dynatwin/access/explain`, in JSON.
    ///
    /// # Errors
    ///
    /// Returns a sentence that describes why the question is invalid.
    ///
    /// ```
    /// use dynatwin::Twin;
    ///
    /// let twin = Twin::builder().access("accounts: {'123456789012': {roles: {Reader: {}}}}").build();
    /// let explained = twin.explain_access(
    ///     r#"{"principal": "arn:aws:iam::123456789012:role/Reader", "action": "dynamodb:GetItem",
    ///         "resource": "arn:aws:dynamodb:us-east-1:123456789012:table/Orders"}"#,
    /// )?;
    /// assert!(explained.contains("because no identity-based policy allows the dynamodb:GetItem action"));
    /// # Ok::<(), String>(())
    /// ```
    pub fn explain_access(&self, question: &str) -> Result<String, String> {
        let headers = [("host", "localhost"), ("content-type", "application/json")];
        let answer = self.engine().handle(&HttpRequest {
            method: "POST",
            target: "/_dynatwin/access/explain",
            headers: &headers,
            body: question.as_bytes(),
        });
        let text = String::from_utf8_lossy(&answer.body).into_owned();
        if answer.status == 200 { Ok(text) } else { Err(text) }
    }

    /// Returns the principal of a role session, such as of `arn:aws:iam::123456789012:role/Reader`.
    pub fn as_role(&self, arn: &str) -> Principal {
        Principal::new(self.clone(), arn)
    }

    /// Returns a user, such as `arn:aws:iam::123456789012:user/ann`.
    pub fn as_user(&self, arn: &str) -> Principal {
        Principal::new(self.clone(), arn)
    }

    /// Returns the root user of an account, who may do everything in it.
    pub fn as_root(&self, account: &str) -> Principal {
        Principal::new(self.clone(), &format!("arn:aws:iam::{account}:root"))
    }
}

/// Reads a configuration in YAML, which includes JSON.
pub(crate) fn read(configuration: &str, now: Moment) -> Result<Directory, String> {
    let json = dynatwin_seed::to_json("access.yaml", configuration).map_err(|error| error.to_string())?;
    Directory::read(&json, now)
}
