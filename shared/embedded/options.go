// Package embedded wires berth as one process: the same handlers, rules and
// state machine as on AWS, over a SQLite file, a folder and a sealed file.
package embedded

import (
	"io"
	"path/filepath"
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

// Options say how a server is to run. DataDir is required.
type Options struct {
	DataDir string
	// ConfigDir holds the key of the secrets, away from the data.
	ConfigDir string
	// Listen is host:port; DefaultListen when empty.
	Listen string
	// Environment is the default of runs that name none; berth.DefaultEnvironmentID when empty.
	Environment berth.EnvironmentID
	// AllowLocal turns the local provider on.
	AllowLocal bool
	// Docker is about the engine of this machine.
	Docker Docker
	// Daytona is the account of provider daytona.
	Daytona Account
	// Sprites is the account of provider sprites.
	Sprites Account
	// SSH is about hosts that the server's user can reach.
	SSH SSH
	// Exe is the account of provider exe.
	Exe Exe
	// Lenient leaves a provider off, with why, whose account or other settings cannot be
	// used; else the server does not start.
	Lenient bool
	// Agent, with a URL, gives the server the providers of a host agent.
	Agent Agent
	// GitHub reads private repositories.
	GitHub GitHub
	// Idle ends the server after that long without work; zero is never.
	Idle time.Duration
	// GuestPath overrides the embedded guest binary; for tests.
	GuestPath string
	// Log is where JSON log lines go.
	Log io.Writer
	// Ready, if set, is called once with the server's URL when it answers.
	Ready func(url string)
	Clock berth.Clock
}

// DefaultListen is loopback, on the port of the last server or, if that is not
// free, one that the system picks.
const DefaultListen = "127.0.0.1:0"

// DefaultIdle is after how long a background server without work ends.
const DefaultIdle = 15 * time.Minute

// paths are the places in a data folder.
type paths struct{ dir string }

func (p paths) table() string      { return filepath.Join(p.dir, "berth.db") }
func (p paths) blobs() string      { return filepath.Join(p.dir, "blobs") }
func (p paths) secrets() string    { return filepath.Join(p.dir, "secrets.age") }
func (p paths) sandboxes() string  { return filepath.Join(p.dir, "sandboxes") }
func (p paths) containers() string { return filepath.Join(p.dir, "containers") }
func (p paths) guests() string     { return filepath.Join(p.dir, "guests") }
func (p paths) lock() string       { return filepath.Join(p.dir, "lock") }
func (p paths) startLock() string  { return filepath.Join(p.dir, "start.lock") }
func (p paths) token() string      { return filepath.Join(p.dir, "token") }
func (p paths) server() string     { return filepath.Join(p.dir, "server.json") }
func (p paths) address() string    { return filepath.Join(p.dir, "address") }
func (p paths) log() string        { return filepath.Join(p.dir, "server.log") }
