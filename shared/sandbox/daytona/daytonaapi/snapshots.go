package daytonaapi

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// SnapshotState is where a snapshot stands; values that are not known mean "wait".
type SnapshotState string

// The states that something depends on.
const (
	SnapshotActive      SnapshotState = "active"
	SnapshotInactive    SnapshotState = "inactive"
	SnapshotFailed      SnapshotState = "error"
	SnapshotBuildFailed SnapshotState = "build_failed"
	SnapshotRemoving    SnapshotState = "removing"
)

var knownSnapshot = map[SnapshotState]bool{
	"building": true, "pending": true, "pulling": true, "snapshotting": true, SnapshotActive: true, SnapshotInactive: true,
	SnapshotFailed: true, SnapshotBuildFailed: true, SnapshotRemoving: true,
}

// Known reports whether s is a state that the contract names.
func (s SnapshotState) Known() bool { return knownSnapshot[s] }

// NewSnapshot is what a snapshot is built from. Sizes are in whole GB; 0 is the
// server's default.
type NewSnapshot struct {
	Name      string `json:"name"`
	BuildInfo struct {
		Dockerfile string `json:"dockerfileContent"`
	} `json:"buildInfo"`
	CPU      int    `json:"cpu,omitempty"`
	Memory   int    `json:"memory,omitempty"`
	Disk     int    `json:"disk,omitempty"`
	RegionID string `json:"regionId,omitempty"`
}

// Snapshot is what the control plane says of one.
type Snapshot struct {
	ID          string        `json:"id"`
	Name        string        `json:"name"`
	State       SnapshotState `json:"state"`
	ErrorReason string        `json:"errorReason"`
	CreatedAt   time.Time     `json:"createdAt"`
	UpdatedAt   time.Time     `json:"updatedAt"`
}

func (s *Snapshot) isWhole() bool { return s.ID != "" }

func snapshotPath(idOrName string) string { return "/snapshots/" + url.PathEscape(idOrName) }

// CreateSnapshot is sent once, as CreateSandbox. Error: conflict for a name that
// is taken.
func (c *Client) CreateSnapshot(ctx context.Context, n NewSnapshot) (s Snapshot, err error) {
	err = c.exchange(ctx, call{method: http.MethodPost, path: "/snapshots", in: n, limit: startLimit}, &s)
	return s, err
}

// FindSnapshot takes an id or a name. Error: not_found.
func (c *Client) FindSnapshot(ctx context.Context, idOrName string) (s Snapshot, err error) {
	err = c.exchange(ctx, get(snapshotPath(idOrName), nil), &s)
	return s, err
}

// ListSnapshots returns all whose name holds part. Error: unavailable for a list
// without an end.
func (c *Client) ListSnapshots(ctx context.Context, part string) ([]Snapshot, error) {
	var all []Snapshot
	for page := 1; page <= maxPages; page++ {
		var got struct {
			Items      []Snapshot `json:"items"`
			TotalPages int        `json:"totalPages"`
		}
		query := url.Values{"name": {part}, "limit": {strconv.Itoa(pageSize)}, "page": {strconv.Itoa(page)}}
		if err := c.exchange(ctx, get("/snapshots", query), &got); err != nil {
			return nil, err
		}
		all = append(all, got.Items...)
		if len(got.Items) == 0 || page >= got.TotalPages {
			return all, nil
		}
	}
	return nil, c.endless("snapshots")
}

// ActivateSnapshot takes an id. It is refused for ten minutes after a
// deactivation, and for one that is no longer inactive.
func (c *Client) ActivateSnapshot(ctx context.Context, id string) error {
	return c.exchange(ctx, call{method: http.MethodPost, path: snapshotPath(id) + "/activate", again: true, changes: true}, nil)
}

// DeleteSnapshot takes an id. The name is free once the snapshot is not found.
func (c *Client) DeleteSnapshot(ctx context.Context, id string) error {
	return c.exchange(ctx, call{method: http.MethodDelete, path: snapshotPath(id), again: true, changes: true}, nil)
}

// SnapshotBuildLogs reads the last bytes of a build's log, without following it.
func (c *Client) SnapshotBuildLogs(ctx context.Context, id string, last int) (string, error) {
	var address struct {
		URL string `json:"url"`
	}
	if err := c.exchange(ctx, get(snapshotPath(id)+"/build-logs-url", nil), &address); err != nil {
		return "", err
	}
	return c.tail(ctx, address.URL, last)
}
