package strict_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/berth-dev/berth/shared/strict"
)

// The examples of RFC 7396, appendix A.
func TestMergePatchFollowsTheRFC(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ tree, patch, want string }{
		{`{"a":"b"}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"b"}`, `{"b":"c"}`, `{"a":"b","b":"c"}`},
		{`{"a":"b"}`, `{"a":null}`, `{}`},
		{`{"a":"b","b":"c"}`, `{"a":null}`, `{"b":"c"}`},
		{`{"a":["b"]}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"c"}`, `{"a":["b"]}`, `{"a":["b"]}`},
		{`{"a":{"b":"c"}}`, `{"a":{"b":"d","c":null}}`, `{"a":{"b":"d"}}`},
		{`{"a":[{"b":"c"}]}`, `{"a":[1]}`, `{"a":[1]}`},
		{`["a","b"]`, `["c","d"]`, `["c","d"]`},
		{`{"a":"b"}`, `["c"]`, `["c"]`},
		{`{"a":"foo"}`, `null`, `null`},
		{`{"a":"foo"}`, `"bar"`, `"bar"`},
		{`{"e":null}`, `{"a":1}`, `{"e":null,"a":1}`},
		{`[1,2]`, `{"a":"b","c":null}`, `{"a":"b"}`},
		{`{}`, `{"a":{"bb":{"ccc":null}}}`, `{"a":{"bb":{}}}`},
	} {
		got := strict.MergePatch(tree(t, c.tree), tree(t, c.patch))
		if diff := cmp.Diff(tree(t, c.want), got); diff != "" {
			t.Errorf("MergePatch(%s, %s) (-want +got)\n%s", c.tree, c.patch, diff)
		}
	}
}

func tree(t *testing.T, text string) any {
	t.Helper()
	v, _, err := strict.Tree([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func drawTree(depth int) *rapid.Generator[any] {
	leaf := rapid.OneOf(rapid.Just[any](nil), rapid.Map(rapid.Bool(), toAny), rapid.Map(rapid.StringMatching("[a-c]"), toAny))
	if depth == 0 {
		return leaf
	}
	object := rapid.Map(rapid.MapOfN(rapid.StringMatching("[a-c]"), drawTree(depth-1), 0, 3), toAny)
	return rapid.OneOf(leaf, object)
}

func toAny[T any](v T) any { return v }

func TestAPatchAppliedTwiceIsAppliedOnceAndChangesNeitherArgument(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		base, patch := drawTree(3).Draw(t, "tree"), drawTree(3).Draw(t, "patch")
		baseCopy, patchCopy := clone(base), clone(patch)
		once := strict.MergePatch(base, patch)
		if diff := cmp.Diff(once, strict.MergePatch(once, patch)); diff != "" {
			t.Errorf("a second time (-once +twice)\n%s", diff)
		}
		if !cmp.Equal(base, baseCopy) || !cmp.Equal(patch, patchCopy) {
			t.Error("an argument was changed")
		}
	})
}

func clone(v any) any {
	m, ok := v.(map[string]any)
	if !ok {
		return v
	}
	c := map[string]any{}
	for k, item := range m {
		c[k] = clone(item)
	}
	return c
}
