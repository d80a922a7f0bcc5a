package stepfntest

import (
	"context"
	"encoding/json"
	"maps"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/runner/asl"
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
	s := &script{t: t, replies: c.Tasks, inputs: map[string][]string{}}
	tasks := map[string]asl.Task{}
	for name := range c.Tasks {
		tasks[name] = s.task(name)
	}
	machine := Deploy(t, config, func(arns map[string]string) ([]byte, error) {
		definition := c.Definition
		for name, arn := range arns {
			definition = strings.ReplaceAll(definition, "${"+name+"}", arn)
		}
		return []byte(definition), nil
	}, tasks)
	orchestrator, err := stepfn.New(machine.Client, machine.ARN)
	if err != nil {
		t.Fatal(err)
	}
	s.orchestrator = orchestrator
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
		Status: x.Status, Path: machine.Path(t, id), Error: x.Error, Cause: x.Cause, Inputs: s.seen(),
	}
	if x.Status == berth.ExecutionSucceeded { // an emulator has an output for failures too
		result.Output = plainCauses(t, aws.ToString(raw.Output))
	}
	return result
}

// script plays the replies of a case.
type script struct {
	t            *testing.T
	replies      map[string][]orchestratetest.Reply
	orchestrator berth.Orchestrator

	mu     sync.Mutex // guards inputs
	inputs map[string][]string
}

// seen are the inputs of all calls so far.
func (s *script) seen() map[string][]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.inputs)
}

func (s *script) task(name string) asl.Task {
	return func(ctx context.Context, input json.RawMessage) (json.RawMessage, error) {
		var tokened struct {
			Token string `json:"token"`
		}
		_ = json.Unmarshal(input, &tokened) // inputs without a token are no objects of this shape
		text := string(input)
		if tokened.Token != "" {
			text = strings.ReplaceAll(text, tokened.Token, "TOKEN")
		}
		s.mu.Lock()
		n := len(s.inputs[name])
		s.inputs[name] = append(s.inputs[name], text)
		s.mu.Unlock()
		reply := s.replies[name][min(n, len(s.replies[name])-1)]
		switch {
		case reply.Hang:
			<-ctx.Done()
			return nil, ctx.Err()
		case reply.Error != "":
			return nil, &asl.Error{Name: reply.Error, Cause: reply.Cause}
		case reply.Answer != "":
			if err := s.orchestrator.Answer(ctx, tokened.Token, []byte(reply.Answer)); err != nil {
				s.t.Errorf("Answer() = %v", err)
			}
		}
		return json.RawMessage(reply.Output), nil
	}
}
