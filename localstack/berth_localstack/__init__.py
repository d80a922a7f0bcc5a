"""LocalStack without containers: functions as processes, DynamoDB by another emulator, and the gaps that berth's stack meets."""
