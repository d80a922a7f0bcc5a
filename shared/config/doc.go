// Package config turns a run request, the server's environments and the TOML
// files of the client into the definition of a run. Layers, weakest first:
// built-in, server catalogue, user settings, project file, workflow file, the
// sparse [run.environment] tables in that order again, the request. Tables merge
// field by field, env and labels by key, lists replace.
//
// It also collects the client's files.
package config
