package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/shared/table/dynamo"
)

func TestTheTableHasTheLayoutThatItsAdapterExpects(t *testing.T) {
	table := deployed(t).one(t, "AWS::DynamoDB::Table")
	p := table.Properties
	layout := dynamo.Layout()
	keys := func(pk, sk string) any {
		return []any{map[string]any{"AttributeName": pk, "KeyType": "HASH"}, map[string]any{"AttributeName": sk, "KeyType": "RANGE"}}
	}
	var indexes []any
	for _, i := range layout.Indexes {
		var projected []any
		for _, name := range i.Projected {
			projected = append(projected, name)
		}
		indexes = append(indexes, map[string]any{
			"IndexName": i.Name, "KeySchema": keys(i.PartitionKey, i.SortKey),
			"Projection": map[string]any{"ProjectionType": "INCLUDE", "NonKeyAttributes": projected},
		})
	}
	for name, want := range map[string]any{
		"KeySchema":                        keys(layout.PartitionKey, layout.SortKey),
		"GlobalSecondaryIndexes":           indexes,
		"BillingMode":                      "PAY_PER_REQUEST",
		"TimeToLiveSpecification":          map[string]any{"AttributeName": layout.ExpiresAttribute, "Enabled": true},
		"PointInTimeRecoverySpecification": map[string]any{"PointInTimeRecoveryEnabled": true},
		"DeletionProtectionEnabled":        true,
	} {
		if diff := cmp.Diff(want, p[name]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	for _, attribute := range p["AttributeDefinitions"].([]any) {
		if kind := attribute.(map[string]any)["AttributeType"]; kind != "S" {
			t.Errorf("an attribute has the type %v: %v", kind, attribute)
		}
	}
}

func TestDataOutlivesItsStackUnlessTheContextSaysOtherwise(t *testing.T) {
	needNode(t)
	short, err := synthesize(map[string]any{"retainData": "false"})
	if err != nil {
		t.Fatal(err)
	}
	for want, s := range map[string]*synthesis{"Retain": deployed(t), "Delete": short} {
		for _, kind := range []string{"AWS::DynamoDB::Table", "AWS::S3::Bucket"} {
			if got := s.one(t, kind).DeletionPolicy; got != want {
				t.Errorf("%s has the deletion policy %s, want %s", kind, got, want)
			}
		}
		if got := s.one(t, "AWS::DynamoDB::Table").Properties["DeletionProtectionEnabled"]; got != (want == "Retain") {
			t.Errorf("with the policy %s the table's deletion protection is %v", want, got)
		}
	}
}

func TestTheBucketIsPrivateAndClearsUpAfterUploads(t *testing.T) {
	s := deployed(t)
	p := s.one(t, "AWS::S3::Bucket").Properties
	public := map[string]any{"BlockPublicAcls": true, "BlockPublicPolicy": true, "IgnorePublicAcls": true, "RestrictPublicBuckets": true}
	if diff := cmp.Diff(public, p["PublicAccessBlockConfiguration"]); diff != "" {
		t.Errorf("public access (-want +got):\n%s", diff)
	}
	rules := fmt.Sprint(p["LifecycleConfiguration"])
	for _, want := range []string{"AbortIncompleteMultipartUpload:map[DaysAfterInitiation:1]", "ExpirationInDays:7 Id:transfers Prefix:transfers/"} {
		if !strings.Contains(rules, want) {
			t.Errorf("the lifecycle lacks %s: %s", want, rules)
		}
	}
	if p["VersioningConfiguration"] != nil {
		t.Error("the bucket keeps versions: what is deleted would stay")
	}
	policy := flat(s.one(t, "AWS::S3::BucketPolicy").Properties["PolicyDocument"])
	for _, want := range []string{`"aws:SecureTransport":"false"`, `"Effect":"Deny"`} {
		if !strings.Contains(policy, want) {
			t.Errorf("the bucket's policy lacks %s: %s", want, policy)
		}
	}
}
