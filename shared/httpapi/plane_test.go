package httpapi_test

import (
	"bytes"
	"context"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/control"
	"github.com/berth-dev/berth/shared/httpapi"
	"github.com/berth-dev/berth/shared/records"
)

// The control plane is what the API asks for.
var _ httpapi.Plane = (*control.Plane)(nil)

// testPlane keeps environments in the store and everything that runs in memory.
// A function field that is set stands in for its method.
type testPlane struct {
	*records.Store
	hosts *control.Plane

	// meanwhile is what another client does before the next change of an environment.
	meanwhile func()

	mu       sync.Mutex // guards what follows
	created  []berth.RunRequest
	by       []string
	signals  []string
	commands map[berth.CommandID]berth.Command
	input    []byte
	files    map[string]testFile

	createRun        func(ctx context.Context, req berth.RunRequest) (berth.RunID, error)
	preflight        func(ctx context.Context, req berth.RunRequest, mayRun bool) (berth.Preflight, error)
	checkEnvironment func(ctx context.Context, id berth.EnvironmentID) (berth.Preflight, error)
	commandOutput    func(ctx context.Context, offset int64, limit int, wait time.Duration) (berth.OutputReply, error)
	startCommand     func(req berth.CommandRequest) error
	// gate, if set, holds up writes of files until it is closed.
	gate chan struct{}
}

type testFile struct {
	data []byte
	mode uint32
}

func newTestPlane(s *records.Store) *testPlane {
	return &testPlane{Store: s, commands: map[berth.CommandID]berth.Command{}, files: map[string]testFile{}}
}

func (p *testPlane) interrupted() {
	if then := p.meanwhile; then != nil {
		p.meanwhile = nil
		then()
	}
}

func (p *testPlane) ReplaceEnvironment(ctx context.Context, e berth.Environment, version int64) (records.StoredEnvironment, error) {
	p.interrupted()
	return p.Store.ReplaceEnvironment(ctx, e, version)
}

func (p *testPlane) DeleteEnvironment(ctx context.Context, id berth.EnvironmentID, version int64) error {
	p.interrupted()
	return p.Store.DeleteEnvironment(ctx, id, version)
}

func (p *testPlane) CreateRun(ctx context.Context, id berth.RunID, req berth.RunRequest, by string) (berth.RunID, error) {
	p.mu.Lock()
	p.created, p.by = append(p.created, req), append(p.by, by)
	p.mu.Unlock()
	if p.createRun != nil {
		return p.createRun(ctx, req)
	}
	if _, err := p.FindHead(ctx, id); err == nil {
		return id, nil // as the control plane does
	}
	env := berth.LocalEnvironment()
	_, err := p.Store.CreateRun(ctx, records.Head{ID: id, CreatedBy: by},
		berth.Definition{Environment: env, Command: req.Command, Script: req.Script},
		[]berth.Stage{{ID: "01-command", Kind: berth.StageCommand, Status: berth.StagePending}},
		berth.Sandbox{ID: berth.SandboxID(p.IDs.NewID()), Provider: berth.ProviderLocal, Status: berth.SandboxCreating, Labels: map[string]string{}})
	return id, err
}

func (p *testPlane) Preflight(ctx context.Context, req berth.RunRequest, mayRun bool) (berth.Preflight, error) {
	if p.preflight != nil {
		return p.preflight(ctx, req, mayRun)
	}
	return berth.Preflight{
		OK: true, Sources: map[string]string{},
		Checks: []berth.Check{{Name: "environment", Status: berth.CheckPass, Summary: "fine", Details: []berth.Problem{}}},
	}, nil
}

func (p *testPlane) CheckEnvironment(ctx context.Context, id berth.EnvironmentID) (berth.Preflight, error) {
	if p.checkEnvironment != nil {
		return p.checkEnvironment(ctx, id)
	}
	e, err := p.FindEnvironment(ctx, id)
	return berth.Preflight{OK: err == nil, Environment: &e.Environment, Checks: []berth.Check{}, Sources: map[string]string{}}, err
}

func (p *testPlane) CancelRun(ctx context.Context, id berth.RunID) error {
	_, err := p.ChangeRun(ctx, id, func(c *records.Change) error {
		c.Head.CancelRequested = true
		c.Event(berth.Event{Kind: berth.EventCancelRequested})
		return nil
	})
	return err
}

func (p *testPlane) StopSandbox(ctx context.Context, id berth.SandboxID) (berth.Sandbox, error) {
	return p.ChangeSandbox(ctx, id, func(sb *berth.Sandbox) error { sb.Status = berth.SandboxStopped; return nil })
}

func (p *testPlane) StartSandbox(ctx context.Context, id berth.SandboxID) (berth.Sandbox, error) {
	return p.ChangeSandbox(ctx, id, func(sb *berth.Sandbox) error { sb.Status = berth.SandboxReady; return nil })
}

func (p *testPlane) DestroySandbox(ctx context.Context, id berth.SandboxID) error {
	return p.DeleteSandbox(ctx, id)
}

func (p *testPlane) ForgetSandbox(ctx context.Context, id berth.SandboxID) error {
	_, err := p.ChangeSandbox(ctx, id, func(sb *berth.Sandbox) error {
		sb.Status, sb.Reason = berth.SandboxDestroyed, &berth.Reason{Code: berth.ReasonForgotten, Message: "it may be left"}
		return nil
	})
	return err
}

func (p *testPlane) OpenShell(_ context.Context, sb berth.Sandbox, req berth.ShellRequest) (berth.ShellAccess, error) {
	access := berth.ShellAccess{Sandbox: sb.ID}
	if req.Terminal == "ssh" { // stands for a provider that has a command line
		access.Command = "ssh sandbox@192.0.2.7"
		return access, nil
	}
	access.Ticket = &berth.Ticket{Value: "shell-ticket", ExpiresAt: p.Clock.Now().Add(time.Minute)}
	return access, nil
}

func (p *testPlane) OpenPreview(_ context.Context, sb berth.Sandbox, req berth.PreviewRequest) (berth.PreviewAccess, error) {
	spec := berth.StreamSpec{Kind: berth.StreamPort, Port: req.Port}
	ticket := &berth.Ticket{Value: "port-ticket", URL: "https://192.0.2.7:7443/v1/stream", Fingerprint: "sha256:00", ExpiresAt: p.Clock.Now().Add(time.Minute)}
	access := berth.PreviewAccess{Sandbox: sb.ID, Port: req.Port, Ticket: ticket}
	if req.As == berth.PreviewURL { // stands for a host with a public URL
		access.URL, access.Ticket = "https://label.host.example/?berth-ticket=t", nil
	}
	return access, spec.Check()
}

func (p *testPlane) Provider(berth.ProviderKind) (berth.Provider, error) {
	return testProvider{plane: p}, nil
}

func (p *testPlane) StartCommand(_ context.Context, sb berth.Sandbox, req berth.CommandRequest) (berth.Command, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.startCommand != nil {
		if err := p.startCommand(req); err != nil {
			return berth.Command{}, err
		}
	}
	if req.ID == "" {
		req.ID = berth.CommandID("made-" + string(rune('a'+len(p.commands))))
	}
	cmd := berth.Command{ID: req.ID, Sandbox: sb.ID, Argv: req.Command, Script: req.Script, Status: berth.CommandRunning, CreatedAt: p.Clock.Now()}
	p.commands[req.ID] = cmd
	return cmd, nil
}

func (p *testPlane) DescribeCommand(_ context.Context, _ berth.Sandbox, id berth.CommandID) (berth.Command, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	cmd, ok := p.commands[id]
	if !ok {
		return cmd, berth.Errorf(berth.CodeNotFound, "no command %s", id)
	}
	return cmd, nil
}

func (p *testPlane) CommandOutput(ctx context.Context, _ berth.Sandbox, _ berth.CommandID, offset int64, limit int, wait time.Duration) (berth.OutputReply, error) {
	return p.commandOutput(ctx, offset, limit, wait)
}

func (p *testPlane) WriteInput(_ context.Context, _ berth.Sandbox, _ berth.CommandID, req berth.StdinRequest) (berth.StdinReply, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if req.Offset > int64(len(p.input)) {
		return berth.StdinReply{}, berth.FieldErrorf(berth.CodeConflict, "offset", "leaves a gap")
	}
	if skip := int64(len(p.input)) - req.Offset; skip < int64(len(req.Data)) {
		p.input = append(p.input, req.Data[skip:]...)
	}
	return berth.StdinReply{NextOffset: int64(len(p.input))}, nil
}

func (p *testPlane) SignalCommand(_ context.Context, _ berth.Sandbox, _ berth.CommandID, signal string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.signals = append(p.signals, signal)
	return nil
}

func (p *testPlane) AddHost(ctx context.Context, made string, req berth.HostRequest, by string) (berth.JoinToken, error) {
	return p.hosts.AddHost(ctx, made, req, by)
}

func (p *testPlane) JoinHost(ctx context.Context, join berth.HostJoin) (berth.JoinedHost, error) {
	return p.hosts.JoinHost(ctx, join)
}

func (p *testPlane) BeatHost(ctx context.Context, id berth.HostID, beat berth.Heartbeat) error {
	return p.hosts.BeatHost(ctx, id, beat)
}

func (p *testPlane) NudgeHost(ctx context.Context, id berth.HostID, nudge berth.Nudge) error {
	return p.hosts.NudgeHost(ctx, id, nudge)
}

func (p *testPlane) DrainHost(ctx context.Context, id berth.HostID, draining bool) (berth.Host, error) {
	return p.hosts.DrainHost(ctx, id, draining)
}

func (p *testPlane) RemoveHost(ctx context.Context, id berth.HostID, force bool) error {
	return p.hosts.RemoveHost(ctx, id, force)
}

// testProvider keeps files in memory; nothing else of a provider is asked for.
type testProvider struct {
	berth.Provider
	plane *testPlane
}

func (p testProvider) ReadFile(_ context.Context, _ berth.SandboxRef, path string, offset, limit int64, _ string) (berth.FileData, error) {
	p.plane.mu.Lock()
	defer p.plane.mu.Unlock()
	if path == "." {
		data := berth.FileData{Info: berth.FileInfo{Path: ".", Kind: berth.FileDirectory}, EOF: true}
		for _, name := range slices.Sorted(maps.Keys(p.plane.files)) {
			data.Entries = append(data.Entries, berth.FileInfo{Path: name, Kind: berth.FileRegular})
		}
		return data, nil
	}
	f, ok := p.plane.files[path]
	if !ok {
		return berth.FileData{}, berth.FieldErrorf(berth.CodeNotFound, "path", "is not there")
	}
	size := int64(len(f.data))
	from := min(offset, size)
	to := min(from+limit, size)
	return berth.FileData{
		Info: berth.FileInfo{Path: path, Kind: berth.FileRegular, Size: size, Mode: f.mode},
		Data: bytes.Clone(f.data[from:to]), Next: to, EOF: to == size,
	}, nil
}

func (p testProvider) WriteFile(_ context.Context, _ berth.SandboxRef, path string, r io.Reader, size int64, mode uint32, guard string) (berth.FileInfo, error) {
	p.plane.mu.Lock()
	gate := p.plane.gate
	p.plane.mu.Unlock()
	if gate != nil {
		<-gate
	}
	data, err := io.ReadAll(r)
	if err != nil {
		return berth.FileInfo{}, err
	}
	p.plane.mu.Lock()
	defer p.plane.mu.Unlock()
	if _, there := p.plane.files[path]; there && guard != "" {
		return berth.FileInfo{}, berth.FieldErrorf(berth.CodeConflict, "path", "has not been read by this guard")
	}
	p.plane.files[path] = testFile{data, mode}
	return berth.FileInfo{Path: path, Kind: berth.FileRegular, Size: size, Mode: mode}, nil
}

func (p testProvider) DeleteFile(_ context.Context, _ berth.SandboxRef, path, _ string) error {
	p.plane.mu.Lock()
	defer p.plane.mu.Unlock()
	delete(p.plane.files, path)
	return nil
}

func (p testProvider) Grep(_ context.Context, _ berth.SandboxRef, q berth.GrepQuery) (berth.GrepResult, error) {
	p.plane.mu.Lock()
	defer p.plane.mu.Unlock()
	var out berth.GrepResult
	for _, name := range slices.Sorted(maps.Keys(p.plane.files)) {
		if strings.Contains(string(p.plane.files[name].data), q.Pattern) {
			out.Matches = append(out.Matches, berth.GrepMatch{Path: name, Line: 1, Text: q.Pattern})
		}
	}
	return out, nil
}

func (p testProvider) Glob(context.Context, berth.SandboxRef, berth.GlobQuery) (berth.GlobResult, error) {
	return berth.GlobResult{}, nil
}
