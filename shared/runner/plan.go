package runner

import (
	"fmt"

	"github.com/berth-dev/berth/shared/berth"
)

// StageCommandPrefix begins the ids of the commands that stages run; those of
// callers must not begin so.
const StageCommandPrefix = "stage-"

// cloneTimeout is how long fetching the code may take.
const cloneTimeout berth.Duration = "5m"

// plannedStage is a stage with what it runs.
type plannedStage struct {
	stage   berth.Stage
	step    *berth.Step // of a prepare stage
	timeout berth.Duration
}

// Plan names the stages of a run, in order: the clone of a git target, each
// prepare step, the command. Ids begin with the position, so that they sort.
func Plan(def berth.Definition) []berth.Stage {
	var stages []berth.Stage
	for _, p := range plan(def) {
		stages = append(stages, p.stage)
	}
	return stages
}

func plan(def berth.Definition) []plannedStage {
	var all []plannedStage
	add := func(kind berth.StageKind, name string, step *berth.Step, timeout berth.Duration) {
		id := berth.StageID(fmt.Sprintf("%02d-%s", len(all)+1, kind))
		all = append(all, plannedStage{
			stage: berth.Stage{ID: id, Kind: kind, Name: name, Status: berth.StagePending, Command: berth.CommandID(StageCommandPrefix + string(id))},
			step:  step, timeout: timeout,
		})
	}
	if def.Target.Kind == berth.TargetGit && def.Clone.Enabled {
		add(berth.StageClone, "clone", nil, cloneTimeout)
	}
	for i := range def.Prepare {
		step := &def.Prepare[i]
		name, timeout := step.Name, step.Timeout
		if name == "" {
			name = fmt.Sprintf("prepare %d", i+1)
		}
		if timeout == "" {
			timeout = berth.DefaultPrepareTimeout
		}
		add(berth.StagePrepare, name, step, timeout)
	}
	add(berth.StageCommand, "command", nil, def.Timeout)
	return all
}

func planned(def berth.Definition, id berth.StageID) (plannedStage, bool) {
	for _, p := range plan(def) {
		if p.stage.ID == id {
			return p, true
		}
	}
	return plannedStage{}, false
}
