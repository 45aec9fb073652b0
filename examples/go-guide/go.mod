module dynatwin.example/guide

go 1.19

require (
	github.com/aws/aws-sdk-go-v2 v1.17.3
	github.com/aws/aws-sdk-go-v2/credentials v1.13.8
	github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue v1.10.8
	github.com/aws/aws-sdk-go-v2/service/dynamodb v1.17.9
)
