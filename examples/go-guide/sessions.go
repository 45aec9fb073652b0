// Package guide is a small application that keeps sessions in DynamoDB.
package guide

import (
	"context"
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Table is the name of the table.
const Table = "Sessions"

// ErrTaken is returned by Open if the session exists.
var ErrTaken = errors.New("the session exists")

// Session is a user's session. It ends at ExpiresAt, the table's time-to-live attribute.
type Session struct {
	ID        string                  `dynamodbav:"id"`
	User      string                  `dynamodbav:"user"`
	ExpiresAt attributevalue.UnixTime `dynamodbav:"expiresAt"`
}

// CreateTable creates the table and waits until it is active.
func CreateTable(ctx context.Context, client *dynamodb.Client) error {
	_, err := client.CreateTable(ctx, &dynamodb.CreateTableInput{
		TableName:            aws.String(Table),
		BillingMode:          types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("id"), AttributeType: types.ScalarAttributeTypeS}},
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("id"), KeyType: types.KeyTypeHash}},
	})
	if err != nil {
		return err
	}
	waiter := dynamodb.NewTableExistsWaiter(client)
	if err := waiter.Wait(ctx, &dynamodb.DescribeTableInput{TableName: aws.String(Table)}, time.Minute); err != nil {
		return err
	}
	_, err = client.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{
		TableName:               aws.String(Table),
		TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: aws.String("expiresAt"), Enabled: aws.Bool(true)},
	})
	return err
}

// Open saves a new session.
func Open(ctx context.Context, client *dynamodb.Client, session Session) error {
	item, err := attributevalue.MarshalMap(session)
	if err != nil {
		return err
	}
	_, err = client.PutItem(ctx, &dynamodb.PutItemInput{
		TableName:           aws.String(Table),
		Item:                item,
		ConditionExpression: aws.String("attribute_not_exists(id)"),
	})
	var taken *types.ConditionalCheckFailedException
	if errors.As(err, &taken) {
		return ErrTaken
	}
	return err
}

// Find returns a session, or nil if there is none.
func Find(ctx context.Context, client *dynamodb.Client, id string) (*Session, error) {
	output, err := client.GetItem(ctx, &dynamodb.GetItemInput{
		TableName:      aws.String(Table),
		Key:            map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: id}},
		ConsistentRead: aws.Bool(true),
	})
	if err != nil || output.Item == nil {
		return nil, err
	}
	var session Session
	return &session, attributevalue.UnmarshalMap(output.Item, &session)
}
