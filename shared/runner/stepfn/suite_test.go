package stepfn_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/berth-dev/berth/shared/ministack"
	"github.com/berth-dev/berth/shared/runner/orchestratetest"
	"github.com/berth-dev/berth/shared/runner/stepfn/stepfntest"
)

func TestMain(m *testing.M) { stepfntest.Main(m) }

func TestMinistackDrivesMachinesAsTheContractSays(t *testing.T) {
	endpoint := ministack.Start(t)
	open := func(t *testing.T) aws.Config { return ministack.Config(t, endpoint) }
	stepfntest.RunSuite(t, open, orchestratetest.FailureBeforeToken)
}
