package httpapi

import (
	"context"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/records"
)

// HostParams name a host.
type HostParams struct {
	ID string `path:"id" doc:"Host id" example:"eu-1"`
}

func (in HostParams) host() (berth.HostID, error) {
	id, err := berth.ParseHostID(in.ID)
	return id, at("path.id", err)
}

// own returns the host that the asking key speaks for. Error: forbidden for
// another one than the path names.
func (in HostParams) own(ctx context.Context) (berth.HostID, error) {
	who := exchangeOf(ctx).principal
	if who.Host == "" || string(who.Host) != in.ID {
		return "", berth.FieldErrorf(berth.CodeForbidden, "path.id", "a host's key speaks for that host alone")
	}
	return who.Host, nil
}

// RemovalParams say how a host is removed.
type RemovalParams struct {
	HostParams
	Force string `query:"force" doc:"true removes it with sandboxes on it, whose runs are lost" example:"true"`
}

func hostOperations() []operation {
	return []operation{
		op("list-hosts", spec{summary: "List hosts", description: "In the order of their ids."}, (*API).listHosts),
		op("find-host", spec{summary: "Show a host"}, (*API).findHost),
		op("add-host", spec{
			summary: "Add a host",
			description: "The answer has the token that the host joins with, once and within 10 minutes; a repeated request with the same " +
				"Idempotency-Key does not show it. A host that has not joined yet is given a new token, and the one before counts no more.",
			status: 201, takes: berth.HostRequest{}, example: berth.HostRequest{ID: "eu-1", Labels: map[string]string{"zone": "a"}},
		}, (*API).addHost),
		op("join-host", spec{
			summary: "Join a host",
			description: "What a host agent sends with the token of add-host. The server calls the address back, with the bearer and the pinned " +
				"fingerprint, before it accepts. The answer has the host's own key, this once.",
			takes: berth.HostJoin{}, example: exampleJoin(),
			codes: []berth.Code{berth.CodeUnauthenticated, berth.CodeConflict, berth.CodeUnsupported},
		}, (*API).joinHost),
		op("beat-host", spec{
			summary: "Take a host's heartbeat", description: "With the host's own key, every 30 seconds. A host that has been silent for 5 minutes is lost.",
			takes: berth.Heartbeat{}, example: berth.Heartbeat{HostCapacity: exampleJoin().HostCapacity, Version: "1.4.0"},
		}, (*API).beatHost),
		op("nudge-host", spec{
			summary: "Tell that a command has spoken or ended", description: "With the host's own key, once after the agent was armed for the command.",
			takes: berth.Nudge{}, example: berth.Nudge{Sandbox: "01jd3v6d1b7k2n4p6r8t0v2x4z", Command: "stage-01-command"},
		}, (*API).nudgeHost),
		op("drain-host", spec{
			summary: "Drain a host", description: "It takes no new sandbox, until it is told to take them again; what runs there goes on.",
			takes: berth.DrainRequest{}, example: berth.DrainRequest{Draining: true}, codes: []berth.Code{berth.CodeConflict},
		}, (*API).drainHost),
		op("remove-host", spec{
			summary: "Remove a host", description: "Its key counts no more. While sandboxes are on it that is a conflict, unless it is forced.",
			codes: []berth.Code{berth.CodeConflict},
		}, (*API).removeHost),
	}
}

func exampleJoin() berth.HostJoin {
	return berth.HostJoin{
		Token: "bthj_sample", Address: "https://10.0.0.7:7443",
		Fingerprint: "sha256:2f1c9f6d3b5a7e80412c6d8e0fa9b1c3d5e7f90213a4b5c6d7e8f9a0b1c2d3e4",
		Bearer:      "what-the-agent-answers-to-and-nobody-else-has", Providers: []berth.ProviderKind{berth.ProviderDocker}, Labels: map[string]string{"zone": "a"},
		HostCapacity: berth.HostCapacity{CPU: 8, MemoryBytes: 32 << 30, DiskBytes: 200 << 30, Architecture: "arm64"}, Version: "1.4.0",
	}
}

func (a *API) listHosts(ctx context.Context, in *PageParams) (*body[berth.List[berth.Host]], error) {
	return listPage(ctx, *in, func(ctx context.Context, limit int, cursor string) ([]berth.Host, string, error) {
		stored, next, err := a.cfg.Records.ListHosts(ctx, limit, cursor)
		hosts := make([]berth.Host, len(stored))
		for i, h := range stored {
			hosts[i] = h.Host
		}
		return hosts, next, err
	})
}

func (a *API) storedHost(ctx context.Context, in HostParams) (h records.StoredHost, err error) {
	id, err := in.host()
	if err != nil {
		return h, err
	}
	h, err = a.cfg.Records.FindHost(ctx, id)
	return h, at("path.id", err)
}

func (a *API) findHost(ctx context.Context, in *HostParams) (*body[berth.Host], error) {
	h, err := a.storedHost(ctx, *in)
	return &body[berth.Host]{h.Host}, err
}

func (a *API) addHost(ctx context.Context, in *KeyParams) (*created[berth.JoinToken], error) {
	var req berth.HostRequest
	raw, err := readJSON(ctx, &req)
	if err != nil {
		return nil, allFaultsOf(err, func() []berth.Problem { return berth.ValidateHostRequest(req) })
	}
	var token berth.JoinToken
	id, replayed, err := a.once(ctx, *in, raw, 201, func(try attempt) (string, error) {
		token, err = a.cfg.Plane.AddHost(ctx, try.id, req, exchangeOf(ctx).principal.Name)
		return string(token.Host.ID), err
	})
	if err != nil {
		return nil, err
	}
	if replayed {
		h, err := a.cfg.Records.FindHost(ctx, berth.HostID(id))
		if err != nil {
			return nil, err
		}
		token = berth.JoinToken{Host: h.Host, ExpiresAt: h.JoinExpiresAt}
	}
	return &created[berth.JoinToken]{Location: Prefix + "/hosts/" + id, Replayed: replayedHeader(replayed), Body: token}, nil
}

func (a *API) joinHost(ctx context.Context, _ *empty) (*body[berth.JoinedHost], error) {
	var join berth.HostJoin
	if _, err := readJSON(ctx, &join); err != nil {
		return nil, err
	}
	joined, err := a.cfg.Plane.JoinHost(ctx, join)
	return &body[berth.JoinedHost]{joined}, err
}

func (a *API) beatHost(ctx context.Context, in *HostParams) (*empty, error) {
	id, err := in.own(ctx)
	if err != nil {
		return nil, err
	}
	var beat berth.Heartbeat
	if _, err := readJSON(ctx, &beat); err != nil {
		return nil, allFaultsOf(err, func() []berth.Problem { return berth.ValidateHeartbeat(beat) })
	}
	return nil, a.cfg.Plane.BeatHost(ctx, id, beat)
}

func (a *API) nudgeHost(ctx context.Context, in *HostParams) (*empty, error) {
	id, err := in.own(ctx)
	if err != nil {
		return nil, err
	}
	var nudge berth.Nudge
	if _, err := readJSON(ctx, &nudge); err != nil {
		return nil, err
	}
	var f faults
	if !berth.IsULID(string(nudge.Sandbox)) {
		f.addf("sandbox", "must be a sandbox id")
	}
	_, err = berth.ParseCommandID(string(nudge.Command))
	f.add("command", err)
	if err := f.err(); err != nil {
		return nil, err
	}
	return nil, a.cfg.Plane.NudgeHost(ctx, id, nudge)
}

func (a *API) drainHost(ctx context.Context, in *HostParams) (*body[berth.Host], error) {
	id, err := in.host()
	if err != nil {
		return nil, err
	}
	var req struct {
		Draining *bool `json:"draining"`
	}
	if _, err := readJSON(ctx, &req); err != nil {
		return nil, err
	}
	if req.Draining == nil {
		return nil, berth.FieldErrorf(berth.CodeInvalid, "draining", "is missing: send true or false")
	}
	h, err := a.cfg.Plane.DrainHost(ctx, id, *req.Draining)
	return &body[berth.Host]{h}, at("path.id", err)
}

func (a *API) removeHost(ctx context.Context, in *RemovalParams) (*empty, error) {
	id, err := in.host()
	if err != nil {
		return nil, err
	}
	switch in.Force {
	case "", "true", "false":
	default:
		return nil, berth.FieldErrorf(berth.CodeInvalid, "query.force", "must be true or false")
	}
	return nil, at("path.id", a.cfg.Plane.RemoveHost(ctx, id, in.Force == "true"))
}
