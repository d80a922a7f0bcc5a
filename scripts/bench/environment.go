package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/embedded"
	"github.com/berth-dev/berth/shared/table/sqlite"
)

// anchorEnv makes this program the anchor's server: a bare net/http handler
// that reads the same row from the same SQLite file and answers its JSON.
const anchorEnv = "BERTH_BENCH_ANCHOR"

func serveAnchor() error {
	table, err := sqlite.Open(context.Background(), os.Getenv(anchorEnv), berth.SystemClock{})
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println("http://" + l.Addr().String())
	return http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		item, err := table.Get(r.Context(), "env", "bench")
		var record struct{ Value berth.Environment }
		if err == nil {
			err = json.Unmarshal(item.Body, &record)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(record.Value)
	}))
}

// benchEnvironment is GET of one environment on one kept-alive connection. The
// budget is on requests a second, 0.5 of the anchor's: twice its time.
func benchEnvironment(ctx context.Context, p plan, s *server) (row, error) {
	r := row{what: "GET one environment", anchor: "bare net/http handler, same SQLite read", budget: 2}
	if _, err := s.sandbox(ctx); err != nil {
		return r, err
	}
	self, err := os.Executable()
	if err != nil {
		return r, err
	}
	anchor := exec.CommandContext(ctx, self)
	anchor.Env = append(os.Environ(), anchorEnv+"="+filepath.Join(s.data(), "berth.db"))
	anchor.Stderr = os.Stderr
	out, err := anchor.StdoutPipe()
	if err != nil {
		return r, err
	}
	if err := anchor.Start(); err != nil {
		return r, err
	}
	defer func() { _ = anchor.Process.Kill(); _ = anchor.Wait() }()
	line := make([]byte, 64)
	n, err := out.Read(line)
	if err != nil {
		return r, fmt.Errorf("reading the anchor's address: %w", err)
	}
	found, err := embedded.Find(ctx, s.data())
	if err != nil {
		return r, err
	}
	p.block *= 5
	a, b, err := pair(p, get(ctx, found.URL+"/api/v1/environments/bench", found.Token), get(ctx, strings.TrimSpace(string(line[:n])), ""))
	r.ours, r.theirs, r.ratio = rate(a), rate(b), ratio(a, b)
	r.note = "the ratio is of times: 2 is half the requests a second"
	return r, err
}

func rate(d time.Duration) string { return fmt.Sprintf("%.0f/s", float64(time.Second)/float64(d)) }

func get(ctx context.Context, url, token string) func() error {
	c := &http.Client{Transport: &http.Transport{MaxConnsPerHost: 1}}
	return func() error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		req.Header.Set("Authorization", "Bearer "+token)
		res, err := c.Do(req)
		if err != nil {
			return err
		}
		defer res.Body.Close()
		if _, err := io.Copy(io.Discard, res.Body); err != nil || res.StatusCode != http.StatusOK {
			return fmt.Errorf("GET %s: %s, %w", url, res.Status, err)
		}
		return nil
	}
}
