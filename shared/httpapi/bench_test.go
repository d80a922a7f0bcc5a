package httpapi_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"testing"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/blob/dir"
	"github.com/berth-dev/berth/shared/httpapi"
	"github.com/berth-dev/berth/shared/ids"
	"github.com/berth-dev/berth/shared/records"
	"github.com/berth-dev/berth/shared/secret/sealed"
	"github.com/berth-dev/berth/shared/stream"
	"github.com/berth-dev/berth/shared/table/sqlite"
)

// BenchmarkFindEnvironment compares GET of one environment with a bare handler
// that does the same read, each over a kept-alive connection.
func BenchmarkFindEnvironment(b *testing.B) {
	store, api := benchAPI(b)
	b.Run("bare", func(b *testing.B) {
		benchGet(b, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			e, err := store.FindEnvironment(r.Context(), "ci")
			if err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(e.Environment)
		}))
	})
	b.Run("api", func(b *testing.B) { benchGet(b, api) })
}

// BenchmarkOverhead is the API's own part: no network, no table.
func BenchmarkOverhead(b *testing.B) {
	_, api := benchAPI(b)
	req, err := http.NewRequest("GET", "http://localhost/api/v1/whoami", nil)
	if err != nil {
		b.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+testToken)
	b.ReportAllocs()
	for b.Loop() {
		api.ServeHTTP(&discardWriter{header: http.Header{}}, req)
	}
}

type discardWriter struct{ header http.Header }

func (d *discardWriter) Header() http.Header         { return d.header }
func (d *discardWriter) Write(p []byte) (int, error) { return len(p), nil }
func (d *discardWriter) WriteHeader(int)             {}

func benchAPI(b testing.TB) (*records.Store, http.Handler) {
	b.Helper()
	folder := b.TempDir()
	clock := berth.SystemClock{}
	fail := func(err error) {
		if err != nil {
			b.Fatal(err)
		}
	}
	table, err := sqlite.Open(context.Background(), filepath.Join(folder, "berth.db"), clock)
	fail(err)
	b.Cleanup(func() { table.Close() })
	blobs, err := dir.Open(filepath.Join(folder, "blobs"))
	fail(err)
	b.Cleanup(func() { blobs.Close() })
	secrets, err := sealed.Open(filepath.Join(folder, "secrets"), filepath.Join(folder, "key"))
	fail(err)
	hub := &stream.Hub{}
	source := ids.New(clock)
	store := &records.Store{Table: table, Blobs: blobs, Clock: clock, IDs: source, Notifier: hub}
	e := berth.SeedEnvironment()
	e.ID = "ci"
	_, err = store.CreateEnvironment(context.Background(), e)
	fail(err)
	api, err := httpapi.New(httpapi.Config{
		Plane: newTestPlane(store), Records: store, Blobs: blobs, Secrets: secrets, Waiter: hub,
		Authenticator: httpapi.StaticToken(testToken), Clock: clock, IDs: source,
		SigningKey: make([]byte, 32), Logger: slog.New(slog.NewJSONHandler(io.Discard, nil)), Embedded: true,
	})
	fail(err)
	return store, api
}

func benchGet(b *testing.B, h http.Handler) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	server := &http.Server{Handler: h}
	go func() { _ = server.Serve(listener) }()
	b.Cleanup(func() { server.Close() })
	client := &http.Client{Transport: &http.Transport{}}
	buf := make([]byte, 64<<10)
	b.ReportAllocs()
	for b.Loop() {
		req, _ := http.NewRequest("GET", "http://"+listener.Addr().String()+"/api/v1/environments/ci", nil)
		req.Header.Set("Authorization", "Bearer "+testToken)
		resp, err := client.Do(req)
		if err != nil || resp.StatusCode != http.StatusOK {
			b.Fatal(resp, err)
		}
		for err == nil {
			_, err = resp.Body.Read(buf)
		}
		resp.Body.Close()
	}
}
