package main

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/shared/runner"
)

var update = flag.Bool("update", false, "write the table of permissions anew")

func TestEveryOperationHasAPermissionSetAndEverySetAnOperation(t *testing.T) {
	t.Parallel()
	var want []string
	for _, r := range apiRoutes() {
		want = append(want, r.ID)
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(operations))); diff != "" {
		t.Errorf("operations of the route table (-) and with permissions (+):\n%s", diff)
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys((&runner.Runner{}).Tasks())), slices.Sorted(maps.Keys(tasks))); diff != "" {
		t.Errorf("tasks of the runner (-) and with permissions (+):\n%s", diff)
	}
	used := map[permissionSet]bool{sweeper: true, writer: true} // events
	for _, set := range operations {
		used[set] = true
	}
	for _, task := range tasks {
		used[task.set] = true
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(sets)), slices.Sorted(maps.Keys(used))); diff != "" {
		t.Errorf("sets that are described (-) and used (+):\n%s", diff)
	}
}

// permission is one action on one resource.
type permission struct{ action, resource string }

// permissionsOf are those of a function's role.
func permissionsOf(t *testing.T, s *synthesis, function resource) (all []permission) {
	t.Helper()
	role, ok := function.Properties["Role"].(map[string]any)
	if !ok {
		t.Fatalf("the role is %v", function.Properties["Role"])
	}
	id := role["Fn::GetAtt"].([]any)[0].(string)
	return permissionsIn(s.stacks[function.Stack].Resources[id])
}

func permissionsIn(role resource) (all []permission) {
	for _, policy := range list(role.Properties["Policies"]) {
		document := policy.(map[string]any)["PolicyDocument"].(map[string]any)
		for _, statement := range document["Statement"].([]any) {
			s := statement.(map[string]any)
			for _, action := range list(s["Action"]) {
				for _, on := range list(s["Resource"]) {
					all = append(all, permission{action.(string), short(flat(on))})
				}
			}
		}
	}
	return all
}

var arnPrefix = regexp.MustCompile(`arn:\{AWS::Partition\}:([a-z0-9]+):\{AWS::Region\}:\{AWS::AccountId\}:`)

// short leaves out of an ARN what all have.
func short(arn string) string { return arnPrefix.ReplaceAllString(arn, "$1:") }

// TestPermissionsAreThoseOfTheTable pins what every function may do, as the
// template has it.
func TestPermissionsAreThoseOfTheTable(t *testing.T) {
	s := deployed(t)
	functions := s.functionsByName(t)
	byPermissions := map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(functions)) {
		var lines []string
		for _, p := range permissionsOf(t, s, functions[name]) {
			lines = append(lines, fmt.Sprintf("    %s on %s\n", p.action, p.resource))
		}
		slices.Sort(lines)
		key := strings.Join(lines, "")
		byPermissions[key] = append(byPermissions[key], name)
	}
	var blocks []string
	for lines, names := range byPermissions {
		blocks = append(blocks, strings.Join(names, "\n")+"\n"+lines)
	}
	slices.Sort(blocks)
	got := strings.Join(blocks, "\n")
	path := filepath.Join("testdata", "permissions.txt")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("permissions (-want +got; go test -update writes them):\n%s", diff)
	}
}

// holders are the functions that may do an action on what begins with a name.
func holders(t *testing.T, s *synthesis, action, prefix string) []string {
	t.Helper()
	var names []string
	for name, f := range s.functionsByName(t) {
		if slices.ContainsFunc(permissionsOf(t, s, f), func(p permission) bool {
			return p.action == action && strings.HasPrefix(p.resource, prefix)
		}) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func TestSecretsAreReadAndWrittenByWhatHasToAlone(t *testing.T) {
	s := deployed(t)
	const user, provider = "secretsmanager:secret:berth/berth/user/", "secretsmanager:secret:berth/berth/provider/"
	resolvers := []string{"api/open-shell", "api/start-command", "runner/provision", "runner/start"}
	keepers := []string{"api/delete-secret", "api/put-secret"}
	joiners := []string{"api/join-host", "api/remove-host"}
	for _, c := range []struct {
		action, on string
		want       []string
	}{
		{"secretsmanager:GetSecretValue", user, resolvers},
		{"secretsmanager:PutSecretValue", user, keepers},
		{"secretsmanager:CreateSecret", user, keepers},
		{"secretsmanager:DeleteSecret", user, keepers},
		{"secretsmanager:PutSecretValue", provider, joiners},
		{"secretsmanager:CreateSecret", provider, joiners},
		{"secretsmanager:DeleteSecret", provider, joiners},
		{"secretsmanager:GetSecretValue", provider + "github/", []string{"runner/start"}},
		{"secretsmanager:GetSecretValue", provider + "*", nil},
	} {
		if diff := cmp.Diff(c.want, holders(t, s, c.action, c.on)); diff != "" {
			t.Errorf("%s on %s, want (-) and got (+):\n%s", c.action, c.on, diff)
		}
	}
	calls := holders(t, s, "secretsmanager:GetSecretValue", provider)
	for _, name := range []string{"api/list-runs", "api/create-run", "api/put-secret", "api/join-host", "api/find-sandbox", "api/create-transfer", "runner/advance", "runner/finish", "events/authorizer"} {
		if slices.Contains(calls, name) {
			t.Errorf("%s reads provider secrets, and calls none", name)
		}
	}
	for name, f := range s.functionsByName(t) {
		for _, p := range permissionsOf(t, s, f) {
			if strings.HasPrefix(p.action, "secretsmanager:") && !strings.HasPrefix(p.resource, user) && !strings.HasPrefix(p.resource, provider) {
				t.Errorf("%s may %s on %s, which is not of one scope", name, p.action, p.resource)
			}
			if strings.HasPrefix(p.resource, provider) && !strings.HasPrefix(p.resource, provider+"host/") && p.action != "secretsmanager:GetSecretValue" && strings.HasPrefix(p.action, "secretsmanager:") {
				t.Errorf("%s may %s on %s: keys of providers are put there by people alone", name, p.action, p.resource)
			}
		}
	}
}

// unbound are the actions that AWS knows no resources of, or none beforehand.
var unbound = regexp.MustCompile(`^(xray:.*|ec2:(Assign|Create|Delete|Describe|Unassign)[A-Za-z]*|logs:(CreateLogDelivery|DeleteLogDelivery|DescribeLogGroups|DescribeResourcePolicies|GetLogDelivery|ListLogDeliveries|PutResourcePolicy|UpdateLogDelivery))$`)

func TestNothingMayDoEverythingNorOnEverything(t *testing.T) {
	for name, s := range map[string]*synthesis{"defaults": deployed(t), "everything": equipped(t)} {
		roles := s.all("AWS::IAM::Role")
		if len(roles) < 10 {
			t.Fatalf("%s: there are %d roles", name, len(roles))
		}
		for id, role := range roles {
			if role.Properties["Policies"] == nil {
				if !strings.HasPrefix(id, "api/APICloudWatchRole") {
					t.Errorf("%s: the role %s has no policy of its own", name, id)
				}
				continue
			}
			for _, p := range permissionsIn(role) {
				if strings.Contains(p.action, "*") {
					t.Errorf("%s: %s may %s", name, id, p.action)
				}
				if p.resource == "*" && !unbound.MatchString(p.action) {
					t.Errorf("%s: %s may %s on everything", name, id, p.action)
				}
			}
		}
		if policies := s.all("AWS::IAM::Policy"); len(policies) > 0 {
			t.Errorf("%s: the CDK adds policies of its own: %v", name, slices.Collect(maps.Keys(policies)))
		}
	}
}
