package main

import (
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/cdklabs/cdk-nag-go/cdknag/v2"
)

// accept says why a construct, and what it is made of, does not follow a rule of
// cdk-nag. With findings it is about those alone.
func accept(construct constructs.IConstruct, rule, reason string, findings ...string) {
	suppression := &cdknag.NagPackSuppression{Id: text(rule), Reason: text(reason)}
	if len(findings) > 0 {
		var applies []any
		for _, f := range findings {
			applies = append(applies, f)
		}
		suppression.AppliesTo = &applies
	}
	cdknag.NagSuppressions_AddResourceSuppressions(construct, &[]*cdknag.NagPackSuppression{suppression}, yes())
}
