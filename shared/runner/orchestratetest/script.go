package orchestratetest

import (
	"context"
	"encoding/json"
	"maps"
	"strings"
	"sync"

	"github.com/berth-dev/berth/shared/runner/asl"
)

// Script plays the replies of a case.
type Script struct {
	replies map[string][]Reply
	answer  func(ctx context.Context, token string, output []byte)

	mu     sync.Mutex // guards inputs
	inputs map[string][]string
}

// NewScript plays c. answer gives an output to a token.
func NewScript(c Case, answer func(ctx context.Context, token string, output []byte)) *Script {
	return &Script{replies: c.Tasks, answer: answer, inputs: map[string][]string{}}
}

// Inputs are those of all calls so far, by task. A token in them reads TOKEN.
func (s *Script) Inputs() map[string][]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.inputs)
}

// Tasks are the case's, by name.
func (s *Script) Tasks() map[string]asl.Task {
	tasks := map[string]asl.Task{}
	for name := range s.replies {
		tasks[name] = func(ctx context.Context, input json.RawMessage) (json.RawMessage, error) {
			return s.play(ctx, name, input)
		}
	}
	return tasks
}

func (s *Script) play(ctx context.Context, name string, input json.RawMessage) (json.RawMessage, error) {
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
		s.answer(ctx, tokened.Token, []byte(reply.Answer))
	}
	return json.RawMessage(reply.Output), nil
}
