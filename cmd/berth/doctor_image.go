package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/berth-dev/berth/shared/berth"
)

// checkDefaultEnvironment tells whether a run that names no environment could be,
// and looks into the image when that is on this machine.
func (a *app) checkDefaultEnvironment(ctx context.Context) []finding {
	const name = "default environment"
	c, err := a.connectProbed(http.DefaultTransport)
	if err != nil {
		return nil // the check of the server tells
	}
	defer c.Close()
	report, err := c.Preflight(ctx, berth.RunRequest{Command: []string{"true"}})
	if err != nil {
		return nil // it tells that too
	}
	for _, check := range report.Checks {
		if check.Status == berth.CheckError && check.Name != "directory" {
			return said(name, warn, check.Name+": "+check.Summary, check.Remediation)
		}
	}
	e := report.Environment
	if e == nil {
		return nil
	}
	findings := said(name, pass, fmt.Sprintf("%s (%s)", e.ID, e.Provider), "")
	if server, err := a.configuredServer(); e.Provider != berth.ProviderDocker || server != "" || err != nil {
		return findings
	}
	return append(findings, a.checkImage(ctx, *e)...)
}

// checkImage looks for the environment's image on this machine, and for what berth
// needs in it.
func (a *app) checkImage(ctx context.Context, e berth.Environment) []finding {
	const name = "image"
	image := berth.DefaultDockerImage
	if e.Image.Docker != nil && *e.Image.Docker != "" {
		image = *e.Image.Docker
	}
	ref, err := berth.ParseImage(image)
	if err != nil {
		return said(name, warn, err.Error(), "")
	}
	if ref.Digest != "" {
		ref.Tag = "" // the digest says all
	}
	api, err := client.New(client.WithHost(a.engineHost()), client.WithUserAgent("berth"))
	if err != nil {
		return nil // the check of the engine tells
	}
	defer api.Close()
	_, err = api.ImageInspect(ctx, ref.String())
	switch {
	case cerrdefs.IsNotFound(err) && e.Docker != nil && e.Docker.AutoPull != nil && !*e.Docker.AutoPull:
		return said(name, warn, image+" is not on this machine, and docker.auto_pull is false", "docker pull "+image)
	case cerrdefs.IsNotFound(err):
		return said(name, warn, image+" is not on this machine yet: the first run pulls it", "docker pull "+image+", to have it done")
	case err != nil:
		return nil // the check of the engine tells
	}
	return said(lookInto(ctx, api, ref.String(), image))
}

// The statuses of the look into an image.
const (
	hasAll = 0
	noGit  = 3
)

const imageLimit = 20 * time.Second

// lookInto starts a short container without a network.
func lookInto(ctx context.Context, api *client.Client, ref, image string) (name, status, message, remedy string) {
	name = "image"
	ctx, cancel := context.WithTimeout(ctx, imageLimit)
	defer cancel()
	code, err := runBriefly(ctx, api, ref, fmt.Sprintf("command -v git >/dev/null || exit %d", noGit))
	switch {
	case err != nil && strings.Contains(err.Error(), "no such file or directory"), err == nil && (code == 126 || code == 127):
		return name, fail, image + " is there, and has no /bin/bash", "use an image with bash, or add it; every command starts through it"
	case err != nil:
		return name, warn, image + " is there, and no container of it starts: " + firstLine(err.Error()), "see the engine's log"
	case code == noGit:
		return name, warn, image + " is there, with bash and without git", "add git to the image, so that runs can fetch code"
	case code != hasAll:
		return name, fail, fmt.Sprintf("%s is there, and its bash ends with status %d", image, code), "use another image"
	}
	return name, pass, image + " is there, with bash and git", ""
}

// runBriefly runs a script in a container that leaves nothing, and returns its status.
func runBriefly(ctx context.Context, api *client.Client, image, script string) (int64, error) {
	made, err := api.ContainerCreate(ctx, client.ContainerCreateOptions{
		Config: &container.Config{
			Image: image, Entrypoint: []string{"/bin/bash", "-c", script}, Cmd: []string{},
			Healthcheck: &container.HealthConfig{Test: []string{"NONE"}}, Labels: map[string]string{"dev.berth.doctor": "yes"},
		},
		// Removed by the engine, should this program be killed.
		HostConfig: &container.HostConfig{AutoRemove: true, NetworkMode: "none"},
	})
	if err != nil {
		return 0, err
	}
	defer func() {
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), engineLimit)
		defer cancel()
		_, _ = api.ContainerRemove(end, made.ID, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true}) // mostly it is gone
	}()
	wait := api.ContainerWait(ctx, made.ID, client.ContainerWaitOptions{Condition: container.WaitConditionNextExit})
	if _, err := api.ContainerStart(ctx, made.ID, client.ContainerStartOptions{}); err != nil {
		return 0, err
	}
	select {
	case ended := <-wait.Result:
		return ended.StatusCode, nil
	case err := <-wait.Error:
		return 0, err
	}
}
