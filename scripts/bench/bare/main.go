// Command bare is a Go function that reads the same item of the table as GET
// /environments/{id} and answers with it, by the SDK and nothing else: the anchor
// of the rows about functions that has the same work to do.
package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

func main() {
	client := dynamodb.NewFromConfig(aws.Config{
		Region: os.Getenv("AWS_REGION"), BaseEndpoint: aws.String(os.Getenv("AWS_ENDPOINT_URL")),
		Credentials: credentials.NewStaticCredentialsProvider(os.Getenv("AWS_ACCESS_KEY_ID"), os.Getenv("AWS_SECRET_ACCESS_KEY"), os.Getenv("AWS_SESSION_TOKEN")),
	})
	lambda.Start(func(ctx context.Context, event events.APIGatewayProxyRequest) (reply events.APIGatewayProxyResponse, err error) {
		slog.Info("request")
		out, err := client.GetItem(ctx, &dynamodb.GetItemInput{
			TableName: aws.String(os.Getenv("BERTH_TABLE")), ConsistentRead: aws.Bool(true),
			Key: map[string]types.AttributeValue{
				"pk": &types.AttributeValueMemberS{Value: "env"}, "sk": &types.AttributeValueMemberS{Value: path.Base(event.Path)},
			},
		})
		if err != nil {
			return reply, err
		}
		body, ok := out.Item["body"].(*types.AttributeValueMemberS)
		if !ok {
			return reply, errors.New("there is no such item")
		}
		return events.APIGatewayProxyResponse{StatusCode: 200, Body: body.Value}, nil
	})
}
