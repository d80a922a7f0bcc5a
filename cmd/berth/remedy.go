package main

import (
	"cmp"
	"errors"
	"strings"

	"github.com/berth-dev/berth/shared/berth"
)

// remedies are what a person at the command line can do about an error of a
// code in general. The table of codes has them for people at the API.
var remedies = map[berth.Code]string{
	berth.CodeMalformed:       "correct the syntax",
	berth.CodeInvalid:         "correct what is named",
	berth.CodeUnsupported:     "change what is named, or choose another provider",
	berth.CodeTooLarge:        "send less; `berth cp` copies files of any size",
	berth.CodeUnauthenticated: "set BERTH_TOKEN to a key of this server, or `berth login`",
	berth.CodeForbidden:       "use a key with the scope that is named",
	berth.CodeNotFound:        "check the name",
	berth.CodeConflict:        "look at what there is by now",
	berth.CodeStale:           "read it again, and repeat the change",
	berth.CodeRateLimited:     "wait, and try again",
	berth.CodeUnavailable:     "try again in a moment",
	berth.CodeTimedOut:        "try again, or allow more time",
	berth.CodeInternal:        "report the request id",
}

// lists are the commands that show what there is of a kind.
var lists = []struct{ noun, command string }{
	{"environment ", "`berth env list`"},
	{"run ", "`berth runs list`"},
	{"sandbox ", "`berth sandbox list`"},
	{"secret ", "`berth secret list`"},
	{"variable ", "`berth var list`"},
	{"key ", "`berth key list`"},
	{"host ", "`berth host list`"},
	{"context ", "`berth context list`"},
}

const otherEnvironment = "name another environment with --environment: `berth env list` shows them, and local runs on the server's machine"

// generalRemedy is what to do about an error that does not say it itself; an
// internal one without a request has none.
func generalRemedy(e *berth.Error, request string) string {
	switch {
	case e.Code == berth.CodeInternal && request == "":
		return ""
	case e.Code == berth.CodeNotFound:
		for _, list := range lists {
			if strings.HasPrefix(strings.TrimPrefix(e.Message, "no "), list.noun) {
				return list.command + " shows those that there are"
			}
		}
	case e.Code == berth.CodeConflict && strings.HasPrefix(e.Message, "several "):
		return "give more of the id"
	case e.Field == "target.origin":
		return "name one that the sandbox can reach, --target git:https://HOST/OWNER/REPOSITORY, or take no code along, --target none"
	case e.Field == "environment.provider":
		return otherEnvironment
	}
	return cmp.Or(remedies[e.Code], e.Code.Info().Remedy)
}

// withRemedy says what to do about an error of this code, unless it says so itself.
func withRemedy(err error, code berth.Code, remedy string) error {
	var e *berth.Error
	if errors.As(err, &e) && e.Code == code && e.Remediation == "" {
		e.Remediation = remedy
	}
	return err
}

// faultPlace is where a fault lies, for people: that it was a part of a URL is the
// API's matter, and an id or a name there is in the message.
func faultPlace(location string) string {
	if strings.HasPrefix(location, "path.") {
		return ""
	}
	return strings.TrimPrefix(location, "query.")
}
