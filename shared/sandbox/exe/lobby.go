package exe

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/relay"
)

// lobby speaks exe's commands.
type lobby struct {
	shell Shell
	limit time.Duration
	clock berth.Clock
}

// vm is a VM as the lobby tells it; new and ls have most fields in common.
type vm struct {
	Name      string   `json:"vm_name"`
	Dest      string   `json:"ssh_dest"`
	Host      string   `json:"ssh_host"`
	User      string   `json:"ssh_user"`
	Port      int      `json:"ssh_port"`
	Status    string   `json:"status"`
	Tags      []string `json:"tags"`
	Comment   string   `json:"comment"`
	CreatedAt string   `json:"created_at"`
	Error     string   `json:"error"`
}

const (
	rateLimitFirst = time.Second
	rateLimitTotal = 30 * time.Second
)

// run runs a command and decodes its answer, and waits while the lobby has heard
// too much. Errors: rate_limited; invalid for what the lobby refuses; unavailable,
// after which the command may have run all the same.
func (l lobby) run(ctx context.Context, answer any, words ...string) error {
	for waited, pause := time.Duration(0), rateLimitFirst; ; pause *= 2 {
		err := l.once(ctx, answer, words)
		if berth.CodeOf(err) != berth.CodeRateLimited || waited+pause > rateLimitTotal {
			return err
		}
		if l.clock.Sleep(ctx, pause) != nil {
			return err
		}
		waited += pause
	}
}

func (l lobby) once(ctx context.Context, answer any, words []string) error {
	limited, cancel := context.WithTimeout(ctx, l.limit)
	defer cancel()
	out, err := l.shell.Run(limited, strings.Join(words, " "), nil)
	var status *relay.StatusError
	if err != nil && !errors.As(err, &status) {
		if limited.Err() != nil && ctx.Err() == nil {
			return berth.Errorf(berth.CodeUnavailable, "exe.dev did not bring %s to an end within %s", words[0], l.limit)
		}
		return berth.Wrap(err, "asking exe.dev for "+words[0])
	}
	var refused struct {
		Error string `json:"error"`
	}
	isJSON := json.Unmarshal(bytes.TrimSpace(out), &refused) == nil
	switch {
	case isJSON && refused.Error != "":
		return refusal(refused.Error)
	case status != nil && strings.TrimSpace(status.Stderr) != "":
		return refusal(strings.TrimSpace(status.Stderr))
	case status != nil:
		return refusal(fmt.Sprintf("%s ended with %d: %s", words[0], status.Status, shown(out)))
	case !isJSON:
		return berth.Errorf(berth.CodeUnavailable, "exe.dev answered %s with something that is no JSON: %s", words[0], shown(out))
	}
	if err := json.Unmarshal(bytes.TrimSpace(out), answer); err != nil {
		return &berth.Error{Code: berth.CodeUnavailable, Message: "exe.dev answered " + words[0] + " in a form that is not known: " + shown(out), Cause: err}
	}
	return nil
}

// refusal is the error of what the lobby said no to.
func refusal(text string) error {
	lower := strings.ToLower(text)
	has := func(parts ...string) bool {
		for _, part := range parts {
			if strings.Contains(lower, part) {
				return true
			}
		}
		return false
	}
	e := &berth.Error{Code: berth.CodeInvalid, Message: "exe.dev refused: " + shown([]byte(text))}
	switch {
	case has("rate limit", "too many requests", "429"):
		e.Code = berth.CodeRateLimited
	case has("not found", "no such vm"):
		e.Code = berth.CodeNotFound
	case has("not available"):
		e.Code = berth.CodeConflict
	case has("internal error", "timed out", "timeout", "try again", "temporarily"):
		e.Code = berth.CodeUnavailable
	case has("limit"):
		e.Code, e.Remediation = berth.CodeForbidden, "Remove VMs that are not needed, or take a plan with more."
	case has("permission denied", "not allowed", "unauthorized", "forbidden"):
		e.Code, e.Remediation = berth.CodeForbidden, "Use a key that exe.dev knows and that may run new, ls and rm."
	}
	return e
}

func shown(b []byte) string {
	const most = 200
	text := strings.ToValidUTF8(strings.Join(strings.Fields(string(b)), " "), "?")
	if len(text) > most {
		text = text[:most] + "…"
	}
	if text == "" {
		return "nothing"
	}
	return text
}

// list returns the VMs that pattern names; all for an empty one.
func (l lobby) list(ctx context.Context, pattern string) ([]vm, error) {
	words := []string{"ls"}
	if pattern != "" {
		words = append(words, pattern)
	}
	var answer struct {
		VMs []vm `json:"vms"`
	}
	err := l.run(ctx, &answer, append(words, "--json")...)
	if berth.CodeOf(err) == berth.CodeNotFound {
		return nil, nil
	}
	return answer.VMs, err
}

// find returns the VM of that very name. found is false when there is none.
func (l lobby) find(ctx context.Context, name string) (v vm, found bool, err error) {
	all, err := l.list(ctx, name)
	for _, v := range all {
		if v.Name == name {
			return v, true, nil
		}
	}
	return vm{}, false, err
}

// remove removes a VM, and is content with one that is not there.
func (l lobby) remove(ctx context.Context, name string) error {
	var answer struct {
		Deleted  []string          `json:"deleted"`
		Failed   []string          `json:"failed"`
		NotFound []string          `json:"not_found"`
		Errors   map[string]string `json:"errors"`
	}
	err := l.run(ctx, &answer, "rm", name, "--json")
	switch {
	case berth.CodeOf(err) == berth.CodeNotFound:
		return nil
	case err != nil:
		return err
	case len(answer.Failed) > 0 || len(answer.Errors) > 0:
		return berth.Errorf(berth.CodeUnavailable, "exe.dev did not remove %s: %s", name, shown([]byte(answer.Errors[name])))
	case len(answer.Deleted) == 0 && len(answer.NotFound) == 0:
		return berth.Errorf(berth.CodeUnavailable, "exe.dev says neither that %s is removed nor that it is not there", name)
	}
	return nil
}
