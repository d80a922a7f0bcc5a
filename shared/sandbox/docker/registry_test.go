//go:build linux

package docker_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/moby/moby/api/pkg/authconfig"
	registrytypes "github.com/moby/moby/api/types/registry"
	"github.com/moby/moby/client"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/sandbox/docker"
	"github.com/berth-dev/berth/shared/sandbox/docker/dockertest"
	"github.com/berth-dev/berth/shared/sandbox/sandboxtest"
)

// images is a registry on loopback, which engines use without TLS.
type images struct {
	host string // with a port
	// user and password, when set, are asked for.
	user, password string

	mu    sync.Mutex // guards stall
	stall bool       // blobs never come
}

func startRegistry(t *testing.T, user, password string) *images {
	t.Helper()
	dockertest.Image(t, dockertest.Static) // or there is no engine that would pull
	r := &images{user: user, password: password}
	store := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		gotUser, gotPassword, _ := req.BasicAuth()
		if r.user != "" && (gotUser != r.user || gotPassword != r.password) {
			w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		r.mu.Lock()
		stall := r.stall
		r.mu.Unlock()
		if stall && req.Method == http.MethodGet && strings.Contains(req.URL.Path, "/blobs/") {
			w.Header().Set("Content-Length", "1000000")
			w.WriteHeader(http.StatusOK)
			w.(http.Flusher).Flush()
			<-req.Context().Done()
			return
		}
		store.ServeHTTP(w, req)
	}))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	r.host = strings.TrimPrefix(server.URL, "http://")
	return r
}

// push has the engine push the small image under a name, and forget the name.
func (r *images) push(t *testing.T, repository string) (digest string) {
	t.Helper()
	api := engine(t)
	image := r.host + "/" + repository
	if _, err := api.ImageTag(bounded(t), client.ImageTagOptions{Source: dockertest.Image(t, dockertest.Static), Target: image}); err != nil {
		t.Fatal(err)
	}
	auth, err := authconfig.Encode(registrytypes.AuthConfig{Username: r.user, Password: r.password})
	if err != nil {
		t.Fatal(err)
	}
	pushed, err := api.ImagePush(bounded(t), image, client.ImagePushOptions{RegistryAuth: auth})
	if err == nil {
		err = pushed.Wait(bounded(t))
	}
	if err != nil {
		t.Fatal(err)
	}
	found, err := api.ImageInspect(bounded(t), image)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range found.RepoDigests {
		if strings.HasPrefix(d, r.host+"/") {
			_, digest, _ = strings.Cut(d, "@")
		}
	}
	if _, err := api.ImageRemove(bounded(t), image, client.ImageRemoveOptions{}); err != nil {
		t.Fatal(err)
	}
	return digest
}

// put uploads a blob or, with a media type, a manifest.
func (r *images) put(t *testing.T, path, mediaType string, body []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(bounded(t), http.MethodPut, "http://"+r.host+"/v2/"+path, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", mediaType)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusCreated {
		t.Fatalf("PUT %s: %s", path, resp.Status)
	}
}

const (
	mediaManifest = "application/vnd.docker.distribution.manifest.v2+json"
	mediaList     = "application/vnd.docker.distribution.manifest.list.v2+json"
	mediaConfig   = "application/vnd.docker.container.image.v1+json"
	mediaLayer    = "application/vnd.docker.image.rootfs.diff.tar.gzip"
)

type descriptor struct {
	MediaType string            `json:"mediaType"`
	Size      int               `json:"size"`
	Digest    string            `json:"digest"`
	Platform  map[string]string `json:"platform,omitempty"`
}

func describe(mediaType string, body []byte) descriptor {
	return descriptor{MediaType: mediaType, Size: len(body), Digest: digestOf(body)}
}

func digestOf(body []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(body)) }

// putBlob uploads in one request.
func (r *images) putBlob(t *testing.T, repository, mediaType string, body []byte) descriptor {
	t.Helper()
	r.put(t, repository+"/blobs/uploads/1?digest="+digestOf(body), "application/octet-stream", body)
	return describe(mediaType, body)
}

// make uploads an image for a platform with one layer that no engine has. It
// returns the manifest.
func (r *images) make(t *testing.T, repository, tag, system, arch string) descriptor {
	t.Helper()
	var layer, plain bytes.Buffer
	content := []byte(sandboxtest.NewID())
	files := tar.NewWriter(&plain)
	if err := files.WriteHeader(&tar.Header{Name: "unique", Mode: 0o644, Size: int64(len(content))}); err != nil {
		t.Fatal(err)
	}
	if _, err := files.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := files.Close(); err != nil {
		t.Fatal(err)
	}
	zipped := gzip.NewWriter(&layer)
	if _, err := zipped.Write(plain.Bytes()); err != nil {
		t.Fatal(err)
	}
	if err := zipped.Close(); err != nil {
		t.Fatal(err)
	}
	config := encode(t, map[string]any{
		"os": system, "architecture": arch, "config": map[string]any{}, "rootfs": map[string]any{"type": "layers", "diff_ids": []string{digestOf(plain.Bytes())}},
	})
	manifest := encode(t, map[string]any{
		"schemaVersion": 2, "mediaType": mediaManifest,
		"config": r.putBlob(t, repository, mediaConfig, config), "layers": []descriptor{r.putBlob(t, repository, mediaLayer, layer.Bytes())},
	})
	if tag == "" {
		tag = digestOf(manifest)
	}
	r.put(t, repository+"/manifests/"+tag, mediaManifest, manifest)
	out := describe(mediaManifest, manifest)
	out.Platform = map[string]string{"os": system, "architecture": arch}
	return out
}

func encode(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// forget removes an image from the engine at the test's end.
func forget(t *testing.T, image string) {
	t.Cleanup(func() {
		_, _ = engine(t).ImageRemove(bounded(t), image, client.ImageRemoveOptions{Force: true}) // it may never have been pulled
	})
}

func TestImagesAreFoundInTheirRegistries(t *testing.T) {
	t.Parallel()
	r := startRegistry(t, "", "")
	digest := r.push(t, "deep/path/tagged:v1.0")
	for _, image := range []string{
		r.host + "/deep/path/tagged:v1.0",
		r.host + "/deep/path/tagged@" + digest,
		r.host + "/deep/path/tagged:of-no-effect@" + digest,
	} {
		forget(t, image)
		b := sandboxOf(t, config(t), image)
		if got := b.script("echo here"); got != "here\n" {
			t.Errorf("%s: %q", image, got)
		}
		if err := b.Destroy(bounded(t), b.ref); err != nil {
			t.Fatal(err)
		}
		dockerCommand(t, "image", "rm", plain(image))
	}
}

// plain is an image's name as an engine takes it: it knows no tag beside a digest.
func plain(image string) string {
	at := strings.Index(image, "@")
	if at < 0 {
		return image
	}
	repository := image[:at]
	if colon := strings.LastIndex(repository, ":"); colon > strings.LastIndex(repository, "/") {
		repository = repository[:colon]
	}
	return repository + image[at:]
}

// sandboxOf is sandbox for an image that the tests have not built.
func sandboxOf(t *testing.T, config docker.Config, image string) *box {
	t.Helper()
	p, err := docker.New(config)
	if err != nil {
		t.Fatal(err)
	}
	spec := specOf(image)
	b := &box{Provider: p, t: t, ref: berth.SandboxRef{ID: spec.ID}}
	t.Cleanup(func() {
		if err := b.Destroy(bounded(t), b.ref); err != nil {
			t.Errorf("Destroy: %v", err)
		}
		p.Close()
		noneLeft(t, engine(t), config.Installation)
	})
	if state := provision(t, p, spec); state.Status != berth.SandboxReady {
		t.Fatalf("provisioning %s: %+v, %+v", image, state, state.Reason)
	}
	return b
}

func TestPrivateImagesNeedTheServersCredentials(t *testing.T) {
	t.Parallel()
	r := startRegistry(t, "u", "secret-of-registry")
	r.push(t, "private:latest")
	image := r.host + "/private"
	forget(t, image)
	for name, tt := range map[string]struct {
		credentials func(context.Context, string) (*docker.Credentials, error)
		says        string
	}{
		"no credentials": {nil, "give the server credentials"},
		"wrong ones": {func(context.Context, string) (*docker.Credentials, error) {
			return &docker.Credentials{Username: "u", Password: berth.NewSecretValue([]byte("wrong-secret"))}, nil
		}, "does not take the credentials"},
	} {
		config := config(t)
		config.Credentials = tt.credentials
		p := open(t, config)
		spec := specOf(image)
		state := provision(t, p, spec)
		if state.Status != berth.SandboxFailed || !strings.Contains(state.Reason.Remediation, tt.says) || strings.Contains(fmt.Sprint(*state.Reason), "wrong-secret") {
			t.Errorf("%s: %+v, %+v", name, state, state.Reason)
		}
		nothingLeft(t, p, config, spec.ID)
	}
	config := config(t)
	config.Credentials = func(_ context.Context, registry string) (*docker.Credentials, error) {
		if registry != r.host {
			t.Errorf("credentials for %s are asked, want %s", registry, r.host)
		}
		return &docker.Credentials{Username: r.user, Password: berth.NewSecretValue([]byte(r.password))}, nil
	}
	if got := sandboxOf(t, config, image).script("echo here"); got != "here\n" {
		t.Errorf("with credentials: %q", got)
	}
}

func TestImagesThatCannotBeHadAreToldAndNothingIsLeft(t *testing.T) {
	t.Parallel()
	r := startRegistry(t, "", "")
	r.push(t, "there:latest")
	r.make(t, "other-architecture", "latest", "linux", "riscv64")
	r.make(t, "windows", "latest", "windows", "amd64")
	r.put(t, "many-architectures/manifests/latest", mediaList, encode(t, map[string]any{
		"schemaVersion": 2, "mediaType": mediaList, "manifests": []descriptor{
			r.make(t, "many-architectures", "", "linux", "riscv64"), r.make(t, "many-architectures", "", "linux", "s390x"),
		},
	}))
	never := false
	for _, tt := range []struct {
		image string
		pull  *bool
		says  string
	}{
		{r.host + "/there:missing", nil, "could not be pulled"},
		{r.host + "/not-there", nil, "could not be pulled"},
		{r.host + "/there@sha256:" + strings.Repeat("a", 64), nil, "could not be pulled"},
		{r.host + "/other-architecture", nil, "is for riscv64"},
		{r.host + "/windows", nil, "windows"},
		{r.host + "/many-architectures", nil, "linux/"},
		{"127.0.0.1:1/nobody-listens", nil, "could not be pulled"},
		{r.host + "/there", &never, "auto_pull is false"},
	} {
		t.Run(tt.says+" "+strings.TrimPrefix(tt.image, r.host), func(t *testing.T) {
			t.Parallel()
			forget(t, tt.image)
			config := config(t)
			p := open(t, config)
			spec := specOf(tt.image)
			spec.Environment.Docker = &berth.DockerOptions{AutoPull: tt.pull}
			state := provision(t, p, spec)
			if state.Status != berth.SandboxFailed || !strings.Contains(state.Reason.Message, tt.says) || state.Reason.Remediation == "" {
				t.Errorf("%+v, %+v", state, state.Reason)
			}
			nothingLeft(t, p, config, spec.ID)
		})
	}
}

func TestAPullThatHangsIsGivenUp(t *testing.T) {
	t.Parallel()
	r := startRegistry(t, "", "")
	for name, limit := range map[string]func(*docker.Config){
		"it took longer than": func(c *docker.Config) { c.PullTimeout = 2 * time.Second },
		"nothing came for":    func(c *docker.Config) { c.PullStall = 2 * time.Second },
	} {
		image := r.host + "/" + strings.ReplaceAll(name, " ", "-")
		r.make(t, strings.TrimPrefix(image, r.host+"/"), "latest", "linux", runtime.GOARCH)
		r.setStall(true)
		config := config(t)
		limit(&config)
		p := open(t, config)
		spec := specOf(image)
		state, err := p.Provision(bounded(t), spec)
		if err != nil || state.Status != berth.SandboxCreating {
			t.Fatalf("Provision = %+v, %v", state, err)
		}
		if state, err := p.Describe(bounded(t), berth.SandboxRef{ID: spec.ID}); err != nil || !strings.Contains(state.Detail, "pulling "+image) {
			t.Errorf("while it hangs: %+v, %v", state, err)
		}
		if state = provision(t, p, spec); state.Status != berth.SandboxFailed || !strings.Contains(state.Reason.Message, name) || state.Reason.Remediation == "" {
			t.Errorf("%+v, %+v", state, state.Reason)
		}
		nothingLeft(t, p, config, spec.ID)
	}
}

func TestAPullIsGivenUpWhenTheSandboxIsDestroyed(t *testing.T) {
	t.Parallel()
	r := startRegistry(t, "", "")
	r.make(t, "image", "latest", "linux", runtime.GOARCH)
	r.setStall(true)
	config := config(t)
	p := open(t, config)
	spec := specOf(r.host + "/image")
	if state, err := p.Provision(bounded(t), spec); err != nil || state.Status != berth.SandboxCreating {
		t.Fatalf("Provision = %+v, %v", state, err)
	}
	began := time.Now()
	if err := p.Destroy(bounded(t), berth.SandboxRef{ID: spec.ID}); err != nil {
		t.Fatal(err)
	}
	if d := time.Since(began); d > 20*time.Second {
		t.Errorf("it took %v", d)
	}
	nothingLeft(t, p, config, spec.ID)
}

func (r *images) setStall(stall bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stall = stall
}
