// Package remote is a provider whose sandboxes are on another machine: it talks
// to the host agent there, which has the provider itself.
package remote
