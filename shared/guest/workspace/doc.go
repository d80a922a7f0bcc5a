// Package workspace serves the files below one folder of a sandbox: read,
// write, delete, grep and glob. No path leaves the folder, also not through a
// link. It remembers who read what, for read-before-write, in memory: a sandbox
// that was stopped and started again has to be read anew.
package workspace
