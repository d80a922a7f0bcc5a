package berth

// RunRequest is the body of POST /runs and POST /preflight. Everything is
// optional but one of Command and Script.
type RunRequest struct {
	// Environment is a slug; it beats the `[run.environment] id` of the config
	// files, which beats the server's default environment.
	Environment string   `json:"environment,omitempty" doc:"Environment slug"`
	Command     []string `json:"command,omitempty" doc:"The argv, run exactly"`
	Script      string   `json:"script,omitempty" doc:"Run by bash -c; instead of command"`
	Target      *Target  `json:"target,omitempty" doc:"Where the code comes from"`
	// SourceDirectory is the client's folder; local runs use it when the
	// environment has no cwd and it exists on the server.
	SourceDirectory string   `json:"source_directory,omitempty" doc:"The client's current folder"`
	Timeout         Duration `json:"timeout,omitempty" doc:"For the command, such as 10m"`
	// PreserveSandbox overrides lifecycle.preserve when set.
	PreserveSandbox *bool             `json:"preserve_sandbox,omitempty"`
	Labels          map[string]string `json:"labels,omitempty" doc:"Labels of the run"`
	// Configs are the TOML files that the client collected.
	Configs []ConfigFile `json:"configs,omitempty"`
}

// ConfigKind says which layer a TOML file is.
type ConfigKind string

// The layers of configuration, strongest first.
const (
	ConfigWorkflow ConfigKind = "workflow"
	ConfigProject  ConfigKind = "project"
	ConfigUser     ConfigKind = "user"
)

// ConfigFile is the text of one TOML file. Files holds the text of the
// Dockerfiles that it names by path, by that path as it is written.
type ConfigFile struct {
	Kind   ConfigKind        `json:"kind" enum:"workflow,project,user"`
	Path   string            `json:"path" doc:"Where it was, for messages"`
	Source string            `json:"source" doc:"TOML"`
	Files  map[string]string `json:"files,omitempty"`
}

// Definition is what a run does, resolved when it is created and never changed:
// environment with variables resolved and secrets still tokens.
type Definition struct {
	Environment Environment `json:"environment"`
	Target      Target      `json:"target"`
	// Directory is the canonical working directory of a local run, else empty.
	Directory string `json:"directory,omitempty"`
	// WorkingDir is `[run] working_dir`: relative to the workspace.
	WorkingDir      string            `json:"working_dir,omitempty"`
	Clone           Clone             `json:"clone"`
	Prepare         []Step            `json:"prepare,omitempty"`
	Command         []string          `json:"command,omitempty"`
	Script          string            `json:"script,omitempty"`
	Timeout         Duration          `json:"timeout,omitempty"`
	Labels          map[string]string `json:"labels,omitempty"`
	Warnings        []Problem         `json:"warnings,omitempty"`
	EnvironmentFrom map[string]string `json:"environment_from,omitempty"` // field path → layer that set it
}

// Clone is `[run.clone]`.
type Clone struct {
	Enabled bool `json:"enabled"`
	Depth   int  `json:"depth" doc:"Commits; 0 is the full history"`
}

// DefaultCloneDepth is the document's depth of history.
const DefaultCloneDepth = 100

// Step is one `[[run.prepare.steps]]`: a script or a command, with variables of its own.
type Step struct {
	Name    string            `json:"name,omitempty"`
	Script  string            `json:"script,omitempty"`
	Command []string          `json:"command,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	Timeout Duration          `json:"timeout"`
}

// DefaultPrepareTimeout is the document's limit of a prepare step.
const DefaultPrepareTimeout Duration = "5m"

// CheckStatus is the result of one preflight check.
type CheckStatus string

// The results of a check.
const (
	CheckPass    CheckStatus = "pass"
	CheckWarning CheckStatus = "warning"
	CheckError   CheckStatus = "error"
)

// Check is one line of a preflight report.
type Check struct {
	Name        string      `json:"name"`
	Status      CheckStatus `json:"status" enum:"pass,warning,error"`
	Summary     string      `json:"summary"`
	Details     []Problem   `json:"details"`
	Remediation string      `json:"remediation,omitempty"`
}

// Preflight is the answer of POST /preflight and of an environment's check. OK
// means that no check is an error.
type Preflight struct {
	OK          bool         `json:"ok"`
	Environment *Environment `json:"environment"`
	Target      *Target      `json:"target"`
	Checks      []Check      `json:"checks"`
	// Sources says which layer each field of the environment came from.
	Sources map[string]string `json:"sources"`
}
