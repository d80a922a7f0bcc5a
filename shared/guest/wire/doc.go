// Package wire is what an agent and a guest say to each other over a Unix
// stream socket: length-prefixed messages with a JSON header, a raw body, and
// file descriptors. The guest dials; the agent asks and the guest answers, any
// number of requests at a time. It is the same for every provider with a guest.
package wire
