package config

import "github.com/berth-dev/berth/shared/berth"

// Settings is the [cli] table of the user's settings.
type Settings struct {
	// Server is the URL of the server to talk to; empty is the background one.
	Server string
}

// ReadSettings reads the [cli] table of a user file. Error: invalid, with every
// problem of the file.
func ReadSettings(c berth.ConfigFile) (Settings, error) {
	l := readLayer(c)
	if err := berth.Invalid(l.problems.List()); err != nil {
		return Settings{}, err
	}
	var s Settings
	if t := l.file.CLI; t != nil && t.Server != nil {
		s.Server = *t.Server
	}
	return s, nil
}
