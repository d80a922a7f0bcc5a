package config

import "github.com/berth-dev/berth/shared/berth"

// SchemaVersion is the `_version` of the configuration files that this code reads.
const SchemaVersion = 1

// file is every key that a TOML file may have. Environment tables are read from
// the tree by readEnvironment, since they are sparse.
type file struct {
	Version      *int           `json:"_version"`
	Project      *projectTable  `json:"project"`
	Workflow     *workflowTable `json:"workflow"`
	Run          runTable       `json:"run"`
	Environments any            `json:"environments"`
	CLI          *cliTable      `json:"cli"`
}

type projectTable struct {
	Name        string `json:"name"`
	Description string `json:"description"`
}

type workflowTable struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Graph       string `json:"graph"`
}

type cliTable struct {
	Server *string `json:"server"`
}

type runTable struct {
	Environment any               `json:"environment"`
	Clone       cloneTable        `json:"clone"`
	Prepare     *prepareTable     `json:"prepare"`
	WorkingDir  *string           `json:"working_dir"`
	Timeout     *berth.Duration   `json:"timeout"`
	Labels      map[string]string `json:"labels"`
}

type cloneTable struct {
	Enabled *bool `json:"enabled"`
	Depth   *int  `json:"depth"`
}

type prepareTable struct {
	Steps []stepTable `json:"steps"`
}

type stepTable struct {
	Name    string            `json:"name"`
	Script  *string           `json:"script"`
	Command []string          `json:"command"`
	Env     map[string]string `json:"env"`
	Timeout *berth.Duration   `json:"timeout"`
}
