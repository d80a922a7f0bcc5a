package dynamo_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/emulator"
	"github.com/berth-dev/berth/shared/table/dynamo"
	"github.com/berth-dev/berth/shared/table/tabletest"
)

func TestContractOnEmulators(t *testing.T) {
	emulator.Each(t, func(t *testing.T, e *emulator.Emulator) {
		features := tabletest.Features{PropertyRuns: 20}
		tabletest.RunWith(t, features, func(t *testing.T, clock berth.Clock) berth.Table {
			client := dynamodb.NewFromConfig(e.Config(t))
			if err := dynamo.CreateTable(t.Context(), client, "berth"); err != nil {
				t.Fatal(err)
			}
			return dynamo.New(client, "berth", clock)
		})
	})
}
