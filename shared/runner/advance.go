package runner

import (
	"context"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/records"
)

// Advance names the next stage, or how the run ends.
func (r *Runner) Advance(ctx context.Context, s State) (State, error) {
	head, live, err := r.findLive(ctx, s.Run)
	if err != nil {
		return s, err
	}
	if !live || ending(head) {
		return s.to(NextTeardown), nil
	}
	stages, err := r.Records.ListStages(ctx, s.Run)
	if err != nil {
		return s, err
	}
	def, err := r.Records.FindDefinition(ctx, s.Run)
	if err != nil {
		return s, err
	}
	next, outcome := advance(stages, def)
	if outcome != nil {
		r.explainClone(outcome, def)
		return r.decide(ctx, s, *outcome)
	}
	return s.toStage(NextStart, next), nil
}

// explainClone lets the cloner say why its command failed.
func (r *Runner) explainClone(outcome *records.Outcome, def berth.Definition) {
	explainer, ok := r.Cloner.(CloneExplainer)
	if !ok || outcome.Reason == nil || outcome.Reason.Code != berth.ReasonCloneFailed {
		return
	}
	if reason, ok := explainer.ExplainClone(def, *outcome.Exit); ok {
		outcome.Reason = &reason
	}
}

// advance is the rule: stages run in order until one fails; the last one's exit
// is the run's. A stage that runs is returned again, for it may be that its
// command has not been started.
func advance(stages []berth.Stage, def berth.Definition) (next berth.StageID, outcome *records.Outcome) {
	var last *berth.Exit
	for _, stage := range stages {
		if !stage.Status.Ended() {
			return stage.ID, nil
		}
		if outcome := outcomeOf(stage, def); outcome != nil {
			return "", outcome
		}
		last = stage.Exit
	}
	return "", &records.Outcome{Status: berth.RunSucceeded, Exit: last}
}
