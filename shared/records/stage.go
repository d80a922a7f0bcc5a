package records

import (
	"context"

	"github.com/berth-dev/berth/shared/berth"
)

func stageItem(run berth.RunID, stage berth.Stage, version int64) (berth.Item, error) {
	body, err := encode(stage)
	return berth.Item{PK: pkRun(run), SK: skStage(stage.ID), Version: version, Body: body}, err
}

// FindStage returns not_found for a stage that the run does not have.
func (s *Store) FindStage(ctx context.Context, run berth.RunID, id berth.StageID) (berth.Stage, error) {
	var stage berth.Stage
	_, err := s.find(ctx, pkRun(run), skStage(id), &stage)
	return stage, rename(err, berth.CodeNotFound, noStage(run, id))
}

func noStage(run berth.RunID, id berth.StageID) *berth.Error {
	return berth.Errorf(berth.CodeNotFound, "run %s has no stage %s", run, id)
}

// ListStages returns the run's stages in the order of their ids, which begin
// with their position.
func (s *Store) ListStages(ctx context.Context, run berth.RunID) ([]berth.Stage, error) {
	stages := []berth.Stage{}
	err := s.walk(ctx, berth.Query{PK: pkRun(run), Prefix: prefixStage}, func(item berth.Item) (bool, error) {
		var stage berth.Stage
		err := decode(item, &stage)
		stages = append(stages, stage)
		return true, err
	})
	return stages, err
}
