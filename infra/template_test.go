package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// template is a CloudFormation template.
type template struct {
	Resources map[string]resource
	Outputs   map[string]map[string]any
}

// resource is a part of a template.
type resource struct {
	Type           string
	Properties     map[string]any
	DeletionPolicy string
	Stack          string `json:"-"` // its name; set by all
}

// all are the resources of a type, by the names of their stacks and their logical
// ids, of which two stacks may have the same.
func (s *synthesis) all(kind string) map[string]resource {
	found := map[string]resource{}
	for name, t := range s.stacks {
		for id, r := range t.Resources {
			if r.Type == kind {
				r.Stack = name
				found[name+"/"+id] = r
			}
		}
	}
	return found
}

// one is the only resource of a type.
func (s *synthesis) one(t *testing.T, kind string) resource {
	t.Helper()
	found := slices.Collect(maps.Values(s.all(kind)))
	if len(found) != 1 {
		t.Fatalf("there are %d resources of the type %s, want one", len(found), kind)
	}
	return found[0]
}

// functionsByName are the functions by kind/name.
func (s *synthesis) functionsByName(t *testing.T) map[string]resource {
	t.Helper()
	found := map[string]resource{}
	for _, f := range s.all("AWS::Lambda::Function") {
		found[programOf(t, f)] = f
	}
	return found
}

// programOf is kind/name of a function.
func programOf(t *testing.T, f resource) string {
	t.Helper()
	name, ok := f.Properties["FunctionName"].(string)
	parts := strings.SplitN(name, "-", 4) // berth, installation, kind, name
	if !ok || len(parts) != 4 {
		t.Fatalf("the function's name is %v", f.Properties["FunctionName"])
	}
	return parts[2] + "/" + parts[3]
}

// flat is a value of a template as one text, in which references are names in
// braces: {Table}, {AWS::Region}.
func flat(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case string:
		return v
	case map[string]any:
		if ref, ok := v["Ref"].(string); ok {
			return "{" + plainID(ref) + "}"
		}
		if of, ok := v["Fn::GetAtt"].([]any); ok {
			return fmt.Sprintf("{%s.%s}", plainID(fmt.Sprint(of[0])), of[1])
		}
		if name, ok := v["Fn::ImportValue"].(string); ok {
			_, name, _ = strings.Cut(name, ":ExportsOutput")
			return "{" + plainID(name) + "}"
		}
		if join, ok := v["Fn::Join"].([]any); ok {
			var b strings.Builder
			for _, part := range join[1].([]any) {
				b.WriteString(flat(part))
			}
			return b.String()
		}
	}
	written, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return string(written)
}

// unique is what the CDK puts behind the name of a logical id, and what an export
// has behind that.
var unique = regexp.MustCompile(`^(?:FnGetAtt|Ref)?(.+?)[0-9A-F]{8}.*$`)

// plainID is a logical id, or that in an export's name, without what the CDK makes
// it unique by.
func plainID(id string) string { return unique.ReplaceAllString(id, "$1") }

// list is a value that may stand alone or in a list.
func list(value any) []any {
	if v, ok := value.([]any); ok {
		return v
	}
	return []any{value}
}
