"""A small application that keeps sessions in DynamoDB."""

import boto3

TABLE = "Sessions"


def open_session(session_id, expires_at):
    """Saves a new session; returns whether there was none with this id."""
    table = boto3.resource("dynamodb").Table(TABLE)
    try:
        table.put_item(
            Item={"id": session_id, "expiresAt": expires_at},
            ConditionExpression="attribute_not_exists(id)",
        )
    except table.meta.client.exceptions.ConditionalCheckFailedException:
        return False
    return True


def is_open(session_id):
    """Returns whether there is a session with this id."""
    return "Item" in boto3.resource("dynamodb").Table(TABLE).get_item(Key={"id": session_id})
