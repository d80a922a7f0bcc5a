package daytonaapi

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

// State is where a sandbox stands. There are more than are named here; a value
// that is not known is "not finished yet".
type State string

// The states that something depends on.
const (
	Started     State = "started"
	Stopped     State = "stopped"
	Archived    State = "archived"
	Paused      State = "paused"
	Destroying  State = "destroying"
	Destroyed   State = "destroyed"
	Failed      State = "error"
	BuildFailed State = "build_failed"
)

var known = map[State]bool{
	"creating": true, "restoring": true, Destroyed: true, Destroying: true, Started: true, Stopped: true, "starting": true, "stopping": true,
	Failed: true, BuildFailed: true, "pending_build": true, "building_snapshot": true, "unknown": true, "pulling_snapshot": true, Archived: true,
	"archiving": true, "resizing": true, "snapshotting": true, "forking": true, "pausing": true, Paused: true, "resuming": true,
}

// Known reports whether s is a state that the contract names.
func (s State) Known() bool { return known[s] }

// NewSandbox is what a sandbox is created from.
type NewSandbox struct {
	Name             string            `json:"name"`
	Snapshot         string            `json:"snapshot,omitempty"`
	Target           string            `json:"target,omitempty"`
	Labels           map[string]string `json:"labels"`
	NetworkBlockAll  bool              `json:"networkBlockAll,omitempty"`
	NetworkAllowList string            `json:"networkAllowList,omitempty"`
	// AutoStopInterval is in minutes; 0 is never.
	AutoStopInterval int `json:"autoStopInterval"`
	// AutoDeleteInterval is in minutes; 0 deletes when it stops, -1 never.
	AutoDeleteInterval int `json:"autoDeleteInterval"`
}

// Sandbox is what the control plane says of one.
type Sandbox struct {
	ID                 string            `json:"id"`
	Name               string            `json:"name"`
	Labels             map[string]string `json:"labels"`
	State              State             `json:"state"`
	DesiredState       string            `json:"desiredState"`
	ErrorReason        string            `json:"errorReason"`
	Recoverable        bool              `json:"recoverable"`
	AutoDeleteInterval *float64          `json:"autoDeleteInterval"`
	AutoStopInterval   float64           `json:"autoStopInterval"`
	CreatedAt          string            `json:"createdAt"`
	ToolboxProxyURL    string            `json:"toolboxProxyUrl"`
}

func (s *Sandbox) isWhole() bool { return s.ID != "" }

// Created is the time of creation; zero when the server does not say.
func (s Sandbox) Created() time.Time {
	at, err := time.Parse(time.RFC3339, s.CreatedAt)
	if err != nil {
		return time.Time{}
	}
	return at.UTC()
}

func sandboxPath(idOrName string, below ...string) string {
	path := "/sandbox/" + url.PathEscape(idOrName)
	for _, part := range below {
		path += "/" + url.PathEscape(part)
	}
	return path
}

// CreateSandbox is sent once: after a failure that is unavailable, the sandbox may
// be there under its name. Errors: conflict for a name that is taken.
func (c *Client) CreateSandbox(ctx context.Context, n NewSandbox) (s Sandbox, err error) {
	err = c.exchange(ctx, call{method: http.MethodPost, path: "/sandbox", in: n, limit: startLimit}, &s)
	return s, err
}

// FindSandbox takes an id or a name. Error: not_found.
func (c *Client) FindSandbox(ctx context.Context, idOrName string) (s Sandbox, err error) {
	err = c.exchange(ctx, get(sandboxPath(idOrName), nil), &s)
	return s, err
}

const (
	pageSize = 200
	maxPages = 500 // a list that goes on for longer has no end
)

// sandboxPage is one of a list.
type sandboxPage struct {
	Items      []Sandbox `json:"items"`
	NextCursor *string   `json:"nextCursor"`
}

func (p *sandboxPage) isWhole() bool {
	return p.Items != nil && !slices.ContainsFunc(p.Items, func(s Sandbox) bool { return s.ID == "" })
}

// ListSandboxes returns all that carry labels, or an error: what a list leaves out
// would be taken for gone. It may lag behind. Error: unavailable for a list without
// an end.
func (c *Client) ListSandboxes(ctx context.Context, labels map[string]string) ([]Sandbox, error) {
	filter, err := json.Marshal(labels)
	if err != nil {
		return nil, err
	}
	var all []Sandbox
	cursor := ""
	for range maxPages {
		query := url.Values{"labels": {string(filter)}, "limit": {strconv.Itoa(pageSize)}, "includeErroredDeleted": {"true"}}
		if cursor != "" {
			query.Set("cursor", cursor)
		}
		var page sandboxPage
		if err := c.exchange(ctx, get("/sandbox", query), &page); err != nil {
			return nil, err
		}
		all = append(all, page.Items...)
		if page.NextCursor == nil || *page.NextCursor == "" {
			return all, nil
		}
		if *page.NextCursor == cursor {
			break
		}
		cursor = *page.NextCursor
	}
	return nil, c.endless("sandboxes")
}

func (c *Client) endless(of string) error {
	return berth.Errorf(berth.CodeUnavailable, "the list of %s of Daytona at %s has no end", of, c.base.Host)
}

// DeleteSandbox is repeated while the sandbox is changing. Error: not_found.
func (c *Client) DeleteSandbox(ctx context.Context, idOrName string) error {
	return c.exchange(ctx, call{method: http.MethodDelete, path: sandboxPath(idOrName), again: true, changes: true}, nil)
}

// change posts to a route below a sandbox, with one effect however often.
func (c *Client) change(ctx context.Context, idOrName string, below ...string) error {
	return c.exchange(ctx, call{
		method: http.MethodPost, path: sandboxPath(idOrName, below...), limit: startLimit, again: true, changes: true,
	}, nil)
}

// StartSandbox does nothing to one that is started.
func (c *Client) StartSandbox(ctx context.Context, idOrName string) error {
	return c.change(ctx, idOrName, "start")
}

// RecoverSandbox starts one that is in error and recoverable.
func (c *Client) RecoverSandbox(ctx context.Context, idOrName string) error {
	return c.change(ctx, idOrName, "recover")
}

// StopSandbox deletes a sandbox whose auto-delete interval is 0.
func (c *Client) StopSandbox(ctx context.Context, idOrName string) error {
	return c.change(ctx, idOrName, "stop")
}

// SetAutoDelete sets after how many minutes of being stopped it is deleted: 0 is
// at once, -1 never.
func (c *Client) SetAutoDelete(ctx context.Context, idOrName string, minutes int) error {
	return c.change(ctx, idOrName, "autodelete", strconv.Itoa(minutes))
}

// Touch pushes the clock of the auto-stop forward. It takes an id.
func (c *Client) Touch(ctx context.Context, id string) error {
	return c.change(ctx, id, "last-activity")
}

// ReplaceLabels replaces the whole map.
func (c *Client) ReplaceLabels(ctx context.Context, idOrName string, labels map[string]string) error {
	in := struct {
		Labels map[string]string `json:"labels"`
	}{labels}
	return c.exchange(ctx, call{method: http.MethodPut, path: sandboxPath(idOrName, "labels"), in: in, again: true, changes: true}, nil)
}

// SnapshotSandbox keeps its file system as a snapshot of that name; it goes on
// after the answer. Error: conflict for a name that is taken.
func (c *Client) SnapshotSandbox(ctx context.Context, idOrName, name string) error {
	in := struct {
		Name string `json:"name"`
	}{name}
	return c.exchange(ctx, call{method: http.MethodPost, path: sandboxPath(idOrName, "snapshot"), in: in, limit: startLimit, changes: true}, nil)
}
