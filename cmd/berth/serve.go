package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/embedded"
)

type serveFlags struct {
	listen, environment, idle string
	allowLocal, background    bool
	docker                    string
	engine                    embedded.Docker
	agent                     embedded.Agent
	agentProviders            []string
	github                    embedded.GitHub
	ssh                       string
	sshConfigs                []string
}

func serveCommand(a *app) *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use: "serve", Short: "Run the server in the foreground",
		Long: `Run berth's server in the foreground until it is interrupted.

It is the server that other commands start in the background when they need
one. Its URL is printed and written to server.json in the data folder; clients
on this machine find it, and its token, there.

` + howProvidersGoOn,
		Example: `  berth serve
  berth serve --listen 127.0.0.1:8080 --data-dir /srv/berth
  berth serve --environment ci --allow-local=false
  berth serve --allow-mount /srv/cache --allow-network-mode host
  berth serve --ssh off --github-app 1234567 --github-app-key app.pem
  DAYTONA_API_KEY=$(cat daytona.key) berth serve
  SPRITES_TOKEN=$(cat sprites.token) EXE_SSH_KEY_FILE=~/.ssh/exe berth serve
  berth serve --agent https://10.0.0.7:7443 --agent-fingerprint sha256:4b5e… --agent-token-file agent-token`,
		Args: exactArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.serve(cmd.Context(), f) },
	}
	f.register(cmd.Flags())
	_ = cmd.Flags().MarkHidden("background")
	_ = cmd.RegisterFlagCompletionFunc("environment", a.completeEnvironments)
	for name, values := range map[string][]string{"docker": {dockerAuto, dockerOff}, "ssh": {sshAuto, sshOff}, "agent-provider": providerNames()} {
		_ = cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	}
	return cmd
}

func (f *serveFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.listen, "listen", embedded.DefaultListen, "`host:port` to listen on; port 0 is the one of the last server or, if that is taken, any")
	flags.Var((*named)(&f.environment), "environment", "environment `slug` of runs that name none")
	flags.BoolVar(&f.allowLocal, "allow-local", true, "let runs work on this machine itself, without isolation (provider local)")
	flags.StringVar(&f.docker, "docker", dockerAuto, "`use` of this machine's Docker engine: auto, as soon as one answers, or off")
	flags.StringVar(&f.engine.Host, "docker-host", "", "`address` of the engine, such as unix:///run/docker.sock; DOCKER_HOST or the usual one unless given")
	flags.StringArrayVar(&f.engine.AllowMounts, "allow-mount", nil, "`directory` that environments may mount into containers, with all below it; may be repeated")
	flags.StringArrayVar(&f.engine.AllowNetworkModes, "allow-network-mode", nil, "`mode` that docker.network_mode may have beside bridge and none, such as host; may be repeated")
	flags.StringVar(&f.agent.URL, "agent", "", "`URL` of a host agent on another machine, as berth-agent prints it")
	flags.StringVar(&f.agent.Fingerprint, "agent-fingerprint", "", "`fingerprint` of the agent's certificate, as berth-agent prints it")
	flags.StringVar(&f.agent.TokenFile, "agent-token-file", "", "`file` that holds the agent's token")
	flags.StringSliceVar(&f.agentProviders, "agent-provider", []string{string(berth.ProviderDocker)}, "`provider` of the agent to use; may be repeated")
	githubFlags(flags, &f.github)
	sshFlags(flags, f)
	flags.StringVar(&f.idle, "idle", "", "end after this `time` without work, such as 15m; never unless given")
	flags.BoolVar(&f.background, "background", false, "log to the data folder and end when idle")
}

func (a *app) serve(ctx context.Context, f serveFlags) error {
	o, err := a.serveOptions(f)
	if err != nil {
		return err
	}
	log := io.Writer(a.stderr)
	if f.background {
		file, err := embedded.OpenLog(o.DataDir)
		if err != nil {
			return err
		}
		defer file.Close()
		log = file
	} else {
		o.Ready = func(url string) { a.announce(url, o.DataDir) }
	}
	o.Log = log
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	signals, stop := a.signals()
	defer stop()
	ended := make(chan struct{})
	var watch sync.WaitGroup
	watch.Go(func() { endOnSignal(signals, ended, cancel) })
	defer watch.Wait()
	defer close(ended)
	return embedded.Run(ctx, o)
}

// endOnSignal ends the server in good order at the first signal and at once at
// the second. It returns when the server has ended.
func endOnSignal(signals <-chan os.Signal, ended <-chan struct{}, cancel func()) {
	select {
	case <-signals:
		cancel()
	case <-ended:
		return
	}
	select {
	case <-signals:
		os.Exit(statusCancelled)
	case <-ended:
	}
}

func (a *app) serveOptions(f serveFlags) (embedded.Options, error) {
	var none embedded.Options
	dir, err := a.dataFolder()
	if err != nil {
		return none, err
	}
	configDir, err := a.configFolder()
	if err != nil {
		return none, err
	}
	idle, err := a.idle(f)
	if err != nil {
		return none, err
	}
	if f.environment != "" {
		if _, err := berth.ParseEnvironmentID(f.environment); err != nil {
			return none, berth.FieldErrorf(berth.CodeInvalid, "--environment", "%s", err.Error())
		}
	}
	agent, err := a.agent(f)
	if err != nil {
		return none, err
	}
	engine, err := a.engine(f)
	if err != nil {
		return none, err
	}
	hosts, err := a.ssh(f)
	if err != nil {
		return none, err
	}
	return embedded.Options{
		SSH: hosts, Exe: a.exe(), Docker: engine, Agent: agent, DataDir: dir, ConfigDir: configDir, Listen: f.listen,
		Environment: berth.EnvironmentID(f.environment), AllowLocal: f.allowLocal, Idle: idle, Clock: a.clock,
		GitHub: a.github(f.github), Daytona: a.daytona(), Sprites: a.sprites(),
		// Nobody sees a server in the background start, and one bad key is no reason to
		// keep everything else from people.
		Lenient: f.background,
	}, nil
}

// The values of --docker.
const (
	dockerAuto = "auto"
	dockerOff  = "off"
)

// engine is what the flags say of this machine's Docker engine.
func (a *app) engine(f serveFlags) (embedded.Docker, error) {
	engine := f.engine
	if f.docker != dockerAuto && f.docker != dockerOff {
		return engine, berth.FieldErrorf(berth.CodeInvalid, "--docker", "must be %s or %s", dockerAuto, dockerOff)
	}
	engine.Off = f.docker == dockerOff
	for i, dir := range engine.AllowMounts {
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(a.dir, dir)
		}
		engine.AllowMounts[i] = filepath.Clean(dir)
	}
	return engine, nil
}

// agent is the host agent that the flags name, if they name one.
func (a *app) agent(f serveFlags) (embedded.Agent, error) {
	agent := f.agent
	if agent.URL == "" && (agent.Fingerprint != "" || agent.TokenFile != "") {
		return agent, berth.FieldErrorf(berth.CodeInvalid, "--agent", "is missing: name the URL that berth-agent prints")
	}
	if agent.TokenFile != "" && !filepath.IsAbs(agent.TokenFile) {
		agent.TokenFile = filepath.Join(a.dir, agent.TokenFile)
	}
	for _, name := range f.agentProviders {
		kind := berth.ProviderKind(name)
		if !slices.Contains(berth.ProviderKinds, kind) {
			return agent, berth.FieldErrorf(berth.CodeInvalid, "--agent-provider", "%q is not a provider", name)
		}
		agent.Kinds = append(agent.Kinds, kind)
	}
	return agent, nil
}

// idle is when the server ends by itself: by the flag, else for a background
// server by BERTH_IDLE or after the usual time, else never.
func (a *app) idle(f serveFlags) (time.Duration, error) {
	value, source := f.idle, "--idle"
	if value == "" && f.background {
		value, source = a.env["BERTH_IDLE"], "BERTH_IDLE"
		if value == "" {
			return embedded.DefaultIdle, nil
		}
	}
	if value == "" {
		return 0, nil
	}
	d, err := berth.ParseDuration(value)
	if err != nil {
		return 0, berth.FieldErrorf(berth.CodeInvalid, source, "%s", err.Error())
	}
	return d, nil
}

// announce says where the server is, for a person and for scripts that read the
// first line.
func (a *app) announce(url, dir string) {
	fmt.Fprintln(a.stdout, url)
	a.note("serving %s; the token is in %s; Ctrl-C ends it", dir, embedded.TokenFile(dir))
}
