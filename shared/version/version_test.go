package version_test

import (
	"os"
	"regexp"
	"slices"
	"testing"
)

// The linker says nothing about a variable that is not there.
func TestTheBuildSetsTheVariablesOfThisPackage(t *testing.T) {
	t.Parallel()
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	var set []string
	for _, m := range regexp.MustCompile(`-X (\S+)=`).FindAllSubmatch(makefile, -1) {
		set = append(set, string(m[1]))
	}
	const here = "github.com/berth-dev/berth/shared/version."
	if want := []string{here + "Version", here + "Commit"}; !slices.Equal(set, want) {
		t.Errorf("the Makefile sets %q, want %q", set, want)
	}
}
