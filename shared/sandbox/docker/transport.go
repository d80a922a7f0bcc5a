package docker

// Transport is how the guest in a container and this process talk.
type Transport string

const (
	// TransportSocket is a socket in a folder of this machine that the container
	// sees: for an engine on the same Linux.
	TransportSocket Transport = "socket"
	// TransportAttached is the attached standard input and output of process 1,
	// which is guest and agent in one and keeps its spools in a volume: for every
	// other engine.
	TransportAttached Transport = "attached"
)
