package stepfn_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/berth-dev/berth/shared/emulator"
	"github.com/berth-dev/berth/shared/runner/orchestratetest"
	"github.com/berth-dev/berth/shared/runner/stepfn/stepfntest"
)

func TestMain(m *testing.M) { stepfntest.Main(m) }

// lacks are the features that the suite does without on an emulator.
var lacks = map[emulator.Kind][]orchestratetest.Feature{
	emulator.Ministack: {orchestratetest.FailureBeforeToken},
}

func TestEmulatorsDriveMachinesAsTheContractSays(t *testing.T) {
	emulator.Each(t, func(t *testing.T, e *emulator.Emulator) {
		open := func(t *testing.T) aws.Config { return e.Config(t) }
		stepfntest.RunSuite(t, open, lacks[e.Kind]...)
	})
}
