package dockertest

import (
	"context"
	"testing"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/berth-dev/berth/shared/berth"
)

// Engine is a client of the test's own.
func Engine(t testing.TB) *client.Client {
	t.Helper()
	api, err := client.New(client.FromEnv)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { api.Close() })
	return api
}

// Containers are the sandboxes of an installation, whatever their state, as the
// engine describes them. A server's probe of the engine is none.
func Containers(t testing.TB, api *client.Client, id berth.InstallationID) []container.InspectResponse {
	t.Helper()
	var found []container.InspectResponse
	for _, c := range labelled(t, api, id) {
		if c.Config == nil || c.Config.Labels["dev.berth.purpose"] == "" {
			found = append(found, c)
		}
	}
	return found
}

// labelled are all containers of an installation.
func labelled(t testing.TB, api *client.Client, id berth.InstallationID) []container.InspectResponse {
	t.Helper()
	ctx := context.WithoutCancel(t.Context()) // also while the test cleans up
	list, err := api.ContainerList(ctx, client.ContainerListOptions{
		All: true, Filters: client.Filters{}.Add("label", "dev.berth.installation="+string(id)),
	})
	if err != nil {
		t.Fatal(err)
	}
	var found []container.InspectResponse
	for _, c := range list.Items {
		result, err := api.ContainerInspect(ctx, c.ID, client.ContainerInspectOptions{})
		if err == nil { // else it has gone meanwhile
			found = append(found, result.Container)
		}
	}
	return found
}

// probeEnd bounds how long a server's probe of the engine may take: it was started
// with the server, and ends by itself.
const probeEnd = time.Minute

// NoneLeft fails the test when an installation left containers behind, and
// removes them.
func NoneLeft(t testing.TB, api *client.Client, id berth.InstallationID) {
	t.Helper()
	left := labelled(t, api, id)
	for end := time.Now().Add(probeEnd); len(left) > len(Containers(t, api, id)) && time.Now().Before(end); left = labelled(t, api, id) {
		time.Sleep(50 * time.Millisecond)
	}
	for _, c := range left {
		t.Errorf("container %s is left", c.Name)
		_, err := api.ContainerRemove(context.WithoutCancel(t.Context()), c.ID, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
		if err != nil {
			t.Error(err)
		}
	}
}
