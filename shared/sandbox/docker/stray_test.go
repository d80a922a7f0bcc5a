//go:build linux

package docker_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestWhatProbesOfDeadInstallationsLeftIsRemovedAfterADay(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex // guards removed
	var removed []string
	now := time.Now()
	old, young := now.Add(-25*time.Hour).Unix(), now.Add(-time.Hour).Unix()
	host := fakeEngine(t, func(w http.ResponseWriter, r *http.Request) {
		path := r.URL.Path
		name := path[strings.LastIndex(path, "/")+1:]
		ours := strings.Contains(r.URL.RawQuery, "dev.berth.installation")
		switch {
		case name == "info":
			_, _ = fmt.Fprint(w, `{"ID":"one","DefaultRuntime":"runc"}`)
		case name == "version":
			_, _ = fmt.Fprint(w, `{"Arch":"amd64"}`)
		case strings.HasSuffix(path, "/containers/json") && ours:
			_, _ = fmt.Fprint(w, `[]`)
		case strings.HasSuffix(path, "/containers/json"), strings.HasSuffix(path, "/images/json"):
			if !strings.Contains(r.URL.RawQuery, "dev.berth.purpose%3Dprobe") {
				t.Errorf("%s is asked by %s: that may be anybody's", path, r.URL.RawQuery)
			}
			_ = json.NewEncoder(w).Encode([]map[string]any{
				{"Id": "running", "Created": old, "State": "running"},
				{"Id": "old", "Created": old, "State": "exited"},
				{"Id": "never", "Created": old, "State": "created"},
				{"Id": "young", "Created": young, "State": "exited"},
			})
		case r.Method == http.MethodDelete && strings.Contains(path, "/images/") && name == "running":
			http.Error(w, `{"message":"a container uses it"}`, http.StatusConflict)
		case r.Method == http.MethodDelete && !strings.Contains(name, "scratch"):
			mu.Lock()
			defer mu.Unlock()
			removed = append(removed, path[strings.LastIndex(path[:len(path)-len(name)-1], "/")+1:])
			_, _ = fmt.Fprint(w, `[]`)
		default:
			http.Error(w, `{"message":"no room"}`, http.StatusInternalServerError)
		}
	})
	config := fakeConfig(t, host)
	config.Transport = ""
	if _, _, err := open(t, config).Transport(bounded(t)); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	slices.Sort(removed)
	if diff := cmp.Diff([]string{"containers/never", "containers/old", "images/never", "images/old"}, slices.Compact(removed)); diff != "" {
		t.Errorf("removed (-want +got):\n%s", diff)
	}
}
