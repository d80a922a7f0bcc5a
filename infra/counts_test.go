package main

import (
	"strings"
	"testing"
)

// maxResources is well below CloudFormation's limit of 500 a stack.
const maxResources = 400

func TestStacksStayBelowTheLimitOfResources(t *testing.T) {
	for name, s := range map[string]*synthesis{"defaults": deployed(t), "everything": equipped(t)} {
		for stack, template := range s.stacks {
			n := len(template.Resources)
			t.Logf("%s: %s has %d resources", name, stack, n)
			if n > maxResources || n == 0 {
				t.Errorf("%s: %s has %d resources, want 1 to %d", name, stack, n, maxResources)
			}
		}
	}
}

// What one stack has of another cannot change while it is there.
func TestStacksReferToDataAlone(t *testing.T) {
	for name, s := range map[string]*synthesis{"defaults": deployed(t), "everything": equipped(t)} {
		for output := range s.stacks["runner"].Outputs {
			if strings.HasPrefix(output, "Exports") {
				t.Errorf("%s: the runner exports %s", name, output)
			}
		}
	}
}

func TestTheRulesOfCDKNagAreFollowedOrAnswered(t *testing.T) {
	for name, s := range map[string]*synthesis{"defaults": deployed(t), "everything": equipped(t)} {
		for _, finding := range s.findings {
			t.Errorf("%s: %s", name, finding)
		}
	}
}
