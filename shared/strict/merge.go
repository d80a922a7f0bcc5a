package strict

import "maps"

// MergePatch applies a JSON merge patch (RFC 7396) and returns the result;
// neither argument is changed. Trees are as [Tree] gives them.
func MergePatch(tree, patch any) any {
	changes, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	old, _ := tree.(map[string]any)
	result := maps.Clone(old)
	if result == nil {
		result = map[string]any{}
	}
	for key, change := range changes {
		if change == nil {
			delete(result, key)
			continue
		}
		result[key] = MergePatch(result[key], change)
	}
	return result
}
