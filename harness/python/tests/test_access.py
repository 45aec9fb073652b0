"""Access control: principals in process, and signed clients of the server."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.config import Config
from botocore.credentials import Credentials
from botocore.exceptions import ClientError

from dynatwin import Twin

ACCOUNT = "123456789012"
TENANT = f"arn:aws:iam::{ACCOUNT}:role/Tenant"
TABLE = f"arn:aws:dynamodb:us-east-1:{ACCOUNT}:table/Items"
OWN = {"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": ["${aws:PrincipalTag/tenant}"]}}
STATEMENT = {"Effect": "Allow", "Action": ["dynamodb:GetItem", "dynamodb:PutItem"], "Resource": "*", "Condition": OWN}
SESSION = {"name": "cli", "accessKeyId": "ASIACLI", "secretAccessKey": "session secret", "sessionToken": "session token"}
EXPIRED = {**SESSION, "accessKeyId": "ASIAOLD", "expires": "2026-01-01T00:00:00Z"}
IAM: dict[str, Any] = {
    "accounts": {
        ACCOUNT: {
            "accessKeys": [{"accessKeyId": "AKIAROOT", "secretAccessKey": "root secret"}],
            "users": {"ann": {}},
            "roles": {
                "Tenant": {
                    "tags": {"tenant": "green"},
                    "policies": [{"Version": "2012-10-17", "Statement": STATEMENT}],
                    "sessions": [SESSION, EXPIRED],
                }
            },
        }
    },
    "vpcEndpoints": {
        "vpce-1": {
            "policy": {
                "Statement": {"Effect": "Allow", "Principal": "*", "Action": "dynamodb:PutItem", "Resource": "*"}
            }
        }
    },
}


def key(value: str) -> dict[str, Any]:
    return {"id": {"S": value}}


def code(error: pytest.ExceptionInfo[ClientError]) -> str:
    name: str = error.value.response["Error"]["Code"]
    return name


@pytest.fixture
def guarded() -> Iterator[Twin]:
    """A twin with access control, and a table ``Items``."""
    with Twin(seed=7, iam=IAM) as twin:
        twin.create_table("Items", "id", ttl="expires", as_principal=twin.as_root(ACCOUNT))
        yield twin


def test_a_configuration_is_a_mapping_its_json_or_a_path(tmp_path: Path) -> None:
    file = tmp_path / "access.json"
    file.write_text(json.dumps(IAM))
    forms: list[Any] = [IAM, f" {json.dumps(IAM)}", file, str(file)]
    for iam in forms:
        assert Twin(seed=7, iam=iam).as_root(ACCOUNT).arn == f"arn:aws:iam::{ACCOUNT}:root"
    with pytest.raises(FileNotFoundError):
        Twin(seed=7, iam=str(tmp_path / "other.json"))


def test_a_role_sees_what_its_tags_and_policies_allow(guarded: Twin) -> None:
    blue = guarded.as_role(TENANT, tags={"tenant": "blue"}).client()
    blue.put_item(TableName="Items", Item=key("blue"))
    assert blue.get_item(TableName="Items", Key=key("blue"))["Item"] == key("blue")
    with pytest.raises(ClientError) as refused:
        blue.get_item(TableName="Items", Key=key("red"))
    assert refused.value.response["Error"]["Message"] == (
        f"User: arn:aws:sts::{ACCOUNT}:assumed-role/Tenant/session is not authorized to perform: dynamodb:GetItem on resource: "
        f"{TABLE} because no identity-based policy allows the dynamodb:GetItem action"
    )
    table = guarded.as_role(TENANT).resource().Table("Items")
    table.put_item(Item={"id": "green"})
    stored = guarded.items("Items", access_key=ACCOUNT)
    assert sorted(item["id"]["S"] for item in stored) == ["blue", "green"]
    for client in [guarded.as_user(f"arn:aws:iam::{ACCOUNT}:user/ann").client(), guarded.client()]:
        with pytest.raises(ClientError):
            client.get_item(TableName="Items", Key=key("blue"))
    with pytest.raises(ValueError, match="no principal"):
        guarded.as_role(f"arn:aws:iam::{ACCOUNT}:role/Nobody")


def test_session_policies_endpoints_and_expiry(guarded: Twin) -> None:
    only_put = {"Statement": {"Effect": "Allow", "Action": "dynamodb:PutItem", "Resource": "*"}}
    limited = guarded.as_role(TENANT, session_policies=[only_put]).client()
    inside = guarded.as_role(TENANT, vpc_endpoint="vpce-1").client()
    for client, reason in [(limited, "session policy"), (inside, "VPC endpoint policy")]:
        client.put_item(TableName="Items", Item=key("green"))
        with pytest.raises(ClientError, match=f"because no {reason} allows"):
            client.get_item(TableName="Items", Key=key("green"))
    guarded.clock.advance(3600)
    with pytest.raises(ClientError) as refused:
        limited.put_item(TableName="Items", Item=key("green"))
    assert code(refused) == "ExpiredTokenException"


def test_a_principal_sends_requests_from_its_region_and_origin(guarded: Twin) -> None:
    def allow(condition: dict[str, Any]) -> dict[str, Any]:
        statement = {"Effect": "Allow", "Action": "dynamodb:GetItem", "Resource": "*", "Condition": condition}
        return {"policies": [{"Statement": statement}]}

    roles = {
        "Plain": allow({"Bool": {"aws:SecureTransport": "false"}}),
        "Near": allow({"IpAddress": {"aws:SourceIp": "10.0.0.0/8"}}),
        "There": allow({"StringEquals": {"aws:RequestedRegion": "eu-west-1"}}),
    }
    guarded.set_access({"accounts": {ACCOUNT: {"roles": roles}}})
    cases: list[tuple[str, dict[str, Any], str]] = [
        ("Plain", {"secure_transport": False}, ""),
        ("Plain", {"secure_transport": True}, "AccessDeniedException"),
        ("Near", {"source_ip": "10.1.2.3"}, ""),
        ("Near", {"source_ip": "11.1.2.3"}, "AccessDeniedException"),
        # The table is in another region.
        ("There", {"region": "eu-west-1"}, "ResourceNotFoundException"),
        ("There", {}, "AccessDeniedException"),
    ]
    for role, options, expected in cases:
        client = guarded.as_role(f"arn:aws:iam::{ACCOUNT}:role/{role}", **options).client()
        try:
            client.get_item(TableName="Items", Key=key("a"))
            refused = ""
        except ClientError as error:
            refused = error.response["Error"]["Code"]
        assert refused == expected, (role, options)


def test_a_signature_covers_all_values_of_a_repeated_header(guarded: Twin) -> None:
    for signed, sent, status in [
        (["a"], ["a"], 200),
        (["a", "b"], ["a", "b"], 200),
        (["a", "b", "c"], ["a", "b", "c"], 200),
        (["a,b"], ["a", "b"], 200),
        (["a"], ["a", "b"], 400),
        (["a", "b"], ["a"], 400),
        (["a", "b"], ["b", "a"], 400),
    ]:
        date = guarded.clock.now().strftime("%Y%m%dT%H%M%SZ")
        request = AWSRequest("POST", "http://localhost/", data=b"{}", headers={"x-amz-date": date})
        for value in signed:
            request.headers.add_header("x-note", value)
        request.context["timestamp"] = date
        auth = SigV4Auth(Credentials("AKIAROOT", "root secret"), "dynamodb", "us-east-1")
        signature = auth.signature(auth.string_to_sign(request, auth.canonical_request(request)), request)
        credential = f"AKIAROOT/{auth.credential_scope(request)}"
        headers = [
            ("host", "localhost"),
            ("content-type", "application/x-amz-json-1.0"),
            ("x-amz-target", "DynamoDB_20120810.ListTables"),
            ("x-amz-date", date),
            (
                "authorization",
                f"AWS4-HMAC-SHA256 Credential={credential}, SignedHeaders=host;x-amz-date;x-note, Signature={signature}",
            ),
            *[("X-Note", value) for value in sent],
        ]
        reply = guarded.engine.handle("POST", "/", headers, b"{}")
        assert reply[0] == status, (signed, sent, reply)


def test_a_session_lasts_as_long_as_it_was_requested(guarded: Twin) -> None:
    client = guarded.as_role(TENANT, duration=900).client()
    guarded.clock.advance(899)
    client.put_item(TableName="Items", Item=key("green"))
    guarded.clock.advance(1)
    with pytest.raises(ClientError) as refused:
        client.put_item(TableName="Items", Item=key("green"))
    assert code(refused) == "ExpiredTokenException"


def test_federated_users_and_context_keys(guarded: Twin) -> None:
    allow = {"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Action": "dynamodb:GetItem", "Resource": "*"}}
    own = {"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": "${www.amazon.com:user_id}"}}
    signed_in = {"Version": "2012-10-17", "Statement": {**allow["Statement"], "Condition": own}}  # type: ignore[dict-item]
    users = {"ann": {"policies": [allow]}}
    guarded.set_access({"accounts": {ACCOUNT: {"users": users, "roles": {"Web": {"policies": [signed_in]}}}}})
    ann = f"arn:aws:iam::{ACCOUNT}:user/ann"
    visitor = guarded.as_user(ann, federated=True, session_name="visitor", session_policies=[allow]).client()
    assert "Item" not in visitor.get_item(TableName="Items", Key=key("a"))
    with pytest.raises(ClientError, match=r"federated-user/visitor .* because no session policy allows"):
        nobody = guarded.as_user(ann, federated=True, session_name="visitor").client()
        nobody.get_item(TableName="Items", Key=key("a"))
    web = guarded.as_role(f"arn:aws:iam::{ACCOUNT}:role/Web", keys={"www.amazon.com:user_id": "u1"}).client()
    assert "Item" not in web.get_item(TableName="Items", Key=key("u1"))
    with pytest.raises(ClientError, match="because no identity-based policy allows"):
        web.get_item(TableName="Items", Key=key("u2"))


def test_decisions_are_explained_and_configurations_replaced(guarded: Twin, tmp_path: Path) -> None:
    question = {
        "principal": TENANT,
        "operation": "GetItem",
        "request": {"TableName": "Items", "Key": key("red")},
    }
    explained = guarded.explain_access(question)
    assert not explained["allowed"]
    assert explained["evaluations"][0]["keys"]["dynamodb:LeadingKeys"] == ["red"]
    fork = guarded.fork()
    with pytest.raises(ClientError):
        fork.as_role(TENANT).client().get_item(TableName="Items", Key=key("red"))
    unknown = {"Statement": {"Effect": "Allow", "Action": "dynamodb:GetItems", "Resource": "*"}}
    file = tmp_path / "access.json"
    file.write_text(json.dumps({"accounts": {ACCOUNT: {"roles": {"R": {"policies": [unknown]}}}}}))
    assert [warning.code for warning in guarded.set_access(file)] == ["UnknownAction"]
    with pytest.raises(ValueError, match="12 digits"):
        guarded.set_access({"accounts": {"1": {}}})
    guarded.remove_access()
    guarded.create_table("Free", "id")
    guarded.reset(all=True)
    with pytest.raises(ClientError):
        guarded.client().list_tables()
    assert guarded.as_root(ACCOUNT).client().list_tables()["TableNames"] == []


def test_the_policy_that_a_run_needs_is_derived(guarded: Twin) -> None:
    guarded.watch()
    green = guarded.as_role(TENANT).client()
    green.put_item(TableName="Items", Item=key("green"))
    green.get_item(TableName="Items", Key=key("green"))
    (report,) = guarded.access_report()
    statement = {"Effect": "Allow", "Action": ["dynamodb:GetItem", "dynamodb:PutItem"], "Resource": [TABLE]}
    assert report.principal == TENANT
    assert report.policy == {"Version": "2012-10-17", "Statement": [statement]}
    (restricted,) = guarded.access_report(leading_keys=True)
    condition = restricted.policy["Statement"][0]["Condition"]
    assert condition["ForAllValues:StringEquals"] == {"dynamodb:LeadingKeys": ["green"]}
    (restricted,) = guarded.access_report(attributes=True)
    values = [statement["Condition"]["StringEquals"] for statement in restricted.policy["Statement"]]
    assert values == [{"dynamodb:Select": ["ALL_ATTRIBUTES"]}, {"dynamodb:ReturnValues": ["NONE"]}]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    """The endpoint of a server with access control."""
    file = tmp_path / "access.json"
    file.write_text(json.dumps(IAM))
    command = [str(Path(sys.executable).with_name("dynatwin")), "--port", "0", "--iam", str(file)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        yield next(word for word in line.split() if word.startswith("http://127"))
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=60)


def client_of(
    server: str, access_key: str, secret: str, token: str | None = None, region: str = "us-east-1"
) -> Any:
    return boto3.client(
        "dynamodb",
        endpoint_url=server,
        region_name=region,
        aws_access_key_id=access_key,
        aws_secret_access_key=secret,
        aws_session_token=token,
        config=Config(retries={"total_max_attempts": 1}),
    )


def create_items(server: str) -> None:
    client_of(server, "AKIAROOT", "root secret").create_table(
        TableName="Items",
        BillingMode="PAY_PER_REQUEST",
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
    )


def test_a_server_verifies_signatures_and_policies(server: str) -> None:
    create_items(server)
    session = SESSION["accessKeyId"], SESSION["secretAccessKey"], SESSION["sessionToken"]
    client = client_of(server, *session)
    client.put_item(TableName="Items", Item=key("green"))
    assert client.get_item(TableName="Items", Key=key("green"))["Item"] == key("green")
    for credentials, value, expected in [
        (session, "red", "AccessDeniedException"),
        (("ASIACLI", "another secret", "session token"), "green", "InvalidSignatureException"),
        (("ASIACLI", "session secret", "another token"), "green", "UnrecognizedClientException"),
        (("ASIACLI", "session secret", None), "green", "UnrecognizedClientException"),
        (("AKIANOBODY", "root secret", None), "green", "UnrecognizedClientException"),
        (("AKIAROOT", "session secret", None), "green", "InvalidSignatureException"),
    ]:
        with pytest.raises(ClientError) as refused:
            client_of(server, *credentials).get_item(TableName="Items", Key=key(value))
        assert code(refused) == expected, credentials
    with pytest.raises(ClientError) as refused:
        client.scan(TableName="Items")
    assert "perform: dynamodb:Scan" in str(refused.value)


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        ("expired", "(ExpiredTokenException)"),
        ("behind", "(InvalidSignatureException) when calling the ListTables operation: Signature expired"),
        ("ahead", "(InvalidSignatureException) when calling the ListTables operation: Signature not yet current"),
        ("region", "Credential should be scoped to a valid region"),
        ("body", "The request signature we calculated does not match"),
    ],
)
def test_a_server_refuses_changed_requests(
    server: str, changed: str, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    key_id = EXPIRED["accessKeyId"] if changed == "expired" else SESSION["accessKeyId"]
    region = "nowhere" if changed == "region" else "us-east-1"
    client = client_of(server, key_id, SESSION["secretAccessKey"], SESSION["sessionToken"], region)
    minutes = {"behind": -10, "ahead": 10}.get(changed, 0)
    if minutes:
        moment = datetime.now(timezone.utc) + timedelta(minutes=minutes)
        monkeypatch.setattr("botocore.auth.get_current_datetime", lambda **_: moment.replace(tzinfo=None))

    def replace(request: Any, **_: Any) -> None:
        request.body = b'{"Limit":1}'
        request.headers["Content-Length"] = "11"

    if changed == "body":
        client.meta.events.register("before-send.dynamodb", replace)
    with pytest.raises(ClientError) as refused:
        client.list_tables()
    assert text in str(refused.value)


def test_the_command_line_of_aws_with_a_session_token(server: str) -> None:
    create_items(server)
    environment = {
        "PATH": os.environ["PATH"],
        "AWS_ACCESS_KEY_ID": SESSION["accessKeyId"],
        "AWS_SECRET_ACCESS_KEY": SESSION["secretAccessKey"],
        "AWS_SESSION_TOKEN": SESSION["sessionToken"],
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "AWS_MAX_ATTEMPTS": "1",
    }
    command = [str(Path(sys.executable).with_name("aws")), "--endpoint-url", server, "dynamodb"]

    def aws(*words: str, **changed: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([*command, *words], capture_output=True, text=True, env={**environment, **changed})

    put = "put-item", "--table-name", "Items", "--item", json.dumps(key("green"))
    stored = aws(*put)
    assert stored.returncode == 0, stored.stderr
    read = aws("get-item", "--table-name", "Items", "--key", json.dumps(key("green")))
    assert json.loads(read.stdout)["Item"] == key("green")
    denied = aws("get-item", "--table-name", "Items", "--key", json.dumps(key("red")))
    assert denied.returncode != 0 and "AccessDeniedException" in denied.stderr
    tampered = aws(*put, AWS_SECRET_ACCESS_KEY="another secret")
    assert tampered.returncode != 0 and "InvalidSignatureException" in tampered.stderr
    unknown = aws(*put, AWS_SESSION_TOKEN="another token")
    assert unknown.returncode != 0 and "UnrecognizedClientException" in unknown.stderr


def test_the_command_prints_the_policy_of_a_run(server: str) -> None:
    create_items(server)
    watch = urllib.request.Request(f"{server}/_dynatwin/watch", method="POST")
    with urllib.request.urlopen(watch) as answer:
        assert answer.status == 200
    client_of(server, "ASIACLI", "session secret", "session token").put_item(TableName="Items", Item=key("green"))
    command = [sys.executable, "-m", "dynatwin", "access-report", "--port", server.rpartition(":")[2]]
    printed = subprocess.run(command, capture_output=True, text=True, check=True)
    statement = {"Effect": "Allow", "Action": ["dynamodb:PutItem"], "Resource": [TABLE]}
    assert json.loads(printed.stdout) == {"Version": "2012-10-17", "Statement": [statement]}
