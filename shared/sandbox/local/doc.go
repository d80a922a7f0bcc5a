// Package local is the provider that runs commands on the server's own machine,
// in a folder that is there already. Each sandbox is a guest: a detached process
// that goes on when the server dies and is found again by the next one. There is
// no isolation.
package local
