package agentapi

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

// Provision is a berth.SandboxSpec without its id, which is in the path, and
// its installation, which is in a header.
type Provision struct {
	Run         berth.RunID       `json:"run"`
	Environment json.RawMessage   `json:"environment"`
	Directory   string            `json:"directory,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	Host        berth.HostID      `json:"host,omitempty"`
	// Registry is not of the spec: see RegistryCredentials.
	Registry *RegistryCredentials `json:"registry,omitempty"`
}

// ProvisionOf converts to the wire.
func ProvisionOf(spec berth.SandboxSpec) (Provision, error) {
	environment, err := json.Marshal(spec.Environment)
	return Provision{
		Run: spec.Run, Environment: environment, Directory: spec.Directory, Labels: spec.Labels, Host: spec.Host,
	}, err
}

// Spec converts from the wire. The environment has been checked by the control
// plane; here only fields that this agent does not know are refused. Error:
// invalid.
func (p Provision) Spec(id berth.SandboxID, installation berth.InstallationID) (berth.SandboxSpec, error) {
	spec := berth.SandboxSpec{
		ID: id, Installation: installation, Run: p.Run, Directory: p.Directory, Labels: p.Labels, Host: p.Host,
	}
	dec := json.NewDecoder(bytes.NewReader(p.Environment))
	dec.DisallowUnknownFields()
	err := dec.Decode(&spec.Environment)
	if err == nil {
		return spec, nil
	}
	if field, unknown := strings.CutPrefix(err.Error(), "json: unknown field "); unknown {
		return spec, &berth.Error{
			Code: berth.CodeInvalid, Field: "environment", Message: "has a field that this host agent does not know: " + field,
			Remediation: "Bring berth-agent on the host to the version of the server.",
		}
	}
	return spec, berth.FieldErrorf(berth.CodeInvalid, "environment", "is missing or has a field of a wrong type")
}

// Sandbox is a berth.SandboxState.
type Sandbox struct {
	ID        berth.SandboxID     `json:"id"`
	Run       berth.RunID         `json:"run"`
	Status    berth.SandboxStatus `json:"status"`
	Ref       string              `json:"ref,omitempty"`
	Workspace string              `json:"workspace"`
	Hint      string              `json:"hint,omitempty"`
	Reason    *berth.Reason       `json:"reason,omitempty"`
	Detail    string              `json:"detail,omitempty"`
	CreatedAt time.Time           `json:"created_at"`
	// Host is what the control plane calls the agent's host; agents do not know.
	Host berth.HostID `json:"-"`
}

// State converts from the wire.
func (s Sandbox) State() berth.SandboxState { return berth.SandboxState(s) }

// Sandboxes answers a list.
type Sandboxes struct {
	Items []Sandbox `json:"items"`
}

// Health is what an agent says of itself and its host.
type Health struct {
	Version      string               `json:"version"`
	Commit       string               `json:"commit"`
	Go           string               `json:"go"`
	Installation berth.InstallationID `json:"installation"`
	Providers    []ProviderHealth     `json:"providers"`
	Capacity
}

// Capacity is what a host has.
type Capacity struct {
	CPUs          int   `json:"cpus"`
	MemoryBytes   int64 `json:"memory_bytes"`
	FreeDiskBytes int64 `json:"free_disk_bytes"` // where sandboxes are kept
}

// ProviderHealth is one provider of an agent. Problem says why it does not work
// now; it is empty for one that does.
type ProviderHealth struct {
	Kind      berth.ProviderKind `json:"kind"`
	Engine    string             `json:"engine,omitempty"` // version of the container engine
	Sandboxes int                `json:"sandboxes"`
	Problem   string             `json:"problem,omitempty"`
}
