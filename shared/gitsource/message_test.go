package gitsource_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/berth-dev/berth/shared/gitsource"
)

func TestGitsMessagesAreToldApart(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"fatal: unable to access 'https://h/r/': Could not resolve host: h":                                           "network",
		"fatal: unable to access 'https://h/r/': Failed to connect to h port 443 after 5 ms: Couldn't connect":        "network",
		"fatal: unable to access 'https://h/r/': The requested URL returned error: 502":                               "network",
		"fatal: unable to access 'https://h/r/': GnuTLS recv error (-110): The TLS connection was non-properly ended": "network",
		"fatal: unable to access 'https://h/r/': OpenSSL SSL_read: SSL_ERROR_SYSCALL, errno 104":                      "network",
		"error: RPC failed; curl 92 HTTP/2 stream 5 was not closed cleanly: CANCEL (err 8)":                           "network",
		"error: RPC failed; curl 28 Operation too slow. Less than 1 bytes/sec transferred the last 60 seconds":        "network",
		"fatal: the remote end hung up unexpectedly":                                                                  "network",
		"fetch-pack: unexpected disconnect while reading sideband packet\nfatal: early EOF":                           "network",
		"fatal: unable to connect to h:\nh[0: 127.0.0.1]: errno=Connection refused":                                   "network",
		"fatal: unable to look up h (port 9418) (Temporary failure in name resolution)":                               "network",
		"remote: Repository not found.\nfatal: repository 'https://github.com/o/r/' not found":                        "repository",
		"fatal: could not read Username for 'https://github.com': terminal prompts disabled":                          "repository",
		"remote: Invalid username or password.\nfatal: Authentication failed for 'https://github.com/o/r/'":           "repository",
		"fatal: unable to access 'https://h/r/': The requested URL returned error: 403":                               "repository",
		"fatal: remote error: access denied or repository not exported: /r":                                           "repository",
		"error: RPC failed; HTTP 403 curl 22 The requested URL returned error: 403":                                   "repository",
		"fatal: couldn't find remote ref refs/tags/v9":                                                                "revision",
		"fatal: remote error: upload-pack: not our ref 0123456789abcdef0123456789abcdef01234567":                      "revision",
		"error: Server does not allow request for unadvertised object 0123456789abcdef0123456789abcdef01234567":       "revision",
		"fatal: remote error: want 0123456789abcdef0123456789abcdef01234567 not valid":                                "revision",
		"fatal: unable to access 'https://h/r/': server certificate verification failed. CAfile: none CRLfile: none":  "certificate",
		"fatal: unable to access 'https://h/r/': SSL certificate problem: self-signed certificate":                    "certificate",
		"git: 'remote-https' is not a git command. See 'git --help'.":                                                 "helper",
		"fatal: unable to find remote helper for 'https'":                                                             "helper",
		"fatal: write error: No space left on device\nfatal: fetch-pack: invalid index-pack output":                   "local",
		"error: index-pack died of signal 9\nfatal: index-pack failed":                                                "local",
		"fatal: could not create directory '.git/x': Permission denied":                                               "local",
		"fatal: something else altogether":                                                                            "unknown",
	} {
		out, err := exec.CommandContext(t.Context(), "bash", "-p", "-c", gitsource.RemotePart+"\nsaid=$1\nclassify", "x", text).Output()
		if got := strings.TrimSpace(string(out)); err != nil || got != want {
			t.Errorf("%q is %q (%v), want %q", text, got, err, want)
		}
	}
}

func TestProgressIsThinnedOutAndTheRestKept(t *testing.T) {
	t.Parallel()
	input := "remote: Enumerating objects: 5, done.        \nremote: Counting objects:  20% (1/5)   \rremote: Counting objects: 100% (5/5), done.   \r\n" +
		"Receiving objects:   1% (1/100)\rReceiving objects: 100% (100/100), 1.00 MiB | 2.00 MiB/s, done.\n" +
		"From http://h/r\n * [new branch]  main -> origin/main\n\x1b[31mremote: a notice\x07\x1b[0m\nremote: Total 5 (delta 1)\n" +
		"fatal: the end without a line feed"
	cmd := exec.CommandContext(t.Context(), "bash", "-p", "-c", gitsource.Functions+"\nLC_ALL=C; watch")
	var log strings.Builder
	cmd.Stdin, cmd.Stderr = strings.NewReader(input), &log
	kept, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	const notice, end = "[31mremote: a notice[0m\n", "fatal: the end without a line feed\n"
	if want := "From http://h/r\n * [new branch]  main -> origin/main\n" + notice + end; string(kept) != want {
		t.Errorf("watch kept %q, want %q", kept, want)
	}
	if want := notice + end; log.String() != want {
		t.Errorf("watch logged %q, want %q", log.String(), want)
	}
}
