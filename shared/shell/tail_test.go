package shell

import (
	"strings"
	"testing"

	"github.com/berth-dev/berth/shared/berth"
)

func TestAnAnswerThatIsCutIsAnError(t *testing.T) {
	t.Parallel()
	for size, want := range map[int]berth.Code{0: "", 10: "", 11: berth.CodeTooLarge, 1000: berth.CodeTooLarge} {
		out := &tail{most: 10}
		text := strings.Repeat("x", size)
		for i := range text {
			if _, err := out.Write([]byte(text[i : i+1])); err != nil {
				t.Fatal(err)
			}
		}
		got, err := out.whole()
		if berth.CodeOf(err) != want || err == nil && string(got) != text {
			t.Errorf("%d bytes: %d bytes, %v; want code %q", size, len(got), err, want)
		}
		if kept := out.String(); kept != text[max(0, size-10):] {
			t.Errorf("of %d bytes %q is kept", size, kept)
		}
	}
}

func TestWhatMayPassIsToldFromWhatDoesNot(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]berth.Code{
		"ssh: Could not resolve hostname box: Name or service not known":               berth.CodeInvalid,
		"ssh: Could not resolve hostname box: Temporary failure in name resolution":    berth.CodeUnavailable,
		"dial tcp: lookup box on 127.0.0.53:53: no such host":                          berth.CodeInvalid,
		"dial tcp: lookup box on 127.0.0.53:53: server misbehaving":                    berth.CodeUnavailable,
		"ssh: connect to host box port 22: Connection refused":                         berth.CodeUnavailable,
		"Connection closed by 10.0.0.1 port 22":                                        berth.CodeUnavailable,
		"u@box: Permission denied (publickey).":                                        berth.CodeForbidden,
		"/home/u/.ssh/config: line 3: Bad configuration option: nonsense":              berth.CodeInvalid,
		"No ED25519 host key is known for box and you have requested strict checking.": berth.CodeForbidden,
	} {
		if err := failure("box", text, nil); berth.CodeOf(err) != want || !strings.Contains(err.Error(), text) {
			t.Errorf("failure(%q) = %s: %v, want %s", text, berth.CodeOf(err), err, want)
		}
	}
}

func TestOfAChangedHostKeyTheLinesThatHelpAreShown(t *testing.T) {
	t.Parallel()
	const banner = "@@@@@@@@@@@@@@@@@@@@@@@@@\n@    WARNING: %s     @\n@@@@@@@@@@@@@@@@@@@@@@@@@\n"
	changed := strings.Replace(banner, "%s", "REMOTE HOST IDENTIFICATION HAS CHANGED!", 1) +
		"IT IS POSSIBLE THAT SOMEONE IS DOING SOMETHING NASTY!\nSomeone could be eavesdropping on you right now (man-in-the-middle attack)!\n" +
		"It is also possible that a host key has just been changed.\nThe fingerprint for the ED25519 key sent by the remote host is\nSHA256:abc.\n" +
		"Please contact your system administrator.\nAdd correct host key in /home/u/.ssh/known_hosts to get rid of this message.\n" +
		"Offending ED25519 key in /home/u/.ssh/known_hosts:7\nHost key for box has changed and you have requested strict checking.\nHost key verification failed.\n"
	revoked := strings.Replace(banner, "%s", "REVOKED HOST KEY DETECTED!", 1) +
		"The ED25519 host key for box is marked as revoked.\nThis could mean that a stolen key is being used to impersonate this host.\n" +
		"Host key verification failed.\n"
	for text, want := range map[string]string{
		changed: "the host key of box has changed: nothing was sent to it: SHA256:abc. / Offending ED25519 key in /home/u/.ssh/known_hosts:7",
		revoked: "the host key of box is revoked: nothing was sent to it: The ED25519 host key for box is marked as revoked.",
		"ssh: handshake failed: key mismatch: the host showed SHA256:x":        "the host key of box has changed: nothing was sent to it: ssh: handshake failed: key mismatch: the host showed SHA256:x",
		"ssh: handshake failed: key mismatch: the key SHA256:x is revoked":     "the host key of box is revoked: nothing was sent to it: ssh: handshake failed: key mismatch: the key SHA256:x is revoked",
		"first\n" + strings.Repeat("x", 290) + "\nlast words\n":                "the connection to box failed: last words",
		"first\n" + strings.Repeat("x", 200) + "\nlast words\n":                "the connection to box failed: first / " + strings.Repeat("x", 200) + " / last words",
		"first\n" + strings.Repeat("x", 100) + strings.Repeat("y", 300) + "\n": "the connection to box failed: …" + strings.Repeat("y", 300),
	} {
		if err := failure("box", text, nil); err.Error() != want {
			t.Errorf("of %q it says\n%q, want\n%q", text, err, want)
		}
	}
}
