package dockertest

import (
	"net"
	"testing"

	"github.com/moby/moby/client"
)

// Bridge is this machine's IPv4 address in the network that containers have by
// default: where a server listens that they are to reach.
func Bridge(t testing.TB) string {
	t.Helper()
	found, err := Engine(t).NetworkInspect(t.Context(), "bridge", client.NetworkInspectOptions{})
	if err != nil {
		t.Fatal(err)
	}
	bridge, err := net.InterfaceByName(found.Network.Options["com.docker.network.bridge.name"])
	if err != nil {
		Missing(t, "the engine has no bridge on this machine: "+err.Error())
	}
	addresses, err := bridge.Addrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addresses {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil {
			return n.IP.String()
		}
	}
	t.Fatalf("the bridge %s has no IPv4 address", bridge.Name)
	return ""
}
