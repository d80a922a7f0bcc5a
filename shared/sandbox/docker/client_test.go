//go:build linux

package docker_test

import (
	"strings"
	"testing"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/sandbox/docker"
	"github.com/berth-dev/berth/shared/sandbox/docker/dockertest"
	"github.com/berth-dev/berth/shared/shell/sshdtest"
)

func TestAddressesOfEnginesThatCannotBeUsedAreRefused(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]berth.Code{
		"npipe:////./pipe/docker_engine": berth.CodeUnsupported,
		"/var/run/docker.sock":           berth.CodeUnsupported,
		"tcp://":                         berth.CodeInvalid,
		"tcp://user:secret@host:2375":    berth.CodeInvalid,
		"ssh://":                         berth.CodeInvalid,
		"ssh://-oProxyCommand=x":         berth.CodeInvalid,
		"ssh://-oProxyCommand=x@host":    berth.CodeInvalid,
		"ssh://user:secret@host":         berth.CodeInvalid,
		"ssh://host/run/docker.sock":     berth.CodeInvalid,
	} {
		c, err := docker.NewClient(host, "")
		if berth.CodeOf(err) != want {
			t.Errorf("NewClient(%q): %v, want %s", host, err, want)
		}
		if err == nil {
			c.Close()
		} else if strings.Contains(err.Error(), "secret") {
			t.Errorf("the error repeats the password: %v", err)
		}
	}
}

func TestAnEngineIsReachedBySSH(t *testing.T) {
	t.Parallel()
	dockertest.Image(t, dockertest.User)
	s := sshdtest.Start(t)
	config := config(t)
	config.Host, config.SSHConfig, config.Transport = "ssh://"+sshdtest.Alias, s.ClientConfig, docker.TransportAttached
	b := sandbox(t, config, specOf(dockertest.User))
	id := startCounting(b)
	s.Cut() // as a network that goes away and comes back
	if got := b.script("echo by ssh"); got != "by ssh\n" {
		t.Errorf("it says %q", got)
	}
	wantCounted(t, b, id)
	if state, err := b.Describe(bounded(t), b.ref); err != nil || !strings.Contains(state.Hint, "docker -H ssh://"+sshdtest.Alias+" exec") {
		t.Errorf("Describe = %+v, %v", state, err)
	}
}

func TestAnEngineBehindAnSSHServerThatIsGoneIsUnavailable(t *testing.T) {
	t.Parallel()
	s := sshdtest.Start(t)
	s.Refuse(true)
	config := config(t)
	config.Host, config.SSHConfig = "ssh://"+sshdtest.Alias, s.ClientConfig
	_, err := docker.New(config)
	wantCode(t, "New", err, berth.CodeUnavailable)
}
