package main

import (
	"io"
	"net/http"
	"path"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

// fakeCommand is `cat`, or with a script whatever its plan says.
type fakeCommand struct {
	request berth.CommandRequest
	input   []byte
	eof     chan struct{}
	signals []string
	frames  []berth.Frame
	exit    *berth.Exit
}

// takeAtOnce is how much input the fake takes of one request.
const takeAtOnce = 100 << 10

type fakeFile struct {
	data []byte
	mode uint32
	dir  bool
}

const fakeSandbox = berth.SandboxID("01k5m3v9x2qg00000000000000")

func (f *fake) addSandbox(run berth.RunID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sandboxes = append(f.sandboxes, berth.Sandbox{
		ID: fakeSandbox, Run: run, Environment: "ci", Provider: berth.ProviderLocal, Status: berth.SandboxReady,
		Workspace: "/work", Hint: "cd /work", CreatedAt: fakeNow, UpdatedAt: fakeNow,
	})
}

func (f *fake) routeSandboxes(mux *http.ServeMux) {
	mux.HandleFunc("GET /api/v1/sandboxes", func(w http.ResponseWriter, _ *http.Request) {
		f.mu.Lock()
		defer f.mu.Unlock()
		answer(w, 200, page(f.sandboxes))
	})
	one := func(pattern string, handle func(http.ResponseWriter, *http.Request, *berth.Sandbox)) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			f.mu.Lock()
			defer f.mu.Unlock()
			for i := range f.sandboxes {
				if strings.HasPrefix(string(f.sandboxes[i].ID), r.PathValue("id")) {
					handle(w, r, &f.sandboxes[i])
					return
				}
			}
			problemf(berth.CodeNotFound, "sandbox %s does not exist", r.PathValue("id")).write(w)
		})
	}
	one("GET /api/v1/sandboxes/{id}", func(w http.ResponseWriter, _ *http.Request, s *berth.Sandbox) { answer(w, 200, s) })
	status := func(verb string, to berth.SandboxStatus) {
		one("POST /api/v1/sandboxes/{id}/"+verb, func(w http.ResponseWriter, _ *http.Request, s *berth.Sandbox) {
			s.Status = to
			answer(w, 200, s)
		})
	}
	status("stop", berth.SandboxStopped)
	status("start", berth.SandboxReady)
	one("DELETE /api/v1/sandboxes/{id}", func(w http.ResponseWriter, r *http.Request, s *berth.Sandbox) {
		if s.Ref == "gone" { // its provider is
			if r.URL.Query().Get("force") != "true" {
				problemf(berth.CodeUnavailable, "the provider does not answer").write(w)
				return
			}
			s.Reason = &berth.Reason{Code: berth.ReasonForgotten, Message: "it may be left as gone"}
		}
		s.Status = berth.SandboxDestroyed
		w.WriteHeader(204)
	})
	one("POST /api/v1/sandboxes/{id}/ssh", func(w http.ResponseWriter, r *http.Request, s *berth.Sandbox) {
		var req berth.ShellRequest
		f.body(r, &req)
		answer(w, 200, berth.ShellAccess{Sandbox: s.ID, Command: f.sshLine})
	})
	one("POST /api/v1/sandboxes/{id}/preview", func(w http.ResponseWriter, r *http.Request, s *berth.Sandbox) {
		var req berth.PreviewRequest
		f.body(r, &req)
		f.previewAsked = append(f.previewAsked, req)
		access := berth.PreviewAccess{Sandbox: s.ID, Port: req.Port}
		switch {
		case f.previewURL != "" && req.As != berth.PreviewTicket:
			access.URL = f.previewURL
		case req.As == berth.PreviewURL:
			problemf(berth.CodeUnsupported, "the host has no public URL").write(w)
			return
		default:
			access.Ticket = f.ticket
			if f.tickets != nil {
				access.Ticket = f.tickets()
			}
		}
		answer(w, 200, access)
	})
	one("POST /api/v1/sandboxes/{id}/commands", func(w http.ResponseWriter, r *http.Request, s *berth.Sandbox) {
		c := &fakeCommand{eof: make(chan struct{})}
		f.body(r, &c.request)
		if exit, ok := scriptedExits[c.request.Script]; ok {
			c.exit = &exit
			c.frames = []berth.Frame{{Stream: berth.Stdout, Data: []byte("out")}, {Stream: berth.Stderr, Data: []byte("err")}}
			close(c.eof)
		}
		f.commands["cmd-1"] = c
		answer(w, 202, berth.Command{ID: "cmd-1", Sandbox: s.ID, Status: berth.CommandStarting})
	})
	one("GET /api/v1/sandboxes/{id}/files", f.readFile)
	one("PUT /api/v1/sandboxes/{id}/files", func(w http.ResponseWriter, r *http.Request, _ *berth.Sandbox) {
		data, _ := io.ReadAll(r.Body)
		mode, _ := strconv.ParseUint(r.URL.Query().Get("mode"), 8, 32)
		name := path.Clean(r.URL.Query().Get("path"))
		f.files[name] = fakeFile{data: data, mode: uint32(mode)}
		answer(w, 200, berth.FileInfo{Path: name, Kind: berth.FileRegular, Size: int64(len(data))})
	})
	f.routeCommands(mux)
}

func (f *fake) readFile(w http.ResponseWriter, r *http.Request, _ *berth.Sandbox) {
	name := path.Clean(r.URL.Query().Get("path"))
	file, ok := f.files[name]
	if name == "." {
		file, ok = fakeFile{dir: true}, true
	}
	if !ok {
		problemf(berth.CodeNotFound, "%s does not exist", name).write(w)
		return
	}
	reply := berth.FileData{Info: f.info(name, file), EOF: true}
	if file.dir {
		for _, child := range f.children(name) {
			reply.Entries = append(reply.Entries, f.info(child, f.files[child]))
		}
	} else {
		offset, _ := strconv.Atoi(r.URL.Query().Get("offset"))
		limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
		end := min(len(file.data), offset+limit)
		reply.Data, reply.Next, reply.EOF = file.data[min(offset, end):end], int64(end), end == len(file.data)
	}
	answer(w, 200, reply)
}

// info describes a file; one without content and mode stands for a device.
func (f *fake) info(name string, file fakeFile) berth.FileInfo {
	kind := berth.FileRegular
	switch {
	case file.dir:
		kind = berth.FileDirectory
	case file.data == nil:
		kind = berth.FileOther
	}
	return berth.FileInfo{Path: name, Kind: kind, Size: int64(len(file.data)), Mode: file.mode}
}

func (f *fake) children(dir string) []string {
	var names []string
	for name := range f.files {
		if path.Dir(name) == dir || (strings.Contains(name, "..") && strings.HasPrefix(name, dir+"/")) {
			names = append(names, name)
		}
	}
	sort.Strings(names)
	return names
}

func (f *fake) routeCommands(mux *http.ServeMux) {
	one := func(pattern string, handle func(http.ResponseWriter, *http.Request, *fakeCommand)) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			f.mu.Lock()
			c := f.commands[berth.CommandID(r.PathValue("cid"))]
			f.mu.Unlock()
			handle(w, r, c)
		})
	}
	const base = "/api/v1/sandboxes/{id}/commands/{cid}"
	one("GET "+base, func(w http.ResponseWriter, _ *http.Request, c *fakeCommand) {
		f.mu.Lock()
		defer f.mu.Unlock()
		status := berth.CommandRunning
		if c.exit != nil {
			status = berth.CommandEnded
		}
		answer(w, 200, berth.Command{ID: "cmd-1", Status: status, Exit: c.exit})
	})
	one("POST "+base+"/stdin", func(w http.ResponseWriter, r *http.Request, c *fakeCommand) {
		var req berth.StdinRequest
		f.body(r, &req)
		f.mu.Lock()
		defer f.mu.Unlock()
		if c.exit != nil {
			problemf(berth.CodeConflict, "the command has ended").write(w)
			return
		}
		if req.Offset != int64(len(c.input)) {
			problemf(berth.CodeConflict, "a gap at %d", req.Offset).write(w)
			return
		}
		taken := min(len(req.Data), takeAtOnce)
		c.input = append(c.input, req.Data[:taken]...)
		if req.EOF && taken == len(req.Data) {
			c.frames = append(c.frames, berth.Frame{Stream: berth.Stdout, Data: c.input})
			c.exit = &berth.Exit{Reason: berth.ExitExited}
			close(c.eof)
		}
		answer(w, 200, berth.StdinReply{NextOffset: int64(len(c.input))})
	})
	one("POST "+base+"/signal", func(w http.ResponseWriter, r *http.Request, c *fakeCommand) {
		var req berth.SignalRequest
		f.body(r, &req)
		f.mu.Lock()
		defer f.mu.Unlock()
		c.signals = append(c.signals, req.Signal)
		if c.exit == nil && !strings.Contains(c.request.Script, "ignore") {
			c.exit = &berth.Exit{Code: 130, Signal: "INT", Reason: berth.ExitSignalled}
			close(c.eof)
		}
		answer(w, 202, map[string]any{})
	})
	one("GET "+base+"/output", f.answerOutput)
}

func (f *fake) answerOutput(w http.ResponseWriter, r *http.Request, c *fakeCommand) {
	select {
	case <-c.eof:
	case <-r.Context().Done():
		return
	case <-time.After(testLimit):
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	answer(w, 200, berth.OutputReply{Frames: c.frames, NextOffset: 1, EOF: true, Exit: c.exit})
}

// scriptedExits are scripts that end at once.
var scriptedExits = map[string]berth.Exit{
	"seven":   {Code: 7, Reason: berth.ExitExited},
	"killed":  {Code: 137, Signal: "KILL", Reason: berth.ExitSignalled},
	"missing": {Code: 127, Reason: berth.ExitExited},
	"slow":    {Code: -1, Reason: berth.ExitTimedOut},
	"greedy":  {Code: 137, Reason: berth.ExitOutOfMemory},
	"lost":    {Code: -1, Reason: berth.ExitLost},
}
