"""A DynamoDB emulator for tests, in the test's own process.

>>> import dynatwin
>>> with dynatwin.Twin(seed=7) as twin:
...     client = twin.client("dynamodb")
...     _ = twin.create_table("Sessions", hash="id", ttl="expiresAt")
...     _ = client.put_item(TableName="Sessions", Item={"id": {"S": "a"}})
...     twin.items("Sessions")
[{'id': {'S': 'a'}}]

The clients are boto3's and aiobotocore's own: botocore serializes, retries and raises as it does over a network, and
its backoff uses the emulator's clock. :func:`mock` intercepts every client of the process, for code that creates its
own.
"""

from dynatwin import controls
from dynatwin._access import Credentials, PolicyWarning, Principal, UsedPermissions
from dynatwin._clock import Clock
from dynatwin._conditions import Conditions, Enforcement, Lag, LagRange, Latency
from dynatwin._dynatwin import __version__
from dynatwin._faults import Fault, FaultReport, Faults, Outage, Verdict
from dynatwin._log import (
    CapacitySpent,
    Datapoint,
    Heat,
    HotKey,
    IndexState,
    Metric,
    PartitionHeat,
    RecordedAccess,
    ReplicationState,
    Request,
    ResourceHeat,
    Scan,
)
from dynatwin._mock import Mock, current, mock
from dynatwin._twin import Answer, Snapshot, Twin
from dynatwin._values import AttributeValue, Key

__all__ = [
    "Answer",
    "AttributeValue",
    "CapacitySpent",
    "Clock",
    "Conditions",
    "Credentials",
    "Datapoint",
    "Enforcement",
    "Fault",
    "FaultReport",
    "Faults",
    "Heat",
    "HotKey",
    "IndexState",
    "Key",
    "Lag",
    "LagRange",
    "Latency",
    "Metric",
    "Mock",
    "Outage",
    "PartitionHeat",
    "PolicyWarning",
    "Principal",
    "RecordedAccess",
    "ReplicationState",
    "Request",
    "ResourceHeat",
    "Scan",
    "Snapshot",
    "Twin",
    "UsedPermissions",
    "Verdict",
    "__version__",
    "controls",
    "current",
    "mock",
]
