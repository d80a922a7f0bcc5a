package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/user"
	"runtime"
	"strings"
	"time"

	"github.com/moby/moby/client"
	"github.com/moby/moby/client/pkg/versions"

	"github.com/berth-dev/berth/shared/embedded"
	"github.com/berth-dev/berth/shared/sandbox/docker"
	"github.com/berth-dev/berth/shared/terminal"
)

// What the provider docker needs of an engine.
const (
	leastEngineAPI = "1.41"
	leastEngine    = "20.10"
)

const (
	toInstallDocker = "install Docker and start it, to use environments of provider docker"
	toStartDocker   = "start Docker (systemctl start docker), to use environments of provider docker"
	engineLimit     = 10 * time.Second
)

// engineHost is where the provider docker of a server on this machine looks for
// an engine.
func (a *app) engineHost() string {
	return cmp.Or(a.env[client.EnvOverrideHost], client.DefaultDockerHost)
}

// checkDocker looks at the engine that a server on this machine uses. Nothing of it
// is a failure: there are other providers.
func (a *app) checkDocker(ctx context.Context) []finding {
	const name = "docker"
	if runtime.GOOS != "linux" {
		return said(name, warn, "a server makes containers on Linux only", "use a server on Linux")
	}
	host := a.engineHost()
	socket, local := strings.CutPrefix(host, "unix://")
	if local {
		if f := checkSocket(ctx, socket); f.Status != pass {
			return []finding{f}
		}
	}
	api, err := docker.NewClient(host, "")
	if err != nil {
		return said(name, warn, err.Error(), "correct DOCKER_HOST")
	}
	defer api.Close()
	ctx, cancel := context.WithTimeout(ctx, engineLimit)
	defer cancel()
	findings := a.checkEngine(ctx, api, local)
	if !local && findings[0].Status == pass {
		findings = append(findings, finding{
			name + " engine", pass, "it is at " + host + ": unless a probe finds it to be on this machine, sandboxes are reached over the engine's API", "",
		})
	}
	return findings
}

// checkSocket tells whether this user gets an answer at the engine's socket.
func checkSocket(ctx context.Context, path string) finding {
	conn, err := (&net.Dialer{Timeout: engineLimit}).DialContext(ctx, "unix", path)
	if err == nil {
		_ = conn.Close() // nothing was sent
	}
	return socketFinding(path, err)
}

func socketFinding(path string, err error) finding {
	const name = "docker"
	switch {
	case err == nil:
		return finding{name, pass, path + " is open to this user", ""}
	case errors.Is(err, fs.ErrNotExist):
		return finding{name, warn, "no engine: " + path + " is not there", toInstallDocker}
	case errors.Is(err, fs.ErrPermission):
		return finding{name, warn, "this user may not use " + path + socketMode(path), fmt.Sprintf(
			"add the user to the socket's group (sudo usermod -aG docker %s) and log in again; whoever is in that group is as good as root here", userName())}
	}
	return finding{name, warn, "the engine does not answer: " + err.Error(), toStartDocker}
}

func socketMode(path string) string {
	if info, err := os.Stat(path); err == nil {
		return fmt.Sprintf(" (%s)", info.Mode())
	}
	return ""
}

func userName() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return "$USER"
}

// checkEngine asks the engine what it is and has.
func (a *app) checkEngine(ctx context.Context, api *docker.Client, local bool) []finding {
	const name = "docker"
	v, err := api.ServerVersion(ctx, client.ServerVersionOptions{})
	if err != nil {
		return said(name, warn, "the engine does not answer: "+firstLine(err.Error()), toStartDocker)
	}
	what := fmt.Sprintf("engine %s, API %s, %s/%s", terminal.Clean(v.Version), terminal.Clean(v.APIVersion), terminal.Clean(v.Os), terminal.Clean(v.Arch))
	switch {
	case v.Os != "linux":
		return said(name, warn, what+": its containers are not Linux ones", "switch the engine to Linux containers")
	case versions.LessThan(v.APIVersion, leastEngineAPI):
		return said(name, warn, what+" is too old", "upgrade Docker to "+leastEngine+" or later")
	}
	found, err := api.Info(ctx, client.InfoOptions{})
	if err != nil {
		return said(name, warn, what+"; what it can do is not known: "+firstLine(err.Error()), "")
	}
	info := found.Info
	if info.LiveRestoreEnabled {
		what += "; sandboxes outlive its restart"
	} else {
		what += "; without live-restore, so sandboxes end when it restarts"
	}
	findings := said(name, pass, what, "")
	if !info.MemoryLimit || !info.CPUCfsQuota {
		findings = append(findings, finding{"docker limits", warn, "the kernel limits neither memory nor CPU fully: resources of environments may not hold", "switch on the cgroup controllers memory and cpu"})
	}
	if !local { // its disk is not this machine's
		return findings
	}
	return append(findings, engineDisk(info.DockerRootDir)...)
}

// engineDisk is about the disk that images and containers are on.
func engineDisk(dir string) []finding {
	const name = "docker disk"
	free, err := embedded.FreeBytes(dir)
	if err != nil {
		return said(name, warn, "the free space of "+terminal.Clean(dir)+" is not known: "+err.Error(), "")
	}
	message := terminal.Bytes(free) + " free in " + terminal.Clean(dir)
	if free < lowSpace {
		return said(name, warn, message, "free some space (docker system prune); containers have no limit of their own")
	}
	return said(name, pass, message, "")
}
