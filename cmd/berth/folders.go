package main

import (
	"cmp"
	"os"
	"path/filepath"

	"github.com/berth-dev/berth/shared/berth"
)

// dataFolder is the absolute data folder of the server on this machine.
func (a *app) dataFolder() (string, error) {
	dir := cmp.Or(a.dataDir, a.env["BERTH_DATA_DIR"])
	switch xdg := a.env["XDG_DATA_HOME"]; {
	case dir == "" && filepath.IsAbs(xdg):
		dir = filepath.Join(xdg, "berth")
	case dir == "":
		home := a.home()
		if home == "" {
			return "", berth.Errorf(berth.CodeInvalid, "no home folder is known: set BERTH_DATA_DIR to the folder that is to hold berth's data")
		}
		dir = filepath.Join(home, ".local", "share", "berth")
	}
	return a.abs(dir), nil
}

// home is the user's home folder, or "" when none is known. It and the XDG folders
// are absolute: what is relative would be another folder wherever a command is typed.
func (a *app) home() string {
	if home := a.env["HOME"]; filepath.IsAbs(home) {
		return home
	}
	if home, err := os.UserHomeDir(); err == nil && filepath.IsAbs(home) {
		return home
	}
	return ""
}

// configHome is the folder that holds the user's settings, `berth/settings.toml`,
// or "" when none is known: then there are no settings, and no contexts.
func (a *app) configHome() string {
	if dir := a.env["XDG_CONFIG_HOME"]; filepath.IsAbs(dir) {
		return dir
	}
	if home := a.home(); home != "" {
		return filepath.Join(home, ".config")
	}
	return ""
}

// configFolder is where keys and contexts are written. They are never put into
// whatever folder is the current one.
func (a *app) configFolder() (string, error) {
	dir := a.configHome()
	if dir == "" {
		return "", berth.Errorf(berth.CodeInvalid, "no home folder is known: set XDG_CONFIG_HOME to the folder that is to hold berth's keys and contexts")
	}
	return filepath.Join(dir, "berth"), nil
}
