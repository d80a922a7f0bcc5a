// Package shell runs command lines on other machines over SSH, in two ways: by
// the OpenSSH client program with the user's own configuration, and by a client
// of its own where there is no such program. Host keys are checked by both. Both
// are a relay.Shell.
package shell
