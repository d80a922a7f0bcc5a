package main

import (
	"errors"
	"os"
)

// config is what the service takes from its environment.
type config struct {
	greeting string
	token    string
}

func loadConfig() (config, error) {
	c := config{greeting: os.Getenv("GREETING"), token: os.Getenv("SERVICE_TOKEN")}
	switch {
	case c.greeting == "":
		return c, errors.New("GREETING is not set")
	case c.token == "":
		return c, errors.New("SERVICE_TOKEN is not set")
	}
	return c, nil
}
