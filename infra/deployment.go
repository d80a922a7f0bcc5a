package main

import "github.com/aws/aws-cdk-go/awscdk/v2"

// deployment is one installation of berth.
type deployment struct {
	data   *dataStack
	runner *runnerStack
	api    *apiStack
}

// newDeployment makes the stacks of the installation that the app's context
// describes. An error names everything that is wrong with the context.
func newDeployment(app awscdk.App) (*deployment, error) {
	c, err := readConfig(app.Node())
	if err != nil {
		return nil, err
	}
	if err := c.checkArchives(); err != nil {
		return nil, err
	}
	awscdk.Tags_Of(app).Add(text("berth:installation"), text(c.installation), nil)
	d := &deployment{data: newDataStack(app, c)}
	if d.runner, err = newRunnerStack(app, c, d.data); err != nil {
		return nil, err
	}
	if d.api, err = newAPIStack(app, c, d.data, d.runner); err != nil {
		return nil, err
	}
	return d, nil
}

// stacks are those of the deployment, by name.
func (d *deployment) stacks() map[string]awscdk.Stack {
	return map[string]awscdk.Stack{"data": d.data.stack, "runner": d.runner.stack, "api": d.api.stack}
}

// newStack makes a stack of the installation.
func newStack(app awscdk.App, c *config, name, description string) awscdk.Stack {
	return awscdk.NewStack(app, text(name), &awscdk.StackProps{
		StackName:   text(c.name(name)),
		Description: text("berth, installation " + c.installation + ": " + description),
	})
}
