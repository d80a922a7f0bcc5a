// Command genopenapi writes docs/openapi.yaml from the handlers. Run it at the
// root of the repository.
package main

import (
	"fmt"
	"os"

	"github.com/berth-dev/berth/shared/httpapi"
)

func main() {
	doc, err := httpapi.Document().YAML()
	if err == nil {
		err = os.WriteFile("docs/openapi.yaml", doc, 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "genopenapi:", err)
		os.Exit(1)
	}
}
