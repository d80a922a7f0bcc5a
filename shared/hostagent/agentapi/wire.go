package agentapi

import (
	"encoding/base64"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/guest/wire"
)

// The headers of the API.
const (
	// InstallationHeader names the caller's installation, in every request.
	InstallationHeader = "Berth-Installation"
	// RequestHeader is the id under which the agent's log has a request.
	RequestHeader = "X-Request-Id"
	// NextHeader is the offset behind what the body holds.
	NextHeader = "Berth-Next-Offset"
	// EndHeader is true when there is nothing behind NextHeader: a file's end.
	EndHeader = "Berth-End"
	// ExitHeader is the berth.Exit, in ASCII JSON, of a command whose exit frame
	// lies before NextHeader.
	ExitHeader = "Berth-Exit"
	// FileHeader is the wire form of the berth.FileInfo, in ASCII JSON.
	FileHeader = "Berth-File"
)

// The media types of bodies.
const (
	MediaJSON    = "application/json"
	MediaBytes   = "application/octet-stream"
	MediaProblem = "application/problem+json"
)

const (
	// MaxWait is the longest that an answer is held back.
	MaxWait = 30 * time.Second
	// MaxInput is the most standard input that one request takes, in bytes.
	MaxInput = 1 << 20
	// maxCommand bounds the body that starts a command. It lies above what a
	// system can start, so that a provider can name what is too large.
	maxCommand = 16 << 20
	// maxSmall bounds every other JSON body.
	maxSmall = 1 << 20
)

// Secret carries a secret value. This is the one place where such a value is
// encoded: in the bodies that start a command and make a sandbox.
type Secret struct{ berth.SecretValue }

// MarshalText writes the value itself, as base64.
func (s Secret) MarshalText() ([]byte, error) {
	return base64.StdEncoding.AppendEncode(nil, s.Reveal()), nil
}

// MarshalJSON is MarshalText with quotes; without it the placeholder of the
// embedded value would go out.
func (s Secret) MarshalJSON() ([]byte, error) {
	b := base64.StdEncoding.AppendEncode([]byte{'"'}, s.Reveal())
	return append(b, '"'), nil
}

// UnmarshalText reads base64.
func (s *Secret) UnmarshalText(b []byte) error {
	plain, err := base64.StdEncoding.AppendDecode(nil, b)
	if err != nil {
		return berth.Errorf(berth.CodeInvalid, "must be base64")
	}
	s.SecretValue = berth.NewSecretValue(plain)
	return nil
}

// Variable is one declared variable. Its value may be a secret.
type Variable struct {
	Name  wire.Text `json:"name"`
	Value Secret    `json:"value"`
}

// Command is a berth.CommandSpec without its id, which is in the path.
type Command struct {
	Argv      []wire.Text   `json:"argv,omitempty"`
	Script    wire.Text     `json:"script,omitempty"`
	Dir       wire.Text     `json:"dir,omitempty"`
	Env       []Variable    `json:"env,omitempty"`
	Mask      []Secret      `json:"mask,omitempty"`
	Timeout   time.Duration `json:"timeout,omitempty"` // nanoseconds
	Stdin     bool          `json:"stdin,omitempty"`
	OutputCap int64         `json:"output_cap,omitempty"`
}

// CommandOf converts to the wire.
func CommandOf(spec berth.CommandSpec) Command {
	c := Command{
		Argv: wire.Texts(spec.Argv), Script: wire.Text(spec.Script), Dir: wire.Text(spec.Dir),
		Timeout: spec.Timeout, Stdin: spec.Stdin, OutputCap: spec.OutputCap,
	}
	for name, value := range spec.Env {
		c.Env = append(c.Env, Variable{wire.Text(name), Secret{berth.NewSecretValue([]byte(value))}})
	}
	for _, value := range spec.Mask {
		c.Mask = append(c.Mask, Secret{value})
	}
	return c
}

// Spec converts from the wire.
func (c Command) Spec(id berth.CommandID) berth.CommandSpec {
	spec := berth.CommandSpec{
		ID: id, Argv: wire.Strings(c.Argv), Script: string(c.Script), Dir: string(c.Dir),
		Timeout: c.Timeout, Stdin: c.Stdin, OutputCap: c.OutputCap,
	}
	if len(c.Env) > 0 {
		spec.Env = make(map[string]string, len(c.Env))
	}
	for _, v := range c.Env {
		spec.Env[string(v.Name)] = string(v.Value.Reveal())
	}
	for _, value := range c.Mask {
		spec.Mask = append(spec.Mask, value.SecretValue)
	}
	return spec
}

// CommandState is a berth.CommandState.
type CommandState struct {
	ID        berth.CommandID     `json:"id"`
	Status    berth.CommandStatus `json:"status"`
	StartedAt time.Time           `json:"started_at"`
	Exit      *berth.Exit         `json:"exit"`
}

// Signal is the body of a signal.
type Signal struct {
	Signal string `json:"signal"`
}

// Input answers standard input: how much of it is accepted by now. It is less
// than what was sent when the command does not read fast enough.
type Input struct {
	Offset int64 `json:"offset"`
}
