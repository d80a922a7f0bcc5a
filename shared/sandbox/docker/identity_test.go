//go:build linux

package docker_test

import (
	"sort"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/moby/moby/client"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/sandbox/docker/dockertest"
	"github.com/berth-dev/berth/shared/sandbox/sandboxtest"
)

// derive makes an image of another with other settings, which the test removes.
func derive(t *testing.T, name, base string, changes ...string) string {
	t.Helper()
	dockertest.Image(t, base)
	api := engine(t)
	made, err := api.ContainerCreate(bounded(t), client.ContainerCreateOptions{Image: base, Name: "berth-test-" + strings.ToLower(string(sandboxtest.NewID()))})
	if err != nil {
		t.Fatal(err)
	}
	defer api.ContainerRemove(bounded(t), made.ID, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
	image := "berth-test/" + name + ":" + string(sandboxtest.NewID())
	if _, err := api.ContainerCommit(bounded(t), made.ID, client.ContainerCommitOptions{Reference: image, Changes: changes}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := api.ImageRemove(bounded(t), image, client.ImageRemoveOptions{Force: true}); err != nil {
			t.Error(err)
		}
	})
	return image
}

// who asks for all that makes a process of a container what it is. The score for
// the memory killer is left out: commands have a higher one than the guest.
const who = `id; umask; ulimit -a; ulimit -aH; grep -E '^(Groups|Cap|NoNewPrivs|Seccomp|Sig(Ign|Blk))' /proc/self/status
cat /proc/self/cgroup /proc/self/personality 2>/dev/null; tr '\0' '\n' < /proc/self/environ | grep -v -E '^(PWD|SHLVL|_)=' | sort; cut -d' ' -f18-19 /proc/self/stat; cat /proc/self/attr/current 2>/dev/null; true`

func TestCommandsAreWhoTheEnginesOwnExecMakesThem(t *testing.T) {
	for _, tt := range []struct {
		name  string
		image func(t *testing.T) string
		user  string
	}{
		{"an image without a user", func(*testing.T) string { return dockertest.Debian }, ""},
		{"a user by name, in groups, with a PATH of its own", func(*testing.T) string { return dockertest.User }, "tester"},
		{"nothing but bash and busybox", func(*testing.T) string { return dockertest.Static }, ""},
		{"a user by number", func(t *testing.T) string { return derive(t, "number", dockertest.Debian, "USER 1234") }, "1234"},
		{"a number without an account", func(t *testing.T) string { return derive(t, "nobody", dockertest.Debian, "USER 4321") }, "4321"},
		{"numbers of a user and a group", func(t *testing.T) string { return derive(t, "numbers", dockertest.Debian, "USER 4321:8765") }, "4321:8765"},
		{"names of a user and a group", func(t *testing.T) string { return derive(t, "names", dockertest.Debian, "USER tester:readers") }, "tester:readers"},
		{"a user and a group of which one is a number", func(t *testing.T) string { return derive(t, "mixed", dockertest.Debian, "USER tester:1301") }, "tester:1301"},
		{"root in a group", func(t *testing.T) string { return derive(t, "group", dockertest.Debian, "USER root:writers") }, "root:writers"},
		{"a HOME and other variables of the image", func(t *testing.T) string {
			return derive(t, "home", dockertest.User, "ENV HOME=/opt/home", `ENV ODD="a b=c"`)
		}, "tester"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := sandbox(t, config(t), specOf(tt.image(t)))
			got, exit := b.wait(b.start(berth.CommandSpec{Script: who}))
			args := []string{"exec"}
			if tt.user != "" {
				args = append(args, "-u", tt.user)
			}
			want := dockerCommand(t, append(args, containerOf(b.ref), "bash", "-c", who)...)
			if diff := cmp.Diff(lines(want), lines(got)); diff != "" || !exit.Succeeded() {
				t.Errorf("(-docker exec +command):\n%s%+v", diff, exit)
			}
		})
	}
}

func lines(text string) []string { return strings.Split(strings.TrimSpace(text), "\n") }

func TestAUserThatTheImageDoesNotHaveIsTold(t *testing.T) {
	t.Parallel()
	for change, want := range map[string]string{"USER stranger": `user "stranger"`, "USER tester:strangers": `group "strangers"`} {
		config := config(t)
		p := open(t, config)
		spec := specOf(derive(t, "stranger", dockertest.Debian, change))
		state := provision(t, p, spec)
		if state.Status != berth.SandboxFailed || !strings.Contains(state.Reason.Message, want) || state.Reason.Remediation == "" {
			t.Errorf("%s: %+v, %+v", change, state, state.Reason)
		}
		nothingLeft(t, p, config, spec.ID)
	}
}

func TestFilesAreUsedWithTheRightsOfTheImagesUser(t *testing.T) {
	t.Parallel()
	b := sandbox(t, config(t), specOf(dockertest.User))
	write := func(path string) error {
		_, err := b.WriteFile(bounded(t), b.ref, path, strings.NewReader("x"), 1, 0, "")
		return err
	}
	if err := write("new/folder/file"); err != nil {
		t.Fatal(err)
	}
	if got := b.script("stat -c '%U:%G %a %n' . new new/folder new/folder/file"); got != "tester:tester 755 .\ntester:tester 755 new\ntester:tester 755 new/folder\ntester:tester 644 new/folder/file\n" {
		t.Errorf("owners:\n%s", got)
	}
	// What root put there for itself stays root's.
	dockerCommand(t, "exec", "-u", "0", containerOf(b.ref), "bash", "-c",
		"cd /workspace && mkdir -m 700 roots && echo secret > roots/file && echo secret > file && chmod 600 file && mkdir -m 755 shown && echo shown > shown/file && echo group > for-readers && chgrp readers for-readers && chmod 040 for-readers")
	for _, path := range []string{"roots/file", "file", "roots"} {
		_, err := b.ReadFile(bounded(t), b.ref, path, 0, 0, "")
		wantCode(t, "ReadFile "+path, err, berth.CodeInvalid)
	}
	for _, path := range []string{"roots/file", "roots/new", "shown/file", "shown/new"} {
		wantCode(t, "WriteFile "+path, write(path), berth.CodeInvalid)
		if !strings.HasSuffix(path, "new") {
			wantCode(t, "DeleteFile "+path, b.DeleteFile(bounded(t), b.ref, path, ""), berth.CodeInvalid)
		}
	}
	for path, want := range map[string]string{"shown/file": "shown\n", "for-readers": "group\n"} {
		data, err := b.ReadFile(bounded(t), b.ref, path, 0, 0, "")
		if err != nil || string(data.Data) != want {
			t.Errorf("ReadFile %s = %q, %v", path, data.Data, err)
		}
	}
	found, err := b.Grep(bounded(t), b.ref, berth.GrepQuery{Pattern: "secret|shown"})
	if err != nil || len(found.Matches) != 1 || found.Matches[0].Path != "shown/file" {
		t.Errorf("Grep = %+v, %v", found, err)
	}
	err = b.StartCommand(bounded(t), b.ref, berth.CommandSpec{ID: "in-roots", Script: "true", Dir: "roots"})
	wantCode(t, "StartCommand in root's folder", err, berth.CodeInvalid)
	// A folder of its own makes it possible to replace root's file there.
	if err := write("file"); err != nil {
		t.Errorf("WriteFile over root's file: %v", err)
	}
}

func wantCode(t testing.TB, call string, err error, want berth.Code) {
	t.Helper()
	if got := berth.CodeOf(err); got != want {
		t.Errorf("%s: %v (code %q), want %q", call, err, got, want)
	}
}

func TestTheHintGetsAPersonIn(t *testing.T) {
	t.Parallel()
	for _, image := range []string{dockertest.Debian, dockertest.User} {
		b := sandbox(t, config(t), specOf(image))
		state, err := b.Describe(bounded(t), b.ref)
		if err != nil {
			t.Fatal(err)
		}
		args := strings.Fields(strings.Replace(state.Hint, "-it ", "", 1))
		got := dockerCommand(t, append(args[1:], "-c", "pwd; id -u")...)
		if want := "/workspace\n" + b.script("id -u"); got != want {
			t.Errorf("%s prints %q, want %q", state.Hint, got, want)
		}
	}
}

func TestTheEnvironmentOfCommandsIsNotInTheContainer(t *testing.T) {
	t.Parallel()
	const canary = "canary-3c1f77d0"
	config := config(t)
	b := sandbox(t, config, specOf(dockertest.Debian))
	id := b.start(berth.CommandSpec{
		Script: `echo "$S"; sleep 600`, Env: map[string]string{"S": canary}, Mask: []berth.SecretValue{berth.NewSecretValue([]byte(canary))},
	})
	b.untilOutput(id)
	for _, args := range [][]string{{"inspect", containerOf(b.ref)}, {"logs", containerOf(b.ref)}, {"top", containerOf(b.ref)}} {
		if out := dockerCommand(t, args...); strings.Contains(out, canary) {
			t.Errorf("docker %s shows it", args[0])
		}
	}
	files := filesBelow(t, config.Root)
	sort.Strings(files)
	for _, file := range files {
		if strings.Contains(readFile(t, file), canary) {
			t.Errorf("%s holds it", file)
		}
	}
}
