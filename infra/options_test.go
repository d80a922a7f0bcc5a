package main

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFunctionsThatReachHostsAloneSitInTheSubnets(t *testing.T) {
	var got []string
	s := equipped(t)
	for name, f := range s.functionsByName(t) {
		config, ok := f.Properties["VpcConfig"].(map[string]any)
		if !ok {
			continue
		}
		got = append(got, name)
		want := []any{"subnet-0123456789abcdef0", "subnet-0123456789abcdef1"}
		if !cmp.Equal(config["SubnetIds"], any(want)) || len(config["SecurityGroupIds"].([]any)) != 1 {
			t.Errorf("%s sits in %v", name, config)
		}
	}
	want := []string{"runner/admit", "runner/await-output", "runner/follow", "runner/provision", "runner/start", "runner/teardown", "events/sweeper"}
	for operation, set := range operations {
		if set.has(reachHosts) {
			want = append(want, "api/"+operation)
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("functions that reach hosts (-) and in subnets (+):\n%s", diff)
	}
	for id, group := range s.all("AWS::EC2::SecurityGroup") {
		if group.Properties["SecurityGroupIngress"] != nil {
			t.Errorf("%s lets something in", id)
		}
	}
	if n := len(deployed(t).all("AWS::EC2::SecurityGroup")); n != 0 {
		t.Errorf("there are %d security groups without subnets", n)
	}
}

func TestTheCustomersKeyEncryptsTableAndBucket(t *testing.T) {
	s := equipped(t)
	key := s.one(t, "AWS::KMS::Key")
	if key.Properties["EnableKeyRotation"] != true || key.DeletionPolicy != "Retain" {
		t.Errorf("the key is %v, %s", key.Properties, key.DeletionPolicy)
	}
	for kind, property := range map[string]string{"AWS::DynamoDB::Table": "SSESpecification", "AWS::S3::Bucket": "BucketEncryption"} {
		if got := flat(s.one(t, kind).Properties[property]); !strings.Contains(got, "Key") || !strings.Contains(strings.ToUpper(got), "KMS") {
			t.Errorf("%s is encrypted by %s", kind, got)
		}
	}
	users := holders(t, s, "kms:Decrypt", "{Key")
	if !slices.Contains(users, "api/find-run") || slices.Contains(users, "api/find-health") {
		t.Errorf("the key is used by %v", users)
	}
}

func TestAFirewallLooksIntoNoBodies(t *testing.T) {
	s := equipped(t)
	acl := flat(s.one(t, "AWS::WAFv2::WebACL").Properties["Rules"])
	if strings.Contains(acl, "CommonRuleSet") || strings.Contains(acl, "Body") || !strings.Contains(acl, "RateBasedStatement") {
		t.Errorf("the rules are %s", acl)
	}
	if n := len(s.all("AWS::WAFv2::WebACLAssociation")); n != 1 {
		t.Errorf("the web ACL is in front of %d stages", n)
	}
	own, err := synthesize(map[string]any{"waf": "arn:aws:wafv2:eu-west-1:123456789012:regional/webacl/mine/1b2c"})
	if err != nil {
		t.Fatal(err)
	}
	if got := own.one(t, "AWS::WAFv2::WebACLAssociation").Properties["WebACLArn"]; len(own.all("AWS::WAFv2::WebACL")) != 0 || !strings.HasSuffix(got.(string), "/mine/1b2c") {
		t.Errorf("a given web ACL is %v", got)
	}
}

func TestADomainIsTheAPIsAddress(t *testing.T) {
	s := equipped(t)
	if p := s.one(t, "AWS::ApiGateway::DomainName").Properties; p["DomainName"] != "api.example.com" || p["SecurityPolicy"] != "TLS_1_2" {
		t.Errorf("the domain is %v", p)
	}
	outputs := s.stacks["api"].Outputs
	if outputs["URL"]["Value"] != "https://api.example.com" || outputs["DomainTarget"]["Value"] == nil {
		t.Errorf("the outputs are %v", outputs)
	}
	plain := flat(deployed(t).stacks["api"].Outputs["URL"]["Value"])
	if !regexp.MustCompile(`^https://\{API[^}]*\}\.execute-api\.\{AWS::Region\}\.\{AWS::URLSuffix\}/v1$`).MatchString(plain) {
		t.Errorf("without a domain the address is %s", plain)
	}
}

func TestAlarmsTellTheAddressThatIsGiven(t *testing.T) {
	silent, told := deployed(t), equipped(t)
	want := []string{"execution-failures", "function-throttles", "request-failures", "sweeper-errors", "table-read-throttles", "table-write-throttles"}
	for name := range tasks {
		want = append(want, kebab(name)+"-errors")
	}
	slices.Sort(want)
	for context, s := range map[string]*synthesis{"berth-berth-": silent, "berth-prod-": told} {
		var got []string
		for _, a := range s.all("AWS::CloudWatch::Alarm") {
			name := a.Properties["AlarmName"].(string)
			got = append(got, strings.TrimPrefix(name, context))
			if a.Properties["Metrics"] != nil {
				t.Errorf("%s is of an expression, which not every emulator takes", name)
			}
			if actions, ok := a.Properties["AlarmActions"].([]any); (s == told) != (ok && len(actions) == 1) {
				t.Errorf("%s does %v", name, a.Properties["AlarmActions"])
			}
		}
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("alarms (-want +got):\n%s", diff)
		}
	}
	subscription := told.one(t, "AWS::SNS::Subscription").Properties
	if subscription["Protocol"] != "email" || subscription["Endpoint"] != "ops@example.com" {
		t.Errorf("the subscription is %v", subscription)
	}
}

func TestTheDashboardShowsBerthsOwnMetrics(t *testing.T) {
	body := flat(deployed(t).one(t, "AWS::CloudWatch::Dashboard").Properties["DashboardBody"])
	for _, name := range []string{"RunsEnded", "ProvisionSeconds", "FollowLagSeconds", "Errors", "Throttles", "ExecutionsFailed", "5XXError", "ReadThrottleEvents"} {
		if !strings.Contains(body, name) {
			t.Errorf("the dashboard does not show %s", name)
		}
	}
	if n := len(slices.Collect(maps.Keys(deployed(t).all("AWS::CloudWatch::Dashboard")))); n != 1 {
		t.Errorf("there are %d dashboards", n)
	}
}
