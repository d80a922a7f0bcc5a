package daytona

import "testing"

func TestACommandLineOfSSHIsTakenInDaytonasFormAlone(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"ssh 0a1b2c@ssh.app.daytona.io":            "ssh 0a1b2c@ssh.app.daytona.io",
		" ssh  -p 2222 0a1b2c@localhost\n":         "ssh -p 2222 0a1b2c@localhost",
		"":                                         "",
		"ssh":                                      "",
		"ssh -p 2222":                              "",
		"ssh localhost":                            "",
		"ssh -p x 0a1b2c@localhost":                "",
		"ssh -oProxyCommand=reboot@localhost":      "",
		"ssh -o ProxyCommand=reboot a@localhost":   "",
		"ssh a@localhost reboot":                   "",
		"ssh a@localhost;reboot":                   "",
		"ssh $(reboot)@localhost":                  "",
		"ssh -E /etc/passwd a@localhost":           "",
		"ssh -p 2222 -oProxyCommand=x a@localhost": "",
		"rm a@localhost":                           "",
		"ssh a@-oProxyCommand=reboot":              "",
	} {
		if got, err := sshCommand(line); got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v", line, got, err)
		}
	}
}
