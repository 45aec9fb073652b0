package guide

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// start is the first moment of the server's settable clock.
var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// session returns a session that ends an hour after the clock's start.
func session(id string) Session {
	return Session{ID: id, User: "ada", ExpiresAt: attributevalue.UnixTime(start.Add(time.Hour))}
}

// withTable returns a server with the application's table, and a client of it.
func withTable(t *testing.T) (*twin, *dynamodb.Client) {
	t.Helper()
	t.Parallel()
	twin := startTwin(t)
	client := twin.client()
	if err := CreateTable(context.Background(), client); err != nil {
		t.Fatal(err)
	}
	return twin, client
}

func TestASessionIsFound(t *testing.T) {
	_, client := withTable(t)
	ctx := context.Background()
	if err := Open(ctx, client, session("a")); err != nil {
		t.Fatal(err)
	}
	found, err := Find(ctx, client, "a")
	if err != nil {
		t.Fatal(err)
	}
	if found == nil || found.User != "ada" || !time.Time(found.ExpiresAt).Equal(start.Add(time.Hour)) {
		t.Fatalf("found %+v", found)
	}
	if other, err := Find(ctx, client, "b"); other != nil || err != nil {
		t.Fatalf("found %+v, %v", other, err)
	}
}

func TestASessionIsOpenedOnce(t *testing.T) {
	_, client := withTable(t)
	ctx := context.Background()
	if err := Open(ctx, client, session("a")); err != nil {
		t.Fatal(err)
	}
	if err := Open(ctx, client, session("a")); !errors.Is(err, ErrTaken) {
		t.Fatalf("the second time: %v", err)
	}
}

func TestASessionExpires(t *testing.T) {
	twin, client := withTable(t)
	ctx := context.Background()
	if err := Open(ctx, client, session("a")); err != nil {
		t.Fatal(err)
	}
	twin.advance(3600)
	if found, err := Find(ctx, client, "a"); found != nil || err != nil {
		t.Fatalf("found %+v, %v", found, err)
	}
}

func TestAThrottledWriteIsRetried(t *testing.T) {
	twin, client := withTable(t)
	rule := twin.fault(map[string]any{"verdict": "throttle", "operation": "PutItem", "first": 2})
	if err := Open(context.Background(), client, session("a")); err != nil {
		t.Fatal(err)
	}
	if fired := twin.removeFault(rule); fired != 2 {
		t.Fatalf("throttled %d times", fired)
	}
}

func TestCancellationReasons(t *testing.T) {
	_, client := withTable(t)
	check := func(id string) types.TransactWriteItem {
		return types.TransactWriteItem{ConditionCheck: &types.ConditionCheck{
			TableName:           aws.String(Table),
			Key:                 map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: id}},
			ConditionExpression: aws.String("attribute_exists(id)"),
		}}
	}
	if err := Open(context.Background(), client, session("a")); err != nil {
		t.Fatal(err)
	}
	_, err := client.TransactWriteItems(context.Background(), &dynamodb.TransactWriteItemsInput{
		TransactItems: []types.TransactWriteItem{check("a"), check("b")},
	})
	var canceled *types.TransactionCanceledException
	if !errors.As(err, &canceled) {
		t.Fatalf("%v", err)
	}
	for at, expect := range []string{"None", "ConditionalCheckFailed"} {
		if code := aws.ToString(canceled.CancellationReasons[at].Code); code != expect {
			t.Errorf("reason %d is %s", at, code)
		}
	}
}

func TestPages(t *testing.T) {
	_, client := withTable(t)
	ctx := context.Background()
	for _, id := range []string{"a", "b", "c", "d", "e"} {
		if err := Open(ctx, client, session(id)); err != nil {
			t.Fatal(err)
		}
	}
	pages := dynamodb.NewScanPaginator(client, &dynamodb.ScanInput{TableName: aws.String(Table), Limit: aws.Int32(2)})
	items := 0
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			t.Fatal(err)
		}
		items += len(page.Items)
	}
	if items != 5 {
		t.Fatalf("%d items", items)
	}
}
