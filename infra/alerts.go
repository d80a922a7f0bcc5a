package main

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssns"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssnssubscriptions"
)

// newAlerts is the topic that alarms go to; nil where no address is given.
func newAlerts(stack awscdk.Stack, c *config) awssns.ITopic {
	if c.alarmEmail == "" {
		return nil
	}
	topic := awssns.NewTopic(stack, text("Alerts"), &awssns.TopicProps{
		DisplayName: text("berth " + c.installation), EnforceSSL: yes(),
	})
	topic.AddSubscription(awssnssubscriptions.NewEmailSubscription(text(c.alarmEmail), nil))
	return topic
}
