package berth_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/shared/berth"
)

// setters set each field that a row is about, by the row's title.
var setters = map[string]func(*berth.Environment){
	"`image.docker`": func(e *berth.Environment) { e.Image.Docker = ptr("debian:13") },
	"`image.dockerfile`": func(e *berth.Environment) {
		e.Image.Dockerfile = &berth.Dockerfile{Type: "inline", Value: "FROM debian"}
	},
	"`image.dockerfile`, that copies a local file": func(e *berth.Environment) {
		e.Image.Dockerfile = &berth.Dockerfile{Type: "inline", Value: "FROM debian\nCOPY a /a\n"}
	},
	"`resources.cpu`":                              func(e *berth.Environment) { e.Resources.CPU = ptr(2) },
	"`resources.memory`":                           func(e *berth.Environment) { e.Resources.Memory = ptr(berth.Size("4GB")) },
	"`resources.disk`":                             func(e *berth.Environment) { e.Resources.Disk = ptr(berth.Size("20GB")) },
	"`resources.cpu`, without image.dockerfile":    func(e *berth.Environment) { e.Resources.CPU = ptr(2) },
	"`resources.memory`, without image.dockerfile": func(e *berth.Environment) { e.Resources.Memory = ptr(berth.Size("4GB")) },
	"`resources.disk`, without image.dockerfile":   func(e *berth.Environment) { e.Resources.Disk = ptr(berth.Size("20GB")) },
	"`resources.memory`, below 6 MiB":              func(e *berth.Environment) { e.Resources.Memory = ptr(berth.Size("5MiB")) },
	"`network.mode = \"block\"`":                   func(e *berth.Environment) { e.Network.Mode = berth.NetworkBlock },
	"`network.mode = \"cidr_allow_list\"`":         func(e *berth.Environment) { e.Network = cidrs("10.0.0.0/8") },
	"`network.allow`, more than 10 networks":       func(e *berth.Environment) { e.Network = cidrs(slices.Repeat([]string{"10.0.0.0/8"}, 11)...) },
	"`network.allow`, with an IPv6 network":        func(e *berth.Environment) { e.Network = cidrs("fd00::/8") },
	"`labels`":                                     func(e *berth.Environment) { e.Labels = map[string]string{"a": "b"} },
	"`lifecycle.auto_stop`":                        func(e *berth.Environment) { e.Lifecycle.AutoStop = ptr(berth.Duration("30m")) },
	"`cwd`":                                        func(e *berth.Environment) { e.CWD = ptr("/srv/x") },
	"`docker`":                                     func(e *berth.Environment) { e.Docker = &berth.DockerOptions{PoolSize: 1} },
	"`daytona`":                                    func(e *berth.Environment) { e.Daytona = &berth.DaytonaOptions{Target: "eu"} },
	"`ssh`":                                        func(e *berth.Environment) { e.SSH = &berth.SSHOptions{Destination: "box"} },
	"`exe`":                                        func(e *berth.Environment) { e.Exe = &berth.ExeOptions{Image: "debian"} },
	"`sprites`":                                    func(e *berth.Environment) { e.Sprites = &berth.SpritesOptions{Org: "a"} },
}

const (
	fixedSnapshot = "is ignored without image.dockerfile: a snapshot that exists has its own size"
	exeSize       = "is ignored: the size of an exe VM is not set by the environment"
	spriteSize    = "is ignored: the size of a sprite is fixed"
	remoteHost    = "is ignored: the ssh provider uses the remote host as it is"
	spriteImage   = "is ignored: every sprite starts from the same image"
)

// told is every warning and error of the mapping, written out: provider, row,
// then what the user is told.
var told = []struct {
	provider berth.ProviderKind
	row      string
	effect   berth.Effect
	location string
	text     string
}{
	{"local", "`resources.cpu`", "warning", "resources.cpu", "is ignored: the local provider sets no CPU limit"},
	{"local", "`resources.memory`", "warning", "resources.memory", "is ignored: the local provider sets no memory limit"},
	{"local", "`resources.disk`", "warning", "resources.disk", "is ignored: the local provider sets no disk limit"},
	{"local", "`network.mode = \"block\"`", "error", "network.mode", "the local provider cannot block the network: it runs on the host; use docker or daytona"},
	{"local", "`network.mode = \"cidr_allow_list\"`", "error", "network.mode", "the local provider cannot restrict the network: it runs on the host; use daytona"},
	{"local", "`labels`", "warning", "labels", "are ignored: the local provider has nothing to put labels on"},
	{"local", "`lifecycle.auto_stop`", "warning", "lifecycle.auto_stop", "is ignored: the local provider has nothing to stop"},
	{"local", "`docker`", "error", "docker", "is for provider docker alone, and this environment's provider is local"},
	{"local", "`daytona`", "error", "daytona", "is for provider daytona alone, and this environment's provider is local"},
	{"local", "`ssh`", "error", "ssh", "is for provider ssh alone, and this environment's provider is local"},
	{"local", "`exe`", "error", "exe", "is for provider exe alone, and this environment's provider is local"},
	{"local", "`sprites`", "error", "sprites", "is for provider sprites alone, and this environment's provider is local"},

	{"docker", "`image.dockerfile`", "warning", "image.dockerfile", "is ignored: the docker provider builds nothing; push an image and name it in image.docker"},
	{"docker", "`resources.memory`, below 6 MiB", "error", "resources.memory", "is below 6 MiB, the least that a Docker engine takes"},
	{"docker", "`resources.disk`", "warning", "resources.disk", "is ignored: the docker provider sets no disk limit"},
	{"docker", "`network.mode = \"cidr_allow_list\"`", "error", "network.mode", "the docker provider cannot restrict the network to CIDRs; use daytona, or network.mode = block"},
	{"docker", "`labels`", "warning", "labels", "are ignored, but for those that begin with host.: the docker provider labels containers with berth's own labels alone"},
	{"docker", "`lifecycle.auto_stop`", "warning", "lifecycle.auto_stop", "is ignored: the docker provider does not stop idle containers"},
	{"docker", "`cwd`", "warning", "cwd", "is ignored: the docker provider has its own workspace; use run.working_dir for a directory in it"},
	{"docker", "`daytona`", "error", "daytona", "is for provider daytona alone, and this environment's provider is docker"},
	{"docker", "`ssh`", "error", "ssh", "is for provider ssh alone, and this environment's provider is docker"},
	{"docker", "`exe`", "error", "exe", "is for provider exe alone, and this environment's provider is docker"},
	{"docker", "`sprites`", "error", "sprites", "is for provider sprites alone, and this environment's provider is docker"},

	{"daytona", "`image.docker`", "error", "image.docker", "daytona cannot start from a Docker image: write the image as FROM of an image.dockerfile, or name a daytona.snapshot"},
	{"daytona", "`image.dockerfile`, that copies a local file", "error", "image.dockerfile", "copies a local file, and there are none beside an inline Dockerfile: write the file within it (COPY <<EOF), fetch it by URL, or copy it in a prepare step"},
	{"daytona", "`resources.cpu`, without image.dockerfile", "warning", "resources.cpu", fixedSnapshot},
	{"daytona", "`resources.memory`, without image.dockerfile", "warning", "resources.memory", fixedSnapshot},
	{"daytona", "`resources.disk`, without image.dockerfile", "warning", "resources.disk", fixedSnapshot},
	{"daytona", "`network.allow`, more than 10 networks", "error", "network.allow", "has more than 10 entries, the most that daytona takes"},
	{"daytona", "`network.allow`, with an IPv6 network", "error", "network.allow", "has an IPv6 network, and daytona takes IPv4 alone"},
	{"daytona", "`cwd`", "warning", "cwd", "is ignored: the daytona provider has its own workspace; use run.working_dir for a directory in it"},
	{"daytona", "`docker`", "error", "docker", "is for provider docker alone, and this environment's provider is daytona"},
	{"daytona", "`ssh`", "error", "ssh", "is for provider ssh alone, and this environment's provider is daytona"},
	{"daytona", "`exe`", "error", "exe", "is for provider exe alone, and this environment's provider is daytona"},
	{"daytona", "`sprites`", "error", "sprites", "is for provider sprites alone, and this environment's provider is daytona"},

	{"ssh", "`image.docker`", "warning", "image.docker", remoteHost},
	{"ssh", "`image.dockerfile`", "warning", "image.dockerfile", remoteHost},
	{"ssh", "`resources.cpu`", "warning", "resources.cpu", "is ignored: the ssh provider sets no CPU limit"},
	{"ssh", "`resources.memory`", "warning", "resources.memory", "is ignored: the ssh provider sets no memory limit"},
	{"ssh", "`resources.disk`", "warning", "resources.disk", "is ignored: the ssh provider sets no disk limit"},
	{"ssh", "`network.mode = \"block\"`", "error", "network.mode", "the ssh provider cannot block the network of a remote host; use docker or daytona"},
	{"ssh", "`network.mode = \"cidr_allow_list\"`", "error", "network.mode", "the ssh provider cannot restrict the network of a remote host; use daytona"},
	{"ssh", "`labels`", "warning", "labels", "are ignored: the ssh provider has nothing to put labels on"},
	{"ssh", "`lifecycle.auto_stop`", "warning", "lifecycle.auto_stop", "is ignored: the ssh provider does not stop the remote host"},
	{"ssh", "`cwd`", "warning", "cwd", "is ignored: the ssh provider starts in ssh.working_directory"},
	{"ssh", "`docker`", "error", "docker", "is for provider docker alone, and this environment's provider is ssh"},
	{"ssh", "`daytona`", "error", "daytona", "is for provider daytona alone, and this environment's provider is ssh"},
	{"ssh", "`exe`", "error", "exe", "is for provider exe alone, and this environment's provider is ssh"},
	{"ssh", "`sprites`", "error", "sprites", "is for provider sprites alone, and this environment's provider is ssh"},

	{"exe", "`image.docker`", "error", "image.docker", "provider exe has its own field for the image: set exe.image"},
	{"exe", "`image.dockerfile`", "warning", "image.dockerfile", "is ignored: the exe provider builds nothing; push an image and name it in exe.image"},
	{"exe", "`resources.cpu`", "warning", "resources.cpu", exeSize},
	{"exe", "`resources.memory`", "warning", "resources.memory", exeSize},
	{"exe", "`resources.disk`", "warning", "resources.disk", exeSize},
	{"exe", "`network.mode = \"block\"`", "error", "network.mode", "the exe provider cannot block the network of a VM; use docker or daytona"},
	{"exe", "`network.mode = \"cidr_allow_list\"`", "error", "network.mode", "the exe provider cannot restrict the network of a VM; use daytona"},
	{"exe", "`labels`", "warning", "labels", "are ignored: the exe provider sets berth's own tags alone"},
	{"exe", "`lifecycle.auto_stop`", "warning", "lifecycle.auto_stop", "is ignored: an exe VM has no auto-stop"},
	{"exe", "`cwd`", "warning", "cwd", "is ignored: the exe provider has its own workspace; use run.working_dir for a directory in it"},
	{"exe", "`docker`", "error", "docker", "is for provider docker alone, and this environment's provider is exe"},
	{"exe", "`daytona`", "error", "daytona", "is for provider daytona alone, and this environment's provider is exe"},
	{"exe", "`ssh`", "error", "ssh", "is for provider ssh alone, and this environment's provider is exe"},
	{"exe", "`sprites`", "error", "sprites", "is for provider sprites alone, and this environment's provider is exe"},

	{"sprites", "`image.docker`", "warning", "image.docker", spriteImage},
	{"sprites", "`image.dockerfile`", "warning", "image.dockerfile", spriteImage},
	{"sprites", "`resources.cpu`", "warning", "resources.cpu", spriteSize},
	{"sprites", "`resources.memory`", "warning", "resources.memory", spriteSize},
	{"sprites", "`resources.disk`", "warning", "resources.disk", spriteSize},
	{"sprites", "`network.mode = \"cidr_allow_list\"`", "error", "network.mode", "the sprites provider has rules for domain names, not for CIDRs; use daytona, or network.mode = block"},
	{"sprites", "`labels`", "warning", "labels", "are ignored: the sprites provider sets berth's own labels alone"},
	{"sprites", "`lifecycle.auto_stop`", "warning", "lifecycle.auto_stop", "is ignored: a sprite sleeps by itself when idle, after a time that cannot be set"},
	{"sprites", "`cwd`", "warning", "cwd", "is ignored: the sprites provider has its own workspace; use run.working_dir for a directory in it"},
	{"sprites", "`docker`", "error", "docker", "is for provider docker alone, and this environment's provider is sprites"},
	{"sprites", "`daytona`", "error", "daytona", "is for provider daytona alone, and this environment's provider is sprites"},
	{"sprites", "`ssh`", "error", "ssh", "is for provider ssh alone, and this environment's provider is sprites"},
	{"sprites", "`exe`", "error", "exe", "is for provider exe alone, and this environment's provider is sprites"},
}

func bare(provider berth.ProviderKind) berth.Environment {
	e := berth.EnvironmentDefaults()
	e.ID, e.Provider = "x", provider
	return e
}

func TestEveryWarningAndErrorOfTheMappingIsTold(t *testing.T) {
	t.Parallel()
	for _, c := range told {
		t.Run(string(c.provider)+" "+c.row, func(t *testing.T) {
			t.Parallel()
			e := bare(c.provider)
			setters[c.row](&e)
			warnings, errors := berth.CheckMapping(e)
			want := []berth.Problem{{Location: c.location, Message: c.text}}
			got, other := warnings, errors
			if c.effect == berth.EffectError {
				got, other = errors, warnings
			}
			if diff := cmp.Diff(want, got); diff != "" || len(other) > 0 {
				t.Errorf("CheckMapping (-want +got)\n%s; and %v", diff, other)
			}
		})
	}
}

func TestNoWarningOrErrorOfTheMappingIsLeftUntested(t *testing.T) {
	t.Parallel()
	tested := map[string]berth.Effect{}
	for _, c := range told {
		tested[string(c.provider)+" "+c.row] = c.effect
	}
	inTable := map[string]berth.Effect{}
	for _, r := range berth.Mapping() {
		for provider, cell := range r.Cells {
			if cell.Effect == berth.EffectWarning || cell.Effect == berth.EffectError {
				inTable[string(provider)+" "+r.Title()] = cell.Effect
			}
		}
	}
	if diff := cmp.Diff(inTable, tested); diff != "" {
		t.Errorf("the mapping's cells and the tested ones (-mapping +tested)\n%s", diff)
	}
}

// The table of the document "Environments", cell by cell.
var document = []struct{ row, local, docker, daytona string }{
	{"`image.docker`", "Ignored", "Docker image", "Error"},
	{"`image.dockerfile`", "Ignored", "Warning", "Snapshot Dockerfile; berth computes the snapshot name"},
	{"`resources.cpu`", "Warning", "`cpu_quota = cpu * 100000`", "Snapshot CPU"},
	{"`resources.memory`", "Warning", "Container memory limit", "Snapshot memory"},
	{"`resources.disk`", "Warning", "Warning", "Snapshot disk"},
	{"`network.mode = \"allow_all\"`", "Host network", "Docker default bridge", "Daytona allow-all"},
	{"`network.mode = \"block\"`", "Error", "Docker `none` network", "Daytona block"},
	{"`network.mode = \"cidr_allow_list\"`", "Error", "Error", "Daytona CIDR allow-list"},
	{"`labels`", "Warning", "Warning", "Daytona labels"},
	{"`lifecycle.auto_stop`", "Warning", "Warning", "Daytona auto-stop"},
	{"`env`", "Process environment overlay", "Container environment", "Sandbox environment"},
	{"`cwd`", "Server-side command working directory", "Warning", "Warning"},
}

func TestTheMappingSaysWhatTheDocumentSays(t *testing.T) {
	t.Parallel()
	show := func(c berth.Cell) string {
		switch c.Effect {
		case berth.EffectWarning:
			return "Warning"
		case berth.EffectError:
			return "Error"
		case berth.EffectIgnored:
			return "Ignored"
		}
		return c.Text
	}
	rows := map[string]berth.MappingRow{}
	for _, r := range berth.Mapping() {
		rows[r.Title()] = r
	}
	for _, d := range document {
		r := rows[d.row]
		got := []string{show(r.Cells["local"]), show(r.Cells["docker"]), show(r.Cells["daytona"])}
		if diff := cmp.Diff([]string{d.local, d.docker, d.daytona}, got); diff != "" {
			t.Errorf("%s (-document +mapping)\n%s", d.row, diff)
		}
	}
}

func TestEveryPlainFieldHasACellForEveryProvider(t *testing.T) {
	t.Parallel()
	for _, r := range berth.Mapping() {
		owned := r.When != "" || slices.ContainsFunc(berth.ProviderKinds, func(k berth.ProviderKind) bool {
			return len(r.Field) > len(k) && r.Field[:len(k)+1] == string(k)+"."
		})
		if got := len(r.Cells); !owned && got != len(berth.ProviderKinds) {
			t.Errorf("%s has %d cells: %v", r.Title(), got, slices.Sorted(maps.Keys(r.Cells)))
		}
	}
}

func TestMappedAndIgnoredFieldsAreSilent(t *testing.T) {
	t.Parallel()
	full := map[berth.ProviderKind]func(*berth.Environment){
		"local": func(e *berth.Environment) { // the image is ignored there without a word
			e.Image.Docker, e.CWD = ptr("debian"), ptr("/srv")
			e.Image.Dockerfile = &berth.Dockerfile{Type: "inline", Value: "FROM debian"}
		},
		"docker": func(e *berth.Environment) {
			e.Image.Docker, e.Network.Mode = ptr("debian"), berth.NetworkBlock
			e.Resources = berth.Resources{CPU: ptr(1), Memory: ptr(berth.Size("6MiB"))}
			e.Labels = map[string]string{"host.zone": "a"} // chooses its hosts
			e.Docker = &berth.DockerOptions{ExtraMounts: []string{"/a:/a"}, NetworkMode: "none", AutoPull: ptr(false), PoolSize: 2}
		},
		"daytona": func(e *berth.Environment) {
			e.Image.Dockerfile = &berth.Dockerfile{Type: "inline", Value: "FROM debian"}
			e.Resources = berth.Resources{CPU: ptr(1), Memory: ptr(berth.Size("1GB")), Disk: ptr(berth.Size("1GB"))}
			e.Network = cidrs(slices.Repeat([]string{"10.0.0.0/8"}, 10)...)
			e.Labels, e.Lifecycle.AutoStop = map[string]string{"a": "b"}, ptr(berth.Duration("30s"))
			e.Daytona = &berth.DaytonaOptions{Target: "eu"}
		},
		"ssh": func(e *berth.Environment) {
			e.SSH = &berth.SSHOptions{Destination: "box", WorkingDirectory: "/w", ConfigFile: "/c", PreviewURLBase: "http://box"}
		},
		"exe": func(e *berth.Environment) { e.Exe = &berth.ExeOptions{Image: "debian"} },
		"sprites": func(e *berth.Environment) {
			e.Network.Mode, e.Sprites = berth.NetworkBlock, &berth.SpritesOptions{Org: "a", Name: "b", URLAuth: "public"}
		},
	}
	for provider, change := range full {
		e := bare(provider)
		e.Env = map[string]string{"A": "b"}
		change(&e)
		if warnings, errors := berth.CheckMapping(e); len(warnings)+len(errors) > 0 {
			t.Errorf("%s: CheckMapping = %v, %v; want nothing", provider, warnings, errors)
		}
	}
}

func TestAnEnvironmentWithoutAnythingIsSilentEverywhere(t *testing.T) {
	t.Parallel()
	for _, provider := range berth.ProviderKinds {
		if warnings, errors := berth.CheckMapping(bare(provider)); len(warnings)+len(errors) > 0 {
			t.Errorf("%s: CheckMapping = %v, %v; want nothing", provider, warnings, errors)
		}
	}
}

func TestMappingForGivesTheRowsOfAFieldThatConcernTheProvider(t *testing.T) {
	t.Parallel()
	titles := func(rows []berth.MappingRow) (list []string) {
		for _, r := range rows {
			list = append(list, r.Title())
		}
		return list
	}
	for _, c := range []struct {
		provider berth.ProviderKind
		field    string
		want     []string
	}{
		{"daytona", "resources.memory", []string{"`resources.memory`", "`resources.memory`, without image.dockerfile"}},
		{"docker", "resources.memory", []string{"`resources.memory`", "`resources.memory`, below 6 MiB"}},
		{"local", "resources.memory", []string{"`resources.memory`"}},
		{"docker", "docker.pool_size", []string{"`docker.pool_size`"}},
		{"local", "docker.pool_size", nil},
		{"local", "nothing", nil},
	} {
		if diff := cmp.Diff(c.want, titles(berth.MappingFor(c.provider, c.field))); diff != "" {
			t.Errorf("MappingFor(%s, %s) (-want +got)\n%s", c.provider, c.field, diff)
		}
	}
}

func TestUnsupportedHasItsOwnCode(t *testing.T) {
	t.Parallel()
	if err := berth.Unsupported(nil); err != nil {
		t.Errorf("Unsupported(nil) = %v", err)
	}
	e := bare("local")
	e.Network.Mode = berth.NetworkBlock
	_, problems := berth.CheckMapping(e)
	err := berth.Unsupported(problems)
	const want = "network.mode: the local provider cannot block the network: it runs on the host; use docker or daytona"
	if berth.CodeOf(err) != berth.CodeUnsupported || err.Error() != want {
		t.Errorf("Unsupported = %v (%s), want %q", err, berth.CodeOf(err), want)
	}
}
