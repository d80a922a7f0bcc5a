package berth

import "time"

// Variable is a named plain value that `{{ vars.NAME }}` refers to. It is read
// when a run is created.
type Variable struct {
	Name      string    `json:"name"`
	Value     string    `json:"value"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
}
