package dynamo

// TableLayout is what a template must know of the table. All keys are strings.
type TableLayout struct {
	PartitionKey, SortKey string
	// ExpiresAttribute holds the time to live, in seconds since 1970.
	ExpiresAttribute string
	Indexes          []IndexLayout
}

// IndexLayout is a global secondary index.
type IndexLayout struct {
	Name                  string
	PartitionKey, SortKey string
	// Projected are the attributes that it has beside the keys.
	Projected []string
}

// Layout is that of the table which this package expects.
func Layout() TableLayout {
	layout := TableLayout{PartitionKey: attributePK, SortKey: attributeSK, ExpiresAttribute: attributeExpires}
	for index := 1; index <= 2; index++ {
		layout.Indexes = append(layout.Indexes, IndexLayout{
			Name: indexName(index), PartitionKey: indexPK(index), SortKey: indexSK(index),
			Projected: []string{attributeProjected, attributeExpires},
		})
	}
	return layout
}
