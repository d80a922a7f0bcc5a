package berth_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/shared/berth"
)

func ptr[T any](v T) *T { return &v }

// docker is a valid environment to change one thing of.
func docker() berth.Environment {
	e := berth.SeedEnvironment()
	e.ID = "ci"
	return e
}

func TestTheEnvironmentsThatBerthMakesAreValid(t *testing.T) {
	t.Parallel()
	for _, e := range []berth.Environment{berth.SeedEnvironment(), berth.LocalEnvironment(), docker()} {
		if got := berth.ValidateEnvironment(e); len(got) != 0 {
			t.Errorf("ValidateEnvironment(%s) = %v, want nothing", e.ID, got)
		}
	}
}

func TestValidateEnvironmentNamesTheFieldAndTheFault(t *testing.T) {
	t.Parallel()
	const (
		slug       = "environment id must be 1 to 63 lower-case letters, digits and dashes, and begin with a letter or digit"
		spelling   = "must be written without . and .. parts, doubled slashes and a slash at the end"
		envRule    = "use letters, digits and underscores, not a digit first, 255 at most"
		mount      = "must be host:container or host:container:ro, both absolute paths"
		hostPath   = "must begin with an absolute path of the host, without . and .. parts, doubled slashes and a slash at the end"
		inside     = "must name an absolute path below / in the container, without . and .. parts, doubled slashes and a slash at the end"
		preview    = "must be http:// or https:// and a host, without user, port and path: the port is put behind it"
		dest       = "must be user@host, a host or an alias; a port, key or jump host goes into a file named by ssh.config_file"
		labelRule  = "is no label name: 1 to 128 letters, digits, dots, dashes, underscores and slashes, with a letter or digit at both ends"
		tokenFault = "has a malformed {{ }} token: after vars. or secrets. comes one name of letters, digits and underscores, and nothing else"
	)
	type env = berth.Environment
	ssh := func(change func(*berth.SSHOptions)) func(*env) {
		return func(e *env) {
			e.Provider = berth.ProviderSSH
			e.SSH = &berth.SSHOptions{Destination: "box", WorkingDirectory: "/srv/work"}
			change(e.SSH)
		}
	}
	mounts := func(list ...string) func(*env) {
		return func(e *env) { e.Docker = &berth.DockerOptions{ExtraMounts: list} }
	}
	for name, c := range map[string]struct {
		change   func(*env)
		at, want string
	}{
		"an empty id":             {func(e *env) { e.ID = "" }, "id", slug},
		"an id with a slash":      {func(e *env) { e.ID = "a/b" }, "id", slug},
		"an id of two dots":       {func(e *env) { e.ID = ".." }, "id", slug},
		"an id in upper case":     {func(e *env) { e.ID = "CI" }, "id", slug},
		"an id of 64 characters":  {func(e *env) { e.ID = berth.EnvironmentID(strings.Repeat("a", 64)) }, "id", slug},
		"an id with a newline":    {func(e *env) { e.ID = "ci\n" }, "id", slug},
		"no provider":             {func(e *env) { e.Provider = "" }, "provider", "is missing: must be one of local, docker, daytona, ssh, exe, sprites"},
		"an unknown provider":     {func(e *env) { e.Provider = "podman" }, "provider", "must be one of local, docker, daytona, ssh, exe, sprites"},
		"an empty cwd":            {func(e *env) { e.CWD = ptr("") }, "cwd", "is empty: must be an absolute path"},
		"a relative cwd":          {func(e *env) { e.CWD = ptr("srv/x") }, "cwd", "must be an absolute path"},
		"a cwd with dots":         {func(e *env) { e.CWD = ptr("/srv/../etc") }, "cwd", spelling},
		"a cwd with a last slash": {func(e *env) { e.CWD = ptr("/srv/") }, "cwd", spelling},
		"a cwd with a NUL":        {func(e *env) { e.CWD = ptr("/srv\x00") }, "cwd", "is not a path: a NUL, another control character, text that is not UTF-8, or more than 4096 bytes"},
		"an image in upper case":  {func(e *env) { e.Image.Docker = ptr("Debian:13") }, "image.docker", "has upper-case letters in the repository: only the registry and the tag may have them"},
		"an empty image":          {func(e *env) { e.Image.Docker = ptr("") }, "image.docker", "is empty: write an image reference such as debian:13"},
		"a Dockerfile by path":    {func(e *env) { e.Image.Dockerfile = &berth.Dockerfile{Type: "path", Value: "Dockerfile"} }, "image.dockerfile.type", "must be inline: " + berth.DockerfileHint},
		"an empty Dockerfile":     {func(e *env) { e.Image.Dockerfile = &berth.Dockerfile{Type: "inline", Value: " \n"} }, "image.dockerfile.value", "is empty: must be the text of a Dockerfile"},
		"a long Dockerfile": {func(e *env) {
			e.Image.Dockerfile = &berth.Dockerfile{Type: "inline", Value: strings.Repeat("#", 65537)}
		}, "image.dockerfile.value", "has 65537 bytes, more than 65536"},
		"a binary Dockerfile":      {func(e *env) { e.Image.Dockerfile = &berth.Dockerfile{Type: "inline", Value: "FROM x\x00"} }, "image.dockerfile.value", "is not text"},
		"no cpu":                   {func(e *env) { e.Resources.CPU = ptr(0) }, "resources.cpu", "must be a whole number from 1 to 1024"},
		"a negative cpu":           {func(e *env) { e.Resources.CPU = ptr(-1) }, "resources.cpu", "must be a whole number from 1 to 1024"},
		"too much cpu":             {func(e *env) { e.Resources.CPU = ptr(1025) }, "resources.cpu", "must be a whole number from 1 to 1024"},
		"memory without a unit":    {func(e *env) { e.Resources.Memory = ptr(berth.Size("512")) }, "resources.memory", "has no unit" + sizeRule},
		"negative memory":          {func(e *env) { e.Resources.Memory = ptr(berth.Size("-1")) }, "resources.memory", "has a sign" + sizeRule},
		"memory of zero":           {func(e *env) { e.Resources.Memory = ptr(berth.Size("0")) }, "resources.memory", "has no unit" + sizeRule},
		"a fraction of memory":     {func(e *env) { e.Resources.Memory = ptr(berth.Size("1.5GB")) }, "resources.memory", "has a fraction" + sizeRule},
		"a disk of zero":           {func(e *env) { e.Resources.Disk = ptr(berth.Size("0GB")) }, "resources.disk", "is zero" + sizeRule},
		"an unknown network mode":  {func(e *env) { e.Network.Mode = "none" }, "network.mode", "must be one of allow_all, block, cidr_allow_list"},
		"a CIDR without prefix":    {func(e *env) { e.Network = cidrs("10.0.0.0/8", "10.0.0.1") }, "network.allow[1]", "has no prefix length: write a CIDR such as 10.0.0.0/8, or /32 for one address"},
		"allow with allow_all":     {func(e *env) { e.Network = berth.Network{Mode: "allow_all", Allow: []string{"10.0.0.0/8"}} }, "network.allow", "has no effect with network.mode = allow_all: empty the list, or say network.mode = cidr_allow_list"},
		"allow with block":         {func(e *env) { e.Network = berth.Network{Mode: "block", Allow: []string{"10.0.0.0/8"}} }, "network.allow", "has no effect with network.mode = block: empty the list, or say network.mode = cidr_allow_list"},
		"a list without entries":   {func(e *env) { e.Network = cidrs() }, "network.allow", "is empty, and network.mode is cidr_allow_list: list at least one CIDR, or say network.mode = block"},
		"101 networks":             {func(e *env) { e.Network = cidrs(strings.Split(strings.Repeat("10.0.0.0/8,", 101), ",")[:101]...) }, "network.allow", "has 101 entries, more than 100"},
		"auto_stop as a sum":       {func(e *env) { e.Lifecycle.AutoStop = ptr(berth.Duration("1h30m")) }, "lifecycle.auto_stop", "is a sum of several spans" + durationRule},
		"an empty label name":      {func(e *env) { e.Labels = map[string]string{"": "x"} }, `labels[""]`, labelRule},
		"a label with a space":     {func(e *env) { e.Labels = map[string]string{"a b": "x"} }, `labels["a b"]`, labelRule},
		"a label of berth":         {func(e *env) { e.Labels = map[string]string{"berth.run": "x"} }, `labels["berth.run"]`, "begins with berth., which is kept for labels that berth sets"},
		"a long label":             {func(e *env) { e.Labels = map[string]string{"a": strings.Repeat("x", 257)} }, "labels.a", "has 257 bytes, more than 256"},
		"a label with a newline":   {func(e *env) { e.Labels = map[string]string{"a": "x\ny"} }, "labels.a", "has a control character or is not UTF-8"},
		"an env name with =":       {func(e *env) { e.Env = map[string]string{"A=b": "x"} }, `env["A=…"]`, "is no variable name: it has an equals sign; " + envRule},
		"an env name with a NUL":   {func(e *env) { e.Env = map[string]string{"A\x00": "x"} }, `env["A\x00"]`, "is no variable name: it has a NUL; " + envRule},
		"an empty env name":        {func(e *env) { e.Env = map[string]string{"": "x"} }, `env[""]`, "is no variable name: it is empty; " + envRule},
		"an env name with a dash":  {func(e *env) { e.Env = map[string]string{"A-B": "x"} }, "env.A-B", "is no variable name: " + envRule},
		"an env name with a digit": {func(e *env) { e.Env = map[string]string{"1A": "x"} }, "env.1A", "is no variable name: " + envRule},
		"an env value with a NUL":  {func(e *env) { e.Env = map[string]string{"A": "x\x00"} }, "env.A", "has a NUL, which no environment variable can hold"},
		"an env value in Latin-1":  {func(e *env) { e.Env = map[string]string{"A": "\xe9"} }, "env.A", "is not UTF-8"},
		"a value over the exec limit": {
			func(e *env) { e.Env = map[string]string{"BIG": strings.Repeat("x", 128*1024)} }, "env.BIG",
			"variable BIG takes 131077 bytes, more than the 131072 that the kernel passes to a process: put it into a file",
		},
		"a token of the process environment": {
			func(e *env) { e.Env = map[string]string{"A": "x{{ env.HOME }}"} }, "env.A",
			"refers to {{ env.HOME }}: the process environment is not a configuration source; store the value with `berth var set` or `berth secret set`, and write {{ vars.NAME }} or {{ secrets.NAME }}",
		},
		"a malformed token": {func(e *env) { e.Env = map[string]string{"A": "{{ secrets.a-b }}"} }, "env.A", tokenFault},
		"an environment too large": {
			func(e *env) {
				e.Env = map[string]string{"A": strings.Repeat("x", 50_000), "B": strings.Repeat("x", 50_000)}
			}, "",
			"the environment takes 100299 bytes as JSON, more than 81920: move large values into secrets or files",
		},
		"docker options on local": {
			func(e *env) { e.Provider, e.Docker = berth.ProviderLocal, &berth.DockerOptions{PoolSize: 1} }, "docker",
			"is for provider docker alone, and this environment's provider is local",
		},
		"ssh options on docker": {
			func(e *env) { e.SSH = &berth.SSHOptions{Destination: "box", WorkingDirectory: "/srv"} }, "ssh",
			"is for provider ssh alone, and this environment's provider is docker",
		},
		"daytona options on docker": {func(e *env) { e.Daytona = &berth.DaytonaOptions{Target: "eu"} }, "daytona", "is for provider daytona alone, and this environment's provider is docker"},
		"exe options on docker":     {func(e *env) { e.Exe = &berth.ExeOptions{Image: "debian"} }, "exe", "is for provider exe alone, and this environment's provider is docker"},
		"sprites options on docker": {func(e *env) { e.Sprites = &berth.SpritesOptions{Org: "a"} }, "sprites", "is for provider sprites alone, and this environment's provider is docker"},
		"block with a network mode": {
			func(e *env) {
				e.Network.Mode, e.Docker = berth.NetworkBlock, &berth.DockerOptions{NetworkMode: "bridge"}
			}, "docker.network_mode",
			"contradicts network.mode = block: leave it out or say none",
		},
		"a strange network mode":      {func(e *env) { e.Docker = &berth.DockerOptions{NetworkMode: "a b"} }, "docker.network_mode", "must be bridge, none, host, the name of a network, or container:NAME"},
		"a pool of -1":                {func(e *env) { e.Docker = &berth.DockerOptions{PoolSize: -1} }, "docker.pool_size", "must be a whole number from 0 to 100"},
		"a pool of 101":               {func(e *env) { e.Docker = &berth.DockerOptions{PoolSize: 101} }, "docker.pool_size", "must be a whole number from 0 to 100"},
		"a mount without a container": {mounts("/srv"), "docker.extra_mounts[0]", mount},
		"a mount of a named volume":   {mounts("data:/data"), "docker.extra_mounts[0]", hostPath},
		"a mount with dots":           {mounts("/srv/..:/data"), "docker.extra_mounts[0]", hostPath},
		"a mount over the root":       {mounts("/srv:/"), "docker.extra_mounts[0]", inside},
		"a mount at a relative path":  {mounts("/srv:data"), "docker.extra_mounts[0]", inside},
		"a mount with a strange mode": {mounts("/srv:/data:rx"), "docker.extra_mounts[0]", "has an unknown mode behind the second colon: say ro or rw"},
		"a mount with an empty mode":  {mounts("/srv:/data:"), "docker.extra_mounts[0]", "has an unknown mode behind the second colon: say ro or rw"},
		"two mounts at one place":     {mounts("/a:/data", "/b:/data:ro"), "docker.extra_mounts[1]", "mounts at a path of the container that an earlier entry has"},
		"33 mounts":                   {mounts(make([]string, 33)...), "docker.extra_mounts", "has 33 entries, more than 32"},
		"a snapshot called latest":    {daytona(berth.DaytonaOptions{Snapshot: "team/dev:latest"}), "daytona.snapshot", "must not be latest: name a snapshot that stays the same"},
		"a snapshot with a space":     {daytona(berth.DaytonaOptions{Snapshot: "a b"}), "daytona.snapshot", "is no snapshot name: letters, digits and _ . - : in parts split by slashes"},
		"a strange daytona target":    {daytona(berth.DaytonaOptions{Target: "e/u"}), "daytona.target", "must be 1 to 63 letters, digits, dashes and underscores"},
		"a Dockerfile and a snapshot": {
			func(e *env) {
				daytona(berth.DaytonaOptions{Snapshot: "dev"})(e)
				e.Image.Dockerfile = &berth.Dockerfile{Type: "inline", Value: "FROM debian"}
			}, "daytona.snapshot", "contradicts image.dockerfile: name a snapshot, or have one built",
		},
		"ssh without a destination":       {ssh(func(o *berth.SSHOptions) { o.Destination = "" }), "ssh.destination", "is missing: provider ssh needs user@host, a host or an alias"},
		"ssh without a directory":         {ssh(func(o *berth.SSHOptions) { o.WorkingDirectory = "" }), "ssh.working_directory", "is missing: provider ssh needs an absolute path on the remote host"},
		"a destination as an option":      {ssh(func(o *berth.SSHOptions) { o.Destination = "-oProxyCommand=x" }), "ssh.destination", dest},
		"a destination with a port":       {ssh(func(o *berth.SSHOptions) { o.Destination = "box:22" }), "ssh.destination", dest},
		"a destination with a password":   {ssh(func(o *berth.SSHOptions) { o.Destination = "me:pw@box" }), "ssh.destination", dest},
		"a destination with a space":      {ssh(func(o *berth.SSHOptions) { o.Destination = "box; true" }), "ssh.destination", dest},
		"a relative directory":            {ssh(func(o *berth.SSHOptions) { o.WorkingDirectory = "work" }), "ssh.working_directory", "must be an absolute path"},
		"the root as directory":           {ssh(func(o *berth.SSHOptions) { o.WorkingDirectory = "/" }), "ssh.working_directory", "must not be the root directory"},
		"a relative config file":          {ssh(func(o *berth.SSHOptions) { o.ConfigFile = "~/.ssh/config" }), "ssh.config_file", "must be an absolute path"},
		"a preview base with a port":      {ssh(func(o *berth.SSHOptions) { o.PreviewURLBase = "http://box:80" }), "ssh.preview_url_base", preview},
		"a preview base with a user":      {ssh(func(o *berth.SSHOptions) { o.PreviewURLBase = "http://a:b@box" }), "ssh.preview_url_base", preview},
		"a preview base with a path":      {ssh(func(o *berth.SSHOptions) { o.PreviewURLBase = "https://box/x" }), "ssh.preview_url_base", preview},
		"a preview base without a scheme": {ssh(func(o *berth.SSHOptions) { o.PreviewURLBase = "box" }), "ssh.preview_url_base", preview},
		"an exe image in upper case":      {func(e *env) { e.Provider, e.Exe = berth.ProviderExe, &berth.ExeOptions{Image: "X"} }, "exe.image", "has upper-case letters in the repository: only the registry and the tag may have them"},
		"a strange organisation":          {sprites(berth.SpritesOptions{Org: "A"}), "sprites.org", "must be 1 to 63 lower-case letters, digits and dashes"},
		"a strange sprite":                {sprites(berth.SpritesOptions{Name: "-a"}), "sprites.name", "must be 1 to 63 lower-case letters, digits and dashes"},
		"a strange url_auth":              {sprites(berth.SpritesOptions{URLAuth: "none"}), "sprites.url_auth", "must be one of sprite, public"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := docker()
			c.change(&e)
			want := []berth.Problem{{Location: c.at, Message: c.want}}
			if diff := cmp.Diff(want, berth.ValidateEnvironment(e)); diff != "" {
				t.Errorf("ValidateEnvironment (-want +got)\n%s", diff)
			}
		})
	}
}

func cidrs(list ...string) berth.Network {
	return berth.Network{Mode: berth.NetworkCIDRAllowList, Allow: list}
}

func daytona(o berth.DaytonaOptions) func(*berth.Environment) {
	return func(e *berth.Environment) { e.Provider, e.Daytona = berth.ProviderDaytona, &o }
}

func sprites(o berth.SpritesOptions) func(*berth.Environment) {
	return func(e *berth.Environment) { e.Provider, e.Sprites = berth.ProviderSprites, &o }
}

func TestValidateEnvironmentTakesWhatIsRight(t *testing.T) {
	t.Parallel()
	type env = berth.Environment
	for name, change := range map[string]func(*env){
		"a list without a mode": func(e *env) { e.Network = berth.Network{Allow: []string{"10.0.0.0/8", "fd00::/8"}} },
		"block with none":       func(e *env) { e.Network.Mode, e.Docker = "block", &berth.DockerOptions{NetworkMode: "none"} },
		"every docker option": func(e *env) {
			e.Docker = &berth.DockerOptions{ExtraMounts: []string{"/srv/a:/a", "/srv/b:/b:ro", "/:/host:rw"}, NetworkMode: "container:db", AutoPull: ptr(false), PoolSize: 100}
		},
		"every ssh option": func(e *env) {
			e.Provider = berth.ProviderSSH
			e.SSH = &berth.SSHOptions{Destination: "user@my-host.example.com", WorkingDirectory: "/home/user/work", ConfigFile: "/home/user/.ssh/c", PreviewURLBase: "http://my-host"}
		},
		"an IPv6 destination": func(e *env) {
			e.Provider, e.SSH = berth.ProviderSSH, &berth.SSHOptions{Destination: "me@fd00::1", WorkingDirectory: "/w"}
		},
		"every daytona option":       daytona(berth.DaytonaOptions{Snapshot: "team/dev:v1", Target: "eu"}),
		"every sprites option":       sprites(berth.SpritesOptions{Org: "team", Name: "my-sprite", URLAuth: "public"}),
		"an image and Dockerfile":    func(e *env) { e.Image.Dockerfile = &berth.Dockerfile{Type: "inline", Value: "FROM debian\n"} },
		"tokens and other braces":    func(e *env) { e.Env = map[string]string{"A": "{{ vars.X }}-{{ secrets.Y }} {{ goal }} {x}", "_b": ""} },
		"a value at the limit":       func(e *env) { e.Env = map[string]string{"A": strings.Repeat("x", 60_000)} },
		"long labels":                func(e *env) { e.Labels = map[string]string{"sh.fabro/repo_x": "fabro-sh/fabro", "a": "grüße"} },
		"a cwd where it is not used": func(e *env) { e.CWD = ptr("/srv/x") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := docker()
			change(&e)
			if got := berth.ValidateEnvironment(e); len(got) != 0 {
				t.Errorf("ValidateEnvironment = %v, want nothing", got)
			}
		})
	}
}

func TestValidateEnvironmentTellsEverythingAtOnceInAFixedOrder(t *testing.T) {
	t.Parallel()
	e := docker()
	e.ID, e.Provider = "A", "vm"
	e.Resources.CPU, e.Resources.Memory = ptr(0), ptr(berth.Size("1"))
	e.Env = map[string]string{"B=1": "", "A=1": ""}
	want := []string{"id", "provider", "resources.cpu", "resources.memory", `env["A=…"]`, `env["B=…"]`}
	for range 20 {
		var got []string
		for _, p := range berth.ValidateEnvironment(e) {
			got = append(got, p.Location)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("locations (-want +got)\n%s", diff)
		}
	}
}

func TestValidateEnvironmentListsAtMostAHundredProblems(t *testing.T) {
	t.Parallel()
	e := docker()
	e.Env = map[string]string{}
	for i := range 300 {
		e.Env[fmt.Sprintf("%03d", i)] = ""
	}
	got := berth.ValidateEnvironment(e)
	if last := got[len(got)-1]; len(got) != berth.MaxProblems+1 || last.Message != "and 200 more" {
		t.Errorf("got %d problems, the last %v", len(got), last)
	}
}

func TestNoProblemHoldsAValue(t *testing.T) {
	t.Parallel()
	const canary = "c4n4ry"
	e := docker()
	e.CWD, e.Image.Docker = ptr(canary), ptr(canary+" x")
	e.Resources.Memory, e.Lifecycle.AutoStop = ptr(berth.Size(canary)), ptr(berth.Duration(canary))
	e.Network = cidrs(canary)
	e.Labels = map[string]string{"a": canary + "\n"}
	e.Env = map[string]string{"A": canary + "\x00", "B": "{{ vars." + canary + "-x }}", "C=" + canary: "x", "D": canary + "{{ env.X }}"}
	e.Docker = &berth.DockerOptions{ExtraMounts: []string{canary}, NetworkMode: canary + " x"}
	problems := berth.ValidateEnvironment(e)
	if len(problems) < 11 {
		t.Fatalf("got %d problems, want one for each field: %v", len(problems), problems)
	}
	for _, p := range problems {
		if strings.Contains(p.Message+p.Location, canary) {
			t.Errorf("%v holds the value", p)
		}
	}
}

func TestValidateLayerLeavesOutWhatLayersDecideTogether(t *testing.T) {
	t.Parallel()
	sparse := berth.Environment{Network: berth.Network{Mode: berth.NetworkCIDRAllowList}, SSH: &berth.SSHOptions{ConfigFile: "/c"}}
	if got := berth.ValidateLayer(sparse); len(got) != 0 {
		t.Errorf("ValidateLayer = %v, want nothing", got)
	}
	sparse.Resources.CPU = ptr(0)
	if got := berth.ValidateLayer(sparse); len(got) != 1 || got[0].Location != "resources.cpu" {
		t.Errorf("ValidateLayer = %v, want resources.cpu", got)
	}
}
