//! The authenticated caller of a request, and the configuration of access control.

use std::borrow::Cow;

use super::Engine;
use crate::access::{Credential, Directory, Identity, KnownKey, RequestOrigin, SessionRequest, TemporaryCredentials};
use crate::answer::HttpRequest;
use crate::caller::Caller;
use crate::clock::Moment;
use crate::error::ApiError;
use crate::wire;
use crate::wire::envelope::{self, Call, Service, SigningKey};

/// The header that names the VPC endpoint of a request.
pub const VPC_ENDPOINT_HEADER: &str = "x-dynatwin-vpc-endpoint";
/// The header with the source IP address of a request.
pub const SOURCE_IP_HEADER: &str = "x-dynatwin-source-ip";
/// The header for `aws:SecureTransport`: `true`, the default, or `false`.
pub const SECURE_TRANSPORT_HEADER: &str = "x-dynatwin-secure-transport";

/// The owner of the tables that a request sees, and the identity to authorize.
pub(super) struct Authenticated<'c> {
    pub caller: Cow<'c, Caller>,
    pub identity: Option<Box<Identity>>,
}

impl<'c> Authenticated<'c> {
    fn unidentified(caller: &'c Caller) -> Authenticated<'c> {
        Authenticated {
            caller: Cow::Borrowed(caller),
            identity: None,
        }
    }

    /// A caller who sees the tables of its account.
    fn known(caller: &Caller, identity: Identity) -> Authenticated<'c> {
        let caller = Caller {
            access_key: identity.account().into(),
            region: caller.region.clone(),
        };
        Authenticated {
            caller: Cow::Owned(caller),
            identity: Some(Box::new(identity)),
        }
    }
}

impl Engine {
    /// The caller of a request over HTTP. Without a configuration every access key is valid.
    #[inline]
    pub(super) fn authenticate<'c>(
        &self,
        request: &HttpRequest<'_>,
        call: &'c Call<'_>,
        now: Moment,
    ) -> Result<Authenticated<'c>, ApiError> {
        if self.state.access().is_configured()
            && let Some(known) = self.state.access().find(&call.caller.access_key)
        {
            authenticate_known(known, request, call, now)
        } else if let Some(keys) = &self.signing_keys {
            verify(request, call, now, |id| keys.get(id).cloned())?;
            Ok(Authenticated::unidentified(&call.caller))
        } else {
            Ok(Authenticated::unidentified(&call.caller))
        }
    }

    /// Makes the engine verify the signature of each request over HTTP with these keys, by access key id, for as long
    /// as access control is not configured. With access control the configured keys are used instead.
    ///
    /// ```
    /// use dynatwin_engine::http::HttpRequest;
    /// use dynatwin_engine::{Clock, Conditions, Engine, Moment, Settings};
    ///
    /// let clock = Clock::settable(Moment::START);
    /// let engine = Engine::new(Settings { clock, seed: 7, conditions: Conditions::CALM, shared_db: false });
    /// let engine = engine.verifying_signatures([]);
    /// let authorization = "AWS4-HMAC-SHA256 Credential=AKIA/20260101/us-east-1/dynamodb/aws4_request, \
    ///     SignedHeaders=host;x-amz-date, Signature=00";
    /// let headers = [
    ///     ("host", "localhost"),
    ///     ("x-amz-date", "20260101T000000Z"),
    ///     ("x-amz-target", "DynamoDB_20120810.ListTables"),
    ///     ("content-type", "application/x-amz-json-1.0"),
    ///     ("authorization", authorization),
    /// ];
    /// let request = HttpRequest { method: "POST", target: "/", headers: &headers, body: b"{}" };
    /// let answer = engine.handle(&request);
    /// assert!(String::from_utf8_lossy(&answer.body).contains("UnrecognizedClientException"));
    /// ```
    #[must_use]
    pub fn verifying_signatures(self, keys: impl IntoIterator<Item = (String, SigningKey)>) -> Engine {
        let signing_keys = Some(keys.into_iter().collect());
        Engine { signing_keys, ..self }
    }

    /// The caller of a request below the envelope, by its access key alone.
    pub(super) fn authenticate_key<'c>(&self, caller: &'c Caller, now: Moment) -> Result<Authenticated<'c>, ApiError> {
        let access = self.state.access();
        if access.is_configured()
            && let Some(known) = access.find(&caller.access_key)
        {
            let identity = known.authenticate(None, RequestOrigin::default(), now)?;
            return Ok(Authenticated::known(caller, identity));
        }
        Ok(Authenticated::unidentified(caller))
    }

    /// Sets the configuration of access control, which [`reset_all`](crate::controls::Controls::reset_all) restores.
    ///
    /// ```
    /// use dynatwin_engine::iam::Directory;
    /// use dynatwin_engine::{Caller, Clock, Conditions, Engine, Moment, Settings};
    ///
    /// let json = r#"{"accounts": {"123456789012": {"accessKeys": [{"accessKeyId": "AKIAROOT", "secretAccessKey": "s"}]}}}"#;
    /// let directory = Directory::read(json, Moment::START).unwrap();
    /// let (clock, conditions) = (Clock::settable(Moment::START), Conditions::CALM);
    /// let engine = Engine::new(Settings { clock, seed: 7, conditions, shared_db: false }).with_access(directory);
    /// let status = |key: &str| {
    ///     let caller = Caller { access_key: key.into(), region: "us-east-1".into() };
    ///     engine.dispatch(&caller, "ListTables", b"{}").status
    /// };
    /// assert_eq!((status("AKIAROOT"), status("AKIANOBODY")), (200, 400));
    /// ```
    #[must_use]
    pub fn with_access(self, directory: Directory) -> Engine {
        self.set_initial_access(directory);
        self
    }

    /// Replaces the configuration of access control, also for later resets of everything.
    pub fn set_initial_access(&self, directory: Directory) {
        self.state.access().configure(Some(directory));
        self.state.access().keep();
    }

    /// Replaces the configuration of access control. With `None` everything is allowed again.
    pub fn configure_access(&self, directory: Option<Directory>) {
        self.state.access().configure(directory);
    }

    /// The configuration of access control; empty if there is none.
    pub fn access(&self) -> std::sync::Arc<Directory> {
        self.state.access().directory()
    }

    /// Issues temporary credentials of a configured role. The error is a sentence that describes the problem.
    pub fn issue_session(&self, request: &SessionRequest) -> Result<TemporaryCredentials, String> {
        let access = self.state.access();
        access.issue(request, self.state.seed(), self.clock.now())
    }

    /// The account that a caller's access key belongs to, for controls that name tables.
    pub(super) fn owner(&self, caller: &Caller) -> Caller {
        let credential = self
            .state
            .access()
            .find(&caller.access_key)
            .and_then(|known| known.credential);
        let account = credential.map(|credential| credential.principal.account.as_str().into());
        Caller {
            access_key: account.unwrap_or_else(|| caller.access_key.clone()),
            region: caller.region.clone(),
        }
    }
}

#[cold]
fn authenticate_known<'c>(
    known: KnownKey,
    request: &HttpRequest<'_>,
    call: &'c Call<'_>,
    now: Moment,
) -> Result<Authenticated<'c>, ApiError> {
    verify(request, call, now, |_| known.credential.as_ref().map(signing_key))?;
    let token = envelope::session_token(request);
    let origin = origin(&known.directory, request, call.service);
    match known.authenticate(token.as_deref(), origin, now) {
        Ok(identity) => Ok(Authenticated::known(&call.caller, identity)),
        // Invalid JSON is reported before credentials are checked.
        Err(_) if !call.body.is_empty() && wire::reader::check_syntax(&call.body).is_err() => {
            Err(wire::decode::not_json())
        }
        Err(error) => Err(error),
    }
}

/// The key that requests with a configured credential are signed with.
fn signing_key(credential: &Credential) -> SigningKey {
    let session = credential.session.as_ref();
    SigningKey {
        secret: credential.secret.expose().to_owned(),
        session_token: session.map(|session| session.token.expose().to_owned()),
        expires: session.map(|session| session.expires),
    }
}

/// The origin of a request. Streams have no gateway endpoint, so their requests do not pass one.
fn origin(directory: &Directory, request: &HttpRequest<'_>, service: Service) -> RequestOrigin {
    let text = |name: &str| {
        let value = request
            .headers
            .get(name)
            .and_then(|value| std::str::from_utf8(value).ok());
        value
            .map(|value| value.trim().to_owned())
            .filter(|value| !value.is_empty())
    };
    let passes = |id: &String| {
        service != Service::Streams || !directory.endpoint(id).is_some_and(|endpoint| endpoint.is_gateway)
    };
    RequestOrigin {
        source_ip: text(SOURCE_IP_HEADER),
        endpoint: text(VPC_ENDPOINT_HEADER).filter(passes),
        secure_transport: text(SECURE_TRANSPORT_HEADER).map(|value| value == "true"),
        user_agent: text("user-agent"),
    }
}

/// Verifies a request's signature. A body that is not valid JSON is found before credentials are looked at.
#[cold]
fn verify(
    request: &HttpRequest<'_>,
    call: &Call<'_>,
    now: Moment,
    key: impl FnOnce(&str) -> Option<SigningKey>,
) -> Result<(), ApiError> {
    match envelope::verify_signature(request, now, key) {
        Err(_) if !call.body.is_empty() && wire::reader::check_syntax(&call.body).is_err() => {
            Err(wire::decode::not_json())
        }
        verified => verified,
    }
}
