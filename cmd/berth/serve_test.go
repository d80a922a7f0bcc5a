package main

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	"golang.org/x/crypto/ssh"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/client"
	"github.com/berth-dev/berth/shared/embedded"
)

// key writes a private key for its owner alone; with a passphrase when there is one.
func (c *cli) key(name, passphrase string) string {
	c.t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		c.t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(private, "")
	if passphrase != "" {
		block, err = ssh.MarshalPrivateKeyWithPassphrase(private, "", []byte(passphrase))
	}
	if err != nil {
		c.t.Fatal(err)
	}
	path := filepath.Join(c.dir, name)
	if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
		c.t.Fatal(err)
	}
	return path
}

// rsaKey writes a private key as GitHub gives it to Apps.
func (c *cli) rsaKey(name string) {
	c.t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		c.t.Fatal(err)
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
	if err := os.WriteFile(filepath.Join(c.dir, name), text, 0o600); err != nil {
		c.t.Fatal(err)
	}
}

// options are those of `berth serve` with the arguments.
func (c *cli) options(args ...string) (embedded.Options, error) {
	c.t.Helper()
	var f serveFlags
	flags := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	f.register(flags)
	if err := flags.Parse(args); err != nil {
		c.t.Fatal(err)
	}
	return c.app(nil, nil).serveOptions(f)
}

func TestFlagsAndVariablesSayWhichProvidersAServerHas(t *testing.T) {
	t.Parallel()
	type said struct {
		SSH                  embedded.SSH
		GitHub               embedded.GitHub
		Daytona, Sprites     [2]string // key and URL
		Lobby, Fingerprint   string
		HasKey, Local, NoEng bool
	}
	for name, tt := range map[string]struct {
		args []string
		env  map[string]string
		want func(c *cli) said
	}{
		"nothing": {want: func(*cli) said { return said{Local: true} }},
		"all flags": {
			args: []string{"--ssh=off", "--docker=off", "--allow-local=false", "--allow-ssh-config=a/../config", "--allow-ssh-config=/etc/ssh/x", "--github-app=7", "--github-app-key=app.pem", "--github-url=https://git.example"},
			want: func(c *cli) said {
				return said{
					SSH:    embedded.SSH{Off: true, AllowConfigs: []string{filepath.Join(c.dir, "config"), "/etc/ssh/x"}},
					GitHub: embedded.GitHub{AppID: "7", KeyFile: filepath.Join(c.dir, "app.pem"), URL: "https://git.example"}, NoEng: true,
				}
			},
		},
		"all variables": {
			env: map[string]string{
				"DAYTONA_API_KEY": "dk", "DAYTONA_API_URL": "https://d", "DAYTONA_SERVER_URL": "https://old", "SPRITES_TOKEN": "st", "SPRITES_API_URL": "https://s",
				"EXE_SSH_KEY_FILE": "exe", "EXE_LOBBY": "l:22", "EXE_LOBBY_FINGERPRINT": "SHA256:x",
				"BERTH_GITHUB_APP": "8", "BERTH_GITHUB_APP_KEY": "/k", "BERTH_GITHUB_URL": "https://g",
			},
			want: func(*cli) said {
				return said{
					Daytona: [2]string{"dk", "https://d"}, Sprites: [2]string{"st", "https://s"}, Lobby: "l:22", Fingerprint: "SHA256:x", HasKey: true, Local: true,
					GitHub: embedded.GitHub{AppID: "8", KeyFile: "/k", URL: "https://g"},
				}
			},
		},
		"the older names of variables": {
			env: map[string]string{"DAYTONA_API_KEY": "dk", "DAYTONA_SERVER_URL": "https://old", "SPRITE_TOKEN": "st"},
			want: func(*cli) said {
				return said{Daytona: [2]string{"dk", "https://old"}, Sprites: [2]string{"st", ""}, Local: true}
			},
		},
		"a flag beats its variable": {
			args: []string{"--github-app=7"}, env: map[string]string{"BERTH_GITHUB_APP": "8", "BERTH_GITHUB_APP_KEY": "/k"},
			want: func(*cli) said { return said{GitHub: embedded.GitHub{AppID: "7", KeyFile: "/k"}, Local: true} },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCLI(t, "")
			c.key("exe", "")
			for name, value := range tt.env {
				c.env[name] = value
			}
			o, err := c.options(tt.args...)
			if err != nil {
				t.Fatal(err)
			}
			got := said{
				SSH: o.SSH, GitHub: o.GitHub, Daytona: [2]string{string(o.Daytona.Key.Reveal()), o.Daytona.URL}, Sprites: [2]string{string(o.Sprites.Key.Reveal()), o.Sprites.URL},
				Lobby: o.Exe.Lobby, Fingerprint: o.Exe.Fingerprint, HasKey: o.Exe.Key.Len() > 0, Local: o.AllowLocal, NoEng: o.Docker.Off,
			}
			if diff := cmp.Diff(tt.want(c), got); diff != "" {
				t.Errorf("the server's options (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAServerDoesNotStartWithAnAccountThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		args []string
		env  map[string]string
		set  func(c *cli)
		want []string // on standard error
	}{
		"a use of OpenSSH that is none":   {args: []string{"--ssh=maybe"}, want: []string{"--ssh", "auto or off"}},
		"a configuration that is missing": {args: []string{"--allow-ssh-config=nowhere"}, want: []string{"--allow-ssh-config", "nowhere is not there"}},
		"an App without a key":            {args: []string{"--github-app=7"}, want: []string{"--github-app-key", "private key"}},
		"a key without an App":            {env: map[string]string{"BERTH_GITHUB_APP_KEY": "app.pem"}, want: []string{"--github-app", "the id of the GitHub App"}},
		"an App whose key is missing":     {args: []string{"--github-app=7", "--github-app-key=nowhere.pem"}, want: []string{"--github-app-key", "there is no file", "nowhere.pem"}},
		"an App whose key is another kind": {
			args: []string{"--github-app=7", "--github-app-key=key"}, set: func(c *cli) { c.key("key", "") }, want: []string{"--github-app-key", "no RSA key in PEM", "Generate one"},
		},
		"an App's key that others may read": {
			args: []string{"--github-app=7", "--github-app-key=key"}, set: func(c *cli) { c.write("key", "") }, want: []string{"--github-app-key", "chmod 600"},
		},
		"a GitHub that is no URL": {
			args: []string{"--github-app=7", "--github-app-key=key", "--github-url=git.example"}, set: func(c *cli) { c.rsaKey("key") }, want: []string{"--github-url", "must be https://"},
		},
		"an App's id that is none": {
			args: []string{"--github-app=a b", "--github-app-key=key"}, set: func(c *cli) { c.rsaKey("key") }, want: []string{"--github-app:", "the id of the GitHub App"},
		},
		"a key of Daytona of two words":     {env: map[string]string{"DAYTONA_API_KEY": "two words"}, want: []string{"DAYTONA_API_KEY", "one word", "unset it"}},
		"a base of Daytona without https":   {env: map[string]string{"DAYTONA_API_KEY": "k", "DAYTONA_API_URL": "app.daytona.io"}, want: []string{"DAYTONA_API_URL", "https://app.daytona.io/api"}},
		"a base of Daytona with a password": {env: map[string]string{"DAYTONA_API_KEY": "k", "DAYTONA_API_URL": "https://u:topsecret@host"}, want: []string{"DAYTONA_API_URL"}},
		"a token of Sprites of two lines":   {env: map[string]string{"SPRITES_TOKEN": "two\nlines"}, want: []string{"SPRITES_TOKEN", "one word"}},
		"a base of Sprites that is a file":  {env: map[string]string{"SPRITES_TOKEN": "k", "SPRITES_API_URL": "file:///x"}, want: []string{"SPRITES_API_URL", "https://"}},
		"a key of exe that is missing":      {env: map[string]string{"EXE_SSH_KEY_FILE": "nowhere"}, want: []string{"EXE_SSH_KEY_FILE", "nowhere", "unset"}},
		"a key of exe that is a folder":     {env: map[string]string{"EXE_SSH_KEY_FILE": "."}, want: []string{"EXE_SSH_KEY_FILE"}},
		"a key of exe that others may read": {env: map[string]string{"EXE_SSH_KEY_FILE": "key"}, set: func(c *cli) { c.write("key", "x") }, want: []string{"EXE_SSH_KEY_FILE", "chmod 600"}},
		"a key of exe with a passphrase":    {env: map[string]string{"EXE_SSH_KEY_FILE": "key"}, set: func(c *cli) { c.key("key", "hush") }, want: []string{"EXE_SSH_KEY_FILE", "passphrase", "ssh-keygen"}},
		"a key of exe that is none": {
			env: map[string]string{"EXE_SSH_KEY_FILE": "key"},
			set: func(c *cli) {
				if err := os.WriteFile(filepath.Join(c.dir, "key"), []byte("ssh-ed25519 AAAAtopsecret"), 0o600); err != nil {
					c.t.Fatal(err)
				}
			}, want: []string{"EXE_SSH_KEY_FILE", "no private key", ".pub"},
		},
		"a lobby without a port": {
			env: map[string]string{"EXE_SSH_KEY_FILE": "key", "EXE_LOBBY": "lobby", "EXE_LOBBY_FINGERPRINT": "SHA256:x"}, set: func(c *cli) { c.key("key", "") }, want: []string{"EXE_LOBBY", "host:port"},
		},
		"a lobby of which nothing is known": {
			env: map[string]string{"EXE_SSH_KEY_FILE": "key", "EXE_LOBBY": "lobby:22"}, set: func(c *cli) { c.key("key", "") }, want: []string{"EXE_LOBBY_FINGERPRINT", "SHA256:"},
		},
		"a fingerprint of no lobby": {
			env: map[string]string{"EXE_SSH_KEY_FILE": "key", "EXE_LOBBY_FINGERPRINT": "SHA256:x"}, set: func(c *cli) { c.key("key", "") }, want: []string{"EXE_LOBBY", "is missing"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCLI(t, "")
			if tt.set != nil {
				tt.set(c)
			}
			for name, value := range tt.env {
				c.env[name] = value
			}
			r := c.run(append([]string{"serve", "--docker=off", "--allow-local=false"}, tt.args...)...)
			if r.status != 2 || r.stdout != "" {
				t.Errorf("berth serve = %d, %q, want 2", r.status, r.stdout)
			}
			mustContain(t, "the error", r.stderr, append(tt.want, "berth: invalid: ")...)
			mustNotContain(t, "the error", r.stderr, "topsecret")
		})
	}
}

func TestKeysAndAddressesReachTheServices(t *testing.T) {
	t.Parallel()
	c := newCLI(t, "")
	asked := make(chan string, 1000)
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.Header.Get("Authorization") + " " + r.URL.Path
		w.WriteHeader(http.StatusUnauthorized)
	}))
	defer service.Close()
	lobby, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer lobby.Close()
	go func() {
		for {
			conn, err := lobby.Accept()
			if err != nil {
				return
			}
			asked <- "the lobby"
			conn.Close()
		}
	}()
	for name, value := range map[string]string{
		"DAYTONA_API_KEY": "of-daytona\n", "DAYTONA_API_URL": service.URL + "/daytona", "SPRITES_TOKEN": " of-sprites", "SPRITES_API_URL": service.URL + "/sprites",
		"EXE_SSH_KEY_FILE": c.key("exe", ""), "EXE_LOBBY": lobby.Addr().String(), "EXE_LOBBY_FINGERPRINT": "SHA256:x",
		"BERTH_TOKEN": "",
	} {
		c.env[name] = value
	}
	ended := make(chan result, 1)
	go func() { ended <- c.run("serve", "--docker=off", "--allow-local=false", "--ssh=off") }()
	data := filepath.Join(c.env["XDG_DATA_HOME"], "berth")
	var found embedded.Found
	for deadline := time.Now().Add(testLimit); ; time.Sleep(5 * time.Millisecond) {
		if found, err = embedded.Find(t.Context(), data); err == nil {
			break
		}
		select {
		case r := <-ended:
			t.Fatalf("berth serve = %+v", r)
		default:
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	server, err := client.New(client.Config{BaseURL: found.URL, Token: found.Token})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	for _, kind := range []berth.ProviderKind{berth.ProviderDaytona, berth.ProviderSprites, berth.ProviderExe} {
		if _, err := server.CreateEnvironment(t.Context(), map[string]any{"id": kind, "provider": kind}); err != nil {
			t.Fatal(err)
		}
		report, err := server.CheckEnvironment(t.Context(), berth.EnvironmentID(kind))
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(report.Checks, func(c berth.Check) bool { return c.Name == "provider" && c.Status == berth.CheckPass }) {
			t.Errorf("provider %s is not on: %+v", kind, report.Checks)
		}
	}
	doctor, _ := c.doctor()
	for _, want := range []finding{
		{"provider docker", pass, "is off: ", ""},
		{"provider daytona", warn, "is on: provider daytona does not answer: ", ""},
		{"provider ssh", pass, "--ssh=off", ""},
		{"provider exe", warn, "is on: ", ""},
		{"provider sprites", warn, "is on: ", ""},
	} {
		if !slices.ContainsFunc(doctor.Checks, func(f finding) bool {
			return f.Check == want.Check && f.Status == want.Status && strings.Contains(f.Message, want.Message) && (f.Status == pass) == (f.Remedy == "")
		}) {
			t.Errorf("berth doctor = %+v, want %+v", doctor.Checks, want)
		}
	}
	c.signals <- os.Interrupt
	if r := <-ended; r.status != 0 {
		t.Errorf("berth serve = %+v", r)
	}
	var all []string
	for len(asked) > 0 {
		all = append(all, <-asked)
	}
	for _, want := range []string{"Bearer of-daytona /daytona/", "Bearer of-sprites /sprites/", "the lobby"} {
		if !slices.ContainsFunc(all, func(question string) bool { return strings.HasPrefix(question, want) }) {
			t.Errorf("nobody asked %q: %q", want, all)
		}
	}
}
