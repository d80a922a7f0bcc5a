package main

import (
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

func (f *fake) routeHosts(mux *http.ServeMux) {
	find := func(w http.ResponseWriter, r *http.Request) *berth.Host {
		for i := range f.hosts {
			if string(f.hosts[i].ID) == r.PathValue("id") {
				return &f.hosts[i]
			}
		}
		problemf(berth.CodeNotFound, "host %s does not exist", r.PathValue("id")).write(w)
		return nil
	}
	mux.HandleFunc("GET /api/v1/hosts", func(w http.ResponseWriter, _ *http.Request) {
		f.mu.Lock()
		defer f.mu.Unlock()
		answer(w, 200, page(f.hosts))
	})
	mux.HandleFunc("POST /api/v1/hosts", func(w http.ResponseWriter, r *http.Request) {
		var req berth.HostRequest
		f.body(r, &req)
		if req.ID == "" {
			req.ID = "host-made"
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		labels := map[string]string{}
		f.hosts = slices.DeleteFunc(f.hosts, func(other berth.Host) bool {
			if other.ID == req.ID {
				maps.Copy(labels, other.Labels)
			}
			return other.ID == req.ID
		})
		maps.Copy(labels, req.Labels)
		h := berth.Host{ID: req.ID, Labels: labels, Status: berth.HostJoining, CreatedAt: fakeNow}
		f.hosts = append(f.hosts, h)
		answer(w, 201, berth.JoinToken{Host: h, Token: "bthj_token", ExpiresAt: fakeNow.Add(berth.JoinTokenLife)})
	})
	mux.HandleFunc("GET /api/v1/hosts/{id}", func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		defer f.mu.Unlock()
		if h := find(w, r); h != nil {
			answer(w, 200, h)
		}
	})
	mux.HandleFunc("POST /api/v1/hosts/{id}/drain", func(w http.ResponseWriter, r *http.Request) {
		var req berth.DrainRequest
		f.body(r, &req)
		f.mu.Lock()
		defer f.mu.Unlock()
		if h := find(w, r); h != nil {
			h.Draining, h.Status = req.Draining, berth.HostReady
			if req.Draining {
				h.Status = berth.HostDraining
			}
			answer(w, 200, h)
		}
	})
	mux.HandleFunc("DELETE /api/v1/hosts/{id}", func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		defer f.mu.Unlock()
		h := find(w, r)
		switch {
		case h == nil:
		case h.SeenAt != nil && r.URL.Query().Get("force") != "true": // one that has joined has a sandbox here
			problemf(berth.CodeConflict, "host %s has 1 sandboxes", h.ID).write(w)
		default:
			f.hosts = slices.DeleteFunc(f.hosts, func(other berth.Host) bool { return other.ID == h.ID })
			w.WriteHeader(204)
		}
	})
}

// joinedHost is a host as it is after it has joined.
func joinedHost(id berth.HostID) berth.Host {
	seen := fakeNow.Add(-20 * time.Second)
	return berth.Host{
		ID: id, Address: "https://10.0.0.7:7443", Fingerprint: "sha256:ab", Labels: map[string]string{"zone": "a", "gpu": "yes"},
		Providers: []berth.ProviderKind{berth.ProviderDocker}, Status: berth.HostReady, Version: "1.2.3", SeenAt: &seen, CreatedAt: fakeNow,
		HostCapacity: berth.HostCapacity{CPU: 8, MemoryBytes: 32e9, Architecture: "arm64"},
	}
}
