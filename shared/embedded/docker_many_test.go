package embedded_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/client"

	"github.com/berth-dev/berth/shared/berth"
	berthclient "github.com/berth-dev/berth/shared/client"
	"github.com/berth-dev/berth/shared/embedded"
	"github.com/berth-dev/berth/shared/sandbox/docker/dockertest"
)

// manyEnv makes the test below shorter than its 500 runs.
const manyEnv = "BERTH_TEST_RUNS"

const (
	manyRuns   = 500
	atOnce     = 10
	manyLimit  = 15 * time.Minute
	killsAfter = 2 * time.Second // at least; twice that at most
)

// The server owns the containers; it is killed with -9 every few seconds while
// short runs come, ten at a time. Every run ends as its command does, and nothing
// is left of any.
func TestManyRunsOverKilledServersLeaveNothing(t *testing.T) {
	t.Parallel()
	s := dockerSite(t)
	n := manyRuns
	if text := os.Getenv(manyEnv); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	api := dockertest.Engine(t)
	s.environment = "many" // an image with volumes of its own
	s.create(s.environment, map[string]any{"image": map[string]any{"docker": dockertest.Image(t, dockertest.Entry)}})
	ctx, cancel := context.WithTimeout(t.Context(), manyLimit)
	defer cancel()
	surviving, err := berthclient.New(berthclient.Config{Patience: 2 * time.Minute, Locate: s.locate})
	if err != nil {
		t.Fatal(err)
	}
	marker := fmt.Sprintf("many-%d", time.Now().UnixNano())

	next, results := make(chan int), make(chan error)
	var workers sync.WaitGroup
	for range atOnce {
		workers.Go(func() {
			for i := range next {
				results <- shortRun(ctx, surviving, s, marker, i)
			}
		})
	}
	go func() {
		for i := range n {
			next <- i
		}
		close(next)
		workers.Wait()
		close(results)
	}()
	seen, kills := things{}, 0
	random := rand.New(rand.NewPCG(2, 71))
	pause := func() time.Duration { return killsAfter + time.Duration(random.Int64N(int64(killsAfter))) }
	timer := time.NewTimer(pause())
	defer timer.Stop()
	for done := false; !done; {
		select {
		case err, more := <-results:
			done = !more
			if err != nil {
				t.Error(err)
			}
		case <-timer.C:
			seen.look(t, api, s.installation())
			s.kill()
			s.start()
			kills++
			timer.Reset(pause())
		}
	}
	t.Logf("%d runs over %d kills", n, kills)
	if n >= manyRuns && (kills < 5 || len(seen.mounts) == 0 || len(seen.volumes) == 0) {
		t.Errorf("the server was killed %d times only, and of the engine was seen %+v", kills, seen)
	}

	s.empty(api)
	seen.gone(t, api)
	if left := argumentsWith(marker); len(left) > 0 {
		t.Errorf("processes are left: %q", left)
	}
	files := func() []string {
		left, err := filepath.Glob(filepath.Join(s.dir, "containers", "*"))
		if err != nil {
			t.Fatal(err)
		}
		return left
	}
	// The last server's probe of the engine may be under way.
	for end := time.Now().Add(startWait); len(files()) > 0 && time.Now().Before(end); {
		time.Sleep(50 * time.Millisecond)
	}
	if left := files(); len(left) > 0 {
		t.Errorf("sandboxes' files are left: %v", left)
	}
}

// locate waits for a server of the data folder.
func (p *process) locate(ctx context.Context) (url, token string, err error) {
	for {
		found, err := embedded.Find(ctx, p.dir)
		if err == nil || berth.CodeOf(err) != berth.CodeNotFound {
			return found.URL, found.Token, err
		}
		if err := (berth.SystemClock{}).Sleep(ctx, 20*time.Millisecond); err != nil {
			return "", "", err
		}
	}
}

// shortRun is one of many: its number decides its output and its status.
func shortRun(ctx context.Context, api *berthclient.Client, s *site, marker string, i int) error {
	status := i % 7
	script := fmt.Sprintf(`: %s; echo "out %d"; echo "err %d" >&2; exit %d`, marker, i, i, status)
	created, err := api.CreateRun(ctx, s.request(s.environment, script))
	if err != nil {
		return fmt.Errorf("run %d: %w", i, err)
	}
	run := created
	for !run.Status.Ended() {
		if err := (berth.SystemClock{}).Sleep(ctx, 100*time.Millisecond); err != nil {
			return fmt.Errorf("run %d is %s: %w", i, run.Status, err)
		}
		if run, err = api.FindRun(ctx, created.ID); err != nil {
			return fmt.Errorf("run %d: %w", i, err)
		}
	}
	if run.Exit == nil || run.Exit.Code != status || run.Exit.Reason != berth.ExitExited {
		return fmt.Errorf("run %d ended %s with %+v, want status %d: %+v", i, run.Status, run.Exit, status, run.Reason)
	}
	var got output
	if _, err := api.FollowLogs(ctx, run.ID, run.Stages[len(run.Stages)-1].ID, 0, got.take); err != nil {
		return fmt.Errorf("the log of run %d: %w", i, err)
	}
	if out, errs := got.stdout.String(), got.stderr.String(); out != fmt.Sprintf("out %d\n", i) || errs != fmt.Sprintf("err %d\n", i) {
		return fmt.Errorf("run %d said %q and %q", i, out, errs)
	}
	return nil
}

// things are what the engine made beside containers. Others use the engine too,
// so that counting would say nothing.
type things struct{ mounts, volumes, networks []string }

func (x *things) look(t *testing.T, api *client.Client, id berth.InstallationID) {
	for _, c := range dockertest.Containers(t, api, id) {
		if c.GraphDriver != nil {
			x.mounts = append(x.mounts, c.GraphDriver.Data["MergedDir"])
		}
		for _, m := range c.Mounts {
			if m.Type == mount.TypeVolume {
				x.volumes = append(x.volumes, m.Name)
			}
		}
		if c.NetworkSettings == nil {
			continue
		}
		for name := range c.NetworkSettings.Networks {
			x.networks = append(x.networks, name)
		}
	}
}

// gone fails the test for what is still there. The engine's own networks stay.
func (x *things) gone(t *testing.T, api *client.Client) {
	t.Helper()
	mounted, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range x.mounts {
		if dir != "" && strings.Contains(string(mounted), dir+" ") {
			t.Errorf("%s is still mounted", dir)
		}
	}
	for _, name := range x.volumes {
		if _, err := api.VolumeInspect(t.Context(), name, client.VolumeInspectOptions{}); err == nil {
			t.Errorf("volume %s is left", name)
		}
	}
	for _, name := range x.networks {
		if name != "bridge" {
			t.Errorf("a run was in network %s", name)
		}
	}
}

// argumentsWith are the arguments of processes that have text in them.
func argumentsWith(text string) []string {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline") // the pattern is right
	var found []string
	for _, file := range files {
		if b, err := os.ReadFile(file); err == nil && strings.Contains(string(b), text) {
			found = append(found, string(b))
		}
	}
	return found
}
