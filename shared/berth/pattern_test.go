package berth

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"strconv"
	"strings"
	"testing"
)

// A pattern that does not compile would only panic on its first use: compile
// each as it stands in the source.
func TestEveryLazyPatternCompiles(t *testing.T) {
	packages, err := parser.ParseDir(token.NewFileSet(), ".", func(info fs.FileInfo) bool {
		return !strings.HasSuffix(info.Name(), "_test.go")
	}, 0)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	ast.Inspect(packages["berth"], func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		if name, ok := call.Fun.(*ast.Ident); !ok || name.Name != "lazyPattern" {
			return true
		}
		source, err := strconv.Unquote(call.Args[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		lazyPattern(source).MatchString("")
		found++
		return true
	})
	if found < 15 {
		t.Errorf("found %d patterns only", found)
	}
}
