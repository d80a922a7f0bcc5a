package main

import "testing"

func TestAProviderThatIsOffSaysEverywhereHowItIsTurnedOn(t *testing.T) {
	t.Parallel()
	c := newCLI(t, "")
	ended := c.serve()
	const off = "the daytona provider is off on this server: the server was started without DAYTONA_API_KEY in its environment"
	const turnOn = "`berth stop`, then start again with DAYTONA_API_KEY set"
	created := c.ok("env", "create", "far", "--provider", "daytona")
	mustContain(t, "env create", created.stderr, "created environment far", "warning: "+off, "to do: "+turnOn)
	if r := c.ok("env", "create", "near", "--provider", "daytona", "--quiet"); r.stderr != "" {
		t.Errorf("env create --quiet says %q", r.stderr)
	}
	mustContain(t, "run", c.run("run", "-e", "far", "--target", "none", "--", "true").stderr, off, "to do: "+turnOn+"; or name another environment")
	mustContain(t, "env check", c.run("env", "check", "far").stdout, off, "to do: "+turnOn)

	text := c.run("doctor").stdout
	mustContain(t, "doctor", text, "off   provider daytona  ", "is off: the server was started without DAYTONA_API_KEY", "to do: "+turnOn)
	mustNotContain(t, "doctor", text, "is off: the daytona provider")
	c.env["DAYTONA_API_KEY"] = "of-this-shell"
	mustContain(t, "doctor in a shell with the key", c.run("doctor").stdout, "to do: this shell has DAYTONA_API_KEY, but the server began without it: `berth stop`")
	json := c.run("doctor", "--json").stdout
	mustContain(t, "doctor --json", json, `"off": true`, `"check": "provider daytona"`)
	mustNotContain(t, "doctor --json", json, `"status": "off"`, "of-this-shell")
	c.ok("stop")
	<-ended
}

func TestAProviderThatIsOffOnAServerElsewhereIsTurnedOnThere(t *testing.T) {
	t.Parallel()
	a := newCLI(t, "https://berth.example").app(nil, nil)
	got := a.turnOn("sprites", "the server was started without SPRITES_TOKEN in its environment")
	mustContain(t, "the remedy", got, "SPRITES_TOKEN", "docs/aws.md")
	mustNotContain(t, "the remedy", got, "berth stop")
}

func TestAVariableThatCannotBeUsedTurnsItsProviderAloneOffInTheBackground(t *testing.T) {
	t.Parallel()
	c := newCLI(t, "")
	for name, value := range map[string]string{
		"EXE_SSH_KEY_FILE": "/nope", "DAYTONA_API_KEY": "two words", "SPRITES_TOKEN": "token", "SPRITES_API_URL": "file:///x",
	} {
		c.env[name] = value
	}
	ended := c.serve("--background")
	c.ok("runs", "list") // all else is there
	text := c.run("doctor").stdout
	mustContain(t, "doctor", text,
		"off   provider exe         is off: EXE_SSH_KEY_FILE: names a file that cannot be read: /nope", "to do: correct EXE_SSH_KEY_FILE or unset it, then `berth stop`",
		"off   provider daytona     is off: DAYTONA_API_KEY: ", "to do: correct DAYTONA_API_KEY or unset it",
		"off   provider sprites     is off: SPRITES_API_URL: ", "to do: correct SPRITES_API_URL or unset it",
	)
	mustNotContain(t, "doctor", text, "two words")
	mustContain(t, "env create", c.ok("env", "create", "vm", "--provider", "exe").stderr, "warning: the exe provider is off", "/nope")
	mustContain(t, "run", c.run("run", "-e", "vm", "--target", "none", "--", "true").stderr, "EXE_SSH_KEY_FILE", "/nope", "to do: correct EXE_SSH_KEY_FILE")
	c.ok("stop")
	<-ended
}
