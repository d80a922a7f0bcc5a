//go:build linux

package embedded_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/gitsource/gitservertest"
	"github.com/berth-dev/berth/shared/sandbox/sprites/spritestest"
)

// spriteSite is a server with an account at a Sprites service.
func spriteSite(t *testing.T) (*site, *spritestest.Server) {
	t.Helper()
	service := spritestest.Start(t) // ends after the server
	s := localSite(t)
	s.stop()
	s.more = []string{spriteEnv + "=" + service.URL + " " + spritestest.Token}
	s.start()
	s.source, s.environment, s.settings = "", "small", map[string]any{"provider": "sprites"}
	s.create(s.environment, nil)
	return s, service
}

func noSprites(t *testing.T, service *spritestest.Server) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); len(service.Sprites()) > 0; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d sprites are left, such as %s", len(service.Sprites()), service.Sprites()[0].Name)
		}
	}
}

func TestARunInASpriteHasItsCodeAndLeavesNoSprite(t *testing.T) {
	t.Parallel()
	s, service := spriteSite(t)
	repository := gitservertest.Start(t, gitservertest.Options{})
	request := s.request(s.environment, "git rev-parse HEAD; pwd")
	request.Target = &berth.Target{Kind: berth.TargetGit, Origin: repository.URL, Tag: gitservertest.LightTag}
	run := s.succeed(s.submit(request).ID)
	if got := s.log(run).stdout.String(); !strings.HasPrefix(got, repository.Light+"\n") || !strings.HasSuffix(got, "/home/sprite/workspace\n") {
		t.Errorf("the run printed %q", got)
	}
	noSprites(t, service)
}

func TestARunWhoseSpriteIsDeletedIsLost(t *testing.T) {
	t.Parallel()
	s, service := spriteSite(t)
	run := s.begin("touch begun; sleep 600")
	begun := func() bool {
		all := service.Sprites()
		if len(all) == 0 {
			return false
		}
		_, err := os.Stat(filepath.Join(all[0].Home(), "workspace", "begun"))
		return err == nil
	}
	for deadline := time.Now().Add(time.Minute); !begun(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the command did not begin")
		}
	}
	service.Remove(service.Sprites()[0])
	run = s.awaitRun(run.ID)
	if run.Status != berth.RunFailed || run.Reason == nil || run.Reason.Code != berth.ReasonLost {
		t.Errorf("the run is %s because of %+v, want lost", run.Status, run.Reason)
	}
}

func TestARunInASpriteOutlivesItsServer(t *testing.T) {
	t.Parallel()
	s, service := spriteSite(t)
	outlive(t, s)
	noSprites(t, service)
}
