package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/berth-dev/berth/shared/httpapi"
)

// Kinds of functions: the folders that they are in.
const (
	kindAPI    = "api"
	kindRunner = "runner"
	kindEvents = "events"
)

// events are the functions of neither a route nor a task.
var events = []string{"authorizer", "bootstrap", "sweeper"}

// archive is the file that a function is deployed from.
func (c *config) archive(kind, name string) string {
	return filepath.Join(c.functionsDir, kind, name+".zip")
}

// apiRoutes are the routes that have a function.
func apiRoutes() (routes []httpapi.Route) {
	for _, r := range httpapi.Routes {
		if !r.Embedded {
			routes = append(routes, r)
		}
	}
	return routes
}

// archives are the files of all functions.
func (c *config) archives() (paths []string) {
	for _, r := range apiRoutes() {
		paths = append(paths, c.archive(kindAPI, r.ID))
	}
	for _, t := range tasks {
		paths = append(paths, c.archive(kindRunner, t.folder))
	}
	for _, name := range events {
		paths = append(paths, c.archive(kindEvents, name))
	}
	return paths
}

// checkArchives says how to get functions that are not built.
func (c *config) checkArchives() error {
	missing := 0
	var first error
	for _, path := range c.archives() {
		if _, err := os.Stat(path); err != nil {
			missing++
			first = err
		}
	}
	if missing == 0 {
		return nil
	}
	return fmt.Errorf("%d functions are not built (%w): run make functions ARCH=%s", missing, first, c.arch)
}
