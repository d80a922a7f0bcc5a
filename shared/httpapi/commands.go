package httpapi

import (
	"context"
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

// CommandParams name a command.
type CommandParams struct {
	SandboxParams
	Command string `path:"cid" doc:"Command id" example:"build-1"`
}

// command finds the sandbox and checks the command's id.
func (a *API) command(ctx context.Context, in CommandParams) (berth.Sandbox, berth.CommandID, error) {
	id, err := berth.ParseCommandID(in.Command)
	if err != nil {
		return berth.Sandbox{}, "", at("path.cid", err)
	}
	sb, err := a.sandbox(ctx, in.SandboxParams)
	return sb, id, err
}

func commandOperations() []operation {
	conflict := []berth.Code{berth.CodeConflict}
	return []operation{
		op("start-command", spec{
			summary:     "Start a command",
			description: "Starts a process beside whatever the sandbox does. The same id starts once: again with the same command it is returned as it is, with another it is a conflict.",
			status:      202, takes: berth.CommandRequest{}, example: map[string]any{"command": []string{"go", "version"}, "timeout": "1m"},
			codes: []berth.Code{berth.CodeTooLarge, berth.CodeUnsupported},
		}, (*API).startCommand),
		op("find-command", spec{summary: "Show a command", codes: conflict}, (*API).findCommand),
		op("read-command-output", spec{
			summary: "Read a command's output",
			description: "Whole frames from offset on, limit bytes of them at most, but at least one. " +
				"A long poll: with wait it answers as soon as there is something. eof says that the command has ended and that all is read; exit is then set.",
			codes: conflict,
		}, (*API).readOutput),
		op("write-command-stdin", spec{
			summary: "Write to a command's standard input", description: "Bytes below the offset that has been reached are skipped, so a repeated request does no harm; a gap is a conflict.",
			takes: berth.StdinRequest{}, example: map[string]any{"offset": 0, "data": "aGVsbG8K", "eof": true}, codes: conflict,
		}, (*API).writeStdin),
		op("signal-command", spec{
			summary: "Signal a command", description: "Sends to its process group; CANCEL ends the whole tree. KILL, TERM, INT and CANCEL keep a command that has not started from starting.",
			takes: berth.SignalRequest{}, example: berth.SignalRequest{Signal: "TERM"}, codes: conflict,
		}, (*API).signalCommand),
	}
}

type startInput struct {
	SandboxParams
	KeyParams
}

func (a *API) startCommand(ctx context.Context, in *startInput) (*created[berth.Command], error) {
	var f faults
	var req berth.CommandRequest
	raw, err := readJSON(ctx, &req)
	f.add("", err)
	if err == nil {
		checkCommand(&f, req)
	}
	if err := f.err(); err != nil {
		return nil, err
	}
	sb, err := a.sandbox(ctx, in.SandboxParams)
	if err != nil {
		return nil, err
	}
	var cmd berth.Command
	id, replayed, err := a.once(ctx, in.KeyParams, raw, 202, func(try attempt) (string, error) {
		if req.ID == "" {
			req.ID = berth.CommandID(try.id)
		}
		cmd, err = a.cfg.Plane.StartCommand(ctx, sb, req)
		return string(cmd.ID), err
	})
	if err == nil && replayed {
		cmd, err = a.cfg.Plane.DescribeCommand(ctx, sb, berth.CommandID(id))
	}
	if err != nil {
		return nil, err
	}
	location := Prefix + "/sandboxes/" + string(sb.ID) + "/commands/" + id
	return &created[berth.Command]{Location: location, Replayed: replayedHeader(replayed), Body: cmd}, nil
}

func checkCommand(f *faults, req berth.CommandRequest) {
	oneOf(f, "command", len(req.Command) > 0, "script", req.Script != "")
	if req.ID != "" {
		_, err := berth.ParseCommandID(string(req.ID))
		f.add("id", err)
	}
	_, err := req.Timeout.Parse()
	f.add("timeout", err)
	f.problems.Add(berth.ValidateEnv("env", req.Env)...)
}

func (a *API) findCommand(ctx context.Context, in *CommandParams) (*body[berth.Command], error) {
	sb, id, err := a.command(ctx, *in)
	if err != nil {
		return nil, err
	}
	cmd, err := a.cfg.Plane.DescribeCommand(ctx, sb, id)
	return &body[berth.Command]{cmd}, err
}

type outputInput struct {
	CommandParams
	ReadParams
}

func (a *API) readOutput(ctx context.Context, in *outputInput) (*body[berth.OutputReply], error) {
	var f faults
	read := in.parse(&f)
	if err := f.err(); err != nil {
		return nil, err
	}
	sb, id, err := a.command(ctx, in.CommandParams)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	closed := context.AfterFunc(a.closing, cancel)
	defer closed()
	deadline := time.Now().Add(read.wait)
	reply, err := fitFrames(read.limit, func(limit int) (berth.OutputReply, error) {
		return a.cfg.Plane.CommandOutput(ctx, sb, id, read.offset, limit, max(0, time.Until(deadline)))
	})
	return &body[berth.OutputReply]{reply}, inQuery(err)
}

func (a *API) writeStdin(ctx context.Context, in *CommandParams) (*body[berth.StdinReply], error) {
	var f faults
	var req berth.StdinRequest
	_, err := readJSON(ctx, &req)
	f.add("", err)
	if req.Offset < 0 {
		f.addf("offset", "must be 0 or more")
	}
	if err := f.err(); err != nil {
		return nil, err
	}
	sb, id, err := a.command(ctx, *in)
	if err != nil {
		return nil, err
	}
	reply, err := a.cfg.Plane.WriteInput(ctx, sb, id, req)
	return &body[berth.StdinReply]{reply}, err
}

type signalInput struct {
	CommandParams
	KeyParams
}

func (a *API) signalCommand(ctx context.Context, in *signalInput) (*empty, error) {
	var req berth.SignalRequest
	raw, err := readJSON(ctx, &req)
	if err != nil {
		return nil, err
	}
	if req.Signal == "" {
		return nil, berth.FieldErrorf(berth.CodeInvalid, "signal", "is missing: name one, such as TERM")
	}
	sb, id, err := a.command(ctx, in.CommandParams)
	if err != nil {
		return nil, err
	}
	_, _, err = a.once(ctx, in.KeyParams, raw, 204, func(attempt) (string, error) {
		return string(id), a.cfg.Plane.SignalCommand(ctx, sb, id, req.Signal)
	})
	return nil, err
}
