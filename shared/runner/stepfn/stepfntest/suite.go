package stepfntest

import (
	"context"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/runner/orchestratetest"
	"github.com/berth-dev/berth/shared/runner/stepfn"
)

// RunSuite runs the contract of orchestrators on an emulator that lacks some
// features. open gives the configuration of one that a test has to itself.
func RunSuite(t *testing.T, open func(t *testing.T) aws.Config, lacks ...orchestratetest.Feature) {
	orchestratetest.RunWithout(t, lacks, func(t *testing.T, c orchestratetest.Case) orchestratetest.Result {
		return execute(t, open(t), c)
	})
}

// execute plays a case on the emulator of config.
func execute(t *testing.T, config aws.Config, c orchestratetest.Case) orchestratetest.Result {
	var orchestrator berth.Orchestrator
	s := orchestratetest.NewScript(c, func(ctx context.Context, token string, output []byte) {
		if err := orchestrator.Answer(ctx, token, output); err != nil {
			t.Errorf("Answer() = %v", err)
		}
	})
	machine := Deploy(t, config, func(arns map[string]string) ([]byte, error) {
		definition := c.Definition
		for name, arn := range arns {
			definition = strings.ReplaceAll(definition, "${"+name+"}", arn)
		}
		return []byte(definition), nil
	}, s.Tasks())
	var err error
	orchestrator, err = stepfn.New(machine.Client, machine.ARN)
	if err != nil {
		t.Fatal(err)
	}
	const id = "the-execution"
	if err := orchestrator.Start(t.Context(), id, []byte(c.Input)); err != nil {
		t.Fatal(err)
	}
	raw := machine.Ended(t, id)
	x, err := orchestrator.Describe(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	result := orchestratetest.Result{
		Status: x.Status, Path: machine.Path(t, id), Error: x.Error, Cause: x.Cause, Inputs: s.Inputs(),
	}
	if x.Status == berth.ExecutionSucceeded { // an emulator has an output for failures too
		result.Output = plainCauses(t, aws.ToString(raw.Output))
	}
	return result
}
